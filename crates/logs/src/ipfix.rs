//! A log as messages of IPFIX (RFC 7011) with the records of RFC 8158.
//!
//! Templates hold from file to file, in the order in which files are given. Where a file begins
//! before its templates are told, the rest of it is looked through for them, once: an exporter
//! tells them again and again, and they are seldom others. What cannot be read all the same is
//! counted, and said.

use std::io::Read;
use std::path::Path;

use crate::elements::{Record, Told};
use crate::messages::{Damage, Messages};
use crate::refused::Refused;
use crate::search::Search;
use crate::source::Source;
use crate::templates::{DATA_MIN, Keep, Templates, TooMany};

/// What is known of exporters, and what could not be read of their files.
#[derive(Default)]
pub(crate) struct Collected {
    templates: Templates,
    /// Those that the rest of the present file tells; none while nobody has looked.
    later: Option<Templates>,
    /// Bytes that are no message, and the file where the first of them is.
    damage: Option<(Damage, String)>,
    /// Sets of records without a template, and of which domain and template the first of them is.
    sets: u64,
    first_set: Option<(u32, u16)>,
    /// Records that cannot be what they say, and sets whose end is no record.
    records: u64,
    /// Records that were read by a template that came behind them.
    by_later: u64,
}

impl Collected {
    /// Reads a file.
    ///
    /// # Errors
    /// What cannot be read, what is no file of messages at all, or too many entries.
    pub fn read(
        &mut self,
        file: impl Read,
        source: &Source<'_>,
        search: &mut Search<'_>,
    ) -> Result<(), Refused> {
        let path = source.path;
        self.later = None;
        let mut messages = Messages::new(file, 0);
        let mut count = 0_u64;
        loop {
            let behind = messages.place();
            let message = messages.next();
            let message = message.map_err(|error| Refused::unreadable(path, &error))?;
            let Some(message) = message else { break };
            count += 1;
            for (id, set) in message.sets() {
                let name = (message.domain(), id);
                match id {
                    2 | 3 => {
                        let taken = self.templates.take((name.0, id == 3), set, Keep::Latest);
                        let is_whole = taken.map_err(|TooMany| too_many(path))?;
                        self.records += u64::from(!is_whole);
                    }
                    DATA_MIN.. => self.take(name, set, (source, behind), search)?,
                    _ => self.records += 1,
                }
            }
        }
        let damage = messages.damage;
        if count == 0 {
            let what = "there is no message of IPFIX in it";
            let remedy = "give files of IPFIX messages, one behind the other (RFC 5655), or of lines \
                          of syslog (RFC 5424)";
            return Err(Refused::new(what, remedy).of(path));
        }
        if damage.bytes > 0 {
            let first = || (Damage { bytes: 0, ..damage }, path.display().to_string());
            self.damage.get_or_insert_with(first).0.bytes += damage.bytes;
        }
        Ok(())
    }

    /// Takes in a set of records of a domain and template.
    fn take(
        &mut self,
        (domain, id): (u32, u16),
        set: &[u8],
        (source, place): (&Source<'_>, u64),
        search: &mut Search<'_>,
    ) -> Result<(), Refused> {
        let known = self.templates.get(domain, id);
        let is_later = known.is_none();
        let template = match known {
            Some(template) => Some(template),
            None => self.later(source, place)?.get(domain, id),
        };
        let Some(template) = template else {
            self.sets += 1;
            self.first_set.get_or_insert((domain, id));
            return Ok(());
        };
        let (mut unreadable, mut count) = (0, 0);
        let worker = domain.to_string();
        let is_whole = template.records(set, |record| {
            count += 1;
            match record.map(|record| take_record(record, &worker, search)) {
                Some(Ok(true)) => Ok(()),
                Some(Err(problem)) => Err(problem),
                None | Some(Ok(false)) => {
                    unreadable += 1;
                    Ok(())
                }
            }
        })?;
        self.records += unreadable + u64::from(!is_whole);
        self.by_later += if is_later { count } else { 0 };
        Ok(())
    }

    /// The templates that a file tells from a place on. Of what is no file, like a pipe, nothing is
    /// known beforehand.
    fn later(&mut self, source: &Source<'_>, place: u64) -> Result<&Templates, Refused> {
        if self.later.is_none() {
            self.later = Some(look_ahead(source, place)?);
        }
        Ok(self.later.get_or_insert_default())
    }

    /// What could not be read, each as a sentence.
    pub fn remarks(self) -> impl Iterator<Item = String> {
        let damage = self.damage.map(|(damage, file)| {
            let Damage { bytes, first } = damage;
            format!(
                "{bytes} bytes are no message of IPFIX, the first of them byte {first} of {file}: \
                 what they told is missing"
            )
        });
        let sets = self.first_set.map(|(domain, id)| {
            format!(
                "{} sets of records have a template that is not told, the first of them template \
                 {id} of domain {domain}: give the file before this one as well (--log)",
                self.sets
            )
        });
        let records = (self.records > 0).then(|| {
            format!("{} records or sets could not be read: what they told is missing", self.records)
        });
        let by_later = (self.by_later > 0).then(|| {
            format!(
                "{} records stand before their template, and were read by the first one behind them",
                self.by_later
            )
        });
        [damage, sets, records, by_later].into_iter().flatten()
    }
}

/// The first template of each name behind a place of a file.
fn look_ahead(source: &Source<'_>, place: u64) -> Result<Templates, Refused> {
    let failed = |error: std::io::Error| Refused::unreadable(source.path, &error);
    let mut templates = Templates::default();
    let Some(file) = (source.again)(place).map_err(failed)? else { return Ok(templates) };
    let mut messages = Messages::new(file, place);
    while let Some(message) = messages.next().map_err(failed)? {
        for (id, set) in message.sets().filter(|(id, _)| matches!(id, 2 | 3)) {
            let taken = templates.take((message.domain(), id == 3), set, Keep::First);
            taken.map_err(|TooMany| too_many(source.path))?;
        }
    }
    Ok(templates)
}

/// Takes in a record; false where it cannot be read.
fn take_record(record: &Record, worker: &str, search: &mut Search<'_>) -> Result<bool, Refused> {
    let Some(told) = record.told() else {
        // Of something else than a NAT.
        return Ok(true);
    };
    let Some(at) = record.at() else { return Ok(false) };
    search.note(at);
    match told {
        Told::LogBegin => {
            search.begin_anew(at, (record.host().as_deref(), worker));
            Ok(true)
        }
        Told::Change { kind, begins } if kind == search.kind => {
            let Some(ends) = record.ends() else { return Ok(false) };
            if ends.have(search.question.sought) {
                let subject = || record.subject(record.host(), worker.to_owned());
                search.take(at, begins, subject)?;
            }
            Ok(true)
        }
        Told::Change { .. } | Told::Other => Ok(true),
    }
}

/// More templates than are kept.
fn too_many(path: &Path) -> Refused {
    let what = "it tells more templates than any exporter has";
    Refused::new(what, "give files of IPFIX messages of a NAT").of(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;

    use super::*;
    use crate::fuzz::{message, session, session_anew, sessions, sessions_anew, set};
    use crate::{Found, Question, ask};

    /// Who had it in the tenth second by files.
    fn search(files: &[&[u8]]) -> Result<Found, Refused> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let paths = files.iter().enumerate().map(|(number, bytes)| {
            let path = folder.path().join(format!("{number}.ipfix"));
            fs::write(&path, bytes).expect("it can be written");
            path
        });
        let paths: Vec<_> = paths.collect();
        let at = "1970-01-01T00:00:10Z".parse().expect("a time");
        let sought = "198.51.100.7:1300".parse().expect("an address with a port");
        ask(&paths, &Question { table: "sessions", sought, at, limit: 100 })
    }

    /// Who it was, and what is said beside it.
    fn who(files: &[&[u8]]) -> (Vec<String>, Vec<String>) {
        let Found { entries, remarks } =
            search(files).unwrap_or_else(|problem| panic!("{problem}"));
        let inside = |entry: &Value| entry["inside"].as_str().unwrap_or_default().to_owned();
        (entries.iter().map(inside).collect(), remarks)
    }

    fn one(who: &str) -> Vec<String> {
        vec![who.to_owned()]
    }

    #[test]
    fn a_template_that_is_told_anew_is_another_one_from_then_on() {
        let log = [
            message(0, &[sessions(), set(300, &session(1, 4, 1))]),
            message(0, &[set(300, &session(5, 5, 1)), sessions_anew()]),
            message(0, &[set(300, &[session_anew(6, 4, 2), session_anew(20, 5, 2)].concat())]),
        ];
        assert_eq!(who(&[&log.concat()]), (one("10.0.0.2"), vec![]));
        // In files of their own, too.
        assert_eq!(who(&[&log[0], &log[1], &log[2]]), (one("10.0.0.2"), vec![]));
        let found = search(&[&log.concat()]).unwrap_or_else(|problem| panic!("{problem}"));
        let expected = serde_json::json!([{
            "inside": "10.0.0.2", "inport": "5000", "outside": "198.51.100.7", "outport": "1300",
            "since": "1970-01-01T00:00:06Z", "until": "1970-01-01T00:00:20Z", "host": null,
            "worker": "0",
        }]);
        assert_eq!(Value::Array(found.entries), expected);
    }

    #[test]
    fn templates_are_those_of_a_domain() {
        let other = message(1, &[sessions_anew(), set(300, &session_anew(2, 4, 7))]);
        let log = message(0, &[sessions(), set(300, &session(1, 4, 1))]);
        let both = [log, other, message(0, &[set(300, &session(30, 5, 1))])].concat();
        assert_eq!(who(&[&both]).0, ["10.0.0.1", "10.0.0.7"]);
    }

    #[test]
    fn a_template_that_comes_late_is_found() {
        let early = message(0, &[set(300, &session(1, 4, 1))]);
        let late = message(0, &[sessions(), set(300, &session(30, 5, 1))]);
        let said = "1 records stand before their template, and were read by the first one behind \
                    them";
        let log = [early.clone(), late, message(0, &[sessions_anew()])].concat();
        assert_eq!(who(&[&log]), (one("10.0.0.1"), vec![said.to_owned()]));
        // Where none comes, the file before it has it.
        let before = message(0, &[sessions()]);
        let ends = "the log ends at 1970-01-01T00:00:01Z".to_owned();
        assert_eq!(who(&[&before, &early]), (one("10.0.0.1"), vec![ends]));
        let (nobody, remarks) = who(&[&early]);
        assert!(nobody.is_empty() && remarks[0].contains("no record of a NAT's log"));
        assert!(remarks[1].starts_with("1 sets of records have a template that is not told"));
        assert!(remarks[1].contains("template 300 of domain 0: give the file before"));
    }

    #[test]
    fn what_cannot_be_read_is_told_and_the_rest_is_read() {
        let first = message(0, &[sessions(), set(300, &session(1, 4, 1))]);
        let last = message(0, &[set(300, &session(30, 5, 1))]);
        let log = [&first[..], &last[..last.len() - 1]].concat();
        let (found, remarks) = who(&[&log]);
        let said = format!(
            "{} bytes are no message of IPFIX, the first of them byte {} of ",
            last.len() - 1,
            first.len()
        );
        assert_eq!(found, one("10.0.0.1"));
        assert!(remarks.iter().any(|remark| remark.starts_with(&said)), "{remarks:?}");
        // A record that is cut, one at no time, a set of no kind, a template that lies.
        let [mut timeless, cut] = [session(2, 4, 9), session(2, 4, 8)[..9].to_vec()];
        timeless[..8].fill(255);
        let lies = set(2, &[1, 45, 0, 9, 0, 4, 0, 1]);
        let bad = message(0, &[set(300, &timeless), set(300, &cut), set(5, &[1]), lies]);
        let (found, remarks) = who(&[&[&first[..], &bad, &last].concat()]);
        let said = "4 records or sets could not be read: what they told is missing".to_owned();
        assert_eq!((found, remarks), (one("10.0.0.1"), vec![said]));
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        let problem = search(&[&[0; 3000]]).expect_err("no file of messages").to_string();
        assert!(problem.contains("no message of IPFIX") && problem.contains("RFC 5655"));
    }

    #[test]
    fn whatever_a_file_holds_reading_it_ends() {
        let first = message(0, &[sessions(), set(300, &session(1, 4, 1))]);
        let last = message(0, &[sessions_anew(), set(300, &session_anew(30, 5, 1))]);
        let log = [first, last].concat();
        let mut state = 1_u64;
        let mut draw = |below: usize| {
            // xorshift64 (Marsaglia 2003).
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        let (mut right, mut refused) = (0, 0);
        for _ in 0..2000 {
            let mut bytes = log.clone();
            for _ in 0..=draw(4) {
                let at = draw(bytes.len());
                bytes[at] = [0, 1, 4, 255, draw(256) as u8][draw(5)];
            }
            bytes.truncate(bytes.len() - draw(3) * draw(20));
            match search(&[&bytes]) {
                Ok(found) => right += usize::from(found.entries.len() == 1),
                Err(_) => refused += 1,
            }
        }
        assert!(right > 200 && refused > 0, "{right} right, {refused} refused");
    }
}
