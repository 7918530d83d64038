//! The journal: updates since the state file was written, so that a daemon that is killed forwards
//! again as it did before its control plane speaks.
//!
//! It lies beside the state file, a JSON object a line: first what it belongs to, then an update
//! each. Where a line is damaged or not whole it ends, for whoever reads it and for whoever goes on
//! behind it. It is begun anew whenever the state file is written, and says which one it follows:
//! beside another one it is out of date. It ends where the disk is full: then only what was written
//! is known after a kill, until the state file can be written again.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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
    /// Whether the function has other keys than those on top of which it began.
    is_stale: bool,
    /// Its length, up to which it is kept when it is opened.
    bytes: u64,
    /// When the state file may be tried again.
    not_before: Option<Instant>,
}

/// On top of what a journal's updates come.
#[derive(Clone, Debug, PartialEq)]
pub struct Base {
    /// Section of the function.
    pub function: Value,
    /// When the state file was written; none if there is none.
    pub state: Option<String>,
}

/// What a journal belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    plumbline_journal: u32,
    function_name: String,
    /// Section of the function to which the changes apply if there is no state file.
    function: Value,
    /// When the state file was written that it follows.
    state: Option<String>,
}

impl Journal {
    /// The journal beside a state file, of a function, behind its first bytes. What it has stays
    /// until the first update.
    pub fn new(path: &Path, function_name: &str, base: Base, bytes: u64) -> Journal {
        Journal::at(beside(path), function_name, base, bytes)
    }

    fn at(path: PathBuf, function_name: &str, base: Base, bytes: u64) -> Journal {
        let (function_name, Base { function, state }) = (function_name.to_owned(), base);
        let head = Head { plumbline_journal: VERSION, function_name, function, state };
        let (file, not_before) = (None, None);
        Journal { path, head, file, is_broken: false, is_stale: false, bytes, not_before }
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

    /// The function has other keys from now on, or does not know of the state file.
    pub fn outdate(&mut self) {
        self.is_stale = true;
    }

    /// Whether the state file is to be written in its place.
    pub fn wants_save(&self, now: Instant) -> bool {
        let is_time = self.not_before.is_none_or(|at| now >= at);
        is_time && (self.is_broken || self.is_stale || self.bytes > LONG_BYTES)
    }

    /// The state file could not be written, and is left alone for a while.
    pub fn wait(&mut self, now: Instant) {
        self.not_before = Some(now + PAUSE);
    }

    /// Begins anew, because the state file has everything.
    pub fn begin_anew(&mut self, base: Base) {
        let Head { function_name, .. } = &self.head;
        remove(&self.path);
        *self = Journal::at(self.path.clone(), function_name, base, 0);
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
    /// Opens the journal beside a state file that was written at a time; `None` if there is none,
    /// or nothing in it, or if it follows another state file.
    ///
    /// # Errors
    /// When it is no journal, or belongs to another function.
    pub fn open(
        path: &Path,
        function_name: &str,
        state: Option<&str>,
    ) -> Result<Option<Replay>, RunError> {
        let path = beside(path);
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
        if head.state.as_deref() != state {
            // One that could not be removed when the state file was written, for instance.
            let (follows, path) = (&head.state, path.display());
            tracing::warn!(%path, ?follows, "the journal follows another state file: left out");
            return Ok(None);
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

/// Removes the journal beside a state file that has everything.
pub fn remove_beside(state: &Path) {
    remove(&beside(state));
}

/// One that stays is out of date, and is left out by who reads it.
fn remove(path: &Path) {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), "a journal cannot be removed: {error}");
        }
        _ => {}
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

/// How long the state file is left alone after it could not be written.
const PAUSE: Duration = Duration::from_secs(60);

const WITHOUT: &str = "configure the right file, or start with `--without-state`: state file and \
                       journal are replaced at the latest when the daemon stops";

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

    fn base(state: Option<&str>) -> Base {
        Base { function: json!({"core": 1}), state: state.map(str::to_owned) }
    }

    /// The numbers of all changes of a journal, where to go on, and the bytes behind that; none if
    /// there is no journal.
    fn read(state: &Path) -> Option<(Vec<u8>, u64, u64)> {
        let mut replay = Replay::open(state, "l2-switch", None).expect("a journal")?;
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
        let journal = |bytes| Journal::new(&state, "l2-switch", base(None), bytes);
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
        journal(0).begin_anew(base(None));
        assert_eq!(read(&state), None);
    }

    #[test]
    fn a_journal_follows_one_state_file_even_if_it_cannot_be_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("switch.state");
        let opened = |written| Replay::open(&state, "l2-switch", written).expect("a journal");
        let mut journal = Journal::new(&state, "l2-switch", base(Some("1")), 0);
        journal.add([change(1)].into_iter()).expect("room");
        assert!(opened(Some("1")).is_some());
        assert!(opened(Some("2")).is_none() && opened(None).is_none());
        // What is in its place cannot be removed, and what is added is not lost without a word.
        let kept = folder.path().join("kept");
        std::fs::rename(beside(&state), &kept).expect("it moves");
        std::fs::create_dir(beside(&state)).expect("a folder");
        journal.begin_anew(base(Some("2")));
        assert!(journal.add([change(2)].into_iter()).is_err());
        // What stayed is begun anew by the next update at the latest.
        std::fs::remove_dir(beside(&state)).expect("it is empty");
        std::fs::rename(&kept, beside(&state)).expect("it moves");
        assert!(opened(Some("2")).is_none());
        let mut journal = Journal::new(&state, "l2-switch", base(Some("2")), 0);
        journal.add([change(2)].into_iter()).expect("room");
        assert!(opened(Some("2")).is_some() && opened(Some("1")).is_none());
    }

    #[test]
    fn a_journal_that_cannot_go_on_asks_for_the_state_file_from_time_to_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let (state, now) = (folder.path().join("absent/state"), Instant::now());
        let mut journal = Journal::new(&state, "l2-switch", base(None), 0);
        assert!(!journal.wants_save(now));
        journal.outdate();
        assert!(journal.wants_save(now));
        journal.begin_anew(base(Some("1")));
        assert!(!journal.wants_save(now));
        assert!(journal.add([change(1)].into_iter()).is_err());
        assert!(journal.wants_save(now));
        journal.wait(now);
        assert!(!journal.wants_save(now + PAUSE / 2) && journal.wants_save(now + PAUSE));
        journal.begin_anew(base(Some("2")));
        journal.bytes = LONG_BYTES + 1;
        assert!(journal.wants_save(now));
    }

    #[test]
    fn a_journal_of_another_function_is_refused_and_a_full_disk_ends_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("switch.state");
        Journal::new(&state, "l3-router", base(None), 0).add([json!(1)].into_iter()).expect("room");
        assert!(Replay::open(&state, "l2-switch", None).is_err());
        std::fs::write(beside(&state), "no journal\n").expect("room");
        assert!(Replay::open(&state, "l2-switch", None).is_err());
        let mut other = Journal::new(&state, "l2-switch", base(None), 0);
        other.add([change(1), json!({"turn-off": 2}), change(3)].into_iter()).expect("room");
        let mut replay = Replay::open(&state, "l2-switch", None).expect("a journal").expect("one");
        let mut next = || replay.next(&*switch()).expect("a disk");
        assert!(next().is_some_and(|first| first.is_ok()));
        let error = next().expect("a line").expect_err("no change").what;
        assert!(error.contains("turn-off"), "{error}");
        assert!(next().is_some_and(|third| third.is_ok()));
        let mut journal = Journal::new(Path::new("/dev/full/router"), "router", base(None), 0);
        assert!(journal.add([json!(1)].into_iter()).is_err());
        assert!(journal.add([json!(2)].into_iter()).is_ok(), "it is said once");
    }
}
