//! FRR as the routing suite of a router: unmodified daemons over host interfaces, OSPF with a
//! second FRR, and routes into the function by the Forwarding Plane Manager.

use netns::Namespace;
use serde_json::Value;

use crate::frr::{self, Frr};
use crate::kit::{Child, Lab, until};
use crate::neighbours::host;

const ROUTER: &str = "function:
  name: l3-router
  resolve: true
  ecmp-capacity: 16
  ports:
    - {name: lan, mac: 02:00:00:00:00:01, ip: 10.0.1.1/24, host-interface: h-lan}
    - {name: core, mac: 02:00:00:00:00:02, ip: 10.0.2.1/24, host-interface: h-core}
ports:
  lan: {type: af-packet, interface: lan}
  core: {type: af-packet, interface: core}
controller: {name: frr, settle-s: 5}
workers: {idle: sleep}
state: STATE
";

/// Daemons of the router itself.
const OSPF: &str = "interface h-lan
 ip ospf passive
!
interface h-core
 ip ospf hello-interval 1
 ip ospf dead-interval 4
 ip ospf network point-to-point
!
router ospf
 ospf router-id 10.0.2.1
 network 10.0.0.0/16 area 0
!
";

/// The far router, which the kernel forwards for.
const FAR_OSPF: &str = "interface eth
 ip ospf hello-interval 1
 ip ospf dead-interval 4
 ip ospf network point-to-point
!
router ospf
 ospf router-id 10.0.2.2
 network 10.0.2.0/24 area 0
 network 203.0.113.0/24 area 0
!
";

struct Site {
    lab: Lab,
    lan: Namespace,
    far: Namespace,
}

impl Site {
    fn new() -> Option<Site> {
        if !frr::is_there() {
            return None;
        }
        let lab = Lab::bare()?;
        let lan = host(&lab, "lan", &["10.0.1.2/24"], &["default via 10.0.1.1"]);
        let far = host(&lab, "core", &["10.0.2.2/24"], &[]);
        far.ip("link set lo up").expect("an interface");
        far.ip("addr add 203.0.113.1/32 dev lo").expect("an address");
        lab.namespace.ip("link set lo up").expect("an interface");
        for near in ["lan", "core"] {
            // The kernel has the port's own interface beside the host's, and would answer at it.
            lab.namespace.ip(&format!("link set {near} arp off")).expect("an interface");
        }
        Some(Site { lab, lan, far })
    }

    fn router(&self) -> Child {
        let state = self.lab.folder.path().join("router.state");
        let text = ROUTER.replace("STATE", &state.to_string_lossy());
        self.lab.start(&self.lab.write("router.yaml", &text))
    }

    /// FRR of the router, over its host interfaces.
    fn near_frr(&self, frr: &mut Frr) {
        let fpm = "fpm address 127.0.0.1 port 2620\n";
        frr.run(&self.lab.namespace, "zebra", &["-M", "dplane_fpm_nl"], fpm);
        frr.run(&self.lab.namespace, "ospfd", &[], OSPF);
    }

    fn show(&self, view: &[&str]) -> Value {
        let (_, shown, _) = self.lab.run(&[&["show"], view, &["--json"]].concat());
        serde_json::from_str(&shown).unwrap_or_default()
    }

    fn has_route(&self, prefix: &str) -> bool {
        self.show(&["table", "routes"]).to_string().contains(&format!("\"{prefix}\""))
    }

    /// Whether the far address answers to the host of the LAN.
    fn answers(&self) -> bool {
        let ping = ["-n", "-c", "1", "-W", "1", "203.0.113.1"];
        self.lan.command("ping", &ping, None).is_ok()
    }
}

#[test]
fn frr_routes_for_the_router_and_survives_with_it() {
    let Some(site) = Site::new() else { return };
    let router = site.router();
    let (mut near, mut far) = (Frr::without_daemons(), Frr::without_daemons());
    site.near_frr(&mut near);
    far.run(&site.far, "zebra", &[], "");
    far.run(&site.far, "ospfd", &[], FAR_OSPF);
    until("the adjacency", || near.show("show ip ospf neighbor").contains("Full").then_some(()));
    until("the route in the function", || site.has_route("203.0.113.1/32").then_some(()));
    until("an answer", || site.answers().then_some(()));
    let protocols = site.show(&["protocols"]);
    assert!(protocols["protocols"]["frr"]["controller"].is_object(), "{protocols}");

    // A change of the far router follows.
    site.far.ip("addr add 203.0.114.1/32 dev lo").expect("an address");
    far.configure(&["router ospf", "network 203.0.114.0/24 area 0"]);
    until("the second route", || site.has_route("203.0.114.1/32").then_some(()));
    site.far.ip("addr del 203.0.114.1/32 dev lo").expect("an address");
    until("its end", || (!site.has_route("203.0.114.1/32")).then_some(()));

    // zebra is killed and comes back: what it told before stays, and stays when it has told again.
    near.kill("ospfd");
    near.kill("zebra");
    until("the alarm", || {
        site.show(&["alarms"])["alarms"]["raised"].to_string().contains("fpm-down").then_some(())
    });
    assert!(site.has_route("203.0.113.1/32"));
    site.near_frr(&mut near);
    until("the end of the alarm", || {
        (!site.show(&["alarms"])["alarms"]["raised"].to_string().contains("fpm-down")).then_some(())
    });
    until("an answer again", || site.answers().then_some(()));
    assert!(site.has_route("203.0.113.1/32"));

    // The router is killed while FRR is away: it forwards again from its journal.
    near.kill("ospfd");
    near.kill("zebra");
    drop(router);
    let router = site.router();
    assert!(site.has_route("203.0.113.1/32"), "before FRR has spoken");
    site.near_frr(&mut near);
    until("an answer after all", || site.answers().then_some(()));
    drop(router);
}
