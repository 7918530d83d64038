//! Measurements of earlier runs, a file each, named by the hash of what they depend on.
//!
//! Guarantees that a file is there whole or not at all, and that what is not exactly what was
//! written (torn, edited, renamed, of another version, absurdly large) is measured again, never
//! believed. Several benches may share a folder: the last one to finish a measurement wins, whole.
//! Only valid results of a device that passed its check are kept. It deliberately never shrinks by
//! itself; [`prune`] does that when asked to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use measure::record::{Cell, Outcome, RunRecord};
use serde::{Deserialize, Serialize};

use super::key::FORMAT;
use crate::folder::{FolderError, make_with_room};

/// The cache of measurements, in a folder next to the folders of runs.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

/// A stored measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Identifier of the run that measured it; measurements made side by side have the same.
    pub run: String,
    /// The cell with its check and the facts of its set-up, without outcomes.
    pub cell: Cell,
    /// The outcome of the measurement.
    pub outcome: Outcome,
}

/// Result of a look-up in the cache.
#[derive(Debug)]
pub(super) enum Found {
    /// A usable measurement.
    Entry(Box<Entry>),
    /// No measurement is stored under the key.
    Nothing,
    /// A file that cannot be used, and why.
    Unusable(String),
}

/// Summary of a pruning of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Number of removed files.
    pub files: usize,
    /// Bytes of the removed files.
    pub bytes: u64,
}

/// The first line of a cache file.
#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    schema_version: u32,
    key: String,
    /// Hash of the second line.
    body: String,
}

impl Cache {
    /// Opens the cache next to the runs in `output_dir`, creates it if necessary, and checks that
    /// `needed_bytes` can be written.
    ///
    /// # Errors
    /// When the folder cannot be created or written, or the disk has too little space.
    pub fn open(output_dir: &Path, needed_bytes: u64) -> Result<Cache, FolderError> {
        let folder = output_dir.join(FOLDER);
        make_with_room(&folder, needed_bytes)?;
        files::remove_abandoned(&folder);
        Ok(Cache { folder })
    }

    /// Looks up the measurement stored under a key.
    pub(super) fn load(&self, key: &str) -> Found {
        let path = self.path(key);
        match files::read_limited(&path, ENTRY_BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Found::Nothing,
            Err(error) => Found::Unusable(format!("{}: {error}", path.display())),
            Ok(bytes) => match read(&bytes, key) {
                Ok(entry) => Found::Entry(Box::new(entry)),
                Err(why) => Found::Unusable(format!("{}: {why}", path.display())),
            },
        }
    }

    /// Stores a measurement, replacing an older one with the same key.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn keep(&self, key: &str, entry: &Entry) -> io::Result<()> {
        let body = serde_json::to_vec(entry)?;
        let header = Header {
            format: FORMAT,
            schema_version: RunRecord::SCHEMA_VERSION,
            key: key.to_owned(),
            body: blake3::hash(&body).to_hex().to_string(),
        };
        let mut bytes = serde_json::to_vec(&header)?;
        bytes.push(b'\n');
        bytes.extend_from_slice(&body);
        bytes.push(b'\n');
        if bytes.len() as u64 > ENTRY_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it has too many trials"));
        }
        files::write_whole(&self.path(key), &bytes)
    }

    /// Path of the file with finished trials of a measurement in progress.
    pub(super) fn partial(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}{PARTIAL}"))
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }
}

/// Removes the oldest measurements of the cache in `output_dir` until the rest takes at most
/// `bytes_max`. Finished trials of interrupted measurements count as measurements. Files that
/// another process is writing are kept.
///
/// # Errors
/// When the folder cannot be read or a file cannot be removed; a cache that does not exist is
/// empty.
pub fn prune(output_dir: &Path, bytes_max: u64) -> io::Result<Pruned> {
    let folder = output_dir.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Pruned::default()),
        entries => entries?,
    };
    files::remove_abandoned(&folder);
    let mut kept: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // What disappears while we look is another's to count.
        let Ok(facts) = entry.metadata() else { continue };
        if facts.is_file() && (name.ends_with(".json") || name.ends_with(PARTIAL)) {
            let written = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            kept.push((written, facts.len(), entry.path()));
        }
    }
    kept.sort();
    let mut total: u64 = kept.iter().map(|(_, bytes, _)| bytes).sum();
    let mut pruned = Pruned::default();
    for (_, bytes, path) in kept {
        if total <= bytes_max {
            break;
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        total -= bytes;
        pruned.files += 1;
        pruned.bytes += bytes;
    }
    Ok(pruned)
}

/// Decodes the entry in a file's bytes, if they are exactly those written for the key.
fn read(bytes: &[u8], key: &str) -> Result<Entry, String> {
    let torn = || "it is truncated or not a measurement".to_owned();
    let end = bytes.iter().take(HEADER_BYTES_MAX).position(|byte| *byte == b'\n');
    let (header, body) = bytes.split_at(end.ok_or_else(torn)?);
    let header: Header = serde_json::from_slice(header).map_err(|_| torn())?;
    let body = body[1..].strip_suffix(b"\n").ok_or_else(torn)?;
    if header.format != FORMAT || header.schema_version != RunRecord::SCHEMA_VERSION {
        return Err("another version of this program wrote it".to_owned());
    }
    if header.key != key {
        return Err("it belongs to another measurement".to_owned());
    }
    if header.body != blake3::hash(body).to_hex().to_string() {
        return Err(torn());
    }
    let entry: Entry = serde_json::from_slice(body).map_err(|_| torn())?;
    let passed = entry.cell.check.as_ref().is_some_and(|check| check.passed);
    if !passed || !entry.outcome.validity.valid {
        return Err("it holds a result that is not valid".to_owned());
    }
    Ok(entry)
}

/// Name of the cache folder in the folder of runs.
pub const FOLDER: &str = ".cache";
const PARTIAL: &str = ".partial.jsonl";
/// Largest size of a cache file in bytes: far more than the trials of a day.
const ENTRY_BYTES_MAX: u64 = 512 << 20;
const HEADER_BYTES_MAX: usize = 4096;

/// Use of the measurements of earlier runs.
#[derive(Clone, Debug)]
pub enum Reuse {
    /// Earlier measurements are neither used nor stored.
    Nothing,
    /// Only missing measurements are made.
    Missing(Cache),
    /// Everything is measured, and replaces earlier measurements.
    Fresh(Cache),
}

#[cfg(test)]
mod tests {
    use measure::record::{Check, Figure, Validity};

    use super::*;

    fn entry(value: f64) -> Entry {
        let check = Some(Check { passed: true, ..Check::default() });
        let outcome = Outcome {
            method: "capacity".into(),
            figures: vec![Figure::single("total_pps", value, "pps")],
            validity: Validity::from_limits(Vec::new()),
            ..Outcome::default()
        };
        Entry { run: "now".into(), cell: Cell { check, ..Cell::default() }, outcome }
    }

    fn cache() -> (tempfile::TempDir, Cache) {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::open(parent.path(), 1).expect("there is room");
        (parent, cache)
    }

    fn why(cache: &Cache, key: &str) -> String {
        match cache.load(key) {
            Found::Unusable(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_kept_is_found_and_replaced() {
        let (_parent, cache) = cache();
        assert!(matches!(cache.load("a"), Found::Nothing));
        for value in [1.5, 0.1 + 0.2] {
            cache.keep("a", &entry(value)).expect("writable");
            let Found::Entry(found) = cache.load("a") else { panic!("it was kept") };
            assert_eq!(found.outcome.figures[0].unit, "pps");
            assert!((found.outcome.figures[0].value - value).abs() < 1e-12);
        }
    }

    #[test]
    fn a_file_that_is_not_as_it_was_written_is_not_believed() {
        let (_parent, cache) = cache();
        cache.keep("a", &entry(1.5)).expect("writable");
        let path = cache.path("a");
        let whole = fs::read(&path).expect("written");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("writable");
            assert!(matches!(cache.load("a"), Found::Unusable(_)), "cut at {length}");
        }
        let edited = String::from_utf8(whole.clone()).expect("text").replace("1.5", "9.5");
        fs::write(&path, edited).expect("writable");
        assert!(why(&cache, "a").contains("truncated"));
        fs::write(cache.path("b"), &whole).expect("writable");
        assert!(why(&cache, "b").contains("another measurement"));
        let text = String::from_utf8(whole).expect("text");
        fs::write(&path, text.replacen("\"format\":1", "\"format\":0", 1)).expect("writable");
        assert!(why(&cache, "a").contains("another version"));
        fs::write(&path, [0xff; 10_000]).expect("writable");
        assert!(why(&cache, "a").contains("truncated"));
        fs::remove_file(&path).expect("there");
        fs::create_dir(&path).expect("writable");
        assert!(matches!(cache.load("a"), Found::Unusable(_)));
    }

    #[test]
    fn results_that_are_not_valid_are_never_used_again() {
        let (_parent, cache) = cache();
        let mut bad = entry(1.0);
        bad.outcome.validity.valid = false;
        cache.keep("a", &bad).expect("writable");
        assert!(why(&cache, "a").contains("not valid"));
        let mut bad = entry(1.0);
        bad.cell.check = Some(Check::default());
        cache.keep("a", &bad).expect("writable");
        assert!(why(&cache, "a").contains("not valid"));
    }

    #[test]
    fn pruning_removes_the_oldest_first() {
        let (parent, cache) = cache();
        for (age, key) in [(300, "old"), (200, "middle"), (100, "new")] {
            cache.keep(key, &entry(1.0)).expect("writable");
            let then = SystemTime::now() - std::time::Duration::from_secs(age);
            let file = fs::File::options().append(true).open(cache.path(key)).expect("there");
            file.set_modified(then).expect("ours");
        }
        let one = fs::metadata(cache.path("new")).expect("there").len();
        assert_eq!(prune(parent.path(), u64::MAX).expect("readable"), Pruned::default());
        let pruned = prune(parent.path(), one).expect("readable");
        assert_eq!(pruned.files, 2);
        assert!(cache.path("new").exists() && !cache.path("old").exists());
        let nowhere = parent.path().join("absent");
        assert_eq!(prune(&nowhere, 0).expect("empty"), Pruned::default());
    }
}
