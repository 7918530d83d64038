//! What hosts get of a router or NAT beside what they get of the kernel's own, in pairs of
//! measurements that follow each other, with default settings everywhere but for what a pair is
//! about.
//!
//! By hand: `cargo xtask real-hosts` runs it in the profile `release` and writes the record.

use std::process::Command;

use netns::Namespace;
use serde_json::{Value, json};

use super::{Hosts, NAT};
use crate::kit::{Child, median, record, until};

/// What is between the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    Router,
    Nat,
}

/// Who it is.
#[derive(Clone, Copy, Debug)]
enum Who {
    Kernel,
    Plumbline,
}

/// A program's connection or datagrams.
#[derive(Clone, Copy, Debug)]
enum Traffic {
    /// One connection of TCP.
    Tcp,
    /// One connection, whose hosts leave nothing to their cards.
    TcpWithoutOffloads,
    /// Datagrams in frames of 64 bytes with their frame check sequence, as fast as they go.
    ShortDatagrams,
}

const ROUTER: &str = "\
function: {name: l3-router, resolve: true, downlink-ip: 10.0.0.254/24, uplink-ip: 10.0.1.254/24}
ports:
  downlink: {type: af-packet, interface: a0}
  uplink: {type: af-packet, interface: b0}
";

const TARGET: &str = "10.0.1.1";

/// - `l3-router`: what hosts get beside the kernel's forwarding is measured (by hand)
#[test]
fn hosts_beside_the_kernel() {
    let Some(path) = std::env::var_os("PLUMBLINE_RATES_RECORD") else { return };
    let number = |name: &str, default: u64| {
        let text = std::env::var(name).ok();
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (seconds, rounds) =
        (number("PLUMBLINE_RATES_SECONDS", 5), number("PLUMBLINE_RATES_ROUNDS", 3));
    let idle = std::env::var("PLUMBLINE_RATES_IDLE").unwrap_or_else(|_| "sleep".to_owned());
    let mut pairs = Vec::new();
    for between in [Between::Router, Between::Nat] {
        for traffic in [Traffic::Tcp, Traffic::TcpWithoutOffloads, Traffic::ShortDatagrams] {
            let mut of = [Vec::new(), Vec::new()];
            for _ in 0..rounds {
                for (rates, who) in of.iter_mut().zip([Who::Kernel, Who::Plumbline]) {
                    let Some(rate) = measured(between, who, traffic, seconds, &idle) else {
                        return;
                    };
                    println!("{between:?} {traffic:?} {who:?}: {rate:.0} bit/s");
                    rates.push(rate);
                }
            }
            let ratio = median(&of[1]) / median(&of[0]);
            println!("{between:?} {traffic:?}: {ratio:.2} of the kernel's");
            pairs.push(json!({
                "between": format!("{between:?}"), "traffic": format!("{traffic:?}"),
                "kernel_bits_per_s": of[0], "plumbline_bits_per_s": of[1],
                "median_ratio": ratio,
            }));
        }
    }
    record(path.as_ref(), json!({"seconds": seconds, "workers_idle": idle, "pairs": pairs}));
}

/// Bits of payload that a program of the right host gets in a second; none, and a note, where this
/// cannot be measured.
fn measured(between: Between, who: Who, traffic: Traffic, seconds: u64, idle: &str) -> Option<f64> {
    let hosts =
        Hosts::new(&["iperf3", "ethtool", "nft", "ping"], &["10.0.0.1/24"], &["10.0.1.1/24"])?;
    hosts.lead_through();
    if let Traffic::TcpWithoutOffloads = traffic {
        let middle = &hosts.lab.namespace;
        for (host, interface) in
            [(&hosts.left, "eth"), (&hosts.right, "eth"), (middle, "a0"), (middle, "b0")]
        {
            let off = ["-K", interface, "tx", "off", "tso", "off", "gso", "off", "gro", "off"];
            host.command("ethtool", &off, None).expect("they are veth's");
        }
    }
    let _daemon: Option<Child> = match who {
        Who::Kernel => {
            forward(&hosts.lab.namespace, between);
            None
        }
        Who::Plumbline => {
            let text = if between == Between::Nat { NAT } else { ROUTER };
            Some(hosts.start(&format!("workers: {{idle: {idle}}}\n{text}")))
        }
    };
    until("the way", || hosts.left.command("ping", &["-c", "1", "-W", "1", TARGET], None).ok());
    let mut command = Command::new("iperf3");
    command.args(["-s", "-1"]);
    let _server = hosts.right.spawn(command).expect("it starts");
    let seconds = seconds.to_string();
    let mut words = vec!["-c", TARGET, "-t", &seconds, "-J"];
    if let Traffic::ShortDatagrams = traffic {
        words.extend(["-u", "-b", "0", "-l", "18"]);
    }
    let report: Value = until("a report", || {
        let report = hosts.left.command("iperf3", &words, None).ok()?;
        let report: Value = serde_json::from_str(&report).expect("JSON");
        // As long as the server does not listen.
        report["error"].is_null().then_some(report)
    });
    let end = &report["end"];
    let received = end["sum_received"]["bits_per_second"].as_f64().expect("a rate");
    assert!(received > 0.0, "nothing came: {end}");
    Some(received)
}

/// Lets the kernel forward between both links, or translate as home routers do.
fn forward(middle: &Namespace, between: Between) {
    for (interface, address) in [("a0", "10.0.0.254/24"), ("b0", "10.0.1.254/24")] {
        middle.ip(&format!("addr add {address} dev {interface}")).expect("an address");
    }
    middle.sysctl("net/ipv4/ip_forward", "1").expect("a key of the kernel");
    if between == Between::Nat {
        let rules = "table ip nat { chain out { type nat hook postrouting priority 100; \
                     oifname b0 masquerade; }; }";
        middle.command("nft", &["-f", "-"], Some(rules)).expect("a table");
    }
}
