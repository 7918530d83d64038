//! Runs that are kept in a folder: a list of them, their tags, and removing one.
//!
//! A run is a folder with a `run.json`; anything else in there is told with the reason why it is
//! none, and never touched. Tags live in `tags.json` beside the record, which stays as it was
//! written. Removing deletes the files that this program writes, and the folder when nothing else
//! is in it, so that a file somebody put there survives.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use measure::record::{RunRecord, Status};
use serde::{Deserialize, Serialize};

use crate::summary::answers;
use crate::{EXPORTERS, ReportError, read, write_whole};

/// What a list tells of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The name of its folder.
    pub name: String,
    /// The folder.
    pub path: PathBuf,
    /// The scenario's name.
    pub scenario: String,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// How long it took.
    pub seconds: f64,
    /// How it ended.
    pub status: Status,
    /// The same in words.
    pub verdict: &'static str,
    /// What kept it from passing; empty where it passed.
    pub message: String,
    /// Cells that were begun.
    pub cells: usize,
    /// The methods that measured.
    pub methods: Vec<String>,
    /// Tags of the record and of the file beside it, sorted.
    pub tags: Vec<String>,
    /// Size of the folder's files, those in folders within it left out.
    pub bytes: u64,
    /// The answers, one sentence a method.
    pub answers: Vec<String>,
}

/// Something in the folder of runs that is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Foreign {
    /// What.
    pub path: PathBuf,
    /// Why it is no run.
    pub problem: String,
}

/// What a folder of runs holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Listing {
    /// Its runs, the newest first.
    pub runs: Vec<Run>,
    /// What else is there, by name; hidden files left out.
    pub foreign: Vec<Foreign>,
}

/// What became of a folder that was to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// The folder.
    pub path: PathBuf,
    /// What was deleted.
    pub bytes: u64,
    /// Files of others, for which the folder was left.
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
        } else if !path.join(RECORD).exists() {
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

/// What a list tells of the run in a folder.
///
/// # Errors
/// When its record or its tags cannot be read.
pub fn look(folder: &Path) -> Result<Run, ReportError> {
    let record = read(&folder.join(RECORD))?;
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

/// The tags beside a record, none where there is no such file.
///
/// # Errors
/// When the file is there and cannot be read as one.
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

/// Writes the tags beside a record.
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

/// Says why a word is no tag.
///
/// # Errors
/// Anything but letters, digits, and `.`, `_`, `-` within it.
pub fn check_tag(tag: &str) -> Result<(), &'static str> {
    let fine = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    if tag.is_empty() || tag.chars().count() > TAG_CHARS_MAX {
        Err("a tag has 1 to 64 characters")
    } else if !tag.chars().all(fine) || tag.starts_with(['.', '-']) {
        Err(
            "a tag is made of letters, digits, `.`, `_` and `-`, and begins with none of `.` and `-`",
        )
    } else {
        Ok(())
    }
}

/// Deletes the files of a run, its record last, and the folder when it is then empty.
///
/// # Errors
/// When a file cannot be deleted; those before it are gone then, the record is not.
pub fn remove(folder: &Path) -> Result<Removed, ReportError> {
    let mut removed = Removed { path: folder.to_owned(), bytes: 0, left: Vec::new() };
    let others = EXPORTERS.iter().map(|exporter| exporter.file).filter(|file| *file != RECORD);
    for name in others.chain(BESIDE.iter().copied()).chain([RECORD]) {
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

/// What is in a folder, by name, hidden files left out and no more than a limit.
///
/// # Errors
/// When it cannot be read.
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

/// The record's file.
pub const RECORD: &str = "run.json";

/// The file of the tags.
pub const TAGS: &str = "tags.json";

/// Files beside those of the exporters that a run's folder has.
const BESIDE: &[&str] = &[TAGS, "progress.json", "report.pdf"];

/// The most tags of a run.
pub const TAGS_MAX: usize = 64;

const TAG_CHARS_MAX: usize = 64;
const TAGS_BYTES_MAX: u64 = 64 << 10;

/// The most entries of a folder that are looked at.
const ENTRIES_MAX: usize = 10_000;
