//! A wire in the place of the device: what a port brings leaves by the other one, untouched.
//!
//! It runs where a worker runs, with the same ports and batches, so that what the tester does with
//! it is what the tester can do at all. It deliberately looks at no frame.

use engine::{Drops, Function, Refusal, StageClock};
use machine::clock::Ticks;
use packet::{Batch, PortId, Verdict};

/// Forwards between two ports.
#[derive(Debug, Default)]
pub(super) struct Wire;

impl Function for Wire {
    type Update = std::convert::Infallible;
    const STAGES: &'static [&'static str] = &["forward"];
    const DROPS: Drops = Drops(&["unhandled"]);
    const TALLIES: &'static [&'static str] = &[];

    fn process(&mut self, batch: &mut Batch, _: Ticks, stages: &mut StageClock<'_>) {
        for slot in batch.slots() {
            let from = batch.port(slot).0;
            batch.set_verdict(slot, Verdict::Forward(PortId(from ^ 1)));
        }
        stages.lap(0, batch.len());
    }

    fn apply(&mut self, update: Self::Update, _: Ticks) -> Result<(), Refusal> {
        match update {}
    }

    fn tallies(&self) -> &[u64] {
        &[]
    }

    fn state_bytes(&self) -> usize {
        0
    }
}
