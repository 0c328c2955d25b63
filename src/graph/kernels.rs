//! Log densities of whole arrays with their partial derivatives, in one pass over the elements.

use crate::math::dist::{Distribution, MAX_ARGUMENTS};
use crate::math::special::HALF_LN_2PI;

/// Where the partial derivatives of one density term go. A slice of length one takes the sum over elements; an
/// operand that is not differentiated has no slice.
pub(super) struct Partials<'a> {
    pub x: Option<&'a mut [f64]>,
    pub arguments: [Option<&'a mut [f64]>; MAX_ARGUMENTS],
}

/// Sum of log densities of the elements of `x`; the partials are overwritten.
pub(super) fn density(distribution: &Distribution, x: &[f64], args: &[&[f64]], partials: &mut Partials<'_>) -> f64 {
    for slice in partials.x.iter_mut().chain(partials.arguments.iter_mut().flatten()) {
        slice.fill(0.0);
    }
    match (distribution.name, args) {
        ("normal", [mu, sigma]) if sigma.len() == 1 => normal(x, mu, sigma[0], partials),
        ("normal", [mu, sigma]) => normal_each(x, mu, sigma, partials),
        ("bernoulli_logit", [alpha]) if alpha.len() == x.len() => bernoulli_logit(x, alpha, partials),
        _ => generic(distribution, x, args, partials),
    }
}

/// Any distribution, element by element through its table entry.
fn generic(distribution: &Distribution, x: &[f64], args: &[&[f64]], partials: &mut Partials<'_>) -> f64 {
    let n = elements(x, args);
    let mut d = [0.0; 1 + MAX_ARGUMENTS];
    let mut a = [0.0; MAX_ARGUMENTS];
    let count = args.len();
    let mut total = 0.0;
    for i in 0..n {
        for (a, arg) in a.iter_mut().zip(args) {
            *a = pick(arg, i);
        }
        total += (distribution.gradient)(pick(x, i), &a[..count], &mut d[..=count]);
        if let Some(px) = &mut partials.x {
            add(px, i, d[0]);
        }
        for (slot, &d) in partials.arguments.iter_mut().zip(&d[1..]) {
            if let Some(slot) = slot {
                add(slot, i, d);
            }
        }
    }
    total
}

/// Normal with one scale for all elements: one logarithm for the whole array.
fn normal(x: &[f64], mu: &[f64], sigma: f64, partials: &mut Partials<'_>) -> f64 {
    if sigma.is_nan() || sigma <= 0.0 || sigma.is_infinite() {
        return f64::NAN;
    }
    let n = elements(x, &[mu]);
    let precision = 1.0 / (sigma * sigma);
    let [p_mu, p_sigma, _] = &mut partials.arguments;
    let squares = match (x, mu) {
        // One of the two arrays, elementwise, is the common case of an observation or of a prior.
        (x, mu) if x.len() == n && mu.len() == n => {
            residuals(x, mu, precision, partials.x.as_deref_mut(), p_mu.as_deref_mut())
        }
        (x, [mu]) => {
            let squares = one_centre(x, *mu, -precision, partials.x.as_deref_mut());
            if let Some(p) = p_mu {
                p[0] = precision * x.iter().map(|x| x - mu).sum::<f64>();
            }
            squares
        }
        ([x], mu) => {
            let squares = one_centre(mu, *x, -precision, p_mu.as_deref_mut());
            if let Some(p) = &mut partials.x {
                p[0] = precision * mu.iter().map(|mu| mu - x).sum::<f64>();
            }
            squares
        }
        _ => return f64::NAN,
    };
    if let Some(p_sigma) = p_sigma {
        p_sigma[0] = squares * precision / sigma - n as f64 / sigma;
    }
    -0.5 * squares * precision - n as f64 * (sigma.ln() + HALF_LN_2PI)
}

/// Normal with a scale per element.
fn normal_each(x: &[f64], mu: &[f64], sigma: &[f64], partials: &mut Partials<'_>) -> f64 {
    let n = elements(x, &[mu, sigma]);
    let [p_mu, p_sigma, _] = &mut partials.arguments;
    let mut squares = 0.0;
    let mut logs = 0.0;
    for i in 0..n {
        let scale = pick(sigma, i);
        if scale.is_nan() || scale <= 0.0 || scale.is_infinite() {
            return f64::NAN;
        }
        let inverse = 1.0 / scale;
        let z = (pick(x, i) - pick(mu, i)) * inverse;
        squares += z * z;
        logs += scale.ln();
        if let Some(p) = p_sigma {
            add(p, i, (z * z - 1.0) * inverse);
        }
        if let Some(p) = p_mu {
            add(p, i, z * inverse);
        }
        if let Some(p) = &mut partials.x {
            add(p, i, -z * inverse);
        }
    }
    -0.5 * squares - logs - n as f64 * HALF_LN_2PI
}

/// Sum of squares of `x - mu`; minus the score in x and the score in mu go where they are wanted.
fn residuals(x: &[f64], mu: &[f64], precision: f64, px: Option<&mut [f64]>, pmu: Option<&mut [f64]>) -> f64 {
    let mut squares = 0.0;
    match (px, pmu) {
        (None, None) => x.iter().zip(mu).for_each(|(x, mu)| squares += (x - mu) * (x - mu)),
        (Some(px), None) => {
            for ((x, mu), p) in x.iter().zip(mu).zip(px) {
                squares += (x - mu) * (x - mu);
                *p = -(x - mu) * precision;
            }
        }
        (None, Some(pmu)) => {
            for ((x, mu), p) in x.iter().zip(mu).zip(pmu) {
                squares += (x - mu) * (x - mu);
                *p = (x - mu) * precision;
            }
        }
        (Some(px), Some(pmu)) => {
            for (((x, mu), px), pmu) in x.iter().zip(mu).zip(px).zip(pmu) {
                squares += (x - mu) * (x - mu);
                *pmu = (x - mu) * precision;
                *px = -*pmu;
            }
        }
    }
    squares
}

/// Sum of squares of `values - centre`; `slope` times the residual goes where it is wanted.
fn one_centre(values: &[f64], centre: f64, slope: f64, partial: Option<&mut [f64]>) -> f64 {
    if let Some(p) = partial {
        p.iter_mut().zip(values).for_each(|(p, v)| *p = slope * (v - centre));
    }
    values.iter().map(|v| (v - centre) * (v - centre)).sum()
}

/// Bernoulli with a log-odds per element. The outcomes are checked data, but anything else than 0 or 1 has no density.
fn bernoulli_logit(x: &[f64], alpha: &[f64], partials: &mut Partials<'_>) -> f64 {
    let mut total = 0.0;
    for (i, (&y, &a)) in x.iter().zip(alpha).enumerate() {
        if y != 0.0 && y != 1.0 {
            return f64::NEG_INFINITY;
        }
        // One exponential serves the value and the derivative.
        let e = (-a.abs()).exp();
        total -= e.ln_1p() + if y == 1.0 { (-a).max(0.0) } else { a.max(0.0) };
        if let Some(p) = &mut partials.arguments[0] {
            let probability = if a >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
            p[i] = y - probability;
        }
    }
    total
}

/// Number of elements after broadcasting.
fn elements(x: &[f64], args: &[&[f64]]) -> usize {
    if x.is_empty() { 0 } else { args.iter().map(|a| a.len()).fold(x.len(), usize::max) }
}

/// Element `i` of values that broadcast where there is one.
#[inline]
pub(super) fn pick(values: &[f64], i: usize) -> f64 {
    if values.len() == 1 { values[0] } else { values[i] }
}

/// Adds to element `i` of an adjoint that broadcasts where there is one.
#[inline]
pub(super) fn add(slot: &mut [f64], i: usize, value: f64) {
    if slot.len() == 1 {
        slot[0] += value;
    } else {
        slot[i] += value;
    }
}
