//! A route reflector between BIRD and FRR, each in a namespace of its own: both have the other's
//! routes, as RFC 4456 says, and lose them with their sessions.

use netns::{Child as Program, Namespace};
use serde_json::Value;

use crate::frr::Frr;
use crate::frr_routing::{lab_with_daemons, start_bird};
use crate::kit::{Child, Lab, until};
use crate::neighbours::host;

const REFLECTOR: &str = "\
controllers:
  - name: route-reflector
    as: 64500
    identifier: 10.0.4.1
    listen: [\"0.0.0.0:179\"]
    peers:
      - {address: 10.0.4.2, passive: true, md5: bird's}
      - {address: 10.0.5.2}
";

const BIRD: &str = "\
router id 10.0.4.2;
protocol device {}
protocol static { ipv4; route 203.0.113.0/24 blackhole; route 203.0.114.0/24 blackhole; }
protocol static { ipv6; route 2001:db8:113::/48 blackhole; }
protocol bgp reflector {
  local 10.0.4.2 as 64500;
  neighbor 10.0.4.1 as 64500;
  password \"bird's\";
  enable extended messages;
  connect delay time 1;
  error wait time 1, 2;
  ipv4 { import all; export all; };
  ipv6 { import all; export all; extended next hop; };
}
";

const FRR: &str = "router bgp 64500
 bgp router-id 10.0.5.2
 no bgp network import-check
 neighbor 10.0.5.1 remote-as 64500
 neighbor 10.0.5.1 timers connect 1
 address-family ipv4 unicast
  network 198.51.100.0/24
  neighbor 10.0.5.1 activate
 exit-address-family
 address-family ipv6 unicast
  network 2001:db8:100::/48
  neighbor 10.0.5.1 activate
 exit-address-family
!
";

struct Site {
    lab: Lab,
    bird: Namespace,
    frr: Namespace,
}

impl Site {
    fn new() -> Option<Site> {
        let lab = lab_with_daemons()?;
        let bird = host(&lab, "bird0", &["10.0.4.2/24", "2001:db8:4::2/64"], &[]);
        let frr = host(&lab, "frr0", &["10.0.5.2/24", "2001:db8:5::2/64"], &[]);
        for (near, address) in [("bird0", "10.0.4.1/24"), ("frr0", "10.0.5.1/24")] {
            lab.namespace.ip(&format!("addr add {address} dev {near}")).expect("an address");
        }
        lab.namespace.ip("link set lo up").expect("an interface");
        Some(Site { lab, bird, frr })
    }

    fn bird(&self) -> Program {
        start_bird(&self.lab, &self.bird, BIRD)
    }

    /// What BIRD says of a route.
    fn route_of_bird(&self, prefix: &str) -> String {
        let socket = self.lab.folder.path().join("bird");
        let socket = socket.to_string_lossy();
        let words = ["-s", &socket, "show", "route", "all", "for", prefix];
        self.bird.command("birdc", &words, None).unwrap_or_default()
    }
}

/// What FRR says of a route.
fn route_of_frr(frr: &Frr, family: &str, prefix: &str) -> Value {
    let text = frr.show(&format!("show bgp {family} unicast {prefix} json"));
    serde_json::from_str(&text).unwrap_or_default()
}

/// What the reflector shows of itself.
fn shown(lab: &Lab, daemon: &Child) -> Value {
    let socket = daemon.socket.to_string_lossy();
    let (_, text, _) = lab.run(&["show", "protocols", "--json", "--socket", &socket]);
    let all: Value = serde_json::from_str(&text).unwrap_or_default();
    all["protocols"]["route-reflector"]["controller"].clone()
}

/// - `route-reflector`, RFC 4456 section 8: FRR and BIRD have each other's routes, with the
///   originator and the cluster, and lose them with the session
#[test]
fn bird_and_frr_have_each_others_routes() {
    let Some(site) = Site::new() else { return };
    let reflector = site.lab.start(&site.lab.write("reflector.yaml", REFLECTOR));
    let bird = site.bird();
    let mut frr = Frr::without_daemons();
    frr.run_all(&site.frr, (&[], ""), &[("bgpd", FRR)]);
    let path = |family: &str, prefix: &str| {
        let route = route_of_frr(&frr, family, prefix);
        route["paths"].as_array().and_then(|paths| paths.first()).cloned()
    };
    let of_bird = until("a route of BIRD's at FRR", || path("ipv4", "203.0.113.0/24"));
    assert_eq!(of_bird["originatorId"], "10.0.4.2", "{of_bird}");
    assert_eq!(of_bird["clusterList"]["list"][0], "10.0.4.1", "{of_bird}");
    assert_eq!(of_bird["nexthops"][0]["ip"], "10.0.4.2", "{of_bird}");
    until("one of IPv6", || path("ipv6", "2001:db8:113::/48"));
    let of_frr = until("a route of FRR's at BIRD", || {
        let text = site.route_of_bird("198.51.100.0/24");
        text.contains("BGP.originator_id").then_some(text)
    });
    assert!(of_frr.contains("BGP.originator_id: 10.0.5.2"), "{of_frr}");
    assert!(of_frr.contains("BGP.cluster_list: 10.0.4.1"), "{of_frr}");
    assert!(of_frr.contains("BGP.next_hop: 10.0.5.2"), "{of_frr}");
    // What is shown is told once a second.
    let all = until("all routes to be shown", || {
        let all = shown(&site.lab, &reflector);
        (all["families"][0]["routes"] == 3).then_some(all)
    });
    let groups = all["families"][0]["groups"].as_array().expect("a list");
    assert_eq!((groups.len(), &groups[0]["peers"]), (1, &Value::from(2)), "equal clients: {all}");

    drop(bird);
    until("FRR to lose BIRD's routes", || path("ipv4", "203.0.114.0/24").is_none().then_some(()));
    let _bird = site.bird();
    until("BIRD's routes again", || path("ipv4", "203.0.114.0/24"));
    until("FRR's routes again", || {
        site.route_of_bird("198.51.100.0/24").contains("BGP.originator_id").then_some(())
    });
}
