//! The header in front of each frame on a ring (Virtio 1.2, section 5.1.6).
//!
//! ```text
//! flags u8, gso_type u8, hdr_len u16, gso_size u16, csum_start u16, csum_offset u16 [, num_buffers u16]
//! ```
//! All but the number of buffers is the header that tap interfaces and packet sockets have
//! ([`offload::Header`]), and zero of a frame that lacks nothing.

use offload::HEADER_LEN;

use crate::features::{MRG_RXBUF, VERSION_1};

/// Form of the header, depending on the negotiated features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// Before version 1, without mergeable buffers: 10 bytes.
    #[default]
    Short,
    /// With a number of buffers that is always one: 12 bytes.
    Single,
    /// With the number of buffers of the frame: 12 bytes.
    Mergeable,
}

impl Header {
    /// Returns the form for these features.
    pub fn new(features: u64) -> Header {
        if features & MRG_RXBUF != 0 {
            Header::Mergeable
        } else if features & VERSION_1 != 0 {
            Header::Single
        } else {
            Header::Short
        }
    }

    /// Returns the length in bytes.
    #[inline(always)]
    pub fn bytes(self) -> usize {
        if self == Header::Short { HEADER_BYTES_MAX - 2 } else { HEADER_BYTES_MAX }
    }

    /// Returns true if a frame may span several buffers.
    pub fn is_mergeable(self) -> bool {
        self == Header::Mergeable
    }

    /// Returns the header of a frame that lacks this, in this number of buffers; the first
    /// [`Header::bytes`] bytes count.
    pub fn encode(self, lacks: &offload::Header, buffers: u16) -> [u8; HEADER_BYTES_MAX] {
        let mut bytes = [0; HEADER_BYTES_MAX];
        bytes[..HEADER_LEN].copy_from_slice(&lacks.bytes());
        bytes[BUFFERS_AT..].copy_from_slice(&buffers.to_le_bytes());
        bytes
    }

    /// Writes the header of a frame that lacks nothing, in one buffer.
    ///
    /// # Safety
    /// `at` has room for [`Header::bytes`].
    #[inline(always)]
    pub unsafe fn write(self, at: *mut u8) {
        // SAFETY: the caller's promise; a shared place needs no alignment to be copied to.
        unsafe {
            at.cast::<u64>().write_unaligned(0);
            at.add(8).cast::<u16>().write_unaligned(0);
            if self != Header::Short {
                at.add(BUFFERS_AT).cast::<u16>().write_unaligned(1u16.to_le());
            }
        }
    }
}

/// Reads what a frame lacks. Most lack nothing, and of these two bytes are read.
///
/// # Safety
/// [`HEADER_LEN`] bytes are at `at`; others may write there meanwhile.
#[inline(always)]
pub unsafe fn lacks(at: *const u8) -> offload::Header {
    // SAFETY: the caller's promise.
    let [flags, gso] = unsafe { at.cast::<[u8; 2]>().read_volatile() };
    if flags & offload::Header::NEEDS_CHECKSUM == 0 && gso == 0 {
        return offload::Header::default();
    }
    // SAFETY: the same. Nothing was judged but that all of it is to be looked at.
    offload::Header::parse(&unsafe { at.cast::<[u8; HEADER_LEN]>().read_volatile() })
}

/// Length of the longest header in bytes.
pub const HEADER_BYTES_MAX: usize = 12;

/// Length of an Ethernet header in bytes: no frame is shorter.
pub const ETHERNET_BYTES: usize = 14;

/// Offset of the number of buffers.
pub const BUFFERS_AT: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_follows_from_the_features() {
        assert_eq!(Header::new(0).bytes(), 10);
        assert_eq!(Header::new(VERSION_1).bytes(), 12);
        assert!(Header::new(MRG_RXBUF).is_mergeable() && !Header::new(VERSION_1).is_mergeable());
        let nothing = offload::Header::default();
        assert_eq!(Header::Mergeable.encode(&nothing, 0x0102)[10..], [2, 1]);
        for header in [Header::Short, Header::Single, Header::Mergeable] {
            let mut bytes = [0xff; HEADER_BYTES_MAX];
            // SAFETY: there is room for the longest.
            unsafe { header.write(bytes.as_mut_ptr()) };
            assert_eq!(bytes[..header.bytes()], header.encode(&nothing, 1)[..header.bytes()]);
            assert!(bytes[header.bytes()..].iter().all(|&byte| byte == 0xff));
        }
        let lacks = offload::Header { flags: 1, checksum_start: 34, ..nothing };
        assert_eq!(Header::Mergeable.encode(&lacks, 1), [1, 0, 0, 0, 0, 0, 34, 0, 0, 0, 1, 0]);
    }
}
