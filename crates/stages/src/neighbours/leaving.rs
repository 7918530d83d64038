//! What waited for a neighbour, as frames that are made: to the neighbour, or dropped.

use packet::{Made, Verdict};

use super::Neighbours;

impl Neighbours {
    /// What waited leaves with a verdict, from and to these stations: the first 12 bytes of its
    /// frames.
    pub fn release(&mut self, made: &mut Made, macs: [u8; 12], verdict: Verdict) {
        while let Some(waiting) = self.next_leaving() {
            if let Some(slot) = made.push(waiting.port, &waiting.frame, verdict)
                && let Some(header) = made.batch_mut().frame_mut(slot).first_chunk_mut()
            {
                *header = macs;
            }
            self.give_back(waiting);
        }
    }

    /// What waited is dropped with a verdict, for its neighbour is gone.
    pub fn drop_leaving(&mut self, made: &mut Made, verdict: Verdict) {
        while let Some(waiting) = self.next_leaving() {
            made.push(waiting.port, &waiting.frame, verdict);
            self.give_back(waiting);
        }
    }
}
