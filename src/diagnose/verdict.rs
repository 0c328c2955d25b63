//! Puts all indicators together and says whether draws can be trusted, and if not, why and what to do.
//!
//! Thresholds: R-hat and ESS from Vehtari et al. 2021 (Bayesian Analysis 16), BFMI from Betancourt 2016 (arXiv
//! 1604.00695). Findings that are worth knowing but do not by themselves make the draws wrong are warnings. An indicator that is missing although it should be there counts against the draws, never for them.

use super::draws::{FEWEST_DRAWS, Unjudged};
use super::finding::{Chain, Finding, Indicator, Quantity};
use super::summary::QuantitySummary;
use serde::{Deserialize, Serialize};

/// Largest R-hat that passes.
pub const LARGEST_R_HAT: f64 = 1.01;
/// Smallest bulk and tail ESS that pass, per chain.
pub const SMALLEST_ESS_PER_CHAIN: f64 = 100.0;
/// Smallest BFMI that passes.
pub const SMALLEST_BFMI: f64 = 0.3;
/// Smallest BFMI that passes with a warning.
pub const LOWEST_BFMI: f64 = 0.2;
/// Largest fraction of draws that may diverge and still pass, with a warning: one in 400.
pub const LARGEST_DIVERGENT_FRACTION: f64 = 0.0025;
/// Largest fraction of draws that may end at the limit of tree depth.
pub const LARGEST_DEPTH_HIT_FRACTION: f64 = 0.01;

/// What is judged.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// Name and summary of each scalar quantity.
    pub quantities: &'a [(String, QuantitySummary)],
    /// Kept draws of each chain.
    pub draws: &'a [usize],
    /// Divergent transitions of each chain, among the kept draws; `None` for a method in which nothing can diverge.
    pub divergences: Option<&'a [usize]>,
    /// Draws of each chain that ended at the limit of tree depth; `None` for a method without trees.
    pub depth_hits: Option<&'a [usize]>,
    /// BFMI of each chain, `None` inside where it could not be had; `None` for a method without momentum refreshment.
    pub bfmi: Option<&'a [Option<f64>]>,
}

/// How far to trust the draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Level {
    /// Every indicator is there and passes.
    Fine,
    /// Every indicator is there and passes, but some only just: read the findings.
    Caution,
    /// At least one finding speaks against the draws.
    Doubt,
}

/// The judgement: a level, what speaks against the draws, and what was left out because it does not vary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub level: Level,
    pub findings: Vec<Finding>,
    /// Names of constant quantities; they have no R-hat and never fail.
    pub constants: Vec<String>,
}

/// Judges draws.
pub fn verdict(inputs: &Inputs) -> Verdict {
    let (constant, varying): (Vec<_>, Vec<_>) = inputs.quantities.iter().partition(|(_, summary)| summary.constant);
    let constants: Vec<String> = constant.into_iter().map(|(name, _)| name.clone()).collect();
    let mut findings = Vec::new();
    findings.extend(too_little_to_judge(inputs, varying.len(), constants.len()));
    findings.extend(of_quantities(&varying, inputs.draws.len()));
    findings.extend(of_divergences(inputs));
    findings.extend(of_depth_hits(inputs));
    findings.extend(of_bfmi(inputs));
    let level = if findings.is_empty() {
        Level::Fine
    } else if findings.iter().all(Finding::is_warning) {
        Level::Caution
    } else {
        Level::Doubt
    };
    Verdict { level, findings, constants }
}

fn too_little_to_judge(inputs: &Inputs, varying: usize, constants: usize) -> Vec<Finding> {
    let mut findings = Vec::new();
    if inputs.draws.len() < 2 {
        findings.push(Finding::TooFewChains { chains: inputs.draws.len() });
    }
    let short: Vec<usize> = (0..inputs.draws.len()).filter(|&chain| inputs.draws[chain] < FEWEST_DRAWS).collect();
    if !short.is_empty() {
        findings.push(Finding::TooFewDraws { chains: short, needed: FEWEST_DRAWS });
    }
    if varying == 0 {
        findings.push(Finding::NothingVaries { constants });
    }
    findings
}

fn of_quantities(varying: &[&(String, QuantitySummary)], chains: usize) -> Vec<Finding> {
    let mut findings = Vec::new();
    let broken: Vec<String> = varying
        .iter()
        .filter(|(_, summary)| matches!(summary.unjudged, Some(Unjudged::NonFinite { .. })))
        .map(|(name, _)| name.clone())
        .collect();
    if !broken.is_empty() {
        findings.push(Finding::NonFinite { quantities: broken });
    }
    let judged: Vec<_> =
        varying.iter().filter(|(_, s)| !matches!(s.unjudged, Some(Unjudged::NonFinite { .. }))).copied().collect();

    // With a single chain R-hat is absent from everything; one finding already says so.
    if chains >= 2 {
        let (missing, mut worst) = values_of(&judged, |s| s.r_hat, |r| r > LARGEST_R_HAT);
        worst.sort_by(|a, b| b.value.total_cmp(&a.value));
        findings.extend(missing_finding(Indicator::RHat, missing));
        if !worst.is_empty() {
            findings.push(Finding::RHat { worst, threshold: LARGEST_R_HAT });
        }
    }
    let threshold = SMALLEST_ESS_PER_CHAIN * chains.max(1) as f64;
    for indicator in [Indicator::BulkEss, Indicator::TailEss] {
        let size = |s: &QuantitySummary| if indicator == Indicator::BulkEss { s.ess_bulk } else { s.ess_tail };
        let (missing, mut worst) = values_of(&judged, |s| size(s).filter(|v| v.is_finite()), |e| e < threshold);
        worst.sort_by(|a, b| a.value.total_cmp(&b.value));
        findings.extend(missing_finding(indicator, missing));
        if !worst.is_empty() {
            findings.push(Finding::LowEss { indicator, worst, threshold });
        }
    }
    findings
}

/// Names without the value, and quantities whose value fails.
fn values_of(
    quantities: &[&(String, QuantitySummary)],
    value: impl Fn(&QuantitySummary) -> Option<f64>,
    fails: impl Fn(f64) -> bool,
) -> (Vec<String>, Vec<Quantity>) {
    let (mut missing, mut worst) = (Vec::new(), Vec::new());
    for (name, summary) in quantities {
        match value(summary).filter(|v| !v.is_nan()) {
            None => missing.push(name.clone()),
            Some(value) if fails(value) => worst.push(Quantity { name: name.clone(), value }),
            Some(_) => {}
        }
    }
    (missing, worst)
}

fn missing_finding(indicator: Indicator, of: Vec<String>) -> Option<Finding> {
    (!of.is_empty()).then_some(Finding::Missing { indicator, of })
}

fn of_divergences(inputs: &Inputs) -> Vec<Finding> {
    let Some(per_chain) = inputs.divergences else { return Vec::new() };
    let mut findings: Vec<Finding> = unreported(Indicator::Divergences, per_chain.len(), inputs).into_iter().collect();
    if per_chain.iter().any(|&count| count > 0) {
        findings.push(Finding::Divergences { per_chain: per_chain.to_vec(), draws: inputs.draws.iter().sum() });
    }
    findings
}

fn of_depth_hits(inputs: &Inputs) -> Vec<Finding> {
    let Some(per_chain) = inputs.depth_hits else { return Vec::new() };
    let mut findings: Vec<Finding> = unreported(Indicator::DepthHits, per_chain.len(), inputs).into_iter().collect();
    let (hits, draws): (usize, usize) = (per_chain.iter().sum(), inputs.draws.iter().sum());
    if hits as f64 > LARGEST_DEPTH_HIT_FRACTION * draws as f64 {
        let threshold = LARGEST_DEPTH_HIT_FRACTION;
        findings.push(Finding::DepthHits { per_chain: per_chain.to_vec(), draws, threshold });
    }
    findings
}

fn of_bfmi(inputs: &Inputs) -> Vec<Finding> {
    let Some(per_chain) = inputs.bfmi else { return Vec::new() };
    let mut findings: Vec<Finding> = unreported(Indicator::Bfmi, per_chain.len(), inputs).into_iter().collect();
    let (mut missing, mut low) = (Vec::new(), Vec::new());
    for (chain, value) in per_chain.iter().enumerate() {
        match value.filter(|v| v.is_finite()) {
            None => missing.push(chain_name(chain)),
            Some(value) if value < SMALLEST_BFMI => low.push(Chain { chain, value }),
            Some(_) => {}
        }
    }
    low.sort_by(|a, b| a.value.total_cmp(&b.value));
    findings.extend(missing_finding(Indicator::Bfmi, missing));
    if !low.is_empty() {
        findings.push(Finding::LowBfmi { chains: low, threshold: SMALLEST_BFMI });
    }
    findings
}

/// Chains for which an indicator should be there but was not handed in.
fn unreported(indicator: Indicator, reported: usize, inputs: &Inputs) -> Option<Finding> {
    missing_finding(indicator, (reported..inputs.draws.len()).map(chain_name).collect())
}

fn chain_name(chain: usize) -> String {
    format!("chain {}", chain + 1)
}
