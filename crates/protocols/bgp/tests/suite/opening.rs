//! OPEN and what it may say.

use protocol_bgp::capabilities::{Capability, GracefulRestart, Role};
use protocol_bgp::message::HEADER_LEN;
use protocol_bgp::notification::{
    BAD_HOLD_TIME, BAD_IDENTIFIER, BAD_PEER_AS, OPEN_ERROR, UNSUPPORTED_PARAMETER,
    UNSUPPORTED_VERSION,
};
use protocol_bgp::open::Open;

use crate::support::octets;

fn open(capabilities: Vec<Capability>) -> Open {
    Open { asn: 65_001, hold_time_s: 90, identifier: 0xc000_0201, capabilities }
}

/// Each capability and its bytes.
fn goldens() -> Vec<(Capability, &'static str)> {
    let restart = GracefulRestart {
        is_restarting: true,
        has_notification: true,
        time_s: 0x123,
        families: vec![(1, 1, true), (2, 1, false)],
    };
    vec![
        (Capability::Multiprotocol(25, 70), "01 04 0019 00 46"),
        (Capability::RouteRefresh, "02 00"),
        (
            Capability::ExtendedNextHop(vec![(1, 1, 2), (1, 128, 2)]),
            "05 0c 000100010002 000100800002",
        ),
        (Capability::ExtendedMessage, "06 00"),
        (Capability::Role(Role::Customer as u8), "09 01 03"),
        (Capability::GracefulRestart(restart), "40 0a c123 00010180 00020100"),
        (Capability::FourOctetAs(70_000), "41 04 00011170"),
        (Capability::AddPath(vec![(1, 1, 3), (2, 1, 1)]), "45 08 00010103 00020101"),
        (Capability::EnhancedRefresh, "46 00"),
        (Capability::Unknown { code: 73, value: vec![1, 2] }, "49 02 0102"),
    ]
}

#[test]
fn capabilities_are_read_and_written() {
    for (capability, bytes) in goldens() {
        let bytes = octets(bytes);
        let mut out = Vec::new();
        open(vec![capability.clone()]).write(&mut out);
        let fixed = octets("04 fde9 005a c0000201");
        let len = bytes.len() as u8;
        assert_eq!(out[HEADER_LEN..], [&fixed[..], &[len + 2, 2, len], &bytes].concat());
        assert_eq!(capability.code(), bytes[0]);
        assert_eq!(Open::read(&out[HEADER_LEN..]).unwrap().capabilities, [capability]);
    }
}

#[test]
fn all_together_in_either_form() {
    let all: Vec<_> = goldens().into_iter().map(|(capability, _)| capability).collect();
    let mut long = all.clone();
    long.push(Capability::Unknown { code: 200, value: vec![7; 255] });
    for (capabilities, is_extended) in [(all, false), (long, true), (vec![], false)] {
        let said = Open { asn: 70_000, ..open(capabilities.clone()) };
        let mut out = Vec::new();
        said.write(&mut out);
        assert_eq!(out[HEADER_LEN + 1..][..2], [0x5b, 0xa0], "AS_TRANS");
        assert_eq!(out[HEADER_LEN + 9] == 255, is_extended);
        let read = Open::read(&out[HEADER_LEN..]).unwrap();
        assert_eq!(read.capabilities, said.capabilities);
        assert_eq!(read.asn, if capabilities.is_empty() { 23_456 } else { 70_000 });
        // Cut anywhere it is none.
        for len in 0..out.len() - HEADER_LEN {
            assert!(Open::read(&out[HEADER_LEN..][..len]).is_err(), "{len} bytes");
        }
    }
}

#[test]
fn several_parameters_are_one_list() {
    let bytes = octets("04 fde9 005a c0000201 0c  02 02 0200  02 06 0104 00010001");
    let read = Open::read(&bytes).unwrap().capabilities;
    assert_eq!(read, [Capability::RouteRefresh, Capability::Multiprotocol(1, 1)]);
    // The length in front of an extended list is not looked at (RFC 9072 section 2).
    let bytes = octets("04 fde9 005a c0000201 09  ff 0005  02 0002 0200");
    assert_eq!(Open::read(&bytes).unwrap().capabilities, [Capability::RouteRefresh]);
}

#[test]
fn what_is_wrong_is_answered() {
    for (bytes, cause, data) in [
        ("03 fde9 005a c0000201 00", UNSUPPORTED_VERSION, &[0, 4][..]),
        ("04 0000 005a c0000201 00", BAD_PEER_AS, &[]),
        ("04 fde9 005a c0000201 08 02 06 4104 00000000", BAD_PEER_AS, &[]),
        ("04 fde9 0001 c0000201 00", BAD_HOLD_TIME, &[]),
        ("04 fde9 0002 c0000201 00", BAD_HOLD_TIME, &[]),
        ("04 fde9 005a 00000000 00", BAD_IDENTIFIER, &[]),
        ("04 fde9 005a c0000201 02 0100", UNSUPPORTED_PARAMETER, &[]),
        // Lengths that lie.
        ("04 fde9 005a c0000201 01", OPEN_ERROR, &[]),
        ("04 fde9 005a c0000201 00 00", OPEN_ERROR, &[]),
        ("04 fde9 005a c0000201 02 0201", OPEN_ERROR, &[]),
        ("04 fde9 005a c0000201 04 0202 0201", OPEN_ERROR, &[]),
        ("04 fde9 005a c0000201 ff ff 0009 02 0002 0200", OPEN_ERROR, &[]),
        // Capabilities of lengths that they do not have.
        ("04 fde9 005a c0000201 05 0203 010100", OPEN_ERROR, &[]),
        ("04 fde9 005a c0000201 05 0203 090100 00", OPEN_ERROR, &[]),
        ("04 fde9 005a c0000201 07 0205 4103 000001", OPEN_ERROR, &[]),
        ("04 fde9 005a c0000201 07 0205 4503 000101", OPEN_ERROR, &[]),
    ] {
        let why = Open::read(&octets(bytes)).expect_err(bytes);
        assert_eq!((why.cause, &why.data[..]), (cause, data), "{bytes}");
    }
}
