//! The fit on disk: one CBOR archive and its tables in a folder that appears whole or not at all; tables of answers too.

mod contents;
mod folder;
mod tables;

pub use contents::{
    Archive, Calibrated, ChainDraws, Draws, FORMAT, Init, InputFile, LatentSeries, Method, Metric, Mode, Outcome,
    Quantity, Restart, Settings, Threads,
};
pub use folder::{ArchiveError, check_target, digest, plan_digest, read, write};
pub use tables::{check_file, check_tables, write_file, write_tables};
