//! Sources: what they have is found by its key, and distributed as it is to be.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use protocol_bgp::{Family, FamilySet, Reading, Scan};
use route_traffic::attributes;
use route_traffic::routes::blocks;
use route_traffic::source::generated::Generated;
use route_traffic::source::mrt::{self, Options};
use route_traffic::source::{Evpn, Members, Synthetic, Vpn};
use route_traffic::{Fed, Routes, Sharing, nlri, pack};

/// Every source, small.
pub fn all() -> Vec<(&'static str, Arc<dyn Routes>)> {
    let members = || Members::new(40, 6, 4, 3).unwrap();
    let ipv4 = "10.0.0.0".parse().unwrap();
    let ipv6 = "2001:db8::".parse().unwrap();
    vec![
        ("synthetic of IPv4", Arc::new(Synthetic::new(ipv4, 1000, 7).unwrap())),
        ("synthetic of IPv6", Arc::new(Synthetic::new(ipv6, 1000, 1000).unwrap())),
        ("generated", Arc::new(Generated { ipv4: 3000, ipv6: 700, seed: 1 }.list().unwrap())),
        ("evpn", Arc::new(Evpn::new(members(), 1500).unwrap())),
        ("vpn", Arc::new(Vpn::new(members(), 900, 500).unwrap())),
        ("vpn of IPv6", Arc::new(Vpn::new(members(), 0, 500).unwrap())),
    ]
}

/// How many feeders a source has.
pub fn feeders(routes: &dyn Routes) -> u16 {
    (0..routes.sets()).filter_map(|set| routes.feeder(set)).max().map_or(2, |last| last + 1)
}

#[test]
fn each_route_is_found_by_its_key() {
    for (name, routes) in all() {
        let mut keys = BTreeSet::new();
        let mut last = 0;
        for route in 0..routes.count() {
            let set = routes.set(route);
            assert!(set == last || set == last + 1, "{name}: {route} is of {set} after {last}");
            last = set;
            let family = routes.family(set);
            let mut wire = Vec::new();
            routes.wire(route, &mut wire);
            let key = nlri::key(family, &wire);
            assert_eq!(routes.find(family, &key), Some(route), "{name}: {route} {wire:?}");
            assert!(keys.insert((family, key.clone())), "{name}: {route} is there twice");
            let mut other = key.clone();
            *other.last_mut().unwrap() ^= 1;
            assert_ne!(routes.find(family, &other), Some(route), "{name}");
            assert_eq!(routes.find(family, &key[..key.len() - 1]), None, "{name}");
            assert_eq!(routes.find(Family::Vpls, &key), None, "{name}");
        }
        assert_eq!(last + 1, routes.sets(), "{name}: each set has a route");
        let families: BTreeSet<Family> = blocks(&*routes).iter().map(|block| block.0).collect();
        assert_eq!(families.len(), blocks(&*routes).len(), "{name}: a block for each family");
    }
}

/// What feeders send is read by the product's codec: all routes, with the attributes of their sets.
#[test]
fn what_feeders_send_is_what_the_source_has() {
    let families: FamilySet = super::device::FAMILIES.into_iter().collect();
    let none = FamilySet::NONE;
    let reading = Reading {
        families,
        path_ids: none,
        extended_next_hops: none,
        is_wide: true,
        is_external: false,
    };
    for (name, routes) in all() {
        for sharing in [Sharing::Split, Sharing::Same { offset: 3 }] {
            if sharing != Sharing::Split && routes.feeder(0).is_some() {
                continue;
            }
            let fed = Fed::new(Arc::clone(&routes), feeders(&*routes), sharing).unwrap();
            let mut found = 0;
            for (feeder, table) in pack::tables(&fed).unwrap().iter().enumerate() {
                let mut bytes = &table[..];
                let mut scan = Scan::default();
                while !bytes.is_empty() {
                    let len = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
                    assert!(len <= 4096, "{name}: {len} bytes");
                    let body = &bytes[19..len];
                    bytes = &bytes[len..];
                    let update = scan.read(body, &reading).expect("an UPDATE");
                    assert_eq!(scan.findings(), [], "{name}");
                    for field in update.announced() {
                        let mut set = Vec::new();
                        attributes::normalise(scan.block(), field.next_hop, &mut set).unwrap();
                        for nlri in field.nlris() {
                            let key = nlri.unwrap().key.as_slice().to_vec();
                            let route = routes.find(field.family, &key).expect("a route");
                            let view = fed.view(route, feeder as u16).expect("one of this feeder");
                            let mut expected = Vec::new();
                            routes.attributes(fed.set_of(view), &mut expected);
                            assert_eq!(attributes::difference(&expected, &set), "", "{name}");
                            found += 1;
                        }
                    }
                }
            }
            assert_eq!(found, routes.count() * u32::from(fed.tellers()), "{name} {sharing:?}");
        }
    }
}

#[test]
fn a_generated_table_is_distributed_as_a_real_one() {
    let count = 50_000;
    let table = Generated { ipv4: count, ipv6: 0, seed: 9 }.list().unwrap();
    let near = |value: f64, expected: f64, slack: f64| (value / expected - 1.0).abs() < slack;
    let share = |value: u32| f64::from(value) / f64::from(count);
    assert_eq!(table.count(), count);
    assert!(near(share(table.sets()), 89_636.0 / 577_698.0, 0.01), "{} sets", table.sets());
    assert!(near(share(table.paths() as u32), 76_813.0 / 577_698.0, 0.01), "{}", table.paths());
    let mut lengths: BTreeMap<u8, u32> = BTreeMap::new();
    let mut sizes = vec![0_u32; table.sets() as usize];
    for route in 0..count {
        let mut wire = Vec::new();
        table.wire(route, &mut wire);
        *lengths.entry(wire[0]).or_default() += 1;
        sizes[table.set(route) as usize] += 1;
    }
    assert!(near(share(lengths[&24]), 0.54, 0.05) && near(share(lengths[&22]), 0.11, 0.1));
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    // Of the real sets the first percent has 35 % of the prefixes, and half of them have one each.
    let top: u32 = sizes[..sizes.len() / 100].iter().sum();
    assert!((0.28..0.42).contains(&share(top)), "{} of the first percent", share(top));
    let single = sizes.iter().filter(|size| **size == 1).count() as f64 / sizes.len() as f64;
    assert!((0.4..0.6).contains(&single), "{single} of the sets have one prefix");
    let of = |seed: u64| {
        let table = Generated { ipv4: 300, ipv6: 300, seed }.list().unwrap();
        let mut bytes = Vec::new();
        (0..600).for_each(|route| table.wire(route, &mut bytes));
        (0..table.sets()).for_each(|set| table.attributes(set, &mut bytes));
        bytes
    };
    assert_eq!(of(5), of(5), "the seed decides everything");
    assert_ne!(of(5), of(6));
}

#[test]
fn what_cannot_be_is_told() {
    let start = "255.255.255.250".parse().unwrap();
    assert!(Synthetic::new(start, 6, 1).is_ok());
    assert!(Synthetic::new(start, 7, 1).unwrap_err().contains("beyond"));
    assert!(Synthetic::new(start, 1, 2).is_err());
    assert!(Generated { ipv4: 0, ipv6: 0, seed: 0 }.list().is_err());
    assert!(Members::new(0, 1, 1, 0).is_err() && Members::new(1, 1, 1, 0).is_ok());
    assert!(Evpn::new(Members::new(10, 3, 2, 0).unwrap(), 5).is_err());
    assert!(Vpn::new(Members::new(10, 3, 2, 0).unwrap(), 100, 5).is_err());
    let routes = Arc::new(Synthetic::new(start, 5, 1).unwrap());
    assert!(Fed::new(routes, 0, Sharing::Split).is_err());
}

/// A record of MRT.
fn record(kind: u16, subtype: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 1];
    bytes.extend(kind.to_be_bytes());
    bytes.extend(subtype.to_be_bytes());
    bytes.extend((body.len() as u32).to_be_bytes());
    bytes.extend(body);
    bytes
}

/// A message of a peer with an address of IPv4.
fn message(peer: u8, update: &[u8]) -> Vec<u8> {
    // The microseconds stand before the rest.
    let mut body = vec![0; 4];
    body.extend([0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 192, 0, 2, peer, 192, 0, 2, 200]);
    body.extend([0xff; 16]);
    body.extend((update.len() as u16 + 19).to_be_bytes());
    body.push(2);
    body.extend(update);
    record(17, 4, &body)
}

fn update(withdrawn: &[u8], path: &[u32], routes: &[u8]) -> Vec<u8> {
    let mut attributes = vec![0x40, 1, 1, 0, 0x50, 2, 0, 2 + 4 * path.len() as u8];
    attributes.extend([2, path.len() as u8]);
    path.iter().for_each(|asn| attributes.extend(asn.to_be_bytes()));
    // A cluster and an attribute that nobody knows do not remain.
    attributes.extend([0x40, 3, 4, 198, 51, 100, 1, 0x80, 10, 4, 0, 0, 0, 9, 0xe0, 99, 1, 5]);
    let mut body = Vec::new();
    body.extend((withdrawn.len() as u16).to_be_bytes());
    body.extend(withdrawn);
    let attributes = if routes.is_empty() { &[][..] } else { &attributes };
    body.extend((attributes.len() as u16).to_be_bytes());
    body.extend(attributes);
    body.extend(routes);
    body
}

fn routes_of(table: &impl Routes) -> Vec<String> {
    let mut all: Vec<String> = (0..table.count())
        .map(|route| {
            let (mut wire, mut set) = (Vec::new(), Vec::new());
            table.wire(route, &mut wire);
            table.attributes(table.set(route), &mut set);
            let codes = attributes::Attributes::new(&set).map(|one| one.code.to_string());
            let path = attributes::value(&set, 2).map_or(0, <[u8]>::len);
            format!("{wire:?} {path} [{}]", codes.collect::<Vec<_>>().join(" "))
        })
        .collect();
    all.sort();
    all
}

#[test]
fn the_last_word_of_a_session_is_its_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("updates.gz");
    let bytes = [
        message(1, &update(&[], &[1, 2], &[8, 10, 16, 172, 16])),
        message(1, &update(&[], &[1, 2, 3], &[8, 11, 8, 12])),
        message(1, &update(&[], &[7], &[8, 127, 8, 240])),
        message(1, &update(&[], &[65000, 2], &[8, 11])),
        message(9, &update(&[], &[5], &[8, 99])),
        record(17, 5, &[0; 30]),
        message(1, &update(&[16, 172, 16], &[], &[])),
        message(1, &[0, 99]),
    ]
    .concat();
    let mut gzip = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::fast());
    gzip.write_all(&bytes).unwrap();
    gzip.finish().unwrap();
    let options = Options { own_as: 65000, ..Options::default() };
    let (table, notes) = mrt::read(&path, &options).unwrap();
    assert_eq!(routes_of(&table), ["[8, 10] 10 [1 2 3 5]", "[8, 12] 14 [1 2 3 5]"]);
    assert_eq!((notes.records, notes.damaged, notes.loops, notes.unusable), (6, 2, 1, 2));
    let other = Options { peer: Some("192.0.2.9".parse().unwrap()), ..options.clone() };
    assert_eq!(mrt::read(&path, &other).unwrap().0.count(), 1);
    let nobody = Options { peer: Some("192.0.2.77".parse().unwrap()), ..options.clone() };
    assert!(mrt::read(&path, &nobody).unwrap_err().contains("updates.gz: there are no routes"));
    let few = Options { prefixes: Some(1), paths: Some(1), ..options.clone() };
    let few = mrt::read(&path, &few).unwrap().0;
    assert_eq!((few.count(), few.paths()), (1, 1));
    for (prefixes, paths) in [(Some(3), None), (None, Some(3)), (Some(1), Some(2))] {
        let options = Options { prefixes, paths, ..options.clone() };
        assert!(mrt::read(&path, &options).is_err(), "{prefixes:?} {paths:?}");
    }
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(mrt::read(&path, &options).unwrap_err().contains("record 8"), "it is cut");
    std::fs::write(&path, b"prefix,path\n10.0.0.0/8,1").unwrap();
    assert!(mrt::read(&path, &options).unwrap_err().contains("is this MRT?"));
}

#[test]
fn a_peer_of_a_table_is_read() {
    let mut peers = vec![0, 0, 0, 1, 0, 0, 0, 2];
    for last in [1, 2] {
        peers.extend([2, 0, 0, 0, 0, 192, 0, 2, last, 0, 0, 0, 1]);
    }
    let attributes = [0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0, 7, 0x40, 3, 4, 198, 51, 100, 1];
    let entry = |peer: u8, attributes: &[u8]| {
        let mut bytes = vec![0, peer, 0, 0, 0, 0, 0, attributes.len() as u8];
        bytes.extend(attributes);
        bytes
    };
    let one = [&[0, 0, 0, 0, 8, 10, 0, 2][..], &entry(0, &attributes), &entry(1, &attributes)];
    let two = [&[0, 0, 0, 1, 8, 11, 0, 1][..], &entry(1, &attributes)];
    let short =
        [&[0x40, 1, 1, 0, 0x40, 2, 0, 0x80, 14, 17, 16, 0x20, 1, 0xd, 0xb8][..], &[0; 11], &[1]];
    let six = [&[0, 0, 0, 2, 32, 0x20, 1, 0xd, 0xb8, 0, 1][..], &entry(1, &short.concat())];
    let bytes = [
        record(13, 1, &peers),
        record(13, 2, &one.concat()),
        record(13, 2, &two.concat()),
        record(13, 4, &six.concat()),
    ]
    .concat();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rib");
    std::fs::write(&path, &bytes).unwrap();
    let (table, notes) = mrt::read(&path, &Options::default()).unwrap();
    assert_eq!((table.count(), notes.records, notes.damaged), (3, 3, 0), "of the second peer");
    assert_eq!(blocks(&table).len(), 2);
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut other = bytes.clone();
            other[at] = value;
            std::fs::write(&path, &other).unwrap();
            let _ = mrt::read(&path, &Options::default());
        }
    }
}
