//! Blocks of words of 17 sizes out of one array: where the nodes keep what varies in length.
//!
//! A block is of the smallest size that has room, and a free one waits for the next of its size in
//! a list that runs through the free blocks themselves. Nothing is ever moved from one size to
//! another; [`words_for`] says how many words are enough for ever, so that taking one cannot fail.

use std::io;

use machine::memory::{HugeArray, prefetch_at};

/// The words of all blocks.
#[derive(Debug)]
pub(super) struct Blocks {
    words: HugeArray<u32>,
    /// Words that were ever in a block.
    used: u32,
    /// The first free block of each size, and `NONE` behind the last.
    free: [u32; SIZES.len()],
}

impl Blocks {
    /// No block yet, and room for `words` words.
    pub fn reserve(words: usize) -> io::Result<Blocks> {
        if words >= NONE as usize {
            let text = format!("{words} words of nodes; the most is {}", NONE - 1);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(Blocks { words: HugeArray::reserve(words)?, used: 0, free: [NONE; SIZES.len()] })
    }

    /// The word at a place of a block.
    #[inline(always)]
    pub fn word(&self, at: u32) -> u32 {
        self.words[at as usize]
    }

    /// Asks the processor to fetch the word at a place of a block.
    #[inline(always)]
    pub fn prefetch(&self, at: u32) {
        prefetch_at(&self.words, at as usize);
    }

    /// The `len` words of a block.
    pub fn words(&self, start: u32, len: usize) -> &[u32] {
        &self.words[start as usize..start as usize + len]
    }

    /// The same, to be written.
    pub fn words_mut(&mut self, start: u32, len: usize) -> &mut [u32] {
        &mut self.words[start as usize..start as usize + len]
    }

    /// Replaces the contents of a block of `len` words (0: there is none yet), and says where it
    /// starts now.
    pub fn replace(&mut self, start: u32, len: usize, contents: &[u32]) -> u32 {
        let start = self.resize(start, len, contents.len());
        self.words_mut(start, contents.len()).copy_from_slice(contents);
        start
    }

    /// Puts a word before the one at `at` of a block of `len` words, and says where it starts now.
    pub fn insert(&mut self, start: u32, len: usize, at: usize, word: u32) -> u32 {
        let start = self.moved(start, len, len + 1);
        let words = self.words_mut(start, len + 1);
        words.copy_within(at..len, at + 1);
        words[at] = word;
        start
    }

    /// Takes the word at `at` out of a block of `len` words, and says where it starts now.
    pub fn remove(&mut self, start: u32, len: usize, at: usize) -> u32 {
        self.words_mut(start, len).copy_within(at + 1.., at);
        self.moved(start, len, len - 1)
    }

    /// Gives a block of `len` words back.
    pub fn release(&mut self, start: u32, len: usize) {
        if len > 0 {
            let size = size_of_block(len);
            self.words[start as usize] = self.free[size];
            self.free[size] = start;
        }
    }

    /// Bytes of all words that were ever in a block.
    pub fn bytes(&self) -> usize {
        self.used as usize * size_of::<u32>()
    }

    /// A block for `to` words in place of one for `from`, with the words that both have.
    fn moved(&mut self, start: u32, from: usize, to: usize) -> u32 {
        let common = from.min(to);
        let mut kept = [0; SIZE_MAX];
        if is_other_size(from, to) {
            kept[..common].copy_from_slice(self.words(start, common));
        }
        let moved = self.resize(start, from, to);
        if is_other_size(from, to) {
            self.words_mut(moved, common).copy_from_slice(&kept[..common]);
        }
        moved
    }

    /// A block for `to` words in place of one for `from`; what it holds is not said.
    fn resize(&mut self, start: u32, from: usize, to: usize) -> u32 {
        if !is_other_size(from, to) {
            return start;
        }
        self.release(start, from);
        if to == 0 {
            return 0;
        }
        let size = size_of_block(to);
        let free = self.free[size];
        if free != NONE {
            self.free[size] = self.words[free as usize];
            return free;
        }
        let start = self.used;
        self.used += u32::from(SIZES[size]);
        start
    }
}

/// Words that are enough when at most `blocks` blocks of any sizes are in use, and those of more
/// than `small` words have at most `words` words together.
pub(super) fn words_for(blocks: usize, small: usize, words: usize) -> usize {
    let mut below = 0;
    let mut sum = 0usize;
    for size in SIZES.map(usize::from) {
        // All blocks of this size are longer than the next smaller size.
        let most = if below < small { blocks } else { blocks.min(words / (below + 1) + 1) };
        sum = sum.saturating_add(most.saturating_mul(size));
        below = size;
    }
    sum
}

fn is_other_size(from: usize, to: usize) -> bool {
    from == 0 || to == 0 || size_of_block(from) != size_of_block(to)
}

/// The number of the smallest size that has room for `len` words.
fn size_of_block(len: usize) -> usize {
    SIZES.partition_point(|&size| usize::from(size) < len)
}

/// Steps of a half and of a third: a block has a sixth of its words spare in the mean.
const SIZES: [u16; 17] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512];

/// The largest.
const SIZE_MAX: usize = 512;

/// No block.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_holds_what_is_put_in_while_it_grows_and_shrinks() {
        let mut blocks = Blocks::reserve(words_for(2, 0, 600)).expect("memory is to be had");
        let mut list = Vec::new();
        let mut start = 0;
        for word in 0..500 {
            let at = word as usize * 7 % (list.len() + 1);
            start = blocks.insert(start, list.len(), at, word);
            list.insert(at, word);
            assert_eq!(blocks.words(start, list.len()), list);
        }
        let touched = blocks.bytes();
        while !list.is_empty() {
            let at = list.len() / 2;
            start = blocks.remove(start, list.len(), at);
            list.remove(at);
            assert_eq!(blocks.words(start, list.len()), list);
        }
        let again = blocks.replace(0, 0, &[7; 500]);
        assert_eq!(blocks.words(again, 500), [7; 500]);
        assert_eq!(blocks.bytes(), touched, "what was given back is used again");
    }

    #[test]
    fn the_words_are_enough_for_blocks_that_pass_through_every_size() {
        let (count, len) = (9, 511);
        let mut blocks = Blocks::reserve(words_for(count, 0, count * len)).expect("memory");
        // All grow together, so that each size is in use by all of them once.
        let mut starts = vec![0; count];
        for len in 0..len {
            for start in &mut starts {
                *start = blocks.insert(*start, len, len, len as u32);
            }
        }
        for &start in &starts {
            assert!(blocks.words(start, len).iter().copied().eq(0..len as u32));
        }
    }

    #[test]
    fn more_words_than_can_be_numbered_are_an_error() {
        assert!(Blocks::reserve(1 << 32).is_err());
    }
}
