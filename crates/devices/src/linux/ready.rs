//! Ready means: the kernel says of itself that it has everything that it was told.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use netns::Namespace;

use super::commands::Plan;
use super::usage::{self, Tables};
use crate::driver::{DriverError, Start};

/// Returns an error if the user asked to stop.
pub(super) fn go_on(request: &Start<'_>) -> Result<(), DriverError> {
    if request.stop.load(Ordering::Relaxed) {
        return Err(DriverError::new(
            "stopped while the device was being set up",
            "start it again",
        ));
    }
    Ok(())
}

/// Waits until the interfaces that a plan creates are up.
pub(super) fn wait_for_interfaces(device: &Namespace, plan: &Plan) -> Result<(), DriverError> {
    for name in &plan.expected.interfaces {
        device.wait_until_up(name, PATIENCE)?;
    }
    Ok(())
}

/// Waits until all routes and stations are counted, and the kernel finds a route for the probes.
pub(super) fn wait(
    device: &Namespace,
    plan: &Plan,
    before: Tables,
    has_rules: bool,
    request: &Start<'_>,
) -> Result<(), DriverError> {
    let expected = &plan.expected;
    let wanted = [before.ipv4 + expected.ipv4_routes, before.ipv6 + expected.ipv6_routes];
    let deadline = Instant::now() + PATIENCE;
    loop {
        go_on(request)?;
        let now = usage::tables(device, has_rules);
        let stations = if expected.stations > 0 { stations(device)? } else { 0 };
        let is_there = now.ipv4 >= wanted[0]
            && (now.ipv6 >= wanted[1] || expected.ipv6_routes == 0)
            && stations >= expected.stations
            && forwards(device, plan)?;
        if is_there {
            // The way of some packets, as the kernel would send them.
            for probe in &expected.probes {
                device.ip(probe)?;
            }
            return Ok(());
        }
        if Instant::now() > deadline {
            let what = format!(
                "after {} s the kernel has {} of {} IPv4 routes, {} of {} IPv6 routes and \
                 {stations} of {} stations, or its bridge does not forward",
                PATIENCE.as_secs(),
                now.ipv4.saturating_sub(before.ipv4),
                expected.ipv4_routes,
                now.ipv6.saturating_sub(before.ipv6),
                expected.ipv6_routes,
                expected.stations
            );
            return Err(DriverError::new(what, "see the kernel's log: dmesg"));
        }
        std::thread::park_timeout(POLL);
    }
}

/// Returns the number of stations that a bridge holds as static.
fn stations(device: &Namespace) -> Result<usize, DriverError> {
    let text = device.command("bridge", &["fdb", "show", "br", super::bridge::BRIDGE], None)?;
    Ok(text.lines().filter(|line| line.ends_with(" static")).count())
}

/// Returns true if every port of a bridge forwards, or there is no bridge.
fn forwards(device: &Namespace, plan: &Plan) -> Result<bool, DriverError> {
    if !plan.expected.interfaces.iter().any(|name| name == super::bridge::BRIDGE) {
        return Ok(true);
    }
    let text = device.command("bridge", &["link", "show"], None)?;
    Ok(text.lines().all(|line| line.contains("state forwarding")))
}

/// Time limit for the kernel to apply what it has acknowledged.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);
