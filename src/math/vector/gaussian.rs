//! The normal distribution of a vector, by covariance, by its Cholesky factor, and by precision.
//!
//! With r = x - mu, w = Sigma^-1 r and y = L^-1 r: d/dmu = w, d/dSigma = (w w' - Sigma^-1)/2, d/dL = tril(w y') less
//! 1/diag(L), d/dOmega = (Omega^-1 - r r')/2. A symmetric argument is read as a whole, so that its derivative is spread
//! over both triangles.

use super::linear::{add_inverse, cholesky, is_symmetric, solve_lower, solve_upper};
use super::{Call, Outcome, Part, Pivot, Sizes, VectorDistribution, part, place};
use crate::math::dist::Domain;
use crate::math::special::HALF_LN_2PI;
use rand::Rng;
use rand_distr::{Distribution as _, StandardNormal};

pub(super) const MULTI_NORMAL: VectorDistribution = VectorDistribution {
    name: "multi_normal",
    arguments: &[part("mu", Part::Centre, Domain::Real), part("Sigma", Part::Matrix, Domain::Real)],
    outcome: Outcome::Vector,
    integer: false,
    constraint: None,
    doc: "Normal distribution of a vector with mean mu and covariance matrix Sigma.",
    formula: "exp(-(x - mu)' Sigma^-1 (x - mu) / 2) / sqrt(det(2 pi Sigma))",
    log_density: |call| log_density(call, Form::Covariance),
    draw: |rng, sizes, args, out| draw(rng, sizes, args, out, Form::Covariance),
};

pub(super) const MULTI_NORMAL_CHOLESKY: VectorDistribution = VectorDistribution {
    name: "multi_normal_cholesky",
    arguments: &[part("mu", Part::Centre, Domain::Real), part("L", Part::Matrix, Domain::Real)],
    outcome: Outcome::Vector,
    integer: false,
    constraint: None,
    doc: "The same with covariance L L', where L is lower triangular; what stands above its diagonal is not read.",
    formula: "exp(-|L^-1 (x - mu)|^2 / 2) / (sqrt(2 pi)^K prod(diag(L)))",
    log_density: |call| log_density(call, Form::Factor),
    draw: |rng, sizes, args, out| draw(rng, sizes, args, out, Form::Factor),
};

pub(super) const MULTI_NORMAL_PRECISION: VectorDistribution = VectorDistribution {
    name: "multi_normal_precision",
    arguments: &[part("mu", Part::Centre, Domain::Real), part("Omega", Part::Matrix, Domain::Real)],
    outcome: Outcome::Vector,
    integer: false,
    constraint: None,
    doc: "The same with precision matrix Omega, the inverse of the covariance.",
    formula: "exp(-(x - mu)' Omega (x - mu) / 2) sqrt(det(Omega / (2 pi)))",
    log_density: |call| log_density(call, Form::Precision),
    draw: |rng, sizes, args, out| draw(rng, sizes, args, out, Form::Precision),
};

/// What the matrix is.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Covariance,
    Factor,
    Precision,
}

/// The Cholesky factor that belongs to the argument; `false` if the argument is no such matrix.
fn factor(matrix: &[f64], k: usize, form: Form, l: &mut [f64]) -> Result<bool, Pivot> {
    if form == Form::Factor {
        for i in 0..k {
            l[i * k..=i * k + i].copy_from_slice(&matrix[i * k..=i * k + i]);
            l[i * k + i + 1..(i + 1) * k].fill(0.0);
        }
        return Ok((0..k).all(|i| l[i * k + i] > 0.0));
    }
    if !is_symmetric(matrix, k) {
        return Ok(false);
    }
    cholesky(matrix, k, l)?;
    Ok(true)
}

fn log_density(call: &mut Call<'_, '_>, form: Form) -> Result<f64, Pivot> {
    let Sizes { rows, k } = call.sizes;
    let (mu, matrix) = (call.args[0], call.args[1]);
    call.scratch.clear();
    call.scratch.resize(k * k + 3 * k, 0.0);
    let (l, rest) = call.scratch.split_at_mut(k * k);
    let (r, rest) = rest.split_at_mut(k);
    let (y, w) = rest.split_at_mut(k);
    if !factor(matrix, k, form, l)? {
        return Ok(f64::NAN);
    }
    let [g_mu, g_matrix] = call.gradient else { return Ok(f64::NAN) };
    let mut squares = 0.0;
    for i in 0..rows {
        for (j, r) in r.iter_mut().enumerate() {
            *r = call.x[i * k + j] - mu[place(mu.len(), i, j, k)];
        }
        y.copy_from_slice(r);
        if form == Form::Precision {
            // w = Omega r.
            for (j, w) in w.iter_mut().enumerate() {
                *w = matrix[j * k..(j + 1) * k].iter().zip(&*r).map(|(m, r)| m * r).sum();
            }
            squares += w.iter().zip(&*r).map(|(w, r)| w * r).sum::<f64>();
        } else {
            solve_lower(l, k, y);
            squares += y.iter().map(|y| y * y).sum::<f64>();
            w.copy_from_slice(y);
            solve_upper(l, k, w);
        }
        for (j, &w) in w.iter().enumerate() {
            call.gx[i * k + j] -= w;
            g_mu[place(mu.len(), i, j, k)] += w;
        }
        for a in 0..k {
            let g = &mut g_matrix[a * k..(a + 1) * k];
            match form {
                Form::Covariance => g.iter_mut().zip(&*w).for_each(|(g, b)| *g += 0.5 * w[a] * b),
                Form::Factor => g[..=a].iter_mut().zip(&*y).for_each(|(g, b)| *g += w[a] * b),
                Form::Precision => g.iter_mut().zip(&*r).for_each(|(g, b)| *g -= 0.5 * r[a] * b),
            }
        }
    }
    let n = rows as f64;
    let log_root: f64 = (0..k).map(|i| l[i * k + i].ln()).sum();
    let log_det = match form {
        Form::Covariance => {
            add_inverse(l, k, -0.5 * n, r, g_matrix);
            -log_root
        }
        Form::Factor => {
            (0..k).for_each(|i| g_matrix[i * k + i] -= n / l[i * k + i]);
            -log_root
        }
        Form::Precision => {
            add_inverse(l, k, 0.5 * n, r, g_matrix);
            log_root
        }
    };
    Ok(n * (log_det - k as f64 * HALF_LN_2PI) - 0.5 * squares)
}

fn draw(rng: &mut dyn Rng, sizes: Sizes, args: &[&[f64]], out: &mut [f64], form: Form) {
    let k = sizes.k;
    let mut l = vec![0.0; k * k];
    if !matches!(factor(args[1], k, form, &mut l), Ok(true)) {
        out.fill(f64::NAN);
        return;
    }
    let mut z: Vec<f64> = (0..k).map(|_| StandardNormal.sample(rng)).collect();
    if form == Form::Precision {
        solve_upper(&l, k, &mut z);
    } else {
        // From the last row up, so that no element is used after it is written.
        for i in (0..k).rev() {
            z[i] = l[i * k..=i * k + i].iter().zip(&z).map(|(l, z)| l * z).sum();
        }
    }
    for (j, (out, z)) in out.iter_mut().zip(z).enumerate() {
        *out = args[0][place(args[0].len(), 0, j, k)] + z;
    }
}
