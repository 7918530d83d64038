//! Files that are whole or not there: written beside their place and renamed.
//!
//! Guarantees that a reader (or a crash, or a full disk) never sees half a file, that a file from
//! before stays as it was when writing fails, and that what a killed process left half-written is
//! found again and removed. Deliberately knows nothing of what is in a file.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

/// Writes `content` to `path` atomically, and waits until it is on the disk.
///
/// # Errors
/// When the folder does not exist or cannot be written, or the disk is full.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = written_beside(path, content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // The rename itself is durable once the folder is synced.
    File::open(folder_of(path)).and_then(|folder| folder.sync_all())
}

/// Writes `content` to `path` atomically without waiting for the disk, for files that can be
/// recreated: after a loss of power an older file, or none, may remain.
///
/// # Errors
/// Those of [`write_whole`].
pub fn write_whole_unsynced(path: &Path, content: &[u8]) -> io::Result<()> {
    written_beside(path, content)?.persist(path).map(drop).map_err(|error| error.error)
}

/// Reads a file of at most `bytes_max` bytes.
///
/// # Errors
/// When it is not a regular file (a pipe may never end), cannot be read, or is larger than
/// that.
pub fn read_limited(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let what = format!("it is larger than {} MiB", bytes_max >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

/// Removes temporary files that ended processes of this machine left in a folder, and returns their
/// number. Files that cannot be checked remain: they are small, and a later call may remove them.
pub fn remove_abandoned(folder: &Path) -> usize {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let abandoned = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let writer = name.to_str().and_then(writer_of);
        writer.is_some_and(|process| !is_alive(process)) && is_unlocked(&entry.path())
    };
    let found = entries.filter_map(Result::ok).filter(abandoned);
    found.filter(|entry| fs::remove_file(entry.path()).is_ok()).count()
}

fn written_beside(path: &Path, content: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-", std::process::id()))
        .permissions_of_new_file()
        .tempfile_in(folder_of(path))?;
    // Where locks are not to be had, the number of the process alone tells that it is in use.
    let _ = file.as_file().try_lock();
    file.write_all(content)?;
    Ok(file)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the process to which a temporary file with this name belongs.
fn writer_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

/// Returns true if a process runs, or if that is unknown.
fn is_alive(process: u32) -> bool {
    let all = Path::new("/proc");
    !all.join("self").exists() || all.join(process.to_string()).exists()
}

/// Returns true if no process holds the lock of a file: a process in another container has another
/// number here, but holds its lock.
fn is_unlocked(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Sets the permissions of a new file according to the umask, because temporary files are private
/// by default.
trait PermissionsOfNewFile {
    fn permissions_of_new_file(&mut self) -> &mut Self;
}

impl PermissionsOfNewFile for tempfile::Builder<'_, '_> {
    #[cfg(unix)]
    fn permissions_of_new_file(&mut self) -> &mut Self {
        use std::os::unix::fs::PermissionsExt;
        // The kernel takes the umask off these when the file is created.
        self.permissions(fs::Permissions::from_mode(0o666))
    }

    #[cfg(not(unix))]
    fn permissions_of_new_file(&mut self) -> &mut Self {
        self
    }
}

const PREFIX: &str = ".plumbline-";

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("lists").map(|entry| entry.expect("an entry"));
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("run.json");
        write_whole(&path, b"old").expect("writes");
        write_whole(&path, b"new").expect("replaces");
        assert_eq!(fs::read(&path).expect("reads"), b"new");
        write_whole_unsynced(&path, b"newer").expect("replaces");
        assert_eq!(read_limited(&path, 5).expect("reads"), b"newer");
        assert_eq!(names(folder.path()), ["run.json"]);
    }

    #[test]
    fn what_is_larger_than_the_limit_is_not_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("large");
        fs::write(&path, [0; 6]).expect("writes");
        let error = read_limited(&path, 5).expect_err("6 bytes");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(read_limited(folder.path(), 5).is_err(), "a folder");
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("absent").join("run.json");
        let error = write_whole(&path, b"").expect_err("no such folder");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn only_what_nobody_writes_any_more_is_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // Above the largest number that Linux gives to a process.
        let gone = format!("{PREFIX}4194305-abc");
        let ours = format!("{PREFIX}{}-abc", std::process::id());
        let locked = format!("{PREFIX}4194306-abc");
        for name in [&gone, &ours, &locked, &".plumbline-old".to_owned(), &"run.json".to_owned()] {
            fs::write(folder.path().join(name), "").expect("writes");
        }
        let elsewhere = File::open(folder.path().join(&locked)).expect("opens");
        elsewhere.lock().expect("locks");
        assert_eq!(remove_abandoned(folder.path()), 1);
        let left = names(folder.path());
        assert!(!left.contains(&gone) && left.len() == 4, "{left:?}");
    }
}
