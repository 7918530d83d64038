//! The kernel against the oracle, over real ports; without the right to make namespaces there is
//! nothing to test.
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use devices::driver::Driver;
use devices::embedded::Host;
use devices::registry;
use devices::remote::Remote;
use functions::cgnat;
use functions::l3_router;
use functions::mobile_gateway::config::Tunnel;
use machine::clock::Clock;
use measure::{Load, Measurer, SessionAction, SessionLoad, TrialProgress, Watch};
use model_kit::{Configured, Model};
use models::cgnat::Cgnat;
use models::l2_switch::{L2Switch, Section};
use models::l3_router::L3Router;
use models::mobile_gateway::{self, MobileGateway};
use serde_json::{Map, Value, json};

fn driver() -> Option<&'static dyn Driver> {
    let driver = registry::find("linux").and_then(|device| device.driver).expect("registered");
    match driver.available() {
        Ok(()) => Some(driver),
        Err(error) => {
            eprintln!("skipped: {error}; {}", error.remedy);
            None
        }
    }
}

pub(crate) fn host() -> Host {
    let cores = machine::cpu::available_cores();
    Host {
        tester_core: cores.first().copied(),
        worker_cores: vec![*cores.last().expect("a core")],
        clock: Clock::calibrate(Duration::from_millis(10)),
        stop: Arc::new(AtomicBool::new(false)),
    }
}

fn options(keys: Value) -> Map<String, Value> {
    keys.as_object().cloned().expect("an object")
}

/// Sets the device up for a function and compares it with the oracle. Whatever is left out by the
/// name of a step has such steps.
fn checked<N: Model>(section: N::Section, traffic: N::Traffic, keys: Value) {
    let Some(driver) = driver() else { return };
    let model = Configured::<N>::new(section, traffic).expect("a valid configuration");
    let limitations = driver.limitations(&model.service(), &options(keys.clone()));
    let device = Remote::open(driver, model, options(keys), host());
    let mut device = device.unwrap_or_else(|error| panic!("{error}; {}", error.remedy));
    let check = device.check().expect("a check");
    let drops = device.usage().drops;
    assert!(check.passed, "{:#?}\n{drops:?}\n{:#?}", check.mismatches, check.limitations);
    assert!(check.frames > 100, "{check:#?}");
    for one in limitations.expect("a service that it can give") {
        let told = check.limitations.iter().find(|told| told.what == one.what).expect("told");
        assert!(told.skipped >= one.steps.len() as u64, "{told:?} of {:?}", one.steps);
    }
    eprintln!("{} frames, left out {:#?}", check.frames, check.limitations);
}

/// A lone frame is handed on at once.
fn keys() -> Value {
    json!({"ports": {"type": "af-packet", "ring": "frames"}})
}

#[test]
fn a_router_does_what_the_oracle_says() {
    let generated = models::l3_router::Generated {
        upstream_l3_table_size: 200,
        upstream_group_table_size: 3,
        ..Default::default()
    };
    let config = l3_router::Config { ipv6: true, ..l3_router::Config::default() };
    let config = models::l3_router::Section { generated, config };
    checked::<L3Router>(config, models::l3_router::Traffic::default(), keys());
}

/// Sources are looked for: strictly on one side, loosely on the other.
#[test]
fn a_router_that_looks_for_sources_does_what_the_oracle_says() {
    let config = json!({
        "ipv6": true,
        "upstream-l3-table-size": 50,
        "downstream-l3-table-size": 20,
        "interfaces": [{"port": "downlink", "urpf": "strict"}, {"port": "uplink", "urpf": "loose"}],
        "next-hops": [
            {"port": "downlink", "mac": "02:00:00:00:00:01"},
            {"port": "uplink", "mac": "02:00:00:00:00:03", "source": "02:00:00:00:07:07"},
        ],
        // The first two are those from which most frames of the check come.
        "routes": [
            {"prefix": "198.18.0.0/16", "next-hop": 0},
            {"prefix": "2001:2::/48", "next-hop": 0},
            {"prefix": "192.88.0.0/16", "next-hop": 1},
        ],
    });
    let config = serde_json::from_value(config).expect("keys of a router");
    checked::<L3Router>(config, models::l3_router::Traffic::default(), keys());
}

#[test]
fn a_bridge_does_what_the_oracle_says() {
    checked::<L2Switch>(Section::default(), models::l2_switch::Traffic::default(), keys());
}

#[test]
fn a_mobile_gateway_over_vxlan_does_what_the_oracle_says() {
    let config = mobile_gateway::Section {
        fakedrop: false,
        user: 20,
        bst: 3,
        server: 5,
        tunnel: Some(Tunnel::Vxlan),
        ipv6: true,
        // The check's pauses are those in which a user earns a packet again.
        rate_limit: serde_json::from_value(json!("10 MB/s")).expect("a rate"),
        ..mobile_gateway::Section::default()
    };
    checked::<MobileGateway>(
        config,
        models::mobile_gateway::Traffic::default(),
        json!({"ports": "af-packet"}),
    );
}

#[test]
fn a_patch_does_what_the_oracle_says() {
    let mut config = Section::default();
    config.config.mode = functions::l2_switch::config::Mode::Patch;
    checked::<L2Switch>(config, models::l2_switch::Traffic::default(), keys());
}

/// A NAT as the kernel can be one: no blocks, no hairpins, no rest of ports, and each end for
/// itself.
fn nat() -> cgnat::Config {
    let config = json!({
        "inside": ["10.0.0.0/8"],
        "pools": ["198.18.0.0/17"],
        "port-block": {"size": 0},
        "static": [{"inside": "10.9.0.0/30", "outside": "203.0.113.64/30"}],
        "sessions": 50_000,
        "filtering": "address-and-port-dependent",
        "hairpinning": false,
        "quarantine-s": 0.0,
        "sessions-per-subscriber": 0,
        "fragments": {"datagrams": 0},
        "icmp-errors-per-s": 0,
    });
    serde_json::from_value(config).expect("keys of a NAT")
}

/// Whether the kernel translates addresses; the reason is printed where it does not.
fn translates() -> bool {
    let Some(driver) = driver() else { return false };
    match driver.available_for(&Cgnat::service(&nat())) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("skipped: {error}; {}", error.remedy);
            false
        }
    }
}

/// What the kernel has once: beside another program whose connections it translates, a frame stood
/// still for more than four seconds, in 3 of 12 runs.
const KERNEL_NAT: &str = "kernel-nat";

#[test]
fn a_nat_does_what_the_oracle_says() {
    if translates() {
        let _alone = netns::alone_with(KERNEL_NAT).expect("a file to lock");
        let traffic = json!({"tcp-share": 0.4, "icmp-share": 0.2, "sessions": 100});
        let traffic = serde_json::from_value(traffic).expect("keys of traffic");
        checked::<Cgnat>(nat(), traffic, keys());
    }
}

#[test]
fn sessions_of_a_nat_are_opened_used_closed_and_forgotten() {
    let (Some(driver), true) = (driver(), translates()) else { return };
    let _alone = netns::alone_with(KERNEL_NAT).expect("a file to lock");
    let traffic = json!({"tcp-share": 0.4, "icmp-share": 0.2, "sessions": 200});
    let traffic = serde_json::from_value(traffic).expect("keys of traffic");
    let model = Configured::<Cgnat>::new(nat(), traffic).expect("a valid configuration");
    let device = Remote::open(driver, model, options(keys()), host());
    let mut device = device.unwrap_or_else(|error| panic!("{error}; {}", error.remedy));
    let wait = Duration::from_secs(10);
    let mut measure = |action| {
        let load = Load::Sessions(SessionLoad::all(action, 300));
        let trial = device.measure(load, wait, &mut Silent).expect("a trial");
        trial.sessions.expect("a load of sessions")
    };
    let opened = measure(SessionAction::Open);
    assert!(opened.is_whole(), "{opened:?}");
    assert_eq!((opened.wrong, opened.held), (0, Some(300)));
    let used = measure(SessionAction::Use);
    assert!(used.is_whole(), "{used:?}");
    assert_eq!((used.wrong, used.held), (0, Some(300)), "none beyond those that were open");
    let closed = measure(SessionAction::Close);
    assert!(closed.is_whole(), "{closed:?}");
    device.clear_sessions().expect("a new state");
    let load = Load::Sessions(SessionLoad::all(SessionAction::Open, 20));
    let counts = device.measure(load, wait, &mut Silent).expect("a trial").sessions;
    assert_eq!(counts.and_then(|counts| counts.held), Some(20));
}

#[test]
fn what_the_kernel_cannot_do_of_a_nat_is_refused_by_its_key() {
    let driver = registry::find("linux").and_then(|device| device.driver).expect("registered");
    let refused = |change: fn(&mut cgnat::Config)| {
        let mut config = nat();
        change(&mut config);
        let limitations = driver.limitations(&Cgnat::service(&config), &Map::new());
        limitations.err().map(|error| error.what).unwrap_or_default()
    };
    assert_eq!(refused(|_| {}), "");
    let hairpin = refused(|config| config.hairpinning = true);
    assert!(hairpin.starts_with("linux does not support `hairpinning`"), "{hairpin}");
    assert!(refused(|config| config.port_block.size = 512).contains("`port-block`"));
    assert!(refused(|config| config.quarantine_s = 120.0).contains("`quarantine-s`"));
    let short = refused(|config| config.timeouts.udp_s = 1.0);
    assert!(short.contains("whole seconds"), "{short}");
}

struct Silent;

impl Watch for Silent {
    fn at(&mut self, _: TrialProgress) {}
}
