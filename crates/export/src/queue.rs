//! A bounded queue of events: a ring that is allocated and touched at the start, and never grows.

use crate::record::Event;

/// Events in the order in which they were noted.
pub(super) struct Queue<E> {
    ring: Box<[E]>,
    /// Events ever put in and taken out; the places are these numbers modulo the ring's length.
    put: u64,
    taken: u64,
}

impl<E: Event> Queue<E> {
    /// An empty queue for at least `capacity` events: the next power of two.
    pub fn new(capacity: u32) -> Queue<E> {
        let capacity = (capacity.max(1) as usize).next_power_of_two();
        // It is not zero, so that filling the ring writes to all its pages.
        Queue { ring: vec![E::FILLER; capacity].into(), put: 0, taken: 0 }
    }

    /// Events that there is a place for.
    pub fn capacity(&self) -> usize {
        self.ring.len()
    }

    /// Events in it.
    #[inline]
    pub fn len(&self) -> usize {
        (self.put - self.taken) as usize
    }

    /// Puts an event in, unless `limit` or more are there already; tells whether it was.
    #[inline]
    pub fn put(&mut self, event: &E, limit: usize) -> bool {
        let mask = self.ring.len() - 1;
        let is_room = self.len() < limit.min(self.ring.len());
        if is_room {
            self.ring[self.put as usize & mask] = *event;
            self.put += 1;
        }
        is_room
    }

    /// The oldest event.
    #[inline]
    pub fn first(&self) -> Option<&E> {
        let mask = self.ring.len() - 1;
        (self.put != self.taken).then(|| &self.ring[self.taken as usize & mask])
    }

    /// Takes the oldest event out.
    #[inline]
    pub fn take(&mut self) {
        debug_assert!(self.put != self.taken, "there is one");
        self.taken += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::Tick;

    #[test]
    fn events_come_out_in_order_and_none_beyond_the_limit_goes_in() {
        let mut queue = Queue::new(3);
        assert_eq!(queue.capacity(), 4);
        for round in 0..10 {
            assert_eq!(queue.first(), None);
            for number in 0..3 {
                assert!(queue.put(&Tick(round * 10 + number), 3));
            }
            assert!(!queue.put(&Tick(99), 3), "for its kind it is full");
            assert!(queue.put(&Tick(round * 10 + 3), 9), "for others it is not");
            assert!(!queue.put(&Tick(99), 9));
            for number in 0..4 {
                assert_eq!(queue.first(), Some(&Tick(round * 10 + number)));
                queue.take();
            }
        }
        assert_eq!(queue.len(), 0);
    }
}
