//! What the model's gateway says itself: errors, answers to pings, reports by GTP-U.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_mobile_gateway::config::{Fragment, Tunnel};
use function_mobile_gateway::gateway::{ACCESS, CORE};
use model_kit::check::Expected;
use model_kit::host::{self as standards, Cause};
use model_kit::lengths;
use packet::PortId;
use wire::{MacAddr, ethernet};

use super::packets::{self, UserPacket};
use super::routes::Leads;
use super::{Bearer, Came, Judgement, Model, prefix_of};

impl Model {
    /// A packet from the Internet's side goes no further, and its sender is told.
    pub(super) fn refuse(
        &mut self,
        came: Came,
        packet: &UserPacket,
        cause: Cause,
        now: Duration,
    ) -> Judgement {
        let (_, from) = packets::stations(came.frame);
        if from.0[0] % 2 == 0
            && let Some(error) = self.error(packet, cause, now)
        {
            let answer = self.answer(came, packet.ether_type(), &error);
            self.neighbours.made.push(answer);
        }
        Err(cause.reason)
    }

    /// A packet of a user goes no further, and the user is told through the tunnel, or by the
    /// worker that has the user.
    pub(super) fn refuse_user(
        &mut self,
        packet: &UserPacket,
        cause: Cause,
        now: Duration,
    ) -> Judgement {
        let Some(error) = self.error(packet, cause, now) else { return Err(cause.reason) };
        let ether_type = packet.ether_type();
        let (teid, worker) = match packet {
            UserPacket::V4 { source, .. } => (self.teid_by_ipv4(*source), self.workers.of(*source)),
            UserPacket::V6 { source, .. } => {
                (self.teid_by_ipv6(prefix_of(*source)), self.shard.index)
            }
        };
        let leaving = match teid.and_then(|teid| Some((teid, self.bearer(teid)?))) {
            Some((teid, bearer)) => {
                let outer = self.tunnelled((teid, bearer), ether_type, &error);
                self.leave_for(bearer.base_station, &outer, now)
            }
            None if worker == self.shard.index => Err("unknown-user"),
            None => Ok(self.packet_to_worker(worker, ether_type, &error)),
        };
        self.neighbours.made.push(leaving.unwrap_or_else(Expected::Drop));
        Err(cause.reason)
    }

    /// The error about a packet, if there may be one now.
    fn error(&mut self, packet: &UserPacket, cause: Cause, now: Duration) -> Option<Vec<u8>> {
        let error = match packet {
            UserPacket::V4 { bytes, .. } => {
                standards::error_ipv4(bytes, self.section.gw_ip, cause.v4)
            }
            UserPacket::V6 { bytes, .. } => {
                standards::error_ipv6(bytes, self.section.gw_ipv6?, cause.v6)
            }
        };
        let error = error.filter(|_| self.section.icmp_errors_per_s > 0)?;
        self.buckets.errors.takes(now).then_some(error)
    }

    /// RFC 1122 section 3.2.2.6, for a host, within the limit.
    pub(super) fn judge_icmp(&mut self, came: Came, packet: &[u8], now: Duration) -> Judgement {
        let (_, from) = packets::stations(came.frame);
        if matches!(packet[12], 0 | 127 | 224..) || from.0[0] % 2 == 1 {
            return Err("not-tunnel");
        }
        if self.section.pings_per_s == 0 {
            return Err("not-tunnel");
        }
        if !self.buckets.pings.takes(now) {
            return Err("ping-limit");
        }
        let reply = standards::echo_ipv4(packet)?.ok_or("not-tunnel")?;
        let mtu = self.mtu(came.port);
        let mut pieces = match reply.len() > mtu {
            true => lengths::pieces(&reply, mtu),
            false => vec![reply],
        };
        let first = pieces.remove(0);
        for piece in pieces {
            let answer = self.answer(came, ethernet::TYPE_IPV4, &piece);
            self.neighbours.made.push(answer);
        }
        Ok(self.answer(came, ethernet::TYPE_IPV4, &first))
    }

    /// RFC 4443 section 4.2, for a host, within the limit; nothing else over IPv6 is for the
    /// gateway.
    pub(super) fn judge_icmpv6(
        &mut self,
        port: PortId,
        frame: &[u8],
        packet: &[u8],
        now: Duration,
    ) -> Judgement {
        let mut source = [0; 16];
        source.copy_from_slice(&packet[8..24]);
        let source = Ipv6Addr::from(source);
        let is_host = !source.is_multicast() && source.to_bits() > 1;
        let (_, from) = packets::stations(frame);
        if packet[6] != 58 || !is_host || from.0[0] % 2 == 1 || self.section.pings_per_s == 0 {
            return Err("not-tunnel");
        }
        if !self.buckets.pings.takes(now) {
            return Err("ping-limit");
        }
        let reply = standards::echo_ipv6(packet)?.ok_or("not-tunnel")?;
        if reply.len() > self.mtu(port) {
            return Err("too-big");
        }
        let frame = packets::frame(from, self.section.gw_mac, ethernet::TYPE_IPV6, &reply);
        Ok(Expected::Forward { port, frame })
    }

    /// TS 29.281 section 7.3.1: nobody here knows an identifier. Other workers may; if none does,
    /// the sender is told.
    pub(super) fn report_unknown(&mut self, came: Came, teid: u32, now: Duration) -> Judgement {
        let reason = "unknown-teid";
        if self.section.tunnel() != Tunnel::GtpU || self.section.gtp_errors_per_s == 0 {
            return Err(reason);
        }
        if came.asked == 0 && !self.buckets.reports.takes(now) {
            return Err(reason);
        }
        let asked = came.asked + 1;
        if u32::from(asked) < self.shard.count {
            let next = (self.shard.index + 1) % self.shard.count;
            return Ok(self.to_worker(1, next, Came { asked, ..came }));
        }
        let own = self.section.gw_ip.octets();
        let message = [&[16][..], &teid.to_be_bytes(), &[133, 0, 4], &own].concat();
        self.report(came, 26, &message);
        Err(reason)
    }

    /// TS 29.281 section 5.2.1: which extension headers are understood, to who sent another one.
    pub(super) fn report_extension(&mut self, came: Came, kind: u8, now: Duration) -> Judgement {
        if self.is_wrong(came.port, CORE) {
            return Err("wrong-port");
        }
        let may_be_told = kind != 26 && kind != 31 && self.section.gtp_errors_per_s > 0;
        if may_be_told && self.buckets.reports.takes(now) {
            self.report(came, 31, &[141, 2, 0x85, 0xc0]);
        }
        Err("gtp-extension")
    }

    /// A message to a host by who sent a frame.
    fn report(&mut self, came: Came, kind: u8, elements: &[u8]) {
        let (_, from) = packets::stations(came.frame);
        let source = &came.frame[26..30];
        if matches!(source[0], 0 | 127 | 224..) || from.0[0] % 2 == 1 {
            return;
        }
        let to = Ipv4Addr::new(source[0], source[1], source[2], source[3]);
        let len = (4 + elements.len() as u16).to_be_bytes();
        let header = [&[0x32, kind], &len[..], &[0; 8]].concat();
        let message = [&header[..], elements].concat();
        let outer = packets::datagram((self.section.gw_ip, to), (2152, 2152), &message);
        let answer = self.answer(came, ethernet::TYPE_IPV4, &outer);
        self.neighbours.made.push(answer);
    }

    /// The longest packet that passes by a port.
    pub(super) fn mtu(&self, port: PortId) -> usize {
        let configured = match port {
            ACCESS => self.section.access_mtu,
            _ => self.section.core_mtu,
        };
        if configured == 0 { usize::from(u16::MAX) } else { configured.into() }
    }
}

impl Model {
    /// A packet for a user in its tunnel.
    pub(super) fn tunnelled(
        &self,
        (teid, bearer): (u32, Bearer),
        ether_type: u16,
        content: &[u8],
    ) -> Vec<u8> {
        let (tunnel_port, message) = match self.section.tunnel() {
            Tunnel::GtpU => (wire::gtpu::GTPU_PORT, packets::g_pdu(teid, content)),
            Tunnel::Vxlan => {
                let station = self.section.gw_mac;
                let bridged = packets::frame(MacAddr::BROADCAST, station, ether_type, content);
                (wire::vxlan::VXLAN_PORT, packets::vxlan(teid, &bridged))
            }
        };
        let ends = (self.section.gw_ip, bearer.base_station);
        packets::datagram(ends, (tunnel_port, tunnel_port), &message)
    }

    /// A packet leaves to a base station, or waits until that has answered.
    pub(super) fn leave_for(
        &mut self,
        station: Ipv4Addr,
        outer: &[u8],
        now: Duration,
    ) -> Judgement {
        let hop = self.routes.to_ipv4(station).and_then(Leads::hop).ok_or("no-route")?;
        self.send(hop, ethernet::TYPE_IPV4, outer, now)
    }

    /// The first piece, behind the others, which are frames of their own.
    pub(super) fn leave_in_pieces(
        &mut self,
        pieces: &[Vec<u8>],
        mut leave: impl FnMut(&mut Model, &[u8]) -> Judgement,
    ) -> Judgement {
        for piece in &pieces[1..] {
            // What the neighbour says of it is made after what it is.
            let leaving = leave(self, piece).unwrap_or_else(Expected::Drop);
            self.neighbours.made.push(leaving);
        }
        leave(self, &pieces[0])
    }

    /// A packet for a user that is too long for the links to its base station (RFC 1191, RFC 2473
    /// section 7.1); one of another user has made its hop.
    pub(super) fn fit_downlink(
        &mut self,
        came: Option<Came>,
        bearer: (u32, Bearer),
        packet: UserPacket,
        now: Duration,
    ) -> Judgement {
        let mtu = self.mtu(ACCESS);
        let most = mtu - self.growth();
        let ether_type = packet.ether_type();
        let may_be_cut = packet.may_be_cut();
        let is_small = ether_type == ethernet::TYPE_IPV6 && most < 1280;
        let cuts_tunnel = self.section.fragment == Fragment::Tunnel || is_small;
        if !cuts_tunnel && !may_be_cut {
            let cause = standards::too_big(most);
            return match came {
                Some(came) => self.refuse(came, &packet, cause, now),
                None => self.refuse_user(&packet, cause, now),
            };
        }
        let content = match came {
            Some(_) => lengths::clamped(packet.after_a_hop(), self.section.mss_clamp),
            None => packet.bytes().to_vec(),
        };
        let station = bearer.1.base_station;
        if !cuts_tunnel {
            let pieces = lengths::pieces(&content, most);
            return self.leave_in_pieces(&pieces, |model, piece| {
                let outer = model.tunnelled(bearer, ether_type, piece);
                model.leave_for(station, &outer, now)
            });
        }
        let mut outer = self.tunnelled(bearer, ether_type, &content);
        outer[4..6].copy_from_slice(&self.identification.to_be_bytes());
        outer[6..8].fill(0);
        self.identification = self.identification.wrapping_add(self.shard.count as u16);
        let pieces = lengths::pieces(&outer, mtu);
        self.leave_in_pieces(&pieces, |model, piece| model.leave_for(station, piece, now))
    }

    /// What the tunnel adds to a packet.
    pub(super) fn growth(&self) -> usize {
        if self.section.tunnel() == Tunnel::GtpU { 36 } else { 50 }
    }
}
