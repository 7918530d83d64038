//! Writing with errors that name the file and the remedy; the writing itself is that of `files`.

use std::path::Path;

use crate::ReportError;

/// Writes `content` to `path` atomically; an existing file is unchanged if that fails.
///
/// # Errors
/// When the folder does not exist or cannot be written, or the disk is full.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), ReportError> {
    files::write_whole(path, content).map_err(|source| ReportError::of(path, source))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_missing_folder_is_an_error_that_names_the_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("absent").join("run.json");
        let error = write_whole(&path, b"").expect_err("no such folder").to_string();
        assert!(error.contains("absent/run.json"), "{error}");
    }

    #[test]
    fn a_full_disk_is_named_as_such() {
        // /dev/full refuses every write; a real disk does the same with the same error.
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let Ok(mut full) = full else { return };
        let source = full.write_all(&[0; 8]).expect_err("it is full");
        let error = ReportError::of(Path::new("run.json"), source);
        assert!(matches!(error, ReportError::DiskFull { .. }), "{error}");
        assert!(error.to_string().contains("nothing was overwritten"));
    }
}
