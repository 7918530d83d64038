//! What the tester sends to a mobile gateway, and how it recognises what comes back.
//!
//! Uplink frames come from users behind their base stations, through the tunnel, to servers;
//! downlink frames from servers to users. A frame follows from the seed, its direction and its
//! number; which base station a user is behind also from the handovers confirmed so far. The user's
//! packet is UDP with port 7 (echo) at the server's end and carries the stamp at its end.
use std::collections::HashMap;

use crate::catalogue;
use crate::section::Section;
use engine::steering::Steering;
use function_kit::sections::Dir;
use function_mobile_gateway::Update;
use function_mobile_gateway::gateway::{ACCESS, CORE};
use function_mobile_gateway::steering;
use machine::clock::Ticks;
use packet::PortId;
use traffic::passing::Passing;
use traffic::random::{Bits, below};
use traffic::workload::{Change, EventKind, PolicedFrame, Policer};
use traffic::{
    Changes, Delivery, Direction, Draw, FarEnds, Floods, Frames, Pacing, Policers, Random,
    SessionFrames, Sizes, Stamp,
};
use wire::bytes::u32_at;
use wire::{ethernet, ipv4, udp};

pub use super::frames::Packet;
use crate::sections::Traffic;

/// The users' traffic.
pub struct Users {
    directions: Vec<Direction>,
    random: [Random; 2],
    users: u32,
    servers: u32,
    base_stations: u32,
    next_hops: u32,
    steering: Steering,
    user_draw: Draw,
    server_draw: Draw,
    port_draw: Draw,
    sizes: Sizes,
    ipv6_share: u32,
    frames: super::frames::Frames,
    events: Vec<EventKind>,
    kinds: Vec<Kind>,
    event_random: Random,
    roaming: Roaming,
    passing_users: Passing,
    passing_servers: Passing,
    policer: Policer,
}

/// Where users are, and what is known of handovers under way.
#[derive(Default)]
struct Roaming {
    /// Base station of each user, with [`RECENT`] set where `recent` has an entry; empty while no
    /// handover can happen.
    base_station: Vec<u32>,
    /// Handovers by user: requested, or applied and not shown by a frame yet, or too fresh to tell
    /// a late frame from one that was under way.
    recent: HashMap<u32, Move>,
}

/// One handover.
#[derive(Clone, Copy)]
struct Move {
    from: u32,
    to: u32,
    applied_at: Option<Ticks>,
    shown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    UserUpdate,
    Handover,
    ServerUpdate,
}

impl Users {
    /// The traffic that a validated configuration describes.
    pub fn new(config: &Section, traffic: &Traffic) -> Users {
        let uplink = Direction { name: "uplink", from: ACCESS, to: CORE };
        let downlink = Direction { name: "downlink", from: CORE, to: ACCESS };
        let directions = match traffic.dir {
            Dir::Uplink => vec![uplink],
            Dir::Downlink => vec![downlink],
            Dir::Bidir => vec![uplink, downlink],
        };
        let seed = traffic.random_seed;
        let mut users = Users {
            directions,
            random: [Random::new(seed, 0), Random::new(seed, 1)],
            users: config.user,
            servers: config.server,
            base_stations: config.bst,
            next_hops: config.nhop,
            steering: steering::of_config(&config.config()),
            user_draw: traffic.user_draw.over(config.user),
            server_draw: traffic.server_draw.over(config.server),
            port_draw: traffic.port_draw.over(u32::from(u16::MAX - PORT_MIN)),
            sizes: traffic.pkt_size.clone(),
            ipv6_share: (traffic.ipv6_share * f64::from(1u32 << 16)) as u32,
            frames: super::frames::Frames::new(config),
            events: Vec::new(),
            kinds: Vec::new(),
            event_random: Random::new(seed, 2),
            roaming: Roaming::default(),
            passing_users: Passing::new(config.fluct_user),
            passing_servers: Passing::new(config.fluct_server),
            policer: Policer {
                bytes_per_s: config.rate_limit.0,
                burst_bytes: config.burst_bytes(),
                subscribers: config.user,
            },
        };
        users.add_event(Kind::UserUpdate, 2.0 * config.fluct_user, traffic.event_pacing);
        users.add_event(Kind::Handover, config.handover, traffic.event_pacing);
        users.add_event(Kind::ServerUpdate, 2.0 * config.fluct_server, traffic.event_pacing);
        if config.handover > 0.0 {
            users.roaming.base_station = (0..config.user).map(|user| user % config.bst).collect();
        }
        users
    }

    /// Adds and removals alternate, so a rate of N of each makes 2 N events a second.
    fn add_event(&mut self, kind: Kind, rate_per_s: f64, pacing: Pacing) {
        if rate_per_s > 0.0 {
            self.events.push(EventKind { name: kind.name(), rate_per_s, pacing });
            self.kinds.push(kind);
        }
    }

    /// The packet of `user` and `server`, as it would be sent in a direction.
    fn packet(&self, uplink: bool, user: u32, server: u32) -> Packet {
        Packet {
            uplink,
            ipv6: false,
            port: PORT_MIN,
            plain_len: PLAIN_LEN_MIN_IPV4,
            user,
            server,
            base_station: self.base_station(user),
        }
    }

    /// Whether a packet is IPv6, by bits of their own.
    fn is_ipv6(&self, bits: u64) -> bool {
        (Random::rehash(bits) as u32 & 0xffff) < self.ipv6_share
    }

    /// The bits by which a user finds its worker.
    #[inline(always)]
    fn worker_bits(&self, user: u32) -> u32 {
        let ipv4 = match user.checked_sub(self.users) {
            None => catalogue::user_ipv4(user),
            Some(passing) => catalogue::passing_user(passing, self.users, 1).ipv4,
        };
        steering::of_user(&self.steering, ipv4)
    }

    #[inline(always)]
    fn base_station(&self, user: u32) -> u32 {
        match self.roaming.base_station.get(user as usize) {
            Some(&base_station) => base_station & !RECENT,
            // Passing users count from 0 again.
            None if user >= self.users => (user - self.users) % self.base_stations,
            None => user % self.base_stations,
        }
    }
}

impl Frames for Users {
    type Draw = Packet;

    fn directions(&self) -> &[Direction] {
        &self.directions
    }

    #[inline(always)]
    fn draw(&self, direction: usize, number: u64) -> Packet {
        let uplink = self.directions[direction].from == ACCESS;
        let random = &self.random[usize::from(!uplink)];
        // Users, servers, ports and sizes together use 62 of the 64 bits at their limits.
        let mut bits = Bits(random.at(number));
        let user = self.user_draw.item(&mut bits, random, number);
        let server = self.server_draw.item(&mut bits, random, !number);
        let port = self.port_draw.item(&mut bits, random, number ^ PORT_TWIST);
        let size = self.sizes.pick(bits.below(256) as u8) - CHECK_SEQUENCE_LEN;
        let ipv6 = self.ipv6_share > 0 && self.is_ipv6(random.at(number));
        let shortest = if ipv6 { PLAIN_LEN_MIN_IPV6 } else { PLAIN_LEN_MIN_IPV4 };
        Packet {
            uplink,
            ipv6,
            port: PORT_MIN + port as u16,
            plain_len: size.max(shortest),
            user,
            server,
            base_station: self.base_station(user),
        }
    }

    #[inline(always)]
    fn frame_len(&self, packet: &Packet) -> usize {
        let tunnel = if packet.uplink { self.frames.tunnel_len() } else { 0 };
        usize::from(packet.plain_len) + tunnel
    }

    #[inline(always)]
    fn steering(&self, packet: &Packet) -> u32 {
        self.worker_bits(packet.user)
    }

    #[inline(always)]
    fn write(&self, packet: &Packet, stamp: Stamp, frame: &mut [u8]) {
        self.frames.write(packet, self.users, self.servers, frame);
        stamp.write(frame);
        if packet.ipv6 {
            self.frames.finish_ipv6(packet, frame);
        }
    }

    #[inline]
    fn delivery(
        &mut self,
        direction: usize,
        packet: &Packet,
        stamp: &Stamp,
        port: PortId,
        frame: &[u8],
    ) -> Delivery {
        if port != self.directions[direction].to {
            return Delivery::Misdelivered;
        }
        if packet.uplink {
            return self.uplink_delivery(packet, frame);
        }
        self.downlink_delivery(packet, stamp, frame)
    }
}

impl Changes for Users {
    type Update = Update;

    fn events(&self) -> &[EventKind] {
        &self.events
    }

    fn next_update(&mut self, kind: usize, number: u64) -> Option<Change<Update>> {
        match *self.kinds.get(kind)? {
            Kind::Handover => self.next_handover(number),
            Kind::UserUpdate => self.next_user(number),
            Kind::ServerUpdate => self.next_server(number),
        }
    }

    fn kind_of(&self, subject: u64) -> Option<usize> {
        let (kind, _) = Kind::of(subject & !REMOVAL);
        self.kinds.iter().position(|&known| Some(known) == kind)
    }

    fn settled(&mut self, subject: u64, applied_at: Option<Ticks>) {
        let (kind, number) = Kind::of(subject);
        if kind == Some(Kind::Handover)
            && let Some(recent) = self.roaming.recent.get_mut(&number)
        {
            recent.applied_at = applied_at;
            match applied_at {
                Some(_) => self.roaming.base_station[number as usize] = recent.to | RECENT,
                None => {
                    self.roaming.base_station[number as usize] = recent.from;
                    self.roaming.recent.remove(&number);
                }
            }
        }
    }

    fn probe(&self, subject: u64) -> Option<(usize, Packet)> {
        let (kind, number) = Kind::of(subject);
        let direction = |port| self.directions.iter().position(|d| d.from == port);
        match kind? {
            Kind::UserUpdate => {
                Some((direction(CORE)?, self.packet(false, self.users + number, 0)))
            }
            Kind::Handover => Some((direction(CORE)?, self.packet(false, number, 0))),
            Kind::ServerUpdate => {
                let user = below(number.wrapping_mul(0x9e37_79b9), self.users);
                Some((direction(ACCESS)?, self.packet(true, user, self.servers + number)))
            }
        }
    }
}

impl Floods for Users {}

impl Policers for Users {
    /// Bearers are policed by the bytes of the user's IP packets; passing users are not told apart
    /// from the frames they are probed by, and left out.
    #[inline]
    fn policed(&self, packet: &Packet) -> Option<PolicedFrame> {
        let bytes = u32::from(packet.plain_len) - ethernet::HEADER_LEN as u32;
        (packet.user < self.users).then_some(PolicedFrame { subscriber: packet.user, bytes })
    }

    fn policer(&self) -> Option<Policer> {
        Some(self.policer)
    }
}

impl FarEnds for Users {}

impl SessionFrames for Users {}

impl Users {
    #[inline(always)]
    fn uplink_delivery(&mut self, packet: &Packet, frame: &[u8]) -> Delivery {
        let is_right = frame.len() == usize::from(packet.plain_len)
            && self.frames.is_plain(packet, self.users, self.servers, frame);
        if !is_right {
            return Delivery::Misdelivered;
        }
        match packet.server.checked_sub(self.servers) {
            Some(number) if self.passing_servers.show(number) => {
                Delivery::Shows(Kind::ServerUpdate.subject(number))
            }
            _ => Delivery::AsExpected,
        }
    }

    #[inline(always)]
    fn downlink_delivery(&mut self, packet: &Packet, stamp: &Stamp, frame: &[u8]) -> Delivery {
        let len = usize::from(packet.plain_len) + self.frames.tunnel_len();
        let teid = self.frames.teid(frame);
        if frame.len() != len || teid != Some(packet.user + 1) {
            return Delivery::Misdelivered;
        }
        let to = u32_at(frame, ethernet::HEADER_LEN + ipv4::offset::DESTINATION);
        let at = |base_station| catalogue::base_station_ipv4(base_station).to_bits();
        let roams = self.roaming.base_station.get(packet.user as usize);
        if roams.is_some_and(|base_station| base_station & RECENT != 0)
            && let Some(recent) = self.roaming.recent.get_mut(&packet.user)
        {
            let subject = Kind::Handover.subject(packet.user);
            if to == at(recent.to) {
                let first = !std::mem::replace(&mut recent.shown, true);
                return if first { Delivery::Shows(subject) } else { Delivery::AsExpected };
            }
            let sent_after = recent.applied_at.is_some_and(|applied| stamp.time > applied);
            return match to == at(recent.from) {
                true if sent_after => Delivery::Late(subject),
                true => Delivery::AsExpected,
                false => Delivery::Misdelivered,
            };
        }
        if to != at(self.base_station(packet.user)) {
            return Delivery::Misdelivered;
        }
        match packet.user.checked_sub(self.users) {
            Some(number) if self.passing_users.show(number) => {
                Delivery::Shows(Kind::UserUpdate.subject(number))
            }
            _ => Delivery::AsExpected,
        }
    }

    /// Moves a random user to any other base station.
    fn next_handover(&mut self, number: u64) -> Option<Change<Update>> {
        let bits = self.event_random.at(number);
        let user = below((bits >> 32) as u32, self.users);
        // A handover under way must not be overtaken by the next one.
        let is_done = |recent: &Move| recent.shown && recent.applied_at.is_some();
        if !self.roaming.recent.get(&user).is_none_or(is_done) {
            return None;
        }
        let from = self.base_station(user);
        let shift = 1 + below(bits as u32, self.base_stations - 1);
        let to = (from + shift) % self.base_stations;
        let moved = Move { from, to, applied_at: None, shown: false };
        self.roaming.recent.insert(user, moved);
        self.roaming.base_station[user as usize] |= RECENT;
        Some(Change {
            subject: Kind::Handover.subject(user),
            steering: Some(self.worker_bits(user)),
            update: catalogue::user(user, self.base_stations).moved(to),
        })
    }

    /// Arrivals and departures in turn.
    fn next_user(&mut self, number: u64) -> Option<Change<Update>> {
        let (passing, adds) = self.passing_users.next(number)?;
        let user = catalogue::passing_user(passing, self.users, self.base_stations);
        let update = if adds { user.added() } else { user.removed() };
        let subject = Kind::UserUpdate.subject_of(passing, adds);
        Some(Change { subject, steering: Some(self.worker_bits(self.users + passing)), update })
    }

    /// Routes that come and go, in turn.
    fn next_server(&mut self, number: u64) -> Option<Change<Update>> {
        let (passing, adds) = self.passing_servers.next(number)?;
        let network = catalogue::network(catalogue::passing_server_ipv4(passing));
        let len = catalogue::SERVER_PREFIX_LEN;
        let update = match adds {
            true => catalogue::add_route(network, len, passing % self.next_hops),
            false => catalogue::remove_route(network, len),
        };
        let subject = Kind::ServerUpdate.subject_of(passing, adds);
        Some(Change { subject, steering: None, update })
    }
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::UserUpdate, Kind::Handover, Kind::ServerUpdate];

    /// TIPSY's name of the event.
    fn name(self) -> &'static str {
        match self {
            Kind::UserUpdate => "user-update",
            Kind::Handover => "handover",
            Kind::ServerUpdate => "server-update",
        }
    }

    /// The subject of a change that frames can show.
    fn subject(self, number: u32) -> u64 {
        (self as u64 + 1) << 32 | u64::from(number)
    }

    /// The same for an addition; a removal shows in no frame and has a subject of its own.
    fn subject_of(self, number: u32, adds: bool) -> u64 {
        if adds { self.subject(number) } else { REMOVAL | self.subject(number) }
    }

    fn of(subject: u64) -> (Option<Kind>, u32) {
        let kind = Kind::ALL.into_iter().find(|&kind| kind as u64 + 1 == subject >> 32);
        (kind, subject as u32)
    }
}

/// Marks a base station of whose user a handover is remembered.
const RECENT: u32 = 1 << 31;

/// Marks the subject of a removal.
const REMOVAL: u64 = 1 << 63;

/// Keeps the port's Zipf draw apart from the user's.
const PORT_TWIST: u64 = 1 << 62;

/// The first UDP port of users.
const PORT_MIN: u16 = 1024;

/// Length of the Ethernet frame check sequence, which frames in memory do not hold.
const CHECK_SEQUENCE_LEN: u16 = 4;

/// Ethernet, IPv4 and UDP header.
const PLAIN_HEAD_LEN: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN + udp::HEADER_LEN;

/// The shortest frame that holds the headers and a stamp: 60 bytes for IPv4, the Ethernet minimum.
const PLAIN_LEN_MIN_IPV4: u16 = (PLAIN_HEAD_LEN + traffic::stamp::STAMP_LEN) as u16;
const PLAIN_LEN_MIN_IPV6: u16 = PLAIN_LEN_MIN_IPV4 + 20;
