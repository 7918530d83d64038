//! Packets by what became of them.

/// Counters of an access concentrator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// PADI that were answered.
    pub offered: u64,
    /// PADR that began a session.
    pub opened: u64,
    /// PADR that came again, and were answered again with the session that they had begun.
    pub repeated: u64,
    /// PADT of hosts that ended a session.
    pub terminated: u64,
    /// Sessions that gave way to another one of their host.
    pub replaced: u64,
    /// Sessions that are over, for whatever reason.
    pub closed: u64,
    /// Dropped: no packet, or its tags are not whole or not those that it must have.
    pub malformed: u64,
    /// Dropped: from a group address, or one of zeroes.
    pub source: u64,
    /// Dropped: a PADR or PADT to a group address.
    pub destination: u64,
    /// Dropped: a Session-ID where there is none, or none where there is one.
    pub session_id: u64,
    /// Dropped: what only an access concentrator may say (PADO, PADS).
    pub server: u64,
    /// Dropped: an unknown code.
    pub code: u64,
    /// Dropped: a PADI for a service that there is not.
    pub other_service: u64,
    /// Dropped: a PADR without cookie.
    pub no_cookie: u64,
    /// Dropped: a PADR with a cookie that this side did not make for this host and line.
    pub false_cookie: u64,
    /// Dropped: a PADR with a cookie that is no longer good.
    pub old_cookie: u64,
    /// Dropped: what the host wants to have echoed does not fit an answer.
    pub oversize: u64,
    /// Dropped: more than [`crate::machine::OUTPUTS_MAX`] outputs wait to be polled.
    pub congested: u64,
    /// Dropped: a PADT of a session that there is not.
    pub no_session: u64,
    /// Dropped: a PADT of a session of the same line that another MAC address has.
    pub stranger: u64,
    /// A PADI or PADR while new sessions are not wanted.
    pub unwelcome: u64,
    /// Refused: a PADR for a service that there is not.
    pub refused_service: u64,
    /// Refused: there are as many sessions as there may be.
    pub limit_total: u64,
    /// Refused: the MAC address has as many as it may have.
    pub limit_mac: u64,
    /// Refused: the port and outer VLAN have as many as they may have.
    pub limit_vlan: u64,
    /// Refused: the circuit has as many as it may have.
    pub limit_circuit: u64,
}
