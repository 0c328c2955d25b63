//! Plan to program: every statement becomes nodes, every `~` a named term.

use super::program::{Group, Node, NodeId, Op, Output, Program};
use super::structured::{FilteredTerm, GriddedKind, GriddedTerm, Structured};
use crate::bind::{Block, Env, EvaluateError, Form, Plan, SharedPlan, Value, evaluate};
use crate::lang::ast::WeightRole;
use crate::math::compound::Compound;
use crate::math::dist::{self, Distribution};
use crate::math::op::{Algebra, Binary, Ref, Unary};
use crate::math::vector;
use crate::model::{Draw, Latent, Shared, SharedTerm, Statement, Typed, TypedKind};
use crate::terms::filtered::TermError;
use crate::terms::gridded::{GriddedError, Problem};
use crate::terms::{filtered_from_plan, gridded_from_plan, learned_order};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a Plan has no program.
#[derive(Debug, thiserror::Error)]
pub enum LowerError {
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    #[error(transparent)]
    Filtered(#[from] TermError),
    #[error(transparent)]
    Gridded(#[from] GriddedError),
    #[error("the step of `{name}` has a part that cannot change with its position: {part}")]
    Step { name: String, part: &'static str },
    #[error("`{name}` is not part of the plan")]
    Missing { name: String },
}

/// Lowers a Plan. The terms sum to the log density of the physical parameters (no Jacobian), or to minus the objective.
///
/// # Errors
/// Positions outside an axis, and recordings that a structured term cannot take.
pub fn lower(plan: &Plan) -> Result<Program, LowerError> {
    let mut lowerer = Lowerer { values: plan.values.clone(), ..Lowerer::default() };
    let gridded = match (&plan.model.shared, &plan.shared) {
        (Some(shared), Some(s)) if s.grid_step.is_some() => Some(Arc::new(gridded_from_plan(shared, s)?)),
        _ => None,
    };
    for block in &plan.blocks {
        let node = lowerer.push(Op::Parameter { offset: block.offset }, block.len(), true);
        lowerer.sampled.insert(block.name.clone(), node);
        if block.form == Form::Direct {
            lowerer.names.insert(block.name.clone(), (node, block.shape.clone()));
        }
    }
    for statement in &plan.model.statements {
        lowerer.statement(plan, statement, gridded.as_ref())?;
    }
    let mut outputs: Vec<Output> = Vec::new();
    for block in &plan.blocks {
        let (node, shape) = lowerer.find(&block.name)?;
        let (name, labels) = (block.name.clone(), block.labels.clone());
        outputs.push(Output { name, group: Group::Parameter, integer: false, shape, labels, node });
    }
    outputs.append(&mut lowerer.reports);
    let drawn = lowerer.drawn();
    for output in outputs.iter_mut().filter(|o| drawn[o.node]) {
        output.group = Group::Generated;
    }
    let Lowerer { nodes, terms, jacobian, .. } = lowerer;
    Ok(Program { nodes, terms, jacobian, outputs, dim: plan.dim() })
}

#[derive(Default)]
pub(super) struct Lowerer {
    pub(super) nodes: Vec<Node>,
    pub(super) terms: Vec<(String, NodeId)>,
    /// Log Jacobians of transformed parameters.
    pub(super) jacobian: Vec<(String, NodeId)>,
    reports: Vec<Output>,
    /// Quantities by name, with their shapes.
    pub(super) names: BTreeMap<String, (NodeId, Vec<usize>)>,
    /// Everything known from data alone.
    pub(super) values: Env,
    /// Sampled coordinates by the name of their parameter.
    pub(super) sampled: BTreeMap<String, NodeId>,
}

impl Algebra for Lowerer {
    fn constant(&mut self, value: f64) -> Ref {
        self.push(Op::Constant(Arc::from([value])), 1, false)
    }

    fn unary(&mut self, op: Unary, x: Ref) -> Ref {
        let (len, active) = (self.nodes[x].len, self.nodes[x].active);
        self.push(Op::Unary(op, x), len, active)
    }

    fn binary(&mut self, op: Binary, a: Ref, b: Ref) -> Ref {
        let (x, y) = (&self.nodes[a], &self.nodes[b]);
        let len = if x.len == 0 || y.len == 0 { 0 } else { x.len.max(y.len) };
        let active = x.active || y.active;
        self.push(Op::Binary(op, a, b), len, active)
    }
}

impl Lowerer {
    pub(super) fn push(&mut self, op: Op, len: usize, active: bool) -> NodeId {
        // What holds no element depends on nothing.
        self.nodes.push(Node { op, len, active: active && len > 0 });
        self.nodes.len() - 1
    }

    fn find(&self, name: &str) -> Result<(NodeId, Vec<usize>), LowerError> {
        self.names.get(name).cloned().ok_or_else(|| LowerError::Missing { name: name.to_string() })
    }

    pub fn constant_value(&mut self, value: Value) -> (NodeId, Vec<usize>) {
        let len = value.values.len();
        (self.push(Op::Constant(value.values.into()), len, false), value.shape)
    }

    fn statement(
        &mut self,
        plan: &Plan,
        statement: &Statement,
        gridded: Option<&Arc<Problem>>,
    ) -> Result<(), LowerError> {
        match statement {
            Statement::Param(param) => {
                if let Some(draw) = &param.noncentered {
                    self.noncentered(plan, &param.name, draw)?;
                } else if let Some(block) = plan.block(&param.name) {
                    self.transformed(plan, param, block)?;
                }
            }
            Statement::Let { name, value } => {
                let lowered = self.expression(plan, value)?;
                self.names.insert(name.clone(), lowered);
            }
            Statement::Report { name, value } => {
                let (node, shape) = self.expression(plan, value)?;
                self.names.insert(name.clone(), (node, shape.clone()));
                let labels = crate::bind::element_labels(name, &shape);
                let (group, integer) = (Group::Report, value.integer);
                self.reports.push(Output { name: name.clone(), group, integer, shape, labels, node });
            }
            Statement::Generated { name, shape, integer, draw } => {
                let shape = crate::bind::evaluate::shape(shape, &plan.values)?;
                let (node, integer) = (self.generated(plan, draw, shape.iter().product())?, *integer);
                self.names.insert(name.clone(), (node, shape.clone()));
                let labels = crate::bind::element_labels(name, &shape);
                self.reports.push(Output { name: name.clone(), group: Group::Generated, integer, shape, labels, node });
            }
            Statement::Density { label, value, draw } => {
                let (x, shape) = self.expression(plan, value)?;
                if let Some(distribution) = vector::find(&draw.family) {
                    self.vector_term(plan, label.clone(), x, &shape, distribution, draw)?;
                } else if let Some(kind) = Compound::find(&draw.family) {
                    self.compound_term(plan, label.clone(), x, kind, draw)?;
                } else {
                    let count = self.nodes[x].len;
                    self.draw_term(plan, label.clone(), x, draw, count)?;
                }
            }
            Statement::WeightPrior { role, name, draw } => {
                let x = self.find(name)?.0;
                let count = self.nodes[x].len;
                self.draw_term(plan, format!("{name} ~ {}", draw.family), x, draw, count)?;
                let anchored = plan.shared.as_ref().and_then(|s| s.anchor);
                if let (WeightRole::Loading, Some(_), Some(block)) = (role, anchored, plan.block(name)) {
                    self.half_anchor(plan, block, draw)?;
                }
            }
            Statement::SharedObserve => {
                if let (Some(shared), Some(s)) = (&plan.model.shared, &plan.shared) {
                    self.filtered(plan, shared, s)?;
                }
            }
            Statement::LogDensity { label, value } => {
                let (node, _) = self.expression(plan, value)?;
                self.terms.push((label.clone(), node));
            }
            Statement::Minimize { value } => match (&plan.model.shared, gridded) {
                (Some(shared), Some(problem)) => self.gridded(plan, shared, problem)?,
                _ => {
                    let (node, _) = self.expression(plan, value)?;
                    let minus = self.unary(Unary::Neg, node);
                    self.terms.push(("-objective".into(), minus));
                }
            },
        }
        Ok(())
    }

    /// theta = location + scale * theta_raw, with the standard density on theta_raw.
    fn noncentered(&mut self, plan: &Plan, name: &str, draw: &Draw) -> Result<(), LowerError> {
        let missing = || LowerError::Missing { name: name.to_string() };
        let distribution = dist::find(&draw.family).ok_or_else(missing)?;
        let block = plan.block(name).ok_or_else(missing)?;
        let raw = *self.sampled.get(name).ok_or_else(missing)?;
        let mut standard = Vec::new();
        let mut location = raw;
        let mut scale = raw;
        for (argument, spec) in draw.arguments.iter().zip(distribution.arguments) {
            let node = self.expression(plan, argument)?.0;
            standard.push(match spec.role {
                dist::Role::Location => {
                    location = node;
                    self.constant(0.0)
                }
                dist::Role::Scale => {
                    scale = node;
                    self.constant(1.0)
                }
                _ => node,
            });
        }
        let scaled = self.binary(Binary::Mul, scale, raw);
        let theta = self.binary(Binary::Add, location, scaled);
        self.names.insert(name.to_string(), (theta, block.shape.clone()));
        self.density(format!("{} ~ {}", block.sampled_name(), draw.family), distribution, raw, standard);
        Ok(())
    }

    fn density(&mut self, label: String, distribution: &'static Distribution, x: NodeId, arguments: Vec<NodeId>) {
        let active = self.nodes[x].active || arguments.iter().any(|&a| self.nodes[a].active);
        let node = self.push(Op::Density { distribution, x, arguments }, 1, active);
        self.terms.push((label, node));
    }

    /// The density of `x` under `draw`, minus the log probability of the interval it is truncated to.
    fn draw_term(
        &mut self,
        plan: &Plan,
        label: String,
        x: NodeId,
        draw: &Draw,
        count: usize,
    ) -> Result<(), LowerError> {
        let distribution = dist::find(&draw.family).ok_or_else(|| LowerError::Missing { name: draw.family.clone() })?;
        let arguments =
            draw.arguments.iter().map(|a| Ok(self.expression(plan, a)?.0)).collect::<Result<Vec<_>, LowerError>>()?;
        if let Some(censoring) = &draw.censoring {
            let marks = evaluate(&censoring.marks, &plan.values)?;
            self.censored_term(label, x, distribution, arguments, censoring.above, &marks);
            return Ok(());
        }
        self.density(label.clone(), distribution, x, arguments.clone());
        if let Some((lo, hi)) = &draw.truncation {
            let lower = evaluate(lo, &self.values)?.values[0];
            let upper = evaluate(hi, &self.values)?.values[0];
            self.log_mass(label, distribution, lower, upper, arguments, count);
        }
        Ok(())
    }

    /// One draw per element.
    fn generated(&mut self, plan: &Plan, draw: &Draw, count: usize) -> Result<NodeId, LowerError> {
        let distribution = dist::find(&draw.family).ok_or_else(|| LowerError::Missing { name: draw.family.clone() })?;
        let arguments =
            draw.arguments.iter().map(|a| Ok(self.expression(plan, a)?.0)).collect::<Result<Vec<_>, LowerError>>()?;
        let (lower, upper) = match &draw.truncation {
            Some((lo, hi)) => (evaluate(lo, &plan.values)?.values[0], evaluate(hi, &plan.values)?.values[0]),
            None => (f64::NEG_INFINITY, f64::INFINITY),
        };
        Ok(self.push(Op::Draw { distribution, lower, upper, arguments }, count, true))
    }

    /// Which nodes are drawn, or made of what is.
    fn drawn(&self) -> Vec<bool> {
        let mut drawn = vec![false; self.nodes.len()];
        for (id, node) in self.nodes.iter().enumerate() {
            drawn[id] = matches!(node.op, Op::Draw { .. }) || node.op.operands().iter().any(|&o| drawn[o]);
        }
        drawn
    }

    fn log_mass(
        &mut self,
        label: String,
        distribution: &'static Distribution,
        lower: f64,
        upper: f64,
        arguments: Vec<NodeId>,
        count: usize,
    ) {
        let active = arguments.iter().any(|&a| self.nodes[a].active);
        let node = self.push(Op::LogMass { distribution, lower, upper, arguments, count }, 1, active);
        let minus = self.unary(Unary::Neg, node);
        self.terms.push((format!("{label}, renormalised"), minus));
    }

    /// With one factor the sign of the first loading is fixed: its prior is renormalised to the positive half.
    fn half_anchor(&mut self, plan: &Plan, block: &Block, draw: &Draw) -> Result<(), LowerError> {
        let Some(distribution) = dist::find(&draw.family) else { return Ok(()) };
        if draw.truncation.is_some() {
            return Ok(());
        }
        let arguments =
            draw.arguments.iter().map(|a| Ok(self.expression(plan, a)?.0)).collect::<Result<Vec<_>, LowerError>>()?;
        let label = format!("{} ~ {}, anchor", block.name, draw.family);
        self.log_mass(label, distribution, 0.0, f64::INFINITY, arguments, 1);
        Ok(())
    }

    fn filtered(&mut self, plan: &Plan, shared: &Shared, s: &SharedPlan) -> Result<(), LowerError> {
        let Latent::Process { length_scale, .. } = &shared.latent else { return Ok(()) };
        let gp = filtered_from_plan(s)?;
        let loadings = self.find(&shared.loading)?.0;
        let offsets = match &shared.offset {
            Some(b) => self.find(b)?.0,
            None => self.push(Op::Constant(vec![0.0; s.keys.len()].into()), s.keys.len(), false),
        };
        let noise = match &shared.noise {
            Some(v) => self.find(v)?.0,
            None => return Err(LowerError::Missing { name: "noise".into() }),
        };
        let scale = self.expression(plan, length_scale)?.0;
        let learned = self.learned_responses(s);
        let (responses, places) = (s.responses.values(), s.responses.places());
        let term: Arc<dyn Structured> = Arc::new(FilteredTerm { gp: Arc::new(gp), responses, places });
        let node = self.push(Op::Structured { term, inputs: vec![loadings, offsets, noise, scale, learned] }, 1, true);
        self.terms.push((format!("{} ~ normal", shared.recording), node));
        for parameter in shared.responses.iter().flat_map(|r| &r.learned) {
            let (Some(draw), Ok((x, _))) = (&parameter.prior, self.find(&parameter.name)) else { continue };
            let count = self.nodes[x].len;
            self.draw_term(plan, format!("{} ~ {}", parameter.name, draw.family), x, draw, count)?;
        }
        Ok(())
    }

    /// All learned response parameters, which lie side by side.
    fn learned_responses(&mut self, s: &SharedPlan) -> NodeId {
        let coordinates = s.responses.coordinates.clone();
        match coordinates.len() {
            0 => self.push(Op::Constant(Arc::from([])), 0, false),
            n => self.push(Op::Parameter { offset: coordinates.start }, n, true),
        }
    }

    /// Minus each part of the objective, with its coefficient.
    fn gridded(&mut self, plan: &Plan, shared: &Shared, problem: &Arc<Problem>) -> Result<(), LowerError> {
        let Latent::Grid { name, .. } = &shared.latent else { return Ok(()) };
        let Some(s) = &plan.shared else { return Ok(()) };
        let inputs = vec![self.find(&shared.loading)?.0, self.find(name)?.0, self.learned_responses(s)];
        let order = learned_order(s);
        let add = |lowerer: &mut Lowerer, kind: GriddedKind, coefficient: f64, label: String| {
            let problem = Arc::clone(problem);
            let term: Arc<dyn Structured> = Arc::new(GriddedTerm { problem, kind, order: order.clone() });
            let node = lowerer.push(Op::Structured { term, inputs: inputs.clone() }, 1, true);
            let c = lowerer.constant(-coefficient);
            let scaled = lowerer.binary(Binary::Mul, c, node);
            lowerer.terms.push((label, scaled));
        };
        let mut squares = 1.0;
        for (kind, coefficient) in &s.objective {
            let label = match kind {
                SharedTerm::BalancedSquares => format!("-balanced_squares({})", shared.recording),
                SharedTerm::LoadingRidge => format!("-ridge({})", shared.loading),
                SharedTerm::LoadingRidgePerFeature => format!("-ridge_per_feature({})", shared.loading),
                SharedTerm::LatentRidge => format!("-ridge({name})"),
                SharedTerm::Roughness => format!("-roughness({name})"),
                SharedTerm::LatentSpread => format!("-spread({name})"),
                SharedTerm::LatentNeighbors => format!("-neighbors({name})"),
                // Part of the penalty of the responses.
                SharedTerm::ResponseSpread(_) => continue,
            };
            if *kind == SharedTerm::BalancedSquares {
                squares = *coefficient;
            }
            add(self, GriddedKind::Objective(*kind), *coefficient, label);
        }
        let penalised = shared.responses.iter().flat_map(|r| &r.learned).any(|p| p.prior.is_some());
        if penalised || s.objective.iter().any(|(t, _)| matches!(t, SharedTerm::ResponseSpread(_))) {
            // The problem holds these penalties relative to the squares.
            add(self, GriddedKind::Responses, squares, "-penalties of the responses".into());
        }
        Ok(())
    }

    pub(super) fn expression(&mut self, plan: &Plan, expr: &Typed) -> Result<(NodeId, Vec<usize>), LowerError> {
        if expr.data_only {
            let value = evaluate(expr, &self.values)?;
            return Ok(self.constant_value(value));
        }
        match &expr.kind {
            TypedKind::Name(name) => self.find(name),
            TypedKind::Unary(op, inner) => {
                let (node, shape) = self.expression(plan, inner)?;
                Ok((self.unary(*op, node), shape))
            }
            TypedKind::Binary(op, l, r) => {
                let ((a, a_shape), (b, b_shape)) = (self.expression(plan, l)?, self.expression(plan, r)?);
                let shape = if a_shape.is_empty() { b_shape } else { a_shape };
                Ok((self.binary(*op, a, b), shape))
            }
            TypedKind::MatMul(l, r) => {
                let ((a, a_shape), (b, b_shape)) = (self.expression(plan, l)?, self.expression(plan, r)?);
                let mut shape = Vec::new();
                let (m, k) = match a_shape[..] {
                    [m, k] => {
                        shape.push(m);
                        (m, k)
                    }
                    _ => (1, self.nodes[a].len),
                };
                let n = match b_shape[..] {
                    [_, n] => {
                        shape.push(n);
                        n
                    }
                    _ => 1,
                };
                Ok((self.push(Op::MatMul { a, b, m, k, n }, m * n, true), shape))
            }
            TypedKind::Transpose(inner) => {
                let (source, shape) = self.expression(plan, inner)?;
                let (rows, columns) = (shape[0], shape[1]);
                let indices: Arc<[usize]> = (0..rows * columns).map(|i| (i % rows) * columns + i / rows).collect();
                Ok((self.push(Op::Gather { source, indices }, rows * columns, true), vec![columns, rows]))
            }
            TypedKind::Reduce(reduction, inner) => {
                let (node, _) = self.expression(plan, inner)?;
                Ok((self.push(Op::Reduce(*reduction, node), 1, true), vec![]))
            }
            TypedKind::Index(base, positions) => {
                let (source, base_shape) = self.expression(plan, base)?;
                let (shape, indices) = crate::bind::evaluate::element_indices(&base_shape, positions, &self.values)?;
                let len = indices.len();
                Ok((self.push(Op::Gather { source, indices: indices.into() }, len, true), shape))
            }
            TypedKind::Array(op, inputs) => self.array(plan, *op, inputs, &expr.shape),
            TypedKind::Local { name, value, body } => {
                if value.data_only {
                    let known = evaluate(value, &self.values)?;
                    self.values.insert(name.clone(), known);
                }
                let lowered = self.expression(plan, value)?;
                self.names.insert(name.clone(), lowered);
                self.expression(plan, body)
            }
            TypedKind::Scan(scan) => self.scan(plan, scan, &expr.shape),
            // The checker builds the other kinds from data alone, or as terms of an objective.
            TypedKind::Number(_) | TypedKind::Pair(..) | TypedKind::Compare(..) | TypedKind::Shared(_) => {
                Err(LowerError::Evaluate(EvaluateError::Shared { span: expr.span }))
            }
        }
    }
}
