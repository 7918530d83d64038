//! What reflectors do otherwise than the oracle, and are measured nevertheless.

/// Something that a reflector does otherwise. Its driver says so; the check then leaves it out, or
/// expects what the reflector does, and counts each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Otherwise {
    /// It tells routes to which it adds ORIGINATOR_ID with a MULTI_EXIT_DISC of 0, if they have
    /// none, which to a decision is the same (RFC 4271 section 9.1.2.2). The check expects that.
    AddsMed,
    /// It may tell a client again what the client has told, with its identifier as ORIGINATOR_ID.
    /// The check lets a client have the routes or not.
    TellsOwn,
    /// It takes routes with its own AS in their path, or keeps the route before such a one (RFC
    /// 4271 section 9.1.2). The check tells none.
    TakesOwnAs,
    /// As [`Otherwise::TakesOwnAs`], of routes with its own identifier as ORIGINATOR_ID (RFC 4456
    /// section 8).
    TakesOwnOriginator,
    /// As [`Otherwise::TakesOwnAs`], of routes that have been in its cluster (RFC 4456 section 8).
    TakesOwnCluster,
    /// As [`Otherwise::TakesOwnCluster`], of non-clients alone.
    TakesOwnClusterOfOthers,
    /// It tells routes with NO_ADVERTISE (RFC 1997). The check tells none.
    TellsNoAdvertise,
    /// It does not set the partial bit of what it does not know (RFC 4271 section 9). The check
    /// expects that.
    LeavesPartial,
    /// It compares a route that comes with the best one alone, so that MULTI_EXIT_DISC can lead to
    /// one or another (RFC 4271 section 9.1.2.2). The check tells none that would make this so.
    ComparesInOrder,
    /// Non-clients are not told what they must be. The check does not look at what they have.
    NeglectsNonClients,
    /// It makes a peer wait whose session has ended. The check ends sessions in its last round
    /// alone, and they do not come back.
    ComesBackLate,
}
