//! Integrals of positive functions by panels of the sixteen-point Gauss-Legendre rule.

/// Positive nodes and weights of the sixteen-point rule on [-1, 1].
const GAUSS: [(f64, f64); 8] = [
    (0.09501250983763744, 0.1894506104550685),
    (0.2816035507792589, 0.18260341504492358),
    (0.45801677765722737, 0.16915651939500254),
    (0.6178762444026438, 0.14959598881657674),
    (0.755404408355003, 0.12462897125553388),
    (0.8656312023878318, 0.09515851168249279),
    (0.9445750230732326, 0.062253523938647894),
    (0.9894009349916499, 0.027152459411754096),
];

/// The largest drop of the logarithm over one panel.
const MAX_DROP: f64 = 3.0;

/// What remains is left out once it cannot reach this share of the sum.
const NEGLIGIBLE: f64 = 1e-18;

/// The integral of `f` from `start` to `start + width`, exact to rounding where `f` is smooth over `width`.
pub(super) fn panel(f: impl Fn(f64) -> f64, start: f64, width: f64) -> f64 {
    let (half, middle) = (0.5 * width, start + 0.5 * width);
    half * GAUSS.iter().map(|(x, w)| w * (f(middle - half * x) + f(middle + half * x))).sum::<f64>()
}

/// The integral of exp(`log_f`) from 0 to `length`, for a `log_f` that starts at 0, does not increase and is smooth
/// over a unit.
///
/// An infinite `length` needs a `log_f` that ends below `-t`.
pub(super) fn decaying(log_f: impl Fn(f64) -> f64, length: f64) -> f64 {
    let (mut at, mut width, mut sum, mut level) = (0.0, 1.0f64, 0.0, 0.0);
    while at < length && f64::exp(level) * (length - at).min(4.0) > NEGLIGIBLE * sum {
        width = width.min(1.0).min(length - at);
        let mut next = log_f(at + width);
        while level - next > MAX_DROP {
            width *= 0.5;
            next = log_f(at + width);
        }
        if at + width == at || next.is_nan() {
            return f64::NAN;
        }
        sum += panel(|t| log_f(t).exp(), at, width);
        at += width;
        level = next;
        width *= 2.0;
    }
    sum
}
