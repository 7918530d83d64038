//! How a queue is told of connections that come and go, without waiting.
//!
//! In steady state the queue reads one number. When it has changed, the queue takes the new rings
//! from a place behind a lock that it only tries, and leaves the old ones there, so that memory is
//! unmapped by the control thread and not between two bursts.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::breach::Breach;
use crate::lines::Line;

/// Exchange between the control thread and one queue.
#[derive(Debug, Default)]
pub struct Mailbox {
    /// Number of changes of the offered rings.
    generation: AtomicU64,
    /// Generation that the queue has seen.
    seen: AtomicU64,
    place: Mutex<Place>,
    /// Complaint of the queue about the peer: the generation and a breach, or 0.
    complaint: AtomicU64,
}

#[derive(Debug, Default)]
struct Place {
    offer: Option<Line>,
    retired: Option<Line>,
}

impl Mailbox {
    /// Control thread: offers the rings to use from now on, or `None`.
    pub fn offer(&self, line: Option<Line>) {
        let old = {
            let mut place = self.place.lock().unwrap_or_else(|broken| broken.into_inner());
            let retired = place.retired.take();
            let old = (std::mem::replace(&mut place.offer, line), retired);
            self.generation.fetch_add(1, Ordering::Release);
            old
        };
        // Out of the lock: it may unmap.
        drop(old);
    }

    /// Control thread: releases rings that the queue has returned; returns true if the queue has
    /// seen the last offer.
    pub fn clear(&self) -> bool {
        let retired = {
            let mut place = self.place.lock().unwrap_or_else(|broken| broken.into_inner());
            place.retired.take()
        };
        drop(retired);
        self.seen.load(Ordering::Acquire) == self.generation.load(Ordering::Relaxed)
    }

    /// Control thread: returns the queue's complaint about the rings of the last offer, once.
    pub fn complaint(&self) -> Option<Breach> {
        let complaint = self.complaint.swap(0, Ordering::Acquire);
        let is_of_now = complaint >> 8 == self.generation.load(Ordering::Relaxed);
        let breach = (complaint & 0xff).checked_sub(1).filter(|_| is_of_now)?;
        Breach::ALL.get(breach as usize).copied()
    }

    /// Queue: returns true if it should [`collect`](Mailbox::collect).
    #[inline(always)]
    pub fn has_changed(&self, seen: u64) -> bool {
        self.generation.load(Ordering::Acquire) != seen
    }

    /// Queue: exchanges its rings for the offered ones; does nothing if the control thread has the
    /// lock.
    #[cold]
    pub fn collect(&self, seen: &mut u64, line: &mut Option<Line>) {
        let Ok(mut place) = self.place.try_lock() else { return };
        *seen = self.generation.load(Ordering::Acquire);
        place.retired = std::mem::replace(line, place.offer.take());
        self.seen.store(*seen, Ordering::Release);
    }

    /// Queue: reports a protocol violation on the rings of this generation.
    pub fn complain(&self, seen: u64, breach: Breach) {
        self.complaint.store(seen << 8 | (breach as u64 + 1), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::MasterLine;

    fn line() -> Option<Line> {
        Some(Line::Master(MasterLine::new(None, None)))
    }

    #[test]
    fn a_queue_follows_what_is_offered() {
        let mailbox = Mailbox::default();
        let (mut seen, mut own) = (0, None);
        assert!(!mailbox.has_changed(seen) && mailbox.clear());
        mailbox.offer(line());
        mailbox.offer(None);
        mailbox.offer(line());
        assert!(mailbox.has_changed(seen) && !mailbox.clear());
        mailbox.collect(&mut seen, &mut own);
        assert!(own.is_some() && !mailbox.has_changed(seen) && mailbox.clear());
        mailbox.offer(None);
        mailbox.collect(&mut seen, &mut own);
        assert!(own.is_none() && mailbox.clear());
    }

    #[test]
    fn a_complaint_is_about_the_rings_of_its_time() {
        let mailbox = Mailbox::default();
        let (mut seen, mut own) = (0, None);
        mailbox.offer(line());
        mailbox.collect(&mut seen, &mut own);
        mailbox.complain(seen, Breach::Chain);
        assert_eq!(mailbox.complaint(), Some(Breach::Chain));
        assert_eq!(mailbox.complaint(), None, "only once");
        mailbox.complain(seen, Breach::Descriptor);
        mailbox.offer(line());
        assert_eq!(mailbox.complaint(), None, "the peer is another by now");
    }
}
