//! The latent of a shared-response fit as tidy CSV.

use crate::archive::LatentSeries;

/// One line per run, factor and time: `run,factor,time,mean,sd`; `sd` is empty where the model has none, and times that
/// the data do not reach are left out.
pub fn latent_csv(series: &[LatentSeries]) -> String {
    let mut out = String::from("run,factor,time,mean,sd\n");
    for s in series {
        for factor in 0..s.factors {
            for (t, time) in s.times.iter().enumerate() {
                let mean = s.mean[t * s.factors + factor];
                if mean.is_nan() {
                    continue;
                }
                let sd = s.sd.as_ref().map(|sd| sd[t * s.factors + factor].to_string()).unwrap_or_default();
                out.push_str(&format!("\"{}\",{},{time},{mean},{sd}\n", s.run.replace('"', "\"\""), factor + 1));
            }
        }
    }
    out
}
