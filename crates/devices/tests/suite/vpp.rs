//! The real VPP against the oracle, in its closed loop and over memif. Debian has no package of it;
//! where it is not in the search path, there is nothing to test.
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use devices::driver::Driver;
use devices::embedded::Host;
use devices::registry;
use devices::remote::Remote;
use functions::l2_switch::config::{Mode, Unknown};
use functions::l3_router;
use machine::clock::Clock;
use measure::{Conditions, Load, MeasureError, Measurer, Pps, StageRole, TrialProgress, Watch};
use model_kit::{Configured, Model};
use models::l2_switch::{L2Switch, Section};
use models::l3_router::L3Router;
use serde_json::Map;

fn driver() -> Option<&'static dyn Driver> {
    let driver = registry::find("vpp").and_then(|device| device.driver).expect("registered");
    match driver.available() {
        Ok(()) => Some(driver),
        Err(error) => {
            eprintln!("skipped: {error}; {}", error.remedy);
            None
        }
    }
}

fn host() -> Host {
    let cores = machine::cpu::available_cores();
    Host {
        tester_core: cores.first().copied(),
        worker_cores: vec![*cores.last().expect("a core")],
        clock: Clock::calibrate(Duration::from_millis(10)),
        stop: Arc::new(AtomicBool::new(false)),
    }
}

/// Sets VPP up for a function and compares it with the oracle; none where there is no VPP.
/// Whatever is left out by the name of a step has such steps.
fn checked<N: Model>(section: N::Section, traffic: N::Traffic) -> Option<Remote<N>> {
    let driver = driver()?;
    let model = Configured::<N>::new(section, traffic).expect("a valid configuration");
    let limitations = driver.limitations(&model.service(), &Map::new());
    let device = Remote::open(driver, model, Map::new(), host());
    let mut device = device.unwrap_or_else(|error| panic!("{error}; {}", error.remedy));
    let check = device.check().expect("a check");
    let drops = device.usage().drops;
    assert!(check.passed, "{:#?}\n{drops:?}\n{:#?}", check.mismatches, check.limitations);
    assert!(check.frames > 50, "{check:#?}");
    for one in limitations.expect("a service that it can give") {
        let told = check.limitations.iter().find(|told| told.what == one.what).expect("told");
        assert!(told.skipped >= one.steps.len() as u64, "{told:?} of {:?}", one.steps);
    }
    eprintln!("{} frames, left out {:#?}", check.frames, check.limitations);
    Some(device)
}

fn router(ipv6: bool) -> models::l3_router::Section {
    let generated = models::l3_router::Generated {
        upstream_l3_table_size: 200,
        upstream_group_table_size: 3,
        ..Default::default()
    };
    let config = l3_router::Config { ipv6, ..l3_router::Config::default() };
    models::l3_router::Section { generated, config }
}

#[test]
fn a_router_does_what_the_oracle_says() {
    for ipv6 in [false, true] {
        checked::<L3Router>(router(ipv6), models::l3_router::Traffic::default());
    }
}

#[test]
fn a_bridge_domain_does_what_the_oracle_says() {
    for (learning, unknown) in
        [(true, Unknown::Flood), (true, Unknown::Drop), (false, Unknown::Flood)]
    {
        let mut section = Section::default();
        section.config.learning = learning;
        section.config.unknown = Some(unknown);
        checked::<L2Switch>(section, models::l2_switch::Traffic::default());
    }
}

#[test]
fn a_cross_connect_does_what_the_oracle_says() {
    let mut config = Section::default();
    config.config.mode = Mode::Patch;
    checked::<L2Switch>(config, models::l2_switch::Traffic::default());
}

/// Every frame comes through in the closed loop, each node is counted, and the process of the check
/// forwards again behind it.
#[test]
fn a_closed_loop_counts_each_node_and_leaves_the_links_as_they_were() {
    let traffic = models::l3_router::Traffic::default();
    let Some(mut device) = checked::<L3Router>(router(false), traffic) else { return };
    let cold = Conditions { cold_frames: true, ..Conditions::default() };
    let refused = device.set_conditions(&cold).expect_err("it writes them just before");
    assert!(matches!(refused, MeasureError::Unsupported(_)) && !device.has_cold_frames());
    device.set_conditions(&Conditions::default()).expect("its own");
    for _ in 0..2 {
        let trial = device.measure(Load::ClosedLoop, Duration::from_millis(300), &mut Silent);
        let trial = trial.expect("a closed loop");
        assert!(trial.sent() > 0, "{trial:?}");
        assert_eq!(trial.sent(), trial.received(), "{trial:?}");
        let names: Vec<&str> = trial.stages.iter().map(|stage| stage.name.as_str()).collect();
        for name in ["pg-input", "ethernet-input", "ip4-lookup", "ip4-rewrite"] {
            assert!(names.contains(&name), "{name} of {names:?}");
        }
        let packets = |name: &str| {
            let of = |stage: &&measure::Stage| stage.name == name;
            trial.stages.iter().find(of).map_or(0, |stage| stage.packets)
        };
        assert_eq!(packets("pg-input"), trial.sent());
        assert_eq!(packets("ip4-lookup"), trial.sent());
        assert!(
            trial.stages.iter().all(|stage| stage.packets == 0 || stage.ticks > 0),
            "{trial:?}"
        );
        let of_function = trial.stages.iter().filter(|stage| stage.role == StageRole::Function);
        assert!(of_function.count() >= 4, "{names:?}");
        assert_eq!(trial.workers.len(), 1);
        assert!(trial.workers[0].packets == trial.sent() && trial.workers[0].cpu_ns > 0);
    }
    let load = Load::PerInterface(Pps(2_000.0));
    let trial = device.measure(load, Duration::from_millis(300), &mut Silent).expect("a trial");
    assert!(trial.sent() > 0 && trial.received() > 0, "{trial:?}");
    assert!(trial.device_cpu.is_some());
    let check = device.check().expect("a check");
    assert!(check.passed, "{:#?}", check.mismatches);
}

struct Silent;

impl Watch for Silent {
    fn at(&mut self, _: TrialProgress) {}
}
