//! `run.json`: the record itself, readable by people and programs, and reading it back.

use std::io::Read;
use std::path::Path;

use measure::record::RunRecord;

use crate::ReportError;

/// The record as indented JSON.
pub(crate) fn render(record: &RunRecord) -> Result<Vec<u8>, ReportError> {
    let mut text = serde_json::to_vec_pretty(record)
        .map_err(|e| ReportError::Format { format: "JSON", problem: e.to_string() })?;
    text.push(b'\n');
    Ok(text)
}

/// The file, refused without reading it where it is larger than any record.
fn content(path: &Path) -> Result<Vec<u8>, ReportError> {
    let failed = |error| ReportError::of(path, error);
    let file = std::fs::File::open(path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    if bytes > RECORD_BYTES_MAX {
        let (path, limit) = (path.to_path_buf(), RECORD_BYTES_MAX);
        return Err(ReportError::TooLarge { path, bytes, limit });
    }
    let mut text = Vec::new();
    // A device tells no size, and may have no end.
    file.take(RECORD_BYTES_MAX).read_to_end(&mut text).map_err(failed)?;
    Ok(text)
}

/// Reads a record that [`crate::export_all`] wrote, now or in an earlier version.
///
/// # Errors
/// When the file cannot be read, is no record, or is of a later version.
pub fn read(path: &Path) -> Result<RunRecord, ReportError> {
    let text = content(path)?;
    let no_record = |problem: String| ReportError::NoRecord { path: path.to_path_buf(), problem };
    // The version is looked at first: a later record may well lack what this version expects.
    let value: serde_json::Value =
        serde_json::from_slice(&text).map_err(|e| no_record(e.to_string()))?;
    match value.get("schema_version").and_then(serde_json::Value::as_u64) {
        None => Err(no_record("it has no schema_version".into())),
        Some(found) if found > u64::from(RunRecord::SCHEMA_VERSION) => Err(ReportError::Newer {
            path: path.to_path_buf(),
            found,
            known: RunRecord::SCHEMA_VERSION,
        }),
        Some(_) => serde_json::from_value(value).map_err(|e| no_record(e.to_string())),
    }
}

/// Twice what the largest sweep that a scenario may ask for can fill.
const RECORD_BYTES_MAX: u64 = 512 << 20;
