//! A router as flows: the longest prefix is the highest priority.

use std::collections::BTreeSet;
use std::net::IpAddr;

use keys::Invalid;
use model_kit::service::{Beyond, Interface, NextHop, ReversePath, Router};

use super::bridges::{Bridge, BridgePort, Plan, number};
use crate::driver::{self, Limitation};

/// Returns the plan of a router.
pub(super) fn plan(router: &Router, ports: Vec<BridgePort>) -> Plan {
    let mut bridge = Bridge::new(NAME, ports);
    for (port, interface) in router.interfaces.iter().enumerate() {
        let (from, mac) = (number(port), interface.mac);
        for kind in ["ip", "ipv6"] {
            // With no port of entry a packet may leave where it came in.
            bridge.flow(format_args!(
                "table=0,priority=10,in_port={from},{kind},dl_dst={mac},\
                 actions=load:0->NXM_OF_IN_PORT[],goto_table:{CHECKS}"
            ));
        }
        if let Some((address, _)) = interface.ipv4 {
            arp_responder(&mut bridge, from, mac, address, true);
            own(&mut bridge, address.into());
        }
        if let Some((address, _)) = interface.ipv6 {
            own(&mut bridge, address.into());
        }
    }
    checks(&mut bridge, CHECKS, ROUTES);
    let mut seen = BTreeSet::new();
    for route in &router.routes {
        if seen.insert((route.prefix, route.len))
            && let Some(hop) = router.next_hops.get(route.next_hop as usize)
        {
            forward(&mut bridge, router, route.prefix, route.len, hop);
        }
    }
    // Who is on a link is reached there.
    for hop in &router.next_hops {
        let addresses = [hop.ipv4.map(IpAddr::from), hop.ipv6.map(IpAddr::from)];
        for address in addresses.into_iter().flatten() {
            if seen.insert((address, bits(address))) {
                forward(&mut bridge, router, address, bits(address), hop);
            }
        }
    }
    Plan { bridges: vec![bridge], ..Plan::default() }
}

/// Returns what the switch does differently of a router.
pub(super) fn limitations(router: &Router) -> Result<Vec<Limitation>, Invalid> {
    let asks = |one: &Interface| one.reverse_path != ReversePath::None;
    let beyond = Beyond::of(&[
        ("interfaces[].vlan", "VLAN interfaces", !router.vlans.is_empty()),
        ("interfaces[].urpf", "a route to the source", router.interfaces.iter().any(asks)),
    ]);
    if let Some(&first) = beyond.first() {
        return Err(driver::undone("ovs", first));
    }
    Ok(vec![Limitation {
        what: "a switch does not check IP versions and header checksums".to_owned(),
        verdicts: vec!["ip-malformed", "ip-checksum"],
        ..Limitation::default()
    }])
}

/// Adds drops of packets that no router forwards (RFC 1812 section 5.3.7 and 5.3.1, RFC 4291): by
/// address, and with an exhausted TTL or hop limit.
pub(super) fn checks(bridge: &mut Bridge, table: u8, next: u8) {
    for word in ["nw_src", "nw_dst"] {
        for network in ["0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4"] {
            bridge.flow(format_args!("table={table},priority=30,ip,{word}={network},actions=drop"));
        }
    }
    for word in ["ipv6_src", "ipv6_dst"] {
        for network in ["::/127", "fe80::/10", "ff00::/8"] {
            bridge
                .flow(format_args!("table={table},priority=30,ipv6,{word}={network},actions=drop"));
        }
    }
    for kind in ["ip", "ipv6"] {
        for hops in [0, 1] {
            bridge
                .flow(format_args!("table={table},priority=20,{kind},nw_ttl={hops},actions=drop"));
        }
    }
    bridge.flow(format_args!("table={table},priority=1,actions=goto_table:{next}"));
}

/// Adds the ARP responder (RFC 826): a request for an own address of the switch is answered through
/// the port at which it arrived.
pub(super) fn arp_responder(
    bridge: &mut Bridge,
    port: u32,
    mac: wire::MacAddr,
    address: std::net::Ipv4Addr,
    also_for_all: bool,
) {
    let answer = format!(
        "move:NXM_NX_ARP_SHA[]->NXM_OF_ETH_DST[],mod_dl_src:{mac},load:2->NXM_OF_ARP_OP[],\
         move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],\
         set_field:{mac}->arp_sha,set_field:{address}->arp_spa,in_port"
    );
    let mut to = vec![mac.to_string()];
    if also_for_all {
        to.push("ff:ff:ff:ff:ff:ff".to_owned());
    }
    for to in to {
        bridge.flow(format_args!(
            "table=0,priority=20,in_port={port},dl_dst={to},arp,arp_op=1,arp_tpa={address},\
             actions={answer}"
        ));
    }
}

/// Returns the actions that send a packet to a next hop, through the OpenFlow port of this number.
pub(super) fn send(router: &Router, hop: &NextHop, port: u32) -> String {
    let own = router.interfaces.get(usize::from(hop.port.0)).map(|interface| interface.mac);
    let source = hop.source.or(own).unwrap_or(wire::MacAddr::ZERO);
    format!("dec_ttl,mod_dl_src:{source},mod_dl_dst:{},output:{port}", hop.mac)
}

/// Returns the match of a prefix.
pub(super) fn matching(prefix: IpAddr, len: u8, word: &str) -> String {
    match prefix {
        IpAddr::V4(prefix) => format!("ip,nw_{word}={prefix}/{len}"),
        IpAddr::V6(prefix) => format!("ipv6,ipv6_{word}={prefix}/{len}"),
    }
}

fn forward(bridge: &mut Bridge, router: &Router, prefix: IpAddr, len: u8, hop: &NextHop) {
    let actions = send(router, hop, number(usize::from(hop.port.0)));
    let wanted = matching(prefix, len, "dst");
    let priority = u16::from(len) + 1;
    bridge.flow(format_args!("table={ROUTES},priority={priority},{wanted},actions={actions}"));
}

/// Adds a drop of packets to the router itself.
fn own(bridge: &mut Bridge, address: IpAddr) {
    let wanted = matching(address, bits(address), "dst");
    bridge.flow(format_args!("table={ROUTES},priority=200,{wanted},actions=drop"));
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

const NAME: &str = "router";
const CHECKS: u8 = 1;
const ROUTES: u8 = 2;
