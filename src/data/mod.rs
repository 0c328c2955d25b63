//! Reads recordings (long CSV, folders of wide tables) and plain arrays (JSON); reports every repair and refusal.

mod affinity;
mod arrays;
mod assemble;
mod error;
mod file_name;
mod finding;
mod inspect;
mod inspect_text;
mod load;
mod long_csv;
mod names;
pub mod recording;
mod repair;
mod table;
mod token;
mod wide;
mod write;

pub use affinity::{Edge, parse_affinity};
pub use arrays::{Array, Arrays, parse_arrays};
pub use error::{ColumnFaults, DataError};
pub use finding::{BadName, BadRow, Extent, Fault, FeatureMismatch, Findings, Repeat, StreamName};
pub use inspect::{Inspection, StreamFacts, inspect};
pub use load::{Duplicates, Loaded, Options, load, load_arrays};
pub use names::counted;
pub use recording::{Recording, Stream};
pub use repair::Repair;
pub use write::{arrays_json, recording_csv};
