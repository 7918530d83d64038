//! A router whose interfaces the programs of its host use as their own: unmodified programs at the
//! router and on the hosts around it, each in a namespace.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::time::Duration;

use netns::Namespace;
use serde_json::Value;

use crate::kit::{Lab, until};
use crate::neighbours::host;

/// A router with hosts at two ports.
struct Site {
    lab: Lab,
    hosts: [Namespace; 2],
}

impl Site {
    /// Makes the hosts; none, and a note, where that cannot be done.
    fn new(programs: &[&str]) -> Option<Site> {
        let needed = ["ip", "ethtool"].iter().chain(programs);
        for program in needed {
            if !netns::is_installed(program) {
                println!("skipped: this needs {program}");
                return None;
            }
        }
        let lab = Lab::bare()?;
        let hosts = [1, 2].map(|net| {
            let near = format!("lan{net}");
            let (ip, ipv6) = (format!("10.0.{net}.2/24"), format!("2001:db8:{net}::2/64"));
            let routes =
                [format!("default via 10.0.{net}.1"), format!("default via 2001:db8:{net}::1")];
            let host = host(&lab, &near, &[&ip, &ipv6], &routes.each_ref().map(String::as_str));
            // The kernel has the port's own interface beside the host's, and would answer at it.
            lab.namespace.ip(&format!("link set {near} arp off")).expect("an interface");
            let off = ["-K", "eth", "tx", "off", "tso", "off", "gso", "off"];
            host.command("ethtool", &off, None).expect("features of veth");
            host
        });
        Some(Site { lab, hosts })
    }

    /// The text of a router, with the places of its interfaces at the host.
    fn text([first, second]: [&str; 2], more: &str) -> String {
        format!(
            "function:
  name: l3-router
  ipv6: true
  resolve: true
  icmp-errors-per-s: 100
  ports:
    - {{name: lan1, mac: 02:00:00:00:00:01, ip: 10.0.1.1/24, ipv6: 2001:db8:1::1/64,
       host-interface: {first}}}
    - {{name: lan2, mac: 02:00:00:00:00:02, ip: 10.0.2.1/24, ipv6: 2001:db8:2::1/64}}
  interfaces:
    - {{port: lan2, host-interface: {second}}}
ports:
  lan1: {{type: af-packet, interface: lan1}}
  lan2: {{type: af-packet, interface: lan2}}
workers: {{idle: sleep}}
{more}"
        )
    }

    fn punts(&self) -> Value {
        let (_, shown, _) = self.lab.run(&["show", "punts", "--json"]);
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        shown["punts"].clone()
    }
}

/// Sends pings until one is answered.
fn ping(from: &Namespace, to: &str) {
    until(&format!("an answer of {to}"), || {
        from.command("ping", &["-n", "-c", "1", "-W", "2", to], None).ok()
    });
}

#[test]
fn pings_pass_between_the_host_of_a_router_and_its_neighbours() {
    let Some(Site { lab, hosts }) = Site::new(&["ping"]) else { return };
    let places = ["r1", "r2"];
    let _router = lab.start(&lab.write("router.yaml", &Site::text(places, "")));
    let [first, second] = &hosts;
    let router = &lab.namespace;
    for to in ["10.0.1.2", "2001:db8:1::2", "10.0.2.2"] {
        ping(router, to);
    }
    for to in ["10.0.1.1", "2001:db8:1::1", "fe80::ff:fe00:1%eth", "ff02::2%eth"] {
        // The host is no router to the kernel, and is in the group of all nodes alone.
        ping(first, &to.replace("ff02::2", "ff02::1"));
    }
    for to in ["10.0.2.1", "2001:db8:2::1"] {
        ping(second, to);
    }
    // What is in transit goes on, and passes no kernel.
    for (from, to) in [(first, "10.0.2.2"), (second, "2001:db8:1::2")] {
        ping(from, to);
    }
    for place in places {
        let key = format!("net/ipv4/conf/{place}/forwarding");
        let value = router.run(|| fs::read_to_string(format!("/proc/sys/{key}")));
        assert_eq!(value.expect("the namespace").expect("a setting").trim(), "0", "{key}");
    }
    // One that somebody deletes is made again, and keeps its counts.
    router.ip("link del r2").expect("it is there");
    ping(second, "10.0.2.1");
    let site = Site { lab, hosts };
    let punts = site.punts();
    for reason in ["icmp", "arp", "nd"] {
        assert!(punts["reasons"][reason]["delivered"].as_u64() > Some(0), "{reason}: {punts}");
    }
    for place in places {
        let counts = &punts["interfaces"][place];
        assert!(counts["up"].as_u64() > Some(1) && counts["down"].as_u64() > Some(1), "{punts}");
    }
}

#[test]
fn groups_and_broadcasts_reach_programs_of_the_host() {
    let Some(site) = Site::new(&[]) else { return };
    let Site { lab, hosts: [first, _] } = &site;
    let _router = lab.start(&lab.write("router.yaml", &Site::text(["r1", "r2"], "")));
    let socket = |namespace: &Namespace, address: &str| {
        let socket = namespace.run(|| UdpSocket::bind(address)).expect("the namespace");
        let socket = socket.expect("the address is there");
        socket.set_read_timeout(Some(Duration::from_millis(500))).expect("a socket");
        socket
    };
    // As DHCP, RIP and RIPng are heard; and what is beyond the link is not.
    let dhcp = socket(&lab.namespace, "0.0.0.0:67");
    let near = socket(&lab.namespace, "0.0.0.0:520");
    let ripng = socket(&lab.namespace, "[::]:521");
    let group = Ipv4Addr::new(224, 0, 0, 9);
    near.join_multicast_v4(&group, &Ipv4Addr::new(10, 0, 1, 1)).expect("a group");
    let index = |namespace: &Namespace, name: &str| -> u32 {
        let index = namespace.attribute(name, "ifindex").expect("an interface");
        index.parse().expect("a number")
    };
    let group_ipv6 = "ff02::9".parse().expect("an address");
    ripng.join_multicast_v6(&group_ipv6, index(&lab.namespace, "r1")).expect("a group");
    let (sender, sender_ipv6) = (socket(first, "10.0.1.2:9"), socket(first, "[2001:db8:1::2]:9"));
    sender.set_broadcast(true).expect("a socket");
    let scoped = format!("[ff02::9%{}]:521", index(first, "eth"));
    for (from, to, hears) in [
        (&sender, "255.255.255.255:67", &dhcp),
        (&sender, "10.0.1.255:67", &dhcp),
        (&sender, "224.0.0.9:520", &near),
        (&sender_ipv6, &scoped, &ripng),
    ] {
        until(&format!("a datagram to {to}"), || {
            let to: SocketAddr = to.parse().expect("an address");
            from.send_to(to.to_string().as_bytes(), to).expect("it can be sent");
            let mut bytes = [0; 100];
            let (len, source) = hears.recv_from(&mut bytes).ok()?;
            (bytes[..len] == *to.to_string().as_bytes() && source.port() == 9).then_some(())
        });
    }
    assert!(site.punts()["reasons"]["multicast"]["delivered"].as_u64() > Some(2));
}

#[test]
fn streams_pass_between_programs_at_a_router_and_on_hosts() {
    let Some(site) = Site::new(&["ping", "python3", "curl"]) else { return };
    let Site { lab, hosts: [first, second] } = &site;
    let limits = "punt: {local: {per-s: 0, per-s-and-source: 0}}\n";
    let _router = lab.start(&lab.write("router.yaml", &Site::text(["r1", "r2"], limits)));
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|at| (at ^ at >> 8) as u8).collect();
    fs::write(lab.folder.path().join("data"), &bytes).expect("writable");
    for (server, client, address) in [
        (&lab.namespace, first, "10.0.1.1"),
        (second, &lab.namespace, "2001:db8:2::2"),
        (&lab.namespace, second, "10.0.2.1"),
    ] {
        ping(client, address);
        let mut command = Command::new("python3");
        command.args(["-m", "http.server", "8000", "--bind", address]);
        let _server = server.spawn({
            command.current_dir(lab.folder.path());
            command
        });
        let host = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
        let copy = lab.folder.path().join("copy");
        let place = copy.display().to_string();
        let url = format!("http://{host}:8000/data");
        until("the file", || {
            let words = ["-s", "-f", "-g", "-m", "50", "-o", &place, &url];
            client.command("curl", &words, None).ok()
        });
        assert!(fs::read(&copy).expect("a file") == bytes, "as it was sent from {address}");
    }
    if netns::is_installed("iperf3") {
        let mut command = Command::new("iperf3");
        command.args(["-s", "-1"]);
        let _server = first.spawn(command).expect("it starts");
        let report = until("a report", || {
            let words = ["-c", "10.0.1.2", "-t", "1", "-J"];
            let report = lab.namespace.command("iperf3", &words, None).ok()?;
            let report: Value = serde_json::from_str(&report).expect("JSON");
            // As long as the server does not listen.
            report["error"].is_null().then_some(report)
        });
        let received = &report["end"]["sum_received"];
        println!("{} bit/s", received["bits_per_second"]);
        assert!(received["bytes"].as_u64() > Some(0), "{report}");
    }
    assert_eq!(site.punts()["restarts"], 0);
}

/// The text of a router whose host is in a VLAN of a trunk; the other port is a spare one.
fn on_trunk(number: u8, interface: &str) -> String {
    format!(
        "function:
  name: l3-router
  ipv6: true
  ports: [{{name: trunk, mac: 02:00:00:00:07:0{number}}}, {{name: spare, mac: 02:00:00:00:08:01}}]
  interfaces:
    - {{port: trunk, vlan: 7, ip: 10.0.7.{number}/24, mtu: 1400, host-interface: host.7}}
    - {{port: trunk, vlan: 8, ipv6: 2001:db8:8::{number}/64, host-interface: host.8}}
ports:
  trunk: {{type: af-packet, interface: {interface}}}
  spare: {{type: tap, interface: spare0}}
workers: {{idle: sleep}}
"
    )
}

#[test]
fn hosts_of_two_routers_reach_one_another_by_vlans() {
    if !netns::is_installed("ping") {
        println!("skipped: this needs ping");
        return;
    }
    let (Some(one), Some(other)) = (Lab::bare(), Lab::bare()) else { return };
    one.namespace.veth("trunk0", &other.namespace, "trunk1").expect("a link");
    let _first = one.start(&one.write("one.yaml", &on_trunk(1, "trunk0")));
    let _second = other.start(&other.write("other.yaml", &on_trunk(2, "trunk1")));
    for (from, number) in [(&one.namespace, 2), (&other.namespace, 1)] {
        ping(from, &format!("10.0.7.{number}"));
        ping(from, &format!("2001:db8:8::{number}"));
        // Link-local addresses follow from the port's: both VLANs have the same one.
        ping(from, &format!("fe80::ff:fe00:70{number}%host.7"));
        ping(from, &format!("fe80::ff:fe00:70{number}%host.8"));
    }
    let mtu = one.namespace.ip("link show host.7").expect("it is there");
    assert!(mtu.contains("mtu 1400"), "{mtu}");
    // As long as the link takes.
    let longest = ["-n", "-c", "1", "-W", "10", "-M", "do", "-s", "1372", "10.0.7.2"];
    one.namespace.command("ping", &longest, None).expect("an answer");
}

/// Sends ARP of ever other stations, and packets that end at the router, until it is killed.
const FLOOD: &str = "
import itertools, socket, struct
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(('eth', 0))
def ip(to):
    h = struct.pack('>BBHHHBBH4s4s', 69, 0, 28, 0, 0, 1, 17, 0, bytes([10, 0, 2, 2]), bytes(to))
    total = sum(struct.unpack('>10H', h))
    total = (total & 0xffff) + (total >> 16)
    h = h[:10] + struct.pack('>H', ~total & 0xffff) + h[12:]
    return bytes.fromhex('020000000002020000000099') + b'\\x08\\0' + h + b'\\0\\x09\\0\\x09\\0\\x08\\0\\0'
dying = [ip([10, 0, 1, 2]), ip([10, 0, 2, 1])]
for n in itertools.count():
    own = b'\\x02\\x01' + struct.pack('>I', n & 0xffff)
    arp = bytes.fromhex('0001080006040001') + own + bytes([10, 0, 2, 9]) + b'\\0' * 6
    s.send(b'\\xff' * 6 + own + b'\\x08\\x06' + arp + bytes([10, 0, 2, 1]))
    s.send(dying[n & 1])
";

#[test]
fn a_flood_of_arp_and_of_expiring_packets_stops_no_ping() {
    let Some(site) = Site::new(&["ping", "python3"]) else { return };
    let Site { lab, hosts: [first, second] } = &site;
    let limits = "punt: {arp: {per-s: 200}, local: {per-s: 400, per-s-and-source: 50}}\n";
    let _router = lab.start(&lab.write("router.yaml", &Site::text(["r1", "r2"], limits)));
    ping(first, "10.0.1.1");
    let mut command = Command::new("python3");
    command.args(["-c", FLOOD]);
    let _flood = second.spawn(command).expect("it starts");
    until("the flood to be more than may come up", || {
        let reasons = site.punts()["reasons"].clone();
        let over = |reason: &str, why: &str| reasons[reason][why].as_u64() > Some(1000);
        (over("arp", "over_rate") && over("local", "over_source")).then_some(())
    });
    for to in ["10.0.1.1", "2001:db8:1::1"] {
        ping(first, to);
    }
    ping(&lab.namespace, "10.0.1.2");
    ping(first, "10.0.2.2");
}

/// A namespace that `ip netns` knows, for as long as this lives.
struct Kept(String);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

#[test]
fn an_interface_of_the_host_can_be_in_a_namespace_of_its_own() {
    let Some(site) = Site::new(&["ping"]) else { return };
    let Site { lab, hosts: [first, _] } = &site;
    let kept = Kept(format!("plumb-{}", std::process::id()));
    let status = Command::new("ip").args(["netns", "add", &kept.0]).status().expect("it starts");
    if !status.success() {
        println!("skipped: `ip netns add` is not possible here");
        return;
    }
    let place = format!("{{name: r1, namespace: {}}}", kept.0);
    let _router = lab.start(&lab.write("router.yaml", &Site::text([&place, "r2"], "")));
    ping(first, "10.0.1.1");
    let there = Command::new("ip").args(["-n", &kept.0, "-br", "addr", "show", "r1"]).output();
    let there = String::from_utf8_lossy(&there.expect("it starts").stdout).into_owned();
    assert!(there.contains("10.0.1.1/24") && there.contains("2001:db8:1::1/64"), "{there}");
    assert!(lab.namespace.ip("link show r1").is_err(), "it is nowhere else");
    assert!(lab.namespace.ip("link show r2").is_ok());
}
