//! Joining: frames of one connection that follow each other become one.

use wire::tcp;

use crate::header::Header;
use crate::join::{JOINED_BYTES_MAX, Join};

/// Joins the frames of a few connections at a time.
///
/// Frames that cannot be joined are handed on at once, behind what is held of their connection, so
/// that no connection's frames change their order. Nothing is held longer than until
/// [`Coalescer::flush`].
#[derive(Debug)]
pub struct Coalescer {
    held: Box<[Held]>,
    /// Whose place the next connection has.
    next: usize,
}

/// What is held of a connection.
#[derive(Debug)]
struct Held {
    /// Where it goes.
    tag: u16,
    frame: Vec<u8>,
    /// None where nothing is held.
    join: Option<Join>,
}

impl Coalescer {
    /// Makes one that holds this many connections, of 64 KiB each.
    pub fn new(connections: usize) -> Coalescer {
        let held = |_| Held { tag: 0, frame: Vec::with_capacity(JOINED_BYTES_MAX), join: None };
        Coalescer { held: (0..connections.max(1)).map(held).collect(), next: 0 }
    }

    /// Takes a frame that goes to `tag`, and hands on what is ready.
    pub fn push(&mut self, tag: u16, frame: &[u8], mut ready: impl FnMut(u16, &Header, &[u8])) {
        let Some(mut join) = Join::of(frame).filter(Join::is_tcp) else {
            return ready(tag, &Header::default(), frame);
        };
        let is_its = |held: &&mut Held| {
            let of = held.join.filter(|_| held.tag == tag);
            of.is_some_and(|of| of.is_of(&held.frame, (&join, frame)))
        };
        if let Some(held) = self.held.iter_mut().find(is_its) {
            if held.take(&mut join, frame) {
                return;
            }
            held.flush(&mut ready);
        }
        if !join.is_plain(frame) {
            return ready(tag, &Header::default(), frame);
        }
        let place = match self.held.iter().position(|held| held.join.is_none()) {
            Some(free) => free,
            None => {
                self.next = (self.next + 1) % self.held.len();
                self.next
            }
        };
        let held = &mut self.held[place];
        held.flush(&mut ready);
        held.frame.extend_from_slice(frame);
        (held.tag, held.join) = (tag, Some(join));
    }

    /// Hands on all that is held.
    pub fn flush(&mut self, mut ready: impl FnMut(u16, &Header, &[u8])) {
        self.held.iter_mut().for_each(|held| held.flush(&mut ready));
    }
}

impl Held {
    /// Takes a frame of the connection if it follows what is held.
    fn take(&mut self, other: &mut Join, frame: &[u8]) -> bool {
        let Some(join) = &mut self.join else { return false };
        let Some(payload) = join.take(&mut self.frame, (other, frame)) else { return false };
        self.frame.extend_from_slice(&frame[payload]);
        true
    }

    fn flush(&mut self, mut ready: impl FnMut(u16, &Header, &[u8])) {
        let Some(join) = self.join.take() else { return };
        let layout = join.layout;
        let header = match join.finish(&mut self.frame) {
            None => Header::default(),
            Some(_) => Header {
                flags: Header::NEEDS_CHECKSUM,
                gso: layout.gso(),
                header_len: layout.payload as u16,
                segment_len: join.segment_len(),
                checksum_start: layout.transport as u16,
                checksum_offset: tcp::offset::CHECKSUM as u16,
            },
        };
        ready(self.tag, &header, &self.frame);
        self.frame.clear();
    }
}
