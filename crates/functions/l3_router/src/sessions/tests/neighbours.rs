//! Next hops and their neighbours, whichever of them comes first.

use protocol_bfd::State;

use super::super::super::config::BfdSession;
use super::*;

/// A router whose next hop 0 is to come, and the next hop.
fn without() -> (Node, NextHop) {
    let mut keys = keys((1, 2), Value::Null, 1);
    keys["bfd-capacity"] = json!(2);
    let config = read(keys);
    let mut node = finished(Pipeline::new(&config, Clock::with_rate(1e9), 0).expect("memory"));
    let next_hop = *node.router.state.neighbours.get(&0).expect("a next hop");
    node.router.change(Update::RemoveNextHop { number: 0 }, 0).expect("a change");
    (node, next_hop)
}

/// The session with the neighbour with this last octet, held down or not.
fn asked(peer: u8, is_held: bool) -> BfdSession {
    serde_json::from_value(json!({"port": "uplink", "peer": format!("10.1.0.{peer}"),
        "min-tx-us": 10_000, "min-rx-us": 10_000, "multiplier": 3, "shut-down": is_held}))
    .expect("a session")
}

#[test]
fn a_session_that_is_taken_down_on_purpose_at_either_end_leaves_the_path_up() {
    let mut keys = keys((2, 1), Value::Null, 1);
    keys["bfd-capacity"] = json!(2);
    let two = Pipeline::new(&read(keys), Clock::with_rate(1e9), 0).expect("memory");
    let mut nodes = [node(1, 2, json!({"interval-ms": 10, "multiplier": 3})), finished(two)];
    let hold = |nodes: &mut [Node; 2], is_held, now| {
        let set = Update::SetBfd { discriminator: 77, session: asked(1, is_held) };
        nodes[1].router.change(set, now).expect("room");
    };
    hold(&mut nodes, false, 0);
    run(&mut nodes, (0, 4_000 * MS), |_, _| true);
    let (now, later) = (4_000 * MS, 6_000 * MS);
    hold(&mut nodes, true, now);
    run(&mut nodes, (now, later), |_, _| true);
    let states = |nodes: &[Node; 2]| {
        let sessions = nodes.each_ref().map(|node| node.router.liveness.as_ref());
        sessions.map(|all| all.and_then(|all| all.views().next()).map(|(_, view)| view.state))
    };
    assert_eq!(states(&nodes), [Some(State::Down), Some(State::AdminDown)]);
    let is_as_before = |nodes: &mut [Node; 2], ups| {
        for node in nodes {
            assert!(!node.router.state.is_down(0));
            assert_eq!([Tally::PathsUp, Tally::PathsDown].map(|tally| node.tally(tally)), [ups, 0]);
            assert!(node.events().iter().all(|kind| *kind == EventKind::Up));
        }
    };
    is_as_before(&mut nodes, 1);
    // Nor is it taken down by who lets it go, before it is up again.
    hold(&mut nodes, false, later);
    nodes[1].step(&[], later + MS);
    is_as_before(&mut nodes, 1);
    run(&mut nodes, (later + MS, later + 4_000 * MS), |_, _| true);
    assert_eq!(states(&nodes), [Some(State::Up); 2]);
    is_as_before(&mut nodes, 2);
    // A failure takes it down.
    let now = later + 4_000 * MS;
    run(&mut nodes, (now, now + 100 * MS), |_, _| false);
    assert!(nodes.iter().all(|node| node.router.state.is_down(0)));
}

#[test]
fn a_session_outlives_that_its_next_hop_comes() {
    let (mut one, next_hop) = without();
    let session = asked(2, false);
    one.router.change(Update::SetBfd { discriminator: 77, session }, 0).expect("room");
    let mut nodes = [one, node(2, 1, json!({"interval-ms": 10, "multiplier": 3}))];
    run(&mut nodes, (0, 4_000 * MS), |_, _| true);
    let now = 4_000 * MS;
    let set = Update::SetNextHop { number: 0, next_hop };
    nodes[0].router.change(set, now).expect("a change");
    run(&mut nodes, (now, now + 1_000 * MS), |_, _| true);
    for node in &mut nodes {
        assert_eq!(node.events(), [EventKind::Up]);
    }
    assert_eq!(nodes[0].way([198, 51, 100, 1], 1, now + 1_000 * MS), Some(UP));
}

/// A router that has set sessions with both addresses of its next hop.
fn with_two_sessions() -> Pipeline {
    let mut keys = keys((1, 2), Value::Null, 1);
    keys["bfd-capacity"] = json!(2);
    keys["ipv6"] = json!(true);
    keys["next-hops"][0]["ipv6"] = json!("3fff:0:0:1::2");
    let mut router = Pipeline::new(&read(keys), Clock::with_rate(1e9), 0).expect("memory");
    let of_ipv6 = BfdSession { peer: "3fff:0:0:1::2".parse().expect("one"), ..asked(2, false) };
    for (discriminator, session) in [(6, of_ipv6), (4, asked(2, false))] {
        router.change(Update::SetBfd { discriminator, session }, 0).expect("room");
    }
    router
}

/// The session of this discriminator has failed, and the router is told so.
fn fail(router: &mut Pipeline, discriminator: u32) {
    let liveness = router.liveness.as_mut().expect("sessions");
    let session = liveness.asked[&discriminator];
    liveness.place_mut(session).expect("one").is_failed = true;
    liveness.wishes.push_back(Wish::Turned { session, is_up: false });
}

#[test]
fn a_next_hop_follows_one_session_whichever_of_its_addresses_have_some() {
    let mut router = with_two_sessions();
    fail(&mut router, 6);
    router.tick(0);
    assert!(!router.state.is_down(0), "it follows the one of its first address");
    fail(&mut router, 4);
    router.tick(2_000 * MS);
    assert!(router.state.is_down(0));
    let next_hop = *router.state.neighbours.get(&0).expect("a next hop");
    router.change(Update::SetNextHop { number: 0, next_hop }, 0).expect("a change");
    let (of_both, of_one) = ([4, 6], [6]);
    for left in [&of_both[..], &of_one] {
        assert!(router.state.is_down(0));
        let liveness = router.liveness.as_ref().expect("sessions");
        let follows = |one: &u32| liveness.followers(liveness.asked[one]).0 == [0];
        assert_eq!(left.iter().filter(|one| follows(one)).count(), 1);
        let remove = Update::RemoveBfd { discriminator: Some(left[0]) };
        router.change(remove, 0).expect("it is there");
    }
    assert!(!router.state.is_down(0));
}

#[test]
fn what_a_session_has_said_holds_for_no_next_hop_that_does_not_follow_it_any_more() {
    let changes = [
        Update::RemoveBfd { discriminator: None },
        Update::RemoveNextHop { number: 0 },
        Update::SetBfd { discriminator: 4, session: asked(3, false) },
    ];
    for change in changes {
        let mut router = with_two_sessions();
        let only = Update::RemoveBfd { discriminator: Some(6) };
        router.change(only, 0).expect("it is there");
        fail(&mut router, 4);
        router.change(change, 0).expect("a change");
        router.tick(0);
        assert!(!router.state.is_down(0), "{change:?}");
        assert_eq!(router.tallies[Tally::PathsDown as usize], 1);
    }
}

#[test]
fn a_next_hop_is_reached_whether_it_or_its_neighbour_comes_first() {
    let source = MacAddr([2, 0, 0, 0, 7, 7]);
    let mac = MacAddr([2, 0, 0, 0, 0, 2]);
    let place = ("uplink", "10.1.0.2");
    let heard = |how: &str| -> Update {
        let (port, address) = place;
        let keys = json!({"port": port, "address": address, "mac": "02:00:00:00:00:02"});
        serde_json::from_value(json!({ how: keys })).expect("a change")
    };
    for how in ["set-neighbour", "hear-neighbour"] {
        for is_neighbour_first in [true, false] {
            let (mut one, next_hop) = without();
            let next_hop = NextHop { source: Some(Mac(source)), ..next_hop };
            let mut changes = [heard(how), Update::SetNextHop { number: 0, next_hop }];
            if !is_neighbour_first {
                changes.reverse();
            }
            for update in changes {
                one.router.change(update, 0).expect("a change");
            }
            let way = one.router.state.hops[0];
            assert_eq!(way, Hop::to(mac, source, UP, 1), "{how}, {is_neighbour_first}");
            assert_eq!(one.way([198, 51, 100, 1], 1, 0), Some(UP));
            // A neighbour that was fixed is reached as before when its next hop is set once more;
            // any other one is asked anew.
            one.router.change(Update::SetNextHop { number: 0, next_hop }, 0).expect("a change");
            let is_fixed = how == "set-neighbour";
            assert_eq!(one.router.state.hops[0] == way, is_fixed);
            one.router.change(Update::RemoveNextHop { number: 0 }, 0).expect("a change");
            assert_eq!(one.way([10, 1, 0, 2], 1, 0) == Some(UP), is_fixed, "a host of the link");
        }
    }
}

#[test]
fn sessions_end_with_the_address_of_the_host_from_which_they_are() {
    let keys = json!({
        "ports": [
            {"name": "uplink", "mac": "02:00:00:00:00:01", "host-interface": "up"},
            {"name": "downlink", "mac": "02:00:00:00:00:02", "ip": "10.2.0.1/16"},
        ],
        "resolve": true,
        "punt": true,
        "bfd-capacity": 2,
    });
    let mut router = Pipeline::new(&read(keys), Clock::with_rate(1e9), 0).expect("memory");
    let change = |router: &mut Pipeline, how: &str, address: &str| {
        let keys = json!({"port": "uplink", "address": address});
        let update = serde_json::from_value(json!({ how: keys })).expect("a change");
        router.change(update, 0).expect("possible");
    };
    let source = |router: &Pipeline| router.liveness.as_ref().and_then(|all| all.source_of(0));
    let [one, two] = ["10.1.0.1", "10.1.0.9"];
    let is = |address: &str| Some(address.parse::<IpAddr>().expect("an address"));
    change(&mut router, "set-address", "10.1.0.1/16");
    let next_hop = json!({"set-next-hop": {"number": 0,
        "next-hop": {"port": "uplink", "ip": "10.1.0.2", "bfd": {}}}});
    router.change(serde_json::from_value(next_hop).expect("a change"), 0).expect("room");
    let set = Update::SetBfd { discriminator: 7, session: asked(3, false) };
    router.change(set, 0).expect("room");
    change(&mut router, "set-address", "10.1.0.9/16");
    assert_eq!(source(&router), is(one));
    change(&mut router, "remove-address", one);
    assert_eq!(source(&router), is(two));
    let told = std::iter::from_fn(|| router.event()).map(|event| (event.kind, event.subject));
    assert_eq!(told.collect::<Vec<_>>(), [(EventKind::Expired, 7 | 1 << 32)]);
    change(&mut router, "remove-address", two);
    assert_eq!((source(&router), router.state.is_down(0)), (None, true), "nobody can watch it");
    change(&mut router, "set-address", "10.1.0.1/16");
    assert_eq!(source(&router), is(one));
}

#[test]
fn the_far_end_of_a_tunnel_is_asked_for_before_a_packet_comes() {
    let keys = json!({
        "uplink-ip": "10.1.0.1/16",
        "uplink-mac": "02:00:00:00:00:01",
        "resolve": true,
        "interfaces": [
            {"port": "uplink", "vlan": 10, "ip": "10.7.0.1/24", "mtu": 1450,
             "vxlan": {"vni": 5010, "remote": "10.1.0.3"}},
        ],
        "next-hops": [{"port": "uplink", "vlan": 10, "mac": "02:00:00:00:07:02"}],
        "routes": [{"prefix": "198.51.100.0/24", "next-hop": 0}],
    });
    let mut one = finished(Pipeline::new(&read(keys), Clock::with_rate(1e9), 0).expect("memory"));
    let far_end = [10, 1, 0, 3];
    let own = one.router.state.interfaces.get(1).mac.0;
    let asked = |left: &[(PortId, Vec<u8>)]| {
        left.iter().filter(|(_, frame)| frame[12..14] == [8, 6] && frame[38..42] == far_end).count()
    };
    let left = one.step(&[], 0);
    assert_eq!(asked(&left), 1);
    assert_eq!(one.way([198, 51, 100, 1], 1, 1), None);
    let packet = |one: &mut Node, now| {
        let left = one.step(&[transit(own)], now);
        left.into_iter().map(|(_, frame)| frame).find(|frame| frame[30..34] == far_end)
    };
    for last in [3, 9] {
        let mac = MacAddr([2, 0, 0, 0, 0, last]);
        one.step(&[workers::answer((mac, far_end), own)], 2);
        let tunnelled = packet(&mut one, 3).expect("it leaves");
        assert_eq!((&tunnelled[..6], &tunnelled[46..49]), (&mac.0[..], &[0, 0x13, 0x92][..]));
    }
    // It is silent: it is given up after three probes, and asked for anew at once.
    let lifetime = 1200 * 1000 * MS;
    let mut questions = 0;
    for second in 0..5 {
        let left = one.step(&[], lifetime + second * 1000 * MS + 10);
        questions += asked(&left);
    }
    assert_eq!((questions, packet(&mut one, lifetime + 5000 * MS)), (5, None));
}

/// A packet of the uplink to a network behind the tunnel.
fn transit(own: MacAddr) -> Vec<u8> {
    let datagram = Datagram {
        macs: [own, MacAddr([2, 0, 0, 0, 9, 9])],
        from: IpAddr::from([192, 0, 2, 1]),
        to: IpAddr::from([198, 51, 100, 1]),
        ports: [1, 53],
        ttl: 9,
        dscp: 0,
        payload: &[0; 20],
    };
    let mut frame = vec![0; 100];
    let len = datagram.write(&mut frame).expect("room");
    frame.truncate(len);
    frame
}

#[test]
fn another_station_with_an_address_of_the_routers_is_told() {
    let (mut one, _) = without();
    let own = one.router.state.interfaces.get(1).mac.0;
    let other = MacAddr([2, 0, 0, 0, 5, 5]);
    let told = |one: &Node| {
        let all = crate::shown::neighbours_in(&one.router, ("arp", "duplicate"), 9);
        all.into_iter().map(|one| (one.interface, one.address, one.detail)).collect::<Vec<_>>()
    };
    // What the router says itself, and a virtual router, are none.
    for mac in [own, MacAddr([0, 0, 0x5e, 0, 1, 7])] {
        one.step(&[workers::answer((mac, [10, 1, 0, 1]), MacAddr::BROADCAST)], 1);
        assert_eq!(told(&one), []);
    }
    one.step(&[workers::answer((other, [10, 1, 0, 1]), MacAddr::BROADCAST)], 2);
    assert_eq!(told(&one), [("uplink".into(), "10.1.0.1".into(), other.to_string())]);
    assert_eq!(one.tally(Tally::AddressConflicts), 1);
    // It is forgotten when nobody says so any more.
    one.step(&[], 61_000 * MS);
    assert_eq!(told(&one), []);
}
