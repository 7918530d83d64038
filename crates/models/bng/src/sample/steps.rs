//! The steps of a sample, as the files beside this one add them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_bng::Update;
use function_bng::config::{Config, Line, Name, Pppoe, Profile, Session, Tags};
use function_bng::gateway::{ACCESS, CORE};
use function_kit::sections::{Dir, Mac, Prefixed};
use model_kit::check::Step;
use packet::PortId;
use traffic::{Frames, Sizes, Stamp};
use wire::MacAddr;

use super::build;
use crate::generated;
use crate::section::Section;
use crate::sections::Traffic;
use crate::workload::Subscribers;

/// The steps so far, and what they are made with.
pub(super) struct Sample {
    pub(super) section: Section,
    pub(super) config: Config,
    /// A visitor by Ethernet alone.
    pub(super) ipoe: Session,
    /// A visitor by PPPoE.
    pub(super) pppoe: Session,
    pub(super) steps: Vec<Step<Update>>,
    pub(super) pause: Duration,
}

impl Sample {
    pub(super) fn new(section: &Section) -> Sample {
        let config = generated::config(section);
        let generated = &section.generated;
        // Twice what the largest packet costs, and what two errors and two answers do, so that no
        // meter is near its border.
        let rate = generated.session_rate.0.min(generated.node_rate.0);
        let said =
            [config.icmp_errors_per_s, config.pings_per_s].into_iter().filter(|one| *one > 0);
        let slowest_s = said.map(|one| 2.0 / f64::from(one)).fold(PAUSE_S_MIN, f64::max);
        let pause_s = (2.0 * PACKET_LEN_MAX / rate).max(slowest_s);
        let line = line_of(&config);
        let [ipoe, pppoe] = [0, 1].map(|number| visitor(section, line, number));
        let pppoe = Session { pppoe: Some(Pppoe { id: 65_534, mru: MRU }), ..pppoe };
        let mut sample = Sample {
            section: section.clone(),
            config,
            ipoe,
            pppoe,
            steps: Vec::new(),
            pause: Duration::from_nanos((pause_s * 1e9).ceil() as u64),
        };
        sample.update(Update::AddProfile(plain(VISITOR)));
        sample.update(Update::AddSession(ipoe));
        sample.update(Update::AddSession(pppoe));
        sample
    }

    /// Both visitors.
    pub(super) fn visitors(&self) -> [Session; 2] {
        [self.ipoe, self.pppoe]
    }

    /// A frame from lines, after a pause.
    pub(super) fn access(&mut self, about: &'static str, frame: Vec<u8>) {
        self.frame(ACCESS, about, frame);
    }

    /// A frame from the Internet, after a pause.
    pub(super) fn core(&mut self, about: &'static str, frame: Vec<u8>) {
        self.frame(CORE, about, frame);
    }

    pub(super) fn frame(&mut self, port: PortId, about: &'static str, frame: Vec<u8>) {
        self.steps.push(Step::Wait(self.pause));
        self.frame_at_once(port, about, frame);
    }

    pub(super) fn frame_at_once(&mut self, port: PortId, about: &'static str, frame: Vec<u8>) {
        debug_assert!(frame.len() <= FRAME_LEN_MAX, "{about}: {} bytes", frame.len());
        self.steps.push(Step::Frame { port, frame, about });
    }

    pub(super) fn update(&mut self, update: Update) {
        self.steps.push(Step::Update(update));
    }

    pub(super) fn wait(&mut self, seconds: u64) {
        self.steps.push(Step::Wait(Duration::from_secs(seconds)));
    }

    /// A packet of a visitor to the first server, and what somebody did to it before.
    pub(super) fn up(
        &mut self,
        about: &'static str,
        session: &Session,
        change: impl FnOnce(&mut Vec<u8>),
    ) {
        let own = session.ipv4.map_or(IpAddr::from([0; 4]), IpAddr::from);
        let mut packet = build::udp(own, build::server(true), 100);
        change(&mut packet);
        let frame = build::up(&self.config, session, &packet);
        self.access(about, frame);
    }

    /// A packet for a visitor from the first server, and what somebody did to it before.
    pub(super) fn down(
        &mut self,
        about: &'static str,
        session: &Session,
        change: impl FnOnce(&mut Vec<u8>),
    ) {
        let own = session.ipv4.map_or(IpAddr::from([0; 4]), IpAddr::from);
        let mut packet = build::udp(build::server(true), own, 100);
        change(&mut packet);
        let frame = build::down(&self.config, &packet);
        self.core(about, frame);
    }

    /// What the bench sends, of many subscribers and in several sizes.
    pub(super) fn ordinary(&mut self, traffic: &Traffic) {
        let traffic = Traffic {
            dir: Dir::Bidir,
            pkt_size: Sizes::mix(&ORDINARY_SIZES).unwrap_or_else(|_| Sizes::fixed(64)),
            ..traffic.clone()
        };
        let subscribers = Subscribers::new(&self.section, &traffic);
        for sequence in 0..ORDINARY_FRAMES {
            for (index, direction) in subscribers.directions().iter().enumerate() {
                let draw = subscribers.draw(index, sequence);
                let mut frame = vec![0; subscribers.frame_len(&draw)];
                let stamp = Stamp { stream: index as u16, sequence, time: 0 };
                subscribers.write(&draw, stamp, &mut frame);
                let is_up = direction.from == ACCESS;
                let about = if is_up { "a subscriber sends" } else { "a subscriber gets" };
                self.frame(direction.from, about, frame);
            }
        }
    }
}

/// A line that no generated subscriber is on, of the first form that lines may have; or the one
/// that all are on.
fn line_of(config: &Config) -> Line {
    match config.tags.first() {
        Some(Tags::Two) => Line { outer: 4093, inner: 4093 },
        Some(Tags::One) => Line { outer: 0, inner: 4094 },
        _ => Line { outer: 0, inner: 0 },
    }
}

/// Visitor `number`, with addresses of every kind.
pub(super) fn visitor(section: &Section, line: Line, number: u32) -> Session {
    let generated = &section.generated;
    let prefix = |bits: u128, len| Some(Prefixed { address: Ipv6Addr::from_bits(bits), len });
    let of_it = u128::from(number);
    Session {
        number: generated.subscribers + generated.passing() + 1 + number,
        line,
        mac: Mac(MacAddr([0x02, 0xee, 0, 0, 0, number as u8])),
        pppoe: None,
        ipv4: Some(Ipv4Addr::new(172, 16, 0, number as u8 + 1)),
        na: Some(Ipv6Addr::from_bits((0x3fff_0e00 << 96) | (1 + of_it))),
        slaac: prefix(0x3fff_0e01 << 96 | of_it << 64, 64),
        delegated: prefix(0x3fff_0e02 << 96 | of_it << 68, 60),
        profile: VISITOR,
        list: None,
        node: None,
        vrf: None,
        user: None,
        circuit: None,
    }
}

/// A profile without rates, queues and list.
pub(super) fn plain(name: Name) -> Profile {
    Profile {
        name,
        up_rate: None,
        up_burst: 20_000,
        policers: Vec::new(),
        down_rate: None,
        down_burst: 20_000,
        weight: 1,
        overhead_bytes: 0,
        queues: Vec::new(),
        list: None,
    }
}

/// The profile of visitors.
pub(super) const VISITOR: Name = Name::new("visitor");

/// What the visitor's PPPoE carries.
pub(super) const MRU: u16 = 1000;

/// Sizes of ordinary frames, check sequence included.
const ORDINARY_SIZES: [(u16, u32); 6] =
    [(64, 4), (87, 1), (128, 1), (570, 1), (1510, 1), (1900, 1)];

/// Ordinary frames in each direction.
const ORDINARY_FRAMES: u64 = 120;

/// The longest frame of a sample, without check sequence.
const FRAME_LEN_MAX: usize = 1950;

/// The longest IP packet within it.
const PACKET_LEN_MAX: f64 = 1900.0;

/// A pause that any clock can tell from none.
const PAUSE_S_MIN: f64 = 1e-5;
