//! A router whose next hops are watched by BFD, with FRR or BIRD as a far end: what is lost when a
//! path fails.
//!
//! The time of losses is printed and not judged, and sessions are slow enough for a busy machine.
//! On a quiet one, `PLUMBLINE_BFD_MS=10 PLUMBLINE_BFD_ROUNDS=20 cargo test -p plumbline --test
//! daemon path_failure -- --nocapture --test-threads 1` tells what 10 ms cost.

use std::collections::BTreeSet;
use std::net::{IpAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use netns::Namespace;
use serde_json::Value;
use testkit::tshark::{self, Dissected};

use crate::frr::{self, Frr};
use crate::kit::{Lab, until};
use crate::nat_network::tally;
use crate::neighbours::{host, socket};

/// The address that both far ends have.
const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 1));
const SERVER_PORT: u16 = 7;

/// Flows, by their source ports.
const FLOWS: usize = 32;

/// Time from one datagram to the next.
const PACE: Duration = Duration::from_millis(1);

/// The interval of the sessions in milliseconds.
fn interval_ms() -> u32 {
    std::env::var("PLUMBLINE_BFD_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(100)
}

/// How often each failure is repeated.
fn rounds() -> usize {
    std::env::var("PLUMBLINE_BFD_ROUNDS").ok().and_then(|count| count.parse().ok()).unwrap_or(1)
}

/// A router with a LAN and two paths; `near` are the keys of the next hop that is watched, `more`
/// are further keys of the function.
fn router(near: &str, more: &str, workers: &str) -> String {
    let interval_ms = interval_ms();
    format!(
        "function:
  name: l3-router
  resolve: true
{more}  ports:
    - {{name: lan, mac: 02:00:00:00:00:01, ip: 10.0.1.1/24}}
    - {{name: near, mac: 02:00:00:00:00:02, ip: 10.0.2.1/24, ipv6: 2001:db8:2::1/64}}
    - {{name: around, mac: 02:00:00:00:00:03, ip: 10.0.3.1/24}}
  next-hops:
    - {{port: near, {near}, bfd: {{interval-ms: {interval_ms}, multiplier: 3{key}}}}}
    - {{port: around, ip: 10.0.3.2}}
  next-hop-groups: [{{members: [{{next-hop: 0}}, {{next-hop: 1}}]}}]
  routes: [{{prefix: 203.0.113.0/24, group: 0}}]
ports:
  lan: {{type: af-packet, interface: lan}}
  near: {{type: af-packet, interface: near}}
  around: {{type: af-packet, interface: around}}
workers: {{idle: sleep{workers}}}
",
        key = if more.contains("bfd-keys") { ", authentication: 0" } else { "" },
    )
}

fn bfdd() -> String {
    let interval_ms = interval_ms();
    format!(
        "bfd
 peer 10.0.2.1 local-address 10.0.2.2 interface eth
  receive-interval {interval_ms}
  transmit-interval {interval_ms}
  detect-multiplier 3
  no shutdown
 !
!
"
    )
}

/// The same for BIRD, with a key and between link-local addresses: the router's follows from its
/// Ethernet address.
fn bird() -> String {
    let interval_ms = interval_ms();
    format!(
        "router id 10.0.2.2;
protocol device {{}}
protocol bfd {{
  interface \"eth\" {{
    min rx interval {interval_ms} ms;
    min tx interval {interval_ms} ms;
    multiplier 3;
    authentication meticulous keyed sha1;
    password \"a secret\" {{ id 7; }};
  }};
  neighbor fe80::ff:fe00:2 dev \"eth\" local fe80::2;
}}
"
    )
}

/// What flows through the router while something happens.
struct Traffic<'a> {
    sockets: Vec<UdpSocket>,
    servers: [UdpSocket; 2],
    is_over: &'a AtomicBool,
    sent: AtomicU32,
}

impl Traffic<'_> {
    /// Sends a datagram a millisecond, numbered, by one flow after the other.
    fn send(&self) {
        let begun = Instant::now();
        let mut number = 0u32;
        while !self.is_over.load(Ordering::Relaxed) {
            let socket = &self.sockets[number as usize % FLOWS];
            // A full queue of the kernel is a loss as any.
            let _ = socket.send_to(&number.to_be_bytes(), (SERVER, SERVER_PORT));
            number += 1;
            self.sent.store(number, Ordering::Relaxed);
            until_past(begun + PACE * number);
        }
    }

    /// Returns every datagram to where it came from; counts them.
    fn answer(&self, server: usize) -> u32 {
        let (socket, mut count) = (&self.servers[server], 0);
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket");
        let mut bytes = [0; 16];
        while !self.is_over.load(Ordering::Relaxed) {
            if let Ok((len, from)) = socket.recv_from(&mut bytes) {
                count += 1;
                let _ = socket.send_to(&bytes[..len], from);
            }
        }
        count
    }

    /// Returns the numbers that came back.
    fn hear(&self) -> BTreeSet<u32> {
        let mut heard = BTreeSet::new();
        let mut bytes = [0; 4];
        for socket in &self.sockets {
            socket.set_nonblocking(true).expect("a socket");
        }
        while !self.is_over.load(Ordering::Relaxed) {
            for socket in &self.sockets {
                while let Ok((4, _)) = socket.recv_from(&mut bytes) {
                    heard.insert(u32::from_be_bytes(bytes));
                }
            }
            thread::park_timeout(PACE);
        }
        heard
    }
}

/// Returns at a time, however often the thread is woken before.
fn until_past(time: Instant) {
    while let Some(left) =
        time.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    {
        thread::park_timeout(left);
    }
}

/// Lets traffic flow while something happens; returns how long datagrams did not come back, from
/// the first to the last lost one in milliseconds, and how many each server has had.
fn while_traffic(hosts: &[Namespace; 3], happens: impl FnOnce()) -> (u32, [u32; 2]) {
    let is_over = AtomicBool::new(false);
    let open = |flow| socket(&hosts[0], (IpAddr::from([10, 0, 1, 2]), 20_000 + flow as u16));
    let traffic = Traffic {
        sockets: (0..FLOWS).map(open).collect(),
        servers: [1, 2].map(|place| socket(&hosts[place], (SERVER, SERVER_PORT))),
        is_over: &is_over,
        sent: AtomicU32::new(0),
    };
    let (heard, served) = thread::scope(|scope| {
        let sender = scope.spawn(|| traffic.send());
        let servers = [0, 1].map(|server| {
            let traffic = &traffic;
            scope.spawn(move || traffic.answer(server))
        });
        let hearer = scope.spawn(|| traffic.hear());
        happens();
        is_over.store(true, Ordering::Relaxed);
        sender.join().expect("it ends");
        let served = servers.map(|server| server.join().expect("it ends"));
        (hearer.join().expect("it ends"), served)
    });
    // The last ones may be on their way.
    let sent = traffic.sent.load(Ordering::Relaxed).saturating_sub(100);
    let mut lost = (0..sent).filter(|number| !heard.contains(number));
    let span = lost.next().map_or(0, |first| lost.next_back().unwrap_or(first) - first + 1);
    (span, served)
}

/// What an operator sees of the session while it is up.
fn shows_and_traces_the_session(lab: &Lab) {
    let row = ["bfd", "near", "10.0.2.2", "up"];
    until("the session among the neighbours", || {
        let (_, shown, _) = lab.run(&["show", "neighbours"]);
        shown.lines().any(|line| line.split_whitespace().take(4).eq(row)).then_some(())
    });
    let (code, _, told) =
        lab.run(&["capture", "-w", "bfd.pcapng", "--protocol", "bfd", "--count", "4"]);
    assert!(code == 0 && told.contains(" 0 missed"), "{code} {told}");
    let file = lab.folder.path().join("bfd.pcapng");
    let Some(read) = tshark::read(&file, &[], &["ip.dst", "bfd.sta"]) else { return };
    let lines: BTreeSet<String> = read.iter().map(Dissected::line).collect();
    let up = |line: &String| line.ends_with("|0x03") || line.ends_with("|3");
    assert!(read.len() == 4 && lines.iter().all(up), "{lines:?}");
}

/// A LAN, and two servers of one address: the one nearby is behind a bridge, so that its path can
/// fail without a sign at the router but silence.
fn hosts(lab: &Lab) -> [Namespace; 3] {
    let far =
        ["10.0.2", "10.0.3"].map(|net| (format!("{net}.2/24"), format!("default via {net}.1")));
    let hosts = [
        host(lab, "lan", &["10.0.1.2/24"], &["default via 10.0.1.1"]),
        host(lab, "far", &[&far[0].0, "fe80::2/64"], &[&far[0].1]),
        host(lab, "around", &[&far[1].0], &[&far[1].1]),
    ];
    let wires = [
        "link add wire type bridge",
        "link set wire up",
        "link add near type veth peer name near-end",
        "link set near-end master wire",
        "link set far master wire",
        "link set near up",
        "link set near-end up",
    ];
    for command in wires {
        lab.namespace.ip(command).expect("a wire");
    }
    lab.namespace.wait_until_up("near", Duration::from_secs(60)).expect("up");
    for server in &hosts[1..] {
        server.ip("link set lo up").expect("an interface");
        server.ip(&format!("addr add {SERVER}/32 dev lo")).expect("an address");
    }
    hosts
}

/// A path that fails and comes back, again and again.
struct Paths<'a> {
    lab: &'a Lab,
    hosts: &'a [Namespace; 3],
}

impl Paths<'_> {
    fn shown(&self) -> Value {
        serde_json::from_str(&self.lab.run(&["show", "all", "--json"]).1).expect("JSON")
    }

    /// Waits until the next hop has come up or gone down more often than before.
    fn changes(&self, name: &str, count: u64) {
        until(name, || (tally(&self.shown(), name) >= count).then_some(()));
    }

    /// Waits until flows pass as they are to. Sessions of a machine that stands still for a while
    /// may go down and come up again.
    fn flows(&self, what: &str, is_so: fn([u32; 2]) -> bool) {
        until(what, || is_so(while_traffic(self.hosts, || wait(300)).1).then_some(()));
    }

    /// Cuts the path nearby by one command of `ip` and mends it by another; prints how long
    /// datagrams were lost.
    fn fail(&self, what: &str, cut: &str, mend: &[&str]) {
        let mut spans = Vec::new();
        for _ in 0..rounds() {
            self.flows("flows on both paths", |[near, around]| near > 30 && around > 30);
            let downs = tally(&self.shown(), "paths-down");
            let (lost, served) = while_traffic(self.hosts, || {
                wait(200);
                self.lab.namespace.ip(cut).expect("an interface");
                self.changes("paths-down", downs + 1);
                wait(300);
            });
            println!("{what}: losses for {lost} ms, served {served:?}");
            spans.push(lost);
            self.flows("all flows to leave", |[near, around]| near == 0 && around > 100);
            for command in mend {
                self.lab.namespace.ip(command).expect("an interface");
            }
        }
        spans.sort_unstable();
        let [least, middle, most] = [0, spans.len() / 2, spans.len() - 1].map(|at| spans[at]);
        println!("{what}, {} times: median {middle} ms, from {least} to {most} ms", spans.len());
    }

    /// What the router hears no more, and what it sees itself.
    fn fail_silently_and_not(&self) {
        let (lost, served) = while_traffic(self.hosts, || wait(500));
        println!("nothing happens: losses for {lost} ms, served {served:?}");
        self.fail("silence", "link set far nomaster", &["link set far master wire"]);
        let mend = ["link set near-end up"];
        self.fail("no carrier", "link set near-end down", &mend);
        self.flows("flows to be back", |[near, around]| near > 30 && around > 30);
    }
}

fn wait(ms: u64) {
    until_past(Instant::now() + Duration::from_millis(ms));
}

#[test]
fn flows_leave_a_path_that_bfd_finds_down() {
    if !frr::is_there() {
        return;
    }
    let Some(lab) = Lab::bare() else { return };
    let hosts = hosts(&lab);
    let mut frr = Frr::without_daemons();
    frr.run(&hosts[1], "zebra", &[], "");
    frr.run(&hosts[1], "bfdd", &[], &bfdd());
    let _router = lab.start(&lab.write("router.yaml", &router("ip: 10.0.2.2", "", "")));
    let paths = Paths { lab: &lab, hosts: &hosts };
    paths.changes("paths-up", 1);
    until("FRR's session", || frr.show("show bfd peers").contains("Status: up").then_some(()));
    paths.flows("flows on both paths", |[near, around]| near > 30 && around > 30);
    shows_and_traces_the_session(&lab);
    paths.fail_silently_and_not();

    // The protocol's program ends without a word, while its host goes on to forward.
    let downs = tally(&paths.shown(), "paths-down");
    let (lost, served) = while_traffic(&hosts, || {
        frr.kill("bfdd");
        paths.changes("paths-down", downs + 1);
    });
    until("an alarm", || lab.run(&["show", "alarms"]).1.contains("bfd-down").then_some(()));
    println!("bfdd killed: losses for {lost} ms, served {served:?}");
    paths.flows("all flows to leave", |[near, around]| near == 0 && around > 100);
    frr.run(&hosts[1], "bfdd", &[], &bfdd());
    paths.flows("flows to be back", |[near, around]| near > 30 && around > 30);
    assert_eq!(tally(&paths.shown(), "bfd-ignored"), 0);
}

#[test]
fn two_workers_leave_a_path_that_bfd_with_a_key_finds_down() {
    if !netns::is_installed("bird") {
        println!("skipped: needs BIRD");
        return;
    }
    let Some(lab) = Lab::bare() else { return };
    let cores = machine::cpu::available_cores();
    let [first, .., last] = cores.as_slice() else {
        println!("skipped: two workers need two cores");
        return;
    };
    let hosts = hosts(&lab);
    let file = lab.write("bird.conf", &bird());
    let mut command = Command::new("bird");
    command.args(["-f", "-c"]).arg(&file);
    for (option, name) in [("-s", "bird.socket"), ("-P", "bird.pid")] {
        command.arg(option).arg(lab.folder.path().join(name));
    }
    let _bird = hosts[1].spawn(command).expect("it starts");
    let more =
        "  core: 2\n  ipv6: true\n  bfd-keys: [{type: meticulous-sha1, id: 7, key: a secret}]\n";
    let workers = format!(", cores: [{first}, {last}]");
    let text = router("ipv6: fe80::2", more, &workers);
    let _router = lab.start(&lab.write("router.yaml", &text));
    let paths = Paths { lab: &lab, hosts: &hosts };
    paths.changes("paths-up", 1);
    paths.fail_silently_and_not();
    let (_, configuration, _) = lab.run(&["show", "config", "--json"]);
    assert!(configuration.contains("bfd-keys") && !configuration.contains("a secret"));
}

const ROUTER_OF_BFDD: &str = "function:
  name: l3-router
  resolve: true
  bfd-capacity: 8
  ports:
    - {name: lan, mac: 02:00:00:00:00:01, ip: 10.0.1.1/24}
    - {name: core, mac: 02:00:00:00:00:02, ip: 10.0.2.1/24, host-interface: h-core}
  next-hops: [{port: core, ip: 10.0.2.2}]
ports:
  lan: {type: af-packet, interface: lan}
  core: {type: af-packet, interface: core}
controller: {name: frr-bfd, at: AT}
workers: {idle: sleep}
";

#[test]
fn the_router_runs_the_sessions_of_frrs_bfdd() {
    if !frr::is_there() {
        return;
    }
    let Some(lab) = Lab::bare() else { return };
    let _lan = host(&lab, "lan", &["10.0.1.2/24"], &[]);
    let far = host(&lab, "core", &["10.0.2.2/24"], &[]);
    // The kernel has the port's own interface beside the host's, and would answer at it.
    lab.namespace.ip("link set core arp off").expect("an interface");
    let (mut own, mut peer) = (Frr::without_daemons(), Frr::without_daemons());
    let at = own.path("dplane");
    let _router = lab.start(&lab.write("router.yaml", &ROUTER_OF_BFDD.replace("AT", &at)));
    peer.run(&far, "zebra", &[], "");
    peer.run(&far, "bfdd", &[], &bfdd());
    own.run(&lab.namespace, "zebra", &[], "");
    let wanted = bfdd()
        .replace("peer 10.0.2.1 local-address 10.0.2.2", "peer 10.0.2.2 local-address 10.0.2.1")
        .replace("interface eth", "interface h-core");
    let arguments = ["--dplaneaddr", &format!("unix:{at}"), "--bfdctl", &own.path("bfdctl")];
    own.run(&lab.namespace, "bfdd", &arguments, &wanted);
    let has = |frr: &Frr, state: &str| frr.show("show bfd peers").contains(state).then_some(());
    let shown =
        || -> Value { serde_json::from_str(&lab.run(&["show", "all", "--json"]).1).expect("JSON") };
    let is_down = || tally(&shown(), "paths-down") > 0;

    until("bfdd's session", || has(&own, "Status: up"));
    until("the far session", || has(&peer, "Status: up"));
    let peers = own.show("show bfd peers json");
    let sessions = lab.run(&["show", "table", "bfd", "--json"]).1;
    let peers: Value = serde_json::from_str(&peers).expect("JSON");
    assert!(sessions.contains(&peers[0]["id"].to_string()), "{peers} {sessions}");
    assert!(sessions.contains(&peers[0]["remote-id"].to_string()), "{peers} {sessions}");
    assert!(!is_down());
    peer.kill("bfdd");
    until("bfdd to hear of it", || has(&own, "Status: down"));
    assert!(is_down());
}
