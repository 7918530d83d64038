//! The finished trials of a measurement that is under way, so that one of hours survives an
//! interruption.
//!
//! A file of lines: what it belongs to, then a trial each, appended as they end. A last line that a
//! crash tore off is left out, with whatever follows it. A lock keeps two benches from writing one
//! file; the second one measures without. A file that cannot be written costs the possibility to go
//! on, never the measurement.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use measure::record::{RunRecord, TrialRecord};
use serde::{Deserialize, Serialize};

use super::key::FORMAT;

/// The file of finished trials of one measurement.
pub(super) struct Partial {
    path: PathBuf,
    file: File,
    /// Bytes of complete lines when the file was opened.
    found_bytes: u64,
    /// Start of the measurement in its first run, RFC 3339 in UTC.
    pub started: String,
    /// Number of trials in the file when it was opened.
    pub found: usize,
    /// Total duration of these trials, in seconds.
    pub found_seconds: f64,
}

/// The first line of the file.
#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    schema_version: u32,
    key: String,
    started: String,
}

impl Partial {
    /// Opens the file of the measurement with this key, or creates it with the start time `now`.
    /// None if another bench uses it, or the folder cannot be written.
    pub(super) fn open(path: &Path, key: &str, now: &str) -> Option<Partial> {
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).open(path).ok()?;
        file.metadata().ok().filter(|facts| facts.is_file())?;
        file.try_lock().ok()?;
        let mut partial = Partial {
            path: path.to_owned(),
            file: file.try_clone().ok()?,
            found_bytes: 0,
            started: now.to_owned(),
            found: 0,
            found_seconds: 0.0,
        };
        if !partial.scan(key) {
            let header = Header {
                format: FORMAT,
                schema_version: RunRecord::SCHEMA_VERSION,
                key: key.to_owned(),
                started: now.to_owned(),
            };
            file.set_len(0).ok()?;
            file.seek(SeekFrom::Start(0)).ok()?;
            write_line(&mut file, &header).ok()?;
            partial.found_bytes = file.stream_position().ok()?;
        }
        file.set_len(partial.found_bytes).ok()?;
        partial.file.seek(SeekFrom::End(0)).ok()?;
        Some(partial)
    }

    /// The trials that were in the file when it was opened, in order.
    pub(super) fn finished(&self) -> impl Iterator<Item = TrialRecord> + use<> {
        let file = File::open(&self.path).ok();
        let mut lines = file.map(|file| BufReader::new(file.take(self.found_bytes)));
        let mut line = Vec::new();
        std::iter::from_fn(move || whole_line(lines.as_mut()?, &mut line).map(|()| line.clone()))
            .skip(1)
            .map_while(|line| serde_json::from_slice(&line).ok())
    }

    /// Appends a trial; returns false if it could not be written, in which case no further trial
    /// should be.
    pub(super) fn keep(&mut self, trial: &TrialRecord) -> bool {
        write_line(&mut self.file, trial).is_ok()
    }

    /// Removes the file, because the measurement is finished or must start again.
    pub(super) fn remove(self) {
        // Without the right to remove it, the next run finds trials that it may use.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Counts the complete lines; returns false if the file belongs to another measurement.
    fn scan(&mut self, key: &str) -> bool {
        let mut lines = BufReader::new(&self.file);
        let mut line = Vec::new();
        let header = whole_line(&mut lines, &mut line)
            .and_then(|()| serde_json::from_slice::<Header>(&line).ok());
        let Some(header) = header.filter(|header| {
            header.key == key
                && header.format == FORMAT
                && header.schema_version == RunRecord::SCHEMA_VERSION
        }) else {
            return false;
        };
        self.started = header.started;
        self.found_bytes = line.len() as u64;
        while whole_line(&mut lines, &mut line).is_some() {
            match serde_json::from_slice::<TrialRecord>(&line) {
                Ok(trial) if trial.index == self.found => {
                    self.found += 1;
                    self.found_bytes += line.len() as u64;
                    self.found_seconds += trial.effective_ns as f64 * 1e-9;
                }
                _ => break,
            }
        }
        true
    }
}

/// The next line including its line end; none at the end of the file, for a torn line, or for one
/// that is too long.
fn whole_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> Option<()> {
    line.clear();
    Read::take(&mut *lines, LINE_BYTES_MAX).read_until(b'\n', line).ok()?;
    line.ends_with(b"\n").then_some(())
}

fn write_line(file: &mut File, value: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// Largest length of a line in bytes: far more than the histograms of a trial.
const LINE_BYTES_MAX: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use measure::{Load, Trial};

    use super::*;

    fn trial(index: usize) -> TrialRecord {
        let second = Duration::from_secs(1);
        let trial = Trial { effective: second, ..Trial::new(Load::ClosedLoop, second, 1e9) };
        TrialRecord::new(index, "soak", &trial, Vec::new())
    }

    fn indices(partial: &Partial) -> Vec<usize> {
        partial.finished().map(|trial| trial.index).collect()
    }

    #[test]
    fn trials_are_found_again_and_a_torn_one_is_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.partial.jsonl");
        let mut first = Partial::open(&path, "a", "monday").expect("new");
        assert_eq!((first.found, indices(&first)), (0, vec![]));
        assert!((0..3).all(|index| first.keep(&trial(index))));
        assert!(Partial::open(&path, "a", "x").is_none(), "the first one writes");
        drop(first);
        let length = std::fs::metadata(&path).expect("there").len();
        let file = File::options().write(true).open(&path).expect("there");
        file.set_len(length - 1).expect("ours");
        let mut second = Partial::open(&path, "a", "tuesday").expect("free again");
        assert_eq!((second.found, second.started.as_str()), (2, "monday"));
        assert_eq!((indices(&second), second.found_seconds), (vec![0, 1], 2.0));
        assert!(second.keep(&trial(2)), "where the torn one was");
        drop(second);
        let third = Partial::open(&path, "a", "wednesday").expect("free again");
        assert_eq!(indices(&third), [0, 1, 2]);
        third.remove();
        assert!(!path.exists());
    }

    #[test]
    fn what_is_not_of_this_measurement_is_begun_anew() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.partial.jsonl");
        for content in ["", "nonsense\n", "\u{0}\u{0}", "{\"format\":1}\n"] {
            std::fs::write(&path, content).expect("writable");
            let partial = Partial::open(&path, "a", "now").expect("overwritten");
            assert_eq!((partial.found, indices(&partial)), (0, vec![]), "{content:?}");
        }
        let mut other = Partial::open(&path, "b", "now").expect("overwritten");
        assert!(other.keep(&trial(0)) && other.keep(&trial(5)));
        drop(other);
        assert_eq!(
            Partial::open(&path, "b", "now").expect("there").found,
            1,
            "5 does not follow 0"
        );
        assert_eq!(Partial::open(&path, "a", "now").expect("overwritten").found, 0);
    }
}
