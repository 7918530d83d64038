//! Exporters of run records: terminal, JSON, JSON lines, JUnit XML, CSV, HTML.
//!
//! An exporter turns a [`RunRecord`] into text and adds nothing to it but layout: whatever it says
//! can be found in the record, so that `run.json` alone renders every report again. Files are
//! written whole or not at all.
//!
//! Deliberately absent: any clock, any network, any measuring. Figures of others, which are no part
//! of a record, are data in `references.json`.

pub mod archive;
mod bends;
pub mod compared;
mod compared_values;
mod csv;
mod depth;
mod details;
mod error;
mod exporter;
mod figures;
mod folder;
mod html;
mod json;
mod jsonl;
mod junit;
mod limits;
mod names;
mod older;
mod pivot;
pub mod references;
mod summary;
mod sweeps;
pub mod terminal;
pub mod trend;
mod verdicts;
mod words;

use std::path::{Path, PathBuf};

use measure::record::RunRecord;

pub use details::comparison_words;
pub use error::ReportError;
pub use exporter::Exporter;
pub use folder::write_whole;
pub use html::{POLICY as PAGE_POLICY, comparison_page, trend_page};
pub use json::{read, read_within, text};

/// All exporters of files, the record itself first and the page last.
pub const EXPORTERS: &[Exporter] = &[
    json::EXPORTER,
    csv::EXPORTER,
    figures::EXPORTER,
    jsonl::EXPORTER,
    junit::EXPORTER,
    html::EXPORTER,
];

/// Writes every file of a run into an existing folder; returns their paths.
///
/// # Errors
/// When a file cannot be rendered or written; existing files are then unchanged.
pub fn export_all(record: &RunRecord, folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let write = |exporter: &Exporter| {
        let path = folder.join(exporter.file);
        write_whole(&path, &(exporter.render)(record)?)?;
        Ok(path)
    };
    EXPORTERS.iter().map(write).collect()
}
