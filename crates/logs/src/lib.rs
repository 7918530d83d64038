//! Who had an outside end at a time: told by a log of the NAT, as a collector has kept it.
//!
//! A file holds lines of syslog (RFC 5424) as they were sent, one after the other, whatever stands
//! before them, or messages of IPFIX (RFC 7011) one behind the other, as RFC 5655 has files of
//! them; which of the two it is, its beginning tells. What began by then and was not over is shown,
//! with since when and until when. A log that begins anew ends what its worker had begun before:
//! what is not told to be over then is over, and nobody knows since when.
//!
//! Files are read once, from front to back, and never held whole: what is kept are the things that
//! may be an answer, as many as are asked for, and templates, of which there is a limit.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::PathBuf;

use serde_json::{Map, Value, json};

mod elements;
pub mod fuzz;
mod ipfix;
mod messages;
mod refused;
mod search;
mod source;
mod syslog;
mod templates;

use self::ipfix::Collected;
pub use self::refused::Refused;
pub use self::search::Question;
use self::search::{Life, Search, Subject};
use self::source::{Source, reopened};

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The entries that were there at that time.
    pub entries: Vec<Value>,
    /// What a person should know of the log beside the entries, each a sentence.
    pub remarks: Vec<String>,
}

/// Reads logs.
///
/// # Errors
/// A file that cannot be read, a table of which logs tell nothing, or too many entries.
pub fn ask(files: &[PathBuf], question: &Question<'_>) -> Result<Found, Refused> {
    let mut search = Search::new(question, kind_of(question.table)?);
    let mut collected = Collected::default();
    for path in files {
        let file = File::open(path).map_err(|error| Refused::unreadable(path, &error))?;
        let source = Source { path, again: &|place| reopened(path, place) };
        read(file, &source, &mut search, &mut collected)?;
    }
    Ok(found(search, collected))
}

fn found(search: Search<'_>, collected: Collected) -> Found {
    let remarks = search.remark().into_iter().chain(collected.remarks()).collect();
    let entries = search.lives.into_iter().map(|(subject, life)| entry(subject, &life)).collect();
    Found { entries, remarks }
}

/// What events of the things in a table are called.
fn kind_of(table: &str) -> Result<&'static str, Refused> {
    let is_it = |(name, _): &&(&str, &str)| *name == table;
    TABLES.iter().find(is_it).map(|(_, kind)| *kind).ok_or_else(|| {
        let what = format!("logs tell nothing of the table `{table}`");
        Refused::new(what, "ask for sessions, mappings, blocks or subscribers")
    })
}

/// Reads a file in the form that its beginning has: no text has a zero byte.
fn read(
    mut file: impl Read,
    source: &Source<'_>,
    search: &mut Search<'_>,
    collected: &mut Collected,
) -> Result<(), Refused> {
    let mut head = Vec::new();
    let begun = file.by_ref().take(HEAD_LEN).read_to_end(&mut head);
    begun.map_err(|error| Refused::unreadable(source.path, &error))?;
    let is_text = !head.contains(&0);
    let whole = Cursor::new(head).chain(file);
    match is_text {
        true => syslog::read(BufReader::new(whole), source.path, search),
        false => collected.read(whole, source, search),
    }
}

fn entry(subject: Subject, life: &Life) -> Value {
    let texts = subject.parameters.into_iter().map(|(name, text)| (name, Value::String(text)));
    let mut entry: Map<String, Value> = texts.collect();
    entry.insert("since".to_owned(), json!(life.since.to_string()));
    entry.insert("until".to_owned(), json!(life.until.map(|until| until.to_string())));
    entry.insert("host".to_owned(), json!(subject.host));
    entry.insert("worker".to_owned(), json!(subject.worker));
    Value::Object(entry)
}

/// The tables of which logs tell, with what events of the things in them are called.
const TABLES: [(&str, &str); 4] = [
    ("sessions", "session"),
    ("mappings", "mapping"),
    ("blocks", "block"),
    ("subscribers", "address"),
];

/// Bytes of a file's beginning by which its form is told.
const HEAD_LEN: u64 = 512;
