//! Which session a packet belongs to, and whether its host may send it.

use machine::clock::Ticks;
use packet::{Batch, Slot};
use stages::icmp_host::Trouble;
use subscribers::{Key, Record};
use wire::bytes::array_at;
use wire::{MacAddr, ethernet};

use super::gateway::ACCESS;
use super::parse::Packet;
use super::pipeline::Pipeline;
use super::reasons;
use super::state::State;
use super::way::Way;

impl Pipeline {
    /// Line and station, or line and session of PPPoE, to the session; then nobody sends under
    /// another's address.
    pub(super) fn find_up(&mut self, batch: &mut Batch) {
        let Pipeline { state, way, first_packets, .. } = self;
        let State { sessions, services, gateway, .. } = state;
        let Way { up, local, spent, packets, hash, candidate, session, list, .. } = way;
        for &slot in up.as_slice() {
            let index = usize::from(slot);
            hash[index] = sessions.hash(&key_of(batch, slot, &packets[index]));
            sessions.prefetch(hash[index]);
        }
        for &slot in up.as_slice() {
            let index = usize::from(slot);
            candidate[index] = sessions.candidate(hash[index]);
            if let Some(number) = candidate[index] {
                sessions.prefetch_record(number);
                sessions.prefetch_volumes(number);
                services.prefetch(number);
            }
        }
        up.retain(|slot| {
            let index = usize::from(slot);
            let packet = &mut packets[index];
            let key = key_of(batch, slot, packet);
            let found = sessions.confirm(hash[index], candidate[index], &key);
            let record = found.and_then(|number| Some((number, sessions.get(number)?)));
            let Some((number, record)) = record else {
                session[index] = 0;
                let verdict = match (packet.pppoe, *first_packets) {
                    (0, true) => reasons::FIRST_PACKET,
                    (0, false) => reasons::drop(reasons::UNKNOWN_SESSION),
                    _ => reasons::drop(reasons::UNKNOWN_PPPOE),
                };
                batch.set_verdict(slot, verdict);
                return false;
            };
            session[index] = number;
            packet.vrf = record.vrf;
            if packet.pppoe != 0 && record.station() != station_of(batch, slot) {
                batch.set_verdict(slot, reasons::drop(reasons::SPOOFED_MAC));
                return false;
            }
            let is_to_gateway = gateway.is_own(packet.destination, packet.is_ipv6);
            let is_asking = packet.is_from_link() & is_to_gateway;
            if !has(record, packet.source, packet.is_ipv6) && !is_asking {
                batch.set_verdict(slot, reasons::drop(reasons::SPOOFED_SOURCE));
                return false;
            }
            list[index] = (record.list, has(record, packet.destination, packet.is_ipv6));
            let is_spent = packet.ttl <= 1;
            local.push_if(is_to_gateway, slot);
            spent.push_if(!is_to_gateway & is_spent, slot);
            !(is_to_gateway | is_spent)
        });
    }

    /// Address or prefix to the session.
    pub(super) fn find_down(&mut self) {
        let Pipeline { state, way, .. } = self;
        let sessions = &state.sessions;
        std::mem::swap(&mut way.down, &mut way.sought);
        way.down.clear();
        way.lost.clear();
        // Addresses of both versions, then of IPv6 each length of prefixes, the longest first.
        for round in 0..=sessions.prefix_lens().len() {
            let len = round.checked_sub(1).map(|at| sessions.prefix_lens()[at]);
            let Way { sought, lost, packets, .. } = &mut *way;
            if round > 0 {
                sought.retain(|slot| {
                    let is_ipv6 = packets[usize::from(slot)].is_ipv6;
                    lost.push_if(!is_ipv6, slot);
                    is_ipv6
                });
            }
            if sought.is_empty() {
                break;
            }
            look_for(state, way, len);
        }
        let Way { down, sought, lost, spent, packets, list, session, .. } = way;
        sought.as_slice().iter().for_each(|&slot| lost.push(slot));
        down.retain(|slot| {
            let index = usize::from(slot);
            let Some(record) = state.sessions.get(session[index]) else { return false };
            let packet = &packets[index];
            list[index] = (record.list, has(record, packet.source, packet.is_ipv6));
            spent.push_if(packet.ttl <= 1, slot);
            packet.ttl > 1
        });
    }

    /// What goes no further once it is known whose it is: pings to the gateway are answered, others
    /// are told why.
    pub(super) fn end_here(&mut self, batch: &mut Batch, now: Ticks) {
        let Way { local, spent, lost, .. } = &self.way;
        if local.is_empty() & spent.is_empty() & lost.is_empty() {
            return;
        }
        for index in 0..self.way.local.len() {
            let slot = self.way.local.as_slice()[index];
            self.receive(batch, slot, now);
        }
        for index in 0..self.way.spent.len() {
            let slot = self.way.spent.as_slice()[index];
            let why = (Trouble::TimeExceeded, reasons::TTL_EXPIRED);
            match batch.port(slot) {
                ACCESS => self.refuse_up(batch, slot, why, now),
                _ => self.refuse_down(batch, slot, why, now),
            }
        }
        for index in 0..self.way.lost.len() {
            let slot = self.way.lost.as_slice()[index];
            self.refuse_down(batch, slot, (Trouble::NoHost, reasons::UNKNOWN_SUBSCRIBER), now);
        }
        self.way.lost.clear();
    }
}

/// Looks for the sessions of packets by their addresses, or by prefixes of a length; those that are
/// found go on.
#[inline(always)]
fn look_for(state: &State, way: &mut Way, len: Option<u8>) {
    let State { sessions, services, .. } = state;
    let Way { down, sought, packets, hash, candidate, session, .. } = way;
    let key_of = |packet: &Packet| {
        let Packet { vrf, destination, is_ipv6, .. } = *packet;
        match (is_ipv6, len) {
            (false, _) => Key::Ipv4 { vrf, address: destination as u32 },
            (true, None) => Key::Ipv6 { vrf, address: destination },
            (true, Some(len)) => Key::prefix(vrf, destination, len),
        }
    };
    for &slot in sought.as_slice() {
        let index = usize::from(slot);
        hash[index] = sessions.hash(&key_of(&packets[index]));
        sessions.prefetch(hash[index]);
    }
    for &slot in sought.as_slice() {
        let index = usize::from(slot);
        candidate[index] = sessions.candidate(hash[index]);
        if let Some(number) = candidate[index] {
            sessions.prefetch_record(number);
            sessions.prefetch_volumes(number);
            services.prefetch_queues(number);
        }
    }
    sought.retain(|slot| {
        let index = usize::from(slot);
        let key = key_of(&packets[index]);
        let found = sessions.confirm(hash[index], candidate[index], &key);
        session[index] = found.unwrap_or(0);
        down.push_if(found.is_some(), slot);
        found.is_none()
    });
}

/// Whether an address is a session's.
#[inline(always)]
fn has(record: &Record, address: u128, is_ipv6: bool) -> bool {
    if is_ipv6 { record.has_ipv6(address) } else { record.has_ipv4(address as u32) }
}

/// By what the session of a packet is found.
#[inline(always)]
fn key_of(batch: &Batch, slot: Slot, packet: &Packet) -> Key {
    match packet.pppoe {
        0 => Key::Station { line: packet.line, mac: station_of(batch, slot) },
        id => Key::Pppoe { line: packet.line, id },
    }
}

/// The station that has sent a frame.
#[inline(always)]
fn station_of(batch: &Batch, slot: Slot) -> MacAddr {
    let head = batch.frame(slot).first_chunk::<{ ethernet::HEADER_LEN }>();
    head.map_or(MacAddr::ZERO, |head| MacAddr(array_at(head, ethernet::offset::SOURCE)))
}
