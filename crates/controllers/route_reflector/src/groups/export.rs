//! What a group of peers is told of a route: whether at all, with which next hop and attributes
//! (RFC 4271 section 5.1 and 9.2, RFC 4456 section 8).

use std::net::IpAddr;

use protocol_bgp::attributes::{
    AIGP, AS_PATH, CLUSTER_LIST, LOCAL_PREF, MED, ORIGINATOR_ID, rewrite,
};
use protocol_bgp::builder::Writing;
use protocol_bgp::families::Family;
use protocol_bgp::path;

use crate::known::{Known, PREFERENCE, parts};
use crate::own::{Kind, Own, Source};

/// What all UPDATEs for a peer depend on: peers that have it in common are a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The family of the routes.
    pub family: Family,
    /// How messages are written.
    pub writing: Writing,
    /// What the peers are to this speaker.
    pub kind: Kind,
    /// The own address as the next hop of routes to another AS; `None` to leave next hops alone.
    pub next_hop: Option<IpAddr>,
    /// Whether it is said where routes told again begin and end (RFC 7313).
    pub has_enhanced_refresh: bool,
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
}

impl Identity {
    /// Whether a path of a source with these attributes is for the group.
    #[inline]
    pub fn takes(&self, own: &Own, source: &Source, known: &Known) -> bool {
        let is_for_kind = match (source.kind, self.kind) {
            (Kind::Internal, Kind::Internal) => false,
            (Kind::Client, Kind::Client) => own.reflects_between_clients,
            _ => true,
        };
        let is_external = self.kind == Kind::External;
        is_for_kind && !known.stays_here && !(is_external && known.stays_in_as)
    }

    /// Makes what the group is told of a path.
    pub fn export(
        &self,
        own: &Own,
        source: &Source,
        (known, bytes): (&Known, &[u8]),
        out: &mut Exported,
    ) {
        let Exported { next_hop, block, clusters, path } = out;
        [&mut *next_hop, block, clusters, path].into_iter().for_each(Vec::clear);
        let (hop, before) = parts(bytes);
        next_hop.extend(hop);
        let summary = &known.summary;
        if self.kind == Kind::External {
            prepend(own.asn, summary.path.of(before), path);
            if let Some(address) = self.next_hop {
                put_next_hop(address, self.family, next_hop);
            }
            // An AS tells others nothing of what it prefers within.
            let changes: [(u8, Option<&[u8]>); 6] = [
                (AS_PATH, Some(path)),
                (MED, None),
                (LOCAL_PREF, None),
                (ORIGINATOR_ID, None),
                (CLUSTER_LIST, None),
                (AIGP, None),
            ];
            return rewrite(before, &changes, block);
        }
        if source.kind == Kind::External {
            let preference = summary.local_pref.unwrap_or(PREFERENCE).to_be_bytes();
            return rewrite(before, &[(LOCAL_PREF, Some(&preference))], block);
        }
        let originator = summary.originator_id.unwrap_or(source.identifier).to_be_bytes();
        clusters.extend(own.cluster.to_be_bytes());
        clusters.extend(summary.clusters.of(before));
        let reflected: [(u8, Option<&[u8]>); 2] =
            [(ORIGINATOR_ID, Some(&originator)), (CLUSTER_LIST, Some(clusters))];
        rewrite(before, &reflected, block);
    }
}

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
