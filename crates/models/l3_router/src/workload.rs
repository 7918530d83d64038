//! What the tester sends to a router, and how it recognises what comes back.
//!
//! A frame follows from the seed, its direction and its number: the route it takes, its UDP port,
//! its length and version of IP. The next hop before the router sends it, from a host of a route
//! behind the port where it comes in. Every frame's way out is known: the port, both Ethernet
//! addresses, one hop less to go.

mod events;
use crate::ports::{DOWNLINK, Numbered, SIDES, UPLINK, other};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_l3_router::config::Dir;
use function_l3_router::control::Said;
use machine::clock::Clock;
use model_kit::floods::{FloodFrames, Neighbour, Target};
use model_kit::test_packets::{self, ECHO_PORT, Ends, PORT_MIN, PORTS, TestPackets};
use packet::PortId;
use traffic::passing::Passing;
use traffic::random::Bits;
use traffic::workload::{Change, EventKind, FloodKind};
use traffic::{
    Changes, Delivery, Direction, Draw, Floods, Frames, Pacing, Policers, Random, SessionFrames,
    Sizes, Stamp,
};
use wire::bytes::{array_at, u16_at, u32_at};
use wire::{MacAddr, ethernet, ipv4, ipv6};

use self::events::{Kind, REMOVAL};
use super::ends::{Listed, Side};
use super::far_end::FarEnd;
use super::internet::Flows;
use super::paths::{Paths, Taken, macs_of};
use crate::catalogue::{self, GROUPS, passing_side};
use crate::generated::{self, Section};
use crate::sections::Traffic;

/// Packets to the routes of a table.
pub struct Routed {
    directions: Vec<Direction>,
    random: [Random; 2],
    route_draws: [Draw; 2],
    port_draw: Draw,
    sizes: Sizes,
    ipv6_share: u32,
    packets: TestPackets,
    sides: [Side; 2],
    listed: Listed,
    internet: Flows,
    /// Where routes lead to groups.
    paths: Option<Paths>,
    section: Section,
    kinds: Vec<(Kind, EventKind)>,
    events: Vec<EventKind>,
    passing_routes: Passing,
    passing_hops: Passing,
    floods: FloodFrames,
    /// Who is at the far end of the next hop that is watched.
    pub(super) far_end: Option<FarEnd>,
}

/// What a frame's number decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Behind which port its route is.
    pub to: PortId,
    /// Whether it is IPv6.
    pub ipv6: bool,
    /// The flow's UDP port.
    pub port: u16,
    /// Length of the frame without check sequence, in bytes.
    pub len: u16,
    /// Its route.
    pub route: RouteId,
}

/// A route that packets are sent to, behind a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteId {
    /// Of the table: generated ones first, then those of the list, then flows to the Internet.
    Table(u32),
    /// One that comes and goes.
    Passing(u32),
    /// One whose next hop comes and goes.
    PassingHop(u32),
}

impl Routed {
    /// The traffic that a validated configuration describes.
    pub fn new(section: &Section, traffic: &Traffic) -> Routed {
        let generated = &section.generated;
        let uplink = Direction { name: "uplink", from: DOWNLINK, to: UPLINK };
        let downlink = Direction { name: "downlink", from: UPLINK, to: DOWNLINK };
        let directions = match traffic.dir {
            Dir::Uplink => vec![uplink],
            Dir::Downlink => vec![downlink],
            Dir::Bidir => vec![uplink, downlink],
        };
        let seed = traffic.random_seed;
        let listed = Listed::new(section);
        let internet = Flows::new(section, traffic);
        let draw = |port| {
            let internet = if port == UPLINK { internet.count() } else { 0 };
            let routes = generated.table_size(port) + listed.count(port) + internet;
            traffic.route_draw.over(routes.max(1))
        };
        let mut routed = Routed {
            directions,
            random: [Random::new(seed, 0), Random::new(seed, 1)],
            route_draws: SIDES.map(draw),
            port_draw: traffic.port_draw.over(PORTS),
            sizes: traffic.pkt_size.clone(),
            ipv6_share: (traffic.ipv6_share * f64::from(1u32 << 16)) as u32,
            packets: TestPackets::new(),
            sides: SIDES.map(|port| Side::new(section, port)),
            listed,
            internet,
            paths: Paths::new(&generated::config(section)),
            section: section.clone(),
            kinds: Vec::new(),
            events: Vec::new(),
            passing_routes: Passing::new(generated.fluct_l3_table),
            passing_hops: Passing::new(generated.fluct_group_table),
            floods: FloodFrames::new(target(section)),
            far_end: None,
        };
        routed.add_event(Kind::Route, 2.0 * generated.fluct_l3_table, traffic.event_pacing);
        routed.add_event(Kind::NextHop, 2.0 * generated.fluct_group_table, traffic.event_pacing);
        routed
    }

    /// The same traffic with the far end of the next hop that is watched, if there is one.
    pub fn with_far_end(mut self, clock: Clock) -> Routed {
        let config = generated::config(&self.section);
        self.far_end = FarEnd::new(&config, self.random[0].at(0), clock);
        self
    }

    /// Adds and removals alternate, so a rate of N of each makes 2 N events a second.
    fn add_event(&mut self, kind: Kind, rate_per_s: f64, pacing: Pacing) {
        if rate_per_s > 0.0 {
            let event = EventKind { name: kind.name(), rate_per_s, pacing };
            self.kinds.push((kind, event));
            self.events.push(event);
        }
    }

    /// The addresses of a packet.
    #[inline(always)]
    fn ends(&self, packet: &Packet) -> Ends {
        let (to, from) = (packet.to, other(packet.to));
        match packet.route {
            RouteId::Table(number) => {
                let generated = self.sides[usize::from(to.0)].routes;
                let source = self.sides[usize::from(from.0)];
                match number.checked_sub(generated) {
                    None if packet.ipv6 => Ends::V6 {
                        source: source.host_ipv6(number),
                        destination: catalogue::host_ipv6(catalogue::route_ipv6(to, number)),
                    },
                    None => Ends::V4 {
                        source: source.host_ipv4(number),
                        destination: catalogue::host_ipv4(catalogue::route_ipv4(to, number)),
                    },
                    Some(listed) if listed >= self.listed.count(to) => {
                        let flow = listed - self.listed.count(to);
                        self.ends_of_flow(flow, packet.ipv6, source)
                    }
                    Some(listed) => match self.listed.host(to, listed) {
                        IpAddr::V4(host) => Ends::V4 {
                            source: source.host_ipv4(listed),
                            destination: host.to_bits(),
                        },
                        IpAddr::V6(host) => Ends::V6 {
                            source: source.host_ipv6(listed),
                            destination: host.to_bits(),
                        },
                    },
                }
            }
            RouteId::Passing(number) => Ends::V4 {
                source: self.sides[usize::from(from.0)].host_ipv4(number),
                destination: catalogue::host_ipv4(catalogue::passing_route_ipv4(to, number)),
            },
            RouteId::PassingHop(number) => Ends::V4 {
                source: self.sides[usize::from(from.0)].host_ipv4(number),
                destination: catalogue::host_ipv4(catalogue::passing_hop_route_ipv4(to, number)),
            },
        }
    }

    /// The addresses of a packet to the Internet.
    #[inline(always)]
    fn ends_of_flow(&self, flow: u32, ipv6: bool, source: Side) -> Ends {
        match ipv6 {
            true => {
                Ends::V6 { source: source.host_ipv6(flow), destination: self.internet.ipv6(flow) }
            }
            false => {
                Ends::V4 { source: source.host_ipv4(flow), destination: self.internet.ipv4(flow) }
            }
        }
    }

    /// Destination and source of the frame as it must leave, and as it left but for them.
    #[inline(always)]
    fn macs_out(&self, packet: &Packet, frame: &[u8]) -> [u8; 12] {
        if let Some(paths) = &self.paths
            && let Some(group) = self.group_of(packet)
        {
            return paths.macs_out(group, frame);
        }
        let side = &self.sides[usize::from(packet.to.0)];
        match packet.route {
            RouteId::Table(number) => match number.checked_sub(side.routes) {
                None => side.macs_out(number),
                Some(listed) if listed >= self.listed.count(packet.to) => {
                    let flow = listed - self.listed.count(packet.to);
                    side.macs_out(self.internet.group(flow, packet.ipv6))
                }
                Some(listed) => self.listed.macs_out(packet.to, listed),
            },
            RouteId::Passing(number) => side.macs_out(number),
            RouteId::PassingHop(number) => {
                let hop = catalogue::passing_hop(&self.section, packet.to, number);
                macs_of(&hop, self.section.config.mac(packet.to).0)
            }
        }
    }

    /// The number of the group to which a packet's route leads, if it does.
    fn group_of(&self, packet: &Packet) -> Option<u32> {
        let to = packet.to;
        let generated = |number| {
            let target = generated::target(&self.section, to, number);
            (target >= GROUPS).then_some(target)
        };
        match packet.route {
            RouteId::Table(number) => {
                match number.checked_sub(self.sides[usize::from(to.0)].routes) {
                    None => generated(number),
                    Some(listed) if listed >= self.listed.count(to) => {
                        let flow = listed - self.listed.count(to);
                        generated(self.internet.group(flow, packet.ipv6))
                    }
                    Some(listed) => self.listed.group(to, listed),
                }
            }
            RouteId::Passing(number) => generated(number),
            RouteId::PassingHop(_) => None,
        }
    }

    /// What became of a packet on a route to a group whose members come and go; none on others.
    fn taken(
        &mut self,
        packet: &Packet,
        stamp: &Stamp,
        (port, frame): (PortId, &[u8]),
    ) -> Option<Delivery> {
        let taken = self.paths.as_ref()?.taken(self.group_of(packet)?, port, frame);
        let end = self.far_end.as_mut()?;
        Some(match taken {
            Taken::Watched => end.take(stamp.time),
            Taken::Other => Delivery::AsExpected,
            Taken::None => Delivery::Misdelivered,
        })
    }

    /// Whether a packet is IPv6, by bits of their own; a listed route has the version it has.
    #[inline(always)]
    fn is_ipv6(&self, to: PortId, route: u32, bits: u64) -> bool {
        let drawn =
            || self.ipv6_share > 0 && (Random::rehash(bits) as u32 & 0xffff) < self.ipv6_share;
        match route.checked_sub(self.sides[usize::from(to.0)].routes) {
            None => drawn(),
            Some(listed) if listed >= self.listed.count(to) => self.internet.is_ipv6(drawn()),
            Some(listed) => self.listed.host(to, listed).is_ipv6(),
        }
    }

    /// The first packet to a route, as it is sent in a probe.
    fn packet(&self, to: PortId, route: RouteId) -> Packet {
        let len = test_packets::frame_len(test_packets::FRAME_BYTES_MIN, false);
        Packet { to, ipv6: false, port: PORT_MIN, len, route }
    }

    /// Behind which port passing route `number` is: the directions that are sent take turns, so
    /// that packets can show it.
    fn passing_route_side(&self, number: u32) -> PortId {
        let direction = number as usize % self.directions.len();
        self.directions[direction].to
    }
}

impl Frames for Routed {
    type Draw = Packet;

    fn directions(&self) -> &[Direction] {
        &self.directions
    }

    #[inline(always)]
    fn draw(&self, direction: usize, number: u64) -> Packet {
        let to = self.directions[direction].to;
        let random = &self.random[usize::from(to == DOWNLINK)];
        // Routes, ports and sizes together use 44 of the 64 bits at their limits.
        let mut bits = Bits(random.at(number));
        let route = self.route_draws[usize::from(to.0)].item(&mut bits, random, number);
        let port = self.port_draw.item(&mut bits, random, number ^ PORT_TWIST);
        let size = self.sizes.pick(bits.below(256) as u8);
        let ipv6 = self.is_ipv6(to, route, random.at(number));
        Packet {
            to,
            ipv6,
            port: PORT_MIN + port as u16,
            len: test_packets::frame_len(size, ipv6),
            route: RouteId::Table(route),
        }
    }

    #[inline(always)]
    fn frame_len(&self, packet: &Packet) -> usize {
        packet.len.into()
    }

    /// Any worker can have a packet; flows keep theirs.
    #[inline(always)]
    fn steering(&self, packet: &Packet) -> u32 {
        let route = match packet.route {
            RouteId::Table(number) => number,
            RouteId::Passing(number) | RouteId::PassingHop(number) => !number,
        };
        (Random::rehash(u64::from(route) << 16 | u64::from(packet.port)) >> 32) as u32
    }

    #[inline(always)]
    fn prefetch(&self, packet: &Packet) {
        if let RouteId::Table(number) = packet.route
            && let Some(listed) = number.checked_sub(self.sides[usize::from(packet.to.0)].routes)
            && let Some(flow) = listed.checked_sub(self.listed.count(packet.to))
        {
            self.internet.prefetch(flow, packet.ipv6);
        }
    }

    #[inline(always)]
    fn write(&self, packet: &Packet, stamp: Stamp, frame: &mut [u8]) {
        let macs = self.sides[usize::from(other(packet.to).0)].macs_in;
        let ports = match packet.to {
            UPLINK => (packet.port, ECHO_PORT),
            _ => (ECHO_PORT, packet.port),
        };
        self.packets.write(macs, self.ends(packet), ports, stamp, frame);
    }

    #[inline(always)]
    fn delivery(
        &mut self,
        direction: usize,
        packet: &Packet,
        stamp: &Stamp,
        port: PortId,
        frame: &[u8],
    ) -> Delivery {
        let is_whole =
            frame.len() == usize::from(packet.len) && is_a_hop_further(self.ends(packet), frame);
        if is_whole
            && self.far_end.is_some()
            && let Some(delivery) = self.taken(packet, stamp, (port, frame))
        {
            return delivery;
        }
        let is_there = is_whole
            && port == self.directions[direction].to
            && array_at::<12>(frame, 0) == self.macs_out(packet, frame);
        if !is_there {
            return Delivery::Misdelivered;
        }
        let shows = match packet.route {
            RouteId::Table(_) => None,
            RouteId::Passing(number) => {
                self.passing_routes.show(number).then(|| Kind::Route.subject(number))
            }
            RouteId::PassingHop(number) => {
                self.passing_hops.show(number).then(|| Kind::NextHop.subject(number))
            }
        };
        shows.map_or(Delivery::AsExpected, Delivery::Shows)
    }
}

impl Changes for Routed {
    type Update = Said;

    fn events(&self) -> &[EventKind] {
        &self.events
    }

    fn next_update(&mut self, kind: usize, number: u64) -> Option<Change<Said>> {
        let kind = self.kinds.get(kind)?.0;
        let in_turn = match kind {
            Kind::Route => &mut self.passing_routes,
            Kind::NextHop => &mut self.passing_hops,
        };
        let (passing, adds) = in_turn.next(number)?;
        let update = match kind {
            Kind::Route => {
                let side = self.passing_route_side(passing);
                events::route(&self.section, side, passing, adds)?
            }
            Kind::NextHop => events::next_hop(&self.section, passing, adds),
        };
        let (subject, update) = (kind.subject_of(passing, adds), update.said());
        Some(Change { subject, steering: None, update })
    }

    fn kind_of(&self, subject: u64) -> Option<usize> {
        let (kind, _) = Kind::of(subject & !REMOVAL);
        self.kinds.iter().position(|&(known, _)| Some(known) == kind)
    }

    fn probe(&self, subject: u64) -> Option<(usize, Packet)> {
        let (kind, number) = Kind::of(subject);
        let (to, route) = match kind? {
            Kind::Route => (self.passing_route_side(number), RouteId::Passing(number)),
            Kind::NextHop => (passing_side(number), RouteId::PassingHop(number)),
        };
        let direction = self.directions.iter().position(|direction| direction.to == to)?;
        Some((direction, self.packet(to, route)))
    }
}

impl Floods for Routed {
    fn floods(&self) -> &[FloodKind] {
        self.floods.kinds()
    }

    fn flood_len(&self, kind: usize) -> usize {
        self.floods.len(kind)
    }

    fn write_flood(&self, kind: usize, number: u64, frame: &mut [u8]) {
        self.floods.write(kind, number, frame);
    }

    fn answers_flood(&self, kind: usize, frame: &[u8]) -> bool {
        self.floods.is_answer(kind, frame)
    }
}

impl Policers for Routed {}

impl SessionFrames for Routed {}

/// The router as a target of floods, which come in from the Internet: from the first next hop
/// there.
fn target(section: &Section) -> Target {
    let config = &section.config;
    let hop = catalogue::next_hop(section, UPLINK, 0);
    let own = config.ip(UPLINK).address;
    let beyond = Side::new(section, DOWNLINK);
    Target {
        port: UPLINK,
        mac: MacAddr(config.mac(UPLINK).0),
        ipv4: own,
        ipv6: config.ipv6.then(|| config.ipv6_of(UPLINK).address),
        neighbour: Neighbour {
            mac: MacAddr(hop.mac.0.0),
            ipv4: hop.ip.unwrap_or(own),
            ipv6: hop.ipv6,
        },
        beyond_ipv4: Ipv4Addr::from_bits(beyond.host_ipv4(0)),
        beyond_ipv6: config.ipv6.then(|| Ipv6Addr::from_bits(beyond.host_ipv6(0))),
    }
}

/// Whether a frame goes where it should with one hop less to go.
#[inline(always)]
fn is_a_hop_further(ends: Ends, frame: &[u8]) -> bool {
    const IP: usize = ethernet::HEADER_LEN;
    match ends {
        Ends::V4 { source, destination } => {
            u16_at(frame, ethernet::offset::TYPE) == ethernet::TYPE_IPV4
                && frame[IP + ipv4::offset::TTL] == test_packets::TTL - 1
                && u32_at(frame, IP + ipv4::offset::SOURCE) == source
                && u32_at(frame, IP + ipv4::offset::DESTINATION) == destination
        }
        Ends::V6 { source, destination } => {
            let address = |offset| u128::from_be_bytes(array_at(frame, IP + offset));
            u16_at(frame, ethernet::offset::TYPE) == ethernet::TYPE_IPV6
                && frame[IP + ipv6::offset::HOP_LIMIT] == test_packets::TTL - 1
                && address(ipv6::offset::SOURCE) == source
                && address(ipv6::offset::DESTINATION) == destination
        }
    }
}

/// Keeps the port's Zipf draw apart from the route's.
const PORT_TWIST: u64 = 1 << 62;
