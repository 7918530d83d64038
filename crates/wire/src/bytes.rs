//! Numbers and addresses at an offset, in network byte order.
//!
//! With a fixed array and a constant offset the bounds checks vanish in a release build. The
//! functions panic when the field does not fit: an offset is the programmer's, never the
//! network's.

/// Returns a copy of the `N` bytes at `at`, such as an address.
#[inline(always)]
pub fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

/// Returns the 16-bit number at `at`.
#[inline(always)]
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array_at(bytes, at))
}

/// Returns the 32-bit number at `at`.
#[inline(always)]
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array_at(bytes, at))
}

/// Writes `N` bytes at `at`.
#[inline(always)]
pub fn put_array<const N: usize>(bytes: &mut [u8], at: usize, array: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&array);
}

/// Writes a 16-bit number at `at`.
#[inline(always)]
pub fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    put_array(bytes, at, value.to_be_bytes());
}

/// Writes a 32-bit number at `at`.
#[inline(always)]
pub fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    put_array(bytes, at, value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_wrote_in_network_order() {
        let mut bytes = [0; 8];
        put_u16(&mut bytes, 1, 0x0102);
        put_u32(&mut bytes, 3, 0x0304_0506);
        assert_eq!(bytes, [0, 1, 2, 3, 4, 5, 6, 0]);
        assert_eq!(u16_at(&bytes, 1), 0x0102);
        assert_eq!(u32_at(&bytes, 3), 0x0304_0506);
        assert_eq!(array_at::<3>(&bytes, 2), [2, 3, 4]);
    }
}
