//! Every error of RFC 7606 and what becomes of it.

use protocol_bgp::attributes::Action;
use protocol_bgp::families::Family;
use protocol_bgp::notification::{
    Cause, INVALID_NETWORK, MALFORMED_ATTRIBUTES, OPTIONAL_ATTRIBUTE_ERROR, UNRECOGNISED_ATTRIBUTE,
};
use protocol_bgp::rules::{Fault, Reading};
use protocol_bgp::update::Scan;

use crate::support::{
    ROUTES, attribute, body, external, internal, narrow, octets, reach, unreach, usual,
};

/// What became of an UPDATE: routes withdrawn and announced, and findings.
#[derive(Debug, PartialEq)]
struct Outcome {
    withdrawn: usize,
    announced: usize,
    findings: Vec<(Option<u8>, Action)>,
    codes: Vec<u8>,
}

fn outcome(body: &[u8], reading: &Reading) -> Result<Outcome, Fault> {
    let mut scan = Scan::default();
    let update = scan.read(body, reading)?;
    let count = |fields: Vec<protocol_bgp::update::Field<'_>>| {
        fields.iter().map(|field| field.nlris().check().unwrap()).sum()
    };
    let findings = scan.findings().iter().map(|one| (one.attribute, one.action)).collect();
    let attributes = protocol_bgp::attributes::Attributes::new(scan.block());
    Ok(Outcome {
        withdrawn: count(update.withdrawn().collect()),
        announced: count(update.announced().collect()),
        findings,
        codes: attributes.map(|attribute| attribute.code).collect(),
    })
}

fn of(attributes: &[u8], reading: &Reading) -> Result<Outcome, Fault> {
    outcome(&body(&[], &[&usual(), attributes].concat(), ROUTES), reading)
}

/// The attribute is gone and the routes stand.
fn discarded(code: u8) -> Outcome {
    let findings = vec![(Some(code), Action::Discard)];
    Outcome { withdrawn: 0, announced: 2, findings, codes: vec![1, 2] }
}

/// The routes count as withdrawn.
fn withdrawn(code: u8) -> Outcome {
    let findings = vec![(Some(code), Action::Withdraw)];
    Outcome { withdrawn: 2, announced: 0, findings, codes: vec![] }
}

#[track_caller]
fn reset(fault: Result<Outcome, Fault>, attribute: Option<u8>, cause: Cause) -> Fault {
    let fault = fault.expect_err("the session ends");
    assert_eq!((fault.attribute, fault.notification.cause), (attribute, cause), "{fault}");
    assert!(!fault.why.is_empty() && fault.to_string().contains("session reset"));
    fault
}

#[test]
fn what_is_right_stands() {
    let both = Outcome { withdrawn: 0, announced: 2, findings: vec![], codes: vec![1, 2] };
    assert_eq!(of(&[], &internal()), Ok(both));
    let all = [
        attribute(0x80, 4, &[0; 4]),
        attribute(0x40, 5, &[0; 4]),
        attribute(0x40, 6, &[]),
        attribute(0xc0, 7, &[0, 0, 0, 1, 1, 1, 1, 1]),
        attribute(0xc0, 8, &[0; 8]),
        attribute(0x80, 9, &[1; 4]),
        attribute(0x80, 10, &[1; 8]),
        attribute(0xc0, 16, &[0; 16]),
        attribute(0xc0, 22, &[0; 5]),
        attribute(0xc0, 23, &[0; 7]),
        attribute(0xc0, 25, &[0; 20]),
        attribute(0x80, 26, &[0; 11]),
        attribute(0x80, 29, &[0; 9]),
        attribute(0xc0, 32, &[0; 24]),
        attribute(0xc0, 35, &[0, 0, 0, 1]),
        attribute(0xc0, 40, &[0; 10]),
        attribute(0xc0, 128, &[0; 6]),
    ]
    .concat();
    let outcome = of(&all, &internal()).unwrap();
    assert_eq!((outcome.announced, outcome.findings.len()), (2, 0));
    let kept = [1, 2, 4, 5, 6, 7, 8, 9, 10, 16, 22, 23, 25, 26, 29, 32, 35, 40, 128];
    assert_eq!(outcome.codes, kept);
}

#[test]
fn lengths_that_an_attribute_does_not_have() {
    // Sections 7.3 to 7.10, 7.14 and 7.15, RFC 8092 section 5, RFC 9234 section 5.
    for (flags, code, lens) in [
        (0x80, 4, &[0, 3, 5][..]),
        (0x40, 5, &[0, 3, 5]),
        (0xc0, 8, &[0, 3, 5, 6]),
        (0x80, 9, &[0, 3, 5]),
        (0x80, 10, &[0, 3, 6]),
        (0xc0, 16, &[0, 4, 12]),
        (0xc0, 22, &[0, 4]),
        (0xc0, 25, &[0, 8, 21]),
        (0xc0, 32, &[0, 4, 8, 13]),
        (0xc0, 35, &[0, 3, 8]),
        (0xc0, 128, &[0, 3]),
    ] {
        for len in lens {
            let value = vec![1; *len];
            let outcome = of(&attribute(flags, code, &value), &internal());
            assert_eq!(outcome, Ok(withdrawn(code)), "attribute {code} of {len} bytes");
        }
    }
    // Sections 7.6 and 7.7, RFC 6793 section 6, RFC 7311 section 3.2, RFC 8669 section 6.
    for (flags, code, lens) in
        [(0x40, 6, &[1, 4][..]), (0xc0, 7, &[0, 6, 7, 9]), (0x80, 26, &[0, 2]), (0xc0, 40, &[0, 2])]
    {
        for len in lens {
            let value = vec![1; *len];
            let outcome = of(&attribute(flags, code, &value), &internal());
            assert_eq!(outcome, Ok(discarded(code)), "attribute {code} of {len} bytes");
        }
    }
    let narrow_path = [
        attribute(0x40, 1, &[0]),
        attribute(0x40, 2, &[2, 1, 0xfd, 0xe9]),
        attribute(0x40, 3, &[192, 0, 2, 1]),
    ]
    .concat();
    for (code, value) in
        [(7, &[0, 0, 0, 1, 1, 1, 1, 1][..]), (18, &[1; 6]), (17, &[2, 1, 0, 0]), (17, &[9, 0])]
    {
        let attributes = [&narrow_path[..], &attribute(0xc0, code, value)].concat();
        let outcome = outcome(&body(&[], &attributes, ROUTES), &narrow());
        assert_eq!(outcome, Ok(discarded(code)), "attribute {code}");
    }
}

#[test]
fn values_that_an_attribute_does_not_have() {
    // Sections 7.1 to 7.3, RFC 7607 section 2.
    let of = |origin: &[u8], path: &[u8], next_hop: &[u8], reading: &Reading| {
        let attributes =
            [attribute(0x40, 1, origin), attribute(0x40, 2, path), attribute(0x40, 3, next_hop)];
        outcome(&body(&[], &attributes.concat(), ROUTES), reading)
    };
    let (path, next_hop) = ([2, 1, 0, 0, 0, 1], [192, 0, 2, 1]);
    for origin in [&[][..], &[3], &[255], &[0, 0]] {
        assert_eq!(of(origin, &path, &next_hop, &internal()), Ok(withdrawn(1)));
    }
    for path in [
        &[2][..],
        &[2, 0],
        &[0, 1, 0, 0, 0, 1],
        &[5, 1, 0, 0, 0, 1],
        &[2, 2, 0, 0, 0, 1],
        &[2, 1, 0, 0, 0, 1, 0],
        &[2, 1, 0, 0, 0, 0],
    ] {
        assert_eq!(of(&[0], path, &next_hop, &internal()), Ok(withdrawn(2)), "{path:?}");
    }
    for next_hop in [&[192, 0, 2][..], &[0; 5], &[0; 4], &[127, 0, 0, 1], &[224, 0, 0, 1]] {
        assert_eq!(of(&[0], &path, next_hop, &internal()), Ok(withdrawn(3)), "{next_hop:?}");
    }
    // A confederation stands in paths of its own members alone (RFC 5065 section 5).
    let confederation = [3, 1, 0, 0, 0, 9, 2, 1, 0, 0, 0, 1];
    assert!(of(&[0], &confederation, &next_hop, &internal()).unwrap().findings.is_empty());
    assert_eq!(of(&[0], &confederation, &next_hop, &external()), Ok(withdrawn(2)));
    // Who has aggregated is not AS 0.
    let aggregator = attribute(0xc0, 7, &[0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(self::of(&aggregator, &internal()), Ok(discarded(7)));
}

#[test]
fn what_has_a_meaning_within_an_as_is_discarded_from_another() {
    // Sections 7.5, 7.9 and 7.10; even if it is malformed.
    for (flags, code) in [(0x40, 5), (0x80, 9), (0x80, 10), (0x80, 26)] {
        for value in [&[1; 4][..], &[1; 3], &[]] {
            assert_eq!(of(&attribute(flags, code, value), &external()), Ok(discarded(code)));
        }
    }
}

#[test]
fn flags_that_an_attribute_does_not_have() {
    // Section 3 (c).
    let fixed = usual();
    for (code, value) in [(1, &[0][..]), (2, &[]), (3, &[192, 0, 2, 1])] {
        for flags in [0x00, 0x80, 0xc0] {
            let others = [(1, &[0][..]), (2, &[]), (3, &[192, 0, 2, 1])];
            let attributes = others.map(|(other, other_value)| match other == code {
                true => attribute(flags, code, value),
                false => attribute(0x40, other, other_value),
            });
            let outcome = outcome(&body(&[], &attributes.concat(), ROUTES), &internal());
            assert_eq!(outcome, Ok(withdrawn(code)), "flags {flags:#x} of attribute {code}");
        }
    }
    for (flags, code, len) in
        [(0xc0, 4, 4), (0xc0, 5, 4), (0xc0, 6, 0), (0x80, 8, 4), (0x40, 9, 4), (0x40, 16, 8)]
    {
        let wrong = attribute(flags, code, &vec![1; len]);
        let outcome = outcome(&body(&[], &[&fixed[..], &wrong].concat(), ROUTES), &internal());
        assert_eq!(outcome, Ok(withdrawn(code)), "flags {flags:#x} of attribute {code}");
    }
    // Routes in an attribute with wrong flags are found and withdrawn.
    let mut routes = reach(Family::Ipv6Unicast, &[1; 16], &[16, 0x20, 1]);
    routes[0] = 0xc0;
    let found = outcome(&body(&[], &[routes, usual()].concat(), &[]), &internal()).unwrap();
    assert_eq!((found.withdrawn, found.announced), (1, 0));
    // The bits that mean nothing are not looked at.
    let odd = [&[0x4f, 1, 1, 0][..], &usual()[4..]].concat();
    assert!(outcome(&body(&[], &odd, ROUTES), &internal()).unwrap().findings.is_empty());
}

#[test]
fn absent_attributes() {
    // Section 3 (d).
    let all =
        [attribute(0x40, 1, &[0]), attribute(0x40, 2, &[]), attribute(0x40, 3, &[192, 0, 2, 1])];
    for absent in 0..3 {
        let mut some = all.to_vec();
        some.remove(absent);
        let outcome = outcome(&body(&[], &some.concat(), ROUTES), &internal());
        assert_eq!(outcome, Ok(withdrawn(absent as u8 + 1)));
    }
    // The next hop of an attribute stands in it.
    let routes = reach(Family::Ipv6Unicast, &[1; 16], &[16, 0x20, 1]);
    let found = outcome(
        &body(&[], &[&routes, &all[0], &all[1]].map(|one| &one[..]).concat(), &[]),
        &internal(),
    );
    assert_eq!(found.map(|found| (found.announced, found.findings)), Ok((1, vec![])));
    let found = outcome(&body(&[], &[&routes[..], &all[1]].concat(), &[]), &internal()).unwrap();
    assert_eq!((found.withdrawn, found.findings), (1, vec![(Some(1), Action::Withdraw)]));
    // Nothing is absent where nothing is announced.
    assert!(outcome(&body(ROUTES, &[], &[]), &internal()).unwrap().findings.is_empty());
}

#[test]
fn attributes_that_are_there_more_than_once() {
    // Section 3 (g): the first one counts.
    let twice = [attribute(0x80, 4, &[0, 0, 0, 1]), attribute(0x80, 4, &[9])].concat();
    let mut scan = Scan::default();
    let bytes = body(&[], &[usual(), twice].concat(), ROUTES);
    let update = scan.read(&bytes, &internal()).unwrap();
    assert_eq!(update.announced().count(), 1);
    assert_eq!(scan.summary().med, Some(1));
    assert_eq!(scan.findings()[0].action, Action::Discard);
    let unknown = [attribute(0xc0, 99, &[1]), attribute(0xc0, 99, &[2])].concat();
    assert_eq!(of(&unknown, &internal()).unwrap().codes, [1, 2, 99]);
    // Those with routes: nobody knows which ones count.
    for one in [
        reach(Family::Ipv6Unicast, &[1; 16], &[16, 0x20, 1]),
        unreach(Family::Ipv6Unicast, &[16, 0x20, 1]),
    ] {
        let bytes = body(&[], &[&one[..], &one, &usual()].concat(), &[]);
        reset(outcome(&bytes, &internal()), Some(one[1]), MALFORMED_ATTRIBUTES);
    }
}

#[test]
fn attributes_that_are_not_known() {
    let fault =
        reset(of(&attribute(0x40, 99, &[1, 2]), &internal()), Some(99), UNRECOGNISED_ATTRIBUTE);
    assert_eq!(fault.notification.data, [0x40, 99, 2, 1, 2]);
    assert_eq!(
        fault.to_string(),
        "attribute 99: session reset: everybody has to know it, and this speaker does not \
         (UPDATE Message Error, Unrecognized Well-known Attribute)"
    );
    reset(of(&attribute(0x00, 99, &[]), &internal()), Some(99), UNRECOGNISED_ATTRIBUTE);
    // Who does not know it passes it on and says so.
    let mut scan = Scan::default();
    let bytes = body(&[], &[&attribute(0xc0, 99, &[7])[..], &usual()].concat(), ROUTES);
    scan.read(&bytes, &internal()).unwrap();
    assert!(scan.block().ends_with(&[0xe0, 99, 1, 7]) && scan.findings().is_empty());
    // Or drops it.
    assert_eq!(of(&attribute(0x80, 99, &[7]), &internal()).unwrap().codes, [1, 2]);
}

#[test]
fn lengths_that_lie() {
    // Section 4: the attribute is longer than what is left.
    for cut in [&[0x40][..], &[0x40, 4], &[0x80, 4, 4, 0, 0, 0], &[0x90, 4, 0], &[0x90, 4, 1, 0]] {
        let bytes = body(&[], &[&usual(), cut].concat(), ROUTES);
        let outcome = outcome(&bytes, &internal()).unwrap();
        assert_eq!((outcome.withdrawn, outcome.announced), (2, 0), "{cut:?}");
        assert_eq!(outcome.findings, [(None, Action::Withdraw)]);
    }
    // Section 3 (a) and (b): the lists are longer than the message.
    let bytes = body(&[], &usual(), &[]);
    for (at, len) in [(1, 1), (1, 255), (3, 255)] {
        let mut lies = bytes.clone();
        lies[at] = len;
        if at == 1 && len == 1 {
            // It leaves a length of attributes that goes on beyond the message.
            lies[2] = 0x10;
        }
        reset(outcome(&lies, &internal()), None, MALFORMED_ATTRIBUTES);
    }
    for len in 0..4 {
        reset(outcome(&[0; 4][..len], &internal()), None, MALFORMED_ATTRIBUTES);
    }
}

#[test]
fn routes_that_cannot_be_told_apart() {
    // Section 5.3.
    for routes in [&[33, 1, 2, 3, 4, 5][..], &[24, 1, 2], &[8], &[255]] {
        reset(outcome(&body(routes, &[], &[]), &internal()), None, INVALID_NETWORK);
        reset(outcome(&body(&[], &usual(), routes), &internal()), None, INVALID_NETWORK);
    }
    // In attributes the family is of no use any more, and the others are.
    for routes in [&[129][..], &[16, 1], &[64, 1, 2, 3]] {
        let attributes = [
            reach(Family::Ipv6Unicast, &[1; 16], routes),
            unreach(Family::VpnV4, &[32, 1, 2, 3]),
            usual(),
        ];
        let bytes = body(&[], &attributes.concat(), ROUTES);
        let mut scan = Scan::default();
        let update = scan.read(&bytes, &internal()).unwrap();
        assert!(update.disabled.iter().eq([Family::Ipv6Unicast, Family::VpnV4]));
        assert_eq!((update.announced().count(), update.withdrawn().count()), (1, 0));
        let found: Vec<_> = scan.findings().iter().map(|one| one.to_string()).collect();
        let said = ": AFI/SAFI disable: its routes cannot be told apart";
        assert_eq!(found, [format!("MP_REACH_NLRI{said}"), format!("MP_UNREACH_NLRI{said}")]);
    }
}

#[test]
fn attributes_with_routes_that_cannot_be_read() {
    // Section 7.11: the routes stand behind the next hop.
    for next_hop in [&[][..], &[1; 4], &[1; 17], &[1; 24]] {
        let bytes =
            body(&[], &[reach(Family::Ipv6Unicast, next_hop, &[]), usual()].concat(), ROUTES);
        let mut scan = Scan::default();
        let update = scan.read(&bytes, &internal()).unwrap();
        assert!(update.disabled.contains(Family::Ipv6Unicast) && update.announced().count() == 1);
    }
    // Next hops of IPv6 for routes of IPv4, where that was agreed on (RFC 8950).
    let bytes = body(&[], &[reach(Family::Ipv4Unicast, &[1; 16], &[8, 10]), usual()].concat(), &[]);
    let mut scan = Scan::default();
    assert!(!scan.read(&bytes, &internal()).unwrap().disabled.is_empty());
    let extended = Reading { extended_next_hops: crate::support::all_families(), ..internal() };
    assert!(scan.read(&bytes, &extended).unwrap().disabled.is_empty());
    // Too short to say of which family they are.
    for value in [&[][..], &[0, 2], &[0, 2, 1], &[0, 2, 1, 4, 1, 1, 1, 1]] {
        let bytes = body(&[], &[&attribute(0x80, 14, value)[..], &usual()].concat(), &[]);
        let fault = reset(outcome(&bytes, &internal()), Some(14), OPTIONAL_ATTRIBUTE_ERROR);
        assert_eq!(fault.notification.data, attribute(0x80, 14, value));
    }
    for value in [&[][..], &[0, 2]] {
        let bytes = body(&[], &attribute(0x80, 15, value), &[]);
        reset(outcome(&bytes, &internal()), Some(15), OPTIONAL_ATTRIBUTE_ERROR);
    }
}

#[test]
fn errors_without_routes_are_the_end() {
    // Section 5.2: nobody knows whether the routes were found.
    let wrong = attribute(0x80, 4, &[1]);
    for (withdrawn, more) in [
        (&[][..], vec![]),
        (ROUTES, vec![]),
        (&[], unreach(Family::Ipv6Unicast, &[16, 0x20, 1])),
        (&[], reach(Family::Ipv6Unicast, &[1; 16], &[])),
    ] {
        let bytes = body(withdrawn, &[&more[..], &wrong].concat(), &[]);
        reset(outcome(&bytes, &internal()), Some(4), MALFORMED_ATTRIBUTES);
    }
    // What is only discarded is not.
    let milder = attribute(0x40, 6, &[1]);
    let outcome = outcome(&body(ROUTES, &milder, &[]), &internal()).unwrap();
    assert_eq!((outcome.withdrawn, outcome.findings.len()), (2, 1));
}

#[test]
fn the_strongest_of_several_decides() {
    // Section 3 (h).
    let discard = attribute(0x40, 6, &[1]);
    let withdraw = attribute(0x80, 4, &[1]);
    let reset_one = attribute(0x40, 99, &[]);
    let found = of(&[&discard[..], &withdraw].concat(), &internal()).unwrap();
    assert_eq!((found.withdrawn, found.announced, found.findings.len()), (2, 0, 2));
    let all = [&withdraw[..], &discard, &reset_one].concat();
    reset(of(&all, &internal()), Some(99), UNRECOGNISED_ATTRIBUTE);
    // Withdrawn routes of the same UPDATE are withdrawn in any case.
    let bytes = body(&[8, 11], &[usual(), withdraw.clone()].concat(), ROUTES);
    assert_eq!(outcome(&bytes, &internal()).unwrap().withdrawn, 3);
    // What decides is found behind many others.
    let many = [discard.repeat(40), withdraw].concat();
    let found = of(&many, &internal()).unwrap();
    assert_eq!(found.findings.last(), Some(&(Some(4), Action::Withdraw)));
    assert_eq!(found.findings.len(), 16);
}

#[test]
fn families_that_were_not_agreed_on() {
    let mut reading = internal();
    reading.families.remove(Family::Ipv6Unicast);
    let attributes = [
        reach(Family::Ipv6Unicast, &[1; 16], &[16, 0x20, 1]),
        attribute(0x80, 15, &[0, 9, 9]),
        usual(),
    ];
    let found = outcome(&body(&[], &attributes.concat(), ROUTES), &reading).unwrap();
    assert_eq!((found.announced, found.withdrawn), (2, 0));
    let expected = [(Some(14), Action::Discard), (Some(15), Action::Discard)];
    assert_eq!(found.findings, expected);
    reading.families.remove(Family::Ipv4Unicast);
    let found = outcome(&body(ROUTES, &usual(), ROUTES), &reading).unwrap();
    assert_eq!((found.announced, found.withdrawn), (0, 0));
    assert_eq!(found.findings, [(None, Action::Discard); 2]);
}

#[test]
fn the_end_of_all_routes_is_told() {
    let end = |bytes: &[u8]| Scan::default().read(bytes, &internal()).unwrap().end_of_rib;
    assert_eq!(end(&octets("0000 0000")), Some(Family::Ipv4Unicast));
    assert_eq!(end(&octets("0000 0006 800f03 0019 46")), Some(Family::L2vpnEvpn));
    assert_eq!(end(&octets("0000 0007 900f0003 0002 01")), Some(Family::Ipv6Unicast));
    // With anything else it is an UPDATE as any.
    assert_eq!(end(&body(&[], &unreach(Family::Ipv6Unicast, &[16, 0x20, 1]), &[])), None);
    assert_eq!(end(&body(ROUTES, &[], &[])), None);
    let more = [unreach(Family::Ipv6Unicast, &[]), attribute(0x80, 99, &[])].concat();
    assert_eq!(end(&body(&[], &more, &[])), None);
}

#[test]
fn attributes_that_are_too_long() {
    // A path of ASes of two bytes doubles.
    let mut path = Vec::new();
    for _ in 0..72 {
        path.extend([2, 255]);
        path.extend([1; 510]);
    }
    let attributes =
        [attribute(0x40, 1, &[0]), attribute(0x40, 2, &path), attribute(0x40, 3, &[192, 0, 2, 1])];
    let bytes = body(&[], &attributes.concat(), ROUTES);
    assert_eq!(outcome(&bytes, &narrow()), Ok(withdrawn(2)));
    // With others it is too long only together.
    path.truncate(60 * 512);
    let attributes = [
        attribute(0x40, 1, &[0]),
        attribute(0x40, 2, &path),
        attribute(0x40, 3, &[192, 0, 2, 1]),
        attribute(0xc0, 8, &[1; 8000]),
    ];
    let bytes = body(&[], &attributes.concat(), ROUTES);
    let found = outcome(&bytes, &narrow()).unwrap();
    assert_eq!((found.withdrawn, found.announced, found.codes.len()), (2, 0, 0));
}
