//! What every function obeys, whatever it does: each law takes a way to make the function and any
//! frames, and panics where the law is broken.
//!
//! Frames enter at one port, because the order between ports is the engine's affair.

use engine::Function;
use machine::clock::Ticks;
use packet::{MADE_FULL, PortId};

use crate::device::{Device, Outcomes};

/// Frames, the port at which they enter, and when.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Where they enter.
    pub port: PortId,
    /// In this order.
    pub frames: &'a [Vec<u8>],
    /// All at the same time.
    pub now: Ticks,
}

/// Holds all laws.
pub fn hold<F: Function>(make: impl Fn() -> F, ports: usize, input: Input<'_>) {
    let (device, whole) = hold_whatever_the_batches(make, ports, input);
    batches_do_not_matter(device, input, &whole);
}

/// Holds all laws but [`batches_do_not_matter`], for a function whose stages learn from packets
/// what others of the same batch need; gives the way to make a device, and what became of the
/// frames.
pub fn hold_whatever_the_batches<F: Function>(
    make: impl Fn() -> F,
    ports: usize,
    input: Input<'_>,
) -> (impl Fn() -> Device<F>, Outcomes) {
    let device = move || Device::new(make(), ports);
    let whole = pass_in_chunks(&mut device(), input, input.frames.len());
    every_frame_is_accounted_for(input, &whole);
    every_frame_has_a_verdict(&whole);
    nothing_is_random(&device, input, &whole);
    (device, whole)
}

/// Frames in and made are frames out, dropped with a reason or punted; nothing appears, nothing is
/// lost.
pub fn every_frame_is_accounted_for(input: Input<'_>, outcomes: &Outcomes) {
    let counts = &outcomes.counts;
    let came = counts.received + counts.made;
    assert_eq!(counts.received, input.frames.len() as u64, "frames received");
    assert_eq!(counts.accounted_total(), came, "frames accounted for");
    let left: usize = outcomes.left.iter().map(Vec::len).sum();
    assert_eq!(left as u64, counts.forwarded, "frames that left");
}

/// No frame is dropped because nobody spoke.
pub fn every_frame_has_a_verdict(outcomes: &Outcomes) {
    assert_eq!(outcomes.counts.dropped[0], 0, "frames without a verdict");
}

/// Frames one by one, in threes and all at once become the same. Frames made beside them leave
/// behind their batch, so that the order of a port is another then; and where a whole batch makes
/// more than there is room for ([`MADE_FULL`]), batches do matter.
pub fn batches_do_not_matter<F: Function>(
    device: impl Fn() -> Device<F>,
    input: Input<'_>,
    whole: &Outcomes,
) {
    let full = device().names().tallies.iter().position(|name| *name == MADE_FULL);
    if full.is_some_and(|index| whole.counts.tallies[index] > 0) {
        return;
    }
    for chunk in [1, 3] {
        let mut split = pass_in_chunks(&mut device(), input, chunk);
        let mut whole = whole.clone();
        if whole.counts.made > 0 {
            split.left.iter_mut().chain(&mut whole.left).for_each(|left| left.sort());
        }
        assert_eq!(split, whole, "in batches of {chunk}");
    }
}

/// The same frames twice become the same twice.
pub fn nothing_is_random<F: Function>(
    device: impl Fn() -> Device<F>,
    input: Input<'_>,
    whole: &Outcomes,
) {
    let again = pass_in_chunks(&mut device(), input, input.frames.len());
    assert_eq!(&again, whole, "a second time");
}

fn pass_in_chunks<F: Function>(device: &mut Device<F>, input: Input<'_>, chunk: usize) -> Outcomes {
    let before = device.counts();
    let mut left: Vec<Vec<Vec<u8>>> = Vec::new();
    for frames in input.frames.chunks(chunk.max(1)) {
        let frames = frames.iter().map(Vec::as_slice);
        let outcomes = device.pass_all(input.port, frames, input.now);
        left.resize(outcomes.left.len(), Vec::new());
        left.iter_mut().zip(outcomes.left).for_each(|(all, more)| all.extend(more));
    }
    Outcomes { left, counts: device.counts().since(&before) }
}
