//! Response curves: what a stream shows, some seconds later, of an impulse of the latent.

use serde::{Deserialize, Serialize};

/// A response curve with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// The stream shows the latent itself: a unit impulse at lag 0.
    Identity,
}

/// One entry of the table of response families.
#[derive(Debug)]
pub struct Family {
    pub name: &'static str,
    pub doc: &'static str,
    /// The response with its default parameters.
    pub default: Response,
}

/// All families, in the order of the book.
pub static FAMILIES: &[Family] = &[Family {
    name: "identity",
    doc: "the stream follows the latent without delay or smoothing",
    default: Response::Identity,
}];

/// The family called `name`.
pub fn find(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|f| f.name == name)
}

impl Response {
    /// Smallest and largest lag in seconds at which the curve is not zero.
    pub fn support(self) -> (f64, f64) {
        match self {
            Response::Identity => (0.0, 0.0),
        }
    }
}
