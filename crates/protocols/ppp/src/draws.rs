//! Random numbers that cannot be guessed: magic numbers, challenges, interface identifiers.

/// A generator of a secret seed: each number is the keyed hash (BLAKE3) of a count.
#[derive(Clone)]
pub struct Draws {
    seed: [u8; 32],
    count: u64,
}

impl Draws {
    /// Creates the generator of a seed. The same seed gives the same numbers, so two machines, or a
    /// machine and the one before it, must not have the same one.
    pub fn new(seed: [u8; 32]) -> Draws {
        Draws { seed, count: 0 }
    }

    /// Returns up to 32 random bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        const { assert!(N <= 32) }
        self.count += 1;
        let hash = blake3::keyed_hash(&self.seed, &self.count.to_be_bytes());
        std::array::from_fn(|at| hash.as_bytes()[at])
    }

    /// Returns a magic number, which is not 0 (RFC 1661 section 6.4).
    pub fn magic(&mut self) -> u32 {
        u32::from_be_bytes(self.bytes()).max(1)
    }

    /// Returns an interface identifier that is not 0, and does not claim to be globally unique (RFC
    /// 5072 section 4.1).
    pub fn interface_id(&mut self) -> u64 {
        (u64::from_be_bytes(self.bytes()) & !UNIVERSAL).max(1)
    }
}

impl std::fmt::Debug for Draws {
    /// Secrets are not shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Draws").field("count", &self.count).finish_non_exhaustive()
    }
}

/// The bit of an identifier that says that it is globally unique.
const UNIVERSAL: u64 = 0x0200_0000_0000_0000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_no_number_twice() {
        let [mut one, mut same] = [Draws::new([7; 32]), Draws::new([7; 32])];
        let numbers: Vec<[u8; 16]> = (0..100).map(|_| one.bytes()).collect();
        assert!(numbers.iter().all(|number| same.bytes() == *number));
        let different: std::collections::BTreeSet<_> = numbers.into_iter().collect();
        assert_eq!(different.len(), 100);
        assert!((0..100).all(|_| one.interface_id() & UNIVERSAL == 0 && one.magic() != 0));
        assert_ne!(Draws::new([8; 32]).bytes::<16>(), Draws::new([7; 32]).bytes());
    }
}
