//! The journal: updates since the state file was written, so that a daemon that is killed forwards
//! again as it did before its control plane speaks.
//!
//! It lies beside the state file, a JSON object a line: first what it belongs to, then an update
//! each. A last line that was not written whole is left out. It is begun anew whenever the state
//! file is written, and it ends where the disk is full: then only what was written is known after a
//! kill.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use functions::{AnyUpdate, Configured, Invalid};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::RunError;
use crate::read::Configuration;

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

/// A journal that is read from its beginning, one update after the other.
pub struct Replay {
    path: PathBuf,
    file: BufReader<File>,
    head: Head,
    line: Vec<u8>,
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
        Ok(Some(Replay { path, file, head, line }))
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
        let failed = |what: String| RunError::path(&self.path, what, WITHOUT);
        let is_whole = read_line(&mut self.file, &mut self.line)
            .map_err(|error| failed(format!("the journal cannot be read: {error}")))?;
        // What follows a line that was not written whole was never written.
        Ok(is_whole.then(|| function.update_of(&self.line)).flatten())
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

    /// The numbers of all changes of a journal; none if there is no journal.
    fn read(state: &Path) -> Option<Vec<u8>> {
        let mut replay = Replay::open(state, "l2-switch").expect("a journal")?;
        assert_eq!(replay.function(), &json!({"core": 1}));
        let switch = switch();
        let number = |update: AnyUpdate| {
            let text = update.value()["remove-station"]["mac"].as_str().map(str::to_owned);
            u8::from_str_radix(&text.expect("an address")[15..], 16).expect("digits")
        };
        let next = || replay.next(&*switch).expect("a disk").map(|one| number(one.expect("one")));
        Some(std::iter::from_fn(next).collect())
    }

    #[test]
    fn what_was_written_whole_is_read_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("switch.state");
        let journal = || Journal::new(&state, "l2-switch", json!({"core": 1}));
        assert_eq!(read(&state), None);
        let mut first = journal();
        first.add([change(1), change(2)].into_iter()).expect("room");
        first.add([change(3)].into_iter()).expect("room");
        assert_eq!(read(&state), Some(vec![1, 2, 3]));
        // A new life goes on behind it, and puts away what was not written whole.
        let mut next = journal();
        next.resume().expect("a file");
        next.add([change(4)].into_iter()).expect("room");
        let mut file = File::options().append(true).open(beside(&state)).expect("a file");
        file.write_all(b"{\"torn").expect("room");
        assert_eq!(read(&state), Some(vec![1, 2, 3, 4]));
        let mut next = journal();
        next.resume().expect("a file");
        next.add([change(5)].into_iter()).expect("room");
        assert_eq!(read(&state), Some(vec![1, 2, 3, 4, 5]));
        // A line that never ends is no update, however long the file is.
        file.set_len(1 << 30).expect("a file with a hole");
        assert_eq!(read(&state), Some(vec![1, 2, 3, 4, 5]));
        next.begin_anew().expect("it goes");
        assert_eq!(read(&state), None);
    }

    #[test]
    fn a_journal_of_another_function_is_refused_and_a_full_disk_ends_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("switch.state");
        Journal::new(&state, "l3-router", json!({})).add([json!(1)].into_iter()).expect("room");
        assert!(Replay::open(&state, "l2-switch").is_err());
        std::fs::write(beside(&state), "no journal\n").expect("room");
        assert!(Replay::open(&state, "l2-switch").is_err());
        let mut other = Journal::new(&state, "l2-switch", json!({}));
        other.begin_anew().expect("it goes");
        other.add([change(1), json!({"turn-off": 2}), change(3)].into_iter()).expect("room");
        let mut replay = Replay::open(&state, "l2-switch").expect("a journal").expect("one");
        let mut next = || replay.next(&*switch()).expect("a disk");
        assert!(next().is_some_and(|first| first.is_ok()));
        let error = next().expect("a line").expect_err("no change").what;
        assert!(error.contains("turn-off"), "{error}");
        assert!(next().is_some_and(|third| third.is_ok()));
        let mut journal = Journal::new(Path::new("/dev/full/router"), "router", json!({}));
        assert!(journal.add([json!(1)].into_iter()).is_err());
        assert!(journal.add([json!(2)].into_iter()).is_ok(), "it is said once");
    }
}
