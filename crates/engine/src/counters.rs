//! Counters: written by one worker, read by anyone, summed on read.
//!
//! A worker keeps its counts in plain memory and publishes them once a batch; a reader sees each
//! number whole, though not all of the same batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::function::Drops;

/// Counters of one worker at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Packets received.
    pub received: u64,
    /// Packets that the function generated.
    pub made: u64,
    /// Packets forwarded to a port that accepted them.
    pub forwarded: u64,
    /// Packets forwarded to a port that was full.
    pub transmit_full: u64,
    /// Packets passed to the control plane.
    pub punted: u64,
    /// Packets dropped, by reason.
    pub dropped: Vec<u64>,
    /// The function's own counters.
    pub tallies: Vec<u64>,
}

impl Counts {
    /// Creates counters of this number of reasons and tallies, all zero.
    pub fn zero(drops: Drops, tallies: usize) -> Counts {
        Counts {
            received: 0,
            made: 0,
            forwarded: 0,
            transmit_full: 0,
            punted: 0,
            dropped: vec![0; drops.0.len()],
            tallies: vec![0; tallies],
        }
    }

    /// Returns the differences to `earlier`.
    pub fn since(&self, earlier: &Counts) -> Counts {
        let minus = |now: &[u64], then: &[u64]| {
            now.iter().zip(then).map(|(a, b)| a.saturating_sub(*b)).collect()
        };
        Counts {
            received: self.received.saturating_sub(earlier.received),
            made: self.made.saturating_sub(earlier.made),
            forwarded: self.forwarded.saturating_sub(earlier.forwarded),
            transmit_full: self.transmit_full.saturating_sub(earlier.transmit_full),
            punted: self.punted.saturating_sub(earlier.punted),
            dropped: minus(&self.dropped, &earlier.dropped),
            tallies: minus(&self.tallies, &earlier.tallies),
        }
    }

    /// Adds another worker's counters.
    pub fn add(&mut self, other: &Counts) {
        self.received += other.received;
        self.made += other.made;
        self.forwarded += other.forwarded;
        self.transmit_full += other.transmit_full;
        self.punted += other.punted;
        self.dropped.iter_mut().zip(&other.dropped).for_each(|(a, b)| *a += b);
        self.tallies.iter_mut().zip(&other.tallies).for_each(|(a, b)| *a += b);
    }

    /// Returns the number of packets with a verdict; it always equals the number of received and
    /// generated packets.
    pub fn accounted_total(&self) -> u64 {
        self.forwarded + self.transmit_full + self.punted + self.dropped_total()
    }

    /// Returns the number of packets dropped for any reason.
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().sum()
    }
}

/// Reader of a worker's counters; clones read the same counters.
#[derive(Clone, Debug)]
pub struct CounterReader {
    shared: Arc<[AtomicU64]>,
    drops: usize,
}

/// Writer of a worker's counters, owned by the worker.
#[derive(Debug)]
pub(crate) struct CounterWriter {
    shared: Arc<[AtomicU64]>,
}

pub(crate) fn counters(drops: usize, tallies: usize) -> (CounterWriter, CounterReader) {
    let shared: Arc<[AtomicU64]> =
        (0..FIXED + drops + tallies).map(|_| AtomicU64::new(0)).collect();
    (CounterWriter { shared: shared.clone() }, CounterReader { shared, drops })
}

impl CounterWriter {
    #[inline]
    pub(crate) fn publish(&self, counts: &Counts, tallies: &[u64]) {
        let Counts { received, made, forwarded, transmit_full, punted, .. } = *counts;
        let fixed = [received, made, forwarded, transmit_full, punted];
        let values = fixed.iter().chain(&counts.dropped).chain(tallies);
        for (shared, value) in self.shared.iter().zip(values) {
            shared.store(*value, Ordering::Release);
        }
    }
}

impl CounterReader {
    /// Returns the counters that the worker published last.
    pub fn read(&self) -> Counts {
        let values: Vec<u64> = self.shared.iter().map(|c| c.load(Ordering::Acquire)).collect();
        Counts {
            received: values[0],
            made: values[1],
            forwarded: values[2],
            transmit_full: values[3],
            punted: values[4],
            dropped: values[FIXED..FIXED + self.drops].to_vec(),
            tallies: values[FIXED + self.drops..].to_vec(),
        }
    }
}

const FIXED: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_is_read() {
        let (writer, reader) = counters(2, 1);
        let counts = Counts {
            received: 9,
            made: 1,
            forwarded: 5,
            transmit_full: 1,
            punted: 1,
            dropped: vec![0, 3],
            tallies: vec![7],
        };
        writer.publish(&counts, &[7]);
        assert_eq!(reader.read(), counts);
        let mut sum = reader.read();
        sum.add(&counts);
        assert_eq!(sum.since(&counts), counts);
        assert_eq!(sum.dropped_total(), 6);
        assert_eq!(sum.accounted_total(), sum.received + sum.made);
    }
}
