//! Which ports the later fragments of a datagram have: virtual reassembly.
//!
//! ```text
//!  first fragment ──► entry: ports, bytes seen ──► last gap closed, or time over: forgotten
//!  later fragment ──► found: has these ports        not found: came before the first
//! ```
//! Nothing is put together and nothing is held: each fragment goes on at once, and access lists, policers
//! and the hash of flows see the ports that the first one showed. Only a first fragment makes an entry, so
//! that a flood of later ones takes no room at all; the entries are a ring in which the oldest gives way, so
//! that a flood of first ones shortens how long a datagram is remembered and refuses nobody.
//!
//! A later fragment that comes before the first one is dropped, as a configuration has it: its ports are
//! not known, and a rule that names ports could be evaded by the order. Fragments are refused that could show
//! one datagram to the rules and make another one at the destination: too short for the ports or flags
//! (RFC 1858, RFC 3128, RFC 7112), and those that lie over others (RFC 5722); the rest of such a datagram is
//! dropped, too. What was seen before as a whole is a repetition and dropped alone.

use std::collections::HashMap;
use std::net::IpAddr;

use machine::clock::{Clock, Ticks};
use packet::{Batch, Reason, Slot, Slots};
use wire::bytes::{array_at, u16_at};
use wire::{ethernet, ipv4, ipv6, protocol};

use super::config::{Config, EarlyFragments};
use super::pipeline::Way;
use super::reasons::{self, Tallies, Tally};
use super::state::State;
use super::transport::{self, Fragment, Upper, has_ports, is_extension};
use crate::stages::parts::{Parts, Place};

/// The datagrams of which the first fragment was seen.
pub(super) struct Reassembly {
    /// A ring in the order in which they began.
    entries: Vec<Option<Entry>>,
    next: usize,
    by_key: HashMap<Key, usize>,
    timeout: Ticks,
    early: EarlyFragments,
}

/// What the fragments of a datagram have in common: the VRF, the addresses, IPv4's protocol, and the
/// identification (RFC 791 section 3.2, RFC 8200 section 4.5).
type Key = (u16, IpAddr, IpAddr, u8, u32);

struct Entry {
    key: Key,
    known: Known,
    parts: Parts,
    is_broken: bool,
    /// From when on it is forgotten.
    at: Ticks,
}

/// What the first fragment of a datagram showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// The transport protocol.
    pub protocol: u8,
    /// Source and destination port, if it has such.
    pub ports: Option<[u8; 4]>,
}

/// What is known of the fragments of a batch, by slot.
pub(super) struct KnownOf {
    any: bool,
    of: [Option<Known>; 256],
}

impl Reassembly {
    /// None remembered yet; nothing at all where the configuration does not ask for it.
    pub fn new(config: &Config, clock: Clock) -> Option<Reassembly> {
        let capacity = config.reassembly_capacity as usize;
        let timeout = f64::from(config.reassembly_timeout_ms) / 1e3 * clock.ticks_per_second();
        config.virtual_reassembly.then(|| Reassembly {
            entries: (0..capacity).map(|_| None).collect(),
            next: 0,
            by_key: HashMap::with_capacity(capacity),
            timeout: timeout as Ticks,
            early: config.early_fragments,
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let entry = size_of::<Option<Entry>>() + size_of::<(Key, usize)>();
        self.entries.len() * entry
    }

    /// Datagrams that are remembered, and most that can be.
    pub fn sizes(&self) -> (usize, usize) {
        (self.by_key.len(), self.entries.len())
    }

    /// What is known of a fragment, if anything.
    ///
    /// # Errors
    /// Why it is dropped.
    fn take(
        &mut self,
        (vrf, from, to): (u16, IpAddr, IpAddr),
        (upper, part): (&Upper, &Fragment),
        tallies: &mut Tallies,
        now: Ticks,
    ) -> Result<Option<Known>, Reason> {
        is_sound(upper, part)?;
        let of_key = if from.is_ipv4() { upper.protocol } else { 0 };
        let key = (vrf, from, to, of_key, part.identification);
        let found = self
            .by_key
            .get(&key)
            .copied()
            .filter(|&place| self.entries[place].as_ref().is_some_and(|entry| entry.at > now));
        let Some(place) = found else {
            return match (part.offset, self.early) {
                (0, _) => Ok(Some(self.begin(key, upper, part, tallies, now))),
                (_, EarlyFragments::Drop) => Err(reasons::FRAGMENT_EARLY),
                (_, EarlyFragments::Pass) => Ok(None),
            };
        };
        let Some(entry) = &mut self.entries[place] else { return Ok(None) };
        if entry.is_broken {
            return Err(reasons::FRAGMENT_OVERLAP);
        }
        match entry.parts.place(part.offset, part.len, part.more) {
            Place::Fits => {}
            Place::Repeats => return Err(reasons::FRAGMENT_OVERLAP),
            Place::Scattered => return Err(reasons::FRAGMENT_SCATTERED),
            Place::Contradicts => {
                entry.is_broken = true;
                return Err(reasons::FRAGMENT_OVERLAP);
            }
            Place::Completes => {
                let known = entry.known;
                self.forget(place);
                tallies[Tally::FragmentsKnown as usize] += 1;
                return Ok(Some(known));
            }
        }
        tallies[Tally::FragmentsKnown as usize] += 1;
        Ok(Some(entry.known))
    }

    /// A datagram of which this is the first fragment; the oldest gives way.
    fn begin(
        &mut self,
        key: Key,
        upper: &Upper,
        part: &Fragment,
        tallies: &mut Tallies,
        now: Ticks,
    ) -> Known {
        if let Some(&expired) = self.by_key.get(&key) {
            self.forget(expired);
        }
        let place = self.next;
        self.next = (place + 1) % self.entries.len();
        let is_remembered = self.entries[place].as_ref().is_some_and(|old| old.at > now);
        tallies[Tally::ReassemblyEvicted as usize] += u64::from(is_remembered);
        self.forget(place);
        let known = Known { protocol: upper.protocol, ports: upper.ports };
        let mut parts = Parts::default();
        parts.place(part.offset, part.len, part.more);
        let at = now.saturating_add(self.timeout);
        self.entries[place] = Some(Entry { key, known, parts, is_broken: false, at });
        self.by_key.insert(key, place);
        known
    }

    fn forget(&mut self, place: usize) {
        if let Some(old) = self.entries[place].take() {
            self.by_key.remove(&old.key);
        }
    }
}

impl KnownOf {
    pub fn new() -> KnownOf {
        KnownOf { any: false, of: [None; 256] }
    }

    /// Whether anything is known of any packet.
    #[inline(always)]
    pub fn is_any(&self) -> bool {
        self.any
    }

    /// What is known of one.
    #[inline(always)]
    pub fn get(&self, slot: Slot) -> Option<Known> {
        self.of[usize::from(slot)]
    }

    fn clear(&mut self) {
        if self.any {
            *self = KnownOf::new();
        }
    }

    fn note(&mut self, slot: Slot, known: Known) {
        self.any = true;
        self.of[usize::from(slot)] = Some(known);
    }
}

/// Takes note of the first fragments of a batch and finds the ports of the later ones; `tells` is whether
/// the interfaces of packets are known.
pub(super) fn reassemble(
    (reassembly, tallies): (&mut Reassembly, &mut Tallies),
    (state, tells): (&State, bool),
    way: &mut Way,
    batch: &mut Batch,
    now: Ticks,
) {
    way.known.clear();
    let Way { ipv4, ipv6, interface, known, .. } = way;
    let vrf = |slot: Slot| match tells {
        true => state.interfaces.get(interface[usize::from(slot)]).vrf,
        false => 0,
    };
    let mut each = |slots: &mut Slots, read: fn(&[u8]) -> Option<Read>| {
        slots.retain(|slot| {
            let Some(packet) = batch.frame(slot).get(ethernet::HEADER_LEN..) else { return true };
            let Some((from, to, upper)) = read(packet) else { return true };
            let Some(part) = upper.fragment.filter(|part| counts(part.next)) else { return true };
            match reassembly.take((vrf(slot), from, to), (&upper, &part), tallies, now) {
                Ok(found) => {
                    if let Some(found) = found {
                        known.note(slot, found);
                    }
                    true
                }
                Err(reason) => {
                    batch.set_verdict(slot, reasons::drop(reason));
                    false
                }
            }
        });
    };
    each(ipv4, read_ipv4);
    each(ipv6, read_ipv6);
}

/// Source, destination, and what is behind the header.
type Read = (IpAddr, IpAddr, Upper);

/// None of a packet that is whole, or of a protocol without ports.
#[inline(always)]
fn read_ipv4(packet: &[u8]) -> Option<Read> {
    let header = packet.first_chunk::<{ ipv4::HEADER_LEN }>()?;
    let place = u16_at(header, ipv4::offset::FLAGS_FRAGMENT);
    let is_whole = place & (ipv4::FRAGMENT_OFFSET_MASK | ipv4::FLAG_MORE_FRAGMENTS) == 0;
    if is_whole || !has_ports(header[ipv4::offset::PROTOCOL]) {
        return None;
    }
    let address = |at: usize| IpAddr::from(array_at::<4>(header, at));
    let (from, to) = (address(ipv4::offset::SOURCE), address(ipv4::offset::DESTINATION));
    Some((from, to, transport::of_ipv4(packet)?))
}

/// None of a packet that is whole by its first header.
#[inline(always)]
fn read_ipv6(packet: &[u8]) -> Option<Read> {
    let header = packet.first_chunk::<{ ipv6::HEADER_LEN }>()?;
    let next = header[ipv6::offset::NEXT_HEADER];
    if !is_extension(next) {
        return None;
    }
    let address = |at: usize| IpAddr::from(array_at::<16>(header, at));
    let (from, to) = (address(ipv6::offset::SOURCE), address(ipv6::offset::DESTINATION));
    Some((from, to, transport::behind(packet, next)))
}

/// Whether what is fragmented has ports, or may have them behind extension headers.
fn counts(next: u8) -> bool {
    has_ports(next) || is_extension(next)
}

/// Whether a fragment is one, and shows what rules look at where it must.
fn is_sound(upper: &Upper, part: &Fragment) -> Result<(), Reason> {
    let end = u32::from(part.offset) + u32::from(part.len);
    if part.len == 0 || part.more && !part.len.is_multiple_of(8) || end > u32::from(u16::MAX) {
        return Err(reasons::FRAGMENT_MALFORMED);
    }
    let is_tcp = upper.protocol == protocol::TCP;
    let is_tiny = match part.offset {
        // RFC 1858 section 3.1; RFC 7112 section 5: with all headers, too.
        0 if is_extension(upper.protocol) => true,
        0 if is_tcp => part.transport_len < TCP_LEN_MIN,
        0 => has_ports(upper.protocol) && part.transport_len < LEN_MIN,
        // RFC 1858 section 3.2.2, RFC 3128: flags of their own.
        offset => is_tcp && offset < TCP_LEN_MIN,
    };
    if is_tiny { Err(reasons::FRAGMENT_TINY) } else { Ok(()) }
}

/// Bytes of TCP that the first fragment has at least: to behind its flags.
const TCP_LEN_MIN: u16 = 16;

/// The same of the other protocols: the ports, and what follows them in a unit.
const LEN_MIN: u16 = 8;
