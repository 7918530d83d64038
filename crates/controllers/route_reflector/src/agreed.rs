//! What a session's routes count for, and what its peer is told, by what was agreed on.

use std::net::IpAddr;

use protocol_bgp::builder::Writing;
use protocol_bgp::capabilities::Role;
use protocol_bgp::families::{Family, FamilySet};
use protocol_bgp::negotiated::Negotiated;

use crate::config::{Config, PathsMax};
use crate::groups::Identity;
use crate::leaks;
use crate::own::{Kind, Lowers, Source};
use crate::peers::Entry;

/// Who tells the routes of a session.
pub(crate) fn source(terms: Terms, identifier: u32, address: IpAddr) -> Source {
    let address = match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    };
    Source { kind: terms.kind, identifier, address, lowers: terms.lowers }
}

/// What a peer is to the reflector, and what it is told beside that.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    /// What it is.
    pub kind: Kind,
    /// The own part in the relation with its AS.
    pub role: Option<Role>,
    /// The own address as the next hop of routes to another AS; `None` to leave next hops alone.
    pub next_hop: Option<IpAddr>,
    /// The own address in the session.
    pub local: IpAddr,
    /// Whether it is asked for all routes by the default route target.
    pub tells_default: bool,
    /// Most paths of a route that it is told, where it has agreed on that.
    pub paths_max: PathsMax,
    /// Whether it is told that all routes are about to go.
    pub drains: bool,
    /// Which of its own paths have the lowest preference.
    pub lowers: Lowers,
}

/// What a peer is to the reflector, by the configuration and what operators have said.
pub(crate) fn terms(config: &Config, entry: &Entry, drains_all: bool) -> Terms {
    let Entry { kind, next_hop_self, local, is_drained, paths_max, .. } = *entry;
    let peer = entry.peer.config();
    let is_external = kind == Kind::External;
    Terms {
        kind,
        role: peer.role,
        next_hop: peer.local.filter(|_| next_hop_self && is_external),
        local: local.unwrap_or(config.identifier.into()),
        tells_default: config.default_target,
        paths_max,
        drains: is_drained || drains_all,
        lowers: match (is_drained, is_external && config.graceful_shutdown) {
            (true, _) => Lowers::All,
            (false, true) => Lowers::Marked,
            (false, false) => Lowers::Nothing,
        },
    }
}

/// What a peer is told depends on, for each family that was agreed on.
pub(crate) fn identities(terms: Terms, negotiated: &Negotiated) -> impl Iterator<Item = Identity> {
    let Terms { kind, role, next_hop, local, tells_default, paths_max, drains, .. } = terms;
    let Negotiated { writing, has_enhanced_refresh, .. } = *negotiated;
    let has_targets = writing.families.contains(Family::RouteTarget);
    writing.families.iter().map(move |family| {
        let own: FamilySet = [family].into_iter().collect();
        let writing = Writing {
            families: own,
            path_ids: writing.path_ids.and(own),
            extended_next_hops: writing.extended_next_hops.and(own),
            ..writing
        };
        let asks = family == Family::RouteTarget && kind == Kind::Client;
        Identity {
            family,
            writing,
            kind,
            role: role.filter(|_| leaks::knows(family)),
            next_hop: if asks { Some(local) } else { next_hop },
            is_constrained: has_targets && CONSTRAINED.contains(&family),
            tells_default: asks && tells_default,
            has_enhanced_refresh,
            paths_max: if writing.path_ids.is_empty() { 0 } else { paths_max[family as usize] },
            drains: drains && family != Family::RouteTarget,
        }
    })
}

/// Families whose routes have route targets.
const CONSTRAINED: [Family; 5] =
    [Family::VpnV4, Family::VpnV6, Family::L2vpnEvpn, Family::VpnV4Flowspec, Family::Vpls];
