//! The exact isokinetic kick: how a gradient turns a direction of unit length, and the kinetic energy this takes up.
//!
//! du/dt = (I - u u') g / (d - 1) with g held fixed for the time t, and dK/dt = g'u. With e = g / |g|, c = e'u and
//! delta = t |g| / (d - 1), u' is proportional to u + e (sinh delta + c (cosh delta - 1)) and
//! dK = (d - 1) ln(cosh delta + c sinh delta). Multiplying by 2 zeta, zeta = exp(-delta), leaves nothing that overflows:
//! u' ~ 2 zeta u + (1 - zeta)(2 zeta + q (1 - zeta)) e, of length q + (2 - q) zeta^2, where q = 1 + c.
//! Ver Steeg & Galstyan 2021 (arXiv 2111.02434); Robnik et al. 2022 (arXiv 2212.08549).
//!
//! A direction almost against the gradient needs q to a precision of about zeta^2, so it is summed as |u + e|^2 / 2. What
//! the rounding of u leaves is an error of 1e-16 / zeta in dK / (d - 1): beyond delta = 16 the kick is refused. Without
//! this limit, steps far too large are accepted, since a direction rounded to -e loses no energy to turning. The limit
//! is the same for the kick back, so refusing keeps detailed balance.

/// Largest delta that is trusted: by so much the logarithm of tan(angle to the gradient / 2) falls.
const LARGEST_TURN: f64 = 16.0;
/// Cosine below which q is summed without cancellation.
const OPPOSED: f64 = -0.9;

/// What a kick takes up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gain {
    /// dK; not finite where the gradient or its square is not.
    pub energy: f64,
    /// False where the turn was refused and the direction left alone; the energy may then be far off.
    pub trusted: bool,
}

/// Turns `direction` (unit length, d >= 2 coordinates) by `gradient` held for the signed time `time`.
pub(super) fn kick(direction: &mut [f64], gradient: &[f64], time: f64) -> Gain {
    let Some(turn) = Turn::of(direction, gradient, time) else { return Gain { energy: 0.0, trusted: true } };
    // NaN compares false: it is not trusted.
    let trusted = turn.delta <= LARGEST_TURN;
    if trusted {
        let (keep, add) = turn.coefficients();
        for (u, g) in direction.iter_mut().zip(gradient) {
            *u = keep * *u + add * g;
        }
    }
    Gain { energy: turn.energy(), trusted }
}

/// The scalars of one kick.
struct Turn {
    /// d - 1.
    freedom: f64,
    /// |g| with the sign of the time: e points along the gradient or, for a negative time, against it.
    signed_norm: f64,
    /// q = 1 + e'u.
    opening: f64,
    delta: f64,
    zeta: f64,
}

impl Turn {
    /// `None` where nothing turns: a zero gradient or a zero time.
    fn of(direction: &[f64], gradient: &[f64], time: f64) -> Option<Turn> {
        let (along, squares) = dot_and_squares(direction, gradient);
        if squares == 0.0 || time == 0.0 {
            return None;
        }
        let freedom = (direction.len() - 1) as f64;
        let norm = squares.sqrt();
        let delta = time.abs() * norm / freedom;
        // Backwards in time is forwards along the opposite gradient.
        let signed_norm = norm.copysign(time);
        let cosine = (along / signed_norm).min(1.0);
        let opening = if cosine < OPPOSED {
            let inverse = signed_norm.recip();
            0.5 * direction.iter().zip(gradient).map(|(u, g)| (u + inverse * g).powi(2)).sum::<f64>()
        } else {
            1.0 + cosine
        };
        Some(Turn { freedom, signed_norm, opening, delta, zeta: (-delta).exp() })
    }

    fn length(&self) -> f64 {
        self.opening + (2.0 - self.opening) * self.zeta * self.zeta
    }

    /// u' = first * u + second * g.
    fn coefficients(&self) -> (f64, f64) {
        let Turn { signed_norm, opening, zeta, .. } = *self;
        let length = self.length();
        let along = (1.0 - zeta) * (2.0 * zeta + opening * (1.0 - zeta));
        (2.0 * zeta / length, along / length / signed_norm)
    }

    /// (d - 1) (delta + ln(length / 2)), by way of 1 - length / 2 where that is small.
    fn energy(&self) -> f64 {
        let lost = (1.0 - 0.5 * self.opening) * -(-2.0 * self.delta).exp_m1();
        let log = if lost < 0.5 { (-lost).ln_1p() } else { (0.5 * self.length()).ln() };
        self.freedom * (self.delta + log)
    }
}

/// a'b and b'b with four running sums each, so that the additions do not wait for each other.
fn dot_and_squares(a: &[f64], b: &[f64]) -> (f64, f64) {
    let (a4, a1) = a.as_chunks::<4>();
    let (b4, b1) = b.as_chunks::<4>();
    let (mut dots, mut squares) = ([0.0; 4], [0.0; 4]);
    for (x, y) in a4.iter().zip(b4) {
        for k in 0..4 {
            dots[k] += x[k] * y[k];
            squares[k] += y[k] * y[k];
        }
    }
    let (mut dot, mut square) =
        ((dots[0] + dots[1]) + (dots[2] + dots[3]), (squares[0] + squares[1]) + (squares[2] + squares[3]));
    for (x, y) in a1.iter().zip(b1) {
        dot += x * y;
        square += y * y;
    }
    (dot, square)
}

/// A kick with a fault for the test of the tests: the part orthogonal to the gradient grows by cosh delta.
#[cfg(test)]
pub(super) fn broken_kick(direction: &mut [f64], gradient: &[f64], time: f64) -> Gain {
    let Some(turn) = Turn::of(direction, gradient, time) else { return Gain { energy: 0.0, trusted: true } };
    let (sinh, cosh, c) = (turn.delta.sinh(), turn.delta.cosh(), turn.opening - 1.0);
    for (u, g) in direction.iter_mut().zip(gradient) {
        let e = g / turn.signed_norm;
        *u = e * (sinh + c * cosh) + (*u - c * e) * cosh;
    }
    let norm = direction.iter().map(|u| u * u).sum::<f64>().sqrt();
    direction.iter_mut().for_each(|u| *u /= norm);
    Gain { energy: turn.energy(), trusted: turn.delta <= LARGEST_TURN }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(mut u: Vec<f64>) -> Vec<f64> {
        let norm = u.iter().map(|x| x * x).sum::<f64>().sqrt();
        u.iter_mut().for_each(|x| *x /= norm);
        u
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    /// The differential equation of the kick by the fourth-order Runge-Kutta rule: direction and energy.
    fn integrated(u: &[f64], g: &[f64], time: f64) -> (Vec<f64>, f64) {
        let d = u.len();
        let slope = |state: &[f64]| -> Vec<f64> {
            let along = dot(g, &state[..d]);
            let mut s: Vec<f64> = (0..d).map(|i| (g[i] - along * state[i]) / (d - 1) as f64).collect();
            s.push(along);
            s
        };
        let plus =
            |state: &[f64], h: f64, s: &[f64]| -> Vec<f64> { state.iter().zip(s).map(|(x, s)| x + h * s).collect() };
        let mut state = u.to_vec();
        state.push(0.0);
        let steps = 2000;
        let h = time / steps as f64;
        for _ in 0..steps {
            let a = slope(&state);
            let b = slope(&plus(&state, h / 2.0, &a));
            let c = slope(&plus(&state, h / 2.0, &b));
            let e = slope(&plus(&state, h, &c));
            for (i, x) in state.iter_mut().enumerate() {
                *x += h / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + e[i]);
            }
        }
        (state[..d].to_vec(), state[d])
    }

    #[test]
    fn the_kick_solves_its_differential_equation() {
        let cases = [
            (vec![0.6, -0.8], vec![1.0, 2.0]),
            (vec![0.3, 0.1, -0.7], vec![-2.0, 0.4, 0.0]),
            (vec![1.0, -1.0, 0.5, 0.2, 0.3], vec![0.1, 3.0, -1.0, 2.0, 0.7]),
            (vec![1.0, 2.0, 3.0], vec![-1.0, -2.0, -3.1]),
        ];
        for (u, g) in cases {
            let u = unit(u);
            for time in [-1.3, -0.01, 0.0, 1e-3, 0.7, 2.5] {
                let (direction, energy) = integrated(&u, &g, time);
                let mut kicked = u.clone();
                let found = kick(&mut kicked, &g, time).energy;
                assert!((found - energy).abs() < 1e-9 * (1.0 + energy.abs()), "{u:?} {time}: {found} {energy}");
                assert!(kicked.iter().zip(&direction).all(|(a, b)| (a - b).abs() < 1e-9), "{kicked:?} {direction:?}");
            }
        }
    }

    #[test]
    fn strong_gradients_leave_a_unit_direction_and_a_finite_energy_up_to_the_limit() {
        for size in [1e-300, 1e-20, 1.0, 8.0, 15.9] {
            for u in [vec![0.6, 0.8], vec![-0.6, 0.8], vec![0.0, 1.0], vec![1.0, 0.0], vec![-1.0, 0.0]] {
                for time in [-1.0, 1.0] {
                    let mut kicked = u.clone();
                    let Gain { energy, trusted } = kick(&mut kicked, &[size, 0.0], time);
                    assert!(trusted);
                    assert!(energy.is_finite() && energy.abs() <= size * 1.0000001, "{size} {u:?}: {energy}");
                    assert!((dot(&kicked, &kicked) - 1.0).abs() < 1e-8, "{size} {u:?}: {kicked:?}");
                }
            }
        }
        let mut u = vec![0.6, 0.8];
        let refused = kick(&mut u, &[16.1, 0.0], 1.0);
        assert!(!refused.trusted && (refused.energy - 16.1 - 0.8f64.ln()).abs() < 1e-12);
        assert_eq!(u, [0.6, 0.8]);
    }

    /// A kick and its reversal from a direction almost against the gradient: the way back gains what the way there
    /// lost. The angle a to the opposite of the gradient follows tan(a' / 2) = exp(delta) tan(a / 2), and
    /// dK = ln(sin a / sin a').
    #[test]
    fn directions_almost_against_the_gradient_keep_their_energy() {
        for angle in [1e-1f64, 1e-4, 1e-7, 1e-10] {
            for delta in [1.0f64, 10.0, 15.0] {
                let mut u = vec![-angle.cos(), angle.sin()];
                let energy = kick(&mut u, &[delta, 0.0], 1.0).energy;
                let turned = 2.0 * (delta.exp() * (0.5 * angle).tan()).atan();
                let expected = (angle.sin() / turned.sin()).ln();
                assert!((energy - expected).abs() < 1e-8, "{angle} {delta}: {energy} {expected}");
                assert!((u[0] + turned.cos()).abs() < 1e-8 && (u[1] - turned.sin()).abs() < 1e-8);
                u.iter_mut().for_each(|x| *x = -*x);
                let back = kick(&mut u, &[delta, 0.0], 1.0).energy;
                assert!((energy + back).abs() < 1e-8, "{angle} {delta}: {energy} {back}");
            }
        }
    }

    /// The energy of a short kick is g'u t to first order and keeps its digits.
    #[test]
    fn small_kicks_keep_their_digits() {
        let (u, g) = (unit(vec![0.3, -0.5, 0.9]), [1.0, 2.0, -0.5]);
        let time = 1e-9;
        let energy = kick(&mut u.clone(), &g, time).energy;
        // The next term is t^2 (|g|^2 - (g'u)^2) / (2 (d - 1)).
        assert!((energy / time / dot(&u, &g) - 1.0).abs() < 1e-8);
    }

    #[test]
    fn a_zero_gradient_turns_nothing_and_a_bad_one_is_seen() {
        let mut u = vec![0.6, 0.8];
        assert_eq!(kick(&mut u, &[0.0, 0.0], 1.0), Gain { energy: 0.0, trusted: true });
        assert_eq!(u, [0.6, 0.8]);
        for bad in [f64::NAN, f64::INFINITY, 1e200] {
            let gain = kick(&mut u, &[bad, 0.0], 1.0);
            assert!(!gain.trusted && !gain.energy.is_finite(), "{bad}");
        }
    }

    #[test]
    fn sums_equal_the_plain_ones_for_every_length() {
        for n in 0..13 {
            let a: Vec<f64> = (0..n).map(|i| f64::from(i) - 3.0).collect();
            let b: Vec<f64> = (0..n).map(|i| 2.0 * f64::from(i) + 1.0).collect();
            assert_eq!(dot_and_squares(&a, &b), (dot(&a, &b), dot(&b, &b)));
        }
    }
}
