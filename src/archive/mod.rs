//! The fit on disk: one CBOR archive and its tables in a folder that appears whole or not at all.

mod contents;
mod folder;

pub use contents::{
    Archive, ChainDraws, Draws, FORMAT, InputFile, LatentSeries, Method, Metric, Mode, Outcome, Quantity, Restart,
    Settings, Threads,
};
pub use folder::{ArchiveError, check_target, digest, plan_digest, read, write};
