//! The stamp at the end of each test frame: who sent it, which one it is, and when.
//!
//! ```text
//!  0      2               8 (little endian)       16      18
//! +------+-----------------------+----------------+
//! | magic | sequence 48 | stream 16 | time, ticks  |   the last 18 bytes of the payload
//! +------+-----------------------+----------------+
//! ```
//! It lies at the end, so that tunnels may come and go in front of it; 18 bytes are what the
//! shortest Ethernet frame leaves behind IPv4 and UDP. The clock is the tester's own: no other
//! machine reads it.

use machine::clock::Ticks;

/// Length of a stamp in bytes.
pub const STAMP_LEN: usize = 18;

/// Contents of a stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Stream of frames that are numbered together.
    pub stream: u16,
    /// Number of the frame in its stream, 48 bits.
    pub sequence: u64,
    /// Time at which the frame was sent.
    pub time: Ticks,
}

impl Stamp {
    /// Writes the stamp over the last bytes of a frame, which must be long enough.
    #[inline(always)]
    pub fn write(&self, frame: &mut [u8]) {
        debug_assert!(frame.len() >= STAMP_LEN);
        if let Some(tail) = frame.last_chunk_mut::<STAMP_LEN>() {
            let word = u64::from(self.stream) << 48 | self.sequence & SEQUENCE_MASK;
            tail[0..2].copy_from_slice(&MAGIC);
            tail[2..10].copy_from_slice(&word.to_le_bytes());
            tail[10..18].copy_from_slice(&self.time.to_le_bytes());
        }
    }

    /// Reads the stamp of a frame; `None` if it has none.
    #[inline(always)]
    pub fn read(frame: &[u8]) -> Option<Stamp> {
        let tail = frame.last_chunk::<STAMP_LEN>()?;
        let [m0, m1, w0, w1, w2, w3, w4, w5, w6, w7, t @ ..] = *tail;
        let word = u64::from_le_bytes([w0, w1, w2, w3, w4, w5, w6, w7]);
        ([m0, m1] == MAGIC).then_some(Stamp {
            stream: (word >> 48) as u16,
            sequence: word & SEQUENCE_MASK,
            time: u64::from_le_bytes(t),
        })
    }
}

const MAGIC: [u8; 2] = *b"PL";
const SEQUENCE_MASK: u64 = (1 << 48) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_as_written_wherever_the_frame_begins() {
        let stamp = Stamp { stream: 0xabcd, sequence: (1 << 48) - 2, time: u64::MAX - 5 };
        let mut frame = [0u8; 64];
        stamp.write(&mut frame);
        assert_eq!(Stamp::read(&frame), Some(stamp));
        assert_eq!(Stamp::read(&frame[40..]), Some(stamp));
        assert_eq!(Stamp::read(&frame[50..]), None, "too short");
        assert_eq!(Stamp::read(&[0; 64]), None, "no stamp");
    }
}
