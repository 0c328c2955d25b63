//! What is refused, with the facts of each refusal, and the table itself.

use super::*;

#[test]
fn the_table_describes_every_family() {
    for family in &FAMILIES {
        assert!(std::ptr::eq(find(family.name).unwrap(), family));
        if !family.is_parametric() {
            continue;
        }
        let response = build(family.name, &[]).unwrap();
        assert_eq!(response.family().name, family.name);
        let defaults: Vec<f64> = family.parameters.iter().map(|p| p.default).collect();
        assert_eq!(response.values(), defaults);
        // Every parameter keeps its own place.
        for i in 0..defaults.len() {
            let mut moved = defaults.clone();
            moved[i] *= 1.01;
            moved[i] += 0.01;
            assert_eq!(family.with(&moved).unwrap().values(), moved);
            assert_eq!(build(family.name, &[(family.parameters[i].name, moved[i])]).unwrap().values(), moved);
        }
        let lags = family.parameters.iter().filter(|p| p.domain == Domain::Lag).count();
        let last_is_lag = family.parameters.last().is_none_or(|p| p.name == "lag");
        assert!(lags <= 1 && last_is_lag);
    }
}

#[test]
fn the_lag_moves_the_curve() {
    for family in FAMILIES.iter().filter(|f| !f.parameters.is_empty()) {
        let here = curve(&build(family.name, &[]).unwrap());
        let there = curve(&build(family.name, &[("lag", 1.5)]).unwrap());
        assert_eq!(there.support(), (here.support().0 + 1.5, here.support().1 + 1.5));
        assert!(there.value(3.0) == here.value(1.5) && here.value(1.5) != 0.0);
    }
}

#[test]
fn names() {
    let error = build("gausian", &[]).unwrap_err();
    assert!(matches!(&error, ResponseError::UnknownFamily { family, .. } if family == "gausian"));
    assert!(error.to_string().contains("identity, gaussian, gamma"));
    let error = build("gaussian", &[("sigma", 1.0)]).unwrap_err();
    assert_eq!(error.to_string(), "the response `gaussian` has no parameter `sigma`; it has: width, lag");
    let error = build("identity", &[("lag", 1.0)]).unwrap_err();
    assert_eq!(error.to_string(), "the response `identity` has no parameter `lag`; it has: none");
    let error = build("gamma", &[("scale", 1.0), ("scale", 1.0)]).unwrap_err();
    assert_eq!(error, ResponseError::RepeatedParameter { family: "gamma", parameter: "scale" });
    assert_eq!(build("sampled", &[]).unwrap_err(), ResponseError::NeedsSamples { family: "sampled" });
    let error = find("gamma").unwrap().with(&[3.0]).unwrap_err();
    assert_eq!(error, ResponseError::ParameterCount { family: "gamma", expected: 3, found: 1 });
}

#[test]
fn values() {
    let refused = [
        ("gaussian", "width", 0.0),
        ("gaussian", "width", -1.0),
        ("gaussian", "width", f64::NAN),
        ("gaussian", "lag", f64::INFINITY),
        ("gamma", "shape", 0.99),
        ("gamma", "shape", 1000.1),
        ("gamma", "scale", f64::INFINITY),
        ("double_gamma", "ratio", 1.0),
        ("double_gamma", "ratio", 0.0),
        ("bateman", "rise", 0.0),
        ("bach", "sigma", -0.1),
    ];
    for (family, parameter, value) in refused {
        match build(family, &[(parameter, value)]).unwrap_err() {
            ResponseError::Parameter { family: f, parameter: p, value: v, .. } => {
                assert!(f == family && p == parameter && v.to_bits() == value.to_bits());
            }
            other => panic!("{other:?}"),
        }
    }
    let error = build("double_gamma", &[("undershoot_shape", 6.0)]).unwrap_err();
    assert_eq!(error, ResponseError::MeanOrder { peak_mean: 6.0, undershoot_mean: 6.0 });
}

#[test]
fn samples() {
    let sampled = |lags: &[f64], values: &[f64]| Response::sampled(lags.to_vec(), values.to_vec()).unwrap_err();
    assert_eq!(sampled(&[0.0, 1.0], &[1.0]), ResponseError::SampleCount { lags: 2, values: 1 });
    assert_eq!(sampled(&[0.0], &[1.0]), ResponseError::TooFewSamples { count: 1 });
    assert_eq!(sampled(&[], &[]), ResponseError::TooFewSamples { count: 0 });
    let found = sampled(&[0.0, 2.0, 2.0], &[1.0; 3]);
    assert_eq!(found, ResponseError::SampleOrder { index: 2, lag: 2.0, before: 2.0 });
    assert!(matches!(
        sampled(&[0.0, f64::NAN], &[1.0; 2]),
        ResponseError::SampleNotFinite { what: "lag", index: 1, .. }
    ));
    let found = sampled(&[0.0, 1.0], &[f64::INFINITY, 1.0]);
    assert_eq!(found, ResponseError::SampleNotFinite { what: "value", index: 0, value: f64::INFINITY });
    assert_eq!(sampled(&[0.0, 1.0], &[0.0; 2]), ResponseError::SampleZero);
}

#[test]
fn a_response_from_a_file_is_checked_again() {
    let text = r#"{"gaussian":{"width":-1.0,"lag":0.0}}"#;
    let response: Response = serde_json::from_str(text).unwrap();
    assert!(matches!(Curve::new(&response), Err(ResponseError::Parameter { parameter: "width", .. })));
    let response: Response = serde_json::from_str(r#"{"sampled":{"lags":[],"values":[]}}"#).unwrap();
    assert!(matches!(Curve::new(&response), Err(ResponseError::TooFewSamples { count: 0 })));
    assert_eq!(response.support(), (0.0, 0.0));
    for response in examples() {
        let text = serde_json::to_string(&response).unwrap();
        assert_eq!(serde_json::from_str::<Response>(&text).unwrap(), response);
    }
    assert_eq!(serde_json::to_string(&Response::Identity).unwrap(), r#""identity""#);
}

#[test]
fn numbers_that_double_precision_cannot_hold_are_refused_not_passed_on() {
    let extremes: [(&str, &[(&str, f64)]); 7] = [
        ("gaussian", &[("width", 1e308)]),
        ("gaussian", &[("width", 1e-310), ("lag", 1.0)]),
        ("gamma", &[("scale", 1e-300), ("lag", 1.0)]),
        ("gamma", &[("scale", 1e308)]),
        ("bateman", &[("rise", 1e-310), ("decay", 1e-310)]),
        ("bateman", &[("rise", 1e200), ("decay", 1e200)]),
        ("bach", &[("t0", 1e6)]),
    ];
    for (family, given) in extremes {
        let response = build(family, given).unwrap();
        let error = Curve::new(&response).unwrap_err();
        assert!(matches!(error, ResponseError::Degenerate { family: f, .. } if f == family), "{family}: {error}");
    }
    // Peak and undershoot that all but cancel still have a norm.
    let given = [("undershoot_shape", 6.0 + 1e-7), ("ratio", 1.0 - 1e-7)];
    let curve = curve(&build("double_gamma", &given).unwrap());
    assert!(curve.norm() > 0.0 && curve.value(5.0).is_finite());
}

#[test]
fn bounds() {
    let response = build("gaussian", &[("width", 1.0), ("lag", 2.0)]).unwrap();
    let check = |width, lag| response.envelope(&[width, lag]).unwrap_err();
    let (family, parameter) = ("gaussian", "lag");
    let found = check(None, Some((3.0, 3.0)));
    assert_eq!(found, ResponseError::BoundsOrder { family, parameter, lo: 3.0, hi: 3.0 });
    let found = check(None, Some((3.0, 4.0)));
    assert_eq!(found, ResponseError::OutsideBounds { family, parameter, value: 2.0, lo: 3.0, hi: 4.0 });
    assert!(matches!(check(Some((0.0, 2.0)), None), ResponseError::Parameter { parameter: "width", .. }));
    assert!(matches!(check(None, Some((0.0, f64::NAN))), ResponseError::Parameter { parameter: "lag", .. }));
    let found = response.envelope(&[None]).unwrap_err();
    assert_eq!(found, ResponseError::ParameterCount { family, expected: 2, found: 1 });
}

#[test]
fn envelopes_hold_every_support_inside_the_bounds() {
    for response in examples() {
        let bounds: Vec<_> = response.default_bounds().into_iter().map(Some).collect();
        let fixed = vec![None; bounds.len()];
        assert_eq!(response.envelope(&fixed).unwrap(), response.support());
        let (lo, hi) = response.envelope(&bounds).unwrap();
        // All corners of the bounds.
        let (mut least, mut greatest) = response.support();
        if response.family().is_parametric() {
            for corner in 0..1 << bounds.len() {
                let ends = bounds.iter().flatten().enumerate();
                let values: Vec<f64> = ends.map(|(i, b)| if corner >> i & 1 == 1 { b.1 } else { b.0 }).collect();
                let support = response.family().unchecked(&values).unwrap().support();
                least = least.min(support.0);
                greatest = greatest.max(support.1);
            }
        }
        assert!((lo - least).abs() < 1e-12 && (hi - greatest).abs() < 1e-12 * hi.abs().max(1.0), "{response:?}");
    }
}
