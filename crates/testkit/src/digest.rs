//! A digest of frames that is the same in any release: the hash of Fowler, Noll and Vo (FNV-1a, 64
//! bits), with each frame's length before it.

/// The digest of these frames in this order, as 16 hexadecimal digits.
pub fn digest(frames: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut hash = OFFSET_BASIS;
    for frame in frames {
        let frame = frame.as_ref();
        let len = (frame.len() as u16).to_be_bytes();
        for &byte in len.iter().chain(frame) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    }
    format!("{hash:016x}")
}

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x100_0000_01b3;
