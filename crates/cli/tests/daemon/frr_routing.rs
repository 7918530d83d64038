//! FRR as the routing suite of a router: unmodified daemons over host interfaces speak OSPF,
//! OSPFv3, IS-IS and BGP with a second FRR and with BIRD through the router's ports, and their
//! routes come into the function by the Forwarding Plane Manager. VRRP runs for the same router
//! beside it.
//!
//! The second FRR is at the far end of two links, so that its routes are groups, and has the same
//! link-local address at both.

mod configurations;

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use daemon::client::Client;
use daemon::protocol::{Ask, View};
use netns::{Child as Program, Namespace};
use serde_json::Value;

use crate::frr::{self, Frr};
use crate::kit::{Child, Lab, until};
use crate::neighbours::host;

use configurations::{BIRD, FAR, NEAR, ROUTER};

struct Site {
    lab: Lab,
    lan: Namespace,
    far: Namespace,
    bird: Namespace,
}

impl Site {
    fn new() -> Option<Site> {
        let lab = lab_with_daemons()?;
        // Link-local addresses are there at once.
        lab.namespace.sysctl("net/ipv6/conf/default/accept_dad", "0").expect("a setting");
        let defaults = ["default via 10.0.1.1", "default via 2001:db8:1::1"];
        let lan = host(&lab, "lan", &["10.0.1.2/24", "2001:db8:1::2/64"], &defaults);
        let bird = host(&lab, "peer", &["10.0.4.2/24", "2001:db8:4::2/64"], &[]);
        let far = Namespace::new().expect("it may be made");
        for (near, end, address) in [("core1", "e1", "10.0.2.2/24"), ("core2", "e2", "10.0.3.2/24")]
        {
            lab.namespace.veth(near, &far, end).expect("a link");
            for command in [
                format!("link set {end} addrgenmode none"),
                format!("-6 addr flush dev {end}"),
                format!("addr add {address} dev {end}"),
                format!("addr add fe80::1/64 dev {end} nodad"),
            ] {
                far.ip(&command).expect("an interface");
            }
            far.wait_until_up(end, PATIENCE).expect("up");
        }
        for near in ["lan", "core1", "core2", "peer"] {
            // The kernel has the port's own interface beside the host's, and would answer at it.
            lab.namespace.ip(&format!("link set {near} arp off")).expect("an interface");
        }
        for (namespace, name, addresses) in [
            (&far, "ospf", ["203.0.113.1/32", "2001:db8:113::1/128"]),
            (&far, "isis", ["203.0.114.1/32", "2001:db8:114::1/128"]),
            (&far, "bgp", ["203.0.115.1/32", "2001:db8:115::1/128"]),
            (&far, "bgp2", ["203.0.118.1/32", "2001:db8:118::1/128"]),
            (&bird, "ospf", ["203.0.116.1/32", "2001:db8:116::1/128"]),
            (&bird, "bgp", ["203.0.117.1/32", "2001:db8:117::1/128"]),
        ] {
            let pair = format!("link add d-{name} type veth peer name x-{name}");
            namespace.ip(&pair).expect("an interface");
            for end in ["d", "x"] {
                namespace.ip(&format!("link set {end}-{name} up")).expect("an interface");
            }
            for address in addresses {
                let command = format!("addr add {address} dev d-{name}");
                namespace.ip(&command).expect("an address");
            }
        }
        Some(Site { lab, lan, far, bird })
    }

    fn router(&self) -> Child {
        let state = self.lab.folder.path().join("router.state");
        let text = ROUTER.replace("STATE", &state.to_string_lossy());
        self.lab.start(&self.lab.write("router.yaml", &text))
    }

    /// FRR of the router, over its host interfaces, with zebra and these daemons.
    fn near_frr(&self, frr: &mut Frr, daemons: &[(&str, &str)]) {
        let fpm = "fpm address 127.0.0.1 port 2620\n";
        frr.run_all(&self.lab.namespace, (&["-M", "dplane_fpm_nl"], fpm), daemons);
    }

    fn bird(&self) -> Program {
        start_bird(&self.lab, &self.bird, BIRD)
    }

    /// Whether an address answers to the host of the LAN.
    fn answers(&self, address: &str) -> bool {
        self.lan.command("ping", &["-n", "-c", "1", "-W", "1", address], None).is_ok()
    }

    /// The virtual router: its state and its priority.
    fn virtual_router(&self, router: &Child) -> (String, u64) {
        let protocols = ask(router, Ask::Show(View::Protocols));
        let one = &protocols["protocols"]["vrrp"]["controller"]["routers"][0];
        let state = one["state"].as_str().unwrap_or_default().to_owned();
        (state, one["priority"].as_u64().unwrap_or_default())
    }
}

/// A bare lab where FRR and BIRD can be run; none, and a note, where they cannot.
pub fn lab_with_daemons() -> Option<Lab> {
    if !frr::is_there() {
        return None;
    }
    if !netns::is_installed("bird") {
        println!("skipped: this needs bird");
        return None;
    }
    Lab::bare()
}

/// Starts BIRD with a configuration; its control socket is `bird` in the lab's folder.
pub fn start_bird(lab: &Lab, namespace: &Namespace, configuration: &str) -> Program {
    let file = lab.write("bird.conf", configuration);
    let mut command = Command::new("bird");
    command.arg("-f").arg("-c").arg(file).arg("-s").arg(lab.folder.path().join("bird"));
    namespace.spawn(command).expect("it starts")
}

/// What a daemon answers.
fn ask(router: &Child, what: Ask) -> Value {
    let mut client = Client::connect(&router.socket).expect("it is there");
    client.ask(what).expect("an answer")
}

/// The entries of a table of the router.
fn rows(router: &Child, table: &str) -> Vec<Value> {
    let page = ask(
        router,
        Ask::Table {
            name: table.to_owned(),
            worker: None,
            from: 0,
            limit: 1000,
            of: None,
            filters: Default::default(),
        },
    );
    page["entries"].as_array().expect("a list").clone()
}

/// To what a route of the function leads: the port and the address of each next hop; a dash without
/// a route.
fn to(router: &Child, prefix: &str) -> String {
    let routes = rows(router, "routes");
    let Some(route) = routes.iter().find(|route| route["prefix"] == prefix) else {
        return "-".to_owned();
    };
    let number = route["next-hop"].as_u64().expect("a number");
    let members = rows(router, "groups");
    let is_its = |member: &&Value| member["group"].as_u64() == number.checked_sub(GROUPS);
    let members = members.iter().filter(is_its).map(|member| member["next-hop"].as_u64());
    let numbers: Vec<_> = members.chain([Some(number)]).collect();
    let next_hops = rows(router, "next-hops");
    let is_one = |hop: &&Value| numbers.contains(&hop["number"].as_u64());
    let text = |hop: &Value| {
        let address = if hop["ip"].is_null() { &hop["ipv6"] } else { &hop["ip"] };
        let [port, address] = [&hop["port"], address].map(|one| one.as_str().expect("text"));
        format!("{port} {address}")
    };
    let mut all: Vec<_> = next_hops.iter().filter(is_one).map(text).collect();
    all.sort();
    all.join(", ")
}

/// Waits until a route leads there.
fn leads_to(router: &Child, prefix: &str, expected: &str) {
    let begun = Instant::now();
    let mut last = String::new();
    while last != expected {
        assert!(begun.elapsed() < PATIENCE, "{prefix} leads to {last} and not to {expected}");
        thread::park_timeout(Duration::from_millis(50));
        last = to(router, prefix);
    }
}

fn is_down(router: &Child) -> bool {
    let alarms = ask(router, Ask::Show(View::Alarms));
    alarms["alarms"]["raised"].to_string().contains("fpm-down")
}

#[test]
fn frr_routes_for_the_router_and_survives_with_it() {
    let Some(site) = Site::new() else { return };
    let router = site.router();
    let (mut near, mut far) = (Frr::without_daemons(), Frr::without_daemons());
    let _bird = site.bird();
    far.run_all(&site.far, (&[], ""), &FAR);
    site.near_frr(&mut near, &NEAR);

    let [both, both_ipv6] = ["core1 10.0.2.2, core2 10.0.3.2", "core1 fe80::1, core2 fe80::1"];
    let (bird, bird_ipv6) = ("peer 10.0.4.2", format!("peer {}", link_local(&site.bird)));
    for (prefix, to) in [
        ("203.0.113.1/32", both),
        ("2001:db8:113::1/128", both_ipv6),
        ("203.0.114.1/32", both),
        ("2001:db8:114::1/128", both_ipv6),
        ("203.0.115.1/32", "core1 10.0.2.2"),
        ("2001:db8:115::1/128", "core2 fe80::1"),
        ("203.0.118.1/32", "core2 fe80::1"),
        ("203.0.116.1/32", bird),
        ("2001:db8:116::1/128", &bird_ipv6),
        ("203.0.117.1/32", bird),
        ("2001:db8:117::1/128", &bird_ipv6),
    ] {
        leads_to(&router, prefix, to);
        let address = prefix.split('/').next().expect("an address");
        until(&format!("an answer of {address}"), || site.answers(address).then_some(()));
    }
    let protocols = ask(&router, Ask::Show(View::Protocols));
    assert!(protocols["protocols"]["frr"]["controller"].is_object(), "{protocols}");

    // The virtual address is there beside the routes, and with another priority both go on.
    until("the gateway", || site.answers(GATEWAY).then_some(()));
    assert_eq!(site.virtual_router(&router), ("active".to_owned(), 100));
    let file = site.lab.folder.path().join("router.yaml");
    let text = std::fs::read_to_string(&file).expect("it was written");
    let text = text.replace("vrid: 7,", "vrid: 7, priority: 150,");
    std::fs::write(&file, text).expect("writable");
    let (_, reloaded, _) = site.lab.run(&["set", "reload", "--json"]);
    let reloaded: Value = serde_json::from_str(&reloaded).expect("JSON");
    assert_eq!(reloaded["controllers"], serde_json::json!(["vrrp"]), "{reloaded}");
    until("the priority", || {
        (site.virtual_router(&router) == ("active".into(), 150)).then_some(())
    });
    assert_eq!(to(&router, "203.0.113.1/32"), both);
    assert!(site.answers(GATEWAY));

    // A change of the far router follows.
    site.far.ip("addr add 203.0.119.1/32 dev d-ospf").expect("an address");
    far.configure(&["router ospf", "network 203.0.119.0/24 area 0"]);
    leads_to(&router, "203.0.119.1/32", both);
    site.far.ip("addr del 203.0.119.1/32 dev d-ospf").expect("an address");
    leads_to(&router, "203.0.119.1/32", "-");

    // FRR is killed, and comes back without BGP: what it told before stays, and stays when it has
    // told it again, and what it does not tell again goes.
    near.kill("zebra");
    NEAR.iter().for_each(|(name, _)| near.kill(name));
    until("the alarm", || is_down(&router).then_some(()));
    assert_eq!(to(&router, "203.0.117.1/32"), bird);
    site.near_frr(&mut near, &NEAR[..1]);
    until("the end of the alarm", || (!is_down(&router)).then_some(()));
    assert_eq!(to(&router, "203.0.113.1/32"), both, "what was told before");
    until("an answer again", || site.answers("203.0.113.1").then_some(()));
    leads_to(&router, "203.0.117.1/32", "-");
    assert_eq!(to(&router, "203.0.113.1/32"), both);

    // The router is killed while FRR is away: it forwards again from its journal.
    near.kill("zebra");
    near.kill("ospfd");
    drop(router);
    let router = site.router();
    assert_eq!(to(&router, "203.0.113.1/32"), both, "before FRR has spoken");
    site.near_frr(&mut near, &NEAR[..1]);
    until("an answer after all", || site.answers("203.0.113.1").then_some(()));
    until("the gateway after all", || site.answers(GATEWAY).then_some(()));
    drop(router);
}

/// The link-local address of a host.
fn link_local(host: &Namespace) -> String {
    let shown = host.ip("-6 -oneline addr show dev eth scope link").expect("it tells");
    let address = shown.split_whitespace().find(|word| word.starts_with("fe80:")).expect("one");
    address.split('/').next().expect("an address").to_owned()
}

/// How long a route is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// The virtual address.
const GATEWAY: &str = "10.0.1.254";

/// The number of the first group among the next hops.
const GROUPS: u64 = 1_000_000;
