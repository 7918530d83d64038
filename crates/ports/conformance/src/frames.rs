//! Frames whose every byte follows from flow, number and length: none can be torn unseen.
//!
//! ```text
//! | Ethernet 14 | IPv4 20 | UDP 8 | mark 2 | number 8 | length 2 | filler … |
//! ```
//! They are UDP from a port for each flow, so that whatever hashes flows can tell them apart, with
//! a valid header checksum and the UDP checksum left out (RFC 768).

use crate::random::mix;

/// Shortest frame of the suite in bytes, which has all fields; also the Ethernet minimum without
/// frame check sequence.
pub const FRAME_BYTES_MIN: usize = 60;

/// Identification that a frame of the suite contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Found {
    /// Flow of the frame, below 1024.
    pub flow: u16,
    /// Number of the frame.
    pub number: u64,
}

/// Returns the frame of this flow, number and length.
///
/// # Panics
/// If the length is below [`FRAME_BYTES_MIN`] or above the maximum of IPv4.
pub fn build(found: Found, len: usize) -> Vec<u8> {
    assert!((FRAME_BYTES_MIN..=ETHERNET + 0xffff).contains(&len), "no frame has {len} bytes");
    let mut frame = vec![0; len];
    frame[..6].copy_from_slice(&[0x02, 0, 0, 0, 0, 0x0b]);
    frame[6..12].copy_from_slice(&[0x02, 0, 0, 0, 0, 0x0a]);
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    let ip = &mut frame[ETHERNET..];
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&((len - ETHERNET) as u16).to_be_bytes());
    ip[8..10].copy_from_slice(&[64, 17]);
    ip[12..20].copy_from_slice(&[198, 18, 0, 1, 198, 19, 0, 1]);
    let checksum = header_checksum(&ip[..20]);
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    ip[20..22].copy_from_slice(&(PORT_FIRST + found.flow).to_be_bytes());
    ip[22..24].copy_from_slice(&[0, 9]);
    ip[24..26].copy_from_slice(&((len - ETHERNET - 20) as u16).to_be_bytes());
    frame[42..44].copy_from_slice(&MARK);
    frame[44..52].copy_from_slice(&found.number.to_be_bytes());
    frame[52..54].copy_from_slice(&(len as u16).to_be_bytes());
    let own = mix(found.number) ^ mix(u64::from(found.flow) << 32 | len as u64);
    for (index, chunk) in frame[54..].chunks_mut(8).enumerate() {
        let filler = mix(own.wrapping_add(index as u64)).to_be_bytes();
        chunk.copy_from_slice(&filler[..chunk.len()]);
    }
    frame
}

/// Returns the identification of a frame, if every byte of it is as it was built.
pub fn recognise(frame: &[u8]) -> Option<Found> {
    if frame.len() < FRAME_BYTES_MIN || frame[42..44] != MARK {
        return None;
    }
    let flow = u16::from_be_bytes([frame[34], frame[35]]).checked_sub(PORT_FIRST)?;
    let number = u64::from_be_bytes(frame[44..52].try_into().ok()?);
    let found = Found { flow, number };
    (build(found, frame.len()) == frame).then_some(found)
}

/// Returns the checksum (RFC 1071) of a header whose checksum field is zero.
fn header_checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

const ETHERNET: usize = 14;
const PORT_FIRST: u16 = 1024;
const MARK: [u8; 2] = *b"pl";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_recognised_and_no_other() {
        for len in [60, 61, 1514, 9000] {
            let found = Found { flow: 7, number: 1 << 40 };
            let frame = build(found, len);
            assert_eq!(recognise(&frame), Some(found));
            assert_eq!(recognise(&frame[..len - 1]), None, "torn");
            for at in 0..len {
                let mut other = frame.clone();
                other[at] ^= 1;
                assert_eq!(recognise(&other), None, "byte {at} of {len}");
            }
        }
    }
}
