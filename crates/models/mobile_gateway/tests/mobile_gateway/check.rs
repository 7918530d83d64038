//! The functional check itself, over a matrix of configurations.
use std::collections::BTreeSet;
use std::net::Ipv6Addr;

use function_kit::Shard;
use function_mobile_gateway::config::{Fragment, Fragments, Tunnel, UserToUser};
use function_mobile_gateway::reasons;
use model_kit::Model;
use model_mobile_gateway::MobileGateway;
use model_mobile_gateway::Section;
use model_mobile_gateway::Traffic;
use model_mobile_gateway::sample::{sample, unreachable};
use testkit::pair::Pair;
use units::BytesPerSec;

use crate::frames::user_networks;

fn matrix() -> impl Iterator<Item = Section> {
    let tunnels = [Tunnel::GtpU, Tunnel::Vxlan];
    let switches = [(false, false), (false, true), (true, false), (true, true)];
    let rates = [(1.0, 5.0), (10_000.0, 5.0), (1.25e6, 0.0), (40e9, 5.0), (125e6, 20.0)];
    let shapes = [(1, 1, 1, 1), (1000, 10, 20, 3), (100, 3, 300, 2)];
    // Fragments; MTUs towards base stations and the Internet; errors, reports and pings a second,
    // of which no sum of pauses earns half a one; and what users may send each other.
    let rooms = [
        (Fragments::default(), (0, 0), (0, 0, 1000), None),
        (SMALL, (1400, 1300), (997, 89, 3), Some(UserToUser::Tunnel)),
        (Fragments { datagrams: 0, ..SMALL }, (1200, 0), (9973, 9973, 0), Some(UserToUser::Drop)),
    ];
    let number_of = move |number: usize| (shapes[number % 3], rooms[number % 3]);
    let sizes = rates.into_iter().enumerate().map(move |(number, rate)| (rate, number_of(number)));
    sizes.flat_map(
        move |((rate, burst_ms), ((user, bst, server, nhop), (fragments, mtus, said, between)))| {
            tunnels.into_iter().flat_map(move |tunnel| {
                switches.into_iter().map(move |(ipv6, fakedrop)| Section {
                    tunnel: Some(tunnel),
                    ipv6,
                    fakedrop,
                    rate_limit: BytesPerSec(rate),
                    burst_ms,
                    mss_clamp: if user == 1 { 0 } else { 1200 },
                    fragments,
                    user_networks: match between {
                        Some(_) if !fakedrop => user_networks(),
                        _ => Vec::new(),
                    },
                    user_to_user: between.unwrap_or(UserToUser::Core),
                    check_ports: mtus.1 > 0,
                    access_mtu: mtus.0,
                    core_mtu: mtus.1,
                    fragment: if fakedrop { Fragment::Tunnel } else { Fragment::Packet },
                    icmp_errors_per_s: said.0,
                    icmp_error_burst: 7,
                    gtp_errors_per_s: said.1,
                    pings_per_s: said.2,
                    gw_ipv6: (!fakedrop)
                        .then_some(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xfe)),
                    user,
                    bst,
                    server,
                    nhop,
                    ..Section::default()
                })
            })
        },
    )
}

/// Room for few fragments.
const SMALL: Fragments = Fragments {
    datagrams: 8,
    datagrams_per_sender: 4,
    waiting: 64,
    waiting_per_sender: 32,
    timeout_s: 0.5,
};

/// Checks the sample on each of so many workers and yields the drop reasons that were not met.
fn run(config: &Section, count: u32) -> BTreeSet<&'static str> {
    let (mut config, mut traffic) = (config.clone(), Traffic::default());
    MobileGateway::validate(&mut config, &mut traffic).expect("a valid configuration");
    let steps = sample(&config, &traffic);
    let mut uncovered: BTreeSet<&str> = reasons::NAMES.iter().copied().collect();
    for index in 0..count {
        let mut pair = Pair::<MobileGateway>::new(&config, Shard { index, count });
        pair.take(&steps).unwrap_or_else(|what| panic!("worker {index} of {config:?}:\n{what}"));
        assert!(pair.coverage["access"] > 10 && pair.coverage["core"] > 10, "{:?}", pair.coverage);
        uncovered.retain(|name| pair.uncovered().contains(name));
    }
    uncovered
}

#[test]
fn pipeline_and_oracle_agree_on_the_sample_and_it_reaches_every_drop_reason() {
    for config in matrix() {
        let expected = unreachable(&config).into_iter().map(|(name, _)| name).collect();
        assert_eq!(run(&config, 1), expected, "not covered by {config:?}");
    }
}

#[test]
fn each_worker_agrees_on_the_sample() {
    for config in matrix().step_by(5) {
        let mut expected: BTreeSet<_> = unreachable(&config).iter().map(|one| one.0).collect();
        let mut uncovered = run(&config, 3);
        if config.gtp_errors_per_s > 0 {
            // A worker asks another one, within the limit.
            let reason = "unknown-teid";
            expected.remove(reason);
            uncovered.remove(reason);
        }
        assert_eq!(uncovered, expected, "not covered by {config:?}");
    }
}

#[test]
fn a_sample_is_of_moderate_size_whatever_the_number_of_users() {
    let steps = |user| {
        let config = Section { user, ..Section::default() };
        sample(&config, &Traffic::default()).len()
    };
    assert!((500..6000).contains(&steps(1)), "{} steps", steps(1));
    assert_eq!(steps(1), steps(1_000_000));
}
