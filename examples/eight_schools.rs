//! A model written in Rust, fitted and read through the library: eight schools.
//!
//! `cargo run --release --example eight_schools`

use msrm::archive::{Method, Metric, Outcome, Settings};
use msrm::bind::{BindOptions, Input, bind};
use msrm::data::load_arrays;
use msrm::diagnose::summarize;
use msrm::model::builder::{Builder, draw, int, param, real, x};
use msrm::run::{Reporting, fit};
use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn Error>> {
    let built = Builder::new("eight_schools")
        .data("J", int())
        .data("y", real().of([x("J")]))
        .data("sigma", real().of([x("J")]).above(0))
        .param("mu", param().prior(draw("normal", [x(0), x(5)])))
        .param("tau", param().above(0).prior(draw("half_cauchy", [x(5)])))
        .param("theta", param().of([x("J")]).prior(draw("normal", [x("mu"), x("tau")]).noncentered()))
        .observe("y", draw("normal", [x("theta"), x("sigma")]))
        .build()?;

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/data/eight_schools.json");
    let (arrays, _) = load_arrays(&file)?;
    let plan = bind(built.model, built.source, Input::Arrays(arrays), BindOptions::default())?;

    let settings = Settings { method: Method::Nuts, metric: Metric::Diagonal, ..Settings::default() };
    let outcome = fit(&plan, &settings, &AtomicBool::new(false), Reporting::Quiet)?;
    let Outcome::Draws(draws) = outcome else { return Err("NUTS returns draws".into()) };

    for (index, label) in draws.labels().enumerate() {
        let chains = draws.element(index);
        let slices: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        let s = summarize(&slices);
        if let (Some(mean), Some(sd), Some(r_hat)) = (s.mean, s.sd, s.r_hat) {
            println!("{label:<9} mean {mean:6.2}  sd {sd:5.2}  R-hat {r_hat:.3}");
        }
    }
    Ok(())
}
