//! Hosts that come, go, crash and move, over links that lose, repeat and reorder, with a server
//! that is away at times and a controller that begins again.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use controller_bng::Config;
use protocol_ppp::Method;
use protocol_radius::List;
use serde_json::json;

use crate::host::Host;
use crate::relayed::relayed;
use crate::server::{START, STOP};
use crate::world::{Faults, World, keys, seconds};

#[test]
fn no_address_is_given_twice_and_everything_comes_back() {
    for seed in 0..SEEDS {
        let run = catch_unwind(AssertUnwindSafe(|| {
            // Of DHCPv4 by external servers, too.
            let by_others = Config { lease_time_s: 120, pppoe: own().pppoe, ..relayed("proxy") };
            walk(seed, &if seed % 4 < 2 { own() } else { by_others });
        }));
        if let Err(panic) = run {
            eprintln!("the seed is {seed}");
            resume_unwind(panic);
        }
    }
}

/// Runs, of which each takes a fifth of a second.
const SEEDS: u64 = 40;

/// Stations that have clients of both versions.
const BOTH: [&str; 2] = ["02:00:00:00:01:05", "02:00:00:00:01:06"];

/// All by the controller alone.
fn own() -> Config {
    keys(json!({
        "ipoe": {"authentication": "radius"},
        "pppoe": {"authentication": "radius"},
        "lease-time-s": 120,
    }))
}

fn walk(seed: u64, config: &Config) {
    let has_restarts = seed % 2 == 1;
    let mut world = World::new(config, seed);
    world.server.is_open = true;
    world.external.valid_s = config.lease_time_s;
    world.server.add("user", "password", List::new());
    for number in 1..=6 {
        world.add(Host::dhcp(number, number as u8));
        // Two hosts of one station, on two lines.
        world.add(Host::dhcp(100 + number, number as u8));
        let method = [Method::Pap, Method::ChapMd5][usize::from(number % 2)];
        world.add(Host::dialled(number, number as u8, &[method], "user", "password"));
    }
    // Clients of DHCPv6, of which the first two share stations with clients of DHCPv4.
    for number in 5..=8 {
        world.add(Host::dhcp6(number, number as u8));
    }
    world.faults = Faults { lost: 50, repeated: 50, delay: Duration::from_millis(300) };
    for _ in 0..200 {
        let host = world.random.below(world.hosts.len() as u64) as usize;
        let number = 1 + world.random.below(1000);
        match world.random.below(20) {
            0..6 => world.begin(host),
            6..9 => world.end(host, true),
            9..12 => world.end(host, false),
            12 => world.server.is_dead = !world.server.is_dead,
            13 => _ = world.command("disconnect", json!({"session": 1 + number % 20})),
            14 if has_restarts && world.random.below(8) == 0 => {
                world.restart(config, seed ^ 0xabcd);
            }
            _ => _ = world.pass(host, number),
        }
        let span = Duration::from_millis(world.random.below(4000));
        world.run(span);
    }
    // All is well again, and whoever wants to be up is.
    world.faults = Faults::default();
    world.server.is_dead = false;
    for host in 0..world.hosts.len() {
        world.end(host, true);
    }
    world.run(seconds(400));
    let left: Vec<_> = world.gateway.sessions.values().collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(world.table("subscribers", &[]), Vec::<serde_json::Value>::new());
    assert_eq!(world.used(), [0; 4], "nothing leaks");
    // Not those that would end others' sessions.
    let last: Vec<usize> = (0..world.hosts.len()).filter(|host| host % 3 != 1).collect();
    last.iter().for_each(|host| world.begin(*host));
    world.run(seconds(60));
    let of = |host: &Host| host.address().map(IpAddr::V4).or(host.na().map(IpAddr::V6));
    let addresses: Vec<_> = world.hosts.iter().filter_map(of).collect();
    let distinct: BTreeSet<_> = addresses.iter().collect();
    assert_eq!((addresses.len(), distinct.len()), (last.len(), last.len()));
    for host in last {
        assert!(world.pass(host, 7));
        world.end(host, true);
    }
    world.run(seconds(130));
    let [starts, stops] = [START, STOP].map(|status| world.server.sessions(status));
    // A controller that begins again has lost the records that waited.
    if !has_restarts {
        assert_eq!(starts, stops, "they balance");
        let told = world.server.records.iter().filter(|((_, status), _)| *status == STOP);
        let told: u64 = told.map(|(_, record)| record.octets.iter().sum::<u64>()).sum();
        assert_eq!(told, world.gateway.passed, "volumes are what passed");
    }
    let records = &world.server.records;
    for ((session, _), stop) in records.iter().filter(|((_, status), _)| *status == STOP) {
        let start = records.get(&(session.clone(), START));
        let has_two = BOTH.contains(&stop.user.as_str());
        match start.filter(|_| !has_two) {
            Some(start) => assert_eq!(stop.addresses, start.addresses, "{}", stop.user),
            None => assert!(!stop.addresses.is_empty(), "{}", stop.user),
        }
    }
}
