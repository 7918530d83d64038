//! The functional check itself, over every kind of configuration; and what the workload expects.

use std::collections::BTreeSet;

use functions::check::Expected;
use functions::l2_switch::config::acl::Rule;
use functions::l2_switch::config::features::{Flapping, MoveLimit};
use functions::l2_switch::config::{Config, Dir, Port, Traffic};
use functions::l2_switch::sample::{sample, unreachable};
use functions::l2_switch::{L2Switch, Update};
use functions::{NetworkFunction, Shard};
use testkit::check::Pair;
use traffic::{Delivery, Distribution, Sizes, Stamp, Workload};

use crate::frames::{kinds, valid, workload, workload_frame};

#[test]
fn pipeline_and_oracle_agree_on_the_sample_and_it_reaches_every_drop_reason() {
    for config in kinds() {
        let (config, traffic) = valid(&config, &Traffic::default());
        let steps = sample(&config, &traffic);
        let mut pair = Pair::<L2Switch>::new(&config, Shard::WHOLE);
        pair.take(&steps).unwrap_or_else(|what| panic!("{config:?}:\n{what}"));
        let uncovered: BTreeSet<&str> = pair.uncovered().into_iter().collect();
        let expected = unreachable(&config).into_iter().map(|(name, _)| name).collect();
        assert_eq!(uncovered, expected, "not covered by {config:?}");
        assert!(pair.coverage["downlink"] > 10 && pair.coverage["uplink"] > 10);
        // The sample leaves the bridge as it was, but for ordinary stations that it taught.
        let now = pair.now();
        let function = pair.device_mut().function_mut();
        let remembered = L2Switch::memory(&config, Shard::WHOLE, function, now);
        let is_ordinary = |update: &Update| match update {
            Update::Learn { mac, .. } => [0xaa, 0xac].contains(&mac.0.0[0]),
            _ => false,
        };
        assert!(remembered.iter().all(is_ordinary), "{remembered:?} of {config:?}");
        assert!(config.preload == remembered.is_empty() || config.station_limit < 20);
    }
}

#[test]
fn a_sample_is_of_moderate_size_whatever_the_number_of_stations() {
    let steps = |size| {
        let config = Config { upstream_table_size: size, ..Config::default() };
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
            ipv6_share: 0.4,
            station_draw: Distribution::Zipf(1.0),
            ..Traffic::default()
        };
        let (config, traffic) = valid(&config, &traffic);
        let mut stations = workload(&config, &traffic);
        let mut pair = Pair::<L2Switch>::new(&config, Shard::WHOLE);
        for sequence in 0..2000 {
            for (index, direction) in stations.directions().to_vec().iter().enumerate() {
                let frame = workload_frame(&stations, index, sequence);
                let draw = stations.draw(index, sequence);
                let verdict = pair.frame(direction.from, &frame).expect("they agree");
                let Expected::Forward { port, frame } = verdict else {
                    panic!("{draw:?} of {config:?}: {verdict:?}")
                };
                let stamp = Stamp::read(&frame).expect("a stamp");
                let delivery = stations.delivery(index, &draw, &stamp, port, &frame);
                assert_eq!(delivery, Delivery::AsExpected, "{draw:?} of {config:?}");
                for spoiled in [0, 5, 6, 11] {
                    let mut frame = frame.clone();
                    frame[spoiled] ^= 1;
                    let delivery = stations.delivery(index, &draw, &stamp, port, &frame);
                    assert_eq!(delivery, Delivery::Misdelivered, "byte {spoiled}");
                }
            }
        }
    }
}

#[test]
fn keys_that_contradict_each_other_are_named() {
    use functions::l2_switch::config::{Mode, Unknown};
    let refused = |config: Config| {
        let error = L2Switch::validate(&mut config.clone(), &mut Traffic::default());
        error.expect_err("it cannot be").key
    };
    let drops = Config { unknown: Some(Unknown::Drop), ..Config::default() };
    assert_eq!(refused(Config { fakedrop: Some(true), ..drops.clone() }), "fakedrop");
    assert_eq!(refused(Config { core: 2, ..drops.clone() }), "unknown");
    assert_eq!(refused(Config { preload: false, learning: false, ..drops }), "preload");
    let switch = crate::frames::vlans();
    let with = |change: fn(&mut Config)| {
        let mut config = switch.clone();
        change(&mut config);
        refused(config)
    };
    assert_eq!(with(|config| config.ports = 2), "attachments");
    assert_eq!(with(|config| config.ports = 9), "ports");
    assert_eq!(with(|config| config.mode = Mode::Patch), "mode");
    assert_eq!(with(|config| config.attachments[0].vlan = Some(4095)), "attachments");
    assert_eq!(with(|config| config.attachments[0].untagged = true), "attachments");
    assert_eq!(with(|config| config.attachments[4].inner_vlan = Some(1)), "attachments");
    assert_eq!(with(|config| config.attachments[1].domain = 10), "attachments");
    assert_eq!(with(|config| config.attachments.truncate(3)), "attachments");
    assert_eq!(with(|config| config.domains[0].id = 20), "domains");
    assert_eq!(with(|config| config.domains[0].station_limit = Some(1 << 20)), "domains");
    assert_eq!(with(|config| config.domains[0].flood_pps = Some(0.0)), "domains");
    let watched = crate::frames::watched();
    let with = |change: fn(&mut Config)| {
        let mut config = watched.clone();
        change(&mut config);
        refused(config)
    };
    assert_eq!(with(|config| config.storm_control[0].unknown = Some(-1.0)), "storm-control");
    assert_eq!(with(|config| config.storm_control.push(config.storm_control[0])), "storm-control");
    assert_eq!(with(|config| config.mirrors[0].to = config.mirrors[0].port), "mirrors");
    assert_eq!(with(|config| config.mirrors[0].port = config.mirrors[2].port), "mirrors");
    let restless = crate::frames::restless(Flapping::Hold);
    let limit = |limit| refused(Config { move_limit: Some(limit), ..Config::default() });
    assert_eq!(limit(MoveLimit { moves: 0, ..MoveLimit::default() }), "move-limit");
    assert_eq!(limit(MoveLimit { hold_s: f64::NAN, ..MoveLimit::default() }), "move-limit");
    assert_eq!(refused(Config { learning: false, ..restless }), "move-limit");
    let rule = crate::frames::any(1);
    let with = |rules: &[Rule]| refused(Config { acl: rules.to_vec(), ..Config::default() });
    assert_eq!(with(&[rule, rule]), "acl");
    assert_eq!(with(&[Rule { source_ports: Some([2, 1]), ..rule }]), "acl");
    assert_eq!(with(&[Rule { vlan: Some(4096), ..rule }]), "acl");
    let egress_acl = vec![Rule { port: Some(Port::Port3), ..rule }];
    assert_eq!(refused(Config { egress_acl, ..Config::default() }), "egress-acl");
    let patch = Config { mode: Mode::Patch, ..Config::default() };
    assert_eq!(refused(Config { fluct_table: 1.0, ..patch.clone() }), "fluct-table");
    let swap = kinds().pop().expect("a patch").mac_swap_upstream;
    assert_eq!(
        refused(Config { mac_swap_upstream: swap, ..Config::default() }),
        "mac-swap-upstream"
    );
    assert_eq!(refused(Config { ageing_s: 0.0, ..Config::default() }), "ageing-s");
}

#[test]
fn the_probe_of_a_change_shows_it_once_and_until_it_is_undone() {
    let config = Config {
        fluct_table: 4.0,
        unknown: Some(functions::l2_switch::config::Unknown::Drop),
        ..Config::default()
    };
    for dir in [Dir::Uplink, Dir::Downlink, Dir::Bidir] {
        let (config, traffic) = valid(&config, &Traffic { dir, ..Traffic::default() });
        let mut workload = workload(&config, &traffic);
        let mut pair = Pair::<L2Switch>::new(&config, Shard::WHOLE);
        assert_eq!(workload.events().len(), 1);
        let mut shown = 0;
        for (kind, number) in (0..40).flat_map(|number| (0..1).map(move |kind| (kind, number))) {
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
