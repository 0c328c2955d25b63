//! Preparation: grids, names, scales, and every refusal with its facts.

use super::super::query::{infer_latent, latent_at, path_on_grid, predict};
use super::super::standardize::Scale;
use super::super::*;
use super::{distance, normals, recording};

fn options() -> Options {
    Options::new(2, 0.9)
}

#[test]
fn grids_start_at_the_first_observed_time_and_cover_the_last() {
    let mut data = recording(1, 1, 0.0);
    // A row that is missing as a whole does not stretch the domain.
    let features = data.streams[0].features.len();
    data.streams[0].values[..features].fill(f64::NAN);
    let problem = Problem::new(&data, &options()).unwrap();
    let run = &problem.runs[0];
    let streams = data.streams.iter().filter(|s| s.run == 0);
    let last = streams.map(|s| s.times[s.times.len() - 1]).fold(0.0, f64::max);
    assert_eq!(run.domain, (0.0, last));
    assert!(run.grid.last() >= last && run.grid.last() - last < 0.9);
    let total: f64 = (0..run.grid.nodes).map(|i| run.node_weight(i)).sum();
    assert!((total - 1.0).abs() < 1e-14);
}

#[test]
fn locations_interpolate_at_and_beyond_nodes() {
    let grid = Grid { start: 0.3, step: 0.1, nodes: 50 };
    for i in 0..50 {
        let (cell, right) = grid.locate(grid.time(i));
        assert_eq!((cell, right), if i == 49 { (48, right) } else { (i, 0.0) });
        let time = grid.time(cell) + right * grid.step;
        assert!((time - grid.time(i)).abs() < 1e-13);
    }
    assert_eq!(grid.locate(-5.0), (0, 0.0));
    assert_eq!(grid.locate(99.0), grid.locate(grid.last()));
}

#[test]
fn names_and_indices_agree() {
    let problem = Problem::new(&recording(1, 1, 0.0), &options()).unwrap();
    for index in 0..problem.loading_count() {
        let name = problem.loading_name(index).unwrap();
        let pair = problem.pair_index(name.participant, name.modality).unwrap();
        let features = &problem.pairs[pair].features;
        let feature = features.iter().position(|f| f == name.feature).unwrap();
        assert_eq!(problem.loading_index(pair, feature, name.factor), index);
    }
    assert_eq!(problem.loading_name(problem.loading_count()), None);
    for index in 0..problem.latent_count() {
        let name = problem.latent_name(index).unwrap();
        let run = problem.run_index(name.run).unwrap();
        assert_eq!(name.time, problem.runs[run].grid.time(name.node));
        assert_eq!(problem.latent_index(run, name.node, name.factor), index);
    }
    assert_eq!(problem.latent_name(problem.latent_count()), None);
    assert_eq!(problem.loading_count(), 2 * 3 * 7);
}

#[test]
fn scales_are_two_pass_and_pooled_over_runs() {
    let values = [1e9 + 1.0, 1e9 + 2.0, 1e9 + 4.0, 1e9 + 5.0];
    let scale = Scale::of(values.into_iter()).unwrap();
    assert_eq!((scale.mean, scale.sd), (1e9 + 3.0, 2.5f64.sqrt()));
    assert_eq!(Scale::of(std::iter::empty()), None);
    let same = Scale::of(std::iter::repeat_n(0.1, 1000)).unwrap();
    assert_eq!((same.mean, same.sd, same.constant), (0.1, 1.0, true));
    let mut plain = options();
    plain.standardized = false;
    let data = recording(2, 1, 0.1);
    let problem = Problem::new(&data, &plain).unwrap();
    assert!(problem.pairs.iter().flat_map(|p| &p.scales).all(|s| *s == Scale::NONE));
    let first = data.streams[0].values.iter().find(|v| !v.is_nan()).unwrap();
    assert!(problem.pairs[0].x.contains(first));
}

#[test]
fn faulty_options_are_refused() {
    let data = recording(1, 1, 0.0);
    let with = |change: &dyn Fn(&mut Options)| {
        let mut o = options();
        change(&mut o);
        Problem::new(&data, &o).unwrap_err()
    };
    assert_eq!(with(&|o| o.factors = 0), GriddedError::NoFactors);
    assert_eq!(with(&|o| o.grid_step = -1.0), GriddedError::GridStep { step: -1.0 });
    assert!(matches!(with(&|o| o.grid_step = f64::NAN), GriddedError::GridStep { .. }));
    assert_eq!(with(&|o| o.gap_threshold = Some(0.0)), GriddedError::GapThreshold { threshold: 0.0 });
    assert_eq!(with(&|o| o.modality_weights = Some(vec![1.0])), GriddedError::WeightCount { expected: 2, found: 1 });
    assert_eq!(with(&|o| o.modality_weights = Some(vec![0.5, 0.25])), GriddedError::WeightSum { sum: 0.75 });
    assert!(matches!(
        with(&|o| o.modality_weights = Some(vec![-1.0, 2.0])),
        GriddedError::Weight { modality, weight } if modality == "face" && weight == -1.0
    ));
    assert!(matches!(
        with(&|o| o.grid_step = 1e-9),
        GriddedError::GridTooLarge { run, .. } if run == "day1"
    ));
    assert_eq!(with(&|o| o.factors = 22), GriddedError::FactorsExceedFeatures { factors: 22, features: 21 });
    assert!(matches!(
        with(&|o| (o.factors, o.grid_step) = (5, 20.0)),
        GriddedError::FactorsExceedGrid { factors: 5, run, nodes: 3 } if run == "day1"
    ));
    // Participant cy lacks the skin stream of one run only.
    assert!(matches!(
        with(&|o| o.modality_weights = Some(vec![0.0, 1.0])),
        GriddedError::NoUsableRows { participant, run, start: 0.0, .. }
            if participant == "cy" && run == "day2"
    ));
}

#[test]
fn faulty_data_are_refused_by_name() {
    let data = recording(1, 1, 0.0);
    let with = |change: &dyn Fn(&mut crate::data::Recording)| {
        let mut d = data.clone();
        change(&mut d);
        Problem::new(&d, &options()).unwrap_err()
    };
    let error = with(&|d| {
        for s in d.streams.iter_mut().filter(|s| s.participant == 1) {
            let features = s.features.len();
            s.values.iter_mut().skip(2).step_by(features).for_each(|v| *v = f64::NAN);
        }
    });
    assert_eq!(
        error,
        GriddedError::FeatureNeverObserved { participant: "bo".into(), modality: "face".into(), feature: "f2".into() }
    );
    let error = with(&|d| {
        let streams = d.streams.iter_mut();
        let lost = streams.filter(|s| s.participant == 1 && s.run == 1);
        lost.for_each(|s| s.values.fill(f64::NAN));
    });
    assert!(matches!(
        error,
        GriddedError::NoUsableRows { participant, run, .. } if participant == "bo" && run == "day2"
    ));
    assert!(matches!(with(&|d| d.streams[0].times[3] = d.streams[0].times[2]), GriddedError::TimeOrder { row: 3, .. }));
    assert!(matches!(
        with(&|d| d.streams[0].values[5] = f64::INFINITY),
        GriddedError::Infinite { row: 1, feature, .. } if feature == "f1"
    ));
    assert!(matches!(
        with(&|d| {
            d.streams[0].values.pop();
        }),
        GriddedError::Shape { features: 4, .. }
    ));
    assert!(matches!(
        with(&|d| d.streams[0].features[1] = "f0".into()),
        GriddedError::DuplicateFeature { feature, .. } if feature == "f0"
    ));
    assert!(matches!(
        with(&|d| d.streams[0].values[0] = 1e308),
        GriddedError::Overflow { feature, .. } if feature == "f0"
    ));
    assert_eq!(with(&|d| d.streams.clear()), GriddedError::NothingObserved);
    let error = with(&|d| {
        d.streams.truncate(1);
        let s = &mut d.streams[0];
        s.times.truncate(1);
        s.values.truncate(4);
    });
    assert_eq!(error, GriddedError::NoDuration { run: "day1".into(), time: 0.0 });
}

#[test]
fn a_participant_with_few_features_is_noticed_not_refused() {
    let mut data = recording(1, 1, 0.0);
    data.streams.retain(|s| s.participant != 0 || s.modality == 1);
    let problem = Problem::new(&data, &Options::new(4, 0.9)).unwrap();
    assert_eq!(problem.notices, [Notice::FewerFeaturesThanFactors { participant: "ann".into(), features: 3 }]);
}

#[test]
fn faulty_solve_options_are_refused() {
    let problem = Problem::new(&recording(1, 1, 0.0), &options()).unwrap();
    let with = |change: &dyn Fn(&mut SolveOptions)| {
        let mut o = SolveOptions::default();
        change(&mut o);
        solve(&problem, &o, None).unwrap_err()
    };
    assert_eq!(with(&|o| o.restarts = 0), GriddedError::NoRestarts);
    assert_eq!(with(&|o| o.tolerance = -1.0), GriddedError::Tolerance { value: -1.0 });
    assert!(matches!(
        with(&|o| o.strengths.roughness = -2.0),
        GriddedError::Strength { name: "roughness", value: -2.0 }
    ));
    assert!(matches!(
        with(&|o| o.start = Start::Loadings(vec![1.0])),
        GriddedError::Length { expected: 42, found: 1, .. }
    ));
    let mut w = vec![0.0; 42];
    w[7] = f64::NAN;
    assert!(matches!(with(&|o| o.start = Start::Loadings(w.clone())), GriddedError::NotFinite { index: 7, .. }));
    // Without a ridge, zero loadings leave the latent undetermined; the pivot says where.
    let error = with(&|o| {
        o.strengths.latent = 0.0;
        o.strengths.roughness = 0.0;
        o.start = Start::Loadings(vec![0.0; 42]);
    });
    assert!(matches!(
        error,
        GriddedError::LatentStep { run, pivot } if run == "day1" && pivot.index == 0
    ));
}

#[test]
fn queries_interpolate_and_mark_what_lies_outside() {
    let data = recording(1, 1, 0.0);
    let problem = Problem::new(&data, &options()).unwrap();
    let z = normals(5, problem.latent_count());
    let w = normals(6, problem.loading_count());
    let nodes = path_on_grid(&problem, &z, "day2", 0).unwrap();
    let grid = problem.runs[1].grid;
    let inside = nodes.valid.iter().filter(|v| **v).count();
    assert!(inside >= grid.nodes - 1);
    assert!(distance(&nodes.values[..2 * inside], &z[problem.latent_range(1)][..2 * inside]) < 1e-12);
    let times = [-1.0, 0.45, 99.0];
    let series = latent_at(&problem, &z, "day2", &times).unwrap();
    assert_eq!(series.valid, [false, true, false]);
    assert!(series.values[0].is_nan() && series.values[5].is_nan());
    let here = &z[problem.latent_range(1)];
    assert!((series.values[2] - 0.5 * (here[0] + here[2])).abs() < 1e-12);

    let at = (&problem, z.as_slice());
    let seen = predict((&problem, &w), at, "bo", "skin", "day2", &times).unwrap();
    let pair = &problem.pairs[problem.pair_index("bo", "skin").unwrap()];
    assert_eq!(seen.columns, pair.features);
    assert_eq!(seen.valid, [false, true, false]);
    let fitted: f64 = (0..2).map(|k| series.values[2 + k] * w[pair.loading_offset + 2 + k]).sum();
    let wanted = fitted * pair.scales[1].sd + pair.scales[1].mean;
    assert!((seen.values[4] - wanted).abs() < 1e-12);
    assert!(matches!(
        latent_at(&problem, &z, "day3", &times).unwrap_err(),
        GriddedError::UnknownRun { run } if run == "day3"
    ));
    assert!(matches!(
        predict((&problem, &w), at, "dee", "skin", "day2", &times).unwrap_err(),
        GriddedError::UnknownPair { participant, .. } if participant == "dee"
    ));
    assert!(latent_at(&problem, &z, "day2", &[f64::NAN]).is_err());
}

#[test]
fn inference_on_the_fitted_data_repeats_the_latent_step() {
    let data = recording(1, 2, 0.1);
    let problem = Problem::new(&data, &options()).unwrap();
    let options = SolveOptions { tolerance: 0.0, max_iterations: 3000, ..SolveOptions::default() };
    let fit = solve(&problem, &options, None).unwrap();
    let (same, z) = infer_latent(&problem, &fit.loadings, &options.strengths, &data).unwrap();
    assert_eq!(same.runs, problem.runs);
    assert!(distance(&z, &fit.latents) < 1e-6);
    let mut unknown = data.clone();
    unknown.participants[0] = "dee".into();
    assert!(matches!(
        infer_latent(&problem, &fit.loadings, &options.strengths, &unknown).unwrap_err(),
        GriddedError::UnknownPair { participant, .. } if participant == "dee"
    ));
    let mut unknown = data.clone();
    unknown.modalities[1] = "voice".into();
    assert!(matches!(
        infer_latent(&problem, &fit.loadings, &options.strengths, &unknown).unwrap_err(),
        GriddedError::UnknownModality { modality } if modality == "voice"
    ));
    let mut unknown = data;
    unknown.streams[0].features[2] = "f9".into();
    assert!(matches!(
        infer_latent(&problem, &fit.loadings, &options.strengths, &unknown).unwrap_err(),
        GriddedError::UnknownFeature { feature, .. } if feature == "f9"
    ));
}
