//! The text of a file that a person named: limited in size, and with a hint where it is not there.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::{DocumentError, Kind};
use keys::nearest;

/// Reads the text of a file of this kind.
///
/// # Errors
/// When it cannot be read, is not text or is larger than `bytes_max`.
pub fn read_text(path: &Path, kind: &Kind, bytes_max: u64) -> Result<String, DocumentError> {
    let file = &path.display().to_string();
    let fail = |what: &str, remedy: String| Err(DocumentError::of_file(file, what, remedy));
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|input| input.take(bytes_max + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return fail("no such file", similar_file(path, kind));
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return fail("permission denied", format!("allow reading it: chmod u+r {file}"));
        }
        Err(error) => {
            let remedy = "copy its text to a regular file, and use that file";
            return fail(&format!("cannot be read: {error}"), remedy.into());
        }
    }
    if bytes.len() as u64 > bytes_max {
        return fail(
            &format!("larger than {} MiB, the limit of a {}", bytes_max >> 20, kind.noun),
            "check that this is the right file".into(),
        );
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..good].iter().filter(|&&byte| byte == b'\n').count();
        let what = format!("byte {good} is not UTF-8 text");
        let remedy = format!("save the file as UTF-8, and check that it is a {}", kind.noun);
        DocumentError {
            line: u32::try_from(line).ok(),
            ..DocumentError::of_file(file, what, remedy)
        }
    })
}

/// Returns advice for a file that does not exist: a file with a similar name in the same folder.
fn similar_file(path: &Path, kind: &Kind) -> String {
    let wanted = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    for folder in folder.into_iter().chain([Path::new("."), Path::new(kind.folder)]) {
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
    format!(
        "check the path; the {0}s that come with the source are in {1}/",
        kind.noun, kind.folder
    )
}

/// Extensions of such files.
pub const ENDS: [&str; 3] = [".yaml", ".yml", ".json"];

/// Largest file that is read, in bytes.
pub const SIZE_BYTES_MAX: u64 = 16 << 20;
