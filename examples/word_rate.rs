//! Fits both flagship models to a recording of people who listen to a story, and correlates the latent with the word
//! rate of the story, which the models never saw.
//!
//! `cargo run --release --example word_rate -- RECORDING.csv STIMULUS.csv [MODALITY]`
//!
//! RECORDING.csv is a long table (participant,run,modality,feature,time,value); STIMULUS.csv has the columns
//! run,feature,time,value. Without arguments the example says so and ends.

use msrm::archive::{Method, Outcome, Settings};
use msrm::base::Source;
use msrm::bind::{BindOptions, Input, bind};
use msrm::data::{Options, load};
use msrm::model::check_text;
use msrm::run::{Reporting, fit};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [recording, stimulus, rest @ ..] = arguments.as_slice() else {
        println!("usage: word_rate RECORDING.csv STIMULUS.csv [MODALITY]");
        return Ok(());
    };
    let modality = rest.first().map_or("bold", String::as_str);
    let stimulus = read_stimulus(Path::new(stimulus))?;
    for (name, method) in [("r_msrm", Method::Als), ("gp_msrm", Method::Map)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("models/{name}.msrm"));
        let source = Source::new(name, std::fs::read_to_string(path)?);
        let model = check_text(&source).map_err(|errors| msrm::base::render(&source, &errors))?;
        let loaded = load(Path::new(recording), &Options::default())?;
        let options = BindOptions { modalities: vec![modality.to_string()], ..BindOptions::default() };
        let plan = bind(model, source, Input::Recording(loaded.recording), options)?;
        let left_out: Vec<&String> = plan.notes.iter().filter(|n| n.contains("left out of the fit")).collect();
        for note in left_out {
            println!("{name}: {note}");
        }
        let settings = Settings { method, ..Settings::default() };
        let outcome = fit(&plan, &settings, &AtomicBool::new(false), Reporting::Quiet)?;
        let Outcome::Mode(mode) = outcome else { return Err("a mode was asked for".into()) };
        for series in &mode.latent {
            for ((run, feature), values) in stimulus.iter().filter(|((run, _), _)| *run == series.run) {
                let pairs: Vec<(f64, f64, f64)> = series
                    .times
                    .iter()
                    .zip(&series.mean)
                    .filter_map(|(t, z)| values.get(&t.to_bits()).map(|v| (*t, *z, *v)))
                    .filter(|p| p.1.is_finite())
                    .collect();
                let raw = correlation(&pairs.iter().map(|p| (p.1, p.2)).collect::<Vec<_>>());
                let slow = detrended(&pairs);
                println!(
                    "{name} {run}: latent against {feature}: r = {raw:.3}, after taking out slow drifts r = {:.3}",
                    correlation(&slow)
                );
            }
        }
    }
    Ok(())
}

/// Values by time (its bits) for every run and feature.
type Stimulus = BTreeMap<(String, String), BTreeMap<u64, f64>>;

fn read_stimulus(path: &Path) -> Result<Stimulus, Box<dyn Error>> {
    let mut out = Stimulus::new();
    for row in csv::Reader::from_path(path)?.deserialize() {
        let (run, feature, time, value): (String, String, f64, f64) = row?;
        out.entry((run, feature)).or_default().insert(time.to_bits(), value);
    }
    Ok(out)
}

fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let (mx, my) = (pairs.iter().map(|p| p.0).sum::<f64>() / n, pairs.iter().map(|p| p.1).sum::<f64>() / n);
    let sum = |f: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|&(x, y)| f(x - mx, y - my)).sum::<f64>();
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

/// Latent and stimulus without their quadratic trends over time.
fn detrended(triples: &[(f64, f64, f64)]) -> Vec<(f64, f64)> {
    let n = triples.len() as f64;
    let (first, last) = (triples.first().map_or(0.0, |p| p.0), triples.last().map_or(1.0, |p| p.0));
    // Legendre polynomials up to degree two, made orthonormal on the samples.
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for degree in 0..3 {
        let mut column: Vec<f64> =
            triples.iter().map(|p| (2.0 * (p.0 - first) / (last - first) - 1.0).powi(degree)).collect();
        for b in &basis {
            remove(&mut column, b);
        }
        let norm = column.iter().map(|v| v * v).sum::<f64>().sqrt();
        column.iter_mut().for_each(|v| *v /= norm.max(n * f64::EPSILON));
        basis.push(column);
    }
    let mut z: Vec<f64> = triples.iter().map(|p| p.1).collect();
    let mut v: Vec<f64> = triples.iter().map(|p| p.2).collect();
    for b in &basis {
        remove(&mut z, b);
        remove(&mut v, b);
    }
    z.into_iter().zip(v).collect()
}

fn remove(column: &mut [f64], direction: &[f64]) {
    let projection: f64 = column.iter().zip(direction).map(|(a, b)| a * b).sum();
    column.iter_mut().zip(direction).for_each(|(a, b)| *a -= projection * b);
}
