//! The Internet checksum: RFC 1071, with incremental update by RFC 1624.
//!
//! [`Sum`] adds up 16-bit words in ones'-complement arithmetic; its [`checksum`](Sum::checksum)
//! is what a header carries. Words are summed in the byte order of the machine and swapped once
//! at the end, which RFC 1071 section 2 (B) allows. The update functions change a checksum for a
//! changed field without reading the rest, and never hide an error that was there before.
//!
//! It does not know the zero rules of UDP (see [`crate::udp`]) nor where a checksum stands.

use crate::{Law, bytes};

/// A ones'-complement sum that is not folded yet; room for 2^48 words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum(u64);

impl Sum {
    /// The sum of no words.
    pub const ZERO: Self = Self(0);

    /// Adds a 16-bit number.
    #[inline]
    #[must_use]
    pub const fn add_u16(self, value: u16) -> Self {
        Self(self.0 + value as u64)
    }

    /// Adds a 32-bit number, as its two halves.
    #[inline]
    #[must_use]
    pub const fn add_u32(self, value: u32) -> Self {
        Self(self.0 + (value >> 16) as u64 + (value & 0xffff) as u64)
    }

    /// Adds a 128-bit number, for example an IPv6 address, as its eight parts.
    #[inline]
    #[must_use]
    pub const fn add_u128(self, value: u128) -> Self {
        let [high, low] = [(value >> 64) as u64, value as u64];
        let halves = (high >> 32) + (high & 0xffff_ffff) + (low >> 32) + (low & 0xffff_ffff);
        Self(self.0 + (halves >> 16) + (halves & 0xffff))
    }

    /// Adds bytes as 16-bit words; an odd last byte is padded with zero (RFC 1071 section 1), so
    /// only the last piece of a message may have an odd length.
    #[inline]
    #[must_use]
    pub fn add_bytes(self, bytes: &[u8]) -> Self {
        self.add_u16(u16::from_be(fold(sum_in_machine_order(bytes))))
    }

    /// Adds twenty bytes, faster than [`Sum::add_bytes`].
    #[inline]
    #[must_use]
    pub fn add_header(self, header: &[u8; 20]) -> Self {
        self.add_u16(u16::from_be(fold(sum_of_header(header))))
    }

    /// Returns the sum folded to 16 bits. For a message with a correct checksum it is 0xffff.
    #[inline]
    pub const fn fold(self) -> u16 {
        fold(self.0)
    }

    /// Returns the complement of the folded sum: the value for the checksum field.
    #[inline]
    pub const fn checksum(self) -> u16 {
        !self.fold()
    }
}

/// Returns the checksum of a contiguous message, whose checksum field is zero or omitted.
#[inline]
pub fn checksum(bytes: &[u8]) -> u16 {
    Sum::ZERO.add_bytes(bytes).checksum()
}

/// Returns the checksum of a twenty-byte header whose checksum field is zero.
#[inline]
pub fn header_checksum(header: &[u8; 20]) -> u16 {
    Sum::ZERO.add_header(header).checksum()
}

/// Returns true if the checksum of a twenty-byte header is correct.
#[inline]
pub fn header_is_valid(header: &[u8; 20]) -> bool {
    // A sum folds to 0xffff where it is a multiple of that and not zero.
    let sum = sum_of_header(header);
    (sum != 0) & sum.is_multiple_of(0xffff)
}

/// Returns the checksum after a 16-bit word changed from `old` to `new`: HC' = ~(~HC + ~m + m'),
/// RFC 1624 equation 3.
#[inline]
#[must_use]
pub const fn update_u16(checksum: u16, old: u16, new: u16) -> u16 {
    Sum::ZERO.add_u16(!checksum).add_u16(!old).add_u16(new).checksum()
}

/// Returns the checksum after an aligned 32-bit field, such as an address, changed from `old` to
/// `new`.
#[inline]
#[must_use]
pub const fn update_u32(checksum: u16, old: u32, new: u32) -> u16 {
    Sum::ZERO.add_u16(!checksum).add_u32(!old).add_u32(new).checksum()
}

/// Returns the sum of all 16-bit words in host byte order, computed from 32-bit words.
#[inline]
fn sum_in_machine_order(bytes: &[u8]) -> u64 {
    // Independent lanes let the compiler use vector registers.
    let (blocks, rest) = bytes.as_chunks::<BLOCK_LEN>();
    let mut lanes = [0u64; LANES];
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block.as_chunks::<4>().0) {
            *lane += u64::from(u32::from_ne_bytes(*word));
        }
    }
    let (words, tail) = rest.as_chunks::<4>();
    let mut sum = lanes.iter().sum::<u64>();
    for word in words {
        sum += u64::from(u32::from_ne_bytes(*word));
    }
    if !tail.is_empty() {
        let mut padded = [0; 4];
        padded[..tail.len()].copy_from_slice(tail);
        sum += u64::from(u32::from_ne_bytes(padded));
    }
    sum
}

/// Returns the sum of all 16-bit words of twenty bytes, in host byte order.
#[inline(always)]
fn sum_of_header(header: &[u8; 20]) -> u64 {
    word_at(header, 0)
        + word_at(header, 4)
        + word_at(header, 8)
        + word_at(header, 12)
        + word_at(header, 16)
}

/// Returns four bytes in host byte order.
#[inline(always)]
fn word_at(header: &[u8; 20], at: usize) -> u64 {
    u64::from(u32::from_ne_bytes(bytes::array_at(header, at)))
}

/// Adds the carries back in until sixteen bits are left.
#[inline]
const fn fold(sum: u64) -> u16 {
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    // At most 0xffff + 0xffff is left, so one more addition cannot carry.
    let sum = (sum >> 16) + (sum & 0xffff);
    ((sum >> 16) + (sum & 0xffff)) as u16
}

/// Number of 32-bit words that are summed in parallel.
const LANES: usize = 8;
/// Number of bytes per iteration of the loop.
const BLOCK_LEN: usize = LANES * 4;

/// The law of this module.
pub const LAW: Law = Law { name: "checksum", holds: law, examples: &[] };

/// Checksum: the fast sum is the slow sum, and an update is a recomputation.
fn law(data: &[u8]) {
    let words = data
        .chunks(2)
        .map(|pair| u64::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u64::from));
    // Ones'-complement addition is addition modulo 0xffff, in which only nothing sums to zero.
    let expected = match words.sum::<u64>() {
        0 => 0,
        sum => (sum - 1) % 0xffff + 1,
    };
    assert_eq!(u64::from(Sum::ZERO.add_bytes(data).fold()), expected);

    let Some((new, rest)) = data.split_first_chunk::<4>() else { return };
    let Some(old) = rest.first_chunk::<4>().filter(|_| new != &[0; 4]) else { return };
    let changed = [new, &rest[4..]].concat();
    let [old, new] = [old, new].map(|word| u32::from_be_bytes(*word));
    let updated = update_u32(checksum(rest), old, new);
    assert_eq!(updated, checksum(&changed));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Adds word by word, with the carry added at once: slow and obviously correct.
    fn slow_sum(bytes: &[u8]) -> u16 {
        let mut sum = 0u16;
        for pair in bytes.chunks(2) {
            let word = u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
            let (next, carry) = sum.overflowing_add(word);
            sum = next + u16::from(carry);
        }
        sum
    }

    #[test]
    fn example_of_rfc_1071_section_3() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::ZERO.add_bytes(&bytes).fold(), 0xddf2);
        assert_eq!(checksum(&bytes), !0xddf2);
    }

    #[test]
    fn example_of_rfc_1624_section_4() {
        // HC = 0xdd2f, m = 0x5555, m' = 0x3285 gives 0x0000, where equation 2 gives 0xffff.
        assert_eq!(update_u16(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn header_seen_on_a_wire() {
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0xc0, 0xa8,
            0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(header_checksum(&header), 0xb861);
        assert!(!header_is_valid(&header));
        let mut sent = header;
        bytes::put_u16(&mut sent, 10, 0xb861);
        assert!(header_is_valid(&sent));
    }

    #[test]
    fn extreme_sums_fold() {
        assert_eq!(Sum::ZERO.fold(), 0);
        assert_eq!(Sum::ZERO.add_bytes(&[]).fold(), 0);
        assert_eq!(Sum(u64::MAX).fold(), 0xffff);
        assert_eq!(Sum::ZERO.add_bytes(&vec![0xff; 1 << 20]).fold(), 0xffff);
        for sum in [0xffff_0000_ffff, 0xffff_ffff_0000_0001, 0x1_0000, 0x1_ffff_ffff] {
            assert_eq!(u64::from(fold(sum)) % 0xffff, sum % 0xffff);
        }
    }

    proptest! {
        #[test]
        fn sum_equals_the_slow_sum(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(Sum::ZERO.add_bytes(&bytes).fold(), slow_sum(&bytes));
        }

        #[test]
        fn header_sum_equals_the_slow_sum(header in any::<[u8; 20]>()) {
            prop_assert_eq!(Sum::ZERO.add_header(&header).fold(), slow_sum(&header));
        }

        #[test]
        fn a_header_is_valid_where_it_sums_to_all_ones(mut header in any::<[u8; 20]>(), off in -1i32..2) {
            bytes::put_u16(&mut header, 10, 0);
            let sum = i32::from(header_checksum(&header)) + off;
            bytes::put_u16(&mut header, 10, sum as u16);
            prop_assert_eq!(header_is_valid(&header), slow_sum(&header) == 0xffff);
            prop_assert!(!header_is_valid(&[0; 20]) && header_is_valid(&[0xff; 20]));
        }

        #[test]
        fn pieces_add_up(
            head in prop::collection::vec(any::<[u8; 2]>(), 0..50),
            tail in prop::collection::vec(any::<u8>(), 0..99),
        ) {
            let head = head.concat();
            let whole = [&head[..], &tail].concat();
            let pieces = Sum::ZERO.add_bytes(&head).add_bytes(&tail);
            prop_assert_eq!(pieces.fold(), slow_sum(&whole));
        }

        #[test]
        fn numbers_add_as_their_bytes(a in any::<u16>(), b in any::<u32>(), c in any::<u128>()) {
            let bytes = [&a.to_be_bytes()[..], &b.to_be_bytes(), &c.to_be_bytes()].concat();
            prop_assert_eq!(Sum::ZERO.add_u16(a).add_u32(b).add_u128(c).fold(), slow_sum(&bytes));
        }

        #[test]
        fn incremental_equals_recomputed(
            mut header in any::<[u8; 20]>(),
            at in 2usize..9,
            new in any::<u32>(),
        ) {
            // A header that is zero all over has two checksums; a real one never is.
            header[0] = 0x45;
            let at = at * 2;
            let before = !slow_sum(&header);
            let old = bytes::u32_at(&header, at);
            let old_half = bytes::u16_at(&header, at);

            let mut changed = header;
            bytes::put_u32(&mut changed, at, new);
            prop_assert_eq!(update_u32(before, old, new), !slow_sum(&changed));

            let mut changed = header;
            bytes::put_u16(&mut changed, at, new as u16);
            prop_assert_eq!(update_u16(before, old_half, new as u16), !slow_sum(&changed));
        }
    }
}
