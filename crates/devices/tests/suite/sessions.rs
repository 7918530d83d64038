//! Sessions through a carrier-grade NAT that is embedded: opened, used, closed and counted.
//!
//! Counts and their relations only; how fast it goes is not a test's business.
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use devices::embedded::{Embedded, Host};
use functions::cgnat::Config;
use functions::cgnat::config::{Replication, Role};
use machine::clock::Clock;
use measure::{
    Conditions, Load, MeasureError, Measurer, Pps, SessionAction, SessionCounts, SessionLoad,
    Trial, TrialProgress, Watch,
};
use model_kit::Configured;
use models::cgnat::{Cgnat, Traffic};

struct Silent;

impl Watch for Silent {
    fn at(&mut self, _: TrialProgress) {}
}

fn device(config: Config, traffic: Traffic) -> Embedded<Cgnat> {
    let model = Configured::new(config, traffic).expect("a valid configuration");
    let cores = machine::cpu::available_cores();
    let host = Host {
        tester_core: cores.first().copied(),
        worker_cores: vec![*cores.last().expect("a core")],
        clock: Clock::calibrate(Duration::from_millis(10)),
        stop: Arc::new(AtomicBool::new(false)),
    };
    Embedded::open(model, host).expect("a small device")
}

/// UDP, TCP and ICMP of 1000 clients, of which 500 sessions are to be open.
fn traffic() -> Traffic {
    Traffic { sessions: 500, tcp_share: 0.4, icmp_share: 0.2, ..Traffic::default() }
}

fn config() -> Config {
    Config { sessions: 20_000, ..Config::default() }
}

fn measure(device: &mut Embedded<Cgnat>, load: SessionLoad) -> SessionCounts {
    let trial = device.measure(Load::Sessions(load), WAIT, &mut Silent).expect("a trial");
    assert!(trial.directions.len() == 2 && trial.sent() > 0);
    trial.sessions.expect("a load of sessions")
}

fn frames(device: &mut Embedded<Cgnat>, load: Load) -> Trial {
    frames_for(device, load, Duration::from_millis(50))
}

fn frames_for(device: &mut Embedded<Cgnat>, load: Load, duration: Duration) -> Trial {
    device.measure(load, duration, &mut Silent).expect("a trial")
}

/// Long enough for a machine that is busy with other things; what is answered ends before.
const WAIT: Duration = Duration::from_secs(10);
/// Where nothing is to come.
const SHORT: Duration = Duration::from_millis(300);

#[test]
fn sessions_are_opened_used_closed_and_forgotten() {
    let mut device = device(config(), traffic());
    let there = device.sessions().expect("sessions");
    assert_eq!((there.open, there.closes), (500, true));
    let open = SessionLoad::all(SessionAction::Open, 5000);
    let counts = measure(&mut device, open);
    assert!(counts.is_whole(), "{counts:?}");
    assert_eq!((counts.wrong, counts.held), (0, Some(5000)));
    assert_eq!(counts.answered_ns.len(), 5000);
    for rate in [None, Some(50_000.0)] {
        let counts = measure(&mut device, SessionLoad { action: SessionAction::Use, rate, ..open });
        assert!(counts.succeeded > 4900 && counts.wrong == 0, "{counts:?}");
        assert_eq!(counts.held, Some(5000), "none beyond those that were open");
    }
    let counts = measure(&mut device, SessionLoad { action: SessionAction::Close, ..open });
    assert!(counts.is_whole(), "{counts:?}");
    device.clear_sessions().expect("a new state");
    let counts = measure(&mut device, SessionLoad::all(SessionAction::Open, 64));
    assert_eq!(counts.held, Some(64));
}

#[test]
fn a_table_that_is_full_fails_the_sessions_beyond_it() {
    let small = Config { sessions: 3000, ..config() };
    let mut device = device(small, traffic());
    let load = SessionLoad::all(SessionAction::Open, 40_000);
    let trial = device.measure(Load::Sessions(load), Duration::from_millis(300), &mut Silent);
    let counts = trial.expect("a trial").sessions.expect("a load of sessions");
    assert_eq!((counts.succeeded, counts.held, counts.wrong), (3000, Some(3000), 0));
    assert!(counts.failed > 0 && counts.attempted < 40_000, "{counts:?}");
}

#[test]
fn frames_are_sent_over_sessions_that_were_opened_before() {
    let mut device = device(config(), traffic());
    let trial = frames(&mut device, Load::PerInterface(Pps(20_000.0)));
    for direction in &trial.directions {
        assert_eq!(direction.misdelivered, 0, "{}", direction.name);
        assert!(direction.received * 2 > direction.sent, "{} passes", direction.name);
    }
    assert_eq!(trial.drops, []);
    let trial = frames(&mut device, Load::ClosedLoop);
    assert_eq!(trial.drops, [], "the generators know the translations, too");
    for direction in &trial.directions {
        assert_eq!((direction.lost, direction.sent > 1000), (0, true), "{}", direction.name);
    }
    let counts = measure(&mut device, SessionLoad::all(SessionAction::Use, 500));
    assert_eq!((counts.succeeded, counts.held), (500, Some(500)));
}

#[test]
fn new_sessions_of_each_frame_begin_from_none_in_each_trial() {
    let roomy = Config { sessions: 1_000_000, ..config() };
    let new = Traffic {
        new_sessions: true,
        sessions: 0,
        dir: functions::cgnat::config::Dir::Uplink,
        client: 10_000,
        server: 10_000,
        ..Traffic::default()
    };
    let mut device = device(roomy, new);
    for _ in 0..2 {
        let trial = device.measure(Load::ClosedLoop, Duration::from_millis(5), &mut Silent);
        let trial = trial.expect("a trial");
        assert!(trial.sent() > 0);
        assert_eq!(
            trial.received() + trial.drops.iter().map(|(_, n)| n).sum::<u64>(),
            trial.sent()
        );
    }
}

#[test]
fn what_cannot_be_done_is_refused() {
    let mut device = device(config(), Traffic { tcp_share: 0.0, icmp_share: 0.0, ..traffic() });
    let close = SessionLoad::all(SessionAction::Close, 10);
    let refused = device.measure(Load::Sessions(close), WAIT, &mut Silent);
    assert!(matches!(refused, Err(MeasureError::NothingToMeasure(_))), "{refused:?}");
    let most = device.sessions().expect("sessions").most;
    let beyond = SessionLoad { first: most, ..SessionLoad::all(SessionAction::Open, 1) };
    let refused = device.measure(Load::Sessions(beyond), WAIT, &mut Silent);
    assert!(matches!(refused, Err(MeasureError::NothingToMeasure(_))), "{refused:?}");
}

#[test]
fn a_standby_that_takes_over_keeps_every_session() {
    let replication = Replication { role: Role::Rehearsal, ..Replication::default() };
    let mut device = device(Config { replication, ..config() }, traffic());
    let all = SessionLoad::all(SessionAction::Open, 3000);
    assert!(measure(&mut device, all).is_whole());
    assert!(device.synchronise(WAIT).expect("it has a standby"), "it acknowledges all");
    let fail_over_after = Some(Duration::from_millis(50));
    let asked = Conditions { fail_over_after, ..Conditions::default() };
    device.set_conditions(&asked).expect("it can");
    let refused = device.measure(Load::ClosedLoop, WAIT, &mut Silent);
    assert!(matches!(refused, Err(MeasureError::Unsupported(_))), "{refused:?}");
    let more = SessionLoad { first: 3000, count: 2000, rate: Some(10_000.0), ..all };
    let around = device.measure(Load::Sessions(more), WAIT, &mut Silent).expect("a trial");
    let takeover = around.takeover.as_ref().expect("it took place");
    assert!(takeover.ready_after_ns > 0 && !takeover.what.is_empty(), "{takeover:?}");
    assert_eq!(around.restart, None);
    device.set_conditions(&Conditions::default()).expect("set back");
    let keep = SessionLoad { action: SessionAction::Keep, ..all };
    let kept = measure(&mut device, keep);
    assert!(kept.is_whole() && kept.wrong == 0, "{kept:?}");
    // The standby has none beside it.
    assert!(device.set_conditions(&asked).is_err());
    let kept = measure(&mut device, SessionLoad { first: 3000, count: 2000, ..keep });
    let unacknowledged = takeover.unacknowledged;
    let opened = around.sessions.expect("sessions").succeeded;
    assert!(kept.succeeded + unacknowledged >= opened, "{kept:?} of {opened}, {takeover:?}");
    device.clear_sessions().expect("a new state");
    let failed = device.measure(
        Load::Sessions(SessionLoad::all(SessionAction::Keep, 64)),
        SHORT,
        &mut Silent,
    );
    let failed = failed.expect("a trial").sessions.expect("sessions");
    assert_eq!((failed.succeeded, failed.failed), (0, 64), "nothing is kept over a new state");
}

#[test]
fn a_nat_alone_has_nothing_to_take_over() {
    let mut device = device(config(), traffic());
    let fail_over_after = Some(Duration::from_millis(50));
    let asked = Conditions { fail_over_after, ..Conditions::default() };
    assert!(matches!(device.set_conditions(&asked), Err(MeasureError::Unsupported(_))));
    assert!(matches!(device.synchronise(WAIT), Err(MeasureError::Unsupported(_))));
}

/// A NAT that logs sessions, and 200 clients that open as many a second of each application.
fn logged_clients() -> Embedded<Cgnat> {
    let mix = serde_json::json!([
        {"name": "web", "protocol": "tcp", "sessions-per-hour": 3600, "exchanges": 6, "interval-ms": 40,
         "uplink-bytes": 100, "downlink-bytes": 1000},
        {"name": "names", "protocol": "udp", "sessions-per-hour": 3600, "exchanges": 1, "interval-ms": 250,
         "uplink-bytes": 90, "downlink-bytes": 200, "server-port": 53}]);
    let mix = serde_json::from_value(mix).expect("applications");
    let logging = serde_json::json!({"format": "ipfix", "collector": "192.0.2.10", "source": "203.0.113.1",
        "next-hop-mac": "02:6e:61:74:00:05", "sessions": true});
    let logging = serde_json::from_value(logging).expect("keys of the log");
    // Few addresses, so that it is made anew in a moment.
    let pools = vec!["198.18.0.0/30".to_owned().try_into().expect("a network")];
    let (logging, subscribers) = (Some(logging), 1000);
    let config = Config { logging, pools, spare_addresses: 0, subscribers, ..config() };
    device(config, Traffic { mix, sessions: 0, client: 200, ..Traffic::default() })
}

#[test]
fn clients_of_a_mix_take_up_tables_and_are_logged() {
    let mut device = logged_clients();
    let population = device.population().expect("clients");
    assert_eq!((population.clients, population.frames_per_s), (200, 1400.0));
    assert_eq!(device.sessions(), None);
    let trial = frames_for(&mut device, Load::PerInterface(Pps(1400.0)), Duration::from_secs(1));
    let entries = |name: &str| {
        let found = trial.tables.iter().find(|table| table.name == name);
        found.unwrap_or_else(|| panic!("no {name}: {:?}", trial.tables)).entries
    };
    assert!(
        entries("sessions") > 50 && entries("blocks") >= entries("subscribers"),
        "{:?}",
        trial.tables
    );
    assert!(entries("mappings") <= entries("sessions"));
    let reports: u64 = trial.reports.iter().map(|piece| piece.frames).sum();
    let bytes: u64 = trial.reports.iter().map(|piece| piece.bytes).sum();
    assert!(reports > 0 && bytes > 64 * reports, "{:?}", trial.reports);
    for direction in &trial.directions {
        assert_eq!(direction.misdelivered, 0, "{}", direction.name);
        assert!(direction.received * 2 > direction.sent, "{} passes", direction.name);
    }
    let closed = device.measure(Load::ClosedLoop, SHORT, &mut Silent);
    assert!(matches!(closed, Err(MeasureError::Unsupported(_))), "{closed:?}");
}

#[test]
fn a_function_that_restarted_makes_frames_of_its_own_again() {
    let mut device = logged_clients();
    let restart_after = Some(Duration::from_millis(100));
    device
        .set_conditions(&Conditions { restart_after, ..Conditions::default() })
        .expect("it can be restarted");
    let trial = frames_for(&mut device, Load::PerInterface(Pps(1400.0)), Duration::from_secs(3));
    assert!(trial.restart.is_some());
    let behind = &trial.reports[trial.reports.len() / 2..];
    assert!(behind.iter().any(|piece| piece.frames > 0), "{:?}", trial.reports);
}

/// RFC 4787 REQ-9: what they hand over, the check sees; sessions meet on the worker that has them.
#[test]
fn several_workers_are_one_nat() {
    let mut device = device(Config { core: 3, ..config() }, traffic());
    let check = device.check().expect("a check");
    assert!(check.passed, "{:?}", check.mismatches);
    let handed = check.coverage.iter().find(|one| one.name == "forward-another-worker");
    assert!(handed.is_some_and(|one| one.frames > 0), "{:?}", check.coverage);
    let counts = measure(&mut device, SessionLoad::all(SessionAction::Open, 5000));
    assert!(counts.is_whole(), "{counts:?}");
    assert_eq!((counts.wrong, counts.held), (0, Some(5000)));
}
