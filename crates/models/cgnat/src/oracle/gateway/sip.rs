//! SIP (RFC 3261) and session descriptions (RFC 8866, RFC 3605) by the words of the standard
//! library.

use std::net::Ipv4Addr;

use super::super::tables::End;
use super::script::{Ask, Message, Step, What, Wish, dotted, port};

/// The session of a payload.
pub struct Talk<'a> {
    pub protocol: u8,
    pub is_out: bool,
    pub inside: End,
    pub outside: End,
    /// Whose an outside port of a protocol is.
    pub owner: &'a dyn Fn(u8, u16) -> Option<End>,
}

/// The messages of a payload: of a datagram one, of a segment those that are whole.
pub fn messages(text: &str, talk: &Talk<'_>) -> Vec<Message> {
    let mut all = Vec::new();
    let mut at = behind_silence(text, 0);
    while at < text.len() {
        let Some(head) = Head::read(text, at, talk.protocol == 6) else { break };
        let mut reading = Reading { text, talk, message: Message::new(at) };
        let _ = reading.message(&head);
        at = behind_silence(text, head.body.1);
        all.push(reading.message);
        if talk.protocol != 6 {
            break;
        }
    }
    all
}

fn behind_silence(text: &str, at: usize) -> usize {
    text.len() - text[at..].trim_start_matches(['\r', '\n', '\0']).len()
}

/// The frame of a message: places are beginnings and ends.
struct Head {
    line: (usize, usize),
    is_request: bool,
    headers: Vec<(String, (usize, usize))>,
    length: Option<(usize, usize)>,
    has_sdp: bool,
    body: (usize, usize),
}

impl Head {
    fn read(text: &str, at: usize, is_tcp: bool) -> Option<Head> {
        let first = text[at..].split_inclusive('\n').next()?;
        let start = without_ending(first);
        let is_request =
            start.ends_with(" SIP/2.0") && start.starts_with(|c: char| c.is_ascii_alphabetic());
        let is_answer = start.get(..8).is_some_and(|word| word.eq_ignore_ascii_case("SIP/2.0 "));
        if !is_request && !is_answer {
            return None;
        }
        let mut place = at + first.len();
        let line = (at, place);
        let mut lines: Vec<(usize, usize)> = Vec::new();
        let mut body = None;
        for one in text[place..].split_inclusive('\n') {
            let said = without_ending(one);
            let next = place + one.len();
            if said.is_empty() {
                body = Some(next);
                break;
            }
            let goes_on = one.starts_with([' ', '\t']) && !lines.is_empty();
            match lines.last_mut().filter(|_| goes_on) {
                Some(last) => last.1 = place + said.len(),
                None => lines.push((place, place + said.len())),
            }
            place = next;
        }
        let body = body?;
        let headers: Vec<(String, (usize, usize))> =
            lines.into_iter().map(|(from, to)| header(text, from, to)).collect();
        let mut length = None;
        let mut has_sdp = false;
        for (name, (from, to)) in &headers {
            let value = &text[*from..*to];
            match name.as_str() {
                "content-length" | "l" => {
                    let digits = value.trim_ascii_end();
                    let is_number = digits.chars().all(|c| c.is_ascii_digit());
                    if !is_number || !(1..=7).contains(&digits.len()) || length.is_some() {
                        return None;
                    }
                    length = Some((*from, from + digits.len()));
                }
                "content-type" | "c" => {
                    let kind = "application/sdp";
                    let begins = value.get(..kind.len());
                    has_sdp = begins.is_some_and(|begins| begins.eq_ignore_ascii_case(kind));
                }
                _ => {}
            }
        }
        let rest = text.len() - body;
        let said = length.and_then(|(from, to)| text[from..to].parse::<usize>().ok());
        if said.is_none() && is_tcp || said.is_some_and(|said| said > rest) {
            return None;
        }
        let body = (body, body + said.unwrap_or(rest));
        Some(Head { line, is_request, headers, length, has_sdp, body })
    }
}

/// A header's name in small letters, and where its value stands.
fn header(text: &str, from: usize, to: usize) -> (String, (usize, usize)) {
    match text[from..to].split_once(':') {
        None => (String::new(), (from, to)),
        Some((name, value)) => {
            let blanks = value.len() - value.trim_start_matches([' ', '\t', '\r', '\n']).len();
            let start = from + name.len() + 1 + blanks;
            (name.trim_ascii_end().to_ascii_lowercase(), (start, to))
        }
    }
}

fn without_ending(line: &str) -> &str {
    let whole = line.strip_suffix('\n');
    whole.map_or(line, |line| line.strip_suffix('\r').unwrap_or(line))
}

/// A message in the making. What fails yields none, and has said so.
struct Reading<'a> {
    text: &'a str,
    talk: &'a Talk<'a>,
    message: Message,
}

impl Reading<'_> {
    fn message(&mut self, head: &Head) -> Option<()> {
        if head.is_request {
            self.uris(head.line)?;
        }
        for (name, value) in &head.headers {
            match name.as_str() {
                "via" | "v" => self.via(*value)?,
                "contact" | "m" | "route" | "record-route" => self.uris(*value)?,
                _ => {}
            }
        }
        if head.has_sdp && self.talk.is_out {
            self.description(head.body)?;
        }
        if let Some((from, to)) = head.length {
            let (body, body_len) = (head.body.0, head.body.1 - head.body.0);
            self.message.steps.push(Step::Length { from, to, body, body_len });
        }
        Some(())
    }

    /// URIs that are not quoted.
    fn uris(&mut self, (start, end): (usize, usize)) -> Option<()> {
        let mut at = start;
        while at < end {
            let rest = &self.text[at..end];
            let is = |word: &str| {
                rest.get(..word.len()).is_some_and(|front| front.eq_ignore_ascii_case(word))
            };
            let scheme = if is("sip:") { "sip:" } else { "sips:" };
            if is(scheme) {
                let is_bracketed = at > start && self.text[..at].ends_with('<');
                let rest = &rest[scheme.len()..];
                let ends: &[char] = match is_bracketed {
                    true => &['>', ' ', '\t', '\r', '\n', '"'],
                    false => &['>', ' ', '\t', '\r', '\n', '"', ','],
                };
                let len = rest.find(ends).unwrap_or(rest.len());
                let from = at + scheme.len();
                self.uri((from, from + len), scheme == "sips:")?;
                at = from + len;
            } else if rest.starts_with('"') {
                at += quoted(rest);
            } else {
                let word = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                at += word.max(1);
            }
        }
        Some(())
    }

    fn uri(&mut self, (from, to): (usize, usize), is_sips: bool) -> Option<()> {
        let uri = &self.text[from..to];
        let host = uri.split_once('@').map_or(uri, |(_, host)| host);
        let small = host.to_ascii_lowercase();
        let protocol = match small.split_once(";transport=").map(|(_, name)| name) {
            Some(name) if name.starts_with("udp") => 17,
            Some(name) if name.starts_with("tcp") || name.starts_with("tls") => 6,
            _ => self.talk.protocol,
        };
        let default = if is_sips { 5061 } else { 5060 };
        self.host((to - host.len(), to), (protocol, default))?;
        Some(())
    }

    /// A host and perhaps a port; whether it is the sender's own, or the outside one.
    fn host(&mut self, (from, to): (usize, usize), (protocol, default): (u8, u16)) -> Option<bool> {
        let talk = self.talk;
        let (own, other) = match talk.is_out {
            true => (talk.inside, talk.outside),
            false => (talk.outside, talk.inside),
        };
        let Some((ip, len)) = dotted(&self.text[from..to]).filter(|(ip, _)| *ip == own.0) else {
            return Some(false);
        };
        let _ = ip;
        let mut end = from + len;
        let behind = &self.text[end..to];
        let blanks = behind.trim_start_matches([' ', '\t', '\r', '\n']);
        if blanks.len() < behind.len() && blanks.starts_with(':') {
            return self.message.fail();
        }
        let told = match behind.strip_prefix(':') {
            None => None,
            Some(digits) => {
                let Some((port, len)) = port(digits) else { return self.message.fail() };
                end += 1 + len;
                Some(port)
            }
        };
        let wanted = told.unwrap_or(default);
        let is_session = (protocol, wanted) == (talk.protocol, own.1);
        let told = told.is_some();
        let fixed = |end: End| {
            What::Text(match told || end.1 != default {
                true => format!("{}:{}", end.0, end.1),
                false => end.0.to_string(),
            })
        };
        let what = match (is_session, talk.is_out) {
            (true, _) => fixed(other),
            (false, true) => {
                let ask = Ask { protocol, port: wanted, wish: Wish::Any, remote: None };
                What::Endpoint { ask: self.message.ask(ask)?, told, default }
            }
            (false, false) => match (talk.owner)(protocol, wanted) {
                Some(owner) if owner.0 == talk.inside.0 => fixed(owner),
                _ => return Some(true),
            },
        };
        self.message.put((from, end), what);
        Some(true)
    }

    fn via(&mut self, value: (usize, usize)) -> Option<()> {
        let mut at = value.0;
        while at < value.1 {
            let end = unquoted(self.text, at, value.1, ',');
            let parameters = unquoted(self.text, at, end, ';');
            let Some((protocol, len)) = sent_protocol(&self.text[at..parameters]) else {
                return self.message.fail();
            };
            let is_own = self.host((at + len, parameters), (protocol, 5060))?;
            if is_own && !self.talk.is_out {
                self.seen_from_outside(parameters, end);
            }
            let next = (end + 1).min(value.1);
            let rest = &self.text[next..value.1];
            at = value.1 - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
        }
        Some(())
    }

    /// `received` and `rport` of the subscriber's own Via.
    fn seen_from_outside(&mut self, mut at: usize, to: usize) {
        let (inside, outside) = (self.talk.inside, self.talk.outside);
        while at < to {
            let from = at + 1;
            let end = unquoted(self.text, from, to, ';');
            let parameter = &self.text[from..end];
            let small = parameter.to_ascii_lowercase();
            if small.starts_with("received=") {
                let found = dotted(&parameter[9..]).filter(|(ip, _)| *ip == outside.0);
                if let Some((_, len)) = found {
                    let what = What::Text(inside.0.to_string());
                    self.message.put((from + 9, from + 9 + len), what);
                }
            } else if small.starts_with("rport=") {
                let found = port(&parameter[6..]).filter(|(seen, _)| *seen == outside.1);
                if let Some((_, len)) = found {
                    let what = What::Text(inside.1.to_string());
                    self.message.put((from + 6, from + 6 + len), what);
                }
            }
            at = end;
        }
    }

    /// The media of a description.
    fn description(&mut self, (from, to): (usize, usize)) -> Option<()> {
        let own = self.talk.inside.0;
        let mut session_is_own = false;
        let mut medium: Option<Medium> = None;
        let mut at = from;
        for whole in self.text[from..to].split_inclusive('\n') {
            let line = without_ending(whole);
            if let Some(rest) = line.strip_prefix("c=IN IP4 ") {
                let Some((ip, len)) = dotted(rest) else { return self.message.fail() };
                let is_own = medium.as_mut().map_or(&mut session_is_own, |one| &mut one.is_own);
                *is_own = ip == own;
                if ip == own {
                    let start = at + line.len() - rest.len();
                    let what = What::Text(self.talk.outside.0.to_string());
                    self.message.put((start, start + len), what);
                }
            } else if line.starts_with("m=") {
                if let Some(medium) = medium.take() {
                    self.map(&medium)?;
                }
                let Some(read) = Medium::read(line, at, session_is_own) else {
                    return self.message.fail();
                };
                medium = Some(read);
            } else if let (Some(rest), Some(medium)) = (line.strip_prefix("a=rtcp:"), &mut medium) {
                let Some((port, len)) = port(rest) else { return self.message.fail() };
                let start = at + line.len() - rest.len();
                let behind = rest[len..].strip_prefix(" IN IP4 ");
                let address = match behind {
                    None => None,
                    Some(text) => match dotted(text) {
                        None => return self.message.fail(),
                        Some((ip, len)) => Some((ip, (at + line.len() - text.len(), len))),
                    },
                };
                medium.rtcp = Some(Rtcp { place: (start, start + len), port, address });
            }
            at += whole.len();
        }
        medium.map_or(Some(()), |medium| self.map(&medium))
    }

    /// Ports of a medium that is on and the subscriber's.
    fn map(&mut self, medium: &Medium) -> Option<()> {
        if !medium.is_own || medium.port == 0 {
            return Some(());
        }
        let beside = medium.rtcp.as_ref().map(|rtcp| u32::from(rtcp.port));
        let next = u32::from(medium.port) + 1;
        let wish = match beside {
            _ if !medium.is_rtp => Wish::Any,
            Some(port) if port != next || next > 65_535 => Wish::Parity,
            _ if next > 65_535 => return self.message.fail(),
            _ => Wish::Pair,
        };
        let ask = |port, wish| Ask { protocol: medium.protocol, port, wish, remote: None };
        let media = self.message.ask(ask(medium.port, wish))?;
        self.message.put(medium.place, What::Number { ask: media, plus: 0 });
        let Some(rtcp) = &medium.rtcp else { return Some(()) };
        if rtcp.address.is_some_and(|(ip, _)| ip != self.talk.inside.0) {
            return Some(());
        }
        let what = if rtcp.port == medium.port {
            What::Number { ask: media, plus: 0 }
        } else if wish == Wish::Pair {
            What::Number { ask: media, plus: 1 }
        } else {
            What::Number { ask: self.message.ask(ask(rtcp.port, Wish::Parity))?, plus: 0 }
        };
        self.message.put(rtcp.place, what);
        if let Some((_, (from, len))) = rtcp.address {
            let what = What::Text(self.talk.outside.0.to_string());
            self.message.put((from, from + len), what);
        }
        Some(())
    }
}

struct Medium {
    place: (usize, usize),
    port: u16,
    protocol: u8,
    is_rtp: bool,
    is_own: bool,
    rtcp: Option<Rtcp>,
}

struct Rtcp {
    place: (usize, usize),
    port: u16,
    address: Option<(Ipv4Addr, (usize, usize))>,
}

impl Medium {
    /// `m=audio 49170 RTP/AVP 0`
    fn read(line: &str, at: usize, is_own: bool) -> Option<Medium> {
        let (kind, rest) = line.split_once(' ')?;
        let (port, len) = port(rest)?;
        let profile = rest[len..].strip_prefix(' ')?.split(' ').next()?.to_ascii_uppercase();
        let is_tcp = profile.starts_with("TCP");
        let start = at + kind.len() + 1;
        Some(Medium {
            place: (start, start + len),
            port,
            protocol: if is_tcp { 6 } else { 17 },
            is_rtp: !is_tcp && profile.split('/').any(|part| part == "RTP"),
            is_own,
            rtcp: None,
        })
    }
}

/// `SIP / 2.0 / UDP` with blanks behind it: the protocol, and the length of all that.
fn sent_protocol(words: &str) -> Option<(u8, usize)> {
    let blanks = [' ', '\t', '\r', '\n'];
    let mut rest = words;
    for part in ["SIP", "/", "2.0", "/"] {
        rest = rest.trim_start_matches(blanks);
        rest.get(..part.len()).filter(|front| front.eq_ignore_ascii_case(part))?;
        rest = &rest[part.len()..];
    }
    rest = rest.trim_start_matches(blanks);
    let name = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(name);
    let host = rest.trim_start_matches(blanks);
    let protocol = if name.eq_ignore_ascii_case("UDP") { 17 } else { 6 };
    let is_there = !name.is_empty() && host.len() < rest.len();
    is_there.then_some((protocol, words.len() - host.len()))
}

/// Where a character first is from a place on that is not quoted; the end where it is nowhere.
fn unquoted(text: &str, from: usize, end: usize, wanted: char) -> usize {
    let mut at = from;
    while at < end {
        let rest = &text[at..end];
        if rest.starts_with('"') {
            at += quoted(rest);
        } else if rest.starts_with(wanted) {
            return at;
        } else {
            at += 1;
        }
    }
    end
}

/// The length of a quoted string at the beginning of a text, which it may not end in.
fn quoted(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}
