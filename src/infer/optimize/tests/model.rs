//! The limited-memory model, its Cauchy point and its subspace minimiser against dense algebra.

use super::super::bounds::Bounds;
use super::super::cauchy::cauchy_point;
use super::super::compact::{Compact, dot};
use super::super::subspace::subspace_minimiser;
use super::{dense_solve, largest_difference, normals, random_spd, times, unbounded};

/// Memory with `pairs` random pairs of a quadratic and the dense matrix of the BFGS recursion over the last `kept`.
fn memory_and_twin(seed: u64, n: usize, pairs: usize, kept: usize) -> (Compact, Vec<f64>) {
    let hessian = random_spd(seed, n, 1.0);
    let mut memory = Compact::new(kept);
    let all: Vec<(Vec<f64>, Vec<f64>)> = (0..pairs as u64)
        .map(|k| normals(1000 * seed + k, n))
        .map(|s| {
            let y = times(&hessian, &s);
            (s, y)
        })
        .collect();
    for (s, y) in &all {
        memory.update(s.clone(), y.clone()).expect("positive definite");
    }
    let (s, y) = &all[pairs - 1];
    let theta = dot(y, y) / dot(s, y);
    let mut dense = vec![0.0; n * n];
    for i in 0..n {
        dense[i * n + i] = theta;
    }
    for (s, y) in &all[pairs - kept.min(pairs)..] {
        let bs = times(&dense, s);
        let (sbs, sy) = (dot(s, &bs), dot(s, y));
        for i in 0..n {
            for j in 0..n {
                dense[i * n + j] += y[i] * y[j] / sy - bs[i] * bs[j] / sbs;
            }
        }
    }
    (memory, dense)
}

#[test]
fn compact_form_equals_the_dense_recursion() {
    for (pairs, kept) in [(1, 5), (4, 5), (9, 4)] {
        let n = 8;
        let (memory, dense) = memory_and_twin(7, n, pairs, kept);
        let all: Vec<usize> = (0..n).collect();
        for k in 0..5 {
            let v = normals(50 + k, n);
            let mut product: Vec<f64> = v.iter().map(|x| memory.theta() * x).collect();
            memory.add_expanded(&memory.middle(&memory.project(&v)), &all, -1.0, &mut product);
            let twin = times(&dense, &v);
            let size = twin.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
            assert!(largest_difference(&product, &twin) < 1e-12 * size);
        }
    }
}

#[test]
fn reduced_solves_equal_dense_ones_for_every_kind_of_free_set() {
    let n = 9;
    for (pairs, kept) in [(1, 5), (5, 5), (9, 4)] {
        let (memory, dense) = memory_and_twin(3, n, pairs, kept);
        let sets: [&[usize]; 4] = [&[0, 1, 2, 3, 4, 5, 6, 7, 8], &[0, 2, 3, 5, 6, 7, 8], &[1, 4], &[8]];
        for free in sets {
            let fixed: Vec<usize> = (0..n).filter(|i| !free.contains(i)).collect();
            let block: Vec<f64> =
                free.iter().flat_map(|&i| free.iter().map(move |&j| (i, j))).map(|(i, j)| dense[i * n + j]).collect();
            let r = normals(90 + free.len() as u64, free.len());
            let p = memory.solve_free(free, &fixed, &r).expect("positive definite");
            let twin = dense_solve(&block, &r);
            let size = twin.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
            assert!(largest_difference(&p, &twin) < 1e-10 * size, "{free:?}");
        }
    }
}

#[test]
fn a_pair_without_positive_curvature_is_left_out() {
    let mut memory = Compact::new(3);
    memory.update(vec![1.0, 0.0], vec![-1.0, 0.0]).expect("left out");
    memory.update(vec![1.0, 0.0], vec![0.0, 0.0]).expect("left out");
    assert_eq!(memory.pairs(), 0);
}

/// Walks the projected path segment by segment with the dense matrix.
fn dense_cauchy_point(x: &[f64], g: &[f64], bounds: &Bounds, dense: &[f64]) -> Vec<f64> {
    let n = x.len();
    let at =
        |t: f64| -> Vec<f64> { (0..n).map(|i| (x[i] - t * g[i]).clamp(bounds.lower[i], bounds.upper[i])).collect() };
    let end = |i: usize| {
        let wall = if g[i] < 0.0 { bounds.upper[i] } else { bounds.lower[i] };
        if g[i] == 0.0 { f64::INFINITY } else { (x[i] - wall) / g[i] }
    };
    let mut ends: Vec<f64> = (0..n).map(end).filter(|t| *t > 0.0).collect();
    ends.push(f64::INFINITY);
    ends.sort_by(f64::total_cmp);
    let mut from = 0.0;
    for to in ends {
        let d: Vec<f64> = (0..n).map(|i| if end(i) > from { -g[i] } else { 0.0 }).collect();
        let moved: Vec<f64> = at(from).iter().zip(x).map(|(a, b)| a - b).collect();
        let slope = dot(g, &d) + dot(&moved, &times(dense, &d));
        let curvature = dot(&d, &times(dense, &d));
        if slope >= 0.0 {
            return at(from);
        }
        if from - slope / curvature < to {
            return at(from - slope / curvature);
        }
        from = to;
    }
    at(from)
}

#[test]
fn cauchy_point_equals_a_walk_with_the_dense_matrix() {
    let n = 12;
    let mut crossings = 0;
    for seed in 1..40 {
        let (memory, dense) = memory_and_twin(seed, n, 1 + seed as usize % 6, 4);
        let x = normals(seed + 500, n);
        let g: Vec<f64> = normals(seed + 600, n).iter().map(|g| 100.0 * g).collect();
        let room = normals(seed + 700, 2 * n);
        let mut lower: Vec<f64> = (0..n).map(|i| x[i] - 0.3 * room[i].abs()).collect();
        let mut upper: Vec<f64> = (0..n).map(|i| x[i] + 0.3 * room[n + i].abs()).collect();
        lower[0] = x[0];
        upper[1] = x[1];
        (lower[2], upper[2]) = (x[2], x[2]);
        (lower[3], upper[3]) = (f64::NEG_INFINITY, f64::INFINITY);
        let bounds = Bounds { lower: &lower, upper: &upper };
        let cauchy = cauchy_point(&x, &g, &bounds, &memory);
        let twin = dense_cauchy_point(&x, &g, &bounds, &dense);
        assert!(largest_difference(&cauchy.point, &twin) < 1e-11, "seed {seed}");
        let moved: Vec<f64> = twin.iter().zip(&x).map(|(a, b)| a - b).collect();
        let projected = memory.project(&moved);
        let size = projected.iter().fold(1.0_f64, |a, b| a.max(b.abs()));
        assert!(largest_difference(&cauchy.projected_step, &projected) < 1e-10 * size);
        crossings += cauchy.fixed.len();
    }
    assert!(crossings > 100, "the test must cross breakpoints");
}

#[test]
fn subspace_minimiser_is_the_newton_point_of_the_model() {
    let n = 7;
    let (memory, dense) = memory_and_twin(11, n, 5, 5);
    let (x, g) = (normals(1, n), normals(2, n));
    let (lower, upper) = unbounded(n);
    let bounds = Bounds { lower: &lower, upper: &upper };
    let cauchy = cauchy_point(&x, &g, &bounds, &memory);
    let target = subspace_minimiser(&x, &g, &bounds, &memory, cauchy).expect("positive definite");
    let newton: Vec<f64> = dense_solve(&dense, &g).iter().zip(&x).map(|(p, x)| x - p).collect();
    assert!(largest_difference(&target, &newton) < 1e-11);
}

#[test]
fn subspace_minimiser_zeroes_the_model_gradient_over_free_coordinates() {
    let n = 10;
    let mut interior = 0;
    for seed in 1..30 {
        let (memory, dense) = memory_and_twin(seed, n, 4, 6);
        let x = vec![0.0; n];
        let g = normals(seed + 20, n);
        // Half of the coordinates may not move far, the others are free.
        let lower: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { -1e-4 } else { f64::NEG_INFINITY }).collect();
        let upper: Vec<f64> = lower.iter().map(|l| -l).collect();
        let bounds = Bounds { lower: &lower, upper: &upper };
        let cauchy = cauchy_point(&x, &g, &bounds, &memory);
        let free = cauchy.free.clone();
        let target = subspace_minimiser(&x, &g, &bounds, &memory, cauchy).expect("positive definite");
        assert!(target.iter().zip(lower.iter().zip(&upper)).all(|(t, (l, u))| l <= t && t <= u));
        assert!(dot(&g, &target) < 0.0);
        if free.iter().all(|&i| target[i] > lower[i] && target[i] < upper[i]) {
            interior += 1;
            let slope = times(&dense, &target);
            assert!(free.iter().all(|&i| (slope[i] + g[i]).abs() < 1e-10));
        }
    }
    assert!(interior >= 5, "only {interior} cases stayed inside");
}

#[test]
fn a_projection_that_is_no_descent_is_replaced_by_a_cut() {
    let n = 3;
    let mut cuts = 0;
    for seed in 1..3000 {
        let (memory, dense) = memory_and_twin(seed, n, 3, 3);
        let (x, g) = (vec![0.0; n], normals(seed + 9000, n));
        let room = normals(seed + 12_000, n);
        let lower: Vec<f64> = room.iter().map(|r| -0.05 * r.abs()).collect();
        let upper: Vec<f64> = room.iter().map(|r| 0.05 * r.abs()).collect();
        let bounds = Bounds { lower: &lower, upper: &upper };
        let cauchy = cauchy_point(&x, &g, &bounds, &memory);
        let (start, free) = (cauchy.point.clone(), cauchy.free.clone());
        let target = subspace_minimiser(&x, &g, &bounds, &memory, cauchy).expect("positive definite");
        assert!(target.iter().zip(lower.iter().zip(&upper)).all(|(t, (l, u))| l <= t && t <= u));
        assert!(dot(&g, &target) < 0.0, "seed {seed}");

        let slope: Vec<f64> = times(&dense, &start).iter().zip(&g).map(|(b, g)| b + g).collect();
        let pairs = free.iter().flat_map(|&i| free.iter().map(move |&j| (i, j)));
        let block: Vec<f64> = pairs.map(|(i, j)| dense[i * n + j]).collect();
        let step = dense_solve(&block, &free.iter().map(|&i| slope[i]).collect::<Vec<f64>>());
        let mut projected = start.clone();
        for (&i, step) in free.iter().zip(&step) {
            projected[i] = (start[i] - step).clamp(lower[i], upper[i]);
        }
        if dot(&g, &projected) >= 0.0 {
            cuts += 1;
            // The cut lies on the line from the Cauchy point towards the minimiser of the subspace, at a bound.
            let fraction = free.iter().zip(&step).map(|(&i, step)| (start[i] - target[i]) / step);
            let fraction: Vec<f64> = fraction.collect();
            assert!(fraction.iter().all(|f| (f - fraction[0]).abs() < 1e-8 && (0.0..=1.0).contains(f)));
            assert!(free.iter().any(|&i| target[i] == lower[i] || target[i] == upper[i]));
        }
    }
    assert!(cuts > 0, "the test must meet a projection that is no descent");
}
