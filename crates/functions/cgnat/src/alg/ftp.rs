//! FTP: `PORT` and `227` (RFC 959), `EPRT` and `229` (RFC 2428).
//!
//! The subscriber may be the client, which tells by `PORT` and `EPRT` where it waits for data, or
//! the server, which tells it by its answers to `PASV` and `EPSV`. Only what comes from inside is
//! changed. The address must be the sender's own and the port 1024 or higher, or it is a bounce
//! (RFC 2577).
//!
//! A line is looked at where a segment or another line begins. What a segment would have to know of
//! the one before, and control connections over TLS (RFC 4217), are out of reach.

use std::net::SocketAddrV4;

use super::edit::Text;
use super::text::{Line, address, begins, find, lines, number, port};
use super::{Mappings, Ports, Protocol, Reason, Side, Work};

/// Finds the lines that tell an address and port, and maps them.
pub(super) fn scan<M: Mappings>(payload: &[u8], work: &mut Work<'_, M>) {
    if work.translation.from == Side::Outside {
        return;
    }
    for line in lines(payload, 0) {
        let text = &payload[line.start..line.end];
        if !line.is_whole {
            let could_be = |word: &&[u8]| begins(word, &text[..text.len().min(word.len())]);
            if WORDS.iter().any(could_be) {
                work.fail(Reason::Split);
            }
        } else if begins(text, b"PORT ") {
            work.unit(line.start, |work| port_command(payload, line, work));
        } else if begins(text, b"227 ") {
            work.unit(line.start, |work| passive_answer(payload, line, work));
        } else if begins(text, b"EPRT ") {
            work.unit(line.start, |work| extended_command(payload, line, work));
        } else if begins(text, b"229 ") {
            work.unit(line.start, |work| extended_answer(payload, line, work));
        }
    }
}

/// `PORT h1,h2,h3,h4,p1,p2` (RFC 959 section 4.1.2).
fn port_command<M: Mappings>(
    payload: &[u8],
    line: Line,
    work: &mut Work<'_, M>,
) -> Result<(), Reason> {
    let at = behind_blanks(payload, line.start + WORD_LEN, line.end);
    let (endpoint, len) = commas(&payload[at..line.end]).ok_or(Reason::Malformed)?;
    if behind_blanks(payload, at + len, line.end) != line.end {
        return Err(Reason::Malformed);
    }
    let outside = open(endpoint, work)?;
    work.edits.replace(at..at + len, Text::Commas(outside))
}

/// `227 Entering Passive Mode (h1,h2,h3,h4,p1,p2).`, with or without any of the words and
/// parentheses (RFC 1123 section 4.1.2.6).
fn passive_answer<M: Mappings>(
    payload: &[u8],
    line: Line,
    work: &mut Work<'_, M>,
) -> Result<(), Reason> {
    let words = &payload[line.start + WORD_LEN..line.end];
    let skipped = words.iter().position(u8::is_ascii_digit).ok_or(Reason::Malformed)?;
    let at = line.start + WORD_LEN + skipped;
    let (endpoint, len) = commas(&payload[at..line.end]).ok_or(Reason::Malformed)?;
    let outside = open(endpoint, work)?;
    work.edits.replace(at..at + len, Text::Commas(outside))
}

/// `EPRT |1|132.235.1.2|6275|` (RFC 2428 section 2); the other family is not for this gateway.
fn extended_command<M: Mappings>(
    payload: &[u8],
    line: Line,
    work: &mut Work<'_, M>,
) -> Result<(), Reason> {
    let at = behind_blanks(payload, line.start + WORD_LEN, line.end);
    let text = &payload[at..line.end];
    let delimiter = delimiter(text)?;
    let is = |place: usize| text.get(place) == Some(&delimiter);
    let (family, digits) = text.get(1..).and_then(|rest| number(rest, 5)).ok_or(BAD)?;
    if family != FAMILY_IPV4 {
        return Ok(());
    }
    let first = 1 + digits + 1;
    let (ip, len) = text.get(first..).and_then(address_before_delimiter).ok_or(BAD)?;
    let second = first + len + 1;
    let (port, digits) = text.get(second..).and_then(port).ok_or(BAD)?;
    let end = second + digits;
    if !(is(first - 1) && is(second - 1) && is(end)) {
        return Err(BAD);
    }
    let outside = open(SocketAddrV4::new(ip, port), work)?;
    work.edits.replace(at + first..at + end, Text::Between(outside, char::from(delimiter)))
}

/// `229 Entering Extended Passive Mode (|||6446|)` (RFC 2428 section 3).
fn extended_answer<M: Mappings>(
    payload: &[u8],
    line: Line,
    work: &mut Work<'_, M>,
) -> Result<(), Reason> {
    let from = line.start + WORD_LEN;
    let at = find(payload, from, line.end, b'(').ok_or(BAD)? + 1;
    let text = &payload[at..line.end];
    let delimiter = delimiter(text)?;
    let (port, digits) = text.get(3..).and_then(port).ok_or(BAD)?;
    let is_framed = text[..3].iter().all(|&byte| byte == delimiter);
    if !(is_framed && text[3 + digits..].starts_with(&[delimiter, b')'])) {
        return Err(BAD);
    }
    let endpoint = SocketAddrV4::new(*work.translation.inside.ip(), port);
    let outside = open(endpoint, work)?;
    work.edits.replace(at + 3..at + 3 + digits, Text::Number(outside.port().into()))
}

/// Maps what a line tells, for the other end of the control connection to come to.
fn open<M: Mappings>(
    endpoint: SocketAddrV4,
    work: &mut Work<'_, M>,
) -> Result<SocketAddrV4, Reason> {
    if endpoint.ip() != work.translation.inside.ip() {
        return Err(Reason::ForeignAddress);
    }
    let remote = *work.translation.remote.ip();
    work.open(Protocol::Tcp, endpoint.port(), Ports::Any, Some(remote))
}

/// Six octets with commas between, and how many characters they have.
fn commas(text: &[u8]) -> Option<(SocketAddrV4, usize)> {
    let mut octets = [0; 6];
    let mut at = 0;
    for (place, octet) in octets.iter_mut().enumerate() {
        if place > 0 {
            text.get(at).filter(|&&byte| byte == b',')?;
            at += 1;
        }
        let (value, len) = number(&text[at..], 3)?;
        *octet = u8::try_from(value).ok()?;
        at += len;
    }
    let [a, b, c, d, high, low] = octets;
    Some((SocketAddrV4::new([a, b, c, d].into(), u16::from_be_bytes([high, low])), at))
}

/// An address, whatever stands behind it.
fn address_before_delimiter(text: &[u8]) -> Option<(std::net::Ipv4Addr, usize)> {
    let end = text.iter().position(|&byte| byte != b'.' && !byte.is_ascii_digit())?;
    address(&text[..end]).filter(|&(_, len)| len == end)
}

/// What stands between the parts: any printable character (RFC 2428 section 2) but a digit or a
/// dot, which could not be told from them.
fn delimiter(text: &[u8]) -> Result<u8, Reason> {
    let fits = |byte: &u8| byte.is_ascii_graphic() && !byte.is_ascii_digit() && *byte != b'.';
    text.first().copied().filter(fits).ok_or(BAD)
}

fn behind_blanks(payload: &[u8], from: usize, end: usize) -> usize {
    let blanks = payload[from..end].iter().take_while(|&&byte| byte == b' ').count();
    from + blanks
}

/// What the lines begin with that tell something, each as long.
const WORDS: [&[u8]; 4] = [b"PORT ", b"EPRT ", b"227 ", b"229 "];

/// `227 ` and what is one longer; the blank that may be left is skipped.
const WORD_LEN: usize = 4;

/// IPv4 among the families of addresses (RFC 2428 section 2).
const FAMILY_IPV4: u32 = 1;

const BAD: Reason = Reason::Malformed;
