//! A standby beside the function in this process: it follows, and goes on when the other one ends.
//!
//! What is not in it: how a network finds out and sends its frames elsewhere. The standby gets the
//! links of the active one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::Function;
use function_kit::{NetworkFunction, SetupError};
use machine::clock;
use measure::{MeasureError, Restart, Takeover};
use model_kit::{Model, PipelineOf};
use packet::Room;

use super::device::{Embedded, Lane};
use super::links::{Depth, connect};

impl<N: Model> Embedded<N> {
    /// Returns true if each worker has a standby.
    pub(super) fn has_standby(&mut self) -> bool {
        let is_here = |lane: &mut Lane<N>| {
            N::Unit::standby(lane.worker.function_mut()).is_some_and(|standby| standby.is_here)
        };
        self.lanes.iter_mut().all(is_here)
    }

    /// Runs the workers without frames until their standbys have acknowledged all changes; returns
    /// false after `patience`.
    pub(super) fn follow(&mut self, patience: Duration) -> Result<bool, MeasureError> {
        let ports = N::Unit::ports(&self.model.config).len();
        let workers = self.lanes.iter_mut().map(|lane| &mut lane.worker);
        let hands_over = N::Unit::hands_over(&self.model.config);
        let _links = connect((ports, hands_over, Depth::usual()), workers)?;
        let deadline = Instant::now() + patience;
        loop {
            let mut is_synchronised = true;
            for lane in &mut self.lanes {
                lane.worker.poll(clock::now());
                let standby = N::Unit::standby(lane.worker.function_mut());
                let standby = standby
                    .filter(|standby| standby.is_here)
                    .ok_or(MeasureError::Unsupported(NO_STANDBY))?;
                is_synchronised &= standby.is_synchronised;
            }
            if self.is_interrupted() {
                return Err(MeasureError::Interrupted);
            }
            if is_synchronised || Instant::now() > deadline {
                return Ok(is_synchronised);
            }
        }
    }
}

/// Functions that end, with the standbys that take over.
pub(super) struct TakingOver<N: Model> {
    room: Room,
    /// Ended functions; they are freed after the trial, because that takes time.
    ended: Mutex<Vec<PipelineOf<N>>>,
    unacknowledged: AtomicU64,
}

impl<N: Model> TakingOver<N> {
    /// Creates the take-over for functions that generate frames with this room.
    pub fn new(room: Room) -> Self {
        Self { room, ended: Mutex::default(), unacknowledged: AtomicU64::new(0) }
    }

    /// Ends a function and puts its standby in its place.
    pub fn replace(&self, function: &mut PipelineOf<N>) -> Result<(), SetupError> {
        let waiting = N::Unit::standby(function).map_or(0, |standby| standby.unacknowledged);
        let mut standby = N::Unit::fail_over(function).ok_or_else(|| SetupError::Table {
            what: "a standby",
            why: "there is no standby any more".to_owned(),
        })?;
        let made = standby.make_room(self.room);
        made.map_err(|source| SetupError::Memory {
            what: "frames that a standby generates",
            source,
        })?;
        self.unacknowledged.fetch_add(waiting, Ordering::Relaxed);
        let ended = std::mem::replace(function, standby);
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(ended);
        Ok(())
    }

    /// Returns the take-over for the record.
    pub fn record(&self, restart: Restart) -> Takeover {
        let Restart { asked_ns, ready_after_ns, silence_ns, .. } = restart;
        Takeover {
            asked_ns,
            ready_after_ns,
            silence_ns,
            unacknowledged: self.unacknowledged.load(Ordering::Relaxed),
            what: "a standby in the same process".to_owned(),
        }
    }
}

/// Error text: why there is no standby.
pub(super) const NO_STANDBY: &str =
    "this function has no standby; `replication: {role: rehearsal}` adds one to cgnat";
