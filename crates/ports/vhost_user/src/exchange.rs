//! Lending a ring to a worker that polls, and having it back before its memory goes.
//!
//! ```text
//! control thread   Lender == lend, recall ==> Holder   worker, between two bursts
//!                         <== the ring ======
//! ```
//! Both ways are wait-free queues. The worker looks for commands before it touches a ring, so a
//! ring that was recalled is never touched again, however late the worker comes. The control thread
//! waits for the ring for a bounded time; the ring owns a share of its memory, so that memory is
//! unmapped when the worker has let go of it, and not before.

use std::thread;
use std::time::{Duration, Instant};

use rtrb::{Consumer, Producer, RingBuffer};

/// Creates the two ends for one ring.
pub fn exchange<R>() -> (Lender<R>, Holder<R>) {
    let (commands, inbox) = RingBuffer::new(COMMANDS_MAX);
    let (outbox, returned) = RingBuffer::new(COMMANDS_MAX);
    let lender = Lender { commands, returned, lent: false, owed: 0 };
    (lender, Holder { ring: None, inbox, outbox })
}

/// The control thread's end.
pub struct Lender<R> {
    commands: Producer<Command<R>>,
    returned: Consumer<Box<R>>,
    lent: bool,
    /// Number of rings that were recalled and not returned yet.
    owed: usize,
}

/// The worker's end.
pub struct Holder<R> {
    /// The ring; dropped before the queues, so that an abandoned queue means that the ring is
    /// dropped.
    ring: Option<Box<R>>,
    inbox: Consumer<Command<R>>,
    outbox: Producer<Box<R>>,
}

enum Command<R> {
    Hold(Box<R>),
    Return,
}

impl<R> Lender<R> {
    /// Returns true if a ring is lent and was not recalled.
    pub fn is_lent(&self) -> bool {
        self.lent
    }

    /// Lends a ring. Returns the ring if the worker has so many unread commands that no further one
    /// fits; the caller may retry later.
    ///
    /// # Panics
    /// When a ring is lent already.
    pub fn lend(&mut self, ring: Box<R>) -> Result<(), Box<R>> {
        assert!(!self.lent, "one ring at a time");
        self.collect();
        // Room for its recall is kept, and for what comes back.
        if self.commands.slots() < 2 || self.owed + 1 >= COMMANDS_MAX {
            return Err(ring);
        }
        match self.commands.push(Command::Hold(ring)) {
            Ok(()) => {
                self.lent = true;
                Ok(())
            }
            Err(rtrb::PushError::Full(Command::Hold(ring))) => Err(ring),
            Err(rtrb::PushError::Full(Command::Return)) => unreachable!("a ring was pushed"),
        }
    }

    /// Recalls the ring and waits up to `patience` for it. `None` if no ring was lent, if the
    /// worker has ended, or if it does not poll: it will then return the ring before it uses it.
    pub fn recall(&mut self, patience: Duration) -> Option<Box<R>> {
        if !self.lent {
            return None;
        }
        self.lent = false;
        // Its room was kept when the ring was lent.
        let _ = self.commands.push(Command::Return);
        self.owed += 1;
        let start = Instant::now();
        loop {
            if let Some(ring) = self.collect()
                && self.owed == 0
            {
                return Some(ring);
            }
            if self.commands.is_abandoned() || start.elapsed() > patience {
                return None;
            }
            thread::park_timeout(POLL);
        }
    }

    /// Processes returned rings; returns the last one.
    fn collect(&mut self) -> Option<Box<R>> {
        let mut last = None;
        while let Ok(ring) = self.returned.pop() {
            self.owed -= 1;
            last = Some(ring);
        }
        last
    }
}

impl<R> Holder<R> {
    /// Takes or returns rings as commanded.
    #[inline(always)]
    pub fn attend(&mut self) {
        if !self.inbox.is_empty() {
            self.obey();
        }
    }

    /// Returns the present ring.
    #[inline(always)]
    pub fn current(&mut self) -> Option<&mut R> {
        self.attend();
        self.ring.as_deref_mut()
    }

    /// Returns the present ring, whatever was commanded meanwhile.
    pub fn peek(&self) -> Option<&R> {
        self.ring.as_deref()
    }

    #[cold]
    fn obey(&mut self) {
        while let Ok(command) = self.inbox.pop() {
            match command {
                Command::Hold(ring) => self.ring = Some(ring),
                Command::Return => {
                    if let Some(ring) = self.ring.take() {
                        // As many places as commands: it fits; and where nobody waits it may go.
                        let _ = self.outbox.push(ring);
                    }
                }
            }
        }
    }
}

/// Largest number of unread commands of a worker.
const COMMANDS_MAX: usize = 16;

const POLL: Duration = Duration::from_micros(50);

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    #[test]
    fn a_polling_worker_gives_back_what_it_was_lent() {
        let (mut lender, mut holder) = exchange::<u32>();
        assert!(lender.recall(SOON).is_none(), "nothing was lent");
        let worker = thread::spawn(move || {
            let mut seen = Vec::new();
            while seen.last() != Some(&99) {
                if let Some(&mut number) = holder.current()
                    && seen.last() != Some(&number)
                {
                    seen.push(number);
                }
                thread::yield_now();
            }
            seen
        });
        for number in [1, 2, 3] {
            lender.lend(Box::new(number)).expect("there is room");
            assert!(lender.is_lent());
            assert_eq!(lender.recall(SOON), Some(Box::new(number)));
        }
        lender.lend(Box::new(99)).expect("there is room");
        let seen = worker.join().expect("it ends well");
        assert!(seen.is_sorted() && seen.len() <= 4);
        assert_eq!(lender.recall(SOON), None, "the worker has ended, and dropped it");
    }

    #[test]
    fn a_worker_that_does_not_poll_never_touches_what_was_recalled() {
        let (mut lender, mut holder) = exchange::<u32>();
        let mut lent = 0;
        while lender.lend(Box::new(lent)).is_ok() {
            assert!(lender.recall(Duration::ZERO).is_none());
            lent += 1;
        }
        assert!((2..=COMMANDS_MAX as u32).contains(&lent), "bounded: {lent}");
        assert_eq!(holder.current(), None, "all were recalled");
        lender.lend(Box::new(77)).expect("there is room again");
        assert_eq!(holder.current(), Some(&mut 77));
    }
}
