//! The model of virtual reassembly: of every datagram a list of all bytes, seen or not.
use std::net::IpAddr;
use std::time::Duration;

use function_l3_router::config::{Config, EarlyFragments};
use model_kit::headers::{Headers, has_ports, is_extension};
use model_kit::host::word;
use model_kit::slow::Pieces;

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
    /// Whether the first one shows what it must.
    is_read: bool,
    /// The ports that it shows.
    ports: Option<(u16, u16)>,
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
        let part = match from.is_ipv4() {
            true => ipv4(packet),
            false => ipv6(packet, self.config.extension_headers_max.into()),
        };
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
        let known = (part.protocol, part.ports);
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
        let is_tiny = match self.start {
            0 => !self.is_read,
            start => self.protocol == 6 && start < 16,
        };
        if is_tiny { Err("fragment-tiny") } else { Ok(()) }
    }
}

/// RFC 791 section 3.1; none of a packet that is whole.
fn ipv4(packet: &[u8]) -> Option<Part> {
    let headers = Headers::of_ipv4(packet);
    let flags = word(packet, 6);
    let part = Part {
        identification: word(packet, 4).into(),
        next: packet[9],
        protocol: packet[9],
        start: 8 * usize::from(flags & 0x1fff),
        len: packet.len() - 4 * usize::from(packet[0] & 15),
        more: flags & 0x2000 != 0,
        is_read: headers.are_read,
        ports: headers.ports(packet),
    };
    (has_ports(part.next) && (part.more || part.start > 0)).then_some(part)
}

/// RFC 8200 section 4.5: what the first fragment header says that is not of a whole packet (RFC
/// 6946); the protocol and what is behind all headers only of a first fragment.
fn ipv6(packet: &[u8], most: usize) -> Option<Part> {
    let headers = Headers::of_ipv6(packet, most);
    let tells = |at: usize| word(packet, at + 2) >= 8 || packet[at + 3] & 1 == 1;
    let mut fragments = headers.chain.iter().filter(|&&(kind, at)| kind == 44 && tells(at));
    let &(_, at) = fragments.next()?;
    Some(Part {
        identification: u32::from(word(packet, at + 4)) << 16 | u32::from(word(packet, at + 6)),
        next: packet[at],
        protocol: headers.protocol,
        start: usize::from(word(packet, at + 2) & 0xfff8),
        len: packet.len() - at - 8,
        more: packet[at + 3] & 1 == 1,
        is_read: headers.are_read,
        ports: headers.ports(packet),
    })
}
