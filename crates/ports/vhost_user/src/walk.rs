//! Walking a chain of descriptors that a stranger wrote, into pieces of mapped memory.
//!
//! Guarantees: a walk ends after at most as many steps as its table has descriptors, every piece
//! lies in mapped memory, and the number of pieces that are kept is bounded.

use crate::drops::Broken;
use crate::layout::{Descriptor, INDIRECT, Layout, NEXT, WRITE};
use crate::memory::Memory;

/// A contiguous part of a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Address in this process.
    pub host: *mut u8,
    /// Length in bytes.
    pub len: usize,
}

/// Pieces of the chains that were walked last. They point into the memory of their ring and are
/// used before that ring is returned.
#[derive(Debug)]
pub struct Pieces {
    list: Vec<Piece>,
    /// True if there were more than [`PIECES_MAX`] pieces, so that the list is incomplete.
    pub overflown: bool,
}

// SAFETY: the pointers are used only by the ring that owns the list and a share of their memory.
unsafe impl Send for Pieces {}

/// Largest number of pieces of a frame.
pub const PIECES_MAX: usize = 256;

impl Pieces {
    /// Creates an empty list with room for the largest number.
    pub fn new() -> Pieces {
        Pieces { list: Vec::with_capacity(PIECES_MAX), overflown: false }
    }

    /// Removes all pieces.
    pub fn clear(&mut self) {
        self.list.clear();
        self.overflown = false;
    }

    /// Copies `to.len()` bytes out, from byte `from`; returns false if there are fewer bytes.
    pub fn copy_out(&self, from: usize, to: &mut [u8]) -> bool {
        let mut filled = 0;
        self.spans(from, to.len(), |host, len| {
            // SAFETY: the span is mapped (`walk` found it), `to` has room for it, and they cannot
            // overlap: nothing of this process lies in shared memory.
            unsafe { std::ptr::copy_nonoverlapping(host, to.as_mut_ptr().add(filled), len) };
            filled += len;
        })
    }

    /// Copies bytes in, at byte `at`; returns false if there is less room.
    pub fn copy_in(&self, at: usize, from: &[u8]) -> bool {
        let mut written = 0;
        self.spans(at, from.len(), |host, len| {
            // SAFETY: as in `copy_out`.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr().add(written), host, len) };
            written += len;
        })
    }

    /// Visits the parts of `len` bytes from byte `skip`; returns false if the pieces end before.
    fn spans(
        &self,
        mut skip: usize,
        mut len: usize,
        mut visit: impl FnMut(*mut u8, usize),
    ) -> bool {
        for piece in &self.list {
            if len == 0 {
                break;
            }
            let skipped = skip.min(piece.len);
            skip -= skipped;
            let taken = len.min(piece.len - skipped);
            if taken > 0 {
                visit(piece.host.wrapping_add(skipped), taken);
            }
            len -= taken;
        }
        len == 0
    }

    /// Appends the pieces of the chain that starts at `head`, and returns its number of bytes.
    ///
    /// # Errors
    /// When the chain violates the standard.
    pub fn walk(
        &mut self,
        ring: &Layout,
        near: &mut usize,
        head: u16,
        kind: u16,
        indirect: bool,
    ) -> Result<usize, Broken> {
        let memory = ring.memory();
        let first = ring.descriptor(head);
        if first.flags & INDIRECT == 0 {
            let size = u32::from(ring.size());
            return self.chain(memory, near, kind, head, size, |index| ring.descriptor(index));
        }
        let entry = size_of::<Descriptor>() as u32;
        let count = first.len / entry;
        let whole = first.len.is_multiple_of(entry) && (1..=TABLE_MAX).contains(&count);
        if !indirect || !whole || first.flags & NEXT != 0 {
            return Err(Broken::Indirect);
        }
        let table = memory.find(near, first.addr, first.len).ok_or(Broken::Address)?;
        let table = table.cast::<Descriptor>().cast_const();
        self.chain(memory, near, kind, 0, count, |index| {
            // SAFETY: `chain` asks for what is below `count`, and `find` found so many descriptors,
            // at any alignment.
            unsafe { table.add(usize::from(index)).read_unaligned() }
        })
    }

    fn chain(
        &mut self,
        memory: &Memory,
        near: &mut usize,
        kind: u16,
        head: u16,
        size: u32,
        read: impl Fn(u16) -> Descriptor,
    ) -> Result<usize, Broken> {
        let (mut bytes, mut index) = (0, head);
        for _ in 0..size {
            if u32::from(index) >= size {
                return Err(Broken::Chain);
            }
            let descriptor = read(index);
            if descriptor.flags & INDIRECT != 0 {
                return Err(Broken::Indirect);
            }
            if descriptor.flags & WRITE != kind {
                return Err(Broken::Kind);
            }
            self.push(memory, near, descriptor.addr, descriptor.len)?;
            bytes += descriptor.len as usize;
            if descriptor.flags & NEXT == 0 {
                return Ok(bytes);
            }
            index = descriptor.next;
        }
        Err(Broken::Chain)
    }

    /// Appends a buffer, which may continue in the next region.
    fn push(
        &mut self,
        memory: &Memory,
        near: &mut usize,
        mut addr: u64,
        len: u32,
    ) -> Result<(), Broken> {
        let mut rest = u64::from(len);
        while rest > 0 {
            let (host, there) = memory.piece(near, addr).ok_or(Broken::Address)?;
            let len = rest.min(there);
            if self.list.len() == PIECES_MAX {
                self.overflown = true;
            } else {
                self.list.push(Piece { host, len: len as usize });
            }
            rest -= len;
            addr = addr.wrapping_add(len);
        }
        Ok(())
    }
}

/// Largest number of descriptors of an indirect table, equal to that of a ring.
const TABLE_MAX: u32 = crate::layout::SIZE_MAX as u32;
