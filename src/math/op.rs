//! The elementwise operations every expression is made of: value, derivative, and the algebra that builds them.

use super::special::{
    bessel_ratio_excess, digamma, erf, erfc, ln_beta, ln_gamma, log_bessel_i0_scaled, log_complement, log_ndtr,
    log_ndtr_slope, ndtr, ndtri, trigamma,
};
use serde::{Deserialize, Serialize};

/// Elementwise operations of one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unary {
    Neg,
    Exp,
    Expm1,
    Log,
    Log1p,
    /// log(1 - x)
    Log1m,
    /// log(1 - exp(x)) for x < 0
    Log1mExp,
    Sqrt,
    Square,
    Reciprocal,
    Abs,
    Sin,
    Cos,
    Tan,
    Atan,
    Tanh,
    Logistic,
    Logit,
    /// log(1 + exp(x)), also called softplus.
    Log1pExp,
    LnGamma,
    Digamma,
    Erf,
    Erfc,
    /// Standard normal distribution function.
    NormalCdf,
    /// Its logarithm.
    LogNormalCdf,
    /// Standard normal quantile.
    NormalQuantile,
    /// 1 from 0 on, 0 below.
    Step,
    /// log(exp(-|x|) I0(x)), with the modified Bessel function of order zero.
    LogBesselI0Scaled,
}

/// Elementwise operations of two arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Min,
    Max,
    /// Logarithm of the beta function.
    LnBeta,
}

/// log(1 + exp(x)) without overflow.
pub fn log1p_exp(x: f64) -> f64 {
    if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }
}

/// 1 / (1 + exp(-x)) without overflow.
pub fn logistic(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

impl Unary {
    /// The value at `x`.
    #[inline]
    pub fn value(self, x: f64) -> f64 {
        match self {
            Unary::Neg => -x,
            Unary::Exp => x.exp(),
            Unary::Expm1 => x.exp_m1(),
            Unary::Log => x.ln(),
            Unary::Log1p => x.ln_1p(),
            Unary::Log1m => (-x).ln_1p(),
            Unary::Log1mExp => log_complement(x),
            Unary::Sqrt => x.sqrt(),
            Unary::Square => x * x,
            Unary::Reciprocal => 1.0 / x,
            Unary::Abs => x.abs(),
            Unary::Sin => x.sin(),
            Unary::Cos => x.cos(),
            Unary::Tan => x.tan(),
            Unary::Atan => x.atan(),
            Unary::Tanh => x.tanh(),
            Unary::Logistic => logistic(x),
            Unary::Logit => x.ln() - (-x).ln_1p(),
            Unary::Log1pExp => log1p_exp(x),
            Unary::LnGamma => ln_gamma(x),
            Unary::Digamma => digamma(x),
            Unary::Erf => erf(x),
            Unary::Erfc => erfc(x),
            Unary::NormalCdf => ndtr(x),
            Unary::LogNormalCdf => log_ndtr(x),
            Unary::NormalQuantile => ndtri(x),
            Unary::Step => f64::from(x >= 0.0),
            Unary::LogBesselI0Scaled => log_bessel_i0_scaled(x),
        }
    }

    /// The derivative at `x`, given the value `y` there.
    #[inline]
    pub fn derivative(self, x: f64, y: f64) -> f64 {
        use std::f64::consts::{FRAC_2_SQRT_PI, PI};
        match self {
            Unary::Neg => -1.0,
            Unary::Exp => y,
            Unary::Expm1 => x.exp(),
            Unary::Log => 1.0 / x,
            Unary::Log1p => 1.0 / (1.0 + x),
            Unary::Log1m => -1.0 / (1.0 - x),
            Unary::Log1mExp => -1.0 / (-x).exp_m1(),
            Unary::Sqrt => 0.5 / y,
            Unary::Square => 2.0 * x,
            Unary::Reciprocal => -y * y,
            Unary::Abs => {
                if x == 0.0 {
                    0.0
                } else {
                    x.signum()
                }
            }
            Unary::Sin => x.cos(),
            Unary::Cos => -x.sin(),
            Unary::Tan => 1.0 + y * y,
            Unary::Atan => 1.0 / (1.0 + x * x),
            Unary::Tanh => 1.0 - y * y,
            Unary::Logistic => y * (1.0 - y),
            Unary::Logit => 1.0 / (x * (1.0 - x)),
            Unary::Log1pExp => logistic(x),
            Unary::LnGamma => digamma(x),
            Unary::Digamma => trigamma(x),
            Unary::Erf => FRAC_2_SQRT_PI * (-x * x).exp(),
            Unary::Erfc => -FRAC_2_SQRT_PI * (-x * x).exp(),
            Unary::NormalCdf => (-0.5 * x * x).exp() / (2.0 * PI).sqrt(),
            Unary::LogNormalCdf => log_ndtr_slope(x),
            Unary::NormalQuantile => (0.5 * y * y).exp() * (2.0 * PI).sqrt(),
            Unary::Step => 0.0,
            Unary::LogBesselI0Scaled => bessel_ratio_excess(x),
        }
    }
}

impl Binary {
    /// The value at `(a, b)`.
    #[inline]
    pub fn value(self, a: f64, b: f64) -> f64 {
        match self {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::Pow => a.powf(b),
            Binary::Min => a.min(b),
            Binary::Max => a.max(b),
            Binary::LnBeta => ln_beta(a, b),
        }
    }

    /// The derivative in `a` at `(a, b)`. Of equals in a minimum or maximum, the left one counts.
    #[inline]
    pub fn left_derivative(self, a: f64, b: f64) -> f64 {
        match self {
            Binary::Add | Binary::Sub => 1.0,
            Binary::Mul => b,
            Binary::Div => 1.0 / b,
            Binary::Pow => b * a.powf(b - 1.0),
            Binary::Min => f64::from(a <= b),
            Binary::Max => f64::from(a >= b),
            Binary::LnBeta => digamma(a) - digamma(a + b),
        }
    }

    /// The derivative in `b` at `(a, b)`; 0^b is flat in b.
    #[inline]
    pub fn right_derivative(self, a: f64, b: f64) -> f64 {
        match self {
            Binary::Add => 1.0,
            Binary::Sub => -1.0,
            Binary::Mul => a,
            Binary::Div => -a / (b * b),
            Binary::Pow => {
                if a == 0.0 {
                    0.0
                } else {
                    a.powf(b) * a.ln()
                }
            }
            Binary::Min => f64::from(b < a),
            Binary::Max => f64::from(b > a),
            Binary::LnBeta => digamma(b) - digamma(a + b),
        }
    }
}

/// A handle to a value inside an [`Algebra`].
pub type Ref = usize;

/// Something that can build elementwise expressions: a program, or a test that evaluates on the spot.
pub trait Algebra {
    /// A constant that broadcasts to any shape.
    fn constant(&mut self, value: f64) -> Ref;
    /// `op(x)`, elementwise.
    fn unary(&mut self, op: Unary, x: Ref) -> Ref;
    /// `op(a, b)`, elementwise; a scalar operand broadcasts.
    fn binary(&mut self, op: Binary, a: Ref, b: Ref) -> Ref;
}
