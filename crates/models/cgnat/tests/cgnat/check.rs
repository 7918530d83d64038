//! The functional check itself, over all kinds of configurations.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use function_cgnat::Update;
use function_cgnat::config::{
    Alg, Config, DsLite, Filtering, Fragments, Nat64, Pcp, PortBlocks, Timeouts,
};
use function_cgnat::reasons::{self, TALLIES, Tally};
use function_kit::{NetworkFunction, Shard};
use model_cgnat::Cgnat;
use model_cgnat::sample::unreachable;
use testkit::pair::Pair;

use crate::frames::{
    GATEWAYS, asking, kinds, logged, net, port_forwarding, siit, steps, traffic, valid,
};

fn matrix() -> Vec<Config> {
    let mut all = vec![Config::default()];
    all.extend(kinds());
    let small = &kinds()[0];
    all.push(Config { sessions: 40, mappings: 20, ..small.clone() });
    all.push(Config { sessions: 1, ..small.clone() });
    all.push(Config { subscribers: 5, ..small.clone() });
    all.push(Config { pools: vec![net("198.18.0.0/32")], first_port: 32_768, ..small.clone() });
    all.push(Config {
        port_block: PortBlocks { size: 16_384, per_subscriber: 8 },
        ..Config::default()
    });
    for assignment in ["sequential", "staggered", "filled"] {
        let rule = format!(
            "{{inside: 10.9.0.0/28, outside: 203.0.113.128/31, skip-boundary: true, \
             ports-per-subscriber: 40, dynamic-factor: 2, assignment: {assignment}}}"
        );
        let rule = serde_saphyr::from_str(&rule).expect("a rule");
        all.push(Config { deterministic: vec![rule], ..small.clone() });
    }
    let fragments = Fragments { datagrams: 5000, ..Fragments::default() };
    all.push(Config { fragments, ..Config::default() });
    let rules = kinds()[2].static_rules.clone();
    all.push(Config {
        nat64: Some(Nat64::default()),
        filtering: Filtering::AddressDependent,
        static_rules: rules.clone(),
        ..small.clone()
    });
    all.push(Config { pools: Vec::new(), static_rules: rules, ..small.clone() });
    let narrow = Nat64 { ipv4_mtu: 576, ipv6_mtu: 1280, ..Nat64::default() };
    all.push(Config {
        nat64: Some(narrow),
        icmp_errors_per_s: 5,
        icmp_error_burst: 2,
        hairpinning: false,
        ..small.clone()
    });
    all.extend(with_gateways());
    let vrfs = &kinds()[6];
    let rule = "{realm: 100, inside: 10.9.0.0/28, outside: 203.0.113.128/31, dynamic-factor: 2}";
    all.push(Config {
        alg: GATEWAYS,
        hairpinning: false,
        port_block: PortBlocks { size: 0, per_subscriber: 1 },
        deterministic: vec![serde_saphyr::from_str(rule).expect("a rule")],
        ..vrfs.clone()
    });
    all.push(Config {
        filtering: Filtering::AddressAndPortDependent,
        sessions: 40,
        ..vrfs.clone()
    });
    all.push(Config { vrfs: vrfs.vrfs.clone(), ..kinds()[4].clone() });
    all.extend(without_sessions());
    all.extend(shared_by_hosts());
    all.extend(with_softwires());
    all.extend(with_requests());
    all.extend(with_short_links());
    all.extend(that_ask());
    all.extend(with_interfaces());
    all.extend(logged());
    let logged = &logged()[0];
    all.push(Config { sessions: 40, mappings: 20, ..logged.clone() });
    all.push(Config { subscribers: 5, ..logged.clone() });
    all.push(Config { pools: vec![net("198.18.0.0/32")], first_port: 32_768, ..logged.clone() });
    all
}

/// Application-level gateways, with blocks and without, with room for one connection, and on
/// addresses that subscribers have for themselves.
fn with_gateways() -> Vec<Config> {
    let [small, open] = [&kinds()[0], &kinds()[1]];
    let rules = kinds()[2].static_rules.clone();
    vec![
        Config { alg: GATEWAYS, ..small.clone() },
        Config { alg: Alg { connections: 1, ..GATEWAYS }, tcp_pick_up: false, ..open.clone() },
        Config { alg: GATEWAYS, pools: Vec::new(), static_rules: rules, ..small.clone() },
    ]
}

/// Hosts that share addresses by fixed ports, beside VRFs, without pools, and with nothing else.
fn shared_by_hosts() -> Vec<Config> {
    let (small, vrfs) = (&kinds()[0], &kinds()[6]);
    let rules = kinds()[2].static_rules.clone();
    let alone = Config { pools: Vec::new(), port_forwarding: port_forwarding(), ..small.clone() };
    let rule = "{inside: 10.9.0.16/28, outside: 203.0.113.128/31, ports-per-subscriber: 40}";
    vec![
        Config { port_forwarding: port_forwarding(), ..vrfs.clone() },
        Config { static_rules: rules, hairpinning: false, ..alone.clone() },
        Config {
            deterministic: vec![serde_saphyr::from_str(rule).expect("a rule")],
            sessions: 40,
            ..alone.clone()
        },
        alone,
    ]
}

/// Softwires that are known by whole addresses, alone and beside gateways, VRFs, rules, and without
/// fragments; another kind is among the small NATs.
fn with_softwires() -> Vec<Config> {
    let ds_lite = Some(DsLite::default());
    let [small, open, own, vrfs] = [0, 1, 2, 6].map(|index: usize| kinds()[index].clone());
    let syslog = logged()[3].logging.clone();
    vec![
        Config { ds_lite: ds_lite.clone(), ..Config::default() },
        Config { ds_lite: ds_lite.clone(), logging: syslog, ..small },
        Config { ds_lite: ds_lite.clone(), alg: GATEWAYS, ..open },
        Config { ds_lite: ds_lite.clone(), alg: GATEWAYS, ..own },
        Config { ds_lite, ..vrfs },
    ]
}

/// Links that take less, where all may be told and nobody, beside VRFs, NAT64, softwires, hosts of
/// one address and translation without sessions.
fn with_short_links() -> Vec<Config> {
    let [small, own, nat64, vrfs, clat, shared, ds_lite] =
        [0, 2, 4, 6, 8, 9, 12].map(|index: usize| kinds()[index].clone());
    let syslog = logged()[3].logging.clone();
    vec![
        Config { outside_mtu: 576, icmp_errors_per_s: 1000, ..small.clone() },
        Config { inside_mtu: 577, hairpinning: false, logging: syslog, ..small },
        Config { inside_mtu: 1000, outside_mtu: 1000, ..own },
        Config { inside_mtu: 700, outside_mtu: 1400, ..nat64 },
        Config { inside_mtu: 700, outside_mtu: 900, ..vrfs },
        Config { inside_mtu: 1500, outside_mtu: 1000, ..clat },
        Config { inside_mtu: 1499, outside_mtu: 1498, ..shared },
        Config { inside_mtu: 700, outside_mtu: 1400, icmp_errors_per_s: 1000, ..ds_lite },
    ]
}

/// Next hops that are asked for their MAC addresses, on both sides or on one; those of VRFs too.
fn that_ask() -> Vec<Config> {
    let vrfs = asking(kinds()[6].clone());
    let mut own = Config { timeouts: Timeouts::default(), ..vrfs };
    own.vrfs[1].next_hop = Some(Ipv4Addr::new(192, 168, 255, 254));
    let one_side = asking(kinds()[13].clone());
    let logged = logged()[0].clone();
    vec![
        asking(Config::default()),
        Config { inside_next_hop: None, ..one_side.clone() },
        Config { outside_next_hop: None, ..one_side },
        Config { timeouts: Timeouts::default(), ..asking(kinds()[4].clone()) },
        own,
        asking(kinds()[7].clone()),
        asking(kinds()[8].clone()),
        asking(kinds()[12].clone()),
        asking(logged),
    ]
}

/// Further interfaces: VLANs of both ports and ports of their own, with MAC addresses of next hops
/// and with next hops that are asked, on one side and on both.
fn with_interfaces() -> Vec<Config> {
    let with = |config: Config, all: &[usize]| {
        let all = all.iter().map(|&place| serde_saphyr::from_str(INTERFACES[place]));
        let interfaces = all.collect::<Result<_, _>>().expect("interfaces");
        Config { interfaces, ..config }
    };
    let long = Config { timeouts: Timeouts::default(), ..kinds()[3].clone() };
    vec![
        with(kinds()[2].clone(), &[0, 1]),
        with(kinds()[3].clone(), &[0, 2, 3]),
        with(asking(long), &[3, 1, 0, 2]),
        with(kinds()[4].clone(), &[4, 1]),
        with(kinds()[6].clone(), &[5, 3]),
        with(kinds()[12].clone(), &[6, 0, 2]),
        with(kinds()[13].clone(), &[0, 1]),
        with(logged()[0].clone(), &[1, 0]),
    ]
}

/// Some of each kind.
const INTERFACES: [&str; 7] = [
    "{port: lan2, vlan: 30, side: inside, ip: 100.127.0.1, next-hop-mac: 02:00:00:00:30:01, \
      networks: [10.255.0.0/16]}",
    "{port: outside, vlan: 20, side: outside, ip: 203.0.112.1, next-hop: 203.0.112.2, \
      networks: [11.0.0.0/8, 203.0.113.64/27]}",
    "{port: wan2, side: outside, mac: 02:00:00:00:40:01, ip: 203.0.112.9, \
      next-hop-mac: 02:00:00:00:40:02, networks: [11.55.0.3/32, 11.55.0.128/25]}",
    "{port: lan3, side: inside, mac: 02:00:00:00:50:01, ip: 100.127.1.1, \
      next-hop: 100.127.1.2, networks: [10.255.255.250/31, 10.255.255.255/32]}",
    "{port: lan2, vlan: 31, side: inside, ip: 100.127.2.1, ipv6: 'fe80::31', \
      next-hop-mac: 02:00:00:00:31:01, networks-ipv6: ['2000::/3'], networks: [10.255.0.0/16]}",
    "{port: inside, vlan: 3000, side: inside, ip: 100.127.3.1, next-hop: 100.127.3.2, \
      networks: [10.255.0.0/16]}",
    "{port: lan3, side: inside, ip: 100.127.4.1, ipv6: 'fe80::41', next-hop: 100.127.4.2, \
      next-hop-ipv6: 'fe80::42', networks-ipv6: ['2000::/3']}",
];

/// Mappings that subscribers ask for, with blocks and without, with every kind of filtering and of
/// rule, with logs, and with little room.
fn with_requests() -> Vec<Config> {
    let pcp = Some(Pcp { lifetime_min_s: 20, ..Pcp::default() });
    let few = Some(Pcp { mappings: 2, mappings_per_subscriber: 2, ..Pcp::default() });
    let some = [0, 1, 2, 5, 9, 11].map(|index: usize| kinds()[index].clone());
    let logged = [0, 2, 3].map(|index: usize| logged()[index].clone());
    let small = Config { pcp: few, sessions: 40, ..kinds()[0].clone() };
    let vrfs = kinds()[6].clone();
    let in_realms = Config { ds_lite: kinds()[12].ds_lite.clone(), ..vrfs };
    let with = |config: Config| Config { pcp, ..config };
    some.into_iter().chain(logged).chain([in_realms]).map(with).chain([small]).collect()
}

/// Translation without sessions under the well-known prefix, of IPv4 hosts inside, and by mappings
/// alone; that of other kinds is among the small NATs.
fn without_sessions() -> Vec<Config> {
    let (small, open) = (&kinds()[0], &kinds()[1]);
    let fragments = Fragments { datagrams: 5000, ..Fragments::default() };
    let well_known = "{prefix: '64:ff9b::/96', embedded: [45.20.0.0/24], \
         mappings: [{ipv4: 45.10.0.0/28, ipv6: '2001:db8:45::/124'}]}";
    let nat46 = "{inside-family: ipv4, prefix: '2001:db8:4600::/40', embedded: [10.0.0.0/8], \
         mappings: [{ipv4: 198.51.100.0/28, ipv6: '2001:db8:46::/124', side: outside}]}";
    let alone = "{mappings: [{ipv4: 45.10.0.0/28, ipv6: '2001:db8:45::/124'}, \
         {ipv4: 11.0.0.0/8, ipv6: '2001:db8:11::/48', side: outside}], ipv6-mtu: 1280}";
    let narrow = "{mappings: [{ipv4: 198.51.100.0/26, ipv6: '2001:db8:aa::/64'}], \
         prefix: '2001:db8:6400::/56', ipv4-mtu: 576, ipv6-mtu: 1283}";
    vec![
        Config {
            siit: siit(narrow),
            icmp_errors_per_s: 5,
            icmp_error_burst: 2,
            hairpinning: false,
            ..small.clone()
        },
        Config { siit: siit(well_known), ..open.clone() },
        Config { siit: siit(nat46), fragments, mss_clamp: 1200, ..small.clone() },
        Config { siit: siit(alone), icmp_errors_per_s: 1000, ..small.clone() },
    ]
}

/// Checks the sample on each of so many workers and yields the drop reasons that were not met.
fn run(config: &Config, count: u32) -> BTreeSet<&'static str> {
    let (config, _) = valid(config, &traffic());
    let steps = steps(&config);
    let mut uncovered: BTreeSet<&str> = reasons::NAMES.iter().copied().collect();
    for index in 0..count {
        let shard = Shard { index, count };
        let mut pair = Pair::<Cgnat>::new(&config, shard);
        pair.take(&steps).unwrap_or_else(|what| panic!("worker {index} of {config:?}:\n{what}"));
        let now = pair.now();
        let function = pair.device_mut().function_mut();
        assert_eq!(
            function_cgnat::Cgnat::memory(&config, shard, function, now),
            Vec::<Update>::new()
        );
        let state = function.state();
        assert_eq!(state.sessions.count(), 0, "every session of the sample is over");
        assert_eq!((state.sessions.mappings(), state.subscribers.count()), (0, 0));
        if config.logging.is_some() {
            logs_are_whole(&mut pair);
        }
        uncovered.retain(|name| pair.uncovered().contains(name));
    }
    uncovered
}

/// What was told was told at its time, of what ended the end, too, and nothing was lost.
fn logs_are_whole(pair: &mut Pair<Cgnat>) {
    assert!(pair.reports > 0, "logs came");
    assert_eq!(pair.oracle().told_live(), 0, "all is told to have ended");
    let spread = pair.oracle().told_times_spread_ms();
    assert!(spread.is_some_and(|spread| spread <= 1), "{spread:?} ms between times");
    let counts = pair.device_mut().counts().tallies;
    let count = |tally: Tally| counts[tally as usize];
    let lost = [
        Tally::LogLostSessions,
        Tally::LogLostMappings,
        Tally::LogLostBlocks,
        Tally::LogLostAlarms,
    ];
    assert_eq!(lost.map(count), [0; 4]);
    assert!(count(Tally::LogRecords) >= count(Tally::BlocksAllocated));
}

#[test]
fn pipeline_and_oracle_agree_on_the_sample_and_it_reaches_every_drop_reason() {
    for config in matrix() {
        let expected: BTreeSet<&str> =
            unreachable(&config).into_iter().map(|(name, _)| name).collect();
        assert_eq!(run(&config, 1), expected, "not covered by {config:?}");
    }
}

#[test]
fn the_sample_reaches_everything_that_gateways_count() {
    let mut counted = [0; TALLIES.len()];
    for config in with_gateways() {
        let (config, _) = valid(&config, &traffic());
        let mut pair = Pair::<Cgnat>::new(&config, Shard::WHOLE);
        pair.take(&steps(&config)).unwrap_or_else(|what| panic!("{config:?}:\n{what}"));
        let state = pair.device_mut().function_mut().state();
        assert_eq!(state.algs.connections(), 0, "no sequence numbers are left");
        counted.iter_mut().zip(state.tallies).for_each(|(sum, count)| *sum += count);
    }
    let missing =
        TALLIES.iter().zip(counted).filter(|(name, count)| name.starts_with("alg-") && *count == 0);
    assert_eq!(missing.map(|(name, _)| *name).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn each_worker_agrees_on_the_sample() {
    let rule = "{inside: 10.9.0.0/28, outside: 203.0.113.128/31, ports-per-subscriber: 40, \
                 dynamic-factor: 2}";
    let deterministic = vec![serde_saphyr::from_str(rule).expect("a rule")];
    let deterministic = Config { deterministic, ..kinds()[0].clone() };
    let some = [0, 1, 2, 3, 4, 5, 6, 9, 10, 12, 13].map(|index: usize| kinds()[index].clone());
    let asked = Config { pcp: Some(Pcp::default()), ..kinds()[0].clone() };
    let more = [logged()[0].clone(), deterministic, asked, Config::default()];
    let more = more.into_iter().chain([Config::default(), kinds()[6].clone()].map(asking));
    let further = [0, 2, 4].map(|index: usize| with_interfaces()[index].clone());
    for config in some.into_iter().chain(more).chain(further) {
        let config = Config { core: 2, ..config };
        let mut expected: BTreeSet<&str> =
            unreachable(&config).into_iter().map(|(name, _)| name).collect();
        expected.remove("other-worker");
        assert_eq!(run(&config, 2), expected, "not covered by {config:?}");
    }
}

#[test]
fn a_sample_is_of_moderate_size_whatever_the_numbers() {
    let large = Config { sessions: 100_000_000, subscribers: 1_000_000, ..Config::default() };
    for config in matrix().iter().chain([&large]) {
        let count = steps(config).len();
        assert!((400..16_000).contains(&count), "{count} steps of {config:?}");
    }
}
