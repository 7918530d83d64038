//! Connections of hosts that leave cutting and checksums to their network cards, as all do that are
//! behind a veth: containers, virtual machines. What arrives is what was sent, whatever either end
//! leaves to its card and however long its packets may be.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use netns::Namespace;

use super::{Hosts, NAT, PATIENCE};
use crate::kit::{Child, again};

const LEFT: [&str; 2] = ["10.0.0.1/24", "3fff:0:0:1::1/64"];

const SWITCH: &str = "\
function: {name: l2-switch}
ports:
  downlink: {type: af-packet, interface: a0}
  uplink: {type: af-packet, interface: b0}
workers: {idle: sleep, frame-bytes-max: 9018}
";

/// A router between two links, of which the second has an MTU and is this port.
fn router(right_mtu: u16, uplink: &str) -> String {
    format!(
        "\
function:
  name: l3-router
  ipv6: true
  icmp-errors-per-s: 100
  resolve: true
  downlink-ip: 10.0.0.254/24
  uplink-ip: 10.0.1.254/24
  downlink-ipv6: \"3fff:0:0:1::fe/64\"
  uplink-ipv6: \"3fff:0:0:2::fe/64\"
  interfaces: [{{port: uplink, mtu: {right_mtu}}}]
ports:
  downlink: {{type: af-packet, interface: a0}}
  uplink: {{{uplink}}}
workers: {{idle: sleep, frame-bytes-max: 9018}}
"
    )
}

const LINK: &str = "type: af-packet, interface: b0";

/// What AF_XDP does not have.
const LONGEST: &str = ", frame-bytes-max: 9018";

/// A NAT with this key.
fn nat(key: &str) -> String {
    format!("workers: {{idle: sleep, frame-bytes-max: 9018}}\n{NAT}  {key}\n")
}

/// Both hosts on their own links, each with a way by the daemon's address 254.
fn routed() -> Option<Hosts> {
    let hosts =
        Hosts::new(&["ethtool", "ping", "python3"], &LEFT, &["10.0.1.1/24", "3fff:0:0:2::1/64"])?;
    hosts.lead_through();
    for (host, number) in [(&hosts.left, 0), (&hosts.right, 1)] {
        let via = format!("3fff:0:0:{}::fe", number + 1);
        host.ip(&format!("-6 route add default via {via}")).expect("a route");
    }
    Some(hosts)
}

/// What the ends of links differ in.
#[derive(Clone, Copy, Debug)]
struct Way {
    mtus: [u16; 2],
    /// Whether the left host leaves anything to its card, and the daemon's interfaces take that.
    offloads: bool,
}

const USUAL: Way = Way { mtus: [1500, 1500], offloads: true };

fn set(hosts: &Hosts, way: Way) {
    for (near, host, mtu) in [("a0", &hosts.left, way.mtus[0]), ("b0", &hosts.right, way.mtus[1])] {
        host.ip(&format!("link set eth mtu {mtu}")).expect("an MTU");
        hosts.lab.namespace.ip(&format!("link set {near} mtu {mtu}")).expect("an MTU");
    }
    let state = if way.offloads { "on" } else { "off" };
    let near = &hosts.lab.namespace;
    for (host, interface) in [(&hosts.left, "eth"), (near, "a0"), (near, "b0")] {
        let features = ["-K", interface, "tx", state, "tso", state, "gso", state];
        host.command("ethtool", &features, None).expect("they are veth's");
    }
}

/// Sends bytes by a connection from the left host to the right one, and back.
fn exchange((left, right): (&Namespace, &Namespace), address: &str, len: usize) {
    let bytes: Vec<u8> = (0..len as u32).map(|at| (at.wrapping_mul(at) >> 9) as u8).collect();
    let listen = || TcpListener::bind((address, 0));
    let listener = right.run(listen).expect("runs").expect("it is its address");
    let to = listener.local_addr().expect("it has one");
    let start = Instant::now();
    thread::scope(|scope| {
        let answers = scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("a connection");
            stream.set_read_timeout(Some(PATIENCE)).expect("an option");
            let mut got = Vec::new();
            stream.read_to_end(&mut got).expect("all of it");
            stream.write_all(&got).expect("the way back");
            got
        });
        let connect = || TcpStream::connect_timeout(&to, PATIENCE);
        let mut stream = left.run(connect).expect("runs").expect("it is reached");
        stream.set_read_timeout(Some(PATIENCE)).expect("an option");
        stream.write_all(&bytes).expect("it is taken");
        stream.shutdown(Shutdown::Write).expect("all was sent");
        let mut back = Vec::new();
        stream.read_to_end(&mut back).expect("all of it");
        assert!(answers.join().expect("no panic") == bytes, "{address}: others arrived");
        assert!(back == bytes, "{address}: others came back");
    });
    println!("{address}: {len} bytes each way in {} ms", start.elapsed().as_millis());
}

/// Waits until the daemon forwards.
fn wait_for(hosts: &Hosts, _daemon: &Child, address: &str) {
    let start = Instant::now();
    while hosts.left.command("ping", &["-c", "1", "-W", "1", address], None).is_err() {
        assert!(start.elapsed() < Duration::from_secs(30), "{address} is not reached");
    }
}

const LEN: usize = 2_000_000;

/// - `l2-switch`, RFC 9293 section 3.1: bytes arrive as they were sent, with and without offloads
///   of hosts
#[test]
fn a_switch_carries_connections_of_hosts_as_they_come() {
    let right = ["10.0.0.2/24", "3fff:0:0:1::2/64"];
    let Some(hosts) = Hosts::new(&["ping", "ethtool"], &LEFT, &right) else { return };
    set(&hosts, USUAL);
    let switch = hosts.start(SWITCH);
    wait_for(&hosts, &switch, "10.0.0.2");
    exchange((&hosts.left, &hosts.right), "10.0.0.2", LEN);
    exchange((&hosts.left, &hosts.right), "3fff:0:0:1::2", LEN);
    set(&hosts, Way { offloads: false, ..USUAL });
    exchange((&hosts.left, &hosts.right), "10.0.0.2", LEN);
}

/// - `l3-router`, RFC 9293 section 3.1: bytes arrive as they were sent, with and without offloads
///   of hosts
#[test]
fn a_router_carries_connections_of_hosts_as_they_come() {
    let Some(hosts) = routed() else { return };
    set(&hosts, USUAL);
    let router = hosts.start(&router(1500, LINK));
    wait_for(&hosts, &router, "10.0.1.1");
    for (way, address) in [
        (USUAL, "10.0.1.1"),
        (USUAL, "3fff:0:0:2::1"),
        (Way { offloads: false, ..USUAL }, "10.0.1.1"),
        (Way { mtus: [9000, 1500], ..USUAL }, "10.0.1.1"),
        (Way { mtus: [9000, 1500], ..USUAL }, "3fff:0:0:2::1"),
    ] {
        set(&hosts, way);
        exchange((&hosts.left, &hosts.right), address, LEN);
    }
}

/// - `cgnat`, RFC 9293 section 3.1: bytes arrive as they were sent, and every checksum is right
#[test]
fn a_nat_carries_connections_of_hosts_as_they_come() {
    let Some(hosts) = routed() else { return };
    set(&hosts, USUAL);
    // A gateway reads packets, so that segments are cut as they come in.
    for key in ["alg: {ftp: true}", "alg: {ftp: false}"] {
        let nat = hosts.start(&nat(key));
        wait_for(&hosts, &nat, "10.0.1.1");
        exchange((&hosts.left, &hosts.right), "10.0.1.1", LEN);
        if key == "alg: {ftp: false}" {
            set(&hosts, Way { offloads: false, ..USUAL });
            exchange((&hosts.left, &hosts.right), "10.0.1.1", LEN);
        }
    }
    assert_eq!(checksums_wrong(&hosts.right), 0);
}

/// - `l3-router`, RFC 9293 section 3.1: segments are cut for a port that takes none
#[test]
fn a_port_without_long_segments_gets_their_frames() {
    let Some(hosts) = routed() else { return };
    set(&hosts, USUAL);
    let past_the_kernel = "type: af-xdp, interface: b0";
    let text = router(1500, past_the_kernel).replace(LONGEST, "");
    let router = hosts.start(&text);
    wait_for(&hosts, &router, "10.0.1.1");
    exchange((&hosts.left, &hosts.right), "10.0.1.1", LEN);
    assert_eq!(checksums_wrong(&hosts.right), 0);
}

/// - `l3-router`, RFC 9293 section 3.1: bytes arrive as they were sent, with the host's own kernel
///   behind a port
#[test]
fn a_tap_carries_connections_of_the_hosts_own_kernel_as_they_come() {
    let Some(hosts) = routed() else { return };
    set(&hosts, USUAL);
    let (own, far) = ("10.0.1.2", "3fff:0:0:2::2");
    let tap = format!("type: tap, interface: t0, addresses: [{own}/24, \"{far}/64\"]");
    let router = hosts.start(&router(1500, &tap));
    let near = &hosts.lab.namespace;
    near.ip("route add 10.0.0.0/24 via 10.0.1.254").expect("a route");
    near.ip("-6 route add 3fff:0:0:1::/64 via 3fff:0:0:2::fe").expect("a route");
    for address in [own, far] {
        wait_for(&hosts, &router, address);
        exchange((&hosts.left, near), address, LEN);
    }
    let (_, shown, _) = hosts.lab.run(&["show", "all", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let port = &shown["ports"]["uplink"];
    for way in ["received", "sent"] {
        let of = |name: &str| port[name].as_u64().expect("a number");
        let mean = of(&format!("{way}_bytes")) / of(way);
        assert!(mean > 1514, "{way}: they are long, {mean} bytes each");
    }
    datagrams((&hosts.left, near), ("INET", own));
    datagrams((near, &hosts.left), ("INET6", "3fff:0:0:1::1"));
    near.command("ethtool", &["-K", "t0", "tx", "off"], None).expect("a tap has it");
    exchange((&hosts.left, near), own, LEN);
    assert_eq!(checksums_wrong(near) + checksums_wrong(&hosts.left), 0);
}

/// - `cgnat`, RFC 768: datagrams that hosts send as one arrive as those that they are
#[test]
fn long_datagrams_arrive_as_those_that_they_stand_for() {
    let Some(hosts) = routed() else { return };
    set(&hosts, USUAL);
    let router = hosts.start(&router(1500, LINK));
    for (family, address) in [("INET", "10.0.1.1"), ("INET6", "3fff:0:0:2::1")] {
        wait_for(&hosts, &router, address);
        datagrams((&hosts.left, &hosts.right), (family, address));
        short_datagrams((&hosts.left, &hosts.right), address);
    }
    assert_eq!(checksums_wrong(&hosts.right), 0);
}

/// Sends short datagrams in bursts, which are joined on the way, and compares what arrives.
fn short_datagrams((from, to): (&Namespace, &Namespace), address: &str) {
    let any = if address.contains(':') { "[::]:0" } else { "0.0.0.0:0" };
    let socket = to.run(|| UdpSocket::bind((address, 0))).expect("runs").expect("its address");
    socket.set_read_timeout(Some(PATIENCE)).expect("an option");
    let port = socket.local_addr().expect("it has one").port();
    let sender = from.run(|| UdpSocket::bind(any)).expect("runs").expect("an address");
    sender.connect((address, port)).expect("a route");
    for burst in 0..20 {
        // As many as wait at a socket by default; each fifth one is shorter.
        let sent: Vec<Vec<u8>> =
            (0..100).map(|at| vec![burst ^ at; if at % 5 == 4 { 9 } else { 18 }]).collect();
        for datagram in &sent {
            assert_eq!(again(|| sender.send(datagram)).expect("it leaves"), datagram.len());
        }
        let mut room = [0; 100];
        for (at, datagram) in sent.iter().enumerate() {
            let len = again(|| socket.recv(&mut room)).expect("it arrives");
            assert!(room[..len] == datagram[..], "{address}: {burst} {at}: {:?}", &room[..len]);
        }
    }
}

/// - `l2-switch`, RFC 9293 section 3.1: bytes arrive as they were sent, over a link of shared
///   memory whose ends take or do not take what frames lack
#[test]
fn two_switches_that_share_memory_carry_connections_of_hosts_as_they_come() {
    let right = ["10.0.0.2/24", "3fff:0:0:1::2/64"];
    let Some(hosts) = Hosts::new(&["ping", "ethtool", "python3"], &LEFT, &right) else { return };
    set(&hosts, USUAL);
    let path = hosts.lab.folder.path().join("link");
    let switch = |name: &str, interface: &str, keys: &str| {
        let text = format!(
            "function: {{name: l2-switch}}\nports:\n  \
             downlink: {{type: af-packet, interface: {interface}}}\n  \
             uplink: {{type: vhost-user, path: {}, {keys}}}\nworkers: {{idle: sleep}}\n",
            path.display()
        );
        hosts.lab.start(&hosts.lab.write(&format!("{name}.yaml"), &text))
    };
    let near = switch("near", "a0", "role: backend");
    // Whether the far one takes what frames lack, or gets them whole.
    for keys in ["role: frontend", "role: frontend, offloads: false"] {
        let _far = switch("far", "b0", keys);
        wait_for(&hosts, &near, "10.0.0.2");
        let (code, shown, _) = hosts.lab.run(&["show", "all", "--json", "--name", "near"]);
        assert!(code == 0 && shown.contains("host-tso4") != keys.contains("false"), "{shown}");
        for address in ["10.0.0.2", "3fff:0:0:1::2"] {
            exchange((&hosts.left, &hosts.right), address, LEN);
        }
        datagrams((&hosts.left, &hosts.right), ("INET", "10.0.0.2"));
        datagrams((&hosts.right, &hosts.left), ("INET6", "3fff:0:0:1::1"));
    }
    assert_eq!(checksums_wrong(&hosts.left) + checksums_wrong(&hosts.right), 0);
}

/// Sends long datagrams from one host to another, and compares what arrives.
fn datagrams((from, to): (&Namespace, &Namespace), (family, address): (&str, &str)) {
    // Whether routers may fragment them: then they are cut as they come in.
    for discover in [0, 3] {
        let bind = || UdpSocket::bind((address, 0));
        let socket = to.run(bind).expect("runs").expect("it is its address");
        socket.set_read_timeout(Some(PATIENCE)).expect("an option");
        let port = socket.local_addr().expect("it has one").port();
        let text = format!(
            "import socket\n\
             s = socket.socket(socket.AF_{family}, socket.SOCK_DGRAM)\n\
             s.setsockopt(17, 103, 1000)\n\
             if '{family}' == 'INET': s.setsockopt(0, 10, {discover})\n\
             for burst in range(4):\n    \
                 parts = [bytes([burst, n]) * 500 for n in range(9)] + [bytes([burst])]\n    \
                 s.sendto(b''.join(parts), ('{address}', {port}))\n"
        );
        thread::scope(|scope| {
            let sent = scope.spawn(|| from.command("python3", &["-c", &text], None));
            let mut got = [0; 2000];
            for (burst, at) in (0..4).flat_map(|burst| (0..10).map(move |at| (burst, at))) {
                let len = again(|| socket.recv(&mut got)).expect("it arrives");
                let expected = if at < 9 { [burst, at].repeat(500) } else { vec![burst] };
                assert!(got[..len] == expected, "{family} {discover}: {burst} {at}: {len}");
            }
            sent.join().expect("no panic").expect("it sends");
        });
    }
}

/// Kinds of ports between the hosts: the kernel's interfaces through packet sockets, past the
/// kernel, and one whose far end is the daemon's own kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    AfPacket,
    AfXdp,
    Tap,
}

impl Kind {
    /// A file of packet sockets with ports of this kind, the tap with an address and an MTU.
    fn of(self, text: &str, (address, mtu): (&str, u16)) -> String {
        let tap = format!("type: tap, interface: t0, addresses: [{address}/24], mtu-bytes: {mtu}");
        match self {
            Kind::AfPacket => text.to_owned(),
            Kind::AfXdp => text.replace("af-packet", "af-xdp").replace(LONGEST, ""),
            Kind::Tap => text.replace(LINK, &tap),
        }
    }
}

/// By hand: `cargo xtask real-hosts --files BYTES` sends a file of this many bytes, and a thousand
/// short ones, through each of 58 combinations.
///
/// - `l3-router`: files arrive by every kind of port, MTU and offload (by hand)
#[test]
fn files_of_any_size_arrive_in_every_combination() {
    let bytes = std::env::var("PLUMBLINE_FILE_BYTES").ok().and_then(|bytes| bytes.parse().ok());
    let Some(bytes) = bytes else { return };
    let mtus = [[1500, 1500], [9000, 1500], [1500, 9000], [9000, 9000], [1280, 1500]];
    let kinds = [Kind::AfPacket, Kind::AfXdp, Kind::Tap];
    for (name, kind) in ["switch", "router", "nat"]
        .into_iter()
        .flat_map(|name| kinds.into_iter().map(move |kind| (name, kind)))
    {
        let hosts = match name {
            "switch" => Hosts::new(&["ping", "ethtool"], &LEFT, &["10.0.0.2/24"]),
            _ => routed(),
        };
        let Some(hosts) = hosts else { return };
        let address = if name == "switch" { "10.0.0.2" } else { "10.0.1.1" };
        for (mtus, offloads) in mtus.into_iter().flat_map(|mtus| [(mtus, true), (mtus, false)]) {
            // A switch tells nobody of the longest packet, and AF_XDP has no room for jumbo frames.
            let is_left_out = name == "switch" && mtus[0] != mtus[1]
                || kind == Kind::AfXdp && mtus.contains(&9000);
            if is_left_out {
                continue;
            }
            let way = Way { mtus, offloads };
            set(&hosts, way);
            let text = match name {
                "switch" => SWITCH.to_owned(),
                "router" => router(mtus[1], LINK),
                _ => nat(&format!("outside-mtu: {}\n  icmp-errors-per-s: 100", mtus[1])),
            };
            let daemon = hosts.start(&kind.of(&text, (address, mtus[1])));
            let far = if kind == Kind::Tap { &hosts.lab.namespace } else { &hosts.right };
            if kind == Kind::Tap && name == "router" {
                far.ip("route add 10.0.0.0/24 via 10.0.1.254").expect("a route");
            }
            // Each tap has an Ethernet address of its own.
            hosts.left.ip("neigh flush dev eth").expect("its neighbours");
            wait_for(&hosts, &daemon, address);
            let start = Instant::now();
            pass((&hosts.left, far), address, (1000, 10_000));
            let small = start.elapsed();
            pass((&hosts.left, far), address, (1, bytes));
            let large = start.elapsed() - small;
            println!(
                "{name} {kind:?} {way:?}: {small:?} for 1,000 files, {large:?} for the large one"
            );
        }
    }
}

/// Sends files of a length by a connection each from one host to another, one after the other.
fn pass((left, right): (&Namespace, &Namespace), address: &str, (count, len): (u64, u64)) {
    const BLOCK: usize = 1 << 20;
    let bytes: Vec<u8> = (0..BLOCK as u32).map(|at| (at.wrapping_mul(at) >> 9) as u8).collect();
    let listen = || TcpListener::bind((address, 0));
    let listener = right.run(listen).expect("runs").expect("it is its address");
    let to = listener.local_addr().expect("it has one");
    let read = || {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("an option");
        let (mut place, mut got) = (0, vec![0; BLOCK]);
        loop {
            let at = (place % BLOCK as u64) as usize;
            let count = again(|| stream.read(&mut got[..BLOCK - at])).expect("it arrives");
            if count == 0 {
                return place;
            }
            assert!(got[..count] == bytes[at..at + count], "{address}: behind {place} bytes");
            place += count as u64;
        }
    };
    let write = || {
        let mut stream = TcpStream::connect_timeout(&to, PATIENCE).expect("it is reached");
        stream.set_read_timeout(Some(PATIENCE)).expect("an option");
        let mut left = len;
        while left > 0 {
            let count = left.min(BLOCK as u64);
            stream.write_all(&bytes[..count as usize]).expect("it is taken");
            left -= count;
        }
        stream.shutdown(Shutdown::Write).expect("all was sent");
        // The other end is through with it.
        assert_eq!(again(|| stream.read(&mut [0])).expect("its end"), 0);
    };
    thread::scope(|scope| {
        let reads = scope.spawn(|| (0..count).for_each(|_| assert_eq!(read(), len)));
        left.run(|| (0..count).for_each(|_| write())).expect("runs");
        reads.join().expect("no panic");
    });
}

/// How many wrong checksums of TCP and UDP a host has seen.
fn checksums_wrong(host: &Namespace) -> u64 {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{name}"));
    let [old, new] = ["snmp", "snmp6"]
        .map(|name| host.run(|| read(name)).expect("runs").expect("every kernel has it"));
    let new: u64 = new
        .lines()
        .filter(|line| line.starts_with("Udp6InCsumErrors"))
        .filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok())
        .sum();
    let of = |protocol: &str| -> Option<u64> {
        let mut lines = old.lines().filter(|line| line.starts_with(protocol));
        let (names, values) = (lines.next()?, lines.next()?);
        let place = names.split_whitespace().position(|name| name == "InCsumErrors")?;
        values.split_whitespace().nth(place)?.parse().ok()
    };
    new + of("Tcp:").expect("it is counted") + of("Udp:").expect("it is counted")
}

/// - `l2-switch`, RFC 1071: checksums that hosts leave to their cards are completed
#[test]
fn a_switch_past_the_kernel_completes_what_hosts_leave_to_their_cards() {
    let right = ["10.0.0.2/24", "3fff:0:0:1::2/64"];
    let Some(hosts) = Hosts::new(&["ping"], &LEFT, &right) else { return };
    let text = SWITCH.replace("af-packet", "af-xdp").replace(LONGEST, "");
    let switch = hosts.start(&text);
    wait_for(&hosts, &switch, "10.0.0.2");
    exchange((&hosts.left, &hosts.right), "10.0.0.2", LEN);
    exchange((&hosts.left, &hosts.right), "3fff:0:0:1::2", LEN);
}
