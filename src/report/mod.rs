//! What a fit says: summaries, the verdict, and their forms as terminal tables, CSV and JSON.

mod answers;
mod evaluation;
mod judge;
mod latent;
mod loo;
mod responses;
mod summary;
mod table;
#[cfg(test)]
mod tests;

pub use answers::{calibrated_csv, inferred_csv, predictions_csv};
pub use evaluation::{evaluation_json, evaluation_summary_csv, evaluation_table, isc_csv, scores_csv};
pub use judge::{Judgement, judge};
pub use latent::latent_csv;
pub use loo::loo_table;
pub use responses::responses_text;
pub use summary::{Row, Summary, summarize_archive};
pub use table::{facts, summary_table};
