//! One fit from a Plan and its settings: which driver runs, on how many threads.

use super::latent::PathReader;
use super::progress::Reporting;
use super::sample::Sampler;
use super::start::{NoStart, random_start};
use super::{alternate, mode};
use crate::archive::{Init, Method, Metric, Outcome, Settings};
use crate::bind::{EvaluateError, Plan};
use crate::graph::{
    BurnDensity, Coordinates, Device, DeviceError, Group, LogDensity, LowerError, Physical, Rejection, Unconstrained,
    lower,
};
use crate::infer::optimize::{LaplaceError, MultistartError};
use crate::infer::pathfinder::{self, PathfinderError};
use crate::math::rng::{Purpose, stream};
use crate::terms::filtered::TermError;
use crate::terms::gridded::GriddedError;
use rand_distr::{Distribution, StandardNormal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Spread of chains around the modes they start from, in unconstrained coordinates.
const JITTER: f64 = 0.1;

/// Why there is no fit.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    #[error(transparent)]
    Lower(#[from] LowerError),
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error("the model ends in `minimize`: it is an objective, not a density, and cannot be sampled; use --method {}", if *gridded { "als" } else { "map" })]
    NotADensity { gridded: bool },
    #[error("--method als fits models with a latent on a grid; use --method map or nuts")]
    NotGridded,
    #[error("a latent on a grid is fitted by --method als")]
    AlternatingOnly,
    #[error("the coefficient of `balanced_squares` must be positive")]
    NoSquares,
    #[error("--metric dense belongs to --method nuts; with mams, use --metric low-rank")]
    DenseMams,
    #[error("mams needs two coordinates or more, and this model has one; use --method nuts")]
    OneCoordinate,
    #[error("there is nothing to fit: with these data the model has no coordinates")]
    NoCoordinates,
    #[error(transparent)]
    NoStart(#[from] NoStart),
    #[error("--init pathfinder chooses starts for --method nuts and mams on a model without a recording")]
    Init,
    #[error("chain {chain}: {error}")]
    Pathfinder { chain: u64, error: PathfinderError },
    #[error(transparent)]
    Multistart(#[from] MultistartError),
    #[error("standard errors: {0}")]
    Laplace(#[from] LaplaceError),
    #[error("at the mode: {0}")]
    Rejected(#[from] Rejection),
    #[error(transparent)]
    Filtered(TermError),
    #[error(transparent)]
    Gridded(GriddedError),
    #[error("cannot start {threads} threads: {reason}")]
    Threads { threads: usize, reason: String },
}

/// The method for a model when none is chosen: alternating steps for a gridded objective, the mode for other
/// objectives and for shared-response densities, draws for every other density.
pub fn default_method(plan: &Plan) -> (Method, &'static str) {
    match &plan.shared {
        Some(s) if s.grid_step.is_some() => (Method::Als, "the model is an objective with a latent on a grid"),
        Some(_) => (Method::Map, "a shared-response density has many parameters; --method nuts draws from it"),
        None if plan.model.is_objective() => (Method::Map, "the model is an objective"),
        None => (Method::Nuts, "the model is a density"),
    }
}

/// Fits a plan. Interrupted fits return what was finished.
///
/// # Errors
/// Methods that do not suit the model, densities without a usable start, and failed devices.
pub fn fit(plan: &Plan, settings: &Settings, stop: &AtomicBool, reporting: Reporting) -> Result<Outcome, FitError> {
    let gridded = plan.shared.as_ref().is_some_and(|s| s.grid_step.is_some());
    match settings.method {
        Method::Nuts | Method::Mams if plan.model.is_objective() => return Err(FitError::NotADensity { gridded }),
        _ if settings.init == Init::Pathfinder
            && (plan.shared.is_some() || !matches!(settings.method, Method::Nuts | Method::Mams)) =>
        {
            return Err(FitError::Init);
        }
        Method::Mams if settings.metric == Metric::Dense => return Err(FitError::DenseMams),
        Method::Mams if plan.dim() == 1 => return Err(FitError::OneCoordinate),
        Method::Als if !gridded => return Err(FitError::NotGridded),
        Method::Map if gridded => return Err(FitError::AlternatingOnly),
        _ => {}
    }
    if plan.dim() == 0 {
        return Err(FitError::NoCoordinates);
    }
    let mut program = lower(plan)?;
    if matches!(settings.method, Method::Map | Method::Als) {
        // One random number at a mode would say nothing.
        program.outputs.retain(|o| o.group != Group::Generated);
    }
    let program = Arc::new(program);
    let coordinates = Coordinates::new(plan);
    // A mode is climbed without Jacobians: it does not depend on the coordinates.
    let evaluated = match settings.method {
        Method::Map | Method::Als => Arc::clone(&program),
        _ => Arc::new(program.with_jacobian()),
    };
    let physical: Box<dyn LogDensity + Send> = match settings.device.as_str() {
        "cpu" => Box::new(Physical { program: evaluated }),
        name => Box::new(BurnDensity::new(evaluated, name.parse::<Device>()?)),
    };
    let threads = if settings.threads == 0 {
        std::thread::available_parallelism().map_or(1, usize::from)
    } else {
        settings.threads
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| FitError::Threads { threads, reason: e.to_string() })?;
    pool.install(|| match (settings.method, &plan.shared) {
        (Method::Als, Some(shared)) => {
            Ok(Outcome::Mode(Box::new(alternate::alternate(plan, shared, &program, settings, stop)?)))
        }
        (Method::Nuts | Method::Mams, _) => {
            let density = Unconstrained { physical, coordinates: coordinates.clone() };
            let starts = chain_starts(plan, &density, &coordinates, settings, threads, stop, reporting)?;
            let sampler = Sampler { density: &density, program: &program, coordinates: &coordinates, settings, stop };
            let mut draws = sampler.sample(&starts, reporting);
            if let Some(shared) = &plan.shared {
                draws.latent = PathReader::new(plan, shared)?.over(plan, &draws)?;
            }
            Ok(Outcome::Draws(draws))
        }
        _ => {
            let result = mode::climb(plan, &*physical, &coordinates, settings, threads, stop, reporting)?;
            Ok(Outcome::Mode(Box::new(mode::finish(plan, &program, &*physical, &result, settings, stop)?)))
        }
    })
}

/// One unconstrained start per chain: random, by a climb of its own, or around the modes of a shared-response density, where random loadings
/// would leave the chains in mirror images of each other.
fn chain_starts(
    plan: &Plan,
    density: &Unconstrained<Box<dyn LogDensity + Send>>,
    coordinates: &Coordinates,
    settings: &Settings,
    threads: usize,
    stop: &AtomicBool,
    reporting: Reporting,
) -> Result<Vec<Vec<f64>>, FitError> {
    if plan.shared.is_none() {
        let start = |chain: u64| {
            let random = random_start(density, settings.seed, chain)?;
            if settings.init == Init::Random {
                return Ok(random);
            }
            let mut rng = stream(settings.seed, chain, Purpose::Climb);
            match pathfinder::start(density, &random, &mut rng) {
                Ok(found) => Ok(found.position),
                Err(_) if settings.init == Init::Auto => Ok(random),
                Err(error) => Err(FitError::Pathfinder { chain: chain + 1, error }),
            }
        };
        return (0..settings.chains as u64).map(start).collect();
    }
    let result = mode::climb(plan, &*density.physical, coordinates, settings, threads, stop, reporting)?;
    let mode = coordinates.interior(&result.best().x);
    let start = |chain: usize| {
        let mut rng = stream(settings.seed, chain as u64, Purpose::Start);
        mode.iter()
            .map(|&u| {
                let z: f64 = StandardNormal.sample(&mut rng);
                u + JITTER * z
            })
            .collect()
    };
    Ok((0..settings.chains).map(start).collect())
}
