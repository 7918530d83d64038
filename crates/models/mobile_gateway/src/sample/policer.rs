//! The policer at its border: how many frames pass at once, and when the next one does.
use std::time::Duration;

use crate::section::Section;
use function_mobile_gateway::gateway::{ACCESS, CORE};

use super::steps::Sample;

/// Large frames of one user at one moment until some exceed the rate, in each direction; then
/// silence, half as long as it takes for one to pass again and then longer.
pub(super) fn policer(sample: &mut Sample) {
    let Some(Burst { packet_len, conforming }) = frames_to_exceed(sample.config()) else { return };
    let visitor = sample.visitor;
    let (rate, burst) = (sample.config().rate_limit.0, sample.config().burst_bytes());
    // What has to be earned back before another frame conforms.
    let excess_bytes = conforming as f64 * f64::from(packet_len) - burst;
    let half = Duration::from_secs_f64(excess_bytes / 2.0 / rate);
    let full = Duration::from_secs_f64(burst / rate);
    for (port, other) in [(ACCESS, CORE), (CORE, ACCESS)] {
        let frame = |port| match port == ACCESS {
            true => {
                let packet = sample.make.packet(&visitor, true, packet_len);
                sample.make.tunnelled(&visitor, &packet)
            }
            false => sample.make.over_core(&sample.make.packet(&visitor, false, packet_len)),
        };
        let (frame, opposite) = (frame(port), frame(other));
        sample.steps.push(model_kit::check::Step::Wait(full + sample.pause));
        for _ in 0..conforming + 3 {
            sample.frame_at_once(port, "as fast as can be", frame.clone());
        }
        sample.frame_at_once(other, "the other way has a rate of its own", opposite);
        sample.steps.push(model_kit::check::Step::Wait(half));
        sample.frame_at_once(port, "too early", frame.clone());
        sample.steps.push(model_kit::check::Step::Wait(half + half / 2));
        sample.frame_at_once(port, "late enough", frame.clone());
        sample.frame_at_once(port, "too early again", frame);
        // All debts are paid before anything else is sent.
        sample.steps.push(model_kit::check::Step::Wait(full + sample.pause * 2));
    }
}

/// Frames of one length that use up a burst.
pub(super) struct Burst {
    /// Length of the user's packet in bytes.
    pub packet_len: u16,
    /// How many of them conform at once.
    pub conforming: u64,
}

/// Frames that use up the burst without ending next to its border; none where they are too many.
pub(super) fn frames_to_exceed(config: &Section) -> Option<Burst> {
    let burst = config.burst_bytes();
    (PACKET_LEN_LEAST..=PACKET_LEN_MOST).rev().step_by(20).find_map(|packet_len| {
        let len = f64::from(packet_len);
        let whole = (burst / len).floor();
        let (before, behind) = (burst - whole * len, (whole + 1.0) * len - burst);
        let is_clear = behind > MARGIN_BYTES && (before > MARGIN_BYTES || whole == 0.0);
        let conforming = whole as u64 + 1;
        (is_clear && conforming <= FRAMES_MAX).then_some(Burst { packet_len, conforming })
    })
}

/// Lengths of packets to choose from.
const PACKET_LEN_LEAST: u16 = 1500;
const PACKET_LEN_MOST: u16 = 1880;

/// More than what meters round off over the largest burst.
const MARGIN_BYTES: f64 = 64.0;

/// Frames that a sample spends at most to use up one direction's burst.
const FRAMES_MAX: u64 = 400;
