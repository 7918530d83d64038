//! What every method finds on devices of every temper is a record that obeys the published schema
//! and reads back as it was: no figure, bound or point is a number that JSON cannot hold.

use measure::record::{Cell, RunRecord, Status, record_schema};
use measure::{Measurer, Population, RoutingSize};
use methods::simulated::{
    Changes, Reflecting, Sessions, Simulated, Standby, Suffered, WatchedPath,
};
use methods::{METHODS, Unobserved};
use serde_json::{Value, json};

/// Devices from one that forwards everything to one that forwards nothing.
fn devices() -> [(&'static str, Simulated); 12] {
    let changes = || Changes {
        cost_ns: 10e3,
        blackout_ns: 50_000,
        buffer_frames: 1e9,
        accepted_ns: 1_000..=3_000,
        visible_ns: 10_000..=30_000,
        most_per_s: 1e9,
    };
    let policing = |capacity: f64| Simulated::fixed(capacity).policing(20, 100e3, 2000.0);
    let flood = Suffered { name: "arp", costs: 1.0, answered_pps: 100.0, spares_pings: true };
    let restarted = Simulated::fixed(1e6)
        .restarting_in(std::time::Duration::from_millis(40))
        .suffering(&[flood]);
    let sessions =
        Sessions { most: 30_000, capacity: 20_000, rate_max: 3_000.0, ..Sessions::default() };
    let closed = Sessions { capacity: 0, ..sessions.clone() };
    let beside = |acknowledges, forgets_one_in| {
        let outage = std::time::Duration::from_millis(20);
        let standby = Standby { outage, acknowledges, forgets_one_in, late: 7, reused: 3 };
        let sessions = Sessions { most: 2_000_000, standby: Some(standby), ..Sessions::default() };
        Simulated::fixed(1e6).holding(sessions)
    };
    let notices = [30, 1].map(std::time::Duration::from_millis);
    let watching = Simulated::fixed(1e6).watching(WatchedPath { notices, returns: true });
    let clients = Population { clients: 100, frames_per_s: 1000.0 };
    let clients = Simulated::fixed(1e6).holding(Sessions::default()).populated(
        clients,
        &[("sessions", 5000)],
        [10.0, 20.0],
    );
    [
        ("holding sessions", Simulated::fixed(1e6).holding(sessions)),
        ("holding none", Simulated::fixed(1e6).holding(closed)),
        ("with a standby that forgets", beside(true, 100)),
        ("with a standby that does not come up", beside(false, 0)),
        ("with clients that live by the clock", clients),
        ("fast", policing(20e6).changing(changes()).buffered(1000)),
        ("noisy", policing(1e6).changing(changes()).noisy(0.2)),
        ("stalling", policing(1e6).changing(changes()).stalling(0.3, 5_000_000)),
        ("restarted and flooded", restarted),
        ("watching a path", watching),
        ("dead", policing(0.0).changing(changes())),
        ("without changes and policers", Simulated::fixed(2e6)),
    ]
}

/// Reflectors that tell everything, and one that lacks a route in the end.
fn reflectors() -> [(&'static str, Reflecting); 2] {
    let size =
        RoutingSize { feeders: 1, clients: 10, routes: 1000, attribute_sets: 10, bytes: 5000 };
    let (client, alone) = [20, 50].map(std::time::Duration::from_millis).into();
    let whole = Reflecting {
        size,
        client,
        alone: Some(alone),
        wrong_at: None,
        lost_at: Some(1),
        events: Vec::new(),
    };
    let lacking = Reflecting { wrong_at: Some(0), ..whole.clone() };
    [("telling everything", whole), ("lacking a route", lacking)]
}

/// A record with one cell of a method, in JSON form.
fn record(method: &str) -> RunRecord {
    let text = json!({
        "schema_version": RunRecord::SCHEMA_VERSION,
        "tool": {"name": "plumbline", "version": "0", "commit": "unknown"},
        "scenario": {"name": method, "file": "", "description": "", "text": "", "hash": ""},
        "started": "2026-11-21T12:00:00Z", "finished": "2026-11-21T12:00:01Z",
        "host": {"kernel": "", "cpu_model": "", "cores": 1, "memory_bytes": 0, "huge_pages": "",
            "tsc": {"invariant": true, "ticks_per_second": 1e9}, "cpu_flags": []},
        "cells": [], "status": "passed",
    });
    let mut record: RunRecord = serde_json::from_value(text).expect("a record");
    record.cells.push(Cell::default());
    record
}

#[test]
fn every_method_writes_what_the_schema_allows_and_what_reads_back() {
    let schema = serde_json::to_value(record_schema()).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    for entry in METHODS {
        let mut results = 0;
        let forwarders =
            devices().map(|(temper, one)| (temper, Box::new(one) as Box<dyn Measurer>));
        let reflectors = reflectors().map(|(temper, one)| (temper, Box::new(one) as _));
        for (temper, mut device) in forwarders.into_iter().chain(reflectors) {
            // An hour of simulated soaking says no more than a minute of it.
            let config = if entry.name == "soak" { json!({"duration": "60 s"}) } else { json!({}) };
            let method = (entry.read)(config).expect("the defaults are valid");
            // What a device cannot do at all is an error, and no record.
            let Ok(outcome) = method.run(&mut *device, &mut Unobserved) else { continue };
            results += 1;
            let mut record = record(entry.name);
            record.cells[0].outcomes.push(outcome);
            record.status = Status::of(&record.cells, false);
            record.set_message();
            let written = serde_json::to_string(&record).expect("a record is plain data");
            let value: Value = serde_json::from_str(&written).expect("JSON");
            let errors: Vec<String> = validator
                .iter_errors(&value)
                .map(|e| format!("{e} at {}", e.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{} on {temper}: {errors:#?}", entry.name);
            let read: RunRecord = serde_json::from_str(&written).expect("it reads back");
            let outcome = &record.cells[0].outcomes[0];
            assert_eq!(read.cells[0].outcomes[0].trials.len(), outcome.trials.len());
            assert_eq!(read.cells[0].outcomes[0].figures.len(), outcome.figures.len());
        }
        assert!(results > 0, "{} found nothing on any device", entry.name);
    }
}
