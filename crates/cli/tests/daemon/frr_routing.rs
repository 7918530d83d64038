//! FRR as the routing suite of a router: unmodified daemons over host interfaces, OSPF with a
//! second FRR, and routes into the function by the Forwarding Plane Manager; VRRP for the same
//! router beside it.

use netns::Namespace;
use serde_json::Value;

use crate::frr::{self, Frr};
use crate::kit::{Child, Lab, until};
use crate::neighbours::host;

const ROUTER: &str = "function:
  name: l3-router
  resolve: true
  ping: true
  ecmp-capacity: 16
  ports:
    - {name: lan, mac: 02:00:00:00:00:01, ip: 10.0.1.1/24, host-interface: h-lan}
    - {name: core, mac: 02:00:00:00:00:02, ip: 10.0.2.1/24, host-interface: h-core}
ports:
  lan: {type: af-packet, interface: lan}
  core: {type: af-packet, interface: core}
controllers:
  - {name: frr, settle-s: 5}
  - name: vrrp
    routers:
      - {interface: h-lan, vrid: 7, addresses: [10.0.1.254], advert-interval-ms: 100, accept: true}
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

    /// The virtual router: its state and its priority.
    fn virtual_router(&self) -> (String, u64) {
        let protocols = self.show(&["protocols"]);
        let router = &protocols["protocols"]["vrrp"]["controller"]["routers"][0];
        let state = router["state"].as_str().unwrap_or_default().to_owned();
        (state, router["priority"].as_u64().unwrap_or_default())
    }

    /// Whether the virtual address answers to the host of the LAN.
    fn gateway_answers(&self) -> bool {
        let ping = ["-n", "-c", "1", "-W", "1", "10.0.1.254"];
        self.lan.command("ping", &ping, None).is_ok()
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

    // The virtual address is there beside the routes, and with another priority both go on.
    until("the gateway", || site.gateway_answers().then_some(()));
    assert_eq!(site.virtual_router(), ("active".to_owned(), 100));
    let file = site.lab.folder.path().join("router.yaml");
    let text = std::fs::read_to_string(&file).expect("it was written");
    let text = text.replace("vrid: 7,", "vrid: 7, priority: 150,");
    std::fs::write(&file, text).expect("writable");
    let (_, reloaded, _) = site.lab.run(&["set", "reload", "--json"]);
    let reloaded: Value = serde_json::from_str(&reloaded).expect("JSON");
    assert_eq!(reloaded["controllers"], serde_json::json!(["vrrp"]), "{reloaded}");
    until("the priority", || (site.virtual_router() == ("active".into(), 150)).then_some(()));
    assert!(site.has_route("203.0.113.1/32") && site.gateway_answers());

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
    until("the gateway after all", || site.gateway_answers().then_some(()));
    drop(router);
}
