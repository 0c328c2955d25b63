//! Leave-one-out cross-validation as text.

use crate::diagnose::Loo;

/// Doubtful observations that are listed by name.
const LISTED: usize = 10;

/// The estimate in lines: the sums, then the observations whose term cannot be trusted.
pub fn loo_table(loo: &Loo) -> String {
    let n = loo.observations.len();
    let mut out = format!("leave-one-out cross-validation of {n} observations\n");
    for (name, value, error) in
        [("elpd_loo", loo.elpd, loo.elpd_se), ("p_loo", loo.p, loo.p_se), ("looic", -2.0 * loo.elpd, 2.0 * loo.elpd_se)]
    {
        out.push_str(&format!("{name:<8}  {value:>10.2}  se {error:.2}\n"));
    }
    let mut worst: Vec<(&str, f64)> = loo
        .observations
        .iter()
        .filter_map(|o| o.k.filter(|k| *k > loo.largest_k).map(|k| (o.name.as_str(), k)))
        .collect();
    worst.sort_by(|a, b| b.1.total_cmp(&a.1));
    if worst.is_empty() {
        out.push_str(&format!("every Pareto k is at most {:.2}: the estimate can be trusted\n", loo.largest_k));
        return out;
    }
    let names: Vec<String> = worst.iter().take(LISTED).map(|(name, k)| format!("{name} (k = {k:.2})")).collect();
    let more = if worst.len() > LISTED { format!(" and {} more", worst.len() - LISTED) } else { String::new() };
    out.push_str(&format!(
        "{} of {n} have a Pareto k above {:.2}: {}{more}. Their terms are too high as a rule; fit again without them, \
         or look at what makes them unlike the others\n",
        worst.len(),
        loo.largest_k,
        names.join(", ")
    ));
    out
}
