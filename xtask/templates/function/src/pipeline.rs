//! A frame's way through a patch.

use engine::{Drops, Function, Refusal, StageClock};
use machine::clock::Ticks;
use packet::{Batch, PortId, Reason, Verdict};

use super::control::Update;

/// A running patch on one worker.
pub struct Pipeline {
    pub(super) is_closed: bool,
}

/// The patch is closed.
const CLOSED: Reason = Reason(1);

impl Function for Pipeline {
    type Update = Update;
    const STAGES: &'static [&'static str] = &["forward"];
    const DROPS: Drops = Drops(&["unhandled", "closed"]);
    const TALLIES: &'static [&'static str] = &[];

    fn process(&mut self, batch: &mut Batch, _: Ticks, stages: &mut StageClock<'_>) {
        for slot in batch.slots() {
            batch.look_ahead(slot);
            let other = PortId(1 - batch.port(slot).0.min(1));
            let verdict =
                if self.is_closed { Verdict::Drop(CLOSED) } else { Verdict::Forward(other) };
            batch.set_verdict(slot, verdict);
        }
        stages.lap(0, batch.len());
    }

    fn apply(&mut self, update: Update, _: Ticks) -> Result<(), Refusal> {
        let Update::SetClosed(is_closed) = update;
        self.is_closed = is_closed;
        Ok(())
    }

    fn tallies(&self) -> &[u64] {
        &[]
    }

    fn state_bytes(&self) -> usize {
        size_of::<Pipeline>()
    }
}
