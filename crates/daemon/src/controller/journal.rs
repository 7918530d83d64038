//! The journal: updates since the state file was written, so that a daemon that is killed forwards
//! again as it did before its control plane speaks.
//!
//! It lies beside the state file, a JSON object a line: first what it belongs to, then an update
//! each. Where a line is damaged or not whole it ends, for whoever reads it and for whoever goes on
//! behind it. It is begun anew whenever the state file is written, and it ends where the disk is
//! full: then only what was written is known after a kill.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use functions::{AnyUpdate, Configured, Invalid};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::RunError;

/// An open journal.
pub struct Journal {
    path: PathBuf,
    head: Head,
    /// None before the first update, and after an error.
    file: Option<BufWriter<File>>,
    is_broken: bool,
    /// Its length, up to which it is kept when it is opened.
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
    /// The journal beside a state file, of a function and its section, behind its first bytes. What
    /// it has stays until the first update.
    pub fn new(state: &Path, function_name: &str, function: Value, bytes: u64) -> Journal {
        let function_name = function_name.to_owned();
        let head = Head { plumbline_journal: VERSION, function_name, function };
        Journal { path: beside(state), head, file: None, is_broken: false, bytes }
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
        let mut file = match self.file.take() {
            Some(file) => file,
            None => self.open()?,
        };
        for update in updates {
            self.bytes += write_line(&mut file, &update)?;
        }
        file.flush()?;
        self.file = Some(file);
        Ok(())
    }

    fn open(&mut self) -> io::Result<BufWriter<File>> {
        let file = File::options().append(true).create(true).open(&self.path)?;
        file.set_len(self.bytes)?;
        let mut file = BufWriter::new(file);
        if self.bytes == 0 {
            self.bytes += write_line(&mut file, &self.head)?;
        }
        Ok(file)
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

/// A journal that is read from its beginning, one update after the other.
pub struct Replay {
    path: PathBuf,
    file: BufReader<File>,
    head: Head,
    line: Vec<u8>,
    /// Bytes that were read whole.
    bytes: u64,
}

impl Replay {
    /// Opens the journal beside a state file; `None` if there is none, or nothing in it.
    ///
    /// # Errors
    /// When it is no journal, or belongs to another function.
    pub fn open(state: &Path, function_name: &str) -> Result<Option<Replay>, RunError> {
        let path = beside(state);
        let failed = |what: String| RunError::path(&path, what, WITHOUT);
        let unreadable = |error| failed(format!("the journal cannot be read: {error}"));
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(failed("the journal is not a regular file".to_owned()));
        }
        let mut line = Vec::new();
        let mut file = BufReader::new(file);
        if !read_line(&mut file, &mut line).map_err(unreadable)? {
            return Ok(None);
        }
        let head: Head = serde_json::from_slice(&line)
            .map_err(|error| failed(format!("this is no journal of plumbline: {error}")))?;
        if head.plumbline_journal != VERSION || head.function_name != function_name {
            let what = format!("the journal belongs to {}, not to it", head.function_name);
            return Err(failed(what));
        }
        let bytes = line.len() as u64;
        Ok(Some(Replay { path, file, head, line, bytes }))
    }

    /// Section of the function to which the updates apply if there is no state file.
    pub fn function(&self) -> &Value {
        &self.head.function
    }

    /// Returns the next update of this function, or why its line is none; `None` behind the last
    /// one that was written whole.
    ///
    /// # Errors
    /// When the disk does not give it.
    pub fn next(
        &mut self,
        function: &dyn Configured,
    ) -> Result<Option<Result<AnyUpdate, Invalid>>, RunError> {
        let is_whole =
            read_line(&mut self.file, &mut self.line).map_err(|error| self.unreadable(error))?;
        let update = is_whole.then(|| function.update_of(&self.line)).flatten();
        if update.is_some() {
            self.bytes += self.line.len() as u64;
        }
        Ok(update)
    }

    /// Returns where to go on: behind the last update that was read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the bytes behind the last update that was read: of none that was written whole, if
    /// there is no next one.
    ///
    /// # Errors
    /// When the disk does not tell.
    pub fn left_bytes(&self) -> Result<u64, RunError> {
        let metadata = self.file.get_ref().metadata().map_err(|error| self.unreadable(error))?;
        Ok(metadata.len().saturating_sub(self.bytes))
    }

    fn unreadable(&self, error: io::Error) -> RunError {
        RunError::path(&self.path, format!("the journal cannot be read: {error}"), WITHOUT)
    }
}

fn beside(state: &Path) -> PathBuf {
    let mut name = state.file_name().unwrap_or_default().to_owned();
    name.push(".journal");
    state.with_file_name(name)
}

/// Reads a line and returns whether it is whole.
fn read_line(file: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    file.take(LINE_BYTES_MAX).read_until(b'\n', line)?;
    Ok(line.ends_with(b"\n"))
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

const WITHOUT: &str = "configure the right file, or start with `--without-state`: state file and \
                       journal are replaced when the daemon stops";

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Map, json};

    use super::*;

    /// A switch without keys, and its change by a number.
    fn switch() -> Arc<dyn Configured> {
        let kind = functions::FUNCTIONS.iter().find(|kind| kind.name() == "l2-switch");
        kind.expect("it is built in").read(Map::new()).expect("defaults")
    }

    fn change(number: u8) -> Value {
        json!({"remove-station": {"mac": format!("02:00:00:00:00:{number:02x}"), "domain": 0}})
    }

    /// The numbers of all changes of a journal, where to go on, and the bytes behind that; none if
    /// there is no journal.
    fn read(state: &Path) -> Option<(Vec<u8>, u64, u64)> {
        let mut replay = Replay::open(state, "l2-switch").expect("a journal")?;
        assert_eq!(replay.function(), &json!({"core": 1}));
        let switch = switch();
        let number = |update: AnyUpdate| {
            let text = update.value()["remove-station"]["mac"].as_str().map(str::to_owned);
            u8::from_str_radix(&text.expect("an address")[15..], 16).expect("digits")
        };
        let next = || replay.next(&*switch).expect("a disk").map(|one| number(one.expect("one")));
        let numbers = std::iter::from_fn(next).collect();
        Some((numbers, replay.bytes(), replay.left_bytes().expect("a disk")))
    }

    #[test]
    fn what_was_written_whole_is_read_in_order_and_gone_on_with() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("switch.state");
        let journal = |bytes| Journal::new(&state, "l2-switch", json!({"core": 1}), bytes);
        assert_eq!(read(&state), None);
        let mut first = journal(0);
        first.add([change(1), change(2)].into_iter()).expect("room");
        first.add([change(3)].into_iter()).expect("room");
        let len = std::fs::metadata(beside(&state)).expect("a file").len();
        assert_eq!(read(&state), Some((vec![1, 2, 3], len, 0)));
        // What was not written whole is told of, and a new life goes on before it: behind a line
        // that never ends, one without its end, or one of zeroes that a loss of power has left.
        let line = change(4).to_string() + "\n";
        let endless = "x".repeat(LINE_BYTES_MAX as usize) + "\n" + &line;
        for (number, tail) in [(4, "{\"torn"), (5, &endless), (6, &format!("\0\0\n{line}"))] {
            let (numbers, bytes, _) = read(&state).expect("a journal");
            let mut file = File::options().append(true).open(beside(&state)).expect("a file");
            file.write_all(tail.as_bytes()).expect("room");
            assert_eq!(read(&state), Some((numbers.clone(), bytes, tail.len() as u64)));
            journal(bytes).add([change(number)].into_iter()).expect("room");
            let (more, _, left) = read(&state).expect("a journal");
            assert_eq!((more, left), ([&numbers[..], &[number]].concat(), 0));
        }
        let mut last = journal(0);
        last.begin_anew().expect("it goes");
        assert_eq!(read(&state), None);
    }

    #[test]
    fn a_journal_of_another_function_is_refused_and_a_full_disk_ends_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("switch.state");
        Journal::new(&state, "l3-router", json!({}), 0).add([json!(1)].into_iter()).expect("room");
        assert!(Replay::open(&state, "l2-switch").is_err());
        std::fs::write(beside(&state), "no journal\n").expect("room");
        assert!(Replay::open(&state, "l2-switch").is_err());
        let mut other = Journal::new(&state, "l2-switch", json!({}), 0);
        other.begin_anew().expect("it goes");
        other.add([change(1), json!({"turn-off": 2}), change(3)].into_iter()).expect("room");
        let mut replay = Replay::open(&state, "l2-switch").expect("a journal").expect("one");
        let mut next = || replay.next(&*switch()).expect("a disk");
        assert!(next().is_some_and(|first| first.is_ok()));
        let error = next().expect("a line").expect_err("no change").what;
        assert!(error.contains("turn-off"), "{error}");
        assert!(next().is_some_and(|third| third.is_ok()));
        let mut journal = Journal::new(Path::new("/dev/full/router"), "router", json!({}), 0);
        assert!(journal.add([json!(1)].into_iter()).is_err());
        assert!(journal.add([json!(2)].into_iter()).is_ok(), "it is said once");
    }
}
