//! The model of virtual reassembly: of every datagram a list of all bytes, seen or not.
use std::net::IpAddr;
use std::time::Duration;

use function_l3_router::config::{Config, EarlyFragments};
use model_kit::slow::Pieces;

use super::frames::word;

/// The datagrams whose first fragment was seen.
pub(super) struct Reassembly {
    config: Config,
    /// In the order in which they began.
    all: Vec<Datagram>,
}

/// What the first fragment of a datagram showed: the protocol, and the ports if it has such.
pub(super) type Known = (u8, Option<(u16, u16)>);

struct Datagram {
    key: Key,
    known: Known,
    pieces: Pieces,
    until: Duration,
}

type Key = (u16, IpAddr, IpAddr, u8, u32);

/// A fragment as its headers tell it.
struct Part {
    identification: u32,
    next: u8,
    protocol: u8,
    start: usize,
    len: usize,
    more: bool,
    /// What is behind all headers, of the first one.
    transport: Vec<u8>,
}

impl Reassembly {
    pub fn new(config: &Config) -> Reassembly {
        Reassembly { config: config.clone(), all: Vec::new() }
    }

    /// What is known of a packet that is a fragment.
    pub fn take(
        &mut self,
        vrf: u16,
        (from, to): (IpAddr, IpAddr),
        packet: &[u8],
        now: Duration,
    ) -> Result<Option<Known>, &'static str> {
        let part = if from.is_ipv4() { ipv4(packet) } else { ipv6(packet) };
        let Some(part) = part.filter(|_| self.config.virtual_reassembly) else { return Ok(None) };
        if !has_ports(part.next) && !is_extension(part.next) {
            return Ok(None);
        }
        part.check()?;
        self.all.retain(|one| one.until > now);
        let protocol = if from.is_ipv4() { part.protocol } else { 0 };
        let key = (vrf, from, to, protocol, part.identification);
        let Some(at) = self.all.iter().position(|one| one.key == key) else {
            return match (part.start, self.config.early_fragments) {
                (0, _) => self.begin(key, &part, now).map(Some),
                (_, EarlyFragments::Drop) => Err("fragment-early"),
                (_, EarlyFragments::Pass) => Ok(None),
            };
        };
        let datagram = &mut self.all[at];
        datagram.pieces.take(part.start, part.len, part.more)?;
        let known = datagram.known;
        if datagram.pieces.is_whole() {
            self.all.remove(at);
        }
        Ok(Some(known))
    }

    /// Where there is no room, the oldest is forgotten.
    fn begin(&mut self, key: Key, part: &Part, now: Duration) -> Result<Known, &'static str> {
        let known = (part.protocol, part.ports());
        if self.all.len() == self.config.reassembly_capacity as usize {
            self.all.remove(0);
        }
        let until = now + Duration::from_millis(self.config.reassembly_timeout_ms.into());
        let mut pieces = Pieces::default();
        pieces.take(part.start, part.len, part.more)?;
        self.all.push(Datagram { key, known, pieces, until });
        Ok(known)
    }
}

impl Part {
    /// RFC 791 section 3.1; RFC 1858 sections 3.1 and 3.2.2; RFC 7112 section 5.
    fn check(&self) -> Result<(), &'static str> {
        if self.len == 0
            || self.more && !self.len.is_multiple_of(8)
            || self.start + self.len > 65_535
        {
            return Err("fragment-malformed");
        }
        let needed = match self.protocol {
            6 => 16,
            17 | 33 | 132 | 136 => 8,
            _ => 0,
        };
        let is_tiny = match self.start {
            0 => is_extension(self.protocol) || self.transport.len() < needed,
            start => self.protocol == 6 && start < 16,
        };
        if is_tiny { Err("fragment-tiny") } else { Ok(()) }
    }

    fn ports(&self) -> Option<(u16, u16)> {
        let has_ports = has_ports(self.protocol) && self.transport.len() >= 4;
        has_ports.then(|| (word(&self.transport, 0), word(&self.transport, 2)))
    }
}

/// RFC 791 section 3.1; none of a packet that is whole.
fn ipv4(packet: &[u8]) -> Option<Part> {
    let (flags, data) = (word(packet, 6), &packet[4 * usize::from(packet[0] & 15)..]);
    let part = Part {
        identification: word(packet, 4).into(),
        next: packet[9],
        protocol: packet[9],
        start: 8 * usize::from(flags & 0x1fff),
        len: data.len(),
        more: flags & 0x2000 != 0,
        transport: data.to_vec(),
    };
    (has_ports(part.next) && (part.more || part.start > 0)).then_some(part)
}

/// RFC 8200 section 4.5: what the first fragment header says that is not of a whole packet (RFC
/// 6946); the protocol and what is behind all headers only of a first fragment.
fn ipv6(packet: &[u8]) -> Option<Part> {
    let (mut next, mut at) = (packet[6], 40);
    let mut part: Option<Part> = None;
    for _ in 0..8 {
        if !is_extension(next) || packet.len() < at + 8 {
            break;
        }
        let header = &packet[at..];
        at += if next == 44 { 8 } else { 8 + 8 * usize::from(header[1]) };
        let is_fragment = next == 44;
        next = header[0];
        if !is_fragment {
            continue;
        }
        let found = Part {
            identification: u32::from(word(header, 4)) << 16 | u32::from(word(header, 6)),
            next,
            protocol: next,
            start: usize::from(word(header, 2) & 0xfff8),
            len: packet.len() - at,
            more: header[3] & 1 == 1,
            transport: Vec::new(),
        };
        let is_later = found.start > 0;
        if part.is_none() && (is_later || found.more) {
            part = Some(found);
        }
        if is_later {
            return part.map(|part| Part { protocol: next, ..part });
        }
    }
    let transport = packet.get(at..).unwrap_or_default().to_vec();
    part.map(|part| Part { protocol: next, transport, ..part })
}

fn has_ports(protocol: u8) -> bool {
    [6, 17, 33, 132, 136].contains(&protocol)
}

fn is_extension(next: u8) -> bool {
    [0, 43, 44, 60].contains(&next)
}
