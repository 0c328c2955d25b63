//! The program: a Plan as a list of array operations in order, the common form of both lowerings.

use super::array_function::ArrayFunction;
use super::constrain_op::Pieces;
use super::structured::Structured;
use crate::math::dist::Distribution;
use crate::math::op::{Binary, Unary};
use crate::model::Reduction;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Index of a node.
pub type NodeId = usize;

/// One operation. Operands are earlier nodes.
#[derive(Clone)]
pub enum Op {
    /// Data, or a value computed from data alone.
    Constant(Arc<[f64]>),
    /// Coordinates `offset..offset + len` of the physical parameter vector.
    Parameter {
        offset: usize,
    },
    Unary(Unary, NodeId),
    /// A scalar operand broadcasts.
    Binary(Binary, NodeId, NodeId),
    /// `[m, k] @ [k, n]`
    MatMul {
        a: NodeId,
        b: NodeId,
        m: usize,
        k: usize,
        n: usize,
    },
    /// Element `i` of the result is element `indices[i]` of the source.
    Gather {
        source: NodeId,
        indices: Arc<[usize]>,
    },
    Reduce(Reduction, NodeId),
    /// The elements of constrained pieces from their free coordinates, and last the log Jacobian of all.
    Constrain {
        pieces: Pieces,
        source: NodeId,
    },
    /// The inputs, one after the other.
    Join {
        inputs: Vec<NodeId>,
    },
    /// A function of whole arrays with a hand-written adjoint.
    Array {
        function: Arc<dyn ArrayFunction>,
        inputs: Vec<NodeId>,
    },
    /// Sum of the log densities of all elements of `x`; scalar arguments broadcast.
    Density {
        distribution: &'static Distribution,
        x: NodeId,
        arguments: Vec<NodeId>,
    },
    /// Sum over `count` elements of log P(lower <= X <= upper).
    LogMass {
        distribution: &'static Distribution,
        lower: f64,
        upper: f64,
        arguments: Vec<NodeId>,
        count: usize,
    },
    /// A random draw per element, inside the interval; for outputs alone.
    Draw {
        distribution: &'static Distribution,
        lower: f64,
        upper: f64,
        arguments: Vec<NodeId>,
    },
    /// A structured term with a hand-written adjoint.
    Structured {
        term: Arc<dyn Structured>,
        inputs: Vec<NodeId>,
    },
}

impl Op {
    /// The operands.
    pub fn operands(&self) -> Vec<NodeId> {
        match self {
            Op::Constant(_) | Op::Parameter { .. } => vec![],
            Op::Unary(_, a) | Op::Reduce(_, a) | Op::Gather { source: a, .. } | Op::Constrain { source: a, .. } => {
                vec![*a]
            }
            Op::Binary(_, a, b) | Op::MatMul { a, b, .. } => vec![*a, *b],
            Op::Density { x, arguments, .. } => std::iter::once(*x).chain(arguments.iter().copied()).collect(),
            Op::Structured { inputs, .. } | Op::Array { inputs, .. } | Op::Join { inputs } => inputs.clone(),
            Op::LogMass { arguments, .. } | Op::Draw { arguments, .. } => arguments.clone(),
        }
    }
}

/// An operation and the size of its result.
#[derive(Clone)]
pub struct Node {
    pub op: Op,
    /// Number of elements; arrays are row-major.
    pub len: usize,
    /// Depends on a parameter, so that it has an adjoint.
    pub active: bool,
}

/// Where a reported quantity comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// A parameter in its own units.
    #[default]
    Parameter,
    /// A `report` line: a function of parameters and data.
    Report,
    /// A `report` line that is drawn, or made of what is: random also where the parameters are known.
    Generated,
}

/// A quantity that is reported.
#[derive(Clone)]
pub struct Output {
    pub name: String,
    pub group: Group,
    /// Every element is a whole number.
    pub integer: bool,
    pub shape: Vec<usize>,
    /// Names of the elements, row-major.
    pub labels: Vec<String>,
    pub node: NodeId,
}

/// A Plan as array operations.
#[derive(Clone)]
pub struct Program {
    pub nodes: Vec<Node>,
    /// The terms whose sum is the log density (or minus the objective), each a scalar, with its label.
    pub terms: Vec<(String, NodeId)>,
    /// Log Jacobians of the maps inside the program, from coordinates to parameters; they are no part of the terms.
    pub jacobian: Vec<(String, NodeId)>,
    pub outputs: Vec<Output>,
    /// Length of the physical parameter vector.
    pub dim: usize,
}

impl Program {
    /// The density of the coordinates: the log Jacobians count as terms. This is what is sampled; a mode is climbed
    /// without them.
    pub fn with_jacobian(&self) -> Program {
        let mut program = self.clone();
        program.terms.append(&mut program.jacobian);
        program
    }

    /// The log Jacobians alone.
    pub fn jacobian_alone(&self) -> Program {
        let mut program = self.clone();
        program.terms = std::mem::take(&mut program.jacobian);
        program
    }

    /// The nodes that `roots` need, in order.
    pub fn ancestors(&self, roots: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
        let mut needed = vec![false; self.nodes.len()];
        for root in roots {
            needed[root] = true;
        }
        for id in (0..self.nodes.len()).rev() {
            if needed[id] {
                for operand in self.nodes[id].op.operands() {
                    needed[operand] = true;
                }
            }
        }
        (0..self.nodes.len()).filter(|&id| needed[id]).collect()
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (id, node) in self.nodes.iter().enumerate() {
            let operands: Vec<String> = node.op.operands().iter().map(|o| format!("%{o}")).collect();
            let operands = operands.join(", ");
            let text = match &node.op {
                Op::Constant(values) if values.len() == 1 => format!("constant {}", values[0]),
                Op::Constant(_) => "constant".to_string(),
                Op::Parameter { offset } => format!("parameter {offset}..{}", offset + node.len),
                Op::Unary(op, _) => format!("{} {operands}", format!("{op:?}").to_lowercase()),
                Op::Binary(op, ..) => format!("{} {operands}", format!("{op:?}").to_lowercase()),
                Op::MatMul { m, k, n, .. } => format!("matmul [{m}, {k}] @ [{k}, {n}] {operands}"),
                Op::Gather { .. } => format!("gather {operands}"),
                Op::Reduce(reduction, _) => format!("{} {operands}", format!("{reduction:?}").to_lowercase()),
                Op::Constrain { pieces, .. } => format!("{} {operands}", pieces.constraint.name()),
                Op::Density { distribution, .. } => format!("log_density {} {operands}", distribution.name),
                Op::LogMass { distribution, lower, upper, .. } => {
                    format!("log_mass {} [{lower}, {upper}] {operands}", distribution.name)
                }
                Op::Join { .. } => format!("join {operands}"),
                Op::Array { function, .. } => format!("{} {operands}", function.name()),
                Op::Draw { distribution, .. } => format!("draw {} {operands}", distribution.name),
                Op::Structured { term, .. } => format!("{} {operands}", term.name()),
            };
            writeln!(f, "%{id} [{}] = {text}", node.len)?;
        }
        for (label, node) in &self.terms {
            writeln!(f, "term %{node}  # {label}")?;
        }
        for (label, node) in &self.jacobian {
            writeln!(f, "jacobian %{node}  # {label}")?;
        }
        for output in &self.outputs {
            writeln!(f, "output {} = %{}", output.name, output.node)?;
        }
        Ok(())
    }
}
