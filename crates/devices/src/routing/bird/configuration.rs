//! What BIRD is told.

use std::fmt::Write;

use protocol_bgp::families::Family;

use crate::routing::driver::{PeerKind, RoutingService};

/// Returns the configuration.
pub(super) fn text(service: &RoutingService, port: u16) -> String {
    let mut text = String::new();
    // Writing to a text does not fail.
    let _ = write(service, port, &mut text);
    text
}

fn write(service: &RoutingService, port: u16, text: &mut String) -> std::fmt::Result {
    writeln!(text, "log stderr {{ fatal, error, bug }};\nrouter id {};", service.identifier)?;
    text.push_str("protocol device {}\n");
    // By these every next hop is reachable.
    text.push_str("protocol static { ipv4; route 0.0.0.0/0 blackhole; }\n");
    text.push_str("protocol static { ipv6; route ::/0 blackhole; }\n");
    let families: Vec<_> = FAMILIES.iter().filter(|row| service.families.contains(row.0)).collect();
    for (_, _, table, kind) in &families {
        writeln!(text, "{kind} table {table};")?;
    }
    for (number, kind) in service.kinds().iter().enumerate() {
        template(service, port, (number, kind), text)?;
        for (_, channel, table, table_kind) in &families {
            let igp = if channel.contains('6') { "master6" } else { "master4" };
            write!(text, "  {channel} {{ table {table}; import all; export all; ")?;
            match table_kind.starts_with("flow") {
                true => text.push_str("validate off; "),
                false => write!(text, "next hop keep; gateway recursive; igp table {igp}; ")?,
            }
            text.push_str("};\n");
        }
        text.push_str("}\n");
        for (at, address) in kind.addresses.iter().enumerate() {
            let asn = kind.asn;
            writeln!(text, "protocol bgp p{number}_{at} from k{number} {{")?;
            writeln!(text, "  neighbor {address} as {asn};\n}}")?;
        }
    }
    Ok(())
}

/// Writes the beginning of a template of peers, which its channels follow.
fn template(
    service: &RoutingService,
    port: u16,
    (number, kind): (usize, &PeerKind),
    text: &mut String,
) -> std::fmt::Result {
    writeln!(text, "template bgp k{number} {{")?;
    writeln!(text, "  local 127.0.0.1 port {port} as {};", service.asn)?;
    writeln!(text, "  strict bind yes;\n  multihop;\n  passive;")?;
    writeln!(text, "  hold time {};", service.hold_time_s)?;
    // Else a peer that was lost waits a minute.
    writeln!(text, "  error wait time 1, 2;\n  connect delay time 1;")?;
    if !kind.is_external {
        writeln!(text, "  rr cluster id {};", service.cluster)?;
    }
    if kind.is_client {
        text.push_str("  rr client;\n");
    }
    if service.graceful_restart {
        text.push_str("  graceful restart yes;\n");
    }
    Ok(())
}

/// The families that it has, by its names of channel and table and the kind of the table.
pub(super) const FAMILIES: &[(Family, &str, &str, &str)] = &[
    (Family::Ipv4Unicast, "ipv4", "unicast4", "ipv4"),
    (Family::Ipv6Unicast, "ipv6", "unicast6", "ipv6"),
    (Family::Ipv4Labelled, "ipv4 mpls", "labelled4", "ipv4"),
    (Family::Ipv6Labelled, "ipv6 mpls", "labelled6", "ipv6"),
    (Family::VpnV4, "vpn4 mpls", "vpns4", "vpn4"),
    (Family::VpnV6, "vpn6 mpls", "vpns6", "vpn6"),
    (Family::Ipv4Flowspec, "flow4", "flows4", "flow4"),
    (Family::Ipv6Flowspec, "flow6", "flows6", "flow6"),
];
