//! Small model texts that together use every operation of the language in every position.
//!
//! Most come from the tables of functions and distributions, so that a new entry is tested without a line here.

mod distributions;
mod expressions;
mod laws;
mod statements;

use super::arrays::arrays;
use super::plan::plan;
use msrm::bind::Plan;

/// One model text.
pub struct Case {
    pub name: String,
    pub text: String,
}

/// The data of every case; a case declares what it uses.
const DATA: &str = r#"{
    "J": 3, "K": 2, "none": [], "zero": 0,
    "pair": [1, 2], "places": [3, 1, 1, 2], "columns": [2, 3, 2], "three": 3,
    "low": -0.5, "high": 2.5, "scalar": 0.8,
    "real": [0.4, -1.3, 1.1], "positive": [0.7, 1.9, 0.45], "unit": [0.2, 0.85, 0.5], "between": [0.1, -0.6, 1.2],
    "binary": [0, 1, 1], "counts": [0, 3, 5], "successes": [0, 3, 6], "trials": [4, 5, 6],
    "matrix": [[0.5, -1.2, 0.3], [1.4, 0.9, -0.7]], "sq": [[1.5, 0.2, 0.1], [-0.3, 0.8, 0.6], [0.4, -0.9, 1.1]],
    "tall": [[0.1, 0.2], [1.3, -0.4], [0.5, 0.6], [-0.7, 0.8], [0.9, -1.0]]
}"#;

/// Declarations of all of it.
const DECLARATIONS: &str = "\
data J : int
data K : int
data zero : int
data three : int in [1, J]
data none : real[zero]
data pair : int[K] in [1, J]
data places : int[4] in [1, J]
data columns : int[J] in [1, J]
data low : real
data high : real > low
data scalar : real
data real : real[J]
data positive : real[J] > 0
data unit : real[J] in [0, 1]
data between : real[J]
data binary : int[J] in [0, 1]
data counts : int[J] >= 0
data successes : int[J]
data trials : int[J]
data matrix : real[K, J]
data sq : real[J, J]
data tall : real[5, K]
";

impl Case {
    fn new(name: impl Into<String>, body: &str) -> Case {
        Case { name: name.into(), text: format!("model case\n{DECLARATIONS}{body}\n") }
    }

    /// The plan of the case.
    pub fn plan(&self) -> Plan {
        plan(&self.text, arrays(DATA))
    }
}

/// All cases.
pub fn cases() -> Vec<Case> {
    let mut cases = expressions::cases();
    cases.extend(distributions::cases());
    cases.extend(statements::cases());
    cases.extend(laws::cases());
    cases
}
