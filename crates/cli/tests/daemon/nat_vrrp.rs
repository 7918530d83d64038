//! Two NATs that share an address inside and one outside, and pools: the active one alone answers
//! and translates, and the other one takes over when it is killed.
//!
//! The time of losses is printed and not judged: `cargo test -p plumbline --test daemon nat_vrrp --
//! --nocapture` tells it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use netns::Namespace;
use serde_json::Value;

use crate::kit::{Child, Lab, until};
use crate::nat_network::{PATIENCE, tally};

/// The gateway of subscribers, and the address to which the Internet sends what is for pools.
const INSIDE: &str = "100.64.0.1";
const OUTSIDE: &str = "192.0.2.1";

const SERVER: [u8; 4] = [192, 0, 2, 9];

/// An address of the pool.
const SHARED: &str = "198.18.0.3";

/// The virtual MAC address outside.
const VIRTUAL_MAC: &str = "00:00:5e:00:01:08";

struct Site {
    lab: Lab,
    subscribers: Namespace,
    internet: Namespace,
    /// Where the NATs are.
    nodes: [Namespace; 2],
    _switches: [Namespace; 2],
}

impl Site {
    fn new() -> Option<Site> {
        if !netns::is_installed("ping") || !netns::is_installed("ethtool") {
            println!("skipped: needs ping and ethtool");
            return None;
        }
        let lab = Lab::bare()?;
        let make = || Namespace::new().expect("it may be made");
        let (subscribers, internet, nodes) = (make(), make(), [make(), make()]);
        let switches = [(&subscribers, "lan"), (&internet, "wan")].map(|(host, side)| {
            let switch = make();
            switch.ip("link add name bridge0 type bridge mcast_snooping 0").expect("a bridge");
            switch.ip("link set bridge0 up").expect("an interface");
            let ends = [(host, "eth"), (&nodes[0], side), (&nodes[1], side)];
            for (number, (end, name)) in ends.into_iter().enumerate() {
                let near = format!("p{number}");
                switch.veth(&near, end, name).expect("a link");
                switch.ip(&format!("link set {near} master bridge0")).expect("a port");
                // What leaves to another program must have its checksums.
                let off = ["-K", name, "tx", "off", "gso", "off", "tso", "off", "gro", "off"];
                end.command("ethtool", &off, None).expect("features of veth");
            }
            switch
        });
        for node in &nodes {
            // The kernel has the ports' own interfaces beside the host's, and would answer there.
            for near in ["lan", "wan"] {
                node.ip(&format!("link set {near} arp off")).expect("an interface");
            }
        }
        for (host, address, route) in [
            (&subscribers, "100.64.0.9/24", format!("default via {INSIDE}")),
            (&internet, "192.0.2.9/24", "198.18.0.0/28 dev eth".to_owned()),
        ] {
            host.ip(&format!("addr add {address} dev eth")).expect("an address");
            host.wait_until_up("eth", PATIENCE).expect("up");
            host.ip(&format!("route add {route}")).expect("a route");
        }
        Some(Site { lab, subscribers, internet, nodes, _switches: switches })
    }

    fn start(&self, number: usize, priority: u8) -> Child {
        let last = 2 + number;
        let text = format!(
            "function:
  name: cgnat
  sessions: 1000
  inside-mac: \"02:6e:61:74:0{number}:01\"
  outside-mac: \"02:6e:61:74:0{number}:02\"
  inside-ip: 100.64.0.{last}
  outside-ip: 192.0.2.{last}
  inside-next-hop: 100.64.0.9
  outside-next-hop: 192.0.2.9
  inside-host-interface: h-in
  outside-host-interface: h-out
  pools: [198.18.0.0/28]
  pools-answer: active
ports:
  inside: {{type: af-packet, interface: lan}}
  outside: {{type: af-packet, interface: wan}}
controller:
  name: vrrp
  routers:
    - {{interface: h-in, vrid: 7, addresses: [{INSIDE}], group: nat, accept: true,
       priority: {priority}, advert-interval-ms: 50}}
    - {{interface: h-out, vrid: 8, addresses: [{OUTSIDE}], group: nat,
       priority: {priority}, advert-interval-ms: 50}}
workers: {{idle: sleep}}
"
        );
        let file = self.lab.write(&format!("nat{number}.yaml"), &text);
        self.lab.start_in(&self.nodes[number], &file)
    }

    /// The states of both virtual routers of a NAT.
    fn states(&self, number: usize) -> Option<[String; 2]> {
        let name = format!("nat{number}");
        let (_, shown, _) = self.lab.run(&["show", "protocols", "--json", "--name", &name]);
        let shown: Value = serde_json::from_str(&shown).ok()?;
        let routers = &shown["protocols"]["vrrp"]["controller"]["routers"];
        let state = |at: usize| Some(routers[at]["state"].as_str()?.to_owned());
        Some([state(0)?, state(1)?])
    }

    fn is_in(&self, number: usize, state: &str) -> Option<()> {
        self.states(number)?.iter().all(|one| one == state).then_some(())
    }

    /// How many questions for addresses a NAT has answered.
    fn answered(&self, number: usize) -> u64 {
        let name = format!("nat{number}");
        let (_, shown, _) = self.lab.run(&["show", "--json", "--name", &name]);
        tally(&serde_json::from_str(&shown).expect("JSON"), "arp-answered")
    }

    /// Whose MAC address a host finds that asks anew for an address of the pool.
    fn shared_mac(&self) -> Option<String> {
        self.internet.ip("neigh flush dev eth").expect("it is there");
        let _ = self.internet.command("ping", &["-n", "-c", "1", "-W", "1", SHARED], None);
        let shown = self.internet.ip(&format!("neigh show {SHARED} dev eth")).expect("it tells");
        let mut words = shown.split_whitespace();
        words.find(|word| *word == "lladdr")?;
        Some(words.next()?.to_owned())
    }

    fn ping(&self, to: &str) -> Option<String> {
        self.subscribers.command("ping", &["-n", "-c", "1", "-W", "1", to], None).ok()
    }
}

/// A new connection, over which both say something.
fn talk(site: &Site, listener: &TcpListener) -> Option<SocketAddr> {
    let address: SocketAddr = (SERVER, 8080).into();
    let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(500));
    let mut client = site.subscribers.run(connect).expect("the namespace").ok()?;
    let (mut server, from) = listener.accept().expect("a client");
    for end in [&client, &server] {
        end.set_read_timeout(Some(PATIENCE)).expect("a socket");
    }
    for (near, far) in [(&mut client, &mut server)] {
        near.write_all(b"question").expect("a connection");
        let mut heard = [0; 8];
        far.read_exact(&mut heard).expect("what was said");
        far.write_all(&heard).expect("a connection");
        near.read_exact(&mut heard).expect("what was said");
        assert_eq!(&heard, b"question");
    }
    Some(from)
}

#[test]
fn two_nats_share_their_addresses_and_one_takes_over_from_the_other() {
    let Some(site) = Site::new() else { return };
    let address: SocketAddr = (SERVER, 8080).into();
    let listener = site.internet.run(|| TcpListener::bind(address)).expect("the namespace");
    let listener = listener.expect("its address is there");

    let first = site.start(0, 200);
    until("the first NAT to be active", || site.is_in(0, "active"));
    let _second = site.start(1, 100);
    until("the second NAT to be backup", || site.is_in(1, "backup"));
    until("an answer of the gateway itself", || site.ping(INSIDE));
    // Their own addresses are the hosts'.
    for own in ["100.64.0.2", "100.64.0.3"] {
        until("an answer of a NAT's own address", || site.ping(own));
    }
    let from = until("a connection", || talk(&site, &listener));
    assert!(from.ip().to_string().starts_with("198.18.0."), "{from}");
    assert_eq!(site.shared_mac().as_deref(), Some(VIRTUAL_MAC));
    assert_eq!((site.answered(0) > 0, site.answered(1)), (true, 0), "one of them answers");
    assert_eq!(site.states(1), Some(["backup".into(), "backup".into()]));

    // SIGKILL: it says goodbye to nobody.
    let killed = Instant::now();
    drop(first);
    let from = until("a connection by the other", || talk(&site, &listener));
    println!("killed: a new connection after {:?}", killed.elapsed());
    assert!(from.ip().to_string().starts_with("198.18.0."), "{from}");
    until("the second NAT to be active", || site.is_in(1, "active"));
    assert_eq!(site.shared_mac().as_deref(), Some(VIRTUAL_MAC));

    // It comes back and takes over as a whole.
    let _first = site.start(0, 200);
    until("the first NAT to be active again", || site.is_in(0, "active"));
    until("the second NAT to be backup again", || site.is_in(1, "backup"));
    until("a connection by the first", || talk(&site, &listener));
    assert_eq!(site.shared_mac().as_deref(), Some(VIRTUAL_MAC));
}
