//! Lists, policers and queues of sessions.

use function_bng::Pipeline;
use model_kit::check::Expected;
use model_kit::device::{Device, Outcome};
use packet::PortId;
use serde_json::{Value, json};

use crate::gateway::*;

fn with(more: &Value) -> Device<Pipeline> {
    device(&config(more))
}

fn dropped(device: &mut Device<Pipeline>, port: PortId, frame: &[u8]) -> Option<&'static str> {
    match device.pass(port, frame, 0) {
        Outcome::Dropped(reason) => Some(reason),
        _ => None,
    }
}

fn udp(from: u8, to: [u8; 4], ports: (u16, u16)) -> Vec<u8> {
    let payload = model_kit::build::datagram(ports, &[7; 40]);
    model_kit::build::packet(ipv4(from), to.into(), wire::protocol::UDP, &payload)
}

#[test]
fn the_first_rule_that_matches_decides_and_the_word_subscriber_is_each_ones_own_address() {
    let rules = json!([
        {"action": "deny", "destination": "198.51.100.0/24", "destination-ports": "1000-2000",
         "protocol": "udp"},
        {"action": "permit", "direction": "up", "source": "subscriber",
         "destination": "198.51.100.0/24"},
        {"action": "permit", "direction": "down", "destination": "subscriber", "dscp": 0},
    ]);
    let mut second = pppoe(2);
    second["list"] = json!("other-name");
    let mut device = with(&json!({
        "lists": [{"name": "one", "rules": rules}, {"name": "other-name", "rules": rules}],
        "list-capacity": 1,
        "profiles": [{"name": "plain", "list": "one"}],
        "sessions": [ipoe(1), second],
    }));
    let to = [198, 51, 100, 7];
    for (ports, expected) in [((1, 999), None), ((1, 1000), Some("list-denied")), ((1, 2001), None)]
    {
        let frame = from_ipoe(1, &udp(1, to, ports));
        assert_eq!(dropped(&mut device, ACCESS, &frame), expected, "{ports:?}");
        let frame = from_pppoe(2, 0x21, &udp(2, to, ports));
        assert_eq!(dropped(&mut device, ACCESS, &frame), expected, "{ports:?}");
    }
    let frame = from_ipoe(1, &udp(1, [203, 0, 113, 9], (1, 1)));
    assert_eq!(dropped(&mut device, ACCESS, &frame), Some("list-denied"), "no rule matches");
    let mut got = packet(SERVER.into(), ipv4(1).into(), 60);
    assert_eq!(dropped(&mut device, CORE, &from_core(&got)), None);
    model_kit::build::set(1, 46 << 2)(&mut got);
    assert_eq!(dropped(&mut device, CORE, &from_core(&got)), Some("list-denied"));
}

#[test]
fn a_later_fragment_has_no_ports_and_what_cannot_be_read_is_dropped() {
    let rules = json!([{"action": "deny", "destination-ports": 9, "protocol": "udp"}]);
    let mut device = with(&json!({
        "lists": [{"name": "one", "rules": rules, "otherwise": "permit"}],
        "profiles": [{"name": "plain", "list": "one"}],
    }));
    let whole = udp(1, [198, 51, 100, 7], (1, 9));
    assert_eq!(dropped(&mut device, ACCESS, &from_ipoe(1, &whole)), Some("list-denied"));
    let mut later = whole.clone();
    model_kit::build::set_word(6, 5)(&mut later);
    assert_eq!(dropped(&mut device, ACCESS, &from_ipoe(1, &later)), None);
    let short = model_kit::build::packet(ipv4(1), SERVER, wire::protocol::UDP, &[0, 1, 0]);
    assert_eq!(dropped(&mut device, ACCESS, &from_ipoe(1, &short)), Some("list-unreadable"));
}

#[test]
fn class_session_and_node_each_hold_their_rate() {
    let session = |number: u8| {
        let mut one = ipoe(number);
        one["node"] = json!("street");
        one
    };
    let mut device = with(&json!({
        "nodes": [{"name": "street", "up-rate": 1000, "burst": 1000}],
        "profiles": [{
            "name": "plain", "up-rate": 1000, "up-burst": 600,
            "policers": [
                {"class": "ef", "rate": 1000, "burst": 200, "mark": 44},
                {"class": "be", "rate": 1000, "burst": 10000},
            ],
        }],
        "sessions": [session(1), session(3)],
    }));
    let of_class = |number: u8, dscp: u8| {
        let mut sent = packet(ipv4(number).into(), SERVER.into(), 100);
        model_kit::build::set(1, dscp << 2)(&mut sent);
        sent
    };
    let mut passed = |number: u8, dscp: u8| {
        let frame = from_ipoe(number, &of_class(number, dscp));
        (0..20).filter(|_| dropped(&mut device, ACCESS, &frame).is_none()).count()
    };
    assert_eq!(passed(1, 46), 2, "200 bytes of the class");
    assert_eq!(passed(1, 0), 4, "400 bytes are left of the session's 600");
    assert_eq!(passed(3, 0), 4, "400 bytes are left of the node's 1000");
    // A second later all have a second's rate, no more than their bursts.
    let frame = from_ipoe(3, &of_class(3, 46));
    let mut left = Vec::new();
    for _ in 0..20 {
        if let Outcome::Left(_, frame) = device.pass(ACCESS, &frame, SECOND) {
            left.push(frame);
        }
    }
    assert_eq!(left.len(), 2);
    assert!(left.iter().all(|frame| frame[15] == 44 << 2), "what is within the rate is marked");
}

#[test]
fn beyond_its_rate_a_queue_waits_and_leaves_later_in_order() {
    let profile = json!([{
        "name": "plain",
        "queues": [
            {"class": "ef", "level": 0},
            {"class": "be", "level": 7, "rate": 8000, "burst": 0, "depth-bytes": 2048},
        ],
    }]);
    let config = config(&json!({"profiles": profile, "sessions": [ipoe(1)]}));
    let mut device = device(&config);
    let got = |mark: u8| {
        let mut got = packet(SERVER.into(), ipv4(1).into(), 482);
        got[40] = mark;
        got
    };
    let left = device.pass(CORE, &from_core(&got(0)), 0);
    assert_eq!(left, Outcome::Left(ACCESS, to_ipoe(1, &hop(&got(0)))), "it has credit");
    for mark in 1..=4 {
        let became = device.pass(CORE, &from_core(&got(mark)), 0);
        assert_eq!(became, Outcome::Dropped("queued"), "{mark}");
    }
    assert_eq!(device.pass(CORE, &from_core(&got(9)), 0), Outcome::Dropped("queue-full"));
    let mut first = packet(SERVER.into(), ipv4(1).into(), 100);
    model_kit::build::set(1, 46 << 2)(&mut first);
    let left = device.pass(CORE, &from_core(&first), 0);
    assert_eq!(left, Outcome::Left(ACCESS, to_ipoe(1, &hop(&first))), "another queue");
    // 500 bytes a sixteenth of a second.
    let mut came = Vec::new();
    for step in 0..40 {
        came.extend(device.rest(step * SECOND / 100));
    }
    let expected =
        (1..=4).map(|mark| Expected::Forward { port: ACCESS, frame: to_ipoe(1, &hop(&got(mark))) });
    assert_eq!(came, expected.collect::<Vec<_>>());
    let volumes = super::changes::volumes(&mut device, 1);
    assert_eq!(volumes, [0, 0, 0, 0, 6, 5 * 482 + 100, 0, 0], "what has left is counted");
}
