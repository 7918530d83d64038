//! Peers that do what they can to fill the reflector or to keep it busy: nothing grows, and nobody
//! else notices.

use controller_kit::{Action, Controller, Setup};
use controller_route_reflector::RouteReflector;
use controller_route_reflector::groups::Identity;
use controller_route_reflector::groups::group::Limits;
use controller_route_reflector::own::{Kind, Lowers, Own, Source};
use controller_route_reflector::reflector::Reflector;
use controller_route_reflector::table::Rules;
use protocol_bgp::attributes::push;
use protocol_bgp::builder::Writing;
use protocol_bgp::families::{Family, FamilySet};
use protocol_bgp::framing::Framing;
use protocol_bgp::message::{EXTENDED_LEN_MAX, LEN_MAX};
use protocol_bgp::path;
use protocol_bgp::rules::Reading;
use protocol_bgp::update::Scan;
use protocol_kit::{Arrival, Departure, Input, Machine, Output, Socket, Time};
use serde_json::json;

use crate::sessions::config;

pub const FAMILY: Family = Family::Ipv4Unicast;

fn family() -> FamilySet {
    [FAMILY].into_iter().collect()
}

pub fn reading() -> Reading {
    Reading {
        families: family(),
        path_ids: FamilySet::NONE,
        extended_next_hops: FamilySet::NONE,
        is_wide: true,
        is_external: false,
    }
}

/// A reflector that keeps a megabyte for those who lag.
pub fn reflector() -> Reflector {
    let own = Own { asn: 64_500, identifier: 77, cluster: 77, reflects_between_clients: true };
    let limits = Limits { stream_bytes: 1 << 20, routes: 1 << 20 };
    Reflector::new(own, Rules::default(), limits, [1, 2])
}

/// The session of a client stands, to which messages may have this length.
pub fn open(reflector: &mut Reflector, peer: u16, len_max: usize) {
    let source =
        Source { kind: Kind::Client, identifier: 9, address: peer.into(), lowers: Lowers::Nothing };
    let writing = Writing {
        families: family(),
        path_ids: FamilySet::NONE,
        extended_next_hops: FamilySet::NONE,
        is_wide: true,
        len_max,
    };
    let identity = Identity {
        family: FAMILY,
        writing,
        kind: Kind::Client,
        role: None,
        next_hop: None,
        is_constrained: false,
        tells_default: false,
        has_enhanced_refresh: false,
        paths_max: 0,
        drains: false,
    };
    reflector.open(peer, source, [identity]);
}

/// The body of an UPDATE that tells a prefix of a number with a MED and a path.
fn update(number: u16, med: u32, ases: &[u32]) -> Vec<u8> {
    let mut path = Vec::new();
    ases.chunks(255).for_each(|some| path::push(path::SEQUENCE, some.iter().copied(), &mut path));
    let mut attributes = Vec::new();
    push(0x40, 1, &[0], &mut attributes);
    push(0x40, 2, &path, &mut attributes);
    push(0x40, 3, &[10, 0, 0, 1], &mut attributes);
    push(0x80, 4, &med.to_be_bytes(), &mut attributes);
    let [high, low] = number.to_be_bytes();
    let len = (attributes.len() as u16).to_be_bytes();
    [&[0, 0][..], &len, &attributes, &[24, 10, high, low]].concat()
}

/// The same of one of 2^24 prefixes.
pub fn update_of(number: u32, med: u32) -> Vec<u8> {
    let mut body = update(0, med, &[1]);
    body.truncate(body.len() - 4);
    let [_, high, middle, low] = number.to_be_bytes();
    body.extend([24, high, middle, low]);
    body
}

/// Lets the reflector do all that there is to do, and peers take it; returns the bytes for each.
pub fn settle(reflector: &mut Reflector, peers: &[u16]) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new(); peers.len()];
    loop {
        let mut did = reflector.work(|_| true);
        for (peer, told) in peers.iter().zip(&mut all) {
            while let Some(bytes) = reflector.next(*peer, 1 << 20) {
                told.extend(&bytes[..]);
                did = true;
            }
        }
        if !did {
            return all;
        }
    }
}

/// - `route-reflector`, RFC 7606: attribute sets without end take no more room than their routes
#[test]
fn a_million_attribute_sets_leave_what_is_told_last() {
    let mut reflector = reflector();
    (0..2).for_each(|peer| open(&mut reflector, peer, LEN_MAX));
    settle(&mut reflector, &[0, 1]);
    let mut memory = 0;
    for number in 0..1_000_000_u32 {
        let body = update((number % 1000) as u16, number, &[number % 7 + 1]);
        reflector.update(0, &body, &mut reading()).expect("it is sound");
        if number % 10_000 == 9_999 {
            settle(&mut reflector, &[0, 1]);
            assert_eq!((reflector.attributes(), reflector.count(FAMILY)), (1000, (1000, 1000)));
            // What it has after the first tenth is enough for all.
            if number < 100_000 {
                memory = reflector.memory();
            }
            assert!(reflector.memory() <= 2 * memory, "{} bytes", reflector.memory());
        }
    }
    reflector.close(0, FamilySet::NONE);
    settle(&mut reflector, &[1]);
    assert_eq!((reflector.attributes(), reflector.count(FAMILY)), (0, (0, 0)));
}

/// - `route-reflector`, RFC 8654 section 5: what has no room in a message of a peer is no route to
///   it, whatever others are told
#[test]
fn paths_of_thousands_of_ases_reach_those_who_take_them() {
    let mut reflector = reflector();
    open(&mut reflector, 0, EXTENDED_LEN_MAX);
    open(&mut reflector, 1, LEN_MAX);
    open(&mut reflector, 2, EXTENDED_LEN_MAX);
    let known = |told: &[u8], count: &mut i32, longest: &mut usize| {
        let (mut framing, mut scan, mut left) = (Framing::default(), Scan::default(), told);
        while let Some(message) = framing.next(&mut left, EXTENDED_LEN_MAX).expect("messages") {
            let read = scan.read(message.body, &reading()).expect("it is sound");
            let routes = |field: &protocol_bgp::update::Field<'_>| field.nlris().count() as i32;
            *count += read.announced().map(|field| routes(&field)).sum::<i32>();
            *count -= read.withdrawn().map(|field| routes(&field)).sum::<i32>();
            *longest = (*longest).max(scan.summary().path_weight.into());
        }
    };
    let (mut counts, mut longest) = ([0; 3], [0; 3]);
    // Up to what no message has room for once a reflector has added its own.
    for len in [1, 900, 1000, 1015, 1030, 5000, 15_000, 16_240, 16_260, 16_290, 16_300] {
        let ases: Vec<u32> = (1..=len).collect();
        let body = update(7, 1, &ases);
        assert!(body.len() <= EXTENDED_LEN_MAX - 19, "{len} ASes have {} bytes", body.len());
        reflector.update(0, &body, &mut reading()).expect("it is sound");
        let told = settle(&mut reflector, &[0, 1, 2]);
        for (at, told) in told.iter().enumerate() {
            known(told, &mut counts[at], &mut longest[at]);
        }
        assert_eq!(reflector.count(FAMILY), (1, 1));
        assert!(longest[1] <= 1030 && counts[0] <= 0, "{longest:?} {counts:?}");
    }
    assert!(longest[2] >= 15_000, "{longest:?}");
    let last = update(7, 1, &[1]);
    reflector.update(0, &last, &mut reading()).expect("it is sound");
    let told = settle(&mut reflector, &[0, 1, 2]);
    assert!(!told[1].is_empty() && !told[2].is_empty(), "both know the short one again");
}

/// - `route-reflector`, RFC 4271 section 9: a peer that comes and goes leaves nothing behind
#[test]
fn a_peer_that_flaps_takes_no_room() {
    let mut reflector = reflector();
    open(&mut reflector, 1, LEN_MAX);
    let mut memory = 0;
    for round in 0..3_000_u32 {
        open(&mut reflector, 0, LEN_MAX);
        for number in 0..20 {
            // Others each time, so that keys and blocks come and go as well.
            let body = update((number * 3 + round % 999) as u16, round, &[number + 1]);
            reflector.update(0, &body, &mut reading()).expect("it is sound");
        }
        if round % 3 > 0 {
            settle(&mut reflector, &[0, 1]);
        }
        reflector.close(0, FamilySet::NONE);
        if round % 2 > 0 {
            settle(&mut reflector, &[1]);
            assert_eq!((reflector.attributes(), reflector.count(FAMILY)), (0, (0, 0)));
        }
        if round == 300 {
            memory = reflector.memory();
        }
        assert!(round <= 300 || reflector.memory() <= 2 * memory, "{}", reflector.memory());
    }
}

/// - `route-reflector`, RFC 4271 section 8: connections without an OPEN are few at a time, end by
///   themselves, and keep nobody else away
#[test]
fn floods_of_connections_end_by_themselves() {
    let dynamic = json!([{"network": "10.0.0.0/8", "peers-max": 100}]);
    let peers = json!([{"address": "192.0.2.9", "passive": true}]);
    let config = config(json!({"dynamic": dynamic, "peers": peers}));
    let setup = Setup { function: None, state: Vec::new(), seed: 1 };
    let mut reflector = RouteReflector::new(&config, setup).expect("it may be");
    let mut open = std::collections::BTreeSet::new();
    let mut drain = |reflector: &mut RouteReflector, now: Time, new: Option<Socket>| {
        open.extend(new);
        while let Some(output) = reflector.poll(now) {
            match output {
                Output::Departure(Departure::Close { socket }) => {
                    assert!(open.remove(&socket), "{socket:?} is open");
                }
                Output::Departure(_) => {}
                Output::Report(Action::Line(_)) => {}
                Output::<Action>::Report(report) => panic!("{report:?}"),
            }
        }
        open.len()
    };
    let mut now = Time::ZERO;
    drain(&mut reflector, now, None);
    for number in 0..50_000_u32 {
        let socket = Socket(1 << 20 | number);
        // Half of them from everywhere, half from a few, again and again.
        let host = if number % 2 == 0 { number } else { number % 64 };
        let [_, two, three, four] = host.to_be_bytes();
        let peer = Some(([10, two, three, four], 5000).into());
        let connected = Arrival::Connected { socket, local: None, peer };
        reflector.input(now, Input::Arrival(connected));
        let count = drain(&mut reflector, now, Some(socket));
        assert!(count <= 200 && reflector.neighbours(now).len() <= 101, "{count} are open");
        now = now.after(std::time::Duration::from_micros(20));
    }
    // One that is named is not kept away.
    let socket = Socket(1 << 21);
    let peer = Some(([192, 0, 2, 9], 5000).into());
    reflector.input(now, Input::Arrival(Arrival::Connected { socket, local: None, peer }));
    drain(&mut reflector, now, Some(socket));
    let named = |one: &protocol_kit::Neighbour| one.address == "192.0.2.9";
    let all = reflector.neighbours(now);
    assert!(all.iter().any(|one| named(one) && one.state == "opensent"), "{all:?}");
    let mut left = usize::MAX;
    while let Some(at) = reflector.deadline().filter(|_| left > 0) {
        now = now.max(at);
        left = drain(&mut reflector, now, None);
    }
    assert_eq!(reflector.neighbours(now).len(), 1, "the named one stays");
    let minutes = now.since(Time::ZERO).as_secs() / 60;
    assert!((4..6).contains(&minutes), "an OPEN is waited for {minutes} minutes");
}
