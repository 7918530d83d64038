//! Ready means: the switch says of itself that it has everything that it was told, and its ports
//! are up.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use engine::{Link, Opened};
use netns::Namespace;

use super::bridges::{Bridge, Plan};
use super::daemons::{Daemons, stopped};
use super::openflow;
use crate::driver::{DriverError, Start};

/// Applies the plan to the switch.
pub(super) fn carry_out(
    daemons: &mut Daemons,
    device: &Namespace,
    plan: &Plan,
    datapath_type: &str,
    request: &Start<'_>,
) -> Result<(), DriverError> {
    for bridge in &plan.bridges {
        go_on(request)?;
        add_bridge(daemons, device, bridge, datapath_type)?;
    }
    // A patch is whole once both its bridges are there.
    for bridge in &plan.bridges {
        check_ports(daemons, device, bridge)?;
    }
    for words in &plan.ip {
        device.ip(words)?;
    }
    for words in &plan.appctl {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        daemons.appctl(device, &words)?;
    }
    for bridge in &plan.bridges {
        go_on(request)?;
        openflow::add_meters(&daemons.socket(bridge.name), &bridge.meters).map_err(|error| {
            let what = format!("{} meters for {} users: {error}", bridge.meters.len(), bridge.name);
            DriverError::new(what, "use fewer users, or `policers: false`")
        })?;
        if bridge.reads_first_fragments {
            daemons.ofctl(device, &["set-frags"], bridge.name, &["nx-match"], None)?;
        }
        let words = ["--bundle", "add-flows"];
        daemons.ofctl(device, &words, bridge.name, &["-"], Some(&bridge.flows))?;
    }
    Ok(())
}

/// Waits until bridges and ports, including the tester's, exist and are up.
pub(super) fn wait(
    daemons: &mut Daemons,
    device: &Namespace,
    plan: &Plan,
    ports: &[Opened],
    request: &Start<'_>,
) -> Result<(), DriverError> {
    wait_for_tester(daemons, ports, request)?;
    for bridge in &plan.bridges {
        wait_for_bridge(daemons, device, bridge, request)?;
        check_ports(daemons, device, bridge)?;
    }
    Ok(())
}

/// Waits until the tester's ports are connected to their peers; shared memory needs both sides to
/// run.
fn wait_for_tester(
    daemons: &mut Daemons,
    ports: &[Opened],
    request: &Start<'_>,
) -> Result<(), DriverError> {
    let deadline = Instant::now() + PATIENCE;
    for (number, port) in ports.iter().enumerate() {
        while let Link::Down(why) = port.monitor.link() {
            go_on(request)?;
            daemons.health()?;
            if Instant::now() > deadline {
                let what = format!("the tester's port {number} does not come up: {why}");
                return Err(DriverError::new(what, "choose another type by `interfaces`"));
            }
            std::thread::park_timeout(POLL);
        }
    }
    Ok(())
}

fn go_on(request: &Start<'_>) -> Result<(), DriverError> {
    if request.stop.load(Ordering::Relaxed) { Err(stopped()) } else { Ok(()) }
}

/// Adds a bridge in one transaction, so that a port never exists without its type.
fn add_bridge(
    daemons: &mut Daemons,
    device: &Namespace,
    bridge: &Bridge,
    datapath_type: &str,
) -> Result<(), DriverError> {
    let mut words: Vec<String> =
        ["add-br", bridge.name, "--", "set", "bridge", bridge.name].map(str::to_owned).to_vec();
    words.extend([format!("datapath_type={datapath_type}"), "fail-mode=secure".to_owned()]);
    words.extend(bridge.columns.iter().cloned());
    for port in &bridge.ports {
        words.extend(["--", "add-port", bridge.name, &port.name].map(str::to_owned));
        words.extend(["--", "set", "interface", &port.name].map(str::to_owned));
        words.push(format!("ofport_request={}", port.number));
        words.extend(port.columns.iter().cloned());
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    daemons.vsctl(device, &words).map(drop)
}

/// Returns an error if the switch cannot use a port.
fn check_ports(
    daemons: &mut Daemons,
    device: &Namespace,
    bridge: &Bridge,
) -> Result<(), DriverError> {
    for port in &bridge.ports {
        let error = daemons.vsctl(device, &["get", "interface", &port.name, "error"])?;
        let error = error.trim();
        if error != "[]" {
            let what = format!("the switch cannot use {}: {error}", port.name);
            return Err(DriverError::new(what, "choose another type by `interfaces`"));
        }
    }
    Ok(())
}

/// Waits until a bridge counts its flows and reports its ports as up.
fn wait_for_bridge(
    daemons: &mut Daemons,
    device: &Namespace,
    bridge: &Bridge,
    request: &Start<'_>,
) -> Result<(), DriverError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        go_on(request)?;
        daemons.health()?;
        let flows = daemons.ofctl(device, &["dump-aggregate"], bridge.name, &[], None)?;
        let flows = flow_count(&flows).unwrap_or(0);
        let ports = daemons.ofctl(device, &["dump-ports-desc"], bridge.name, &[], None)?;
        let dead = bridge.ports.iter().find(|port| port.has_link && !is_live(&ports, port.number));
        // Of flows with the same match and priority the last one counts.
        if flows > 0 && flows <= bridge.flow_count && dead.is_none() {
            return Ok(());
        }
        if Instant::now() > deadline {
            let what = match dead {
                Some(port) => format!("the switch's port {} does not come up", port.name),
                None => format!("the switch has {flows} of {} flows", bridge.flow_count),
            };
            return Err(DriverError::new(
                what,
                "see the switch's log, or choose other `interfaces`",
            ));
        }
        std::thread::park_timeout(POLL);
    }
}

/// Reads `OFPST_AGGREGATE reply (OF1.5) (xid=0x4): packet_count=0 byte_count=0 flow_count=17`.
fn flow_count(text: &str) -> Option<usize> {
    text.rsplit_once("flow_count=")?.1.split_whitespace().next()?.parse().ok()
}

/// Returns true if a port of `dump-ports-desc` is up.
fn is_live(text: &str, number: u32) -> bool {
    let head = format!(" {number}(");
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&head)).skip(1);
    let state = lines.find_map(|line| line.trim().strip_prefix("state:"));
    state.is_some_and(|state| state.contains("LIVE"))
}

const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_switch_says_is_read() {
        let text = "OFPST_AGGREGATE reply (OF1.5) (xid=0x4): packet_count=0 flow_count=17\n";
        assert_eq!(flow_count(text), Some(17));
        assert_eq!(flow_count(""), None);
        let text = "OFPST_PORT_DESC reply (OF1.5) (xid=0x2):\n 1(a0): addr:a2:46:b2:8e:b8:f1\n     \
                    config:     0\n     state:      LIVE\n 12(b0): addr:d2:c3:08:5a:12:04\n     \
                    config:     0\n     state:      LINK_DOWN\n";
        assert!(is_live(text, 1));
        assert!(!is_live(text, 12));
        assert!(!is_live(text, 2), "there is none");
    }
}
