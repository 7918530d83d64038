//! A standby in a process of its own, and how the tester's frames come to it once it takes over.
//!
//! It has links of its own, as another box would. What a network does on a fail-over, the tester's
//! ports do here: from that moment on they send by the links of the standby. Frames that the ended
//! daemon had sent are received all the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Link, Monitor, Opened, Port, PortCounts};
use machine::clock::Ticks;
use packet::{Batch, Slot};

use super::child::Daemon;

/// A daemon that follows another daemon as its standby.
pub(super) struct Standby {
    /// The standby's process.
    pub daemon: Daemon,
    /// Becomes true when the tester's frames must go to the standby.
    pub takes_over: Arc<AtomicBool>,
}

/// Returns ports of the tester that lead to the active daemon, and to its standby after the
/// take-over.
pub(super) fn either(
    active: Vec<Opened>,
    standby: Vec<Opened>,
    takes_over: &Arc<AtomicBool>,
) -> Vec<Opened> {
    let join = |(active, standby): (Opened, Opened)| {
        let queue = |(active, standby)| -> Box<dyn Port> {
            Box::new(Either { active, standby, takes_over: takes_over.clone() })
        };
        let monitor = Both {
            active: active.monitor,
            standby: standby.monitor,
            takes_over: takes_over.clone(),
        };
        Opened {
            queues: active.queues.into_iter().zip(standby.queues).map(queue).collect(),
            monitor: Arc::new(monitor),
        }
    };
    active.into_iter().zip(standby).map(join).collect()
}

/// A queue that uses one of two queues.
struct Either {
    active: Box<dyn Port>,
    standby: Box<dyn Port>,
    takes_over: Arc<AtomicBool>,
}

impl Port for Either {
    fn receive(&mut self, batch: &mut Batch, limit: usize, now: Ticks) -> usize {
        let count = self.active.receive(batch, limit, now);
        match self.takes_over.load(Ordering::Acquire) && count < limit {
            true => count + self.standby.receive(batch, limit - count, now),
            false => count,
        }
    }

    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], now: Ticks) -> usize {
        match self.takes_over.load(Ordering::Acquire) {
            true => self.standby.transmit(batch, slots, now),
            false => self.active.transmit(batch, slots, now),
        }
    }
}

/// A monitor that combines those of both ports.
struct Both {
    active: Arc<dyn Monitor>,
    standby: Arc<dyn Monitor>,
    takes_over: Arc<AtomicBool>,
}

impl Both {
    /// Returns the monitor of the port by which frames are sent.
    fn present(&self) -> &dyn Monitor {
        match self.takes_over.load(Ordering::Acquire) {
            true => self.standby.as_ref(),
            false => self.active.as_ref(),
        }
    }
}

impl Monitor for Both {
    fn counts(&self) -> PortCounts {
        let mut counts = self.active.counts();
        counts.add(&self.standby.counts());
        counts
    }

    fn link(&self) -> Link {
        self.present().link()
    }

    fn shares_rings(&self) -> bool {
        self.present().shares_rings()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        self.present().facts()
    }
}

#[cfg(test)]
mod tests {
    use packet::{PortId, Room};
    use port_memory::{Receiver, Sender};

    use super::*;

    /// Monitor of a link that is always up.
    struct Nothing;

    impl Monitor for Nothing {
        fn counts(&self) -> PortCounts {
            PortCounts { sent: 1, ..PortCounts::default() }
        }

        fn link(&self) -> Link {
            Link::Up
        }
    }

    fn opened() -> ((Sender, Receiver), Opened) {
        let (far, port) = port_memory::link(PortId(0), 4096).expect("memory");
        (far, Opened { queues: vec![Box::new(port)], monitor: Arc::new(Nothing) })
    }

    fn send(from: &mut Sender, first: u8) {
        from.reserve(60).expect("room").fill(first);
        from.publish();
    }

    #[test]
    fn frames_go_to_the_standby_once_it_takes_over_and_come_from_both() {
        let (mut active, near_active) = opened();
        let (mut standby, near_standby) = opened();
        let takes_over = Arc::new(AtomicBool::new(false));
        let mut ports = either(vec![near_active], vec![near_standby], &takes_over);
        let Opened { queues, monitor } = &mut ports[0];
        let queue = &mut queues[0];
        let mut batch = Batch::new(4, Room::default()).expect("memory");
        for takes in [false, true] {
            takes_over.store(takes, Ordering::Release);
            batch.clear();
            batch.append(PortId(0), 60).expect("room").fill(7);
            let slots: Vec<Slot> = batch.slots().collect();
            assert_eq!(queue.transmit(&mut batch, &slots, 0), 1);
            assert_eq!(active.1.next_frame().is_some(), !takes);
            assert_eq!(standby.1.next_frame().is_some(), takes);
        }
        // What the one that ended had sent is in the link still.
        send(&mut active.0, 1);
        send(&mut standby.0, 2);
        send(&mut standby.0, 3);
        batch.clear();
        assert_eq!(queue.receive(&mut batch, 2, 0), 2, "no more than asked for");
        assert_eq!([batch.frame(0)[0], batch.frame(1)[0]], [1, 2]);
        assert_eq!((monitor.link(), monitor.counts().sent), (Link::Up, 2));
    }
}
