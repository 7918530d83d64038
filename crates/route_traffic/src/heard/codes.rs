//! Small numbers of a fixed width for each route, packed.

use std::ops::Range;

/// A number below 256 for each of many places; all 0 in the beginning.
#[derive(Clone, Debug)]
pub(crate) struct Codes {
    /// Bits of a number as a power of two: 1, 2, 4 or 8.
    shift: u32,
    words: Vec<u64>,
}

impl Codes {
    /// Numbers up to a greatest one.
    pub fn new(places: u32, greatest: u16) -> Codes {
        let shift = match greatest {
            ..=1 => 0,
            2..=3 => 1,
            4..=15 => 2,
            _ => 3,
        };
        let words = (u64::from(places) << shift).div_ceil(64);
        Codes { shift, words: vec![0; words as usize] }
    }

    #[inline]
    pub fn get(&self, place: u32) -> u8 {
        let (word, at) = self.at(place);
        (self.words[word] >> at & self.mask()) as u8
    }

    #[inline]
    pub fn set(&mut self, place: u32, code: u8) {
        let (word, at) = self.at(place);
        let cleared = self.words[word] & !(self.mask() << at);
        self.words[word] = cleared | u64::from(code) << at;
    }

    /// Whether the numbers of a range are all 0.
    pub fn are_clear(&self, range: Range<u32>) -> bool {
        self.parts(range).all(|(word, mask)| self.words[word] & mask == 0)
    }

    /// Sets the numbers of a range, which are all 0.
    pub fn fill(&mut self, range: Range<u32>, code: u8) {
        let width = 1 << self.shift;
        let all = (0..64 / width).fold(0, |all, at| all | u64::from(code) << (at * width));
        let parts = self.parts(range);
        parts.for_each(|(word, mask)| self.words[word] |= all & mask);
    }

    fn at(&self, place: u32) -> (usize, u32) {
        let bit = u64::from(place) << self.shift;
        ((bit / 64) as usize, (bit % 64) as u32)
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - (1 << self.shift))
    }

    /// The words of a range, each with the bits that belong to it.
    fn parts(&self, range: Range<u32>) -> impl Iterator<Item = (usize, u64)> + use<> {
        let (start, end) =
            (u64::from(range.start) << self.shift, u64::from(range.end) << self.shift);
        let words = start / 64..end.div_ceil(64).max(start / 64);
        words.map(move |word| {
            let first = start.saturating_sub(word * 64).min(64);
            let last = (end - word * 64).min(64);
            let upto = |bits: u64| if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
            (word as usize, upto(last) & !upto(first))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_single_places() {
        for greatest in [1, 3, 9, 200] {
            for range in [0..1, 3..70, 63..65, 64..128, 0..300, 5..5, 299..300] {
                let mut codes = Codes::new(300, greatest);
                codes.fill(range.clone(), greatest as u8);
                for place in 0..300 {
                    let expected = if range.contains(&place) { greatest as u8 } else { 0 };
                    assert_eq!(codes.get(place), expected, "{greatest} {range:?} {place}");
                    assert_eq!(codes.are_clear(place..place + 1), expected == 0);
                }
                assert_eq!(codes.are_clear(0..300), range.is_empty());
                range.for_each(|place| codes.set(place, 0));
                assert!(codes.are_clear(0..300));
            }
        }
    }
}
