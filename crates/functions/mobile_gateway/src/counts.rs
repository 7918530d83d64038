//! What users have sent and got, for operators to look at.

use zerocopy::FromZeros;

/// Of one user, in one cache line.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(64))]
pub struct Counts {
    /// What came from the user.
    pub uplink: Passed,
    /// What went to the user.
    pub downlink: Passed,
    unused: [u64; 2],
}

/// Packets of IP in one direction of a bearer.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C)]
pub struct Passed {
    /// Within the rate.
    pub packets: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Packets that exceeded it.
    pub exceeding: u64,
}

impl Passed {
    /// One more packet, of so many bytes.
    #[inline(always)]
    pub fn note(&mut self, conforms: bool, len: u16) {
        self.packets += u64::from(conforms);
        self.bytes += if conforms { u64::from(len) } else { 0 };
        self.exceeding += u64::from(!conforms);
    }
}
