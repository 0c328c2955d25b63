//! What a fit says: summaries, the verdict, and their forms as terminal tables, CSV and JSON.

mod judge;
mod latent;
mod loo;
mod summary;
mod table;
#[cfg(test)]
mod tests;

pub use judge::{Judgement, judge};
pub use latent::latent_csv;
pub use loo::loo_table;
pub use summary::{Row, Summary, summarize_archive};
pub use table::{facts, summary_table};
