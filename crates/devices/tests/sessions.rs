//! Sessions through a carrier-grade NAT that is embedded: opened, used, closed and counted.
//!
//! Counts and their relations only; how fast it goes is not a test's business.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use devices::embedded::{Embedded, Host};
use functions::NetworkFunction;
use functions::cgnat::{Cgnat, Config, Traffic};
use machine::clock::Clock;
use measure::{
    Load, MeasureError, Measurer, Pps, SessionAction, SessionCounts, SessionLoad, Trial,
    TrialProgress, Watch,
};

struct Silent;

impl Watch for Silent {
    fn at(&mut self, _: TrialProgress) {}
}

fn device(mut config: Config, mut traffic: Traffic) -> Embedded<Cgnat> {
    Cgnat::validate(&mut config, &mut traffic).expect("a valid configuration");
    let cores = machine::cpu::available_cores();
    let host = Host {
        tester_core: cores.first().copied(),
        worker_cores: vec![*cores.last().expect("a core")],
        clock: Clock::calibrate(Duration::from_millis(10)),
        stop: Arc::new(AtomicBool::new(false)),
    };
    Embedded::open(config, traffic, host).expect("a small device")
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
    device.measure(load, Duration::from_millis(50), &mut Silent).expect("a trial")
}

/// Long enough for a machine that is busy with other things; what is answered ends before.
const WAIT: Duration = Duration::from_secs(10);

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
