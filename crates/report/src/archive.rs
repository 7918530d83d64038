//! Runs that are kept in a folder: a list of them, their tags, packing one, and removing one.
//!
//! A run is a folder with a `run.json`, or the same compressed; anything else in there is told with
//! the reason why it is none, and never touched. Tags live in `tags.json` beside the record, which
//! stays as it was written. Removing deletes the files that this program writes, and the folder
//! when nothing else is in it, so that a file somebody put there survives.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use measure::record::{RunRecord, Status};
use serde::{Deserialize, Serialize};

use crate::summary::answers;
use crate::{EXPORTERS, ReportError, json, write_whole};

/// A run as shown in a list of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// Name of the run's folder.
    pub name: String,
    /// Path of the run's folder.
    pub path: PathBuf,
    /// Name of the scenario.
    pub scenario: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// Duration of the run, in seconds.
    pub seconds: f64,
    /// Status of the run.
    pub status: Status,
    /// Text for the status.
    pub verdict: &'static str,
    /// Why the run did not pass; empty if it passed.
    pub message: String,
    /// Number of cells that were started.
    pub cells: usize,
    /// The methods that measured.
    pub methods: Vec<String>,
    /// Tags in the record and in the file next to it, sorted.
    pub tags: Vec<String>,
    /// Total size of the folder's files in bytes, without subfolders.
    pub bytes: u64,
    /// The answers, one sentence per method.
    pub answers: Vec<String>,
}

/// An entry in the folder of runs that is not a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Foreign {
    /// Path of the entry.
    pub path: PathBuf,
    /// Why the entry is not a run.
    pub problem: String,
}

/// Contents of a folder of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Listing {
    /// The runs, newest first.
    pub runs: Vec<Run>,
    /// Other entries, sorted by name, without hidden files.
    pub foreign: Vec<Foreign>,
}

/// Result of removing a run's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// Path of the folder.
    pub path: PathBuf,
    /// Number of deleted bytes.
    pub bytes: u64,
    /// Files of others, because of which the folder was kept.
    pub left: Vec<String>,
}

/// Lists the runs of a folder.
///
/// # Errors
/// When the folder cannot be read; a run that cannot be read is part of the list.
pub fn list(folder: &Path) -> Result<Listing, ReportError> {
    let mut listing = Listing::default();
    for path in entries(folder)? {
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
        let foreign = |problem: String| Foreign { path: path.clone(), problem };
        if !is_folder {
            listing.foreign.push(foreign("not a folder".into()));
        } else if !record_file(&path).exists() {
            listing.foreign.push(foreign(format!("no {RECORD} in it")));
        } else {
            match look(&path) {
                Ok(run) => listing.runs.push(run),
                Err(error) => listing.foreign.push(foreign(error.to_string())),
            }
        }
    }
    listing.runs.sort_by(|a, b| (&b.started, &b.name).cmp(&(&a.started, &a.name)));
    Ok(listing)
}

/// Reads the facts of the run in a folder.
///
/// # Errors
/// When its record or its tags cannot be read.
pub fn look(folder: &Path) -> Result<Run, ReportError> {
    look_within(folder, json::RECORD_BYTES_MAX)
}

/// The same of a run whose record has at most `bytes_max`.
///
/// # Errors
/// As [`look`], and [`ReportError::TooLarge`] beyond that size.
pub fn look_within(folder: &Path, bytes_max: u64) -> Result<Run, ReportError> {
    let record = json::read_within(&record_file(folder), bytes_max)?;
    let mut tags = tags(folder)?;
    tags.extend(record.tags.iter().cloned());
    tags.sort();
    tags.dedup();
    let bytes = entries(folder)?.iter().map(|path| size(path)).sum();
    Ok(describe(folder, &record, tags, bytes))
}

fn describe(folder: &Path, record: &RunRecord, tags: Vec<String>, bytes: u64) -> Run {
    let mut methods: Vec<String> = Vec::new();
    for outcome in record.cells.iter().flat_map(|cell| &cell.outcomes) {
        if !methods.contains(&outcome.method) {
            methods.push(outcome.method.clone());
        }
    }
    let name = folder.file_name().unwrap_or(folder.as_os_str());
    Run {
        name: name.to_string_lossy().into_owned(),
        path: folder.to_owned(),
        scenario: record.scenario.name.clone(),
        started: record.started.clone(),
        seconds: record.seconds,
        status: record.status,
        verdict: crate::summary::status_words(record.status),
        message: record.message.clone(),
        cells: record.cells.len(),
        methods,
        tags,
        bytes,
        answers: answers(record),
    }
}

/// Returns the file of the record in the folder of a run: the compressed one if it exists, because
/// the others were made from it. In a folder that is not a run the file does not exist.
pub fn record_file(folder: &Path) -> PathBuf {
    let packed = folder.join(PACKED);
    if packed.exists() { packed } else { folder.join(RECORD) }
}

/// Writes the record in `file`, byte for byte, compressed into a folder that exists.
///
/// # Errors
/// When the file cannot be read or the compressed one cannot be written.
pub fn pack(file: &Path, folder: &Path) -> Result<PathBuf, ReportError> {
    let text = json::text(file)?;
    let path = folder.join(PACKED);
    let packed = json::compress(&text).map_err(|error| ReportError::of(&path, error))?;
    write_whole(&path, &packed)?;
    Ok(path)
}

/// The tags next to a record; empty if there is no such file.
///
/// # Errors
/// When the file exists and cannot be parsed.
pub fn tags(folder: &Path) -> Result<Vec<String>, ReportError> {
    let path = folder.join(TAGS);
    let text = match fs::metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ReportError::of(&path, error)),
        Ok(found) if found.len() > TAGS_BYTES_MAX => {
            return Err(ReportError::NoTags { path, problem: "it is too large".into() });
        }
        Ok(_) => fs::read(&path).map_err(|error| ReportError::of(&path, error))?,
    };
    let file: TagsFile = serde_json::from_slice(&text)
        .map_err(|error| ReportError::NoTags { path: path.clone(), problem: error.to_string() })?;
    let mut tags = file.tags;
    tags.retain(|tag| check_tag(tag).is_ok());
    tags.truncate(TAGS_MAX);
    Ok(tags)
}

/// Writes the tags next to a record.
///
/// # Errors
/// When the file cannot be written.
pub fn set_tags(folder: &Path, tags: &[String]) -> Result<(), ReportError> {
    let file = TagsFile { tags: tags.to_vec() };
    let mut text = serde_json::to_vec_pretty(&file)
        .map_err(|e| ReportError::Format { format: "JSON", problem: e.to_string() })?;
    text.push(b'\n');
    write_whole(&folder.join(TAGS), &text)
}

/// Checks that a word is a valid tag.
///
/// # Errors
/// For anything except letters, digits, and `.`, `_`, `-` within the word.
pub fn check_tag(tag: &str) -> Result<(), &'static str> {
    let fine = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    if tag.is_empty() || tag.chars().count() > TAG_CHARS_MAX {
        Err("a tag has 1 to 64 characters")
    } else if !tag.chars().all(fine) || tag.starts_with(['.', '-']) {
        Err(
            "a tag consists of letters, digits, `.`, `_` and `-`, and does not begin with `.` or `-`",
        )
    } else {
        Ok(())
    }
}

/// Deletes the files of a run, its record last, and the folder if it is then empty.
///
/// # Errors
/// When a file cannot be deleted; files before it are deleted, the record is not.
pub fn remove(folder: &Path) -> Result<Removed, ReportError> {
    let mut removed = Removed { path: folder.to_owned(), bytes: 0, left: Vec::new() };
    let others = EXPORTERS.iter().map(|exporter| exporter.file).filter(|file| *file != RECORD);
    for name in others.chain(BESIDE.iter().copied()).chain([RECORD, PACKED]) {
        let path = folder.join(name);
        let bytes = size(&path);
        match fs::remove_file(&path) {
            Ok(()) => removed.bytes += bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(ReportError::of(&path, error)),
        }
    }
    let name = |path: PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let left = fs::read_dir(folder).map_err(|error| ReportError::of(folder, error))?;
    removed.left = left.flatten().filter_map(|entry| name(entry.path())).collect();
    removed.left.sort();
    if removed.left.is_empty() {
        fs::remove_dir(folder).map_err(|error| ReportError::of(folder, error))?;
    }
    Ok(removed)
}

/// The entries of a folder, sorted by name, without hidden files, up to a limit.
///
/// # Errors
/// When the folder cannot be read.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let failed = |error| ReportError::of(folder, error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)?.take(ENTRIES_MAX) {
        let entry = entry.map_err(failed)?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

fn size(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(0, |found| if found.is_file() { found.len() } else { 0 })
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TagsFile {
    tags: Vec<String>,
}

/// File name of the record.
pub const RECORD: &str = "run.json";

/// File name of a record compressed by gzip.
pub const PACKED: &str = "run.json.gz";

/// File name of the tags.
pub const TAGS: &str = "tags.json";

/// Further files of a run's folder, in addition to those of the exporters.
const BESIDE: &[&str] = &[TAGS, "progress.json", "report.pdf"];

/// Largest number of tags of a run.
pub const TAGS_MAX: usize = 64;

const TAG_CHARS_MAX: usize = 64;
const TAGS_BYTES_MAX: u64 = 64 << 10;

/// Largest number of entries of a folder that are read.
const ENTRIES_MAX: usize = 10_000;
