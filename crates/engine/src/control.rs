//! Control of a running function: typed updates in, acknowledgements out, both through bounded
//! queues.
//!
//! A worker applies updates between batches, so no packet sees half of one, and stamps each with the
//! time at which it took effect: everything measured about change rests on that stamp.

use machine::clock::Ticks;
use rtrb::{Consumer, Producer, RingBuffer};

/// Why an update was not applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// What it names does not exist.
    #[error("no such entry")]
    NotFound,
    /// What it adds is there already.
    #[error("the entry exists already")]
    Exists,
    /// A table is full.
    #[error("the table is full")]
    Full,
    /// A value is out of its range.
    #[error("a value is out of range")]
    Invalid,
}

/// An update took effect, or was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The number that [`Controller::request`] gave.
    pub id: u64,
    /// When the worker applied it; packets of later batches see it.
    pub applied_at: Ticks,
    /// Whether it took effect.
    pub outcome: Result<(), Refusal>,
}

/// The side that asks for changes.
#[derive(Debug)]
pub struct Controller<U> {
    requests: Producer<(u64, U)>,
    acknowledgements: Consumer<Acknowledgement>,
    next_id: u64,
}

/// The worker's side.
#[derive(Debug)]
pub struct ControlEnd<U> {
    requests: Consumer<(u64, U)>,
    acknowledgements: Producer<Acknowledgement>,
}

/// A pair of ends with `capacity` updates in flight at most.
pub fn control<U>(capacity: usize) -> (Controller<U>, ControlEnd<U>) {
    let (request_in, request_out) = RingBuffer::new(capacity);
    let (ack_in, ack_out) = RingBuffer::new(capacity);
    (
        Controller { requests: request_in, acknowledgements: ack_out, next_id: 0 },
        ControlEnd { requests: request_out, acknowledgements: ack_in },
    )
}

impl<U> Controller<U> {
    /// Queues an update and gives its number, or gives it back when the queue is full.
    ///
    /// # Errors
    /// The update itself, when too many are in flight.
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

    /// The next acknowledgement, in the order of application.
    pub fn acknowledged(&mut self) -> Option<Acknowledgement> {
        self.acknowledgements.pop().ok()
    }
}

impl<U> ControlEnd<U> {
    /// Applies up to `limit` waiting updates and tells how many; none is taken whose acknowledgement
    /// has no place.
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
