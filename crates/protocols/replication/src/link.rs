//! What a worker and the machine that speaks for it tell each other beside the changes.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use crate::trouble::Trouble;

/// Counts and wishes, each written by one side.
#[derive(Default)]
pub struct Link {
    is_connected: AtomicBool,
    sent: AtomicU64,
    done: AtomicU64,
    refused: AtomicU64,
    resynchronisations: AtomicU64,
    connections: AtomicU64,
    /// What both sides call the connection.
    connection: AtomicU64,
    /// The number of a trouble plus one; 0 for none.
    trouble: AtomicU8,
    ended: [AtomicU64; Trouble::ALL.len()],
    /// The number of a phase; written by the worker but for that of rest.
    phase: AtomicU8,
    /// How often the worker has closed and opened its ears; odd while they are closed.
    ears: AtomicU64,
    /// Of that, what the machine knows of.
    noticed: AtomicU64,
}

/// What the machine of an active function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// It tells what the worker hands over.
    Telling,
    /// It tells what the worker has handed over, and then that this was all.
    Leaving,
    /// It has no connection and wants none; what the worker has handed over is gone.
    Resting,
}

/// How replication stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Whether there is a connection on which changes pass.
    pub is_connected: bool,
    /// Connections so far.
    pub connections: u64,
    /// Changes sent, or received.
    pub sent: u64,
    /// Of an active function those that its standby has acknowledged, of a standby those that it
    /// has applied.
    pub acknowledged: u64,
    /// Changes that the standby could not apply.
    pub refused: u64,
    /// How often everything had to be told.
    pub resynchronisations: u64,
    /// Changes that were handed over and are not acknowledged yet.
    pub unacknowledged: u64,
    /// Things that changed and wait to be told.
    pub waiting: u64,
    /// Whether the standby has acknowledged all there is: the state at this moment outlives this
    /// instance.
    pub is_synchronised: bool,
    /// What hinders; empty where nothing does.
    pub trouble: &'static str,
}

impl Link {
    /// A connection is there, before which [`Link::resynchronise`] was called where it must be, and
    /// which both sides call this.
    pub(crate) fn connected(&self, connection: u64) {
        self.connection.store(connection, Ordering::Release);
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.trouble.store(0, Ordering::Relaxed);
        self.is_connected.store(true, Ordering::Release);
    }

    /// The connection is gone, or there is none.
    pub(crate) fn disconnected(&self, why: Trouble) {
        self.is_connected.store(false, Ordering::Release);
        self.trouble.store(why as u8 + 1, Ordering::Relaxed);
        self.ended[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Whether there is a connection.
    pub fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Acquire)
    }

    /// What both sides call the connection that is there, or was last: another number for each, of
    /// the standby's nonce. What a worker says of all that was told so far it says of a connection;
    /// on another one it may be said again, or things have changed since that were not told yet.
    ///
    /// A worker that sees a connection here sees what [`Link::resynchronisations`] was before it.
    pub fn connection(&self) -> u64 {
        self.connection.load(Ordering::Acquire)
    }

    /// How often a connection ended, or could not be made, for this reason.
    pub fn ended(&self, why: Trouble) -> u64 {
        self.ended[why as usize].load(Ordering::Relaxed)
    }

    /// All that there is must be told from now on.
    pub(crate) fn resynchronise(&self) {
        self.resynchronisations.fetch_add(1, Ordering::Release);
    }

    /// How often that was so.
    pub fn resynchronisations(&self) -> u64 {
        self.resynchronisations.load(Ordering::Acquire)
    }

    /// So many more changes were sent, or received.
    pub(crate) fn sent(&self, count: usize) {
        self.sent.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// All changes up to this one, counted from 1, are in the tables of the standby.
    pub fn done(&self, last: u64) {
        self.done.store(last, Ordering::Release);
    }

    /// Up to which change that is so.
    pub fn last_done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    /// So many changes could not be applied in all.
    pub fn refuses(&self, count: u64) {
        self.refused.store(count, Ordering::Relaxed);
    }

    /// How many those were.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// The machine has something to tell from now on, and everything anew; it must be at rest.
    pub(crate) fn tell(&self) {
        self.phase.store(Phase::Telling as u8, Ordering::Release);
    }

    /// What was handed over is all that the machine is to tell.
    pub(crate) fn hand_over(&self) {
        self.phase.store(Phase::Leaving as u8, Ordering::Release);
    }

    /// The machine has nothing to tell.
    pub(crate) fn rest(&self) {
        self.phase.store(Phase::Resting as u8, Ordering::Release);
    }

    /// What the machine does.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Telling,
            1 => Phase::Leaving,
            _ => Phase::Resting,
        }
    }

    /// The worker hears nothing from now on.
    pub(crate) fn close_ears(&self) {
        self.ears.fetch_or(1, Ordering::Release);
    }

    /// The worker hears again, and knows nothing of what was told before.
    pub(crate) fn open_ears(&self) {
        let ears = self.ears.load(Ordering::Relaxed);
        self.ears.store(ears + (ears & 1), Ordering::Release);
    }

    /// How often the worker has closed and opened its ears; odd while they are closed.
    pub(crate) fn ears(&self) -> u64 {
        self.ears.load(Ordering::Acquire)
    }

    /// Whether the worker hears what is told.
    pub(crate) fn hears(&self) -> bool {
        self.ears() & 1 == 0
    }

    /// The machine knows of that.
    pub(crate) fn notice(&self, ears: u64) {
        self.noticed.store(ears, Ordering::Release);
    }

    /// Whether the machine knows of all of it.
    pub(crate) fn has_noticed(&self) -> bool {
        self.noticed.load(Ordering::Acquire) == self.ears()
    }

    /// What can be told without the worker.
    pub fn status(&self) -> Status {
        let trouble = usize::from(self.trouble.load(Ordering::Relaxed)).checked_sub(1);
        Status {
            is_connected: self.is_connected(),
            connections: self.connections.load(Ordering::Relaxed),
            sent: self.sent_count(),
            acknowledged: self.last_done(),
            refused: self.refused(),
            resynchronisations: self.resynchronisations(),
            trouble: trouble.map_or("", |at| Trouble::ALL[at].text()),
            ..Status::default()
        }
    }

    /// Changes sent or received.
    pub fn sent_count(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}
