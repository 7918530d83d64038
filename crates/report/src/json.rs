//! `run.json`: the record itself, readable by people and programs, and reading it back.
//!
//! A file may be compressed by gzip: its first bytes tell, not its name. What is read is bounded,
//! however much a small file promises to become.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};
use measure::record::RunRecord;
use serde::Deserialize;

use crate::older::{mark_bounds, mark_verdicts};
use crate::{Exporter, ReportError};

/// The registry line.
pub(crate) const EXPORTER: Exporter =
    Exporter { name: "json", file: "run.json", summary: "the whole record", render };

/// The record as indented JSON.
fn render(record: &RunRecord) -> Result<Vec<u8>, ReportError> {
    let mut text = serde_json::to_vec_pretty(record)
        .map_err(|e| ReportError::Format { format: "JSON", problem: e.to_string() })?;
    text.push(b'\n');
    Ok(text)
}

/// Compresses a record; the same text becomes the same bytes at any time and place.
pub(crate) fn compress(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(text)?;
    encoder.finish()
}

/// Returns the JSON of a record as it was written, without parsing it.
///
/// # Errors
/// When the file cannot be read, is compressed and damaged, or is larger than any record.
pub fn text(path: &Path) -> Result<Vec<u8>, ReportError> {
    text_within(path, RECORD_BYTES_MAX)
}

fn text_within(path: &Path, bytes_max: u64) -> Result<Vec<u8>, ReportError> {
    let failed = |error| ReportError::of(path, error);
    let too_large = || ReportError::TooLarge { path: path.to_path_buf(), limit: bytes_max };
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.len() > bytes_max {
        return Err(too_large());
    }
    // A device file has no size and may have no end.
    let mut file = file.take(bytes_max + 1);
    let mut head = Vec::new();
    file.by_ref().take(GZIP.len() as u64).read_to_end(&mut head).map_err(failed)?;
    let whole = head.as_slice().chain(file);
    let mut text = Vec::new();
    if head == GZIP {
        let mut decoder = MultiGzDecoder::new(whole).take(bytes_max + 1);
        decoder.read_to_end(&mut text).map_err(|error| of_decoding(path, error))?;
    } else {
        whole.take(bytes_max + 1).read_to_end(&mut text).map_err(failed)?;
    }
    if text.len() as u64 > bytes_max { Err(too_large()) } else { Ok(text) }
}

/// Turns an error of the decoder into a [`ReportError`]: damaged data or a failed read of the file.
fn of_decoding(path: &Path, error: io::Error) -> ReportError {
    let problem = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it is compressed, and its end is missing".to_owned(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            format!("it is compressed, and damaged: {error}")
        }
        _ => return ReportError::of(path, error),
    };
    ReportError::NoRecord { path: path.to_path_buf(), problem }
}

/// Reads a record that [`crate::export_all`] or [`crate::archive::pack`] wrote, in this or
/// an earlier version.
///
/// # Errors
/// When the file cannot be read, is not a record, or is from a newer version.
pub fn read(path: &Path) -> Result<RunRecord, ReportError> {
    read_within(path, RECORD_BYTES_MAX)
}

/// Reads a record like [`read`], but only one whose JSON has at most `bytes_max` bytes.
///
/// # Errors
/// Those of [`read`], and [`ReportError::TooLarge`] above that size.
pub fn read_within(path: &Path, bytes_max: u64) -> Result<RunRecord, ReportError> {
    let text = text_within(path, bytes_max)?;
    let no_record = |problem: String| ReportError::NoRecord { path: path.to_path_buf(), problem };
    // The version is looked at first: a later record may well lack what this version expects.
    let version: Version = serde_json::from_slice(&text).map_err(|e| no_record(e.to_string()))?;
    match version.schema_version {
        None => Err(no_record("it has no schema_version".into())),
        Some(found) if found > u64::from(RunRecord::SCHEMA_VERSION) => Err(ReportError::Newer {
            path: path.to_path_buf(),
            found,
            known: RunRecord::SCHEMA_VERSION,
        }),
        Some(_) => {
            let record = serde_json::from_slice(&text);
            let mut record: RunRecord = record.map_err(|e| no_record(e.to_string()))?;
            mark_bounds(&mut record);
            mark_verdicts(&mut record);
            Ok(record)
        }
    }
}

/// The field that a record has in every version; other fields are ignored.
#[derive(Deserialize)]
struct Version {
    schema_version: Option<u64>,
}

/// First two bytes of a gzip file (RFC 1952, section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Largest size of a record in bytes: twice that of the largest sweep that a scenario can define.
pub(crate) const RECORD_BYTES_MAX: u64 = 512 << 20;
