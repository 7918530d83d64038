//! Hosts as they come on both sides of a daemon: the kernel with its default settings, offloads and
//! IPv6 included, each in a namespace of its own.

mod bridge;
mod discovery;
mod example;
mod failures;
mod gateway;
mod mtu;
mod nat;
mod nat_log;
mod offloads;
mod rates;
mod router;

use std::time::Duration;

use netns::Namespace;

use crate::kit::{Child, Lab};

/// A NAT between both, for hosts that [`Hosts::lead_through`] it; further keys of the function may
/// follow.
const NAT: &str = "\
ports:
  inside: {type: af-packet, interface: a0}
  outside: {type: af-packet, interface: b0}
function:
  name: cgnat
  inside-ip: 10.0.0.254
  inside-ip-len: 24
  outside-ip: 10.0.1.254
  outside-ip-len: 24
  inside-next-hop: 10.0.0.1
  outside-next-hop: 10.0.1.1
  inside: [10.0.0.0/24]
  pools: [10.0.1.200/32]
";

const PATIENCE: Duration = Duration::from_secs(60);

/// Two hosts, whose interface is `eth`, and the daemon between them, whose are `a0` and `b0`.
pub struct Hosts {
    pub lab: Lab,
    pub left: Namespace,
    pub right: Namespace,
}

impl Hosts {
    /// Makes them with these addresses, each with a prefix length; none, and a note, where that
    /// cannot be done or one of the programs is absent.
    pub fn new(programs: &[&str], left: &[&str], right: &[&str]) -> Option<Hosts> {
        let missing = programs.iter().find(|program| !netns::is_installed(program));
        if missing.is_some() {
            println!("skipped: needs {missing:?}");
            return None;
        }
        let lab = Lab::bare()?;
        let make = || Namespace::new().expect("it may be made");
        let hosts = Hosts { lab, left: make(), right: make() };
        let sides = [("a0", &hosts.left, left), ("b0", &hosts.right, right)];
        for (near, far, addresses) in sides {
            hosts.lab.namespace.veth(near, far, "eth").expect("a link");
            for address in addresses {
                // Without the second that detection of duplicates takes.
                let nodad = if address.contains(':') { "nodad" } else { "" };
                far.ip(&format!("addr add {address} dev eth {nodad}")).expect("an address");
            }
            far.wait_until_up("eth", PATIENCE).expect("up");
        }
        Some(hosts)
    }

    /// Gives both a way by what is between them: 10.0.0.254 for the left one, 10.0.1.254 for the
    /// right one.
    fn lead_through(&self) {
        for (host, number) in [(&self.left, 0), (&self.right, 1)] {
            host.ip(&format!("route add default via 10.0.{number}.254")).expect("a route");
        }
    }

    /// Starts a daemon with this file.
    pub fn start(&self, text: &str) -> Child {
        self.lab.start(&self.lab.write("daemon.yaml", text))
    }
    /// Waits for an answer of an address to the left host.
    pub fn ping(&self, address: &str) {
        self.left.command("ping", &["-c", "1", "-W", "5", address], None).expect("an answer");
    }
}
