//! The text of scenario files: one file, or all of a directory as TIPSY takes them.
//!
//! Sizes and numbers of files are limited before anything is read. Hidden files are left alone, and
//! so are files outside the directory (TIPSY reads some of the home folder).

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::ScenarioError;
use super::keys::nearest;

/// A file's name and its text.
pub(super) type Named = (String, String);

/// The file, or the files of a directory in the order of their names; at least one.
///
/// # Errors
/// When it cannot be read, is no text or is absurdly large.
pub(super) fn read(path: &Path) -> Result<Vec<Named>, ScenarioError> {
    if !path.is_dir() {
        return Ok(vec![(path.display().to_string(), read_text(path, SIZE_BYTES_MAX)?)]);
    }
    let mut room = SIZE_BYTES_MAX;
    let mut found = Vec::new();
    for file in files_of(path)? {
        let text = read_text(&file, room)?;
        room = room.saturating_sub(text.len() as u64);
        found.push((file.display().to_string(), text));
    }
    Ok(found)
}

/// The texts as one, for the record: each behind a line with its name.
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
            "this directory has no scenario file in it".into(),
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

fn read_text(path: &Path, bytes_max: u64) -> Result<String, ScenarioError> {
    let file = &path.display().to_string();
    let fail = |what: &str, remedy: String| Err(ScenarioError::of_file(file, what, remedy));
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|input| input.take(bytes_max + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return fail("no such file", similar_file(path));
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return fail("permission denied", format!("allow reading it: chmod u+r {file}"));
        }
        Err(error) => {
            let remedy = "copy its text to an ordinary file, and name that";
            return fail(&format!("cannot be read: {error}"), remedy.into());
        }
    }
    if bytes.len() as u64 > bytes_max {
        return fail(
            "larger than 16 MiB, which no scenario is",
            "check that this is the file you meant".into(),
        );
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..good].iter().filter(|&&byte| byte == b'\n').count();
        let what = format!("byte {good} is not UTF-8 text");
        let remedy = "save the file as UTF-8, and check that it is a scenario";
        ScenarioError {
            line: u32::try_from(line).ok(),
            ..ScenarioError::of_file(file, what, remedy)
        }
    })
}

/// What to say of a file that is not there: one beside it with nearly the same name.
fn similar_file(path: &Path) -> String {
    let wanted = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    for folder in folder.into_iter().chain([Path::new("."), Path::new("scenarios")]) {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| ENDS.iter().any(|end| name.ends_with(end)))
            .collect();
        names.sort();
        if let Some(name) = nearest(&wanted.clone().unwrap_or_default(), names.iter()) {
            return format!("did you mean {}?", folder.join(name).display());
        }
    }
    "check the path; the scenarios that come with the source are in scenarios/".into()
}

const ENDS: [&str; 3] = [".yaml", ".yml", ".json"];
const SIZE_BYTES_MAX: u64 = 16 << 20;
const FILES_MAX: usize = 1_000;
