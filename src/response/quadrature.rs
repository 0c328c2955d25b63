//! The ten-point Gauss-Legendre rule on one interval, exact for polynomials up to degree 19.

/// Positive nodes on [-1, 1] with their weights; the negative ones mirror them.
const RULE: [(f64, f64); 5] = [
    (0.14887433898163122, 0.29552422471475287),
    (0.4333953941292472, 0.26926671930999635),
    (0.6794095682990244, 0.21908636251598204),
    (0.8650633666889845, 0.1494513491505806),
    (0.9739065285171717, 0.06667134430868814),
];

/// Visits the points of the rule on [a, b] with their weights.
#[inline]
pub(super) fn points(a: f64, b: f64, mut visit: impl FnMut(f64, f64)) {
    let (middle, half) = (0.5 * (a + b), 0.5 * (b - a));
    for (x, w) in RULE {
        visit(middle - half * x, half * w);
        visit(middle + half * x, half * w);
    }
}
