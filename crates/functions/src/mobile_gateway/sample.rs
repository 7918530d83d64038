//! The functional check's sample: frames that reach every verdict and every drop reason that a
//! configuration allows, and the changes between them.
//!
//! Ordinary frames come from the workload, as the bench sends them. Everything out of the ordinary
//! is of visitors, who are added first: so a worker sees all of it whichever users are its own.
//! Between frames passes the time in which the largest one is earned back, so that the policer acts
//! where it is meant to. The size does not depend on the number of users.

use std::time::Duration;

use packet::PortId;
use traffic::{Sizes, Stamp, Workload};

use super::catalogue::{self, User};
use super::config::{Config, Dir, Traffic, Tunnel};
use super::control::Update;
use super::state::{ACCESS, CORE};
use super::workload::Users;
use crate::check::Step;

mod build;
mod inner;
mod ipv6;
mod outer;
mod policer;
mod tunnel;
mod updates;

use build::Maker;

/// The sample for a validated configuration.
pub fn sample(config: &Config, traffic: &Traffic) -> Vec<Step<Update>> {
    let mut sample = Sample::new(config);
    sample.ordinary(traffic);
    outer::ethernet(&mut sample);
    outer::arp(&mut sample);
    outer::ipv4(&mut sample);
    outer::udp(&mut sample);
    match config.tunnel() {
        Tunnel::GtpU => tunnel::gtpu(&mut sample),
        Tunnel::Vxlan => tunnel::vxlan(&mut sample),
    }
    tunnel::truncated(&mut sample);
    inner::ipv4(&mut sample);
    inner::routes(&mut sample);
    ipv6::ipv6(&mut sample);
    policer::policer(&mut sample);
    updates::users(&mut sample);
    updates::servers(&mut sample);
    sample.steps
}

/// Drop reasons that the sample cannot reach under a configuration, each with the cause.
pub fn unreachable(config: &Config) -> Vec<(&'static str, &'static str)> {
    let mut reasons = vec![
        ("unhandled", "every packet gets a verdict"),
        ("too-long", "a frame's room holds every tunnel header"),
    ];
    if config.tunnel() == Tunnel::Vxlan {
        let names = ["gtp-version", "gtp-extension", "gtp-message", "gtp-error-indication"];
        reasons.extend(names.map(|name| (name, "the tunnel is VXLAN")));
    }
    if config.fakedrop {
        let names = ["unknown-teid", "unknown-user", "no-route"];
        reasons.extend(names.map(|name| (name, "fakedrop sends unmatched frames on")));
    }
    if policer::frames_to_exceed(config).is_none() {
        reasons.push(("rate-exceeded", "the burst is larger than a sample"));
    }
    reasons
}

/// The steps so far, and what they are made with.
struct Sample {
    make: Maker,
    visitor: User,
    steps: Vec<Step<Update>>,
    pause: Duration,
}

impl Sample {
    fn new(config: &Config) -> Sample {
        let visitor = catalogue::passing_user(0, config.user, config.bst);
        // Twice what the largest packet costs, and more than a meter rounds off its burst, so that
        // no meter is near its border.
        let rate = config.rate_limit.0;
        let rounded_off = config.burst_bytes() / rate / 1e5;
        let pause_s = (2.0 * f64::from(PACKET_LEN_MAX) / rate).max(rounded_off).max(PAUSE_S_MIN);
        Sample {
            make: Maker::new(config),
            visitor,
            steps: vec![Step::Update(Update::AddUser(visitor))],
            pause: Duration::from_nanos((pause_s * 1e9).ceil() as u64),
        }
    }

    fn config(&self) -> &Config {
        &self.make.config
    }

    /// A frame from base stations, after a pause.
    fn access(&mut self, about: &'static str, frame: Vec<u8>) {
        self.frame(ACCESS, about, frame);
    }

    /// A frame from the Internet, after a pause.
    fn core(&mut self, about: &'static str, frame: Vec<u8>) {
        self.frame(CORE, about, frame);
    }

    fn frame(&mut self, port: PortId, about: &'static str, frame: Vec<u8>) {
        self.steps.push(Step::Wait(self.pause));
        self.frame_at_once(port, about, frame);
    }

    fn frame_at_once(&mut self, port: PortId, about: &'static str, frame: Vec<u8>) {
        debug_assert!(frame.len() <= FRAME_LEN_MAX, "{about}: {} bytes", frame.len());
        self.steps.push(Step::Frame { port, frame, about });
    }

    fn update(&mut self, update: Update) {
        self.steps.push(Step::Update(update));
    }

    /// A packet of the visitor through the tunnel, and what somebody did to the packet before.
    fn uplink(&mut self, about: &'static str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut packet = self.make.packet(&self.visitor, true, 100);
        change(&mut packet);
        let frame = self.make.tunnelled(&self.visitor, &packet);
        self.access(about, frame);
    }

    /// A packet for the visitor from the Internet, and what somebody did to it before.
    fn downlink(&mut self, about: &'static str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut packet = self.make.packet(&self.visitor, false, 100);
        change(&mut packet);
        let frame = self.make.over_core(&packet);
        self.core(about, frame);
    }

    /// What the bench sends, of many users and in several sizes.
    fn ordinary(&mut self, traffic: &Traffic) {
        let traffic = Traffic {
            dir: Dir::Bidir,
            pkt_size: Sizes::mix(&ORDINARY_SIZES).unwrap_or_else(|_| Sizes::fixed(64)),
            ipv6_share: if self.config().ipv6 { 0.3 } else { 0.0 },
            ..traffic.clone()
        };
        let users = Users::new(self.config(), &traffic);
        for sequence in 0..ORDINARY_FRAMES {
            for (index, direction) in users.directions().iter().enumerate() {
                let draw = users.draw(index, sequence);
                let mut frame = vec![0; users.frame_len(&draw)];
                let stamp = Stamp { stream: index as u16, sequence, time: 0 };
                users.write(&draw, stamp, &mut frame);
                let about = if direction.from == ACCESS { "a user sends" } else { "a user gets" };
                self.frame(direction.from, about, frame);
            }
        }
    }
}

/// Sizes of ordinary frames, check sequence included; up to the largest that a bench sends.
const ORDINARY_SIZES: [(u16, u32); 6] =
    [(64, 4), (65, 1), (128, 1), (570, 1), (1518, 1), (1900, 1)];

/// Ordinary frames in each direction.
const ORDINARY_FRAMES: u64 = 150;

/// The longest frame of a sample, without check sequence.
const FRAME_LEN_MAX: usize = 1950;

/// The longest IP packet of a user within it.
const PACKET_LEN_MAX: u16 = 1900;

/// A pause that any clock can tell from none.
const PAUSE_S_MIN: f64 = 1e-5;
