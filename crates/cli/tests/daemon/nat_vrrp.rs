//! Two NATs that share an address inside and one outside, and pools: the active one alone answers
//! and translates, and the other one takes over when it is killed; with `replication` the sessions
//! go on, and the one that comes back waits until it knows them.
//!
//! The time of losses is printed and not judged: `cargo test -p plumbline --test daemon nat_vrrp --
//! --nocapture` tells it.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
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
        self.start_with(number, (priority, 50), "")
    }

    /// Starts one that may tell the other one of its sessions.
    fn start_of_pair(&self, number: usize, priority: u8) -> Child {
        let [own, peer] = [1 + number, 2 - number];
        let keys = format!(
            "replication: {{role: pair, address: 10.255.0.{own}, peer: 10.255.0.{peer},
    key: of-these-two-nats-alone}}"
        );
        self.start_with(number, (priority, 200), &keys)
    }

    /// A link of both NATs alone, by which they tell each other of sessions.
    fn join_nodes(&self) {
        let [one, other] = &self.nodes;
        one.veth("sync", other, "sync").expect("a link");
        for (number, node) in self.nodes.iter().enumerate() {
            node.ip(&format!("addr add 10.255.0.{}/24 dev sync", 1 + number)).expect("an address");
            node.wait_until_up("sync", PATIENCE).expect("up");
        }
    }

    fn start_with(&self, number: usize, (priority, interval_ms): (u8, u32), keys: &str) -> Child {
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
  {keys}
ports:
  inside: {{type: af-packet, interface: lan}}
  outside: {{type: af-packet, interface: wan}}
controller:
  name: vrrp
  routers:
    - {{interface: h-in, vrid: 7, addresses: [{INSIDE}], group: nat, accept: true,
       priority: {priority}, advert-interval-ms: {interval_ms}}}
    - {{interface: h-out, vrid: 8, addresses: [{OUTSIDE}], group: nat,
       priority: {priority}, advert-interval-ms: {interval_ms}}}
workers: {{idle: sleep}}
"
        );
        let file = self.lab.write(&format!("nat{number}.yaml"), &text);
        self.lab.start_in(&self.nodes[number], &file)
    }

    /// What the controller of a NAT tells.
    fn controller(&self, number: usize) -> Option<Value> {
        let name = format!("nat{number}");
        let (_, shown, _) = self.lab.run(&["show", "protocols", "--json", "--name", &name]);
        let mut shown: Value = serde_json::from_str(&shown).ok()?;
        Some(shown["protocols"]["vrrp"]["controller"].take())
    }

    /// The states of both virtual routers of a NAT.
    fn states(&self, number: usize) -> Option<[String; 2]> {
        let shown = self.controller(number)?;
        let routers = &shown["routers"];
        let state = |at: usize| Some(routers[at]["state"].as_str()?.to_owned());
        Some([state(0)?, state(1)?])
    }

    fn is_in(&self, number: usize, state: &str) -> Option<()> {
        self.states(number)?.iter().all(|one| one == state).then_some(())
    }

    /// How often a NAT has counted something.
    fn counted(&self, number: usize, what: &str) -> u64 {
        let name = format!("nat{number}");
        let (_, shown, _) = self.lab.run(&["show", "--json", "--name", &name]);
        tally(&serde_json::from_str(&shown).expect("JSON"), what)
    }

    /// How many questions for addresses a NAT has answered.
    fn answered(&self, number: usize) -> u64 {
        self.counted(number, "arp-answered")
    }

    /// How many sessions a NAT knows from packets, and from the other NAT.
    fn sessions(&self, number: usize) -> [u64; 2] {
        ["sessions-opened", "sessions-adopted"].map(|what| self.counted(number, what))
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
    connect(site, listener).map(|(_, from)| from)
}

/// Both ends of a new connection over which both have said something, and where it comes from.
fn connect(site: &Site, listener: &TcpListener) -> Option<([TcpStream; 2], SocketAddr)> {
    let address: SocketAddr = (SERVER, 8080).into();
    let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(500));
    let client = site.subscribers.run(connect).expect("the namespace").ok()?;
    let (server, from) = listener.accept().expect("a client");
    for end in [&client, &server] {
        end.set_read_timeout(Some(PATIENCE)).expect("a socket");
    }
    let mut ends = [client, server];
    say(&mut ends);
    Some((ends, from))
}

/// One end asks, and the other one answers.
fn say([near, far]: &mut [TcpStream; 2]) {
    near.write_all(b"question").expect("a connection");
    let mut heard = [0; 8];
    far.read_exact(&mut heard).expect("what was said");
    far.write_all(&heard).expect("a connection");
    near.read_exact(&mut heard).expect("what was said");
    assert_eq!(&heard, b"question");
}

/// A datagram a millisecond from a subscriber to a host, which sends each back.
struct Stream {
    seen: Arc<Mutex<Seen>>,
    stops: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// What became of datagrams.
#[derive(Default)]
struct Seen {
    /// How many were sent; they have numbers.
    sent: u32,
    /// Which have come back.
    back: BTreeSet<u32>,
    /// Where they came from, as the host sees it.
    from: BTreeSet<SocketAddr>,
}

/// What a thread does again and again.
type Work = Box<dyn FnMut(&Mutex<Seen>) + Send>;

impl Stream {
    fn begin(site: &Site) -> Stream {
        let address: SocketAddr = (SERVER, 9000).into();
        let host = site.internet.run(|| UdpSocket::bind(address)).expect("the namespace");
        let host = host.expect("its address is there");
        let own: SocketAddr = ([100, 64, 0, 9], 0).into();
        let client = site.subscribers.run(|| UdpSocket::bind(own)).expect("the namespace");
        let client = client.expect("its address is there");
        client.connect(address).expect("a socket");
        for socket in [&host, &client] {
            socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket");
        }
        let sender = client.try_clone().expect("a socket");
        let (seen, stops) =
            (Arc::new(Mutex::new(Seen::default())), Arc::new(AtomicBool::new(false)));
        let begin = |mut work: Work| {
            let (seen, stops) = (Arc::clone(&seen), Arc::clone(&stops));
            thread::spawn(move || {
                while !stops.load(Ordering::Relaxed) {
                    work(&seen);
                }
            })
        };
        let mut next = Instant::now();
        let threads = vec![
            begin(Box::new(move |seen| {
                next += Duration::from_millis(1);
                while let Some(rest) = next.checked_duration_since(Instant::now()) {
                    thread::park_timeout(rest);
                }
                let number = {
                    let mut seen = seen.lock().expect("no thread has failed");
                    seen.sent += 1;
                    seen.sent - 1
                };
                // That a host cannot be reached for a while is a loss.
                let _ = sender.send(&number.to_be_bytes());
            })),
            begin(Box::new(move |seen| {
                let mut bytes = [0; 4];
                let Ok((4, from)) = host.recv_from(&mut bytes) else { return };
                seen.lock().expect("no thread has failed").from.insert(from);
                let _ = host.send_to(&bytes, from);
            })),
            begin(Box::new(move |seen| {
                let mut bytes = [0; 4];
                let Ok(4) = client.recv(&mut bytes) else { return };
                let number = u32::from_be_bytes(bytes);
                seen.lock().expect("no thread has failed").back.insert(number);
            })),
        ];
        Stream { seen, stops, threads }
    }

    fn seen<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.lock().expect("no thread has failed"))
    }

    /// The number of the next datagram.
    fn next(&self) -> u32 {
        self.seen(|seen| seen.sent)
    }

    /// How many datagrams since that of a number have not come back, once a hundred more have.
    fn lost(&self, since: u32) -> usize {
        let end = self.next();
        until("datagrams that come back", || {
            self.seen(|seen| seen.back.range(end..).count() >= 100).then_some(())
        });
        self.seen(|seen| (since..end).filter(|number| !seen.back.contains(number)).count())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
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

#[test]
fn the_sessions_of_a_pair_outlive_each_of_both_and_no_hand_is_needed() {
    let Some(site) = Site::new() else { return };
    site.join_nodes();
    let address: SocketAddr = (SERVER, 8080).into();
    let listener = site.internet.run(|| TcpListener::bind(address)).expect("the namespace");
    let listener = listener.expect("its address is there");

    let first = site.start_of_pair(0, 200);
    until("the first NAT to be active", || site.is_in(0, "active"));
    let _second = site.start_of_pair(1, 100);
    let (mut ends, _) = until("a connection", || connect(&site, &listener));
    let stream = Stream::begin(&site);
    until("datagrams", || (stream.next() > 100).then_some(()));
    assert_eq!(stream.lost(100), 0, "nothing has happened");
    until("the second NAT to be synchronised", || {
        let shown = site.controller(1)?;
        (shown["synchronised"] == true && site.sessions(1)[1] >= 2).then_some(())
    });

    // SIGKILL: it says goodbye to nobody.
    let [opened, _] = site.sessions(1);
    let mark = stream.next();
    drop(first);
    say(&mut ends);
    until("the second NAT to be active", || site.is_in(1, "active"));
    println!("killed: {} ms without datagrams", stream.lost(mark));
    assert_eq!(site.sessions(1)[0], opened, "those that were told go on");

    // It comes back, and must not take over while it cannot be told.
    site.nodes[1].ip("link set sync down").expect("an interface");
    let mark = stream.next();
    let _first = site.start_of_pair(0, 200);
    let shown = until("the first NAT to hear the second", || {
        let shown = site.controller(0)?;
        (shown["counters"]["received"].as_u64()? > 20).then_some(shown)
    });
    assert_eq!((&shown["synchronised"], site.sessions(0)), (&Value::Bool(false), [0, 0]));
    assert_eq!(site.states(0), Some(["backup".into(), "backup".into()]));
    say(&mut ends);
    println!("while it waits: {} ms without datagrams", stream.lost(mark));
    let mark = stream.next();
    site.nodes[1].ip("link set sync up").expect("an interface");
    until("the first NAT to be active again", || site.is_in(0, "active"));
    until("the second NAT to be backup again", || site.is_in(1, "backup"));
    say(&mut ends);
    println!("back again: {} ms without datagrams", stream.lost(mark));
    let [opened, adopted] = site.sessions(0);
    assert_eq!((opened, adopted >= 2), (0, true), "those that were told go on");
    assert_eq!(stream.seen(|seen| seen.from.len()), 1, "one session, one mapping");
    until("a new connection", || talk(&site, &listener));
}
