//! Packets by what became of them.

/// Counters of an access concentrator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// PADI that were answered.
    pub offered: u64,
    /// PADR that began a session.
    pub opened: u64,
    /// Repeated PADR, which were answered again with the session that they had begun.
    pub repeated: u64,
    /// Sessions that hosts have ended (PADT).
    pub terminated: u64,
    /// Sessions that were replaced by another one of their host.
    pub replaced: u64,
    /// Sessions that are over, for whatever reason.
    pub closed: u64,
    /// Dropped: not a packet, incomplete tags, or not exactly one Service-Name.
    pub malformed: u64,
    /// Dropped: from a group address, or from the address of zeroes.
    pub source: u64,
    /// Dropped: a PADR or PADT to a group address.
    pub destination: u64,
    /// Dropped: a PADI or PADR with a Session-ID, or a PADT without one.
    pub session_id: u64,
    /// Dropped: a PADO or PADS, which only access concentrators send.
    pub server: u64,
    /// Dropped: an unknown code.
    pub code: u64,
    /// Dropped: a PADI for an unknown service.
    pub other_service: u64,
    /// Dropped: a PADR without a cookie.
    pub no_cookie: u64,
    /// Dropped: a PADR with a cookie that this side did not make for this host and line.
    pub false_cookie: u64,
    /// Dropped: a PADR with an expired cookie.
    pub old_cookie: u64,
    /// Dropped: a PADR that would end a session, while the host has a session by a later offer: the
    /// network has delayed or repeated the PADR.
    pub late: u64,
    /// Dropped: the tags to be echoed do not fit the answer.
    pub oversize: u64,
    /// Dropped: more than [`crate::machine::OUTPUTS_MAX`] outputs wait to be polled.
    pub congested: u64,
    /// Dropped: a PADT for a session that does not exist.
    pub no_session: u64,
    /// Dropped: a PADT for a session of another MAC address on the same line.
    pub stranger: u64,
    /// A PADI or PADR while no sessions are wanted.
    pub unwelcome: u64,
    /// Refused: a PADR for an unknown service.
    pub refused_service: u64,
    /// Refused: the limit in all is reached.
    pub limit_total: u64,
    /// Refused: the limit of the MAC address is reached.
    pub limit_mac: u64,
    /// Refused: the limit of the port and outer VLAN is reached.
    pub limit_vlan: u64,
    /// Refused: the limit of the circuit is reached.
    pub limit_circuit: u64,
}
