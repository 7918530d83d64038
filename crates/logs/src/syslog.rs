//! A log as lines of syslog (RFC 5424), as the NAT has sent them.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::net::IpAddr;
use std::path::Path;

use jiff::Timestamp;

use crate::refused::Refused;
use crate::search::{End, Ends, Search, Subject};

/// A line of the log.
struct Line<'a> {
    at: Timestamp,
    host: &'a str,
    worker: &'a str,
    event: &'a str,
    parameters: BTreeMap<&'a str, &'a str>,
}

/// Reads lines; those that are no messages of a NAT are passed over.
///
/// # Errors
/// What cannot be read, or too many entries.
pub(crate) fn read(
    mut lines: impl BufRead,
    path: &Path,
    search: &mut Search<'_>,
) -> Result<(), Refused> {
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let mut limited = std::io::Read::take(&mut lines, LINE_MAX);
        let len = limited.read_until(b'\n', &mut bytes);
        let len = len.map_err(|error| Refused::unreadable(path, &error))?;
        if len == 0 {
            return Ok(());
        }
        let Some(line) = std::str::from_utf8(&bytes).ok().and_then(Line::read) else { continue };
        search.note(line.at);
        line.take_in(search)?;
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
        Some(Line { at, host, worker, event, parameters })
    }

    fn take_in(&self, search: &mut Search<'_>) -> Result<(), Refused> {
        if self.event == "log-begin" {
            search.begin_anew(self.at, (Some(self.host), self.worker));
            return Ok(());
        }
        let rest = self.event.strip_prefix(search.kind);
        let Some(change) = rest.and_then(|rest| rest.strip_prefix('-')) else { return Ok(()) };
        if !self.ends().have(search.question.sought) {
            return Ok(());
        }
        let begins = matches!(change, "create" | "allocate" | "bind");
        search.take(self.at, begins, || self.subject())
    }

    fn subject(&self) -> Subject {
        let owned = |(name, text): (&&str, &&str)| ((*name).to_owned(), (*text).to_owned());
        Subject {
            host: Some(self.host.to_owned()),
            worker: self.worker.to_owned(),
            parameters: self.parameters.iter().map(owned).collect(),
        }
    }

    fn ends(&self) -> Ends {
        let number = |name: &str| self.parameters.get(name)?.parse::<u16>().ok();
        let end = |name: &str, port: &str| -> End {
            let address = self.parameters.get(name)?.parse::<IpAddr>().ok()?;
            Some((address, number(port)))
        };
        Ends {
            each: [
                end("outside", "outport"),
                end("inside", "inport"),
                end("b4", "inport"),
                end("to", "toport"),
            ],
            block: number("first").zip(number("last")),
        }
    }
}

/// The longest line that is read as one, in bytes.
const LINE_MAX: u64 = 64 * 1024;
