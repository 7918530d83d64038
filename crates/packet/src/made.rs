//! Frames that a function made beside those that came in: copies for further ports, answers, pieces.
//!
//! A batch of its own that the function fills and the worker sends (`engine::Function::made`). It takes
//! [`BATCH_MAX`] frames; what has no place is refused and counted, never waited for.

use std::io;

use crate::{BATCH_MAX, Batch, PortId, Room, Slot, Verdict};

/// Frames made since the worker last took them.
pub struct Made {
    batch: Batch,
    refused: u64,
}

/// What a function calls the tally of frames for which [`Made`] had no place: [`Made::refused`].
pub const MADE_FULL: &str = "made-full";

impl Made {
    /// No frames yet, and room for [`BATCH_MAX`] of them: as much for each as a worker gives the frames
    /// that come in (`engine::Function::make_room`).
    ///
    /// # Errors
    /// When the kernel has no memory for the buffers.
    pub fn new(room: Room) -> io::Result<Made> {
        Ok(Made { batch: Batch::new(BATCH_MAX, room)?, refused: 0 })
    }

    /// Adds a copy of a frame, as it is now, that leaves by `to`. None, and counted, without a place.
    #[inline]
    pub fn copy(&mut self, of: &Batch, slot: Slot, to: PortId) -> Option<Slot> {
        self.push(of.port(slot), of.frame(slot), Verdict::Forward(to))
    }

    /// Adds a copy of a made frame that leaves by `to`. None, and counted, without a place.
    pub fn again(&mut self, slot: Slot, to: PortId) -> Option<Slot> {
        let copy = self.batch.append_copy(slot);
        match copy {
            Some(copy) => self.batch.set_verdict(copy, Verdict::Forward(to)),
            None => self.refused += 1,
        }
        copy
    }

    /// Adds a frame that stands for one that came in at `from`. None, and counted, without a place.
    #[inline]
    pub fn push(&mut self, from: PortId, frame: &[u8], verdict: Verdict) -> Option<Slot> {
        let Some(room) = self.batch.append(from, frame.len()) else {
            self.refused += 1;
            return None;
        };
        room.copy_from_slice(frame);
        let slot = (self.batch.len() - 1) as Slot;
        self.batch.set_verdict(slot, verdict);
        Some(slot)
    }

    /// Takes back the frame that was made last.
    pub fn take_back(&mut self) {
        self.batch.drop_last();
    }

    /// The frames so far, to change them or to put headers in front.
    #[inline]
    pub fn batch_mut(&mut self) -> &mut Batch {
        &mut self.batch
    }

    /// What `engine::Function::made` gives: the frames, if there are any.
    #[inline(always)]
    pub fn lend(&mut self) -> Option<&mut Batch> {
        (!self.batch.is_empty()).then_some(&mut self.batch)
    }

    /// Frames for which there was no place, so far.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_whole_and_what_has_no_place_is_counted() {
        let room = Room { headroom: 64, frame: 100 };
        let mut came = Batch::new(1, room).expect("memory");
        came.append(PortId(1), 60).expect("room").fill(7);
        came.push_front(0, 4).expect("headroom").fill(9);
        let mut made = Made::new(room).expect("memory");
        assert!(made.lend().is_none(), "nothing was made");
        for number in 0..BATCH_MAX {
            assert_eq!(made.copy(&came, 0, PortId(2)), Some(number as Slot));
        }
        assert_eq!(made.copy(&came, 0, PortId(2)), None);
        assert_eq!(made.refused(), 1);
        let batch = made.lend().expect("copies");
        for slot in batch.slots() {
            assert_eq!(batch.frame(slot), came.frame(0));
            assert_eq!((batch.port(slot), batch.verdict(slot)), (PortId(1), to(2)));
        }
        batch.clear();
        assert_eq!(made.push(PortId(0), &[1; 101], to(0)), None, "longer than its room");
        assert_eq!(made.push(PortId(0), &[1; 100], to(0)), Some(0));
        assert_eq!(made.again(0, PortId(3)), Some(1));
        assert_eq!(made.batch_mut().frame(1), [1; 100]);
        assert_eq!(made.batch_mut().verdict(1), to(3));
        assert_eq!(made.batch_mut().push_front(0, 64).expect("headroom").len(), 164);
        assert_eq!(made.again(0, PortId(3)), None, "longer than its room");
        assert_eq!(made.refused(), 3);
        made.take_back();
        assert_eq!(made.batch_mut().len(), 1);
        made.take_back();
        made.take_back();
        assert!(made.lend().is_none(), "nothing is left");
    }

    fn to(port: u8) -> Verdict {
        Verdict::Forward(PortId(port))
    }
}
