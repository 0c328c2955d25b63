//! The words of the language, and what users of other languages write in their place.

/// The words that start a statement.
pub(super) const KEYWORDS: [&str; 16] = [
    "data",
    "param",
    "let",
    "report",
    "function",
    "scan",
    "observe",
    "log_density",
    "minimize",
    "recording",
    "factors",
    "response",
    "latent",
    "loading",
    "offset",
    "noise",
];

/// The statements that may hold a block in braces.
pub(super) const BLOCKS: [&str; 2] = ["function", "scan"];

/// Words that cannot name a quantity.
pub(super) const RESERVED: [&str; 20] = [
    "model",
    "data",
    "param",
    "let",
    "report",
    "function",
    "scan",
    "observe",
    "log_density",
    "minimize",
    "recording",
    "factors",
    "response",
    "latent",
    "loading",
    "offset",
    "noise",
    "in",
    "on",
    "noncentered",
];

/// What to do about a parameter that takes whole numbers.
pub const DISCRETE: &str = "parameters are real numbers: sum the values out, as in `observe y ~ mixture(w, normal(a, 1), \
                            normal(b, 1))` with `param w[2] : simplex`; a chain of hidden states is summed forward in time";

/// First words of lines in other languages, with the fix.
const STATEMENTS_ELSEWHERE: [(&[&str], &str); 7] = [
    (
        &["real", "int", "vector", "row_vector", "matrix", "array", "float", "simplex", "cov_matrix"],
        "declare data like `data x : real[N]`, and parameters like `param mu` or `param theta[N]`",
    ),
    (
        &["parameter", "parameters", "var", "prior", "priors"],
        "declare a parameter with `param`, for example `param mu ~ normal(0, 1)`",
    ),
    (
        &["def", "const", "transformed", "define", "set"],
        "name an intermediate value with `let`, for example `let eta = X @ beta`",
    ),
    (
        &["generated", "return", "print", "output"],
        "add a value to the results with `report`, for example `report ratio = a / b`",
    ),
    (
        &["for", "while", "if", "else"],
        "operations and distributions work on whole arrays, `theta[group]` looks values up, `where(c, a, b)` chooses, and `scan` carries a state along",
    ),
    (
        &["import", "from", "with", "library", "functions"],
        "a model file holds one model and nothing else; data are named on the command line",
    ),
    (
        &["target", "likelihood", "obs", "observed"],
        "the density is written `observe y ~ normal(mu, sigma)`; a term of your own is `log_density ...`",
    ),
];

/// Types of other languages.
const TYPES_ELSEWHERE: [(&[&str], &str); 4] = [
    (&["float", "double", "numeric", "Real", "number"], "write `real`"),
    (
        &["integer", "count", "Int", "bool", "boolean", "binary", "factor"],
        "write `int`; a yes or no is `int in [0, 1]`",
    ),
    (&["vector", "row_vector", "array"], "a vector is written `real[N]`"),
    (&["matrix"], "a matrix is written `real[N, P]`"),
];

/// The fix for a line that starts with `word` as in another language.
pub(super) fn statement_elsewhere(word: &str) -> Option<&'static str> {
    STATEMENTS_ELSEWHERE.iter().find(|(words, _)| words.contains(&word)).map(|(_, help)| *help)
}

/// The fix for a type of another language.
pub(super) fn type_elsewhere(word: &str) -> Option<&'static str> {
    TYPES_ELSEWHERE.iter().find(|(words, _)| words.contains(&word)).map(|(_, help)| *help)
}

/// Signs of other languages, with the fix; the longer ones first.
const SIGNS_ELSEWHERE: [(&str, &str); 20] = [
    ("%*%", "the matrix product is written `@`"),
    ("**", "a power is written `^`"),
    ("+=", "the density is written `observe y ~ ...` or `theta ~ ...`; a term of your own is `log_density ...`"),
    (".*", "`*` works element by element already"),
    ("./", "`/` works element by element already"),
    (".^", "`^` works element by element already"),
    (".", "names have no dots; use `_`"),
    ("\"", "names are written without quotes"),
    ("`", "names are written without quotes"),
    ("'", "a matrix is turned around with `transpose(...)`, and names are written without quotes"),
    ("%", "comments start with `#`"),
    ("\u{2212}", "the minus sign is `-`"),
    ("\u{2013}", "the minus sign is `-`"),
    ("\u{d7}", "multiply with `*`"),
    ("\u{b7}", "multiply with `*`"),
    ("\u{2264}", "write `<=`"),
    ("\u{2265}", "write `>=`"),
    ("\u{223c}", "write `~`"),
    ("\u{ff5e}", "write `~`"),
    ("|", "groups are looked up with an index: `theta[group]`"),
];

/// The sign of another language at the start of `rest`, with the fix.
pub(super) fn sign_elsewhere(rest: &str) -> Option<(&'static str, &'static str)> {
    SIGNS_ELSEWHERE.iter().copied().find(|(sign, _)| rest.starts_with(sign))
}
