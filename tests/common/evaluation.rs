//! What `msrm eval` says at a point, and central differences of it.

use super::program::{Folder, data, model};
use serde_json::{Map, Value, json};

/// A point: parameters by name, each a number or an array.
pub type Point = Map<String, Value>;

/// `msrm eval` on a bundled model with its bundled data.
pub struct Evaluator {
    folder: Folder,
    model: String,
    data: String,
}

/// What it says.
pub struct Evaluated(Value);

impl Evaluator {
    pub fn new(name: &str) -> Evaluator {
        Evaluator { folder: Folder::new(), model: model(name), data: data(name) }
    }

    /// The evaluation at `point`.
    pub fn at(&self, point: &Point) -> Evaluated {
        let file = self.folder.write("point.json", json!(point).to_string());
        let arguments = ["eval", &self.model, "--data", &self.data, "--at", &file];
        let found = self.folder.run(&[&arguments[..], &["--json"]].concat()).ended(&[0]);
        assert_eq!(found.stderr, "");
        Evaluated(found.json())
    }

    /// Asserts that `point` is refused with these words.
    pub fn refuses(&self, point: Value, parts: &[&str]) {
        let file = self.folder.write("point.json", point.to_string());
        self.folder.run(&["eval", &self.model, "--data", &self.data, "--at", &file]).refused(parts);
    }
}

impl Evaluated {
    pub fn kind(&self) -> &str {
        self.0["kind"].as_str().expect("a kind")
    }

    pub fn value(&self) -> f64 {
        self.0["value"].as_f64().expect("a value")
    }

    pub fn log_jacobian(&self) -> f64 {
        self.0["log_jacobian"].as_f64().expect("a log Jacobian")
    }

    /// A list of named numbers, in order.
    pub fn list(&self, key: &str) -> Vec<(String, f64)> {
        let entries = self.0[key].as_array().unwrap_or_else(|| panic!("no list `{key}` in {}", self.0));
        let one = |e: &Value| Some((e["name"].as_str()?.to_string(), e["value"].as_f64()?));
        entries.iter().map(|e| one(e).unwrap_or_else(|| panic!("not a named number: {e}"))).collect()
    }
}

/// Asserts that two numbers agree to `tolerance`, relative to the larger of one and their size.
pub fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    let scale = 1f64.max(expected.abs());
    assert!((found - expected).abs() <= tolerance * scale, "{what}: {found}, expected {expected}");
}

/// `point` with element `index` of the array (or the number) `name` set to `value`.
fn with(point: &Point, name: &str, index: usize, value: f64) -> Point {
    let mut point = point.clone();
    match &mut point[name] {
        Value::Array(entries) => entries[index] = json!(value),
        number => *number = json!(value),
    }
    point
}

/// Elements of a point in the order of `names`, which are sampled parameters in the order of the coordinates.
fn elements(point: &Point, names: &[&str]) -> Vec<(String, usize, f64)> {
    let mut out = Vec::new();
    for name in names {
        match &point[*name] {
            Value::Array(entries) => {
                let values = entries.iter().map(|v| v.as_f64().expect("a number"));
                out.extend(values.enumerate().map(|(i, v)| (name.to_string(), i, v)));
            }
            number => out.push((name.to_string(), 0, number.as_f64().expect("a number"))),
        }
    }
    out
}

/// The open interval that a parameter lives in.
#[derive(Clone, Copy, PartialEq)]
pub struct Support {
    pub lower: f64,
    pub upper: f64,
}

impl Support {
    pub const REAL: Support = Support { lower: f64::NEG_INFINITY, upper: f64::INFINITY };
    pub const POSITIVE: Support = Support { lower: 0.0, upper: f64::INFINITY };

    /// The unconstrained coordinate: x, ln x, or the log odds of the place between the bounds.
    fn unconstrained(self, x: f64) -> f64 {
        match self {
            Support::REAL => x,
            Support::POSITIVE => x.ln(),
            Support { lower, upper } => ((x - lower) / (upper - x)).ln(),
        }
    }

    /// Its inverse, and ln |dx/du|.
    fn physical(self, u: f64) -> (f64, f64) {
        match self {
            Support::REAL => (u, 0.0),
            Support::POSITIVE => (u.exp(), u),
            Support { lower, upper } => {
                let p = 1.0 / (1.0 + (-u).exp());
                (lower + (upper - lower) * p, ((upper - lower) * p * (1.0 - p)).ln())
            }
        }
    }
}

/// Five-point central difference of `f` at `x` with step `h`.
fn slope(f: impl Fn(f64) -> f64, x: f64, h: f64) -> f64 {
    (8.0 * (f(x + h) - f(x - h)) - (f(x + 2.0 * h) - f(x - 2.0 * h))) / (12.0 * h)
}

/// Checks the coordinates, the Jacobian and both gradients at `point`, which holds the sampled parameters `names` in the
/// order of the coordinates, against differences of the value that `msrm eval` itself prints.
pub fn check_gradients(evaluator: &Evaluator, point: &Point, names: &[(&str, Support)], tolerance: f64) {
    let order: Vec<&str> = names.iter().map(|n| n.0).collect();
    let elements = elements(point, &order);
    let support = |name: &str| names.iter().find(|n| n.0 == name).expect("a name").1;
    let found = evaluator.at(point);
    let objective = found.kind() == "objective";
    let [physical, unconstrained, coordinates] =
        ["gradient", "gradient_unconstrained", "unconstrained"].map(|key| found.list(key));
    assert_eq!(physical.len(), elements.len());
    let jacobian: f64 = elements.iter().map(|(n, _, x)| support(n).physical(support(n).unconstrained(*x)).1).sum();
    close(found.log_jacobian(), jacobian, 1e-12, "log Jacobian");
    for (i, (name, index, x)) in elements.iter().enumerate() {
        let (label, support) = (&physical[i].0, support(name));
        assert!(label.starts_with(name), "{label} where {name} is expected");
        assert!(unconstrained[i].0 == *label && coordinates[i].0 == *label);
        let u = support.unconstrained(*x);
        close(coordinates[i].1, u, 1e-12, label);
        let value = |x: f64| evaluator.at(&with(point, name, *index, x)).value();
        close(physical[i].1, slope(value, *x, 1e-3), tolerance, label);
        if support == Support::REAL {
            assert_eq!(physical[i].1, unconstrained[i].1, "{label}");
            continue;
        }
        let moved = |u: f64| {
            let (x, jacobian) = support.physical(u);
            // The Jacobian belongs to a density; an objective is only written in other coordinates.
            value(x) + if objective { 0.0 } else { jacobian }
        };
        close(unconstrained[i].1, slope(moved, u, 1e-3), tolerance, &format!("{label}, unconstrained"));
    }
}
