//! What servers and relays count. A message that is dropped adds to one counter, its reason.

/// The counters of a server or relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages of clients that were taken in.
    pub received: u64,
    /// Messages sent to clients.
    pub sent: u64,
    /// Messages that a relay has sent to servers.
    pub forwarded: u64,
    /// Messages of servers that a relay has taken in.
    pub answered: u64,
    /// Dropped: no message, or an option in it is malformed.
    pub malformed: u64,
    /// Dropped: a message of servers that comes from a line.
    pub from_server: u64,
    /// Dropped: a message that went through a relay before, where none may be.
    pub relayed: u64,
    /// Dropped: a relay agent's option from a line whose access node may not add one.
    pub untrusted: u64,
    /// Dropped: the hardware address in it is not the source of its frame.
    pub spoofed: u64,
    /// Dropped: a kind of message that is not supported.
    pub unsupported: u64,
    /// Dropped: an identifier of no or too many bytes.
    pub identity: u64,
    /// Dropped: for another server.
    pub foreign: u64,
    /// Dropped: of a client that is not known, where others may know it.
    pub unknown: u64,
    /// Dropped: above the rate of a line.
    pub rate_line: u64,
    /// Dropped: above the rate of a MAC address.
    pub rate_mac: u64,
    /// Dropped: above the rate of all together.
    pub rate_all: u64,
    /// Dropped: too many messages wait, or too much was not polled.
    pub busy: u64,
    /// Dropped: a line has as many clients as it may.
    pub line_full: u64,
    /// Dropped: there are as many clients as may be.
    pub full: u64,
    /// Dropped: no longer wanted, because a later message of the client took its place.
    pub superseded: u64,
    /// Not given: the pool has nothing left, the client has as much as it may, or nothing was
    /// granted.
    pub exhausted: u64,
    /// Not given: somebody else has what was to be fixed, or what an external server has given.
    pub taken: u64,
    /// Clients that the owner has not answered in time.
    pub unanswered: u64,
    /// Clients that the owner has rejected.
    pub rejected: u64,
    /// Sessions that were not acknowledged in time.
    pub unacknowledged: u64,
    /// Requests that were answered by a NAK.
    pub refused: u64,
    /// Addresses and prefixes that clients have declined.
    pub declined: u64,
    /// Dropped by a relay: as many hops as there may be.
    pub hops: u64,
    /// Dropped by a relay: it has sent this itself, or an answer is for another relay.
    pub loops: u64,
    /// Dropped by a relay: from none of its servers.
    pub stranger: u64,
    /// Dropped by a relay: an answer that nobody has asked for.
    pub unsolicited: u64,
    /// Dropped by a relay: there is no socket to servers.
    pub unsent: u64,
}

impl Counters {
    /// Messages that were dropped, for whatever reason.
    pub fn dropped(&self) -> u64 {
        [
            self.malformed,
            self.from_server,
            self.relayed,
            self.untrusted,
            self.spoofed,
            self.unsupported,
            self.identity,
            self.foreign,
            self.unknown,
            self.rate_line,
            self.rate_mac,
            self.rate_all,
            self.busy,
            self.line_full,
            self.full,
            self.superseded,
            self.hops,
            self.loops,
            self.stranger,
            self.unsolicited,
            self.unsent,
        ]
        .into_iter()
        .sum()
    }
}
