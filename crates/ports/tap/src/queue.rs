//! A queue of the port, in its worker's hands.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;

use engine::{Link, Monitor, Port, QueueCounters};
use machine::clock::Ticks;
use packet::{Batch, PortId, Slot};

use crate::interface::{open_queue, set_up};
use crate::shared::{LINK_DOWN, REFUSED, Shared, TOO_LONG, TOO_SHORT};

/// A queue of the port.
pub(crate) struct Queue {
    pub(crate) id: PortId,
    pub(crate) shared: Arc<Shared>,
    pub(crate) counters: Arc<QueueCounters>,
    /// File of the queue; `None` while the interface is deleted.
    pub(crate) file: Option<File>,
    /// Buffer for the longest frame and one byte more.
    pub(crate) room: Vec<u8>,
    pub(crate) ticks_per_second: f64,
    pub(crate) lost_at: Option<Ticks>,
}

impl Queue {
    /// Records that the interface was deleted.
    fn lose(&mut self, now: Ticks) {
        self.file = None;
        self.lost_at = Some(now);
    }

    /// Creates the interface again: a second after its deletion, then every second.
    #[cold]
    fn find_again(&mut self, now: Ticks) {
        let waited = now.saturating_sub(self.lost_at.unwrap_or(0));
        if (waited as f64) < self.ticks_per_second {
            return;
        }
        self.lost_at = Some(now);
        if let Ok(file) = open_queue(&self.shared.config, self.shared.has_many) {
            // What does not work shows in the link's state.
            let _ = set_up(&self.shared.config, &self.shared.socket);
            self.file = Some(file);
        }
    }
}

impl Port for Queue {
    fn receive(&mut self, batch: &mut Batch, limit: usize, now: Ticks) -> usize {
        let Some(file) = &mut self.file else {
            self.find_again(now);
            return 0;
        };
        let limit = limit.min(batch.remaining());
        let (mut count, mut bytes, mut is_gone) = (0, 0, false);
        while count < limit {
            let len = match file.read(&mut self.room) {
                Ok(len) => len,
                Err(error) => {
                    is_gone = error.raw_os_error() == Some(libc::EBADFD);
                    break;
                }
            };
            // A frame that fills the room was longer, and was cut.
            let frame = &self.room[..len];
            let fits = len < self.room.len();
            match fits.then(|| batch.append(self.id, len)).flatten() {
                Some(room) => {
                    room.copy_from_slice(frame);
                    count += 1;
                    bytes += len;
                }
                None => self.counters.dropped(TOO_LONG, 1),
            }
        }
        self.counters.received(count, bytes);
        if is_gone {
            self.lose(now);
        }
        count
    }

    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], now: Ticks) -> usize {
        let Some(file) = &mut self.file else {
            self.counters.dropped(LINK_DOWN, slots.len() as u64);
            return 0;
        };
        let (mut sent, mut bytes, mut is_gone) = (0, 0, false);
        for &slot in slots {
            let frame = batch.frame(slot);
            match file.write(frame) {
                // The kernel takes a frame whole.
                Ok(taken) if taken == frame.len() => {
                    sent += 1;
                    bytes += frame.len();
                }
                Ok(_) => self.counters.dropped(REFUSED, 1),
                Err(error) => {
                    is_gone |= error.raw_os_error() == Some(libc::EBADFD);
                    self.counters.dropped(reason(&error), 1);
                }
            }
        }
        self.counters.sent(sent, bytes);
        if is_gone {
            self.lose(now);
        }
        sent
    }

    fn is_up(&mut self) -> bool {
        self.file.is_some() && self.shared.link() == Link::Up
    }
}

/// Returns the drop reason of a refused frame.
fn reason(error: &io::Error) -> usize {
    match error.raw_os_error() {
        // EIO: the interface is not up.
        Some(libc::EIO | libc::EBADFD | libc::ENETDOWN) => LINK_DOWN,
        // Less than a header.
        Some(libc::EINVAL) => TOO_SHORT,
        _ => REFUSED,
    }
}
