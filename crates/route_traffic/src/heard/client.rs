//! A client: where it is in a chain, or what it has of its own.

use std::time::Instant;

use crate::heard::table::Table;

/// What a client has been told.
#[derive(Debug, Default)]
pub(crate) struct Client {
    /// Whether it has a session.
    pub is_up: bool,
    /// The chain on which it is.
    pub chain: usize,
    /// How many bytes of the chain it has been told.
    pub at: usize,
    /// How many whole messages these are.
    pub index: usize,
    /// What it has of its own, if it was told something else.
    pub own: Option<Box<Own>>,
    /// The beginning of a message.
    pub part: Vec<u8>,
    pub counts: Counts,
    /// The hash of what it is to have, if that is known.
    pub expected: Option<u128>,
    /// Since when it has what it is to have.
    pub done: Option<Instant>,
    /// When its table last changed.
    pub changed: Option<Instant>,
    /// Why nothing more of it is looked at.
    pub trouble: Option<String>,
    /// The NOTIFICATION with which its session has ended.
    pub notified: Option<String>,
}

/// The table of a client that was told something else than others.
#[derive(Debug)]
pub(crate) struct Own {
    pub table: Table,
    /// Its last message.
    pub last: Option<u32>,
}

/// How much a client was told, in all its sessions together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages UPDATE with routes.
    pub updates: u64,
    /// Routes in them, withdrawn ones included.
    pub routes: u64,
    /// Routes that were withdrawn.
    pub withdrawn: u64,
    /// Bytes, of all messages.
    pub bytes: u64,
}

impl Counts {
    /// Returns what was told since there were these.
    pub fn since(self, before: Counts) -> Counts {
        Counts {
            updates: self.updates - before.updates,
            routes: self.routes - before.routes,
            withdrawn: self.withdrawn - before.withdrawn,
            bytes: self.bytes - before.bytes,
        }
    }
}
