//! The functional check itself, over every kind of configuration; and what the workload expects.

use std::collections::BTreeSet;

use functions::check::Expected;
use functions::l3_router::config::{Config, Dir, Traffic};
use functions::l3_router::sample::{sample, unreachable};
use functions::l3_router::{L3Router, reasons};
use functions::{NetworkFunction, Shard};
use testkit::check::Pair;
use traffic::{Delivery, Distribution, Sizes, Stamp, Workload};

use crate::frames::{kinds, valid, workload, workload_frame};

#[test]
fn pipeline_and_oracle_agree_on_the_sample_and_it_reaches_every_drop_reason() {
    for config in kinds() {
        let (config, traffic) = valid(&config, &Traffic::default());
        let steps = sample(&config, &traffic);
        let mut pair = Pair::<L3Router>::new(&config, Shard::WHOLE);
        pair.take(&steps).unwrap_or_else(|what| panic!("{config:?}:\n{what}"));
        let uncovered: BTreeSet<&str> = pair.uncovered().into_iter().collect();
        let expected = unreachable(&config).into_iter().map(|(name, _)| name).collect();
        assert_eq!(uncovered, expected, "not covered by {config:?}");
        assert!(pair.coverage["downlink"] > 10 && pair.coverage["uplink"] > 10);
        let kinds = 2 + usize::from(config.punt);
        assert_eq!(reasons::NAMES.len() - expected.len() + kinds, pair.coverage.len());
        // The sample leaves the router as it was.
        let function = pair.device_mut().function_mut();
        assert_eq!(L3Router::memory(&config, Shard::WHOLE, function, 0), []);
    }
}

#[test]
fn a_sample_is_of_moderate_size_whatever_the_number_of_routes() {
    let steps = |size| {
        let config = Config { upstream_l3_table_size: size, ..Config::default() };
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
            ipv6_share: if config.ipv6 { 0.4 } else { 0.0 },
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
fn the_probe_of_a_change_shows_it_once_and_until_it_is_undone() {
    let config = Config { fluct_l3_table: 4.0, fluct_group_table: 4.0, ..Config::default() };
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
