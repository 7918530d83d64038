//! Finds the folder of a run by its path, by its name in the folder of runs, or as `latest`.

use std::fs;
use std::path::{Path, PathBuf};

use measure::record::RunRecord;
use report::ReportError;
use report::archive::{RECORD, record_file};

use crate::problem::Problem;

/// The default folder for runs; `bench` writes there.
pub const RUNS_DIR: &str = "runs";

/// A run that was found on disk.
pub struct Located {
    /// The run's folder.
    pub folder: PathBuf,
    /// The file that holds the run's record.
    pub file: PathBuf,
}

impl Located {
    /// Reads the run's record.
    ///
    /// # Errors
    /// When the file is not a record that this program can read.
    pub fn read(&self) -> Result<RunRecord, Problem> {
        report::read(&self.file).map_err(of_reading)
    }
}

/// Finds a run by path, by name, or as `latest`.
///
/// # Errors
/// When no such run exists; the message suggests the nearest name.
pub fn locate(run: &Path, runs_dir: &Path) -> Result<Located, Problem> {
    if run.as_os_str() == "latest" && !run.exists() {
        return latest(runs_dir);
    }
    let within = runs_dir.join(run);
    for candidate in [run, within.as_path()] {
        if candidate.is_dir() {
            let file = record_file(candidate);
            if !file.exists() {
                let what = format!("this folder is not a run: it has no {RECORD}");
                let remedy =
                    "name a folder that `plumbline bench` made; `plumbline runs` lists them";
                return Err(Problem::of_usage(what, remedy).at("folder", candidate.display()));
            }
            return Ok(Located { folder: candidate.to_owned(), file });
        }
        if candidate.exists() {
            let parent = candidate.parent().filter(|p| !p.as_os_str().is_empty());
            let folder = parent.unwrap_or(Path::new(".")).to_owned();
            return Ok(Located { folder, file: candidate.to_owned() });
        }
    }
    let names = names(runs_dir);
    let called = run.file_name().unwrap_or(run.as_os_str()).to_string_lossy();
    let near = nearest(&called, names.iter().map(String::as_str));
    let remedy = match near {
        Some(near) => format!("did you mean `{near}`? `plumbline runs` lists all runs"),
        None => "name the folder of a run, its run.json, or `latest`; `plumbline runs` lists all"
            .to_owned(),
    };
    Err(Problem::of_usage("no such run", remedy).at("run", run.display()))
}

/// The run with the latest start time.
fn latest(runs_dir: &Path) -> Result<Located, Problem> {
    let none = || {
        Problem::of_usage("there is no run yet", "make one with `plumbline bench SCENARIO`")
            .at("folder", runs_dir.display())
    };
    if !runs_dir.exists() {
        return Err(none());
    }
    let listing = report::archive::list(runs_dir).map_err(of_reading)?;
    let run = listing.runs.first().ok_or_else(none)?;
    Ok(Located { folder: run.path.clone(), file: record_file(&run.path) })
}

/// The names in the folder of runs; empty if the folder cannot be read.
fn names(runs_dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(runs_dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).take(10_000).collect()
}

/// The name most similar to a word, if any is similar enough.
fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &str| strsim::jaro_winkler(word, name);
    let best = names.map(|name| (likeness(name), name)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.8).then_some(best.1)
}

/// The problem for a record, or a folder of records, that cannot be read.
pub fn of_reading(error: ReportError) -> Problem {
    match &error {
        ReportError::Newer { .. } | ReportError::NoTags { .. } => Problem::of_usage(error, ""),
        ReportError::NoRecord { .. } | ReportError::TooLarge { .. } => {
            Problem::of_usage(error, "name the run.json that `plumbline bench` wrote")
        }
        ReportError::Forbidden { path } => {
            let remedy = "change its permissions, or ask its owner";
            Problem::of_environment("permission to read it is denied", remedy)
                .at("file", path.display())
        }
        _ => Problem::of_environment(error, "check that the file or folder can be read"),
    }
}
