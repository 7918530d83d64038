//! Frames at the entrance: what they are, and everything that is decided before a session is looked
//! for. The plain cases go straight through; what is out of the ordinary stands below, one by one.

use machine::clock::Ticks;
use packet::{Batch, Reason, Slot, Verdict};
use stages::hearsay::Heard;
use stages::nd::{self, Message};
use stages::{arp, vlan};
use subscribers::Key;
use wire::bytes::{array_at, u16_at};
use wire::icmp::v6;
use wire::pppoe::code;
use wire::{MacAddr, ethernet, pppoe};

use super::gateway::{ACCESS, CORE, Side, Tagging};
use super::parse::{self, Control, Packet, control};
use super::pipeline::Pipeline;
use super::reasons::{self, Tally};

impl Pipeline {
    /// What a frame is that came in by `access`.
    #[inline(always)]
    pub(super) fn check_up(&mut self, batch: &mut Batch, slot: Slot) {
        let frame = batch.frame(slot);
        let tagging = match self.state.gateway.line_of(frame) {
            Ok(tagging) => tagging,
            Err(reason) => return batch.set_verdict(slot, reasons::drop(reason)),
        };
        let Some(is_mine) = is_for(frame, &self.state.gateway.access) else {
            return batch.set_verdict(slot, reasons::drop(reasons::OTHER_STATION));
        };
        let parsed = match tagging.ether_type {
            ethernet::TYPE_IPV4 => parse::ipv4(frame, tagging.at),
            ethernet::TYPE_IPV6 => parse::ipv6(frame, tagging.at),
            pppoe::TYPE_SESSION if is_mine => {
                return self.check_pppoe(batch, slot, tagging);
            }
            _ => return self.check_others(batch, slot, tagging, is_mine),
        };
        match parsed {
            Ok(packet) => {
                let packet = Packet { line: tagging.line, ..packet };
                self.check_packet(batch, slot, (packet, is_mine));
            }
            Err(reason) => batch.set_verdict(slot, reasons::drop(reason)),
        }
    }

    /// A frame of a session of PPPoE.
    #[inline(always)]
    fn check_pppoe(&mut self, batch: &mut Batch, slot: Slot, tagging: Tagging) {
        let frame = batch.frame(slot);
        let view = match frame.get(tagging.at..).map(pppoe::View::parse) {
            Some(Ok(view)) => view,
            _ => return batch.set_verdict(slot, reasons::drop(reasons::PPPOE_MALFORMED)),
        };
        let (line, id) = (tagging.line, view.session_id());
        let Some((protocol, rest)) = view.ppp() else {
            return batch.set_verdict(slot, reasons::drop(reasons::PPPOE_MALFORMED));
        };
        // Sessions have identifiers from 1 on; elsewhere 0 says that there is no PPPoE.
        if id == 0 {
            return batch.set_verdict(slot, reasons::drop(reasons::UNKNOWN_PPPOE));
        }
        let at = tagging.at + pppoe::HEADER_LEN + pppoe::PROTOCOL_LEN;
        // What follows is padding.
        let frame = &frame[..at + rest.len()];
        let parsed = match protocol {
            pppoe::PPP_IPV4 => parse::ipv4(frame, at),
            pppoe::PPP_IPV6 => parse::ipv6(frame, at),
            _ => return self.punt_ppp(batch, slot, (line, id), reasons::PPP),
        };
        match parsed {
            Ok(packet) => {
                let packet = Packet { line, pppoe: id, ..packet };
                self.check_packet(batch, slot, (packet, true));
            }
            Err(reason) => self.punt_ppp(batch, slot, (line, id), reasons::drop(reason)),
        }
    }

    /// A frame of PPPoE that is of a session and of its host gets a verdict; others theirs.
    #[cold]
    fn punt_ppp(&mut self, batch: &mut Batch, slot: Slot, (line, id): (u32, u16), is: Verdict) {
        let verdict = match self.session_of(batch.frame(slot), (line, id)) {
            Ok(session) => {
                self.way.note(slot, line, session);
                is
            }
            Err(reason) => reasons::drop(reason),
        };
        batch.set_verdict(slot, verdict);
    }

    /// The session of a frame on a line, of PPPoE or by its station; 0 of a station without one.
    fn session_of(&self, frame: &[u8], (line, id): (u32, u16)) -> Result<u32, Reason> {
        let mac = MacAddr(array_at(frame, ethernet::offset::SOURCE));
        let sessions = &self.state.sessions;
        if id == 0 {
            return Ok(sessions.find(&Key::Station { line, mac }).unwrap_or(0));
        }
        let found = sessions.find(&Key::Pppoe { line, id }).ok_or(reasons::UNKNOWN_PPPOE)?;
        match sessions.get(found).is_some_and(|record| record.station() == mac) {
            true => Ok(found),
            false => Err(reasons::SPOOFED_MAC),
        }
    }

    /// A sound packet of a subscriber.
    #[inline(always)]
    fn check_packet(&mut self, batch: &mut Batch, slot: Slot, (packet, is_mine): (Packet, bool)) {
        if let Some(control) = control(batch.frame(slot), &packet)
            && self.take_control(batch, slot, (packet, control))
        {
            return;
        }
        let is_forwarded =
            packet.is_forwarded() || self.state.gateway.is_own(packet.destination, packet.is_ipv6);
        if is_forwarded & is_mine {
            return self.way.enter_up(slot, packet);
        }
        let verdict = reasons::drop(reasons::NOT_FORWARDED);
        match packet.pppoe {
            0 => batch.set_verdict(slot, verdict),
            id => self.punt_ppp(batch, slot, (packet.line, id), verdict),
        }
    }

    /// A packet that may be control gets its verdict; false where it is none after all.
    #[cold]
    fn take_control(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (packet, control): (Packet, Control),
    ) -> bool {
        let is_group = match packet.is_ipv6 {
            false => packet.destination == u128::from(u32::MAX),
            true => packet.destination >> 120 == 0xff,
        };
        let is_here = is_group || self.state.gateway.is_own(packet.destination, packet.is_ipv6);
        let verdict = match control {
            Control::ToDhcpv4 if is_here => reasons::DHCPV4,
            Control::ToDhcpv6 if is_here => reasons::DHCPV6,
            Control::ToDhcpv4 | Control::ToDhcpv6 => return false,
            Control::FromDhcpv4 | Control::FromDhcpv6 => reasons::drop(reasons::SERVER_MESSAGE),
            Control::Discovery(v6::ROUTER_SOLICITATION) if packet.ttl == HOP_LIMIT => {
                reasons::ROUTER_SOLICITATION
            }
            Control::Discovery(v6::ROUTER_ADVERTISEMENT | v6::REDIRECT) => {
                reasons::drop(reasons::SERVER_MESSAGE)
            }
            Control::Discovery(v6::NEIGHBOR_SOLICITATION) => {
                self.answer_subscriber(batch, slot, packet);
                return true;
            }
            Control::Discovery(_) => reasons::drop(reasons::ND_IGNORED),
        };
        let (line, id) = (packet.line, packet.pppoe);
        self.punt_ppp(batch, slot, (line, id), verdict);
        true
    }

    /// Frames on a line that bear no packet.
    #[cold]
    fn check_others(&mut self, batch: &mut Batch, slot: Slot, tagging: Tagging, is_mine: bool) {
        let verdict = match tagging.ether_type {
            ethernet::TYPE_ARP => return self.answer_arp(batch, slot, tagging),
            pppoe::TYPE_DISCOVERY => {
                let view = batch.frame(slot).get(tagging.at..).map(pppoe::View::parse);
                match view {
                    Some(Ok(view)) => match view.code() {
                        code::PADO | code::PADS => reasons::drop(reasons::SERVER_MESSAGE),
                        _ => {
                            self.way.note(slot, tagging.line, 0);
                            reasons::PPPOE_DISCOVERY
                        }
                    },
                    _ => reasons::drop(reasons::PPPOE_MALFORMED),
                }
            }
            pppoe::TYPE_SESSION if !is_mine => reasons::drop(reasons::OTHER_STATION),
            _ => reasons::drop(reasons::ETHERTYPE),
        };
        batch.set_verdict(slot, verdict);
    }

    /// What a frame is that came in by `core`.
    #[inline(always)]
    pub(super) fn check_down(&mut self, batch: &mut Batch, slot: Slot, now: Ticks) {
        let frame = batch.frame(slot);
        let (vrf, tagging) = match self.state.gateway.vrf_of(frame) {
            Ok(found) => found,
            Err(reason) => return batch.set_verdict(slot, reasons::drop(reason)),
        };
        let Some(is_mine) = is_for(frame, &self.state.gateway.core) else {
            return batch.set_verdict(slot, reasons::drop(reasons::OTHER_STATION));
        };
        let parsed = match tagging.ether_type {
            ethernet::TYPE_IPV4 => parse::ipv4(frame, tagging.at),
            ethernet::TYPE_IPV6 => parse::ipv6(frame, tagging.at),
            ethernet::TYPE_ARP => return self.hear_arp(batch, slot, (vrf, tagging), now),
            _ => return batch.set_verdict(slot, reasons::drop(reasons::ETHERTYPE)),
        };
        let packet = match parsed {
            Ok(packet) => Packet { vrf, ..packet },
            Err(reason) => return batch.set_verdict(slot, reasons::drop(reason)),
        };
        if let Some(Control::Discovery(v6::NEIGHBOR_SOLICITATION | v6::NEIGHBOR_ADVERTISEMENT)) =
            control(frame, &packet)
        {
            return self.hear_nd(batch, slot, packet, now);
        }
        let is_own = self.state.gateway.is_own(packet.destination, packet.is_ipv6);
        let is_from_somebody = packet.is_from_host() | is_own & packet.is_from_link();
        if !is_mine | !(packet.is_forwarded() | is_own) | !is_from_somebody {
            return batch.set_verdict(slot, reasons::drop(reasons::NOT_FORWARDED));
        }
        match is_own {
            true => {
                self.way.packets[usize::from(slot)] = packet;
                self.receive(batch, slot, now);
            }
            false => self.way.enter_down(slot, packet),
        }
    }

    /// A frame of the control plane leaves by the port of its interface, as it is.
    #[cold]
    pub(super) fn inject(&mut self, batch: &mut Batch, slot: Slot) {
        let verdict = match engine::plane::split(batch, slot) {
            Some(0) => Verdict::Forward(ACCESS),
            Some(1) => Verdict::Forward(CORE),
            _ => reasons::drop(reasons::LOCAL),
        };
        batch.set_verdict(slot, verdict);
    }

    /// ARP on a line: a question for an address of the gateway's is answered.
    fn answer_arp(&mut self, batch: &mut Batch, slot: Slot, tagging: Tagging) {
        let side = &self.state.gateway.access;
        let asked = batch.frame(slot).get(tagging.at..).unwrap_or_default();
        if !side.ipv4.iter().any(|own| arp::is_request_for(asked, *own)) {
            return batch.set_verdict(slot, reasons::drop(reasons::ARP_IGNORED));
        }
        let mac = side.mac;
        take_tags_off(batch, slot, tagging.at);
        let verdict = match batch.set_frame_len(slot, arp::REPLY_LEN) {
            true => {
                arp::answer(batch.frame_mut(slot), mac);
                match self.framing.tag((batch, slot), tagging.line) {
                    true => {
                        self.tallies[Tally::ArpAnswered as usize] += 1;
                        Verdict::Forward(ACCESS)
                    }
                    false => reasons::drop(reasons::TOO_LONG),
                }
            }
            false => reasons::drop(reasons::ARP_IGNORED),
        };
        batch.set_verdict(slot, verdict);
    }

    /// A neighbor solicitation on a line: one for an address of the gateway's is answered.
    fn answer_subscriber(&mut self, batch: &mut Batch, slot: Slot, packet: Packet) {
        let (line, id) = (packet.line, packet.pppoe);
        let session = match self.session_of(batch.frame(slot), (line, id)) {
            Ok(session) => session,
            Err(reason) => return batch.set_verdict(slot, reasons::drop(reason)),
        };
        self.way.packets[usize::from(slot)] = packet;
        self.make_normal(batch, slot);
        let Some(answer) = advertised(batch.frame(slot), &self.state.gateway.access) else {
            return batch.set_verdict(slot, reasons::drop(reasons::ND_IGNORED));
        };
        let is_put = batch.set_frame_len(slot, answer.len()) && {
            batch.frame_mut(slot).copy_from_slice(&answer);
            let place = (ethernet::HEADER_LEN, answer.len() - ethernet::HEADER_LEN);
            match self.state.sessions.get(session).filter(|_| id != 0) {
                Some(record) => self.framing.put((batch, slot), place, record, true),
                None => self.framing.tag((batch, slot), line),
            }
        };
        self.tallies[Tally::NdAnswered as usize] += u64::from(is_put);
        batch.set_verdict(
            slot,
            match is_put {
                true => Verdict::Forward(ACCESS),
                false => reasons::drop(reasons::TOO_LONG),
            },
        );
    }

    /// ARP from the Internet's side: what next hops say is taken note of, and a question for an
    /// address of the gateway's is answered.
    #[cold]
    fn hear_arp(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (vrf, tagging): (u8, Tagging),
        now: Ticks,
    ) {
        take_tags_off(batch, slot, tagging.at);
        let side = &self.state.gateway.core;
        let (mac, frame) = (side.mac, batch.frame(slot));
        let asked = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
        let is_asked = side.ipv4.iter().any(|own| arp::is_request_for(asked, *own));
        let said = Heard::in_arp(frame, mac);
        let was_heard = said.is_some_and(|said| self.hear(vrf, said, now));
        if !is_asked || !batch.set_frame_len(slot, arp::REPLY_LEN) {
            let is_answer = said.is_some_and(|said| said.is_answer);
            let reason = match was_heard && is_answer {
                true => reasons::NEIGHBOUR_HEARD,
                false => reasons::ARP_IGNORED,
            };
            return batch.set_verdict(slot, reasons::drop(reason));
        }
        arp::answer(batch.frame_mut(slot), mac);
        self.tallies[Tally::ArpAnswered as usize] += 1;
        self.leave_to_core(batch, slot, vrf);
    }

    /// The same of Neighbor Discovery.
    #[cold]
    fn hear_nd(&mut self, batch: &mut Batch, slot: Slot, packet: Packet, now: Ticks) {
        self.way.packets[usize::from(slot)] = packet;
        self.make_normal(batch, slot);
        let side = &self.state.gateway.core;
        let read = |own: &std::net::Ipv6Addr| {
            nd::read(batch.frame(slot), (side.mac, Some(*own))).and_then(Result::ok)
        };
        let Some(message) = side.ipv6.iter().find_map(read) else {
            return batch.set_verdict(slot, reasons::drop(reasons::ND_IGNORED));
        };
        let answer = advertised(batch.frame(slot), side);
        let said = Heard::in_message(message);
        let was_heard = said.is_some_and(|said| self.hear(packet.vrf, said, now));
        match answer.filter(|answer| batch.set_frame_len(slot, answer.len())) {
            Some(answer) => {
                batch.frame_mut(slot).copy_from_slice(&answer);
                self.tallies[Tally::NdAnswered as usize] += 1;
                self.leave_to_core(batch, slot, packet.vrf);
            }
            None => {
                let reason = if was_heard { reasons::NEIGHBOUR_HEARD } else { reasons::ND_IGNORED };
                batch.set_verdict(slot, reasons::drop(reason));
            }
        }
    }

    /// What a next hop says of itself is taken note of; whether it was asked for.
    fn hear(&mut self, vrf: u8, said: Heard, now: Ticks) -> bool {
        let Pipeline { state, neighbours, made, .. } = self;
        let Some(made) = made else { return false };
        state.hops.asked_for > 0 && neighbours.hear((&mut state.hops, made), vrf, said, now)
    }

    /// A frame without tag leaves by `core` in the VLAN of a VRF.
    fn leave_to_core(&mut self, batch: &mut Batch, slot: Slot, vrf: u8) {
        let tag = self.state.hops.vlan(vrf);
        let is_put = tag == 0 || vlan::put_on(batch, slot, tag);
        batch.set_verdict(
            slot,
            match is_put {
                true => Verdict::Forward(CORE),
                false => reasons::drop(reasons::TOO_LONG),
            },
        );
    }
}

/// Whether a frame is for a station alone; none of one for another station.
#[inline(always)]
fn is_for(frame: &[u8], side: &Side) -> Option<bool> {
    let head = frame.first_chunk::<{ ethernet::HEADER_LEN }>()?;
    let is_mine = side.is_to(head);
    (is_mine || head[0] & 1 != 0).then_some(is_mine)
}

/// The answer to a neighbor solicitation in a frame without tags for an address of a side.
fn advertised(frame: &[u8], side: &Side) -> Option<[u8; nd::FRAME_LEN]> {
    let station = MacAddr(array_at(frame.get(..ethernet::HEADER_LEN)?, ethernet::offset::SOURCE));
    side.ipv6.iter().find_map(|own| match nd::read(frame, (side.mac, Some(*own)))? {
        Ok(Message::Solicitation { source, .. }) => {
            Some(nd::advertise((source, station), side.mac, *own))
        }
        _ => None,
    })
}

/// Takes the tags off a frame whose payload begins at an offset.
fn take_tags_off(batch: &mut Batch, slot: Slot, at: usize) {
    let frame = batch.frame(slot);
    let Some(macs) = frame.first_chunk::<12>() else { return };
    let mut header = [0; ethernet::HEADER_LEN];
    header[..12].copy_from_slice(macs);
    let ether_type = frame.get(at - 2..at).map_or(0, |bytes| u16_at(bytes, 0));
    header[12..].copy_from_slice(&ether_type.to_be_bytes());
    super::line::replace_front((batch, slot), at, &header);
}

/// Proof that a message of Neighbor Discovery comes from the link itself.
const HOP_LIMIT: u8 = 255;
