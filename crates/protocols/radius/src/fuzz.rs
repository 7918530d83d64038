//! The body of the fuzz target: any datagrams at any times, to a client with requests on their way,
//! to one with records and to a machine that servers ask; sessions with interim records that come
//! and go; and any bytes as text, file and attributes.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use protocol_kit::{Arrival, Departure, Input, Interface, Machine, Output, Secret, Socket, Time};

use crate::accounting::{self, Accounting, Pace};
use crate::attributes::{Attributes, List, kind};
use crate::backlog::{Backlog, Limits};
use crate::client::Client;
use crate::config::{Config, Server, Wall};
use crate::control::{Command, Report, Request};
use crate::dictionary::Dictionary;
use crate::dynamic::{self, Asker, Dynamic};
use crate::interims::{INTERVAL_MIN, Interims};
use crate::mapping::Mapping;
use crate::packet::{Code, Packet};
use crate::redact::redact;
use crate::seal::{self, Credentials};

/// Feeds the machines with what the bytes describe: a length, a kind, a step of time, and then a
/// datagram. It panics when a promise is broken: what has no right authenticator changes nothing
/// but one counter, each request ends with exactly one answer, and all of them end; each record is
/// there until a server has confirmed it.
pub fn fuzz(bytes: &[u8]) {
    law(bytes);
    interims(bytes);
    let mut recording = Recording::new();
    let mut client = Client::new(&config()).expect("it can be used");
    let mut dynamic = Dynamic::new(dynamic_config()).expect("it can be used");
    let mut now = Time::ZERO;
    let mut sent = Vec::new();
    let mut answers = [0u32; ASKED];
    for token in 0..ASKED as u64 {
        let credentials = Credentials::Password(Secret(b"password".to_vec()));
        let attributes = List::new();
        let request = match token % 2 {
            0 => Request::Access { credentials, attributes },
            _ => Request::Accounting { attributes, event_s: 0 },
        };
        client.input(now, Input::Command(Command::Ask { token, request }));
    }
    settle(&mut client, now, &mut sent, &mut answers);
    while dynamic.poll(now).is_some() {}
    let mut rest = bytes;
    while let Some(([len, how, steps], behind)) = rest.split_first_chunk() {
        let (datagram, behind) = behind.split_at(behind.len().min(usize::from(*len)));
        rest = behind;
        now = now.after(Duration::from_millis(u64::from(*steps) * 16));
        settle(&mut client, now, &mut sent, &mut answers);
        while dynamic.poll(now).is_some() {}
        if how & 0xa0 == 0x20 {
            recording.take(datagram, *how, now);
            continue;
        }
        let made = made(datagram, *how, &sent);
        let arrival = arrival(made.as_deref().unwrap_or(datagram), *how);
        if how & 0x80 == 0 {
            let before = (client.pending(), client.views()[0].counters);
            client.input(now, Input::Arrival(arrival));
            let after = client.views()[0].counters;
            let has_answer = after.answers != before.1.answers;
            assert_eq!(client.pending() + usize::from(has_answer), before.0);
            assert!(!has_answer || made.is_some(), "nobody else has the secret");
            assert_eq!(total(&after), total(&before.1) + 1, "for one reason");
        } else {
            let before = dynamic.counters();
            dynamic.input(now, Input::Arrival(arrival));
            let is_asked = dynamic.counters().asked != before.asked;
            assert!(!is_asked || made.is_some(), "nobody else has the secret");
        }
        settle(&mut client, now, &mut sent, &mut answers);
        while let Some(output) = dynamic.poll(now) {
            let Output::Report(dynamic::Report::Asked { number, keys, .. }) = output else {
                continue;
            };
            assert!(!keys.is_empty());
            let command = dynamic::Command::Answer { number, verdict: Ok(()) };
            dynamic.input(now, Input::Command(command));
        }
        assert!(client.deadline().is_none_or(|deadline| deadline > now));
    }
    now = now.after(Duration::from_secs(60));
    settle(&mut client, now, &mut sent, &mut answers);
    assert_eq!((client.pending(), answers), (0, [1; ASKED]));
    recording.end(now);
}

/// A machine of records, and what it was given.
struct Recording {
    accounting: Accounting,
    sent: Vec<Vec<u8>>,
    recorded: u64,
}

impl Recording {
    fn new() -> Recording {
        let client = Client::new(&config()).expect("it can be used");
        let pace = Pace { window: 2, rate: 50, pause: Duration::from_millis(500) };
        let accounting = Accounting::new(client, Backlog::new(LIMITS), pace);
        Recording { accounting, sent: Vec::new(), recorded: 0 }
    }

    /// Something is recorded, and then a datagram arrives.
    fn take(&mut self, datagram: &[u8], how: u8, now: Time) {
        let mut attributes = List::new();
        let number = self.recorded as u32;
        attributes.put_number(kind::ACCT_SESSION_ID, number).expect("it fits");
        let command = accounting::Command::Record { attributes, event_s: 0 };
        self.accounting.input(now, Input::Command(command));
        self.recorded += 1;
        self.settle(now);
        let made = made(datagram, how, &self.sent);
        let before = (self.accounting.confirmed(), self.accounting.views()[0].counters);
        let arrival = arrival(made.as_deref().unwrap_or(datagram), how);
        self.accounting.input(now, Input::Arrival(arrival));
        self.settle(now);
        let after = (self.accounting.confirmed(), self.accounting.views()[0].counters);
        assert_eq!(after.0 - before.0, after.1.answers - before.1.answers);
        assert!(after.0 == before.0 || made.is_some(), "nobody else has the secret");
        assert_eq!(total(&after.1), total(&before.1) + 1, "for one reason");
    }

    fn settle(&mut self, now: Time) {
        for _ in 0..OUTPUTS_MAX {
            match self.accounting.poll(now) {
                None => {
                    let (confirmed, lost) = (self.accounting.confirmed(), self.accounting.lost());
                    let waiting = self.accounting.backlog().len() as u64;
                    assert_eq!(confirmed + lost + waiting, self.recorded, "no record vanishes");
                    assert!(self.accounting.deadline().is_none_or(|deadline| deadline > now));
                    return;
                }
                Some(Output::Departure(Departure::Datagram { bytes, .. })) => {
                    if self.sent.len() < 64 {
                        self.sent.push(bytes);
                    }
                }
                Some(_) => {}
            }
        }
        panic!("an arrival and a step of time have fewer outputs");
    }

    /// A file has what is not confirmed.
    fn end(&mut self, now: Time) {
        self.settle(now);
        let file = self.accounting.backlog().snapshot();
        let (backlog, restored) = Backlog::restore(LIMITS, &file).expect("a file");
        assert_eq!(backlog.len(), self.accounting.backlog().len());
        assert_eq!((restored.torn_bytes, restored.lost), (0, 0));
    }
}

/// Sessions come and go as the bytes say: records are due for those that are there, none before its
/// time, and all of them in time.
fn interims(bytes: &[u8]) {
    let mut interims = Interims::new(SESSIONS, 7);
    // The interval of each session, and from when to when its next record may be due.
    let mut open: BTreeMap<u32, (Duration, Time, Time)> = BTreeMap::new();
    let mut now = Time::ZERO;
    for &[what, seconds, steps] in bytes.as_chunks().0 {
        now = now.after(Duration::from_millis(u64::from(steps) * 200));
        while let Some(number) = interims.due(now) {
            let (interval, from, _) = open[&number];
            assert!(from <= now, "{number} is due before its time");
            let next = now.after(interval);
            open.insert(number, (interval, next, next));
        }
        assert!(open.values().all(|(.., to)| now.since(*to) < LATEST), "one is late");
        let is_later = |deadline| deadline > now;
        assert!(interims.deadline().is_none_or(is_later));
        assert_eq!(interims.deadline().is_some(), !open.is_empty());
        let number = u32::from(what) % SESSIONS;
        if what & 0x80 == 0 {
            let asked = Duration::from_secs(u64::from(seconds));
            interims.begin(number, asked, now);
            let interval = asked.max(INTERVAL_MIN);
            open.insert(number, (interval, now.after(interval / 2), now.after(interval)));
        } else {
            interims.end(number);
            open.remove(&number);
        }
    }
}

/// A datagram that arrives, by `how` from the server or from another port.
fn arrival(bytes: &[u8], how: u8) -> Arrival<'_> {
    let from = SocketAddr::new(FAR, if how & 0x40 == 0 { 1812 } else { 9 });
    Arrival::Datagram { socket: Socket(0), interface: Interface(1), from, to: OWN, ttl: 64, bytes }
}

/// Inputs with right and wrong answers, and requests of each kind of a server.
pub fn examples() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for how in [1, 2, 3, 0x21, 0x22, 0x41, 0x61, 0x81, 0x82, 0x83] {
        for code in [2u8, 3, 5, 11, 40, 43] {
            let attributes = [&[1, 6][..], b"name", &[26, 9, 0, 0, 0, 9, 1, 3, b'a']].concat();
            let body = [&[code, 0][..], &attributes].concat();
            let one = [&[body.len() as u8, how, 1][..], &body].concat();
            all.push([&one[..], &one].concat());
        }
    }
    let mut list = List::new();
    list.put(kind::USER_NAME, b"name").expect("it fits");
    let mut backlog = Backlog::new(LIMITS);
    backlog.push(list, 1);
    all.push(backlog.snapshot());
    all.push(b"VENDOR Wide 429 format=4,0\nBEGIN-VENDOR Wide\nATTRIBUTE A 1 string\n".to_vec());
    all
}

/// What holds for any bytes.
fn law(bytes: &[u8]) {
    redact(&mut bytes.to_vec());
    if let Ok(packet) = Packet::parse(bytes) {
        assert!(packet.bytes.len() >= 20 + packet.attributes.bytes().len());
    }
    if let Ok((backlog, restored)) = Backlog::restore(LIMITS, bytes) {
        assert_eq!(backlog.len(), restored.records);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Dictionary::default().read(text);
        let _ = Mapping::read(&Dictionary::default(), &[("User-Name", text)]);
    }
    if let Some(attributes) = Attributes::parse(bytes) {
        let dictionary = Dictionary::standard();
        let mapping = Mapping::standard(&dictionary).expect("a test reads it");
        let mapped = mapping.map(&dictionary, attributes);
        let count = attributes.apart(|vendor| dictionary.format(vendor)).len();
        assert!(mapped.unused <= count + attributes.filter_rules().len());
        let mut list = List::new();
        if list.extend(attributes, |_| true).is_ok() {
            assert!(Attributes::parse(list.attributes().bytes()).is_some());
        }
    }
}

/// What somebody who has the secret makes of bytes, by the lower bits of `how`: an answer to
/// something that was sent, or a request; `None` for the bytes as they are.
fn made(bytes: &[u8], how: u8, sent: &[Vec<u8>]) -> Option<Vec<u8>> {
    let ([code, which], rest) = bytes.split_first_chunk()?;
    let (code, attributes) = (Code::from_number(*code)?, Attributes::parse(rest)?);
    match how & 3 {
        0 => None,
        1 => {
            let request = sent.get(usize::from(*which) % sent.len().max(1))?;
            seal::answer(code, &Packet::parse(request).ok()?, &secret(), attributes).ok()
        }
        _ => seal::dynamic_request((code, *which), &secret(), attributes).ok(),
    }
}

fn settle(client: &mut Client, now: Time, sent: &mut Vec<Vec<u8>>, answers: &mut [u32; ASKED]) {
    for _ in 0..OUTPUTS_MAX {
        match client.poll(now) {
            None => return,
            Some(Output::Departure(Departure::Datagram { bytes, .. })) => {
                if sent.len() < 64 {
                    sent.push(bytes);
                }
            }
            Some(Output::Report(Report::Answer { token, .. })) => answers[token as usize] += 1,
            Some(_) => {}
        }
    }
    panic!("an arrival and a step of time have fewer outputs");
}

fn total(counters: &crate::servers::Counters) -> u64 {
    let crate::servers::Counters { answers, malformed, stranger, unexpected, .. } = *counters;
    let crate::servers::Counters { code, authenticator, signature, .. } = *counters;
    answers + malformed + stranger + unexpected + code + authenticator + signature
}

fn config() -> Config {
    let server = Server::new(SocketAddr::new(FAR, 1812), OWN, secret());
    Config { requests_max: 8, sockets_max: 1, ..Config::new(vec![server], [7; 32]) }
}

fn dynamic_config() -> dynamic::Config {
    dynamic::Config {
        locals: vec![SocketAddr::new(OWN, 3799)],
        clients: vec![Asker { address: FAR, secret: secret() }],
        identities: Vec::new(),
        window: Duration::from_secs(300),
        needs_timestamp: false,
        needs_signature: false,
        kept_max: 4,
        patience: Duration::from_secs(5),
        wall: Wall(0),
    }
}

fn secret() -> Secret {
    Secret(b"secret".to_vec())
}

const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const OWN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

/// Requests of the client.
const ASKED: usize = 4;

/// More outputs than one step may have.
const OUTPUTS_MAX: usize = 256;

/// Sessions with interim records.
const SESSIONS: u32 = 8;

/// Their timers are exact to this.
const LATEST: Duration = Duration::from_millis(68);

const LIMITS: Limits = Limits { records_max: 16, bytes_max: 1 << 16 };
