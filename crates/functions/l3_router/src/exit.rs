//! What leaves the way of ordinary packets: frames that are not plain, at the entrance, and packets
//! that cannot leave as they are, at the exit. Both are looked at one by one.
//!
//! They are for the router itself ([`super::host`]) or one of its sessions ([`super::sessions`]),
//! wait for a neighbour ([`super::neighbours`]), leave in fragments, are worth an error, or are
//! dropped.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use machine::clock::Ticks;
use packet::{Batch, Reason, Slot, Verdict};
use stages::fragment;
use stages::icmp_host::is_ipv6;
use stages::nd::{self, Message};
use stages::{hosted, punt};
use wire::{MacAddr, arp, ethernet, ipv4, ipv6};

use super::control::Update;
use super::host::{Around, Protocol, Trouble, packet_len, seen_as};
use super::neighbours::{Said, Wanted};
use super::parse::{Class, classify};
use super::pipeline::Pipeline;
use super::reasons::{self, Tally};
use super::reverse_path;
use super::rewrite::rewrite_one;
use super::state::State;

impl Pipeline {
    /// What a frame is that is not plain, for a router that is a host too or looks for sources.
    #[inline(never)]
    pub(super) fn check_oddly(&mut self, batch: &mut Batch, slot: Slot, at: u16, now: Ticks) {
        if let Some(verdict) = self.hear_on_link(batch, (slot, at), now) {
            return batch.set_verdict(slot, verdict);
        }
        if let Some(verdict) = self.hear_solicitation(batch, (slot, at), now) {
            return batch.set_verdict(slot, verdict);
        }
        let own = self.state.interfaces.get(at);
        let virtuals = self.state.interfaces.virtuals();
        let asked = virtuals.asked_by_nd(batch.frame(slot), at);
        let asks_for_virtual =
            asked.is_some() || virtuals.asked_by_arp(batch.frame(slot), at).is_some();
        let is_own = |one: Ipv6Addr| self.state.is_own_ipv6(own.vrf, one.to_bits());
        let station = (own.mac.0, own.seeks());
        if own.is_hosted && !asks_for_virtual && hosted::sees(batch.frame(slot), station, is_own) {
            let protocol = seen_as(batch.frame(slot));
            let verdict = self.show_host(batch, (slot, at), protocol, now);
            return batch.set_verdict(slot, verdict);
        }
        let link_local = nd::link_local(own.mac.0);
        let is_asked = nd::asks_for(batch.frame(slot), link_local);
        let address = own.ipv6.map(|ip| if is_asked { link_local } else { ip.address });
        let (mac, address) =
            asked.map_or((own.mac.0, address), |(mac, address)| (mac, Some(address)));
        if self.neighbours.is_some()
            && let Some(message) = nd::read(batch.frame(slot), (mac, address))
        {
            let verdict = self.discover(batch, (slot, at), (message, mac, address), now);
            return batch.set_verdict(slot, verdict);
        }
        if self.is_for_link_local(batch.frame(slot), at) {
            let verdict = self.receive_on_link(batch, (slot, at), now);
            return batch.set_verdict(slot, verdict);
        }
        let class = classify(batch.frame(slot), at, &self.state);
        let verdict = match class {
            Class::Arp | Class::Drop(reasons::ARP_IGNORED) if self.host.is_some() => {
                match self.resolve(batch, (slot, at), now) {
                    None if class == Class::Arp => return self.answer_arp(batch, slot, at),
                    None => reasons::drop(reasons::ARP_IGNORED),
                    Some(verdict) => verdict,
                }
            }
            Class::Drop(reasons::TTL_EXPIRED) => {
                let why = (Some(Trouble::TimeExceeded), reasons::TTL_EXPIRED);
                self.refuse_at_entrance(batch, (slot, at), why, now)
            }
            Class::Options(pointer) => {
                let why = (pointer.map(Trouble::BadOption), reasons::OPTIONS);
                self.refuse_at_entrance(batch, (slot, at), why, now)
            }
            _ => return self.check_fully(batch, slot, at),
        };
        batch.set_verdict(slot, verdict);
    }

    /// Whether a frame has a sound packet for the link-local address of an interface that the host
    /// does not have. No route leads there, and access lists do not see it.
    fn is_for_link_local(&self, frame: &[u8], at: u16) -> bool {
        let own = self.state.interfaces.get(at);
        let is_station = own.ipv6.is_some() && !own.is_hosted && frame.starts_with(&own.mac.0.0);
        let is_ours = is_station && ether_type(frame) == ethernet::TYPE_IPV6;
        let packet = frame.get(ethernet::HEADER_LEN..).filter(|_| is_ours);
        packet.and_then(|packet| ipv6::View::parse(packet).ok()).is_some_and(|view| {
            let source = view.source();
            let is_nobodys = source.is_unspecified() || source.is_loopback();
            view.destination() == nd::link_local(own.mac.0) && !is_nobodys && !source.is_multicast()
        })
    }

    /// What becomes of such a frame.
    fn receive_on_link(
        &mut self,
        batch: &mut Batch,
        (slot, at): (Slot, u16),
        now: Ticks,
    ) -> Verdict {
        let Pipeline { state, host, tallies, made, .. } = self;
        let Some(host) = host else { return reasons::drop(reasons::MARTIAN) };
        let (interfaces, made) = (&state.interfaces, made.as_mut());
        let len = ethernet::HEADER_LEN + packet_len(batch.frame(slot));
        batch.truncate(slot, len);
        host.receive(batch, (slot, at), &mut Around { interfaces, tallies, made, now })
    }

    /// A packet that does not come in, and what its sender hears, if anything: only where its
    /// source is not a false one.
    fn refuse_at_entrance(
        &mut self,
        batch: &Batch,
        (slot, at): (Slot, u16),
        (trouble, reason): (Option<Trouble>, Reason),
        now: Ticks,
    ) -> Verdict {
        if !reverse_path::passes(&self.state, batch.frame(slot), at) {
            return reasons::drop(reasons::REVERSE_PATH);
        }
        let Pipeline { state, host, tallies, made, .. } = self;
        let (interfaces, made) = (&state.interfaces, made.as_mut());
        let around = &mut Around { interfaces, tallies, made, now };
        let packet = (batch.frame(slot), batch.port(slot), at);
        match (host, trouble) {
            (Some(host), Some(trouble)) => host.refuse(packet, around, (trouble, reason)),
            _ => reasons::drop(reason),
        }
    }

    /// ARP: within its rate, an answer of a neighbour, or neither.
    fn resolve(&mut self, batch: &Batch, (slot, at): (Slot, u16), now: Ticks) -> Option<Verdict> {
        if let Some(reason) = self.host.as_mut()?.police(Protocol::Arp, now).err() {
            return Some(reasons::drop(reason));
        }
        let (heard, is_answer) = self.hear(batch, (slot, at), now)?;
        // A question is answered whoever asks (RFC 826).
        (heard && is_answer).then_some(reasons::drop(reasons::NEIGHBOUR_HEARD))
    }

    /// Takes note of who sends ARP: whether that was of any use, and whether it is an answer.
    fn hear(&mut self, batch: &Batch, (slot, at): (Slot, u16), now: Ticks) -> Option<(bool, bool)> {
        let (neighbours, made) = (self.neighbours.as_mut()?, self.made.as_mut()?);
        let packet = batch.frame(slot).get(ethernet::HEADER_LEN..)?;
        let said = arp::View::parse(packet).ok()?;
        let who = (at, IpAddr::from(said.sender_ip()));
        let is_answer = said.operation() == arp::OPERATION_REPLY;
        // An ARP request comes from the neighbour itself, and is as good as an answer.
        let mac = Said { mac: said.sender_mac(), overrides: true, answers: true };
        if neighbours.has_ours(&self.state, who, mac.mac, now) {
            self.tallies[Tally::AddressConflicts as usize] += 1;
        }
        let heard = neighbours.heard((&mut self.state, made), who, mac, now);
        if heard || is_answer {
            self.pass_on((batch.port(slot), at), batch.frame(slot));
        }
        Some((heard, is_answer))
    }

    /// A frame for the host, which answers it: within the rate of its protocol, and neighbours are
    /// learned of it.
    fn show_host(
        &mut self,
        batch: &Batch,
        (slot, at): (Slot, u16),
        protocol: Protocol,
        now: Ticks,
    ) -> Verdict {
        if let Some(Err(reason)) = self.host.as_mut().map(|host| host.police(protocol, now)) {
            return reasons::drop(reason);
        }
        let own = self.state.interfaces.get(at);
        let ends = (own.mac.0, own.asking_ipv6());
        match protocol {
            Protocol::Arp => {
                self.hear(batch, (slot, at), now);
            }
            Protocol::Nd => {
                if let Some(Ok(message)) = nd::read(batch.frame(slot), ends) {
                    self.learn(batch, (slot, at), message, now);
                }
            }
            _ => {}
        }
        Verdict::Punt(punt::reason_of(batch.frame(slot)))
    }

    /// Takes note of what a neighbour says of itself by Neighbor Discovery; whether that was of any
    /// use.
    fn learn(
        &mut self,
        batch: &Batch,
        (slot, at): (Slot, u16),
        message: Message,
        now: Ticks,
    ) -> Option<bool> {
        let (neighbours, made) = (self.neighbours.as_mut()?, self.made.as_mut()?);
        let (who, said) = match message {
            Message::Advertisement { target, mac, overrides } => {
                (target, Said { mac, overrides, answers: true })
            }
            Message::Solicitation { source, mac } => {
                (source, Said { mac: mac?, overrides: true, answers: false })
            }
        };
        if neighbours.has_ours(&self.state, (at, who.into()), said.mac, now) {
            self.tallies[Tally::AddressConflicts as usize] += 1;
        }
        let heard = neighbours.heard((&mut self.state, made), (at, IpAddr::from(who)), said, now);
        if heard || matches!(message, Message::Advertisement { .. }) {
            self.pass_on((batch.port(slot), at), batch.frame(slot));
        }
        Some(heard)
    }

    /// Neighbor Discovery: within its rate, a question for the address as which it was read, or an
    /// answer.
    fn discover(
        &mut self,
        batch: &mut Batch,
        (slot, at): (Slot, u16),
        (message, mac, address): (Result<Message, ()>, MacAddr, Option<Ipv6Addr>),
        now: Ticks,
    ) -> Verdict {
        let ignored = reasons::drop(reasons::ND_IGNORED);
        let Some(host) = &mut self.host else { return ignored };
        if let Err(reason) = host.police(Protocol::Nd, now) {
            return reasons::drop(reason);
        }
        match message {
            Err(()) => ignored,
            Ok(message @ Message::Advertisement { .. }) => {
                match self.learn(batch, (slot, at), message, now) {
                    Some(true) => reasons::drop(reasons::NEIGHBOUR_HEARD),
                    _ => ignored,
                }
            }
            Ok(message @ Message::Solicitation { source, .. }) => {
                self.learn(batch, (slot, at), message, now);
                let Some(address) = address else { return ignored };
                let station = ethernet_source(batch.frame(slot));
                let answer = nd::advertise((source, station), mac, address);
                if !batch.set_frame_len(slot, answer.len()) {
                    return ignored;
                }
                batch.frame_mut(slot).copy_from_slice(&answer);
                self.tallies[Tally::NdAnswered as usize] += 1;
                let back = Verdict::Forward(batch.port(slot));
                self.state.interfaces.send(batch, slot, at, back)
            }
        }
    }

    /// Whether each packet can leave as it is; what cannot is looked at.
    pub(super) fn exit(&mut self, batch: &mut Batch, now: Ticks) {
        let State { interfaces, hops, .. } = &self.state;
        let scratch = &mut self.scratch;
        scratch.odd.clear();
        let mut leaves = |slot: Slot| {
            let hop = &hops[scratch.hop[usize::from(slot)] as usize];
            let leaves = matches!(hop.verdict, Verdict::Forward(_))
                && interfaces.carries(hop.interface, batch.longest(slot));
            scratch.odd.push_if(!leaves, slot);
            leaves
        };
        scratch.ipv4.retain(&mut leaves);
        scratch.ipv6.retain(&mut leaves);
        for index in 0..self.scratch.odd.len() {
            let slot = self.scratch.odd.as_slice()[index];
            if self.finds_neighbour(batch, slot) {
                match is_ipv6(batch.frame(slot)) {
                    true => self.scratch.ipv6.push(slot),
                    false => self.scratch.ipv4.push(slot),
                }
                continue;
            }
            let verdict = self.stay(batch, slot, now);
            batch.set_verdict(slot, verdict);
        }
    }

    /// Whether a packet goes to a host on a link that is known by now, within the link's MTU.
    fn finds_neighbour(&mut self, batch: &Batch, slot: Slot) -> bool {
        let Some(wanted @ Wanted { listed: None, .. }) = self.wanted(batch, slot) else {
            return false;
        };
        let Some(hop) = self.neighbours.as_ref().and_then(|all| all.known(&self.state, wanted))
        else {
            return false;
        };
        self.scratch.hop[usize::from(slot)] = hop;
        self.state.interfaces.carries(wanted.link, batch.longest(slot))
    }

    /// Whom a packet is to reach whose Ethernet address is not known.
    fn wanted(&self, batch: &Batch, slot: Slot) -> Option<Wanted> {
        self.neighbours.as_ref()?;
        let number = self.scratch.hop[usize::from(slot)];
        let hop = &self.state.hops[number as usize];
        let interface = hop.interface;
        if (self.state.entries.link..self.state.first_dynamic()).contains(&number) {
            let address = match is_ipv6(batch.frame(slot)) {
                false => Ipv4Addr::from_bits(self.scratch.destination[usize::from(slot)]).into(),
                true => {
                    Ipv6Addr::from_bits(self.scratch.destination_ipv6[usize::from(slot)]).into()
                }
            };
            return Some(Wanted { link: interface, address, listed: None });
        }
        if hop.verdict != reasons::drop(reasons::UNRESOLVED) {
            return None;
        }
        let (link, address) = self.state.asks_for(number)?;
        Some(Wanted { link, address, listed: Some(number) })
    }

    /// What becomes of a packet that cannot leave as it is.
    fn stay(&mut self, batch: &mut Batch, slot: Slot, now: Ticks) -> Verdict {
        if let Some(verdict) = self.hear_session(batch, slot, now) {
            return verdict;
        }
        let wanted = self.wanted(batch, slot);
        if wanted.is_some_and(|wanted| is_broadcast(&self.state, wanted)) {
            return reasons::drop(reasons::DIRECTED_BROADCAST);
        }
        let at = self.scratch.interface[usize::from(slot)];
        let Pipeline { state, host, tallies, neighbours, made, .. } = self;
        let number = self.scratch.hop[usize::from(slot)];
        let hop = state.hops[number as usize];
        let interfaces = &state.interfaces;
        let is_too_big = !interfaces.carries(hop.interface, batch.longest(slot));
        let is_forwarded = matches!(hop.verdict, Verdict::Forward(_)) || wanted.is_some();
        let why = match hop.verdict {
            Verdict::Drop(reasons::NO_ROUTE) => (Trouble::NoRoute, reasons::NO_ROUTE),
            _ if is_forwarded && is_too_big => {
                (Trouble::TooBig(interfaces.get(hop.interface).mtu), reasons::TOO_BIG)
            }
            _ => (Trouble::NoNeighbour, reasons::NO_NEXT_HOP),
        };
        let is_cut = why.1 == reasons::TOO_BIG && !must_stay_whole(batch.frame(slot));
        if is_cut {
            return self.cut(batch, (slot, at), wanted, now);
        }
        if let (Some(wanted), Some(neighbours), Some(made), false) =
            (wanted, neighbours, made.as_mut(), is_too_big)
        {
            if batch.long(slot).is_some() {
                // It stands for more packets than may wait for a neighbour.
                return neighbours.look_for((state, made), wanted, now);
            }
            let packet = (batch.port(slot), at, batch.frame(slot));
            return neighbours.wait((state, made), packet, wanted, now);
        }
        let around = &mut Around { interfaces, tallies, made: made.as_mut(), now };
        match host {
            Some(host) if hop.verdict == reasons::drop(reasons::LOCAL) => {
                host.receive(batch, (slot, at), around)
            }
            None if hop.verdict == reasons::drop(reasons::LOCAL) => hop.verdict,
            Some(host) => host.refuse((batch.frame(slot), batch.port(slot), at), around, why),
            None => reasons::drop(why.1),
        }
    }

    /// A packet leaves in fragments, or these wait for their neighbour: the first one in its place,
    /// the others as frames made.
    fn cut(
        &mut self,
        batch: &mut Batch,
        (slot, at): (Slot, u16),
        wanted: Option<Wanted>,
        now: Ticks,
    ) -> Verdict {
        let refused = reasons::drop(reasons::TOO_BIG);
        let Pipeline { state, tallies, neighbours, made, datagram, .. } = self;
        let Some(made) = made else { return refused };
        let hop = state.hops[self.scratch.hop[usize::from(slot)] as usize];
        let mtu = state.interfaces.get(hop.interface).mtu;
        let port = batch.port(slot);
        let (mut verdict, mut first_len) = (hop.verdict, 0);
        let is_cut = fragment::pieces(batch.frame(slot), mtu, datagram, |number, piece| {
            if let (Some(wanted), Some(neighbours)) = (wanted, neighbours.as_mut()) {
                let waits = neighbours.wait((state, made), (port, at, piece), wanted, now);
                verdict = if number == 0 { waits } else { verdict };
            } else if number == 0 {
                first_len = piece.len();
            } else if let Some(place) = made.push(port, piece, hop.verdict) {
                rewrite_one(made.batch_mut(), place, &hop);
                let verdict =
                    state.interfaces.send(made.batch_mut(), place, hop.interface, hop.verdict);
                made.batch_mut().set_verdict(place, verdict);
            }
        });
        if !is_cut {
            return refused;
        }
        tallies[Tally::Fragmented as usize] += 1;
        if first_len > 0 {
            batch.truncate(slot, first_len);
            fragment::make_first(&mut batch.frame_mut(slot)[ethernet::HEADER_LEN..]);
            rewrite_one(batch, slot, &hop);
            verdict = state.interfaces.send(batch, slot, hop.interface, hop.verdict);
        }
        verdict
    }

    /// What was known of a next hop that changed is not known any more; what is known of its
    /// neighbour now holds for it, too.
    pub(super) fn forget(&mut self, update: &Update) {
        let hop = match update {
            Update::SetNextHop { number, .. } | Update::RemoveNextHop { number } => *number,
            _ => return,
        };
        let Pipeline { state, neighbours, made, .. } = self;
        if let (Some(neighbours), Some(made)) = (neighbours, made) {
            neighbours.forget_hop((state, made), hop);
            neighbours.enlist((state, made), hop);
        }
    }

    /// Questions to neighbours that are due.
    pub(super) fn ask_neighbours(&mut self, now: Ticks) {
        let Pipeline { state, host, tallies, neighbours, made, .. } = self;
        if let (Some(neighbours), Some(made), Some(host)) = (neighbours, made.as_mut(), host) {
            neighbours.tick((state, made), host, tallies, now);
        }
    }
}

/// Whether a packet is for all hosts of a link, which are not asked for (RFC 2644).
fn is_broadcast(state: &State, wanted: Wanted) -> bool {
    let Wanted { link, address: IpAddr::V4(address), listed: None } = wanted else { return false };
    state.interfaces.get(link).ip.is_some_and(|own| {
        let hosts = u32::MAX.checked_shr(own.len.into()).unwrap_or(0);
        hosts > 1 && address.to_bits() == own.address.to_bits() | hosts
    })
}

/// Whether routers must not fragment a packet: IPv6, or IPv4 that says so.
fn must_stay_whole(frame: &[u8]) -> bool {
    match ipv4::View::parse_without_checksum(frame.get(ethernet::HEADER_LEN..).unwrap_or_default())
    {
        Ok(view) => view.dont_fragment(),
        Err(_) => true,
    }
}

fn ether_type(frame: &[u8]) -> u16 {
    let kind = frame.get(ethernet::offset::TYPE..).and_then(|rest| rest.first_chunk());
    kind.map_or(0, |kind| u16::from_be_bytes(*kind))
}

fn ethernet_source(frame: &[u8]) -> MacAddr {
    MacAddr(wire::bytes::array_at(frame, ethernet::offset::SOURCE))
}
