//! The far end of a watched next hop, as the tester plays it, beside the router in virtual time:
//! the session comes up, the path fails and is mended, and every frame is told where it went.

use std::time::Duration;

use engine::Function;
use function_kit::{NetworkFunction, Shard};
use machine::clock::Clock;
use model_kit::Model;
use model_kit::check::Expected;
use model_kit::device::Device;
use model_l3_router::sample::{sample, unreachable};
use model_l3_router::{L3Router, Routed, Section, Traffic};
use packet::PortId;
use serde_json::{Value, json};
use testkit::pair::Pair;
use traffic::workload::FarEnds;
use traffic::{Delivery, Frames, Stamp};

use crate::frames::valid;

const DOWNLINK: PortId = PortId(0);
const UPLINK: PortId = PortId(1);

/// A router with a group of two next hops behind two ports, of which the first is watched.
fn watching(bfd: &Value) -> Value {
    json!({
        "upstream-l3-table-size": 0, "upstream-group-table-size": 0,
        "downstream-l3-table-size": 0, "downstream-group-table-size": 0,
        "ipv6": true,
        "ports": [
            {"name": "downlink", "mac": "02:00:00:00:00:01", "ip": "10.0.1.1/24"},
            {"name": "uplink", "mac": "02:00:00:00:00:02", "ip": "10.0.2.1/24",
             "ipv6": "2001:db8:2::1/64"},
            {"name": "around", "mac": "02:00:00:00:00:03", "ip": "10.0.3.1/24"},
        ],
        "next-hops": [
            bfd,
            {"port": "around", "mac": "02:00:00:00:03:02", "ip": "10.0.3.2"},
        ],
        "next-hop-groups": [{"members": [{"next-hop": 0}, {"next-hop": 1}]}],
        "routes": [{"prefix": "203.0.113.0/24", "group": 0}],
    })
}

fn by_ipv4() -> Value {
    let bfd = json!({"interval-ms": 10, "multiplier": 3});
    json!({"port": "uplink", "mac": "02:00:00:00:02:02", "ip": "10.0.2.2", "bfd": bfd})
}

fn by_ipv6() -> Value {
    let bfd = json!({"interval-ms": 10, "multiplier": 3});
    json!({"port": "uplink", "mac": "02:00:00:00:02:02", "ipv6": "2001:db8:2::2", "bfd": bfd})
}

fn section(of: &Value) -> (Section, Traffic) {
    let section = serde_json::from_value(of.clone()).expect("a section");
    let traffic = serde_json::from_value(json!({"dir": "uplink"})).expect("traffic");
    valid(&section, &traffic)
}

/// The router, its far end, and the time.
struct Course {
    device: Device<<function_l3_router::L3Router as NetworkFunction>::Function>,
    routed: Routed,
    clock: Clock,
    elapsed: Duration,
    sent: u64,
}

impl Course {
    fn new(hop: &Value) -> Course {
        let (section, traffic) = section(&watching(hop));
        // A tick is a nanosecond.
        let clock = Clock::with_rate(1e9);
        let config = L3Router::config(&section);
        let mut function = function_l3_router::L3Router::function(&config, Shard::WHOLE, clock, 0)
            .expect("memory");
        function.make_room(packet::Room::default()).expect("memory");
        let routed = L3Router::workload(&section, &traffic, clock);
        Course { device: Device::new(function, 3), routed, clock, elapsed: Duration::ZERO, sent: 0 }
    }

    /// A millisecond with a frame of the load; tells what became of the frame.
    fn step(&mut self) -> Delivery {
        self.elapsed += Duration::from_millis(1);
        let now = self.clock.ticks(self.elapsed);
        let mut said = Vec::new();
        while let Some(frame) = self.routed.say(now) {
            said.push(frame.to_vec());
        }
        let draw = self.routed.draw(0, self.sent);
        let stamp = Stamp { stream: 0, sequence: self.sent, time: now };
        let mut frame = vec![0; self.routed.frame_len(&draw)];
        self.routed.write(&draw, stamp, &mut frame);
        self.sent += 1;
        let mut left = Vec::new();
        for (port, frame) in said.into_iter().map(|one| (UPLINK, one)).chain([(DOWNLINK, frame)]) {
            left.extend(self.device.exchange(port, &frame, now));
        }
        let mut delivery = None;
        for one in left {
            let Expected::Forward { port, frame } = one else { continue };
            match Stamp::read(&frame) {
                Some(stamp) => {
                    delivery = Some(self.routed.delivery(0, &draw, &stamp, port, &frame));
                }
                None => assert!(self.routed.hear(port, &frame, now), "{frame:02x?}"),
            }
        }
        delivery.expect("each frame leaves")
    }

    /// Counts what became of the frames of some milliseconds: those by the watched next hop.
    fn run(&mut self, ms: u64) -> [u64; 2] {
        let before = self.routed.path_use();
        for _ in 0..ms {
            let delivery = self.step();
            assert_ne!(delivery, Delivery::Misdelivered, "after {:?}", self.elapsed);
        }
        let now = self.routed.path_use();
        let arrived = |used: traffic::workload::PathUse| used.carried + used.returned;
        [arrived(now) - arrived(before), now.lost - before.lost]
    }

    fn set_path(&mut self, is_up: bool) {
        let now = self.clock.ticks(self.elapsed);
        self.routed.set_path(is_up, now);
    }
}

#[test]
fn flows_leave_a_silent_path_after_its_detection_time_and_come_back() {
    for hop in [by_ipv4(), by_ipv6()] {
        let mut course = Course::new(&hop);
        course.run(3000);
        let [arrived, lost] = course.run(400);
        assert!((100..300).contains(&arrived) && lost == 0, "half of {arrived}");
        course.set_path(false);
        let [arrived, lost] = course.run(500);
        // Half of the frames of 20 to 31 milliseconds, by where in an interval it fell silent.
        assert!((4..=25).contains(&lost) && arrived == 0, "{lost} lost, {arrived} arrived");
        course.set_path(true);
        course.run(3000);
        let [arrived, lost] = course.run(400);
        assert!((100..300).contains(&arrived) && lost == 0, "half of {arrived}");
        let used = course.routed.path_use();
        assert!(used.first < used.last_lost && used.last_lost < used.first_returned, "{used:?}");
    }
}

#[test]
fn a_port_that_is_down_is_left_at_once() {
    let mut course = Course::new(&by_ipv4());
    course.run(3000);
    course.set_path(false);
    course.device.function_mut().link(UPLINK, false);
    assert_eq!(course.run(20), [0, 0], "before the session could know");
    course.set_path(true);
    course.device.function_mut().link(UPLINK, true);
    let [arrived, lost] = course.run(400);
    assert!((100..300).contains(&arrived) && lost == 0, "half of {arrived}");
}

#[test]
fn pipeline_and_oracle_agree_while_nobody_answers_the_session() {
    for hop in [by_ipv4(), by_ipv6()] {
        let (section, traffic) = section(&watching(&hop));
        let mut pair = Pair::<L3Router>::new(&section, Shard::WHOLE);
        pair.take(&sample(&section, &traffic)).unwrap_or_else(|what| panic!("{what}"));
        let names: Vec<&str> = unreachable(&section).into_iter().map(|(name, _)| name).collect();
        assert!(pair.uncovered().iter().all(|name| names.contains(name)));
    }
}

#[test]
fn sessions_that_the_tester_does_not_play_are_refused() {
    let with = |key: &str, value: Value| {
        let mut hop = by_ipv4();
        hop[key] = value;
        watching(&hop)
    };
    let mut two = watching(&by_ipv4());
    two["next-hops"][1]["bfd"] = json!({});
    let mut bare = with("bfd", json!({}));
    bare["resolve"] = json!(true);
    bare["next-hops"][0].as_object_mut().expect("keys").remove("mac");
    let mut near = watching(&by_ipv6());
    near["next-hops"][0]["ipv6"] = json!("fe80::2");
    for one in [two, bare, near, with("bfd", json!({"echo-ms": 100}))] {
        let mut section: Section = serde_json::from_value(one).expect("a section");
        let refused = L3Router::validate(&mut section, &mut Traffic::default());
        let refused = refused.expect_err("the tester cannot play it");
        assert!(refused.key == "next-hops" && refused.what.contains("tester"), "{refused}");
    }
}
