//! Baselines: runs that have a name, for others to be compared with.
//!
//! A baseline is a tag of the form `baseline.NAME` that one run in a folder has at a time. So it is
//! in the list of runs and never pruned, and the record stays as measured.

use std::path::{Path, PathBuf};

use report::archive::{self, Run, TAGS_MAX, check_tag, set_tags};
use serde_json::json;

use crate::exit::Exit;
use crate::locate::{Located, locate, of_reading};
use crate::output::{print, print_json};
use crate::problem::Problem;

/// A name for a run.
#[derive(clap::Args)]
pub struct Naming {
    /// The name, of letters, digits, `.`, `_` and `-`
    name: String,
    /// The run that has it from now on: its folder, its name in --runs-dir, or `latest`; without
    /// one the run that has the name is printed
    run: Option<PathBuf>,
}

/// Gives a run the name of a baseline, which no other run keeps, or tells which run has it.
///
/// # Errors
/// When the run does not exist or no run has the name, or tags cannot be written.
pub fn name(naming: &Naming, runs_dir: &Path, as_json: bool) -> Result<Exit, Problem> {
    let tag = tag(&naming.name)?;
    let located = match &naming.run {
        None => find(&naming.name, runs_dir)?,
        Some(run) => {
            let located = locate(run, runs_dir)?;
            located.read()?;
            change(&located.folder, |tags| {
                tags.retain(|one| *one != tag);
                tags.push(tag.clone());
            })?;
            // Only then the others lose it, so that the name is never lost.
            let same = |path: &Path| path.canonicalize().ok() == located.folder.canonicalize().ok();
            for other in holders(&tag, runs_dir)?.iter().filter(|run| !same(&run.path)) {
                change(&other.path, |tags| tags.retain(|one| *one != tag))?;
            }
            located
        }
    };
    if as_json {
        print_json(&json!({"baseline": naming.name, "path": located.folder}))?;
    } else {
        print(&format!("{}: {}\n", naming.name, located.folder.display()))?;
    }
    Ok(Exit::Passed)
}

/// The run that has the name of a baseline.
///
/// # Errors
/// When there is none.
pub fn find(name: &str, runs_dir: &Path) -> Result<Located, Problem> {
    let tag = tag(name)?;
    if let Some(run) = holders(&tag, runs_dir)?.first() {
        return locate(&run.path, runs_dir);
    }
    let all = archive_of(runs_dir)?;
    let mut known: Vec<&str> =
        all.iter().flat_map(|run| &run.tags).filter_map(|tag| tag.strip_prefix(PREFIX)).collect();
    known.sort_unstable();
    known.dedup();
    let remedy = match known.is_empty() {
        true => format!("name a run: plumbline runs baseline {name} RUN"),
        false => format!("these are there: {}", known.join(", ")),
    };
    Err(Problem::of_usage(format!("no run is the baseline `{name}`"), remedy)
        .at("folder", runs_dir.display()))
}

/// The runs with a tag, newest first.
fn holders(tag: &String, runs_dir: &Path) -> Result<Vec<Run>, Problem> {
    let mut runs = archive_of(runs_dir)?;
    runs.retain(|run| run.tags.contains(tag));
    Ok(runs)
}

fn archive_of(runs_dir: &Path) -> Result<Vec<Run>, Problem> {
    match runs_dir.exists() {
        true => Ok(archive::list(runs_dir).map_err(of_reading)?.runs),
        false => Ok(Vec::new()),
    }
}

/// Changes the tags beside a record.
fn change(folder: &Path, change: impl FnOnce(&mut Vec<String>)) -> Result<(), Problem> {
    let mut tags = archive::tags(folder).map_err(of_reading)?;
    change(&mut tags);
    tags.sort();
    if tags.len() > TAGS_MAX {
        let what = format!("a run can have at most {TAGS_MAX} tags");
        return Err(Problem::of_usage(what, "remove some with `plumbline runs untag`"));
    }
    Ok(set_tags(folder, &tags)?)
}

fn tag(name: &str) -> Result<String, Problem> {
    let tag = format!("{PREFIX}{name}");
    let usage = |what| Problem::of_usage(format!("`{name}`: {what}"), "give it another name");
    check_tag(&tag).map_err(usage)?;
    if name.is_empty() {
        return Err(usage("a baseline has a name"));
    }
    Ok(tag)
}

/// What the tags of baselines begin with.
const PREFIX: &str = "baseline.";
