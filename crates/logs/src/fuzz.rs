//! The body of the fuzz target of logs.

use std::io::Read;
use std::path::Path;

use crate::ipfix::Collected;
use crate::refused::Refused;
use crate::search::{Question, Search};
use crate::source::Source;
use crate::{Found, TABLES, found, read};

/// Reads bytes as a log, at once and by pieces, whose length the first byte tells, as it does which
/// table is asked for. It panics when both do not say the same, or more than is asked for.
pub fn ipfix_log(bytes: &[u8]) {
    let Some((first, log)) = bytes.split_first() else { return };
    let (table, kind) = TABLES[usize::from(*first) % TABLES.len()];
    let whole = told((table, kind), log, log.len().max(1));
    if let Ok(found) = &whole {
        assert!(found.entries.len() <= LIMIT, "{found:?}");
    }
    assert_eq!(whole, told((table, kind), log, usize::from(*first) + 1));
}

/// Who had an outside end in the tenth second.
fn told((table, kind): (&str, &'static str), log: &[u8], piece: usize) -> Result<Found, Refused> {
    let sought = "198.51.100.7:1300".parse().map_err(|what: String| Refused::new(what, ""))?;
    let at = jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(10);
    let question = Question { table, sought, at, limit: LIMIT };
    let (mut search, mut collected) = (Search::new(&question, kind), Collected::default());
    let again = |place: u64| {
        let rest = usize::try_from(place).ok().and_then(|place| log.get(place..));
        Ok(rest.map(|rest| Box::new(Pieces { rest, piece }) as Box<dyn Read>))
    };
    let source = Source { path: Path::new("log"), again: &again };
    read(Pieces { rest: log, piece }, &source, &mut search, &mut collected)?;
    Ok(found(search, collected))
}

/// Bytes that are read by pieces of a length at most.
struct Pieces<'a> {
    rest: &'a [u8],
    piece: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = self.piece.min(buffer.len());
        (&mut self.rest).take(most as u64).read(buffer)
    }
}

/// Sessions that begin and end, whose template comes first, late, in another order and never.
pub fn examples() -> Vec<Vec<u8>> {
    let first = message(0, &[sessions(), set(300, &session(1, 4, 1))]);
    let second = message(0, &[set(300, &session(5, 5, 1)), sessions_anew()]);
    let third = [session_anew(6, 4, 2), session_anew(20, 5, 2)].concat();
    let third = message(0, &[set(300, &third)]);
    let other = message(1, &[set(300, &session(3, 4, 9)), set(301, &[7; 9])]);
    let late = message(1, &[sessions()]);
    let log = [first, other, second, third, late].concat();
    let line = "<134>1 1970-01-01T00:00:01Z h cgnat 0 block-allocate [nat@32473 inside=\"10.0.0.1\" \
                outside=\"198.51.100.7\" first=\"1024\" last=\"1535\"]\n";
    let of_table = |at: u8, log: &[u8]| [&[at][..], log].concat();
    vec![of_table(0, &log), of_table(252, &log), of_table(2, line.as_bytes())]
}

/// A set with its header.
pub(crate) fn set(id: u16, body: &[u8]) -> Vec<u8> {
    let len = (body.len() + 4) as u16;
    [&id.to_be_bytes()[..], &len.to_be_bytes(), body].concat()
}

/// A message of a domain.
pub(crate) fn message(domain: u32, sets: &[Vec<u8>]) -> Vec<u8> {
    let sets = sets.concat();
    let len = (sets.len() + 16) as u16;
    let head = [&[0, 10][..], &len.to_be_bytes(), &[0; 8], &domain.to_be_bytes()].concat();
    [head, sets].concat()
}

fn template(id: u16, pieces: &[[u16; 2]]) -> Vec<u8> {
    let head = [id, pieces.len() as u16];
    let words = head.into_iter().chain(pieces.iter().flatten().copied());
    set(2, &words.flat_map(u16::to_be_bytes).collect::<Vec<u8>>())
}

/// The template of sessions: when, what, inside, outside, ports.
pub(crate) fn sessions() -> Vec<u8> {
    template(300, &[[323, 8], [230, 1], [8, 4], [225, 4], [7, 2], [227, 2]])
}

/// The same in another order, by seconds.
pub(crate) fn sessions_anew() -> Vec<u8> {
    template(300, &[[227, 2], [7, 2], [225, 4], [8, 4], [230, 1], [322, 4]])
}

/// A session of 10.0.0.`who` behind 198.51.100.7:1300 in a second.
pub(crate) fn session(second: u8, event: u8, who: u8) -> Vec<u8> {
    let ms = (u64::from(second) * 1000).to_be_bytes();
    [&ms[..], &[event, 10, 0, 0, who, 198, 51, 100, 7, 0x13, 0x88, 5, 20]].concat()
}

pub(crate) fn session_anew(second: u8, event: u8, who: u8) -> Vec<u8> {
    vec![5, 20, 0x13, 0x88, 198, 51, 100, 7, 10, 0, 0, who, event, 0, 0, 0, second]
}

/// The most entries that are asked for.
const LIMIT: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_what_they_say() {
        let who = |example: &[u8]| {
            ipfix_log(example);
            let table = TABLES[usize::from(example[0]) % TABLES.len()];
            let found = told(table, &example[1..], 7).expect("a log");
            let inside = |entry: &serde_json::Value| entry["inside"].as_str().map(str::to_owned);
            let who: Vec<String> = found.entries.iter().filter_map(inside).collect();
            (who, found.remarks.len())
        };
        let [sessions, _, blocks] = examples().try_into().expect("three");
        // One set has no template, and a record came before its own.
        assert_eq!(who(&sessions), (vec!["10.0.0.2".to_owned(), "10.0.0.9".to_owned()], 2));
        assert_eq!(who(&blocks), (vec!["10.0.0.1".to_owned()], 1));
    }

    #[test]
    fn more_than_is_asked_for_is_refused_and_so_is_nothing_at_all() {
        let many = (1..=4).map(|who| set(300, &session(1, 4, who)));
        let log = message(0, &[vec![sessions()], many.collect()].concat());
        let refused = told(TABLES[0], &log, 100).expect_err("four are too many");
        assert!(refused.to_string().contains("more than 3 entries had it at that time; give"));
        let refused = told(TABLES[0], &[0; 40], 100).expect_err("no log");
        assert!(refused.to_string().starts_with("log: there is no message of IPFIX in it; give"));
    }
}
