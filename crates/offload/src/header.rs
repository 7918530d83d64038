//! The header of virtio-net before a frame (VIRTIO 1.2 section 5.1.6; `struct virtio_net_hdr`).
//!
//! ```text
//! | flags 1 | GSO type 1 | header length 2 | GSO size 2 | checksum start 2 | checksum offset 2 |
//! ```
//! Numbers are little-endian.

/// Length of the header, in bytes.
pub const HEADER_LEN: usize = 10;

/// What a frame still lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Bits: [`Header::NEEDS_CHECKSUM`] and others that nothing here follows from.
    pub flags: u8,
    /// What is to be cut.
    pub gso: Gso,
    /// Length of all headers in bytes, as a hint.
    pub header_len: u16,
    /// Most bytes of payload in a piece.
    pub segment_len: u16,
    /// Where the bytes begin that the checksum covers, from the start of the frame.
    pub checksum_start: u16,
    /// Where the checksum stands, from there; it has the sum of the pseudo-header.
    pub checksum_offset: u16,
}

/// What a frame is to be cut into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gso {
    /// Nothing: it is one frame.
    #[default]
    None,
    /// Segments of TCP over IPv4.
    TcpIpv4,
    /// Segments of TCP over IPv6.
    TcpIpv6,
    /// Datagrams of UDP over either (`VIRTIO_NET_HDR_GSO_UDP_L4`).
    Udp,
    /// Something that is not supported here.
    Other(u8),
}

impl Header {
    /// Flag: the checksum is only begun.
    pub const NEEDS_CHECKSUM: u8 = 1;

    /// Whether the frame is whole: nothing is to be cut or completed.
    #[inline(always)]
    pub fn is_nothing(&self) -> bool {
        self.gso == Gso::None && self.flags & Header::NEEDS_CHECKSUM == 0
    }

    /// Reads a header.
    pub fn parse(bytes: &[u8; HEADER_LEN]) -> Header {
        let &[flags, kind, ..] = bytes;
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let gso = match kind & !ECN {
            0 => Gso::None,
            1 => Gso::TcpIpv4,
            4 => Gso::TcpIpv6,
            5 => Gso::Udp,
            other => Gso::Other(other),
        };
        Header {
            flags,
            gso,
            header_len: half(2),
            segment_len: half(4),
            checksum_start: half(6),
            checksum_offset: half(8),
        }
    }

    /// Returns how many frames a frame of this length, in bytes, comes to.
    pub fn frames(&self, frame_len: usize) -> u64 {
        match (self.gso, self.segment_len) {
            (Gso::None, _) | (_, 0) => 1,
            (_, len) => {
                let payload = frame_len.saturating_sub(self.header_len.into());
                payload.div_ceil(len.into()).max(1) as u64
            }
        }
    }

    /// Writes the header.
    pub fn bytes(&self) -> [u8; HEADER_LEN] {
        let kind = match self.gso {
            Gso::None => 0,
            Gso::TcpIpv4 => 1,
            Gso::TcpIpv6 => 4,
            Gso::Udp => 5,
            Gso::Other(kind) => kind,
        };
        let mut bytes = [0; HEADER_LEN];
        bytes[..2].copy_from_slice(&[self.flags, kind]);
        let numbers =
            [self.header_len, self.segment_len, self.checksum_start, self.checksum_offset];
        for (place, number) in bytes[2..].as_chunks_mut::<2>().0.iter_mut().zip(numbers) {
            *place = number.to_le_bytes();
        }
        bytes
    }
}

/// Bit of the type: the first piece alone keeps CWR (RFC 3168), which is so here always.
const ECN: u8 = 0x80;
