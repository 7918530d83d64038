//! What a session's routes count for, and what its peer is told, by what was agreed on.

use std::net::IpAddr;
use std::sync::Arc;

use protocol_bgp::builder::Writing;
use protocol_bgp::capabilities::Role;
use protocol_bgp::families::{Family, FamilySet};
use protocol_bgp::negotiated::Negotiated;

use crate::groups::Identity;
use crate::leaks;
use crate::own::{Kind, Source};
use crate::policy::Policy;

/// Who tells the routes of a session.
pub(crate) fn source(kind: Kind, identifier: u32, address: IpAddr, group: u16) -> Source {
    let address = match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    };
    Source { kind, identifier, address, group }
}

/// What a peer is to the reflector, and what it is told beside that.
#[derive(Clone)]
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
    /// The policy by which it is told; `None` where it is told everything.
    pub policy: Option<Arc<Policy>>,
}

/// What a peer is told depends on, for each family that was agreed on.
pub(crate) fn identities(terms: Terms, negotiated: &Negotiated) -> impl Iterator<Item = Identity> {
    let Terms { kind, role, next_hop, local, tells_default, policy } = terms;
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
            policy: policy.clone(),
        }
    })
}

/// Families whose routes have route targets.
const CONSTRAINED: [Family; 5] =
    [Family::VpnV4, Family::VpnV6, Family::L2vpnEvpn, Family::VpnV4Flowspec, Family::Vpls];
