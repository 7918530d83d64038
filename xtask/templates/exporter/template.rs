//! `template.txt`: the name of the run.

use measure::record::RunRecord;

use crate::{Exporter, ReportError};

/// The registry line.
pub(crate) const EXPORTER: Exporter =
    Exporter { name: "template", file: "template.txt", summary: "the name of the run", render };

/// The line.
fn render(record: &RunRecord) -> Result<Vec<u8>, ReportError> {
    Ok(format!("{}\n", record.name()).into_bytes())
}
