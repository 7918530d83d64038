//! Alarms of what a function shows.

use daemon::protocol::View;

use crate::kit::{BRIDGE, start, until};

#[test]
fn every_session_that_is_down_is_an_alarm() {
    let (_, below) = BRIDGE.split_once('\n').expect("it has lines");
    let hop = |number: u32| {
        let keys = "port: uplink, mac: 02:00:00:00:00:01, bfd: {interval-ms: 1000, multiplier: 3}";
        format!("{{ip: 10.1.{}.{}, {keys}}}, ", 1 + number / 200, 1 + number % 200)
    };
    let hops: String = (0..SESSIONS).map(hop).collect();
    let function = format!("{{name: l3-router, uplink-ip: 10.1.0.1/16, next-hops: [{hops}]}}");
    let run = start(&format!("function: {function}\n{below}"));
    until("all alarms", || {
        let alarms = run.show(View::Alarms);
        let raised = alarms["alarms"]["raised"].as_array()?;
        let down = raised.iter().filter(|one| one["cause"] == "bfd-down").count();
        (down == SESSIONS as usize).then_some(())
    });
}

/// More than `show neighbours` shows, and fewer than there are alarms.
const SESSIONS: u32 = 1010;
