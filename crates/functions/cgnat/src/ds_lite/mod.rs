//! DS-Lite (RFC 6333): IPv4 packets of subscribers inside IPv6 ones between their B4 element and
//! this end, the AFTR.
//!
//! A softwire needs no table: sessions behind it have its name beside the inner IPv4 address, and
//! all of a subscriber have it in common, whatever IPv4 addresses its hosts have.
//!
//! ```text
//!  session's inside   | bits 32 to 127 of the B4 element's address | inner IPv4 address |
//!  session's realm    4096 + the number of the network, which knows bits 0 to 31
//! ```
//! Where subscribers are known by a prefix of that address (RFC 7785) the bits behind it are zero
//! there, and packets go to the address from which the subscriber's last one came. A frame is rid
//! of the outer header before anything else looks at it, and gets one last, as frames of VRFs do
//! with their tag.

pub(crate) mod config;
pub(crate) mod stage;
pub(crate) mod validate;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use machine::memory::HugeArray;
use packet::{Batch, Reason, Slot};
use stages::icmpv4;
use stages::nd::{self, Message};
use stages::reassembly::{Key, Part};
use wire::bytes::{array_at, put_u16, u16_at, u32_at};
use wire::{ethernet, ipv4, ipv6, protocol};

use crate::config::{Config, Prefixed};
use crate::nat64::read_ipv6;
use crate::reasons;
use crate::sessions::session::Session;
use crate::types::flow::{INNER, Inside, SOFTWIRES, halves};
use crate::types::sides::Station;

/// What is configured of softwires.
#[derive(Clone, Debug)]
pub struct DsLite {
    /// This end's address.
    aftr: Ipv6Addr,
    /// Networks of B4 elements: their first address, and the part of an address that is the
    /// network's.
    networks: Vec<(u128, u128)>,
    /// The part of an address that names a subscriber.
    mask: u128,
    /// The longest packet of IPv6 that the links inside take, in bytes.
    pub ipv6_mtu: u16,
}

/// Between which ends a packet is tunnelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Softwire {
    /// The realm of its sessions.
    pub realm: u16,
    /// Their address on the inside without that of IPv4.
    pub name: [u64; 2],
    /// The B4 element.
    pub b4: Ipv6Addr,
}

impl Softwire {
    /// An IPv4 address behind it, as sessions have it.
    pub const fn beside(&self, [_, address]: [u64; 2]) -> [u64; 2] {
        let [high, low] = self.name;
        [high, low | address & INNER]
    }
}

/// What an IPv6 frame from inside is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// It bears a packet of a softwire, which begins at a place behind the Ethernet header and has
    /// a length.
    Tunnelled(Softwire, (usize, usize)),
    /// A fragment of such a packet, and where its fragment header begins behind the Ethernet
    /// header.
    Fragment(Part, usize),
    /// Who asks for an address of the port.
    Solicitation(Ipv6Addr),
    /// Not for this end of a softwire.
    Other,
}

impl DsLite {
    /// That of a validated configuration; none where it has none.
    pub fn new(config: &Config) -> Option<DsLite> {
        let ds_lite = config.ds_lite.as_ref()?;
        let network = |it: &Prefixed<Ipv6Addr>| (it.address.to_bits(), mask(it.len));
        Some(DsLite {
            aftr: ds_lite.aftr,
            networks: ds_lite.inside.iter().map(network).collect(),
            mask: mask(ds_lite.subscriber_len),
            ipv6_mtu: ds_lite.ipv6_mtu,
        })
    }

    /// The softwire of a B4 element; none of an address of no network, or of this end.
    #[inline]
    pub fn softwire(&self, b4: Ipv6Addr) -> Option<Softwire> {
        let bits = b4.to_bits();
        let holds = |(first, mask): &(u128, u128)| (first ^ bits) & mask == 0;
        let number = self.networks.iter().position(holds).filter(|_| b4 != self.aftr)?;
        let name = (bits & self.mask) << 32;
        let name = [(name >> 64) as u64, name as u64];
        Some(Softwire { realm: SOFTWIRES + number as u16, name, b4 })
    }

    /// The bits of an address that name a subscriber.
    pub fn mask(&self) -> u128 {
        self.mask
    }

    /// What an IPv6 frame at the inside port is.
    ///
    /// # Errors
    /// Why it is dropped.
    #[inline]
    pub fn enter(&self, frame: &[u8], station: Station) -> Result<Entry, Reason> {
        match self.recognise(frame, station) {
            Some((softwire, place)) => Ok(Entry::Tunnelled(softwire, place)),
            None => self.look_into(frame, station),
        }
    }

    /// The softwire of a frame that has nothing between its outer and its inner header, and where
    /// its packet is; none of all others, and of those that are dropped.
    #[inline(always)]
    fn recognise(&self, frame: &[u8], (mac, _): Station) -> Option<(Softwire, (usize, usize))> {
        let head = frame.first_chunk::<INNER_AT>()?;
        let ip: &[u8; ipv6::HEADER_LEN] = &array_at(head, ethernet::HEADER_LEN);
        let len = usize::from(u16_at(ip, ipv6::offset::PAYLOAD_LEN));
        let is_ours = head.starts_with(&mac.0)
            & (u16_at(head, ethernet::offset::TYPE) == ethernet::TYPE_IPV6)
            & (ip[0] >> 4 == ipv6::VERSION)
            & (ip[ipv6::offset::NEXT_HEADER] == protocol::IPV4)
            & (len <= (frame.len() - INNER_AT).min(PLAIN_LEN_MAX))
            & (array_at(ip, ipv6::offset::DESTINATION) == self.aftr.octets());
        if !is_ours {
            return None;
        }
        let softwire = self.softwire(array_at::<16>(ip, ipv6::offset::SOURCE).into())?;
        Some((softwire, (ipv6::HEADER_LEN, len)))
    }

    /// What a frame of IPv6 is, by every check in the order of its headers. Of a frame that
    /// [`Self::recognise`] takes it says the same.
    #[inline(never)]
    fn look_into(&self, frame: &[u8], (mac, own): Station) -> Result<Entry, Reason> {
        let asked = [self.aftr, own].map(|address| nd::read(frame, (mac, Some(address))));
        for answer in asked {
            if let Some(Ok(Message::Solicitation { source, .. })) = answer {
                return Ok(Entry::Solicitation(source));
            }
        }
        if asked[0].is_some() {
            return Err(reasons::ND_IGNORED);
        }
        if !frame.starts_with(&mac.0) {
            return Err(reasons::OTHER_STATION);
        }
        let packet = frame.get(ethernet::HEADER_LEN..).ok_or(reasons::TRUNCATED)?;
        let read = read_ipv6(packet)?;
        if read.destination() != self.aftr {
            return Ok(Entry::Other);
        }
        if read.protocol != protocol::IPV4 {
            return Err(reasons::LOCAL);
        }
        let softwire = self.softwire(read.source()).ok_or(reasons::NOT_INSIDE)?;
        if let Some((offset, more, identification)) = read.place().filter(|_| read.is_fragment()) {
            let source = halves(read.source());
            let key = Key { source, protocol: protocol::IPV4, identification, ..Key::default() };
            let part = Part { key, offset, len: read.body_len as u16, more };
            return Ok(Entry::Fragment(part, read.header_len - ipv6::FRAGMENT_HEADER_LEN));
        }
        Ok(Entry::Tunnelled(softwire, (read.header_len, read.body_len)))
    }

    /// Puts the outer header in front of the packet of a frame without padding; whether there was
    /// room for it. The traffic class has the inner packet's code point (RFC 2473 section 6.3), and
    /// no mark of congestion (RFC 6040 section 4.3, compatibility mode).
    pub fn encapsulate(&self, batch: &mut Batch, slot: Slot, b4: Ipv6Addr) -> bool {
        let Some(frame) = batch.push_front(slot, ipv6::HEADER_LEN) else { return false };
        frame.copy_within(ipv6::HEADER_LEN..ipv6::HEADER_LEN + ethernet::offset::TYPE, 0);
        put_u16(frame, ethernet::offset::TYPE, ethernet::TYPE_IPV6);
        let payload_len = (frame.len() - INNER_AT) as u16;
        let fields = ipv6::Fields {
            traffic_class: frame[INNER_AT + ipv4::offset::DSCP_ECN] & DSCP,
            flow_label: 0,
            payload_len,
            next_header: protocol::IPV4,
            hop_limit: HOP_LIMIT,
            source: self.aftr,
            destination: b4,
        };
        if let Some(header) = frame[ethernet::HEADER_LEN..].first_chunk_mut() {
            fields.emit(header);
        }
        true
    }
}

/// Takes the outer header off a frame whose inner packet begins at a place behind the Ethernet
/// header.
#[inline(always)]
pub fn decapsulate(batch: &mut Batch, slot: Slot, (at, len): (usize, usize)) {
    batch.frame_mut(slot).copy_within(..ethernet::offset::TYPE, at);
    batch.pull_front(slot, at);
    batch.truncate(slot, ethernet::HEADER_LEN + len);
    put_u16(batch.frame_mut(slot), ethernet::offset::TYPE, ethernet::TYPE_IPV4);
}

/// Whether the packet of a frame is for this end itself, under the address that it has in all
/// softwires.
#[inline(always)]
pub fn is_for_aftr(frame: &[u8]) -> bool {
    let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
    packet.len() >= ipv4::HEADER_LEN
        && u32_at(packet, ipv4::offset::DESTINATION) == AFTR.to_bits()
        && ipv4::View::parse(packet).is_ok()
}

/// Whether the inner address of a packet can be a host's.
pub fn is_host(key: &Inside) -> bool {
    icmpv4::is_host(Ipv4Addr::from_bits(key.address[1] as u32))
}

/// What is known of softwires beside their names.
pub struct Softwires {
    names: Names,
    /// By number of a subscriber where its last packet came from; empty where its name tells that.
    latest: HugeArray<[u64; 2]>,
}

/// The B4 elements that sessions and subscribers name.
#[derive(Clone, Debug)]
pub struct Names {
    /// Bits 0 to 31 of the networks.
    upper: Vec<u32>,
}

impl Softwires {
    /// Those of a validated configuration, of which as many subscribers may have some; none where
    /// it has none.
    ///
    /// # Errors
    /// When the kernel has no such memory.
    pub fn new(config: &Config, subscribers: u32) -> io::Result<Option<Softwires>> {
        let Some(ds_lite) = &config.ds_lite else { return Ok(None) };
        let moves = ds_lite.subscriber_len < 128;
        let latest = HugeArray::zeroed(if moves { subscribers as usize } else { 0 })?;
        Ok(Some(Softwires { names: Names::new(config), latest }))
    }

    /// Notes where a packet of a subscriber came from; whether the one before came from elsewhere.
    #[inline]
    pub fn note(&mut self, subscriber: u32, b4: Ipv6Addr) -> bool {
        let Some(latest) = self.latest.get_mut(subscriber as usize) else { return false };
        let from = halves(b4);
        std::mem::replace(latest, from) != from
    }

    /// Where the last packet of a subscriber came from; none where its name tells that.
    pub fn latest(&self, subscriber: u32) -> Option<Ipv6Addr> {
        self.latest.get(subscriber as usize).map(|&latest| crate::types::flow::address_of(latest))
    }

    /// Where packets of a session go.
    #[inline]
    pub fn b4_of(&self, session: &Session) -> Ipv6Addr {
        match self.latest.get(session.subscriber as usize) {
            Some(&latest) => crate::types::flow::address_of(latest),
            None => self.names.b4(session.realm(), session.inside),
        }
    }

    /// By what subscribers are known.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.latest.len() * size_of::<[u64; 2]>()
    }
}

impl Names {
    /// Those of a configuration.
    pub fn new(config: &Config) -> Names {
        let networks = config.ds_lite.iter().flat_map(|ds_lite| &ds_lite.inside);
        let upper = networks.map(|network| (network.address.to_bits() >> 96) as u32);
        Names { upper: upper.collect() }
    }

    /// The address of the B4 element of a session or a subscriber, as far as it names that.
    pub fn b4(&self, realm: u16, [high, low]: [u64; 2]) -> Ipv6Addr {
        let number = usize::from(realm - SOFTWIRES);
        let upper = self.upper.get(number).copied().unwrap_or_default();
        let lower = (u128::from(high) << 64 | u128::from(low & !INNER)) >> 32;
        Ipv6Addr::from_bits(u128::from(upper) << 96 | lower)
    }
}

/// So many bits of an address.
fn mask(len: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0)
}

/// The address that this end has in all softwires (RFC 6333 section 6.5).
pub const AFTR: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 1);

/// Hops that outer packets may make.
const HOP_LIMIT: u8 = 64;

/// The code point in the second byte of an IPv4 header (RFC 2474).
const DSCP: u8 = 0xfc;

/// No frame is longer (`packet::Room`); a packet that is may be one too long to become IPv4.
const PLAIN_LEN_MAX: usize = 65_000;

/// Where the inner packet stands in a frame.
const INNER_AT: usize = ethernet::HEADER_LEN + ipv6::HEADER_LEN;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn config(subscriber_len: u8) -> Config {
        let network = |first, len| Prefixed { address: Ipv6Addr::from_bits(first), len };
        let inside = vec![network(0x2001_0db8 << 96, 48), network(0x2a00_0001_0002 << 80, 44)];
        let ds_lite = config::DsLite { inside, subscriber_len, ..config::DsLite::default() };
        Config { ds_lite: Some(ds_lite), ..Config::default() }
    }

    #[test]
    fn names_tell_their_softwires_whatever_the_inner_address() {
        let config = config(128);
        let (ds_lite, names) = (DsLite::new(&config).expect("one"), Names::new(&config));
        for b4 in
            ["2001:db8::2", "2001:db8:0:ffff:ffff:ffff:ffff:ffff", "2a00:1:2::", "2a00:1:f::1"]
        {
            let b4: Ipv6Addr = b4.parse().expect("an address");
            let softwire = ds_lite.softwire(b4).expect("a softwire");
            assert_eq!(softwire.name[1] & INNER, 0);
            let [high, low] = softwire.name;
            assert_eq!(names.b4(softwire.realm, [high, low | 0xc000_0002]), b4);
        }
        for stranger in ["2001:db8:1::2", "2a00:1:10::", "::", "2001:db8::1"] {
            assert_eq!(ds_lite.softwire(stranger.parse().expect("an address")), None, "{stranger}");
        }
    }

    #[test]
    fn both_ways_to_look_at_a_frame_agree() {
        let config = config(128);
        let ds_lite = DsLite::new(&config).expect("one");
        let fields = ipv6::Fields {
            traffic_class: 0,
            flow_label: 0,
            payload_len: 28,
            next_header: protocol::IPV4,
            hop_limit: HOP_LIMIT,
            source: "2001:db8::2".parse().expect("an address"),
            destination: ds_lite.aftr,
        };
        let mut frame = vec![0; INNER_AT + 30];
        let station = (config.inside_mac.0, config.inside_ipv6);
        frame[..6].copy_from_slice(&station.0.0);
        put_u16(&mut frame, ethernet::offset::TYPE, ethernet::TYPE_IPV6);
        fields.emit(frame[ethernet::HEADER_LEN..].first_chunk_mut().expect("a header"));
        let tunnelled = |frame: &[u8]| match ds_lite.look_into(frame, station) {
            Ok(Entry::Tunnelled(softwire, place)) => Some((softwire, place)),
            _ => None,
        };
        assert!(ds_lite.recognise(&frame, station).is_some());
        for at in (0..INNER_AT).filter(|at| !(12..14).contains(at)) {
            for bit in 0..8 {
                let mut frame = frame.clone();
                frame[at] ^= 1 << bit;
                // One with extension headers in front is tunnelled, but not recognised.
                if let Some(recognised) = ds_lite.recognise(&frame, station) {
                    assert_eq!(tunnelled(&frame), Some(recognised), "{at} {bit}");
                } else {
                    assert!(
                        tunnelled(&frame).is_none_or(|(_, (header, _))| header > 40),
                        "{at} {bit}"
                    );
                }
            }
        }
        for len in 0..frame.len() {
            assert_eq!(
                ds_lite.recognise(&frame[..len], station),
                tunnelled(&frame[..len]),
                "{len}"
            );
        }
    }

    #[test]
    fn what_has_a_prefix_in_common_is_one_subscriber() {
        let config = config(56);
        let (ds_lite, names) = (DsLite::new(&config).expect("one"), Names::new(&config));
        let name = |b4: &str| {
            let softwire = ds_lite.softwire(b4.parse().expect("an address")).expect("a softwire");
            names.b4(softwire.realm, softwire.name).to_string()
        };
        assert_eq!(name("2001:db8:0:1234:5::6"), "2001:db8:0:1200::");
        assert_eq!(name("2001:db8:0:12ff::"), "2001:db8:0:1200::");
        assert_eq!(name("2001:db8:0:1300::"), "2001:db8:0:1300::");
    }
}
