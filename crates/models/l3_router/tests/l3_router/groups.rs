//! The laws of groups of next hops, through the router and beside its oracle: a change moves only
//! the flows that it must, and the spread is as even as chance allows.

use function_l3_router::config::UPLINK;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use function_kit::Shard;
use function_l3_router::Update;
use function_l3_router::config::{Config, Group, Mac, Member, NextHop, Prefixed, Route};
use model_kit::check::Expected;
use model_l3_router::{Generated, L3Router, Section};
use packet::PortId;
use proptest::prelude::*;
use testkit::pair::Pair;
use wire::{MacAddr, ethernet, ipv4, ipv6, protocol};

use crate::frames::valid;

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]
    #[test]
    fn a_member_that_comes_or_goes_moves_only_its_own_flows(
        weights in proptest::collection::vec(1u16..9, 2..12),
        which in any::<proptest::sample::Index>(),
        takes_the_next_hop in any::<bool>(),
        seed in any::<u32>(),
    ) {
        let router = router(&weights, seed);
        let mut pair = Pair::<L3Router>::new(&router, Shard::WHOLE);
        let flows: Vec<Vec<u8>> = flows_by_port(150).chain(flows_of_ipv6(150)).collect();
        let before = members_of(&mut pair, &flows);
        let place = which.index(weights.len()) as u32;
        let next_hop = place;
        let (leave, arrive) = match takes_the_next_hop {
            true => (
                Update::RemoveNextHop { number: next_hop },
                Update::SetNextHop { number: next_hop, next_hop: neighbour(place) },
            ),
            false => (
                Update::RemoveGroupMember { group: 0, next_hop },
                Update::SetGroupMember { group: 0, next_hop, weight: weights[place as usize] },
            ),
        };
        prop_assert_eq!(pair.update(&leave.said()), Ok(true));
        let without = members_of(&mut pair, &flows);
        for (before, without) in before.iter().zip(&without) {
            prop_assert!(*without != place);
            prop_assert!(without == before || *before == place);
        }
        prop_assert_eq!(pair.update(&arrive.said()), Ok(true));
        let after = members_of(&mut pair, &flows);
        for (without, after) in without.iter().zip(&after) {
            prop_assert!(without == after || *after == place);
        }
        // One that weighs more takes flows and gives none.
        let heavier = Update::SetGroupMember { group: 0, next_hop, weight: 500 };
        prop_assert_eq!(pair.update(&heavier.said()), Ok(true));
        for (after, more) in after.iter().zip(members_of(&mut pair, &flows)) {
            prop_assert!(more == *after || more == place);
        }
    }
}

#[test]
fn flows_are_spread_by_weight_as_evenly_as_chance_allows() {
    for weights in [vec![1; 16], vec![1; 3], vec![5, 1, 2]] {
        let router = router(&weights, 0);
        let kinds: [(&str, Vec<Vec<u8>>); 4] = [
            ("ports", flows_by_port(6000).collect()),
            ("destinations", flows_by_destination(6000).collect()),
            ("hosts without ports", flows_without_ports(6000).collect()),
            ("IPv6", flows_of_ipv6(6000).collect()),
        ];
        for (about, flows) in kinds {
            let mut pair = Pair::<L3Router>::new(&router, Shard::WHOLE);
            let members = members_of(&mut pair, &flows);
            let chi_squared = chi_squared(&members, &shares(&weights));
            assert!(chi_squared < CHI_SQUARED_MAX, "{about}, {weights:?}: {chi_squared}");
        }
    }
}

#[test]
fn all_fragments_of_a_datagram_go_one_way() {
    let mut pair = Pair::<L3Router>::new(&router(&[1; 8], 3), Shard::WHOLE);
    let mut ways = BTreeMap::new();
    for last in 0..40 {
        let to = Ipv4Addr::new(198, 51, 100, last);
        // The later ones begin with what would be other ports.
        let parts: Vec<Vec<u8>> = [(0x2000, 1000), (0x2003, 2000), (0x0006, 3000)]
            .map(|(place, port)| packet_ipv4(to, protocol::UDP, port, place))
            .to_vec();
        let members = members_of(&mut pair, &parts);
        assert!(members.iter().all(|member| *member == members[0]), "{members:?}");
        *ways.entry(members[0]).or_insert(0) += 1;
    }
    assert!(ways.len() > 4, "{ways:?}");
}

#[test]
fn a_second_router_spreads_what_a_first_one_sends_it_if_its_seed_is_another() {
    let weights = [1; 4];
    let flows: Vec<Vec<u8>> = flows_by_port(8000).collect();
    let mut first = Pair::<L3Router>::new(&router(&weights, 1), Shard::WHOLE);
    let members = members_of(&mut first, &flows);
    let pairs = flows.iter().zip(members);
    let sent: Vec<Vec<u8>> =
        pairs.filter(|(_, member)| *member == 2).map(|(frame, _)| frame.clone()).collect();
    assert!(sent.len() > 1000, "{} flows", sent.len());
    for (seed, is_even) in [(1, false), (2, true)] {
        let mut second = Pair::<L3Router>::new(&router(&weights, seed), Shard::WHOLE);
        let chi_squared = chi_squared(&members_of(&mut second, &sent), &shares(&weights));
        assert_eq!(chi_squared < CHI_SQUARED_MAX, is_even, "seed {seed}: {chi_squared}");
    }
}

/// A router with default routes to one group, whose members have these weights.
fn router(weights: &[u16], ecmp_seed: u32) -> Section {
    let members =
        (0u32..).zip(weights).map(|(hop, &weight)| Member { next_hop: hop.into(), weight });
    let route = |text: &str| Route {
        prefix: Prefixed::try_from(text.to_owned()).expect("a prefix"),
        next_hop: None,
        group: Some(0),
        vrf: 0,
    };
    let config = Config {
        ipv6: true,
        next_hops: (0..weights.len() as u32).map(neighbour).collect(),
        next_hop_groups: vec![Group { members: members.collect() }],
        routes: vec![route("0.0.0.0/0"), route("::/0")],
        ecmp_seed,
        ..Config::default()
    };
    valid(&listed_alone(config), &Default::default()).0
}

/// A router without generated routes.
pub fn listed_alone(config: Config) -> Section {
    let generated = Generated {
        upstream_l3_table_size: 0,
        downstream_l3_table_size: 0,
        ..Generated::default()
    };
    Section { generated, config }
}

fn neighbour(place: u32) -> NextHop {
    let mac = Mac(MacAddr([0x0a, 0, 0, 0, 0, place as u8]));
    NextHop {
        port: UPLINK,
        vlan: None,
        mac,
        source: None,
        ip: None,
        ipv6: None,
        bfd: None,
        name: None,
    }
}

/// By which member each frame leaves; pipeline and oracle agree.
fn members_of(pair: &mut Pair<L3Router>, frames: &[Vec<u8>]) -> Vec<u32> {
    let member = |frame: &Vec<u8>| {
        let became = pair.frame(PortId(0), frame).expect("they agree");
        let Expected::Forward { frame, .. } = became else { panic!("{became:?}") };
        u32::from(frame[5])
    };
    frames.iter().map(member).collect()
}

/// The part of 256 buckets that each member has.
fn shares(weights: &[u16]) -> Vec<f64> {
    let weights: Vec<u32> = weights.iter().map(|&weight| weight.into()).collect();
    let buckets = Config::default().ecmp_buckets as usize;
    let shares = tables::oracle::shares(&weights, buckets);
    shares.into_iter().map(|share| share as f64 / buckets as f64).collect()
}

/// Pearson's statistic of how often each member was taken.
fn chi_squared(members: &[u32], shares: &[f64]) -> f64 {
    let terms = (0..).zip(shares).map(|(member, share)| {
        let expected = share * members.len() as f64;
        let taken = members.iter().filter(|&&taken| taken == member).count() as f64;
        (taken - expected).powi(2) / expected
    });
    terms.sum()
}

fn flows_by_port(count: u16) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(|flow| packet_ipv4(HOST, protocol::TCP, 1024 + flow, 0))
}

fn flows_by_destination(count: u32) -> impl Iterator<Item = Vec<u8>> {
    let first = Ipv4Addr::new(198, 51, 100, 0).to_bits();
    (0..count)
        .map(move |flow| packet_ipv4(Ipv4Addr::from_bits(first + flow), protocol::UDP, 4000, 0))
}

fn flows_without_ports(count: u32) -> impl Iterator<Item = Vec<u8>> {
    let first = Ipv4Addr::new(100, 64, 0, 1).to_bits();
    (0..count).map(move |flow| packet_ipv4(Ipv4Addr::from_bits(first + 256 * flow), 50, 4000, 0))
}

fn flows_of_ipv6(count: u16) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(|flow| {
        let mut header = [0; ipv6::HEADER_LEN];
        ipv6::Fields {
            traffic_class: 0,
            flow_label: 1,
            payload_len: 8,
            next_header: protocol::UDP,
            hop_limit: 64,
            source: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1),
            destination: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, flow / 3),
        }
        .emit(&mut header);
        let ports = [[0x10, (flow % 3) as u8], [0, 9], [0, 8], [0, 1]].concat();
        framed(ethernet::TYPE_IPV6, &[&header[..], &ports].concat())
    })
}

/// A packet from a port, with a word of flags and fragment offset.
fn packet_ipv4(destination: Ipv4Addr, protocol: u8, port: u16, place: u16) -> Vec<u8> {
    let mut header = [0; ipv4::HEADER_LEN];
    ipv4::Fields {
        dscp: 0,
        ecn: 0,
        total_len: 44,
        identification: 7,
        dont_fragment: false,
        more_fragments: place & 0x2000 != 0,
        fragment_offset: place & 0x1fff,
        ttl: 64,
        protocol,
        source: Ipv4Addr::new(198, 18, 1, 1),
        destination,
    }
    .emit(&mut header);
    let mut payload = [0; 24];
    payload[..2].copy_from_slice(&port.to_be_bytes());
    payload[3] = 9;
    framed(ethernet::TYPE_IPV4, &[&header[..], &payload].concat())
}

fn framed(ether_type: u16, packet: &[u8]) -> Vec<u8> {
    let own = Config::default().downlink_mac.0.0;
    [&own[..], &[0x0a, 0, 0, 0, 1, 0], &ether_type.to_be_bytes(), packet].concat()
}

const HOST: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

/// With 15 degrees of freedom, chance alone goes beyond it once in a million times; the flows are
/// always the same.
const CHI_SQUARED_MAX: f64 = 55.0;
