//! A network function as the worker sees it.

use std::io;

use machine::clock::Ticks;
use packet::{Batch, Reason, Room};

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

    /// The names of all of these. Only a function whose configuration says what it consists of has
    /// others than those above.
    fn names(&self) -> Names
    where
        Self: Sized,
    {
        Names::of::<Self>()
    }

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

    /// Tells how much room the worker's frames have, once and before the first batch. A function that
    /// makes frames sets up its [`packet::Made`] here; for all others there is nothing to do.
    ///
    /// # Errors
    /// When there is no memory.
    fn make_room(&mut self, _room: Room) -> io::Result<()> {
        Ok(())
    }

    /// Lends frames that the function made beside those that came in: copies for further ports,
    /// answers, pieces, frames that had waited; each has its verdict. The worker sends them by their
    /// verdicts behind the batch of the same round, counts them as made, and empties the batch.
    ///
    /// It is called once in every round, also when no frame came in, so that a change or the time `now`
    /// may be the cause. Most functions make none, and for them it costs nothing.
    fn made(&mut self, _now: Ticks) -> Option<&mut Batch> {
        None
    }
}

/// What a function counts, by name.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// As [`Function::STAGES`].
    pub stages: &'static [&'static str],
    /// As [`Function::DROPS`].
    pub drops: Drops,
    /// As [`Function::TALLIES`].
    pub tallies: &'static [&'static str],
}

impl Names {
    /// Those that a kind of function always has.
    pub const fn of<F: Function>() -> Names {
        Names { stages: F::STAGES, drops: F::DROPS, tallies: F::TALLIES }
    }
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
