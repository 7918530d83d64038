//! Paths into a cell: TIPSY's words, figures, filters and titles.

use serde_json::json;

use super::*;
use crate::record::{Distribution, Figure, TrialRecord};
use crate::{Direction, Load, Pps, Trial};

fn cell() -> Cell {
    let throughput = Outcome {
        method: "throughput".into(),
        figures: vec![
            Figure::single("throughput", 1e6, "pps"),
            Figure::single("latency_p99", 900.0, "ns").of("uplink"),
            Figure::single("throughput_aggregate_l1", 672e6, "bit/s"),
        ],
        trials: vec![trial("warm-up", 9_000), trial("search", 8_000), trial("confirmation", 1_000)],
        ..Outcome::default()
    };
    Cell {
        id: "user=5".into(),
        benchmark: "all".into(),
        function: "mobile-gateway".into(),
        device: "embedded".into(),
        configuration: json!({
            "function": {"user": 5, "events": {"rate": 7}},
            "traffic": {"pkt-size": 64},
            "tester": {"rate-limit": 3690},
        }),
        setup_seconds: Some(0.5),
        outcomes: vec![throughput],
        ..Cell::default()
    }
}

/// A trial of a millisecond in which `sent` frames of 64 bytes are sent and a tenth is lost.
fn trial(purpose: &str, sent: u64) -> TrialRecord {
    let duration = std::time::Duration::from_millis(1);
    let mut latency_ns = hdrhistogram::Histogram::new(3).expect("three digits are allowed");
    for value in [100, 200, 300, 400] {
        latency_ns.record(value).expect("it resizes itself");
    }
    let direction = Direction {
        name: "uplink".into(),
        intended: sent,
        sent,
        received: sent - sent / 10,
        lost: sent / 10,
        ring_full: 0,
        duplicated: 0,
        reordered: 0,
        misdelivered: 0,
        sent_bytes: sent * 64,
        latency_ns,
        last_lost_ns: None,
    };
    let load = Load::PerInterface(Pps(1e6));
    let trial = Trial {
        effective: duration,
        directions: vec![direction],
        ..Trial::new(load, duration, 1e9)
    };
    TrialRecord::new(0, purpose, &trial, Vec::new())
}

#[test]
fn keys_and_facts_are_found() {
    let cell = cell();
    for (path, value) in [
        ("id", json!("all")),
        ("pipeline.name", json!("mobile-gateway")),
        ("function.name", json!("mobile-gateway")),
        ("sut.type", json!("embedded")),
        ("pipeline.user", json!(5)),
        ("function.events.rate", json!(7)),
        ("traffic.pkt-size", json!(64)),
        ("tester.rate-limit", json!(3690)),
        ("cell.setup_seconds", json!(0.5)),
        ("throughput.throughput", json!(1e6)),
        ("throughput.latency_p99.uplink", json!(900.0)),
    ] {
        assert_eq!(cell.value_at(path), Some(value), "{path}");
    }
    for path in [
        "",
        "id.x",
        "pipeline",
        "pipeline.usr",
        "capacity.function_pps",
        "out",
        "out.x",
        "out.flood.RX.PacketRate",
        "out.throughput.RX",
        "out.throughput.UX.PacketRate",
        "out.latency.4th_Quartiles",
        "throughput.latency_p99",
        "cell.state_bytes",
        "..",
        "a.b.c.d",
    ] {
        assert_eq!(cell.value_at(path), None, "{path}");
    }
}

#[test]
fn out_is_of_the_trial_that_decided() {
    let cell = cell();
    for (path, expected) in [
        ("out.throughput.TX.PacketRate", 1.0),
        ("out.throughput.RX.PacketRate", 0.9),
        ("out.throughput.TX.Mbit", 512.0),
        ("out.throughput.RX.Mbit", 460.8),
        ("out.rfc2544.limit", 672.0),
        ("out.rfc2544.tx", 672.0),
        ("out.rfc2544.rx", 604.8),
        ("out.latency.Samples", 4.0),
        ("out.latency.Average", 250.0),
        ("out.latency.1st_Quartiles", 100.0),
        ("out.latency.2nd_Quartiles", 200.0),
        ("out.latency.3rd_Quartiles", 300.0),
    ] {
        let got = cell.number_at(path).unwrap_or_else(|| panic!("{path} is there"));
        assert!((got - expected).abs() < 1e-6 * expected, "{path}: {got}");
    }
}

#[test]
fn repetitions_are_summed_up_by_their_median() {
    let mut cell = cell();
    cell.outcomes[0].method = "capacity".into();
    cell.outcomes[0].trials =
        vec![trial("warm-up", 10), trial("repetition", 3_000), trial("repetition", 1_000)];
    let sent = cell.number_at("out.flood.TX.PacketRate").expect("capacity floods");
    assert!((sent - 2.0).abs() < 1e-9, "{sent}");
    assert_eq!(cell.value_at("out.rfc2544.tx"), None, "nothing was searched");
    cell.outcomes[0].trials.push(trial("stall-repetition", 2_000));
    let sent = cell.number_at("out.flood.TX.PacketRate").expect("capacity floods");
    assert!((sent - 2.5).abs() < 1e-9, "the disturbed one does not count: {sent}");
    cell.outcomes[0].trials.clear();
    assert_eq!(cell.value_at("out.flood.TX.PacketRate"), None);
}

#[test]
fn each_repetition_of_a_search_has_its_own_confirmation() {
    let mut cell = cell();
    let mut again = trial("confirmation", 3_000);
    again.repetition = 1;
    cell.outcomes[0].trials.push(again);
    let sent = cell.number_at("out.throughput.TX.PacketRate").expect("two confirmations");
    assert!((sent - 2.0).abs() < 1e-9, "{sent}");
}

#[test]
fn latency_is_that_at_the_highest_load() {
    let mut cell = cell();
    let mut at = |purpose: &str, rate: f64, samples: u64| {
        let mut trial = trial(purpose, samples);
        trial.load = Load::PerInterface(Pps(rate)).into();
        let mut latency = hdrhistogram::Histogram::<u64>::new(3).expect("three digits");
        latency.record_n(100, samples).expect("it resizes itself");
        trial.directions[0].latency = Distribution::of(&latency);
        cell.outcomes[0].trials.push(trial);
    };
    at("latency 100 %", 2e6, 70);
    at("latency 50 %", 1e6, 50);
    at("search", 9e6, 90);
    cell.outcomes[0].method = "latency".into();
    assert_eq!(cell.number_at("out.latency.Samples"), Some(70.0));
}

#[test]
fn a_broken_histogram_is_no_latency() {
    let mut cell = cell();
    for trial in &mut cell.outcomes[0].trials {
        let latency = trial.directions[0].latency.as_mut().expect("timed");
        *latency = Distribution { hdr_v2_base64: "no base64!".into(), ..latency.clone() };
    }
    assert_eq!(cell.value_at("out.latency.Average"), None);
}

#[test]
fn filters_hold_as_tipsy_has_them() {
    let cell = cell();
    for (good, filter) in [
        (true, json!({})),
        (true, json!({"id": "all", "pipeline.user": 5})),
        (true, json!({"pipeline.user": 5.0})),
        (false, json!({"id": "all", "pipeline.user": 6})),
        (true, json!({"tester.rate-limit": {"$lt": 3696, "$gt": 3000}})),
        (false, json!({"tester.rate-limit": {"$lt": 3690}})),
        (true, json!({"tester.rate-limit": {"$lte": 3690, "$gte": 3690}})),
        (true, json!({"pipeline.user": {"$not": {"$lt": 5}}})),
        (true, json!({"id": {"$ne": "other"}})),
        (true, json!({"id": {"$in": ["all", "none"]}})),
        (false, json!({"id": {"$in": "all"}})),
        (false, json!({"id": {"$lt": 5}})),
        (false, json!({"id": {"$regex": "a"}})),
        (false, json!({"pipeline.absent": {"$not": 5}})),
    ] {
        assert_eq!(cell.passes(filter.as_object().expect("a mapping")), good, "{filter}");
    }
}

#[test]
fn titles_are_filled_and_axes_have_units() {
    let cell = cell();
    assert_eq!(
        cell.fill("{sut.type}:{pipeline.name} u:{pipeline.user} {out.sut.version} {"),
        "embedded:mobile-gateway u:5 – {"
    );
    assert_eq!(cell.fill("plain }"), "plain }");
    assert_eq!(cell.unit_at("out.throughput.RX.PacketRate"), "Mpps");
    assert_eq!(cell.unit_at("throughput.latency_p99.uplink"), "ns");
    assert_eq!(cell.unit_at("pipeline.user"), "");
}
