//! The slow, obviously right gateway: what must become of each frame, by the standards.
//!
//! It reads a frame byte by byte in the order of its headers, the first thing wrong names the drop
//! reason, and everything it sends it builds anew, checksums recomputed. It shares with the
//! function the configuration and the changes; of the tables their slow twins. Generated sessions
//! are computed when somebody asks for them, so that a million of them take no memory; what changed
//! is remembered. Deliberately absent: speed, and Controlled Delay.

use std::collections::BTreeMap;
use std::time::Duration;

use function_bng::Update;
use function_bng::config::{Config, Direction, Line, Name, NextHop, Node, Profile, Session};
use function_bng::gateway::{ACCESS, CORE};
use function_kit::Shard;
use model_kit::check::{Expected, Oracle};
use model_kit::host::{Cause, EXPIRED, NO_ROUTE, too_big, word};
use model_kit::lengths;
use model_kit::slow::Bucket;
use packet::PortId;
use wire::MacAddr;

use crate::generated;
use crate::section::Section;

mod changes;
mod control;
mod discovery;
mod host;
mod lines;
mod lists;
mod neighbours;
mod packets;
mod policers;
mod queues;
mod routes;
mod sessions;

use lines::Untagged;
use lists::Lists;
use neighbours::Neighbours;
use packets::{Packet, is_of_neighbour, stays_here};
use policers::Policers;
use queues::{Down, Queues};
use routes::Routes;
use sessions::Sessions;

/// The model of a gateway.
pub struct Model {
    config: Config,
    sessions: Sessions,
    profiles: BTreeMap<Name, Profile>,
    nodes: BTreeMap<Name, Node>,
    lists: Lists,
    policers: Policers,
    queues: Queues,
    routes: Routes,
    neighbours: Neighbours,
    errors: Bucket,
    pings: Bucket,
    /// Frames that are made.
    made: Vec<Expected>,
}

/// A verdict, or the name of the reason for dropping.
type Judgement = Result<Expected, &'static str>;

/// A frame of a line.
#[derive(Clone, Copy)]
struct FromLine<'a> {
    line: Line,
    to: MacAddr,
    from: MacAddr,
    content: &'a [u8],
}

/// A frame from the Internet's side.
#[derive(Clone, Copy)]
struct FromCore<'a> {
    /// VRF by its VLAN, and that VLAN.
    vrf: (Option<Name>, Option<u16>),
    to: MacAddr,
    from: MacAddr,
    content: &'a [u8],
}

impl Oracle for Model {
    type Update = Update;

    fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected {
        let judged = match port {
            ACCESS => self.up(frame, now),
            _ => self.down(frame, now),
        };
        judged.unwrap_or_else(Expected::Drop)
    }

    fn charge_as(&mut self, other: &Model) {
        self.policers.charge_as(&other.policers);
    }

    fn made(&mut self, now: Duration) -> Vec<Expected> {
        self.ask_neighbours(now);
        let released = self.queues.release(now).into_iter();
        self.made.extend(released.map(|frame| Expected::Forward { port: ACCESS, frame }));
        std::mem::take(&mut self.made)
    }

    fn apply(&mut self, update: &Update, now: Duration) -> bool {
        self.change(update, now)
    }
}

impl Model {
    /// The gateway as configured, with the sessions that are generated.
    pub fn new(section: &Section, _: Shard) -> Model {
        let config = generated::config(section);
        let sessions = Sessions::new(section, config.session_capacity, config.line_sessions);
        let mut model = Model {
            sessions,
            profiles: BTreeMap::new(),
            nodes: BTreeMap::new(),
            lists: Lists::new(&config),
            policers: Policers::default(),
            queues: Queues::new(&config.port_queues, config.buffer_kib, config.access_mtu),
            routes: Routes::new(&config),
            neighbours: Neighbours::new(&config),
            errors: Bucket::new(config.icmp_errors_per_s, config.icmp_error_burst),
            pings: Bucket::new(config.pings_per_s, config.pings_per_s),
            made: Vec::new(),
            config: config.clone(),
        };
        let is_generated = |update: &Update| match update {
            Update::AddSession(one) => !config.sessions.contains(one),
            _ => false,
        };
        // Generated sessions are there without being added.
        let all = generated::all_initial(section, &config).filter(|update| !is_generated(update));
        for update in all {
            model.change(&update, Duration::ZERO);
        }
        model
    }

    /// A frame of a line: for this station, of a type it knows.
    fn up(&mut self, frame: &[u8], now: Duration) -> Judgement {
        if frame.len() < 14 {
            return Err("truncated");
        }
        let (to, from) = stations(frame);
        let Untagged { line, ether_type, content } = lines::untag(&self.config, frame)?;
        if to != self.config.access_mac && !to.is_multicast() {
            return Err("other-station");
        }
        let came = FromLine { line, to, from, content };
        match ether_type {
            0x0806 => self.arp_of_line(came),
            0x8863 => Self::discovery(came),
            0x8864 => self.pppoe(came, now),
            0x0800 | 0x86dd => self.ip_of_line(came, None, ether_type == 0x0800, content, now),
            _ => Err("unknown-ethertype"),
        }
    }

    /// RFC 2516 section 5: a frame of discovery.
    fn discovery(came: FromLine) -> Judgement {
        match lines::read_pppoe(came.content)?.0 {
            // PADO and PADS.
            0x07 | 0x65 => Err("server-message"),
            _ => Ok(Expected::Punt),
        }
    }

    /// RFC 2516 section 6: a frame of a session.
    fn pppoe(&mut self, came: FromLine, now: Duration) -> Judgement {
        if came.to.is_multicast() {
            return Err("other-station");
        }
        let (code, id, payload) = lines::read_pppoe(came.content)?;
        if code != 0 || payload.len() < 2 {
            return Err("pppoe-malformed");
        }
        let session = self.sessions.of_pppoe(came.line, id).ok_or("unknown-pppoe-session")?;
        if session.mac.0 != came.from {
            return Err("spoofed-mac");
        }
        match word(payload, 0) {
            0x0021 => self.ip_of_line(came, Some(session), true, &payload[2..], now),
            0x0057 => self.ip_of_line(came, Some(session), false, &payload[2..], now),
            _ => Ok(Expected::Punt),
        }
    }

    /// A packet of a line: what of it is control, whose is it, may it pass, and where does it go?
    fn ip_of_line(
        &mut self,
        came: FromLine,
        session: Option<Session>,
        is_ipv4: bool,
        bytes: &[u8],
        now: Duration,
    ) -> Judgement {
        let packet = Packet::of(is_ipv4, bytes)?;
        if let Some(judged) = self.control(came, session.as_ref(), &packet) {
            return judged;
        }
        let is_own = self.is_own(packet.destination);
        if came.to.is_multicast() || stays_here(packet.destination) && !is_own {
            return Err("not-forwarded");
        }
        let known = session.or_else(|| self.sessions.of_station(came.line, came.from));
        let Some(session) = known else {
            return if self.config.first_packets {
                Ok(Expected::Punt)
            } else {
                Err("unknown-session")
            };
        };
        let may_ask = is_own && is_of_neighbour(packet.source);
        if !may_ask && !lists::has(&session, packet.source) {
            return Err("spoofed-source");
        }
        if is_own {
            let reply = self.ping(&packet, now)?;
            return Ok(self.on_its_line(&session, &reply));
        }
        self.route_up(&session, packet, now)
    }

    fn route_up(&mut self, session: &Session, packet: Packet, now: Duration) -> Judgement {
        if packet.is_spent() {
            return self.refuse_subscriber(session, &packet, EXPIRED, now);
        }
        let profile = self.profiles.get(&session.profile).cloned().ok_or("unhandled")?;
        if let Some(list) = session.list.or(profile.list) {
            self.lists.judge(list, Direction::Up, session, &packet)?;
        }
        let class = self.class_of(packet.dscp());
        let node = session.node.and_then(|name| self.nodes.get(&name));
        let of = (session.number, class);
        let len = packet.bytes.len();
        let mark = self.policers.admit(of, (&profile, node), len, now)?;
        let Some(hop) = self.routes.to(session.vrf, packet.destination) else {
            return self.refuse_subscriber(session, &packet, NO_ROUTE, now);
        };
        let mtu = any_if_zero(self.config.core_mtu);
        let (is_long, may_be_cut) = (packet.bytes.len() > mtu, packet.may_be_cut());
        if is_long && !may_be_cut {
            return self.refuse_subscriber(session, &packet, too_big(mtu), now);
        }
        let ether_type = packet.ether_type();
        let packet = match mark {
            Some(dscp) => packet.marked(dscp),
            None => packet,
        };
        let content = lengths::clamped(packet.after_a_hop().bytes, self.config.mss_clamp);
        if !is_long {
            return self.send_to_hop(hop, ether_type, &content, now);
        }
        let pieces = lengths::pieces(&content, mtu);
        for piece in &pieces[1..] {
            let leaving = self.send_to_hop(hop, ether_type, piece, now);
            self.made.push(leaving.unwrap_or_else(Expected::Drop));
        }
        self.send_to_hop(hop, ether_type, &pieces[0], now)
    }

    /// A frame from the Internet's side: of which VRF, for this station, of a type it knows.
    fn down(&mut self, frame: &[u8], now: Duration) -> Judgement {
        if frame.len() < 14 {
            return Err("truncated");
        }
        let (to, from) = stations(frame);
        let (vrf, at) = match word(frame, 12) {
            0x8100 if frame.len() < 18 => return Err("truncated"),
            0x8100 => {
                let vlan = word(frame, 14) & 0xfff;
                let named = self.config.vrfs.iter().find(|vrf| vrf.vlan == vlan);
                ((Some(named.ok_or("unknown-vlan")?.name), Some(vlan)), 16)
            }
            _ => ((None, None), 12),
        };
        if to != self.config.core_mac && !to.is_multicast() {
            return Err("other-station");
        }
        let (ether_type, content) = (word(frame, at), &frame[at + 2..]);
        let came = FromCore { vrf, to, from, content };
        match ether_type {
            0x0806 => return self.arp_of_core(came, now),
            0x0800 | 0x86dd => {}
            _ => return Err("unknown-ethertype"),
        }
        let packet = Packet::of(ether_type == 0x0800, content)?;
        match packet.icmpv6() {
            Some(135 | 136) => self.discovery_of_core(came, &packet, now),
            _ => self.route_down(came, packet, now),
        }
    }

    /// A packet for somebody: whose is it, may it pass, and when does it leave?
    fn route_down(&mut self, came: FromCore, packet: Packet, now: Duration) -> Judgement {
        let is_own = self.is_own(packet.destination);
        if came.to.is_multicast() || stays_here(packet.destination) && !is_own {
            return Err("not-forwarded");
        }
        // A neighbour on the link may ask the gateway itself.
        if stays_here(packet.source) && !(is_own && is_of_neighbour(packet.source)) {
            return Err("not-forwarded");
        }
        if is_own {
            let reply = self.ping(&packet, now)?;
            return Ok(self.answer_core(came, packet.ether_type(), &reply));
        }
        let session = self.sessions.of_address(came.vrf.0, packet.destination);
        let Some(session) = session else { return self.refuse_core(came, &packet, NOBODY, now) };
        if packet.is_spent() {
            return self.refuse_core(came, &packet, EXPIRED, now);
        }
        let profile = self.profiles.get(&session.profile).cloned().ok_or("unhandled")?;
        if let Some(list) = session.list.or(profile.list) {
            self.lists.judge(list, Direction::Down, &session, &packet)?;
        }
        let mru = session.pppoe.map_or(usize::MAX, |pppoe| pppoe.mru.into());
        let mtu = any_if_zero(self.config.access_mtu).min(mru);
        let (is_long, may_be_cut) = (packet.bytes.len() > mtu, packet.may_be_cut());
        if is_long && !may_be_cut {
            return self.refuse_core(came, &packet, too_big(mtu), now);
        }
        let place = self.queue_of(&profile, packet.dscp());
        let content = lengths::clamped(packet.after_a_hop().bytes, self.config.mss_clamp);
        let pieces = if is_long { lengths::pieces(&content, mtu) } else { vec![content] };
        let mut verdicts = Vec::new();
        for piece in &pieces {
            verdicts.push(self.send_to_line(&session, (&profile, place), piece, now));
        }
        let beside = verdicts.split_off(1).into_iter();
        self.made.extend(beside.map(|one| one.unwrap_or_else(Expected::Drop)));
        verdicts.swap_remove(0)
    }

    /// A packet leaves by the queue of its class.
    fn send_to_line(
        &mut self,
        session: &Session,
        (profile, place): (&Profile, Option<usize>),
        packet: &[u8],
        now: Duration,
    ) -> Judgement {
        let leaves = self.on_its_line(session, packet);
        let (Some(place), Expected::Forward { frame, .. }) = (place, &leaves) else {
            return Ok(leaves);
        };
        let node = session.node.and_then(|name| self.nodes.get(&name));
        let down = Down { session: session.number, place, frame: frame.clone() };
        self.queues.offer(down, (profile, node), now).map_or(Ok(leaves), Err)
    }

    /// The class of a code point: the one that names it, or the last one.
    fn class_of(&self, dscp: u8) -> Name {
        let all = &self.config.classes;
        let named = all.iter().find(|class| class.dscp.contains(&dscp));
        named.or(all.last()).map_or(Name::new("none"), |class| class.name)
    }

    /// The queue of a code point: that of its class, or the last one.
    fn queue_of(&self, profile: &Profile, dscp: u8) -> Option<usize> {
        let class = self.class_of(dscp);
        let own = profile.queues.iter().position(|queue| queue.class == class);
        own.or(profile.queues.len().checked_sub(1))
    }

    /// A packet as it leaves on a session's line.
    fn on_its_line(&self, session: &Session, packet: &[u8]) -> Expected {
        let macs = [session.mac.0, self.config.access_mac];
        let is_ipv4 = packet[0] >> 4 == 4;
        let (ether_type, content) = match session.pppoe {
            Some(pppoe) => (0x8864, lines::in_session(pppoe, is_ipv4, packet)),
            None => (if is_ipv4 { 0x0800 } else { 0x86dd }, packet.to_vec()),
        };
        let frame = lines::tagged(&self.config, macs, session.line, ether_type, &content);
        Expected::Forward { port: ACCESS, frame }
    }

    /// A packet leaves to a next hop, or waits until that has answered.
    fn send_to_hop(
        &mut self,
        hop: NextHop,
        ether_type: u16,
        packet: &[u8],
        now: Duration,
    ) -> Judgement {
        let mac = match hop.mac {
            Some(mac) => mac.0,
            None => self.station_of(hop, ether_type, packet, now)?,
        };
        Ok(self.core_frame(mac, self.vlan_of(hop.vrf), ether_type, packet))
    }

    /// A frame that leaves by the port `core`.
    fn core_frame(
        &self,
        to: MacAddr,
        vlan: Option<u16>,
        ether_type: u16,
        content: &[u8],
    ) -> Expected {
        let mut frame = [to.0, self.config.core_mac.0].concat();
        if let Some(vlan) = vlan {
            frame.extend([0x81, 0, (vlan >> 8) as u8, vlan as u8]);
        }
        frame.extend(ether_type.to_be_bytes());
        frame.extend(content);
        Expected::Forward { port: CORE, frame }
    }

    /// The VLAN of a VRF.
    fn vlan_of(&self, vrf: Option<Name>) -> Option<u16> {
        let name = vrf?;
        self.config.vrfs.iter().find(|vrf| vrf.name == name).map(|vrf| vrf.vlan)
    }
}

/// Destination and source of a frame.
fn stations(frame: &[u8]) -> (MacAddr, MacAddr) {
    let mut addresses = [MacAddr::ZERO; 2];
    addresses[0].0.copy_from_slice(&frame[..6]);
    addresses[1].0.copy_from_slice(&frame[6..12]);
    (addresses[0], addresses[1])
}

fn any_if_zero(mtu: u16) -> usize {
    if mtu == 0 { usize::from(u16::MAX) } else { mtu.into() }
}

/// No session has an address: RFC 792, RFC 4443 section 3.1.
const NOBODY: Cause = Cause { reason: "unknown-subscriber", v4: (3, 1, 0), v6: (1, 3, 0) };
