//! A standby within the same process, turned by the machine beside the function: what replication
//! costs can be measured with one machine and one program, and fail-over be tried.
//!
//! What the two say to each other passes in memory. The standby's time is that of the worker of the
//! active NAT. The lock is the machine's alone until the standby takes over.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use machine::clock::Ticks;
use protocol_kit::{Input, Machine, Output, Time};
use protocol_replication::Joined;

/// A worker of a standby that sees no packet.
pub trait Rehearses: Send + 'static {
    /// Applies what was received, as much as a round may; whether there was anything.
    fn round(&mut self, now: Ticks) -> bool;
}

/// What the worker of an active NAT and the machine with its standby have in common.
pub struct Beside<S> {
    /// None once it has taken over.
    standby: Mutex<Option<Box<S>>>,
    /// When the worker last went round.
    now: AtomicU64,
}

impl<S: Rehearses> Beside<S> {
    /// For a standby that begins at `now`.
    pub fn new(standby: S, now: Ticks) -> Arc<Beside<S>> {
        Arc::new(Beside { standby: Mutex::new(Some(Box::new(standby))), now: AtomicU64::new(now) })
    }

    /// The worker goes round.
    pub fn pass(&self, now: Ticks) {
        self.now.store(now, Ordering::Relaxed);
    }

    /// Whether it is still there.
    pub fn is_here(&self) -> bool {
        self.standby.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Takes it out, as it is.
    pub fn take(&self) -> Option<S> {
        self.standby.lock().unwrap_or_else(PoisonError::into_inner).take().map(|one| *one)
    }

    /// Applies what was received, as much as a round may; none once it has taken over.
    fn round(&self) -> Option<()> {
        let mut standby = self.standby.lock().unwrap_or_else(PoisonError::into_inner);
        let standby = standby.as_mut()?;
        let now = self.now.load(Ordering::Relaxed);
        for _ in 0..ROUNDS_MAX {
            if !standby.round(now) {
                break;
            }
        }
        Some(())
    }
}

/// The machine of a NAT with a standby beside it.
pub struct Rehearsal<S> {
    beside: Arc<Beside<S>>,
    joined: Joined,
    is_over: bool,
    next: Time,
}

impl<S: Rehearses> Rehearsal<S> {
    /// For a standby, and what joins it to the active NAT.
    pub fn new(beside: Arc<Beside<S>>, joined: Joined) -> Rehearsal<S> {
        Rehearsal { beside, joined, is_over: false, next: Time::ZERO }
    }
}

impl<S: Rehearses> Machine for Rehearsal<S> {
    type Command = Infallible;
    type Report = Infallible;

    /// Nothing comes from outside.
    fn input(&mut self, _: Time, _: Input<'_, Infallible>) {}

    /// Wants nothing of any network.
    fn poll(&mut self, now: Time) -> Option<Output<Infallible>> {
        if !self.is_over && self.beside.round().is_none() {
            // What was not told yet is lost, as by a crash.
            self.joined.cut(now);
            self.is_over = true;
        }
        self.next = now.after(ROUND_EVERY);
        if self.is_over { None } else { self.joined.poll(now) }
    }

    fn deadline(&self) -> Option<Time> {
        let own = self.joined.deadline().map_or(self.next, |joined| joined.min(self.next));
        (!self.is_over).then_some(own)
    }
}

/// Rounds behind one another, as long as there is something to apply.
const ROUNDS_MAX: usize = 64;

/// How often the standby goes round where nothing is told: its sessions end by its sweep.
const ROUND_EVERY: Duration = Duration::from_millis(4);
