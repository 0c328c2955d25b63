//! Both flagship models on the bundled recording: how well do their latents agree?
//!
//! `cargo run --release --example shared_response`

use msrm::archive::{LatentSeries, Method, Outcome, Settings};
use msrm::base::Source;
use msrm::bind::{BindOptions, Input, bind};
use msrm::data::{Options, load};
use msrm::model::check_text;
use msrm::run::{Reporting, fit};
use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn Error>> {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    let mut latents = Vec::new();
    for (name, method) in [("r_msrm", Method::Als), ("gp_msrm", Method::Map)] {
        let source = Source::new(name, std::fs::read_to_string(models.join(format!("{name}.msrm")))?);
        let model = check_text(&source).map_err(|errors| msrm::base::render(&source, &errors))?;
        let loaded = load(&models.join("data/recording.csv"), &Options::default())?;
        let plan = bind(model, source, Input::Recording(loaded.recording), BindOptions::default())?;
        let settings = Settings { method, ..Settings::default() };
        let outcome = fit(&plan, &settings, &AtomicBool::new(false), Reporting::Quiet)?;
        let Outcome::Mode(mode) = outcome else { return Err("a mode was asked for".into()) };
        println!("{name}: {} {:.4}", if mode.objective { "objective" } else { "log density" }, mode.value);
        latents.push(mode.latent);
    }
    for (r, gp) in latents[0].iter().zip(&latents[1]) {
        let correlation = correlation_at_common_times(r, gp).ok_or("the latents share no times")?;
        println!("{}: correlation of the two latents {:.3}", r.run, correlation.abs());
    }
    Ok(())
}

/// Pearson correlation of two one-factor latents at the times that both have.
fn correlation_at_common_times(a: &LatentSeries, b: &LatentSeries) -> Option<f64> {
    let pairs: Vec<(f64, f64)> = a
        .times
        .iter()
        .zip(&a.mean)
        .filter_map(|(t, x)| b.times.iter().position(|u| u == t).map(|i| (*x, b.mean[i])))
        .filter(|(x, y)| x.is_finite() && y.is_finite())
        .collect();
    let n = pairs.len() as f64;
    let (mx, my) = (pairs.iter().map(|p| p.0).sum::<f64>() / n, pairs.iter().map(|p| p.1).sum::<f64>() / n);
    let sum = |f: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|&(x, y)| f(x - mx, y - my)).sum::<f64>();
    let scale = (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt();
    (scale > 0.0).then(|| sum(&|x, y| x * y) / scale)
}
