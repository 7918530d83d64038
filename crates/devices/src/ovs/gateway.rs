//! The user plane of a mobile gateway over VXLAN, as two bridges.
//!
//! ```text
//!  port 0 ==\                     /== LOCAL: the tunnel's packets are taken apart ==> tunnel \
//!            edge: addresses, ARP                                                            users
//!  port 1 ==/                     \== patch-in ============================================> /
//!   out of port n <== patch-n <== routes <== meter <== bearer by network identifier and address
//!   out of port n <== routes to base stations <== LOCAL <== tunnel <== meter <== bearer by address
//! ```
//! A tunnel's port works by what stands in the kernel's tables of the device's namespace: the
//! bridge `edge` has the gateway's address, and all base stations are behind one made-up neighbour.
//! What the tunnel puts in front of a packet is then set right by the flows of `edge`: the base
//! station's MAC address and the source port.

use std::net::Ipv4Addr;

use function_kit::sections::function_key;
use keys::Invalid;
use model_kit::service::{Gateway, GatewayTunnel, GatewayUser};

use super::bridges::{Bridge, BridgePort, Plan, matching, number};
use super::openflow::Meter;
use super::options::Options;
use super::router;
use crate::driver::Limitation;

/// Returns the plan of a mobile gateway.
pub(super) fn plan(gateway: &Gateway, ports: Vec<BridgePort>, options: &Options) -> Plan {
    let mut plan =
        Plan { bridges: vec![edge(gateway, ports), users(gateway, options)], ..Plan::default() };
    let (own, neighbour) = (gateway.address, neighbour(gateway.address));
    plan.ip.push(format!("addr add {own}/31 dev {EDGE}"));
    plan.ip.push(format!("link set {EDGE} up"));
    plan.ip.push(format!("route add default via {neighbour} dev {EDGE}"));
    let words = ["tnl/neigh/set", EDGE, &neighbour.to_string(), NEIGHBOUR_MAC];
    plan.appctl.push(words.map(str::to_owned).to_vec());
    plan
}

/// Returns what the switch does differently of a gateway.
///
/// # Errors
/// When it cannot provide the gateway at all.
pub(super) fn limitations(
    gateway: &Gateway,
    options: &Options,
) -> Result<Vec<Limitation>, Invalid> {
    if gateway.tunnel == GatewayTunnel::GtpU {
        let what = "the GTP-U tunnel of Open vSwitch 3.1 does not recognise packets of users as IP \
                    packets";
        let remedy = "set `tunnel: vxlan` in the function's section";
        return Err(function_key("tunnel", what.to_owned(), remedy));
    }
    if options.policers && gateway.users.len() > USERS_METERED_MAX {
        let what =
            format!("{} users need more meters than the switch supports", gateway.users.len());
        let remedy = format!("use at most {USERS_METERED_MAX} users, or `policers: false`");
        return Err(function_key("user", what, &remedy));
    }
    let policer = if options.policers {
        "meters count frames instead of packets, in whole kbit/s, with a time resolution of one \
         millisecond"
    } else {
        "no policer (`policers: false`): rates are not limited"
    };
    let unlooked = "a switch does not check IP versions, options and checksums, and UDP lengths";
    let unlooked = Limitation {
        what: unlooked.to_owned(),
        verdicts: vec![
            "ip-malformed",
            "ip-checksum",
            "ip-options",
            "udp-malformed",
            "udp-checksum",
            "inner-malformed",
            "inner-checksum",
            "inner-options",
        ],
        ..Limitation::default()
    };
    Ok(vec![
        Limitation {
            what: policer.to_owned(),
            verdicts: vec!["rate-exceeded"],
            ..Limitation::default()
        },
        unlooked,
    ])
}

/// Returns the bridge with the device's ports.
fn edge(gateway: &Gateway, mut ports: Vec<BridgePort>) -> Bridge {
    let router = &gateway.router;
    let count = ports.len();
    ports.push(patch("edge-in", "users-in", PATCH_IN));
    ports.extend(
        (0..count)
            .map(|port| patch(&format!("edge-{port}"), &format!("users-{port}"), patch_out(port))),
    );
    let mut edge = Bridge::new(EDGE, ports);
    let own = gateway.address;
    if let Some(interface) = router.interfaces.first() {
        edge.columns.push(format!("other-config:hwaddr=\"{}\"", interface.mac));
    }
    for (port, interface) in router.interfaces.iter().enumerate() {
        let (from, mac) = (number(port), interface.mac);
        edge.flow(format_args!(
            "priority=30,in_port={from},dl_dst={mac},udp,nw_dst={own},tp_dst={VXLAN_PORT},nw_frag=no,\
             actions=LOCAL"
        ));
        edge.flow(format_args!("priority=20,in_port={from},ip,nw_dst={own},actions=drop"));
        router::arp_responder(&mut edge, from, mac, own, &router::Tag::any());
        for kind in ["ip", "ipv6"] {
            edge.flow(format_args!(
                "priority=10,in_port={from},dl_dst={mac},{kind},actions=output:{PATCH_IN}"
            ));
        }
        let to_port = patch_out(port);
        edge.flow(format_args!("priority=10,in_port={to_port},actions=output:{from}"));
    }
    for route in &router.routes {
        let Some(hop) = router.next_hops.get(route.next_hop as usize) else { continue };
        let own = router.interfaces.get(usize::from(hop.port.0)).map(|interface| interface.mac);
        let source = hop.source.or(own).unwrap_or(wire::MacAddr::ZERO);
        if let std::net::IpAddr::V4(prefix) = route.prefix {
            let (priority, len) = (100 + u16::from(route.len), route.len);
            let port = number(usize::from(hop.port.0));
            edge.flow(format_args!(
                "priority={priority},in_port=LOCAL,udp,nw_dst={prefix}/{len},tp_dst={VXLAN_PORT},\
                 actions=mod_dl_src:{source},mod_dl_dst:{},mod_tp_src:{VXLAN_PORT},output:{port}",
                hop.mac
            ));
        }
    }
    edge
}

/// Returns the bridge with the tunnel, the users and the routes.
fn users(gateway: &Gateway, options: &Options) -> Bridge {
    let router = &gateway.router;
    let tunnel = BridgePort {
        name: "tunnel".to_owned(),
        number: TUNNEL,
        columns: ["type=vxlan", "options:remote_ip=flow", "options:key=flow", "options:csum=false"]
            .map(str::to_owned)
            .to_vec(),
        has_link: false,
    };
    let mut ports = vec![tunnel, patch("users-in", "edge-in", PATCH_IN)];
    ports.extend(
        (0..router.interfaces.len())
            .map(|port| patch(&format!("users-{port}"), &format!("edge-{port}"), patch_out(port))),
    );
    let mut users = Bridge::new("users", ports);
    for (from, table) in [(TUNNEL, UPLINK), (PATCH_IN, DOWNLINK)] {
        for kind in ["ip", "ipv6"] {
            for hops in [0, 1] {
                users.flow(format_args!(
                    "table=0,priority=20,in_port={from},{kind},nw_ttl={hops},actions=drop"
                ));
            }
        }
        users.flow(format_args!("table=0,priority=10,in_port={from},actions=goto_table:{table}"));
    }
    for (user, number) in gateway.users.iter().zip(0u32..) {
        bearer(&mut users, gateway, options, user, number);
    }
    for route in &router.routes {
        let Some(hop) = router.next_hops.get(route.next_hop as usize) else { continue };
        let actions = router::send(router, hop, patch_out(usize::from(hop.port.0)));
        let wanted = matching(route.prefix, route.len, "dst");
        let priority = u16::from(route.len) + 1;
        users.flow(format_args!("table={ROUTES},priority={priority},{wanted},actions={actions}"));
    }
    users
}

/// Adds the flows and meters of a user.
fn bearer(
    users: &mut Bridge,
    gateway: &Gateway,
    options: &Options,
    user: &GatewayUser,
    number: u32,
) {
    let GatewayTunnel::Vxlan { down: [source, destination] } = gateway.tunnel else { return };
    let (up, down) = if options.policers {
        let [up, down] = [2 * number + 1, 2 * number + 2];
        let (rate_kbps, burst_kbit) = limits(gateway);
        users.meters.extend([up, down].map(|id| Meter { id, rate_kbps, burst_kbit }));
        (format!("meter:{up},"), format!("meter:{down},"))
    } else {
        (String::new(), String::new())
    };
    let (teid, station, own) = (user.teid, user.base_station, gateway.address);
    let prefix = user
        .ipv6_prefix
        .map(|prefix| (std::net::Ipv6Addr::from_bits(u128::from(prefix) << 64).into(), 64));
    for (address, len) in [Some((user.ipv4.into(), 32)), prefix].into_iter().flatten() {
        let from = matching(address, len, "src");
        users.flow(format_args!(
            "table={UPLINK},priority=10,tun_id={teid},{from},actions={up}goto_table:{ROUTES}"
        ));
        let to = matching(address, len, "dst");
        users.flow(format_args!(
            "table={DOWNLINK},priority=10,{to},actions={down}dec_ttl,set_field:{teid}->tun_id,\
             set_field:{own}->tun_src,set_field:{station}->tun_dst,mod_dl_src:{source},\
             mod_dl_dst:{destination},output:{TUNNEL}"
        ));
    }
}

/// Returns rate and burst in the unit of meters (kbit/s and kbit); the burst includes the Ethernet
/// headers of the shortest packets that fit into it.
fn limits(gateway: &Gateway) -> (u32, u32) {
    let kilobits = |bytes: f64| (bytes * 8.0 / 1000.0).round().clamp(1.0, f64::from(u32::MAX >> 1));
    let headers = gateway.burst_bytes / 46.0 * wire::ethernet::HEADER_LEN as f64;
    (kilobits(gateway.rate_bytes_per_s) as u32, kilobits(gateway.burst_bytes + headers) as u32)
}

fn patch(name: &str, peer: &str, number: u32) -> BridgePort {
    let columns = vec!["type=patch".to_owned(), format!("options:peer={peer}")];
    BridgePort { name: name.to_owned(), number, columns, has_link: false }
}

/// Returns the OpenFlow port number of the patch port to a port of the device.
fn patch_out(port: usize) -> u32 {
    PATCH_IN + 1 + port as u32
}

/// Returns the other address of a network of two addresses (RFC 3021).
fn neighbour(own: Ipv4Addr) -> Ipv4Addr {
    Ipv4Addr::from_bits(own.to_bits() ^ 1)
}

const EDGE: &str = "edge";
/// Ethernet address of the neighbour that stands for base stations; no frame leaves with it.
const NEIGHBOUR_MAC: &str = "02:00:00:00:00:01";
const VXLAN_PORT: u16 = wire::vxlan::VXLAN_PORT;
const TUNNEL: u32 = 90;
const PATCH_IN: u32 = 100;
const UPLINK: u8 = 1;
const DOWNLINK: u8 = 2;
const ROUTES: u8 = 3;

/// Largest number of users with meters: the switch's own datapath has 262,144 meters, two per user.
const USERS_METERED_MAX: usize = 131_000;
