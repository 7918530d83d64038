//! Several paths of a route (RFC 7911) between a route reflector and BIRD, FRR and GoBGP, each in a
//! namespace of its own: told with their identifiers, and withdrawn one by one.

use std::process::Command;

use netns::{Child as Program, Namespace};
use serde_json::Value;

use crate::frr::Frr;
use crate::frr_routing::{lab_with_daemons, start_bird};
use crate::kit::{Child, Lab, until, until_or};
use crate::neighbours::host;

const REFLECTOR: &str = "\
controllers:
  - name: route-reflector
    as: 64500
    identifier: 10.0.4.1
    listen: [\"0.0.0.0:179\"]
    families: [ipv4-unicast]
    peers:
      - {address: 10.0.4.2, passive: true, paths-to-peer: [{paths-max: 64}]}
      - {address: 10.0.5.2, passive: true, paths-to-peer: [{paths-max: 64}]}
      - {address: 10.0.6.2, passive: true}
      - {address: 10.0.7.2, passive: true, paths-to-peer: [{families: [ipv4-unicast]}]}
";

/// Two routes to one prefix, which are told as two paths.
const BIRD: &str = "\
router id 10.0.4.2;
protocol device {}
protocol static one { ipv4; route 203.0.113.0/24 blackhole { bgp_med = 1; }; }
protocol static two { ipv4; route 203.0.113.0/24 blackhole { bgp_med = 2; }; }
protocol bgp reflector {
  local 10.0.4.2 as 64500;
  neighbor 10.0.4.1 as 64500;
  connect delay time 1;
  error wait time 1, 2;
  ipv4 { import all; export all; add paths on; };
}
";

fn frr(own: &str, near: &str) -> String {
    format!(
        "router bgp 64500\n bgp router-id {own}\n no bgp network import-check\n \
         neighbor {near} remote-as 64500\n neighbor {near} timers connect 1\n \
         address-family ipv4 unicast\n  network 198.51.100.0/24\n  neighbor {near} activate\n  \
         neighbor {near} addpath-tx-all-paths\n exit-address-family\n!\n"
    )
}

const GOBGP: &str = "\
[global.config]
as = 64500
router-id = \"10.0.7.2\"
[[neighbors]]
[neighbors.config]
neighbor-address = \"10.0.7.1\"
peer-as = 64500
[neighbors.timers.config]
connect-retry = 1
idle-hold-time-after-reset = 1
[[neighbors.afi-safis]]
[neighbors.afi-safis.config]
afi-safi-name = \"ipv4-unicast\"
[neighbors.afi-safis.add-paths.config]
receive = true
";

struct Site {
    lab: Lab,
    bird: Namespace,
    gobgp: Namespace,
    reflector: Child,
}

impl Site {
    /// What BIRD does.
    fn bird(&self, words: &[&str]) -> String {
        let socket = self.lab.folder.path().join("bird");
        let socket = socket.to_string_lossy();
        self.bird.command("birdc", &[&["-s", &socket], words].concat(), None).unwrap_or_default()
    }

    /// The next hops by which BIRD knows FRR's prefix.
    fn known_to_bird(&self) -> Vec<String> {
        let text = self.bird(&["show", "route", "all", "for", FRRS]);
        let hops = text.lines().filter_map(|line| line.trim().strip_prefix("BGP.next_hop: "));
        let mut hops: Vec<String> = hops.map(str::to_owned).collect();
        hops.sort();
        hops
    }

    /// The same of GoBGP.
    fn known_to_gobgp(&self) -> Vec<&'static str> {
        let words = ["global", "rib", FRRS];
        let text = self.gobgp.command("gobgp", &words, None).unwrap_or_default();
        ["10.0.5.2", "10.0.6.2"].into_iter().filter(|hop| text.contains(hop)).collect()
    }

    /// What the reflector tells a peer, by the identifiers of paths.
    fn advertised(&self, peer: &str) -> Vec<(Value, Value)> {
        let socket = self.reflector.socket.to_string_lossy();
        let peer = format!("peer={peer}");
        let words = ["show", "table", "advertised", &peer, "--json", "--socket", &socket];
        let (_, text, _) = self.lab.run(&words);
        let rows: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
        rows.iter().map(|row| (row["path-identifier"].clone(), row["from"].clone())).collect()
    }

    fn wait_for(&self, expected: &[&str]) {
        let what = format!("BIRD to know {expected:?}");
        until_or(
            &what,
            || (self.known_to_bird() == expected).then_some(()),
            || format!("it knows {:?}", self.known_to_bird()),
        );
    }
}

/// The MED of the paths by which FRR knows BIRD's prefix.
fn known_to_frr(frr: &Frr) -> Vec<u64> {
    let text = frr.show(&format!("show bgp ipv4 unicast {BIRDS} json"));
    let route: Value = serde_json::from_str(&text).unwrap_or_default();
    let paths = route["paths"].as_array().cloned().unwrap_or_default();
    let mut meds: Vec<u64> = paths.iter().filter_map(|path| path["metric"].as_u64()).collect();
    meds.sort_unstable();
    meds
}

fn start_gobgp(lab: &Lab, namespace: &Namespace) -> Program {
    namespace.ip("link set lo up").expect("an interface");
    let mut command = Command::new("gobgpd");
    command.arg("-f").arg(lab.write("gobgp.toml", GOBGP)).arg("--api-hosts").arg("127.0.0.1:50051");
    namespace.spawn(command).expect("it starts")
}

/// - `route-reflector`, RFC 7911 sections 2 to 5: BIRD and GoBGP have both paths of a prefix that
///   two routers of FRR tell, and lose each as it is withdrawn or its session ends; FRR has both of
///   BIRD's, which tells several itself, and of its own prefix the other router's
#[test]
fn bird_frr_and_gobgp_have_several_paths() {
    let Some(lab) = lab_with_daemons() else { return };
    if !netns::is_installed("gobgpd") {
        return println!("skipped: this needs gobgpd");
    }
    let place = |name: &str, net: u8| {
        let namespace = host(&lab, name, &[&format!("10.0.{net}.2/24")], &[]);
        lab.namespace.ip(&format!("addr add 10.0.{net}.1/24 dev {name}")).expect("an address");
        namespace
    };
    let (bird, gobgp) = (place("bird0", 4), place("gobgp0", 7));
    let spaces = [("frr0", 5), ("frr1", 6)].map(|(name, net)| (place(name, net), net));
    lab.namespace.ip("link set lo up").expect("an interface");
    let reflector = lab.start(&lab.write("reflector.yaml", REFLECTOR));
    let site = Site { lab, bird, gobgp, reflector };
    let _bird = start_bird(&site.lab, &site.bird, BIRD);
    let _gobgp = start_gobgp(&site.lab, &site.gobgp);
    let mut routers = spaces.iter().map(|(space, net)| {
        let mut router = Frr::without_daemons();
        let (own, near) = (format!("10.0.{net}.2"), format!("10.0.{net}.1"));
        router.run_all(space, (&[], ""), &[("bgpd", &frr(&own, &near))]);
        router
    });
    let (one, mut other) = (routers.next().expect("one"), routers.next().expect("another"));

    let both = ["10.0.5.2", "10.0.6.2"];
    site.wait_for(&both);
    until("GoBGP to have both", || (site.known_to_gobgp() == both).then_some(()));
    until("FRR to have both of BIRD's", || (known_to_frr(&one) == [1, 2]).then_some(()));
    until("the best one of BIRD's", || (known_to_frr(&other) == [1]).then_some(()));
    let told = site.advertised("10.0.4.2");
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].0 != told[1].0 && told.iter().all(|(path, _)| path.is_u64()), "{told:?}");

    // What FRR has beside its own is the other one's.
    let hops = || {
        let text = one.show(&format!("show bgp ipv4 unicast {FRRS} json"));
        let route: Value = serde_json::from_str(&text).unwrap_or_default();
        let paths = route["paths"].as_array().cloned().unwrap_or_default();
        let told = paths.into_iter().filter(|path| path["originatorId"].is_string());
        told.map(|path| path["nexthops"][0]["ip"].clone()).collect::<Vec<_>>()
    };
    until("the other router's path", || (hops() == ["10.0.6.2"]).then_some(()));

    let network = |does: &str| {
        let line = format!("{does}network {FRRS}");
        one.configure(&["router bgp 64500", "address-family ipv4 unicast", &line]);
    };
    network("no ");
    site.wait_for(&both[1..]);
    network("");
    site.wait_for(&both);
    other.kill("bgpd");
    site.wait_for(&both[..1]);
    until("GoBGP to have one", || (site.known_to_gobgp() == both[..1]).then_some(()));
    network("no ");
    site.wait_for(&[]);
    until("GoBGP to have none", || site.known_to_gobgp().is_empty().then_some(()));

    site.bird(&["disable", "one"]);
    until("FRR to have one of BIRD's", || (known_to_frr(&one) == [2]).then_some(()));
    site.bird(&["enable", "one"]);
    until("FRR to have both again", || (known_to_frr(&one) == [1, 2]).then_some(()));
}

/// The prefix that routers of FRR tell.
const FRRS: &str = "198.51.100.0/24";

/// The prefix of which BIRD tells two paths.
const BIRDS: &str = "203.0.113.0/24";
