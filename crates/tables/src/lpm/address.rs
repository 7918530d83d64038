//! What can be an address: `u32` for IPv4, `u128` for IPv6, in host byte order.

/// An address of one version of IP; `u32` and `u128` are.
pub trait Address: Copy + Ord + std::fmt::Debug + Into<u128> + sealed::Address {
    /// Bits of an address.
    const BITS: u8;
}

impl Address for u32 {
    const BITS: u8 = 32;
}

impl Address for u128 {
    const BITS: u8 = 128;
}

pub(super) mod sealed {
    pub trait Address {
        /// Octets from the first that are looked up in nodes of 256 entries; all behind them in
        /// compressed nodes.
        const DIRECT: usize;

        /// The octet at this depth; 0 is the first.
        fn octet(self, depth: usize) -> usize;

        /// This address with the octet at this depth, where it has zero, replaced.
        fn with_octet(self, depth: usize, octet: usize) -> Self;

        /// This address with all but its first `len` bits cleared.
        fn truncated(self, len: u8) -> Self;

        /// The address of all zeroes.
        const ZERO: Self;
    }

    impl Address for u32 {
        // 256 entries for the /8s in the first-level cache, 256 KiB for all /16s in the second.
        const DIRECT: usize = 2;
        const ZERO: u32 = 0;

        #[inline(always)]
        fn octet(self, depth: usize) -> usize {
            usize::from((self >> (24 - 8 * depth)) as u8)
        }

        fn with_octet(self, depth: usize, octet: usize) -> u32 {
            self | (octet as u32) << (24 - 8 * depth)
        }

        fn truncated(self, len: u8) -> u32 {
            // A shift by all bits, which length 0 asks for, leaves nothing.
            self & !u32::MAX.checked_shr(u32::from(len)).unwrap_or(0)
        }
    }

    impl Address for u128 {
        // The Internet uses some tens of /16s, so that their nodes stay in the second-level cache.
        const DIRECT: usize = 3;
        const ZERO: u128 = 0;

        #[inline(always)]
        fn octet(self, depth: usize) -> usize {
            // One half is enough, and a shift of 64 bits cheaper than one of 128.
            let half = if depth < 8 { (self >> 64) as u64 } else { self as u64 };
            usize::from((half >> (56 - 8 * (depth & 7))) as u8)
        }

        fn with_octet(self, depth: usize, octet: usize) -> u128 {
            self | (octet as u128) << (120 - 8 * depth)
        }

        fn truncated(self, len: u8) -> u128 {
            self & !u128::MAX.checked_shr(u32::from(len)).unwrap_or(0)
        }
    }
}
