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
    node.router.apply(Update::RemoveNextHop { number: 0 }, 0).expect("a change");
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
        nodes[1].router.apply(set, now).expect("room");
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
    one.router.apply(Update::SetBfd { discriminator: 77, session }, 0).expect("room");
    let mut nodes = [one, node(2, 1, json!({"interval-ms": 10, "multiplier": 3}))];
    run(&mut nodes, (0, 4_000 * MS), |_, _| true);
    let now = 4_000 * MS;
    let set = Update::SetNextHop { number: 0, next_hop };
    nodes[0].router.apply(set, now).expect("a change");
    run(&mut nodes, (now, now + 1_000 * MS), |_, _| true);
    for node in &mut nodes {
        assert_eq!(node.events(), [EventKind::Up]);
    }
    assert_eq!(nodes[0].way([198, 51, 100, 1], 1, now + 1_000 * MS), Some(UP));
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
                one.router.apply(update, 0).expect("a change");
            }
            let way = one.router.state.hops[0];
            assert_eq!(way, Hop::to(mac, source, UP, 1), "{how}, {is_neighbour_first}");
            assert_eq!(one.way([198, 51, 100, 1], 1, 0), Some(UP));
            // A neighbour that was fixed is reached as before when its next hop is set once more;
            // any other one is asked anew.
            one.router.apply(Update::SetNextHop { number: 0, next_hop }, 0).expect("a change");
            let is_fixed = how == "set-neighbour";
            assert_eq!(one.router.state.hops[0] == way, is_fixed);
            one.router.apply(Update::RemoveNextHop { number: 0 }, 0).expect("a change");
            assert_eq!(one.way([10, 1, 0, 2], 1, 0) == Some(UP), is_fixed, "a host of the link");
        }
    }
}
