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

/// One side's end of the meeting point.
pub enum Meeting {
    /// Made here; the file goes with it.
    Listening {
        /// Where peers knock.
        listener: UnixListener,
        /// What was made.
        _file: SocketFile,
    },
    /// Made by the peer, whenever it comes.
    Connecting {
        /// Where it is looked for.
        path: PathBuf,
    },
}

/// A socket's file that this program made.
pub struct SocketFile {
    path: PathBuf,
    inode: u64,
}

impl Meeting {
    /// Listens at a path. A file that an ended program left there is removed.
    ///
    /// # Errors
    /// Naming the socket and what to do.
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

    /// Waits for a peer. None when this side is to end, an error when it cannot be reached now.
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
                    ErrorKind::NotFound => "nobody has made it yet".to_owned(),
                    ErrorKind::ConnectionRefused => "nobody listens at it".to_owned(),
                    ErrorKind::PermissionDenied => {
                        "no permission: chmod it, or run as its user".to_owned()
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

/// Until something can be read (or the peer has gone); false when this side is to end.
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

/// Waits for a time; false when this side is to end.
pub fn pause(time: Duration, stop: &Stop) -> bool {
    let time = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
    let _ = poll(&mut [PollFd::new(stop.event(), PollFlags::IN)], Some(&time));
    !stop.is_set()
}

/// Removes the file of a socket at which nobody listens any more.
fn remove_stale(path: &Path) -> Result<(), PortError> {
    let shown = path.display();
    let facts = fs::symlink_metadata(path).map_err(|error| cannot_listen(path, &error))?;
    if !facts.file_type().is_socket() {
        let what = format!("{shown} exists and is no socket");
        return Err(PortError::new(what, "choose another path, or remove the file yourself"));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path)
            .map_err(|error| {
                let what = format!("{shown} is left over from an ended program: {error}");
                PortError::new(what, format!("remove it: rm {shown}"))
            }),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(PortError::new(
            format!("{shown} exists and may not be tried: {error}"),
            format!("see who made it: ls -l {shown}"),
        )),
        _ => Err(PortError::new(
            format!("another program listens at {shown}"),
            format!("stop it (`ss -xlp src {shown}` tells which it is), or choose another path"),
        )),
    }
}

fn cannot_listen(path: &Path, error: &io::Error) -> PortError {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).display();
    let remedy = match error.kind() {
        ErrorKind::NotFound => format!("make its folder: mkdir -p {folder}"),
        ErrorKind::PermissionDenied => {
            format!("choose a folder in which you may write, or allow it: ls -ld {folder}")
        }
        _ => "choose another path".to_owned(),
    };
    PortError::new(format!("cannot listen at {}: {error}", path.display()), remedy)
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
        assert!(taken.what.contains("another program listens at"), "{taken}");
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
        assert!(refused.what.contains("is no socket"), "{refused}");
        let absent = Meeting::listen(&folder.path().join("no/vm.sock")).err().expect("no folder");
        assert!(absent.remedy.contains("mkdir"), "{absent:?}");
    }
}
