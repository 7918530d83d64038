//! The steps of a sample, and the stations and packets that they use.

use function_l2_switch::config::Config;
use function_l2_switch::config::features::Attachment;
use function_l2_switch::control::Update;
use model_kit::build::{datagram, packet, text};
use model_kit::check::Step;
use wire::{MacAddr, protocol};

use crate::generated::pairs;

/// The steps so far, and what they are made for.
pub(super) struct Sample {
    pub(super) config: Config,
    pub(super) circuits: Vec<Attachment>,
    /// The domain of ordinary stations: the first that both ports are in.
    pub(super) domain: u16,
    pub(super) steps: Vec<Step<Update>>,
}

/// The first domain that has both the downlink and the uplink port.
pub(super) fn first_pair(config: &Config) -> u16 {
    pairs(config).first().copied().unwrap_or(0)
}

/// A station that no configuration has.
pub(super) fn visitor(number: u8) -> MacAddr {
    MacAddr([0x0a, 0x00, 0x5e, 0x00, 0x53, number])
}

/// A UDP datagram over IPv4.
pub(super) fn payload() -> Vec<u8> {
    let (from, to) = ([192, 0, 2, 1].into(), [198, 51, 100, 1].into());
    packet(from, to, protocol::UDP, &datagram((40_000, 9), &text(40)))
}

/// The largest limit on learned stations that a sample reaches.
pub(super) const FILLED_MAX: u32 = 64;
