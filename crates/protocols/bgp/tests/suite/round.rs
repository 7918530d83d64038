//! Random routes and attributes: what is written is read again, by this codec and by an independent
//! one.

use std::io::Cursor;

use netgauze_bgp_pkt::BgpMessage;
use netgauze_bgp_pkt::wire::deserializer::BgpParsingContext;
use netgauze_parse_utils::WritablePdu;
use netgauze_parse_utils::reader::SliceReader;
use netgauze_parse_utils::traits::ParseFromWithOneInput;
use proptest::collection::vec;
use proptest::prelude::*;
use protocol_bgp::attributes::{Class, Row, push};
use protocol_bgp::builder::{Builder, Writing};
use protocol_bgp::capabilities::Capability;
use protocol_bgp::config::{Config, Restart};
use protocol_bgp::families::{FAMILIES, Family, FamilySet};
use protocol_bgp::framing::Framing;
use protocol_bgp::message::{EXTENDED_LEN_MAX, HEADER_LEN, LEN_MAX};
use protocol_bgp::nlri::Nlris;
use protocol_bgp::open::Open;
use protocol_bgp::path;
use protocol_bgp::rules::Reading;
use protocol_bgp::update::Scan;

use crate::support::{all_families, internal};

/// A key and what it carries.
type Carrying = (Vec<u8>, Vec<u8>);

/// Routes of a family as they stand on the wire, from random bytes.
fn wire(family: Family) -> BoxedStrategy<Vec<u8>> {
    // Of single hosts in either family: the independent codec refuses groups.
    let address = || {
        vec(any::<u8>(), 16).prop_map(|mut address| {
            address[0] = 0x20 | address[0] & 0x0f;
            address
        })
    };
    let prefix = |before: Vec<u8>, most: u8| {
        (0..=most, address()).prop_map(move |(bits, address)| {
            let all = before.len() as u8 * 8 + bits;
            let len = usize::from(bits).div_ceil(8);
            [&[all], &before[..], &address[..len]].concat()
        })
    };
    // A label at the bottom of its stack.
    let label = || (1_u32..1 << 20).prop_map(|label| (label << 4 | 1).to_be_bytes()[1..].to_vec());
    let distinguisher = || any::<[u8; 6]>().prop_map(|bytes| [&[0, 0], &bytes[..]].concat());
    let labelled = move |with_distinguisher: bool, most: u8| {
        let one = (label(), distinguisher(), 0..=most, address());
        one.prop_map(move |(label, distinguisher, bits, address)| {
            let before = match with_distinguisher {
                true => [label, distinguisher].concat(),
                false => label,
            };
            let len = usize::from(bits).div_ceil(8);
            [&[before.len() as u8 * 8 + bits], &before[..], &address[..len]].concat()
        })
    };
    match family {
        Family::Ipv4Unicast => prefix(vec![], 32).boxed(),
        Family::Ipv6Unicast => prefix(vec![], 128).boxed(),
        Family::Ipv4Labelled => labelled(false, 32).boxed(),
        Family::Ipv6Labelled => labelled(false, 128).boxed(),
        Family::VpnV4 => labelled(true, 32).boxed(),
        Family::VpnV6 => labelled(true, 128).boxed(),
        Family::L2vpnEvpn => {
            let mac =
                (distinguisher(), any::<[u8; 10]>(), any::<[u8; 4]>(), any::<[u8; 6]>(), label());
            mac.prop_map(|(distinguisher, segment, tag, mac, label)| {
                let fields = [&distinguisher[..], &segment, &tag, &[48], &mac, &[0], &label];
                [&[2, 33], &fields.concat()[..]].concat()
            })
            .boxed()
        }
        Family::RouteTarget => (32..=96_u8, any::<[u8; 4]>(), any::<[u8; 6]>())
            .prop_map(|(bits, asn, target)| {
                let all = [&asn[..], &[0, 2], &target].concat();
                [&[bits], &all[..usize::from(bits).div_ceil(8)]].concat()
            })
            .boxed(),
        Family::Vpls => (distinguisher(), any::<[u8; 9]>())
            .prop_map(|(distinguisher, rest)| [&[0, 17], &distinguisher[..], &rest].concat())
            .boxed(),
        Family::LinkState => vec(any::<u8>(), 0..60)
            .prop_map(|value| [&[0, 1, 0, value.len() as u8], &value[..]].concat())
            .boxed(),
        _ => vec(any::<u8>(), 0..200)
            .prop_map(|rules| [&[rules.len() as u8], &rules[..]].concat())
            .boxed(),
    }
}

/// A next hop of one address; a Route Distinguisher in front of it is 0.
fn next_hop(family: Family) -> Vec<u8> {
    let len = usize::from(*family.row().next_hops.iter().find(|len| **len > 0).unwrap());
    let before = if [12, 24].contains(&len) { 8 } else { 0 };
    (0..len).map(|at| if at < before { 0 } else { at as u8 + 1 }).collect()
}

/// Attribute blocks: some of the attributes, in their order.
fn blocks() -> impl Strategy<Value = Vec<u8>> {
    let asn = prop_oneof![1_u32..65_536, 65_536_u32..=u32::MAX];
    let path = vec((1_u8..=2, vec(asn.clone(), 1..6)), 0..4).prop_map(|segments| {
        let mut out = Vec::new();
        for (kind, ases) in segments {
            path::push(kind, ases.into_iter(), &mut out);
        }
        out
    });
    let numbers = |len: usize| vec(any::<u8>(), len * 4..=len * 4);
    let aggregator = (asn.clone(), any::<[u8; 4]>())
        .prop_map(|(asn, address)| [&asn.to_be_bytes()[..], &address].concat());
    let communities = (1_usize..100).prop_flat_map(numbers);
    let parts = (
        (0_u8..3).prop_map(|origin| vec![origin]),
        path,
        proptest::option::of(numbers(1)),
        proptest::option::of(numbers(1)),
        proptest::option::of(aggregator),
        proptest::option::of(communities),
        proptest::option::of(numbers(3)),
        proptest::option::of(asn.prop_map(|asn| asn.to_be_bytes().to_vec())),
    );
    parts.prop_map(|(origin, path, med, preference, aggregator, communities, large, otc)| {
        let all = [
            (1, Some(origin)),
            (2, Some(path)),
            (4, med),
            (5, preference),
            (7, aggregator),
            (8, communities),
            (32, large),
            (35, otc),
        ];
        let mut block = Vec::new();
        for (code, value) in all {
            if let Some(value) = value {
                let class = Row::of(code).map_or(Class::Transitive, |row| row.class);
                push(class.flags(), code, &value, &mut block);
            }
        }
        block
    })
}

/// A family, fields of its routes and a block.
fn updates() -> impl Strategy<Value = (Family, Vec<Vec<u8>>, Vec<u8>)> {
    let family = (0..FAMILIES.len()).prop_map(|at| FAMILIES[at].family);
    let routes = family.prop_flat_map(|family| (Just(family), vec(wire(family), 1..40)));
    (routes, blocks()).prop_map(|((family, routes), block)| (family, routes, block))
}

fn keys(family: Family, routes: &[Vec<u8>]) -> Vec<Carrying> {
    let all = routes.concat();
    let nlris = Nlris::announced(&all, family, false).map(Result::unwrap);
    nlris.map(|nlri| (nlri.key.as_slice().to_vec(), nlri.rest.as_slice().to_vec())).collect()
}

/// What is read of messages: routes and blocks.
fn read(mut bytes: &[u8], reading: &Reading, is_withdrawal: bool) -> (Vec<Carrying>, Vec<Vec<u8>>) {
    let (mut framing, mut scan) = (Framing::default(), Scan::default());
    let (mut routes, mut blocks) = (Vec::new(), Vec::new());
    while let Some(message) = framing.next(&mut bytes, EXTENDED_LEN_MAX).unwrap() {
        let update = scan.read(message.body, reading).unwrap();
        assert_eq!(scan.findings(), []);
        let fields: Vec<_> = match is_withdrawal {
            true => update.withdrawn().collect(),
            false => update.announced().collect(),
        };
        for field in fields {
            let nlris = field.nlris().map(Result::unwrap);
            routes.extend(
                nlris.map(|nlri| (nlri.key.as_slice().to_vec(), nlri.rest.as_slice().to_vec())),
            );
        }
        blocks.push(scan.block().to_vec());
    }
    blocks.dedup();
    (routes, blocks)
}

/// A message as the independent codec reads and writes it.
fn independent(mut bytes: &[u8], is_wide: bool) -> Vec<u8> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let len = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
        let (message, rest) = bytes.split_at(len);
        bytes = rest;
        let (labels, ids) = Default::default();
        let mut context = BgpParsingContext::new(is_wide, labels, ids, true, true, true, true);
        let read = BgpMessage::parse(&mut SliceReader::new(message), &mut context);
        let read = read.unwrap_or_else(|why| panic!("{why:?}: {message:02x?}"));
        let mut written = Vec::new();
        read.write(&mut Cursor::new(&mut written)).unwrap();
        out.extend(written);
    }
    out
}

/// Families that the other codec reads, too.
fn is_shared(family: Family) -> bool {
    family.numbers().1 < 133
        && ![Family::RouteTarget, Family::LinkState, Family::Vpls].contains(&family)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn what_is_written_is_read((family, routes, block) in updates(), is_wide: bool, is_long: bool) {
        let len_max = if is_long { EXTENDED_LEN_MAX } else { LEN_MAX };
        let (families, none) = (all_families(), FamilySet::NONE);
        let writing = Writing { families, path_ids: none, extended_next_hops: none, is_wide, len_max };
        let reading = Reading { is_wide, ..internal() };
        let keys = keys(family, &routes);
        let next_hop = next_hop(family);
        let mut out = Vec::new();
        let mut builder = Builder::announce(&mut out, &writing, (family, &next_hop), &block);
        for (key, rest) in &keys {
            builder.push(0, key, rest).unwrap();
        }
        builder.finish();
        prop_assert_eq!(read(&out, &reading, false), (keys.clone(), vec![block.clone()]));
        if is_shared(family) {
            let again = independent(&out, is_wide);
            prop_assert_eq!(read(&again, &reading, false), (keys.clone(), vec![block]));
        }
        let mut out = Vec::new();
        let mut builder = Builder::withdraw(&mut out, &writing, family);
        for (key, rest) in &keys {
            builder.push(0, key, rest).unwrap();
        }
        builder.finish();
        let keys: Vec<_> = keys.into_iter().map(|(key, _)| key).collect();
        let withdrawn = |bytes: &[u8]| {
            read(bytes, &reading, true).0.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        prop_assert_eq!(&withdrawn(&out), &keys);
        if is_shared(family) {
            prop_assert_eq!(&withdrawn(&independent(&out, is_wide)), &keys);
        }
    }

    #[test]
    fn an_offer_is_read_as_it_was_written(
        (families, receives, sends) in (any::<u16>(), any::<u16>(), any::<u16>()),
        (asn, hold_time_s) in (1_u32.., (3_u16..)),
        (time_s, flags) in (0_u16..4096, any::<[bool; 4]>()),
    ) {
        let some = |bits: u16| -> FamilySet {
            let set = FAMILIES.iter().filter(|row| bits >> (row.family as u8) & 1 == 1);
            set.map(|row| row.family).collect()
        };
        let [is_restarting, has_notification, has_extended_messages, has_restart] = flags;
        let families = some(families | 1);
        let restart = Restart { time_s, is_restarting, has_notification, families, preserved: some(receives) };
        let config = Config {
            hold_time_s,
            families,
            receives_paths: some(receives),
            sends_paths: some(sends),
            extended_next_hops: some(receives),
            has_extended_messages,
            restart: has_restart.then_some(restart),
            ..Config::new(asn, 1, [1; 4].into(), 1)
        };
        let open = config.open();
        let mut out = Vec::new();
        open.write(&mut out);
        prop_assert_eq!(&Open::read(&out[HEADER_LEN..]).unwrap(), &open);
        // The independent codec writes a parameter for each capability.
        let again = independent(&out, true);
        let again = Open::read(&again[HEADER_LEN..]).unwrap();
        prop_assert_eq!((again.asn, again.hold_time_s, again.identifier), (asn, hold_time_s, 1));
        let codes = |open: &Open| open.capabilities.iter().map(Capability::code).collect::<Vec<_>>();
        prop_assert_eq!(codes(&again), codes(&open));
    }
}
