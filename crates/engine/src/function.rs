//! A network function as the worker sees it.

use std::io;

use machine::clock::Ticks;
use packet::{Batch, PortId, Reason, Room, Slot};

use crate::control::Refusal;
use crate::plane::{Context, Event};
use crate::stages::StageClock;

/// A network function: state and a pipeline over batches, on one worker.
///
/// Every packet of a batch has a verdict other than [`packet::Verdict::UNHANDLED`] when
/// [`Function::process`] returns. Time comes as an argument; randomness and I/O do not occur.
pub trait Function: Send {
    /// Change that control can request at run time.
    type Update: Send + 'static;

    /// Stages of the pipeline in the order of a packet, for the cycle counts.
    const STAGES: &'static [&'static str];

    /// Drop reasons, the first one `unhandled`; a [`Reason`] is an index into them.
    const DROPS: Drops;

    /// Names of counters in addition to verdicts, in the order of [`Function::tallies`].
    const TALLIES: &'static [&'static str];

    /// Reasons for which packets go to the control plane, in the order of their numbers.
    const PUNTS: &'static [&'static str] = &[];

    /// Returns the names of stages, drop reasons and tallies. Only a function whose parts depend on
    /// its configuration has other names than the constants above.
    fn names(&self) -> Names
    where
        Self: Sized,
    {
        Names::of::<Self>()
    }

    /// Decides on every packet of the batch and rewrites those that it forwards. Each packet keeps
    /// the port at which it came in, because captures are by that port.
    fn process(&mut self, batch: &mut Batch, now: Ticks, stages: &mut StageClock<'_>);

    /// Returns what the function knows of a packet of the last batch that it has punted.
    fn context(&self, _batch: &Batch, _slot: Slot) -> Context {
        Context::default()
    }

    /// Does what is due by time: sweeps, liveness, time-outs. It is called once in every round,
    /// before [`Function::made`]. After a stall of the worker it is not called until the frames
    /// that had waited are processed, so that nothing expires because the worker did not run.
    fn tick(&mut self, _now: Ticks) {}

    /// Returns the next thing that the control plane is to know; asked for after every
    /// [`Function::tick`] while a control plane is there.
    fn event(&mut self) -> Option<Event> {
        None
    }

    /// Says that the link of a port has come up or gone down. All links are up until the worker
    /// says otherwise, which takes it a millisecond or two.
    fn link(&mut self, _port: PortId, _is_up: bool) {}

    /// Applies one change, between batches.
    ///
    /// # Errors
    /// When the change is impossible; the state is then unchanged.
    fn apply(&mut self, update: Self::Update, now: Ticks) -> Result<(), Refusal>;

    /// Returns the current tallies.
    fn tallies(&self) -> &[u64];

    /// Returns the bytes of state that this worker holds for the function, including tables and
    /// indexes.
    fn state_bytes(&self) -> usize;

    /// Returns the destination ports of UDP whose datagrams the function may read itself, beyond
    /// their headers: those are not joined, however fast they follow each other.
    fn reads_datagrams(&self) -> &'static [u16] {
        &[]
    }

    /// Sets the room of the worker's frames, once and before the first batch. A function that
    /// generates frames creates its [`packet::Made`] here; other functions do nothing.
    ///
    /// # Errors
    /// When there is no memory.
    fn make_room(&mut self, _room: Room) -> io::Result<()> {
        Ok(())
    }

    /// Returns frames that the function generated in addition to received ones: copies for further
    /// ports, answers, fragments, frames that had waited; each has its verdict. The worker sends
    /// them by their verdicts after the batch of the same round, counts them as generated, and
    /// empties the batch.
    ///
    /// It is called once in every round, also without received frames, so that a change or
    /// [`Function::tick`] may be the cause. Most functions generate no frames, and for them it
    /// costs nothing.
    fn made(&mut self, _now: Ticks) -> Option<&mut Batch> {
        None
    }
}

/// Names of a function's counters.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Names of [`Function::STAGES`].
    pub stages: &'static [&'static str],
    /// Drop reasons of [`Function::DROPS`].
    pub drops: Drops,
    /// Names of [`Function::TALLIES`].
    pub tallies: &'static [&'static str],
    /// Names of [`Function::PUNTS`].
    pub punts: &'static [&'static str],
}

impl Names {
    /// Returns the names that the constants of a function define.
    pub const fn of<F: Function>() -> Names {
        let (stages, drops, tallies) = (F::STAGES, F::DROPS, F::TALLIES);
        Names { stages, drops, tallies, punts: F::PUNTS }
    }
}

/// Drop reasons of a function: names in the order of their [`Reason`] numbers.
#[derive(Clone, Copy, Debug)]
pub struct Drops(pub &'static [&'static str]);

impl Drops {
    /// Returns the name of a reason.
    pub fn name(&self, reason: Reason) -> &'static str {
        self.0.get(usize::from(reason.0)).copied().unwrap_or("unknown-reason")
    }
}
