//! A network function as the worker sees it.

use machine::clock::Ticks;
use packet::{Batch, Reason};

use crate::control::Refusal;
use crate::stages::StageClock;

/// A network function: state and a pipeline over batches, on one worker.
///
/// Every packet of a batch has a verdict other than [`packet::Verdict::UNHANDLED`] when
/// [`Function::process`] returns. Time comes as an argument; randomness and I/O do not occur.
pub trait Function: Send {
    /// What control can change while the function runs.
    type Update: Send + 'static;

    /// The stages of the pipeline in the packet's order, for the cycle counts.
    const STAGES: &'static [&'static str];

    /// The reasons for dropping, the first one `unhandled`; [`Reason`] counts in them.
    const DROPS: Drops;

    /// Things counted beside verdicts, in the order of [`Function::tallies`].
    const TALLIES: &'static [&'static str];

    /// Decides over every packet of the batch and rewrites those it forwards.
    fn process(&mut self, batch: &mut Batch, now: Ticks, stages: &mut StageClock<'_>);

    /// Applies one change, between batches.
    ///
    /// # Errors
    /// When the change is impossible; nothing has changed then.
    fn apply(&mut self, update: Self::Update, now: Ticks) -> Result<(), Refusal>;

    /// The current tallies.
    fn tallies(&self) -> &[u64];

    /// Bytes of state this worker holds for the function, tables and indexes included.
    fn state_bytes(&self) -> usize;
}

/// The drop reasons of a function: names in the order of their [`Reason`] numbers.
#[derive(Clone, Copy, Debug)]
pub struct Drops(pub &'static [&'static str]);

impl Drops {
    /// The name of a reason.
    pub fn name(&self, reason: Reason) -> &'static str {
        self.0.get(usize::from(reason.0)).copied().unwrap_or("unknown-reason")
    }
}
