//! Paths and next hops that become others.

use std::net::IpAddr;

use protocol_bgp::families::Family;
use protocol_bgp::path;

/// Appends a path with an AS in front of it.
pub(crate) fn prepend(asn: u32, before: &[u8], out: &mut Vec<u8>) {
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

/// Whether routes of a family may have a next hop of the version of an address.
pub(crate) fn takes(family: Family, address: &IpAddr) -> bool {
    put_next_hop(*address, family, &mut Vec::new())
}

/// Puts an address in the place of the first one of a next hop, and leaves no second one. False if
/// the family has none of its version.
pub(crate) fn put_next_hop(address: IpAddr, family: Family, next_hop: &mut Vec<u8>) -> bool {
    let bytes: &[u8] = match &address {
        IpAddr::V4(address) => &address.octets(),
        IpAddr::V6(address) => &address.octets(),
    };
    // Those of VPNs have a Route Distinguisher of zeros in front.
    let distinguisher = match family {
        Family::VpnV4 | Family::VpnV6 => 8,
        _ => 0,
    };
    let is_taken = family.row().next_hops.contains(&((bytes.len() + distinguisher) as u8));
    if is_taken {
        next_hop.clear();
        next_hop.resize(distinguisher, 0);
        next_hop.extend(bytes);
    }
    is_taken
}
