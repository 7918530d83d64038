//! Hosts of the probe, and namespaces for them.

use std::time::Duration;

use host::Host;
use netns::Namespace;
use simulation::{Probe, Seen};

use crate::frr::until;

/// Turns a host until it has seen something that is looked for; returns it.
pub fn turn_until<T>(host: &mut Host<Probe>, what: &str, found: impl Fn(&Seen) -> Option<T>) -> T {
    until(what, || turn_for(host, Duration::from_millis(20)).iter().find_map(&found))
}

/// Does what a host has to do now; returns what it has seen.
pub fn turn(host: &mut Host<Probe>) -> Vec<Seen> {
    turn_for(host, Duration::ZERO)
}

/// Turns a host once, and returns what it has seen but links, of which the machine may have some
/// that are down.
pub fn turn_for(host: &mut Host<Probe>, patience: Duration) -> Vec<Seen> {
    let mut seen = host.turn(patience).expect("it turns");
    seen.retain(|seen| !matches!(seen, Seen::Link { .. }));
    seen
}

/// Addresses of the namespaces of [`linked`].
pub const OWN: [&str; 2] = ["10.9.0.1", "fd00:9::1"];

/// Addresses of the other end.
pub const FAR: [&str; 2] = ["10.9.0.2", "fd00:9::2"];

/// Two namespaces with a link, an address of each family at both ends.
pub fn linked() -> (Namespace, Namespace) {
    let make = || Namespace::new().expect("it may be made");
    let (own, far) = (make(), make());
    own.veth("eth0", &far, "eth0").expect("a link");
    for (namespace, [v4, v6]) in [(&own, OWN), (&far, FAR)] {
        namespace.ip(&format!("addr add {v4}/24 dev eth0")).expect("an address");
        namespace.ip(&format!("addr add {v6}/64 dev eth0 nodad")).expect("an address");
        namespace.wait_until_up("eth0", Duration::from_secs(10)).expect("up");
    }
    (own, far)
}

/// Whether namespaces can be made here.
pub fn may_link() -> bool {
    let may = netns::may_make_namespaces();
    if !may {
        println!("skipped: needs root");
    }
    may
}
