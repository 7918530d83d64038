//! What OpenBGPD is told.

use std::fmt::Write;

use protocol_bgp::families::Family;

use crate::routing::driver::RoutingService;

/// Returns the configuration.
pub(super) fn text(service: &RoutingService, port: u16, socket: &str) -> String {
    let RoutingService { asn, identifier, hold_time_s, .. } = service;
    let mut text = format!(
        "AS {asn}\nrouter-id {identifier}\nfib-update no\nlisten on 127.0.0.1 port \
         {port}\nsocket \"{socket}\"\nholdtime {hold_time_s}\nnexthop qualify via default\n"
    );
    // Writing to a text does not fail.
    let _ = groups(service, &mut text);
    text + "allow from any\nallow to any\n"
}

fn groups(service: &RoutingService, text: &mut String) -> std::fmt::Result {
    for (number, kind) in service.kinds().iter().enumerate() {
        writeln!(text, "group \"k{number}\" {{\n  remote-as {}\n  passive", kind.asn)?;
        if kind.is_client {
            writeln!(text, "  route-reflector {}", service.cluster)?;
        }
        if kind.is_external {
            text.push_str("  multihop 255\n  set nexthop no-modify\n");
        }
        // What is not said of IPv4 is what its sessions have.
        if !FAMILIES[..1].iter().any(|(family, _)| service.families.contains(*family)) {
            text.push_str("  announce IPv4 none\n");
        }
        for (_, name) in FAMILIES.iter().filter(|(family, _)| service.families.contains(*family)) {
            writeln!(text, "  announce {name}")?;
        }
        for address in &kind.addresses {
            writeln!(text, "  neighbor {address}")?;
        }
        text.push_str("}\n");
    }
    Ok(())
}

/// The families that it has, by its names.
pub(super) const FAMILIES: &[(Family, &str)] = &[
    (Family::Ipv4Unicast, "IPv4 unicast"),
    (Family::Ipv6Unicast, "IPv6 unicast"),
    (Family::VpnV4, "IPv4 vpn"),
    (Family::VpnV6, "IPv6 vpn"),
];
