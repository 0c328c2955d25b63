//! Step size adaptation by dual averaging.
//!
//! Nesterov 2009; Hoffman & Gelman 2014, section 3.2, with gamma 0.05, t0 10 and kappa 0.75.

/// Drives the mean acceptance towards a target by changing log e.
#[derive(Debug, Clone)]
pub(in crate::infer) struct DualAveraging {
    target: f64,
    /// log of the step towards which the iterates are drawn.
    mu: f64,
    count: f64,
    error_mean: f64,
    log_step: f64,
    log_step_mean: f64,
}

impl DualAveraging {
    const GAMMA: f64 = 0.05;
    const T0: f64 = 10.0;
    const KAPPA: f64 = 0.75;

    /// Starts from `step`, a first guess, with mu = log(10 step): larger steps are tried first.
    pub fn new(target: f64, step: f64) -> DualAveraging {
        let log_step = step.ln();
        let mu = (10.0 * step).ln();
        DualAveraging { target, mu, count: 0.0, error_mean: 0.0, log_step, log_step_mean: log_step }
    }

    /// Starts from `step`, already about right, with mu = log(step).
    pub fn around(target: f64, step: f64) -> DualAveraging {
        DualAveraging { mu: step.ln(), ..DualAveraging::new(target, step) }
    }

    /// Forgets everything and starts again from `step`.
    pub fn restart(&mut self, step: f64) {
        *self = DualAveraging::new(self.target, step);
    }

    /// Takes the mean acceptance of one transition and returns the next step to try.
    pub fn update(&mut self, acceptance: f64) -> f64 {
        self.count += 1.0;
        let eta = 1.0 / (self.count + Self::T0);
        self.error_mean += eta * (self.target - acceptance.min(1.0) - self.error_mean);
        self.log_step = self.mu - self.error_mean * self.count.sqrt() / Self::GAMMA;
        self.log_step_mean += self.count.powf(-Self::KAPPA) * (self.log_step - self.log_step_mean);
        self.log_step.exp()
    }

    /// Takes back what the latest update proposed beyond `largest`: the state is as if `largest` had been proposed, so
    /// that a step held at a bound comes off it as soon as the acceptance falls.
    pub fn cap(&mut self, largest: f64) {
        let excess = self.log_step - largest.ln();
        if excess > 0.0 && self.count > 0.0 {
            self.log_step -= excess;
            self.error_mean += excess * Self::GAMMA / self.count.sqrt();
            self.log_step_mean -= excess * self.count.powf(-Self::KAPPA);
        }
    }

    /// The averaged step, to be used after warm-up; without any update the step it was started from.
    pub fn averaged(&self) -> f64 {
        self.log_step_mean.exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The recursion written out with the averages as explicit sums.
    #[test]
    fn dual_averaging_matches_the_formulas() {
        let acceptances = [0.3, 0.9, 1.0, 0.0, 0.75, 0.8];
        let mut da = DualAveraging::new(0.8, 0.5);
        assert_eq!(da.averaged(), 0.5);
        let (mut h_bar, mut log_bar) = (0.0, 0.0);
        for (t, a) in (1..).zip(acceptances) {
            let t = f64::from(t);
            h_bar = (1.0 - 1.0 / (t + 10.0)) * h_bar + (0.8 - a) / (t + 10.0);
            let log_step = f64::ln(5.0) - t.sqrt() / 0.05 * h_bar;
            let eta = t.powf(-0.75);
            log_bar = eta * log_step + (1.0 - eta) * log_bar;
            assert!((da.update(a).ln() - log_step).abs() < 1e-12);
            assert!((da.averaged().ln() - log_bar).abs() < 1e-12);
        }
    }

    /// A response curve of which the solution is known: acceptance exp(-e) equals 0.8 at e = -log 0.8. The pull
    /// towards mu leaves a mean error of gamma (mu - log e) / sqrt(n) after n updates, and no more.
    #[test]
    fn dual_averaging_finds_the_root_of_a_known_curve() {
        for n in [500, 5000, 50_000] {
            let mut da = DualAveraging::new(0.8, 3.0);
            let mut step: f64 = 3.0;
            for _ in 0..n {
                step = da.update((-step).exp());
            }
            let root = -f64::ln(0.8);
            let bound = 0.05 * (f64::ln(30.0) - root.ln()) / f64::from(n).sqrt();
            assert!(((-da.averaged()).exp() - 0.8).abs() < bound, "{n}: {}", da.averaged());
        }
    }

    #[test]
    fn a_capped_step_does_not_wind_up() {
        let mut da = DualAveraging::new(0.8, 0.5);
        for _ in 0..50 {
            da.update(1.0);
            da.cap(2.0);
        }
        assert!((da.averaged() - 2.0).abs() < 1e-12);
        // One refusal moves it by (target - error mean) sqrt(n) / (gamma (n + t0)), near 2.2 in the logarithm.
        assert!(da.update(0.0) < 1.0);
        let mut free = DualAveraging::new(0.8, 0.5);
        let mut capped = DualAveraging::new(0.8, 0.5);
        for a in [0.3, 0.9, 0.8, 1.0, 0.2] {
            let step = free.update(a);
            assert_eq!(capped.update(a), step);
            capped.cap(2.0 * step);
        }
        assert_eq!(free.averaged(), capped.averaged());
    }

    #[test]
    fn a_start_around_a_step_does_not_jump_away_from_it() {
        assert_eq!(DualAveraging::around(0.8, 0.3).averaged(), 0.3);
        assert!((DualAveraging::around(0.8, 0.3).update(0.8) - 0.3).abs() < 1e-15);
        assert!((DualAveraging::new(0.8, 0.3).update(0.8) - 3.0).abs() < 1e-14);
    }
}
