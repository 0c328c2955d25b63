//! Orientation probes: whether chains agree on how the factors are turned and mirrored.
//!
//! Rows of the anchor block A (K features x K factors) are loadings of one stream. A' = Q R with a positive diagonal of R
//! fixes the orthogonal Q of each draw; functions of Q are then judged like any other quantity. K = 2: det Q and
//! cos(j theta), sin(j theta), j = 1..4, theta = atan2(Q10, Q00). K >= 3: det Q and every Q_ij and Q_ij^2. All but det Q
//! come twice, alone and times det Q, because rotations and reflections each have means of their own.

use thiserror::Error;

/// Why an anchor block has no orientation. Chain, draw and column numbers are zero-based.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum OrientationError {
    #[error("orientation probes need at least 2 factors, not {factors}")]
    TooFewFactors { factors: usize },
    #[error("chain {} holds {values} anchor values, not a multiple of {factors} x {factors}", chain + 1)]
    Shape { chain: usize, values: usize, factors: usize },
    #[error("draw {} of chain {} holds an anchor value that is not finite", draw + 1, chain + 1)]
    NonFinite { chain: usize, draw: usize },
    #[error(
        "the anchor block of draw {} of chain {} is singular: pivot {pivot:e} in row {} of length {length:e}",
        draw + 1, chain + 1, row + 1
    )]
    Singular { chain: usize, draw: usize, row: usize, pivot: f64, length: f64 },
}

/// Probes of all draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Probes {
    pub names: Vec<String>,
    /// Probe, then chain, then draw; finite.
    pub values: Vec<Vec<Vec<f64>>>,
}

/// Probes of anchor blocks: one slice per chain, draws x K x K, row-major (feature, then factor).
pub fn probes(chains: &[&[f64]], factors: usize) -> Result<Probes, OrientationError> {
    let names = probe_names(factors)?;
    let mut values = vec![vec![Vec::new(); chains.len()]; names.len()];
    for (chain, anchors) in chains.iter().enumerate() {
        if anchors.len() % (factors * factors) != 0 {
            return Err(OrientationError::Shape { chain, values: anchors.len(), factors });
        }
        for (draw, anchor) in anchors.chunks_exact(factors * factors).enumerate() {
            if anchor.iter().any(|w| !w.is_finite()) {
                return Err(OrientationError::NonFinite { chain, draw });
            }
            let q = orthogonal_factor(anchor, factors).map_err(|failed| OrientationError::Singular {
                chain,
                draw,
                row: failed.row,
                pivot: failed.pivot,
                length: failed.length,
            })?;
            for (probe, value) in values.iter_mut().zip(probe_values(&q, factors)) {
                probe[chain].push(value);
            }
        }
    }
    Ok(Probes { names, values })
}

/// Names of the probes for K factors, in the order of [`Probes::values`].
pub fn probe_names(factors: usize) -> Result<Vec<String>, OrientationError> {
    if factors < 2 {
        return Err(OrientationError::TooFewFactors { factors });
    }
    let single: Vec<String> = if factors == 2 {
        (1..=4).flat_map(|j| [format!("cos_{j}_theta"), format!("sin_{j}_theta")]).collect()
    } else {
        let entries = (0..factors).flat_map(|i| (0..factors).map(move |j| format!("Q_{i}_{j}")));
        entries.flat_map(|entry| [entry.clone(), format!("{entry}_squared")]).collect()
    };
    let paired = single.into_iter().flat_map(|name| [name.clone(), format!("det_Q_times_{name}")]);
    Ok(std::iter::once("det_Q".to_string()).chain(paired).collect())
}

fn probe_values(q: &[f64], factors: usize) -> Vec<f64> {
    let sign = determinant_sign(q, factors);
    let single: Vec<f64> = if factors == 2 {
        let theta = q[2].atan2(q[0]);
        (1..=4).flat_map(|j| [(f64::from(j) * theta).cos(), (f64::from(j) * theta).sin()]).collect()
    } else {
        q.iter().flat_map(|&entry| [entry, entry * entry]).collect()
    };
    std::iter::once(sign).chain(single.into_iter().flat_map(|value| [value, sign * value])).collect()
}

#[derive(Debug)]
struct SingularRow {
    row: usize,
    pivot: f64,
    length: f64,
}

/// Q of A' = Q R, K x K row-major, R with a positive diagonal: the rows of A made orthonormal in turn. Each row is
/// orthogonalised twice, which keeps Q orthogonal to rounding however nearly dependent the rows are.
fn orthogonal_factor(anchor: &[f64], k: usize) -> Result<Vec<f64>, SingularRow> {
    let norm = |v: &[f64]| v.iter().fold(0.0_f64, |acc, x| acc.hypot(*x));
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(k);
    for row in 0..k {
        let mut v = anchor[row * k..(row + 1) * k].to_vec();
        let length = norm(&v);
        let mut pivot = length;
        for _ in 0..2 {
            for known in &basis {
                let along: f64 = known.iter().zip(&v).map(|(a, b)| a * b).sum();
                v.iter_mut().zip(known).for_each(|(x, a)| *x -= along * a);
            }
            // The first pass shows whether anything but rounding is left of the row.
            pivot = norm(&v);
            if pivot <= 8.0 * k as f64 * f64::EPSILON * length || !pivot.is_finite() {
                return Err(SingularRow { row, pivot, length });
            }
        }
        v.iter_mut().for_each(|x| *x /= pivot);
        basis.push(v);
    }
    Ok((0..k * k).map(|at| basis[at % k][at / k]).collect())
}

/// The sign of the determinant of an orthogonal matrix by elimination with row exchanges.
fn determinant_sign(q: &[f64], k: usize) -> f64 {
    let mut a = q.to_vec();
    let mut sign = 1.0;
    for column in 0..k {
        let pivot = (column..k)
            .fold(column, |best, i| if a[i * k + column].abs() > a[best * k + column].abs() { i } else { best });
        if pivot != column {
            (0..k).for_each(|j| a.swap(column * k + j, pivot * k + j));
            sign = -sign;
        }
        sign *= a[column * k + column].signum();
        for i in column + 1..k {
            let factor = a[i * k + column] / a[column * k + column];
            (column..k).for_each(|j| a[i * k + j] -= factor * a[column * k + j]);
        }
    }
    sign
}
