//! The journal: updates since the state file was written, so that a daemon that is killed forwards
//! again as it did before its control plane speaks.
//!
//! It lies beside the state file, a JSON object a line: first what it belongs to, then an update
//! each. A last line that was not written whole is left out. It is begun anew whenever the state
//! file is written, and it ends where the disk is full: then only what was written is known after a
//! kill.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::RunError;
use crate::read::Configuration;
use crate::state::Memory;

/// An open journal.
pub struct Journal {
    path: PathBuf,
    head: Head,
    /// None before the first update, and after an error.
    file: Option<BufWriter<File>>,
    is_broken: bool,
    bytes: u64,
}

/// What a journal belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    plumbline_journal: u32,
    function_name: String,
    /// Section of the function to which the changes apply if there is no state file.
    function: Value,
}

impl Journal {
    /// The journal beside a state file, of a function and its section. What it has stays until the
    /// first update.
    pub fn new(state: &Path, function_name: &str, function: Value) -> Journal {
        let function_name = function_name.to_owned();
        let head = Head { plumbline_journal: VERSION, function_name, function };
        Journal { path: beside(state), head, file: None, is_broken: false, bytes: 0 }
    }

    /// Reads the journal beside a state file and adds it to what that says; `None` if there is
    /// neither.
    ///
    /// # Errors
    /// When the journal is no journal, or belongs to another function.
    pub fn read(
        state: &Path,
        function_name: &str,
        memory: Option<Memory>,
    ) -> Result<Option<Memory>, RunError> {
        let path = beside(state);
        let failed = |what: String| RunError::path(&path, what, WITHOUT);
        let bytes = match files::read_limited(&path, SIZE_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(memory),
            Err(error) => return Err(failed(format!("the journal cannot be read: {error}"))),
        };
        let mut lines = bytes.split_inclusive(|&byte| byte == b'\n');
        let Some(head) = lines.next().filter(|line| line.ends_with(b"\n")) else {
            return Ok(memory);
        };
        let head: Head = serde_json::from_slice(head)
            .map_err(|error| failed(format!("this is no journal of plumbline: {error}")))?;
        if head.plumbline_journal != VERSION || head.function_name != function_name {
            let what = format!("the journal belongs to {}, not to it", head.function_name);
            return Err(failed(what));
        }
        let mut memory = memory.unwrap_or(Memory { function: head.function, updates: Vec::new() });
        // What follows a line that was not written whole was never written.
        let whole = lines.map_while(|line| {
            line.ends_with(b"\n").then(|| serde_json::from_slice(line).ok()).flatten()
        });
        memory.updates.extend(whole);
        Ok(Some(memory))
    }

    /// Goes on behind what was read.
    ///
    /// # Errors
    /// What the disk says.
    pub fn resume(&mut self) -> io::Result<()> {
        let options = File::options().read(true).append(true).create(true).clone();
        let mut file = options.open(&self.path)?;
        self.bytes = whole_len(&mut file)?;
        file.set_len(self.bytes)?;
        let mut file = BufWriter::new(file);
        if self.bytes == 0 {
            self.bytes += write_line(&mut file, &self.head)?;
        }
        self.file = Some(file);
        Ok(())
    }

    /// Adds updates.
    ///
    /// # Errors
    /// What the disk says, the first time: the journal has ended then.
    pub fn add(&mut self, updates: impl Iterator<Item = Value>) -> io::Result<()> {
        if self.is_broken {
            return Ok(());
        }
        let added = self.try_add(updates);
        if added.is_err() {
            (self.file, self.is_broken) = (None, true);
        }
        added
    }

    fn try_add(&mut self, updates: impl Iterator<Item = Value>) -> io::Result<()> {
        if self.file.is_none() {
            self.resume()?;
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        for update in updates {
            self.bytes += write_line(file, &update)?;
        }
        file.flush()
    }

    /// Whether it is so long that the state file is to be written.
    pub fn is_long(&self) -> bool {
        self.bytes > LONG_BYTES
    }

    /// Begins anew, because the state file has everything.
    ///
    /// # Errors
    /// What the disk says.
    pub fn begin_anew(&mut self) -> io::Result<()> {
        (self.file, self.is_broken, self.bytes) = (None, false, 0);
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// The journal of a daemon with a controller and a state file, behind what it has or anew.
///
/// # Errors
/// When it cannot be written.
pub fn journal_of(
    configuration: &Configuration,
    with_state: bool,
) -> Result<Option<Journal>, RunError> {
    let path = configuration.state.as_ref().filter(|_| !configuration.controllers.is_empty());
    let Some(path) = path else { return Ok(None) };
    let function = &configuration.function;
    let keys = Value::Object(function.configured.keys());
    let mut journal = Journal::new(path, function.kind.name(), keys);
    let begun = if with_state { journal.resume() } else { journal.begin_anew() };
    let remedy = "choose a `state` that this process may write to, on a disk with free space";
    begun.map_err(|error| {
        RunError::path(path, format!("the journal cannot be written: {error}"), remedy)
    })?;
    Ok(Some(journal))
}

fn beside(state: &Path) -> PathBuf {
    let mut name = state.file_name().unwrap_or_default().to_owned();
    name.push(".journal");
    state.with_file_name(name)
}

/// Returns where the last line ends that was written whole.
fn whole_len(file: &mut File) -> io::Result<u64> {
    let len = file.metadata()?.len();
    let start = len.saturating_sub(LINE_BYTES_MAX);
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.take(LINE_BYTES_MAX).read_to_end(&mut tail)?;
    let end = tail.iter().rposition(|&byte| byte == b'\n');
    Ok(end.map_or(0, |end| start + end as u64 + 1))
}

fn write_line(file: &mut impl Write, value: &impl Serialize) -> io::Result<u64> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)?;
    Ok(line.len() as u64)
}

const VERSION: u32 = 1;

/// Longest line of a journal in bytes, far above that of any update.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// A journal of this length is made part of the state file.
const LONG_BYTES: u64 = 1 << 30;

/// Largest size of a journal in bytes.
const SIZE_BYTES_MAX: u64 = 4 << 30;

const WITHOUT: &str = "configure the right file, or start with `--without-state`: state file and \
                       journal are replaced when the daemon stops";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(state: &Path, memory: Option<Memory>) -> Option<Memory> {
        Journal::read(state, "router", memory).expect("a journal")
    }

    #[test]
    fn what_was_written_whole_is_read_in_order_behind_the_state() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("router.state");
        assert_eq!(read(&state, None), None);
        let mut journal = Journal::new(&state, "router", json!({"core": 1}));
        journal.add([json!(1), json!(2)].into_iter()).expect("room");
        journal.add([json!(3)].into_iter()).expect("room");
        let updates = vec![json!(1), json!(2), json!(3)];
        let expected = Memory { function: json!({"core": 1}), updates };
        assert_eq!(read(&state, None), Some(expected));
        let kept = Memory { function: json!({"core": 2}), updates: vec![json!(0)] };
        let read_on = read(&state, Some(kept)).expect("both");
        assert_eq!((read_on.function, read_on.updates.len()), (json!({"core": 2}), 4));
        // A new life goes on behind it, and puts away what was not written whole.
        let mut next = Journal::new(&state, "router", json!({"core": 1}));
        next.resume().expect("a file");
        next.add([json!(4)].into_iter()).expect("room");
        let mut file = File::options().append(true).open(beside(&state)).expect("a file");
        file.write_all(b"{\"torn").expect("room");
        assert_eq!(read(&state, None).expect("a journal").updates.len(), 4);
        let mut next = Journal::new(&state, "router", json!({"core": 1}));
        next.resume().expect("a file");
        next.add([json!(5)].into_iter()).expect("room");
        let updates = read(&state, None).expect("a journal").updates;
        assert_eq!(updates, (1..=5).map(|number| json!(number)).collect::<Vec<_>>());
        next.begin_anew().expect("it goes");
        assert_eq!(read(&state, None), None);
        assert!(Journal::read(&state, "router", None).is_ok());
    }

    #[test]
    fn a_journal_of_another_function_is_refused_and_a_full_disk_ends_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("router.state");
        Journal::new(&state, "switch", json!({})).add([json!(1)].into_iter()).expect("room");
        assert!(Journal::read(&state, "router", None).is_err());
        std::fs::write(beside(&state), "no journal\n").expect("room");
        assert!(Journal::read(&state, "router", None).is_err());
        let mut journal = Journal::new(Path::new("/dev/full/router"), "router", json!({}));
        assert!(journal.add([json!(1)].into_iter()).is_err());
        assert!(journal.add([json!(2)].into_iter()).is_ok(), "it is said once");
    }
}
