//! The embedded router under floods, restarted, and with jumbo frames: what is counted adds up.
//!
//! Counts and their relations only, as in the tests of the gateway.
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use devices::embedded::{Embedded, Host};
use machine::clock::Clock;
use measure::{Conditions, Flood, Load, MeasureError, Measurer, Pps, Trial, TrialProgress, Watch};
use model_kit::Configured;
use models::l3_router::{L3Router, Section, Traffic};

struct Silent;

impl Watch for Silent {
    fn at(&mut self, _: TrialProgress) {}
}

fn device(config: &str, traffic: &str) -> Embedded<L3Router> {
    let config: Section = serde_json::from_str(config).expect("a configuration");
    let traffic: Traffic = serde_json::from_str(traffic).expect("traffic");
    let model = Configured::new(config, traffic).expect("valid");
    let cores = machine::cpu::available_cores();
    let host = Host {
        tester_core: cores.first().copied(),
        worker_cores: vec![*cores.last().expect("a core")],
        clock: Clock::calibrate(Duration::from_millis(10)),
        stop: Arc::new(AtomicBool::new(false)),
    };
    Embedded::open(model, host).expect("a small device")
}

/// A trial of a moment, tried again while the tester did not get its core for half of it.
fn trial(device: &mut Embedded<L3Router>) -> Trial {
    let load = Load::PerInterface(Pps(5000.0));
    let mut measure = || device.measure(load, Duration::from_millis(200), &mut Silent);
    let mut last = measure().expect("a trial");
    for _ in 0..20 {
        let intended: u64 = last.directions.iter().map(|d| d.intended).sum();
        if last.sent() > intended / 2 {
            break;
        }
        last = measure().expect("a trial");
    }
    last
}

fn kind(device: &Embedded<L3Router>, name: &str) -> usize {
    let all = device.floods();
    all.iter().position(|known| *known == name).unwrap_or_else(|| panic!("no {name}: {all:?}"))
}

#[test]
fn every_flood_is_sent_and_counted_apart_from_the_load() {
    let mut device = device(r#"{"ipv6": true}"#, "{}");
    for kind in 0..device.floods().len() {
        let name = device.floods()[kind];
        let flood = Flood { kind, rate: Pps(2000.0) };
        let conditions = Conditions { floods: [Some(flood), None], ..Conditions::default() };
        device.set_conditions(&conditions).expect("the router has it");
        let trial = trial(&mut device);
        let [counts] = trial.floods.as_slice() else { panic!("one flood: {:?}", trial.floods) };
        assert_eq!(counts.name, name);
        assert!(counts.sent > 0 && counts.answered <= counts.sent, "{counts:?}");
        let astray: u64 = trial.directions.iter().map(|d| d.misdelivered).sum();
        assert_eq!(astray, 0, "{name}: nothing of it is taken for traffic");
    }
}

#[test]
fn address_requests_are_answered_beside_pings() {
    let mut device = device("{}", "{}");
    let arp = Flood { kind: kind(&device, "arp"), rate: Pps(500.0) };
    let ping = Flood { kind: kind(&device, "ping"), rate: Pps(100.0) };
    let conditions = Conditions { floods: [Some(arp), Some(ping)], ..Conditions::default() };
    device.set_conditions(&conditions).expect("the router has them");
    let trial = trial(&mut device);
    assert_eq!(trial.floods.len(), 2);
    assert!(trial.floods[0].answered > 0, "{:?}", trial.floods);
    device.set_conditions(&Conditions::default()).expect("set back");
    let unknown = Flood { kind: 99, rate: Pps(1.0) };
    let conditions = Conditions { floods: [Some(unknown), None], ..Conditions::default() };
    let error = device.set_conditions(&conditions).expect_err("there is no such flood");
    assert!(matches!(error, MeasureError::Unsupported(_)), "{error}");
}

#[test]
fn a_restart_takes_place_where_it_was_asked_for() {
    let mut device = device(r#"{"upstream-l3-table-size": 1000}"#, "{}");
    let restart_after = Some(Duration::from_millis(50));
    device
        .set_conditions(&Conditions { restart_after, ..Conditions::default() })
        .expect("it can be restarted");
    let restarted = trial(&mut device);
    let restart = restarted.restart.as_ref().expect("a restart");
    assert!(restart.ready_after_ns > 0 && !restart.what.is_empty(), "{restart:?}");
    assert!(restarted.received() > 0, "it forwards again");
    let closed = device.measure(Load::ClosedLoop, Duration::from_millis(10), &mut Silent);
    assert!(matches!(closed, Err(MeasureError::Unsupported(_))));
    device.set_conditions(&Conditions::default()).expect("set back");
    assert!(trial(&mut device).restart.is_none());
}

#[test]
fn jumbo_frames_pass() {
    for size in ["9000", "9018", "\"nokia-pe-ipv4\""] {
        let mut device = device("{}", &format!("{{\"pkt-size\": {size}}}"));
        assert!(device.check().expect("a check").passed, "{size}");
        let trial = trial(&mut device);
        assert!(trial.received() > 0, "{size}: {trial:?}");
        let closed = device.measure(Load::ClosedLoop, Duration::from_millis(20), &mut Silent);
        assert!(closed.expect("a closed loop").received() > 0, "{size}");
    }
}
