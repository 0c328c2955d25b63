//! Sizes, empty runs, and what is refused.

use super::*;

#[test]
fn summary_predicts_the_workspace() {
    let (gp, theta, _) = random_problem(13, 3, 3, true);
    let mut ws = Workspace::new();
    let mut g = theta.clone();
    let mut adjoint = Adjoint {
        scale: 1.0,
        loadings: &mut g.loadings,
        offsets: None,
        noise: &mut g.noise,
        responses: &mut g.responses,
        length_scale: &mut g.length_scale,
    };
    gp.log_likelihood(&theta.point(), Some(&mut adjoint), &mut ws).unwrap();
    let largest = gp.summary().runs.iter().map(|r| r.nodes).max().unwrap();
    let square = (2 * largest * largest + 2 * (3 * largest).pow(2)) * 8;
    let predicted = gp.summary().workspace_bytes;
    assert!(predicted > square && predicted < square + square / 4, "{predicted} against {square}");
    assert!(ws.bytes() <= predicted, "{} against {predicted}", ws.bytes());
}

#[test]
fn empty_runs_count_for_nothing() {
    let gp = FilteredGp::new(2, 1, 1, identity(), &[vec![], vec![]]).unwrap();
    let theta =
        Theta { loadings: vec![1.0, 2.0], offsets: vec![0.5], noise: vec![0.1], length_scale: 1.0, ..Theta::default() };
    let (v, g) = evaluate(&gp, Algebra::Grouped, &theta);
    assert_eq!((v, g), (0.0, vec![0.0; 5]));
    let moments = gp
        .predict_moments(
            &theta.point(),
            1,
            Feature { key: 0, response: 0 },
            &[0.0, 1.0],
            Some(0),
            &mut Workspace::new(),
        )
        .unwrap();
    assert_eq!(moments.mean, [0.5, 0.5]);
    close_all(&moments.variance, &[5.1, 5.1], 1e-15, "prior variance");
}

#[test]
fn faults_are_named() {
    let good = Observation { time: 0.0, response: 0, modality: 0, feature_key: 0, noise: 0, value: 1.0 };
    let fault = |o: Observation| FilteredGp::new(1, 1, 1, identity(), &[vec![good], vec![good, o]]).unwrap_err();
    for (o, name) in [
        (Observation { time: f64::NAN, ..good }, "time"),
        (Observation { value: f64::INFINITY, ..good }, "value"),
        (Observation { feature_key: 1, ..good }, "feature_key"),
        (Observation { noise: 7, ..good }, "noise"),
        (Observation { response: 1, ..good }, "response"),
    ] {
        assert!(
            matches!(fault(o), TermError::BadObservation { run: 1, index: 1, field, .. } if field == name),
            "{name}"
        );
    }
    assert!(FilteredGp::new(0, 1, 1, identity(), &[]).is_err());
    let gp = FilteredGp::new(1, 1, 1, identity(), &[vec![good]]).unwrap();
    let theta =
        Theta { loadings: vec![1.0], offsets: vec![0.0], noise: vec![1.0], length_scale: 1.0, ..Theta::default() };
    let error = |theta: Theta| gp.log_likelihood(&theta.point(), None, &mut Workspace::new()).unwrap_err();
    for (theta, parameter) in [
        (Theta { noise: vec![0.0], ..theta.clone() }, "noise"),
        (Theta { noise: vec![f64::NAN], ..theta.clone() }, "noise"),
        (Theta { noise: vec![1e-310], ..theta.clone() }, "noise"),
        (Theta { length_scale: -1.0, ..theta.clone() }, "length_scale"),
        (Theta { loadings: vec![f64::NAN], ..theta.clone() }, "loadings"),
        (Theta { offsets: vec![f64::INFINITY], ..theta.clone() }, "offsets"),
    ] {
        let e = error(theta);
        assert!(matches!(&e, TermError::BadParameter { name, .. } if *name == parameter), "{e}");
        assert!(!e.is_rejection());
    }
    let e = error(Theta { noise: vec![1.0, 2.0], ..theta.clone() });
    assert_eq!(e, TermError::Length { name: "noise", expected: 1, found: 2 });
    let e = error(Theta { loadings: vec![1e200], ..theta.clone() });
    assert!(e.is_rejection(), "{e}");
    let ws = &mut Workspace::new();
    assert!(matches!(gp.latent_moments(&theta.point(), 3, &[0.0], ws), Err(TermError::NoSuch { name: "run", .. })));
    assert!(gp.latent_moments(&theta.point(), 0, &[f64::NAN], ws).is_err());
    assert!(gp.predict_moments(&theta.point(), 0, Feature { key: 1, response: 0 }, &[0.0], None, ws).is_err());
}
