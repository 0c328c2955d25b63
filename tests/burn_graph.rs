//! The burn graph gives the tape's numbers: for every model, in batches, from several threads, and for as long as it runs.

mod common {
    pub mod arrays;
    pub mod bundled;
    pub mod corpus;
    pub mod plan;
    pub mod points;
}

use common::bundled::plans;
use common::corpus::cases;
use common::points::point;
use msrm::bind::Plan;
use msrm::graph::{
    BurnDensity, Coordinates, Device, LogDensity, Node, Op, Program, Rejection, Structured, Tape, lower,
};
use std::any::Any;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Chains evaluated together.
const CHAINS: usize = 5;
/// Largest relative difference between the two lowerings.
const AGREEMENT: f64 = 1e-10;

/// The soak measures the process alone: it writes, every other test reads.
static PROCESS: RwLock<()> = RwLock::new(());

/// `CHAINS` physical points one after the other.
fn batch_of_points(plan: &Plan) -> Vec<f64> {
    let coordinates = Coordinates::new(plan);
    (0..CHAINS as u64).flat_map(|index| point(&coordinates, index).1).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= AGREEMENT * a.abs().max(b.abs()).max(1.0)
}

/// What is wrong with the burn graph of `plan`; a panic of burn would not say which model it was.
fn faults(name: &str, plan: &Plan) -> Vec<String> {
    catch_unwind(|| differences(name, plan)).unwrap_or_else(|_| vec![format!("{name}: burn panics")])
}

/// Where the burn graph of `plan` and its tape differ, alone or in a batch.
fn differences(name: &str, plan: &Plan) -> Vec<String> {
    let mut faults = Vec::new();
    let program = Arc::new(lower(plan).expect("a program").with_jacobian());
    let dim = program.dim;
    let burn = BurnDensity::new(Arc::clone(&program), Device::NdArray);
    let mut tape = Tape::new(program);
    let points = batch_of_points(plan);
    let mut batched = vec![f64::NAN; points.len()];
    let batch = match burn.batch(&points, CHAINS, &mut batched) {
        Ok(values) => values,
        Err(rejection) => return vec![format!("{name}: {rejection}")],
    };
    let mut single = burn.evaluator();
    let (mut want_gradient, mut gradient) = (vec![f64::NAN; dim], vec![f64::NAN; dim]);
    for (chain, x) in points.chunks_exact(dim).enumerate() {
        let want = tape.value_gradient(x, &mut want_gradient).expect("a value of the tape");
        let value = match single.log_density_gradient(x, &mut gradient) {
            Ok(value) => value,
            Err(rejection) => {
                faults.push(format!("{name}, point {chain}: {rejection}"));
                continue;
            }
        };
        let in_batch = &batched[chain * dim..(chain + 1) * dim];
        for (what, value, gradient) in [("alone", value, &gradient[..]), ("in a batch", batch[chain], in_batch)] {
            if !close(value, want) {
                faults.push(format!("{name}, point {chain}, {what}: value {value}, tape {want}"));
            }
            for (i, (&g, &w)) in gradient.iter().zip(&want_gradient).enumerate() {
                if !close(g, w) {
                    faults.push(format!("{name}, point {chain}, {what}: derivative {i} is {g}, tape {w}"));
                }
            }
        }
        // Chains do not see each other: alone or together only the order of a sum may differ.
        let same = |a: f64, b: f64| (a - b).abs() <= 1e-13 * a.abs().max(1.0);
        if !same(batch[chain], value) || !in_batch.iter().zip(&gradient).all(|(&a, &b)| same(a, b)) {
            faults.push(format!("{name}, point {chain}: a batch is not {CHAINS} single chains"));
        }
    }
    faults
}

fn report(faults: &[String]) {
    let shown: Vec<&str> = faults.iter().take(30).map(String::as_str).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), shown.join("\n"));
}

#[test]
fn every_model_file_has_the_numbers_of_the_tape() {
    let _reading = PROCESS.read().unwrap_or_else(PoisonError::into_inner);
    let all: Vec<String> = plans().iter().flat_map(|(name, plan)| faults(name, plan)).collect();
    report(&all);
}

#[test]
fn every_operation_has_the_numbers_of_the_tape() {
    let _reading = PROCESS.read().unwrap_or_else(PoisonError::into_inner);
    let all: Vec<String> = cases().iter().flat_map(|case| faults(&case.name, &case.plan())).collect();
    report(&all);
}

/// A model whose terms hold no parameter has gradient zero on both paths.
#[test]
fn a_density_of_data_alone_has_gradient_zero() {
    let _reading = PROCESS.read().unwrap_or_else(PoisonError::into_inner);
    let text = "model flat\ndata y : real[3]\nparam x in [0, 1]\nobserve y ~ normal(0, 1)";
    let plan = common::plan::plan(text, common::arrays::arrays("{\"y\": [1.5, 2, 3.5]}"));
    report(&faults("flat", &plan));
}

/// Concurrent backward passes of burn lose gradients; evaluators on several threads must not.
#[test]
fn evaluators_on_several_threads_give_the_same_numbers() {
    let _reading = PROCESS.read().unwrap_or_else(PoisonError::into_inner);
    let chosen = ["eight_schools", "glm_logistic", "varying_intercepts", "r_msrm"];
    let densities: Vec<(String, Arc<Program>, Vec<f64>)> = plans()
        .into_iter()
        .filter(|(name, _)| chosen.contains(&name.as_str()))
        .map(|(name, plan)| (name, Arc::new(lower(&plan).expect("a program").with_jacobian()), batch_of_points(&plan)))
        .collect();
    assert_eq!(densities.len(), chosen.len());
    let numbers = |program: &Arc<Program>, points: &[f64]| -> Vec<f64> {
        let burn = BurnDensity::new(Arc::clone(program), Device::NdArray);
        let mut evaluator = burn.evaluator();
        let mut gradient = vec![f64::NAN; burn.dim()];
        let mut all = Vec::new();
        for x in points.chunks_exact(burn.dim()) {
            all.push(evaluator.log_density_gradient(x, &mut gradient).expect("a value"));
            all.extend_from_slice(&gradient);
        }
        all
    };
    let alone: Vec<Vec<f64>> = densities.iter().map(|(_, program, points)| numbers(program, points)).collect();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (densities, alone, numbers) = (&densities, &alone, &numbers);
            scope.spawn(move || {
                for round in 0..100 {
                    // Every thread starts with another model, so that different graphs meet.
                    let at = (thread + round) % densities.len();
                    let (name, program, points) = &densities[at];
                    assert_eq!(numbers(program, points), alone[at], "{name} on thread {thread}, round {round}");
                }
            });
        }
    });
}

/// A term that counts how many evaluations are inside it at once.
#[derive(Default)]
struct Witness {
    inside: AtomicUsize,
    most: AtomicUsize,
}

impl Structured for Witness {
    fn name(&self) -> &'static str {
        "witness"
    }

    fn workspace(&self) -> Box<dyn Any + Send> {
        Box::new(())
    }

    fn value_gradient(
        &self,
        inputs: &[&[f64]],
        gradient: &mut [&mut [f64]],
        _: &mut (dyn Any + Send),
    ) -> Result<f64, Rejection> {
        let now = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(1));
        self.inside.fetch_sub(1, Ordering::SeqCst);
        gradient[0][0] += 3.0;
        Ok(3.0 * inputs[0][0])
    }
}

/// Gradients are lost too rarely to show on every machine, so the lock is looked at as well: one graph at a time, also
/// of different densities.
#[test]
fn one_graph_is_built_at_a_time() {
    let _reading = PROCESS.read().unwrap_or_else(PoisonError::into_inner);
    let witness = Arc::new(Witness::default());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let term: Arc<dyn Structured> = witness.clone();
            scope.spawn(move || {
                let nodes = vec![
                    Node { op: Op::Parameter { offset: 0 }, len: 1, active: true },
                    Node { op: Op::Structured { term, inputs: vec![0] }, len: 1, active: true },
                ];
                let program =
                    Program { nodes, terms: vec![("witness".into(), 1)], jacobian: vec![], outputs: vec![], dim: 1 };
                let burn = BurnDensity::new(Arc::new(program), Device::NdArray);
                let mut gradient = [0.0];
                for _ in 0..10 {
                    let value = burn.evaluator().log_density_gradient(&[2.0], &mut gradient);
                    assert_eq!((value, gradient), (Ok(6.0), [3.0]));
                }
            });
        }
    });
    assert_eq!(witness.most.load(Ordering::SeqCst), 1);
}

/// Bytes of this process in memory.
#[cfg(target_os = "linux")]
fn resident_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("/proc/self/statm");
    let pages: f64 = text.split_whitespace().nth(1).and_then(|t| t.parse().ok()).expect("a number of pages");
    pages * 4096.0
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Neither memory nor time per gradient grows from the second to the last fifth of many gradients.
#[cfg(target_os = "linux")]
fn soak(gradients: usize) {
    let _writing = PROCESS.write().unwrap_or_else(PoisonError::into_inner);
    let (_, plan) = plans().into_iter().find(|(name, _)| name == "eight_schools").expect("eight_schools");
    let burn = BurnDensity::new(Arc::new(lower(&plan).expect("a program")), Device::NdArray);
    let mut evaluator = burn.evaluator();
    let points = batch_of_points(&plan);
    let mut gradient = vec![0.0; burn.dim()];
    let mut seconds = Vec::with_capacity(gradients);
    let mut memory = Vec::with_capacity(gradients);
    for i in 0..gradients {
        let x = &points[(i % CHAINS) * burn.dim()..][..burn.dim()];
        let begin = Instant::now();
        evaluator.log_density_gradient(x, &mut gradient).expect("a value");
        seconds.push(begin.elapsed().as_secs_f64());
        if i % 50 == 0 {
            memory.push(resident_bytes());
        }
    }
    let growth = median(last_fifth(&memory)) - median(second_fifth(&memory));
    let slowdown = median(last_fifth(&seconds)) / median(second_fifth(&seconds));
    assert!(growth < 10e6, "{growth} bytes more in the last fifth of {gradients} gradients");
    assert!(slowdown < 1.5, "gradients take {slowdown} times as long in the last fifth of {gradients}");
}

fn second_fifth(values: &[f64]) -> &[f64] {
    &values[values.len() / 5..2 * values.len() / 5]
}

fn last_fifth(values: &[f64]) -> &[f64] {
    &values[4 * values.len() / 5..]
}

#[cfg(target_os = "linux")]
#[test]
fn three_thousand_gradients_cost_no_memory_and_no_time() {
    soak(3_000);
}

/// Run by CI: `cargo test --release --test burn_graph -- --ignored`.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "a minute; CI runs it"]
fn a_hundred_thousand_gradients_cost_no_memory_and_no_time() {
    soak(100_000);
}
