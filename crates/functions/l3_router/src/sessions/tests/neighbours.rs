//! Next hops and their neighbours, whichever of them comes first.

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

#[test]
fn a_session_outlives_that_its_next_hop_comes() {
    let (mut one, next_hop) = without();
    let session: BfdSession = serde_json::from_value(json!({"port": "uplink",
        "peer": "10.1.0.2", "min-tx-us": 10_000, "min-rx-us": 10_000, "multiplier": 3}))
    .expect("a session");
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
