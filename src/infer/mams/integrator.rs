//! Splitting schemes of the microcanonical flow: alternating kicks B and drifts A, palindromic, starting with a kick.
//!
//! Leapfrog; the two-stage scheme of minimal error norm (McLachlan 1995; Omelyan et al. 2003, order 2); the
//! five-stage scheme of order 4 with eleven coefficients (Omelyan, Mryglod & Folk 2003, Computer Physics
//! Communications 151).

/// How a step is split. All have an energy error of their order and cost as many gradients as they have drifts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrator {
    /// One gradient, second order.
    Leapfrog,
    /// Two gradients, second order with a small constant.
    MinimalNorm,
    /// Five gradients, fourth order.
    FourthOrder,
}

const LEAPFROG: ([f64; 2], [f64; 1]) = ([0.5, 0.5], [1.0]);
const LAMBDA: f64 = 0.193_183_327_503_783_6;
const MINIMAL_NORM: ([f64; 3], [f64; 2]) = ([LAMBDA, 1.0 - 2.0 * LAMBDA, LAMBDA], [0.5, 0.5]);
const B1: f64 = 0.083_983_152_628_766_93;
const A1: f64 = 0.253_978_510_841_059_5;
const B2: f64 = 0.682_236_533_571_909;
const A2: f64 = -0.032_302_867_652_699_67;
const B3: f64 = 0.5 - B1 - B2;
const A3: f64 = 1.0 - 2.0 * (A1 + A2);
const FOURTH_ORDER: ([f64; 6], [f64; 5]) = ([B1, B2, B3, B3, B2, B1], [A1, A2, A3, A2, A1]);

impl Integrator {
    /// The scheme that draws most per gradient from a standard normal of dimension `dim`: leapfrog up to 200, minimal
    /// norm beyond.
    pub fn for_dim(dim: usize) -> Integrator {
        if dim <= 200 { Integrator::Leapfrog } else { Integrator::MinimalNorm }
    }

    /// Kicks and drifts of a step of length one; there is one kick more than there are drifts.
    pub(super) fn coefficients(self) -> (&'static [f64], &'static [f64]) {
        match self {
            Integrator::Leapfrog => (&LEAPFROG.0, &LEAPFROG.1),
            Integrator::MinimalNorm => (&MINIMAL_NORM.0, &MINIMAL_NORM.1),
            Integrator::FourthOrder => (&FOURTH_ORDER.0, &FOURTH_ORDER.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_is_consistent_and_a_palindrome() {
        for (scheme, gradients) in
            [(Integrator::Leapfrog, 1), (Integrator::MinimalNorm, 2), (Integrator::FourthOrder, 5)]
        {
            let (kicks, drifts) = scheme.coefficients();
            assert_eq!((kicks.len(), drifts.len()), (gradients + 1, gradients));
            for list in [kicks, drifts] {
                assert!((list.iter().sum::<f64>() - 1.0).abs() < 1e-15);
                assert!(list.iter().eq(list.iter().rev()));
            }
        }
    }
}
