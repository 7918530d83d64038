//! The functional check itself, over every kind of configuration; and what the workload expects.
use packet::PortId;
use std::collections::BTreeSet;

use function_kit::{NetworkFunction, Shard};
use function_l2_switch::Update;
use function_l2_switch::config::acl::{Ports, Rule};
use function_l2_switch::config::features::{Flapping, MoveLimit};
use function_l2_switch::config::{Config, Dir, Port};
use model_kit::check::Expected;
use model_kit::erased::{Kind, Unit};
use model_kit::{Configured, Model};
use model_l2_switch::sample::{sample, unreachable};
use model_l2_switch::{Generated, L2Switch, Section, Traffic};
use testkit::pair::Pair;
use traffic::{Changes, Delivery, Distribution, Frames, Sizes, Stamp};

use crate::frames::{kinds, usual, valid, workload, workload_frame};

#[test]
fn pipeline_and_oracle_agree_on_the_sample_and_it_reaches_every_drop_reason() {
    for config in kinds() {
        let (config, traffic) = valid(&config, &Traffic::default());
        let steps = sample(&config, &traffic);
        let mut pair = Pair::<L2Switch>::new(&config, Shard::WHOLE);
        let made = L2Switch::config(&config);
        let remembered = |pair: &mut Pair<L2Switch>| {
            let now = pair.now();
            let function = pair.device_mut().function_mut();
            function_l2_switch::L2Switch::memory(&made, Shard::WHOLE, function, now)
        };
        let before = remembered(&mut pair);
        pair.take(&steps).unwrap_or_else(|what| panic!("{config:?}:\n{what}"));
        let uncovered: BTreeSet<&str> = pair.uncovered().into_iter().collect();
        let expected = unreachable(&config.config).into_iter().map(|(name, _)| name).collect();
        assert_eq!(uncovered, expected, "not covered by {config:?}");
        assert!(pair.coverage["downlink"] > 10 && pair.coverage["uplink"] > 10);
        // The sample leaves the bridge as it was, but for ordinary stations that it taught.
        let (same, learned) = remembered(&mut pair)
            .into_iter()
            .partition::<Vec<_>, _>(|update| before.contains(update));
        let is_ordinary = |update: &Update| match update {
            Update::Learn { mac, .. } => [0xaa, 0xac].contains(&mac.0.0[0]),
            _ => false,
        };
        assert_eq!(same, before);
        assert!(learned.iter().all(is_ordinary), "{learned:?} of {config:?}");
        let Section { generated, config } = config;
        assert!(generated.preload == learned.is_empty() || config.station_limit < 20);
    }
}

#[test]
fn a_sample_is_of_moderate_size_whatever_the_number_of_stations() {
    let steps = |size| {
        let generated = Generated { upstream_table_size: size, ..Generated::default() };
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
    use function_l2_switch::config::{Mode, Unknown};
    let refused = |config: Config| {
        let read = Configured::<L2Switch>::new(usual(config), Traffic::default());
        read.err().expect("it cannot be").key
    };
    let drops = Config { unknown: Some(Unknown::Drop), ..Config::default() };
    assert_eq!(refused(Config { fakedrop: Some(true), ..drops.clone() }), "fakedrop");
    assert_eq!(refused(Config { core: 2, ..drops.clone() }), "unknown");
    let refuses = |generated, config| {
        let section = Section { generated, config };
        let read = Configured::<L2Switch>::new(section, Traffic::default());
        read.err().expect("it cannot be").key
    };
    let unknown = Generated { preload: false, ..Generated::default() };
    assert_eq!(refuses(unknown, Config { learning: false, ..drops }), "preload");
    let few = Config { station_capacity: 3, ..Config::default() };
    assert_eq!(refuses(Generated::default(), few), "station-capacity");
    let switch = crate::frames::vlans();
    let with = |change: fn(&mut Config)| {
        let mut config = switch.clone();
        change(&mut config);
        refused(config)
    };
    assert_eq!(with(|config| config.ports = 2), "attachments");
    assert_eq!(with(|config| config.mode = Mode::Patch), "mode");
    assert_eq!(with(|config| config.attachments[0].vlan = Some(4095)), "attachments[0].vlan");
    assert_eq!(with(|config| config.attachments[0].untagged = true), "attachments");
    assert_eq!(with(|config| config.attachments[4].inner_vlan = Some(1)), "attachments");
    assert_eq!(with(|config| config.attachments[1].domain = 10), "attachments");
    assert_eq!(with(|config| config.attachments.truncate(3)), "attachments");
    assert_eq!(with(|config| config.domains[0].id = 20), "domains");
    assert_eq!(with(|config| config.domains[0].station_limit = Some(1 << 20)), "domains");
    assert_eq!(with(|config| config.domains[0].flood_pps = Some(0.0)), "domains[0].flood-pps");
    let watched = crate::frames::watched();
    let with = |change: fn(&mut Config)| {
        let mut config = watched.clone();
        change(&mut config);
        refused(config)
    };
    assert_eq!(
        with(|config| config.storm_control[0].unknown = Some(-1.0)),
        "storm-control[0].unknown"
    );
    assert_eq!(with(|config| config.storm_control.push(config.storm_control[0])), "storm-control");
    assert_eq!(with(|config| config.mirrors[0].to = config.mirrors[0].port), "mirrors");
    assert_eq!(with(|config| config.mirrors[0].port = config.mirrors[2].port), "mirrors");
    let restless = crate::frames::restless(Flapping::Hold);
    let limit = |limit| refused(Config { move_limit: Some(limit), ..Config::default() });
    assert_eq!(limit(MoveLimit { moves: 0, ..MoveLimit::default() }), "move-limit.moves");
    assert_eq!(limit(MoveLimit { hold_s: 0.0, ..MoveLimit::default() }), "move-limit.hold-s");
    assert_eq!(refused(Config { learning: false, ..restless }), "move-limit");
    let rule = crate::frames::any(1);
    let with = |rules: &[Rule]| refused(Config { acl: rules.to_vec(), ..Config::default() });
    assert_eq!(with(&[rule, rule]), "acl");
    assert_eq!(with(&[Rule { source_ports: Some(Ports { first: 2, last: 1 }), ..rule }]), "acl");
    assert_eq!(with(&[Rule { vlan: Some(4096), ..rule }]), "acl[0].vlan");
    let egress_acl = vec![Rule { port: Some(Port::of(PortId(2))), ..rule }];
    assert_eq!(refused(Config { egress_acl, ..Config::default() }), "egress-acl");
    let patch = Config { mode: Mode::Patch, ..Config::default() };
    let passing = Generated { fluct_table: 1.0, ..Generated::default() };
    assert_eq!(refuses(passing, patch.clone()), "fluct-table");
    let swap = kinds().pop().expect("a patch").config.mac_swap_upstream;
    assert_eq!(
        refused(Config { mac_swap_upstream: swap, ..Config::default() }),
        "mac-swap-upstream"
    );
    for (key, value) in
        [("ageing-s", 0), ("ports", 129), ("core", 0), ("upstream-table-size", 1_000_001)]
    {
        let section = serde_json::Map::from_iter([(key.to_owned(), value.into())]);
        let read = Unit::<L2Switch>::new().read(section, serde_json::Map::new());
        assert_eq!(read.err().expect("it is out of range").key, key);
    }
}

#[test]
fn the_probe_of_a_change_shows_it_once_and_until_it_is_undone() {
    let config =
        Config { unknown: Some(function_l2_switch::config::Unknown::Drop), ..Config::default() };
    let generated = Generated { fluct_table: 4.0, ..Generated::default() };
    let config = Section { generated, config };
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
