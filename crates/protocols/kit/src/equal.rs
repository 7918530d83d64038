//! Comparison of secrets.
//!
//! An attacker who can try one value after another must not learn from the time of an answer how
//! many bytes of a value were right. The length of what is compared is no secret here.

/// Whether two strings of bytes are equal. The time that it takes depends on their lengths alone,
/// and not on where they differ.
pub fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
    // The compiler must not know that nothing but zero is asked for: it could leave the loop early.
    one.len() == other.len() && std::hint::black_box(differing) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_equal_or_differ_in_a_byte_or_in_their_length() {
        let all: Vec<u8> = (0..=255).collect();
        assert!(is_equal(&all, &all) && is_equal(&[], &[]));
        for at in 0..all.len() {
            for bit in 0..8 {
                let mut other = all.clone();
                other[at] ^= 1 << bit;
                assert!(!is_equal(&all, &other), "bit {bit} of byte {at}");
            }
            assert!(!is_equal(&all, &all[..at]) && !is_equal(&all[..at], &all), "{at} bytes");
        }
    }
}
