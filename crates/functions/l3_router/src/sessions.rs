//! What the router does for the sessions that watch its next hops ([`super::liveness`]): it hands
//! them their packets, sends theirs, and follows what they say.
use std::net::IpAddr;

use engine::Refusal;
use machine::clock::Ticks;
use packet::{Batch, Slot, Verdict};
use stages::datagram::{Datagram, HEADERS_MAX};
use stages::icmp_host::is_ipv6;
use stages::{nd, punt};
use wire::bytes::array_at;
use wire::{MacAddr, ethernet, ipv6};

use super::config::{NextHop, Resolved};
use super::control::Update;
use super::liveness::{Packet, Wish};
use super::neighbours::Wanted;
use super::pipeline::Pipeline;
use super::reasons::{self, Tally};
use super::state::Hop;

impl Pipeline {
    /// Hands a packet that is for the router itself to the sessions if it is theirs; returns what
    /// becomes of it.
    pub(super) fn hear_session(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        now: Ticks,
    ) -> Option<Verdict> {
        let number = self.scratch.hop[usize::from(slot)];
        let is_ours = self.liveness.is_some() && number == self.state.entries.local;
        let interface = self.scratch.interface[usize::from(slot)];
        is_ours.then(|| self.hand_to_session(batch, (slot, interface), now))?
    }

    /// The same of a frame for the router's link-local address at an interface, to which no route
    /// leads.
    pub(super) fn hear_on_link(
        &mut self,
        batch: &mut Batch,
        (slot, at): (Slot, u16),
        now: Ticks,
    ) -> Option<Verdict> {
        self.liveness.as_ref()?;
        let own = self.state.interfaces.get(at).mac.0;
        let frame = batch.frame(slot);
        let to = ethernet::HEADER_LEN + ipv6::offset::DESTINATION;
        let is_ours = frame.starts_with(&own.0)
            && is_ipv6(frame)
            && frame.get(to..to + 16) == Some(&nd::link_local(own).octets()[..]);
        is_ours.then(|| self.hand_to_session(batch, (slot, at), now))?
    }

    fn hand_to_session(
        &mut self,
        batch: &mut Batch,
        (slot, interface): (Slot, u16),
        now: Ticks,
    ) -> Option<Verdict> {
        let liveness = self.liveness.as_mut()?;
        let frame = batch.frame(slot);
        if punt::reason_of(frame) != punt::BFD {
            return None;
        }
        match self.workers.is_first() {
            true => liveness.receive(frame, interface, now).verdict(),
            false => Some(self.workers.hand_over(batch.frame_mut(slot), interface)),
        }
    }

    /// Does what the sessions want that is due.
    #[inline]
    pub(super) fn keep_sessions(&mut self, now: Ticks) {
        for _ in 0..WISHES_PER_ROUND {
            let Some(wish) = self.liveness.as_mut().and_then(|all| all.next(now)) else { break };
            match wish {
                Wish::Packet(packet) => self.send_packet(&packet, now),
                Wish::Turned { session, is_up } => {
                    let tally = if is_up { Tally::PathsUp } else { Tally::PathsDown };
                    self.tallies[tally as usize] += 1;
                    self.turn(session);
                }
            }
        }
        self.tell_hops(now);
    }

    /// The next hops of a session are as it is by now, which may be another one, or none.
    fn turn(&mut self, session: u32) {
        let followers = self.liveness.as_ref().map(|all| all.followers(session));
        let (hops, are_there) = followers.unwrap_or_default();
        for hop in hops {
            self.state.set_path(hop, are_there);
            self.workers.note(hop, are_there);
        }
        self.state.reach_tunnels();
    }

    /// Whether there is room for the session of a next hop.
    ///
    /// # Errors
    /// When there is none, or the next hop's interface has no address to watch from, a key is named
    /// that there is not, or a session with the neighbour was set.
    pub(super) fn may_watch(&self, update: &Update) -> Result<(), Refusal> {
        let Update::SetNextHop { number, next_hop } = update else { return Ok(()) };
        let Some(bfd) = next_hop.bfd else { return Ok(()) };
        let liveness = self.liveness.as_ref().ok_or(Refusal::Full)?;
        let named = self.state.interfaces.named(next_hop.port, next_hop.vlan);
        let interface = named.ok_or(Refusal::NotFound)?;
        let own = self.state.interfaces.get(interface);
        if liveness.has_asked(next_hop, interface) {
            return Err(Refusal::Exists);
        }
        let has_key = bfd.authentication.is_none_or(|place| liveness.has_key(place));
        let has_ends = has_key && local_of(own, next_hop).is_some();
        match (has_ends, liveness.has_room_for(*number)) {
            (false, _) => Err(Refusal::Invalid),
            (true, false) => Err(Refusal::Full),
            (true, true) => Ok(()),
        }
    }

    /// Watches a next hop that was set, and no longer one that was removed.
    pub(super) fn watch(&mut self, update: &Update, now: Ticks) {
        let Some(liveness) = &mut self.liveness else { return };
        match update {
            Update::SetNextHop { number, next_hop } => {
                let named = self.state.interfaces.named(next_hop.port, next_hop.vlan);
                let Some(interface) = named else { return };
                let own = self.state.interfaces.get(interface);
                let local = local_of(own, next_hop);
                let is_watched = liveness.watch((*number, next_hop), (interface, local), now);
                self.state.set_path(*number, !is_watched);
            }
            Update::RemoveNextHop { number } => liveness.forget(*number, now),
            _ => {}
        }
    }

    /// The host has brought or taken an address: sessions from one that is gone end, and next hops
    /// that are to be watched are so from one that is there.
    pub(super) fn follow_address(&mut self, update: &Update, now: Ticks) {
        let (at, gone) = match *update {
            Update::SetAddress { port, vlan, .. } => ((port, vlan), None),
            Update::RemoveAddress { port, vlan, address } => ((port, vlan), Some(address)),
            _ => return,
        };
        let Pipeline { state, liveness: Some(liveness), .. } = self else { return };
        let Some(interface) = state.interfaces.named(at.0, at.1) else { return };
        let ended = gone.map(|gone| liveness.asked_from(interface, gone)).unwrap_or_default();
        let all = state.neighbours.iter().filter(|(number, next)| {
            let source = liveness.source_of(**number);
            next.bfd.is_some()
                && (next.port, next.vlan) == at
                && (source.is_none() || source == gone)
        });
        let unwatched = all.map(|(&number, &next_hop)| Update::SetNextHop { number, next_hop });
        let unwatched: Vec<Update> = unwatched.collect();
        for discriminator in ended {
            self.remove_bfd(discriminator, now);
        }
        for update in unwatched {
            self.watch(&update, now);
        }
    }

    fn send_packet(&mut self, packet: &Packet, now: Ticks) {
        let Pipeline { state, made, neighbours, .. } = self;
        let Some(made) = made else { return };
        let at = packet.interface;
        let listed = state.asked_at(at, packet.peer);
        let wanted = Wanted { link: at, address: packet.peer, listed };
        let known = neighbours.as_ref().and_then(|all| all.known(state, wanted));
        // A next hop with two addresses may wait for the other one.
        let hop = state.hops_at(at, packet.peer).first().copied();
        let ways = [hop, known].map(|place| place.map(|place| state.way_of(place)));
        let leads = |way: &Hop| way.verdict != reasons::drop(reasons::UNRESOLVED);
        let way = ways.into_iter().flatten().find(leads);
        let way = way.unwrap_or(Hop::absent(reasons::UNRESOLVED, at));
        let mut frame = [0; HEADERS_MAX + PAYLOAD_MAX];
        let datagram = Datagram {
            macs: [0, 6].map(|at| MacAddr(array_at(&way.macs, at))),
            from: packet.from,
            to: packet.to,
            ports: [packet.from_port, packet.to_port],
            ttl: u8::MAX,
            dscp: DSCP,
            payload: &packet.bytes,
        };
        let Some(len) = datagram.write(&mut frame) else { return };
        let frame = &frame[..len];
        let own = state.interfaces.get(packet.interface);
        if let Verdict::Forward(_) = way.verdict {
            if let Some(slot) = made.push(own.port, frame, way.verdict) {
                let batch = made.batch_mut();
                let verdict = state.interfaces.send(batch, slot, packet.interface, way.verdict);
                batch.set_verdict(slot, verdict);
                self.tallies[Tally::BfdSent as usize] += 1;
            }
        } else if let Some(neighbours) = neighbours
            && way.verdict == reasons::drop(reasons::UNRESOLVED)
        {
            // It waits for the neighbour as a packet on its way does, which costs it a hop: the
            // peer ignores this one, and the next finds the neighbour known.
            let port = own.port;
            neighbours.wait((state, made), (port, at, frame), wanted, now);
        }
    }
}

/// The address of an interface from which a next hop is watched: of the family of its first
/// address, and for a link-local one the link-local one that follows from the Ethernet address.
fn local_of(own: &Resolved, next: &NextHop) -> Option<IpAddr> {
    match (next.ip, next.ipv6) {
        (Some(_), _) => own.ip.map(|ip| IpAddr::from(ip.address)),
        (None, Some(peer)) => own.ipv6.map(|ip| match peer.is_unicast_link_local() {
            true => nd::link_local(own.mac.0).into(),
            false => ip.address.into(),
        }),
        (None, None) => None,
    }
}

/// Wishes that a round fulfils: packets are made frames, which have their room to share.
const WISHES_PER_ROUND: usize = 64;

/// Longest packet of BFD in bytes, with authentication.
const PAYLOAD_MAX: usize = 64;

/// The code point of network control (RFC 2474 section 4.2.2, class selector 6).
const DSCP: u8 = 48;

#[cfg(test)]
mod tests;
