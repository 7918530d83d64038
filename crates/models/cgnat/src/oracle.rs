//! The slow, obviously right NAT: what must become of each frame, by the standards.
//!
//! It reads a frame byte by byte in the order of its headers, and the first thing wrong names the
//! drop reason. Which outside address and port a new mapping gets is the device's choice: the
//! oracle looks at what left, takes the choice over if it was allowed (of a pool, free, not
//! resting, of the subscriber's address and blocks), and builds the frame anew, checksums
//! recomputed. It shares with the pipeline the configuration, the hash by which frames are steered
//! and the constants of the standards; no code of the function. So it holds for devices of any
//! making. Deliberately absent: speed.
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use engine::steering::Steering;
use function_cgnat::config::{Config, Family, Filtering, Prefixed};
use function_cgnat::control::Update;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use function_kit::Shard;
use model_kit::check::{Expected, Oracle, left};
use model_kit::slow::Bucket;
use packet::PortId;

mod allowed;
mod bypass;
mod calls;
mod choice;
pub mod deterministic;
mod ds_lite;
mod errors;
mod fragments;
mod gateway;
mod hairpins;
mod host;
mod interfaces;
mod lengths;
mod links;
mod nat64;
mod networks;
mod packets;
mod pcp;
mod port_forwarding;
mod reading;
mod reports;
mod siit;
mod tables;
mod vrfs;
mod workers;

use deterministic::Plan;
use ds_lite::Opened;
pub use gateway::sequences;
use host::Neighbours;
use interfaces::Interfaces;
use networks::{first, holds, same, share};
use packets::{Packet, address, sum, word};
use reading::Reading;
use reports::Reports;
use tables::{Begun, End, Own, Session, Tables, Who};

/// The model of a NAT.
#[derive(Clone)]
pub struct Model {
    config: Config,
    shard: Shard,
    tables: Tables,
    /// Pools, and whether new subscribers may have their addresses.
    pools: Vec<(Prefixed<Ipv4Addr>, bool)>,
    session_limit: usize,
    /// Most sessions, mappings and subscribers.
    room: [usize; 3],
    /// Most connections whose sequence numbers are kept.
    connections: usize,
    plan: Plan,
    /// The hash that whoever steers has in common with the workers.
    steering: Steering,
    /// For errors of its own.
    errors: Bucket,
    datagrams: fragments::Datagrams,
    softwires: ds_lite::Softwires,
    neighbours: Neighbours,
    interfaces: Interfaces,
    pcp: pcp::Told,
    /// Whom the last limit concerned.
    concerned: Who,
    /// What the link takes for which the packet in hand is too long.
    met: Option<u16>,
    /// The VLAN of the frame in hand; 0 without one.
    realm: u16,
    /// The same of what left inside because of it.
    towards: u16,
    /// What logs have to tell; none where logs are off.
    reports: Option<Reports>,
    /// How it takes what is over.
    reading: Reading,
}

/// A verdict, or the name of the reason for dropping.
type Judgement = Result<Expected, &'static str>;

/// What left because of a frame.
type Left<'a> = &'a [(PortId, &'a [u8])];

impl Oracle for Model {
    type Update = Update;

    fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected {
        self.expect_of(port, frame, now, &[])
    }

    fn expect_of(
        &mut self,
        port: PortId,
        frame: &[u8],
        now: Duration,
        became: &[Expected],
    ) -> Expected {
        self.tables.pass(&self.config, now);
        self.datagrams.pass(now);
        // What it says in its own name goes back, is no choice, and lets nothing through.
        let came = self.come_in(port, frame);
        let mut left: Vec<_> = left(became).into_iter().map(|one| self.as_of_side(one)).collect();
        left.retain(|(_, frame)| !host::is_question(frame));
        let left: Vec<_> = left.iter().map(|(port, frame)| (*port, &frame[..])).collect();
        let (port, frame) = match came {
            Ok(came) => came,
            Err(reason) => {
                self.take_note(None, now);
                return Expected::Drop(reason);
            }
        };
        let frame = &frame[..];
        self.note_left(&left);
        let towards = left.iter().map(|(port, frame)| self.realm_of(*port, frame));
        self.towards = towards.max().unwrap_or(0);
        let bare = |(port, frame): &(PortId, &[u8])| (*port, self.bare(*port, frame, &left));
        let bare: Vec<_> = left.iter().map(bare).filter(|(_, frame)| !frame.is_empty()).collect();
        self.note_answer(&bare);
        let mut passed: Vec<_> = bare.iter().map(|(port, frame)| (*port, &frame[..])).collect();
        passed.retain(|(to, left)| *to != port || !self.is_own(*to, left));
        // Whether what is over still takes room where nothing passed is the device's affair.
        let may_differ = passed.is_empty() && !self.tables.lingering.is_empty();
        let before = may_differ.then(|| self.clone());
        let expected = self.become_of(port, frame, now, &passed);
        match before {
            Some(before) => self.reconsider(&before, expected, became, |other| {
                other.become_of(port, frame, now, &passed)
            }),
            None => expected,
        }
    }

    fn foresee(&self, port: PortId, frame: &[u8], now: Duration) -> Option<usize> {
        let mut model = self.clone();
        let expected = model.expect(port, frame, now);
        let made = model.made(now);
        Some(
            made.iter()
                .chain([&expected])
                .filter(|one| matches!(one, Expected::Forward { .. }))
                .count(),
        )
    }

    fn made(&mut self, now: Duration) -> Vec<Expected> {
        self.nothing_in_hand();
        let made = std::mem::take(&mut self.datagrams.made);
        let mut made: Vec<_> = made.into_iter().map(|one| self.addressed(one, now)).collect();
        made.append(&mut self.made_of_neighbours(now));
        made.into_iter().map(|one| self.go_out(one)).collect()
    }

    fn apply(&mut self, update: &Update, now: Duration) -> bool {
        self.tables.pass(&self.config, now);
        self.take_note(None, now);
        let is_possible = match *update {
            Update::AddPool { pool } => self.add_pool(pool),
            Update::DrainPool { pool } => {
                let known = self.pools.iter_mut().find(|(known, _)| same(*known, pool));
                known.map(|(_, open)| *open = false).is_some()
            }
            Update::SetSessionLimit { sessions } => {
                self.session_limit = sessions as usize;
                true
            }
            Update::ClearSubscriber { address, vlan } => {
                let who = self.who_in(vlan, address);
                let softwire = match address {
                    IpAddr::V6(b4) if vlan == 0 => self.realm_of_b4(b4),
                    _ => None,
                };
                let behind = softwire.map(|realm| self.who_in(realm, Ipv4Addr::UNSPECIFIED));
                let is_cleared = |who| self.tables.clear(who, &self.config, now);
                behind.into_iter().chain([who]).any(is_cleared)
            }
        };
        self.take_note(None, now);
        is_possible
    }

    fn is_report(&self, port: PortId, frame: &[u8]) -> bool {
        self.reports.as_ref().is_some_and(|reports| reports.is_one(port, frame))
    }

    fn report(&mut self, frame: &[u8], now: Duration) -> Result<(), String> {
        self.tables.pass(&self.config, now);
        self.take_note(None, now);
        self.reports.as_mut().map_or(Ok(()), |reports| reports.read(frame, now))
    }

    fn unreported(&mut self, now: Duration) -> Vec<String> {
        self.tables.pass(&self.config, now);
        self.take_note(None, now);
        self.reports.as_mut().map_or(Vec::new(), |reports| reports.overdue(now))
    }
}

impl Model {
    /// The NAT as configured, or the part of it that one of several workers has.
    pub fn new(config: &Config, shard: Shard) -> Model {
        let share = |count| share(count, shard.count) as usize;
        Model {
            config: config.clone(),
            shard,
            tables: Tables::default(),
            pools: config.all_pools().map(|pool| (pool, true)).collect(),
            session_limit: config.sessions_per_subscriber as usize,
            room: [
                share(config.sessions),
                share(config.mapping_capacity()),
                share(config.subscribers),
            ],
            connections: share(config.alg.connections),
            plan: Plan::new(config),
            steering: config.steering(),
            errors: Bucket::new(config.icmp_errors_per_s, config.icmp_error_burst),
            datagrams: fragments::Datagrams::default(),
            softwires: ds_lite::Softwires::default(),
            neighbours: Neighbours::new(config),
            interfaces: Interfaces::new(config),
            pcp: pcp::Told::default(),
            concerned: Who { realm: 0, b4: None, address: Ipv4Addr::UNSPECIFIED.into() },
            met: None,
            realm: 0,
            towards: 0,
            reports: Reports::new(config, shard),
            reading: Reading::default(),
        }
    }

    /// What becomes of a frame of which this passed.
    fn become_of(
        &mut self,
        port: PortId,
        frame: &[u8],
        now: Duration,
        passed: Left<'_>,
    ) -> Expected {
        let (realm, frame) = match self.enter(port, frame) {
            Ok(entered) => entered,
            Err(reason) => {
                self.take_note(None, now);
                return Expected::Drop(reason);
            }
        };
        if self.hears((port, realm), &frame, now) {
            self.take_note(None, now);
            return Expected::Drop("neighbour-heard");
        }
        self.realm = realm;
        let (judged, frame) = match self.open_tunnel(port, &frame, now) {
            Ok(Opened::Inner(realm, inner)) => {
                self.realm = realm;
                (self.judge(port, &inner, now, passed), inner)
            }
            Ok(Opened::Bare) => (self.judge(port, &frame, now, passed), frame),
            Ok(Opened::Answered(answer)) => (Ok(answer), frame),
            Err(reason) => (Err(reason), frame),
        };
        let want = judged.as_ref().err().copied().or(self.pcp.want.take());
        self.take_note(want, now);
        let whole = self.concluded((port, &frame), judged, now, passed);
        let whole = self.cut_tunnelled(whole);
        let whole = self.addressed(self.in_place(whole), now);
        self.go_out(whole)
    }

    /// Ethernet: a frame for this station of a type it knows.
    fn judge(&mut self, port: PortId, frame: &[u8], now: Duration, left: Left<'_>) -> Judgement {
        if frame.len() < 14 {
            return Err("truncated");
        }
        if word(frame, 12) == 0x86dd && port == INSIDE && self.config.nat64.is_some() {
            return self.judge_ipv6(frame, now, left);
        }
        if word(frame, 12) == 0x86dd && self.is_port_of(port, Family::Ipv6) {
            return self.judge_siit_ipv6(port, frame, left);
        }
        let is_arp = word(frame, 12) == 0x0806;
        let for_all = is_arp && frame[..6] == [0xff; 6];
        if frame[..6] != self.mac(port) && !for_all {
            return Err("other-station");
        }
        match word(frame, 12) {
            0x0806 => self.judge_arp(port, frame),
            0x0800 => match self.judge_ipv4(port, &frame[14..], now, left) {
                Err("local") => self.judge_local(port, frame, now),
                judged => judged,
            },
            _ => Err("unknown-ethertype"),
        }
    }

    /// RFC 791 and RFC 1812 section 5.2.2: a sound packet that goes somewhere else.
    fn judge_ipv4(
        &mut self,
        port: PortId,
        packet: &[u8],
        now: Duration,
        left: Left<'_>,
    ) -> Judgement {
        if packet.len() < 20 || packet[0] >> 4 != 4 {
            return Err("ip-malformed");
        }
        let (header, total) = (usize::from(packet[0] & 0x0f) * 4, usize::from(word(packet, 2)));
        if header < 20 || total < header || total > packet.len() {
            return Err("ip-malformed");
        }
        if sum(&packet[..header]) != 0xffff {
            return Err("ip-checksum");
        }
        if self.is_itself(port, address(packet, 16)) {
            return Err("local");
        }
        let packet = &packet[..total];
        if self.is_siit(port, packet) {
            return self.judge_siit_ipv4(port, packet);
        }
        if self.is_bypassed(port, packet) {
            return self.judge_bypassed(port, packet);
        }
        if word(packet, 6) & 0x3fff != 0 {
            return self.judge_fragment(port, packet, now, left);
        }
        let transport = &packet[header..];
        let (protocol, [from, to]) = (packet[9], [12, 16].map(|at| address(packet, at)));
        let malformed = Err("transport-malformed");
        let ports = match protocol {
            17 if transport.len() < 8 || usize::from(word(transport, 4)) != transport.len() => {
                return malformed;
            }
            6 if transport.len() < 20 => return malformed,
            6 if !(20..=transport.len()).contains(&(usize::from(transport[12] >> 4) * 4)) => {
                return malformed;
            }
            6 | 17 => [word(transport, 0), word(transport, 2)],
            1 if transport.len() < 8 || sum(transport) != 0xffff => return malformed,
            1 => match (transport[0], port == INSIDE) {
                (0 | 8 | 13 | 14, true) => [word(transport, 4), 0],
                (0 | 8 | 13 | 14, false) => [0, word(transport, 4)],
                (3 | 11 | 12, _) => return self.judge_error(port, packet, now),
                _ => return Err("protocol-unsupported"),
            },
            47 if self.config.alg.pptp => return self.judge_call(port, packet, now, left),
            _ => return Err("protocol-unsupported"),
        };
        let packet = Packet {
            bytes: packet.to_vec(),
            protocol,
            source: (from, ports[0]),
            destination: (to, ports[1]),
            transport: header,
        };
        if packet.ttl() <= 1 {
            return Err("ttl-expired");
        }
        match port == INSIDE {
            true => self.leaving(&packet, now, left),
            false => self.arriving(&packet, now, left),
        }
    }

    /// A subscriber's packet: its source becomes that of its mapping (RFC 4787 REQ-1).
    fn leaving(&mut self, packet: &Packet, now: Duration, left: Left<'_>) -> Judgement {
        let own = (packet.protocol, (self.who(packet.source.0), packet.source.1));
        let begun = self.begin(own, packet.destination, packet.flags(), now, left)?;
        let translated = packet.with_ends(begun.outside, packet.destination);
        self.onward(&begun, &translated.clamped(self.config.mss_clamp), now, left)
    }

    /// The session of a subscriber's packet to `far`.
    fn begin(
        &mut self,
        own: Own,
        far: End,
        tcp_flags: u8,
        now: Duration,
        left: Left<'_>,
    ) -> Result<Begun, &'static str> {
        let known = self.tables.mappings.get(&own);
        let has_session = known.is_some_and(|mapping| mapping.sessions.contains_key(&far));
        if !has_session {
            let maps = known.is_none();
            self.may_open(own, far, tcp_flags)?;
            self.concerned = own.1.0;
            self.check_limits(own.1.0, maps, left)?;
            if maps {
                let outside = self.choose(own, now, left)?;
                self.tables.begin(own, outside);
            }
            let mut session = Session::default();
            if own.0 == 6 && tcp_flags & 2 == 0 {
                session.syn = [true; 2];
            }
            self.tables.join(own, far, session);
        }
        let mapping = self.tables.mappings.get_mut(&own).ok_or("unhandled")?;
        let outside = mapping.outside;
        let session = mapping.sessions.get_mut(&far).ok_or("unhandled")?;
        session.leaves(tcp_flags, now);
        self.note_b4(own.1.0.realm);
        Ok(Begun { own, outside, is_new: !has_session })
    }

    /// A packet to an outside address: its destination becomes that of the mapping's subscriber.
    fn arriving(&mut self, packet: &Packet, now: Duration, left: Left<'_>) -> Judgement {
        let outside = packet.destination;
        if !self.is_outside(outside.0) {
            return Err("no-address");
        }
        let own = match self.tables.owner(packet.protocol, outside) {
            Some(own) => own,
            None => self.open_static(packet, now, left)?,
        };
        let mapping = self.tables.mappings.get(&own).ok_or("unhandled")?;
        if !mapping.sessions.contains_key(&packet.source) {
            let known = mapping.sessions.keys().any(|far| far.0 == packet.source.0);
            let whose = [None, Some(packet.source.0)];
            let is_expected = whose.iter().any(|who| mapping.expected.contains_key(who));
            let expected = is_expected || mapping.granted.is_some();
            match self.config.filtering {
                Filtering::EndpointIndependent => {}
                Filtering::AddressDependent if known => {}
                _ if expected => {}
                _ => return Err("filtered"),
            }
            let session = Session::of_mapping(mapping, (own.0, now), &self.config);
            self.check_far(own, packet.source.0)?;
            self.concerned = own.1.0;
            self.check_limits(own.1.0, false, left)?;
            self.tables.join(own, packet.source, session);
        }
        let mapping = self.tables.mappings.get_mut(&own).ok_or("unhandled")?;
        let session = mapping.sessions.get_mut(&packet.source).ok_or("unhandled")?;
        session.comes(packet.flags(), now, &self.config);
        match own.1.0.address {
            IpAddr::V4(inside) => {
                let far = packet.source;
                let packet = packet.with_ends(far, (inside, own.1.1));
                let packet = packet.clamped(self.config.mss_clamp);
                let packet = self.by_gateway(packet, (own, far, false), now, left);
                Ok(self.frame_in(own.1.0.realm, &packet.bytes))
            }
            IpAddr::V6(inside) => self.arriving_ipv6(packet, (inside, own.1.1)),
        }
    }

    /// A packet for an address, or a port of one, that a subscriber has for itself.
    fn open_static(
        &mut self,
        packet: &Packet,
        now: Duration,
        left: Left<'_>,
    ) -> Result<Own, &'static str> {
        let outside = packet.destination;
        let fixed = self.inside_of(packet.protocol, outside);
        if (fixed.is_some() || packet.protocol != 1) && !self.is_here(packet.protocol, outside) {
            return Err("other-worker");
        }
        let (inside, port) = fixed.ok_or("no-mapping")?;
        if self.config.filtering != Filtering::EndpointIndependent {
            return Err("filtered");
        }
        let own = (packet.protocol, (self.who_in(0, inside), port));
        self.concerned = own.1.0;
        self.check_limits(own.1.0, true, left)?;
        let outside = self.choose(own, now, left)?;
        self.tables.begin(own, outside);
        self.tables.join(own, packet.source, Session::new(now));
        Ok(own)
    }
}
