//! Short names for building a log density in an [`Algebra`].

use crate::math::op::{Algebra, Binary, Ref, Unary};

/// A writer of elementwise expressions.
pub(super) struct Expression<'a>(pub &'a mut dyn Algebra);

impl Expression<'_> {
    pub fn constant(&mut self, v: f64) -> Ref {
        self.0.constant(v)
    }
    pub fn of(&mut self, op: Unary, a: Ref) -> Ref {
        self.0.unary(op, a)
    }
    pub fn add(&mut self, a: Ref, b: Ref) -> Ref {
        self.0.binary(Binary::Add, a, b)
    }
    pub fn sub(&mut self, a: Ref, b: Ref) -> Ref {
        self.0.binary(Binary::Sub, a, b)
    }
    pub fn mul(&mut self, a: Ref, b: Ref) -> Ref {
        self.0.binary(Binary::Mul, a, b)
    }
    pub fn div(&mut self, a: Ref, b: Ref) -> Ref {
        self.0.binary(Binary::Div, a, b)
    }
    /// `a + v`.
    pub fn shift(&mut self, a: Ref, v: f64) -> Ref {
        let v = self.constant(v);
        self.add(a, v)
    }
    /// `v a`.
    pub fn scale(&mut self, a: Ref, v: f64) -> Ref {
        let v = self.constant(v);
        self.mul(v, a)
    }
    /// `(x - mu) / sigma`.
    pub fn standardize(&mut self, x: Ref, mu: Ref, sigma: Ref) -> Ref {
        let centred = self.sub(x, mu);
        self.div(centred, sigma)
    }
    /// log Gamma(a + v).
    pub fn ln_gamma_shifted(&mut self, a: Ref, v: f64) -> Ref {
        let shifted = self.shift(a, v);
        self.of(Unary::LnGamma, shifted)
    }
}
