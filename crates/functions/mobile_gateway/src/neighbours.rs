//! Base stations and next hops without a MAC address: they are asked for it on their port, by ARP
//! for an IPv4 address and Neighbor Discovery for an IPv6 one, and packets to them wait for the
//! answer.
//!
//! The gateway asks from its address; by Neighbor Discovery from the link-local address that
//! follows from its MAC address (RFC 4291 appendix A), and it answers questions for that one, and
//! for its IPv6 address at either port. A packet waits as it is to leave, out of its tunnel, and
//! leaves as a made frame; where nobody answers it is dropped. What is known of a neighbour stands
//! in its entry of next hops, so that a packet to one that is known takes no other way than to one
//! with a configured address. Each of several workers asks for itself, and hands what it hears over
//! to the others, because a card gives an answer to one of them.

use std::net::{IpAddr, Ipv6Addr};

use function_kit::Shard;
use machine::clock::{Clock, Ticks};
use packet::{Batch, Made, PortId, Slot, Verdict};
use stages::duplicates::{Duplicate, Duplicates};
use stages::hearsay::{self, Heard, Others};
use stages::nd::{self, Message};
use stages::neighbours::{Asking, Entry, Limits, Neighbours as Table, Question, Wanted};
use wire::bytes::array_at;
use wire::{MacAddr, ethernet, ipv6};

use super::config::Config;
use super::gateway::{CORE, Gateway, is_worker, towards_worker};
use super::reasons::{self, Tallies, Tally};
use super::state::State;

/// The neighbours that were asked for, and the frames made for them.
pub(super) struct Neighbours {
    table: Table,
    asking: Asking,
    link_local: Ipv6Addr,
    others: Others,
    /// Who else has the gateway's addresses.
    duplicates: Duplicates,
}

impl Neighbours {
    /// An empty table.
    pub fn new(config: &Config, shard: Shard, clock: Clock) -> Neighbours {
        let link_local = nd::link_local(config.gw_mac);
        let limits = Limits {
            capacity: (config.base_station_capacity + config.next_hop_capacity) as usize,
            pending: PENDING,
            lifetime_s: LIFETIME_S,
        };
        Neighbours {
            table: Table::new(limits, clock),
            asking: Asking { mac: config.gw_mac, ipv4: Some(config.gw_ip), ipv6: Some(link_local) },
            link_local,
            others: Others::new((shard.index, shard.count), towards_worker),
            duplicates: Duplicates::new(clock),
        }
    }

    /// The neighbours, to look at them.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> + '_ {
        self.table.entries()
    }

    /// Who else has the gateway's addresses.
    pub fn duplicates(&self) -> &[Duplicate] {
        self.duplicates.heard()
    }

    /// Takes note of a frame by which another station says that it has an address of the gateway's
    /// (RFC 5227 section 2.4, RFC 4861 section 7.2.5); whether it does.
    pub fn hear_conflict(
        &mut self,
        gateway: &Gateway,
        (port, frame): (PortId, &[u8]),
        now: Ticks,
    ) -> bool {
        if is_worker(port) {
            return false;
        }
        let in_nd = || match nd::read(frame, (gateway.mac, Some(self.link_local)))? {
            Ok(Message::Advertisement { target, mac, .. }) => Some((target.into(), mac)),
            _ => None,
        };
        let said = Heard::in_arp(frame, gateway.mac).map(|heard| (heard.address, heard.said.mac));
        let Some((address, mac)) = said.or_else(in_nd) else { return false };
        let own =
            [Some(gateway.ip.into()), Some(self.link_local.into()), gateway.ipv6.map(IpAddr::V6)];
        own.contains(&Some(address))
            && mac != gateway.mac
            && self.duplicates.hear((link(port), address), mac, now)
    }

    /// Lets a packet wait for its neighbour, by the entry of that, its port and its address.
    pub fn wait(
        &mut self,
        made: &mut Made,
        (came, frame): (PortId, &[u8]),
        (entry, port, address): (u32, PortId, IpAddr),
        now: Ticks,
    ) -> Verdict {
        let Neighbours { table, asking, .. } = self;
        let packet = (came, 0, frame);
        let wanted = Wanted { link: link(port), address, listed: Some(entry) };
        let waits = table.wait(packet, wanted, now, |question| ask(made, *asking, question));
        // Each neighbour has one place at most, so that there is always one more.
        reasons::drop(if waits.is_ok() { reasons::AWAITING } else { reasons::PENDING_FULL })
    }

    /// What becomes of a frame of ARP, or of Neighbor Discovery from the core, which the gateway
    /// takes note of, or that another worker hands over; none for all others, and for ARP requests.
    pub fn hear(
        &mut self,
        (state, made): (&mut State, &mut Made),
        batch: &mut Batch,
        slot: Slot,
        tallies: &mut Tallies,
        now: Ticks,
    ) -> Option<Verdict> {
        let (port, frame, own) = (batch.port(slot), batch.frame(slot), state.gateway.mac);
        let noted = reasons::drop(reasons::NEIGHBOUR_HEARD);
        if is_worker(port) {
            let said = Heard::in_frame(frame, (own, self.asked(&state.gateway, frame)));
            if let (Some(link), Some(said)) = (hearsay::link_of(frame), said) {
                self.heard((state, made), PortId(link as u8), said, now);
            }
            return Some(noted);
        }
        if let Some(said) = Heard::in_arp(frame, own) {
            let heard = self.take_note((state, made), (port, frame), said, now);
            return (heard && said.is_answer).then_some(noted);
        }
        if port != CORE || !nd::is_one(frame) {
            return None;
        }
        let to = ethernet::HEADER_LEN + ipv6::offset::DESTINATION;
        let destination = Ipv6Addr::from(array_at::<16>(frame, to));
        let asked = self.asked(&state.gateway, frame);
        if destination != asked && !destination.is_multicast() {
            return None;
        }
        let ignored = reasons::drop(reasons::ND_IGNORED);
        let Ok(message) = nd::read(frame, (own, Some(asked)))? else {
            return frame.starts_with(&own.0).then_some(ignored);
        };
        let heard = Heard::in_message(message)
            .is_some_and(|said| self.take_note((state, made), (CORE, frame), said, now));
        let Message::Solicitation { source, .. } = message else {
            return Some(if heard { noted } else { ignored });
        };
        Some(advertise((batch, slot), source, (own, asked), tallies))
    }

    /// What becomes of a neighbour solicitation for the gateway's IPv6 address, of which no note is
    /// taken: it is answered. None for all other frames.
    pub fn answer(
        &self,
        gateway: &Gateway,
        (batch, slot): (&mut Batch, Slot),
        tallies: &mut Tallies,
    ) -> Option<Verdict> {
        let (port, frame) = (batch.port(slot), batch.frame(slot));
        let own = gateway.ipv6.filter(|own| !is_worker(port) && nd::asks_for(frame, *own))?;
        match nd::read(frame, (gateway.mac, Some(own)))? {
            Ok(Message::Solicitation { source, .. }) => {
                Some(advertise((batch, slot), source, (gateway.mac, own), tallies))
            }
            _ => {
                let is_ours = frame.starts_with(&gateway.mac.0);
                is_ours.then_some(reasons::drop(reasons::ND_IGNORED))
            }
        }
    }

    /// The address of the gateway's for which a solicitation asks, if it is one.
    fn asked(&self, gateway: &Gateway, frame: &[u8]) -> Ipv6Addr {
        gateway.ipv6.filter(|own| nd::asks_for(frame, *own)).unwrap_or(self.link_local)
    }

    /// Takes note of what a neighbour behind a port says of itself, and tells the other workers,
    /// which may have asked for it; whether it was of any use, here or perhaps to them.
    fn take_note(
        &mut self,
        (state, made): (&mut State, &mut Made),
        (port, frame): (PortId, &[u8]),
        said: Heard,
        now: Ticks,
    ) -> bool {
        let tells = self.others.are_there() && state.is_asked_for(port, said.address);
        if tells {
            self.others.tell((port, link(port)), (frame, state.gateway.mac), made);
        }
        self.heard((state, made), port, said, now) || tells
    }

    fn heard(
        &mut self,
        (state, made): (&mut State, &mut Made),
        port: PortId,
        heard: Heard,
        now: Ticks,
    ) -> bool {
        let table = &mut self.table;
        let Heard { address, said, .. } = heard;
        let Some(number) = table.heard(link(port), address, said, now) else { return false };
        let Some(entry) = table.get(number).and_then(|one| one.listed) else { return false };
        state.resolve(entry, Some(said.mac));
        let to = state.next_hops[entry as usize];
        table.release(made, to.macs, to.verdict);
        true
    }

    /// Asks again, and forgets who does not answer: whatever is due.
    pub fn tick(&mut self, (state, made): (&mut State, &mut Made), now: Ticks) {
        let Neighbours { table, asking, duplicates, .. } = self;
        duplicates.forget(now);
        while let Some((_, entry)) = table.tick(now, |question| ask(made, *asking, question)) {
            if let Some(listed) = entry.listed {
                state.resolve(listed, None);
            }
            table.drop_leaving(made, reasons::drop(reasons::UNRESOLVED));
        }
    }

    /// Forgets a neighbour that was removed, by its entry.
    pub fn forget(&mut self, made: &mut Made, entry: u32) {
        self.table.forget(entry);
        self.table.drop_leaving(made, reasons::drop(reasons::UNRESOLVED));
    }
}

/// Writes the answer to a solicitation over it.
fn advertise(
    (batch, slot): (&mut Batch, Slot),
    source: Ipv6Addr,
    (mac, own): (MacAddr, Ipv6Addr),
    tallies: &mut Tallies,
) -> Verdict {
    let station = MacAddr(array_at(batch.frame(slot), ethernet::offset::SOURCE));
    let answer = nd::advertise((source, station), mac, own);
    if !batch.set_frame_len(slot, answer.len()) {
        return reasons::drop(reasons::ND_IGNORED);
    }
    batch.frame_mut(slot).copy_from_slice(&answer);
    tallies[Tally::NdAnswered as usize] += 1;
    Verdict::Forward(batch.port(slot))
}

fn ask(made: &mut Made, asking: Asking, question: Question) {
    let mut frame = [0; nd::FRAME_LEN];
    let port = PortId(question.link as u8);
    if let Some(len) = question.write(asking, &mut frame) {
        made.push(port, &frame[..len], Verdict::Forward(port));
    }
}

/// The link behind a port.
fn link(port: PortId) -> u16 {
    port.0.into()
}

/// Packets that wait for neighbours in all.
pub(super) const PENDING: usize = 64;

/// Seconds after which a neighbour that has answered is asked again.
pub(super) const LIFETIME_S: u32 = 1200;
