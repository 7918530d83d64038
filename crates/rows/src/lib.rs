//! Rows of tables that stand in files of their own: routes, rules, stations.
//!
//! A table of a function names files, several or directories ([`Files`]), says which keys a row has
//! ([`Form`]), and takes row after row ([`read`]). What a file is follows from its name and from
//! what it begins with ([`Format`]). Files are streamed: whatever their size, a line or a record of
//! bounded length is in memory, and what the table keeps.
//!
//! What cannot be read is told by file and line, some of it in words and all of it by number
//! ([`Troubles`]); what a table has no use for is counted by its reason ([`Remarks`]). Whether a
//! row is sound is the table's matter.

mod cells;
mod csv;
mod files;
mod form;
mod format;
pub mod fuzz;
mod ip_route;
mod lines;
mod mrt;
mod opened;
mod read;
mod text;
mod trouble;

pub use cells::Cells;
pub use files::{FILES_MAX, Files, Source};
pub use form::Form;
pub use format::Format;
pub use ip_route::{Kind, Route, Way};
pub use lines::LINE_BYTES_MAX;
pub use mrt::RECORD_BYTES_MAX;
pub use opened::{decompress, open};
pub use read::{Said, read};
pub use trouble::{LISTED_MAX, Remarks, Troubles, Unfit};
