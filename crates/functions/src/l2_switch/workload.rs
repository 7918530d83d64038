//! What the tester sends to a bridge, and how it recognises what comes back.
//!
//! A frame follows from the seed, its direction and its number: from a station behind the port where it
//! comes in to one behind the other, and holds a UDP packet. A bridge leaves frames as they are, so
//! that what comes back is what was sent; a patch may give it another source.

use machine::clock::Ticks;
use packet::PortId;
use traffic::random::Bits;
use traffic::workload::{Change, EventKind};
use traffic::{Delivery, Direction, Draw, Random, Sizes, Stamp, Workload};
use wire::MacAddr;
use wire::bytes::{array_at, put_array};

use super::catalogue;
use super::config::{Config, Dir, Mac, Mode, Port, Traffic};
use super::control::Update;
use crate::passing::Passing;
use crate::test_packets::{self, ECHO_PORT, Ends, PORT_MIN, PORTS, TestPackets};

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
    listed: [Vec<MacAddr>; 2],
    /// What sources become on the way, by the port where frames come in.
    swaps: [Option<MacAddr>; 2],
    events: Vec<EventKind>,
    passing: Passing,
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
    pub fn new(config: &Config, traffic: &Traffic) -> Stations {
        let uplink = Direction { name: "uplink", from: Port::Downlink.id(), to: Port::Uplink.id() };
        let downlink =
            Direction { name: "downlink", from: Port::Uplink.id(), to: Port::Downlink.id() };
        let directions = match traffic.dir {
            Dir::Uplink => vec![uplink],
            Dir::Downlink => vec![downlink],
            Dir::Bidir => vec![uplink, downlink],
        };
        let seed = traffic.random_seed;
        let listed = Port::ALL.map(|port| {
            let stations = config.stations.iter().filter(|station| station.port == port);
            stations.map(|station| station.mac.0).collect::<Vec<_>>()
        });
        // A port without a station has one that nobody knows, so that there is something to send.
        let generated = Port::ALL.map(|port| {
            match config.table_size(port) as usize + listed[port as usize].len() {
                0 => 1,
                _ => config.table_size(port),
            }
        });
        let count = |port: Port| generated[port as usize] + listed[port as usize].len() as u32;
        let events = match config.fluct_table > 0.0 {
            true => vec![EventKind {
                name: "table-update",
                rate_per_s: 2.0 * config.fluct_table,
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
            swaps: match config.mode {
                Mode::Bridge => [None; 2],
                Mode::Patch => Port::ALL.map(|port| config.source_from(port)),
            },
            events,
            passing: Passing::new(config.fluct_table),
        }
    }

    /// Station `number` of the table behind a port.
    #[inline(always)]
    fn station(&self, behind: Port, number: u32) -> MacAddr {
        match number.checked_sub(self.generated[behind as usize]) {
            None => catalogue::station(behind, number),
            Some(listed) => {
                let listed = self.listed[behind as usize].get(listed as usize);
                listed.copied().unwrap_or(MacAddr::ZERO)
            }
        }
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

impl Workload for Stations {
    type Draw = Frame;
    type Update = Update;

    fn directions(&self) -> &[Direction] {
        &self.directions
    }

    #[inline(always)]
    fn draw(&self, direction: usize, number: u64) -> Frame {
        let to = Port::of(self.directions[direction].to);
        let random = &self.random[usize::from(to == Port::Downlink)];
        // Stations, ports and sizes together use 64 bits at their limits.
        let mut bits = Bits(random.at(number));
        let destination = self.destination_draws[to as usize].item(&mut bits, random, number);
        let source = self.source_draws[to.other() as usize].item(&mut bits, random, !number);
        let port = self.port_draw.item(&mut bits, random, number ^ PORT_TWIST);
        let size = self.sizes.pick(bits.below(256) as u8);
        let ipv6 = self.ipv6_share > 0
            && (Random::rehash(random.at(number)) as u32 & 0xffff) < self.ipv6_share;
        Frame {
            to,
            ipv6,
            port: PORT_MIN + port as u16,
            len: test_packets::frame_len(size, ipv6),
            source,
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
            Port::Uplink => ((frame.port, ECHO_PORT), ends(frame, USERS, SERVERS)),
            Port::Downlink => ((ECHO_PORT, frame.port), ends(frame, SERVERS, USERS)),
        };
        self.packets.write(self.macs(frame), ends, ports, stamp, bytes);
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
        let is_there =
            port == to && bytes.len() == usize::from(frame.len) && array_at::<12>(bytes, 0) == macs;
        match frame.destination {
            _ if !is_there => Delivery::Misdelivered,
            StationId::Passing(number) if self.passing.show(number) => {
                Delivery::Shows(u64::from(number))
            }
            _ => Delivery::AsExpected,
        }
    }

    fn events(&self) -> &[EventKind] {
        &self.events
    }

    /// Stations come and go in turn.
    fn next_update(&mut self, _: usize, number: u64) -> Option<Change<Update>> {
        let (passing, adds) = self.passing.next(number)?;
        let port = self.passing_side(passing);
        let mac = Mac(catalogue::passing_station(port, passing));
        let (update, subject) = match adds {
            true => (Update::SetStation { mac, port }, u64::from(passing)),
            false => (Update::RemoveStation { mac }, REMOVAL | u64::from(passing)),
        };
        Some(Change { subject, steering: None, update })
    }

    fn kind_of(&self, _: u64) -> Option<usize> {
        (!self.events.is_empty()).then_some(0)
    }

    fn settled(&mut self, _: u64, _: Option<Ticks>) {}

    fn probe(&self, subject: u64) -> Option<(usize, Frame)> {
        let number = u32::try_from(subject).ok()?;
        let to = self.passing_side(number);
        let direction = self.directions.iter().position(|direction| direction.to == to.id())?;
        let len = test_packets::frame_len(test_packets::FRAME_BYTES_MIN, false);
        let destination = StationId::Passing(number);
        let frame = Frame { to, ipv6: false, port: PORT_MIN, len, source: 0, destination };
        Some((direction, frame))
    }
}

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
