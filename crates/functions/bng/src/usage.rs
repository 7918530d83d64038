//! What sessions have used, as events for a control plane: when it asks, and when a session ends.
//!
//! Four events tell a session's volumes: up and down of IPv4, up and down of IPv6. The detail of
//! one has which of these it is, then its packets and its bytes, the upper halves first. The worker
//! asks for events only while there is room for them, so none is lost on the way.

use std::collections::VecDeque;

use engine::{Event, EventKind};
use machine::clock::Ticks;
use subscribers::{Volumes, Way};

/// Events that were not asked for yet.
pub(super) struct Usage {
    waiting: VecDeque<Event>,
    /// Those for which there was no room; a gateway without a control plane is never asked.
    missed: u64,
}

impl Usage {
    /// Nothing yet.
    pub fn new() -> Usage {
        Usage { waiting: VecDeque::with_capacity(WAITING_MAX), missed: 0 }
    }

    /// Whether the volumes of one more session have room.
    pub fn has_room(&self) -> bool {
        self.waiting.len() + KINDS.len() <= WAITING_MAX
    }

    /// Tells the volumes of a session.
    pub fn tell(&mut self, number: u32, volumes: &Volumes, at: Ticks) {
        if !self.has_room() {
            self.missed += KINDS.len() as u64;
            return;
        }
        for (which, (way, is_ipv6)) in (0..).zip(KINDS) {
            let volume = volumes.of(way, is_ipv6);
            let [packets, bytes] = [volume.packets, volume.bytes].map(halves);
            let detail = [which, packets[0], packets[1], bytes[0], bytes[1]];
            let (kind, subject) = (EventKind::Counted, number.into());
            self.waiting.push_back(Event { kind, subject, detail, at });
        }
    }

    /// The next event.
    pub fn event(&mut self) -> Option<Event> {
        if self.missed > 0 {
            let (kind, subject) = (EventKind::Missed, std::mem::take(&mut self.missed));
            return Some(Event { kind, subject, detail: [0; 5], at: 0 });
        }
        self.waiting.pop_front()
    }
}

fn halves(number: u64) -> [u32; 2] {
    [(number >> 32) as u32, number as u32]
}

/// The volumes of a session, in their order.
const KINDS: [(Way, bool); 4] =
    [(Way::Up, false), (Way::Down, false), (Way::Up, true), (Way::Down, true)];

/// Most events that wait: those of 8,192 sessions.
const WAITING_MAX: usize = 32_768;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_told_in_order_and_what_has_no_room_is_counted() {
        let mut usage = Usage::new();
        for number in 0..WAITING_MAX as u32 / 4 {
            assert!(usage.has_room());
            usage.tell(number, &Volumes::default(), 5);
        }
        assert!(!usage.has_room());
        usage.tell(1, &Volumes::default(), 5);
        let missed = usage.event().expect("it is told");
        assert_eq!((missed.kind, missed.subject), (EventKind::Missed, 4));
        let told: Vec<Event> = std::iter::from_fn(|| usage.event()).collect();
        assert_eq!(told.len(), WAITING_MAX);
        let order: Vec<(u64, u32)> =
            told[..5].iter().map(|it| (it.subject, it.detail[0])).collect();
        assert_eq!(order, [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]);
        assert_eq!(halves(1 << 32 | 7), [1, 7]);
    }
}
