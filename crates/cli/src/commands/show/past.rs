//! Who had an outside end at a time: told by a log of the NAT, as a collector of syslog has kept
//! it.
//!
//! The lines are those of RFC 5424 as they were sent, one after the other, whatever stands before
//! them. What began by then and was not over is shown, with since when and until when. A log that
//! begins anew ends what its worker had begun before: what is not told to be over then is over, and
//! nobody knows since when.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use daemon::protocol::Sought;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::problem::Problem;

/// What of a log is asked for.
pub struct Question<'a> {
    /// The table, which says what entries are.
    pub table: &'a str,
    /// An address, or one with a port.
    pub sought: Sought,
    /// The time.
    pub at: Timestamp,
    /// The most entries.
    pub limit: usize,
}

/// What was found.
#[derive(Default)]
pub struct Found {
    /// The entries that were there at that time.
    pub entries: Vec<Value>,
    /// Lines of a log of a NAT, and the times of the first and the last of them.
    pub lines: u64,
    span: Option<(Timestamp, Timestamp)>,
}

/// A line of the log.
struct Line<'a> {
    at: Timestamp,
    /// Host and worker.
    origin: (&'a str, &'a str),
    event: &'a str,
    parameters: BTreeMap<&'a str, &'a str>,
}

/// What was told of something that began by the time asked for.
struct Life {
    since: Timestamp,
    until: Option<Timestamp>,
    /// How many there are: sessions of a mapping are told in the same words, where destinations are
    /// not told.
    open: u64,
}

/// Host, worker and parameters of something.
type Subject = (String, String, BTreeMap<String, String>);

/// Reads logs.
///
/// # Errors
/// A file that cannot be read, a table of which logs tell nothing, or too many entries.
pub fn ask(files: &[PathBuf], question: &Question<'_>) -> Result<Found, Problem> {
    let kind = kind_of(question.table)?;
    let (mut found, mut lives) = (Found::default(), BTreeMap::new());
    for file in files {
        read(file, question, kind, (&mut found, &mut lives))?;
    }
    for ((host, worker, parameters), Life { since, until, .. }) in lives {
        let texts = parameters.into_iter().map(|(name, text)| (name, Value::String(text)));
        let mut entry: Map<String, Value> = texts.collect();
        entry.insert("since".to_owned(), json!(since.to_string()));
        entry.insert("until".to_owned(), json!(until.map(|until| until.to_string())));
        entry.insert("host".to_owned(), json!(host));
        entry.insert("worker".to_owned(), json!(worker));
        found.entries.push(Value::Object(entry));
    }
    Ok(found)
}

impl Found {
    /// What a person should know of the log beside the entries; none where there is nothing.
    pub fn remark(&self, at: Timestamp) -> Option<String> {
        match self.span {
            None => Some("there is no line of a NAT's log".to_owned()),
            Some((first, _)) if at < first => Some(format!("the log begins at {first}")),
            Some((_, last)) if at > last => Some(format!("the log ends at {last}")),
            Some(_) => None,
        }
    }

    fn note(&mut self, at: Timestamp) {
        self.lines += 1;
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }
}

/// What events of the things in a table are called.
fn kind_of(table: &str) -> Result<&'static str, Problem> {
    Ok(match table {
        "sessions" => "session",
        "mappings" => "mapping",
        "blocks" => "block",
        "subscribers" => "address",
        _ => {
            let what = format!("logs tell nothing of the table `{table}`");
            return Err(Problem::of_usage(
                what,
                "ask for sessions, mappings, blocks or subscribers",
            ));
        }
    })
}

fn read(
    file: &Path,
    question: &Question<'_>,
    kind: &str,
    (found, lives): (&mut Found, &mut BTreeMap<Subject, Life>),
) -> Result<(), Problem> {
    let failed = |error: std::io::Error| {
        Problem::of_usage(format!("cannot read: {error}"), "name a file of the collector of logs")
            .at("file", file.display())
    };
    let mut lines = BufReader::new(File::open(file).map_err(failed)?);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let mut limited = std::io::Read::take(&mut lines, LINE_MAX);
        if limited.read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
            return Ok(());
        }
        let Some(line) = std::str::from_utf8(&bytes).ok().and_then(Line::read) else { continue };
        found.note(line.at);
        take(&line, question, kind, lives);
        if lives.len() > question.limit {
            let what = format!("more than {} entries had it at that time", question.limit);
            return Err(Problem::of_usage(what, "give a port as well, or raise --limit"));
        }
    }
}

/// Takes in a line.
fn take(line: &Line<'_>, question: &Question<'_>, kind: &str, lives: &mut BTreeMap<Subject, Life>) {
    if line.event == "log-begin" {
        // What had begun before it is over.
        let is_of = |(host, worker, _): &Subject| (&**host, &**worker) == line.origin;
        if line.at <= question.at {
            lives.retain(|subject, _| !is_of(subject));
        }
        let open =
            lives.iter_mut().filter(|(subject, life)| is_of(subject) && life.until.is_none());
        open.for_each(|(_, life)| life.until = Some(line.at));
        return;
    }
    let Some(change) = line.event.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-')) else {
        return;
    };
    if !line.is_of(question.sought) {
        return;
    }
    let owned = line.parameters.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let subject = (line.origin.0.to_owned(), line.origin.1.to_owned(), owned.collect());
    let begins = matches!(change, "create" | "allocate" | "bind");
    match (begins, line.at <= question.at) {
        (true, true) => {
            let new = Life { since: line.at, until: None, open: 0 };
            lives.entry(subject).or_insert(new).open += 1;
        }
        (true, false) => {}
        (false, is_before) => {
            let Some(life) = lives.get_mut(&subject) else { return };
            life.open = life.open.saturating_sub(1);
            match (life.open, is_before) {
                (0, true) => drop(lives.remove(&subject)),
                (0, false) => _ = life.until.get_or_insert(line.at),
                _ => {}
            }
        }
    }
}

impl<'a> Line<'a> {
    /// A line with a message of a NAT.
    fn read(line: &'a str) -> Option<Line<'a>> {
        let (head, data) = line.split_once(" [nat@")?;
        let mut words = head.rsplit(' ');
        let (event, worker, application) = (words.next()?, words.next()?, words.next()?);
        let (host, at) = (words.next()?, words.next()?);
        let at = at.parse().ok().filter(|_| application == "cgnat")?;
        let (data, _) = data.split_once(']')?;
        let parameters = data.split(' ').skip(1).map(|one| {
            let (name, text) = one.split_once('=')?;
            Some((name, text.strip_prefix('"')?.strip_suffix('"')?))
        });
        let parameters = parameters.collect::<Option<_>>()?;
        Some(Line { at, origin: (host, worker), event, parameters })
    }

    /// Whether it is of what is sought: of an outside end, one inside, or whom a session is with.
    fn is_of(&self, sought: Sought) -> bool {
        let address = |name: &str| self.parameters.get(name)?.parse::<IpAddr>().ok();
        let number = |name: &str| self.parameters.get(name)?.parse::<u16>().ok();
        let is_end = |name: &str, port: &str| {
            address(name).is_some_and(|it| match number(port) {
                Some(port) => sought.is(it, port),
                None => sought.port.is_none() && it == sought.address,
            })
        };
        let is_in_block = || {
            let (first, last) = (number("first")?, number("last")?);
            let count = last.checked_sub(first)?.saturating_add(1);
            Some(sought.is_among(address("outside")?, first, count))
        };
        is_end("outside", "outport")
            || is_end("inside", "inport")
            || is_end("b4", "inport")
            || is_end("to", "toport")
            || is_in_block().unwrap_or(false)
    }
}

/// The longest line that is read as one, in bytes.
const LINE_MAX: u64 = 64 * 1024;
