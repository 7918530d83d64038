//! Two hosts of one network behind a switch.

use super::Hosts;

const SWITCH: &str = "\
function: {name: l2-switch}
ports:
  downlink: {type: af-packet, interface: a0}
  uplink: {type: af-packet, interface: b0}
workers: {idle: sleep}
";

/// - `l2-switch`, RFC 826: hosts find one another's Ethernet addresses through the switch
/// - `l2-switch`, RFC 4861 section 7.2: and so they do by Neighbor Discovery
#[test]
fn a_host_finds_another_behind_a_switch() {
    let left = ["10.0.0.1/24", "2001:db8::1/64"];
    let right = ["10.0.0.2/24", "2001:db8::2/64"];
    let Some(hosts) = Hosts::new(&["ping"], &left, &right) else { return };
    let _switch = hosts.start(SWITCH);
    for address in ["10.0.0.2", "2001:db8::2"] {
        hosts.left.command("ping", &["-c", "1", "-W", "5", address], None).expect("an answer");
    }
}
