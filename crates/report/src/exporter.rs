//! What every exporter is.

use measure::record::RunRecord;

use crate::ReportError;

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
