//! A cascade of all-pass sections: any set of poles as a linear system whose stationary covariance is the identity.
//!
//! dx = G x dt + b dw with G + G' = -b b' has stationary covariance I whatever the poles, so that nothing about the
//! stationary law depends on parameters and coordinates never become dependent where poles meet. A section is a real
//! pole -a, 1 x 1 with drive sqrt(2 a), or a pair of modulus R and damping alpha,
//! [[0, R], [-R, -2 alpha]] with drive (0, 2 sqrt(alpha)), a double real pole included; below the diagonal
//! G_ij = -b_i b_j. The states span the functions of Takenaka and Malmquist (Heuberger, Van den Hof & Wahlberg 2005,
//! chapter 2). The first section is the latent itself, R = alpha = rho, whose two states are the path and its
//! derivative over rho.

use super::small::{TILE, side};

/// One section. Rates are per second and positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Section {
    Real { rate: f64 },
    Pair { modulus: f64, damping: f64 },
}

impl Section {
    pub fn order(self) -> usize {
        match self {
            Section::Real { .. } => 1,
            Section::Pair { .. } => 2,
        }
    }
}

/// Derivatives in what describes a section: (rate, unused) or (modulus, damping).
pub(super) type SectionAdjoint = (f64, f64);

/// The system. Pairs must come before real sections, so that no pair straddles a tile.
#[derive(Debug, Clone)]
pub(super) struct Cascade {
    pub sections: Vec<Section>,
    pub order: usize,
    pub side: usize,
    /// G, side x side.
    pub generator: Vec<f64>,
    /// b, length side.
    pub drive: Vec<f64>,
}

impl Cascade {
    pub fn new(sections: Vec<Section>) -> Self {
        let order = sections.iter().map(|s| s.order()).sum();
        let side = side(order);
        let (mut generator, mut drive) = (vec![0.0; side * side], vec![0.0; side]);
        let mut at = 0;
        for &section in &sections {
            match section {
                Section::Real { rate } => {
                    generator[at * side + at] = -rate;
                    drive[at] = (2.0 * rate).sqrt();
                }
                Section::Pair { modulus, damping } => {
                    debug_assert!(at % TILE != TILE - 1);
                    generator[at * side + at + 1] = modulus;
                    generator[(at + 1) * side + at] = -modulus;
                    generator[(at + 1) * side + at + 1] = -2.0 * damping;
                    drive[at + 1] = 2.0 * damping.sqrt();
                }
            }
            for i in at..at + section.order() {
                for j in 0..at {
                    generator[i * side + j] = -drive[i] * drive[j];
                }
            }
            at += section.order();
        }
        Self { sections, order, side, generator, drive }
    }

    /// Derivatives in the sections, given those in the entries of G.
    pub fn pull(&self, generator: &[f64]) -> Vec<SectionAdjoint> {
        let n = self.side;
        let mut drive = vec![0.0; n];
        let mut at = 0;
        for section in &self.sections {
            for i in at..at + section.order() {
                for j in 0..at {
                    drive[i] -= generator[i * n + j] * self.drive[j];
                    drive[j] -= generator[i * n + j] * self.drive[i];
                }
            }
            at += section.order();
        }
        let mut at = 0;
        let mut out = Vec::with_capacity(self.sections.len());
        for &section in &self.sections {
            let g = |i: usize, j: usize| generator[(at + i) * n + at + j];
            out.push(match section {
                Section::Real { .. } => (drive[at] / self.drive[at] - g(0, 0), 0.0),
                Section::Pair { damping, .. } => (g(0, 1) - g(1, 0), drive[at + 1] / damping.sqrt() - 2.0 * g(1, 1)),
            });
            at += section.order();
        }
        out
    }

    /// Replaces `x` by the solution of (rate I - G) y = x.
    pub fn resolve(&self, rate: f64, x: &mut [f64]) {
        let n = self.side;
        let mut at = 0;
        // G x below the diagonal is -b_i times this sum over what is solved.
        let mut driven = 0.0;
        for &section in &self.sections {
            match section {
                Section::Real { rate: a } => {
                    x[at] = (x[at] - self.drive[at] * driven) / (rate + a);
                }
                Section::Pair { modulus, damping } => {
                    let (p, q) = (x[at], x[at + 1] - self.drive[at + 1] * driven);
                    let (d, c) = (rate + 2.0 * damping, modulus);
                    let determinant = rate * d + c * c;
                    (x[at], x[at + 1]) = ((d * p + c * q) / determinant, (rate * q - c * p) / determinant);
                }
            }
            let own = at..at + section.order();
            driven += self.drive[own.clone()].iter().zip(&x[own]).map(|(b, x)| b * x).sum::<f64>();
            at += section.order();
        }
        debug_assert!(x.len() == n);
    }

    /// Replaces `x` by the solution of (rate I - G') y = x.
    pub fn resolve_transposed(&self, rate: f64, x: &mut [f64]) {
        let mut at = self.order;
        let mut driven = 0.0;
        for &section in self.sections.iter().rev() {
            at -= section.order();
            match section {
                Section::Real { rate: a } => {
                    x[at] = (x[at] - self.drive[at] * driven) / (rate + a);
                }
                Section::Pair { modulus, damping } => {
                    let (p, q) = (x[at], x[at + 1] - self.drive[at + 1] * driven);
                    let (d, c) = (rate + 2.0 * damping, modulus);
                    let determinant = rate * d + c * c;
                    (x[at], x[at + 1]) = ((d * p - c * q) / determinant, (rate * q + c * p) / determinant);
                }
            }
            let own = at..at + section.order();
            driven += self.drive[own.clone()].iter().zip(&x[own]).map(|(b, x)| b * x).sum::<f64>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(shift: f64) -> Vec<Section> {
        vec![
            Section::Pair { modulus: 0.7 + shift, damping: 0.7 },
            Section::Pair { modulus: 1.9, damping: 0.4 + shift },
            Section::Real { rate: 1.2 + shift },
            Section::Real { rate: 1.2 },
            Section::Real { rate: 0.3 },
        ]
    }

    #[test]
    fn stationary_covariance_is_the_identity() {
        let c = Cascade::new(example(0.0));
        assert_eq!((c.order, c.side), (7, 8));
        for i in 0..8 {
            for j in 0..8 {
                let sum = c.generator[i * 8 + j] + c.generator[j * 8 + i] + c.drive[i] * c.drive[j];
                assert!(sum.abs() < 1e-15, "{i} {j} {sum}");
            }
        }
    }

    #[test]
    fn resolvents_solve_their_equations() {
        let c = Cascade::new(example(0.1));
        let x = [0.3, -1.0, 0.5, 2.0, 0.1, -0.7, 0.9, 0.0];
        for transposed in [false, true] {
            let mut y = x;
            if transposed {
                c.resolve_transposed(0.8, &mut y)
            } else {
                c.resolve(0.8, &mut y)
            }
            for i in 0..7 {
                let g = |j: usize| if transposed { c.generator[j * 8 + i] } else { c.generator[i * 8 + j] };
                let back = 0.8 * y[i] - (0..7).map(|j| g(j) * y[j]).sum::<f64>();
                assert!((back - x[i]).abs() < 1e-13, "{transposed} {i}");
            }
        }
    }

    #[test]
    fn pull_back_equals_differences() {
        let weights: Vec<f64> = (0..64).map(|i| f64::from(i * 37 % 19) - 9.0).collect();
        let value = |shift: f64| -> f64 {
            Cascade::new(example(shift)).generator.iter().zip(&weights).map(|(g, w)| g * w).sum()
        };
        let adjoint = Cascade::new(example(0.0)).pull(&weights);
        let slope = (value(1e-5) - value(-1e-5)) / 2e-5;
        let wanted = adjoint[0].0 + adjoint[1].1 + adjoint[2].0;
        assert!((wanted - slope).abs() < 1e-7, "{wanted} against {slope}");
    }
}
