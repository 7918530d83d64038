//! A route reflector between BIRD and FRR, each in a namespace of its own: both have the other's
//! routes, as RFC 4456 says, and lose them with their sessions.

use std::process::Command;

use netns::{Child as Program, Namespace};
use serde_json::Value;

use crate::frr::Frr;
use crate::frr_routing::{lab_with_daemons, start_bird};
use crate::kit::{Child, Lab, until};
use crate::neighbours::host;
use crate::pages;

pub const REFLECTOR: &str = "\
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

pub const FRR: &str = "router bgp 64500
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

pub struct Site {
    pub lab: Lab,
    bird: Namespace,
    pub frr: Namespace,
}

impl Site {
    pub fn new() -> Option<Site> {
        let lab = lab_with_daemons()?;
        let bird = host(&lab, "bird0", &["10.0.4.2/24", "2001:db8:4::2/64"], &[]);
        let frr = host(&lab, "frr0", &["10.0.5.2/24", "2001:db8:5::2/64"], &[]);
        for (near, address) in [("bird0", "10.0.4.1/24"), ("frr0", "10.0.5.1/24")] {
            lab.namespace.ip(&format!("addr add {address} dev {near}")).expect("an address");
        }
        lab.namespace.ip("link set lo up").expect("an interface");
        Some(Site { lab, bird, frr })
    }

    pub fn bird(&self) -> Program {
        start_bird(&self.lab, &self.bird, BIRD)
    }

    /// What BIRD says of a route.
    pub fn route_of_bird(&self, prefix: &str) -> String {
        let socket = self.lab.folder.path().join("bird");
        let socket = socket.to_string_lossy();
        let words = ["-s", &socket, "show", "route", "all", "for", prefix];
        self.bird.command("birdc", &words, None).unwrap_or_default()
    }
}

/// What FRR says of a route.
pub fn route_of_frr(frr: &Frr, family: &str, prefix: &str) -> Value {
    let text = frr.show(&format!("show bgp {family} unicast {prefix} json"));
    serde_json::from_str(&text).unwrap_or_default()
}

/// What the reflector shows of itself.
pub fn shown(lab: &Lab, daemon: &Child) -> Value {
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

const PAGE: &str = include_str!("../../../../docs/route-reflector.md");

#[test]
fn the_page_for_two_reflectors_works_as_it_stands() {
    if lab_with_daemons().is_none() {
        return;
    }
    let said = pages::run(PAGE);
    assert!(said.contains("Originator: 10.0.0.12"), "FRR has BIRD's route: {said}");
    assert!(said.contains("BGP.originator_id: 10.0.0.11"), "BIRD has FRR's route: {said}");
    assert!(said.contains("established"), "what the reflector shows: {said}");
    for words in [
        "best: the only path",
        "the best path is the peer's own",
        "ipv4-unicast",
        "lag-bytes-max",
        "a path of a route, and why it is the best one or not",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

const REFLECTOR_OF_VPNS: &str = "\
controllers:
  - name: route-reflector
    as: 64500
    identifier: 10.0.4.1
    listen: [\"0.0.0.0:179\"]
    families: [vpnv4, route-target]
    default-target: false
    peers:
      - {address: 10.0.4.2, passive: true}
      - {address: 10.0.5.2, passive: true}
";

/// A router of GoBGP, which asks for the route targets that its VRFs import.
struct Gobgp {
    namespace: Namespace,
    _daemon: Program,
}

impl Gobgp {
    fn start(lab: &Lab, namespace: Namespace, (own, near): (&str, &str)) -> Gobgp {
        namespace.ip("link set lo up").expect("an interface");
        // Without graceful restart it does not say when it has asked for all.
        let family = |name: &str| {
            format!(
                "[[neighbors.afi-safis]]\n[neighbors.afi-safis.config]\nafi-safi-name = \"{name}\"\n\
                 [neighbors.afi-safis.mp-graceful-restart.config]\nenabled = true\n"
            )
        };
        let text = format!(
            "[global.config]\nas = 64500\nrouter-id = \"{own}\"\n\
             [[neighbors]]\n[neighbors.config]\nneighbor-address = \"{near}\"\npeer-as = 64500\n\
             [neighbors.timers.config]\nconnect-retry = 1\nidle-hold-time-after-reset = 1\n\
             [neighbors.graceful-restart.config]\nenabled = true\nrestart-time = 20\n{}{}",
            family("l3vpn-ipv4-unicast"),
            family("rtc"),
        );
        let file = lab.write(&format!("gobgp-{own}.toml"), &text);
        let mut command = Command::new("gobgpd");
        command.arg("-f").arg(file).arg("--api-hosts").arg("127.0.0.1:50051");
        let daemon = namespace.spawn(command).expect("it starts");
        let gobgp = Gobgp { namespace, _daemon: daemon };
        until("GoBGP to answer", || gobgp.say("neighbor").contains(near).then_some(()));
        gobgp
    }

    fn say(&self, words: &str) -> String {
        let words: Vec<&str> = words.split(' ').collect();
        self.namespace.command("gobgp", &words, None).unwrap_or_default()
    }

    /// Adds a VRF with a route.
    fn add(&self, name: &str, number: u8, prefix: &str) {
        self.say(&format!("vrf add {name} rd 64500:{number} rt both 64500:{number}"));
        self.say(&format!("vrf {name} rib add {prefix}"));
    }

    fn has(&self, prefix: &str) -> bool {
        self.say("global rib -a vpnv4").contains(prefix)
    }
}

/// - `route-reflector`, RFC 4684 sections 3.2 and 6: routers of GoBGP tell their routes, as they
///   hear of what they ask for themselves, and have those that they ask for, as long as they do
#[test]
fn gobgp_has_the_routes_that_it_asks_for() {
    if !netns::is_installed("gobgpd") {
        return println!("skipped: this needs gobgpd");
    }
    let Some(lab) = Lab::bare() else { return };
    let ends = [("gobgp0", "10.0.4.2", "10.0.4.1"), ("gobgp1", "10.0.5.2", "10.0.5.1")];
    let spaces = ends.map(|(near, own, _)| host(&lab, near, &[&format!("{own}/24")], &[]));
    for (near, _, address) in ends {
        lab.namespace.ip(&format!("addr add {address}/24 dev {near}")).expect("an address");
    }
    lab.namespace.ip("link set lo up").expect("an interface");
    let reflector = lab.start(&lab.write("reflector.yaml", REFLECTOR_OF_VPNS));
    let mut spaces = spaces.into_iter().zip(ends);
    let mut start = || {
        let (namespace, (_, own, near)) = spaces.next().expect("there are two");
        Gobgp::start(&lab, namespace, (own, near))
    };
    let (one, other) = (start(), start());
    one.add("red", 1, "203.0.113.0/24");
    one.add("green", 3, "203.0.114.0/24");
    other.add("blue", 2, "198.51.100.0/24");
    // A router tells the routes whose targets come back to it, and it imports what it exports.
    let routes = |family: &str| {
        let all = shown(&lab, &reflector);
        let rows = all["families"].as_array().cloned().unwrap_or_default();
        let row = rows.into_iter().find(|row| row["family"] == family);
        row.and_then(|row| row["routes"].as_u64())
    };
    until("all routes", || (routes("vpnv4") == Some(3)).then_some(()));
    until("all route targets", || (routes("route-target") == Some(3)).then_some(()));
    other.say("vrf add red rd 64500:12 rt both 64500:1");
    until("the routes of red", || other.has("203.0.113.0/24").then_some(()));
    assert!(!other.has("203.0.114.0/24"), "nobody asks for green there");
    assert!(!one.has("198.51.100.0/24"), "nobody asks for blue there");
    one.say("vrf red rib del 203.0.113.0/24");
    until("the route to go", || (!other.has("203.0.113.0/24")).then_some(()));
    one.say("vrf red rib add 203.0.113.0/24");
    until("the route again", || other.has("203.0.113.0/24").then_some(()));
    other.say("vrf del red");
    until("the route to be taken", || (!other.has("203.0.113.0/24")).then_some(()));
    until("what is asked for", || (routes("route-target") == Some(3)).then_some(()));
}

/// A reflector that provides transit to BIRD's AS, or has another part in a relation with it.
fn provider(more: &str) -> String {
    format!(
        "controllers:\n  - name: route-reflector\n    as: 64500\n    identifier: 10.0.4.1\n    \
         listen: [\"0.0.0.0:179\"]\n    peers:\n      \
         - {{address: 10.0.4.2, local: 10.0.4.1, next-hop-self: true, as: 64501, passive: true, \
         {more}}}\n      - {{address: 10.0.5.2}}\n"
    )
}

/// BIRD in an AS of its own, with a part in the relation or without one.
fn customer(role: &str) -> String {
    format!(
        "router id 10.0.4.2;\nprotocol device {{}}\n\
         protocol static {{ ipv4; route 203.0.113.0/24 blackhole; }}\n\
         protocol bgp reflector {{\n  local 10.0.4.2 as 64501;\n  neighbor 10.0.4.1 as 64500;\n  \
         {role}\n  enable extended messages;\n  connect delay time 1;\n  error wait time 1, 2;\n  \
         ipv4 {{ import all; export all; }};\n}}\n"
    )
}

/// - `route-reflector`, RFC 9234 sections 4 and 5: BIRD as a customer is told routes that are
///   marked for customers only; there is no session where parts do not belong together, or where
///   one has to be said and is not
#[test]
fn bird_is_a_customer() {
    let Some(site) = Site::new() else { return };
    let file = site.lab.write("reflector.yaml", &provider("role: provider, role-strict: true"));
    let start = |role: &str| start_bird(&site.lab, &site.bird, &customer(role));
    for role in ["", "local role peer;"] {
        let reflector = site.lab.start(&file);
        let _bird = start(role);
        until("parts that do not belong together to be refused", || {
            let all = shown(&site.lab, &reflector);
            let last = all["peers"][0]["last"].as_str().unwrap_or_default();
            last.contains("Role Mismatch").then_some(())
        });
    }
    let _reflector = site.lab.start(&file);
    let mut frr = Frr::without_daemons();
    frr.run_all(&site.frr, (&[], ""), &[("bgpd", FRR)]);
    let _customer = start("local role customer;");
    let told = until("a route of FRR's at BIRD", || {
        let text = site.route_of_bird("198.51.100.0/24");
        text.contains("BGP.as_path: 64500").then_some(text)
    });
    assert!(told.contains("BGP.otc: 64500"), "{told}");
    until("BIRD's route at FRR", || {
        let route = route_of_frr(&frr, "ipv4", "203.0.113.0/24");
        (route["paths"][0]["aspath"]["string"] == "64501").then_some(())
    });
}

/// - `route-reflector`, RFC 4724 section 4.1: FRR keeps BIRD's routes while the reflector
///   is killed and starts again
#[test]
fn bird_and_frr_keep_routes_over_a_restart() {
    let Some(site) = Site::new() else { return };
    let text = REFLECTOR.replace("    peers:", "    graceful-restart: {absent-s: 15}\n    peers:");
    let file = site.lab.write("reflector.yaml", &text);
    let reflector = site.lab.start(&file);
    let _bird = site.bird();
    let mut frr = Frr::without_daemons();
    frr.run_all(&site.frr, (&[], ""), &[("bgpd", FRR)]);
    let has_bird = || site.route_of_bird("198.51.100.0/24").contains("BGP.originator_id");
    let has_frr = || {
        let route = route_of_frr(&frr, "ipv4", "203.0.113.0/24");
        route["paths"].as_array().is_some_and(|paths| !paths.is_empty())
    };
    until("routes at both", || (has_bird() && has_frr()).then_some(()));

    drop(reflector);
    assert!(has_bird() && has_frr(), "both keep them without a session");
    let reflector = site.lab.start(&file);
    until("both to be back", || {
        // FRR says for two minutes after its start that it restarts itself: the reflector does not
        // wait for it, and BIRD may be without its routes for a moment.
        assert!(has_frr(), "FRR keeps them until it is told again");
        let all = shown(&site.lab, &reflector);
        let walked = |family: &Value| {
            family["groups"][0]["peers"] == 2 && family["groups"][0]["walking"] == 0
        };
        let is_told = all["families"][0]["routes"] == 3 && walked(&all["families"][0]);
        (is_told && all["deferred"].as_array().is_some_and(Vec::is_empty)).then_some(())
    });
    assert!(has_frr(), "and after that");
    until("FRR's routes at BIRD", || has_bird().then_some(()));
}

/// - `route-reflector`: a reload takes new peers of the file and leaves those that go alone, while
///   others keep their sessions
#[test]
fn a_reload_changes_peers_and_leaves_others_alone() {
    let Some(site) = Site::new() else { return };
    let one = REFLECTOR.replace("      - {address: 10.0.5.2}\n", "");
    let file = site.lab.write("reflector.yaml", &one);
    let reflector = site.lab.start(&file);
    let _bird = site.bird();
    let mut frr = Frr::without_daemons();
    frr.run_all(&site.frr, (&[], ""), &[("bgpd", FRR)]);
    let bird = || shown(&site.lab, &reflector)["peers"][0].clone();
    until("BIRD's session", || (bird()["state"] == "established").then_some(()));
    let reload = |text: &str| {
        site.lab.write("reflector.yaml", text);
        let socket = reflector.socket.to_string_lossy();
        let (code, out, error) = site.lab.run(&["set", "reload", "--socket", &socket]);
        assert_eq!(code, 0, "{out}{error}");
    };
    let has_bird = || site.route_of_bird("198.51.100.0/24").contains("BGP.originator_id");
    reload(REFLECTOR);
    until("FRR's route at BIRD", || has_bird().then_some(()));
    reload(&one);
    until("FRR's route to go", || (!has_bird()).then_some(()));
    until("FRR to be told why", || {
        let text = frr.show("show bgp neighbors 10.0.5.1");
        text.contains("Peer De-configured").then_some(())
    });
    reload(REFLECTOR);
    until("FRR's route again", || has_bird().then_some(()));
    let bird = bird();
    assert_eq!((&bird["sessions"], &bird["lost"]), (&Value::from(1), &Value::from(0)), "{bird}");
}
