//! Route reflectors as they are set up, used, killed, started again and taken away.
//!
//! Every driver that can run here is tried, so a new one needs no line here.

mod client;
mod killed;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::{ASN, Client, Heard, identifier, next_hop};
use devices::registry::ROUTING;
use devices::routing::driver::{
    GRACEFUL_RESTART, Policies, ROUTE_TARGET_CONSTRAINT, RoutingDriver, RoutingPeer,
    RoutingRunning, RoutingService, RoutingStart,
};
use protocol_bgp::families::{Family, FamilySet};
use serde_json::{Map, Value, json};

/// Routes of each family that a feeder tells.
const ROUTES: u16 = 100;
const CLUSTER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 200);

fn service(peers: &[RoutingPeer], families: FamilySet) -> RoutingService {
    RoutingService {
        asn: ASN,
        identifier: Ipv4Addr::new(192, 0, 2, 1),
        cluster: CLUSTER,
        client_to_client: true,
        families,
        hold_time_s: 90,
        peers: peers.to_vec(),
        route_target_constraint: false,
        graceful_restart: false,
        policies: Policies::default(),
        configuration: Value::Null,
    }
}

fn peer(number: u8, asn: u32, client: bool) -> RoutingPeer {
    RoutingPeer { address: Ipv4Addr::new(127, 0, 1, number), asn, client }
}

fn families(of: &[Family]) -> FamilySet {
    of.iter().copied().collect()
}

/// The families of these that a device has.
fn supported(driver: &dyn RoutingDriver, of: &[Family]) -> FamilySet {
    let has = |family: &Family| {
        driver.limitations(&service(&[], families(&[*family])), &Map::new()).is_ok()
    };
    of.iter().copied().filter(has).collect()
}

/// Drivers that can run here, each with the keys that it needs for that.
fn usable() -> Vec<(&'static dyn RoutingDriver, Map<String, Value>)> {
    let mut found = Vec::new();
    for driver in ROUTING.iter().copied() {
        let name = driver.name();
        if let Err(error) = driver.available() {
            println!("skipped: {name}: {error}; {}", error.remedy);
            continue;
        }
        let options = match (name, super::crash::program()) {
            ("process", None) => {
                println!("skipped: process: plumbline is not built");
                continue;
            }
            ("process", Some(program)) => json!({"program": program}),
            // Else it waits for seconds before it tells its first table.
            ("frr", _) => json!({"coalesce-time-ms": 100}),
            _ => json!({}),
        };
        found.push((driver, options.as_object().cloned().expect("an object")));
    }
    found
}

fn start(
    driver: &dyn RoutingDriver,
    service: &RoutingService,
    options: &Map<String, Value>,
) -> Box<dyn RoutingRunning> {
    let request = RoutingStart { service, options, cores: &[], stop: Arc::default() };
    let started = driver.start(&request);
    started.unwrap_or_else(|error| panic!("{}: {error}; {}", driver.name(), error.remedy))
}

/// Routes of a family, as they stand on the wire.
fn routes(family: Family) -> Vec<Vec<u8>> {
    let distinguisher = [0, 0, 0xfd, 0xe8, 0, 0, 0, 7];
    let route = |number: u16| {
        let [high, low] = number.to_be_bytes();
        match family {
            Family::VpnV4 => [&[112, 0, 1, 0x31], &distinguisher[..], &[100, high, low]].concat(),
            Family::L2vpnEvpn => {
                // Type 2: no segment, tag 0, an address of 48 bits, no address of IP, a label.
                let mac = [2, 0, 0, 0, high, low];
                let head = [&[2, 33], &distinguisher[..], &[0; 14], &[48]].concat();
                [&head[..], &mac, &[0, 0, 1, 0x31]].concat()
            }
            Family::Ipv6Unicast => vec![48, 0x20, 0x01, 0x0d, 0xb8, high, low],
            _ => vec![24, 100, high, low],
        }
    };
    (0..ROUTES).map(route).collect()
}

/// A feeder tells everything, and two clients have it all as a reflector tells it.
fn converge(name: &str, device: SocketAddr, families: FamilySet) -> Vec<Client> {
    let connect = |number| Client::connect(peer(number, ASN, true).address, ASN, device, families);
    let mut clients: Vec<Client> = (1..=3).map(connect).collect();
    for family in families.iter() {
        clients[0].tell(family, &routes(family));
    }
    let originator = identifier(peer(1, ASN, true).address);
    for client in &mut clients[1..] {
        for family in families.iter() {
            let what = format!("{name}: routes of {family}");
            client.until(&what, |client| client.count(family) == usize::from(ROUTES));
        }
        for ((family, key), heard) in &client.heard {
            let expected = Heard {
                originator: Some(originator),
                clusters: vec![CLUSTER.to_bits()],
                next_hop: next_hop(*family),
            };
            assert_eq!(*heard, expected, "{name}: {family} {key:?}");
        }
    }
    clients
}

#[test]
fn clients_hear_a_feeder_before_and_after_a_restart_and_nothing_is_left() {
    let wanted = [Family::Ipv4Unicast, Family::Ipv6Unicast, Family::VpnV4, Family::L2vpnEvpn];
    for (driver, options) in usable() {
        let name = driver.name();
        let families = supported(driver, &wanted);
        assert!(families.contains(Family::Ipv4Unicast) && families.contains(Family::VpnV4));
        let service = service(&[1, 2, 3].map(|number| peer(number, ASN, true)), families);
        let mut running = start(driver, &service, &options);
        let address = running.address();
        assert!(address.ip().is_loopback() && address.port() > 1024, "{name}: {address}");
        let clients = converge(name, address, families);
        running.health().expect("it runs");
        let first = running.usage();
        assert!(first.cpu_ns.is_some_and(|time| time > 0), "{name}: {first:?}");
        assert_eq!(first.resident_bytes.is_some_and(|bytes| bytes > 0), name != "embedded");
        assert!(!running.facts().version.is_empty(), "{name}");

        let folder = folder_of(&*running);
        running.restart().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(running.address(), address, "{name}");
        clients.into_iter().for_each(Client::until_ended);
        let clients = converge(name, address, families);
        let second = running.usage();
        assert!(second.cpu_ns > first.cpu_ns, "{name}: {second:?} goes on from {first:?}");

        let processes = folder.as_deref().map(processes_with).unwrap_or_default();
        assert_eq!(processes.is_empty(), name == "embedded", "{name}: {processes:?}");
        drop(running);
        clients.into_iter().for_each(Client::until_ended);
        let deadline = Instant::now() + Duration::from_secs(30);
        while processes.iter().any(|process| super::crash::is_alive(*process))
            || TcpListener::bind(address).is_err()
        {
            assert!(Instant::now() < deadline, "{name} left one of {processes:?} at {address}");
            std::thread::park_timeout(Duration::from_millis(5));
        }
        assert!(!folder.is_some_and(|folder| folder.exists()), "{name} left its folder");
    }
}

/// The private folder of a device that has one, by what it was started with.
fn folder_of(running: &dyn RoutingRunning) -> Option<PathBuf> {
    let details = running.facts().details;
    let (_, program) = details.iter().find(|(key, _)| key == "program")?;
    let mut words = program.as_str()?.split(['/', ' ']);
    let name = words.find(|word| word.starts_with("plumbline-device-"))?;
    Some(std::env::temp_dir().join(name))
}

/// Processes that were started with a file of a folder, and those that they have started.
fn processes_with(folder: &Path) -> BTreeSet<u32> {
    let folder = folder.display().to_string();
    let is_of = |id: &u32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&folder)
    };
    let mut found: BTreeSet<u32> = super::crash::processes().filter(is_of).collect();
    let is_child = |id: &u32| super::crash::parent(*id).is_some_and(|id| found.contains(&id));
    let children: Vec<u32> = super::crash::processes().filter(is_child).collect();
    found.extend(children);
    found
}

/// RFC 4456 section 6, with a peer of another AS: each is told what it must be, and a peer that is
/// no client is not told what another such one has told.
#[test]
fn a_device_knows_clients_from_other_peers() {
    const OTHER: u32 = 65_099;
    // What the peer at each place must hear, by the places of those who tell it.
    let all = [
        (peer(11, ASN, true), &[1, 2, 3][..]),
        (peer(12, ASN, false), &[0, 3]),
        (peer(13, ASN, false), &[0, 3]),
        (peer(14, OTHER, false), &[0, 1, 2]),
    ];
    let routes = routes(Family::Ipv4Unicast);
    let key = |number: usize| (Family::Ipv4Unicast, routes[number].clone());
    for (driver, options) in usable() {
        let name = driver.name();
        let families = families(&[Family::Ipv4Unicast]);
        let of = |all: &[(RoutingPeer, &[usize])]| {
            service(&all.iter().map(|(peer, _)| *peer).collect::<Vec<_>>(), families)
        };
        // One that has no peers of another AS says so.
        let can_all = driver.limitations(&of(&all), &options).is_ok();
        let peers = if can_all { &all[..] } else { &all[..3] };
        assert_eq!(can_all, name != "gobgp", "{name}");
        let running = start(driver, &of(peers), &options);
        let connect = |(peer, _): &(RoutingPeer, _)| {
            Client::connect(peer.address, peer.asn, running.address(), families)
        };
        let mut sessions: Vec<Client> = peers.iter().map(connect).collect();
        for (number, session) in sessions.iter_mut().enumerate() {
            session.tell(Family::Ipv4Unicast, &routes[number..=number]);
        }
        for (number, session) in sessions.iter_mut().enumerate() {
            let hears: Vec<usize> =
                all[number].1.iter().copied().filter(|from| *from < peers.len()).collect();
            let what = format!("{name}: peer {number} to hear of {hears:?}");
            session.until(&what, |session| {
                hears.iter().all(|from| session.heard.contains_key(&key(*from)))
            });
        }
        for (session, not) in [(1, 2), (2, 1)] {
            let heard = &sessions[session].heard;
            assert!(!heard.contains_key(&key(not)), "{name}: {session} hears of {not}: {heard:?}");
        }
    }
}

/// RFC 4724 section 4.1, of devices that do not say that they cannot do it.
#[test]
fn a_device_says_that_it_has_restarted_where_that_is_wanted() {
    let families = families(&[Family::Ipv4Unicast, Family::VpnV4]);
    let one = peer(31, ASN, true);
    for (driver, options) in usable() {
        let name = driver.name();
        let service = RoutingService { graceful_restart: true, ..service(&[one], families) };
        let limits = driver.limitations(&service, &options).expect("it can do the rest");
        if limits.iter().any(|limit| limit.verdicts.contains(&GRACEFUL_RESTART)) {
            continue;
        }
        let mut running = start(driver, &service, &options);
        let connect = |running: &dyn RoutingRunning| {
            Client::connect(one.address, ASN, running.address(), families)
        };
        let before = connect(&*running).restart().expect("it names its families");
        assert_eq!(before.families, families, "{name}: {before:?}");
        running.restart().unwrap_or_else(|error| panic!("{name}: {error}"));
        let after = connect(&*running).restart().expect("it names its families");
        assert!(after.is_restarting, "{name}: {after:?}");
        assert_eq!(after.preserved, families, "{name}: {after:?}");
    }
}

/// RFC 4684, of devices that do not say that they cannot do it.
#[test]
fn routes_go_to_who_has_asked_for_their_target_where_that_is_wanted() {
    const OTHER: u8 = 9;
    let wanted = families(&[Family::VpnV4]);
    let families = families(&[Family::VpnV4, Family::RouteTarget]);
    let peers = [41, 42, 43].map(|number| peer(number, ASN, true));
    for (driver, options) in usable() {
        let name = driver.name();
        let service = RoutingService { route_target_constraint: true, ..service(&peers, wanted) };
        let limits = driver.limitations(&service, &options).expect("it can do the rest");
        if limits.iter().any(|limit| limit.verdicts.contains(&ROUTE_TARGET_CONSTRAINT)) {
            continue;
        }
        let running = start(driver, &service, &options);
        let connect =
            |peer: RoutingPeer| Client::connect(peer.address, ASN, running.address(), families);
        let [mut feeder, mut all, mut other] = peers.map(connect);
        // Every target, and one alone.
        all.tell(Family::RouteTarget, &[vec![0]]);
        let target = vec![96, 0, 0, 0xfd, 0xe8, 0, 2, 0xfd, 0xe8, 0, 0, 0, OTHER];
        other.tell(Family::RouteTarget, &[target]);
        let all_routes = routes(Family::VpnV4);
        let (last, first) = all_routes.split_last().expect("routes");
        feeder.tell(Family::VpnV4, first);
        feeder.target = OTHER;
        feeder.tell(Family::VpnV4, std::slice::from_ref(last));
        for session in [&mut feeder, &mut all, &mut other] {
            session.tell_end(Family::RouteTarget);
        }
        let what = format!("{name}: all routes");
        all.until(&what, |client| client.count(Family::VpnV4) == usize::from(ROUTES));
        // Of what it has asked for there is one route, which was told last.
        let what = format!("{name}: a route");
        other.until(&what, |client| client.count(Family::VpnV4) > 0);
        assert_eq!(other.count(Family::VpnV4), 1, "{name}: {:?}", other.heard);
    }
}

/// Needs no right and no program.
#[test]
fn what_a_device_cannot_do_it_says_by_name() {
    let none = Map::new();
    let driver = |name: &str| {
        ROUTING.iter().find(|driver| driver.name() == name).copied().expect("registered")
    };
    for (name, family) in [
        ("frr", Family::RouteTarget),
        ("bird", Family::L2vpnEvpn),
        ("openbgpd", Family::L2vpnEvpn),
        ("openbgpd", Family::Ipv4Labelled),
    ] {
        let refused = driver(name).limitations(&service(&[], families(&[family])), &none);
        let error = refused.expect_err("it does not have it").to_string();
        assert!(error.contains(name) && error.contains(&family.to_string()), "{error}");
    }
    let plain = service(&[], families(&[Family::Ipv4Unicast]));
    let verdicts = |name: &str, service: &RoutingService| -> Vec<&'static str> {
        let found = driver(name).limitations(service, &none).expect("it can do it");
        assert!(found.iter().all(|one| !one.what.is_empty()), "{found:?}");
        found.into_iter().flat_map(|one| one.verdicts).collect()
    };
    assert_eq!(verdicts("frr", &plain), ["added-med", "own-routes"]);
    assert_eq!(verdicts("bird", &plain), ["order-of-routes", "own-cluster-of-non-clients"]);
    assert!(verdicts("gobgp", &plain).contains(&"full-table"));
    assert_eq!(verdicts("openbgpd", &plain), ["coming-back", "own-as"]);
    assert!(verdicts("embedded", &plain).is_empty());
    let waits = |options: Value| {
        let options = options.as_object().cloned().expect("a mapping");
        let found = driver("frr").limitations(&plain, &options).expect("it can do it");
        found.iter().any(|one| one.what.contains("1000 ms"))
    };
    assert!(waits(json!({})) && !waits(json!({"coalesce-time-ms": 0})));
    let targets = RoutingService { route_target_constraint: true, ..plain.clone() };
    for name in ["frr", "bird", "openbgpd"] {
        assert!(verdicts(name, &targets).contains(&"route-target-constraint"), "{name}");
    }
    assert!(!verdicts("gobgp", &targets).contains(&"route-target-constraint"));
    let restarts = RoutingService { graceful_restart: true, ..plain.clone() };
    for name in ["openbgpd", "embedded", "process"] {
        let cannot = verdicts(name, &restarts).contains(&"graceful-restart");
        assert_eq!(cannot, name == "openbgpd", "{name}");
    }
    let apart = RoutingService { client_to_client: false, ..plain.clone() };
    for name in ["bird", "gobgp", "openbgpd"] {
        let error = driver(name).limitations(&apart, &none).expect_err("none of them can");
        assert!(error.to_string().contains("client-to-client"), "{name}: {error}");
    }
    assert!(driver("frr").limitations(&apart, &none).is_ok());
    let rules = json!([{"name": "out", "default": "accept"}]);
    let policies = Policies { all: rules, import: None, export: Some("out".to_owned()) };
    let policed = RoutingService { policies, ..plain.clone() };
    for driver in ROUTING {
        let is_own = ["embedded", "process"].contains(&driver.name());
        let found = driver.limitations(&policed, &none).map_err(|error| error.to_string());
        assert_eq!(found.is_ok(), is_own, "{}: {found:?}", driver.name());
        let error = found.err().unwrap_or_else(|| "policies".to_owned());
        assert!(error.contains("policies"), "{error}");
    }
    let both = families(&[Family::Ipv4Unicast, Family::Ipv4Labelled]);
    let error = driver("frr").limitations(&service(&[], both), &none).expect_err("not both");
    assert!(error.to_string().contains("ipv4-labelled"), "{error}");
}

/// Needs no right and no program.
#[test]
fn keys_that_are_none_and_programs_that_are_absent_are_named() {
    let plain = service(&[], families(&[Family::Ipv4Unicast]));
    for driver in ROUTING {
        let name = driver.name();
        let options = |keys: Value| keys.as_object().cloned().expect("an object");
        let error = driver.limitations(&plain, &options(json!({"colour": "red"})));
        assert!(error.expect_err("no such key").to_string().contains("colour"), "{name}");
        if name == "embedded" {
            continue;
        }
        let options = options(json!({"program": "/nowhere/at/all"}));
        let request =
            RoutingStart { service: &plain, options: &options, cores: &[], stop: Arc::default() };
        let error = driver.start(&request).err().expect("it is not there");
        assert!(error.what.contains("/nowhere/at/all"), "{name}: {error}");
        assert!(error.remedy.contains("`program`"), "{name}: {}", error.remedy);
    }
    let bad = RoutingService { configuration: json!({"stream-bytes": 7}), ..plain };
    for driver in ROUTING.iter().filter(|one| ["embedded", "process"].contains(&one.name())) {
        let error = driver.limitations(&bad, &Map::new()).expect_err("too few bytes");
        assert!(error.to_string().contains("stream-bytes"), "{error}");
    }
}
