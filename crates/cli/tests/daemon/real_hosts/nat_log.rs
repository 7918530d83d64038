//! What a collector of a NAT's log is told up to the NAT's end.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::thread;

use netns::Namespace;

use super::nat::{SERVER, SMALL, SUBSCRIBER};
use super::{Hosts, PATIENCE};
use crate::kit::again;

/// - `cgnat`, RFC 8158: at an orderly end, the collector hears of the end of every session and of
///   the log itself
#[test]
fn sigterm_tells_the_collector_that_everything_is_over() {
    let Some(hosts) = Hosts::new(&["ping"], &[SUBSCRIBER], &[SERVER]) else { return };
    hosts.left.ip("route add default via 192.168.1.1").expect("a route");
    let bind = |host: &Namespace, address: &str| {
        let socket = host.run(|| UdpSocket::bind(address)).expect("the namespace");
        let socket = socket.expect("its address is there");
        socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
        socket
    };
    let collector = bind(&hosts.right, "203.0.113.1:514");
    let server = bind(&hosts.right, "203.0.113.1:53");
    let link = hosts.right.ip("-o link show eth").expect("it tells");
    let mac = link.split_whitespace().skip_while(|word| *word != "link/ether").nth(1);
    let logging = format!(
        "\n  logging:\n    format: syslog\n    collector: 203.0.113.1\n    \
         source: 203.0.113.2\n    \
         next-hop-mac: \"{}\"\n    sessions: true\n    mappings: true\n    destinations: true\n",
        mac.expect("an address")
    );
    let pools = "pools: [203.0.113.8/29]";
    let file = SMALL.replace(pools, &format!("{pools}{logging}"));
    let mut nat = hosts.start(&file);
    // It reads all the while: what a socket keeps is less than all.
    let reader = thread::spawn(move || {
        let mut all = Vec::new();
        loop {
            let mut message = [0; 2048];
            let (len, _) =
                again(|| collector.recv_from(&mut message)).expect("up to the end of the log");
            let text = String::from_utf8_lossy(&message[..len]).into_owned();
            let event = text.split(' ').nth(5).unwrap_or_default().to_owned();
            if event == "log-end" {
                return (all, text);
            }
            all.push(event);
        }
    });
    let sessions = 40;
    for port in 0..sessions {
        let client = bind(&hosts.left, &format!("192.168.1.2:{}", 2000 + port));
        client.send_to(b"question", "203.0.113.1:53").expect("it leaves");
        again(|| server.recv_from(&mut [0; 16])).expect("a question");
    }
    assert_eq!(nat.child.stop(PATIENCE).and_then(|status| status.code()), Some(0));

    let (all, end) = reader.join().expect("it has read");
    assert_eq!(all.iter().position(|event| event == "log-begin"), Some(0), "{all:?}");
    let told = all.len();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    all.into_iter().for_each(|event| *counts.entry(event).or_default() += 1);
    assert!(end.ends_with(&format!(" domain=\"0\" told=\"{told}\" lost=\"0\"]")), "{end}");
    for (begun, over) in [
        ("session-create", "session-delete"),
        ("mapping-create", "mapping-delete"),
        ("block-allocate", "block-release"),
        ("address-bind", "address-unbind"),
    ] {
        assert_eq!(counts[begun], counts[over], "{counts:?}");
    }
    assert_eq!(counts["session-create"], sessions, "{counts:?}");
}
