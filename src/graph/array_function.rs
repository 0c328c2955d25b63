//! Functions of whole arrays with a hand-written adjoint: the form in which they enter the tape and the burn graph.

use super::density::Rejection;
use crate::math::op::Binary;
use std::any::Any;

/// A function from its inputs, joined one after the other, to one array.
pub trait ArrayFunction: Send + Sync {
    /// Name for printed programs.
    fn name(&self) -> &'static str;

    /// Buffers of one thread.
    fn workspace(&self) -> Box<dyn Any + Send> {
        Box::new(())
    }

    /// Writes the value at `input`.
    ///
    /// # Errors
    /// A factorisation that failed.
    fn forward(&self, input: &[f64], out: &mut [f64], workspace: &mut (dyn Any + Send)) -> Result<(), Rejection>;

    /// Adds the adjoint `g` of the value `out`, pulled back to the input, to `gradient`. The workspace is as the last
    /// forward call, at the same input, has left it.
    fn reverse(&self, input: &[f64], out: &[f64], g: &[f64], gradient: &mut [f64], workspace: &mut (dyn Any + Send));
}

/// An elementwise operation on two arrays of the same size, for backends that lack it.
pub(super) struct Pairwise {
    pub op: Binary,
}

impl ArrayFunction for Pairwise {
    fn name(&self) -> &'static str {
        "pairwise"
    }

    fn forward(&self, input: &[f64], out: &mut [f64], _: &mut (dyn Any + Send)) -> Result<(), Rejection> {
        let (a, b) = input.split_at(out.len());
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = self.op.value(a, b);
        }
        Ok(())
    }

    fn reverse(&self, input: &[f64], out: &[f64], g: &[f64], gradient: &mut [f64], _: &mut (dyn Any + Send)) {
        let n = out.len();
        let ((a, b), (ga, gb)) = (input.split_at(n), gradient.split_at_mut(n));
        for i in 0..n {
            ga[i] += g[i] * self.op.left_derivative(a[i], b[i]);
            gb[i] += g[i] * self.op.right_derivative(a[i], b[i]);
        }
    }
}
