//! Supervision of a running worker: rare orders in, what they yield out, totals for all to read.
//!
//! Orders are more than changes of the function: another port, a tap, a look at the function. They
//! go through a bounded queue of their own that the worker looks at once a round, and all they
//! replace comes back, so that nothing is freed on the worker. A worker without supervision pays
//! one branch a round for all of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rtrb::{Consumer, Producer, RingBuffer};

use crate::gaps::Gaps;
use crate::port::Port;
use crate::stages::{STAGES_MAX, StageTotals};
use crate::tap::Tap;

/// An order to a worker, executed between two rounds.
pub enum Order<F> {
    /// Use another queue for the port of this number.
    Swap(usize, Box<dyn Port>),
    /// Show packets to this tap, or to none.
    Tap(Option<Box<dyn Tap>>),
    /// Run this closure on the function; forwarding waits meanwhile.
    Look(Look<F>),
}

/// A closure that reads or changes a function; it sends or stores its result itself.
pub type Look<F> = Box<dyn FnMut(&mut F) + Send>;

/// Result of an order, with the objects that the worker no longer needs.
pub enum Done<F> {
    /// The queue that was replaced, or the new one if the worker has no port of that number.
    Swapped(Box<dyn Port>),
    /// The previous tap.
    Untapped(Option<Box<dyn Tap>>),
    /// The closure that was run.
    Looked(Look<F>),
}

/// The end that gives orders and reads totals.
pub struct Supervisor<F> {
    orders: Producer<Order<F>>,
    done: Consumer<Done<F>>,
    /// Reader of the worker's times.
    pub totals: TotalsReader,
}

/// The worker's end of a supervision.
pub(crate) struct Supervised<F> {
    orders: Consumer<Order<F>>,
    done: Producer<Done<F>>,
    totals: Arc<[AtomicU64]>,
}

/// Reader of a worker's times; clones read the same.
#[derive(Clone, Debug)]
pub struct TotalsReader {
    totals: Arc<[AtomicU64]>,
}

/// Creates a pair of ends for a function with this number of stages.
pub(crate) fn supervision<F>(stages: usize) -> (Supervisor<F>, Supervised<F>) {
    let (order_in, order_out) = RingBuffer::new(ORDERS_MAX);
    let (done_in, done_out) = RingBuffer::new(ORDERS_MAX);
    let count = GAPS + 2 * (stages.min(STAGES_MAX) + 3);
    let totals: Arc<[AtomicU64]> = (0..count).map(|_| AtomicU64::new(0)).collect();
    let reader = TotalsReader { totals: Arc::clone(&totals) };
    (
        Supervisor { orders: order_in, done: done_out, totals: reader },
        Supervised { orders: order_out, done: done_in, totals },
    )
}

impl<F> Supervisor<F> {
    /// Queues an order.
    ///
    /// # Errors
    /// The order itself, when too many wait.
    pub fn order(&mut self, order: Order<F>) -> Result<(), Order<F>> {
        self.orders.push(order).map_err(|rtrb::PushError::Full(order)| order)
    }

    /// Returns the result of the next order, in the order in which they were given.
    pub fn done(&mut self) -> Option<Done<F>> {
        self.done.pop().ok()
    }
}

impl<F> Supervised<F> {
    /// Returns the next order if there is room for its result.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Order<F>> {
        if self.orders.is_empty() || self.done.is_full() {
            return None;
        }
        self.orders.pop().ok()
    }

    /// Returns the result of an order; [`Supervised::next`] has checked that there is room.
    pub(crate) fn give_back(&mut self, done: Done<F>) {
        let _ = self.done.push(done);
    }

    #[inline]
    pub(crate) fn publish_stages(&self, stages: &StageTotals) {
        let values = stages.ticks.iter().zip(&stages.packets);
        for (shared, (ticks, packets)) in self.totals[GAPS..].chunks_exact(2).zip(values) {
            shared[0].store(*ticks, Ordering::Relaxed);
            shared[1].store(*packets, Ordering::Relaxed);
        }
    }

    pub(crate) fn publish_gaps(&self, gaps: Gaps) {
        let values = [gaps.count, gaps.total_ticks, gaps.longest_ticks];
        for (shared, value) in self.totals.iter().zip(values) {
            shared.store(value, Ordering::Relaxed);
        }
    }
}

impl TotalsReader {
    /// Returns ticks and packets by stage: receiving, those of the function, transmitting, and what
    /// is due by time. Each number is read atomically.
    pub fn stages(&self) -> Vec<(u64, u64)> {
        let pair = |shared: &[AtomicU64]| {
            (shared[0].load(Ordering::Relaxed), shared[1].load(Ordering::Relaxed))
        };
        self.totals[GAPS..].chunks_exact(2).map(pair).collect()
    }

    /// Returns the times in which the worker did not run, not told apart by length.
    pub fn gaps(&self) -> Gaps {
        let [count, total_ticks, longest_ticks] =
            [0, 1, 2].map(|index| self.totals[index].load(Ordering::Relaxed));
        Gaps { count, total_ticks, longest_ticks, ..Gaps::default() }
    }
}

/// Largest number of pending orders.
const ORDERS_MAX: usize = 16;

/// Number of values of a [`Gaps`].
const GAPS: usize = 3;
