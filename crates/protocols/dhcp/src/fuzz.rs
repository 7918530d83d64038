//! The body of the fuzz target: any messages from lines and servers, at any times, and any answers
//! of the owner, to servers and relays of both versions.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use protocol_kit::{Arrival, Departure, Input, Interface, Machine, Output, Time};
use wire::MacAddr;

use crate::access::{Heard, Line};
use crate::asking::SOCKET;
use crate::config::{Class, Config};
use crate::control::{Command, Grant, Report, Source};
use crate::counters::Counters;
use crate::machines::Access;
use crate::pool::PoolConfig;
use crate::prefix::{Kind, Prefix};
use crate::v4::message::{MAGIC, Message as V4, REQUEST_OP, kind as kind4};
use crate::v4::{self, Mode};
use crate::v6::message::{Relayed, code as code6, kind as kind6};
use crate::v6::relay::Addresses;
use crate::v6::server::Identity;
use crate::v6::{self, writer};

/// A machine of any kind, with what the body looks at.
enum Any {
    Server4(v4::Server),
    Server6(v6::Server),
    Relay4(v4::Relay),
    Relay6(v6::Relay),
}

/// Feeds a machine with what the bytes describe: which machine, then a length, a kind, steps of
/// time, and a message. It panics when a promise is broken: what is dropped is dropped for one
/// reason and changes nothing but its counter, outputs and leases are few, and when the owner ends
/// all leases nothing is held.
pub fn fuzz(bytes: &[u8]) {
    read(bytes);
    let Some((which, mut rest)) = bytes.split_first() else { return };
    let mut machine = Any::new(*which);
    let mut now = Time::ZERO;
    let mut leases = Vec::new();
    machine.settle(now, &mut leases, 0);
    while let Some(([len, kind, steps], behind)) = rest.split_first_chunk() {
        let len = usize::from(*len) * 2;
        let (bytes, behind) = behind.split_at(behind.len().min(len));
        rest = behind;
        now = now.after(Duration::from_millis(u64::from(*steps) * u64::from(*steps) * 4));
        machine.settle(now, &mut leases, *kind);
        let before = (machine.counters(), machine.leases());
        machine.hear(*kind, bytes, now);
        let counters = machine.counters();
        if counters.dropped() > before.0.dropped() {
            assert_eq!(counters.dropped(), before.0.dropped() + 1, "for one reason");
        }
        if counters.received + counters.answered == before.0.received + before.0.answered {
            assert!(counters.dropped() > before.0.dropped(), "it is counted: {counters:?}");
        }
        machine.settle(now, &mut leases, *kind);
        assert!(machine.leases() <= LEASES_MAX as usize);
    }
    // Whatever was, all of it ends.
    now = now.after(Duration::from_secs(100_000));
    machine.settle(now, &mut leases, 0);
    assert_eq!(machine.leases(), 0, "every lease ends");
}

/// Inputs of a whole exchange with each machine.
pub fn examples() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let one =
        |kind: u8, message: &[u8]| [&[message.len().div_ceil(2) as u8, kind, 1], message].concat();
    for (which, is_v6) in [(0, false), (1, true), (2, false), (3, true)] {
        let messages: Vec<Vec<u8>> = match is_v6 {
            false => [kind4::DISCOVER, kind4::REQUEST, kind4::REQUEST, kind4::RELEASE]
                .map(message4)
                .to_vec(),
            true => [kind6::SOLICIT, kind6::REQUEST, kind6::RENEW, kind6::RELEASE]
                .map(message6)
                .to_vec(),
        };
        for end in 1..=messages.len() {
            let parts: Vec<Vec<u8>> =
                messages[..end].iter().map(|each| one(ACCEPT, each)).collect();
            all.push([&[which][..], &parts.concat()].concat());
        }
    }
    all
}

/// Reads bytes in every way: no view panics, and what a view gives lies within the bytes.
fn read(bytes: &[u8]) {
    if let Ok(message) = V4::parse(bytes) {
        let len: usize = message.options().map(|(_, value)| value.len()).sum();
        assert!(len <= bytes.len() * 2, "two areas may be read twice");
        assert!(
            (0..=255).all(|code| message.option(code).is_none_or(|v| v.len() <= bytes.len() * 2))
        );
        let back = v4::writer::returned(&message);
        assert!(V4::parse(&back).is_ok(), "what is handed on is a message");
    }
    if let Ok(relayed) = Relayed::parse(bytes) {
        let ias: Vec<_> = relayed.message.options.ias().collect();
        let leaves: usize = ias.iter().map(|ia| ia.leaves().count()).sum();
        assert!(leaves * 24 <= bytes.len());
        let wrapped = writer::wrapped(&relayed, vec![kind6::REPLY, 0, 0, 0]);
        assert!(Relayed::parse(&wrapped).is_ok(), "an answer to it can be read");
    }
}

impl Any {
    fn new(which: u8) -> Any {
        let made = match which % 4 {
            0 => v4::Server::new(config(false), SERVER4).map(Any::Server4),
            1 => v6::Server::new(config(true), identity()).map(Any::Server6),
            2 => {
                let mode = [Mode::Relay, Mode::Override, Mode::Proxy][usize::from(which / 4) % 3];
                v4::Relay::new(config(false), SERVER4, &[FAR4], mode).map(Any::Relay4)
            }
            _ => v6::Relay::new(config(true), addresses()).map(Any::Relay6),
        };
        made.unwrap_or_else(|why| panic!("{why}"))
    }

    fn machine(&mut self) -> &mut dyn Machine<Command = Command, Report = Report> {
        match self {
            Any::Server4(machine) => machine,
            Any::Server6(machine) => machine,
            Any::Relay4(machine) => machine,
            Any::Relay6(machine) => machine,
        }
    }

    fn counters(&self) -> Counters {
        match self {
            Any::Server4(machine) => machine.counters(),
            Any::Server6(machine) => machine.counters(),
            Any::Relay4(machine) => machine.counters(),
            Any::Relay6(machine) => machine.counters(),
        }
    }

    fn leases(&self) -> usize {
        match self {
            Any::Server4(machine) => machine.leases(),
            Any::Server6(machine) => machine.leases(),
            Any::Relay4(machine) => machine.leases(),
            Any::Relay6(machine) => machine.leases(),
        }
    }

    fn is_v6(&self) -> bool {
        matches!(self, Any::Server6(_) | Any::Relay6(_))
    }

    /// Lets a message arrive: from a line, or from a server to a relay.
    fn hear(&mut self, kind: u8, bytes: &[u8], now: Time) {
        let is_v6 = self.is_v6();
        let is_relay = matches!(self, Any::Relay4(_) | Any::Relay6(_));
        if kind & FROM_SERVER != 0 && is_relay {
            let (from, to): (IpAddr, IpAddr) =
                if is_v6 { (FAR6.into(), OWN6.into()) } else { (FAR4.into(), SERVER4.into()) };
            let from = (from, if is_v6 { 547 } else { 67 }).into();
            let (socket, interface, ttl) = (SOCKET, Interface(1), 64);
            let arrival = Arrival::Datagram { socket, interface, from, to, ttl, bytes };
            return self.machine().input(now, Input::Arrival(arrival));
        }
        let (from, to): (IpAddr, IpAddr) = match is_v6 {
            true => (CLIENT6.into(), GROUP6.into()),
            false => (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::BROADCAST.into()),
        };
        let (line, mac) = (Line(u32::from(kind >> 6)), MAC);
        let heard = Heard { line, mac, from, to, bytes: bytes.to_vec() };
        self.machine().input(now, Input::Command(Command::Heard(heard)));
    }

    /// Polls the machine, and answers as the kind says.
    fn settle(&mut self, now: Time, leases: &mut Vec<crate::control::LeaseId>, kind: u8) {
        for _ in 0..OUTPUTS_MAX {
            let Some(output) = self.machine().poll(now) else {
                assert!(self.machine().deadline().is_none_or(|deadline| deadline > now));
                return;
            };
            let command = match output {
                Output::Report(Report::Wanted(lease, ..)) if kind & ACCEPT != 0 => {
                    leases.push(lease);
                    Command::Accept(lease, GRANT)
                }
                Output::Report(Report::Wanted(lease, ..)) if kind & REJECT != 0 => {
                    Command::Reject(lease)
                }
                Output::Report(Report::Up { lease, .. }) if kind & ACCEPT != 0 => {
                    Command::Acknowledged(lease)
                }
                Output::Report(Report::Gone { .. }) if kind & END != 0 && !leases.is_empty() => {
                    Command::End(leases.remove(0))
                }
                Output::Departure(Departure::Datagram { bytes, .. }) => {
                    assert!(bytes.len() <= crate::v4::message::LEN_MAX);
                    continue;
                }
                _ => continue,
            };
            self.machine().input(now, Input::Command(command));
        }
        panic!("an arrival and a step of time have that many outputs");
    }
}

fn config(is_v6: bool) -> Config {
    let pool = |kind, first: IpAddr, len| {
        let first = Prefix::new(first, len).unwrap_or_else(|| panic!("{first}/{len}"));
        PoolConfig { kind, first, count: 4, reserved: vec![], shares: 2, alarm_percent: 50 }
    };
    let mut config = Config::new(1, LEASES_MAX);
    config.pools = match is_v6 {
        false => vec![pool(Kind::Address, Ipv4Addr::new(10, 0, 0, 8).into(), 32)],
        true => vec![
            pool(Kind::Address, Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 0).into(), 128),
            pool(Kind::Delegated, Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 0).into(), 56),
        ],
    };
    config.classes = vec![Class::new(Duration::from_secs(60)).with(3, &[10, 0, 0, 1])];
    config.stateless_class = Some(0);
    config.leases_per_line_max = 2;
    config.trusts_access_nodes = true;
    config
}

fn identity() -> Identity {
    let duid = vec![0, 3, 0, 1, 2, 0, 0, 0, 0, 1];
    Identity { duid, address: ON_LINES6, preference: 1, allows_rapid_commit: true }
}

fn addresses() -> Addresses {
    let (own, link, on_lines) = (OWN6, OWN6, ON_LINES6);
    Addresses { own, link, on_lines, servers: vec![FAR6], enterprise: 1 }
}

/// A message of a client that asks for the first address.
fn message4(kind: u8) -> Vec<u8> {
    let mut bytes = vec![0; 240];
    bytes[..4].copy_from_slice(&[REQUEST_OP, 1, 6, 0]);
    bytes[28..34].copy_from_slice(&MAC.0);
    bytes[236..].copy_from_slice(&MAGIC);
    if kind == kind4::RELEASE {
        bytes[12..16].copy_from_slice(&[10, 0, 0, 8]);
    }
    bytes.extend([53, 1, kind, 55, 3, 1, 3, 6]);
    if kind == kind4::REQUEST {
        bytes.extend([50, 4, 10, 0, 0, 8, 54, 4, 10, 0, 0, 1]);
    }
    bytes.push(255);
    bytes
}

/// A message of a client with one association of each kind.
fn message6(kind: u8) -> Vec<u8> {
    let mut message = writer::Writer::message(kind, [0, 0, kind]);
    message.put(code6::CLIENT, &[0, 3, 0, 1, 2, 0, 0, 0, 0, 9]);
    if kind != kind6::SOLICIT {
        message.put(code6::SERVER, &identity().duid);
    }
    for (kind, iaid, prefix) in [(Kind::Address, 1, 0), (Kind::Delegated, 2, 1)] {
        let mut inner = writer::Writer::inner();
        inner.leaf(kind, config(true).pools[prefix].first, [0, 0]);
        message.ia(kind, iaid, [0, 0], inner);
    }
    message.put(code6::REQUESTED, &[0, 23]);
    message.finish()
}

const GRANT: Grant = Grant {
    session: 7,
    class: 0,
    address: Some(Source::Pool(0, None)),
    delegated: Some(Source::Pool(1, None)),
};

const SERVER4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const FAR4: Ipv4Addr = Ipv4Addr::new(10, 9, 9, 9);
const OWN6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const FAR6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9);
const ON_LINES6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const CLIENT6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
const GROUP6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);
const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

/// Bits of a kind: what the owner does, and from where a message comes.
const ACCEPT: u8 = 1;
const REJECT: u8 = 2;
const END: u8 = 4;
const FROM_SERVER: u8 = 8;

/// Few, so that limits are met.
const LEASES_MAX: u32 = 4;

/// More outputs than one arrival and a step of time may have.
const OUTPUTS_MAX: usize = 256;
