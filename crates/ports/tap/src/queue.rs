//! A queue of the port, in its worker's hands.

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::sync::Arc;

use engine::{Intake, Kinds, Link, Losses, Monitor, Port, QueueCounters, Taken, Unsent, announced};
use machine::clock::Ticks;
use offload::{HEADER_LEN, Header};
use packet::{Batch, PortId, Slot};

use crate::interface::{open_queue, set_up};
use crate::shared::{LINK_DOWN, REFUSED, SEGMENTS, SENT_SEGMENTS, SENT_TOO_LONG, Shared};
use crate::shared::{TOO_LONG, TOO_SHORT};

/// A queue of the port.
pub(crate) struct Queue {
    pub(crate) id: PortId,
    pub(crate) shared: Arc<Shared>,
    pub(crate) counters: Arc<QueueCounters>,
    /// File of the queue, and what the kernel takes whole; `None` while the interface is deleted.
    pub(crate) file: Option<(File, Kinds)>,
    /// Buffer for the longest frame with its header.
    pub(crate) room: Box<[u8]>,
    pub(crate) intake: Intake,
    /// Longest frame of the link, in bytes.
    pub(crate) frame_bytes_max: usize,
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
        let Some((file, _)) = &mut self.file else {
            self.find_again(now);
            return 0;
        };
        let (room, frame_bytes_max) = (&mut self.room, self.frame_bytes_max);
        let (id, mut is_gone) = (self.id, false);
        let to = (&*self.counters, LOSSES);
        let count = self.intake.round((batch, id), limit, to, |intake, batch| {
            let len = match file.read(room) {
                Ok(len) => len,
                Err(error) => {
                    is_gone = error.raw_os_error() == Some(libc::EBADFD);
                    return None;
                }
            };
            let (header, frame) = room[..len].split_first_chunk::<HEADER_LEN>()?;
            let header = Header::parse(header);
            if header.is_nothing() && frame.len() > frame_bytes_max {
                return Some(Taken { too_long: 1, ..Taken::default() });
            }
            Some(intake.take(batch, id, [frame, &[], &[]], &header))
        });
        if is_gone {
            self.lose(now);
        }
        count
    }

    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], now: Ticks) -> usize {
        let Some((file, _)) = &mut self.file else {
            self.counters.dropped(LINK_DOWN, slots.len() as u64);
            return 0;
        };
        let (mut sent, mut bytes, mut is_gone) = (0, 0, false);
        for &slot in slots {
            let header = match announced(batch, slot, self.frame_bytes_max) {
                Ok(header) => header.bytes(),
                Err(Unsent::TooLong) => {
                    self.counters.dropped(SENT_TOO_LONG, 1);
                    continue;
                }
                Err(Unsent::Unfit) => {
                    self.counters.dropped(SENT_SEGMENTS, 1);
                    continue;
                }
            };
            let frame = batch.frame(slot);
            match file.write_vectored(&[IoSlice::new(&header), IoSlice::new(frame)]) {
                // The kernel takes a frame whole.
                Ok(taken) if taken == HEADER_LEN + frame.len() => {
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

    fn takes_long(&self) -> Kinds {
        self.file.as_ref().map_or(Kinds::ALL, |(_, kinds)| *kinds)
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

const LOSSES: Losses = Losses { too_long: TOO_LONG, unfit: SEGMENTS };
