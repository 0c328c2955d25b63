//! Whether to believe a fit, and if not, what speaks against it.

use super::summary::Row;
use crate::archive::{Archive, Draws, Method, Mode, Outcome, Settings};
use crate::diagnose::{Inputs, Level, QuantitySummary, energy, verdict};
use crate::infer::optimize::CERTIFICATE;

/// The verdict on a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Every indicator is there and passes, if only just.
    pub trust: bool,
    /// What speaks against the fit, or, where it can be trusted, what to know about it; worst first.
    pub findings: Vec<String>,
    /// Quantities that never vary; they have no R-hat.
    pub constants: Vec<String>,
}

/// Judges a fit by its summary rows and its facts.
pub fn judge(archive: &Archive, rows: &[Row]) -> Judgement {
    match &archive.outcome {
        Outcome::Draws(draws) => judge_draws(draws, rows, &archive.settings),
        Outcome::Mode(mode) => judge_mode(mode),
    }
}

fn judge_draws(draws: &Draws, rows: &[Row], settings: &Settings) -> Judgement {
    let wanted = settings.draws;
    // MAMS refreshes no momentum and builds no trees.
    let hamiltonian = settings.method == Method::Nuts;
    let quantities: Vec<(String, QuantitySummary)> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Drawn { name, summary } => Some((name.clone(), (**summary).clone())),
            Row::Point { .. } => None,
        })
        .collect();
    let count = |flags: &[bool]| flags.iter().filter(|f| **f).count();
    let lengths: Vec<usize> = draws.chains.iter().map(|c| c.len()).collect();
    let divergences: Vec<usize> = draws.chains.iter().map(|c| count(&c.divergent)).collect();
    let depth_hits: Vec<usize> = draws.chains.iter().map(|c| count(&c.depth_hit)).collect();
    let bfmi: Vec<Option<f64>> = draws.chains.iter().map(|c| energy::bfmi(&c.energy)).collect();
    let verdict = verdict(&Inputs {
        quantities: &quantities,
        draws: &lengths,
        divergences: Some(&divergences),
        depth_hits: hamiltonian.then_some(depth_hits.as_slice()),
        bfmi: hamiltonian.then_some(bfmi.as_slice()),
    });
    let mut findings = Vec::new();
    for (chain, c) in draws.chains.iter().enumerate() {
        if let Some(failure) = &c.failure {
            findings.push(format!("chain {} stopped: {failure}", chain + 1));
        }
    }
    for (chain, c) in draws.chains.iter().enumerate().filter(|(_, c)| c.step_size_collapses > 0) {
        findings.push(format!(
            "warm-up of chain {} drove the step size to its smallest value {} times: the density cannot be followed \
             there. Look for a density that is not smooth, or is rejected almost everywhere",
            chain + 1,
            c.step_size_collapses
        ));
    }
    if draws.interrupted {
        let shortest = lengths.iter().min().copied().unwrap_or(0);
        findings.push(format!("interrupted: the shortest chain has {shortest} of {wanted} draws"));
    }
    let trust = verdict.level != Level::Doubt && findings.is_empty();
    findings.extend(verdict.findings.iter().map(ToString::to_string));
    Judgement { trust, findings, constants: verdict.constants }
}

fn judge_mode(mode: &Mode) -> Judgement {
    let mut findings = Vec::new();
    let Some(best) = mode.restarts.get(mode.best) else {
        return Judgement { trust: false, findings: vec!["no restart finished".into()], constants: vec![] };
    };
    if mode.interrupted {
        findings.push("interrupted: the best point so far is kept".into());
    } else if !best.converged {
        let gradient = match best.projected_gradient {
            Some(g) => format!(" (largest projected derivative {g:.2e}, needed {CERTIFICATE:.0e})"),
            None => String::new(),
        };
        findings.push(format!(
            "the best start did not converge: {}{gradient}; try more --max-iterations or other --starts",
            best.termination
        ));
    }
    Judgement { trust: findings.is_empty(), findings, constants: vec![] }
}

impl std::fmt::Display for Judgement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.trust, self.findings.is_empty()) {
            (true, true) => writeln!(f, "verdict: fine")?,
            (true, false) => writeln!(f, "verdict: fine, with a warning")?,
            (false, _) => writeln!(f, "verdict: do not trust this fit")?,
        }
        for finding in &self.findings {
            writeln!(f, "  - {finding}")?;
        }
        if !self.constants.is_empty() {
            writeln!(f, "constant: {}", self.constants.join(", "))?;
        }
        Ok(())
    }
}
