//! Compiles the step of a `scan` to scalar instructions. What does not change from step to step is computed outside,
//! and what is known from the data alone is tabulated.

use super::array_function::ArrayFunction;
use super::dense_functions::{Cholesky, Solve};
use super::lower::{LowerError, Lowerer};
use super::program::{NodeId, Op};
use super::scan::{Call, Code, Instruction, Rows, ScanFunction};
use crate::bind::evaluate::{element_indices, shape, size};
use crate::bind::{Env, EvaluateError, Plan, Value, evaluate};
use crate::math::op::{Binary, Unary};
use crate::model::{ArrayOp, Dim, Reduction, Scan, Typed, TypedIndex, TypedKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where a number of the step comes from.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Constant(u32),
    Captured(u32),
    Known(u32),
    Input(u32),
    State(u32),
    Result(u32),
}

/// The cells of an array, and its shape.
type Cells = (Vec<Cell>, Vec<usize>);
type Compiled = Result<Cells, LowerError>;

struct Compiler<'a> {
    outer: &'a mut Lowerer,
    plan: &'a Plan,
    scan: &'a Scan,
    /// Positions of the first and last step.
    first: usize,
    last: usize,
    /// Shape of all states.
    shape: Vec<usize>,
    /// Names whose values change from step to step.
    dependent: BTreeSet<String>,
    locals: BTreeMap<String, Cells>,
    /// Named values of the step that are known from the data, in order.
    known_locals: Vec<(String, Typed)>,
    inputs: Vec<NodeId>,
    input_start: Vec<usize>,
    constants: Vec<f64>,
    captured: Vec<u32>,
    /// One column per cell, over the steps.
    known: Vec<Vec<f64>>,
    from_inputs: Vec<Vec<u32>>,
    from_states: Vec<Vec<u32>>,
    instructions: Vec<(Code, u32, [Cell; 3])>,
    operands: Vec<Cell>,
    calls: Vec<(Arc<dyn ArrayFunction>, Vec<Cell>, usize)>,
    results: u32,
}

impl Lowerer {
    /// A state carried along an index, where it depends on a parameter.
    pub fn scan(&mut self, plan: &Plan, scan: &Scan, dims: &[Dim]) -> Result<(NodeId, Vec<usize>), LowerError> {
        let all = shape(dims, &self.values)?;
        let first = size(&scan.first, &self.values)?;
        let width: usize = all[1..].iter().product();
        let start = match &scan.start {
            Some(start) => Some(self.expression(plan, start)?.0),
            None => None,
        };
        let given = all[0].min(first.saturating_sub(1));
        if let (Some(source), true) = (start, given == all[0]) {
            let indices = (0..given * width).collect();
            return Ok((self.push(Op::Gather { source, indices }, given * width, true), all));
        }
        let mut compiler = Compiler {
            plan,
            scan,
            first,
            last: all[0],
            shape: all.clone(),
            dependent: BTreeSet::from([scan.index.clone(), scan.state.clone()]),
            locals: BTreeMap::new(),
            known_locals: Vec::new(),
            inputs: Vec::new(),
            input_start: Vec::new(),
            constants: Vec::new(),
            captured: Vec::new(),
            known: Vec::new(),
            from_inputs: Vec::new(),
            from_states: Vec::new(),
            instructions: Vec::new(),
            operands: Vec::new(),
            calls: Vec::new(),
            results: 0,
            outer: self,
        };
        // The given states come first among the inputs.
        start.map(|s| compiler.input(s));
        let (state, _) = compiler.expression(&scan.step)?;
        let inputs = compiler.inputs.clone();
        let function = compiler.finish(state, given, width);
        let len = all[0] * width;
        Ok((self.push(Op::Array { function: Arc::new(function), inputs }, len, true), all))
    }
}

impl Compiler<'_> {
    /// The first element of a node among the joined inputs.
    fn input(&mut self, node: NodeId) -> usize {
        if let Some(known) = self.inputs.iter().position(|&n| n == node) {
            return self.input_start[known];
        }
        let start = match (self.inputs.last(), self.input_start.last()) {
            (Some(&last), Some(start)) => start + self.outer.nodes[last].len,
            _ => 0,
        };
        self.inputs.push(node);
        self.input_start.push(start);
        start
    }

    fn constant(&mut self, value: f64) -> Cell {
        let known = self.constants.iter().position(|c| c.to_bits() == value.to_bits());
        let at = known.unwrap_or_else(|| {
            self.constants.push(value);
            self.constants.len() - 1
        });
        Cell::Constant(at as u32)
    }

    fn value(&self, cell: Cell) -> Option<f64> {
        match cell {
            Cell::Constant(at) => Some(self.constants[at as usize]),
            _ => None,
        }
    }

    fn emit(&mut self, code: Code, operands: [Cell; 3]) -> Cell {
        let to = self.results;
        self.instructions.push((code, to, operands));
        self.results += 1;
        Cell::Result(to)
    }

    fn unary(&mut self, op: Unary, a: Cell) -> Cell {
        match self.value(a) {
            Some(value) => self.constant(op.value(value)),
            None => self.emit(Code::Unary(op), [a, a, a]),
        }
    }

    fn binary(&mut self, op: Binary, a: Cell, b: Cell) -> Cell {
        match (self.value(a), self.value(b)) {
            (Some(x), Some(y)) => self.constant(op.value(x, y)),
            _ => self.emit(Code::Binary(op), [a, b, b]),
        }
    }

    /// An operation element by element; an array of one element broadcasts.
    fn elementwise(&mut self, op: Binary, a: &[Cell], b: &[Cell]) -> Vec<Cell> {
        let n = if a.is_empty() || b.is_empty() { 0 } else { a.len().max(b.len()) };
        (0..n).map(|i| self.binary(op, broadcast(a, i), broadcast(b, i))).collect()
    }

    /// Sum of products of pairs.
    fn sum_of_products(&mut self, pairs: impl Iterator<Item = (Cell, Cell)>) -> Cell {
        let mut sum: Option<Cell> = None;
        for (a, b) in pairs {
            sum = Some(match sum {
                None => self.binary(Binary::Mul, a, b),
                Some(sum) => self.emit(Code::MulAdd, [a, b, sum]),
            });
        }
        sum.unwrap_or_else(|| self.constant(0.0))
    }

    fn log_sum_exp(&mut self, cells: &[Cell]) -> Cell {
        let at = self.operands.len() as u32;
        self.operands.extend_from_slice(cells);
        // Places in the list of operands, which no register has.
        self.emit(Code::LogSumExp, [Cell::Constant(at), Cell::Constant(cells.len() as u32), Cell::Constant(0)])
    }

    fn reduce(&mut self, reduction: Reduction, cells: &[Cell]) -> Cell {
        let chain = |compiler: &mut Self, op: Binary, empty: f64| {
            let mut cells = cells.iter();
            let first = cells.next().copied();
            let first = first.unwrap_or_else(|| compiler.constant(empty));
            cells.fold(first, |so_far, &c| compiler.binary(op, so_far, c))
        };
        match reduction {
            Reduction::Sum => chain(self, Binary::Add, 0.0),
            Reduction::Mean => {
                let sum = chain(self, Binary::Add, 0.0);
                let n = self.constant(cells.len() as f64);
                self.binary(Binary::Div, sum, n)
            }
            Reduction::Product => chain(self, Binary::Mul, 1.0),
            Reduction::Minimum => chain(self, Binary::Min, f64::INFINITY),
            Reduction::Maximum => chain(self, Binary::Max, f64::NEG_INFINITY),
            Reduction::LogSumExp => self.log_sum_exp(cells),
        }
    }

    fn call(&mut self, function: impl ArrayFunction + 'static, inputs: Vec<Cell>, len: usize) -> Vec<Cell> {
        let number = Cell::Constant(self.calls.len() as u32);
        self.calls.push((Arc::new(function), inputs, len));
        self.instructions.push((Code::Call, self.results, [number; 3]));
        let first = self.results;
        self.results += len as u32;
        (first..self.results).map(Cell::Result).collect()
    }

    fn error(&self, part: &'static str) -> LowerError {
        LowerError::Step { name: self.scan.state.clone(), part }
    }

    /// Calls `f` in every step with what is known there.
    fn each_step<T>(&self, mut f: impl FnMut(&Env, usize) -> Result<T, LowerError>) -> Result<Vec<T>, LowerError> {
        let mut env = self.outer.values.clone();
        (self.first..=self.last)
            .map(|t| {
                env.insert(self.scan.index.clone(), Value::scalar(t as f64));
                for (name, value) in &self.known_locals {
                    let value = evaluate(value, &env)?;
                    env.insert(name.clone(), value);
                }
                f(&env, t)
            })
            .collect()
    }

    fn expression(&mut self, expr: &Typed) -> Compiled {
        if !expr.mentions(&self.dependent) {
            return self.invariant(expr);
        }
        if expr.data_only {
            return self.tabulate(expr);
        }
        match &expr.kind {
            TypedKind::Name(name) => {
                self.locals.get(name).cloned().ok_or_else(|| LowerError::Missing { name: name.clone() })
            }
            TypedKind::Unary(op, inner) => {
                let (cells, shape) = self.expression(inner)?;
                Ok((cells.into_iter().map(|c| self.unary(*op, c)).collect(), shape))
            }
            TypedKind::Binary(op, l, r) => {
                let ((a, a_shape), (b, b_shape)) = (self.expression(l)?, self.expression(r)?);
                let shape = if a_shape.is_empty() { b_shape } else { a_shape };
                Ok((self.elementwise(*op, &a, &b), shape))
            }
            TypedKind::MatMul(l, r) => {
                let (a, b) = (self.expression(l)?, self.expression(r)?);
                Ok(self.matmul(&a, &b))
            }
            TypedKind::Transpose(inner) => {
                let (cells, shape) = self.expression(inner)?;
                let (rows, columns) = (shape[0], shape[1]);
                let moved = (0..rows * columns).map(|i| cells[(i % rows) * columns + i / rows]).collect();
                Ok((moved, vec![columns, rows]))
            }
            TypedKind::Reduce(reduction, inner) => {
                let (cells, _) = self.expression(inner)?;
                Ok((vec![self.reduce(*reduction, &cells)], vec![]))
            }
            TypedKind::Index(base, positions) => self.index(base, positions, expr),
            TypedKind::Array(op, inputs) => self.array(*op, inputs, &expr.shape),
            TypedKind::Local { name, value, body } => {
                if value.mentions(&self.dependent) {
                    self.dependent.insert(name.clone());
                    if value.data_only {
                        self.known_locals.push((name.clone(), (**value).clone()));
                    } else {
                        let cells = self.expression(value)?;
                        self.locals.insert(name.clone(), cells);
                    }
                } else {
                    if value.data_only {
                        let known = evaluate(value, &self.outer.values)?;
                        self.outer.values.insert(name.clone(), known);
                    }
                    let lowered = self.outer.expression(self.plan, value)?;
                    self.outer.names.insert(name.clone(), lowered);
                }
                self.expression(body)
            }
            TypedKind::Number(_)
            | TypedKind::Pair(..)
            | TypedKind::Compare(..)
            | TypedKind::Shared(_)
            | TypedKind::Scan(_) => Err(self.error("this kind of value")),
        }
    }

    /// A value that is the same in every step: computed outside.
    fn invariant(&mut self, expr: &Typed) -> Compiled {
        if expr.data_only {
            let value = evaluate(expr, &self.outer.values)?;
            let cells = value.values.iter().map(|&v| self.constant(v)).collect();
            return Ok((cells, value.shape));
        }
        let (node, shape) = self.outer.expression(self.plan, expr)?;
        let start = self.input(node);
        let cells = (start..start + self.outer.nodes[node].len).map(|place| self.capture(place as u32)).collect();
        Ok((cells, shape))
    }

    fn capture(&mut self, place: u32) -> Cell {
        let known = self.captured.iter().position(|&p| p == place);
        let at = known.unwrap_or_else(|| {
            self.captured.push(place);
            self.captured.len() - 1
        });
        Cell::Captured(at as u32)
    }

    /// A value of the data that changes from step to step.
    fn tabulate(&mut self, expr: &Typed) -> Compiled {
        let values = self.each_step(|env, _| Ok(evaluate(expr, env)?))?;
        let shape = values[0].shape.clone();
        if values.iter().any(|v| v.shape != shape) {
            return Err(self.error("its size"));
        }
        let columns = 0..values[0].values.len();
        let cells = columns.map(|c| {
            self.known.push(values.iter().map(|v| v.values[c]).collect());
            Cell::Known(self.known.len() as u32 - 1)
        });
        Ok((cells.collect(), shape))
    }

    fn index(&mut self, base: &Typed, positions: &[TypedIndex], expr: &Typed) -> Compiled {
        if matches!(&base.kind, TypedKind::Name(name) if *name == self.scan.state) {
            let width: usize = self.shape[1..].iter().product();
            let places = self.each_step(|env, t| {
                let (shape, places) = element_indices(&self.shape, positions, env)?;
                match places.iter().find(|&&p| p >= (t - 1) * width) {
                    None => Ok((shape, places)),
                    Some(&place) => Err(LowerError::Evaluate(EvaluateError::Future {
                        name: self.scan.state.clone(),
                        position: place / width + 1,
                        now: t,
                        span: expr.span,
                    })),
                }
            })?;
            let (columns, shape) = self.columns(places, 0)?;
            let cells = columns.into_iter().map(|column| {
                self.from_states.push(column);
                Cell::State(self.from_states.len() as u32 - 1)
            });
            return Ok((cells.collect(), shape));
        }
        if !base.mentions(&self.dependent) {
            let (node, base_shape) = self.outer.expression(self.plan, base)?;
            let start = self.input(node);
            let places = self.each_step(|env, _| Ok(element_indices(&base_shape, positions, env)?))?;
            let (columns, shape) = self.columns(places, start)?;
            let cells = columns.into_iter().map(|column| {
                self.from_inputs.push(column);
                Cell::Input(self.from_inputs.len() as u32 - 1)
            });
            return Ok((cells.collect(), shape));
        }
        if positions.iter().any(|p| p.mentions(&self.dependent)) {
            return Err(self.error("a position in a value of the step"));
        }
        let (cells, base_shape) = self.expression(base)?;
        let (shape, places) = element_indices(&base_shape, positions, &self.outer.values)?;
        Ok((places.into_iter().map(|p| cells[p]).collect(), shape))
    }

    /// Places per step as one column per element, each moved by `start`.
    fn columns(
        &self,
        places: Vec<(Vec<usize>, Vec<usize>)>,
        start: usize,
    ) -> Result<(Vec<Vec<u32>>, Vec<usize>), LowerError> {
        let shape = places[0].0.clone();
        if places.iter().any(|p| p.0 != shape) {
            return Err(self.error("its size"));
        }
        let columns = 0..places[0].1.len();
        Ok((columns.map(|c| places.iter().map(|p| (start + p.1[c]) as u32).collect()).collect(), shape))
    }

    fn matmul(&mut self, (a, a_shape): &Cells, (b, b_shape): &Cells) -> Cells {
        let mut shape = Vec::new();
        let (m, k) = match a_shape[..] {
            [m, k] => {
                shape.push(m);
                (m, k)
            }
            _ => (1, a.len()),
        };
        let n = match b_shape[..] {
            [_, n] => {
                shape.push(n);
                n
            }
            _ => 1,
        };
        let product = |at: usize| {
            let (i, j) = (at / n, at % n);
            self.sum_of_products((0..k).map(|p| (a[i * k + p], b[p * n + j])))
        };
        ((0..m * n).map(product).collect(), shape)
    }

    fn array(&mut self, op: ArrayOp, inputs: &[Typed], dims: &[Dim]) -> Compiled {
        let parts = inputs.iter().map(|i| self.expression(i)).collect::<Result<Vec<Cells>, _>>()?;
        let (x, x_shape) = &parts[0];
        let n = x.len();
        Ok(match op {
            ArrayOp::Stack => {
                let shape = std::iter::once(parts.len()).chain(x_shape.iter().copied()).collect();
                (parts.iter().flat_map(|p| p.0.iter().copied()).collect(), shape)
            }
            ArrayOp::Append => {
                let rows = parts.iter().map(|p| p.1.first().copied().unwrap_or(1)).sum();
                let shape = std::iter::once(rows).chain(x_shape.get(1).copied()).collect();
                (parts.iter().flat_map(|p| p.0.iter().copied()).collect(), shape)
            }
            ArrayOp::Where => {
                let (a, b) = (&parts[1], &parts[2]);
                let largest = [&parts[0], a, b].into_iter().max_by_key(|p| (p.1.len(), p.0.len()));
                let shape = largest.map(|p| p.1.clone()).unwrap_or_default();
                let len = shape.iter().product();
                let cells = (0..len).map(|i| self.select(broadcast(x, i), broadcast(&a.0, i), broadcast(&b.0, i)));
                (cells.collect(), shape)
            }
            ArrayOp::Along(reduction, axis) => {
                let (rows, columns) = (x_shape[0], x_shape[1]);
                let (lines, length) = if axis == 1 { (columns, rows) } else { (rows, columns) };
                let cells = (0..lines).map(|i| {
                    let place = |j: usize| if axis == 1 { j * columns + i } else { i * columns + j };
                    let line: Vec<Cell> = (0..length).map(|j| x[place(j)]).collect();
                    self.reduce(reduction, &line)
                });
                (cells.collect(), vec![lines])
            }
            ArrayOp::CumulativeSum | ArrayOp::CumulativeProduct => {
                let op = if op == ArrayOp::CumulativeSum { Binary::Add } else { Binary::Mul };
                let mut so_far = None;
                let cells = x.iter().map(|&c| {
                    let next = so_far.map_or(c, |s| self.binary(op, s, c));
                    so_far = Some(next);
                    next
                });
                (cells.collect(), x_shape.clone())
            }
            ArrayOp::Softmax | ArrayOp::LogSoftmax => {
                let columns = x_shape.last().copied().unwrap_or(1).max(1);
                let mut cells = Vec::with_capacity(n);
                for row in x.chunks(columns) {
                    let total = self.log_sum_exp(row);
                    for &c in row {
                        let log = self.binary(Binary::Sub, c, total);
                        cells.push(if op == ArrayOp::Softmax { self.unary(Unary::Exp, log) } else { log });
                    }
                }
                (cells, x_shape.clone())
            }
            ArrayOp::Outer => {
                let b = &parts[1].0;
                let m = b.len();
                let cells = (0..n * m).map(|i| self.binary(Binary::Mul, x[i / m], b[i % m]));
                (cells.collect(), vec![n, m])
            }
            ArrayOp::Diag => {
                let zero = self.constant(0.0);
                ((0..n * n).map(|i| if i / n == i % n { x[i / n] } else { zero }).collect(), vec![n, n])
            }
            ArrayOp::Diagonal => ((0..x_shape[0]).map(|i| x[i * x_shape[0] + i]).collect(), vec![x_shape[0]]),
            ArrayOp::Reverse => (x.iter().rev().copied().collect(), x_shape.clone()),
            ArrayOp::LogMatMul => {
                let (b, b_shape) = &parts[1];
                let (k, columns) = (b_shape[0], b_shape[1]);
                let rows = if x_shape.len() == 2 { x_shape[0] } else { 1 };
                let mut cells = Vec::with_capacity(rows * columns);
                for at in 0..rows * columns {
                    let (i, j) = (at / columns, at % columns);
                    let terms: Vec<Cell> =
                        (0..k).map(|p| self.binary(Binary::Add, x[i * k + p], b[p * columns + j])).collect();
                    cells.push(self.log_sum_exp(&terms));
                }
                (cells, if x_shape.len() == 2 { vec![rows, columns] } else { vec![columns] })
            }
            ArrayOp::Cholesky => (self.call(Cholesky { n: x_shape[0] }, x.clone(), n), x_shape.clone()),
            ArrayOp::SolveLower | ArrayOp::SolveLowerTransposed => {
                let (b, shape) = &parts[1];
                let m = shape.get(1).copied().unwrap_or(1);
                let function = Solve { n: x_shape[0], m, transposed: op == ArrayOp::SolveLowerTransposed };
                (self.call(function, [x.as_slice(), b].concat(), b.len()), shape.clone())
            }
            ArrayOp::Repeat => {
                let out = shape(dims, &self.outer.values)?;
                (vec![x[0]; out[0]], out)
            }
            ArrayOp::Range | ArrayOp::Linspace => {
                let out = shape(dims, &self.outer.values)?;
                let end = if op == ArrayOp::Range { out[0] as f64 - 1.0 } else { 1.0 };
                let weights: Vec<Cell> =
                    crate::bind::linspace(0.0, end, out[0]).into_iter().map(|w| self.constant(w)).collect();
                let width = match parts.get(1) {
                    None => self.constant(1.0),
                    Some((b, _)) => self.binary(Binary::Sub, b[0], x[0]),
                };
                let steps = self.elementwise(Binary::Mul, &[width], &weights);
                (self.elementwise(Binary::Add, x, &steps), out)
            }
            ArrayOp::Covariance(_) => return Err(self.error("a covariance function")),
        })
    }

    fn select(&mut self, condition: Cell, a: Cell, b: Cell) -> Cell {
        match self.value(condition) {
            Some(c) => {
                if c != 0.0 {
                    a
                } else {
                    b
                }
            }
            None => self.emit(Code::Select, [condition, a, b]),
        }
    }

    /// Numbers the registers.
    fn finish(self, state: Vec<Cell>, given: usize, width: usize) -> ScanFunction {
        let sizes = [
            self.constants.len(),
            self.captured.len(),
            self.known.len(),
            self.from_inputs.len(),
            self.from_states.len(),
        ];
        let first: Vec<u32> = (0..=5).map(|k| sizes[..k].iter().sum::<usize>() as u32).collect();
        let register = |cell: Cell| match cell {
            Cell::Constant(i) => i,
            Cell::Captured(i) => first[1] + i,
            Cell::Known(i) => first[2] + i,
            Cell::Input(i) => first[3] + i,
            Cell::State(i) => first[4] + i,
            Cell::Result(i) => first[5] + i,
        };
        let registers = |cells: &[Cell]| cells.iter().map(|&c| register(c)).collect::<Vec<u32>>();
        let instruction = |&(code, to, [a, b, c]): &(Code, u32, [Cell; 3])| Instruction {
            code,
            to: first[5] + to,
            a: register(a),
            b: register(b),
            c: register(c),
        };
        let steps = self.last + 1 - self.first;
        ScanFunction {
            given,
            states: self.last,
            width,
            known: rows(&self.known, steps),
            from_inputs: rows(&self.from_inputs, steps),
            from_states: rows(&self.from_states, steps),
            instructions: self.instructions.iter().map(instruction).collect(),
            operands: registers(&self.operands),
            calls: self
                .calls
                .iter()
                .map(|(function, inputs, len)| Call {
                    function: Arc::clone(function),
                    inputs: registers(inputs),
                    len: *len,
                })
                .collect(),
            results: registers(&state),
            registers: (first[5] + self.results) as usize,
            constants: self.constants,
            captured: self.captured,
        }
    }
}

/// Columns over the steps as rows of steps.
fn rows<T: Copy>(columns: &[Vec<T>], steps: usize) -> Rows<T> {
    let values = (0..steps).flat_map(|step| columns.iter().map(move |c| c[step])).collect();
    Rows { width: columns.len(), values }
}

fn broadcast(cells: &[Cell], i: usize) -> Cell {
    if cells.len() == 1 { cells[0] } else { cells[i] }
}
