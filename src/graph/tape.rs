//! The fused f64 tape: forward and reverse sweep over flat arrays, nothing allocated per call.

use super::density::Rejection;
use super::elementwise;
use super::kernels::{self, Partials};
use super::matmul;
use super::program::{NodeId, Op, Program};
use super::structured::MAX_INPUTS;
use crate::math::rng::{Purpose, stream};
use crate::math::special::log_sum_exp;
use crate::model::Reduction;
use rand_chacha::ChaCha8Rng;
use std::any::Any;
use std::sync::Arc;

/// A program with the buffers of one thread.
pub struct Tape {
    program: Arc<Program>,
    /// First element of each node in `values` and `adjoints`.
    start: Vec<usize>,
    values: Vec<f64>,
    adjoints: Vec<f64>,
    /// First partial derivative of each density or structured node; one per element of its active operands.
    partial_start: Vec<usize>,
    partials: Vec<f64>,
    workspaces: Vec<Option<Box<dyn Any + Send>>>,
    /// Everything that the terms need, without constants.
    schedule: Vec<NodeId>,
    /// Everything that the outputs need, without constants.
    output_schedule: Vec<NodeId>,
    /// What outputs are drawn with.
    random: ChaCha8Rng,
}

impl Tape {
    /// Buffers for `program`.
    pub fn new(program: Arc<Program>) -> Self {
        let mut start = Vec::with_capacity(program.nodes.len());
        let mut partial_start = Vec::with_capacity(program.nodes.len());
        let (mut size, mut partial_size) = (0, 0);
        let mut workspaces = Vec::with_capacity(program.nodes.len());
        for node in &program.nodes {
            start.push(size);
            partial_start.push(partial_size);
            // Constants stay in the program.
            if !matches!(node.op, Op::Constant(_)) {
                size += node.len;
            }
            // A function of arrays keeps its joined inputs in front of their gradient.
            if let Op::Array { inputs, .. } = &node.op {
                partial_size += 2 * joined_len(&program, inputs);
            } else if has_partials(&node.op) {
                partial_size += node.op.operands().iter().map(|&o| program.nodes[o].len).sum::<usize>();
            }
            workspaces.push(match &node.op {
                Op::Structured { term, .. } => Some(term.workspace()),
                Op::Array { function, .. } => Some(function.workspace()),
                _ => None,
            });
        }
        let computed = |ids: Vec<NodeId>| -> Vec<NodeId> {
            ids.into_iter().filter(|&id| !matches!(program.nodes[id].op, Op::Constant(_))).collect()
        };
        let schedule = computed(program.ancestors(program.terms.iter().map(|t| t.1)));
        let output_schedule = computed(program.ancestors(program.outputs.iter().map(|o| o.node)));
        Self {
            start,
            values: vec![0.0; size],
            adjoints: vec![0.0; size],
            partial_start,
            partials: vec![0.0; partial_size],
            workspaces,
            schedule,
            output_schedule,
            random: stream(0, 0, Purpose::Prediction),
            program,
        }
    }

    /// Draws the outputs that are drawn with these random numbers from now on.
    pub fn set_random(&mut self, random: ChaCha8Rng) {
        self.random = random;
    }

    /// Sum of the terms at the physical parameters, and its gradient in them.
    ///
    /// # Errors
    /// A value that is NaN or `+inf`, or a factorisation that failed.
    pub fn value_gradient(&mut self, parameters: &[f64], gradient: &mut [f64]) -> Result<f64, Rejection> {
        self.forward(parameters, false)?;
        let total: f64 = self.program.terms.iter().map(|&(_, id)| self.node_values(id)[0]).sum();
        if total.is_nan() || total == f64::INFINITY {
            return Err(Rejection::NotFinite { value: total });
        }
        gradient.fill(0.0);
        if total > f64::NEG_INFINITY {
            self.reverse(gradient);
        }
        Ok(total)
    }

    /// The value of every term at the physical parameters.
    ///
    /// # Errors
    /// A factorisation that failed.
    pub fn terms(&mut self, parameters: &[f64]) -> Result<Vec<(String, f64)>, Rejection> {
        self.forward(parameters, false)?;
        Ok(self.program.terms.iter().map(|(label, id)| (label.clone(), self.node_values(*id)[0])).collect())
    }

    /// All reported quantities at the physical parameters, one after the other.
    ///
    /// # Errors
    /// A factorisation that failed.
    pub fn outputs(&mut self, parameters: &[f64], out: &mut Vec<f64>) -> Result<(), Rejection> {
        self.forward(parameters, true)?;
        out.clear();
        for output in &self.program.outputs {
            out.extend_from_slice(self.node_values(output.node));
        }
        Ok(())
    }

    fn node_values(&self, id: NodeId) -> &[f64] {
        operand(&self.program, &self.start, &self.values, id)
    }

    fn forward(&mut self, parameters: &[f64], outputs_only: bool) -> Result<(), Rejection> {
        let program = Arc::clone(&self.program);
        let schedule = if outputs_only { &self.output_schedule } else { &self.schedule };
        for &id in schedule {
            let node = &program.nodes[id];
            let (done, rest) = self.values.split_at_mut(self.start[id]);
            let out = &mut rest[..node.len];
            let get = |o: NodeId| operand(&program, &self.start, done, o);
            match &node.op {
                Op::Constant(_) => {}
                Op::Parameter { offset } => out.copy_from_slice(&parameters[*offset..offset + node.len]),
                Op::Unary(op, a) => {
                    for (o, &x) in out.iter_mut().zip(get(*a)) {
                        *o = op.value(x);
                    }
                }
                Op::Binary(op, a, b) => elementwise::binary(*op, get(*a), get(*b), out),
                Op::MatMul { a, b, m, k, n } => matmul::product(get(*a), get(*b), *m, *k, *n, out),
                Op::Gather { source, indices } => {
                    let source = get(*source);
                    for (o, &i) in out.iter_mut().zip(indices.iter()) {
                        *o = source[i];
                    }
                }
                Op::Reduce(reduction, a) => out[0] = reduce(*reduction, get(*a)),
                Op::Constrain { pieces, source } => pieces.forward(get(*source), out),
                Op::Join { inputs } => copy_joined(inputs, get, out),
                Op::Array { function, inputs } => {
                    let from = self.partial_start[id];
                    let joined = &mut self.partials[from..from + joined_len(&program, inputs)];
                    copy_joined(inputs, get, joined);
                    let workspace = self.workspaces[id].as_deref_mut();
                    let Some(workspace) = workspace else { return Err(Rejection::NotFinite { value: f64::NAN }) };
                    function.forward(joined, out, workspace)?;
                }
                Op::Density { distribution, x, arguments } => {
                    let slots = &mut self.partials[self.partial_start[id]..];
                    let x_len = program.nodes[*x].len;
                    let (px, mut rest) = slots.split_at_mut(x_len);
                    let mut partials =
                        Partials { x: program.nodes[*x].active.then_some(px), arguments: [None, None, None] };
                    let mut args: [&[f64]; 3] = [&[]; 3];
                    for (i, &a) in arguments.iter().enumerate() {
                        let (slot, tail) = rest.split_at_mut(program.nodes[a].len);
                        rest = tail;
                        partials.arguments[i] = program.nodes[a].active.then_some(slot);
                        args[i] = get(a);
                    }
                    out[0] = kernels::density(distribution, get(*x), &args[..arguments.len()], &mut partials);
                }
                Op::LogMass { distribution, lower, upper, arguments, count } => {
                    let slots = &mut self.partials[self.partial_start[id]..];
                    let mut args: [&[f64]; 3] = [&[]; 3];
                    for (slot, &a) in args.iter_mut().zip(arguments) {
                        *slot = get(a);
                    }
                    out[0] = log_mass(distribution, *lower, *upper, &args[..arguments.len()], *count, slots);
                }
                Op::Draw { distribution, lower, upper, arguments } => {
                    let mut args = [0.0; 3];
                    for (i, o) in out.iter_mut().enumerate() {
                        for (arg, &a) in args.iter_mut().zip(arguments) {
                            let values = get(a);
                            *arg = if values.len() == 1 { values[0] } else { values[i] };
                        }
                        let args = &args[..arguments.len()];
                        *o = distribution.draw_within(&mut self.random, *lower, *upper, args);
                    }
                }
                Op::Structured { term, inputs } => {
                    let mut slots = &mut self.partials[self.partial_start[id]..];
                    let mut values: [&[f64]; MAX_INPUTS] = [&[]; MAX_INPUTS];
                    let mut gradient: [&mut [f64]; MAX_INPUTS] = Default::default();
                    for (slot, (value, &i)) in gradient.iter_mut().zip(values.iter_mut().zip(inputs)) {
                        let (head, tail) = slots.split_at_mut(program.nodes[i].len);
                        head.fill(0.0);
                        (*slot, slots, *value) = (head, tail, get(i));
                    }
                    let workspace = self.workspaces[id].as_deref_mut();
                    let Some(workspace) = workspace else { return Err(Rejection::NotFinite { value: f64::NAN }) };
                    let n = inputs.len();
                    out[0] = term.value_gradient(&values[..n], &mut gradient[..n], workspace)?;
                }
            }
        }
        Ok(())
    }

    fn reverse(&mut self, gradient: &mut [f64]) {
        let program = Arc::clone(&self.program);
        for &id in &self.schedule {
            let node = &program.nodes[id];
            self.adjoints[self.start[id]..self.start[id] + node.len].fill(0.0);
        }
        for &(_, id) in &program.terms {
            if program.nodes[id].active {
                self.adjoints[self.start[id]] += 1.0;
            }
        }
        let (start, values) = (&self.start, &self.values);
        let get = |o: NodeId| operand(&program, start, values, o);
        for &id in self.schedule.iter().rev() {
            let node = &program.nodes[id];
            if !node.active {
                continue;
            }
            let (earlier, rest) = self.adjoints.split_at_mut(start[id]);
            let g = &rest[..node.len];
            match &node.op {
                Op::Constant(_) | Op::Draw { .. } => {}
                Op::Parameter { offset } => {
                    for (out, g) in gradient[*offset..].iter_mut().zip(g) {
                        *out += g;
                    }
                }
                Op::Unary(op, a) => {
                    let Some(ga) = adjoint(&program, start, earlier, *a) else { continue };
                    for (i, ga) in ga.iter_mut().enumerate() {
                        *ga += g[i] * op.derivative(get(*a)[i], values[start[id] + i]);
                    }
                }
                Op::Binary(op, a, b) => {
                    let (x, y) = (get(*a), get(*b));
                    if let Some(ga) = adjoint(&program, start, earlier, *a) {
                        elementwise::add_left_adjoint(*op, x, y, g, ga);
                    }
                    if let Some(gb) = adjoint(&program, start, earlier, *b) {
                        elementwise::add_right_adjoint(*op, x, y, g, gb);
                    }
                }
                Op::MatMul { a, b, m, k, n } => {
                    if let Some(ga) = adjoint(&program, start, earlier, *a) {
                        matmul::add_left_adjoint(g, get(*b), *m, *k, *n, ga);
                    }
                    if let Some(gb) = adjoint(&program, start, earlier, *b) {
                        matmul::add_right_adjoint(get(*a), g, *m, *k, *n, gb);
                    }
                }
                Op::Gather { source, indices } => {
                    let Some(gs) = adjoint(&program, start, earlier, *source) else { continue };
                    for (&i, g) in indices.iter().zip(g) {
                        gs[i] += g;
                    }
                }
                Op::Reduce(reduction, a) => {
                    if let Some(ga) = adjoint(&program, start, earlier, *a) {
                        add_reduce_adjoint(*reduction, get(*a), values[start[id]], g[0], ga);
                    }
                }
                Op::Constrain { pieces, source } => {
                    if let Some(gs) = adjoint(&program, start, earlier, *source) {
                        pieces.add_adjoint(get(*source), get(id), g, gs);
                    }
                }
                Op::Join { inputs } => {
                    let mut at = 0;
                    for &i in inputs {
                        let len = program.nodes[i].len;
                        if let Some(gi) = adjoint(&program, start, earlier, i) {
                            matmul::axpy(1.0, &g[at..at + len], gi);
                        }
                        at += len;
                    }
                }
                Op::Array { function, inputs } => {
                    let (from, len) = (self.partial_start[id], joined_len(&program, inputs));
                    let (joined, gradient) = self.partials[from..from + 2 * len].split_at_mut(len);
                    gradient.fill(0.0);
                    let Some(workspace) = self.workspaces[id].as_deref_mut() else { continue };
                    let out = &values[start[id]..start[id] + node.len];
                    function.reverse(joined, out, g, gradient, workspace);
                    let mut at = 0;
                    for &i in inputs {
                        let len = program.nodes[i].len;
                        if let Some(gi) = adjoint(&program, start, earlier, i) {
                            matmul::axpy(1.0, &gradient[at..at + len], gi);
                        }
                        at += len;
                    }
                }
                Op::Density { .. } | Op::LogMass { .. } | Op::Structured { .. } => {
                    let mut at = self.partial_start[id];
                    for o in node.op.operands() {
                        let len = program.nodes[o].len;
                        if let Some(go) = adjoint(&program, start, earlier, o) {
                            matmul::axpy(g[0], &self.partials[at..at + len], go);
                        }
                        at += len;
                    }
                }
            }
        }
    }
}

/// Number of elements of all inputs together.
fn joined_len(program: &Program, inputs: &[NodeId]) -> usize {
    inputs.iter().map(|&i| program.nodes[i].len).sum()
}

/// Copies the inputs one after the other.
fn copy_joined<'a>(inputs: &[NodeId], get: impl Fn(NodeId) -> &'a [f64], out: &mut [f64]) {
    let mut rest = out;
    for &i in inputs {
        let input = get(i);
        let (head, tail) = rest.split_at_mut(input.len());
        head.copy_from_slice(input);
        rest = tail;
    }
}

fn has_partials(op: &Op) -> bool {
    matches!(op, Op::Density { .. } | Op::LogMass { .. } | Op::Structured { .. })
}

/// The adjoint of an operand; `None` where it does not depend on a parameter.
fn adjoint<'a>(program: &Program, start: &[usize], earlier: &'a mut [f64], id: NodeId) -> Option<&'a mut [f64]> {
    let node = &program.nodes[id];
    if node.active { Some(&mut earlier[start[id]..start[id] + node.len]) } else { None }
}

fn operand<'a>(program: &'a Program, start: &[usize], values: &'a [f64], id: NodeId) -> &'a [f64] {
    match &program.nodes[id].op {
        Op::Constant(values) => values,
        _ => &values[start[id]..start[id] + program.nodes[id].len],
    }
}

pub(super) fn reduce(reduction: Reduction, x: &[f64]) -> f64 {
    match reduction {
        Reduction::Sum => x.iter().sum(),
        Reduction::Mean => x.iter().sum::<f64>() / x.len() as f64,
        Reduction::Product => x.iter().product(),
        Reduction::Minimum => x.iter().copied().fold(f64::INFINITY, f64::min),
        Reduction::Maximum => x.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Reduction::LogSumExp => log_sum_exp(x),
    }
}

pub(super) fn add_reduce_adjoint(reduction: Reduction, x: &[f64], value: f64, g: f64, out: &mut [f64]) {
    match reduction {
        Reduction::Sum => out.iter_mut().for_each(|o| *o += g),
        Reduction::Mean => {
            let each = g / x.len() as f64;
            out.iter_mut().for_each(|o| *o += each);
        }
        Reduction::Product => {
            // Products of the others: with one zero only its own derivative is left, with two none is.
            let zeros = x.iter().filter(|&&x| x == 0.0).count();
            for (i, o) in out.iter_mut().enumerate() {
                if zeros == 0 {
                    *o += g * value / x[i];
                } else if zeros == 1 && x[i] == 0.0 {
                    *o += g * x.iter().filter(|&&x| x != 0.0).product::<f64>();
                }
            }
        }
        Reduction::Minimum | Reduction::Maximum => {
            // The first of equals takes it all.
            if let Some(i) = x.iter().position(|&x| x == value) {
                out[i] += g;
            }
        }
        Reduction::LogSumExp => {
            for (o, &x) in out.iter_mut().zip(x) {
                *o += g * (x - value).exp();
            }
        }
    }
}

/// Sum over elements of the log probability of an interval; overwrites the partials of the arguments.
pub(super) fn log_mass(
    distribution: &crate::math::dist::Distribution,
    lower: f64,
    upper: f64,
    args: &[&[f64]],
    count: usize,
    partials: &mut [f64],
) -> f64 {
    let sizes: usize = args.iter().map(|a| a.len()).sum();
    partials[..sizes].fill(0.0);
    // With scalar arguments all elements share one value.
    let distinct = args.iter().map(|a| a.len()).max().unwrap_or(1);
    let weight = if distinct == 1 { count as f64 } else { 1.0 };
    let mut a = [0.0; 3];
    let mut d = [0.0; 3];
    let mut total = 0.0;
    for i in 0..distinct {
        for (a, arg) in a.iter_mut().zip(args) {
            *a = if arg.len() == 1 { arg[0] } else { arg[i] };
        }
        total += weight * distribution.log_mass(lower, upper, &a[..args.len()], &mut d[..args.len()]);
        let mut at = 0;
        for (arg, d) in args.iter().zip(&d) {
            partials[at + if arg.len() == 1 { 0 } else { i }] += weight * d;
            at += arg.len();
        }
    }
    total
}
