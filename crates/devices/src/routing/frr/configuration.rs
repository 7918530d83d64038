//! What bgpd is told.

use std::fmt::Write;

use protocol_bgp::families::Family;

use crate::routing::driver::RoutingService;

/// Returns the configuration.
pub(super) fn text(service: &RoutingService, coalesce_time_ms: Option<u32>) -> String {
    let mut text = String::new();
    // Writing to a text does not fail.
    let _ = write(service, coalesce_time_ms, &mut text);
    text
}

fn write(
    service: &RoutingService,
    coalesce_time_ms: Option<u32>,
    text: &mut String,
) -> std::fmt::Result {
    let RoutingService { asn, identifier, cluster, hold_time_s, .. } = service;
    writeln!(text, "router bgp {asn}")?;
    writeln!(text, " bgp router-id {identifier}\n bgp cluster-id {cluster}")?;
    // Else which route is the best depends on the order in which they came.
    text.push_str(" bgp deterministic-med\n");
    text.push_str(
        " no bgp default ipv4-unicast\n no bgp network import-check\n no bgp \
         ebgp-requires-policy\n bgp disable-ebgp-connected-route-check\n",
    );
    if !service.client_to_client {
        text.push_str(" no bgp client-to-client reflection\n");
    }
    if service.graceful_restart {
        text.push_str(" bgp graceful-restart\n bgp graceful-restart preserve-fw-state\n");
    }
    if let Some(time_ms) = coalesce_time_ms {
        writeln!(text, " coalesce-time {time_ms}")?;
    }
    let kinds = service.kinds();
    for (number, kind) in kinds.iter().enumerate() {
        writeln!(text, " neighbor K{number} peer-group")?;
        writeln!(text, " neighbor K{number} remote-as {}", kind.asn)?;
        writeln!(text, " neighbor K{number} timers {} {hold_time_s}", hold_time_s / 3)?;
        writeln!(text, " neighbor K{number} passive")?;
        if kind.is_external {
            writeln!(text, " neighbor K{number} ebgp-multihop 255")?;
        }
        for address in &kind.addresses {
            writeln!(text, " neighbor {address} peer-group K{number}")?;
        }
    }
    for (family, name) in FAMILIES.iter().filter(|(one, _)| service.families.contains(*one)) {
        let has_next_hop = !matches!(family, Family::Ipv4Flowspec | Family::Ipv6Flowspec);
        writeln!(text, " address-family {name}")?;
        for (number, kind) in kinds.iter().enumerate() {
            writeln!(text, "  neighbor K{number} activate")?;
            if kind.is_client {
                writeln!(text, "  neighbor K{number} route-reflector-client")?;
            }
            if kind.is_external && has_next_hop {
                // Without zebra it knows no address of its own.
                writeln!(text, "  neighbor K{number} attribute-unchanged next-hop")?;
            }
        }
        text.push_str(" exit-address-family\n");
    }
    text.push_str("!\n");
    Ok(())
}

/// The families that it has, by its names.
pub(super) const FAMILIES: &[(Family, &str)] = &[
    (Family::Ipv4Unicast, "ipv4 unicast"),
    (Family::Ipv6Unicast, "ipv6 unicast"),
    (Family::Ipv4Labelled, "ipv4 labeled-unicast"),
    (Family::Ipv6Labelled, "ipv6 labeled-unicast"),
    (Family::VpnV4, "ipv4 vpn"),
    (Family::VpnV6, "ipv6 vpn"),
    (Family::L2vpnEvpn, "l2vpn evpn"),
    (Family::Ipv4Flowspec, "ipv4 flowspec"),
    (Family::Ipv6Flowspec, "ipv6 flowspec"),
];
