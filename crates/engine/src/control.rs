//! Control of a running function: typed updates in, acknowledgements out, both through bounded
//! queues.
//!
//! A worker applies updates between batches, so no packet sees half of one, and stamps each with
//! the time at which it took effect: everything measured about change rests on that stamp.

use machine::clock::Ticks;
use rtrb::{Consumer, Producer, RingBuffer};

/// Reason why an update was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The object does not exist.
    #[error("no such entry")]
    NotFound,
    /// The object exists already.
    #[error("the entry exists already")]
    Exists,
    /// A table is full.
    #[error("the table is full")]
    Full,
    /// A value is out of range.
    #[error("a value is out of range")]
    Invalid,
    /// There is room for no more than a key of the configuration says.
    #[error("there is room for no more: raise `{0}` in the file and start again")]
    Exceeds(&'static str),
}

/// Acknowledgement of an update that took effect or was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Number of the request, from [`Controller::request`]; in bulk that of its first update.
    pub id: u64,
    /// How many updates in a row this acknowledges, from `id` on: one, but in bulk.
    pub count: u64,
    /// Time at which the worker applied the last of them; packets of later batches see it.
    pub applied_at: Ticks,
    /// Whether the updates took effect. A refused one is acknowledged alone.
    pub outcome: Result<(), Refusal>,
}

/// Updates that wait together.
#[derive(Debug)]
enum Request<U> {
    One(U),
    Bulk(Vec<U>),
}

/// The end of a control queue that requests updates.
#[derive(Debug)]
pub struct Controller<U> {
    requests: Producer<(u64, Request<U>)>,
    acknowledgements: Consumer<Acknowledgement>,
    spent: Consumer<Vec<U>>,
    next_id: u64,
}

/// The worker's end of a control queue.
#[derive(Debug)]
pub struct ControlEnd<U> {
    requests: Consumer<(u64, Request<U>)>,
    acknowledgements: Producer<Acknowledgement>,
    /// Bulk that is being applied, last update first.
    bulk: Vec<U>,
    /// Number of the next of them.
    next_of_bulk: u64,
    /// Gives the room of bulk back, so that nothing is freed on the worker.
    spent: Producer<Vec<U>>,
}

/// Creates a pair of ends with at most `capacity` pending requests.
pub fn control<U>(capacity: usize) -> (Controller<U>, ControlEnd<U>) {
    let (request_in, request_out) = RingBuffer::new(capacity);
    let (ack_in, ack_out) = RingBuffer::new(capacity);
    let (spent_in, spent_out) = RingBuffer::new(capacity);
    let controller = Controller {
        requests: request_in,
        acknowledgements: ack_out,
        spent: spent_out,
        next_id: 0,
    };
    let end = ControlEnd {
        requests: request_out,
        acknowledgements: ack_in,
        bulk: Vec::new(),
        next_of_bulk: 0,
        spent: spent_in,
    };
    (controller, end)
}

impl<U> Controller<U> {
    /// Queues an update and returns its number.
    ///
    /// # Errors
    /// The update itself, when too many are pending.
    pub fn request(&mut self, update: U) -> Result<u64, U> {
        let id = self.next_id;
        match self.requests.push((id, Request::One(update))) {
            Ok(()) => {
                self.next_id += 1;
                Ok(id)
            }
            Err(rtrb::PushError::Full((_, Request::One(update)))) => Err(update),
            // It is the one that was pushed.
            Err(rtrb::PushError::Full((_, Request::Bulk(_)))) => Ok(id),
        }
    }

    /// Queues many updates, which are applied in their order, a number of them between two batches;
    /// returns the number of the first. Those that took effect are acknowledged in runs.
    ///
    /// # Errors
    /// The updates themselves, when too many requests are pending.
    pub fn request_bulk(&mut self, mut updates: Vec<U>) -> Result<u64, Vec<U>> {
        while self.spent.pop().is_ok() {}
        let (id, count) = (self.next_id, updates.len() as u64);
        if self.requests.is_full() {
            return Err(updates);
        }
        updates.reverse();
        let _ = self.requests.push((id, Request::Bulk(updates)));
        self.next_id += count;
        Ok(id)
    }

    /// Returns the next acknowledgement, in the order of application.
    pub fn acknowledged(&mut self) -> Option<Acknowledgement> {
        self.acknowledgements.pop().ok()
    }
}

impl<U> ControlEnd<U> {
    /// Applies up to `limit` waiting updates and returns their number; an update waits until there
    /// is room for its acknowledgement.
    #[inline]
    pub(crate) fn apply(
        &mut self,
        limit: usize,
        clock: impl Fn() -> Ticks,
        mut apply: impl FnMut(U) -> Result<(), Refusal>,
    ) -> usize {
        let mut applied = 0;
        while applied < limit {
            let room = self.acknowledgements.slots();
            if room == 0 {
                return applied;
            }
            if !self.bulk.is_empty() {
                // A refusal behind others takes two.
                let most = if room == 1 { 1 } else { limit - applied };
                applied += self.apply_bulk(most, &clock, &mut apply);
                continue;
            }
            match self.requests.pop() {
                Ok((id, Request::One(update))) => {
                    let outcome = apply(update);
                    self.acknowledge(id, 1, clock(), outcome);
                    applied += 1;
                }
                Ok((id, Request::Bulk(updates))) => {
                    (self.bulk, self.next_of_bulk) = (updates, id);
                }
                Err(_) => return applied,
            }
        }
        applied
    }

    /// Applies updates of bulk up to a refusal, the end or `limit`; returns their number.
    #[cold]
    fn apply_bulk(
        &mut self,
        limit: usize,
        clock: impl Fn() -> Ticks,
        mut apply: impl FnMut(U) -> Result<(), Refusal>,
    ) -> usize {
        let (first, mut done, mut refused) = (self.next_of_bulk, 0, None);
        while done < limit as u64 && refused.is_none() {
            let Some(update) = self.bulk.pop() else { break };
            refused = apply(update).err();
            done += 1;
        }
        self.next_of_bulk += done;
        if self.bulk.is_empty() {
            let _ = self.spent.push(std::mem::take(&mut self.bulk));
        }
        let (now, well) = (clock(), done - u64::from(refused.is_some()));
        if well > 0 {
            self.acknowledge(first, well, now, Ok(()));
        }
        if let Some(refusal) = refused {
            self.acknowledge(first + well, 1, now, Err(refusal));
        }
        done as usize
    }

    fn acknowledge(&mut self, id: u64, count: u64, at: Ticks, outcome: Result<(), Refusal>) {
        let acknowledgement = Acknowledgement { id, count, applied_at: at, outcome };
        let _ = self.acknowledgements.push(acknowledgement);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_acknowledged_in_order() {
        let (mut controller, mut end) = control::<u32>(2);
        assert_eq!(controller.request(7), Ok(0));
        assert_eq!(controller.request(8), Ok(1));
        assert_eq!(controller.request(9), Err(9), "the queue is bounded");
        let mut seen = Vec::new();
        end.apply(
            10,
            || 42,
            |update| {
                seen.push(update);
                if update == 8 { Err(Refusal::Full) } else { Ok(()) }
            },
        );
        assert_eq!(seen, [7, 8]);
        let ack = |id, outcome| Some(Acknowledgement { id, count: 1, applied_at: 42, outcome });
        assert_eq!(controller.acknowledged(), ack(0, Ok(())));
        assert_eq!(controller.acknowledged(), ack(1, Err(Refusal::Full)));
        assert_eq!(controller.acknowledged(), None);
    }

    #[test]
    fn nothing_is_applied_that_could_not_be_acknowledged() {
        let (mut controller, mut end) = control::<u32>(1);
        controller.request(1).expect("room");
        end.apply(10, || 0, |_| Ok(()));
        controller.request(2).expect("room");
        let mut applied = 0;
        end.apply(
            10,
            || 0,
            |_| {
                applied += 1;
                Ok(())
            },
        );
        assert_eq!(applied, 0, "the first acknowledgement was not read yet");
        controller.acknowledged().expect("the first");
        end.apply(
            10,
            || 0,
            |_| {
                applied += 1;
                Ok(())
            },
        );
        assert_eq!(applied, 1);
    }

    #[test]
    fn bulk_is_applied_in_order_and_a_refused_one_names_itself() {
        let (mut controller, mut end) = control::<u32>(4);
        assert_eq!(controller.request(100), Ok(0));
        assert_eq!(controller.request_bulk((0..10).collect()), Ok(1));
        assert_eq!(controller.request(200), Ok(11));
        let mut seen = Vec::new();
        let mut acknowledged = Vec::new();
        for round in 0..20 {
            let mut apply = |update| {
                seen.push(update);
                if update == 5 { Err(Refusal::Exists) } else { Ok(()) }
            };
            assert!(end.apply(4, || round, &mut apply) <= 4);
            acknowledged.extend(std::iter::from_fn(|| controller.acknowledged()));
        }
        let expected: Vec<u32> = [100].into_iter().chain(0..10).chain([200]).collect();
        assert_eq!(seen, expected);
        let told: Vec<_> =
            acknowledged.iter().map(|one| (one.id, one.count, one.outcome.is_ok())).collect();
        let runs = [(0, 1, true), (1, 3, true), (4, 2, true), (6, 1, false), (7, 1, true)];
        assert_eq!(told[..5], runs, "numbers are those of the updates");
        assert_eq!(told.iter().map(|one| one.1).sum::<u64>(), 12);
    }
}
