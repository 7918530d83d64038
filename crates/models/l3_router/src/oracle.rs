//! The slow, obviously right model of a router: routes in a map, found by trying every length from
//! the longest on, and headers read and built byte by byte.
//!
//! It shares no code with the pipeline but names and the constants of the standards.
use crate::ports::other;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_l3_router::config::{Network, Resolved, ReversePath};
use function_l3_router::control::{Said as Change, Update};
use model_kit::check::{Expected, Oracle};
use model_kit::host::{Cause, EXPIRED, NO_ROUTE, internet_sum, too_big, word};
use packet::PortId;
use wire::{ethernet, ipv4, ipv6};

use crate::generated::{self, Section};

mod frames;
mod routes;

mod advertise;
mod far_end;
mod groups;
mod host;
mod hosted;
mod neighbours;
mod options;
mod reassembly;
mod resets;
mod services;
mod solicited;

mod state;

mod fragments;
mod leaving;
mod tables;
mod tunnels;
mod virtuals;

use self::frames::{Judgement, leave};
use self::host::Held;
use self::leaving::a_hop_on;
use self::neighbours::{Said, Wanted};
use self::routes::To;
pub use self::state::Model;
use self::state::Way;

impl Oracle for Model {
    type Update = Change;

    fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected {
        let judged = match self.come_out(port, frame) {
            Some(Err(())) => return Expected::Drop("unknown-tunnel"),
            Some(Ok((number, inner))) => self.judge_at(number, &inner, now),
            None => self.judge(port, frame, now),
        };
        // A tunnel is as the frame found it: what it sets free goes by what it says.
        self.go_in(judged.unwrap_or_else(Expected::Drop))
    }

    fn charge_as(&mut self, other: &Model) {
        self.services.charge_as(&other.services);
    }

    fn is_report(&self, port: PortId, frame: &[u8]) -> bool {
        self.is_of_session(port, frame) || self.advertisers.is_one(port, frame)
    }

    fn report(&mut self, frame: &[u8], now: Duration) -> Result<(), String> {
        // The destination of a session's packets is a station, and that of an advertisement a
        // group.
        match frame.first().is_some_and(|first| first % 2 == 1) {
            true => self.advertisers.judge(frame, now),
            false => self.judge_session(frame),
        }
    }

    fn unreported(&mut self, now: Duration) -> Vec<String> {
        self.advertisers.late(now)
    }

    fn made(&mut self, now: Duration) -> Vec<Expected> {
        self.neighbours.tick(&self.config, &mut self.buckets, now);
        if self.config.resolve {
            self.seek_far_ends(now);
        }
        let made = std::mem::take(&mut self.neighbours.made);
        made.into_iter().map(|one| self.go_in(one)).collect()
    }

    fn apply(&mut self, update: &Change, now: Duration) -> bool {
        let Ok(update) = update.by_numbers(|name| self.number_of(name).ok_or(())) else {
            return false;
        };
        let update = &update;
        if let Some(is_possible) = self.services.apply(update, now) {
            return is_possible;
        }
        match *update {
            Update::SetRoute { prefix, next_hop, vrf } => {
                self.set_route(Network::of(vrf, prefix), next_hop)
            }
            Update::RemoveRoute { prefix, vrf } => {
                let network = Network::of(vrf, prefix);
                !self.is_connected(network) && self.routes.remove(&network).is_some()
            }
            Update::SetNextHop { number, next_hop } => {
                let done = self.set_next_hop(number, next_hop);
                if done {
                    self.groups.share(number, &self.next_hops);
                    self.neighbours.forget(number);
                    if next_hop.mac.0.0 == [0; 6]
                        && let Some(wanted) = self.wanted(number)
                    {
                        self.neighbours.enlist(wanted);
                    }
                }
                done
            }
            Update::RemoveNextHop { number } => {
                let done = self.remove_next_hop(number);
                if done {
                    self.groups.share(number, &self.next_hops);
                    self.neighbours.forget(number);
                }
                done
            }
            Update::SetGroupMember { group, next_hop, weight } => {
                let done = self.groups.set(group, next_hop, weight);
                self.groups.share(next_hop, &self.next_hops);
                done
            }
            Update::RemoveGroupMember { group, next_hop } => {
                let done = self.groups.remove(group, next_hop);
                self.groups.share(next_hop, &self.next_hops);
                done
            }
            Update::SetVirtual { port, vlan, mac, address, accept } => {
                self.set_virtual((port, vlan), (mac, address, accept))
            }
            Update::RemoveVirtual { port, vlan, address } => {
                self.remove_virtual((port, vlan), address)
            }
            // What the host has, sessions, and who watches, which no workload asks for. The
            // services have applied their own above.
            Update::SetAddress { .. }
            | Update::RemoveAddress { .. }
            | Update::SetNeighbour { .. }
            | Update::RemoveNeighbour { .. }
            | Update::HearNeighbour { .. }
            | Update::WatchRoute { .. }
            | Update::UnwatchRoutes {}
            | Update::SetBfd { .. }
            | Update::RemoveBfd { .. }
            | Update::SetRule { .. }
            | Update::RemoveRule { .. }
            | Update::SetPolicer { .. }
            | Update::RemovePolicer { .. } => false,
        }
    }
}

impl Model {
    /// The router that a section describes.
    pub fn new(section: &Section) -> Model {
        let mut model = Model::configured(&generated::config(section));
        for update in generated::initial(section) {
            model.apply(&update.said(), Duration::ZERO);
        }
        model
    }

    /// By which interface does a frame come in? IEEE 802.1Q: a tag of VLAN 0 has a priority alone.
    fn judge(&mut self, port: PortId, frame: &[u8], now: Duration) -> Judgement {
        let is_tagged = frame.len() >= 14 && word(frame, 12) == ethernet::TYPE_VLAN;
        if !is_tagged || !self.tells_interfaces() {
            return self.judge_at(port.0.into(), frame, now);
        }
        if frame.len() < 18 {
            return Err("truncated");
        }
        let vlan = word(frame, 14) % 4096;
        let is_its = |one: &Resolved| one.port == port && one.vlan == vlan && one.vxlan.is_none();
        let interface = self.interfaces.iter().position(is_its).ok_or("unknown-vlan")?;
        self.judge_at(interface, &[&frame[..12], &frame[16..]].concat(), now)
    }

    fn tells_interfaces(&self) -> bool {
        !self.config.is_plain()
    }

    /// A frame without its tag, for the interface's own address and of a type that the router
    /// knows.
    fn judge_at(&mut self, interface: usize, frame: &[u8], now: Duration) -> Judgement {
        let own = &self.interfaces[interface].clone();
        let asked = self.asked_by_nd(interface, frame);
        let asks_for_virtual = asked.is_some() || self.asked_by_arp(interface, frame).is_some();
        if own.is_hosted
            && !asks_for_virtual
            && let Some(judged) = self.judge_hosted(own, frame, now)
        {
            return judged;
        }
        if let Some(judged) = self.judge_solicitation(interface, frame, now) {
            return judged;
        }
        let asked = asked.or_else(|| self.asked_on_link(own, frame));
        if self.config.resolve
            && let Some(said) = neighbours::read(frame, &asked.unwrap_or(neighbours::own(own)))
        {
            return self.judge_discovery(own, said, now);
        }
        if frame.len() < ethernet::HEADER_LEN {
            return Err("truncated");
        }
        let (header, packet) = frame.split_at(ethernet::HEADER_LEN);
        let ether_type = word(header, 12);
        let is_arp_for_all = ether_type == ethernet::TYPE_ARP && header[..6] == [0xff; 6];
        let is_its = header[..6] == own.mac.0.0 || self.is_virtual_station(interface, &header[..6]);
        if !is_its && !is_arp_for_all {
            return Err("other-station");
        }
        match ether_type {
            ethernet::TYPE_IPV4 => self.judge_ipv4(interface, header, packet, now),
            ethernet::TYPE_IPV6 => self.judge_ipv6(interface, header, packet, now),
            ethernet::TYPE_ARP => self.judge_arp(interface, (frame, header, packet), now),
            _ => Err("unknown-ethertype"),
        }
    }

    /// RFC 826: Ethernet, IPv4, lengths 6 and 4, a request, for the port's own address. It is
    /// answered at the hardware address in the packet.
    fn judge_arp(
        &mut self,
        interface: usize,
        (whole, header, packet): (&[u8], &[u8], &[u8]),
        now: Duration,
    ) -> Judgement {
        if self.config.is_host() && !self.buckets.arp.takes(now) {
            return Err("policed-arp");
        }
        let at = self.interfaces[interface];
        let is_said = packet.len() >= 28 && packet[..6] == [0, 1, 8, 0, 6, 4];
        if self.config.resolve && is_said {
            let octets = [packet[14], packet[15], packet[16], packet[17]];
            let (mac, address) = (&packet[8..14], IpAddr::from(Ipv4Addr::from(octets)));
            let heard = self.neighbours.heard(&at, address, (mac, true, true), now);
            if heard && word(packet, 6) == 2 {
                return Err("neighbour-heard");
            }
        }
        let at = self.interfaces[interface];
        let own = at.ip.ok_or("arp-ignored")?.address.octets();
        let asked = self.asked_by_arp(interface, whole);
        let is_question = packet.len() >= 28
            && packet[..8] == [0, 1, 8, 0, 6, 4, 0, 1]
            && (asked.is_some() || packet[24..28] == own);
        if !is_question {
            return Err("arp-ignored");
        }
        let (mac, own) = (asked.unwrap_or(at.mac.0.0), &packet[24..28]);
        let (asking, from) = (&packet[8..14], &packet[14..18]);
        let reply = [0, 1, 8, 0, 6, 4, 0, 2];
        let frame = [asking, &mac, &header[12..], &reply, &mac, own, asking, from].concat();
        Ok(leave(&at, frame))
    }

    /// RFC 4861 section 7.2: questions are answered, answers taken note of.
    fn judge_discovery(
        &mut self,
        own: &Resolved,
        said: Result<Said<'_>, ()>,
        now: Duration,
    ) -> Judgement {
        if !self.buckets.nd.takes(now) {
            return Err("policed-nd");
        }
        match said {
            Err(()) => Err("nd-ignored"),
            Ok(Said::Advertisement { target, mac, overrides }) => {
                match self.neighbours.heard(own, target, (mac, overrides, true), now) {
                    true => Err("neighbour-heard"),
                    false => Err("nd-ignored"),
                }
            }
            Ok(Said::Solicitation { answer, from, mac }) => {
                if let Some(mac) = mac {
                    self.neighbours.heard(own, from, (mac, true, false), now);
                }
                Ok(leave(own, answer))
            }
        }
    }

    /// RFC 1812 sections 5.2.2 (the header), 5.3.7 (martians) and 5.3.1 (the time to live).
    fn judge_ipv4(&mut self, at: usize, header: &[u8], packet: &[u8], now: Duration) -> Judgement {
        if packet.len() < ipv4::HEADER_LEN || packet[0] >> 4 != ipv4::VERSION {
            return Err("ip-malformed");
        }
        let header_len = usize::from(packet[0] & 0x0f) * 4;
        let total_len = usize::from(word(packet, 2));
        if header_len < ipv4::HEADER_LEN || total_len < header_len || packet.len() < total_len {
            return Err("ip-malformed");
        }
        if internet_sum(&packet[..header_len]) != 0xffff {
            return Err("ip-checksum");
        }
        let address =
            |at: usize| Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3]);
        let (from, to) = (address(12), address(16));
        let is_nobodys = |first: u8| first == 0 || first == 127 || first >= 240;
        if is_nobodys(from.octets()[0]) || from.is_multicast() || is_nobodys(to.octets()[0]) {
            return Err("martian");
        }
        if to.is_multicast() {
            return Err("multicast");
        }
        let way = Way { at, from: from.into(), to: to.into(), hops_left: packet[8] };
        let packet = &packet[..total_len];
        match options::of_ipv4(&packet[20..header_len]) {
            Ok(()) => self.send(way, header, packet, now),
            Err(fault) => self.refuse_options(way, header, packet, fault, now),
        }
    }

    /// RFC 8200 section 3; RFC 4291 sections 2.5.2, 2.5.3, 2.5.6 and 2.7 for the addresses.
    fn judge_ipv6(&mut self, at: usize, header: &[u8], packet: &[u8], now: Duration) -> Judgement {
        if packet.len() < ipv6::HEADER_LEN || packet[0] >> 4 != ipv6::VERSION {
            return Err("ip-malformed");
        }
        let len = ipv6::HEADER_LEN + usize::from(word(packet, 4));
        let packet = packet.get(..len).ok_or("ip-malformed")?;
        let address = |from: usize| {
            let mut octets = [0; 16];
            octets.copy_from_slice(&packet[from..from + 16]);
            Ipv6Addr::from(octets)
        };
        let (from, to) = (address(8), address(24));
        let is_near = |a: Ipv6Addr| {
            let segments = a.segments();
            segments[..7] == [0; 7] && segments[7] <= 1 || segments[0] & 0xffc0 == 0xfe80
        };
        if self.is_for_link_local(at, header, packet) {
            let own = self.interfaces[at];
            return self.receive(Held { at: &own, header, packet }, None, now);
        }
        if is_near(from) || from.octets()[0] == 0xff || is_near(to) {
            return Err("martian");
        }
        if to.octets()[0] == 0xff {
            return Err("multicast");
        }
        let way = Way { at, from: from.into(), to: to.into(), hops_left: packet[7] };
        match if packet[6] == 0 { options::hop_by_hop(&packet[40..]) } else { Ok(()) } {
            Ok(()) => self.send(way, header, packet, now),
            Err(fault) => self.refuse_options(way, header, packet, fault, now),
        }
    }

    /// RFC 1812 section 4.3.3.5, RFC 8200 section 4.2: a parameter problem with its pointer.
    fn refuse_options(
        &mut self,
        way: Way,
        header: &[u8],
        packet: &[u8],
        pointer: Option<u32>,
        now: Duration,
    ) -> Judgement {
        if !self.passes(way) {
            return Err("reverse-path");
        }
        if let Some(pointer) = pointer {
            let own = self.interfaces[way.at];
            let held = Held { at: &own, header, packet };
            let (v4, v6) = ((12, 0, pointer << 24), (4, 2, pointer));
            let cause = Cause { reason: "options", v4, v6 };
            let (_, told) = self.buckets.refuse(&self.config, held, cause, now);
            self.neighbours.made.extend(told);
        }
        Err("options")
    }

    /// To the next hop of the route, if source, hops to go and length allow it; without a route,
    /// out of the other port as it came or nowhere.
    fn send(&mut self, way: Way, header: &[u8], came: &[u8], now: Duration) -> Judgement {
        let own = self.interfaces[way.at];
        if !self.passes(way) {
            return Err("reverse-path");
        }
        let route = self.longest(own.vrf, way.to);
        // RFC 1812 section 5.3.1: what is for the router itself arrives with any time to live.
        let expires = way.hops_left <= 1 && route != Some(To::Itself);
        let known = match expires {
            true => None,
            false => self.reassembly.take(own.vrf, (way.from, way.to), came, now)?,
        };
        let route = route.map(|to| self.groups.of_packet(to, came, known));
        let came = &match expires {
            true => came.to_vec(),
            false => self.services.admit(&own, (came, known), now)?,
        };
        let sent = &a_hop_on(came);
        if !expires && let Some(out) = self.way_out(route) {
            self.services.dismiss(&out, (came, known))?;
        }
        let held = Held { at: &own, header, packet: came };
        if route == Some(To::Itself) {
            return match self.config.is_host() {
                true => {
                    let accepts = self.virtual_accepts(own.vrf, way.to);
                    self.receive(held, accepts, now)
                }
                false => Err("local-address"),
            };
        }
        let cause = match route {
            _ if expires => EXPIRED,
            Some(To::NextHop(number)) => match self.leave_by(number, header, sent) {
                Ok(Some(leaving)) => return Ok(leaving),
                Ok(None) => {
                    let wanted = self.wanted(number).ok_or("no-next-hop")?;
                    return self.neighbours.send(wanted, held, sent, now);
                }
                Err(cause) => cause,
            },
            Some(To::Link(number)) if self.config.resolve => {
                let out = self.interfaces[number];
                if let (Some(link), IpAddr::V4(to)) = (out.ip, way.to)
                    && (1..31).contains(&link.len)
                    && (u32::from(to) ^ u32::from(link.address)) >> (32 - link.len) == 0
                    && (u32::from(to) + 1).trailing_zeros() >= u32::from(32 - link.len)
                {
                    return Err("directed-broadcast");
                }
                if out.mtu > 0 && sent.len() > usize::from(out.mtu) {
                    too_big(out.mtu.into())
                } else {
                    let source = out.mac.0.0;
                    let wanted = Wanted { out, address: way.to, hop: None, source };
                    return self.neighbours.send(wanted, held, sent, now);
                }
            }
            Some(_) => host::NOBODY,
            None if self.config.fakedrop => {
                let frame = [header, came].concat();
                return Ok(Expected::Forward { port: other(own.port), frame });
            }
            None => NO_ROUTE,
        };
        let may_be_cut = came[0] >> 4 == 4 && came[6] & 0x40 == 0;
        match cause.reason == "too-big" && may_be_cut {
            true => self.cut(route, (way, held), sent, now),
            false => {
                let (reason, told) = self.buckets.refuse(&self.config, held, cause, now);
                self.neighbours.made.extend(told);
                Err(reason)
            }
        }
    }

    /// A packet for the router itself, and what its sender hears where nobody listens for it.
    fn receive(&mut self, held: Held, accepts: Option<bool>, now: Duration) -> Judgement {
        let received = self.buckets.receive(&self.config, held, accepts, now);
        if received == Err("local-address") && accepts.is_none() {
            let told = self.buckets.nobody_listens(&self.config, held, now);
            self.neighbours.made.extend(told);
        }
        received
    }

    /// RFC 3704 sections 2.2 and 2.4.
    fn passes(&self, way: Way) -> bool {
        let Resolved { vrf, urpf, .. } = self.interfaces[way.at];
        match (urpf, self.longest(vrf, way.from)) {
            (ReversePath::None, _) => true,
            (_, None | Some(To::Itself)) => false,
            (ReversePath::Loose, _) => true,
            (ReversePath::Strict, Some(To::Link(link))) => link == way.at,
            (ReversePath::Strict, Some(to @ To::NextHop(_))) => {
                let mut hops = self.groups.any_of(to).into_iter();
                hops.any(|number| {
                    let hop = self.next_hops.get(&number);
                    hop.is_some_and(|hop| self.interface_of(hop) == Some(way.at))
                })
            }
        }
    }

    /// The interface by which a route leads out, if it does.
    fn way_out(&self, route: Option<To>) -> Option<Resolved> {
        let number = match route? {
            To::NextHop(number) => self.interface_of(self.next_hops.get(&number)?)?,
            To::Link(number) if self.config.resolve => number,
            To::Link(_) | To::Itself => return None,
        };
        Some(self.interfaces[number])
    }
}
