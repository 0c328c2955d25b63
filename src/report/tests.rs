//! The forms of a summary: tables, CSV, verdict.

use super::{Judgement, Row, Summary, latent_csv, summary_table};
use crate::archive::LatentSeries;
use crate::diagnose::summarize;

fn point(name: &str, value: f64, standard_error: Option<f64>) -> Row {
    Row::Point { name: name.into(), value, standard_error }
}

fn summary(rows: Vec<Row>) -> Summary {
    Summary { rows, judgement: Judgement { trust: true, findings: vec![], constants: vec![] } }
}

#[test]
fn tables_align_and_say_what_they_leave_out() {
    let text = summary_table(&summary(vec![point("a", 1234.5678, None), point("long_name", -0.000012, None)]));
    assert_eq!(text, "              value\na              1235\nlong_name  -1.20e-5\n");
    let with_errors = summary_table(&summary(vec![point("a", 0.5, Some(0.25)), point("b", f64::INFINITY, None)]));
    assert!(with_errors.contains("std. error") && with_errors.contains("0.250") && with_errors.contains("inf"));
    let many = summary((0..50).map(|i| point(&format!("x[{i}]"), 1.0, None)).collect());
    assert!(summary_table(&many).ends_with("... and 10 more rows in summary.csv\n"));
}

#[test]
fn constants_say_so_instead_of_an_r_hat() {
    let chain = vec![2.0; 100];
    let constant = Row::Drawn { name: "c".into(), summary: Box::new(summarize(&[&chain, &chain])) };
    let text = summary_table(&summary(vec![constant]));
    assert!(text.contains("constant") && !text.contains("NaN"), "{text}");
}

#[test]
fn csv_quotes_names_and_leaves_undefined_cells_empty() {
    let csv = summary(vec![point("w[p \"1\",bold,1]", 0.1, None)]).csv();
    assert_eq!(csv, "name,value,standard_error\n\"w[p \"\"1\"\",bold,1]\",0.1,\n");
    let latent = LatentSeries {
        participants: None,
        run: "r".into(),
        times: vec![0.0, 0.5],
        mean: vec![1.0, f64::NAN],
        sd: Some(vec![0.25, f64::NAN]),
        factors: 1,
    };
    assert_eq!(latent_csv(&[latent]), "run,factor,time,mean,sd\n\"r\",1,0,1,0.25\n");
}

#[test]
fn the_verdict_names_what_speaks_against_the_fit() {
    let findings = vec!["first".to_string(), "second".to_string()];
    let doubt = Judgement { trust: false, findings: findings.clone(), constants: vec!["c".into()] };
    assert_eq!(doubt.to_string(), "verdict: do not trust this fit\n  - first\n  - second\nconstant: c\n");
    let caution = Judgement { trust: true, findings, constants: vec![] };
    assert!(caution.to_string().starts_with("verdict: fine, with a warning\n"));
}
