//! The verdict passes only what has been shown, and says in words what has not.

use super::finding::{Finding, Indicator};
use super::{Inputs, Level, QuantitySummary, Verdict, summarize, verdict};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

const DRAWS: [usize; 4] = [1000; 4];
const NONE: [usize; 4] = [0; 4];
const ENERGETIC: [Option<f64>; 4] = [Some(1.0); 4];

fn good(seed: u64) -> Vec<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..4).map(|_| (0..1000).map(|_| StandardNormal.sample(&mut rng)).collect()).collect()
}

fn summary(chains: &[Vec<f64>]) -> QuantitySummary {
    summarize(&chains.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn named(items: &[(&str, QuantitySummary)]) -> Vec<(String, QuantitySummary)> {
    items.iter().map(|(name, summary)| (name.to_string(), summary.clone())).collect()
}

fn inputs(quantities: &[(String, QuantitySummary)]) -> Inputs<'_> {
    Inputs { quantities, draws: &DRAWS, divergences: Some(&NONE), depth_hits: Some(&NONE), bfmi: Some(&ENERGETIC) }
}

fn only(verdict: Verdict) -> Finding {
    only_at(Level::Doubt, verdict)
}

fn only_at(level: Level, verdict: Verdict) -> Finding {
    assert_eq!(verdict.level, level);
    assert_eq!(verdict.findings.len(), 1, "{:?}", verdict.findings);
    verdict.findings.into_iter().next().unwrap()
}

#[test]
fn good_draws_pass_and_constants_stand_apart() {
    let quantities = named(&[("mu", summary(&good(1))), ("sum", summary(&vec![vec![1.0; 1000]; 4]))]);
    let found = verdict(&inputs(&quantities));
    assert_eq!((found.level, found.findings.len(), found.constants), (Level::Fine, 0, vec!["sum".to_string()]));
}

#[test]
fn each_threshold_is_a_finding_with_the_worst_first() {
    let mut shifted = good(2);
    shifted[0].iter_mut().for_each(|x| *x += 0.5);
    let mut far = good(3);
    far[3].iter_mut().for_each(|x| *x += 3.0);
    let quantities = named(&[("mu", summary(&good(1))), ("near", summary(&shifted)), ("far", summary(&far))]);
    let found = verdict(&inputs(&quantities));
    let Finding::RHat { worst, threshold } = &found.findings[0] else { panic!("{:?}", found.findings) };
    assert_eq!(*threshold, 1.01);
    assert_eq!(worst.iter().map(|q| q.name.as_str()).collect::<Vec<_>>(), ["far", "near"]);
    let text = found.findings[0].to_string();
    assert!(text.starts_with("R-hat is above 1.01 for far (") && text.contains("near ("), "{text}");

    let mut one = summary(&good(1));
    one.ess_bulk = Some(399.9);
    let Finding::LowEss { indicator, threshold, .. } = only(verdict(&inputs(&named(&[("mu", one.clone())])))) else {
        panic!()
    };
    assert_eq!((indicator, threshold), (Indicator::BulkEss, 400.0));
    one.ess_bulk = Some(400.0);
    assert_eq!(verdict(&inputs(&named(&[("mu", one.clone())]))).level, Level::Fine);
    one.r_hat = Some(1.01);
    assert_eq!(verdict(&inputs(&named(&[("mu", one.clone())]))).level, Level::Fine);
    one.ess_tail = Some(12.0);
    assert!(only(verdict(&inputs(&named(&[("mu", one)])))).to_string().contains("tail ESS is below 400 for mu (12)"));
}

#[test]
fn trouble_of_the_sampler_is_a_finding() {
    let quantities = named(&[("mu", summary(&good(1)))]);
    let base = inputs(&quantities);
    let diverged = |counts: &[usize]| verdict(&Inputs { divergences: Some(counts), ..base });
    let text = only_at(Level::Caution, diverged(&[0, 0, 1, 0])).to_string();
    // One in 400 is the last to pass with a warning.
    only_at(Level::Caution, diverged(&[0, 9, 1, 0]));
    only_at(Level::Doubt, diverged(&[0, 9, 2, 0]));
    assert!(text.starts_with("1 of 4000 transitions diverged (per chain: 0, 0, 1, 0)"), "{text}");
    assert_eq!(verdict(&Inputs { depth_hits: Some(&[40, 0, 0, 0]), ..base }).level, Level::Fine);
    let hits = verdict(&Inputs { depth_hits: Some(&[41, 0, 0, 0]), ..base });
    let text = only_at(Level::Caution, hits).to_string();
    assert!(text.contains("41 of 4000") && text.contains("1 %"), "{text}");
    let low = [Some(0.29), Some(1.0), Some(0.1), Some(0.3)];
    let text = only(verdict(&Inputs { bfmi: Some(&low), ..base })).to_string();
    assert!(text.starts_with("BFMI is below 0.3 for chain 3 (0.10), chain 1 (0.29):"), "{text}");
    let just_low = [Some(0.29), Some(1.0), Some(0.2), Some(0.3)];
    only_at(Level::Caution, verdict(&Inputs { bfmi: Some(&just_low), ..base }));
    // A method that has no such indicators is not blamed for it.
    assert_eq!(verdict(&Inputs { divergences: None, depth_hits: None, bfmi: None, ..base }).level, Level::Fine);
}

#[test]
fn what_is_missing_never_passes() {
    let quantities = named(&[("mu", summary(&good(1)))]);
    let base = inputs(&quantities);
    let missing = |found: Finding| match found {
        Finding::Missing { indicator, of } => (indicator, of),
        other => panic!("{other:?}"),
    };
    let bfmi = [Some(1.0), None, Some(f64::NAN), Some(1.0)];
    let found = missing(only(verdict(&Inputs { bfmi: Some(&bfmi), ..base })));
    assert_eq!(found, (Indicator::Bfmi, vec!["chain 2".to_string(), "chain 3".to_string()]));
    let text = Finding::Missing { indicator: found.0, of: found.1 }.to_string();
    assert!(text.starts_with("There is no BFMI for chain 2, chain 3, so convergence is not shown."), "{text}");
    let found = missing(only(verdict(&Inputs { divergences: Some(&[0, 0, 0]), ..base })));
    assert_eq!(found, (Indicator::Divergences, vec!["chain 4".to_string()]));
    let found = missing(only(verdict(&Inputs { depth_hits: Some(&[0, 0]), ..base })));
    assert_eq!(found.1.len(), 2);

    for broken in [None, Some(f64::NAN)] {
        let mut s = summary(&good(1));
        s.r_hat = broken;
        let found = missing(only(verdict(&inputs(&named(&[("mu", s)])))));
        assert_eq!(found, (Indicator::RHat, vec!["mu".to_string()]));
        let mut s = summary(&good(1));
        s.ess_tail = broken;
        assert_eq!(missing(only(verdict(&inputs(&named(&[("mu", s)]))))).0, Indicator::TailEss);
    }

    let mut nan = good(1);
    nan[1][7] = f64::NAN;
    let found = only(verdict(&inputs(&named(&[("mu", summary(&good(1))), ("nu", summary(&nan))]))));
    assert_eq!(found, Finding::NonFinite { quantities: vec!["nu".to_string()] });

    let constants = named(&[("a", summary(&vec![vec![1.0; 1000]; 4]))]);
    assert_eq!(only(verdict(&inputs(&constants))), Finding::NothingVaries { constants: 1 });
    assert_eq!(only(verdict(&inputs(&[]))), Finding::NothingVaries { constants: 0 });
}

#[test]
fn one_chain_and_short_chains_are_findings() {
    let single = named(&[("mu", summary(&good(1)[..1]))]);
    let one = Inputs {
        quantities: &single,
        draws: &[1000],
        divergences: Some(&[0]),
        depth_hits: None,
        bfmi: Some(&[Some(1.0)]),
    };
    assert_eq!(only(verdict(&one)), Finding::TooFewChains { chains: 1 });
    let short = named(&[("mu", summary(&vec![vec![1.0, 2.0]; 2]))]);
    let found = verdict(&Inputs { draws: &[2, 2], divergences: None, bfmi: None, quantities: &short, ..one });
    assert_eq!(found.findings[0], Finding::TooFewDraws { chains: vec![0, 1], needed: 4 });
    assert!(found.findings[0].to_string().starts_with("Chains 1, 2 have fewer than 4 draws"));
}

#[test]
fn chains_that_stand_still_apart_fail_and_survive_json() {
    let stuck: Vec<Vec<f64>> = (0..4).map(|c| vec![f64::from(c); 1000]).collect();
    let found = verdict(&inputs(&named(&[("mu", summary(&good(1))), ("stuck", summary(&stuck))])));
    let Finding::RHat { worst, .. } = &found.findings[0] else { panic!("{:?}", found.findings) };
    assert_eq!((worst[0].name.as_str(), worst[0].value), ("stuck", f64::INFINITY));
    let back: Verdict = serde_json::from_str(&serde_json::to_string(&found).unwrap()).unwrap();
    assert_eq!(back, found);
}

#[test]
fn long_lists_are_counted() {
    let mut shifted = good(2);
    shifted[0].iter_mut().for_each(|x| *x += 1.0);
    let s = summary(&shifted);
    let quantities: Vec<_> = (1..=9).map(|i| (format!("theta[{i}]"), s.clone())).collect();
    assert!(verdict(&inputs(&quantities)).findings[0].to_string().contains(" and 4 more: the chains do not agree"));
}
