//! `run.json`: the record itself, readable by people and programs, and reading it back.

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

/// Reads a record that [`crate::export_all`] wrote, now or in an earlier version.
///
/// # Errors
/// When the file cannot be read, is no record, or is of a later version.
pub fn read(path: &Path) -> Result<RunRecord, ReportError> {
    let text = std::fs::read(path).map_err(|e| ReportError::of(path, e))?;
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
