//! The targets: a model file with its data for msrm, and the same log density with its gradient written by hand.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// One target.
pub struct Target {
    pub name: &'static str,
    pub model: PathBuf,
    pub data: PathBuf,
}

/// All targets, cheapest gradient first.
pub fn all() -> Vec<Target> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (models, own) = (root.join("models"), root.join("benches/data"));
    let target = |name: &'static str, model: PathBuf, data: PathBuf| Target { name, model, data };
    vec![
        target("std_normal_10d", models.join("std_normal.msrm"), own.join("std_normal_10d.json")),
        target("eight_schools_ncp", models.join("eight_schools.msrm"), models.join("data/eight_schools.json")),
        target("funnel_ncp_10d", models.join("funnel.msrm"), models.join("data/funnel.json")),
        target("ill_gauss_100d", own.join("ill_gauss.msrm"), own.join("ill_gauss_100d.json")),
        target("std_normal_1000d", models.join("std_normal.msrm"), own.join("std_normal_1000d.json")),
        target("ill_gauss_100d_rot", own.join("ill_gauss_rot.msrm"), own.join("ill_gauss_100d_rot.json")),
        target("glm_logistic_n1000_p10", models.join("glm_logistic.msrm"), own.join("glm_logistic_n1000_p10.json")),
        target("glm_logistic_n5000_p20", models.join("glm_logistic.msrm"), own.join("glm_logistic_n5000_p20.json")),
    ]
}

/// Hand-written densities in the unconstrained coordinates of the model files, up to a constant.
#[derive(Debug, Clone)]
pub enum Density {
    /// Precisions of independent coordinates.
    Normal(Vec<f64>),
    /// Rows of a rotation and the precisions along them.
    Rotated { rows: Vec<f64>, precisions: Vec<f64> },
    /// v ~ N(0, 3), then standard normals.
    Funnel { dim: usize },
    /// mu, log tau, standardised effects.
    Schools { y: Vec<f64>, sigma: Vec<f64> },
    /// Rows of the design, outcomes, and working memory for the linear predictor.
    Logistic { x: Vec<f64>, y: Vec<f64>, coordinates: usize },
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().expect("a number")],
    }
}

impl Density {
    /// The density of a target, from the data of its model file.
    pub fn of(target: &Target) -> Density {
        let text = std::fs::read_to_string(&target.data).expect("readable data");
        let data: Value = serde_json::from_str(&text).expect("JSON");
        let size = |key: &str| data[key].as_u64().expect("a size") as usize;
        let precisions = || numbers(&data["sd"]).iter().map(|s| 1.0 / (s * s)).collect::<Vec<f64>>();
        match target.name {
            "std_normal_10d" | "std_normal_1000d" => Density::Normal(vec![1.0; size("D")]),
            "ill_gauss_100d" => Density::Normal(precisions()),
            "ill_gauss_100d_rot" => Density::Rotated { rows: numbers(&data["Q"]), precisions: precisions() },
            "funnel_ncp_10d" => Density::Funnel { dim: size("D") + 1 },
            "eight_schools_ncp" => Density::Schools { y: numbers(&data["y"]), sigma: numbers(&data["sigma"]) },
            _ => Density::Logistic { x: numbers(&data["X"]), y: numbers(&data["y"]), coordinates: size("P") },
        }
    }

    pub fn dim(&self) -> usize {
        match self {
            Density::Normal(precisions) | Density::Rotated { precisions, .. } => precisions.len(),
            Density::Funnel { dim } => *dim,
            Density::Schools { y, .. } => y.len() + 2,
            Density::Logistic { coordinates, .. } => *coordinates,
        }
    }

    /// Log density at `x`, up to a constant; writes the gradient.
    pub fn log_density_gradient(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        match self {
            Density::Normal(precisions) => {
                let mut value = 0.0;
                for ((g, x), p) in gradient.iter_mut().zip(x).zip(precisions) {
                    *g = -p * x;
                    value += *g * x;
                }
                0.5 * value
            }
            Density::Rotated { rows, precisions } => {
                gradient.fill(0.0);
                let mut value = 0.0;
                for (row, p) in rows.chunks_exact(x.len()).zip(precisions) {
                    let along = dot(row, x);
                    value -= 0.5 * p * along * along;
                    for (g, r) in gradient.iter_mut().zip(row) {
                        *g -= p * along * r;
                    }
                }
                value
            }
            Density::Funnel { .. } => {
                gradient[0] = -x[0] / 9.0;
                gradient[1..].iter_mut().zip(&x[1..]).for_each(|(g, x)| *g = -x);
                -x[0] * x[0] / 18.0 - 0.5 * x[1..].iter().map(|x| x * x).sum::<f64>()
            }
            Density::Schools { y, sigma } => {
                let (mu, tau) = (x[0], x[1].exp());
                let ratio = tau * tau / 25.0;
                let mut value = -mu * mu / 50.0 - ratio.ln_1p() + x[1];
                gradient[0] = -mu / 25.0;
                gradient[1] = 1.0 - 2.0 * ratio / (1.0 + ratio);
                for (i, (y, s)) in y.iter().zip(sigma).enumerate() {
                    let z = x[2 + i];
                    let residual = (y - mu - tau * z) / s;
                    value -= 0.5 * (residual * residual + z * z);
                    let slope = residual / s;
                    gradient[0] += slope;
                    gradient[1] += slope * tau * z;
                    gradient[2 + i] = slope * tau - z;
                }
                value
            }
            Density::Logistic { x: design, y, coordinates } => {
                let mut value = 0.0;
                for (g, b) in gradient.iter_mut().zip(x) {
                    *g = -b;
                    value -= 0.5 * b * b;
                }
                for (row, y) in design.chunks_exact(*coordinates).zip(y) {
                    let eta = dot(row, x);
                    // log(1 + exp(eta)) without overflow.
                    let e = (-eta.abs()).exp();
                    value += y * eta - eta.max(0.0) - e.ln_1p();
                    let p = if eta > 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
                    for (g, r) in gradient.iter_mut().zip(row) {
                        *g += (y - p) * r;
                    }
                }
                value
            }
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
