//! Routes of every family: golden bytes, their keys, and their texts.

use protocol_bgp::families::{FAMILIES, Family};
use protocol_bgp::nlri::{Nlri, Nlris, emit, emit_withdrawn};
use protocol_bgp::octets::Malformed;
use protocol_bgp::text::{Carried, NextHop, NotARoute, Route, parse};

use crate::support::octets;

/// A route as it stands on the wire, its text, what it carries, and what withdraws it if that is
/// not the same.
struct Golden {
    family: Family,
    wire: &'static str,
    text: &'static str,
    carried: &'static str,
    withdrawn: Option<&'static str>,
}

const fn golden(family: Family, wire: &'static str, text: &'static str) -> Golden {
    Golden { family, wire, text, carried: "", withdrawn: None }
}

const fn carrying(
    family: Family,
    wire: &'static str,
    text: &'static str,
    (carried, withdrawn): (&'static str, &'static str),
) -> Golden {
    Golden { family, wire, text, carried, withdrawn: Some(withdrawn) }
}

#[rustfmt::skip] // A route each.
const GOLDENS: &[Golden] = &[
    golden(Family::Ipv4Unicast, "00", "0.0.0.0/0"),
    golden(Family::Ipv4Unicast, "08 0a", "10.0.0.0/8"),
    golden(Family::Ipv4Unicast, "13 c00020", "192.0.32.0/19"),
    golden(Family::Ipv4Unicast, "20 c0000201", "192.0.2.1/32"),
    golden(Family::Ipv6Unicast, "00", "::/0"),
    golden(Family::Ipv6Unicast, "20 20010db8", "2001:db8::/32"),
    golden(Family::Ipv6Unicast, "80 20010db8000000000000000000000001", "2001:db8::1/128"),
    carrying(Family::Ipv4Labelled, "20 000641 0a", "10.0.0.0/8", ("label 100", "20 800000 0a")),
    carrying(Family::Ipv6Labelled, "38 000641 20010db8", "2001:db8::/32", ("label 100", "38 800000 20010db8")),
    carrying(Family::VpnV4, "70 0003e1 0000fde800000001 0a0102", "65000:1:10.1.2.0/24", ("label 62", "70 800000 0000fde800000001 0a0102")),
    carrying(Family::VpnV4, "58 000011 0001c00002010007", "192.0.2.1:7:0.0.0.0/0", ("label 1", "58 800000 0001c00002010007")),
    carrying(Family::VpnV6, "78 000011 0002000111700001 20010db8", "70000:1:2001:db8::/32", ("label 1", "78 800000 0002000111700001 20010db8")),
    carrying(Family::L2vpnEvpn, "01 19 0001c00002010007 00112233445566778899 ffffffff 000011",
        "segment 192.0.2.1:7 tag 4294967295 0x00112233445566778899", ("label 1", "01 19 0001c00002010007 00112233445566778899 ffffffff 000000")),
    carrying(Family::L2vpnEvpn, "02 21 0000fde800000001 00000000000000000000 00000000 30 00005e005301 00 0003e8",
        "mac 65000:1 tag 0 00:00:5e:00:53:01", ("label 62", "02 21 0000fde800000001 00000000000000000000 00000000 30 00005e005301 00 000000")),
    carrying(Family::L2vpnEvpn, "02 28 0000fde800000001 00112233445566778899 0000000a 30 00005e005301 20 0a000001 0003e8 0003f8",
        "mac 65000:1 tag 10 00:00:5e:00:53:01 10.0.0.1", ("segment 0x00112233445566778899 label 62 label 63",
        "02 25 0000fde800000001 00000000000000000000 0000000a 30 00005e005301 20 0a000001 000000")),
    carrying(Family::L2vpnEvpn, "02 31 0000fde800000001 00000000000000000000 00000000 30 00005e005301 80 20010db8000000000000000000000001 0003e8",
        "mac 65000:1 tag 0 00:00:5e:00:53:01 2001:db8::1", ("label 62",
        "02 31 0000fde800000001 00000000000000000000 00000000 30 00005e005301 80 20010db8000000000000000000000001 000000")),
    golden(Family::L2vpnEvpn, "03 11 0001c00002010007 00000064 20 c0000201", "multicast 192.0.2.1:7 tag 100 192.0.2.1"),
    golden(Family::L2vpnEvpn, "03 1d 0001c00002010007 00000064 80 20010db8000000000000000000000001", "multicast 192.0.2.1:7 tag 100 2001:db8::1"),
    golden(Family::L2vpnEvpn, "04 17 0001c00002010007 00112233445566778899 20 c0000201", "edge 192.0.2.1:7 0x00112233445566778899 192.0.2.1"),
    carrying(Family::L2vpnEvpn, "05 22 0000fde800000001 00000000000000000000 00000000 08 0a000000 00000000 0003e8",
        "prefix 65000:1 tag 0 10.0.0.0/8", ("label 62", "05 22 0000fde800000001 00000000000000000000 00000000 08 0a000000 00000000 000000")),
    carrying(Family::L2vpnEvpn, "05 3a 0000fde800000001 00112233445566778899 00000000 20 20010db8000000000000000000000000 20010db8000000000000000000000009 0003e8",
        "prefix 65000:1 tag 0 2001:db8::/32", ("segment 0x00112233445566778899 gateway 2001:db8::9 label 62",
        "05 3a 0000fde800000001 00000000000000000000 00000000 20 20010db8000000000000000000000000 00000000000000000000000000000000 000000")),
    golden(Family::L2vpnEvpn, "06 19 0001c00002010007 00000000 00 20 e0000001 20 c0000201 02 00", "type 6 192.0.2.1:7 0x000000000020e000000120c00002010200"),
    golden(Family::RouteTarget, "00", "default"),
    golden(Family::RouteTarget, "60 0000fde8 0002fde800000001", "65000:target:65000:1"),
    golden(Family::RouteTarget, "20 0000fde8", "65000:0x0000000000000000/32"),
    golden(Family::Ipv4Flowspec, "03 01080a", "0x01080a"),
    golden(Family::LinkState, "0001 0003 030405", "0x00010003030405"),
    Golden { family: Family::Vpls, wire: "0011 0000fde800000001 0005 0001 0008 0003e8",
        text: "65000:1 edge 5 block 1", carried: "0x00080003e8", withdrawn: None },
];

/// The only route of a field.
fn only<'a>(field: &'a [u8], family: Family, is_withdrawn: bool) -> Nlri<'a> {
    let new = if is_withdrawn { Nlris::withdrawn } else { Nlris::announced };
    let all: Result<Vec<_>, _> = new(field, family, false).collect();
    let all = all.unwrap_or_else(|why| panic!("{family} {field:02x?}: {why}"));
    let [one] = <[Nlri<'a>; 1]>::try_from(all).expect("one route");
    one
}

#[test]
fn routes_are_read_shown_and_written() {
    for Golden { family, wire, text, carried, withdrawn } in GOLDENS {
        let (family, bytes) = (*family, octets(wire));
        let nlri = only(&bytes, family, false);
        let (key, rest) = (nlri.key.as_slice(), nlri.rest.as_slice());
        assert_eq!(Route(family, key).to_string(), *text, "{family} {wire}");
        assert_eq!(Carried(family, key, rest).to_string(), *carried, "{family} {wire}");
        let mut out = Vec::new();
        emit(family, key, rest, &mut out);
        assert_eq!(out, bytes, "{family} {text}");
        let mut out = Vec::new();
        emit_withdrawn(family, key, rest, &mut out);
        assert_eq!(out, withdrawn.map_or(bytes.clone(), octets), "{family} {text}");
        // A withdrawal names the same route, whatever it carries.
        assert_eq!(only(&out, family, true).key, nlri.key);
        assert_eq!(only(&bytes, family, true).key, nlri.key);
    }
}

#[test]
fn each_family_has_a_golden_or_is_like_one() {
    let is_there = |row: &protocol_bgp::families::Row| {
        GOLDENS.iter().any(|golden| golden.family.row().form == row.form)
    };
    assert!(FAMILIES.iter().all(is_there));
}

#[test]
fn several_routes_and_their_path_identifiers() {
    for Golden { family, wire, .. } in GOLDENS {
        let bytes = octets(wire);
        let with_id = |id: u32| [&id.to_be_bytes()[..], &bytes].concat();
        let field = [with_id(7), with_id(0), with_id(u32::MAX)].concat();
        let all: Vec<_> = Nlris::announced(&field, *family, true).map(Result::unwrap).collect();
        assert!(all.iter().map(|one| one.path_id).eq([7, 0, u32::MAX]));
        assert!(all.iter().all(|one| one.key == only(&bytes, *family, false).key));
        // Cut anywhere but between two of them.
        for len in 1..field.len() {
            let is_between = len.is_multiple_of(4 + bytes.len());
            let check = Nlris::announced(&field[..len], *family, true).check();
            assert_eq!(check.is_ok(), is_between, "{family}: {len} of {}", field.len());
        }
    }
}

#[test]
fn bits_behind_the_length_do_not_count() {
    for (family, wire, text) in [
        (Family::Ipv4Unicast, "09 0aff", "10.128.0.0/9"),
        (Family::Ipv6Unicast, "21 20010db8ff", "2001:db8:8000::/33"),
        (Family::Ipv4Labelled, "21 000641 0aff", "10.128.0.0/9"),
        (Family::VpnV4, "61 000011 0000fde800000001 0aff", "65000:1:10.128.0.0/9"),
        (Family::RouteTarget, "21 0000fde8 ff", "65000:0x8000000000000000/33"),
        (
            Family::L2vpnEvpn,
            "05 22 0000fde800000001 00000000000000000000 00000000 09 0affffff 00000000 0003e8",
            "prefix 65000:1 tag 0 10.128.0.0/9",
        ),
    ] {
        let bytes = octets(wire);
        let nlri = only(&bytes, family, false);
        assert_eq!(Route(family, nlri.key.as_slice()).to_string(), text);
    }
}

#[test]
fn lengths_that_lie_are_errors() {
    for (family, wire, why) in [
        (Family::Ipv4Unicast, "21 0a00000000", Malformed::Bits),
        (Family::Ipv4Unicast, "18 0a00", Malformed::Cut),
        (Family::Ipv6Unicast, "81 20010db80000000000000000000000010000", Malformed::Bits),
        (Family::Ipv4Labelled, "17 000641", Malformed::Bits),
        (Family::Ipv4Labelled, "39 000641 0a00000000", Malformed::Bits),
        (Family::VpnV4, "57 000011 0000fde8000000", Malformed::Bits),
        (Family::VpnV4, "79 000011 0000fde800000001 0a00000000", Malformed::Bits),
        (Family::VpnV6, "d9 000011", Malformed::Bits),
        (Family::RouteTarget, "1f 0000fde8", Malformed::Bits),
        (Family::RouteTarget, "61 0000fde8 0002fde80000000100", Malformed::Bits),
        (
            Family::L2vpnEvpn,
            "01 18 0001c00002010007 00112233445566778899 ffffffff 0000",
            Malformed::Length,
        ),
        (
            Family::L2vpnEvpn,
            "02 21 0000fde800000001 00000000000000000000 00000000 2f 00005e005301 00 0003e8",
            Malformed::Length,
        ),
        (
            Family::L2vpnEvpn,
            "02 22 0000fde800000001 00000000000000000000 00000000 30 00005e005301 00 0003e800",
            Malformed::Length,
        ),
        (
            Family::L2vpnEvpn,
            "02 25 0000fde800000001 00000000000000000000 00000000 30 00005e005301 18 0a000001 0003e8",
            Malformed::Length,
        ),
        (Family::L2vpnEvpn, "03 11 0001c00002010007 00000064 21 c0000201", Malformed::Length),
        (
            Family::L2vpnEvpn,
            "04 17 0001c00002010007 00112233445566778899 80 c0000201",
            Malformed::Length,
        ),
        (
            Family::L2vpnEvpn,
            "05 22 0000fde800000001 00000000000000000000 00000000 21 0a000000 00000000 0003e8",
            Malformed::Bits,
        ),
        (
            Family::L2vpnEvpn,
            "05 23 0000fde800000001 00000000000000000000 00000000 08 0a000000 00000000 0003e8 00",
            Malformed::Length,
        ),
        (Family::L2vpnEvpn, "03 20 0001c00002010007 00000064 20 c0000201", Malformed::Cut),
        (Family::Ipv4Flowspec, "04 01080a", Malformed::Cut),
        (Family::Ipv4Flowspec, "f0", Malformed::Cut),
        (Family::LinkState, "0001 0004 030405", Malformed::Cut),
        (Family::Vpls, "0010 0000fde8", Malformed::Cut),
        (Family::Vpls, "000b 0000fde800000001 000500", Malformed::Length),
    ] {
        let bytes = octets(wire);
        let all: Vec<_> = Nlris::announced(&bytes, family, false).collect();
        assert_eq!(all, [Err(why)], "{family} {wire}");
    }
}

#[test]
fn types_that_are_not_known_are_passed_over() {
    let field = octets("0c 02 0102  03 11 0001c00002010007 00000064 20 c0000201  00 00");
    assert_eq!(Nlris::announced(&field, Family::L2vpnEvpn, false).check(), Ok(1));
}

#[test]
fn long_flows_have_a_length_of_two_bytes() {
    for len in [1, 239, 240, 255, 256, 4095] {
        let key = vec![7; len];
        let mut out = Vec::new();
        emit(Family::Ipv4Flowspec, &key, &[], &mut out);
        assert_eq!(out.len(), len + if len < 240 { 1 } else { 2 });
        assert_eq!(only(&out, Family::Ipv4Flowspec, false).key.as_slice(), key);
    }
    // A short one may have two, and is the same.
    assert_eq!(only(&[0xf0, 1, 9], Family::Ipv4Flowspec, false).key.as_slice(), [9]);
}

#[test]
fn prefixes_are_read_from_text() {
    for Golden { family, text, wire, .. } in GOLDENS {
        let bytes = octets(wire);
        match parse(*family, text) {
            Ok(key) => assert_eq!(key, only(&bytes, *family, false).key.as_slice(), "{text}"),
            Err(why) => assert_eq!(why, NotARoute::Family(*family)),
        }
    }
    let parsed = |family, text| parse(family, text).map(|key| Route(family, &key).to_string());
    assert_eq!(parsed(Family::Ipv4Unicast, "10.9.8.7/8").unwrap(), "10.0.0.0/8");
    assert_eq!(parsed(Family::Ipv4Unicast, "10.9.8.7").unwrap(), "10.9.8.7/32");
    assert_eq!(parsed(Family::VpnV6, "70000:1:2001:db8::1").unwrap(), "70000:1:2001:db8::1/128");
    for (family, text) in [
        (Family::Ipv4Unicast, "10.0.0.0/33"),
        (Family::Ipv4Unicast, "10.0.0/8"),
        (Family::Ipv4Unicast, "2001:db8::/32"),
        (Family::Ipv4Unicast, ""),
        (Family::Ipv6Unicast, "2001:db8::/129"),
        (Family::VpnV4, "10.0.0.0/8"),
        (Family::VpnV4, "65000:10.0.0.0/8"),
        (Family::VpnV4, "70000:70000:10.0.0.0/8"),
        (Family::VpnV4, "1.2.3.4:70000:10.0.0.0/8"),
    ] {
        let why = parse(family, text).unwrap_err().to_string();
        assert!(why.contains(&format!("`{text}` is no route of {family}: write ")), "{why}");
    }
}

#[test]
fn next_hops_are_shown() {
    for (bytes, text) in [
        ("c0000201", "192.0.2.1"),
        ("0000000000000000 c0000201", "192.0.2.1"),
        ("20010db8000000000000000000000001", "2001:db8::1"),
        (
            "20010db8000000000000000000000001 fe800000000000000000000000000001",
            "2001:db8::1 fe80::1",
        ),
        ("0000000000000000 20010db8000000000000000000000001", "2001:db8::1"),
        ("", "none"),
        ("0102", "0x0102"),
    ] {
        assert_eq!(NextHop(&octets(bytes)).to_string(), text);
    }
}
