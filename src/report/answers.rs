//! Answers of a fit as tidy CSV: latents of new data, predicted streams, calibrated weights.

use crate::archive::Calibrated;
use crate::run::query::{InferredLatent, Prediction};

/// A number, or nothing where it is NaN.
fn cell(value: f64) -> String {
    if value.is_nan() { String::new() } else { value.to_string() }
}

/// A table of rows; cells are quoted where they must be.
pub(super) fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    // Writing to memory cannot fail, and all rows are as long as the header.
    let _ = writer.write_record(header);
    for row in rows {
        let _ = writer.write_record(&row);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// One line per run, factor and time: `participant,run,factor,time,mean,sd,valid`. The participant is empty where the
/// latent is everybody's; mean and sd are empty where the data do not reach.
pub fn inferred_csv(latents: &[InferredLatent], factors: usize) -> String {
    let rows = latents.iter().flat_map(|l| {
        (0..factors).flat_map(move |factor| {
            (0..l.times.len()).map(move |t| {
                let at = t * factors + factor;
                vec![
                    l.participant.clone().unwrap_or_default(),
                    l.run.clone(),
                    (factor + 1).to_string(),
                    l.times[t].to_string(),
                    cell(l.mean[at]),
                    l.sd.as_ref().map_or(String::new(), |sd| cell(sd[at])),
                    l.valid[t].to_string(),
                ]
            })
        })
    });
    table(&["participant", "run", "factor", "time", "mean", "sd", "valid"], rows)
}

/// One line per target, run, feature and time: `participant,run,modality,feature,time,predicted,sd,valid,within,across`.
/// `within` and `across` count the participant's own and the others' streams that cover the time.
pub fn predictions_csv(predictions: &[Prediction]) -> String {
    let rows = predictions.iter().flat_map(|p| {
        p.features.iter().enumerate().flat_map(move |(f, feature)| {
            (0..p.times.len()).map(move |t| {
                let at = t * p.features.len() + f;
                vec![
                    p.target.participant.clone(),
                    p.run.clone(),
                    p.target.modality.clone(),
                    feature.clone(),
                    p.times[t].to_string(),
                    cell(p.mean[at]),
                    p.sd.as_ref().map_or(String::new(), |sd| cell(sd[at])),
                    p.valid[t].to_string(),
                    p.within[t].to_string(),
                    p.across[t].to_string(),
                ]
            })
        })
    });
    let header = ["participant", "run", "modality", "feature", "time", "predicted", "sd", "valid", "within", "across"];
    table(&header, rows)
}

/// One line per calibrated feature and factor:
/// `participant,modality,feature,factor,loading,offset,noise,mean,sd,reference`. Weights are in units of the fit; `mean`
/// and `sd` are what was taken out of the feature before.
pub fn calibrated_csv(pairs: &[Calibrated], factors: usize) -> String {
    let rows = pairs.iter().flat_map(|p| {
        p.features.iter().enumerate().flat_map(move |(f, feature)| {
            (0..factors).map(move |factor| {
                vec![
                    p.participant.clone(),
                    p.modality.clone(),
                    feature.clone(),
                    (factor + 1).to_string(),
                    cell(p.loadings[f * factors + factor]),
                    p.offsets.get(f).map_or(String::new(), |b| cell(*b)),
                    p.noise.map_or(String::new(), cell),
                    cell(p.standardisation[f].mean),
                    cell(p.standardisation[f].sd),
                    p.reference.clone(),
                ]
            })
        })
    });
    let header =
        ["participant", "modality", "feature", "factor", "loading", "offset", "noise", "mean", "sd", "reference"];
    table(&header, rows)
}
