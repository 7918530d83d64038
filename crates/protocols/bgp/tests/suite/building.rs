//! UPDATEs that are made, and that the codec reads what it has written.

use protocol_bgp::attributes::Attributes;
use protocol_bgp::builder::{Builder, TooLong, Writing, write_end_of_rib};
use protocol_bgp::families::{FAMILIES, Family, FamilySet};
use protocol_bgp::framing::Framing;
use protocol_bgp::message::{EXTENDED_LEN_MAX, HEADER_LEN, LEN_MAX};
use protocol_bgp::rules::Reading;
use protocol_bgp::text::parse;
use protocol_bgp::update::Scan;

use crate::support::{all_families, attribute, internal, octets};

fn writing() -> Writing {
    Writing {
        families: all_families(),
        path_ids: FamilySet::NONE,
        extended_next_hops: FamilySet::NONE,
        is_wide: true,
        len_max: LEN_MAX,
    }
}

fn reading(writing: &Writing) -> Reading {
    let Writing { families, path_ids, extended_next_hops, is_wide, .. } = *writing;
    Reading { families, path_ids, extended_next_hops, is_wide, is_external: false }
}

/// ORIGIN, an AS_PATH with an AS of four bytes, AGGREGATOR and a community.
fn block() -> Vec<u8> {
    [
        attribute(0x40, 1, &[0]),
        attribute(0x40, 2, &[2, 2, 0, 0, 0, 9, 0, 1, 0x11, 0x70]),
        attribute(0x80, 4, &[0, 0, 0, 1]),
        attribute(0xc0, 7, &[0, 1, 0x11, 0x70, 1, 1, 1, 1]),
        attribute(0xc0, 8, &[0, 1, 0, 2]),
    ]
    .concat()
}

/// What is read of UPDATEs: path identifiers and keys, withdrawn and announced.
#[derive(Debug, Default, PartialEq)]
struct Read {
    messages: usize,
    withdrawn: Vec<(u32, Vec<u8>)>,
    announced: Vec<(u32, Vec<u8>)>,
    next_hops: Vec<Vec<u8>>,
    blocks: Vec<Vec<u8>>,
}

fn read(mut bytes: &[u8], writing: &Writing) -> Read {
    let (mut framing, mut scan, mut all) = (Framing::default(), Scan::default(), Read::default());
    while let Some(message) = framing.next(&mut bytes, writing.len_max).unwrap() {
        all.messages += 1;
        let update = scan.read(message.body, &reading(writing)).unwrap();
        assert_eq!(scan.findings(), []);
        let routes = |field: protocol_bgp::update::Field<'_>| {
            let nlris = field.nlris().map(Result::unwrap);
            nlris.map(|nlri| (nlri.path_id, nlri.key.as_slice().to_vec())).collect::<Vec<_>>()
        };
        all.withdrawn.extend(update.withdrawn().flat_map(routes));
        for field in update.announced() {
            all.next_hops.push(field.next_hop.to_vec());
            all.blocks.push(scan.block().to_vec());
            all.announced.extend(routes(field));
        }
    }
    assert!(bytes.is_empty());
    all.next_hops.dedup();
    all.blocks.dedup();
    all
}

fn key(family: Family, at: u32) -> Vec<u8> {
    let [_, a, b, c] = at.to_be_bytes();
    match family {
        Family::Ipv4Unicast => parse(family, &format!("10.{a}.{b}.{c}/32")).unwrap(),
        Family::VpnV4 => parse(family, &format!("65000:{at}:10.0.0.0/8")).unwrap(),
        Family::Ipv6Unicast => parse(family, &format!("2001:db8:{at:x}::/48")).unwrap(),
        _ => unreachable!(),
    }
}

#[test]
fn updates_have_golden_bytes() {
    let block =
        [attribute(0x40, 1, &[0]), attribute(0x40, 2, &[]), attribute(0x80, 4, &[0; 4])].concat();
    let made = |family: Family, next_hop: &[u8], writing: &Writing, text: &str, label: &[u8]| {
        let mut out = Vec::new();
        let mut builder = Builder::announce(&mut out, writing, (family, next_hop), &block);
        builder.push(5, &parse(family, text).unwrap(), label).unwrap();
        builder.finish();
        let mut builder = Builder::withdraw(&mut out, writing, family);
        builder.push(5, &parse(family, text).unwrap(), &[]).unwrap();
        builder.finish();
        out
    };
    let header = |len: &str| format!("ffffffffffffffffffffffffffffffff {len} 02");
    let ipv4 = Family::Ipv4Unicast;
    let expected = [
        header("002e"),
        "0000 0015 400101 00 400200 400304 c0000201 800404 00000000 08 0a".to_owned(),
        header("0019"),
        "0002 08 0a 0000".to_owned(),
    ];
    assert_eq!(
        made(ipv4, &[192, 0, 2, 1], &writing(), "10.0.0.0/8", &[]),
        octets(&expected.concat())
    );
    let with_ids = Writing { path_ids: all_families(), ..writing() };
    let expected = [
        header("004b"),
        "0000 0034 900e0022 0001 80 0c 0000000000000000 c0000201 00 00000005 60 000641 \
         0000fde800000001 0a 400101 00 400200 800404 00000000"
            .to_owned(),
        header("002f"),
        "0000 0018 900f0014 0001 80 00000005 60 800000 0000fde800000001 0a".to_owned(),
    ];
    let next_hop = octets("0000000000000000 c0000201");
    let bytes = made(Family::VpnV4, &next_hop, &with_ids, "65000:1:10.0.0.0/8", &[0, 6, 0x41]);
    assert_eq!(bytes, octets(&expected.concat()));
}

#[test]
fn as_many_routes_are_packed_as_there_is_room_for() {
    let block = block();
    for (family, next_hop) in [
        (Family::Ipv4Unicast, &[192, 0, 2, 1][..]),
        (Family::Ipv6Unicast, &[1; 16]),
        (Family::VpnV4, &[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]),
    ] {
        for len_max in [LEN_MAX, EXTENDED_LEN_MAX] {
            for path_ids in [FamilySet::NONE, all_families()] {
                let writing = Writing { path_ids, len_max, ..writing() };
                let id = |at: u32| if path_ids.is_empty() { 0 } else { at + 7 };
                let routes: Vec<_> = (0..3000).map(|at| (id(at), key(family, at))).collect();
                let mut out = vec![0xee];
                let mut builder = Builder::announce(&mut out, &writing, (family, next_hop), &block);
                for (id, key) in &routes {
                    builder.push(*id, key, &[0, 0, 0x11]).unwrap();
                }
                builder.finish();
                let found = read(&out[1..], &writing);
                assert_eq!(found.announced, routes);
                assert_eq!(
                    (found.next_hops, found.blocks),
                    (vec![next_hop.to_vec()], vec![block.clone()])
                );
                // None but the last one has room for another.
                let route_len = 13 + key(family, 0).len();
                let least = (out.len() - 1).div_ceil(len_max);
                assert!(
                    (least..=least + out.len() / (len_max - route_len) / 20 + 1)
                        .contains(&found.messages)
                );
                let mut out = Vec::new();
                let mut builder = Builder::withdraw(&mut out, &writing, family);
                for (id, key) in &routes {
                    builder.push(*id, key, &[]).unwrap();
                }
                builder.finish();
                let found = read(&out, &writing);
                assert_eq!((found.withdrawn, found.announced), (routes, vec![]));
            }
        }
    }
}

#[test]
fn a_message_is_filled_to_its_last_byte() {
    let block = block();
    let next_hop = [192, 0, 2, 1];
    let target = (Family::Ipv4Unicast, &next_hop[..]);
    let mut out = Vec::new();
    let mut builder = Builder::announce(&mut out, &writing(), target, &block);
    builder.push(0, &[0], &[]).unwrap();
    builder.finish();
    let head = out.len() - 1;
    // With five bytes a route there is room for this many.
    let count = ((LEN_MAX - head) / 5) as u32;
    for more in 0..2 {
        let mut out = Vec::new();
        let mut builder = Builder::announce(&mut out, &writing(), target, &block);
        (0..count + more)
            .for_each(|at| builder.push(0, &key(Family::Ipv4Unicast, at), &[]).unwrap());
        builder.finish();
        assert_eq!(read(&out, &writing()).messages, 1 + more as usize);
    }
}

#[test]
fn what_has_no_room_is_refused_and_leaves_nothing() {
    let long = [block(), attribute(0xc0, 99, &[1; 4040])].concat();
    for (family, next_hop) in [(Family::Ipv4Unicast, &[1; 4][..]), (Family::Ipv6Unicast, &[1; 16])]
    {
        let mut out = vec![7];
        let mut builder = Builder::announce(&mut out, &writing(), (family, next_hop), &long);
        assert_eq!(builder.push(0, &key(family, 1), &[]), Err(TooLong));
        assert_eq!(builder.push(0, &key(family, 2), &[]), Err(TooLong));
        builder.finish();
        assert_eq!(out, [7]);
        let extended = Writing { len_max: EXTENDED_LEN_MAX, ..writing() };
        let mut builder = Builder::announce(&mut out, &extended, (family, next_hop), &long);
        assert_eq!(builder.push(0, &key(family, 1), &[]), Ok(()));
        builder.finish();
        assert_eq!(read(&out[1..], &extended).announced.len(), 1);
        // Of two the longer one may have none.
        let block = [block(), attribute(0xc0, 99, &[1; 3900])].concat();
        let mut out = Vec::new();
        let mut builder =
            Builder::announce(&mut out, &writing(), (Family::Ipv4Flowspec, &[]), &block);
        assert_eq!(builder.push(0, &[1], &[]), Ok(()));
        assert_eq!(builder.push(0, &[2; 200], &[]), Err(TooLong));
        assert_eq!(builder.push(0, &[3], &[]), Ok(()));
        builder.finish();
        assert_eq!(read(&out, &writing()).announced.len(), 2);
    }
    // Attributes that no length can say.
    let absurd = attribute(0xc0, 99, &[1; 65_530]).repeat(2);
    let mut out = Vec::new();
    let target = (Family::Ipv4Unicast, &[1; 4][..]);
    let mut builder = Builder::announce(&mut out, &writing(), target, &absurd);
    assert_eq!(builder.push(0, &[0], &[]), Err(TooLong));
    builder.finish();
    assert!(out.is_empty());
}

#[test]
fn a_peer_of_two_bytes_reads_the_same() {
    let narrow = Writing { is_wide: false, ..writing() };
    for (family, next_hop) in [(Family::Ipv4Unicast, &[1; 4][..]), (Family::Ipv6Unicast, &[1; 16])]
    {
        let mut out = Vec::new();
        let block = block();
        let mut builder = Builder::announce(&mut out, &narrow, (family, next_hop), &block);
        builder.push(0, &key(family, 1), &[]).unwrap();
        builder.finish();
        let found = read(&out, &narrow);
        assert_eq!(found.blocks, [block]);
        // Whoever takes them for four bytes cannot read them.
        let mut scan = Scan::default();
        let update = scan.read(&out[HEADER_LEN..], &internal()).unwrap();
        assert!(update.is_treated_as_withdrawal());
    }
    // Without an AS of four bytes nothing stands beside the path.
    let block = [attribute(0x40, 1, &[0]), attribute(0x40, 2, &[2, 1, 0, 0, 0, 9])].concat();
    let mut out = Vec::new();
    let target = (Family::Ipv4Unicast, &[1; 4][..]);
    let mut builder = Builder::announce(&mut out, &narrow, target, &block);
    builder.push(0, &[0], &[]).unwrap();
    builder.finish();
    let attributes = &out[HEADER_LEN + 4..out.len() - 1];
    assert!(Attributes::new(attributes).map(|one| one.code).eq([1, 2, 3]));
}

#[test]
fn the_end_of_all_routes_is_written_for_each_family() {
    for row in &FAMILIES {
        let mut out = Vec::new();
        write_end_of_rib(row.family, &mut out);
        let mut scan = Scan::default();
        let update = scan.read(&out[HEADER_LEN..], &internal()).unwrap();
        assert_eq!(update.end_of_rib, Some(row.family));
        assert_eq!(usize::from(u16::from_be_bytes([out[16], out[17]])), out.len());
    }
    // Nothing is announced where no route was added.
    let mut out = Vec::new();
    Builder::withdraw(&mut out, &writing(), Family::VpnV4).finish();
    assert!(out.is_empty());
}

/// - `bgp`, RFC 7606 section 5.1: routes of an attribute come first in a message, one field of
///   routes each; at any other place they are read, too
#[test]
fn routes_of_attributes_come_first() {
    let (family, next_hop) = (Family::Ipv6Unicast, [0x20; 16]);
    let (writing, block) = (writing(), block());
    let key = parse(family, "2001:db8::/32").unwrap();
    let mut announced = Vec::new();
    let told = (family, &next_hop[..]);
    let mut builder = Builder::announce(&mut announced, &writing, told, &block);
    builder.push(0, &key, &[]).unwrap();
    builder.finish();
    let mut withdrawn = Vec::new();
    let mut builder = Builder::withdraw(&mut withdrawn, &writing, family);
    builder.push(0, &key, &[]).unwrap();
    builder.finish();
    for (message, first) in [(&announced, 14), (&withdrawn, 15)] {
        let body = &message[HEADER_LEN..];
        assert_eq!(body[..2], [0, 0], "no routes of IPv4");
        let len = usize::from(u16::from_be_bytes([body[2], body[3]]));
        assert_eq!(body.len(), 4 + len, "neither withdrawn nor announced");
        let codes: Vec<u8> = Attributes::new(&body[4..]).map(|one| one.code).collect();
        assert_eq!(codes[0], first);
        let fields = codes.iter().filter(|code| [14, 15].contains(code)).count();
        assert_eq!(fields, 1);
    }
    // The same attributes in another order are the same UPDATE.
    let body = &announced[HEADER_LEN..];
    let mut attributes: Vec<Vec<u8>> =
        Attributes::new(&body[4..]).map(|one| attribute(one.flags, one.code, one.value)).collect();
    let expected = read(&announced, &writing);
    for _ in 0..attributes.len() {
        attributes.rotate_left(1);
        let mut message = announced[..HEADER_LEN].to_vec();
        let all = attributes.concat();
        message.extend([&[0, 0][..], &(all.len() as u16).to_be_bytes(), &all].concat());
        let len = (message.len() as u16).to_be_bytes();
        message[16..18].copy_from_slice(&len);
        assert_eq!(read(&message, &writing), expected);
    }
}
