//! The slow, obviously right gateway: what must become of each frame, by the standards.
//!
//! It reads a frame byte by byte in the order of its headers, the first thing wrong names the drop
//! reason, and everything it sends it builds anew, checksums recomputed. It shares with the pipeline
//! the configuration, the catalogue and the constants of crate `wire`; no parser, table, meter or
//! template. Configured users are computed when somebody asks for them, so that it costs the same
//! with ten million of them; what changed is remembered. Deliberately absent: speed.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use packet::PortId;
use traffic::workload::worker_of;
use wire::{MacAddr, arp, ethernet, gtpu, ipv4, ipv6, protocol, udp, vxlan};

use super::catalogue::{self, User};
use super::config::{Config, Tunnel};
use super::control::Update;
use super::workload::steering;
use crate::check::{Expected, Oracle};
use crate::unit::Shard;

mod packets;
mod policer;
mod routes;

use packets::{At, UserPacket, dgram, word};
use policer::Policer;
use routes::{Hop, Routes};

/// The model of a gateway, or of the part of it that one worker has.
pub struct Model {
    config: Config,
    shard: Shard,
    /// Bearers that are not as configured any more, by tunnel endpoint identifier: those whose
    /// meters ran, and None for the departed.
    changed: BTreeMap<u32, Option<Bearer>>,
    users: usize,
    users_max: usize,
    routes: Routes,
}

/// A user's bearer.
#[derive(Clone, Copy)]
struct Bearer {
    user: User,
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

    fn apply(&mut self, update: &Update, now: Duration) -> bool {
        match *update {
            Update::AddUser(user) => self.add_user(user, now),
            Update::RemoveUser { teid } => self.remove_user(teid),
            Update::Handover { teid, base_station } => self.hand_over(teid, base_station),
            Update::AddServer { prefix, len, next_hop } => {
                next_hop < self.config.nhop && self.routes.add(prefix, len, next_hop)
            }
            Update::RemoveServer { prefix, len } => self.routes.remove(prefix, len),
        }
    }
}

impl Model {
    /// The gateway as configured, with the users of one worker.
    pub fn new(config: &Config, shard: Shard) -> Model {
        let mut model = Model {
            config: config.clone(),
            shard,
            changed: BTreeMap::new(),
            users: 0,
            users_max: 0,
            routes: Routes::new(config),
        };
        model.users = (0..config.user).filter(|&number| model.is_mine(number)).count();
        model.users_max = model.users + config.fluct_user.ceil() as usize + PASSING_USERS_MIN;
        model
    }

    /// Ethernet: a frame for this station of a type it knows.
    fn judge(&mut self, port: PortId, frame: &[u8], now: Duration) -> Judgement {
        if frame.len() < ethernet::HEADER_LEN {
            return Err("truncated");
        }
        let (destination, ether_type) = (&frame[..6], word(frame, 12));
        let is_arp = ether_type == ethernet::TYPE_ARP;
        let for_all = is_arp && destination == MacAddr::BROADCAST.0;
        if destination != self.config.gw_mac.0 && !for_all {
            return Err("other-station");
        }
        match ether_type {
            ethernet::TYPE_ARP => self.judge_arp(port, frame),
            ethernet::TYPE_IPV4 => self.judge_ipv4(port, frame, now),
            ethernet::TYPE_IPV6 => {
                let packet = UserPacket::ipv6(&frame[ethernet::HEADER_LEN..], At::Outside)?;
                self.downlink(frame, packet, now)
            }
            _ => Err("unknown-ethertype"),
        }
    }

    /// RFC 826: a request for the gateway's address is answered to the one who asks.
    fn judge_arp(&self, port: PortId, frame: &[u8]) -> Judgement {
        let request =
            arp::View::parse(&frame[ethernet::HEADER_LEN..]).map_err(|_| "arp-ignored")?;
        let is_question = request.operation() == arp::OPERATION_REQUEST;
        if !is_question || request.target_ip() != self.config.gw_ip {
            return Err("arp-ignored");
        }
        let mut reply = [0; arp::HEADER_LEN];
        arp::Fields {
            operation: arp::OPERATION_REPLY,
            sender_mac: self.config.gw_mac,
            sender_ip: self.config.gw_ip,
            target_mac: request.sender_mac(),
            target_ip: request.sender_ip(),
        }
        .emit(&mut reply);
        Ok(self.answer(port, frame, ethernet::TYPE_ARP, &reply))
    }

    /// IPv4: for the gateway itself, which ends tunnels, or for a user.
    fn judge_ipv4(&mut self, port: PortId, frame: &[u8], now: Duration) -> Judgement {
        let packet = packets::check_ipv4(&frame[ethernet::HEADER_LEN..], At::Outside)?;
        if packet[16..20] == self.config.gw_ip.octets() {
            return self.judge_tunnel(port, frame, packet, now);
        }
        let packet = UserPacket::ipv4(packet, At::Outside)?;
        self.downlink(frame, packet, now)
    }

    /// RFC 791 and 768: a whole packet with a datagram for the tunnel's port.
    fn judge_tunnel(
        &mut self,
        port: PortId,
        frame: &[u8],
        packet: &[u8],
        now: Duration,
    ) -> Judgement {
        let fragment = word(packet, 6);
        if fragment & (ipv4::FLAG_MORE_FRAGMENTS | ipv4::FRAGMENT_OFFSET_MASK) != 0 {
            return Err("ip-fragment");
        }
        if packet[9] != protocol::UDP {
            return Err("not-tunnel");
        }
        let datagram = dgram(&packet[ipv4::HEADER_LEN..]).ok_or("udp-malformed")?;
        let tunnel_port = match self.config.tunnel() {
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
        match self.config.tunnel() {
            Tunnel::GtpU => self.judge_gtpu(port, frame, packet, message, now),
            Tunnel::Vxlan => self.judge_vxlan(frame, message, now),
        }
    }

    /// TS 29.281.
    fn judge_gtpu(
        &mut self,
        port: PortId,
        frame: &[u8],
        outer: &[u8],
        message: &[u8],
        now: Duration,
    ) -> Judgement {
        let header_len = packets::gtpu_header_len(message)?;
        let teid = u32::from_be_bytes([message[4], message[5], message[6], message[7]]);
        let content = &message[header_len..];
        match message[1] {
            gtpu::MESSAGE_G_PDU => {
                let packet = match content.first().map(|byte| byte >> 4) {
                    Some(ipv4::VERSION) => packets::check_ipv4(content, At::Inside)
                        .and_then(|packet| UserPacket::ipv4(packet, At::Inside)),
                    Some(ipv6::VERSION) => UserPacket::ipv6(content, At::Inside),
                    _ => Err("inner-malformed"),
                }?;
                self.uplink(frame, teid, packet, now)
            }
            gtpu::MESSAGE_ECHO_REQUEST if message[0] & gtpu::FLAG_SEQUENCE != 0 => {
                Ok(self.answer_echo(port, frame, outer, word(message, 8)))
            }
            gtpu::MESSAGE_ECHO_REQUEST => Err("tunnel-malformed"),
            gtpu::MESSAGE_ERROR_INDICATION => Err("gtp-error-indication"),
            _ => Err("gtp-message"),
        }
    }

    /// RFC 7348 section 5; the inner addresses do not matter, the far end is no bridge.
    fn judge_vxlan(&mut self, frame: &[u8], message: &[u8], now: Duration) -> Judgement {
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
            ethernet::TYPE_IPV4 => packets::check_ipv4(content, At::Inside)
                .and_then(|packet| UserPacket::ipv4(packet, At::Inside)),
            ethernet::TYPE_IPV6 => UserPacket::ipv6(content, At::Inside),
            _ => Err("inner-malformed"),
        }?;
        self.uplink(frame, vni, packet, now)
    }

    /// A user's packet came out of a tunnel: whose is it, may it pass, and where does it go?
    fn uplink(&mut self, frame: &[u8], teid: u32, packet: UserPacket, now: Duration) -> Judgement {
        let Some(mut bearer) = self.bearer(teid) else {
            return self.unmatched("unknown-teid", CORE, frame.to_vec());
        };
        let is_own = match packet {
            UserPacket::V4 { source, .. } => source == bearer.user.ipv4,
            UserPacket::V6 { source, .. } => {
                self.config.ipv6 && prefix_of(source) == bearer.user.ipv6_prefix
            }
        };
        if !is_own {
            return Err("spoofed-source");
        }
        let conforms = bearer.uplink.conforms(packet.len(), now);
        self.changed.insert(teid, Some(bearer));
        if !conforms {
            return Err("rate-exceeded");
        }
        let ether_type = packet.ether_type();
        let hop = match packet {
            UserPacket::V4 { destination, .. } => self.routes.to_ipv4(destination),
            UserPacket::V6 { destination, .. } => self.routes.to_ipv6(destination),
        };
        let content = packet.after_a_hop();
        match hop {
            Some(Hop { port, destination, source }) => Ok(Expected::Forward {
                port,
                frame: packets::frame(destination, source, ether_type, &content),
            }),
            None => {
                let (to, from) = packets::stations(frame);
                let frame = packets::frame(to, from, ether_type, &content);
                self.unmatched("no-route", CORE, frame)
            }
        }
    }

    /// A packet for somebody: is it a user, may it pass, and where is the user?
    fn downlink(&mut self, frame: &[u8], packet: UserPacket, now: Duration) -> Judgement {
        let teid = match packet {
            UserPacket::V4 { destination, .. } => self.teid_by_ipv4(destination),
            UserPacket::V6 { destination, .. } => self.teid_by_ipv6(prefix_of(destination)),
        };
        let Some((teid, mut bearer)) = teid.and_then(|teid| Some((teid, self.bearer(teid)?)))
        else {
            return self.unmatched("unknown-user", ACCESS, frame.to_vec());
        };
        let conforms = bearer.downlink.conforms(packet.len(), now);
        self.changed.insert(teid, Some(bearer));
        if !conforms {
            return Err("rate-exceeded");
        }
        let far_end = catalogue::base_station_ipv4(bearer.user.base_station);
        let ether_type = packet.ether_type();
        let content = packet.after_a_hop();
        let (tunnel_port, message) = match self.config.tunnel() {
            Tunnel::GtpU => (gtpu::GTPU_PORT, packets::g_pdu(teid, &content)),
            Tunnel::Vxlan => {
                let station = self.config.gw_mac;
                let bridged = packets::frame(MacAddr::BROADCAST, station, ether_type, &content);
                (vxlan::VXLAN_PORT, packets::vxlan(teid, &bridged))
            }
        };
        let ends = (self.config.gw_ip, far_end);
        let outer = packets::datagram(ends, (tunnel_port, tunnel_port), &message);
        let Some(Hop { port, destination, source }) = self.routes.to_ipv4(far_end) else {
            return Err("no-route");
        };
        let frame = packets::frame(destination, source, ethernet::TYPE_IPV4, &outer);
        Ok(Expected::Forward { port, frame })
    }

    /// TS 29.281 section 7.2.2, ports by section 4.4.2.2: back to the port it came from.
    fn answer_echo(&self, port: PortId, frame: &[u8], outer: &[u8], sequence: u16) -> Expected {
        let mut response = [0; gtpu::ECHO_RESPONSE_LEN];
        gtpu::emit_echo_response(sequence, &mut response);
        let from = Ipv4Addr::new(outer[12], outer[13], outer[14], outer[15]);
        let asked_from = word(outer, ipv4::HEADER_LEN);
        let ends = (self.config.gw_ip, from);
        let answer = packets::datagram(ends, (gtpu::GTPU_PORT, asked_from), &response);
        self.answer(port, frame, ethernet::TYPE_IPV4, &answer)
    }

    /// What the gateway says to the station that sent a frame.
    fn answer(&self, port: PortId, asked: &[u8], ether_type: u16, content: &[u8]) -> Expected {
        let (_, from) = packets::stations(asked);
        let frame = packets::frame(from, self.config.gw_mac, ether_type, content);
        Expected::Forward { port, frame }
    }

    /// TIPSY's fakedrop: a frame that matches nothing leaves by the other port as it is by then.
    fn unmatched(&self, reason: &'static str, port: PortId, frame: Vec<u8>) -> Judgement {
        if self.config.fakedrop { Ok(Expected::Forward { port, frame }) } else { Err(reason) }
    }
}

impl Model {
    fn add_user(&mut self, user: User, now: Duration) -> bool {
        let has_prefix = user.ipv6_prefix != 0;
        let is_taken = self.bearer(user.teid).is_some()
            || self.teid_by_ipv4(user.ipv4).is_some()
            || self.teid_by_ipv6(user.ipv6_prefix).is_some();
        let is_possible = user.base_station < self.config.bst
            && user.teid != 0
            && (has_prefix || !self.config.ipv6)
            && (user.teid <= vxlan::VNI_MAX || self.config.tunnel() == Tunnel::GtpU)
            && !is_taken
            && self.users < self.users_max;
        if is_possible {
            self.changed.insert(user.teid, Some(self.fresh(user, now)));
            self.users += 1;
        }
        is_possible
    }

    fn remove_user(&mut self, teid: u32) -> bool {
        let is_there = self.bearer(teid).is_some();
        if is_there {
            self.changed.insert(teid, None);
            self.users -= 1;
        }
        is_there
    }

    fn hand_over(&mut self, teid: u32, base_station: u32) -> bool {
        let Some(mut bearer) = self.bearer(teid).filter(|_| base_station < self.config.bst) else {
            return false;
        };
        bearer.user.base_station = base_station;
        self.changed.insert(teid, Some(bearer));
        true
    }

    /// The bearer of an identifier, if there is one now.
    fn bearer(&self, teid: u32) -> Option<Bearer> {
        match self.changed.get(&teid) {
            Some(bearer) => *bearer,
            None => {
                let number = teid.checked_sub(1)?;
                let is_configured = number < self.config.user && self.is_mine(number);
                let user = || catalogue::user(number, self.config.bst);
                is_configured.then(|| self.fresh(user(), Duration::ZERO))
            }
        }
    }

    fn teid_by_ipv4(&self, address: Ipv4Addr) -> Option<u32> {
        let of_changed = self.find_changed(|user| user.ipv4 == address);
        of_changed.or_else(|| {
            // The catalogue counts 254 addresses in the last octet and 254 in the one before.
            let [_, high, middle, low] = address.octets().map(u32::from);
            let number = (high.checked_sub(3)? * 254 + middle) * 254 + low.checked_sub(1)?;
            self.if_as_configured(number, |user| user.ipv4 == address)
        })
    }

    fn teid_by_ipv6(&self, prefix: u64) -> Option<u32> {
        if !self.config.ipv6 {
            return None;
        }
        let of_changed = self.find_changed(|user| user.ipv6_prefix == prefix);
        of_changed
            .or_else(|| self.if_as_configured(prefix as u32, |user| user.ipv6_prefix == prefix))
    }

    fn find_changed(&self, is_meant: impl Fn(&User) -> bool) -> Option<u32> {
        let bearers = self.changed.values().flatten();
        bearers.map(|bearer| bearer.user).find(is_meant).map(|user| user.teid)
    }

    /// The identifier of a configured user whom nothing changed, if it is the one who is meant.
    fn if_as_configured(&self, number: u32, is_meant: impl Fn(&User) -> bool) -> Option<u32> {
        if number >= self.config.user || !self.is_mine(number) {
            return None;
        }
        let user = catalogue::user(number, self.config.bst);
        (is_meant(&user) && !self.changed.contains_key(&user.teid)).then_some(user.teid)
    }

    /// A bearer that was set up at `now`.
    fn fresh(&self, user: User, now: Duration) -> Bearer {
        let (rate, burst) = (self.config.rate_limit.0, self.config.burst_bytes());
        let policer = Policer::new(rate, burst, now);
        Bearer { user, uplink: policer, downlink: policer }
    }

    fn is_mine(&self, number: u32) -> bool {
        worker_of(steering(number), self.shard.count) == self.shard.index
    }
}

fn prefix_of(address: Ipv6Addr) -> u64 {
    (address.to_bits() >> 64) as u64
}

/// Towards base stations.
const ACCESS: PortId = PortId(0);
/// Towards the Internet.
const CORE: PortId = PortId(1);

/// Users beyond the configured and fluctuating ones for whom there is room.
const PASSING_USERS_MIN: usize = 64;
