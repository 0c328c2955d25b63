//! One side of a covariance as a chain of first-order filters: sums of exponentials times polynomials without
//! differences of close numbers, however close or equal the rates.
//!
//! For lags t > 0 the covariance of two curves with rational transforms is the inverse transform of
//! (4 / rho) (rho / (rho + p))^2 A(p) times what an operator H makes of it, where A holds the poles of the first curve and
//! H(p) = (rho / (rho + p))^2 B(p) those of the second, which act on the future. The first part is the last state of a chain
//! v_0' = -v_0, v_i' = x_i (v_{i-1} - v_i) with rates x = rho, rho, poles of A, started at v_0 = 1; with Z its generator,
//! v' = -v Z, the covariance is v(t) H(Z) e_last. Each factor of H is one solve with a bidiagonal matrix. States, solves
//! and weights are sums of positive numbers (the divided differences of exp at the rates, Higham 2008, Functions of
//! Matrices, section 10.7.1), so that nothing cancels. From d/dx of x / (x + p) = (1 - x / (x + p)) x / (x (x + p)), a derivative in
//! a rate needs the chain with that rate once more: one further state beside the chain.

use super::form::Component;

/// What is dropped of a Poisson law.
const NEGLIGIBLE: f64 = 1e-18;

/// The largest number of transitions expected in one step.
const LONGEST_STEP: f64 = 16.0;

/// A chain, its branches, and the weights that turn its states into a covariance and its derivatives.
#[derive(Debug, Clone)]
pub(super) struct Side {
    /// Rate of each state, and the state that feeds it; the first is fed by none.
    rates: Vec<f64>,
    parents: Vec<usize>,
    /// outputs x states.
    weights: Vec<f64>,
    outputs: usize,
    pub fastest: f64,
}

/// beta (beta + Z)^{-1} applied to `y` in place, for the chain of `rates`.
fn filter(rates: &[f64], beta: f64, y: &mut [f64]) {
    let mut fed = 0.0;
    for i in (0..y.len()).rev() {
        y[i] = (beta * y[i] + fed) / (beta + rates[i]);
        fed = rates[i] * y[i];
    }
}

/// H(Z) e_last for the poles of `past`, times the gains; `extra` is a pole more.
fn weights(rates: &[f64], rho: f64, gain: f64, future: &Component, extra: Option<f64>) -> Vec<f64> {
    let mut y = vec![0.0; rates.len()];
    if let Some(last) = y.last_mut() {
        *last = 4.0 * gain * future.gain;
    }
    filter(rates, rho, &mut y);
    filter(rates, rho, &mut y);
    for pole in &future.poles {
        for _ in 0..pole.multiplicity {
            filter(rates, pole.rate, &mut y);
        }
    }
    if let Some(rate) = extra {
        filter(rates, rate, &mut y);
    }
    y
}

/// Positions of the outputs: value, then derivatives in rho, in the lag, in the parameters of either curve.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outputs {
    pub past: usize,
    pub future: usize,
    pub count: usize,
}

impl Side {
    /// The side on which `past` is one component of the first curve and `future` the whole of the second, `sign` the
    /// derivative of the chain's time in the lag.
    pub fn new(rho: f64, past: &Component, future: &[Component], sign: f64, outputs: Outputs) -> Side {
        let mut rates = vec![rho, rho];
        for pole in &past.poles {
            rates.extend(std::iter::repeat_n(pole.rate, pole.multiplicity));
        }
        let trunk = rates.len();
        let mut parents: Vec<usize> = (0..trunk).map(|i| i.saturating_sub(1)).collect();
        let fastest = rates.iter().copied().fold(0.0, f64::max);
        let slopes = outputs.count > 1;
        if slopes {
            for rate in std::iter::once(rho).chain(past.poles.iter().map(|p| p.rate)) {
                rates.push(rate);
                parents.push(trunk - 1);
            }
        }
        let mut side =
            Side { weights: vec![0.0; outputs.count * rates.len()], rates, parents, outputs: outputs.count, fastest };
        for component in future {
            let value = weights(&side.rates[..trunk], rho, past.gain, component, None);
            side.add(0, 1.0, &value);
            if slopes {
                side.differentiate(rho, past, component, &value, sign, outputs);
            }
        }
        side
    }

    fn differentiate(
        &mut self,
        rho: f64,
        past: &Component,
        future: &Component,
        value: &[f64],
        sign: f64,
        outputs: Outputs,
    ) {
        let trunk = value.len();
        let rates = self.rates.clone();
        let more = |extra: f64| weights(&rates[..trunk], rho, past.gain, future, Some(extra));
        let mut branched: Vec<Vec<f64>> = Vec::new();
        for &rate in &rates[trunk..] {
            let mut path = rates[..trunk].to_vec();
            path.push(rate);
            branched.push(weights(&path, rho, past.gain, future, None));
        }
        // The factor 1 / rho, the two filters of the chain, and the two of H.
        self.add(1, 3.0 / rho, value);
        self.add_branch(1, -2.0 / rho, &branched[0], 0);
        self.add(1, -2.0 / rho, &more(rho));
        // v' = -v Z.
        let slope: Vec<f64> = (0..trunk)
            .map(|i| {
                let after = if i + 1 < trunk { rates[i + 1] * value[i + 1] } else { 0.0 };
                after - rates[i] * value[i]
            })
            .collect();
        self.add(2, sign, &slope);
        for (parameter, slope) in past.gain_slopes.iter().enumerate() {
            self.add(outputs.past + parameter, slope / past.gain, value);
        }
        for (parameter, slope) in future.gain_slopes.iter().enumerate() {
            self.add(outputs.future + parameter, slope / future.gain, value);
        }
        for (i, pole) in past.poles.iter().enumerate() {
            for (parameter, slope) in pole.slopes.iter().enumerate().filter(|(_, s)| **s != 0.0) {
                let factor = slope * pole.multiplicity as f64 / pole.rate;
                self.add(outputs.past + parameter, factor, value);
                self.add_branch(outputs.past + parameter, -factor, &branched[i + 1], i + 1);
            }
        }
        for pole in &future.poles {
            let filtered = more(pole.rate);
            for (parameter, slope) in pole.slopes.iter().enumerate().filter(|(_, s)| **s != 0.0) {
                let factor = slope * pole.multiplicity as f64 / pole.rate;
                self.add(outputs.future + parameter, factor, value);
                self.add(outputs.future + parameter, -factor, &filtered);
            }
        }
    }

    /// Adds weights of the chain's states to an output.
    fn add(&mut self, output: usize, factor: f64, weights: &[f64]) {
        let row = &mut self.weights[output * self.rates.len()..][..weights.len()];
        row.iter_mut().zip(weights).for_each(|(r, w)| *r += factor * w);
    }

    /// The same where the last weight belongs to a branch.
    fn add_branch(&mut self, output: usize, factor: f64, weights: &[f64], branch: usize) {
        let trunk = weights.len() - 1;
        self.add(output, factor, &weights[..trunk]);
        self.weights[output * self.rates.len() + trunk + branch] += factor * weights[trunk];
    }

    pub fn states(&self) -> usize {
        self.rates.len()
    }

    /// Adds to `out` (length outputs) what the state says.
    pub fn read(&self, state: &[f64], out: &mut [f64]) {
        for (o, w) in out.iter_mut().zip(self.weights.chunks_exact(state.len())).take(self.outputs) {
            *o += w.iter().zip(state).map(|(w, v)| w * v).sum::<f64>();
        }
    }

    /// The value that the state says.
    pub fn value(&self, state: &[f64]) -> f64 {
        self.weights.iter().zip(state).map(|(w, v)| w * v).sum()
    }

    /// Lets `time` pass: several copies of the states, one after the other, times exp(-Z time).
    ///
    /// The exponential is a mixture of powers of a matrix of transition probabilities with Poisson weights
    /// (uniformisation, Jensen 1953), all of them positive.
    pub fn pass(&self, time: f64, states: &mut [f64], power: &mut Vec<f64>) {
        let n = self.rates.len();
        let mut rest = self.fastest * time;
        while rest > 0.0 {
            if states.iter().all(|v| v.abs() < f64::MIN_POSITIVE) {
                states.fill(0.0);
                return;
            }
            let step = rest.min(LONGEST_STEP);
            rest -= step;
            power.clear();
            power.extend_from_slice(states);
            let mut weight = (-step).exp();
            states.iter_mut().for_each(|v| *v *= weight);
            let mut count = 0.0;
            while weight > NEGLIGIBLE || count < step {
                count += 1.0;
                weight *= step / count;
                for copy in power.chunks_exact_mut(n) {
                    for i in (1..n).rev() {
                        let x = self.rates[i] / self.fastest;
                        copy[i] += x * (copy[self.parents[i]] - copy[i]);
                    }
                    copy[0] -= self.rates[0] / self.fastest * copy[0];
                }
                states.iter_mut().zip(&*power).for_each(|(v, p)| *v += weight * p);
            }
        }
    }
}
