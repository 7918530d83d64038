//! Payloads by what became of them.

/// Counters of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Payloads that a session took into account.
    pub received: u64,
    /// Payloads that were to be sent.
    pub sent: u64,
    /// Dropped: not a packet, or incomplete options.
    pub malformed: u64,
    /// Dropped: no session has this number.
    pub unknown: u64,
    /// Dropped: more than [`crate::machine::OUTPUTS_MAX`] outputs wait to be polled.
    pub congested: u64,
    /// Dropped: the protocol is not expected in this phase of the session (RFC 1661 section 3).
    pub early: u64,
    /// Dropped: an answer to something that was not asked, or was answered before.
    pub stale: u64,
    /// Dropped: an Ack or Reject of options that were not asked for.
    pub mismatched: u64,
    /// Dropped: packets of the session itself, which have come back.
    pub looped: u64,
    /// Ignored: Discard-Request, Identification, Time-Remaining.
    pub ignored: u64,
    /// A Configure-Request that came again, and was acknowledged again.
    pub repeated: u64,
    /// Packets of an unknown protocol, which were rejected.
    pub protocols: u64,
    /// Packets of an unknown code, which were rejected.
    pub codes: u64,
    /// Questions to the owner.
    pub asked: u64,
    /// Sessions that have begun.
    pub opened: u64,
    /// Sessions that are over.
    pub ended: u64,
}
