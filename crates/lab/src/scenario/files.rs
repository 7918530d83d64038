//! The text of scenario files: one file, or all of a directory as TIPSY takes them.
//!
//! Sizes and numbers of files are limited before anything is read. Hidden files are left alone, and
//! so are files outside the directory (TIPSY reads some of the home folder).

use std::fs;
use std::path::{Path, PathBuf};

use document::{ENDS, Kind, SIZE_BYTES_MAX, read_text};

use super::ScenarioError;

/// Name and text of a file.
pub(super) type Named = (String, String);

/// The file, or the files of a directory in the order of their names; at least one.
///
/// # Errors
/// When a file cannot be read, is not text or is far too large.
pub(super) fn read(path: &Path) -> Result<Vec<Named>, ScenarioError> {
    if !path.is_dir() {
        return Ok(vec![(path.display().to_string(), read_text(path, &SCENARIO, SIZE_BYTES_MAX)?)]);
    }
    let mut room = SIZE_BYTES_MAX;
    let mut found = Vec::new();
    for file in files_of(path)? {
        let text = read_text(&file, &SCENARIO, room)?;
        room = room.saturating_sub(text.len() as u64);
        found.push((file.display().to_string(), text));
    }
    Ok(found)
}

/// The texts as one, for the record: each after a line with its name.
pub(super) fn joined(files: &[Named]) -> String {
    match files {
        [(_, text)] => text.clone(),
        several => several.iter().map(|(name, text)| format!("--- # {name}\n{text}\n")).collect(),
    }
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>, ScenarioError> {
    let name = folder.display().to_string();
    let fail = |what: String, remedy: &str| Err(ScenarioError::of_file(&name, what, remedy));
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return fail(format!("cannot be read: {error}"), "allow listing it"),
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| is_scenario(path) && path.is_file())
        .take(FILES_MAX + 1)
        .collect();
    files.sort();
    match files.len() {
        0 => fail(
            "this directory contains no scenario file".into(),
            "name a file, or a directory with .json or .yaml files",
        ),
        n if n > FILES_MAX => {
            fail(format!("more than {FILES_MAX} files in this directory"), "name one of them")
        }
        _ => Ok(files),
    }
}

fn is_scenario(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    !name.starts_with('.') && ENDS.iter().any(|end| name.ends_with(end))
}

const FILES_MAX: usize = 1_000;

/// Description of the kind of file, for messages.
pub const SCENARIO: Kind = Kind {
    noun: "scenario",
    folder: "scenarios",
    starting_point: "start from scenarios/mobile-gateway.yaml; `plumbline schema` lists every key",
};
