//! Something of one worker that others look at: a whole that takes the place of another whole.
//!
//! Nobody waits for anybody: who looks at it pays for one number that is rarely written, and sees
//! what was there before as long as another one has the new one in hand; who publishes tries again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// What was published last.
#[derive(Debug)]
pub struct Published<T> {
    /// How many there have been before it.
    number: AtomicU64,
    latest: Mutex<Arc<T>>,
}

/// Somebody who looks at it.
#[derive(Debug)]
pub struct Follower<T> {
    published: Arc<Published<T>>,
    number: u64,
    seen: Arc<T>,
}

impl<T> Published<T> {
    /// The first.
    pub fn new(first: T) -> Published<T> {
        Published { number: AtomicU64::new(0), latest: Mutex::new(Arc::new(first)) }
    }

    /// Publishes the next one; whether nobody was in the way.
    pub fn publish(&self, next: impl FnOnce() -> T) -> bool {
        let Some(mut latest) = self.try_latest() else { return false };
        *latest = Arc::new(next());
        self.number.fetch_add(1, Ordering::Release);
        true
    }

    fn try_latest(&self) -> Option<MutexGuard<'_, Arc<T>>> {
        match self.latest.try_lock() {
            Ok(latest) => Some(latest),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl<T> Follower<T> {
    /// One that has seen what is published now; it may wait, a moment, for who publishes.
    pub fn new(published: Arc<Published<T>>) -> Follower<T> {
        let latest = published.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, seen) = (published.number.load(Ordering::Acquire), Arc::clone(&latest));
        drop(latest);
        Follower { published, number, seen }
    }

    /// What is published now, or was a moment ago.
    #[inline(always)]
    pub fn latest(&mut self) -> &T {
        if self.published.number.load(Ordering::Acquire) != self.number {
            self.look();
        }
        &self.seen
    }

    #[cold]
    fn look(&mut self) {
        if let Some(latest) = self.published.try_latest() {
            self.number = self.published.number.load(Ordering::Acquire);
            self.seen = Arc::clone(&latest);
        }
    }

    /// What was looked at last.
    #[inline(always)]
    pub fn seen(&self) -> &T {
        &self.seen
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn who_looks_sees_the_latest_and_the_earlier_ones_are_gone() {
        let first = Arc::new(1);
        let published = Arc::new(Published::new(Arc::clone(&first)));
        let mut one = Follower::new(Arc::clone(&published));
        let mut other = Follower::new(Arc::clone(&published));
        assert_eq!((**one.latest(), **other.latest()), (1, 1));
        assert!(published.publish(|| Arc::new(2)));
        assert_eq!((**one.seen(), **one.latest(), **one.seen()), (1, 2, 2));
        assert_eq!(Arc::strong_count(&first), 2, "the other one has it yet");
        assert!(published.publish(|| Arc::new(3)));
        assert_eq!((**one.latest(), **other.latest()), (3, 3));
        assert_eq!(Arc::strong_count(&first), 1);
        assert_eq!(**Follower::new(published).seen(), 3);
    }

    #[test]
    fn nobody_waits_for_who_has_it_in_hand() {
        let published = Arc::new(Published::new(1));
        let mut follower = Follower::new(Arc::clone(&published));
        let held = published.latest.lock().expect("nobody panicked");
        assert!(!published.publish(|| 2), "somebody is in the way");
        published.number.fetch_add(1, Ordering::Release);
        assert_eq!(*follower.latest(), 1);
        drop(held);
        assert!(published.publish(|| 3));
        assert_eq!(*follower.latest(), 3);
    }

    #[test]
    fn several_threads_see_all_go_up_to_the_last() {
        const LAST: u64 = 10_000;
        let published = Arc::new(Published::new([0; 2]));
        let followers: Vec<_> = (0..2)
            .map(|_| {
                let mut follower = Follower::new(Arc::clone(&published));
                thread::spawn(move || {
                    let mut before = 0;
                    while before < LAST {
                        let [one, other] = *follower.latest();
                        assert!(one == other && one >= before, "{before}, then {one} and {other}");
                        before = one;
                    }
                })
            })
            .collect();
        for number in 1..=LAST {
            while !published.publish(|| [number; 2]) {
                thread::yield_now();
            }
        }
        followers.into_iter().for_each(|one| one.join().expect("no assertion failed"));
    }
}
