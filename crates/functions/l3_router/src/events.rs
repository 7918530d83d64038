//! What a worker has to tell a control plane, until it is asked.
use std::collections::VecDeque;

use engine::{Event, EventKind};

/// Events in their order; of those for which there was no room the number is told behind them.
#[derive(Default)]
pub(super) struct Events {
    waiting: VecDeque<Event>,
    missed: u64,
}

impl Events {
    /// Lets an event wait if there is room.
    pub fn tell(&mut self, event: Event) {
        match self.waiting.len() < EVENTS_MAX {
            true => self.waiting.push_back(event),
            false => self.missed += 1,
        }
    }

    /// Returns the next event.
    pub fn next(&mut self) -> Option<Event> {
        let missed = |subject| Event { kind: EventKind::Missed, subject, at: 0, detail: [0; 5] };
        self.waiting.pop_front().or_else(|| {
            let count = std::mem::take(&mut self.missed);
            (count > 0).then(|| missed(count))
        })
    }
}

/// Events that wait.
const EVENTS_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_no_room_for_is_counted_and_the_number_told_once() {
        let mut events = Events::default();
        let of = |subject| Event { kind: EventKind::Up, subject, at: 1, detail: [0; 5] };
        (0..EVENTS_MAX as u64 + 3).for_each(|subject| events.tell(of(subject)));
        for subject in 0..EVENTS_MAX as u64 {
            assert_eq!(events.next(), Some(of(subject)));
        }
        let missed = events.next().expect("some had no room");
        assert_eq!((missed.kind, missed.subject), (EventKind::Missed, 3));
        assert_eq!(events.next(), None);
        events.tell(of(7));
        assert_eq!(events.next(), Some(of(7)));
    }
}
