//! The folder of runs as the server sees it: what was read once is not read again until it changes.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use lab::alive::{State, state};
use measure::record::RunRecord;
use report::ReportError;
use report::archive::{
    Foreign, Listing, PACKED, RECORD, Run, TAGS, entries, look_within, record_file,
};
use report::trend::{self, Trend};

use crate::guard::NOT_FOUND;
use web::Refused;

/// The folder of runs, with a cache of what was read.
pub struct Archive {
    folder: PathBuf,
    known: Mutex<HashMap<PathBuf, Known>>,
}

/// The run as read or the error, with the stamp of its files at that time.
type Known = (Stamp, Result<Run, String>);

/// Times and sizes of the files of a run, which change with the run.
type Stamp = [Option<(SystemTime, u64)>; 3];

impl Archive {
    /// Creates an archive of a folder, which need not exist yet.
    pub fn new(folder: PathBuf) -> Archive {
        Archive { folder, known: Mutex::new(HashMap::new()) }
    }

    /// Path of the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The headline figures of a scenario over its runs.
    pub fn trend(&self, scenario: Option<&str>) -> Trend {
        trend::read_within(self.list(), scenario, RECORD_BYTES_MAX)
    }

    /// The runs, newest first, and other entries with the reason why they are not runs.
    pub fn list(&self) -> Listing {
        let mut listing = Listing::default();
        let paths = entries(&self.folder).unwrap_or_default();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|path, _| paths.contains(path));
        for path in paths {
            if let Err(problem) = is_run(&path) {
                listing.foreign.push(Foreign { path, problem });
                continue;
            }
            let stamp = stamp(&path);
            let fresh = known.get(&path).is_some_and(|(then, _)| *then == stamp);
            if !fresh {
                let run = look_within(&path, RECORD_BYTES_MAX).map_err(in_words);
                known.insert(path.clone(), (stamp, run));
            }
            match known.get(&path).map(|(_, run)| run) {
                Some(Ok(run)) => listing.runs.push(run.clone()),
                Some(Err(problem)) => {
                    listing.foreign.push(Foreign { path, problem: problem.clone() });
                }
                None => {}
            }
        }
        listing.runs.sort_by(|a, b| (&b.started, &b.name).cmp(&(&a.started, &a.name)));
        listing
    }

    /// Progress of each bench, by the name of its run's folder.
    pub fn progress(&self) -> Vec<(String, State)> {
        let paths = entries(&self.folder).unwrap_or_default().into_iter();
        let folders = paths.filter(|path| is_folder(path));
        let states = folders.map(|path| (name(&path), state(&path)));
        states.filter(|(_, state)| !matches!(state, State::Unknown)).collect()
    }

    /// Progress of the bench of a run.
    pub fn state(&self, name: &str) -> State {
        state(&self.folder.join(name))
    }

    /// Reads the record of a run.
    ///
    /// # Errors
    /// When there is no run of that name, or its record cannot be shown.
    pub fn read(&self, name: &str) -> Result<RunRecord, Unreadable> {
        let path = self.folder.join(name);
        if !is_folder(&path) {
            return Err(Unreadable::Refused(NOT_FOUND));
        }
        is_run(&path).map_err(Unreadable::Problem)?;
        let record = report::read_within(&record_file(&path), RECORD_BYTES_MAX);
        record.map_err(|error| Unreadable::Problem(in_words(error)))
    }
}

/// Why a record cannot be shown.
#[derive(Debug)]
pub enum Unreadable {
    /// There is no such run.
    Refused(Refused),
    /// The record cannot be read, as a sentence.
    Problem(String),
}

/// Whether a path is a folder, not a link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Checks that a path is the folder of a run, without reading the record; otherwise says why not.
fn is_run(path: &Path) -> Result<(), String> {
    if !is_folder(path) {
        return Err("not a folder".to_owned());
    }
    match fs::symlink_metadata(record_file(path)) {
        Err(_) => Err(format!("no {RECORD} in it")),
        Ok(record) if !record.is_file() => Err("its record is a link or not a file".to_owned()),
        Ok(_) => Ok(()),
    }
}

/// Why a record is not shown, for a person at the browser.
fn in_words(error: ReportError) -> String {
    match error {
        ReportError::TooLarge { limit, .. } => format!(
            "its record has more than {} MB, too many for a page; `plumbline report` can read it",
            limit / 1_000_000
        ),
        other => other.to_string(),
    }
}

fn stamp(path: &Path) -> Stamp {
    [RECORD, PACKED, TAGS].map(|file| {
        let found = fs::metadata(path.join(file)).ok()?;
        Some((found.modified().ok()?, found.len()))
    })
}

/// Name of a run's folder.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Largest size of a record for a page in bytes: far more than a day of measuring.
const RECORD_BYTES_MAX: u64 = 64 << 20;
