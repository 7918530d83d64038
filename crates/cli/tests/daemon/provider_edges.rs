//! Three provider edges of FRR with sessions with a route reflector and with nobody else: each has
//! the routes of VPNs and of EVPN of the others, the MAC addresses of EVPN down to its kernel, and
//! tshark finds nothing malformed in all that is said.
//!
//! The routes of VPNs are those that FRR is told with their Route Distinguishers: to have them in
//! tables of VPNs takes VRFs of the kernel, which not every kernel has.

use std::thread;
use std::time::Duration;

use netns::Namespace;
use serde_json::Value;

use crate::bgp_wire::{Capture, is_of_reflector};
use crate::frr::Frr;
use crate::frr_routing::lab_with_daemons;
use crate::kit::{Child, Lab, until, until_or};
use crate::neighbours::host;
use crate::route_reflector::shown;

const REFLECTOR: &str = "\
controllers:
  - name: route-reflector
    as: 64500
    identifier: 10.0.4.1
    listen: [\"0.0.0.0:179\"]
    families: [vpnv4, vpnv6, l2vpn-evpn]
    peers:
      - {address: 10.0.4.2, passive: true, md5: edges}
      - {address: 10.0.5.2, passive: true}
      - {address: 10.0.6.2}
";

/// A provider edge: a bridge with a port and an end of VXLAN, and FRR.
struct Edge {
    number: u8,
    namespace: Namespace,
    frr: Frr,
    configuration: String,
}

impl Edge {
    fn start(lab: &Lab, number: u8) -> Edge {
        let near = format!("pe{number}");
        lab.namespace.ip("link set lo up").expect("an interface");
        let namespace = host(lab, &near, &[&format!("10.0.{number}.2/24")], &[]);
        let address = format!("addr add 10.0.{number}.1/24 dev {near}");
        lab.namespace.ip(&address).expect("an address");
        let route = format!("route add 10.0.0.0/16 via 10.0.{number}.1");
        namespace.ip(&route).expect("a route");
        for command in [
            "link add br100 type bridge".to_owned(),
            format!(
                "link add vx100 type vxlan id 100 local 10.0.{number}.2 dstport 4789 nolearning"
            ),
            "link add port type veth peer name far".to_owned(),
            "link set vx100 master br100".to_owned(),
            "link set port master br100".to_owned(),
        ] {
            namespace.ip(&command).expect("an interface");
        }
        for name in ["br100", "vx100", "port", "far"] {
            namespace.ip(&format!("link set {name} up")).expect("an interface");
        }
        let password = if number == 4 { " neighbor 10.0.4.1 password edges\n" } else { "" };
        let configuration = format!(
            "route-map red permit 1
 set extcommunity rt 64500:100
!
router bgp 64500
 bgp router-id 10.0.{number}.2
 no bgp default ipv4-unicast
 no bgp network import-check
 neighbor 10.0.{number}.1 remote-as 64500
 neighbor 10.0.{number}.1 timers connect 1
{password} address-family ipv4 vpn
  neighbor 10.0.{number}.1 activate
  network 203.0.11{number}.0/24 rd 64500:{number} label 10{number} route-map red
 exit-address-family
 address-family ipv6 vpn
  neighbor 10.0.{number}.1 activate
  network 2001:db8:11{number}::/48 rd 64500:{number} label 20{number} route-map red
 exit-address-family
 address-family l2vpn evpn
  neighbor 10.0.{number}.1 activate
  advertise-all-vni
 exit-address-family
!
"
        );
        let mut frr = Frr::without_daemons();
        frr.run_all(&namespace, (&[], ""), &[("bgpd", &configuration)]);
        let edge = Edge { number, namespace, frr, configuration };
        edge.learn("add");
        edge
    }

    /// Has the bridge learn or forget the MAC address of a host.
    fn learn(&self, how: &str) {
        let words = ["fdb", how, &self.mac(), "dev", "port", "master", "static"];
        self.namespace.command("bridge", &words, None).expect("a MAC address");
    }

    fn mac(&self) -> String {
        format!("02:00:00:00:00:{:02x}", self.number)
    }

    /// Its prefix of IPv4 or of IPv6.
    fn prefix(&self, family: &str) -> String {
        match family {
            "ipv4" => format!("203.0.11{}.0/24", self.number),
            _ => format!("2001:db8:11{}::/48", self.number),
        }
    }

    /// What it has of the route of another one's VPN.
    fn route_of(&self, other: &Edge, family: &str) -> Option<Value> {
        let command = format!("show bgp {family} vpn {} json", other.prefix(family));
        let shown: Value = serde_json::from_str(&self.frr.show(&command)).ok()?;
        let of_route = &shown[format!("64500:{}", other.number)];
        let is_best = |path: &&Value| path["bestpath"]["overall"] == true;
        of_route["paths"].as_array()?.iter().find(is_best).cloned()
    }

    /// Whether its kernel sends what is for another one's host to that one.
    fn knows_host_of(&self, other: &Edge) -> bool {
        // Else asking takes a core, while everybody waits.
        thread::park_timeout(Duration::from_millis(50));
        let words = ["fdb", "show", "dev", "vx100"];
        let known = self.namespace.command("bridge", &words, None).unwrap_or_default();
        let end = format!("dst 10.0.{}.2", other.number);
        known.lines().any(|line| line.starts_with(&other.mac()) && line.contains(&end))
    }

    fn has_all_of(&self, other: &Edge) -> bool {
        let is_there = |family: &str| self.route_of(other, family).is_some();
        self.knows_host_of(other) && is_there("ipv4") && is_there("ipv6")
    }

    fn has_nothing_of(&self, other: &Edge) -> bool {
        let is_there = |family: &str| self.route_of(other, family).is_some();
        !self.knows_host_of(other) && !is_there("ipv4") && !is_there("ipv6")
    }
}

/// Waits until every edge has all, or nothing, of every other one.
fn until_all(what: &str, edges: &[Edge], is_so: fn(&Edge, &Edge) -> bool) {
    for one in edges {
        for other in edges.iter().filter(|other| other.number != one.number) {
            let told = || one.frr.show("show bgp l2vpn evpn") + &one.frr.show("show bgp ipv4 vpn");
            let what = format!("{what}: {} of {}", one.number, other.number);
            until_or(&what, || is_so(one, other).then_some(()), told);
        }
    }
}

/// How many sessions it has had with the reflector.
fn sessions(lab: &Lab, reflector: &Child, edge: &Edge) -> Option<u64> {
    let address = format!("10.0.{}.2", edge.number);
    let all = shown(lab, reflector)["peers"].as_array()?.clone();
    all.iter().find(|peer| peer["address"] == *address)?["sessions"].as_u64()
}

/// - `route-reflector`, RFC 4364, RFC 4659 and RFC 7432: three provider edges of FRR have each
///   other's routes of VPNs and of EVPN, lose what is withdrawn or whose session ends, and have it
///   again; they are told all of it again when they ask (RFC 7313), and tshark finds nothing
///   malformed
#[test]
fn provider_edges_of_frr_exchange_routes_of_vpns_and_evpn() {
    let Some(lab) = lab_with_daemons() else { return };
    let capture = Capture::start(&lab);
    let file = lab.write("reflector.yaml", REFLECTOR);
    let reflector = lab.start(&file);
    let mut edges = [4, 5, 6].map(|number| Edge::start(&lab, number));
    until_all("all", &edges, Edge::has_all_of);
    let path = edges[0].route_of(&edges[1], "ipv4").expect("it is there");
    assert_eq!(path["originatorId"], "10.0.5.2", "{path}");
    assert_eq!(path["clusterList"]["list"][0], "10.0.4.1", "{path}");
    assert_eq!(path["nexthops"][0]["ip"], "10.0.5.2", "{path}");
    assert_eq!(
        (&path["remoteLabel"], &path["extendedCommunity"]["string"]),
        (&105.into(), &"RT:64500:100".into())
    );

    // Withdrawn, and told again.
    let [one, other, third] = &edges;
    let change = |how: &str, route_map: &str| {
        for (family, label) in [("ipv4", 104), ("ipv6", 204)] {
            let prefix = one.prefix(family);
            let network = format!("{how}network {prefix} rd 64500:4 label {label}{route_map}");
            let family = format!("address-family {family} vpn");
            one.frr.configure(&["router bgp 64500", &family, &network]);
        }
    };
    change("no ", "");
    one.learn("del");
    until("what is withdrawn to go", || {
        (other.has_nothing_of(one) && third.has_nothing_of(one)).then_some(())
    });
    assert!(other.has_all_of(third) && third.has_all_of(other), "the others stay");
    change("", " route-map red");
    one.learn("add");
    until_all("all again", &edges, Edge::has_all_of);

    // Asked for again, with a beginning and an end.
    let shown = edges[0].frr.show("show bgp neighbors 10.0.4.1 json");
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let capability = &shown["10.0.4.1"]["neighborCapabilities"]["enhancedRouteRefresh"];
    assert_eq!(capability, "advertisedAndReceived", "{shown}");
    for family in ["ipv4 vpn", "l2vpn evpn"] {
        edges[0].frr.show(&format!("clear bgp {family} * soft in"));
    }

    // A session that is cleared comes back.
    until("one session", || (sessions(&lab, &reflector, &edges[1]) == Some(1)).then_some(()));
    edges[1].frr.show("clear bgp l2vpn evpn *");
    until("the session again", || (sessions(&lab, &reflector, &edges[1]) == Some(2)).then_some(()));
    until_all("all after that", &edges, Edge::has_all_of);

    // An edge is killed.
    edges[2].frr.kill("bgpd");
    until("its routes to go", || {
        (edges[0].has_nothing_of(&edges[2]) && edges[1].has_nothing_of(&edges[2])).then_some(())
    });
    let Edge { frr, namespace, configuration, .. } = &mut edges[2];
    frr.run(namespace, "bgpd", &[], configuration);
    until_all("all of one that was killed", &edges, Edge::has_all_of);

    // The reflector is killed.
    drop(reflector);
    until_all("nothing without a reflector", &edges, Edge::has_nothing_of);
    let _reflector = lab.start(&file);
    until_all("all of a new reflector", &edges, Edge::has_all_of);

    let fields = ["bgp.route_refresh.subtype", "bgp.evpn.nlri.rt"];
    let Some(packets) = capture.and_then(|capture| capture.end(&fields)) else { return };
    let said = |name: &str| -> Vec<&str> {
        let ours = packets.iter().filter(|packet| is_of_reflector(packet));
        ours.flat_map(|packet| packet.field(name)).map(String::as_str).collect()
    };
    let refreshed = said("bgp.route_refresh.subtype");
    for (which, name) in [("1", "beginnings"), ("2", "ends")] {
        let count = refreshed.iter().filter(|one| **one == which).count();
        assert_eq!(count, 2, "{name} of what was asked for again: {refreshed:?}");
    }
    let kinds = said("bgp.evpn.nlri.rt");
    assert!(kinds.contains(&"2") && kinds.contains(&"3"), "{kinds:?}");
}
