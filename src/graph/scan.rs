//! A recursion as a list of scalar instructions that runs once per step, forward with every step's registers kept and
//! then in reverse: time and memory are linear in the number of steps.

use super::array_function::ArrayFunction;
use super::density::Rejection;
use crate::math::op::{Binary, Unary};
use std::any::Any;
use std::sync::Arc;

/// What an instruction computes from its registers.
#[derive(Clone, Copy)]
pub(super) enum Code {
    Unary(Unary),
    Binary(Binary),
    /// a * b + c
    MulAdd,
    /// b where a is not zero, else c
    Select,
    /// log(sum(exp)) of the operands a..a + b
    LogSumExp,
    /// Call number a; it writes several registers.
    Call,
}

/// One instruction; its first result goes to register `to`.
#[derive(Clone, Copy)]
pub(super) struct Instruction {
    pub code: Code,
    pub to: u32,
    pub a: u32,
    pub b: u32,
    pub c: u32,
}

/// A function of arrays inside a step.
pub(super) struct Call {
    pub function: Arc<dyn ArrayFunction>,
    /// Registers of its joined inputs.
    pub inputs: Vec<u32>,
    /// Number of results.
    pub len: usize,
}

/// One value per register and step, in rows.
pub(super) struct Rows<T> {
    pub width: usize,
    pub values: Vec<T>,
}

impl<T> Rows<T> {
    fn row(&self, step: usize) -> &[T] {
        &self.values[step * self.width..(step + 1) * self.width]
    }
}

/// The compiled recursion. Its registers hold, in this order: constants; values from the inputs; known values of the
/// step; values of the step from the inputs; values of earlier states; results of instructions.
pub(super) struct ScanFunction {
    /// Number of states that are given, and of all.
    pub given: usize,
    pub states: usize,
    /// Numbers in one state.
    pub width: usize,
    pub constants: Vec<f64>,
    /// Places in the joined inputs, of which the given states come first.
    pub captured: Vec<u32>,
    pub known: Rows<f64>,
    pub from_inputs: Rows<u32>,
    /// Places among the numbers of all states.
    pub from_states: Rows<u32>,
    pub instructions: Vec<Instruction>,
    pub operands: Vec<u32>,
    pub calls: Vec<Call>,
    /// Registers of the new state.
    pub results: Vec<u32>,
    pub registers: usize,
}

/// Registers of all steps, and the adjoints of one.
struct Memory {
    rows: Vec<f64>,
    adjoint: Vec<f64>,
    states: Vec<f64>,
    scratch: Vec<f64>,
    workspaces: Vec<Box<dyn Any + Send>>,
}

impl ScanFunction {
    fn steps(&self) -> usize {
        self.states - self.given
    }

    /// Registers that are the same in every step.
    fn fixed(&self) -> usize {
        self.constants.len() + self.captured.len()
    }

    fn call(&self, call: &Call, row: &mut [f64], to: usize, memory: &mut Scratch<'_>) -> Result<(), Rejection> {
        memory.buffer.clear();
        memory.buffer.extend(call.inputs.iter().map(|&r| row[r as usize]));
        call.function.forward(memory.buffer, &mut row[to..to + call.len], memory.workspace)
    }
}

/// What one call needs.
struct Scratch<'a> {
    buffer: &'a mut Vec<f64>,
    workspace: &'a mut (dyn Any + Send),
}

impl ArrayFunction for ScanFunction {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn workspace(&self) -> Box<dyn Any + Send> {
        Box::new(Memory {
            rows: vec![0.0; self.steps() * self.registers],
            adjoint: vec![0.0; self.registers],
            states: vec![0.0; self.states * self.width],
            scratch: Vec::new(),
            workspaces: self.calls.iter().map(|c| c.function.workspace()).collect(),
        })
    }

    fn forward(&self, input: &[f64], out: &mut [f64], workspace: &mut (dyn Any + Send)) -> Result<(), Rejection> {
        let memory = workspace.downcast_mut::<Memory>().ok_or(Rejection::NotFinite { value: f64::NAN })?;
        let begin = self.given * self.width;
        out[..begin].copy_from_slice(&input[..begin]);
        let (constants, fixed) = (self.constants.len(), self.fixed());
        for (step, row) in memory.rows.chunks_exact_mut(self.registers.max(1)).enumerate() {
            row[..constants].copy_from_slice(&self.constants);
            let mut at = constants;
            for &i in &self.captured {
                row[at] = input[i as usize];
                at += 1;
            }
            row[fixed..fixed + self.known.width].copy_from_slice(self.known.row(step));
            at += self.known.width;
            for &i in self.from_inputs.row(step) {
                row[at] = input[i as usize];
                at += 1;
            }
            for &i in self.from_states.row(step) {
                row[at] = out[i as usize];
                at += 1;
            }
            for i in &self.instructions {
                let (a, b, c) = (i.a as usize, i.b as usize, i.c as usize);
                row[i.to as usize] = match i.code {
                    Code::Binary(op) => op.value(row[a], row[b]),
                    Code::MulAdd => row[a] * row[b] + row[c],
                    Code::Unary(op) => op.value(row[a]),
                    Code::Select => row[if row[a] != 0.0 { b } else { c }],
                    Code::LogSumExp => log_sum_exp(&self.operands[a..a + b], row),
                    Code::Call => {
                        let workspace = memory.workspaces[a].as_mut();
                        let mut scratch = Scratch { buffer: &mut memory.scratch, workspace };
                        self.call(&self.calls[a], row, i.to as usize, &mut scratch)?;
                        continue;
                    }
                };
            }
            let to = begin + step * self.width;
            for (out, &r) in out[to..to + self.width].iter_mut().zip(&self.results) {
                *out = row[r as usize];
            }
        }
        Ok(())
    }

    fn reverse(&self, _: &[f64], _: &[f64], g: &[f64], gradient: &mut [f64], workspace: &mut (dyn Any + Send)) {
        let Some(memory) = workspace.downcast_mut::<Memory>() else { return };
        let Memory { rows, adjoint, states, scratch, workspaces } = memory;
        states.copy_from_slice(g);
        adjoint.fill(0.0);
        let begin = self.given * self.width;
        let first_from_inputs = self.fixed() + self.known.width;
        let first_from_states = first_from_inputs + self.from_inputs.width;
        for (step, row) in rows.chunks_exact(self.registers.max(1)).enumerate().rev() {
            let to = begin + step * self.width;
            for (g, &r) in states[to..to + self.width].iter().zip(&self.results) {
                adjoint[r as usize] += g;
            }
            for i in self.instructions.iter().rev() {
                if let Code::Call = i.code {
                    let call = &self.calls[i.a as usize];
                    pull_call(call, row, i.to as usize, adjoint, scratch, workspaces[i.a as usize].as_mut());
                    continue;
                }
                let to = i.to as usize;
                let g = std::mem::take(&mut adjoint[to]);
                if g == 0.0 {
                    continue;
                }
                let (a, b, c) = (i.a as usize, i.b as usize, i.c as usize);
                match i.code {
                    Code::Binary(op) => {
                        adjoint[a] += g * op.left_derivative(row[a], row[b]);
                        adjoint[b] += g * op.right_derivative(row[a], row[b]);
                    }
                    Code::MulAdd => {
                        adjoint[a] += g * row[b];
                        adjoint[b] += g * row[a];
                        adjoint[c] += g;
                    }
                    Code::Unary(op) => adjoint[a] += g * op.derivative(row[a], row[to]),
                    Code::Select => adjoint[if row[a] != 0.0 { b } else { c }] += g,
                    Code::LogSumExp => {
                        let total = row[to];
                        // Nothing reaches a sum of zeros.
                        if total == f64::NEG_INFINITY {
                            continue;
                        }
                        for &r in &self.operands[a..a + b] {
                            adjoint[r as usize] += g * (row[r as usize] - total).exp();
                        }
                    }
                    Code::Call => {}
                }
            }
            let from = adjoint[first_from_inputs..].iter_mut().zip(self.from_inputs.row(step));
            for (g, &i) in from {
                gradient[i as usize] += std::mem::take(g);
            }
            let from = adjoint[first_from_states..].iter_mut().zip(self.from_states.row(step));
            for (g, &i) in from {
                states[i as usize] += std::mem::take(g);
            }
        }
        for (g, &i) in adjoint[self.constants.len()..].iter().zip(&self.captured) {
            gradient[i as usize] += g;
        }
        for (gradient, g) in gradient.iter_mut().zip(&states[..begin]) {
            *gradient += g;
        }
    }
}

fn log_sum_exp(operands: &[u32], row: &[f64]) -> f64 {
    let top = operands.iter().fold(f64::NEG_INFINITY, |top, &r| {
        let value = row[r as usize];
        if value > top || value.is_nan() { value } else { top }
    });
    if !top.is_finite() {
        return top;
    }
    top + operands.iter().map(|&r| (row[r as usize] - top).exp()).sum::<f64>().ln()
}

fn pull_call(
    call: &Call,
    row: &[f64],
    to: usize,
    adjoint: &mut [f64],
    scratch: &mut Vec<f64>,
    workspace: &mut (dyn Any + Send),
) {
    let n = call.inputs.len();
    scratch.clear();
    scratch.extend(call.inputs.iter().map(|&r| row[r as usize]));
    scratch.resize(2 * n, 0.0);
    let (inputs, gradient) = scratch.split_at_mut(n);
    call.function.reverse(inputs, &row[to..to + call.len], &adjoint[to..to + call.len], gradient, workspace);
    adjoint[to..to + call.len].fill(0.0);
    for (&r, g) in call.inputs.iter().zip(gradient) {
        adjoint[r as usize] += *g;
    }
}
