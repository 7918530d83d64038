//! The slow, obviously right gateway: what must become of each frame, by the standards.
//!
//! It reads a frame byte by byte in the order of its headers, the first thing wrong names the drop
//! reason, and everything it sends it builds anew, checksums recomputed. It shares with the
//! pipeline the configuration and the constants of crate `wire`; no parser,
//! table, meter or template. Configured users are computed when somebody asks for them, so that it
//! costs the same with ten million of them; what changed is remembered. Deliberately absent: speed.
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::section::{PASSING_USERS_MIN, Section};
use crate::workers::Workers;
use function_kit::Shard;
use function_mobile_gateway::Update;
use function_mobile_gateway::config::Tunnel;
use function_mobile_gateway::gateway::{ACCESS, CORE};
use model_kit::check::{Expected, Oracle};
use model_kit::host::{Cause, EXPIRED, NO_ROUTE, word};
use model_kit::lengths;
use packet::PortId;
use wire::{MacAddr, arp, ethernet, gtpu, ipv4, ipv6, protocol, udp, vxlan};

mod buckets;
mod crossing;
mod discovery;
mod errors;
mod fragments;
mod host;
mod neighbours;
mod packets;
mod policer;
mod routes;
mod users;

use buckets::Buckets;
use errors::NOBODY;
use fragments::Fragments;
use neighbours::Neighbours;
use packets::{At, UserPacket, dgram};
use policer::Policer;
use routes::{Hop, Leads, Routes, Station};

/// The model of a gateway, or of the part of it that one worker has.
pub struct Model {
    section: Section,
    shard: Shard,
    workers: Workers,
    /// Bearers that are not as configured any more, by tunnel endpoint identifier: those whose
    /// meters ran, and None for the departed.
    changed: BTreeMap<u32, Option<Bearer>>,
    /// Base stations that disappeared at some time.
    removed: BTreeSet<Ipv4Addr>,
    users: usize,
    users_max: usize,
    routes: Routes,
    neighbours: Neighbours,
    fragments: Fragments,
    buckets: Buckets,
    /// Of the next tunnel packet that is cut.
    identification: u16,
}

/// A frame that came in.
#[derive(Clone, Copy)]
struct Came<'a> {
    port: PortId,
    frame: &'a [u8],
    /// Whether its packet was reassembled.
    is_together: bool,
    /// How many other workers do not know its bearer.
    asked: u8,
}

/// A user's bearer.
#[derive(Clone, Copy)]
struct Bearer {
    ipv4: Ipv4Addr,
    /// 0 for none.
    ipv6_prefix: u64,
    base_station: Ipv4Addr,
    uplink: Policer,
    downlink: Policer,
}

/// A verdict, or the name of the reason for dropping.
type Judgement = Result<Expected, &'static str>;

impl Oracle for Model {
    type Update = Update;

    fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected {
        self.judge(port, frame, now).unwrap_or_else(Expected::Drop)
    }

    fn made(&mut self, now: Duration) -> Vec<Expected> {
        self.neighbours.made(now)
    }

    fn apply(&mut self, update: &Update, now: Duration) -> bool {
        match *update {
            Update::AddUser(user) => self.add_user(&user, now),
            Update::RemoveUser { ipv4 } => self.remove_user(ipv4),
            Update::Handover { ipv4, base_station } => self.hand_over(ipv4, base_station),
            Update::AddBaseStation(station) => {
                let room = self.lingering(station.address);
                self.routes.add_station(station, room)
            }
            Update::RemoveBaseStation { address } => {
                let was_there = self.routes.remove_station(address);
                if was_there {
                    self.removed.insert(address);
                    self.neighbours.forget((ACCESS, address.into()));
                }
                was_there
            }
            Update::AddNextHop(hop) => self.routes.add_hop(hop),
            Update::RemoveNextHop { address } => {
                let was_there = self.routes.remove_hop(address);
                if was_there {
                    self.neighbours.forget((CORE, address));
                }
                was_there
            }
            Update::AddRoute(route) => self.routes.add(route.prefix, route.next_hop),
            Update::RemoveRoute { prefix } => self.routes.remove(prefix),
        }
    }
}

impl Model {
    /// The gateway as configured, with the users of one worker.
    pub fn new(section: &Section, shard: Shard) -> Model {
        let mut model = Model {
            section: section.clone(),
            shard,
            workers: Workers::new(&section.config(), shard),
            changed: BTreeMap::new(),
            removed: BTreeSet::new(),
            users: 0,
            users_max: 0,
            routes: Routes::new(section),
            neighbours: Neighbours::new(section, shard),
            fragments: Fragments::new(section.fragments),
            buckets: Buckets::new(section),
            identification: shard.index as u16,
        };
        model.users = (0..section.user).filter(|&number| model.is_mine(number)).count();
        let passing = section.fluct_user.ceil() as usize + PASSING_USERS_MIN as usize;
        let all = section.user as usize + passing;
        // Chance gives one of several workers more than its share.
        let share = all.div_ceil(shard.count as usize);
        let with_chance = (share + 8 * share.isqrt() + 64).min(all);
        model.users_max = if shard.count == 1 { all } else { with_chance };
        model
    }

    /// Ethernet: a frame for this station of a type it knows.
    fn judge(&mut self, port: PortId, frame: &[u8], now: Duration) -> Judgement {
        if port != ACCESS && port != CORE {
            return self.judge_told(frame, now);
        }
        if frame.len() < ethernet::HEADER_LEN {
            return Err("truncated");
        }
        if self.routes.asks(port)
            && let Some(judged) = self.judge_neighbour(port, frame, now)
        {
            return judged;
        }
        if let Some(judged) = self.judge_solicitation(port, frame) {
            return judged;
        }
        let (destination, ether_type) = (&frame[..6], word(frame, 12));
        let is_arp = ether_type == ethernet::TYPE_ARP;
        let for_all = is_arp && destination == MacAddr::BROADCAST.0;
        if destination != self.section.gw_mac.0 && !for_all {
            return Err("other-station");
        }
        match ether_type {
            ethernet::TYPE_ARP => self.judge_arp(port, frame),
            ethernet::TYPE_IPV4 => {
                self.judge_ipv4(Came { port, frame, is_together: false, asked: 0 }, now)
            }
            ethernet::TYPE_IPV6 => {
                let packet = UserPacket::ipv6(&frame[ethernet::HEADER_LEN..], At::Outside)?;
                if let UserPacket::V6 { bytes, destination, .. } = &packet
                    && Some(*destination) == self.section.gw_ipv6
                {
                    return self.judge_icmpv6(port, frame, bytes, now);
                }
                self.downlink(Came { port, frame, is_together: false, asked: 0 }, packet, now)
            }
            _ => Err("unknown-ethertype"),
        }
    }

    /// RFC 826: a request for the gateway's address is answered to the one who asks, at the
    /// hardware address in the packet.
    fn judge_arp(&self, port: PortId, frame: &[u8]) -> Judgement {
        let request =
            arp::View::parse(&frame[ethernet::HEADER_LEN..]).map_err(|_| "arp-ignored")?;
        let is_question = request.operation() == arp::OPERATION_REQUEST;
        if !is_question || request.target_ip() != self.section.gw_ip {
            return Err("arp-ignored");
        }
        let mut reply = [0; arp::HEADER_LEN];
        arp::Fields {
            operation: arp::OPERATION_REPLY,
            sender_mac: self.section.gw_mac,
            sender_ip: self.section.gw_ip,
            target_mac: request.sender_mac(),
            target_ip: request.sender_ip(),
        }
        .emit(&mut reply);
        let to = request.sender_mac();
        let frame = packets::frame(to, self.section.gw_mac, ethernet::TYPE_ARP, &reply);
        Ok(Expected::Forward { port, frame })
    }

    /// IPv4: for the gateway itself, which ends tunnels, or for a user.
    fn judge_ipv4(&mut self, came: Came, now: Duration) -> Judgement {
        let packet = packets::check_ipv4(&came.frame[ethernet::HEADER_LEN..], At::Outside)?;
        if packet[16..20] == self.section.gw_ip.octets() {
            return self.judge_own(came, packet, now);
        }
        self.downlink(came, UserPacket::ipv4(packet), now)
    }

    /// For the gateway itself: whole, or a fragment, with the last of which the others are judged.
    fn judge_own(&mut self, came: Came, packet: &[u8], now: Duration) -> Judgement {
        let fragment = word(packet, 6);
        if fragment & (ipv4::FLAG_MORE_FRAGMENTS | ipv4::FRAGMENT_OFFSET_MASK) == 0 {
            return self.judge_tunnel(came, packet, now);
        }
        let whole = self.fragments.take(packet, now)?;
        let frame = [&came.frame[..ethernet::HEADER_LEN], &whole].concat();
        let came = Came { frame: &frame, is_together: true, ..came };
        self.judge_tunnel(came, &whole, now)
    }

    /// RFC 768: a datagram for the tunnel's port.
    fn judge_tunnel(&mut self, came: Came, packet: &[u8], now: Duration) -> Judgement {
        if packet[9] == protocol::ICMP {
            return self.judge_icmp(came, packet, now);
        }
        if packet[9] != protocol::UDP {
            return Err("not-tunnel");
        }
        let datagram = dgram(&packet[ipv4::HEADER_LEN..]).ok_or("udp-malformed")?;
        let tunnel_port = match self.section.tunnel() {
            Tunnel::GtpU => gtpu::GTPU_PORT,
            Tunnel::Vxlan => vxlan::VXLAN_PORT,
        };
        if word(datagram, 2) != tunnel_port {
            return Err("not-tunnel");
        }
        if word(datagram, 6) != udp::CHECKSUM_NONE && !packets::is_sound_udp(packet, datagram) {
            return Err("udp-checksum");
        }
        let message = &datagram[udp::HEADER_LEN..];
        match self.section.tunnel() {
            Tunnel::GtpU => self.judge_gtpu(came, packet, message, now),
            Tunnel::Vxlan => self.judge_vxlan(came, message, now),
        }
    }

    /// TS 29.281.
    fn judge_gtpu(&mut self, came: Came, outer: &[u8], message: &[u8], now: Duration) -> Judgement {
        let header_len = match packets::gtpu_header_len(message) {
            Err("gtp-extension") => return self.report_extension(came, message[1], now),
            other => other?,
        };
        let teid = u32::from_be_bytes([message[4], message[5], message[6], message[7]]);
        let content = &message[header_len..];
        match message[1] {
            gtpu::MESSAGE_G_PDU => {
                let packet = match content.first().map(|byte| byte >> 4) {
                    Some(ipv4::VERSION) => {
                        packets::check_ipv4(content, At::Inside).map(UserPacket::ipv4)
                    }
                    Some(ipv6::VERSION) => UserPacket::ipv6(content, At::Inside),
                    _ => Err("inner-malformed"),
                }?;
                self.uplink(came, teid, packet, now)
            }
            gtpu::MESSAGE_ECHO_REQUEST
                if message[0] & gtpu::FLAG_SEQUENCE != 0 && self.is_wrong(came.port, CORE) =>
            {
                Err("wrong-port")
            }
            gtpu::MESSAGE_ECHO_REQUEST if message[0] & gtpu::FLAG_SEQUENCE != 0 => {
                Ok(self.answer_echo(came, outer, word(message, 8)))
            }
            gtpu::MESSAGE_ECHO_REQUEST => Err("tunnel-malformed"),
            gtpu::MESSAGE_ERROR_INDICATION => Err("gtp-error-indication"),
            gtpu::MESSAGE_END_MARKER => Err("gtp-end-marker"),
            _ => Err("gtp-message"),
        }
    }

    /// RFC 7348 section 5; the inner addresses do not matter, the far end is no bridge.
    fn judge_vxlan(&mut self, came: Came, message: &[u8], now: Duration) -> Judgement {
        if message.len() < vxlan::HEADER_LEN || message[0] & vxlan::FLAG_VNI == 0 {
            return Err("tunnel-malformed");
        }
        let vni = u32::from_be_bytes([0, message[4], message[5], message[6]]);
        let bridged = &message[vxlan::HEADER_LEN..];
        if bridged.len() < ethernet::HEADER_LEN {
            return Err("inner-malformed");
        }
        let content = &bridged[ethernet::HEADER_LEN..];
        let packet = match word(bridged, 12) {
            ethernet::TYPE_IPV4 => packets::check_ipv4(content, At::Inside).map(UserPacket::ipv4),
            ethernet::TYPE_IPV6 => UserPacket::ipv6(content, At::Inside),
            _ => Err("inner-malformed"),
        }?;
        self.uplink(came, vni, packet, now)
    }

    /// A user's packet came out of a tunnel: whose is it, may it pass, and where does it go?
    fn uplink(&mut self, came: Came, teid: u32, packet: UserPacket, now: Duration) -> Judgement {
        if self.is_wrong(came.port, CORE) {
            return Err("wrong-port");
        }
        if came.is_together
            && let UserPacket::V4 { source, .. } = packet
            && !self.workers.has(source)
        {
            return Ok(self.to_worker(1, self.workers.of(source), came));
        }
        let is_its = |bearer: &Bearer| match packet {
            UserPacket::V4 { source, .. } => source == bearer.ipv4,
            UserPacket::V6 { source, .. } => {
                bearer.ipv6_prefix != 0 && prefix_of(source) == bearer.ipv6_prefix
            }
        };
        if packet.is_spent() {
            let cause = Cause { reason: "inner-ttl-expired", ..EXPIRED };
            return match self.bearer(teid).filter(is_its) {
                Some(_) => self.refuse_user(&packet, cause, now),
                None => Err(cause.reason),
            };
        }
        let frame = came.frame;
        let Some(mut bearer) = self.bearer(teid) else {
            return match self.section.fakedrop {
                true => self.unmatched("unknown-teid", CORE, frame.to_vec()),
                false => self.report_unknown(came, teid, now),
            };
        };
        if !is_its(&bearer) {
            return Err("spoofed-source");
        }
        let conforms = bearer.uplink.conforms(packet.len(), now);
        self.changed.insert(teid, Some(bearer));
        if !conforms {
            return Err("rate-exceeded");
        }
        let ether_type = packet.ether_type();
        let leads = match packet {
            UserPacket::V4 { destination, .. } => self.routes.to_ipv4(destination),
            UserPacket::V6 { destination, .. } => self.routes.to_ipv6(destination),
        };
        let hop = leads.and_then(Leads::hop);
        let mtu = hop.map_or(usize::MAX, |hop| self.mtu(hop.port));
        let (is_long, may_be_cut) = (packet.len() > mtu, packet.may_be_cut());
        if is_long && !may_be_cut {
            return self.refuse_user(&packet, model_kit::host::too_big(mtu), now);
        }
        let content = lengths::clamped(packet.after_a_hop(), self.section.mss_clamp);
        match hop {
            Some(hop) if is_long => {
                let pieces = lengths::pieces(&content, mtu);
                self.leave_in_pieces(&pieces, |model, piece| {
                    model.send(hop, ether_type, piece, now)
                })
            }
            Some(hop) => self.send(hop, ether_type, &content, now),
            None if leads.is_some() => self.cross(UserPacket::of(&content), now),
            None if self.section.fakedrop => {
                let (to, from) = packets::stations(frame);
                let frame = packets::frame(to, from, ether_type, &content);
                self.unmatched("no-route", CORE, frame)
            }
            None => {
                let made_a_hop = UserPacket::of(&content);
                self.refuse_user(&made_a_hop, NO_ROUTE, now)
            }
        }
    }

    /// A frame goes to the worker that has its user, and says what it is in place of the
    /// destination.
    fn to_worker(&self, kind: u8, worker: u32, came: Came) -> Expected {
        let head = [3, kind, came.port.0, came.asked, 0, 0];
        let frame = [&head[..], &came.frame[6..]].concat();
        Expected::Forward { port: PortId(CORE.0 + 1 + worker as u8), frame }
    }

    /// A packet for somebody: is it a user, may it pass, and where is the user?
    fn downlink(&mut self, came: Came, packet: UserPacket, now: Duration) -> Judgement {
        if self.is_wrong(came.port, ACCESS) {
            return Err("wrong-port");
        }
        if packet.is_spent() {
            return self.refuse(came, &packet, EXPIRED, now);
        }
        let teid = match packet {
            UserPacket::V4 { destination, .. } => self.teid_by_ipv4(destination),
            UserPacket::V6 { destination, .. } => self.teid_by_ipv6(prefix_of(destination)),
        };
        let Some((teid, mut bearer)) = teid.and_then(|teid| Some((teid, self.bearer(teid)?)))
        else {
            return match self.section.fakedrop {
                true => self.unmatched("unknown-user", ACCESS, came.frame.to_vec()),
                false => self.refuse(came, &packet, NOBODY, now),
            };
        };
        let conforms = bearer.downlink.conforms(packet.len(), now);
        self.changed.insert(teid, Some(bearer));
        if !conforms {
            return Err("rate-exceeded");
        }
        if packet.len() + self.growth() > self.mtu(ACCESS) {
            return self.fit_downlink(Some(came), (teid, bearer), packet, now);
        }
        let ether_type = packet.ether_type();
        let content = lengths::clamped(packet.after_a_hop(), self.section.mss_clamp);
        let outer = self.tunnelled((teid, bearer), ether_type, &content);
        self.leave_for(bearer.base_station, &outer, now)
    }

    /// Whether a frame came in by a port by which none such does, and that is checked.
    fn is_wrong(&self, came_by: PortId, never: PortId) -> bool {
        self.section.check_ports && came_by == never
    }

    /// A packet leaves to a next hop, or waits until that has answered.
    fn send(&mut self, hop: Hop, ether_type: u16, content: &[u8], now: Duration) -> Judgement {
        match hop.to {
            Station::Known(destination) => {
                let frame = packets::frame(destination, hop.source, ether_type, content);
                Ok(Expected::Forward { port: hop.port, frame })
            }
            Station::Asked(address) => {
                self.neighbours.send((hop, address), ether_type, content, now)
            }
        }
    }

    /// TS 29.281 section 7.2.2, ports by section 4.4.2.2: back to the port it came from.
    fn answer_echo(&self, came: Came, outer: &[u8], sequence: u16) -> Expected {
        let mut response = [0; gtpu::ECHO_RESPONSE_LEN];
        gtpu::emit_echo_response(sequence, &mut response);
        let from = Ipv4Addr::new(outer[12], outer[13], outer[14], outer[15]);
        let asked_from = word(outer, ipv4::HEADER_LEN);
        let ends = (self.section.gw_ip, from);
        let answer = packets::datagram(ends, (gtpu::GTPU_PORT, asked_from), &response);
        self.answer(came, ethernet::TYPE_IPV4, &answer)
    }

    /// What the gateway says to the station that sent a frame.
    fn answer(&self, asked: Came, ether_type: u16, content: &[u8]) -> Expected {
        let (_, from) = packets::stations(asked.frame);
        let frame = packets::frame(from, self.section.gw_mac, ether_type, content);
        Expected::Forward { port: asked.port, frame }
    }

    /// TIPSY's fakedrop: a frame that matches nothing leaves by the other port as it is by then.
    fn unmatched(&self, reason: &'static str, port: PortId, frame: Vec<u8>) -> Judgement {
        if self.section.fakedrop { Ok(Expected::Forward { port, frame }) } else { Err(reason) }
    }
}

fn prefix_of(address: Ipv6Addr) -> u64 {
    (address.to_bits() >> 64) as u64
}
