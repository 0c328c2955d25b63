//! Distributions made of other ones, element by element: mixtures, counts with extra zeros, hurdles at zero.
//!
//! With component densities f_j and weights w: the mixture sum_j w_j f_j(x) is summed on the log scale, so that a
//! component without density at x counts for nothing; zero_inflated is the mixture of a point mass at zero and a
//! count; a hurdle has zeros of its own and a count cut at zero, or a density of positive numbers.

use super::constraint::UNIT_TOLERANCE;
use super::dist::{Distribution, MAX_ARGUMENTS};
use super::special::{log_complement, log_sum_exp};
use serde::{Deserialize, Serialize};

/// The largest number of components of a mixture.
pub const MAX_COMPONENTS: usize = 10;

/// How components make one distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compound {
    Mixture,
    ZeroInflated,
    Hurdle,
}

/// What one component takes and gives.
#[derive(Debug, Clone, Copy)]
pub struct Component {
    pub distribution: &'static Distribution,
    /// Its arguments at the element.
    pub args: [f64; MAX_ARGUMENTS],
    /// Derivatives of the log density of the whole in them; written by [`Compound::gradient`].
    pub slopes: [f64; MAX_ARGUMENTS],
}

impl Component {
    /// A component whose arguments are still to be set.
    pub fn new(distribution: &'static Distribution) -> Component {
        Component { distribution, args: [0.0; MAX_ARGUMENTS], slopes: [0.0; MAX_ARGUMENTS] }
    }

    fn args(&self) -> &[f64] {
        &self.args[..self.distribution.arguments.len()]
    }

    /// The log density at `x`; its derivatives in x and the arguments go to `d`.
    fn gradient(&self, x: f64, d: &mut [f64; MAX_ARGUMENTS + 1]) -> f64 {
        (self.distribution.gradient)(x, self.args(), &mut d[..=self.args().len()])
    }
}

impl Compound {
    /// All of them, in the order of the book.
    pub const ALL: [Compound; 3] = [Compound::Mixture, Compound::ZeroInflated, Compound::Hurdle];

    /// Its word in the language.
    pub fn name(self) -> &'static str {
        match self {
            Compound::Mixture => "mixture",
            Compound::ZeroInflated => "zero_inflated",
            Compound::Hurdle => "hurdle",
        }
    }

    /// How it is written.
    pub fn usage(self) -> &'static str {
        match self {
            Compound::Mixture => "mixture(w, normal(a, s), normal(b, t))",
            Compound::ZeroInflated => "zero_inflated(p, poisson(lambda))",
            Compound::Hurdle => "hurdle(p, poisson(lambda))",
        }
    }

    /// One line that says what it is for.
    pub fn doc(self) -> &'static str {
        match self {
            Compound::Mixture => {
                "Each value comes from one of the components, from component j with probability w[j]; w is a vector, a \
                 row per value, or with two components the probability of the first."
            }
            Compound::ZeroInflated => "A count that is zero with probability p whatever the component says.",
            Compound::Hurdle => {
                "Zero with probability p; other values follow the component, a count without its zeros or a distribution of \
                 positive numbers."
            }
        }
    }

    /// The density in plain ASCII, with f for a component.
    pub fn formula(self) -> &'static str {
        match self {
            Compound::Mixture => "sum_j w[j] f_j(x)",
            Compound::ZeroInflated => "p [x = 0] + (1 - p) f(x)",
            Compound::Hurdle => "p if x = 0, else (1 - p) f(x) / (1 - f(0)); without the divisor where f is continuous",
        }
    }

    /// The one of that word.
    pub fn find(name: &str) -> Option<Compound> {
        Compound::ALL.into_iter().find(|c| c.name() == name)
    }

    /// The log density of one element.
    ///
    /// Writes its derivatives: in x to `dx`, in the weights to `dw`, in the arguments to the components. NaN for
    /// weights that are no probabilities or do not sum to one.
    pub fn gradient(self, x: f64, weights: &[f64], parts: &mut [Component], dx: &mut f64, dw: &mut [f64]) -> f64 {
        *dx = 0.0;
        dw.fill(0.0);
        parts.iter_mut().for_each(|p| p.slopes = [0.0; MAX_ARGUMENTS]);
        if weights.iter().any(|w| !(0.0..=1.0).contains(w)) {
            return f64::NAN;
        }
        match self {
            Compound::Mixture => mixture(x, weights, parts, dx, dw),
            Compound::ZeroInflated => zero_inflated(x, weights[0], &mut parts[0], dx, &mut dw[0]),
            Compound::Hurdle => hurdle(x, weights[0], &mut parts[0], dx, &mut dw[0]),
        }
    }
}

fn mixture(x: f64, weights: &[f64], parts: &mut [Component], dx: &mut f64, dw: &mut [f64]) -> f64 {
    if (weights.iter().sum::<f64>() - 1.0).abs() > UNIT_TOLERANCE {
        return f64::NAN;
    }
    let n = parts.len();
    let mut slopes = [[0.0; MAX_ARGUMENTS + 1]; MAX_COMPONENTS];
    let (mut logs, mut weighted) = ([0.0; MAX_COMPONENTS], [0.0; MAX_COMPONENTS]);
    for (j, part) in parts.iter().enumerate() {
        logs[j] = part.gradient(x, &mut slopes[j]);
        weighted[j] = weights[j].ln() + logs[j];
    }
    let total = log_sum_exp(&weighted[..n]);
    if !total.is_finite() {
        return total;
    }
    for (j, part) in parts.iter_mut().enumerate() {
        // Where a component has no density its derivatives are zero.
        let share = (weighted[j] - total).exp();
        *dx += share * slopes[j][0];
        part.slopes.iter_mut().zip(&slopes[j][1..]).for_each(|(out, d)| *out = share * d);
        dw[j] = (logs[j] - total).exp();
    }
    total
}

fn zero_inflated(x: f64, p: f64, part: &mut Component, dx: &mut f64, dp: &mut f64) -> f64 {
    let mut d = [0.0; MAX_ARGUMENTS + 1];
    let log = part.gradient(x, &mut d);
    let rest = (-p).ln_1p();
    let (total, share) = if x == 0.0 {
        let total = log_sum_exp(&[p.ln(), rest + log]);
        *dp = -log.exp_m1() / total.exp();
        (total, (rest + log - total).exp())
    } else {
        *dp = -1.0 / (1.0 - p);
        (rest + log, 1.0)
    };
    if total.is_finite() {
        *dx = share * d[0];
        part.slopes.iter_mut().zip(&d[1..]).for_each(|(out, d)| *out = share * d);
    }
    total
}

fn hurdle(x: f64, p: f64, part: &mut Component, dx: &mut f64, dp: &mut f64) -> f64 {
    let mut d = [0.0; MAX_ARGUMENTS + 1];
    // Also at zero the arguments must be in their domain.
    if x == 0.0 {
        *dp = 1.0 / p;
        return if part.distribution.accepts(part.args()) { p.ln() } else { f64::NAN };
    }
    let log = part.gradient(x, &mut d);
    let mut total = (-p).ln_1p() + log;
    *dp = -1.0 / (1.0 - p);
    let mut at_zero = [0.0; MAX_ARGUMENTS + 1];
    let mut pull = 0.0;
    if part.distribution.support.is_integer() {
        let zero = part.gradient(0.0, &mut at_zero);
        total -= log_complement(zero);
        pull = 1.0 / (-zero).exp_m1();
    }
    if total.is_finite() {
        *dx = d[0];
        for (i, out) in part.slopes.iter_mut().enumerate() {
            *out = d[1 + i] + pull * at_zero[1 + i];
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::dist::find;

    fn component(name: &str, args: &[f64]) -> Component {
        let mut c = Component::new(find(name).unwrap());
        c.args[..args.len()].copy_from_slice(args);
        c
    }

    fn value(kind: Compound, x: f64, weights: &[f64], parts: &[Component]) -> f64 {
        kind.gradient(x, weights, &mut parts.to_vec(), &mut 0.0, &mut vec![0.0; weights.len()])
    }

    fn cases() -> Vec<(Compound, f64, Vec<f64>, Vec<Component>)> {
        let normals = vec![component("normal", &[-1.0, 0.7]), component("normal", &[2.0, 1.4])];
        let mixed =
            vec![component("normal", &[-1.0, 0.7]), component("gamma", &[2.0, 1.5]), component("cauchy", &[0.0, 1.0])];
        let mut out = vec![
            (Compound::Mixture, 0.4, vec![0.3, 0.7], normals.clone()),
            (Compound::Mixture, -0.4, vec![0.3, 0.5, 0.2], mixed.clone()),
            (Compound::Mixture, 1.4, vec![0.3, 0.5, 0.2], mixed),
            (Compound::Hurdle, 0.0, vec![0.3], vec![component("gamma", &[2.0, 1.5])]),
            (Compound::Hurdle, 0.6, vec![0.3], vec![component("gamma", &[2.0, 1.5])]),
        ];
        for x in [0.0, 1.0, 4.0] {
            for kind in [Compound::ZeroInflated, Compound::Hurdle] {
                out.push((kind, x, vec![0.35], vec![component("poisson", &[1.7])]));
                out.push((kind, x, vec![0.35], vec![component("neg_binomial_2_log", &[0.3, 2.5])]));
            }
        }
        out
    }

    /// The density from plain exponentials.
    fn plain(kind: Compound, x: f64, weights: &[f64], parts: &[Component]) -> f64 {
        let f = |c: &Component, x: f64| (c.distribution.log_density)(x, c.args()).exp();
        match kind {
            Compound::Mixture => weights.iter().zip(parts).map(|(w, c)| w * f(c, x)).sum(),
            Compound::ZeroInflated => (1.0 - weights[0]) * f(&parts[0], x) + if x == 0.0 { weights[0] } else { 0.0 },
            Compound::Hurdle if x == 0.0 => weights[0],
            Compound::Hurdle => {
                let zero = if parts[0].distribution.support.is_integer() { f(&parts[0], 0.0) } else { 0.0 };
                (1.0 - weights[0]) * f(&parts[0], x) / (1.0 - zero)
            }
        }
    }

    #[test]
    fn densities_are_sums_of_exponentials() {
        for (kind, x, weights, parts) in cases() {
            let (found, wanted) = (value(kind, x, &weights, &parts), plain(kind, x, &weights, &parts).ln());
            assert!((found - wanted).abs() < 1e-13, "{kind:?} {x}: {found} {wanted}");
        }
        for kind in [Compound::ZeroInflated, Compound::Hurdle] {
            let parts = [component("poisson", &[1.7])];
            let total: f64 = (0..60).map(|k| value(kind, f64::from(k), &[0.35], &parts).exp()).sum();
            assert!((total - 1.0).abs() < 1e-13, "{kind:?}: {total}");
        }
    }

    #[test]
    fn gradients_are_differences() {
        let difference = |f: &dyn Fn(f64) -> f64| {
            let h = 1e-3;
            (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)
        };
        for (kind, x, weights, parts) in cases() {
            let mut found = parts.clone();
            let (mut dx, mut dw) = (f64::NAN, vec![f64::NAN; weights.len()]);
            kind.gradient(x, &weights, &mut found, &mut dx, &mut dw);
            let close = |found: f64, wanted: f64, what: &str| {
                assert!((found - wanted).abs() < 1e-9 * (1.0 + wanted.abs()), "{kind:?} {x} {what}: {found} {wanted}");
            };
            if !parts[0].distribution.support.is_integer() && x != 0.0 {
                close(dx, difference(&|h| value(kind, x + h, &weights, &parts)), "x");
            }
            for (j, part) in parts.iter().enumerate() {
                for i in 0..part.args().len() {
                    let moved = |h: f64| {
                        let mut parts = parts.clone();
                        parts[j].args[i] += h;
                        value(kind, x, &weights, &parts)
                    };
                    close(found[j].slopes[i], difference(&moved), "argument");
                }
            }
            // Weights move together, so that they still sum to one.
            let moved = |h: f64| {
                let mut weights = weights.clone();
                weights[0] += h;
                weights.iter_mut().skip(1).take(1).for_each(|w| *w -= h);
                value(kind, x, &weights, &parts)
            };
            close(dw[0] - dw.get(1).unwrap_or(&0.0), difference(&moved), "weights");
        }
    }

    #[test]
    fn wrong_weights_and_arguments_have_no_density_and_the_ends_have() {
        let normals = [component("normal", &[-1.0, 0.7]), component("normal", &[2.0, 1.4])];
        assert!(value(Compound::Mixture, 0.0, &[0.5, 0.6], &normals).is_nan());
        assert!(value(Compound::Mixture, 0.0, &[1.5, -0.5], &normals).is_nan());
        let first = (find("normal").unwrap().log_density)(0.3, &[-1.0, 0.7]);
        assert_eq!(value(Compound::Mixture, 0.3, &[1.0, 0.0], &normals), first);
        let poisson = [component("poisson", &[1.7])];
        assert_eq!(value(Compound::Hurdle, 2.0, &[1.0], &poisson), f64::NEG_INFINITY);
        assert_eq!(value(Compound::ZeroInflated, 0.0, &[1.0], &poisson), 0.0);
        assert!(value(Compound::Hurdle, 0.0, &[0.2], &[component("poisson", &[-1.0])]).is_nan());
        assert_eq!(value(Compound::Mixture, 0.5, &[0.5, 0.5], &[component("poisson", &[1.0]); 2]), f64::NEG_INFINITY);
    }
}
