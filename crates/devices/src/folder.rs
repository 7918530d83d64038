//! The private run directory: sockets, configuration and logs of one device.
//!
//! It goes with its owner. A process that was killed leaves its folder behind; the next one that
//! makes a folder sweeps those of processes that are no more.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that only its owner can enter.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Creates a new folder in the folder for temporary files.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn new() -> io::Result<Folder> {
        let parent = std::env::temp_dir();
        sweep(&parent);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        // What is there under this name is of a dead process whose number came again.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Folder { path })
    }

    /// Returns the path of a file in the folder, as text for command lines.
    pub fn file(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Removes the folders of processes that no longer exist.
fn sweep(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        let Some(owner) = owner.and_then(|owner| owner.parse::<u32>().ok()) else { continue };
        if !Path::new(&format!("/proc/{owner}")).exists() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Number of the next folder of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);

const PREFIX: &str = "plumbline-device-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_owner_and_those_of_the_dead_are_swept() {
        let mut other = std::process::Command::new("true").spawn().expect("it is everywhere");
        let dead = std::env::temp_dir().join(format!("{PREFIX}{}-0", other.id()));
        other.wait().expect("it ends");
        std::fs::create_dir_all(&dead).expect("a folder");
        std::fs::write(dead.join("conf.db"), "left behind").expect("a file");
        let folder = Folder::new().expect("a folder");
        assert!(!dead.exists());
        std::fs::write(folder.file("conf.db"), "mine").expect("a file");
        let second = Folder::new().expect("a folder");
        assert!(folder.path().join("conf.db").exists(), "the living keep theirs");
        let path = folder.path().to_owned();
        drop((folder, second));
        assert!(!path.exists());
    }
}
