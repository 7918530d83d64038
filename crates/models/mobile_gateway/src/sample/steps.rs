//! The steps of a sample, as the files beside this one add them.

use std::time::Duration;

use function_kit::sections::Dir;
use function_mobile_gateway::Update;
use function_mobile_gateway::gateway::{ACCESS, CORE};
use model_kit::check::Step;
use packet::PortId;
use traffic::{Frames, Sizes, Stamp};

use super::build::Maker;
use crate::catalogue::{self, User};
use crate::section::Section;
use crate::sections::Traffic;
use crate::workload::Users;

/// The steps so far, and what they are made with.
pub(super) struct Sample {
    pub(super) make: Maker,
    pub(super) visitor: User,
    pub(super) steps: Vec<Step<Update>>,
    pub(super) pause: Duration,
}

impl Sample {
    pub(super) fn new(config: &Section) -> Sample {
        let visitor = catalogue::passing_user(0, config.user, config.bst);
        // Twice what the largest packet costs, and more than a meter rounds off its burst, so that
        // no meter is near its border.
        let rate = config.rate_limit.0;
        let rounded_off = config.burst_bytes() / rate / 1e5;
        let pause_s = (2.0 * f64::from(PACKET_LEN_MAX) / rate).max(rounded_off).max(PAUSE_S_MIN);
        Sample {
            make: Maker::new(config),
            visitor,
            steps: vec![Step::Update(visitor.added())],
            pause: Duration::from_nanos((pause_s * 1e9).ceil() as u64),
        }
    }

    pub(super) fn config(&self) -> &Section {
        &self.make.config
    }

    /// A frame from base stations, after a pause.
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

    /// A packet of the visitor through the tunnel, and what somebody did to the packet before.
    pub(super) fn uplink(&mut self, about: &'static str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut packet = self.make.packet(&self.visitor, true, 100);
        change(&mut packet);
        let frame = self.make.tunnelled(&self.visitor, &packet);
        self.access(about, frame);
    }

    /// A packet for the visitor from the Internet, and what somebody did to it before.
    pub(super) fn downlink(&mut self, about: &'static str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut packet = self.make.packet(&self.visitor, false, 100);
        change(&mut packet);
        let frame = self.make.over_core(&packet);
        self.core(about, frame);
    }

    /// What the bench sends, of many users and in several sizes.
    pub(super) fn ordinary(&mut self, traffic: &Traffic) {
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
