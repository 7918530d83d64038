//! Changes of routes that are under way, until the last one who is to hear of them has.
//!
//! Who hears is an observer: a client with a table of its own, or all clients of a chain together,
//! of which the last one counts.

use std::collections::HashMap;
use std::time::Instant;

use hdrhistogram::Histogram;

/// Changes under way, and how long others took.
#[derive(Debug)]
pub(crate) struct Changes {
    waiting: HashMap<u32, Waiting>,
    took_ns: Histogram<u64>,
}

#[derive(Debug)]
struct Waiting {
    value: u32,
    since: Instant,
    /// Observers that have heard it, a bit each.
    heard: Vec<u64>,
    missing: u32,
}

impl Changes {
    pub fn new() -> Changes {
        let took_ns = Histogram::new_with_max(LONGEST_NS, 3)
            .unwrap_or_else(|_| unreachable!("3 digits up to an hour are allowed"));
        Changes { waiting: HashMap::new(), took_ns }
    }

    /// Whether a change of a route is under way.
    pub fn has(&self, route: u32) -> bool {
        self.waiting.contains_key(&route)
    }

    /// How many are under way.
    pub fn under_way(&self) -> usize {
        self.waiting.len()
    }

    /// How long those took that all have heard, in nanoseconds.
    pub fn took_ns(&self) -> &Histogram<u64> {
        &self.took_ns
    }

    /// A feeder has changed a route to a value of which this many observers are to hear.
    pub fn add(&mut self, route: u32, value: u32, observers: u32, now: Instant) {
        if observers > 0 {
            let waiting = Waiting { value, since: now, heard: Vec::new(), missing: observers };
            self.waiting.insert(route, waiting);
        }
    }

    /// An observer was told a value of a route.
    pub fn hear(&mut self, observer: usize, route: u32, value: u32, now: Instant) {
        let Some(waiting) = self.waiting.get_mut(&route) else { return };
        if waiting.value == value && waiting.note(observer) {
            self.took_ns.saturating_record(since(waiting.since, now));
            self.waiting.remove(&route);
        }
    }

    /// There is one more observer, who has heard nothing of what is under way.
    pub fn observer_comes(&mut self) {
        self.waiting.values_mut().for_each(|waiting| waiting.missing += 1);
    }

    /// An observer is gone, and is waited for no more.
    pub fn observer_goes(&mut self, observer: usize, now: Instant) {
        let took_ns = &mut self.took_ns;
        self.waiting.retain(|_, waiting| {
            let is_done = waiting.note(observer);
            if is_done {
                took_ns.saturating_record(since(waiting.since, now));
            }
            !is_done
        });
    }
}

impl Waiting {
    /// Notes that an observer has heard it; returns whether it was the last one.
    fn note(&mut self, observer: usize) -> bool {
        let (word, bit) = (observer / 64, 1 << (observer % 64));
        if self.heard.len() <= word {
            self.heard.resize(word + 1, 0);
        }
        if self.heard[word] & bit == 0 {
            self.heard[word] |= bit;
            self.missing = self.missing.saturating_sub(1);
        }
        self.missing == 0
    }
}

fn since(then: Instant, now: Instant) -> u64 {
    u64::try_from(now.saturating_duration_since(then).as_nanos()).unwrap_or(u64::MAX)
}

/// Longest time of a change that is told apart from longer ones: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_change_takes_until_the_last_observer_has_heard_it() {
        let mut changes = Changes::new();
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        changes.add(7, 1, 2, start);
        changes.hear(0, 7, 1, after(1));
        changes.hear(0, 7, 1, after(2));
        changes.hear(1, 7, 9, after(3));
        changes.hear(1, 8, 1, after(4));
        assert!(changes.has(7), "one of two has heard it, and others heard something else");
        changes.observer_comes();
        changes.hear(70, 7, 1, after(20));
        changes.hear(1, 7, 1, after(50));
        assert_eq!((changes.has(7), changes.took_ns().len()), (false, 1));
        assert_eq!(changes.took_ns().max() / 1_000_000, 50);
        changes.add(7, 2, 2, after(60));
        changes.observer_goes(0, after(61));
        changes.observer_goes(1, after(260));
        assert_eq!((changes.under_way(), changes.took_ns().max() / 1_000_000), (0, 200));
        changes.add(9, 2, 0, start);
        assert!(!changes.has(9), "nobody is to hear of it");
    }
}
