//! What can be wrong with a response, with the facts of each case.

/// Errors of response curves and their bounds.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ResponseError {
    #[error("there is no response `{family}`; there are: {}", known.join(", "))]
    UnknownFamily { family: String, known: Vec<&'static str> },
    #[error("the response `{family}` has no parameter `{parameter}`; it has: {}", list(known))]
    UnknownParameter { family: &'static str, parameter: String, known: Vec<&'static str> },
    #[error("the response `{family}` is given `{parameter}` twice")]
    RepeatedParameter { family: &'static str, parameter: &'static str },
    #[error("the response `{family}` takes {expected} parameters, not {found}")]
    ParameterCount { family: &'static str, expected: usize, found: usize },
    #[error("`{parameter}` of the response `{family}` must be {demand}, not {value}")]
    Parameter { family: &'static str, parameter: &'static str, demand: &'static str, value: f64 },
    #[error(
        "the undershoot of the response `double_gamma` must come after the peak: its mean, shape times scale, is {undershoot_mean} s, that of the peak {peak_mean} s"
    )]
    MeanOrder { peak_mean: f64, undershoot_mean: f64 },
    #[error("the response `{family}` has no numbers to build it from but a list of lags and a list of values")]
    NeedsSamples { family: &'static str },
    #[error("a sampled response needs as many values as lags: {lags} lags, {values} values")]
    SampleCount { lags: usize, values: usize },
    #[error("a sampled response needs at least 2 lags, not {count}")]
    TooFewSamples { count: usize },
    #[error("{what} {index} of the sampled response is {value}; it must be finite")]
    SampleNotFinite { what: &'static str, index: usize, value: f64 },
    #[error("lag {index} of the sampled response, {lag} s, does not lie behind the lag before it, {before} s")]
    SampleOrder { index: usize, lag: f64, before: f64 },
    #[error("all values of the sampled response are zero")]
    SampleZero,
    #[error(
        "the response `{family}` cannot be normalised in double precision: its L2 norm is {norm}, its support {} s to {} s", support.0, support.1
    )]
    Degenerate { family: &'static str, norm: f64, support: (f64, f64) },
    #[error("the bounds of `{parameter}` of the response `{family}` must be finite and increasing, not {lo} to {hi}")]
    BoundsOrder { family: &'static str, parameter: &'static str, lo: f64, hi: f64 },
    #[error("`{parameter}` of the response `{family}` is {value}, outside its bounds {lo} to {hi}")]
    OutsideBounds { family: &'static str, parameter: &'static str, value: f64, lo: f64, hi: f64 },
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
