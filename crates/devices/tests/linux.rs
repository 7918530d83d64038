//! The kernel against the oracle, over real ports; without the right to make namespaces there is nothing
//! to test.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use devices::driver::Driver;
use devices::embedded::Host;
use devices::registry;
use devices::remote::Remote;
use functions::NetworkFunction;
use functions::l2_switch::{self, L2Switch};
use functions::l3_router::{self, L3Router};
use functions::mobile_gateway::config::Tunnel;
use functions::mobile_gateway::{self, MobileGateway};
use machine::clock::Clock;
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

fn host() -> Host {
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

/// Sets the device up for a function and compares it with the oracle.
fn checked<N: NetworkFunction>(mut config: N::Config, mut traffic: N::Traffic, keys: Value) {
    let Some(driver) = driver() else { return };
    N::validate(&mut config, &mut traffic).expect("a valid configuration");
    let device = Remote::<N>::open(driver, (config, traffic), options(keys), host());
    let mut device = device.unwrap_or_else(|error| panic!("{error}; {}", error.remedy));
    let check = device.check().expect("a check");
    let drops = device.usage().drops;
    assert!(check.passed, "{:#?}\n{drops:?}\n{:#?}", check.mismatches, check.limitations);
    assert!(check.frames > 100, "{check:#?}");
    eprintln!("{} frames, left out {:#?}", check.frames, check.limitations);
}

/// A lone frame is handed on at once.
fn keys() -> Value {
    json!({"ports": {"type": "af-packet", "ring": "frames"}})
}

#[test]
fn a_router_does_what_the_oracle_says() {
    let config = l3_router::Config {
        upstream_l3_table_size: 200,
        upstream_group_table_size: 3,
        ipv6: true,
        ..l3_router::Config::default()
    };
    checked::<L3Router>(config, l3_router::Traffic::default(), keys());
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
    checked::<L3Router>(config, l3_router::Traffic::default(), keys());
}

#[test]
fn a_bridge_does_what_the_oracle_says() {
    checked::<L2Switch>(l2_switch::Config::default(), l2_switch::Traffic::default(), keys());
}

#[test]
fn a_mobile_gateway_over_vxlan_does_what_the_oracle_says() {
    let config = mobile_gateway::Config {
        fakedrop: false,
        user: 20,
        bst: 3,
        server: 5,
        tunnel: Some(Tunnel::Vxlan),
        ipv6: true,
        // The check's pauses are those in which a user earns a packet again.
        rate_limit: serde_json::from_value(json!("10 MB/s")).expect("a rate"),
        ..mobile_gateway::Config::default()
    };
    checked::<MobileGateway>(
        config,
        mobile_gateway::Traffic::default(),
        json!({"ports": "af-packet"}),
    );
}

#[test]
fn a_patch_does_what_the_oracle_says() {
    let config =
        l2_switch::Config { mode: l2_switch::config::Mode::Patch, ..l2_switch::Config::default() };
    checked::<L2Switch>(config, l2_switch::Traffic::default(), keys());
}
