//! What becomes of connections, without a network.

use controller_kit::{Action, Controller, Setup};
use controller_route_reflector::{Config, RouteReflector};
use protocol_kit::{Arrival, Departure, Input, Machine, Output, Socket, Time};
use serde_json::{Value, json};

fn config(more: Value) -> Config {
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
    for mut fine in [
        config(json!({"peers": [near]})),
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
