//! Frames that were captured, in memory, ready to be stamped and sent again.

use std::sync::Arc;

use crate::Stamp;
use crate::stamping::{Covering, find_ether_type, prepare};

/// Frames of one direction in the order of their capture, without frame check sequence.
#[derive(Debug, Default)]
pub struct Recording {
    bytes: Vec<u8>,
    frames: Vec<Recorded>,
    at_ns: Vec<u64>,
    stamped: u64,
    longest: usize,
}

/// A frame of a recording.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    start: u32,
    len: u16,
    /// True if the frame takes a stamp.
    is_stamped: bool,
    steering: u32,
    covering: Covering,
}

impl Recording {
    /// Appends a frame that was captured at a time in nanoseconds; a time before that of the frame
    /// before it counts as the same. Bytes behind an IP packet are cut off, as far as the frame
    /// stays as long as Ethernet has it, and a shorter frame is padded. With `to`, that becomes
    /// the destination of a frame that is not for a group of stations. Returns false, and appends
    /// nothing, if the recording would take more than [`BYTES_MAX`] bytes of memory.
    pub fn push(&mut self, at_ns: u64, frame: &[u8], to: Option<[u8; 6]>) -> bool {
        let len = frame.len().min(u16::MAX.into());
        let len = packet_end(&frame[..len]).unwrap_or(len).clamp(LEN_MIN, len.max(LEN_MIN));
        if self.memory_bytes() + len + ENTRY_BYTES > BYTES_MAX {
            return false;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&frame[..len.min(frame.len())]);
        self.bytes.resize(start + len, 0);
        let bytes = &mut self.bytes[start..];
        if let (Some(to), Some(field)) = (to, bytes.first_chunk_mut::<6>())
            && field[0] & 1 == 0
        {
            *field = to;
        }
        let covering = prepare(bytes);
        self.frames.push(Recorded {
            start: start as u32,
            len: len as u16,
            is_stamped: covering.is_some(),
            steering: flow_of(bytes),
            covering: covering.unwrap_or_default(),
        });
        self.at_ns.push(self.at_ns.last().map_or(at_ns, |&last| last.max(at_ns)));
        self.stamped += u64::from(covering.is_some());
        self.longest = self.longest.max(len);
        true
    }

    /// Returns the number of frames.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Returns true if there is no frame.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Returns the number of frames that take a stamp.
    pub fn stamped(&self) -> u64 {
        self.stamped
    }

    /// Returns the times of the frames in nanoseconds, in ascending order.
    pub fn at_ns(&self) -> &[u64] {
        &self.at_ns
    }

    /// Returns the length of the longest frame and the mean length, in bytes.
    pub fn lengths(&self) -> Lengths {
        let mean = self.bytes.len() as f64 / self.frames.len().max(1) as f64;
        Lengths { longest: self.longest, mean }
    }

    /// Returns the bytes of memory that the frames take.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len() + self.frames.len() * ENTRY_BYTES
    }

    /// Passes everything that tells one recording from another to `each`, in pieces.
    pub fn parts(&self, each: &mut dyn FnMut(&[u8])) {
        for (frame, at_ns) in self.frames.iter().zip(&self.at_ns) {
            each(&at_ns.to_le_bytes());
            each(&frame.len.to_le_bytes());
        }
        each(&self.bytes);
    }

    /// Returns the length of a frame in bytes.
    #[inline(always)]
    pub(crate) fn frame_len(&self, index: u32) -> usize {
        self.frames[index as usize].len.into()
    }

    /// Returns 32 well-mixed bits that are equal for all frames of a flow.
    #[inline(always)]
    pub(crate) fn steering(&self, index: u32) -> u32 {
        self.frames[index as usize].steering
    }

    /// Writes a frame, with the stamp if it takes one, into exactly its length.
    #[inline(always)]
    pub(crate) fn write(&self, index: u32, stamp: Stamp, frame: &mut [u8]) {
        let recorded = self.frames[index as usize];
        let start = recorded.start as usize;
        frame.copy_from_slice(&self.bytes[start..start + usize::from(recorded.len)]);
        if recorded.is_stamped {
            stamp.write(frame);
            recorded.covering.correct(frame);
        }
    }

    /// Fetches a frame into the caches near the core.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: u32) {
        if let Some(recorded) = self.frames.get(index as usize) {
            machine::memory::prefetch_at(&self.bytes, recorded.start as usize);
        }
    }
}

/// Lengths of the frames of a direction, in bytes without frame check sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lengths {
    /// That of the longest frame.
    pub longest: usize,
    /// The mean.
    pub mean: f64,
}

/// Recordings by direction.
pub type Recordings = Arc<[Arc<Recording>]>;

/// Returns where the IP packet of a frame ends; `None` without one, or if it is cut short.
fn packet_end(frame: &[u8]) -> Option<usize> {
    let (ether_type, at) = find_ether_type(frame)?;
    let field = |offset: usize| {
        let bytes = frame.get(at + offset..at + offset + 2)?;
        Some(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
    };
    let end = match ether_type {
        wire::ethernet::TYPE_IPV4 => at + field(2)?,
        wire::ethernet::TYPE_IPV6 => at + wire::ipv6::HEADER_LEN + field(4)?,
        _ => return None,
    };
    (at + IP_LEN_MIN..=frame.len()).contains(&end).then_some(end)
}

/// Returns a hash that is equal for all frames between two IP addresses, in both directions, or
/// else between two stations.
fn flow_of(frame: &[u8]) -> u32 {
    let ends = match find_ether_type(frame) {
        Some((wire::ethernet::TYPE_IPV4, at)) => Some((at + 12, 4)),
        Some((wire::ethernet::TYPE_IPV6, at)) => Some((at + 8, 16)),
        _ => None,
    };
    let (at, len) = ends.filter(|(at, len)| at + 2 * len <= frame.len()).unwrap_or((0, 6));
    // FNV-1a of each end, so that their sum does not tell which end is which.
    let hash = |bytes: &[u8]| {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    };
    let one = frame.get(at..at + len).map_or(0, hash);
    let other = frame.get(at + len..at + 2 * len).map_or(0, hash);
    (one.wrapping_add(other).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// Largest memory of a recording, in bytes.
pub const BYTES_MAX: usize = 512 << 20;

/// Memory of a frame beside its bytes.
const ENTRY_BYTES: usize = size_of::<Recorded>() + size_of::<u64>();

/// Length of the shortest Ethernet frame without frame check sequence, in bytes.
const LEN_MIN: usize = 60;

/// Length of the shortest IP packet, in bytes.
const IP_LEN_MIN: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn udp(payload: usize) -> Vec<u8> {
        let total = (28 + payload) as u16;
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 0]);
        frame.extend(total.to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 9, 0, 9]);
        frame.extend((total - 20).to_be_bytes());
        frame.extend([0, 0]);
        frame.resize(frame.len() + payload, 7);
        frame
    }

    fn written(recording: &Recording, index: u32) -> Vec<u8> {
        let mut frame = vec![0xee; recording.frame_len(index)];
        recording.write(index, Stamp { stream: 1, sequence: 5, time: 9 }, &mut frame);
        frame
    }

    #[test]
    fn frames_are_padded_and_lose_their_check_sequence() {
        let mut recording = Recording::default();
        assert!(recording.push(5, &udp(2), None), "a sender's capture has no padding");
        let with_check_sequence = [udp(40), vec![0xfc; 4]].concat();
        assert!(recording.push(3, &with_check_sequence, Some([4; 6])));
        assert!(recording.push(9, &[[1; 6], [9; 6]].concat(), Some([4; 6])), "to a group");
        let lens: Vec<usize> = (0..3).map(|index| recording.frame_len(index)).collect();
        assert_eq!(lens, [60, 82, 60]);
        assert_eq!(recording.at_ns(), [5, 5, 9], "time does not go back");
        assert_eq!(recording.lengths(), Lengths { longest: 82, mean: 202.0 / 3.0 });
        assert_eq!((recording.len(), recording.stamped()), (3, 1));
        let frame = written(&recording, 1);
        assert_eq!(
            (&frame[..6], Stamp::read(&frame).map(|it| it.sequence)),
            (&[4; 6][..], Some(5))
        );
        assert_eq!(Stamp::read(&written(&recording, 0)), None);
        assert_eq!(written(&recording, 2)[..6], [1; 6]);
    }

    #[test]
    fn both_directions_of_a_pair_have_the_same_steering() {
        let mut back = udp(30);
        let (to, from) = (back[30..34].to_vec(), back[26..30].to_vec());
        back[26..30].copy_from_slice(&to);
        back[30..34].copy_from_slice(&from);
        let mut other = udp(30);
        other[29] = 77;
        let all = [udp(30), back, other].map(|frame| flow_of(&frame));
        assert!(all[0] == all[1] && all[0] != all[2], "{all:x?}");
    }

    #[test]
    fn memory_is_bounded() {
        let mut recording = Recording::default();
        let frame = vec![1; 60_000];
        let mut count = 0;
        while recording.push(0, &frame, None) {
            count += 1;
        }
        assert!(recording.memory_bytes() <= BYTES_MAX && count > 8_900, "{count}");
    }
}
