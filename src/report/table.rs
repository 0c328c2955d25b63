//! Terminal tables.

use super::summary::{Row, Summary};
use crate::archive::{Archive, Outcome};
use std::fmt::Write;

/// Rows shown on a terminal; `summary.csv` has them all.
const SHOWN: usize = 40;

/// Four significant digits, without an exponent where that stays short.
fn short(value: Option<f64>) -> String {
    let Some(v) = value else { return "-".into() };
    if v.is_infinite() {
        return if v > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let size = v.abs();
    if size != 0.0 && !(1e-3..1e6).contains(&size) {
        return format!("{v:.2e}");
    }
    let decimals = if size >= 1000.0 {
        0
    } else if size >= 100.0 {
        1
    } else if size >= 10.0 {
        2
    } else {
        3
    };
    format!("{v:.decimals$}")
}

fn whole(value: Option<f64>) -> String {
    value.map_or("-".into(), |v| format!("{v:.0}"))
}

/// "1 chain", "4 chains".
fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The rows as an aligned table; long summaries are cut, and say so.
pub fn summary_table(summary: &Summary) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for row in summary.rows.iter().take(SHOWN) {
        match row {
            Row::Drawn { name, summary: s } => {
                if lines.is_empty() {
                    let head = ["", "mean", "sd", "mcse", "5%", "50%", "95%", "ess_bulk", "ess_tail", "r_hat"];
                    lines.push(head.map(String::from).to_vec());
                }
                let r_hat =
                    if s.constant { "constant".into() } else { s.r_hat.map_or("-".into(), |r| format!("{r:.3}")) };
                lines.push(vec![
                    name.clone(),
                    short(s.mean),
                    short(s.sd),
                    short(s.mcse_mean),
                    short(s.q05),
                    short(s.q50),
                    short(s.q95),
                    whole(s.ess_bulk),
                    whole(s.ess_tail),
                    r_hat,
                ]);
            }
            Row::Point { name, value, standard_error } => {
                if lines.is_empty() {
                    lines.push(["", "value", "std. error"].map(String::from).to_vec());
                }
                lines.push(vec![name.clone(), short(Some(*value)), short(*standard_error)]);
            }
        }
    }
    // No column of dashes where nothing was asked for.
    let points = summary.rows.iter().all(|r| matches!(r, Row::Point { standard_error: None, .. }));
    if points {
        lines.iter_mut().for_each(|l| l.truncate(2));
    }
    let columns = lines.first().map_or(0, Vec::len);
    let width: Vec<usize> =
        (0..columns).map(|c| lines.iter().map(|l| l[c].chars().count()).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for line in &lines {
        let mut text = format!("{:<w$}", line[0], w = width[0]);
        for c in 1..columns {
            let _ = write!(text, "  {:>w$}", line[c], w = width[c]);
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    if summary.rows.len() > SHOWN {
        let _ = writeln!(out, "... and {} more rows in summary.csv", summary.rows.len() - SHOWN);
    }
    out
}

/// The facts of a fit in a few lines: method, size, value, cost.
pub fn facts(archive: &Archive) -> String {
    let mut out = String::new();
    match &archive.outcome {
        Outcome::Draws(draws) => {
            let gradients: u64 = draws.chains.iter().map(|c| c.gradients).sum();
            let total: usize = draws.chains.iter().map(|c| c.len()).sum();
            let busy: f64 = draws.chains.iter().map(|c| c.seconds).sum();
            let _ = writeln!(
                out,
                "{}, {total} draws after {} warm-up transitions each; {gradients} gradients at {}; {} in all",
                counted(draws.chains.len(), "chain"),
                archive.settings.warmup,
                crate::run::duration(busy / gradients.max(1) as f64),
                crate::run::duration(archive.seconds),
            );
        }
        Outcome::Mode(mode) => {
            let name = if mode.objective { "objective" } else { "log density" };
            let _ = writeln!(
                out,
                "{name} {:.10} after {} of the best of {}; {} in all",
                mode.value,
                counted(mode.restarts.get(mode.best).map_or(0, |r| r.iterations), "iteration"),
                counted(mode.restarts.len(), "start"),
                crate::run::duration(archive.seconds),
            );
            for (term, value) in &mode.terms {
                let _ = writeln!(out, "  {term}: {value:.6}");
            }
            if !mode.at_bounds.is_empty() {
                let _ = writeln!(out, "at a bound: {}", mode.at_bounds.join(", "));
            }
        }
    }
    out
}
