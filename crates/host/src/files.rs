//! Files that machines write: one thread writes them, because a disk may be slow and no thread of a
//! machine may wait for it.
//!
//! ```text
//!  Departure --Job--> thread `files`: open, write, rename, remove old ones --Done--> Arrival
//! ```
//! Of each file at most [`STREAM_ROOM`] bytes are on their way, so that the queue is bounded by the
//! number of files. A file that cannot be written fails; one that had appeared ends behind the last
//! departure that was written as a whole.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use nix::sys::eventfd::{EfdFlags, EventFd};
use protocol_kit::{Bytes, FileOpening, Kept, STREAM_ROOM, Socket};

use crate::error::SocketError;

/// The files of a host.
#[derive(Default)]
pub(crate) struct Files {
    open: BTreeMap<Socket, OpenFile>,
    /// None until there is a file.
    writer: Option<Writer>,
    next: u64,
}

struct OpenFile {
    number: u64,
    path: PathBuf,
    /// Bytes that have departed and were not taken.
    waiting: usize,
    is_there: bool,
    is_finished: bool,
}

/// The thread.
struct Writer {
    jobs: Option<Sender<Job>>,
    done: Receiver<(u64, Done)>,
    bell: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
}

enum Job {
    Open(u64, FileOpening),
    Write(u64, Bytes),
    Finish(u64),
    Close(u64),
}

/// What has become of a file.
pub(crate) enum Done {
    /// It is there.
    Opened,
    /// So many bytes are in it.
    Written(usize),
    /// It is whole.
    Finished,
    /// It cannot be written, and is closed.
    Failed(io::Error),
}

impl Files {
    /// Returns whether a socket is a file.
    pub fn has(&self, socket: Socket) -> bool {
        self.open.contains_key(&socket)
    }

    /// Begins a file. Returns what is set when something has become of any, if that is new.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn open(
        &mut self,
        socket: Socket,
        opening: &FileOpening,
    ) -> Result<Option<Arc<EventFd>>, SocketError> {
        let path = Path::new(&opening.folder).join(&opening.name);
        let failed = |error| SocketError::opening(path.display(), error);
        let is_new = self.writer.is_none();
        if is_new {
            self.writer = Some(Writer::start().map_err(failed)?);
        }
        let number = self.next;
        self.next += 1;
        let file = OpenFile { number, path, waiting: 0, is_there: false, is_finished: false };
        self.open.insert(socket, file);
        self.ask(Job::Open(number, opening.clone()));
        let bell = self.writer.as_ref().map(|writer| Arc::clone(&writer.bell));
        Ok(bell.filter(|_| is_new))
    }

    /// Bytes depart to a file; false if it is not there, or finished.
    ///
    /// # Errors
    /// When they are more than there is room for.
    pub fn depart(&mut self, socket: Socket, bytes: Bytes) -> Result<bool, SocketError> {
        let Some(file) = self.open.get_mut(&socket) else { return Ok(false) };
        if !file.is_there || file.is_finished {
            return Ok(false);
        }
        file.waiting += bytes.len();
        if file.waiting > STREAM_ROOM {
            let what = file.path.display().to_string();
            let source = io::Error::other("more bytes depart than there is room for");
            return Err(SocketError { what, source });
        }
        let number = file.number;
        self.ask(Job::Write(number, bytes));
        Ok(true)
    }

    /// A file is to be whole; false if it is not there, or is finished.
    pub fn finish(&mut self, socket: Socket) -> bool {
        let Some(file) = self.open.get_mut(&socket) else { return false };
        let is_due = file.is_there && !std::mem::replace(&mut file.is_finished, true);
        if is_due {
            let number = file.number;
            self.ask(Job::Finish(number));
        }
        is_due
    }

    /// Closes a file; false if there is none. One that appears whole does not appear.
    pub fn close(&mut self, socket: Socket) -> bool {
        let Some(file) = self.open.remove(&socket) else { return false };
        self.ask(Job::Close(file.number));
        true
    }

    /// Returns what has become of a file next.
    pub fn next(&mut self) -> Option<(Socket, Result<Done, SocketError>)> {
        loop {
            let (number, done) = self.writer.as_ref()?.done.try_recv().ok()?;
            let found = self.open.iter().find(|(_, file)| file.number == number);
            // One that was closed meanwhile.
            let Some(socket) = found.map(|(socket, _)| *socket) else { continue };
            let Some(file) = self.open.get_mut(&socket) else { continue };
            match &done {
                Done::Opened => file.is_there = true,
                Done::Written(count) => file.waiting -= count,
                Done::Finished | Done::Failed(_) => {}
            }
            return Some(match done {
                Done::Finished => {
                    self.open.remove(&socket);
                    (socket, Ok(Done::Finished))
                }
                Done::Failed(source) => {
                    let what = self.open.remove(&socket).map(|file| file.path);
                    let what = what.unwrap_or_default().display().to_string();
                    (socket, Err(SocketError { what, source }))
                }
                done => (socket, Ok(done)),
            });
        }
    }

    /// Takes back that it was rung.
    pub fn hush(&self) {
        if let Some(writer) = &self.writer {
            let _ = writer.bell.read();
        }
    }

    fn ask(&self, job: Job) {
        let jobs = self.writer.as_ref().and_then(|writer| writer.jobs.as_ref());
        // A thread that has ended by a defect is told of as a panic.
        let _ = jobs.map(|jobs| jobs.send(job));
    }
}

impl Writer {
    fn start() -> io::Result<Writer> {
        let bell = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let bell = Arc::new(bell);
        let ((jobs, waiting), (told, done)) = (channel(), channel());
        let rung = Arc::clone(&bell);
        let body = move || {
            let mut files = BTreeMap::new();
            while let Ok(job) = waiting.recv() {
                if let Some(done) = act(&mut files, job) {
                    if told.send(done).is_err() {
                        return;
                    }
                    let _ = rung.write(1);
                }
            }
        };
        let thread = thread::Builder::new().name("files".to_owned()).spawn(body)?;
        Ok(Writer { jobs: Some(jobs), done, bell, thread: Some(thread) })
    }
}

impl Drop for Writer {
    /// What has departed is written before the end.
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A file as the thread has it.
struct Written {
    file: File,
    opening: FileOpening,
    /// Where the bytes go that do not appear yet.
    hidden: Option<PathBuf>,
    /// Bytes that are in it.
    len: u64,
}

impl Drop for Written {
    fn drop(&mut self) {
        if let Some(hidden) = &self.hidden {
            let _ = fs::remove_file(hidden);
        }
    }
}

/// Does what is asked for; returns what has become of it, if somebody hears of that.
fn act(files: &mut BTreeMap<u64, Written>, job: Job) -> Option<(u64, Done)> {
    let (number, done) = match job {
        Job::Open(number, opening) => {
            let opened = open(opening).map(|file| drop(files.insert(number, file)));
            (number, opened.map(|()| Done::Opened))
        }
        Job::Write(number, bytes) => {
            let file = files.get_mut(&number)?;
            (number, file.write(&bytes).map(|()| Done::Written(bytes.len())))
        }
        Job::Finish(number) => (number, files.remove(&number)?.finish().map(|()| Done::Finished)),
        Job::Close(number) => {
            files.remove(&number);
            return None;
        }
    };
    Some((
        number,
        done.unwrap_or_else(|error| {
            files.remove(&number);
            Done::Failed(error)
        }),
    ))
}

fn open(opening: FileOpening) -> io::Result<Written> {
    let folder = Path::new(&opening.folder);
    fs::create_dir_all(folder)?;
    let path = folder.join(&opening.name);
    let mut options = OpenOptions::new();
    if opening.appears_whole {
        let hidden = folder.join(format!(".{}.part", opening.name));
        let file = options.write(true).create(true).truncate(true).open(&hidden)?;
        return Ok(Written { file, opening, hidden: Some(hidden), len: 0 });
    }
    let mut file = options.write(true).create(true).truncate(false).open(&path)?;
    let len = file.seek(SeekFrom::End(0))?;
    if let Some(kept) = &opening.kept {
        keep(folder, kept);
    }
    Ok(Written { file, opening, hidden: None, len })
}

impl Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            // A part of it is of no use to whoever reads on.
            let _ = self.file.set_len(self.len);
            return Err(error);
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        let folder = Path::new(&self.opening.folder);
        let Some(hidden) = &self.hidden else { return Ok(()) };
        fs::rename(hidden, folder.join(&self.opening.name))?;
        self.hidden = None;
        File::open(folder).and_then(|folder| folder.sync_all())?;
        if let Some(kept) = &self.opening.kept {
            keep(folder, kept);
        }
        Ok(())
    }
}

/// Removes the first files of some names, and what a killed process has left of others. One that
/// cannot be removed is left alone.
fn keep(folder: &Path, kept: &Kept) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_meant = |name: &str| name.starts_with(&kept.begin) && name.ends_with(&kept.end);
    let is_left = |name: &str| {
        let hidden = name.strip_prefix('.').and_then(|name| name.strip_suffix(".part"));
        hidden.is_some_and(is_meant)
    };
    let (left, others): (Vec<String>, Vec<String>) = names.partition(|name| is_left(name));
    let mut meant: Vec<String> = others.into_iter().filter(|name| is_meant(name)).collect();
    meant.sort_unstable();
    meant.truncate(meant.len().saturating_sub(kept.files_max.max(1) as usize));
    for name in left.iter().chain(&meant) {
        let _ = fs::remove_file(folder.join(name));
    }
}
