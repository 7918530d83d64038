//! The memory of rows: in huge pages where it is large, and no more than it takes where it is
//! small, because there may be thousands of small lists.

use std::io;
use std::ops::{Deref, DerefMut};

use machine::memory::HugeArray;

/// A fixed number of words, zero at first.
#[derive(Debug)]
pub(super) enum Words {
    /// Below [`LARGE`] of them, from where a cache line begins.
    Small { all: Box<[u64]>, start: usize, count: usize },
    /// As many or more.
    Large(HugeArray<u64>),
}

impl Words {
    /// # Errors
    /// What the kernel says when it has no such memory.
    pub fn new(count: usize) -> io::Result<Words> {
        Ok(match count {
            ..LARGE => {
                let all: Box<[u64]> = vec![0; count + LINE - 1].into();
                let start = all.as_ptr().align_offset(LINE * size_of::<u64>()).min(LINE - 1);
                Words::Small { all, start, count }
            }
            _ => Words::Large(HugeArray::zeroed(count)?),
        })
    }

    /// Memory it holds.
    pub fn bytes(&self) -> usize {
        match self {
            Words::Small { all, .. } => size_of_val(&**all),
            Words::Large(words) => words.mapped_bytes(),
        }
    }
}

impl Deref for Words {
    type Target = [u64];

    #[inline(always)]
    fn deref(&self) -> &[u64] {
        match self {
            Words::Small { all, start, count } => &all[*start..][..*count],
            Words::Large(words) => words,
        }
    }
}

impl DerefMut for Words {
    fn deref_mut(&mut self) -> &mut [u64] {
        match self {
            Words::Small { all, start, count } => &mut all[*start..][..*count],
            Words::Large(words) => words,
        }
    }
}

/// Half of a huge page.
const LARGE: usize = (1 << 20) / size_of::<u64>();

/// Words of a cache line.
const LINE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_any_number_are_zero_begin_a_cache_line_and_keep_what_is_written() {
        for count in [0, 1, 7, 8, 1000, LARGE - 1, LARGE, LARGE + 1] {
            let mut words = Words::new(count).expect("memory");
            assert_eq!((words.len(), words.iter().max()), (count, [0].iter().take(count).next()));
            assert_eq!(words.as_ptr().align_offset(64), 0, "{count}");
            words.iter_mut().zip(0..).for_each(|(word, number)| *word = number);
            assert!(words.iter().zip(0..).all(|(word, number)| *word == number));
            let room = if count < LARGE { 64 } else { 2 << 20 };
            assert!(words.bytes() - 8 * count <= room, "{count}");
        }
    }
}
