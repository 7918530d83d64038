//! Payloads by what became of them.

/// Counters of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Payloads that a session took into account.
    pub received: u64,
    /// Payloads that were to be sent.
    pub sent: u64,
    /// Dropped: no packet, or options that are not whole.
    pub malformed: u64,
    /// Dropped: no session has this number.
    pub unknown: u64,
    /// Dropped: more than [`crate::machine::OUTPUTS_MAX`] outputs wait to be polled.
    pub congested: u64,
    /// Dropped: the protocol has no place in the session's phase (RFC 1661 section 3).
    pub early: u64,
    /// Dropped: an answer to something that was not asked, not any more, or was answered.
    pub stale: u64,
    /// Dropped: an Ack or Reject of options that were not asked for.
    pub mismatched: u64,
    /// Dropped: packets of the peer's that are the session's own, which have come back.
    pub looped: u64,
    /// Taken and not looked at: Discard-Request, Identification, Time-Remaining.
    pub ignored: u64,
    /// A Configure-Request that came again, and was acknowledged again.
    pub repeated: u64,
    /// Packets of a protocol that is not known, which were rejected.
    pub protocols: u64,
    /// Packets of a code that is not known, which were rejected.
    pub codes: u64,
    /// Questions to the owner.
    pub asked: u64,
    /// Sessions that have begun.
    pub opened: u64,
    /// Sessions that are over.
    pub ended: u64,
}
