//! What becomes of errors of UPDATEs beyond the codec (RFC 7606): of the routes of others, of
//! sessions, and of what peers are told.

use controller_route_reflector::fuzz::model::Attributes;
use protocol_bgp::families::Family;
use serde_json::{Value, json};

use crate::site::{Peer, Site, address, from, prefix};

const FAMILY: Family = Family::Ipv4Unicast;

fn site() -> Site {
    let keys = json!({
        "listen": ["0.0.0.0:179"], "peers": [{"address": address(1)}, {"address": address(2)}],
    });
    let both = Peer::own(&[FAMILY, Family::Ipv6Unicast]);
    Site::new(keys, &[both.clone(), both])
}

/// An UPDATE with attributes behind ORIGIN, an empty AS_PATH and NEXT_HOP, and a prefix.
fn update(attributes: &[u8], number: u32) -> Vec<u8> {
    let usual = [0x40, 1, 1, 0, 0x40, 2, 0, 0x40, 3, 4, 10, 0, 0, 11, 0x40, 5, 4, 0, 0, 0, 100];
    let all = [&usual[..], attributes].concat();
    let (_, [a, b, c, _]) = prefix(number);
    let body = [&[0, 0][..], &(all.len() as u16).to_be_bytes(), &all, &[24, a, b, c]].concat();
    [&[0xff; 16][..], &(19 + body.len() as u16).to_be_bytes(), &[2], &body].concat()
}

fn state(site: &Site, node: usize) -> Value {
    let peer = address(node).to_string();
    site.all("peers", &[("for", &peer)])[0]["state"].clone()
}

/// - `route-reflector`, RFC 7606 section 2 and RFC 4760 section 7: of a family whose routes cannot
///   be read nothing of the peer is left, and nothing more is taken; its other families and other
///   peers stand
#[test]
fn a_disabled_family_loses_its_routes_alone() {
    let mut site = site();
    let v6 = Family::Ipv6Unicast;
    for family in [FAMILY, v6] {
        site.announce(1, family, &[prefix(1)], &from(1));
        site.announce(2, family, &[prefix(2)], &from(2));
    }
    // Of IPv6, 129 bits.
    let mut routes = vec![0x80, 14, 22, 0, 2, 1, 16];
    routes.extend([1; 16]);
    routes.extend([0, 129]);
    site.say(1, &update(&routes, 3));
    assert_eq!(state(&site, 1), "established");
    assert!(site.knows(2, v6, prefix(1)).is_none(), "it is taken back");
    assert!(site.knows(2, FAMILY, prefix(1)).is_some() && site.knows(1, v6, prefix(2)).is_some());
    assert!(site.knows(2, FAMILY, prefix(3)).is_some(), "of the same UPDATE, of IPv4");
    site.announce(1, v6, &[prefix(4)], &from(1));
    site.announce(1, FAMILY, &[prefix(4)], &from(1));
    assert!(site.knows(2, v6, prefix(4)).is_none() && site.knows(2, FAMILY, prefix(4)).is_some());
}

/// - `route-reflector`, RFC 7606 sections 7.14 and 7.15: extended communities of types that nobody
///   knows are passed on
#[test]
fn communities_of_unknown_types_are_no_error() {
    let mut site = site();
    let extended = [&[0xc0, 16, 8][..], &[0x3e, 0x77, 1, 2, 3, 4, 5, 6]].concat();
    let of_ipv6 = [&[0xc0, 25, 20][..], &[0x77; 20]].concat();
    site.say(1, &update(&[extended, of_ipv6].concat(), 1));
    let told = site.all("advertised", &[("peer", "10.0.0.12"), ("for", "198.51.1.0/24")]);
    assert_eq!(told[0]["extended-communities"], json!(["0x3e77010203040506"]), "{told:?}");
    let others = format!("IPV6_EXTENDED_COMMUNITIES 0x{}", "77".repeat(20));
    assert_eq!(told[0]["others"], json!([others]));
    assert!(site.lines.iter().all(|line| !line.text.contains("UPDATE")), "{:?}", site.lines);
}

/// - `route-reflector`, RFC 7606 section 2: an UPDATE that counts as withdrawal takes the route
///   from all, and the session stands; one that is sound brings it back
#[test]
fn routes_treated_as_withdrawn_are_withdrawn_from_all() {
    let mut site = site();
    site.announce(1, FAMILY, &[prefix(1)], &from(1));
    assert!(site.knows(2, FAMILY, prefix(1)).is_some());
    // A MED of one byte.
    site.say(1, &update(&[0x80, 4, 1, 0], 1));
    assert!(site.knows(2, FAMILY, prefix(1)).is_none());
    assert_eq!(state(&site, 1), "established");
    site.announce(1, FAMILY, &[prefix(1)], &Attributes { med: Some(1), ..from(1) });
    assert_eq!(site.knows(2, FAMILY, prefix(1)).and_then(|it| it.med), Some(1));
}
