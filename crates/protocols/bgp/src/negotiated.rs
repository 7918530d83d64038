//! What two speakers have agreed on: what both have said in their OPENs.

use std::time::Duration;

use crate::builder::Writing;
use crate::capabilities::{Capability, GracefulRestart, Role};
use crate::config::{Config, RECEIVES, SENDS};
use crate::families::{Family, FamilySet};
use crate::message::{EXTENDED_LEN_MAX, LEN_MAX};
use crate::notification::{
    BAD_IDENTIFIER, BAD_PEER_AS, Notification, ROLE_MISMATCH, UNSUPPORTED_CAPABILITY,
};
use crate::open::Open;
use crate::rules::Reading;

/// What holds for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// The peer's AS.
    pub peer_as: u32,
    /// The peer's identifier.
    pub identifier: u32,
    /// For how long nothing may be heard of the peer; zero for ever.
    pub hold_time: Duration,
    /// The longest message that the peer may send, in bytes.
    pub len_max: usize,
    /// By what UPDATEs of the peer are read.
    pub reading: Reading,
    /// By what UPDATEs for the peer are written.
    pub writing: Writing,
    /// Whether either may ask for all routes again (RFC 2918).
    pub has_refresh: bool,
    /// Whether it is said where routes told again begin and end (RFC 7313).
    pub has_enhanced_refresh: bool,
    /// The own part in the relation, if both have said theirs (RFC 9234).
    pub role: Option<Role>,
    /// What becomes of routes when the peer restarts; `None` if they go with the session.
    pub restart: Option<PeerRestart>,
    /// The OPENs by which it was agreed on, the own one first, whole with their headers; empty
    /// where nobody has noted them.
    pub opens: [Vec<u8>; 2],
}

/// What a peer keeps when it restarts, and what is kept for it meanwhile (RFC 4724, RFC 8538).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerRestart {
    /// Whether it has just restarted, and waits for routes before it tells its own.
    pub is_restarting: bool,
    /// Whether NOTIFICATIONs and the hold timer are followed by it, too.
    pub has_notification: bool,
    /// How long its routes are kept without a session.
    pub time: Duration,
    /// The families of which they are.
    pub families: FamilySet,
    /// Those of them by whose routes it says to have forwarded all the time.
    pub preserved: FamilySet,
}

/// Finds what both sides have said.
///
/// # Errors
/// With what the peer is told, if there can be no session.
pub fn negotiate(config: &Config, open: &Open) -> Result<Negotiated, Notification> {
    let peer = &open.capabilities;
    if open.asn != config.peer_as {
        return Err(Notification::new(BAD_PEER_AS));
    }
    let is_external = config.is_external();
    if open.identifier == config.identifier && !is_external {
        return Err(Notification::new(BAD_IDENTIFIER));
    }
    let families = families(config, peer)?;
    let has = |capability: &Capability| peer.contains(capability);
    let is_wide = config.is_wide
        && peer.iter().any(|capability| matches!(capability, Capability::FourOctetAs(_)));
    // Who has offered longer messages has to take them, whatever the other one offers (RFC 8654
    // section 4).
    let len_max = if config.has_extended_messages { EXTENDED_LEN_MAX } else { LEN_MAX };
    let extended_next_hops = extended_next_hops(config, peer).and(families);
    let reading = Reading {
        families,
        path_ids: path_ids(peer, SENDS).and(config.receives_paths).and(families),
        extended_next_hops,
        is_wide,
        is_external,
    };
    let writing = Writing {
        families,
        path_ids: path_ids(peer, RECEIVES).and(config.sends_paths).and(families),
        extended_next_hops,
        is_wide,
        len_max: if has(&Capability::ExtendedMessage) { len_max } else { LEN_MAX },
    };
    Ok(Negotiated {
        peer_as: open.asn,
        identifier: open.identifier,
        hold_time: Duration::from_secs(open.hold_time_s.min(config.hold_time_s).into()),
        len_max,
        reading,
        writing,
        has_refresh: has(&Capability::RouteRefresh),
        has_enhanced_refresh: has(&Capability::EnhancedRefresh),
        role: if is_external { role(config, peer)? } else { None },
        restart: restart(config, peer, families),
        opens: Default::default(),
    })
}

/// The families that both have. Who names none has IPv4 (RFC 4760 section 8).
fn families(config: &Config, peer: &[Capability]) -> Result<FamilySet, Notification> {
    let mut named = peer.iter().filter_map(|capability| match capability {
        Capability::Multiprotocol(afi, safi) => Some(Family::of(*afi, *safi)),
        _ => None,
    });
    let theirs: FamilySet = match named.next() {
        None => [Family::Ipv4Unicast].into_iter().collect(),
        Some(first) => std::iter::once(first).chain(named).flatten().collect(),
    };
    let families = theirs.and(config.families);
    if !families.is_empty() {
        return Ok(families);
    }
    let mut wanted = Vec::new();
    config.multiprotocol().for_each(|capability| capability.write(&mut wanted));
    Err(Notification::with(UNSUPPORTED_CAPABILITY, &wanted))
}

/// The families for which a peer does this with path identifiers.
fn path_ids(peer: &[Capability], direction: u8) -> FamilySet {
    let lists = peer.iter().filter_map(|capability| match capability {
        Capability::AddPath(list) => Some(list),
        _ => None,
    });
    // Other numbers mean nothing (RFC 7911 section 4).
    let does = |directions: u8| (1..=3).contains(&directions) && directions & direction != 0;
    let named = lists.flatten().filter(|(_, _, directions)| does(*directions));
    named.filter_map(|(afi, safi, _)| Family::of(*afi, *safi)).collect()
}

/// The families of IPv4 for which both have next hops of IPv6.
fn extended_next_hops(config: &Config, peer: &[Capability]) -> FamilySet {
    let lists = peer.iter().filter_map(|capability| match capability {
        Capability::ExtendedNextHop(list) => Some(list),
        _ => None,
    });
    let named = lists.flatten().filter(|(afi, _, next_hop)| (*afi, *next_hop) == (1, 2));
    let family = |safi: u16| Family::of(1, u8::try_from(safi).ok()?);
    let theirs: FamilySet = named.filter_map(|(_, safi, _)| family(*safi)).collect();
    theirs.and(config.extended_next_hops)
}

/// The own part, if both have said theirs and they belong together (RFC 9234 section 4.2).
fn role(config: &Config, peer: &[Capability]) -> Result<Option<Role>, Notification> {
    let Some(own) = config.role else { return Ok(None) };
    let mut said = peer.iter().filter_map(|capability| match capability {
        Capability::Role(role) => Some(*role),
        _ => None,
    });
    match said.next() {
        None if config.is_role_strict => Err(Notification::new(ROLE_MISMATCH)),
        None => Ok(None),
        Some(first) if first == own.other() && said.all(|role| role == first) => Ok(Some(own)),
        Some(_) => Err(Notification::new(ROLE_MISMATCH)),
    }
}

fn restart(config: &Config, peer: &[Capability], agreed: FamilySet) -> Option<PeerRestart> {
    let own = config.restart.as_ref()?;
    // Of several the last one counts (RFC 4724 section 3).
    let GracefulRestart { is_restarting, has_notification, time_s, families } =
        peer.iter().rev().find_map(|capability| match capability {
            Capability::GracefulRestart(restart) => Some(restart),
            _ => None,
        })?;
    let all = |only_preserved: bool| -> FamilySet {
        let some = families.iter().filter(|(_, _, is_preserved)| !only_preserved || *is_preserved);
        some.filter_map(|(afi, safi, _)| Family::of(*afi, *safi)).collect()
    };
    Some(PeerRestart {
        is_restarting: *is_restarting,
        has_notification: own.has_notification && *has_notification,
        time: Duration::from_secs(u64::from(*time_s)),
        families: all(false).and(agreed),
        preserved: all(true).and(agreed),
    })
}
