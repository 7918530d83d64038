//! Fuzz targets of models, callable on the stable toolchain.
//!
//! A target makes its body once, because setting a function up takes longer than an input. What a
//! fuzzer finds becomes a file in the `regressions` folder of the crate that it breaks.

use std::time::Duration;

use function_kit::Shard;
use packet::{PortId, Room};
use traffic::{Frames, Stamp};

use crate::build::repair;
use crate::pair::{Pair, clock};
use crate::unit::Model;

/// A model whose promises fuzzers try to break.
///
/// What is large of its bodies is `#[inline]`, and so compiled where it is used: in the testkit,
/// not with every model of the program.
pub trait Fuzzed: Model {
    /// The targets; the first one sets the function beside its oracle.
    const TARGETS: &'static [Target];
}

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name by which it is chosen.
    pub name: &'static str,
    /// Makes its body.
    pub body: fn() -> Body,
    /// Makes valid inputs, for the smoke run to damage.
    pub examples: fn() -> Vec<Vec<u8>>,
}

/// Takes any bytes, and panics when a promise is broken.
pub type Body = Box<dyn FnMut(&[u8])>;

/// A body by which every frame becomes exactly what the oracle says, as it is and with its
/// checksums made right, under each of some sections. The time goes by before each frame.
pub fn beside<N: Model>(sections: impl Iterator<Item = N::Section>, time: Duration) -> Body {
    let mut pairs = pairs::<N>(sections);
    Box::new(move |data| {
        let (port, mut frame) = frame_of(data);
        pass(&mut pairs, port, &frame, time);
        repair(&mut frame);
        pass(&mut pairs, port, &frame, time);
    })
}

/// The function beside its oracle under each of some sections.
pub fn pairs<N: Model>(sections: impl Iterator<Item = N::Section>) -> Vec<Pair<N>> {
    sections.map(|section| Pair::new(&section, Shard::WHOLE)).collect()
}

/// The frame of an input, as long as a worker has room for, and one of two ports for it.
pub fn frame_of(data: &[u8]) -> (PortId, Vec<u8>) {
    (PortId((data.len() % 2) as u8), data[..data.len().min(Room::default().frame)].to_vec())
}

/// Sends a frame through functions and oracles after some time.
///
/// # Panics
/// With the first difference.
pub fn pass<N: Model>(pairs: &mut [Pair<N>], port: PortId, frame: &[u8], time: Duration) {
    for pair in pairs {
        pair.elapsed += time;
        pair.frame(port, frame).unwrap_or_else(|difference| panic!("{difference}"));
    }
}

/// The first frames of each direction of a traffic, as examples.
pub fn frames<N: Model>(section: &N::Section, traffic: &N::Traffic, count: u64) -> Vec<Vec<u8>> {
    let workload = N::workload(section, traffic, clock());
    let directions = 0..workload.directions().len();
    let numbers = (0..count).flat_map(|number| directions.clone().map(move |at| (at, number)));
    let frame = |(direction, sequence)| {
        let draw = workload.draw(direction, sequence);
        let mut frame = vec![0; workload.frame_len(&draw)];
        workload.write(&draw, Stamp { stream: direction as u16, sequence, time: 0 }, &mut frame);
        frame
    };
    numbers.map(frame).collect()
}
