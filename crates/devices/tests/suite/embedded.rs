//! The embedded device on a small mobile gateway: what comes back adds up, whatever the load.
//!
//! Counts and their relations only: how fast this machine is, and whether it loses a frame because
//! somebody else has the core, is not a test's business.
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use devices::embedded::{Embedded, Host};
use function_kit::sections::Dir;
use machine::clock::Clock;
use measure::{
    Conditions, Load, MeasureError, Measurer, Pps, StageRole, Trial, TrialProgress, Watch,
};
use model_kit::Configured;
use models::mobile_gateway::{MobileGateway, Section, Traffic};

struct Silent;

impl Watch for Silent {
    fn at(&mut self, _: TrialProgress) {}
}

fn config() -> Section {
    Section { user: 50, bst: 5, server: 5, fakedrop: false, ..fast() }
}

/// No frame exceeds the rate.
fn fast() -> Section {
    serde_json::from_str(r#"{"rate-limit": "100 GB/s"}"#).expect("a rate")
}

fn bidirectional() -> Traffic {
    Traffic { dir: Dir::Bidir, ..Traffic::default() }
}

fn device(config: Section, traffic: Traffic) -> Embedded<MobileGateway> {
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

/// A trial; on a crowded machine the tester may not get its core for the whole of it, which is
/// tried again.
fn measure(device: &mut Embedded<MobileGateway>, load: Load, time: Duration) -> Trial {
    undisturbed(|| device.measure(load, time, &mut Silent).expect("a trial"))
}

fn undisturbed(mut trial: impl FnMut() -> Trial) -> Trial {
    let mut last = trial();
    for _ in 0..20 {
        let intended: u64 = last.directions.iter().map(|direction| direction.intended).sum();
        if last.sent() > intended / 2 {
            break;
        }
        last = trial();
    }
    last
}

fn open_loop(pps: f64) -> Load {
    Load::PerInterface(Pps(pps))
}

#[test]
fn a_closed_loop_forwards_all_it_makes() {
    let mut device = device(config(), bidirectional());
    let trial = measure(&mut device, Load::ClosedLoop, Duration::from_millis(50));
    assert!(trial.sent() > 1000);
    for direction in &trial.directions {
        assert_eq!(direction.sent, direction.received, "{}", direction.name);
        assert_eq!(direction.lost, 0);
    }
    assert_eq!(trial.drops, []);
    let [first, .., transmit, tick] = trial.stages.as_slice() else { panic!("too few stages") };
    assert_eq!((first.role, transmit.role), (StageRole::Bench, StageRole::Bench));
    assert_eq!((tick.name.as_str(), tick.role), ("tick", StageRole::Function));
    assert_eq!(first.packets, trial.sent());
    assert_eq!(trial.workers[0].packets, trial.sent());
    assert!(trial.stages.iter().all(|stage| stage.ticks > 0));
}

#[test]
fn a_closed_loop_forwards_cold_frames_as_it_does_hot_ones() {
    let mut device = device(config(), bidirectional());
    let cold = Conditions { cold_frames: true, ..Conditions::default() };
    device.set_conditions(&cold).expect("every function of this program has them");
    let trial = measure(&mut device, Load::ClosedLoop, Duration::from_millis(50));
    assert!(trial.sent() > 500);
    assert_eq!((trial.sent(), trial.drops.len()), (trial.received(), 0));
}

/// A gateway whose policer drops nearly all of what these tests send.
fn slow() -> Section {
    let rate_limit = serde_json::from_value(serde_json::json!("10 kB/s")).expect("a rate");
    Section { fakedrop: false, rate_limit, ..Section::default() }
}

#[test]
fn a_closed_loop_counts_what_the_policer_drops() {
    let slow = Section { user: 50, ..slow() };
    let mut device = device(slow, bidirectional());
    let trial = measure(&mut device, Load::ClosedLoop, Duration::from_millis(50));
    let [(reason, dropped)] = trial.drops.as_slice() else { panic!("{:?}", trial.drops) };
    assert_eq!(reason, "rate-exceeded");
    assert_eq!(*dropped, trial.directions.iter().map(|d| d.lost).sum::<u64>());
    assert!(*dropped > trial.sent() / 2);
}

#[test]
fn an_open_loop_accounts_for_every_frame() {
    for dir in [Dir::Uplink, Dir::Downlink, Dir::Bidir] {
        let mut device = device(config(), Traffic { dir, ..Traffic::default() });
        let trial = measure(&mut device, open_loop(20_000.0), Duration::from_millis(100));
        assert_eq!(trial.directions.len(), if dir == Dir::Bidir { 2 } else { 1 });
        for direction in &trial.directions {
            assert_eq!(direction.intended, 2000);
            assert!(direction.sent <= direction.intended, "{}", direction.sent);
            assert_eq!(direction.sent, direction.received + direction.lost);
            assert_eq!(direction.received, direction.latency_ns.len());
            let strange = (direction.misdelivered, direction.duplicated, direction.reordered);
            assert_eq!(strange, (0, 0, 0), "{}", direction.name);
            assert!(direction.received > 0);
        }
        assert!(trial.stalls.iter().any(|stalls| stalls.thread == "tester"));
    }
}

#[test]
fn a_load_beyond_the_device_is_lost_and_explained() {
    let slow = Section { user: 1, ..slow() };
    let mut device = device(slow, Traffic::default());
    let trial = measure(&mut device, open_loop(50_000.0), Duration::from_millis(100));
    let uplink = &trial.directions[0];
    let dropped: u64 = trial.drops.iter().map(|(_, count)| count).sum();
    assert!(dropped > 0);
    assert_eq!(uplink.lost, dropped + uplink.ring_full);
}

#[test]
fn changes_are_acknowledged_and_seen() {
    let config = Section { handover: 500.0, fluct_user: 250.0, fluct_server: 250.0, ..config() };
    let mut device = device(config, bidirectional());
    for _ in 0..2 {
        let trial = measure(&mut device, open_loop(10_000.0), Duration::from_millis(200));
        let kinds: Vec<_> = trial.events.iter().map(|events| events.kind.as_str()).collect();
        assert_eq!(kinds, ["user-update", "handover", "server-update"]);
        for events in &trial.events {
            assert!(events.requested > 10, "{}", events.kind);
            assert_eq!(
                (events.acknowledged, events.refused),
                (events.requested, 0),
                "{}",
                events.kind
            );
            assert_eq!(events.late_frames, 0, "{}", events.kind);
            assert!(!events.visible_ns.is_empty(), "{}", events.kind);
            assert!(events.accepted_ns.len() == events.acknowledged);
        }
        assert!(trial.directions.iter().all(|direction| direction.misdelivered == 0));
    }
}

#[test]
fn several_workers_share_the_users() {
    let mut device = device(Section { core: 3, ..config() }, bidirectional());
    let closed = measure(&mut device, Load::ClosedLoop, Duration::from_millis(60));
    assert_eq!(closed.workers.len(), 3);
    assert!(closed.workers.iter().all(|worker| worker.packets > 0));
    assert_eq!((closed.sent(), closed.drops.len()), (closed.received(), 0));
    let open = measure(&mut device, open_loop(5_000.0), Duration::from_millis(100));
    assert_eq!(open.drops, []);
    for direction in &open.directions {
        assert_eq!((direction.misdelivered, direction.reordered), (0, 0));
    }
}

#[test]
fn a_worker_without_users_does_not_hang() {
    let mut device = device(Section { core: 4, user: 1, ..config() }, bidirectional());
    let trial = measure(&mut device, Load::ClosedLoop, Duration::from_millis(40));
    let busy = trial.workers.iter().filter(|worker| worker.packets > 0).count();
    assert_eq!(busy, 1, "one user lives on one worker");
}

#[test]
fn a_device_told_to_stop_stops() {
    let config = config();
    let cores = machine::cpu::available_cores();
    let stop = Arc::new(AtomicBool::new(true));
    let host = Host {
        tester_core: cores.first().copied(),
        worker_cores: cores,
        clock: Clock::with_rate(1e9),
        stop,
    };
    let model = Configured::new(config, Traffic::default()).expect("valid");
    let mut device = Embedded::<MobileGateway>::open(model, host).expect("a device");
    for load in [Load::ClosedLoop, open_loop(1000.0)] {
        let result = device.measure(load, Duration::from_secs(3600), &mut Silent);
        assert!(matches!(result, Err(MeasureError::Interrupted)));
    }
}

#[test]
fn the_check_passes_and_leaves_the_configured_state() {
    for core in [1, 2] {
        let mut device = device(Section { core, ..config() }, bidirectional());
        let check = device.check().expect("a check");
        assert!(check.passed, "{:#?}", check.mismatches);
        assert!(check.frames > 100);
        let trial = measure(&mut device, open_loop(5_000.0), Duration::from_millis(50));
        assert!(trial.directions.iter().all(|direction| direction.misdelivered == 0));
    }
}

#[test]
fn a_burst_is_so_many_frames_and_silence() {
    let mut device = device(config(), bidirectional());
    let load = Load::Burst { frames: 500, rate: Pps(1e6) };
    let trial = measure(&mut device, load, Duration::from_millis(50));
    for direction in &trial.directions {
        assert_eq!((direction.intended, direction.sent), (500, 500), "{}", direction.name);
        assert_eq!(direction.sent, direction.received + direction.lost);
    }
    assert!(trial.effective < Duration::from_millis(50));
}

#[test]
fn a_step_sends_at_both_rates() {
    let mut device = device(config(), bidirectional());
    let after = Duration::from_millis(50);
    let load = Load::Step { first: Pps(20_000.0), after, then: Pps(2_000.0) };
    let trial = measure(&mut device, load, Duration::from_millis(100));
    for direction in &trial.directions {
        assert_eq!(direction.intended, 1_100, "{}", direction.name);
        assert!(direction.sent <= direction.intended && direction.sent > 50);
    }
}

#[test]
fn the_last_lost_frame_is_told_where_one_was_lost() {
    let mut device = device(config(), bidirectional());
    let trial = measure(&mut device, open_loop(1_000.0), Duration::from_millis(50));
    for direction in &trial.directions {
        assert_eq!(direction.last_lost_ns.is_some(), direction.lost > 0, "{}", direction.name);
    }
    // Of one user at a rate far beyond its policer, losses go on to the end.
    let slow = Section { user: 1, ..slow() };
    let mut device = self::device(slow, Traffic::default());
    let trial = measure(&mut device, open_loop(20_000.0), Duration::from_millis(100));
    let last = trial.directions[0].last_lost_ns.expect("most are lost");
    let end = trial.effective.as_nanos() as u64;
    assert!(last > end / 2 && last <= end, "{last} of {end}");
}

#[test]
fn bytes_are_counted_by_subscriber_where_asked_for() {
    let slow = Section { user: 4, ..slow() };
    let mut device = device(slow, bidirectional());
    let counted = |count| Conditions { subscribers_counted: count, ..Conditions::default() };
    device.set_conditions(&counted(3)).expect("bearers are policed");
    let trial = measure(&mut device, open_loop(40_000.0), Duration::from_millis(200));
    assert_eq!(trial.policed.len(), 6, "three subscribers in two directions");
    let seconds = trial.workers[0].wall_ns as f64 * 1e-9;
    for policed in &trial.policed {
        assert!(policed.offered_bytes > policed.passed_bytes, "{policed:?}");
        assert!(policed.passed_bytes > 0, "{policed:?}");
        // One frame of debt before, one after; what is under way at the ends adds no more.
        let most = policed.configured_bytes_per_s * seconds * 1.1 + policed.burst_bytes + 2_000.0;
        assert!((policed.passed_bytes as f64) < most, "{policed:?}");
    }
    device.set_conditions(&Conditions::default()).expect("no conditions");
    let trial = measure(&mut device, open_loop(1_000.0), Duration::from_millis(10));
    assert!(trial.policed.is_empty());
}

#[test]
fn changes_come_at_the_rate_that_is_set() {
    let config = Section { handover: 500.0, fluct_user: 250.0, ..config() };
    let mut device = device(config, bidirectional());
    let requested = |device: &mut Embedded<MobileGateway>, rate| {
        let conditions = Conditions { updates_per_s: rate, ..Conditions::default() };
        device.set_conditions(&conditions).expect("there are changes");
        let trial = measure(device, open_loop(10_000.0), Duration::from_millis(200));
        for events in &trial.events {
            assert_eq!(events.requested, events.acknowledged + events.refused, "{}", events.kind);
            assert_eq!(events.blackout_ns.is_empty(), events.acknowledged == 0);
        }
        trial.events.iter().map(|events| events.requested).sum::<u64>()
    };
    assert_eq!(requested(&mut device, Some(0.0)), 0);
    let (few, many) = (requested(&mut device, Some(200.0)), requested(&mut device, None));
    assert!(few > 0 && few <= 42, "{few} at 200 a second");
    assert!(few < many && many <= 202, "{many} at 1000 a second");
    let mut calm = self::device(self::config(), bidirectional());
    let rate = Conditions { updates_per_s: Some(1.0), ..Conditions::default() };
    assert!(matches!(calm.set_conditions(&rate), Err(MeasureError::Unsupported(_))));
}

#[test]
fn a_wire_brings_everything_back() {
    let mut device = device(Section { core: 2, ..config() }, bidirectional());
    let time = Duration::from_millis(50);
    let trial = undisturbed(|| {
        let trial = device.tester_alone(Pps(10_000.0), time, &mut Silent).expect("a trial");
        trial.expect("there is a wire")
    });
    for direction in &trial.directions {
        assert_eq!(direction.misdelivered, 0, "{}", direction.name);
        assert_eq!(direction.sent, direction.received + direction.ring_full);
        assert!(!direction.latency_ns.is_empty());
    }
    assert!(trial.events.is_empty() && trial.stages.is_empty());
    assert!(trial.tester.is_some_and(|tester| tester.packets > 0));
    let after = measure(&mut device, open_loop(5_000.0), time);
    assert!(after.directions.iter().all(|direction| direction.misdelivered == 0));
}
