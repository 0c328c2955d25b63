//! Lowering of what is more than one distribution per element: transformed parameters, densities of vectors, mixtures
//! and censored values.

use super::constrain_op::Pieces;
use super::laws::{CensoredTerm, CompoundTerm, VectorTerm};
use super::lower::{LowerError, Lowerer};
use super::program::{NodeId, Op};
use super::structured::Structured;
use crate::bind::{Block, Form, Plan, Value, evaluate};
use crate::math::compound::Compound;
use crate::math::dist;
use crate::math::op::{Algebra, Binary, Unary};
use crate::math::vector::{Outcome, Part, Sizes, VectorDistribution};
use crate::model::{Draw, Param, Reduction, Typed};
use std::sync::Arc;

impl Lowerer {
    /// The parameter from its coordinates, and the log Jacobian of the map.
    pub(super) fn transformed(&mut self, plan: &Plan, param: &Param, block: &Block) -> Result<(), LowerError> {
        let missing = || LowerError::Missing { name: param.name.clone() };
        let free = *self.sampled.get(&param.name).ok_or_else(missing)?;
        let (value, log_jacobian) = match block.form {
            Form::Direct | Form::Standardised => return Ok(()),
            Form::Constrained(constraint) => {
                let (k, count) = block.pieces();
                let pieces = Pieces { constraint, k, count };
                let length = pieces.output_len();
                let both = self.push(Op::Constrain { pieces, source: free }, length, true);
                let elements: Arc<[usize]> = (0..length - 1).collect();
                let value = self.push(Op::Gather { source: both, indices: elements }, length - 1, true);
                (value, self.push(Op::Gather { source: both, indices: Arc::from([length - 1]) }, 1, true))
            }
            Form::Bounded => self.between(plan, param, free, block.len())?,
        };
        self.names.insert(param.name.clone(), (value, block.shape.clone()));
        self.jacobian.push((format!("log |d {} / d {}|", param.name, block.sampled_name()), log_jacobian));
        Ok(())
    }

    /// lo + exp(u), hi - exp(u), or lo + (hi - lo) s(u) with the logistic function s.
    fn between(&mut self, plan: &Plan, param: &Param, u: NodeId, count: usize) -> Result<(NodeId, NodeId), LowerError> {
        let bound = |lowerer: &mut Self, bound: &Option<Typed>, open: f64| match bound {
            None => Ok(None),
            // An end that the data put at infinity is none.
            Some(b) if b.data_only && b.shape.is_empty() && evaluate(b, &plan.values)?.values[0] == open => Ok(None),
            Some(b) => lowerer.expression(plan, b).map(|(node, _)| Some(node)),
        };
        let lower = bound(self, &param.lower, f64::NEG_INFINITY)?;
        let upper = bound(self, &param.upper, f64::INFINITY)?;
        let (value, logs) = match (lower, upper) {
            (None, None) => (u, self.constant(0.0)),
            (Some(lo), None) => {
                let gap = self.unary(Unary::Exp, u);
                (self.binary(Binary::Add, lo, gap), u)
            }
            (None, Some(hi)) => {
                let gap = self.unary(Unary::Exp, u);
                (self.binary(Binary::Sub, hi, gap), u)
            }
            (Some(lo), Some(hi)) => {
                let width = self.binary(Binary::Sub, hi, lo);
                let share = self.unary(Unary::Logistic, u);
                let inside = self.binary(Binary::Mul, width, share);
                let minus = self.unary(Unary::Neg, u);
                let (a, b) = (self.unary(Unary::Log1pExp, u), self.unary(Unary::Log1pExp, minus));
                let log_width = self.unary(Unary::Log, width);
                let less = self.binary(Binary::Sub, log_width, a);
                (self.binary(Binary::Add, lo, inside), self.binary(Binary::Sub, less, b))
            }
        };
        // A bound per element against one coordinate cannot be: the bound has the shape of the parameter or is one number.
        debug_assert!(self.nodes[value].len == count);
        let total = self.push(Op::Reduce(Reduction::Sum, logs), 1, true);
        Ok((value, total))
    }

    fn structured(&mut self, label: String, term: Arc<dyn Structured>, inputs: Vec<NodeId>) {
        let active = inputs.iter().any(|&i| self.nodes[i].active);
        let node = self.push(Op::Structured { term, inputs }, 1, active);
        self.terms.push((label, node));
    }

    /// Draws of a distribution of vectors.
    pub(super) fn vector_term(
        &mut self,
        plan: &Plan,
        label: String,
        x: NodeId,
        shape: &[usize],
        distribution: &'static VectorDistribution,
        draw: &Draw,
    ) -> Result<(), LowerError> {
        let mut inputs = vec![x];
        let mut vector = 0;
        for (argument, spec) in draw.arguments.iter().zip(distribution.arguments) {
            let (node, sizes) = self.expression(plan, argument)?;
            if spec.part == Part::Vector {
                vector = sizes.last().copied().unwrap_or(0);
            }
            inputs.push(node);
        }
        let sizes = match (distribution.outcome, shape) {
            (Outcome::Vector, &[rows, k]) => Sizes { rows, k },
            (Outcome::Vector, _) => Sizes { rows: 1, k: self.nodes[x].len },
            (Outcome::Matrix, _) => Sizes { rows: 1, k: shape.last().copied().unwrap_or(0) },
            (Outcome::Category, _) => Sizes { rows: self.nodes[x].len, k: vector },
        };
        self.structured(label, Arc::new(VectorTerm { distribution, sizes }), inputs);
        Ok(())
    }

    /// A mixture or the like, element by element.
    pub(super) fn compound_term(
        &mut self,
        plan: &Plan,
        label: String,
        x: NodeId,
        kind: Compound,
        draw: &Draw,
    ) -> Result<(), LowerError> {
        let mut inputs = vec![x];
        for argument in &draw.arguments {
            inputs.push(self.expression(plan, argument)?.0);
        }
        let mut components = Vec::new();
        for part in &draw.components {
            let missing = || LowerError::Missing { name: part.family.clone() };
            components.push(dist::find(&part.family).ok_or_else(missing)?);
            for argument in &part.arguments {
                inputs.push(self.expression(plan, argument)?.0);
            }
        }
        self.structured(label, Arc::new(CompoundTerm { kind, components }), inputs);
        Ok(())
    }

    /// Observations of which some are censored.
    pub(super) fn censored_term(
        &mut self,
        label: String,
        x: NodeId,
        distribution: &'static dist::Distribution,
        arguments: Vec<NodeId>,
        above: bool,
        marks: &Value,
    ) {
        let marks = (0..self.nodes[x].len).map(|i| marks.at(i) != 0.0).collect();
        let inputs = std::iter::once(x).chain(arguments).collect();
        self.structured(label, Arc::new(CensoredTerm { distribution, above, marks }), inputs);
    }
}
