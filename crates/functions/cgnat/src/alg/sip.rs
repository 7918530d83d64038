//! SIP (RFC 3261): where a message tells to send answers, requests and media.
//!
//! On the way out the subscriber's address becomes its outside one in the Request-URI, in Via,
//! Contact, Route and Record-Route, and in the session description (`sdp.rs`); on the way in
//! the outside address becomes the subscriber's in the same headers, with `received` and `rport` of
//! its Via, so that a client that compares them with what it sent finds them as they were (section
//! 18.1.2). The length of the body is mended.
//!
//! A port that is the session's own becomes the session's; another one is mapped. Names, IPv6 and
//! foreign addresses stay. Over TCP a message must begin and end in the segment. `maddr`, Path and
//! Service-Route stay.

use std::ops::Range;

use super::edit::Text;
use super::text::{Line, address, begins, find, lines, number, port};
use super::{Mappings, Ports, Protocol, Reason, Side, Work, sdp};

/// Finds the addresses of messages, and maps them.
pub(super) fn scan<M: Mappings>(payload: &[u8], work: &mut Work<'_, M>) {
    let protocol = work.translation.protocol;
    let mut at = behind_silence(payload, 0);
    while at < payload.len() {
        let head = match Head::parse(payload, at, protocol) {
            Ok(head) => head,
            Err(reason) => return work.fail(reason),
        };
        work.unit(at, |work| message(payload, &head, work));
        if protocol != Protocol::Tcp {
            return;
        }
        at = behind_silence(payload, head.body.end);
    }
}

/// Behind what keeps a mapping alive (RFC 5626 section 3.5.1) and may stand before a message.
fn behind_silence(payload: &[u8], from: usize) -> usize {
    let is_silent = |byte: &&u8| matches!(byte, b'\r' | b'\n' | 0);
    from + payload[from..].iter().take_while(is_silent).count()
}

/// One message.
fn message<M: Mappings>(payload: &[u8], head: &Head, work: &mut Work<'_, M>) -> Result<(), Reason> {
    if head.is_request {
        uris(payload, head.start_line.clone(), work)?;
    }
    for header in headers(payload, head.start_line.end) {
        match header.kind {
            Kind::Via => via(payload, header.value, work)?,
            Kind::Uris => uris(payload, header.value, work)?,
            _ => {}
        }
    }
    if head.has_sdp && work.translation.from == Side::Inside {
        sdp::scan(payload, head.body.clone(), work)?;
    }
    let growth = work.edits.growth_from(head.body.start);
    match &head.length {
        Some(place) if growth != 0 => {
            let len = head.body.len().saturating_add_signed(growth);
            work.edits.replace(place.clone(), Text::Number(len as u32))
        }
        _ => Ok(()),
    }
}

/// The frame of a message.
struct Head {
    start_line: Range<usize>,
    is_request: bool,
    /// The number of Content-Length.
    length: Option<Range<usize>>,
    has_sdp: bool,
    body: Range<usize>,
}

impl Head {
    fn parse(payload: &[u8], from: usize, protocol: Protocol) -> Result<Head, Reason> {
        let torn = if protocol == Protocol::Tcp { Reason::Split } else { Reason::Malformed };
        let first = lines(payload, from).next().ok_or(Reason::NoMessage)?;
        let start = &payload[first.start..first.end];
        let is_word = start.first().is_some_and(u8::is_ascii_alphabetic);
        let is_request = is_word && start.ends_with(b" SIP/2.0");
        if !is_request && !begins(start, b"SIP/2.0 ") {
            return Err(if is_word && !first.is_whole { torn } else { Reason::NoMessage });
        }
        let mut head = Head {
            start_line: first.start..first.next,
            is_request,
            length: None,
            has_sdp: false,
            body: 0..0,
        };
        let mut body = None;
        for header in headers(payload, first.next) {
            let value = &payload[header.value.clone()];
            match header.kind {
                Kind::End => body = Some(header.value.end),
                Kind::Length => {
                    let (_, digits) = number(value, 7).ok_or(Reason::Malformed)?;
                    if digits != value.trim_ascii_end().len() || head.length.is_some() {
                        return Err(Reason::Malformed);
                    }
                    head.length = Some(header.value.start..header.value.start + digits);
                }
                Kind::ContentType => head.has_sdp = begins(value, b"application/sdp"),
                _ => {}
            }
        }
        let start = body.ok_or(torn)?;
        let said = head.length.clone().and_then(|place| number(&payload[place], 7));
        let rest = payload.len() - start;
        let len = match (said, protocol) {
            // Over TCP it must be told (section 20.14).
            (None, Protocol::Tcp) => return Err(Reason::Malformed),
            (None, _) => rest,
            (Some((len, _)), _) if len as usize > rest => return Err(torn),
            (Some((len, _)), _) => len as usize,
        };
        head.body = start..start + len;
        Ok(head)
    }
}

/// What a header is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Via,
    /// One or more addresses with URIs.
    Uris,
    Length,
    ContentType,
    Other,
    /// The empty line.
    End,
}

/// A header, with the lines that continue it (section 7.3.1).
struct Header {
    kind: Kind,
    value: Range<usize>,
}

/// The headers from a place on, up to the empty line; the last is [`Kind::End`] if it is there.
fn headers(payload: &[u8], from: usize) -> impl Iterator<Item = Header> + '_ {
    let mut rest = lines(payload, from).peekable();
    let mut is_over = false;
    std::iter::from_fn(move || {
        let line = rest.next().filter(|_| !is_over)?;
        if line.start == line.end && line.is_whole {
            is_over = true;
            return Some(Header { kind: Kind::End, value: line.start..line.next });
        }
        let mut end = line.end;
        let continues = |next: &Line| matches!(payload.get(next.start), Some(b' ' | b'\t'));
        while let Some(next) = rest.next_if(continues) {
            end = next.end;
        }
        Some(header(payload, line.start..end))
    })
}

fn header(payload: &[u8], place: Range<usize>) -> Header {
    let Some(colon) = find(payload, place.start, place.end, b':') else {
        return Header { kind: Kind::Other, value: place };
    };
    let name = payload[place.start..colon].trim_ascii_end();
    let is = |names: &[&str]| names.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
    let kind = if is(&["Via", "v"]) {
        Kind::Via
    } else if is(&["Contact", "m", "Route", "Record-Route"]) {
        Kind::Uris
    } else if is(&["Content-Length", "l"]) {
        Kind::Length
    } else if is(&["Content-Type", "c"]) {
        Kind::ContentType
    } else {
        Kind::Other
    };
    let start = behind_blanks(payload, colon + 1, place.end);
    Header { kind, value: start..place.end }
}

/// The values of a Via: `SIP/2.0/UDP 10.0.0.1:5060;branch=z9hG4bK776` (section 20.42).
fn via<M: Mappings>(
    payload: &[u8],
    value: Range<usize>,
    work: &mut Work<'_, M>,
) -> Result<(), Reason> {
    let mut at = value.start;
    while at < value.end {
        let end = unquoted(payload, at, value.end, b',');
        let parameters = unquoted(payload, at, end, b';');
        let words = &payload[at..parameters];
        let Some(protocol) = via_protocol(words) else { return Err(Reason::Malformed) };
        let host = at + protocol.len + blanks(&words[protocol.len..]);
        let is_own = host_port(payload, host..parameters, protocol.is, VIA_PORT, work)?;
        if work.translation.from == Side::Outside && is_own {
            via_parameters(payload, parameters..end, work)?;
        }
        at = behind_blanks(payload, end + 1, value.end);
    }
    Ok(())
}

/// The protocol of a Via and how many bytes it takes.
struct ViaProtocol {
    is: Protocol,
    len: usize,
}

/// `SIP / 2.0 / UDP`, blanks allowed.
fn via_protocol(words: &[u8]) -> Option<ViaProtocol> {
    let mut at = 0;
    for part in [&b"SIP"[..], b"/", b"2.0", b"/"] {
        at += blanks(&words[at..]);
        at += begins(&words[at..], part).then_some(part.len())?;
    }
    at += blanks(&words[at..]);
    let name = words[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let is_udp = words[at..at + name].eq_ignore_ascii_case(b"UDP");
    let is = if is_udp { Protocol::Udp } else { Protocol::Tcp };
    (name > 0 && blanks(&words[at + name..]) > 0).then_some(ViaProtocol { is, len: at + name })
}

/// `received` and `rport` (RFC 3581) of the subscriber's own Via, which tell the outside of the
/// session.
fn via_parameters<M: Mappings>(
    payload: &[u8],
    place: Range<usize>,
    work: &mut Work<'_, M>,
) -> Result<(), Reason> {
    let (inside, outside) = (work.translation.inside, work.translation.outside);
    let mut at = place.start;
    while at < place.end {
        let from = at + 1;
        let end = unquoted(payload, from, place.end, b';');
        let parameter = &payload[from..end];
        if begins(parameter, b"received=") {
            let from = from + b"received=".len();
            if let Some((ip, len)) = address(&payload[from..end])
                && ip == *outside.ip()
            {
                work.edits.replace(from..from + len, Text::Address(*inside.ip()))?;
            }
        } else if begins(parameter, b"rport=") {
            let from = from + b"rport=".len();
            if let Some((seen, len)) = port(&payload[from..end])
                && seen == outside.port()
            {
                work.edits.replace(from..from + len, Text::Number(inside.port().into()))?;
            }
        }
        at = end;
    }
    Ok(())
}

/// Every URI of a value that is not within quotes: `"Bob" <sip:bob@10.0.0.1:5060;lr>,
/// sip:10.0.0.2`.
fn uris<M: Mappings>(
    payload: &[u8],
    value: Range<usize>,
    work: &mut Work<'_, M>,
) -> Result<(), Reason> {
    let mut at = value.start;
    while at < value.end {
        let text = &payload[at..value.end];
        let scheme = if begins(text, b"sip:") {
            4
        } else if begins(text, b"sips:") {
            5
        } else {
            0
        };
        if scheme > 0 {
            let is_bracketed = at > value.start && payload[at - 1] == b'<';
            let end = uri_end(payload, at + scheme..value.end, is_bracketed);
            uri(payload, at + scheme..end, scheme == 5, work)?;
            at = end;
        } else if text[0] == b'"' {
            at = behind_quotes(payload, at, value.end);
        } else {
            // The rest of a word, so that a scheme is found only at the beginning of one.
            let is_word = |byte: &&u8| byte.is_ascii_alphanumeric();
            at += text.iter().take_while(is_word).count().max(1);
        }
    }
    Ok(())
}

/// Where a URI ends: without brackets it has no parameters of its own (section 20).
fn uri_end(payload: &[u8], place: Range<usize>, is_bracketed: bool) -> usize {
    let ends = |byte: &u8| match byte {
        b'>' | b' ' | b'\t' | b'\r' | b'\n' | b'"' => true,
        b',' => !is_bracketed,
        _ => false,
    };
    let text = &payload[place.clone()];
    place.start + text.iter().position(ends).unwrap_or(text.len())
}

/// What follows the scheme of a URI: `bob@10.0.0.1:5060;transport=tcp`.
fn uri<M: Mappings>(
    payload: &[u8],
    place: Range<usize>,
    is_sips: bool,
    work: &mut Work<'_, M>,
) -> Result<(), Reason> {
    let host = find(payload, place.start, place.end, b'@').map_or(place.start, |at| at + 1);
    let text = &payload[host..place.end];
    let told = text.windows(TRANSPORT.len()).position(|part| part.eq_ignore_ascii_case(TRANSPORT));
    let protocol = match told.map(|at| &text[at + TRANSPORT.len()..]) {
        Some(name) if begins(name, b"udp") => Protocol::Udp,
        Some(name) if begins(name, b"tcp") || begins(name, b"tls") => Protocol::Tcp,
        _ => work.translation.protocol,
    };
    let port = if is_sips { SIPS_PORT } else { VIA_PORT };
    host_port(payload, host..place.end, protocol, port, work).map(|_| ())
}

/// A host and perhaps a port: replaced if it is the sender's own on the way out, or the outside one
/// on the way in. Tells whether it is.
fn host_port<M: Mappings>(
    payload: &[u8],
    place: Range<usize>,
    protocol: Protocol,
    port_else: u16,
    work: &mut Work<'_, M>,
) -> Result<bool, Reason> {
    let Some((ip, len)) = address(&payload[place.clone()]) else { return Ok(false) };
    let (inside, outside) = (work.translation.inside, work.translation.outside);
    let is_out = work.translation.from == Side::Inside;
    let (own, other) = if is_out { (inside, outside) } else { (outside, inside) };
    if ip != *own.ip() {
        return Ok(false);
    }
    let mut end = place.start + len;
    let behind = &payload[end..place.end];
    let told = match behind.first() {
        Some(b' ' | b'\t' | b'\r' | b'\n') if behind[blanks(behind)..].starts_with(b":") => {
            return Err(Reason::Malformed);
        }
        Some(b':') => {
            let (port, digits) = port(&payload[end + 1..place.end]).ok_or(Reason::Malformed)?;
            end += 1 + digits;
            Some(port)
        }
        _ => None,
    };
    let from = told.unwrap_or(port_else);
    let is_session = from == own.port() && protocol == work.translation.protocol;
    let to = match (is_session, is_out) {
        (true, _) => other,
        (false, true) => work.open(protocol, from, Ports::Any, None)?,
        (false, false) => match work.look_up(protocol, from) {
            Some(inside) => inside,
            None => return Ok(true),
        },
    };
    let needs_port = told.is_some() || to.port() != port_else;
    let text = if needs_port { Text::Endpoint(to) } else { Text::Address(*to.ip()) };
    work.edits.replace(place.start..end, text)?;
    Ok(true)
}

/// Where a byte first is that is not within quotes, or the end.
fn unquoted(payload: &[u8], from: usize, end: usize, wanted: u8) -> usize {
    let mut at = from;
    while at < end {
        match payload[at] {
            b'"' => at = behind_quotes(payload, at, end),
            byte if byte == wanted => return at,
            _ => at += 1,
        }
    }
    end
}

/// Behind the quoted string that begins at a place (section 25.1).
fn behind_quotes(payload: &[u8], from: usize, end: usize) -> usize {
    let mut at = from + 1;
    while at < end {
        match payload[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    end
}

fn behind_blanks(payload: &[u8], from: usize, end: usize) -> usize {
    payload.get(from..end).map_or(end, |text| from + blanks(text))
}

/// How many blanks a text begins with, those of a continued line among them.
fn blanks(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count()
}

/// The parameter of a URI that names its transport (section 19.1.1).
const TRANSPORT: &[u8] = b";transport=";

/// The port where none is told (section 19.1.2).
const VIA_PORT: u16 = 5060;

/// The same for `sips`.
const SIPS_PORT: u16 = 5061;
