//! A router and keepalived on one LAN, with a host whose gateway is the address that they share.
//!
//! The time of losses is printed and not judged: `cargo test -p plumbline --test daemon vrrp --
//! --nocapture` tells it.

use std::io::Read;
use std::process::Command;

use netns::Namespace;
use serde_json::Value;
use testkit::tshark::{self, Dissected};

use crate::keepalived::{self, Keepalived, clear, has, instance};
use crate::kit::{Lab, until};
use crate::neighbours::host;

const ROUTER: &str = "function:
  name: l3-router
  resolve: true
  ping: true
  ports:
    - {name: lan, mac: 02:00:00:00:00:01, ip: 10.0.1.1/24, host-interface: h-lan}
    - {name: core, mac: 02:00:00:00:00:02, ip: 10.0.2.1/24}
  next-hops: [{port: core, ip: 10.0.2.2}]
  routes: [{prefix: 203.0.113.0/24, next-hop: 0}]
ports:
  lan: {type: af-packet, interface: lan}
  core: {type: af-packet, interface: core}
controller:
  name: vrrp
  routers:
    - {interface: h-lan, vrid: 7, addresses: [10.0.1.254], advert-interval-ms: 100,
       accept: true, checksum: pseudo-header}
workers: {idle: sleep}
";

/// The address that the routers share, and our router's Ethernet address of it.
const GATEWAY: &str = "10.0.1.254";
const VIRTUAL_MAC: &str = "00:00:5e:00:01:07";

/// What the host pings.
const FAR: &str = "203.0.113.1";

/// Pings while the active router is killed, and the time from one to the next.
const PINGS: u32 = 300;
const PACE_MS: u32 = 10;

struct Site {
    lab: Lab,
    /// The other router.
    other: Namespace,
    lan: Namespace,
    _switch: Namespace,
    _far: Namespace,
}

impl Site {
    fn new() -> Option<Site> {
        if !keepalived::is_there() || !netns::is_installed("ping") {
            return None;
        }
        let lab = Lab::bare()?;
        let far = host(&lab, "core", &["10.0.2.2/24"], &["10.0.1.0/24 via 10.0.2.1"]);
        far.ip("link set lo up").expect("an interface");
        far.ip(&format!("addr add {FAR}/32 dev lo")).expect("an address");
        let namespace = || Namespace::new().expect("it may be made");
        let (switch, other, lan) = (namespace(), namespace(), namespace());
        switch.ip("link add name bridge0 type bridge mcast_snooping 0").expect("a bridge");
        switch.ip("link set bridge0 up").expect("an interface");
        let ends = [(&lab.namespace, "lan"), (&other, "eth0"), (&lan, "eth")];
        for (number, (end, name)) in ends.into_iter().enumerate() {
            let near = format!("p{number}");
            switch.veth(&near, end, name).expect("a link");
            switch.ip(&format!("link set {near} master bridge0")).expect("a port of the bridge");
        }
        other.veth("eth1", &far, "eth1").expect("a link");
        for (end, address, interface) in [
            (&other, "10.0.1.3/24", "eth0"),
            (&other, "10.0.3.1/24", "eth1"),
            (&far, "10.0.3.2/24", "eth1"),
            (&lan, "10.0.1.2/24", "eth"),
        ] {
            end.ip(&format!("addr add {address} dev {interface}")).expect("an address");
        }
        other.ip(&format!("route add {FAR}/32 via 10.0.3.2")).expect("a route");
        other.sysctl("net/ipv4/ip_forward", "1").expect("a setting");
        lan.ip(&format!("route add default via {GATEWAY}")).expect("a route");
        for end in [&other, &far] {
            // The way back is another one.
            for key in ["all", "default", "eth1"] {
                let key = format!("net/ipv4/conf/{key}/rp_filter");
                end.sysctl(&key, "0").expect("a setting");
            }
        }
        for near in ["lan", "core"] {
            // The kernel has the port's own interface beside the host's, and would answer at it.
            lab.namespace.ip(&format!("link set {near} arp off")).expect("an interface");
        }
        Some(Site { lab, other, lan, _switch: switch, _far: far })
    }

    /// The state of our virtual router.
    fn state(&self) -> Option<String> {
        let (_, shown, _) = self.lab.run(&["show", "protocols", "--json"]);
        let shown: Value = serde_json::from_str(&shown).ok()?;
        let state = &shown["protocols"]["vrrp"]["controller"]["routers"][0]["state"];
        Some(state.as_str()?.to_owned())
    }

    fn is_in(&self, state: &str) -> Option<()> {
        (self.state()? == state).then_some(())
    }

    fn ping(&self, to: &str) -> Option<String> {
        self.lan.command("ping", &["-n", "-c", "1", "-W", "1", to], None).ok()
    }

    /// Whose Ethernet address the host finds when it asks anew for its gateway.
    fn gateway(&self) -> Option<String> {
        self.lan.ip("neigh flush dev eth").expect("it is there");
        self.ping(FAR)?;
        let shown = self.lan.ip(&format!("neigh show {GATEWAY} dev eth")).expect("it tells");
        let mut words = shown.split_whitespace();
        words.find(|word| *word == "lladdr")?;
        Some(words.next()?.to_owned())
    }
}

/// The number before a word of what ping says at its end.
fn number_before(text: &str, what: &str) -> Option<u32> {
    text.split(what).next()?.trim_end().rsplit([' ', '\n']).next()?.parse().ok()
}

/// What an operator sees of keepalived while it is the active router.
fn shows_and_traces_the_other_router(lab: &Lab) {
    let row = ["vrrp", "h-lan", "10.0.1.3", "active"];
    let neighbours = until("keepalived among the neighbours", || {
        let (_, shown, _) = lab.run(&["show", "neighbours"]);
        let is_row = |line: &str| line.split_whitespace().take(4).eq(row);
        shown.lines().any(is_row).then_some(shown)
    });
    assert!(neighbours.contains("virtual router 7: this router is backup"), "{neighbours}");
    assert!(neighbours.contains("arp"), "{neighbours}");
    let (_, timers, _) = lab.run(&["show", "timers", "--json"]);
    let timers: Value = serde_json::from_str(&timers).expect("JSON");
    assert_eq!(timers["timers"][0]["host"], "vrrp", "{timers}");
    assert!(timers["timers"][0]["next_ms"].as_u64() < Some(1000), "{timers}");

    let (code, _, told) =
        lab.run(&["capture", "--out", "vrrp.pcapng", "--protocol", "vrrp", "--count", "3"]);
    assert!(code == 0 && told.contains(" 0 missed"), "{code} {told}");
    let file = lab.folder.path().join("vrrp.pcapng");
    let fields = ["ip.src", "vrrp.virt_rtr_id", "vrrp.prio", "vrrp.ip_addr"];
    let Some(read) = tshark::read(&file, &[], &fields) else { return };
    let lines: Vec<String> = read.iter().map(Dissected::line).collect();
    assert_eq!(lines, vec!["10.0.1.3|7|200|10.0.1.254"; 3]);
}

#[test]
fn a_router_and_keepalived_share_the_gateway_of_a_host() {
    let Some(site) = Site::new() else { return };
    let _router = site.lab.start(&site.lab.write("router.yaml", ROUTER));
    until("our router to be active", || site.is_in("active"));
    until("an answer of the gateway itself", || site.ping(GATEWAY));
    let ours = until("an answer through our router", || site.gateway());
    assert_eq!(ours, VIRTUAL_MAC);

    // keepalived has the higher priority.
    let configuration = instance("lan", 200, "", &[GATEWAY]);
    let other = Keepalived::start(&site.other, &configuration);
    let is_theirs = || {
        let mac = site.gateway()?;
        (has(&site.other, GATEWAY) && mac != VIRTUAL_MAC).then_some(mac)
    };
    until("our router to be backup", || site.is_in("backup"));
    let theirs = until("keepalived to be the gateway", is_theirs);
    shows_and_traces_the_other_router(&site.lab);
    assert_eq!(site.other.attribute("eth0", "address").expect("it is there"), theirs);

    // It is killed while the host pings, and its kernel forwards no more.
    let mut command = Command::new("ping");
    let (count, pace) = (PINGS.to_string(), format!("{}.{:03}", 0, PACE_MS));
    command.args(["-n", "-q", "-c", &count, "-i", &pace, "-W", "1", FAR]);
    let mut pings = site.lan.spawn(command).expect("it starts");
    let (out, _) = pings.output();
    other.kill();
    site.other.ip("link set eth0 down").expect("it is there");
    clear(&site.other, &[GATEWAY]);
    let mut said = String::new();
    out.expect("piped").read_to_string(&mut said).expect("it tells");
    let sent = number_before(&said, "packets transmitted");
    let back = number_before(&said, "received");
    let lost = sent.zip(back).map(|(sent, back)| (sent - back) * PACE_MS);
    println!("keepalived killed: losses for {lost:?} ms\n{said}");
    assert!(back > Some(0), "{said}");
    until("our router to be active again", || site.is_in("active"));
    until("the host to have found it", || (site.gateway()? == VIRTUAL_MAC).then_some(()));

    // It comes back and takes over; nobody but it answers for the address.
    site.other.ip("link set eth0 up").expect("it is there");
    let other = Keepalived::start(&site.other, &configuration);
    until("our router to be backup again", || site.is_in("backup"));
    until("keepalived to be the gateway again", is_theirs);
    for _ in 0..5 {
        let gateway = until("an answer", || site.gateway());
        assert_eq!(gateway, theirs);
    }
    drop(other);
    let (_, alarms, _) = site.lab.run(&["show", "alarms", "--json"]);
    let alarms: Value = serde_json::from_str(&alarms).expect("JSON");
    // That this machine is slow is another matter.
    let raised = alarms["alarms"]["raised"].as_array().into_iter().flatten();
    assert_eq!(raised.filter(|alarm| alarm["cause"] != "host-lags").count(), 0, "{alarms}");
}
