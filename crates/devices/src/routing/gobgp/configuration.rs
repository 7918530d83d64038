//! What GoBGP is told.

use std::fmt::Write;
use std::net::Ipv4Addr;

use protocol_bgp::families::Family;

use crate::routing::driver::{PeerKind, RoutingService};

/// Returns the configuration.
pub(super) fn text(service: &RoutingService, port: u16) -> String {
    let RoutingService { asn, identifier, .. } = service;
    let mut text = format!(
        "[global.config]\n  as = {asn}\n  router-id = \"{identifier}\"\n  port = {port}\n  \
         local-address-list = [\"127.0.0.1\"]\n"
    );
    for kind in service.kinds() {
        for address in &kind.addresses {
            // Writing to a text does not fail.
            let _ = neighbour(service, &kind, *address, &mut text);
        }
    }
    text
}

fn neighbour(
    service: &RoutingService,
    kind: &PeerKind,
    address: Ipv4Addr,
    text: &mut String,
) -> std::fmt::Result {
    let (hold_s, cluster) = (service.hold_time_s, service.cluster);
    text.push_str("[[neighbors]]\n  [neighbors.config]\n");
    writeln!(text, "    neighbor-address = \"{address}\"\n    peer-as = {}", kind.asn)?;
    text.push_str("  [neighbors.timers.config]\n");
    writeln!(text, "    hold-time = {hold_s}\n    keepalive-interval = {}", hold_s / 3)?;
    // Else a peer that was lost waits half a minute.
    text.push_str("    idle-hold-time-after-reset = 1\n");
    text.push_str("  [neighbors.transport.config]\n    passive-mode = true\n");
    text.push_str("    local-address = \"127.0.0.1\"\n");
    if kind.is_client {
        text.push_str("  [neighbors.route-reflector.config]\n");
        text.push_str("    route-reflector-client = true\n");
        writeln!(text, "    route-reflector-cluster-id = \"{cluster}\"")?;
    }
    if service.graceful_restart {
        text.push_str("  [neighbors.graceful-restart.config]\n    enabled = true\n");
        text.push_str("    restart-time = 120\n");
    }
    let offered = service.offered();
    for (_, name) in FAMILIES.iter().filter(|(family, _)| offered.contains(*family)) {
        text.push_str("  [[neighbors.afi-safis]]\n    [neighbors.afi-safis.config]\n");
        writeln!(text, "      afi-safi-name = \"{name}\"")?;
        if service.graceful_restart {
            text.push_str("    [neighbors.afi-safis.mp-graceful-restart.config]\n");
            text.push_str("      enabled = true\n");
        }
    }
    Ok(())
}

/// The families that it has, by its names.
pub(super) const FAMILIES: &[(Family, &str)] = &[
    (Family::Ipv4Unicast, "ipv4-unicast"),
    (Family::Ipv6Unicast, "ipv6-unicast"),
    (Family::Ipv4Labelled, "ipv4-labelled-unicast"),
    (Family::Ipv6Labelled, "ipv6-labelled-unicast"),
    (Family::VpnV4, "l3vpn-ipv4-unicast"),
    (Family::VpnV6, "l3vpn-ipv6-unicast"),
    (Family::L2vpnEvpn, "l2vpn-evpn"),
    (Family::RouteTarget, "rtc"),
    (Family::Ipv4Flowspec, "ipv4-flowspec"),
    (Family::Ipv6Flowspec, "ipv6-flowspec"),
    (Family::VpnV4Flowspec, "l3vpn-ipv4-flowspec"),
    (Family::LinkState, "ls"),
    (Family::Vpls, "l2vpn-vpls"),
];
