//! The latent of a shared-response fit as tidy CSV.

use crate::archive::LatentSeries;

/// One line per run, factor and time: `run,factor,time,mean,sd`, with `participants` behind the run where there are
/// several paths; `sd` is empty where the model has none, and times that the data do not reach are left out.
pub fn latent_csv(series: &[LatentSeries]) -> String {
    let several = series.iter().any(|s| s.participants.is_some());
    let mut out =
        String::from(if several { "run,participants,factor,time,mean,sd\n" } else { "run,factor,time,mean,sd\n" });
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    for s in series {
        let path = match (&s.participants, several) {
            (Some(names), _) => format!(",{}", quoted(names)),
            (None, true) => ",".into(),
            (None, false) => String::new(),
        };
        for factor in 0..s.factors {
            for (t, time) in s.times.iter().enumerate() {
                let mean = s.mean[t * s.factors + factor];
                if mean.is_nan() {
                    continue;
                }
                let sd = s.sd.as_ref().map(|sd| sd[t * s.factors + factor].to_string()).unwrap_or_default();
                out.push_str(&format!("{}{path},{},{time},{mean},{sd}\n", quoted(&s.run), factor + 1));
            }
        }
    }
    out
}
