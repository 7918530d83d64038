//! The router's own example, as its README has it, between hosts that have its addresses.

use super::Hosts;

const README: &str = include_str!("../../../../functions/l3_router/README.md");

/// - `l3-router`: the first example of its README serves the hosts that it names
#[test]
fn the_first_example_of_the_router_serves_hosts() {
    let (left, right) = (["10.0.0.7/24", "172.16.0.1/32"], ["192.0.2.1/30", "203.0.113.9/32"]);
    let Some(hosts) = Hosts::new(&["ping"], &left, &right) else { return };
    hosts.left.ip("route add default via 10.0.0.1").expect("a route");
    hosts.right.ip("route add default via 192.0.2.2").expect("a route");
    let example = README.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next());
    let ports = "ports:
  downlink: {type: af-packet, interface: a0}
  uplink: {type: af-packet, interface: b0}
workers: {idle: sleep}
";
    let _router = hosts.start(&format!("{}{ports}", example.expect("an example")));
    // To hosts of its links, and beyond them by its next hops.
    for (from, to) in [("10.0.0.7", "192.0.2.1"), ("172.16.0.1", "203.0.113.9")] {
        let arguments = ["-c", "1", "-W", "5", "-I", from, to];
        hosts.left.command("ping", &arguments, None).expect("an answer");
    }
    // A capture that is refused leaves a file as it is.
    let kept = hosts.lab.write("kept.pcapng", "what was there");
    let arguments = ["capture", "-w", "kept.pcapng", "--protocol", "no-such-protocol"];
    let (code, _, errors) = hosts.lab.run(&arguments);
    assert!(code != 0 && errors.contains("no-such-protocol"), "{errors}");
    assert_eq!(std::fs::read(kept).expect("it is there"), b"what was there");
}
