//! Exporters of run records: terminal, JSON, JSON lines, JUnit XML, CSV, HTML.
//!
//! An exporter turns a [`RunRecord`] into text and adds nothing to it but layout: whatever it says
//! can be found in the record, so that `run.json` alone renders every report again. Files are
//! written whole or not at all.
//!
//! Deliberately absent: any clock, any network, any measuring. Figures of others, which are no part
//! of a record, are data in `references.json`.

pub mod archive;
pub mod compared;
mod csv;
mod details;
mod error;
mod figures;
mod folder;
mod html;
mod json;
mod jsonl;
mod junit;
mod limits;
mod names;
mod pivot;
pub mod references;
mod summary;
pub mod terminal;

use std::path::{Path, PathBuf};

use measure::record::RunRecord;

pub use error::ReportError;
pub use folder::write_whole;
pub use html::{POLICY as PAGE_POLICY, comparison_page};
pub use json::read;

/// One exporter of files.
pub struct Exporter {
    /// Its name on the command line.
    pub name: &'static str,
    /// The file it writes in the folder of a run.
    pub file: &'static str,
    /// One line of help.
    pub summary: &'static str,
    /// The file's content.
    pub render: fn(&RunRecord) -> Result<Vec<u8>, ReportError>,
}

/// All exporters of files, the record itself first and the page last.
pub const EXPORTERS: &[Exporter] = &[
    Exporter { name: "json", file: "run.json", summary: "the whole record", render: json::render },
    Exporter {
        name: "csv",
        file: "trials.csv",
        summary: "one row a trial and direction, for spreadsheets",
        render: csv::render,
    },
    Exporter {
        name: "figures",
        file: "figures.csv",
        summary: "one row a figure, for spreadsheets",
        render: figures::render,
    },
    Exporter {
        name: "jsonl",
        file: "run.jsonl",
        summary: "one flat object a line, for pipelines",
        render: jsonl::render,
    },
    Exporter {
        name: "junit",
        file: "junit.xml",
        summary: "checks, methods and thresholds as tests, for CI systems",
        render: junit::render,
    },
    Exporter {
        name: "html",
        file: "report.html",
        summary: "one self-contained page",
        render: html::render,
    },
];

/// Writes every file of a run into a folder that exists, and names them.
///
/// # Errors
/// When a file cannot be rendered or written; files of that name from before are then untouched.
pub fn export_all(record: &RunRecord, folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let write = |exporter: &Exporter| {
        let path = folder.join(exporter.file);
        write_whole(&path, &(exporter.render)(record)?)?;
        Ok(path)
    };
    EXPORTERS.iter().map(write).collect()
}
