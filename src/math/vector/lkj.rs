//! The LKJ distribution of a correlation matrix through its Cholesky factor (Lewandowski, Kurowicka & Joe 2009).
//!
//! A correlation matrix with density det(R)^(eta - 1) has a factor with density prod_i l_ii^(K - i + 2 eta - 2) in the
//! elements below the diagonal. Its rows are independent: row i is a point of the unit ball of dimension i - 1 with
//! density (1 - |l|^2)^(eta - 1 + (K - i)/2), whose normaliser is pi^((i - 1)/2) Gamma(eta + (K - i)/2) /
//! Gamma(eta + (K - 1)/2).

use super::{Call, Outcome, Part, Pivot, Sizes, VectorDistribution, part};
use crate::math::constraint::Constraint;
use crate::math::dist::Domain;
use crate::math::special::{digamma, ln_gamma};
use rand_distr::{Beta, Distribution as _, StandardNormal};
use std::f64::consts::PI;

pub(super) const LKJ_CHOLESKY: VectorDistribution = VectorDistribution {
    name: "lkj_cholesky",
    arguments: &[part("eta", Part::Scalar, Domain::Positive)],
    outcome: Outcome::Matrix,
    integer: false,
    constraint: Some(Constraint::CorrCholesky),
    doc: "Cholesky factor L of a correlation matrix with density det(L L')^(eta - 1); eta = 1 is flat over correlation matrices.",
    formula: "prod_i L_ii^(K - i + 2 eta - 2) Gamma(eta + (K - 1)/2) / (pi^((i - 1)/2) Gamma(eta + (K - i)/2)), i = 2, ..., K",
    log_density,
    draw: |rng, sizes, args, out| {
        let (k, eta) = (sizes.k, args[0][0]);
        out.fill(0.0);
        for i in 0..k {
            let row = &mut out[i * k..=i * k + i];
            if i == 0 {
                row[0] = 1.0;
                continue;
            }
            let Ok(law) = Beta::new(0.5 * i as f64, eta + 0.5 * (k - 1 - i) as f64) else {
                row.fill(f64::NAN);
                continue;
            };
            // The squared length of the row below the diagonal.
            let square: f64 = law.sample(rng);
            row[..i].iter_mut().for_each(|v| *v = StandardNormal.sample(rng));
            let length = row[..i].iter().map(|v| v * v).sum::<f64>().sqrt();
            row[..i].iter_mut().for_each(|v| *v *= square.sqrt() / length);
            row[i] = (1.0 - square).sqrt();
        }
    },
};

fn log_density(call: &mut Call<'_, '_>) -> Result<f64, Pivot> {
    let Sizes { k, .. } = call.sizes;
    let eta = call.args[0][0];
    if !(eta > 0.0 && eta < f64::INFINITY) {
        return Ok(f64::NAN);
    }
    let [g_eta] = call.gradient else { return Ok(f64::NAN) };
    let half = 0.5 * (k as f64 - 1.0);
    let mut total = 0.0;
    for i in 1..k {
        let diagonal = call.x[i * k + i];
        if diagonal.is_nan() {
            return Ok(f64::NAN);
        }
        if diagonal <= 0.0 {
            return Ok(f64::NEG_INFINITY);
        }
        let others = 0.5 * (k - 1 - i) as f64;
        let power = 2.0 * (eta - 1.0 + others);
        total += power * diagonal.ln() + ln_gamma(eta + half) - ln_gamma(eta + others) - 0.5 * i as f64 * PI.ln();
        call.gx[i * k + i] += power / diagonal;
        g_eta[0] += 2.0 * diagonal.ln() + digamma(eta + half) - digamma(eta + others);
    }
    Ok(total)
}
