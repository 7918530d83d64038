//! Which ports the later fragments of a datagram have: virtual reassembly.
//!
//! ```text
//!  first fragment ──► entry: ports, bytes seen ──► last gap closed, or time over: forgotten
//!  later fragment ──► found: has these ports        not found: came before the first
//! ```
//! Nothing is reassembled and nothing is held: each fragment goes on at once, and access lists,
//! policers and the hash of flows see the ports that the first one showed. Only a first fragment
//! makes an entry, so that a flood of later ones takes no room at all; where there is no room the
//! oldest gives way, so that a flood of first ones shortens how long a datagram is remembered and
//! refuses nobody.
//!
//! A later fragment that comes before the first one is dropped, as a configuration has it: its
//! ports are not known, and a rule that names ports could be evaded by the order. Fragments are
//! refused that could show one datagram to the rules and make another one at the destination: too
//! short for the ports or flags (RFC 1858, RFC 3128, RFC 7112), and those that lie over others (RFC
//! 5722); the rest of such a datagram is dropped, too. What was seen before as a whole is a
//! repetition and dropped alone.
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;

use machine::clock::{Clock, Ticks};
use machine::hash::Keyed;
use packet::{Batch, Reason, Slot, Slots};
use stages::reassembly::{Datagrams, Key, Part, Place};
use stages::transport::{self, Fragment, Upper, has_ports, is_extension};
use wire::bytes::{array_at, u16_at, u32_at};
use wire::{ethernet, ipv4, ipv6};

use super::config::{Config, EarlyFragments};
use super::known::Known;
use super::reasons::{self, Tallies, Tally};
use super::scratch::Scratch;
use super::state::State;

/// The datagrams of which the first fragment was seen.
pub(super) struct Reassembly {
    datagrams: Datagrams<Known>,
    early: EarlyFragments,
    headers_max: u8,
}

impl Reassembly {
    /// None remembered yet; nothing at all where the configuration does not ask for it.
    ///
    /// # Errors
    /// When the kernel has no memory for them.
    pub fn new(config: &Config, clock: Clock) -> io::Result<Option<Reassembly>> {
        if !config.virtual_reassembly {
            return Ok(None);
        }
        let (capacity, early) = (config.reassembly_capacity as usize, config.early_fragments);
        let timeout_s = f64::from(config.reassembly_timeout_ms) / 1e3;
        let secret = [(); 2].map(|()| RandomState::new().build_hasher().finish());
        let datagrams = Datagrams::new(capacity, timeout_s, &clock, Keyed::new(secret))?;
        let headers_max = config.extension_headers_max;
        Ok(Some(Reassembly { datagrams, early, headers_max }))
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.datagrams.bytes()
    }

    /// Datagrams that are remembered, and most that can be.
    pub fn sizes(&self) -> (usize, usize) {
        (self.datagrams.len(), self.datagrams.capacity())
    }

    /// What is known of a fragment, if anything.
    ///
    /// # Errors
    /// Why it is dropped.
    fn take(
        &mut self,
        part: &Part,
        upper: &Upper,
        tallies: &mut Tallies,
        now: Ticks,
    ) -> Result<Option<Known>, Reason> {
        is_sound(part, upper)?;
        let found = self.datagrams.find(&part.key);
        let Some(number) = found.filter(|&number| !self.datagrams.is_over(number, now)) else {
            found.into_iter().for_each(|expired| self.datagrams.remove(expired));
            return match (part.offset, self.early) {
                (0, _) => Ok(Some(self.begin(part, upper, tallies, now))),
                (_, EarlyFragments::Drop) => Err(reasons::FRAGMENT_EARLY),
                (_, EarlyFragments::Pass) => Ok(None),
            };
        };
        let known = self.datagrams[number];
        match self.datagrams.place(number, part) {
            Place::Fits => {}
            Place::Completes => self.datagrams.remove(number),
            Place::Repeats | Place::Contradicts => return Err(reasons::FRAGMENT_OVERLAP),
            Place::Scattered => return Err(reasons::FRAGMENT_SCATTERED),
        }
        tallies[Tally::FragmentsKnown as usize] += 1;
        Ok(Some(known))
    }

    /// A datagram of which this is the first fragment; the oldest gives way.
    fn begin(&mut self, part: &Part, upper: &Upper, tallies: &mut Tallies, now: Ticks) -> Known {
        if self.datagrams.len() == self.datagrams.capacity()
            && let Some(oldest) = self.datagrams.oldest()
        {
            let is_remembered = !self.datagrams.is_over(oldest, now);
            tallies[Tally::ReassemblyEvicted as usize] += u64::from(is_remembered);
            self.datagrams.remove(oldest);
        }
        let known = Known { protocol: upper.protocol, ports: upper.ports };
        if let Some(number) = self.datagrams.begin(part.key, known, now) {
            self.datagrams.place(number, part);
        }
        known
    }
}

/// Takes note of the first fragments of a batch and finds the ports of the later ones; `tells` is
/// whether the interfaces of packets are known.
pub(super) fn reassemble(
    (reassembly, tallies): (&mut Reassembly, &mut Tallies),
    (state, tells): (&State, bool),
    scratch: &mut Scratch,
    batch: &mut Batch,
    now: Ticks,
) {
    scratch.known.clear();
    let Scratch { ipv4, ipv6, interface, known, .. } = scratch;
    let vrf = |slot: Slot| match tells {
        true => state.interfaces.get(interface[usize::from(slot)]).vrf,
        false => 0,
    };
    let headers_max = reassembly.headers_max;
    let mut each = |slots: &mut Slots, read: fn(&[u8], u8) -> Option<Read>| {
        slots.retain(|slot| {
            let Some(packet) = batch.frame(slot).get(ethernet::HEADER_LEN..) else { return true };
            let Some((key, upper)) = read(packet, headers_max) else { return true };
            let fragment = upper.fragment.filter(|fragment| counts(fragment.next));
            let Some(fragment) = fragment else { return true };
            let Fragment { identification, offset, len, more, .. } = fragment;
            let key = Key { realm: vrf(slot), identification, ..key };
            let part = Part { key, offset, len, more };
            match reassembly.take(&part, &upper, tallies, now) {
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

/// What the headers say of the key of a datagram, and what is behind them.
type Read = (Key, Upper);

/// None of a packet that is whole, or of a protocol without ports.
#[inline(always)]
fn read_ipv4(packet: &[u8], _: u8) -> Option<Read> {
    let header = packet.first_chunk::<{ ipv4::HEADER_LEN }>()?;
    let place = u16_at(header, ipv4::offset::FLAGS_FRAGMENT);
    let is_whole = place & (ipv4::FRAGMENT_OFFSET_MASK | ipv4::FLAG_MORE_FRAGMENTS) == 0;
    let protocol = header[ipv4::offset::PROTOCOL];
    if is_whole || !has_ports(protocol) {
        return None;
    }
    let address = |at: usize| [0, u32_at(header, at).into()];
    let source = address(ipv4::offset::SOURCE);
    let destination = address(ipv4::offset::DESTINATION);
    Some((Key { source, destination, protocol, ..Key::default() }, transport::of_ipv4(packet)?))
}

/// None of a packet that is whole by its first header.
#[inline(always)]
fn read_ipv6(packet: &[u8], headers_max: u8) -> Option<Read> {
    let header = packet.first_chunk::<{ ipv6::HEADER_LEN }>()?;
    let next = header[ipv6::offset::NEXT_HEADER];
    if !is_extension(next) {
        return None;
    }
    let address = |at: usize| [at, at + 8].map(|at| u64::from_be_bytes(array_at(header, at)));
    let source = address(ipv6::offset::SOURCE);
    let destination = address(ipv6::offset::DESTINATION);
    let upper = transport::behind(packet, next, headers_max);
    Some((Key { source, destination, ..Key::default() }, upper))
}

/// Whether what is fragmented has ports, or may have them behind extension headers.
fn counts(next: u8) -> bool {
    has_ports(next) || is_extension(next)
}

/// Whether a fragment is one, and shows what rules look at where it must.
fn is_sound(part: &Part, upper: &Upper) -> Result<(), Reason> {
    if part.is_malformed() {
        return Err(reasons::FRAGMENT_MALFORMED);
    }
    let is_tiny = match part.offset {
        0 => !upper.is_read,
        offset => transport::overwrites(upper.protocol, offset),
    };
    if is_tiny { Err(reasons::FRAGMENT_TINY) } else { Ok(()) }
}
