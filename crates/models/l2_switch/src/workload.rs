//! What the tester sends to a bridge, and how it recognises what comes back.
//!
//! A frame follows from the seed, its direction and its number: from a station behind the port
//! where it comes in to one behind the other, and holds a UDP packet. A bridge leaves frames as
//! they are, so that what comes back is what was sent; a patch may give it another source.
use function_l2_switch::config::features::Attachment;
use function_l2_switch::config::{Dir, Mac, Mode, Port};
use function_l2_switch::control::Update;
use model_kit::test_packets::{self, ECHO_PORT, Ends, PORT_MIN, PORTS, TestPackets};
use packet::PortId;
use traffic::passing::Passing;
use traffic::random::Bits;
use traffic::workload::{Change, EventKind};
use traffic::{
    Changes, Delivery, Direction, Draw, FarEnds, Floods, Frames, Policers, Random, SessionFrames,
    Sizes, Stamp,
};
use wire::MacAddr;
use wire::bytes::{array_at, put_array};
use wire::ethernet::TAG_LEN;

use crate::catalogue;
use crate::generated::{Section, pairs};
use crate::sections::Traffic;

/// Frames between stations.
pub struct Stations {
    directions: Vec<Direction>,
    random: [Random; 2],
    /// Stations that frames go to, by the port behind which they are.
    destination_draws: [Draw; 2],
    /// Stations that frames come from.
    source_draws: [Draw; 2],
    port_draw: Draw,
    sizes: Sizes,
    ipv6_share: u32,
    packets: TestPackets,
    generated: [u32; 2],
    /// Address and place among `pairs` of the domain.
    listed: [Vec<(MacAddr, u32)>; 2],
    /// By the domains that both ports are in, and by port: the tags of frames.
    pairs: Vec<[Tags; 2]>,
    /// The numbers of these domains.
    domains: Vec<u16>,
    /// What sources become on the way, by the port where frames come in.
    swaps: [Option<MacAddr>; 2],
    events: Vec<EventKind>,
    passing: Passing,
}

/// The tags of a circuit's frames, and how many bytes they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tags {
    bytes: [u8; 2 * TAG_LEN],
    len: u8,
}

/// What a frame's number decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Behind which port its destination is.
    pub to: Port,
    /// Whether it holds IPv6.
    pub ipv6: bool,
    /// The flow's UDP port.
    pub port: u16,
    /// Its length without check sequence, in bytes.
    pub len: u16,
    /// Place of its domain among those that both ports are in.
    pub domain: u16,
    /// The station that it comes from.
    pub source: u32,
    /// The station that it goes to.
    pub destination: StationId,
}

/// A station that frames go to, behind a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StationId {
    /// Of the table: generated ones first, then those of the list.
    Table(u32),
    /// One that comes and goes.
    Passing(u32),
}

impl Stations {
    /// The traffic that a validated configuration describes.
    pub fn new(section: &Section, traffic: &Traffic) -> Stations {
        let Section { generated: numbers, config } = section;
        let uplink = Direction { name: "uplink", from: Port::DOWNLINK.id(), to: Port::UPLINK.id() };
        let downlink =
            Direction { name: "downlink", from: Port::UPLINK.id(), to: Port::DOWNLINK.id() };
        let directions = match traffic.dir {
            Dir::Uplink => vec![uplink],
            Dir::Downlink => vec![downlink],
            Dir::Bidir => vec![uplink, downlink],
        };
        let seed = traffic.random_seed;
        let domains = pairs(config);
        let place = |domain: u16| domains.iter().position(|id| *id == domain);
        let listed = Port::ALL.map(|port| {
            let stations = config.all_stations().filter(|station| station.port == port);
            stations
                .filter_map(|station| Some((station.mac.0, place(station.domain)? as u32)))
                .collect::<Vec<_>>()
        });
        let circuits = config.circuits();
        let pairs = domains.iter().map(|domain| {
            Port::ALL.map(|port| {
                let at = |one: &&Attachment| one.port == port && one.domain == *domain;
                circuits.iter().find(at).map_or(Tags::default(), Tags::of)
            })
        });
        // A port without a station has one that nobody knows, so that there is something to send.
        let generated = Port::ALL.map(|port| {
            match numbers.table_size(port) as usize + listed[usize::from(port.id().0)].len() {
                0 => 1,
                _ => numbers.table_size(port),
            }
        });
        let count = |port: Port| {
            generated[usize::from(port.id().0)] + listed[usize::from(port.id().0)].len() as u32
        };
        let events = match numbers.fluct_table > 0.0 {
            true => vec![EventKind {
                name: "table-update",
                rate_per_s: 2.0 * numbers.fluct_table,
                pacing: traffic.event_pacing,
            }],
            false => Vec::new(),
        };
        Stations {
            directions,
            random: [Random::new(seed, 0), Random::new(seed, 1)],
            destination_draws: Port::ALL.map(|port| traffic.station_draw.over(count(port))),
            source_draws: Port::ALL.map(|port| traffic.source_draw.over(count(port))),
            port_draw: traffic.port_draw.over(PORTS),
            sizes: traffic.pkt_size.clone(),
            ipv6_share: (traffic.ipv6_share * f64::from(1u32 << 16)) as u32,
            packets: TestPackets::new(),
            generated,
            listed,
            pairs: pairs.collect(),
            domains,
            swaps: match config.mode {
                Mode::Bridge => [None; 2],
                Mode::Patch => Port::ALL.map(|port| config.source_from(port)),
            },
            events,
            passing: Passing::new(numbers.fluct_table),
        }
    }

    /// Station `number` of the table behind a port.
    #[inline(always)]
    fn station(&self, behind: Port, number: u32) -> MacAddr {
        match number.checked_sub(self.generated[usize::from(behind.id().0)]) {
            None => catalogue::station(behind, number),
            Some(listed) => {
                let listed = self.listed[usize::from(behind.id().0)].get(listed as usize);
                listed.map_or(MacAddr::ZERO, |listed| listed.0)
            }
        }
    }

    /// The place among the pairs of the domain of a station.
    #[inline(always)]
    fn domain_of(&self, behind: Port, number: u32) -> u32 {
        match number.checked_sub(self.generated[usize::from(behind.id().0)]) {
            None => number % self.pairs.len() as u32,
            Some(listed) => {
                self.listed[usize::from(behind.id().0)].get(listed as usize).map_or(0, |one| one.1)
            }
        }
    }

    /// A source in the domain: the drawn one, or the next generated one that is.
    #[inline(always)]
    fn source_in(&self, domain: u32, behind: Port, drawn: u32) -> u32 {
        let pairs = self.pairs.len() as u32;
        if pairs == 1 || self.domain_of(behind, drawn) == domain {
            return drawn;
        }
        let generated = self.generated[usize::from(behind.id().0)].max(1);
        let near = drawn % generated / pairs * pairs + domain;
        if near < generated { near } else { domain }
    }

    /// The tags of a frame where it enters, or where it leaves.
    #[inline(always)]
    fn tags(&self, frame: &Frame, port: Port) -> &[u8] {
        let tags = &self.pairs[usize::from(frame.domain)][usize::from(port.id().0) & 1];
        &tags.bytes[..usize::from(tags.len)]
    }

    /// Destination and source as they are sent.
    #[inline(always)]
    fn macs(&self, frame: &Frame) -> [u8; 12] {
        let destination = match frame.destination {
            StationId::Table(number) => self.station(frame.to, number),
            StationId::Passing(number) => catalogue::passing_station(frame.to, number),
        };
        let mut macs = [0; 12];
        put_array(&mut macs, 0, destination.0);
        put_array(&mut macs, 6, self.station(frame.to.other(), frame.source).0);
        macs
    }

    /// Behind which port passing station `number` is: the directions that are sent take turns, so
    /// that frames can show it.
    fn passing_side(&self, number: u32) -> Port {
        let direction = number as usize % self.directions.len();
        Port::of(self.directions[direction].to)
    }
}

impl Tags {
    fn of(circuit: &Attachment) -> Tags {
        let mut tags = Tags::default();
        let inner = circuit.inner_vlan.map(|vlan| (wire::ethernet::TYPE_VLAN, vlan));
        let outer = circuit.vlan.map(|vlan| (circuit.tpid.ether_type(), vlan));
        for (kind, vlan) in [outer, inner].into_iter().flatten() {
            let at = usize::from(tags.len);
            put_array(&mut tags.bytes, at, kind.to_be_bytes());
            put_array(&mut tags.bytes, at + 2, vlan.to_be_bytes());
            tags.len += TAG_LEN as u8;
        }
        tags
    }
}

impl Frames for Stations {
    type Draw = Frame;

    fn directions(&self) -> &[Direction] {
        &self.directions
    }

    #[inline(always)]
    fn draw(&self, direction: usize, number: u64) -> Frame {
        let to = Port::of(self.directions[direction].to);
        let random = &self.random[usize::from(to == Port::DOWNLINK)];
        // Stations, ports and sizes together use 64 bits at their limits.
        let mut bits = Bits(random.at(number));
        let destination =
            self.destination_draws[usize::from(to.id().0)].item(&mut bits, random, number);
        let source =
            self.source_draws[usize::from(to.other().id().0)].item(&mut bits, random, !number);
        let port = self.port_draw.item(&mut bits, random, number ^ PORT_TWIST);
        let size = self.sizes.pick(bits.below(256) as u8);
        let ipv6 = self.ipv6_share > 0
            && (Random::rehash(random.at(number)) as u32 & 0xffff) < self.ipv6_share;
        let domain = match self.pairs.len() {
            1 => 0,
            _ => self.domain_of(to, destination),
        };
        let tags = u16::from(self.pairs[domain as usize][usize::from(to.other().id().0)].len);
        Frame {
            to,
            ipv6,
            port: PORT_MIN + port as u16,
            len: test_packets::frame_len(size.saturating_sub(tags), ipv6) + tags,
            domain: domain as u16,
            source: self.source_in(domain, to.other(), source),
            destination: StationId::Table(destination),
        }
    }

    #[inline(always)]
    fn frame_len(&self, frame: &Frame) -> usize {
        frame.len.into()
    }

    /// Any worker can have a frame; flows keep theirs.
    #[inline(always)]
    fn steering(&self, frame: &Frame) -> u32 {
        let station = match frame.destination {
            StationId::Table(number) => number,
            StationId::Passing(number) => !number,
        };
        (Random::rehash(u64::from(station) << 16 | u64::from(frame.port)) >> 32) as u32
    }

    #[inline(always)]
    fn write(&self, frame: &Frame, stamp: Stamp, bytes: &mut [u8]) {
        let (ports, ends) = match frame.to {
            Port::UPLINK => ((frame.port, ECHO_PORT), ends(frame, USERS, SERVERS)),
            _ => ((ECHO_PORT, frame.port), ends(frame, SERVERS, USERS)),
        };
        let (macs, tags) = (self.macs(frame), self.tags(frame, frame.to.other()));
        if tags.is_empty() {
            return self.packets.write(macs, ends, ports, stamp, bytes);
        }
        let Some(plain) = bytes.get_mut(tags.len()..) else { return };
        self.packets.write(macs, ends, ports, stamp, plain);
        put_array(bytes, 0, macs);
        bytes[12..12 + tags.len()].copy_from_slice(tags);
    }

    #[inline(always)]
    fn delivery(
        &mut self,
        direction: usize,
        frame: &Frame,
        _: &Stamp,
        port: PortId,
        bytes: &[u8],
    ) -> Delivery {
        let Direction { from, to, .. } = self.directions[direction];
        let mut macs = self.macs(frame);
        if let Some(mac) = self.swaps[usize::from(from.0)] {
            put_array(&mut macs, 6, mac.0);
        }
        if port != to && port != from {
            return Delivery::Beside;
        }
        let (sent, left) = (self.tags(frame, Port::of(from)), self.tags(frame, Port::of(to)));
        let len = usize::from(frame.len) + left.len() - sent.len();
        let is_there = port == to
            && bytes.len() == len
            && array_at::<12>(bytes, 0) == macs
            && &bytes[12..12 + left.len()] == left;
        match frame.destination {
            _ if !is_there => Delivery::Misdelivered,
            StationId::Passing(number) if self.passing.show(number) => {
                Delivery::Shows(u64::from(number))
            }
            _ => Delivery::AsExpected,
        }
    }
}

impl Changes for Stations {
    type Update = Update;

    fn events(&self) -> &[EventKind] {
        &self.events
    }

    /// Stations come and go in turn.
    fn next_update(&mut self, _: usize, number: u64) -> Option<Change<Update>> {
        let (passing, adds) = self.passing.next(number)?;
        let port = self.passing_side(passing);
        let mac = Mac(catalogue::passing_station(port, passing));
        let domain = self.domains[passing as usize % self.domains.len()];
        let (update, subject) = match adds {
            true => (Update::SetStation { mac, port, domain }, u64::from(passing)),
            false => (Update::RemoveStation { mac, domain }, REMOVAL | u64::from(passing)),
        };
        Some(Change { subject, steering: None, update })
    }

    fn kind_of(&self, _: u64) -> Option<usize> {
        (!self.events.is_empty()).then_some(0)
    }

    fn probe(&self, subject: u64) -> Option<(usize, Frame)> {
        let number = u32::try_from(subject).ok()?;
        let to = self.passing_side(number);
        let direction = self.directions.iter().position(|direction| direction.to == to.id())?;
        let domain = number % self.pairs.len() as u32;
        let tags = u16::from(self.pairs[domain as usize][usize::from(to.other().id().0)].len);
        let len = test_packets::frame_len(test_packets::FRAME_BYTES_MIN, false) + tags;
        let destination = StationId::Passing(number);
        let source = self.source_in(domain, to.other(), 0);
        let domain = domain as u16;
        let frame = Frame { to, ipv6: false, port: PORT_MIN, len, domain, source, destination };
        Some((direction, frame))
    }
}

impl Floods for Stations {}

impl Policers for Stations {}

impl FarEnds for Stations {}

impl SessionFrames for Stations {}

/// The addresses of the packet in a frame: hosts that have the numbers of their stations.
#[inline(always)]
fn ends(frame: &Frame, from: u32, to: u32) -> Ends {
    let (source, destination) = match frame.destination {
        StationId::Table(number) => (frame.source, number),
        StationId::Passing(number) => (frame.source, number),
    };
    match frame.ipv6 {
        false => Ends::V4 {
            source: from << 24 | (source + 1) & 0xff_ffff,
            destination: to << 24 | (destination + 1) & 0xff_ffff,
        },
        true => {
            let host = |side: u32, number: u32| {
                0x3fff << 112 | u128::from(side) << 64 | u128::from(number + 1)
            };
            Ends::V6 { source: host(from, source), destination: host(to, destination) }
        }
    }
}

/// The networks of the hosts behind both ports, as TIPSY has them for users and servers.
const USERS: u32 = 3;
const SERVERS: u32 = 2;

/// Marks the subject of a removal, which shows in no frame.
const REMOVAL: u64 = 1 << 63;

/// Keeps the port's Zipf draw apart from the station's.
const PORT_TWIST: u64 = 1 << 62;
