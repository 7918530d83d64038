//! The functional check itself, over every kind of configuration; and what the workload expects.

use std::collections::BTreeSet;

use function_kit::{NetworkFunction, Shard};
use function_l3_router::config::Dir;
use function_l3_router::reasons;
use model_kit::Model;
use model_kit::check::Expected;
use model_kit::erased::{Kind, Unit};
use model_l3_router::sample::{sample, unreachable};
use model_l3_router::{Generated, L3Router, Section, Traffic};
use serde_json::json;
use testkit::pair::Pair;
use traffic::{Changes, Delivery, Distribution, Frames, Sizes, Stamp};

use crate::frames::{kinds, valid, workload, workload_frame};

#[test]
fn pipeline_and_oracle_agree_on_the_sample_and_it_reaches_every_drop_reason() {
    for config in kinds() {
        let (config, traffic) = valid(&config, &Traffic::default());
        let steps = sample(&config, &traffic);
        let mut pair = Pair::<L3Router>::new(&config, Shard::WHOLE);
        let made = L3Router::config(&config);
        let remembered = |pair: &mut Pair<L3Router>| {
            let function = pair.device_mut().function_mut();
            function_l3_router::L3Router::memory(&made, Shard::WHOLE, function, 0)
        };
        let before = remembered(&mut pair);
        pair.take(&steps).unwrap_or_else(|what| panic!("{config:?}:\n{what}"));
        let uncovered: BTreeSet<&str> = pair.uncovered().into_iter().collect();
        let expected = unreachable(&config).into_iter().map(|(name, _)| name).collect();
        assert_eq!(uncovered, expected, "not covered by {config:?}");
        let names = pair.ports().to_vec();
        assert!(names[..2].iter().all(|name| pair.coverage[&**name] > 10));
        let kinds = names.len() + usize::from(config.config.punt || config.config.is_hosted());
        assert_eq!(reasons::NAMES.len() - expected.len() + kinds, pair.coverage.len());
        // The sample leaves the router as it was.
        assert_eq!(remembered(&mut pair), before);
    }
}

#[test]
fn a_sample_is_of_moderate_size_whatever_the_number_of_routes() {
    let steps = |size| {
        let generated = Generated { upstream_l3_table_size: size, ..Generated::default() };
        let config = Section { generated, ..Section::default() };
        sample(&config, &Traffic::default()).len()
    };
    assert!((300..2000).contains(&steps(1)), "{} steps", steps(1));
    assert_eq!(steps(1), steps(1_000_000));
}

#[test]
fn every_frame_of_the_workload_arrives_as_the_workload_expects() {
    for config in kinds() {
        let traffic = Traffic {
            dir: Dir::Bidir,
            pkt_size: Sizes::mix(&traffic::sizes::IMIX).expect("a mix"),
            ipv6_share: if config.config.ipv6 { 0.4 } else { 0.0 },
            route_draw: Distribution::Zipf(1.0),
            ..Traffic::default()
        };
        let (config, traffic) = valid(&config, &traffic);
        let mut routed = workload(&config, &traffic);
        let mut pair = Pair::<L3Router>::new(&config, Shard::WHOLE);
        for sequence in 0..2000 {
            for (index, direction) in routed.directions().to_vec().iter().enumerate() {
                let frame = workload_frame(&routed, index, sequence);
                let draw = routed.draw(index, sequence);
                let verdict = pair.frame(direction.from, &frame).expect("they agree");
                let Expected::Forward { port, frame } = verdict else {
                    panic!("{draw:?} of {config:?}: {verdict:?}")
                };
                let stamp = Stamp::read(&frame).expect("a stamp");
                let delivery = routed.delivery(index, &draw, &stamp, port, &frame);
                assert_eq!(delivery, Delivery::AsExpected, "{draw:?} of {config:?}");
                // Destination, source, type, hops left, and an octet of an address.
                let hops = if draw.ipv6 { 21 } else { 22 };
                for spoiled in [0, 7, 12, hops, 29] {
                    let mut frame = frame.clone();
                    frame[spoiled] ^= 1;
                    let delivery = routed.delivery(index, &draw, &stamp, port, &frame);
                    assert_eq!(delivery, Delivery::Misdelivered, "byte {spoiled}");
                }
            }
        }
    }
}

#[test]
fn values_out_of_their_limits_are_told_by_the_paths_of_their_keys() {
    for (key, section) in [
        ("ports", json!({"ports": [{"name": "lan", "mac": "02:00:00:00:00:01"}]})),
        ("ecmp-buckets", json!({"ecmp-buckets": 100})),
        ("interfaces[0].vlan", json!({"interfaces": [{"port": "uplink", "vlan": 4095}]})),
        ("interfaces[0].mtu", json!({"interfaces": [{"port": "uplink", "mtu": 1279}]})),
        (
            "interfaces[0].vxlan.vni",
            json!({"interfaces": [
                {"port": "uplink", "vlan": 1, "vxlan": {"vni": 1 << 24, "remote": "10.1.0.9"}},
            ]}),
        ),
        (
            "next-hop-groups[0].members[0].weight",
            json!({"next-hop-groups": [{"members": [{"next-hop": 0, "weight": 0}]}]}),
        ),
        ("ingress-acl[0].dscp", json!({"ingress-acl": [{"action": "deny", "dscp": 64}]})),
        ("egress-acl[0].policer", json!({"egress-acl": [{"action": "deny", "policer": 1 << 20}]})),
        ("policers-by-source.count", json!({"policers-by-source": {"count": 0}})),
        ("remark.red", json!({"remark": {"red": 64}})),
        ("fluct-group-table", json!({"fluct-group-table": 1_000_001})),
        ("ecmp-weights[1]", json!({"ecmp-members": 2, "ecmp-weights": [1, 0]})),
    ] {
        let keys = section.as_object().expect("keys").clone();
        let read = Unit::<L3Router>::new().read(keys, serde_json::Map::new());
        assert_eq!(read.err().expect("it is out of its limits").key, key);
    }
    for (key, traffic) in [
        ("route-draw.zipf", json!({"route-draw": {"zipf": 0}})),
        ("pkt-size", json!({"pkt-size": {"64": 1, "9019": 1}})),
        ("random-seed", json!({"random-seed": 0})),
    ] {
        let keys = traffic.as_object().expect("keys").clone();
        let read = Unit::<L3Router>::new().read(serde_json::Map::new(), keys);
        assert_eq!(read.err().expect("it is out of its limits").path(), format!("traffic.{key}"));
    }
}

#[test]
fn the_probe_of_a_change_shows_it_once_and_until_it_is_undone() {
    let generated =
        Generated { fluct_l3_table: 4.0, fluct_group_table: 4.0, ..Generated::default() };
    let config = Section { generated, ..Section::default() };
    for dir in [Dir::Uplink, Dir::Downlink, Dir::Bidir] {
        let (config, traffic) = valid(&config, &Traffic { dir, ..Traffic::default() });
        let mut workload = workload(&config, &traffic);
        let mut pair = Pair::<L3Router>::new(&config, Shard::WHOLE);
        assert_eq!(workload.events().len(), 2);
        let mut shown = 0;
        for (kind, number) in (0..40).flat_map(|number| (0..2).map(move |kind| (kind, number))) {
            let Some(change) = workload.next_update(kind, number) else { continue };
            assert_eq!(workload.kind_of(change.subject), Some(kind));
            assert_eq!(pair.update(&change.update), Ok(true), "{change:?}");
            let Some((direction, draw)) = workload.probe(change.subject) else { continue };
            for again in [false, true] {
                let mut frame = vec![0; workload.frame_len(&draw)];
                workload.write(&draw, Stamp::default(), &mut frame);
                let from = workload.directions()[direction].from;
                let verdict = pair.frame(from, &frame).expect("they agree");
                let Expected::Forward { port, frame } = verdict else {
                    panic!("{change:?} does not show: {verdict:?}")
                };
                let delivery = workload.delivery(direction, &draw, &Stamp::default(), port, &frame);
                let expected =
                    if again { Delivery::AsExpected } else { Delivery::Shows(change.subject) };
                assert_eq!(delivery, expected, "{change:?}");
            }
            shown += 1;
        }
        assert!(shown >= 10, "{shown} changes were seen");
        assert!(pair.coverage.keys().all(|name| ["uplink", "downlink"].contains(&&**name)));
    }
}
