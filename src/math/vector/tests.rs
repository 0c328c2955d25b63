//! Every entry of the table against slow twins: other formulas, differences, sums over all outcomes, its own draws.

use super::*;
use crate::math::constraint::Constraint;
use crate::math::dist;
use crate::math::op::logistic;
use crate::math::rng::{Purpose, stream};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use std::f64::consts::PI;

/// One set of draws with arguments.
struct Case {
    d: &'static VectorDistribution,
    sizes: Sizes,
    x: Vec<f64>,
    args: Vec<Vec<f64>>,
}

fn normals(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| StandardNormal.sample(rng)).collect()
}

/// A matrix that is positive definite, or its Cholesky factor.
fn matrix(rng: &mut ChaCha8Rng, k: usize, factor: bool) -> Vec<f64> {
    let mut l = normals(rng, k * k);
    for i in 0..k {
        l[i * k + i] = l[i * k + i].exp();
        l[i * k + i + 1..(i + 1) * k].fill(0.0);
    }
    if factor { l } else { product_with_transpose(&l, k) }
}

fn product_with_transpose(l: &[f64], k: usize) -> Vec<f64> {
    (0..k * k).map(|i| (0..k).map(|m| l[i / k * k + m] * l[i % k * k + m]).sum()).collect()
}

fn simplex(rng: &mut ChaCha8Rng, k: usize) -> Vec<f64> {
    let mut x = vec![0.0; k];
    Constraint::Simplex.constrain(k, &normals(rng, k - 1), &mut x);
    x
}

/// Arguments of an entry: one vector for all draws, or a row per draw.
fn arguments(d: &VectorDistribution, rng: &mut ChaCha8Rng, sizes: Sizes, by_row: bool) -> Vec<Vec<f64>> {
    let Sizes { rows, k } = sizes;
    let n = if by_row { rows } else { 1 };
    let probabilities = |rng: &mut ChaCha8Rng| (0..n).flat_map(|_| simplex(rng, k)).collect();
    let positive = |rng: &mut ChaCha8Rng, n: usize| normals(rng, n).iter().map(|z| (0.6 * z).exp()).collect();
    d.arguments
        .iter()
        .map(|a| match (d.name, a.name) {
            ("dirichlet", _) => positive(rng, n * k),
            ("lkj_cholesky", _) => positive(rng, 1),
            ("multinomial", "n") => (0..n).map(|_| f64::from(rng.random_range(2..9))).collect(),
            (_, "theta") => probabilities(rng),
            (_, "c") => (0..n)
                .flat_map(|_| {
                    let mut c = vec![0.0; k];
                    Constraint::Ordered.constrain(k, &normals(rng, k), &mut c);
                    c
                })
                .collect(),
            ("ordered_logistic", "eta") => normals(rng, n),
            (_, "Sigma" | "Omega") => matrix(rng, k, false),
            (_, "L") => matrix(rng, k, true),
            _ => normals(rng, n * k),
        })
        .collect()
}

/// The arguments of draw `i`.
fn row_of<'a>(d: &VectorDistribution, sizes: Sizes, args: &'a [Vec<f64>], i: usize) -> Vec<&'a [f64]> {
    let k = sizes.k;
    args.iter()
        .zip(d.arguments)
        .map(|(a, spec)| match spec.part {
            Part::Scalar | Part::Matrix => &a[..],
            Part::PerDraw | Part::CountPerDraw if a.len() == sizes.rows => &a[i..=i],
            Part::Centre | Part::Vector if a.len() == sizes.rows * k => &a[i * k..(i + 1) * k],
            _ => &a[..],
        })
        .collect()
}

fn width(d: &VectorDistribution, k: usize) -> usize {
    match d.outcome {
        Outcome::Vector => k,
        Outcome::Matrix => k * k,
        Outcome::Category => 1,
    }
}

fn draws(d: &VectorDistribution, rng: &mut ChaCha8Rng, sizes: Sizes, args: &[Vec<f64>]) -> Vec<f64> {
    let w = width(d, sizes.k);
    let mut x = vec![f64::NAN; sizes.rows * w];
    for (i, x) in x.chunks_exact_mut(w).enumerate() {
        (d.draw)(rng, Sizes { rows: 1, ..sizes }, &row_of(d, sizes, args, i), x);
    }
    x
}

fn cases(mut check: impl FnMut(&Case)) {
    let mut rng = stream(21, 0, Purpose::Prediction);
    for d in VECTOR_DISTRIBUTIONS {
        for k in [1, 2, 4] {
            for (rows, by_row) in [(1, false), (3, false), (3, true)] {
                if d.outcome == Outcome::Matrix && rows > 1 {
                    continue;
                }
                let sizes = Sizes { rows, k };
                let args = arguments(d, &mut rng, sizes, by_row);
                let x = draws(d, &mut rng, sizes, &args);
                check(&Case { d, sizes, x, args });
            }
        }
    }
}

fn value(d: &VectorDistribution, sizes: Sizes, x: &[f64], args: &[Vec<f64>]) -> f64 {
    let args: Vec<&[f64]> = args.iter().map(Vec::as_slice).collect();
    d.value(sizes, x, &args).unwrap()
}

/// The value with its gradient in x and in the arguments.
fn gradient(case: &Case, args: &[Vec<f64>]) -> (f64, Vec<Vec<f64>>) {
    let refs: Vec<&[f64]> = args.iter().map(Vec::as_slice).collect();
    let mut all: Vec<Vec<f64>> = std::iter::once(&case.x).chain(args).map(|a| vec![0.0; a.len()]).collect();
    let (gx, rest) = all.split_first_mut().unwrap();
    let mut slots: Vec<&mut [f64]> = rest.iter_mut().map(Vec::as_mut_slice).collect();
    let mut scratch = vec![f64::NAN; 3];
    let mut call = Call { sizes: case.sizes, x: &case.x, args: &refs, gx, gradient: &mut slots, scratch: &mut scratch };
    let value = (case.d.log_density)(&mut call).unwrap();
    (value, all)
}

/// Whether x (0) or an argument (from 1) is made of proportions.
fn sums_to_one(case: &Case, which: usize) -> bool {
    match which {
        0 => case.d.constraint == Some(Constraint::Simplex),
        _ => case.d.arguments[which - 1].name == "theta",
    }
}

/// Directions in which an array of this kind may move, each a list of elements with their speeds.
fn directions(case: &Case, which: usize) -> Vec<Vec<(usize, f64)>> {
    let (d, k) = (case.d, case.sizes.k);
    let length = if which == 0 { case.x.len() } else { case.args[which - 1].len() };
    let name = if which == 0 { "" } else { d.arguments[which - 1].name };
    if sums_to_one(case, which) {
        return (0..length).filter(|i| i % k > 0).map(|i| vec![(i, 1.0), (i - 1, -1.0)]).collect();
    }
    if matches!(name, "Sigma" | "Omega") {
        let entry =
            |i: usize, j: usize| if i == j { vec![(i * k + i, 1.0)] } else { vec![(i * k + j, 1.0), (j * k + i, 1.0)] };
        return (0..k).flat_map(|i| (0..=i).map(move |j| entry(i, j))).collect();
    }
    (0..length).map(|i| vec![(i, 1.0)]).collect()
}

#[test]
fn entries_are_complete() {
    for d in VECTOR_DISTRIBUTIONS {
        assert!(std::ptr::eq(find(d.name).unwrap(), d) && dist::find(d.name).is_none());
        assert!(!d.doc.is_empty() && !d.formula.is_empty() && d.arguments.len() <= MAX_ARGUMENTS);
        assert!(d.outcome != Outcome::Category || d.integer);
    }
    assert!(find("normal").is_none());
}

#[test]
fn gradients_are_differences() {
    let mut checked = 0;
    cases(|case| {
        let (_, found) = gradient(case, &case.args);
        for which in 0..=case.args.len() {
            let counts =
                which == 0 && case.d.integer || which > 0 && case.d.arguments[which - 1].part == Part::CountPerDraw;
            if counts {
                assert!(found[which].iter().all(|&g| g == 0.0));
                continue;
            }
            for direction in directions(case, which) {
                // Elements of a simplex may be tiny.
                let smallest = |a: &[f64]| direction.iter().map(|&(i, _)| a[i].abs()).fold(1.0, f64::min);
                let original = if which == 0 { &case.x } else { &case.args[which - 1] };
                let h = 1e-4 * if sums_to_one(case, which) { smallest(original) } else { smallest(original).max(1e-2) };
                let at = |t: f64| {
                    let (mut x, mut args) = (case.x.clone(), case.args.clone());
                    let moved = if which == 0 { &mut x } else { &mut args[which - 1] };
                    direction.iter().for_each(|&(i, speed)| moved[i] += t * speed);
                    value(case.d, case.sizes, &x, &args)
                };
                let wanted = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
                let slope: f64 = direction.iter().map(|&(i, speed)| speed * found[which][i]).sum();
                let size: f64 = 1.0 + wanted.abs() + at(0.0).abs() * 1e-5 / h;
                assert!(
                    (slope - wanted).abs() < 1e-7 * size,
                    "{} {which} {direction:?}: {slope} {wanted}",
                    case.d.name
                );
                checked += 1;
            }
        }
    });
    assert!(checked > 300);
}

#[test]
fn many_draws_are_the_sum_of_each() {
    cases(|case| {
        let w = width(case.d, case.sizes.k);
        let one = |(i, x): (usize, &[f64])| {
            case.d.value(Sizes { rows: 1, ..case.sizes }, x, &row_of(case.d, case.sizes, &case.args, i)).unwrap()
        };
        let sum: f64 = case.x.chunks_exact(w).enumerate().map(one).sum();
        let all = value(case.d, case.sizes, &case.x, &case.args);
        assert!((sum - all).abs() < 1e-12 * (1.0 + all.abs()), "{}: {sum} {all}", case.d.name);
    });
}

#[test]
fn the_normal_distribution_has_its_textbook_form() {
    let one = Sizes { rows: 1, k: 2 };
    let (r, s, t): (f64, f64, f64) = (0.3, 1.4, 0.6);
    let (x, y) = (0.7 / s, -0.4 / t);
    let textbook =
        -(x * x - 2.0 * r * x * y + y * y) / (2.0 * (1.0 - r * r)) - (2.0 * PI * s * t * (1.0 - r * r).sqrt()).ln();
    let sigma = vec![s * s, r * s * t, r * s * t, t * t];
    let det = s * s * t * t * (1.0 - r * r);
    let omega = vec![t * t / det, -r * s * t / det, -r * s * t / det, s * s / det];
    let l = vec![s, f64::NAN, r * t, t * (1.0 - r * r).sqrt()];
    let mu = vec![1.0, -2.0];
    for (name, matrix) in [("multi_normal", sigma), ("multi_normal_precision", omega), ("multi_normal_cholesky", l)] {
        let found = value(find(name).unwrap(), one, &[1.7, -2.4], &[mu.clone(), matrix]);
        assert!((found - textbook).abs() < 1e-13, "{name}: {found} {textbook}");
    }
}

#[test]
fn two_proportions_are_a_beta_variable_and_two_counts_a_binomial_one() {
    let one = Sizes { rows: 1, k: 2 };
    let found = value(find("dirichlet").unwrap(), one, &[0.3, 0.7], &[vec![1.7, 2.6]]);
    let beta = (dist::find("beta").unwrap().log_density)(0.3, &[1.7, 2.6]);
    assert!((found - beta).abs() < 1e-13, "{found} {beta}");
    let symmetric = value(find("dirichlet").unwrap(), one, &[0.3, 0.7], &[vec![1.7]]);
    assert!((symmetric - (dist::find("beta").unwrap().log_density)(0.3, &[1.7, 1.7])).abs() < 1e-13);
    let found = value(find("multinomial").unwrap(), one, &[3.0, 4.0], &[vec![7.0], vec![0.35, 0.65]]);
    let binomial = (dist::find("binomial").unwrap().log_density)(3.0, &[7.0, 0.35]);
    assert!((found - binomial).abs() < 1e-13, "{found} {binomial}");
}

#[test]
fn discrete_laws_sum_to_one() {
    let mut rng = stream(22, 0, Purpose::Prediction);
    for name in ["categorical", "categorical_logit", "ordered_logistic"] {
        let d = find(name).unwrap();
        let sizes = Sizes { rows: 1, k: 4 };
        let args = arguments(d, &mut rng, sizes, false);
        let total: f64 = (1..=d.categories(4)).map(|c| value(d, sizes, &[c as f64], &args).exp()).sum();
        assert!((total - 1.0).abs() < 1e-13, "{name}: {total}");
        assert_eq!(value(d, sizes, &[6.0], &args), f64::NEG_INFINITY);
        assert_eq!(value(d, sizes, &[1.5], &args), f64::NEG_INFINITY);
    }
    let d = find("multinomial").unwrap();
    let args = [vec![5.0], vec![0.2, 0.5, 0.3]];
    let mut total = 0.0;
    for a in 0..=5 {
        for b in 0..=5 - a {
            let x = [f64::from(a), f64::from(b), f64::from(5 - a - b)];
            total += value(d, Sizes { rows: 1, k: 3 }, &x, &args).exp();
        }
    }
    assert!((total - 1.0).abs() < 1e-13, "{total}");
}

#[test]
fn ordered_categories_are_differences_of_the_logistic_function() {
    let (eta, c) = (0.3, [-1.0, 0.2, 1.1]);
    let above = [1.0, logistic(eta - c[0]), logistic(eta - c[1]), logistic(eta - c[2]), 0.0];
    for x in 1..5 {
        let found =
            value(find("ordered_logistic").unwrap(), Sizes { rows: 1, k: 3 }, &[x as f64], &[vec![eta], c.to_vec()]);
        assert!((found - (above[x - 1] - above[x]).ln()).abs() < 1e-13);
    }
    // Far in the tail, where the plain difference is 0: exp(-60) (1 - exp(-1)).
    let far = value(find("ordered_logistic").unwrap(), Sizes { rows: 1, k: 2 }, &[2.0], &[vec![0.0], vec![60.0, 61.0]]);
    assert!((far - (-60.0 + (1.0 - (-1f64).exp()).ln())).abs() < 1e-12, "{far}");
}

#[test]
fn continuous_laws_on_bounded_sets_integrate_to_one() {
    // Over the free coordinates, with the Jacobian of the constraint.
    let steps: Vec<f64> = (-220..=220).map(|i| f64::from(i) * 0.1).collect();
    let mut total = 0.0;
    let mut x = [0.0; 3];
    for &a in &steps {
        for &b in &steps {
            let j = Constraint::Simplex.constrain(3, &[a, b], &mut x);
            if x.iter().all(|&v| v > 0.0) {
                total += 0.01
                    * (j + value(find("dirichlet").unwrap(), Sizes { rows: 1, k: 3 }, &x, &[vec![1.5, 0.8, 2.5]]))
                        .exp();
            }
        }
    }
    assert!((total - 1.0).abs() < 1e-6, "{total}");
    let steps: Vec<f64> = (-40..=40).map(|i| f64::from(i) * 0.2).collect();
    for eta in [0.8, 2.0] {
        let mut total = 0.0;
        let mut l = [0.0; 9];
        for &a in &steps {
            for &b in &steps {
                for &c in &steps {
                    let j = Constraint::CorrCholesky.constrain(3, &[a, b, c], &mut l);
                    let log = value(find("lkj_cholesky").unwrap(), Sizes { rows: 1, k: 3 }, &l, &[vec![eta]]);
                    total += 0.008 * (j + log).exp();
                }
            }
        }
        assert!((total - 1.0).abs() < 1e-5, "{eta}: {total}");
    }
}

#[test]
fn draws_have_the_mean_score_zero() {
    const DRAWS: usize = 20_000;
    let mut rng = stream(23, 0, Purpose::Prediction);
    for d in VECTOR_DISTRIBUTIONS {
        let sizes = Sizes { rows: 1, k: 3 };
        let args = arguments(d, &mut rng, sizes, false);
        let mut sums: Vec<Vec<(f64, f64)>> = Vec::new();
        for _ in 0..DRAWS {
            let case = Case { d, sizes, x: draws(d, &mut rng, sizes, &args), args: args.clone() };
            let (_, found) = gradient(&case, &args);
            for which in 1..=args.len() {
                let scores: Vec<f64> = directions(&case, which)
                    .iter()
                    .map(|direction| direction.iter().map(|&(i, speed)| speed * found[which][i]).sum())
                    .collect();
                if sums.len() < which {
                    sums.push(vec![(0.0, 0.0); scores.len()]);
                }
                for (sum, score) in sums[which - 1].iter_mut().zip(scores) {
                    sum.0 += score;
                    sum.1 += score * score;
                }
            }
        }
        for (which, sums) in sums.iter().enumerate().filter(|(i, _)| d.arguments[*i].part != Part::CountPerDraw) {
            for (i, &(sum, square)) in sums.iter().enumerate() {
                // Above the diagonal of a factor nothing is read.
                if d.arguments[which].name == "L" && i % 3 > i / 3 {
                    assert_eq!(square, 0.0);
                    continue;
                }
                let z = sum / (square - sum * sum / DRAWS as f64).sqrt();
                assert!(z.abs() < 4.0, "{} {} {i}: z = {z}", d.name, d.arguments[which].name);
            }
        }
    }
}

#[test]
fn what_is_no_argument_has_no_density() {
    let two = Sizes { rows: 1, k: 2 };
    let nan = |name: &str, x: &[f64], args: &[Vec<f64>]| {
        assert!(value(find(name).unwrap(), two, x, args).is_nan(), "{name} {args:?}");
    };
    nan("dirichlet", &[0.5, 0.5], &[vec![1.0, 0.0]]);
    nan("categorical", &[1.0], &[vec![0.5, 0.6]]);
    nan("multinomial", &[1.0, 1.0], &[vec![2.0], vec![0.5, 0.6]]);
    nan("ordered_logistic", &[1.0], &[vec![0.0], vec![1.0, 1.0]]);
    nan("multi_normal", &[0.0, 0.0], &[vec![0.0], vec![1.0, 0.5, 0.4, 1.0]]);
    nan("multi_normal_cholesky", &[0.0, 0.0], &[vec![0.0], vec![1.0, 0.0, 0.5, -1.0]]);
    let indefinite = [0.0].as_slice();
    let refused = find("multi_normal").unwrap().value(two, &[0.0, 0.0], &[indefinite, &[1.0, 2.0, 2.0, 1.0]]);
    assert_eq!(refused, Err(Pivot { index: 1, size: 2, value: -3.0 }));
    let outside = |name: &str, x: &[f64], args: &[Vec<f64>]| {
        assert_eq!(value(find(name).unwrap(), two, x, args), f64::NEG_INFINITY, "{name}");
    };
    outside("dirichlet", &[0.5, 0.6], &[vec![1.0, 1.0]]);
    outside("multinomial", &[1.0, 2.0], &[vec![2.0], vec![0.5, 0.5]]);
    outside("lkj_cholesky", &[1.0, 0.0, 1.0, 0.0], &[vec![1.0]]);
}
