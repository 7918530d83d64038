//! The folder of runs as the server sees it: what was read once is not read again until it changes.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use lab::alive::{State, state};
use measure::record::RunRecord;
use report::archive::{Foreign, Listing, RECORD, Run, TAGS, entries, look};

use crate::guard::NOT_FOUND;
use web::Refused;

/// The folder of runs.
pub struct Archive {
    folder: PathBuf,
    known: Mutex<HashMap<PathBuf, Known>>,
}

/// What was read, or why it could not be, and the stamp of the files then.
type Known = (Stamp, Result<Run, String>);

/// What changes when a run does.
type Stamp = [Option<(SystemTime, u64)>; 2];

impl Archive {
    /// Of a folder, which need not exist yet.
    pub fn new(folder: PathBuf) -> Archive {
        Archive { folder, known: Mutex::new(HashMap::new()) }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The runs, the newest first, and what is none with the reason.
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
                let run = look(&path).map_err(|error| error.to_string());
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

    /// How each bench gets on, by the name of its run's folder.
    pub fn progress(&self) -> Vec<(String, State)> {
        let paths = entries(&self.folder).unwrap_or_default().into_iter();
        let folders = paths.filter(|path| is_folder(path));
        let states = folders.map(|path| (name(&path), state(&path)));
        states.filter(|(_, state)| !matches!(state, State::Unknown)).collect()
    }

    /// How the bench of a run gets on.
    pub fn state(&self, name: &str) -> State {
        state(&self.folder.join(name))
    }

    /// The record of a run.
    ///
    /// # Errors
    /// When there is no run of that name, or its record cannot be shown; in words for a person.
    pub fn read(&self, name: &str) -> Result<RunRecord, Unreadable> {
        let path = self.folder.join(name);
        if !is_folder(&path) {
            return Err(Unreadable::Refused(NOT_FOUND));
        }
        is_run(&path).map_err(Unreadable::Problem)?;
        report::read(&path.join(RECORD)).map_err(|error| Unreadable::Problem(error.to_string()))
    }
}

/// Why a record is not shown.
#[derive(Debug)]
pub enum Unreadable {
    /// There is none.
    Refused(Refused),
    /// It cannot be read.
    Problem(String),
}

/// Whether a path is a folder itself, not a link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Says why a path is no run, or none that a page can be made of.
fn is_run(path: &Path) -> Result<(), String> {
    if !is_folder(path) {
        return Err("not a folder".to_owned());
    }
    match fs::symlink_metadata(path.join(RECORD)) {
        Err(_) => Err(format!("no {RECORD} in it")),
        Ok(record) if !record.is_file() => Err(format!("its {RECORD} is a link or no file")),
        Ok(record) if record.len() > RECORD_BYTES_MAX => Err(format!(
            "its {RECORD} has {} MB, too many for a page; `plumbline report` can read it",
            record.len() / 1_000_000
        )),
        Ok(_) => Ok(()),
    }
}

fn stamp(path: &Path) -> Stamp {
    [RECORD, TAGS].map(|file| {
        let found = fs::metadata(path.join(file)).ok()?;
        Some((found.modified().ok()?, found.len()))
    })
}

/// The name of a run's folder.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What a page may be made of: far more than a day of measuring fills.
const RECORD_BYTES_MAX: u64 = 64 << 20;
