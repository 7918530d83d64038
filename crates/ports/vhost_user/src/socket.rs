//! The Unix socket at which both sides meet: made or connected to, waited for, and removed.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::PortError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::control::Stop;

/// This side of the socket by which the peers find each other.
pub enum Meeting {
    /// This side created the socket; the file is removed with it.
    Listening {
        /// Listening socket.
        listener: UnixListener,
        /// File of the socket.
        _file: SocketFile,
    },
    /// The peer creates the socket.
    Connecting {
        /// Path of the socket.
        path: PathBuf,
    },
}

/// File of a socket that this program created.
pub struct SocketFile {
    path: PathBuf,
    inode: u64,
}

impl Meeting {
    /// Listens at a path. A file that an ended program left is removed.
    ///
    /// # Errors
    /// The socket and a remedy.
    pub fn listen(path: &Path) -> Result<Meeting, PortError> {
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                remove_stale(path)?;
                UnixListener::bind(path)
            }
            bound => bound,
        };
        let listener = listener.map_err(|error| cannot_listen(path, &error))?;
        let failed = |error: io::Error| cannot_listen(path, &error);
        listener.set_nonblocking(true).map_err(failed)?;
        let inode = fs::symlink_metadata(path).map_err(failed)?.ino();
        let file = SocketFile { path: path.to_owned(), inode };
        Ok(Meeting::Listening { listener, _file: file })
    }

    /// Waits for a peer. `None` when this side must end, an error when the peer cannot be reached
    /// now.
    pub fn next(&self, stop: &Stop) -> Option<Result<UnixStream, String>> {
        let stream = match self {
            Meeting::Listening { listener, .. } => {
                if !wait_for(listener.as_fd(), stop) {
                    return None;
                }
                match listener.accept() {
                    // What listens does not block; what talks does.
                    Ok((stream, _)) => stream.set_nonblocking(false).map(|()| stream),
                    Err(error) => Err(error),
                }
                .map_err(|error| format!("the peer cannot be accepted: {error}"))
            }
            Meeting::Connecting { path } => UnixStream::connect(path).map_err(|error| {
                let why = match error.kind() {
                    ErrorKind::NotFound => "it does not exist yet".to_owned(),
                    ErrorKind::ConnectionRefused => "nobody listens on it".to_owned(),
                    ErrorKind::PermissionDenied => {
                        "permission denied: change its mode, or run as its owner".to_owned()
                    }
                    _ => error.to_string(),
                };
                format!("{}: {why}", path.display())
            }),
        };
        Some(stream)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Another program may have put its own there.
        if fs::symlink_metadata(&self.path).is_ok_and(|facts| facts.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Waits until data can be read (or the peer has disconnected); returns false when this side must
/// end.
pub fn wait_for(what: BorrowedFd<'_>, stop: &Stop) -> bool {
    loop {
        let mut waited =
            [PollFd::new(&what, PollFlags::IN), PollFd::new(stop.event(), PollFlags::IN)];
        let polled = poll(&mut waited, None);
        if stop.is_set() {
            return false;
        }
        if polled.is_ok() && !waited[0].revents().is_empty() {
            return true;
        }
    }
}

/// Waits for a time; returns false when this side must end.
pub fn pause(time: Duration, stop: &Stop) -> bool {
    let time = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
    let _ = poll(&mut [PollFd::new(stop.event(), PollFlags::IN)], Some(&time));
    !stop.is_set()
}

/// Removes the file of a socket on which nobody listens any more.
fn remove_stale(path: &Path) -> Result<(), PortError> {
    let shown = path.display();
    let facts = fs::symlink_metadata(path).map_err(|error| cannot_listen(path, &error))?;
    if !facts.file_type().is_socket() {
        let what = format!("{shown} exists and is not a socket");
        return Err(PortError::new(what, "choose another path, or remove the file yourself"));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path)
            .map_err(|error| {
                let what = format!("{shown} is left over from an ended program: {error}");
                PortError::new(what, format!("remove it: rm {shown}"))
            }),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(PortError::new(
            format!("{shown} exists and cannot be connected to: {error}"),
            format!("check its owner: ls -l {shown}"),
        )),
        _ => Err(PortError::new(
            format!("another program listens on {shown}"),
            format!("stop it (`ss -xlp src {shown}` shows its process), or choose another path"),
        )),
    }
}

fn cannot_listen(path: &Path, error: &io::Error) -> PortError {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).display();
    let remedy = match error.kind() {
        ErrorKind::NotFound => format!("create its folder: mkdir -p {folder}"),
        ErrorKind::PermissionDenied => {
            format!(
                "choose a folder in which you have write permission, or change its mode: ls \
                     -ld {folder}"
            )
        }
        _ => "choose another path".to_owned(),
    };
    PortError::new(format!("cannot listen on {}: {error}", path.display()), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_listens_at_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("vm.sock");
        let meeting = Meeting::listen(&path).expect("it is free");
        let taken = Meeting::listen(&path).err().expect("it is taken");
        assert!(taken.what.contains("another program listens on"), "{taken}");
        drop(meeting);
        assert!(!path.exists(), "the file goes with who made it");
        drop(UnixListener::bind(&path).expect("as a killed program leaves it"));
        assert!(path.exists());
        let meeting = Meeting::listen(&path).expect("it is taken over");
        fs::remove_file(&path).expect("it is there");
        fs::write(&path, "mine").expect("writable");
        drop(meeting);
        assert!(path.exists(), "what another put there stays");
        let refused = Meeting::listen(&path).err().expect("it is a file");
        assert!(refused.what.contains("is not a socket"), "{refused}");
        let absent = Meeting::listen(&folder.path().join("no/vm.sock")).err().expect("no folder");
        assert!(absent.remedy.contains("mkdir"), "{absent:?}");
    }
}
