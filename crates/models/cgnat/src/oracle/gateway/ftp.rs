//! FTP (RFC 959, RFC 2428) by the words of the standard library: lines of a subscriber that tell
//! where it waits.

use std::net::Ipv4Addr;

use super::script::{Ask, Message, What, Wish, octet, port};

/// The lines that tell something.
pub fn messages(text: &str, own: Ipv4Addr, remote: Ipv4Addr) -> Vec<Message> {
    let mut at = 0;
    let mut all = Vec::new();
    for line in text.split_inclusive('\n') {
        let body = line.strip_suffix("\r\n").or(line.strip_suffix('\n'));
        if let Some(message) = body.and_then(|body| message(at, body, own, remote)) {
            all.push(message);
        }
        at += line.len();
    }
    all
}

/// A line; none of those that tell nothing.
fn message(at: usize, body: &str, own: Ipv4Addr, remote: Ipv4Addr) -> Option<Message> {
    let (word, rest) = body.split_once(' ')?;
    let mut message = Message::new(at);
    let told = match word.to_ascii_uppercase().as_str() {
        "PORT" => active(rest),
        "227" => passive(rest),
        "EPRT" => match extended_active(rest) {
            Some(None) => return None,
            told => told.flatten(),
        },
        "229" => extended_passive(rest, own),
        _ => return None,
    };
    let Some(Told { from, to, end, form }) = told.filter(|told| told.end.0 == own) else {
        message.fail::<()>();
        return Some(message);
    };
    let start = at + word.len() + 1;
    let ask = Ask { protocol: 6, port: end.1, wish: Wish::Any, remote: Some(remote) };
    if let Some(number) = message.ask(ask) {
        let what = match form {
            Form::Commas => What::Commas(number),
            Form::Between(char) => What::Between(number, char),
            Form::Number => What::Number { ask: number, plus: 0 },
        };
        message.put((start + from, start + to), what);
    }
    Some(message)
}

/// What a line tells, and where it stands behind the first word.
struct Told {
    from: usize,
    to: usize,
    end: (Ipv4Addr, u16),
    form: Form,
}

enum Form {
    Commas,
    Between(char),
    Number,
}

fn active(rest: &str) -> Option<Told> {
    let numbers = rest.trim_matches(' ');
    let from = rest.len() - rest.trim_start_matches(' ').len();
    Some(Told { from, to: from + numbers.len(), end: six(numbers)?, form: Form::Commas })
}

fn passive(rest: &str) -> Option<Told> {
    let from = rest.find(|char: char| char.is_ascii_digit())?;
    let tail = &rest[from..];
    let mut commas = 0;
    let len = tail.find(|char: char| {
        commas += usize::from(char == ',');
        !(char.is_ascii_digit() || char == ',') || commas > 5
    });
    let len = len.unwrap_or(tail.len());
    Some(Told { from, to: from + len, end: six(&tail[..len])?, form: Form::Commas })
}

/// None within for an address of another family.
fn extended_active(rest: &str) -> Option<Option<Told>> {
    let told = rest.trim_start_matches(' ');
    let blanks = rest.len() - told.len();
    let delimiter = told.chars().next().filter(is_delimiter)?;
    let tail = &told[1..];
    let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
    let family: u32 = tail[..digits].parse().ok().filter(|_| (1..=5).contains(&digits))?;
    if family != 1 {
        return Some(None);
    }
    let parts: Vec<&str> = told.split(delimiter).collect();
    let ["", family, ip, number, _, ..] = parts[..] else { return None };
    if family.len() != digits {
        return None;
    }
    let octets: Option<Vec<u8>> = ip.split('.').map(octet).collect();
    let [a, b, c, d] = octets?[..] else { return None };
    let (port, len) = port(number)?;
    let from = blanks + 1 + digits + 1;
    let end = (Ipv4Addr::new(a, b, c, d), port);
    let is_number = len == number.len();
    let to = from + ip.len() + 1 + number.len();
    Some(is_number.then_some(Told { from, to, end, form: Form::Between(delimiter) }))
        .filter(|told| told.is_some())
}

fn extended_passive(rest: &str, own: Ipv4Addr) -> Option<Told> {
    let (front, told) = rest.split_once('(')?;
    let delimiter = told.chars().next().filter(is_delimiter)?;
    let frame = delimiter.to_string().repeat(3);
    let behind = told.strip_prefix(&frame)?;
    let (port, len) = port(behind)?;
    behind[len..].strip_prefix(delimiter)?.strip_prefix(')')?;
    let from = front.len() + 1 + 3;
    Some(Told { from, to: from + len, end: (own, port), form: Form::Number })
}

fn is_delimiter(char: &char) -> bool {
    char.is_ascii_graphic() && !char.is_ascii_digit() && *char != '.'
}

fn six(text: &str) -> Option<(Ipv4Addr, u16)> {
    let numbers: Option<Vec<u8>> = text.split(',').map(octet).collect();
    let [a, b, c, d, high, low] = numbers?[..] else { return None };
    Some((Ipv4Addr::new(a, b, c, d), u16::from(high) * 256 + u16::from(low)))
}
