//! Probabilities of intervals, and the distributions truncated to them.
//!
//! The mass of an interval is a difference in whichever tail is the smaller, or Gauss-Legendre quadrature of the
//! density where that difference would cancel. Its derivatives follow from the flow of the quantiles:
//! d/da P(X <= x) = -density(x) flow_a(x).

use super::{Distribution, MAX_ARGUMENTS, Support, outside};
use crate::math::special::{bisect, log_diff_exp, log_sum_exp};
use crate::math::transform::Transform;
use rand::{Rng, RngExt};

/// Below a tenth of the smaller tail an interval is integrated directly.
const LOG_NARROW: f64 = -std::f64::consts::LN_10;

/// Positive nodes and weights of the eight-point Gauss-Legendre rule on [-1, 1].
const GAUSS: [(f64, f64); 4] = [
    (0.1834346424956498, 0.362683783378362),
    (0.525532409916329, 0.3137066458778873),
    (0.7966664774136267, 0.22238103445337448),
    (0.9602898564975363, 0.10122853629037626),
];

impl Distribution {
    /// log P(lo <= X <= hi), and its derivative in argument i (`d[i]`; NaN for an argument without `mass_gradient`).
    ///
    /// Accurate relative to the mass, in both tails and for narrow intervals. Minus infinity (derivatives zero) for
    /// an interval without mass, NaN for invalid arguments.
    pub fn log_mass(&self, lo: f64, hi: f64, args: &[f64], d: &mut [f64]) -> f64 {
        match self.corner.and_then(|i| args.get(i)) {
            Some(&corner) if lo < corner && corner < hi => {
                let mut right = [0.0; MAX_ARGUMENTS];
                let right = &mut right[..d.len()];
                let (below, above) = (self.smooth_mass(lo, corner, args, d), self.smooth_mass(corner, hi, args, right));
                let value = log_sum_exp(&[below, above]);
                let (share, rest) = ((below - value).exp(), (above - value).exp());
                for (left, right) in d.iter_mut().zip(right) {
                    *left = share * *left + rest * *right;
                }
                value
            }
            _ => self.smooth_mass(lo, hi, args, d),
        }
    }

    /// As [`Distribution::log_mass`], for an interval over which the density is smooth.
    fn smooth_mass(&self, lo: f64, hi: f64, args: &[f64], d: &mut [f64]) -> f64 {
        let (value, narrow) = self.tail_difference(lo, hi, args);
        if !narrow && !value.is_finite() {
            d.fill(if value.is_nan() { f64::NAN } else { 0.0 });
            return value;
        }
        let value = if narrow {
            self.integrate(lo, hi, args, d)
        } else {
            d.fill(0.0);
            self.add_flow(lo, 1.0, value, args, d);
            self.add_flow(hi, -1.0, value, args, d);
            value
        };
        for (slope, argument) in d.iter_mut().zip(self.arguments) {
            if !argument.mass_gradient {
                *slope = f64::NAN;
            }
        }
        value
    }

    /// The log density renormalised to `[lo, hi]`, and its derivatives in x (`d[0]`) and in argument i (`d[1 + i]`).
    ///
    /// Minus infinity (derivatives zero) outside the interval; NaN derivatives as in [`Distribution::log_mass`], NaN
    /// throughout for invalid arguments or an interval without mass.
    pub fn truncated_log_density(&self, x: f64, lo: f64, hi: f64, args: &[f64], d: &mut [f64]) -> f64 {
        let mut mass_gradient = [0.0; MAX_ARGUMENTS];
        let mass_gradient = &mut mass_gradient[..self.arguments.len()];
        let log_mass = self.log_mass(lo, hi, args, mass_gradient);
        if !log_mass.is_finite() {
            return outside(false, x, d);
        }
        if x < lo || x > hi {
            return outside(true, x, d);
        }
        let value = (self.gradient)(x, args, d);
        if value.is_finite() {
            for (slope, mass_slope) in d[1..].iter_mut().zip(mass_gradient) {
                *slope -= *mass_slope;
            }
        }
        value - log_mass
    }

    /// An independent draw of the distribution renormalised to `[lo, hi]`; NaN for invalid arguments or an interval
    /// without mass. An interval that holds the support cuts nothing.
    pub fn draw_within(&self, rng: &mut dyn Rng, lo: f64, hi: f64, args: &[f64]) -> f64 {
        if !self.accepts(args) {
            return f64::NAN;
        }
        let (least, most) = self.support.bounds(args);
        if lo <= least && hi >= most {
            return (self.draw)(rng, args);
        }
        // Strictly between 0 and 1, so that the ends of an open support are not met.
        let p = loop {
            let p: f64 = rng.random();
            if p > 0.0 {
                break p;
            }
        };
        self.truncated_quantile(p, lo, hi, args)
    }

    /// The smallest x in `[lo, hi]` below which lies at least the share `p` of the mass of the interval.
    ///
    /// NaN unless 0 <= p <= 1, the arguments are valid and the interval has mass.
    pub fn truncated_quantile(&self, p: f64, lo: f64, hi: f64, args: &[f64]) -> f64 {
        if !(0.0..=1.0).contains(&p) || !self.accepts(args) {
            return f64::NAN;
        }
        let (least, most) = self.support.bounds(args);
        let (mut lo, mut hi) = (lo.max(least), hi.min(most));
        let step = if self.support.is_integer() {
            (lo, hi) = (lo.ceil(), hi.floor());
            1.0
        } else {
            0.0
        };
        let mut unused = [0.0; MAX_ARGUMENTS];
        let mut mass = |a: f64, b: f64| self.log_mass(a, b, args, &mut unused[..args.len()]);
        let total = mass(lo, hi);
        if !total.is_finite() {
            f64::NAN
        } else if p == 0.0 {
            lo
        } else if p == 1.0 {
            hi
        } else if p <= 0.5 {
            let target = p.ln() + total;
            bisect(|x| mass(lo, x) - target, lo, hi)
        } else {
            // What lies above x; of whole numbers, from the next one on.
            let target = (-p).ln_1p() + total;
            bisect(|x| target - mass(if step > 0.0 { x.floor() + step } else { x }, hi), lo, hi)
        }
    }

    /// The log mass as a difference of tails, and whether that difference cancels.
    fn tail_difference(&self, lo: f64, hi: f64, args: &[f64]) -> (f64, bool) {
        if !self.accepts(args) || lo.is_nan() || hi.is_nan() {
            return (f64::NAN, false);
        }
        let is_integer = self.support.is_integer();
        let (below_lo, above_lo) = (self.log_tails)(if is_integer { lo.ceil() - 1.0 } else { lo }, args);
        let (below_hi, above_hi) = (self.log_tails)(hi, args);
        let (whole, value) = if lo > hi {
            return (f64::NEG_INFINITY, false);
        } else if below_hi < above_hi {
            (below_hi, log_diff_exp(below_hi, below_lo))
        } else if above_lo < below_lo {
            (above_lo, log_diff_exp(above_lo, above_hi))
        } else {
            (below_hi.min(above_lo), (-(below_lo.exp() + above_hi.exp())).ln_1p())
        };
        // A difference that came out negative is NaN, and cancels too.
        let ample = value - whole > LOG_NARROW;
        let cancels = !is_integer && lo < hi && whole > f64::NEG_INFINITY && !ample;
        (value, cancels)
    }

    /// Adds `sign` times the derivative of log mass through one end of the interval.
    fn add_flow(&self, end: f64, sign: f64, log_mass: f64, args: &[f64], d: &mut [f64]) {
        let (least, most) = self.support.bounds(args);
        if end <= least || end >= most {
            return;
        }
        let mut flow = [0.0; MAX_ARGUMENTS];
        (self.flow)(end, args, &mut flow[..d.len()]);
        let relative_density = ((self.log_density)(end, args) - log_mass).exp();
        for (slope, v) in d.iter_mut().zip(flow) {
            *slope += sign * relative_density * v;
        }
    }

    /// log mass and its gradient by Gauss-Legendre quadrature, for an interval over which the density varies little.
    fn integrate(&self, lo: f64, hi: f64, args: &[f64], d: &mut [f64]) -> f64 {
        // A density that is a power of x near an end of its support is smooth in log x, not in x.
        let (coordinate, width) = match self.support {
            Support::Positive | Support::AboveArgument => (Transform::Lower(0.0), ((hi - lo) / lo).ln_1p()),
            Support::UnitInterval => {
                let width = ((hi - lo) / lo).ln_1p() + ((hi - lo) / (1.0 - hi)).ln_1p();
                (Transform::Interval(0.0, 1.0), width)
            }
            _ => (Transform::Identity, hi - lo),
        };
        let (half, middle) = match coordinate.to_unconstrained(lo) {
            Some(start) => (0.5 * width, start + 0.5 * width),
            None => (f64::NAN, f64::NAN),
        };
        d.fill(0.0);
        let mut slopes = [0.0; 1 + MAX_ARGUMENTS];
        let slopes = &mut slopes[..=d.len()];
        let (mut reference, mut sum) = (None, 0.0);
        for (node, weight) in GAUSS {
            for u in [middle - half * node, middle + half * node] {
                let log_value = (self.gradient)(coordinate.to_physical(u), args, slopes) + coordinate.log_jacobian(u);
                let share = weight * (log_value - *reference.get_or_insert(log_value)).exp();
                sum += share;
                for (slope, s) in d.iter_mut().zip(&slopes[1..]) {
                    *slope += share * s;
                }
            }
        }
        for slope in d.iter_mut() {
            *slope /= sum;
        }
        reference.unwrap_or(f64::NEG_INFINITY) + (half * sum).ln()
    }
}
