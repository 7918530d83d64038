//! Where every frame is: received, or under a counter of a port, of the daemon or of an interface.

use std::path::Path;

use daemon::client::Client;
use daemon::protocol::{Ask, View};
use engine::Way;
use serde_json::{Value, json};

use crate::kit::{Lab, until};

use super::traffic::Tester;

/// Waits until nothing moves any more, and says where every frame is.
pub fn settle(lab: &Lab, socket: &Path, tester: &mut Tester<'_>) -> Value {
    let mut last = Value::Null;
    until("the last frame", || {
        tester.take();
        let all = Client::connect(socket).expect("it runs").ask(Ask::Show(View::All));
        let now = account(lab, &all.expect("it answers"), tester);
        let still = now == last;
        last = now;
        still.then_some(())
    });
    last
}

fn account(lab: &Lab, all: &Value, tester: &Tester<'_>) -> Value {
    let ports = &all["ports"];
    let (down, up) = (&ports["downlink"], &ports["uplink"]);
    let (near, far) = (tester.near.monitor.counts(), tester.far_counts());
    // Over veth: the kernel counts at either end of the link, and the packet sockets at theirs.
    let towards_a0 = interface(lab, "a1", "tx") + interface(lab, "a0", "rx");
    let towards_a1 = interface(lab, "a0", "tx") + interface(lab, "a1", "rx");
    let gone = &up["drops"]["transmit"]["peer-gone"];
    let legs = [
        leg(near.sent, number(&down["received"]), sum(&down["drops"]["receive"]) + towards_a0),
        leg(number(&up["sent"]), tester.up.received, number(gone) + far.lost),
        leg(far.sent, number(&up["received"]), sum(&up["drops"]["receive"])),
        leg(number(&down["sent"]), tester.down.received, near.lost(Way::Receive) + towards_a1),
    ];
    // What an interface counts may be none of ours; memif counts each frame once.
    let unexplained = legs.iter().map(|leg| number(&leg["unexplained"])).sum::<u64>();
    let surplus = [1, 2].iter().map(|&leg| number(&legs[leg]["surplus"])).sum::<u64>();
    let [near_to_daemon, daemon_to_far, far_to_daemon, daemon_to_near] = legs;
    json!({
        "near_to_daemon": near_to_daemon,
        "daemon_to_far": daemon_to_far,
        "far_to_daemon": far_to_daemon,
        "daemon_to_near": daemon_to_near,
        "unexplained": unexplained + surplus,
        "adds_up": adds_up(&all["counters"], [down, up]),
        "counters": all["counters"],
        "ports": {"downlink": down["drops"], "uplink": up["drops"]},
    })
}

/// What left one end, what reached the other, and what was counted as lost between.
fn leg(sent: u64, received: u64, counted: u64) -> Value {
    let lost = sent.saturating_sub(received);
    json!({
        "sent": sent,
        "received": received,
        "lost": lost,
        "counted": counted,
        "unexplained": lost.saturating_sub(counted) + received.saturating_sub(sent),
        "surplus": counted.saturating_sub(lost),
    })
}

/// Whether what came in at the daemon is what went out and what it dropped.
fn adds_up(counters: &Value, ports: [&Value; 2]) -> bool {
    let all = |key: &str| ports.iter().map(|port| number(&port[key])).sum::<u64>();
    let accounted = ["forwarded", "dropped", "transmit_full", "punted"];
    let accounted = accounted.iter().map(|key| number(&counters[*key])).sum::<u64>();
    accounted == number(&counters["received"]) + number(&counters["made"])
        && all("received") == number(&counters["received"])
        && all("sent") == number(&counters["forwarded"])
}

/// Frames that an interface dropped on one way.
fn interface(lab: &Lab, name: &str, way: &str) -> u64 {
    let shown = lab.namespace.command("ip", &["-j", "-s", "link", "show", name], None);
    let shown: Value = serde_json::from_str(&shown.expect("our interface")).expect("JSON");
    number(&shown[0]["stats64"][way]["dropped"])
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn sum(value: &Value) -> u64 {
    value.as_object().into_iter().flatten().map(|one| number(one.1)).sum()
}
