//! The Bateman curve (exp(-v/d) - exp(-v/r)) / (d - r), the two-compartment skin conductance response
//! (Alexander et al. 2005, J. Neurosci. Methods 146).
//!
//! With L the longer and S the shorter constant, x = (1/S - 1/L) v and p(x) = (1 - exp(-x)) / x, it is
//! v exp(-v/L) p(x) / (S L): no difference of close numbers remains, also at r = d. Its square integrates to
//! 1/(2(r+d)) - [r^2 e^2 / (2(r+d)) + r d e h / (r+d) + d h^2 / 2] over E seconds, e = exp(-E/r) / r, h the curve at E.

use super::raw::{Raw, between};
use super::support::SKIN_DURATION;

#[derive(Debug)]
pub(super) struct Bateman {
    pub rise: f64,
    pub decay: f64,
}

/// p(x) = (1 - exp(-x)) / x for x >= 0.
fn p(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { -(-x).exp_m1() / x }
}

/// The derivative of [`p`], ((1 + x) exp(-x) - 1) / x^2; a power series where its terms would cancel.
fn p_slope(x: f64) -> f64 {
    if x > 0.5 {
        return ((1.0 + x) * (-x).exp() - 1.0) / (x * x);
    }
    // Sum over j >= 1 of j (-1)^j x^(j-1) / (j+1)!.
    let (mut term, mut sum) = (-1.0, 0.0);
    for j in 1..=16 {
        let j = f64::from(j);
        term /= j + 1.0;
        sum += j * term;
        term *= -x;
    }
    sum
}

impl Bateman {
    fn longer_and_shorter(&self) -> (f64, f64) {
        if self.decay >= self.rise { (self.decay, self.rise) } else { (self.rise, self.decay) }
    }
}

impl Raw for Bateman {
    fn value(&self, v: f64) -> f64 {
        let (long, short) = self.longer_and_shorter();
        let x = (1.0 / short - 1.0 / long) * v;
        v / long * (-v / long).exp() * p(x) / short
    }

    fn gradient(&self, v: f64, out: &mut [f64]) -> f64 {
        let (long, short) = self.longer_and_shorter();
        let x = (1.0 / short - 1.0 / long) * v;
        let lead = v / long * (-v / long).exp() / short;
        let (p, slope) = (p(x), p_slope(x));
        let in_short = -lead * (p + slope * v / short) / short;
        let in_long = lead * ((p + slope) * v / long - p) / long;
        (out[0], out[1]) = if self.decay >= self.rise { (in_short, in_long) } else { (in_long, in_short) };
        lead * p
    }

    fn slope(&self, v: f64) -> f64 {
        let (long, short) = self.longer_and_shorter();
        ((-v / short).exp() / long - self.value(v) * short / long) / short
    }

    fn square(&self) -> Option<(f64, Vec<f64>)> {
        let (r, d) = (self.rise, self.decay);
        // What lies behind the end must stay the smaller part of the whole.
        if r.max(d) > SKIN_DURATION {
            return None;
        }
        let e = (-SKIN_DURATION / r).exp() / r;
        let e_in_r = e * (SKIN_DURATION / r - 1.0) / r;
        let mut slopes = [0.0; 2];
        let h = self.gradient(SKIN_DURATION, &mut slopes);
        let [h_in_r, h_in_d] = slopes;
        let total = r + d;
        let cross = r * d / total;
        let value = 0.5 / total - (0.5 * r * r / total * e * e + cross * e * h + 0.5 * d * h * h);
        let whole = -0.5 / (total * total);
        let in_r = whole
            - (0.5 * r * (r + 2.0 * d) / (total * total) * e * e
                + r * r / total * e * e_in_r
                + (d / total).powi(2) * e * h
                + cross * (e_in_r * h + e * h_in_r)
                + d * h * h_in_r);
        let in_d =
            whole - ((r / total).powi(2) * (e * h - 0.5 * e * e) + cross * e * h_in_d + 0.5 * h * h + d * h * h_in_d);
        Some((value, vec![in_r, in_d]))
    }

    fn breaks(&self, ends: (f64, f64)) -> Vec<f64> {
        let (long, short) = self.longer_and_shorter();
        // The short constant is spent after 80 of it; after 750 of the long one nothing is left in double precision.
        let mut points: Vec<f64> = (0..=40).map(|i| 2.0 * short * f64::from(i)).collect();
        points.extend((0..=375).map(|i| 80.0 * short + 2.0 * long * f64::from(i)));
        between(points, ends)
    }
}
