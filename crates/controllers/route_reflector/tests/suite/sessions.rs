//! What becomes of connections, without a network.

use controller_kit::{Action, Controller, Setup};
use controller_route_reflector::{Config, RouteReflector};
use protocol_bgp::capabilities::{Capability, GracefulRestart};
use protocol_kit::{Arrival, Departure, Input, Machine, Output, Socket, Time};
use serde_json::{Value, json};

use crate::bench::{Bench, update};

pub fn config(more: Value) -> Config {
    let mut all = json!({"as": 64500, "identifier": "192.0.2.1"});
    let more = more.as_object().expect("keys").clone();
    all.as_object_mut().expect("keys").extend(more);
    serde_json::from_value(all).expect("it is a configuration")
}

fn refused(more: Value) -> String {
    let mut config = config(more);
    RouteReflector::validate(&mut config).expect_err("it cannot be").key.to_string()
}

/// - `route-reflector`, RFC 5082 section 3: what one listener cannot do for each peer is refused
#[test]
fn keys_that_would_do_nothing_are_refused() {
    let peer = |more: Value| {
        let mut peer = json!({"address": "192.0.2.2"});
        peer.as_object_mut().expect("keys").extend(more.as_object().expect("keys").clone());
        peer
    };
    let other = json!({"address": "192.0.2.3"});
    let near = peer(json!({"ttl-min": 255}));
    assert_eq!(refused(json!({"peers": [near, other]})), "ttl-min");
    let networks = json!([{"network": "192.0.2.0/24"}]);
    assert_eq!(refused(json!({"peers": [near], "dynamic": networks})), "ttl-min");
    let own = json!({"next-hop-self": true, "as": 64501});
    assert_eq!(refused(json!({"peers": [peer(own)]})), "next-hop-self");
    let own = json!({"next-hop-self": true, "local": "192.0.2.1"});
    assert_eq!(refused(json!({"peers": [peer(own)]})), "next-hop-self");
    let several = |list: Value| json!({"peers": [peer(json!({"paths-to-peer": list}))]});
    assert_eq!(refused(several(json!([{"families": ["route-target"]}]))), "paths-to-peer");
    let hidden = json!([{"paths-max": 2}, {"families": ["vpnv4"]}]);
    assert_eq!(refused(several(hidden.clone())), "paths-to-peer");
    let networks = json!([{"network": "192.0.2.0/24", "paths-to-peer": hidden}]);
    assert_eq!(refused(json!({"dynamic": networks})), "paths-to-peer");
    for mut fine in [
        config(json!({"peers": [near]})),
        config(several(json!([{"families": ["vpnv4"]}, {"paths-max": 2}]))),
        config(json!({"peers": [near, other], "listen": []})),
        config(json!({"peers": [peer(
            json!({"next-hop-self": true, "local": "192.0.2.1", "as": 64501})
        )]})),
    ] {
        assert!(RouteReflector::validate(&mut fine).is_ok());
    }
}

/// The departures until there are none at a time.
fn drain(reflector: &mut RouteReflector, now: Time) -> Vec<Departure> {
    let mut all = Vec::new();
    while let Some(output) = reflector.poll(now) {
        match output {
            Output::Departure(departure) => all.push(departure),
            Output::Report(Action::Line(_)) => {}
            Output::<Action>::Report(report) => panic!("{report:?}"),
        }
    }
    all
}

/// - `route-reflector`, RFC 4271 section 6.1: a host of a network that speaks no BGP is told so,
///   its connection is closed, and nothing of it stays
#[test]
fn a_host_that_speaks_no_bgp_leaves_nothing_behind() {
    let config = config(json!({"dynamic": [{"network": "192.0.2.0/24", "peers-max": 1}]}));
    let setup = Setup { function: None, state: Vec::new(), seed: 1 };
    let mut reflector = RouteReflector::new(&config, setup).expect("it may be");
    let mut now = Time::ZERO;
    drain(&mut reflector, now);
    for round in 0..3_u8 {
        let socket = Socket(1 << 20 | u32::from(round));
        let peer = Some(([192, 0, 2, 10 + round], 5000).into());
        let connected = Arrival::Connected { socket, local: None, peer };
        reflector.input(now, Input::Arrival(connected));
        drain(&mut reflector, now);
        assert_eq!(reflector.neighbours(now).len(), 1);
        reflector.input(now, Input::Arrival(Arrival::Bytes { socket, bytes: &[0; 19] }));
        let told = drain(&mut reflector, now);
        let is_told =
            |one: &Departure| matches!(one, Departure::Bytes { bytes, .. } if bytes[18] == 3);
        assert!(told.iter().any(is_told), "a NOTIFICATION: {told:?}");
        let sent = |one: &Departure| match one {
            Departure::Bytes { bytes, .. } => bytes.len(),
            _ => 0,
        };
        // What was said before was taken, too.
        let count = told.iter().map(sent).sum();
        reflector.input(now, Input::Arrival(Arrival::Taken { socket, count }));
        let mut all = drain(&mut reflector, now);
        while let Some(at) = reflector.deadline().filter(|_| !reflector.neighbours(now).is_empty())
        {
            now = now.max(at);
            all.extend(drain(&mut reflector, now));
        }
        assert!(all.contains(&Departure::Close { socket }), "round {round}: {all:?}");
        assert!(reflector.neighbours(now).is_empty(), "round {round}");
    }
}

/// - `route-reflector`: other peers are taken while the rest stays, and anything else begins anew
#[test]
fn a_reload_changes_peers_alone() {
    let peer = |last: u8| json!({"address": format!("192.0.2.{last}"), "passive": true});
    let with = |peers: Value| config(json!({"peers": peers}));
    let setup = Setup { function: None, state: Vec::new(), seed: 1 };
    let first = with(json!([peer(2), peer(3)]));
    let mut reflector = RouteReflector::new(&first, setup).expect("it may be");
    let now = Time::ZERO;
    drain(&mut reflector, now);
    let shown = |reflector: &mut RouteReflector| {
        drain(reflector, now);
        let shown = reflector.show();
        let peers = shown["peers"].as_array().expect("a list").iter();
        let all = peers.map(|one| (one["address"].clone(), one["as"].clone()));
        all.map(|(address, asn)| format!("{} {asn}", address.as_str().expect("text"))).collect()
    };
    let mut changed = peer(3);
    changed["as"] = json!(64501);
    let second = with(json!([changed, peer(4)]));
    assert!(reflector.reload(&second, None, now));
    let mut all: Vec<String> = shown(&mut reflector);
    all.sort_unstable();
    assert_eq!(all, ["192.0.2.3 64501", "192.0.2.4 64500"]);
    assert!(reflector.reload(&second, None, now), "the same");
    assert!(reflector.reload(&first, None, now));
    let mut all: Vec<String> = shown(&mut reflector);
    all.sort_unstable();
    assert_eq!(all, ["192.0.2.2 64500", "192.0.2.3 64500"]);
    let mut signed = peer(2);
    signed["md5"] = json!("a key");
    for other in [with(json!([signed])), config(json!({"hold-time-s": 30}))] {
        assert!(!reflector.reload(&other, None, now));
    }
}

/// - `route-reflector`, RFC 4724 section 4.2: a peer that comes by another connection while its
///   session seems to stand, and says all at once, has a session and is told everything
#[test]
fn a_peer_that_comes_again_is_told_everything() {
    let mut bench = Bench::new(&json!({}));
    let restarts = || vec![Capability::GracefulRestart(GracefulRestart::default())];
    let other = bench.client(11, Vec::new());
    bench.say(other, &update(&[8, 10], 5));
    let first = bench.client(10, restarts());
    let again = bench.client_by(Socket(1 << 21), 10, restarts());
    let told = |socket: Socket| {
        let said = bench.peers.get(&socket).map_or(&[][..], Vec::as_slice);
        said.windows(2).any(|part| part == [8, 10])
    };
    assert!(told(first) && told(again));
}
