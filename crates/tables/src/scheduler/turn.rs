//! Rings of those that take turns: siblings of one level that have something to send and may.
//!
//! ```text
//!  parent's first ──► a ──► b ──► c ──┐     deficit round robin (Shreedhar and Varghese, 1995):
//!                     ▲               │     a sends while its deficit is above zero, then it gets
//!                     └───────────────┘     its quantum, and b is the first
//! ```
//! Whoever leaves a ring has no deficit when it comes back, but a debt stays: else a sender that
//! empties its queue each time would send more than its weight. A quantum is at least what the
//! longest frame counts for, so whoever is in a ring has a deficit above zero, and each turn sends
//! a frame.

use zerocopy::FromZeros;

/// The place of a member in the ring of its parent, and the beginning of its own ring.
#[derive(Clone, Copy, Debug, Default, FromZeros)]
#[repr(C)]
pub(super) struct Turn {
    pub next: u32,
    previous: u32,
    /// Its child whose turn it is; of a queue the first cell of its first frame.
    pub first: u32,
    /// Bytes that it may send in this turn.
    deficit: i32,
}

/// What has a place in rings of its kind, at each level another one.
pub(super) trait Linked {
    fn turn(&self, level: usize) -> &Turn;
    fn turn_mut(&mut self, level: usize) -> &mut Turn;
}

impl Turn {
    /// It comes to a ring; of what it has sent too much before, it does not get rid.
    pub fn begin(&mut self, quantum: i32) {
        self.deficit = self.deficit.min(0) + quantum;
    }

    /// It has sent; whether that ends its turn. If it stays in its ring then, see [`Turn::renew`].
    #[inline(always)]
    pub fn spend(&mut self, bytes: u32) -> bool {
        self.deficit -= bytes as i32;
        self.deficit <= 0
    }

    /// Its turn is over, and it has another one when it is the first again.
    #[inline(always)]
    pub fn renew(&mut self, quantum: i32) {
        self.deficit += quantum;
    }
}

/// Puts a member at the end of a ring, of which there may be none yet, and returns the first.
pub(super) fn join<T: Linked>(all: &mut [T], first: Option<u32>, level: usize, number: u32) -> u32 {
    let head = first.unwrap_or(number);
    let last = match first {
        Some(first) => all[first as usize].turn(level).previous,
        None => number,
    };
    all[last as usize].turn_mut(level).next = number;
    all[head as usize].turn_mut(level).previous = number;
    let own = all[number as usize].turn_mut(level);
    (own.next, own.previous) = (head, last);
    head
}

/// Takes a member out of a ring, and returns who is the first then, if anybody.
pub(super) fn leave<T: Linked>(
    all: &mut [T],
    first: u32,
    level: usize,
    number: u32,
) -> Option<u32> {
    let Turn { next, previous, .. } = *all[number as usize].turn(level);
    if next == number {
        return None;
    }
    all[previous as usize].turn_mut(level).next = next;
    all[next as usize].turn_mut(level).previous = previous;
    Some(if first == number { next } else { first })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Default)]
    struct Only(Turn);

    impl Linked for Only {
        fn turn(&self, _: usize) -> &Turn {
            &self.0
        }
        fn turn_mut(&mut self, _: usize) -> &mut Turn {
            &mut self.0
        }
    }

    #[test]
    fn a_ring_is_left_and_joined_in_order() {
        let mut all = [Only::default(); 5];
        let mut first = None;
        let order = |all: &[Only], first: u32| {
            let mut order = vec![first];
            while all[order[order.len() - 1] as usize].0.next != first {
                order.push(all[order[order.len() - 1] as usize].0.next);
            }
            order
        };
        for number in [3, 0, 4, 1] {
            first = Some(join(&mut all, first, 0, number));
        }
        assert_eq!(order(&all, 3), [3, 0, 4, 1]);
        let first = leave(&mut all, 3, 0, 4).expect("others");
        assert_eq!(order(&all, first), [3, 0, 1]);
        let first = leave(&mut all, first, 0, 3).expect("others");
        assert_eq!(order(&all, first), [0, 1]);
        let first = leave(&mut all, first, 0, 1).expect("another");
        assert_eq!((order(&all, first), leave(&mut all, first, 0, 0)), (vec![0], None));
    }

    #[test]
    fn a_turn_ends_when_its_bytes_are_spent_and_debts_stay() {
        let mut turn = Turn::default();
        turn.begin(1000);
        assert!(!turn.spend(999) && turn.spend(900));
        turn.renew(1000);
        assert_eq!(turn.deficit, 101);
        turn.begin(1000);
        assert_eq!(turn.deficit, 1000, "what was left of a turn is not kept");
        assert!(!turn.spend(900) && turn.spend(600));
        turn.begin(1000);
        assert_eq!(turn.deficit, 500, "it left its ring with a debt");
    }
}
