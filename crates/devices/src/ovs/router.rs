//! A router as flows: the longest prefix is the highest priority.

use std::collections::BTreeSet;
use std::net::IpAddr;

use keys::Invalid;
use model_kit::service::{Beyond, Interface, NextHop, ReversePath, Route, Router, Vlan};

use super::access::{self, ROUTES};
use super::bridges::{Bridge, BridgePort, Plan, matching, number};
use crate::driver::{self, Limitation};

/// Returns the plan of a router.
pub(super) fn plan(router: &Router, ports: Vec<BridgePort>) -> Plan {
    let mut bridge = Bridge::new(NAME, ports);
    for (port, interface) in router.interfaces.iter().enumerate() {
        enter(&mut bridge, router, port, interface, &Tag::none());
        if !router.vlans.is_empty() {
            // IEEE 802.1Q: a tag of VLAN 0 has a priority alone.
            enter(&mut bridge, router, port, interface, &Tag::of_priority());
        }
    }
    for Vlan { port, vlan, interface } in &router.vlans {
        enter(&mut bridge, router, usize::from(port.0), interface, &Tag::of(*vlan));
    }
    checks(&mut bridge, CHECKS, access::first_table(router));
    access::plan(&mut bridge, router);
    let mut seen = BTreeSet::new();
    for route in &router.routes {
        if seen.insert((route.vrf, route.prefix, route.len))
            && let Some(hop) = router.next_hops.get(route.next_hop as usize)
        {
            forward(&mut bridge, router, *route, hop);
        }
    }
    for (vrf, prefix, len) in router.links() {
        let (vrf, wanted) = (access::in_vrf(router, vrf), matching(prefix, len, "dst"));
        let priority = u16::from(len) + 1;
        bridge.flow(format_args!("table={ROUTES},priority={priority},{vrf}{wanted},actions=drop"));
    }
    // Who is on a link is reached there.
    for (hop, next_hop) in router.next_hops.iter().zip(0..) {
        let vrf = router.vrf_of(hop);
        let addresses = [hop.ipv4.map(IpAddr::from), hop.ipv6.map(IpAddr::from)];
        for address in addresses.into_iter().flatten() {
            if seen.insert((vrf, address, bits(address))) {
                let route = Route { prefix: address, len: bits(address), next_hop, vrf };
                forward(&mut bridge, router, route, hop);
            }
        }
    }
    Plan { bridges: vec![bridge], ..Plan::default() }
}

/// Adds what lets packets in by an interface, and answers for its addresses.
fn enter(bridge: &mut Bridge, router: &Router, port: usize, interface: &Interface, tag: &Tag) {
    let (from, mac) = (number(port), interface.mac);
    let noted = access::note(router, port, tag.vlan, interface.vrf);
    let Tag { wanted, removed, .. } = tag;
    for kind in ["ip", "ipv6"] {
        // With no port of entry a packet may leave where it came in.
        bridge.flow(format_args!(
            "table=0,priority=10,in_port={from},{wanted}{kind},dl_dst={mac},\
             actions={removed}{noted}load:0->NXM_OF_IN_PORT[],goto_table:{CHECKS}"
        ));
    }
    let vrf = &access::in_vrf(router, interface.vrf);
    if let Some((address, _)) = interface.ipv4 {
        arp_responder(bridge, from, mac, address, tag);
        own(bridge, vrf, address.into());
    }
    if let Some((address, _)) = interface.ipv6 {
        own(bridge, vrf, address.into());
    }
}

/// A tag of IEEE 802.1Q that frames of an interface bear, as parts of flows.
pub(super) struct Tag {
    /// The VLAN; 0 for none.
    vlan: u16,
    /// The match, with a final comma.
    wanted: String,
    /// The action that removes the tag, with a final comma.
    removed: &'static str,
    /// The actions that add it, each with a final comma.
    added: String,
}

impl Tag {
    /// Frames with a tag or without.
    pub fn any() -> Tag {
        Tag { vlan: 0, wanted: String::new(), removed: "", added: String::new() }
    }

    /// Frames without a tag.
    fn none() -> Tag {
        Tag { wanted: "vlan_tci=0,".to_owned(), ..Tag::any() }
    }

    /// Frames with a priority alone, which are answered without a tag.
    fn of_priority() -> Tag {
        Tag { wanted: "vlan_tci=0x1000/0x1fff,".to_owned(), removed: "strip_vlan,", ..Tag::any() }
    }

    fn of(vlan: u16) -> Tag {
        Tag {
            vlan,
            wanted: format!("dl_vlan={vlan},"),
            removed: "strip_vlan,",
            added: format!(
                "push_vlan:0x8100,set_field:{}->vlan_vid,set_field:0->vlan_pcp,",
                PRESENT | vlan
            ),
        }
    }
}

/// Returns what the switch does differently of a router.
pub(super) fn limitations(router: &Router) -> Result<Vec<Limitation>, Invalid> {
    let asks = |one: &Interface| one.reverse_path != ReversePath::None;
    let of_vlans = router.vlans.iter().map(|one| &one.interface);
    if router.interfaces.iter().chain(of_vlans).any(asks) {
        let undone = Beyond { key: "interfaces[].urpf", what: "a route to the source" };
        return Err(driver::undone("ovs", undone));
    }
    let mut found = access::limitations(router)?;
    found.push(Limitation {
        what: "a switch does not check IP versions, options and header checksums".to_owned(),
        verdicts: vec!["ip-malformed", "ip-checksum", "options"],
        ..Limitation::default()
    });
    Ok(found)
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
    tag: &Tag,
) {
    let Tag { wanted, removed, added, .. } = tag;
    let answer = format!(
        "{removed}move:NXM_NX_ARP_SHA[]->NXM_OF_ETH_DST[],mod_dl_src:{mac},\
         load:2->NXM_OF_ARP_OP[],move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],\
         set_field:{mac}->arp_sha,set_field:{address}->arp_spa,{added}in_port"
    );
    for to in [mac, wire::MacAddr::BROADCAST] {
        bridge.flow(format_args!(
            "table=0,priority=20,in_port={port},{wanted}dl_dst={to},arp,arp_op=1,arp_tpa={address},\
             actions={answer}"
        ));
    }
}

/// Returns the actions that send a packet to a next hop, through the OpenFlow port of this number.
pub(super) fn send(router: &Router, hop: &NextHop, port: u32) -> String {
    format!("{}output:{port}", rewrite(router, hop))
}

/// Returns the actions that make a packet one for a next hop, each with a final comma.
fn rewrite(router: &Router, hop: &NextHop) -> String {
    let own = router.interfaces.get(usize::from(hop.port.0)).map(|interface| interface.mac);
    let source = hop.source.or(own).unwrap_or(wire::MacAddr::ZERO);
    let added = hop.vlan.map_or(String::new(), |vlan| Tag::of(vlan).added);
    format!("dec_ttl,mod_dl_src:{source},mod_dl_dst:{},{added}", hop.mac)
}

fn forward(bridge: &mut Bridge, router: &Router, route: Route, hop: &NextHop) {
    let leave = access::leave(router, number(usize::from(hop.port.0)), hop.vlan);
    let actions = rewrite(router, hop) + &leave;
    let vrf = access::in_vrf(router, route.vrf);
    let wanted = matching(route.prefix, route.len, "dst");
    let priority = u16::from(route.len) + 1;
    bridge.flow(format_args!("table={ROUTES},priority={priority},{vrf}{wanted},actions={actions}"));
}

/// Adds a drop of packets to the router itself.
fn own(bridge: &mut Bridge, vrf: &str, address: IpAddr) {
    let wanted = matching(address, bits(address), "dst");
    bridge.flow(format_args!("table={ROUTES},priority=200,{vrf}{wanted},actions=drop"));
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The bit of a VLAN field that says that there is one.
const PRESENT: u16 = 0x1000;

const NAME: &str = "router";
const CHECKS: u8 = 1;
