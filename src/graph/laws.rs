//! Densities of whole vectors, mixtures and censored values as structured terms: one pass over the draws gives the value
//! and every derivative.

use super::density::Rejection;
use super::kernels::{add, pick};
use super::structured::Structured;
use crate::math::compound::{Component, Compound, MAX_COMPONENTS};
use crate::math::dist::{Distribution, MAX_ARGUMENTS};
use crate::math::vector::{Call, Sizes, VectorDistribution};
use std::any::Any;

/// Draws of one distribution of vectors. Inputs: the draws, then the arguments.
pub(super) struct VectorTerm {
    pub distribution: &'static VectorDistribution,
    pub sizes: Sizes,
}

impl Structured for VectorTerm {
    fn name(&self) -> &'static str {
        self.distribution.name
    }

    fn workspace(&self) -> Box<dyn Any + Send> {
        Box::new(Vec::<f64>::new())
    }

    fn value_gradient(
        &self,
        inputs: &[&[f64]],
        gradient: &mut [&mut [f64]],
        workspace: &mut (dyn Any + Send),
    ) -> Result<f64, Rejection> {
        let (Some((x, args)), Some((gx, rest)), Some(scratch)) =
            (inputs.split_first(), gradient.split_first_mut(), workspace.downcast_mut::<Vec<f64>>())
        else {
            return Err(Rejection::NotFinite { value: f64::NAN });
        };
        let mut call = Call { sizes: self.sizes, x, args, gx, gradient: rest, scratch };
        (self.distribution.log_density)(&mut call).map_err(|p| Rejection::Factorisation {
            pivot: p.index,
            size: p.size,
            value: p.value,
        })
    }
}

/// Values of a mixture or the like. Inputs: the values, the weights, then the arguments of each component.
pub(super) struct CompoundTerm {
    pub kind: Compound,
    pub components: Vec<&'static Distribution>,
}

impl CompoundTerm {
    /// Where the weights of value `i` stand, and how many numbers they are.
    fn weights(&self, length: usize, count: usize, i: usize) -> (usize, usize) {
        let parts = self.components.len();
        match self.kind {
            Compound::Mixture if length == 1 => (0, 1),
            Compound::Mixture if length == parts * count && count > 1 => (i * parts, parts),
            Compound::Mixture => (0, parts),
            _ if length == 1 => (0, 1),
            _ => (i, 1),
        }
    }
}

impl Structured for CompoundTerm {
    fn name(&self) -> &'static str {
        self.kind.name()
    }

    fn workspace(&self) -> Box<dyn Any + Send> {
        Box::new(self.components.iter().map(|d| Component::new(d)).collect::<Vec<Component>>())
    }

    fn value_gradient(
        &self,
        inputs: &[&[f64]],
        gradient: &mut [&mut [f64]],
        workspace: &mut (dyn Any + Send),
    ) -> Result<f64, Rejection> {
        let Some(parts) = workspace.downcast_mut::<Vec<Component>>() else {
            return Err(Rejection::NotFinite { value: f64::NAN });
        };
        let (x, weights) = (inputs[0], inputs[1]);
        // A parameter that is one number may stand against vectors of arguments, not the other way round.
        let count = x.len();
        let mut total = 0.0;
        let mut dw = [0.0; MAX_COMPONENTS];
        for (i, &value) in x.iter().enumerate() {
            let mut input = 2;
            for part in parts.iter_mut() {
                for slot in &mut part.args[..part.distribution.arguments.len()] {
                    *slot = pick(inputs[input], i);
                    input += 1;
                }
            }
            let (at, n) = self.weights(weights.len(), count, i);
            // The probability of the first of two components gives that of the second.
            let pair = self.kind == Compound::Mixture && n == 1;
            let both = [weights[at], 1.0 - weights[at]];
            let own = if pair { &both[..] } else { &weights[at..at + n] };
            let mut dx = 0.0;
            total += self.kind.gradient(value, own, parts, &mut dx, &mut dw[..own.len()]);
            add(gradient[0], i, dx);
            if pair {
                gradient[1][at] += dw[0] - dw[1];
            } else {
                gradient[1][at..at + n].iter_mut().zip(&dw).for_each(|(g, d)| *g += d);
            }
            let mut input = 2;
            for part in parts.iter() {
                for slope in &part.slopes[..part.distribution.arguments.len()] {
                    add(gradient[input], i, *slope);
                    input += 1;
                }
            }
        }
        Ok(total)
    }
}

/// Values of which some are only known to be larger (or smaller) than what is written down. Inputs: the values, then
/// the arguments.
pub(super) struct CensoredTerm {
    pub distribution: &'static Distribution,
    pub above: bool,
    /// Which values are censored; one mark may stand for all.
    pub marks: Vec<bool>,
}

impl Structured for CensoredTerm {
    fn name(&self) -> &'static str {
        "censored"
    }

    fn workspace(&self) -> Box<dyn Any + Send> {
        Box::new(())
    }

    fn value_gradient(
        &self,
        inputs: &[&[f64]],
        gradient: &mut [&mut [f64]],
        _: &mut (dyn Any + Send),
    ) -> Result<f64, Rejection> {
        let n = self.distribution.arguments.len();
        let (x, args) = (inputs[0], &inputs[1..]);
        let mut total = 0.0;
        let (mut a, mut d) = ([0.0; MAX_ARGUMENTS], [0.0; MAX_ARGUMENTS + 1]);
        for (i, &value) in x.iter().enumerate() {
            for (slot, arg) in a.iter_mut().zip(args) {
                *slot = pick(arg, i);
            }
            if self.marks[i] {
                let (lo, hi) = if self.above { (value, f64::INFINITY) } else { (f64::NEG_INFINITY, value) };
                total += self.distribution.log_mass(lo, hi, &a[..n], &mut d[1..=n]);
                // An argument without a derivative is data.
                d[1..=n].iter_mut().filter(|d| d.is_nan()).for_each(|d| *d = 0.0);
            } else {
                total += (self.distribution.gradient)(value, &a[..n], &mut d[..=n]);
            }
            for (g, d) in gradient[1..].iter_mut().zip(&d[1..=n]) {
                add(g, i, *d);
            }
        }
        Ok(total)
    }
}
