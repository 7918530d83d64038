//! Attribute blocks and what they say.

use std::net::Ipv4Addr;

use protocol_bgp::attributes::Attributes;
use protocol_bgp::families::Family;
use protocol_bgp::path;
use protocol_bgp::summary::Summary;
use protocol_bgp::update::Scan;

use crate::support::{ROUTES, attribute, body, internal, narrow, reach, unreach, usual};

#[test]
fn a_block_is_the_same_whatever_the_form() {
    let value = [7; 8];
    let short = [attribute(0x40, 1, &[0]), attribute(0x40, 2, &[2, 1, 0, 0, 0, 9])].concat();
    let short = [&short[..], &attribute(0xc0, 8, &value), &attribute(0xc0, 99, &[1])].concat();
    let mut scan = Scan::default();
    let routes = reach(Family::Ipv6Unicast, &[1; 16], &[16, 0x20, 1]);
    let block = {
        let bytes = body(&[], &[&routes[..], &short].concat(), &[]);
        scan.read(&bytes, &internal()).unwrap();
        scan.block().to_vec()
    };
    // Another order, lengths of two bytes, bits that mean nothing, and the routes elsewhere.
    let odd = [
        &[0xd7, 8, 0, 8][..],
        &value,
        &[0xe0, 99, 1, 1],
        &routes,
        &[0x7f, 2, 0, 6, 2, 1, 0, 0, 0, 9],
        &unreach(Family::VpnV4, &[]),
        &[0x40, 1, 1, 0],
    ];
    let bytes = body(&[], &odd.concat(), &[]);
    let update = scan.read(&bytes, &internal()).unwrap();
    assert_eq!(scan.block(), block);
    assert_eq!(update.announced().count(), 1);
    let codes: Vec<_> = Attributes::new(&block).map(|one| (one.code, one.flags)).collect();
    assert_eq!(codes, [(1, 0x40), (2, 0x40), (8, 0xc0), (99, 0xe0)]);
    // Somebody has passed one on without knowing it, which is kept.
    let partial = [&short[..], &[0xe0, 35, 4, 0, 0, 0, 1]].concat();
    let bytes = body(&[], &[&routes[..], &partial].concat(), &[]);
    scan.read(&bytes, &internal()).unwrap();
    let flags = Attributes::new(scan.block()).find(|one| one.code == 35).map(|one| one.flags);
    assert_eq!(flags, Some(0xe0));
}

#[test]
fn a_summary_says_what_routes_are_compared_by() {
    let attributes = [
        usual(),
        attribute(0x80, 4, &[0, 0, 0, 20]),
        attribute(0x40, 5, &[0, 0, 0, 100]),
        attribute(0xc0, 8, &[0xfd, 0xe8, 0, 1, 0xff, 0xff, 0xff, 1]),
        attribute(0x80, 9, &[10, 0, 0, 1]),
        attribute(0x80, 10, &[10, 0, 0, 2, 10, 0, 0, 3]),
        attribute(0xc0, 16, &[0, 2, 0, 1, 0, 0, 0, 2]),
        attribute(0xc0, 32, &[0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3]),
        attribute(0xc0, 35, &[0, 0, 0xfd, 0xe9]),
    ];
    let bytes = body(&[], &attributes.concat(), ROUTES);
    let mut scan = Scan::default();
    let update = scan.read(&bytes, &internal()).unwrap();
    assert_eq!(update.announced().next().unwrap().next_hop, [192, 0, 2, 1]);
    let (summary, block) = (scan.summary(), scan.block());
    assert_eq!(Summary::of(block), *summary);
    assert_eq!((summary.origin, summary.path_weight, summary.neighbour_as), (0, 1, Some(65_001)));
    assert_eq!((summary.med, summary.local_pref), (Some(20), Some(100)));
    assert_eq!(summary.originator_id.map(Ipv4Addr::from), Some(Ipv4Addr::new(10, 0, 0, 1)));
    assert_eq!(summary.otc, Some(65_001));
    assert!(summary.clusters.numbers(block).eq([0x0a00_0002, 0x0a00_0003]));
    assert!(summary.communities.numbers(block).eq([0xfde8_0001, 0xffff_ff01]));
    assert!(summary.extended_communities.extended(block).eq([[0, 2, 0, 1, 0, 0, 0, 2]]));
    assert!(summary.large_communities.large(block).eq([[1, 2, 3]]));
    assert!(path::contains(summary.path.of(block), 65_001));
    // Nothing of it is left over for the next one.
    let bytes = body(&[], &usual(), ROUTES);
    scan.read(&bytes, &internal()).unwrap();
    assert_eq!((scan.summary().med, scan.summary().otc), (None, None));
    assert!(scan.summary().communities.of(scan.block()).is_empty());
}

/// What a peer that knows ASes of two bytes alone says, as it is kept (RFC 6793 section 4.2.3).
#[test]
fn ases_of_two_bytes_become_four() {
    let of = |path: &[u8], more: &[Vec<u8>]| {
        let fixed = [
            attribute(0x40, 1, &[0]),
            attribute(0x40, 2, path),
            attribute(0x40, 3, &[192, 0, 2, 1]),
        ];
        let bytes = body(&[], &[fixed.concat(), more.concat()].concat(), ROUTES);
        let mut scan = Scan::default();
        scan.read(&bytes, &narrow()).unwrap();
        let attributes = Attributes::new(scan.block());
        attributes.map(|one| (one.code, one.to_string())).collect::<Vec<_>>()
    };
    let text = |text: &str| (2, text.to_owned());
    let origin = (1, "ORIGIN IGP".to_owned());
    let path = [2, 2, 0x00, 0x09, 0x5b, 0xa0];
    let as4 = attribute(0xc0, 17, &[2, 1, 0, 1, 0x11, 0x70]);
    assert_eq!(of(&path, &[]), [origin.clone(), text("AS_PATH 9 23456")]);
    assert_eq!(of(&path, std::slice::from_ref(&as4)), [origin.clone(), text("AS_PATH 9 70000")]);
    let aggregator = |asn: u16| attribute(0xc0, 7, &[&asn.to_be_bytes()[..], &[1; 4]].concat());
    let as4_aggregator = attribute(0xc0, 18, &[0, 1, 0x11, 0x70, 1, 1, 1, 1]);
    let said = |asn: u32| (7, format!("AGGREGATOR {asn} 1.1.1.1"));
    assert_eq!(
        of(&path, &[aggregator(23_456), as4.clone(), as4_aggregator.clone()]),
        [origin.clone(), text("AS_PATH 9 70000"), said(70_000)]
    );
    // Somebody has aggregated who does not know of the others.
    assert_eq!(
        of(&path, &[aggregator(9), as4.clone(), as4_aggregator.clone()]),
        [origin.clone(), text("AS_PATH 9 23456"), said(9)]
    );
    assert_eq!(
        of(&path, &[aggregator(9), as4.clone()]),
        [origin.clone(), text("AS_PATH 9 70000"), said(9)]
    );
    assert_eq!(of(&path, &[as4_aggregator]), [origin.clone(), text("AS_PATH 9 23456")]);
    // One that knows them has no use for the other attribute (section 4.1).
    let bytes = body(&[], &[usual(), as4].concat(), ROUTES);
    let mut scan = Scan::default();
    scan.read(&bytes, &internal()).unwrap();
    assert!(Attributes::new(scan.block()).all(|one| one.code != 17) && scan.findings().is_empty());
}
