//! What a group of peers is told of a route: whether at all, with which next hop and attributes
//! (RFC 4271 section 5.1 and 9.2, RFC 4456 section 8, RFC 4684 section 3.2).

use std::net::IpAddr;

use protocol_bgp::attributes::{
    AIGP, AS_PATH, CLUSTER_LIST, COMMUNITIES, Class, LOCAL_PREF, MED, ORIGIN, ORIGINATOR_ID, OTC,
    push, rewrite,
};
use protocol_bgp::builder::{Builder, Writing};
use protocol_bgp::capabilities::Role;
use protocol_bgp::families::Family;
use protocol_bgp::path;

use crate::groups::view::View;
use crate::known::{GRACEFUL_SHUTDOWN, Known, PREFERENCE, candidate, parts};
use crate::leaks;
use crate::own::{Kind, Own, Source};
use crate::table::Path;

/// What all UPDATEs for a peer depend on: peers that have it in common are a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The family of the routes.
    pub family: Family,
    /// How messages are written.
    pub writing: Writing,
    /// What the peers are to this speaker.
    pub kind: Kind,
    /// The own part in the relation with their AS, where it says which routes they are told (RFC
    /// 9234).
    pub role: Option<Role>,
    /// The own address as the next hop of routes to another AS, and of the route targets that
    /// clients are told; `None` to leave next hops alone.
    pub next_hop: Option<IpAddr>,
    /// Whether the peers are told what their route targets ask for, and nothing else (RFC 4684).
    pub is_constrained: bool,
    /// Whether they are told that this speaker asks for all routes, by the default route target.
    pub tells_default: bool,
    /// Whether it is said where routes told again begin and end (RFC 7313).
    pub has_enhanced_refresh: bool,
    /// Most paths of a route that they are told, each with an identifier (RFC 7911); 0 for the best
    /// one without.
    pub paths_max: u8,
    /// Whether they are told that all routes are about to go (RFC 8326).
    pub drains: bool,
}

/// A route's next hop and attributes as a group is told.
#[derive(Debug, Default)]
pub struct Exported {
    /// The next hop as it stands on the wire.
    pub next_hop: Vec<u8>,
    /// The attribute block.
    pub block: Vec<u8>,
    clusters: Vec<u8>,
    path: Vec<u8>,
    lowered: Vec<u8>,
}

impl Identity {
    /// Whether a path of a source with these attributes is for the group.
    #[inline]
    pub fn takes(&self, own: &Own, source: &Source, known: &Known) -> bool {
        let is_for_kind = match (source.kind, self.kind) {
            (Kind::Internal, Kind::Internal) => false,
            (Kind::Client, Kind::Client) => own.reflects_between_clients,
            // What the table has is not told as a speaker would tell it.
            (_, Kind::Collector) => return true,
            _ => true,
        };
        let is_external = self.kind == Kind::External;
        let is_leak = self.role.is_some_and(|role| !leaks::tells(role, known.summary.otc));
        let stays = known.stays_here || is_external && known.stays_in_as;
        is_for_kind && !stays && !is_leak
    }

    /// Whether who has told a path is told of it, too: a client, that this speaker asks for the
    /// route target (RFC 4684 section 3.2). No collector has told one.
    pub fn tells_teller(&self) -> bool {
        match self.kind {
            Kind::Client => self.family == Family::RouteTarget,
            Kind::Collector => true,
            Kind::Internal | Kind::External => false,
        }
    }

    /// Returns the path of a route that the group is told: the best one if it is for the group. Of
    /// a route target other speakers of the same AS are told a client's, where the best one is of
    /// one of themselves (RFC 4684 section 3.2 ii).
    #[inline]
    pub fn chooses(&self, view: View<'_>, number: u32) -> Option<Path> {
        let View { own, routes, sources, .. } = view;
        let takes = |path: &&Path| {
            let known = view.attributes.known(path.attributes);
            known.is_some_and(|known| self.takes(own, &sources[usize::from(path.peer)], known))
        };
        let best = routes.route(number).best()?;
        if takes(&best) {
            return Some(*best);
        }
        let kind_of = |path: &Path| sources[usize::from(path.peer)].kind;
        let is_other_s = self.kind == Kind::Internal && kind_of(best) == Kind::Internal;
        if self.family != Family::RouteTarget || !is_other_s {
            return None;
        }
        let is_client_s = |path: &&Path| kind_of(path) == Kind::Client;
        let paths: Vec<Path> = routes.paths(number).filter(is_client_s).copied().collect();
        let judged = paths.iter().map(|path| candidate(path, view.attributes, sources));
        let judged: Vec<_> = judged.collect();
        paths.get(view.family.best(&judged)).filter(takes).copied()
    }

    /// Makes the UPDATE that asks a peer for all routes (RFC 4684 section 4). Its own identifier is
    /// the originator, as that of every route target that clients are told.
    pub fn default_target(&self, own: &Own) -> Vec<u8> {
        let (mut message, mut block) = (Vec::new(), Vec::new());
        push(Class::WellKnown.flags(), ORIGIN, &[0], &mut block);
        push(Class::WellKnown.flags(), AS_PATH, &[], &mut block);
        push(Class::WellKnown.flags(), LOCAL_PREF, &PREFERENCE.to_be_bytes(), &mut block);
        let originator = own.identifier.to_be_bytes();
        push(Class::NonTransitive.flags(), ORIGINATOR_ID, &originator, &mut block);
        let mut next_hop = Vec::new();
        if let Some(address) = self.next_hop {
            put_next_hop(address, self.family, &mut next_hop);
        }
        let told = (self.family, &next_hop[..]);
        let mut builder = Builder::announce(&mut message, &self.writing, told, &block);
        // One without attributes of others has room in any message.
        let _ = builder.push(0, &DEFAULT_TARGET, &[]);
        builder.finish();
        message
    }

    /// Makes what the group is told of a path.
    pub fn export(
        &self,
        own: &Own,
        source: &Source,
        (known, bytes): (&Known, &[u8]),
        out: &mut Exported,
    ) {
        self.export_as_it_is(own, source, (known, bytes), out);
        let is_lowered = self.drains || source.lowers(known.is_going);
        // What is asked for by route targets is asked for as before.
        let is_route = self.family != Family::RouteTarget && self.kind != Kind::Collector;
        if is_lowered && is_route {
            self.lower((known, parts(bytes).1), out);
        }
    }

    /// Makes of what the group is told that it is about to go (RFC 8326 section 4): it has the
    /// community, and within the AS the lowest preference.
    fn lower(&self, (known, before): (&Known, &[u8]), out: &mut Exported) {
        let Exported { block, lowered, .. } = out;
        let mut communities = known.summary.communities.of(before).to_vec();
        if !known.is_going {
            communities.extend(GRACEFUL_SHUTDOWN.to_be_bytes());
        }
        let changes: [(u8, Option<&[u8]>); 2] =
            [(LOCAL_PREF, Some(&[0; 4])), (COMMUNITIES, Some(&communities))];
        lowered.clear();
        rewrite(block, &changes[usize::from(self.kind == Kind::External)..], lowered);
        std::mem::swap(block, lowered);
    }

    fn export_as_it_is(
        &self,
        own: &Own,
        source: &Source,
        (known, bytes): (&Known, &[u8]),
        out: &mut Exported,
    ) {
        let Exported { next_hop, block, clusters, path, .. } = out;
        [&mut *next_hop, block, clusters, path].into_iter().for_each(Vec::clear);
        let (hop, before) = parts(bytes);
        next_hop.extend(hop);
        if self.kind == Kind::Collector {
            return block.extend(before);
        }
        let summary = &known.summary;
        if self.kind == Kind::External {
            prepend(own.asn, summary.path.of(before), path);
            if let Some(address) = self.next_hop {
                put_next_hop(address, self.family, next_hop);
            }
            // An AS tells others nothing of what it prefers within.
            let asn = own.asn.to_be_bytes();
            let is_marked = self.role.is_some_and(|role| leaks::marks(role, summary.otc));
            let changes: [(u8, Option<&[u8]>); 7] = [
                (AS_PATH, Some(path)),
                (MED, None),
                (LOCAL_PREF, None),
                (ORIGINATOR_ID, None),
                (CLUSTER_LIST, None),
                (AIGP, None),
                (OTC, Some(&asn)),
            ];
            let count = changes.len() - usize::from(!is_marked);
            return rewrite(before, &changes[..count], block);
        }
        if source.kind == Kind::External {
            let preference = summary.local_pref.unwrap_or(PREFERENCE).to_be_bytes();
            return rewrite(before, &[(LOCAL_PREF, Some(&preference))], block);
        }
        let mut originator = summary.originator_id.unwrap_or(source.identifier).to_be_bytes();
        if self.tells_teller() {
            // Else who has told it would take it for its own (RFC 4684 section 3.2 i).
            originator = own.identifier.to_be_bytes();
            if let Some(address) = self.next_hop {
                put_next_hop(address, self.family, next_hop);
            }
        }
        clusters.extend(own.cluster.to_be_bytes());
        clusters.extend(summary.clusters.of(before));
        let reflected: [(u8, Option<&[u8]>); 2] =
            [(ORIGINATOR_ID, Some(&originator)), (CLUSTER_LIST, Some(clusters))];
        rewrite(before, &reflected, block);
    }
}

/// The key of the default route target.
pub(crate) const DEFAULT_TARGET: [u8; 1] = [0];

/// Appends a path with an AS in front of it.
fn prepend(asn: u32, before: &[u8], out: &mut Vec<u8>) {
    match before {
        [path::SEQUENCE, count, ases @ ..] if *count < u8::MAX => {
            out.extend([path::SEQUENCE, count + 1]);
            out.extend(asn.to_be_bytes());
            out.extend(ases);
        }
        _ => {
            path::push(path::SEQUENCE, [asn].into_iter(), out);
            out.extend(before);
        }
    }
}

/// Puts an address in the place of the first one of a next hop, and leaves no second one.
fn put_next_hop(address: IpAddr, family: Family, next_hop: &mut Vec<u8>) {
    let bytes: &[u8] = match &address {
        IpAddr::V4(address) => &address.octets(),
        IpAddr::V6(address) => &address.octets(),
    };
    // Those of VPNs have a Route Distinguisher of zeros in front.
    let distinguisher = match family {
        Family::VpnV4 | Family::VpnV6 => 8,
        _ => 0,
    };
    if family.row().next_hops.contains(&((bytes.len() + distinguisher) as u8)) {
        next_hop.clear();
        next_hop.resize(distinguisher, 0);
        next_hop.extend(bytes);
    }
}
