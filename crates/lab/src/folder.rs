//! The folder of a run: made before anything is measured, so that an hour of measuring does not end
//! with nowhere to write, and never one that exists.
//!
//! What is written into it, and how, is the exporters' business.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A new folder for the files of one run.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
}

/// A folder that cannot be created, or whose disk is too small.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
pub struct FolderError {
    /// Path of the folder or file.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

impl RunFolder {
    /// Creates `parent/name`, or `parent/name-2` and so on if it exists, and checks that
    /// `needed_bytes` can be written there.
    ///
    /// # Errors
    /// When the folder cannot be created or written, or the disk has too little space.
    pub fn create(parent: &Path, name: &str, needed_bytes: u64) -> Result<RunFolder, FolderError> {
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |source| FolderError { path, source }
        };
        fs::create_dir_all(parent).map_err(fail(parent))?;
        remove_abandoned(parent);
        let mut path = parent.join(name);
        for number in 2.. {
            match fs::create_dir(&path) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    path = parent.join(format!("{name}-{number}"));
                }
                Err(error) => return Err(fail(&path)(error)),
            }
        }
        let folder = RunFolder { path };
        if let Err(error) = check_room(&folder.path, needed_bytes) {
            // Empty, and of no use to anyone.
            let _ = fs::remove_dir(&folder.path);
            return Err(error);
        }
        Ok(folder)
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes partially written files that killed benches left in their folders; folders that cannot
/// be read are left alone.
fn remove_abandoned(parent: &Path) {
    let folders = fs::read_dir(parent).into_iter().flatten().filter_map(Result::ok);
    for run in folders.take(FOLDERS_LOOKED_INTO_MAX) {
        files::remove_abandoned(&run.path());
    }
}

/// Creates a folder if it does not exist, and checks that `needed_bytes` can be written there.
///
/// # Errors
/// When the folder cannot be created or written, or the disk has too little space.
pub(crate) fn make_with_room(path: &Path, needed_bytes: u64) -> Result<(), FolderError> {
    let fail = |source| FolderError { path: path.to_owned(), source };
    fs::create_dir_all(path).map_err(fail)?;
    check_room(path, needed_bytes)
}

fn check_room(folder: &Path, needed_bytes: u64) -> Result<(), FolderError> {
    let fail = |source| FolderError { path: folder.to_owned(), source };
    let disk = rustix::fs::statvfs(folder).map_err(|error| fail(error.into()))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free < needed_bytes {
        let what = format!("{} MiB are free, {} are needed", free >> 20, needed_bytes >> 20);
        return Err(fail(io::Error::new(io::ErrorKind::StorageFull, what)));
    }
    // A folder of another user may exist and still refuse files; so may a quota.
    let probe = folder.join(format!(".plumbline-{}-probe", std::process::id()));
    files::write_whole(&probe, b"room?").map_err(fail)?;
    fs::remove_file(&probe).map_err(fail)
}

/// Largest number of folders that are searched for such files, so that the run is not delayed.
const FOLDERS_LOOKED_INTO_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_never_reused() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let make = || RunFolder::create(parent.path(), "run", 1).expect("there is room");
        assert!(make().path().ends_with("run"));
        assert!(make().path().ends_with("run-2"));
        assert!(make().path().ends_with("run-3"));
    }

    #[test]
    fn room_is_checked_before_the_run() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let error = RunFolder::create(parent.path(), "run", u64::MAX).expect_err("no disk has it");
        assert_eq!(error.source.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_dir(parent.path()).expect("readable").count(), 0, "left as it was");
    }

    #[test]
    fn a_file_in_the_way_is_an_error() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let file = parent.path().join("file");
        fs::write(&file, "").expect("writable");
        let error = RunFolder::create(&file, "run", 1).expect_err("a file is not a folder");
        assert_eq!(error.path, file);
    }
}
