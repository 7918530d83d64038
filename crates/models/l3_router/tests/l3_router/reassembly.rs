//! The laws of virtual reassembly, through the router and beside its oracle: no order and no
//! overlap of fragments gets past a rule on ports, and no flood takes more room than there is.

use function_l3_router::config::UPLINK;
use std::net::Ipv4Addr;

use function_kit::Shard;
use function_l3_router::config::{
    AclRule, Action, Config, EarlyFragments, Group, Mac, Member, NextHop, Ports, Prefixed, Route,
};
use model_kit::check::Expected;
use model_l3_router::{L3Router, Section};
use packet::PortId;
use proptest::prelude::*;
use testkit::pair::Pair;
use wire::{MacAddr, ethernet, ipv4, protocol};

use crate::frames::valid;
use crate::groups::listed_alone;

/// Start and length in units of 8 bytes, and whether others follow.
type Part = (u16, u16, bool);

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]
    #[test]
    fn whatever_the_fragments_what_is_forwarded_never_overlaps_and_obeys_the_ports(
        parts in proptest::collection::vec((0u16..12, 1u16..6, any::<bool>()), 1..40),
        port in prop_oneof![Just(DENIED), Just(PERMITTED)],
    ) {
        let mut pair = Pair::<L3Router>::new(&router(64, EarlyFragments::Drop), Shard::WHOLE);
        let mut forwarded: Vec<(u16, u16)> = Vec::new();
        for (start, len, more) in parts {
            let end = start + len;
            if goes(&mut pair, &fragment(7, port, (start, len, more))).is_none() {
                continue;
            }
            // A later fragment shows no port, and yet none of the denied datagram passes.
            prop_assert_eq!(port, PERMITTED);
            let is_no_fragment = start == 0 && !more;
            if is_no_fragment {
                continue;
            }
            // A datagram that is whole is forgotten, and another one may have its number.
            if start == 0 {
                forwarded.clear();
            }
            let is_over = forwarded.iter().any(|&(from, to)| from < end && start < to);
            prop_assert!(!is_over, "{start}..{end} over {forwarded:?}");
            forwarded.push((start, end));
        }
    }

    #[test]
    fn every_fragment_behind_the_first_goes_the_way_of_the_whole_datagram(
        cuts in proptest::collection::btree_set(3u16..40, 0..6),
        order in any::<u64>(),
        port in 1000u16..3000,
        identification in any::<u16>(),
    ) {
        let mut pair = Pair::<L3Router>::new(&router(64, EarlyFragments::Drop), Shard::WHOLE);
        let way = goes(&mut pair, &whole(port)).expect("it is permitted");
        let ends: Vec<u16> = cuts.into_iter().chain([40]).collect();
        let starts = [0].into_iter().chain(ends.iter().copied());
        let parts = starts.zip(&ends).map(|(start, &end)| (start, end - start, end < 40));
        let mut parts: Vec<Part> = parts.collect();
        let mut random = testkit::random::Random::new(order);
        for at in (2..parts.len()).rev() {
            parts.swap(at, 1 + random.below(at));
        }
        for part in parts.iter().filter(|_| ends.len() > 1) {
            prop_assert_eq!(goes(&mut pair, &fragment(identification, port, *part)), Some(way));
        }
        prop_assert_eq!(pair.device_mut().function_mut().datagrams().0, 0, "it is whole");
    }
}

#[test]
fn no_flood_takes_more_room_than_there_is_and_none_keeps_others_out() {
    let mut pair = Pair::<L3Router>::new(&router(64, EarlyFragments::Drop), Shard::WHOLE);
    // Later fragments without a first one leave nothing behind.
    for identification in 0..20_000 {
        assert_eq!(goes(&mut pair, &fragment(identification, PERMITTED, (3, 2, true))), None);
    }
    assert_eq!(pair.device_mut().function_mut().datagrams(), (0, 64));
    assert_eq!(pair.coverage["fragment-early"], 20_000);
    // First ones of datagrams that never end push each other out, and the oldest first.
    for identification in 0..20_000 {
        let flood = fragment(identification, PERMITTED, (0, 3, true));
        assert!(goes(&mut pair, &flood).is_some());
        assert!(pair.device_mut().function_mut().datagrams().0 <= 64);
        if identification % 100 == 63 {
            let own = 30_000 + identification;
            assert!(goes(&mut pair, &fragment(own, PERMITTED, (0, 3, true))).is_some());
            assert!(goes(&mut pair, &fragment(own, PERMITTED, (3, 2, false))).is_some());
        }
    }
    // Of these, those are remembered that are young enough.
    let remembers = |pair: &mut Pair<L3Router>, identification| {
        goes(pair, &fragment(identification, PERMITTED, (3, 2, true))).is_some()
    };
    assert!(remembers(&mut pair, 19_999) && remembers(&mut pair, 19_940));
    assert!(!remembers(&mut pair, 19_900));
}

#[test]
fn early_fragments_go_by_what_the_configuration_says() {
    let later = fragment(1, DENIED, (3, 2, true));
    for (early, passes) in [(EarlyFragments::Drop, false), (EarlyFragments::Pass, true)] {
        let mut pair = Pair::<L3Router>::new(&router(64, early), Shard::WHOLE);
        assert_eq!(goes(&mut pair, &later).is_some(), passes);
        assert_eq!(goes(&mut pair, &fragment(1, DENIED, (0, 3, true))), None);
        assert_eq!(goes(&mut pair, &later), None, "its port is known to be denied");
    }
}

/// A router that denies a port, with a default route to four next hops.
fn router(capacity: u32, early_fragments: EarlyFragments) -> Section {
    let ports = Some(Ports { first: DENIED, last: DENIED });
    let deny = AclRule { destination_ports: ports, ..AclRule::for_all(Action::Deny) };
    let hop = |last| NextHop {
        port: UPLINK,
        vlan: None,
        mac: Mac(MacAddr([0x0a, 0, 0, 0, 0, last])),
        source: None,
        ip: None,
        ipv6: None,
        bfd: None,
        name: None,
    };
    let members = (0..4).map(|hop: u32| Member { next_hop: hop.into(), weight: 1 }).collect();
    let config = Config {
        next_hops: (0..4).map(hop).collect(),
        next_hop_groups: vec![Group { members }],
        routes: vec![Route {
            prefix: Prefixed::try_from("0.0.0.0/0".to_owned()).expect("a prefix"),
            next_hop: None,
            group: Some(0),
            vrf: 0,
        }],
        ingress_acl: vec![deny, AclRule::for_all(Action::Permit)],
        virtual_reassembly: true,
        reassembly_capacity: capacity,
        early_fragments,
        ..Config::default()
    };
    valid(&listed_alone(config), &Default::default()).0
}

/// The next hop to which a frame goes, if it goes on; pipeline and oracle agree.
fn goes(pair: &mut Pair<L3Router>, frame: &[u8]) -> Option<u8> {
    match pair.frame(PortId(0), frame).expect("they agree") {
        Expected::Forward { frame, .. } => Some(frame[5]),
        Expected::Drop(_) | Expected::Punt => None,
    }
}

/// A part of a datagram to a port; what is behind the first part looks like other ports.
fn fragment(identification: u16, port: u16, (start, len, more): Part) -> Vec<u8> {
    let mut data = vec![0xff; 8 * usize::from(len)];
    if start == 0 {
        data[2..4].copy_from_slice(&port.to_be_bytes());
    }
    framed(identification, (start, more), &data)
}

fn whole(port: u16) -> Vec<u8> {
    let mut data = vec![0xff; 8 * 40];
    data[2..4].copy_from_slice(&port.to_be_bytes());
    framed(0, (0, false), &data)
}

fn framed(identification: u16, (start, more): (u16, bool), data: &[u8]) -> Vec<u8> {
    let mut header = [0; ipv4::HEADER_LEN];
    ipv4::Fields {
        dscp: 0,
        ecn: 0,
        total_len: (ipv4::HEADER_LEN + data.len()) as u16,
        identification,
        dont_fragment: false,
        more_fragments: more,
        fragment_offset: start,
        ttl: 64,
        protocol: protocol::UDP,
        source: Ipv4Addr::new(198, 18, 1, 1),
        destination: Ipv4Addr::new(198, 51, 100, 7),
    }
    .emit(&mut header);
    let own = Config::default().downlink_mac.0.0;
    let ether_type = ethernet::TYPE_IPV4.to_be_bytes();
    [&own[..], &[0x0a, 0, 0, 0, 1, 0], &ether_type, &header, data].concat()
}

const DENIED: u16 = 53;
const PERMITTED: u16 = 4000;
