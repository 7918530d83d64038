//! What a gateway reads: a packet on its way, and what was made for it.
use std::net::Ipv4Addr;
use std::time::Duration;

use super::super::state::Left;
use super::super::tables::{End, Own};

/// A packet whose ends are translated, on its way through a gateway.
#[derive(Clone)]
pub(super) struct Reading<'a> {
    pub own: Own,
    /// The subscriber's end.
    pub inside: End,
    pub outside: End,
    pub far: End,
    pub is_out: bool,
    pub now: Duration,
    pub left: Left<'a>,
    /// Whether ports of which what left tells nothing were refused.
    pub untold_is_refused: bool,
    /// Mappings made for it: for the message at which place, whose, for whom.
    pub made: Vec<Made>,
}

/// A mapping that was made new.
pub(super) type Made = (usize, Own, Option<Ipv4Addr>);
