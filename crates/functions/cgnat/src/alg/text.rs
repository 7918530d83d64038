//! Reading numbers, addresses and lines of text that may be anything.

use std::net::Ipv4Addr;

/// The decimal number at the beginning, of at most so many digits, and how many it has.
pub fn number(text: &[u8], digits_max: usize) -> Option<(u32, usize)> {
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = |text: &[u8]| text.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    (1..=digits_max).contains(&len).then(|| (value(&text[..len]), len))
}

/// The port at the beginning, and how many digits it has.
pub fn port(text: &[u8]) -> Option<(u16, usize)> {
    let (value, len) = number(text, 5)?;
    Some((u16::try_from(value).ok()?, len))
}

/// The dotted IPv4 address at the beginning, and how many characters it has; none where it goes on
/// as a name or number would.
pub fn address(text: &[u8]) -> Option<(Ipv4Addr, usize)> {
    let mut octets = [0; 4];
    let mut at = 0;
    for (place, octet) in octets.iter_mut().enumerate() {
        if place > 0 {
            text.get(at).filter(|&&byte| byte == b'.')?;
            at += 1;
        }
        let (value, len) = number(&text[at..], 3)?;
        *octet = u8::try_from(value).ok()?;
        at += len;
    }
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    (!text.get(at).is_some_and(goes_on)).then_some((Ipv4Addr::from(octets), at))
}

/// Whether a text begins with a word, in letters of either size.
pub fn begins(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|front| front.eq_ignore_ascii_case(word))
}

/// Where a byte first is, at or behind a place and before an end.
pub fn find(text: &[u8], from: usize, end: usize, byte: u8) -> Option<usize> {
    let part = text.get(from..end)?;
    Some(from + part.iter().position(|&one| one == byte)?)
}

/// Where lines begin and end, without what ends them; whether they are whole is in the last.
pub fn lines(text: &[u8], from: usize) -> impl Iterator<Item = Line> + '_ {
    let mut at = from;
    std::iter::from_fn(move || {
        let start = at;
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let len = rest.iter().position(|&byte| byte == b'\n');
        at = start + len.map_or(rest.len(), |len| len + 1);
        let end = start + len.unwrap_or(rest.len());
        let has_return = len.is_some() && end > start && text[end - 1] == b'\r';
        Some(Line { start, end: end - usize::from(has_return), next: at, is_whole: len.is_some() })
    })
}

/// A line of a text.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Where it begins.
    pub start: usize,
    /// Where it ends, before carriage return and line feed.
    pub end: usize,
    /// Where the next one begins.
    pub next: usize,
    /// Whether a line feed ends it.
    pub is_whole: bool,
}
