//! Files that are whole or not there: written beside their place, synced, and renamed.
//!
//! Guarantees that a reader (or a crash, or a full disk) never sees half a file, and that a file
//! from before stays as it was when writing fails.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::ReportError;

/// Writes `content` to `path` in one step.
///
/// # Errors
/// When the folder does not exist or cannot be written, or the disk is full.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), ReportError> {
    let failed = |source| ReportError::of(path, source);
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".plumbline-")
        .permissions_of_new_file()
        .tempfile_in(folder)
        .map_err(failed)?;
    file.write_all(content).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    // The rename itself is durable once the folder is synced.
    File::open(folder).and_then(|f| f.sync_all()).map_err(failed)
}

/// Temporary files are private by default; a report is to be read by others as the umask says.
trait PermissionsOfNewFile {
    fn permissions_of_new_file(&mut self) -> &mut Self;
}

impl PermissionsOfNewFile for tempfile::Builder<'_, '_> {
    #[cfg(unix)]
    fn permissions_of_new_file(&mut self) -> &mut Self {
        use std::os::unix::fs::PermissionsExt;
        // The kernel takes the umask off these when the file is created.
        self.permissions(std::fs::Permissions::from_mode(0o666))
    }

    #[cfg(not(unix))]
    fn permissions_of_new_file(&mut self) -> &mut Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("run.json");
        write_whole(&path, b"old").expect("writes");
        write_whole(&path, b"new").expect("replaces");
        assert_eq!(std::fs::read(&path).expect("reads"), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).expect("lists").count(), 1);
    }

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
