//! The memory of frames that wait: cells of 256 bytes, a frame in as many as it needs.
//!
//! What is known of a frame stands in front of its first bytes, so that a short one is two cache
//! lines together. Free cells are a stack: the one that was freed last is in the cache.

use std::io;

use machine::memory::{HugeArray, prefetch_address, prefetch_at};
use zerocopy::FromZeros;

/// Bytes of a frame in a cell.
pub(super) const CELL_BYTES: usize = 232;

/// A cell; of the first of a frame all fields count, of the others `more` and `bytes`.
#[derive(Clone, Copy, Debug, FromZeros)]
#[repr(C, align(64))]
pub(super) struct Cell {
    /// The first cell of the next frame of the queue, or the next free cell.
    pub next: u32,
    /// The cell in which the frame goes on.
    more: u32,
    /// When the frame came, in ticks.
    pub at: u64,
    /// What the caller has noted of it.
    pub note: u32,
    pub len: u16,
    /// How many cells it has.
    pub cells: u16,
    bytes: [u8; CELL_BYTES],
}

/// The cells of all queues.
#[derive(Debug)]
pub(super) struct Pool {
    cells: HugeArray<Cell>,
    /// The first free cell, of so many.
    first_free: u32,
    free: u32,
}

impl Pool {
    /// # Errors
    /// What the kernel says when it has no such memory.
    pub fn new(count: u32) -> io::Result<Pool> {
        let mut cells = HugeArray::<Cell>::zeroed(count as usize)?;
        (1..).zip(cells.iter_mut()).for_each(|(next, cell)| cell.next = next);
        Ok(Pool { cells, first_free: 0, free: count })
    }

    /// How many cells are free.
    #[inline(always)]
    pub fn free(&self) -> u32 {
        self.free
    }

    /// How many cells a frame takes.
    #[inline(always)]
    pub fn cells_of(len: usize) -> u32 {
        len.div_ceil(CELL_BYTES).max(1) as u32
    }

    /// Keeps a frame of up to 65,535 bytes for which there are cells, and returns the first.
    pub fn put(&mut self, frame: &[u8], note: u32, now: u64) -> u32 {
        let mut chunks = frame.chunks(CELL_BYTES);
        let first = self.fill(chunks.next().unwrap_or_default());
        let mut last = first;
        for chunk in chunks {
            let cell = self.fill(chunk);
            self.cells[last as usize].more = cell;
            last = cell;
        }
        let cell = &mut self.cells[first as usize];
        (cell.at, cell.note) = (now, note);
        (cell.len, cell.cells) = (frame.len() as u16, Pool::cells_of(frame.len()) as u16);
        first
    }

    /// The first cell of a frame.
    #[inline(always)]
    pub fn first(&self, cell: u32) -> &Cell {
        &self.cells[cell as usize]
    }

    /// Puts a frame behind another one.
    #[inline(always)]
    pub fn append(&mut self, tail: u32, first: u32) {
        self.cells[tail as usize].next = first;
    }

    /// Copies a frame to the front of `into`, as far as there is room.
    pub fn copy(&self, first: u32, into: &mut [u8]) {
        let len = usize::from(self.first(first).len).min(into.len());
        let mut at = first;
        for chunk in into[..len].chunks_mut(CELL_BYTES) {
            let cell = &self.cells[at as usize];
            chunk.copy_from_slice(&cell.bytes[..chunk.len()]);
            at = cell.more;
        }
    }

    /// Gives back the cells of a frame.
    pub fn release(&mut self, first: u32) {
        let count = self.cells[first as usize].cells;
        let mut at = first;
        for _ in 0..count {
            let cell = &mut self.cells[at as usize];
            cell.next = self.first_free;
            self.first_free = at;
            at = cell.more;
        }
        self.free += u32::from(count);
    }

    /// Asks the processor to fetch what is known of a frame.
    #[inline(always)]
    pub fn prefetch(&self, first: u32) {
        prefetch_at(&self.cells, first as usize);
    }

    /// The same of the first bytes that do not stand beside that.
    #[inline(always)]
    pub fn prefetch_bytes(&self, first: u32) {
        if let Some(cell) = self.cells.get(first as usize) {
            prefetch_address(std::ptr::from_ref(&cell.bytes[40]));
        }
    }

    /// Memory it holds.
    pub fn bytes(&self) -> usize {
        self.cells.mapped_bytes()
    }

    fn fill(&mut self, bytes: &[u8]) -> u32 {
        let number = self.first_free;
        let cell = &mut self.cells[number as usize];
        cell.bytes[..bytes.len()].copy_from_slice(bytes);
        self.first_free = cell.next;
        self.free -= 1;
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_every_length_come_back_and_their_cells_too() {
        assert_eq!((size_of::<Cell>(), align_of::<Cell>()), (256, 64));
        let mut pool = Pool::new(300).expect("memory");
        let mut held = Vec::new();
        for len in [0, 1, 231, 232, 233, 464, 465, 9018, 1514, 60] {
            let frame: Vec<u8> = (0..len).map(|at| (at * 7 % 251) as u8).collect();
            let before = pool.free();
            let first = pool.put(&frame, len as u32, 9);
            assert_eq!(before - pool.free(), Pool::cells_of(len));
            held.push((first, frame));
        }
        for (first, frame) in &held {
            let cell = *pool.first(*first);
            assert_eq!((usize::from(cell.len), cell.note as usize, cell.at), {
                (frame.len(), frame.len(), 9)
            });
            let mut copy = vec![0; frame.len() + 3];
            pool.copy(*first, &mut copy);
            assert_eq!((&copy[..frame.len()], &copy[frame.len()..]), (&frame[..], &[0; 3][..]));
            pool.copy(*first, &mut copy[..frame.len() / 2]);
        }
        held.drain(..).for_each(|(first, _)| pool.release(first));
        assert_eq!(pool.free(), 300);
        let all: std::collections::BTreeSet<u32> = (0..300).map(|_| pool.put(&[1], 0, 0)).collect();
        assert_eq!((all.len(), pool.free()), (300, 0));
    }
}
