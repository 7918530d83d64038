//! The steps of a sample, as the files beside this one add them.
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use function_cgnat::config::{Config, Prefixed};
use function_cgnat::control::Update;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::frame;
use model_kit::check::{Answer, Part, Step};
use packet::PortId;
use traffic::{Frames, Stamp};
use wire::MacAddr;

use super::entries::{self, Here};
use super::next_hops::{self, Hop};
use super::places::Places;
use super::reach::Reach;
use super::{build, softwires};
use crate::sections::Traffic;
use crate::workload::Clients;

/// The steps so far, and what they are made with.
pub(super) struct Sample {
    /// With the addresses of the interfaces at which frames come in.
    pub config: Config,
    /// As it is.
    pub first: Config,
    pub here: Here,
    pub places: Places,
    pub reach: Reach,
    pub steps: Vec<Step<Update>>,
    /// Frames and answers so far.
    pub count: usize,
    /// The VLAN of frames at the inside port, or what stands for a softwire there; 0 for neither.
    pub vlan: u16,
    /// By how much longer frames and answers leave because of an outer header.
    pub growth: BTreeMap<usize, usize>,
}

/// The number of a frame of the sample, to be answered later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent(pub usize);

impl Sample {
    pub fn new(config: &Config) -> Sample {
        Sample {
            config: config.clone(),
            first: config.clone(),
            here: entries::FIRST,
            places: Places::new(config),
            reach: Reach::new(config),
            steps: Vec::new(),
            count: 0,
            vlan: 0,
            growth: BTreeMap::new(),
        }
    }

    /// What the bench sends; from outside, before anything is known.
    pub fn ordinary(&mut self, traffic: &Traffic) {
        let workload = Clients::new(&self.config, traffic);
        for (index, direction) in workload.directions().iter().enumerate() {
            for sequence in 0..ORDINARY_FRAMES {
                let draw = workload.draw(index, sequence);
                let mut frame = vec![0; workload.frame_len(&draw)];
                let stamp = Stamp { stream: index as u16, sequence, time: 0 };
                workload.write(&draw, stamp, &mut frame);
                self.frame(direction.from, "a frame of the workload", frame);
            }
        }
    }

    /// Any frame.
    pub fn frame(&mut self, port: PortId, about: &'static str, frame: Vec<u8>) -> Sent {
        self.step(Step::Frame { port, frame, about });
        self.sent(port == OUTSIDE)
    }

    /// A packet from subscribers.
    pub fn inside(&mut self, about: &'static str, packet: &[u8]) -> Sent {
        let frame = self.framed(INSIDE, packet);
        self.frame(INSIDE, about, frame)
    }

    /// A packet of a group of stations, about which nobody is told.
    pub fn unanswerable(&mut self, port: PortId, packet: &[u8]) {
        let mut frame = self.framed(port, packet);
        frame[6] |= 1;
        self.frame(port, "the same of a group of stations", frame);
    }

    /// A packet from the Internet.
    pub fn outside(&mut self, about: &'static str, packet: &[u8]) -> Sent {
        let frame = self.framed(OUTSIDE, packet);
        self.frame(OUTSIDE, about, frame)
    }

    /// A packet whose destination is the source of one that left before.
    pub fn answer_to(
        &mut self,
        (port, sent): (PortId, Sent),
        about: &'static str,
        packet: &[u8],
    ) -> Sent {
        let port_at = if packet[9] == wire::protocol::ICMP { 38 } else { 36 };
        let from = if packet[9] == wire::protocol::ICMP { 38 } else { 34 };
        let parts = [(26, 4, 30), (from, 2, port_at)];
        let answer = self.answer(port, about, packet, parts.map(|part| (sent, part)).to_vec());
        self.leaves_towards(answer, self.vlan);
        answer
    }

    /// A packet with parts of frames that left: from where, how long, where to, in frames.
    pub fn answer(
        &mut self,
        port: PortId,
        about: &'static str,
        packet: &[u8],
        parts: Vec<(Sent, (usize, usize, usize))>,
    ) -> Sent {
        let grown = |sent: Sent| self.growth.get(&sent.0).copied().unwrap_or_default();
        let growth = if port == INSIDE { softwires::growth(self.vlan) } else { 0 };
        let part = |(sent, (from, len, to)): (Sent, (usize, usize, usize))| Part {
            back: self.count - sent.0,
            from: from + grown(sent),
            len,
            to: to + growth,
        };
        let parts = parts.into_iter().map(part).collect();
        let answer =
            Answer { frame: self.framed(port, packet), parts, finish: build::finish, tag: 0 };
        self.step(Step::Answer { port, answer, about });
        self.sent(port == OUTSIDE)
    }

    /// A frame or an answer by its side, as it comes in by an interface.
    pub fn step(&mut self, step: Step<Update>) {
        let entry = |port| entries::entry(&self.first, self.here, port);
        self.steps.push(match step {
            Step::Frame { port, frame, about } => {
                let (port, tag) = entry(port);
                Step::Frame { port, frame: entries::tagged(frame, tag), about }
            }
            Step::Answer { port, answer, about } => {
                let (port, tag) = entry(port);
                Step::Answer { port, answer: Answer { tag, ..answer }, about }
            }
            other => other,
        });
    }

    /// What is done while frames come in by these interfaces.
    pub fn at<T>(&mut self, here: Here, work: impl FnOnce(&mut Sample) -> T) -> T {
        let before = std::mem::replace(&mut self.here, here);
        self.config = entries::dressed(&self.first, here);
        let done = work(self);
        self.here = before;
        self.config = entries::dressed(&self.first, before);
        done
    }

    /// The number of a frame or an answer that was just made.
    pub fn count(&mut self) -> Sent {
        self.count += 1;
        Sent(self.count - 1)
    }

    /// Takes note of a frame that leaves inside or not.
    pub fn sent(&mut self, leaves_inside: bool) -> Sent {
        let sent = self.count();
        self.leaves_towards(sent, if leaves_inside { self.vlan } else { 0 });
        sent
    }

    /// Says to whom a frame leaves.
    pub fn leaves_towards(&mut self, sent: Sent, vlan: u16) {
        let growth = if softwires::is_softwire(vlan) { softwires::growth(vlan) } else { 0 };
        self.growth.insert(sent.0, growth);
    }

    pub fn framed(&self, port: PortId, packet: &[u8]) -> Vec<u8> {
        let (to, from) = match port == INSIDE {
            true => (self.config.inside_mac.0, self.config.inside_next_hop_mac.0),
            false => (self.config.outside_mac.0, self.config.outside_next_hop_mac.0),
        };
        let frame = frame(to, from, wire::ethernet::TYPE_IPV4, packet);
        match (port, softwires::is_softwire(self.vlan)) {
            (INSIDE, true) => softwires::through(&self.config, &frame, self.vlan),
            (INSIDE, false) => build::tagged(frame, self.vlan),
            _ => frame,
        }
    }

    /// Ends the sessions of a subscriber; behind a softwire those of all addresses.
    pub fn clear(&mut self, address: Ipv4Addr) {
        let update = match softwires::is_softwire(self.vlan) {
            true => {
                let address = softwires::b4(&self.config, self.vlan).into();
                Update::ClearSubscriber { address, vlan: 0 }
            }
            false => Update::ClearSubscriber { address: address.into(), vlan: self.vlan },
        };
        self.update(update);
    }

    pub fn update(&mut self, update: Update) {
        self.steps.push(Step::Update(update));
    }

    pub fn wait(&mut self, seconds: f64) {
        let most = PAUSE_S_MAX.min(next_hops::pause_s_max(&self.config));
        let mut left = seconds;
        while left > 0.0 {
            self.steps.push(Step::Wait(Duration::from_secs_f64(left.min(most))));
            self.speak_up();
            left -= most;
        }
    }

    /// A next hop says its MAC address.
    pub fn say(&mut self, about: &'static str, hop: Hop, mac: MacAddr) {
        let frame = next_hops::said(&self.first, hop, mac);
        self.at(hop.here, |sample| sample.frame(hop.port, about, frame));
    }

    /// What is known of all next hops is made new.
    pub fn speak_up(&mut self) {
        for hop in next_hops::hops(&self.first) {
            self.say("a next hop tells its address", hop, next_hops::known_mac(&self.first, hop));
        }
    }

    /// Lets the sweep come around, until it has met as many sessions as a sample opens.
    pub fn settle(&mut self) {
        let round = Step::Wait(Duration::from_secs_f64(ROUND_S));
        self.steps.extend(std::iter::repeat_n(round, ROUNDS));
    }

    /// Every session is over, every port has rested.
    pub fn forget(&mut self) {
        let times = self.config.timeouts;
        self.wait(times.all().into_iter().fold(0.0, f64::max) + 1.0);
        self.settle();
        self.wait(self.config.quarantine_s + BEYOND_S);
    }

    /// A visitor's address.
    pub fn visitor(&self, number: usize) -> Ipv4Addr {
        let visitors = self.places.visitors_of(self.vlan);
        visitors[number % visitors.len()]
    }

    /// A host outside.
    pub fn server(&self, number: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.places.servers + 1 + number)
    }

    pub fn change_pools(&mut self, change: impl Fn(Prefixed<Ipv4Addr>) -> Update) {
        let pools = self.config.pools.clone();
        pools.into_iter().for_each(|pool| self.update(change(pool)));
    }
}

/// Ordinary frames in each direction.
const ORDINARY_FRAMES: u64 = 32;

/// The longest pause: sweeps must not be too far apart to tell the past from the future.
const PAUSE_S_MAX: f64 = 5000.0;

/// From a second before an end to behind it. Devices whose time is real are waited for no longer
/// than two seconds, and have not been until then, either.
pub(super) const BEYOND_S: f64 = 2.25;

/// A round of the sweep, long enough for some of it, and more than devices wait in real time.
const ROUND_S: f64 = 2.5;
/// Rounds in which the sweep ends as many sessions as a sample opens.
const ROUNDS: usize = 20;
