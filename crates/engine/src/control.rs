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
}

/// Acknowledgement of an update that took effect or was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Number of the request, from [`Controller::request`].
    pub id: u64,
    /// Time at which the worker applied the update; packets of later batches see it.
    pub applied_at: Ticks,
    /// Whether the update took effect.
    pub outcome: Result<(), Refusal>,
}

/// The end of a control queue that requests updates.
#[derive(Debug)]
pub struct Controller<U> {
    requests: Producer<(u64, U)>,
    acknowledgements: Consumer<Acknowledgement>,
    next_id: u64,
}

/// The worker's end of a control queue.
#[derive(Debug)]
pub struct ControlEnd<U> {
    requests: Consumer<(u64, U)>,
    acknowledgements: Producer<Acknowledgement>,
}

/// Creates a pair of ends with at most `capacity` pending updates.
pub fn control<U>(capacity: usize) -> (Controller<U>, ControlEnd<U>) {
    let (request_in, request_out) = RingBuffer::new(capacity);
    let (ack_in, ack_out) = RingBuffer::new(capacity);
    (
        Controller { requests: request_in, acknowledgements: ack_out, next_id: 0 },
        ControlEnd { requests: request_out, acknowledgements: ack_in },
    )
}

impl<U> Controller<U> {
    /// Queues an update and returns its number.
    ///
    /// # Errors
    /// The update itself, when too many are pending.
    pub fn request(&mut self, update: U) -> Result<u64, U> {
        let id = self.next_id;
        match self.requests.push((id, update)) {
            Ok(()) => {
                self.next_id += 1;
                Ok(id)
            }
            Err(rtrb::PushError::Full((_, update))) => Err(update),
        }
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
        for applied in 0..limit {
            if self.requests.is_empty() || self.acknowledgements.is_full() {
                return applied;
            }
            let Ok((id, update)) = self.requests.pop() else { return applied };
            let outcome = apply(update);
            let _ =
                self.acknowledgements.push(Acknowledgement { id, applied_at: clock(), outcome });
        }
        limit
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
        let ack = |id, outcome| Some(Acknowledgement { id, applied_at: 42, outcome });
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
}
