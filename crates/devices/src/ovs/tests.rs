//! Frames through each pipeline of a switch that runs. Where Open vSwitch or the right to make
//! namespaces is absent there is nothing to test.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use machine::clock::{self, Clock};
use model_kit::service::{Gateway, GatewayTunnel, GatewayUser, Interface, NextHop, Route, Router};
use packet::{Batch, Room};
use wire::MacAddr;

use super::*;

/// A switch with the tester's ends of its links.
struct Rig {
    ports: Vec<Opened>,
    running: Box<dyn Running>,
    batch: Batch,
    /// Lock that lets one switch run at a time, because each has threads that poll.
    _alone: std::sync::MutexGuard<'static, ()>,
}

/// Longest frame that fits the switch's AF_XDP with a tunnel.
const LONGEST: usize = AF_XDP_FRAME_MAX - TUNNEL_BYTES;

static ALONE: Mutex<()> = Mutex::new(());

impl Rig {
    fn start(service: &Service, options: Value) -> Option<Rig> {
        let options = options.as_object().expect("a mapping").clone();
        let read = Options::read(&options).expect("keys");
        if let Err(missing) = available_for(read.datapath) {
            eprintln!("skipped: {}; {}", missing.why, missing.remedy);
            return None;
        }
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let cores = machine::cpu::available_cores();
        let request = Start {
            service,
            function: "test",
            port_names: &[],
            configuration: &Value::Null,
            initial: &|| Ok(Vec::new()),
            beside: &[],
            standby: None,
            options: &options,
            workers: 1,
            cores: &cores[cores.len() - 1..],
            frame_bytes_max: LONGEST,
            clock: Clock::with_rate(1e9),
            stop: Arc::new(AtomicBool::new(false)),
        };
        let mut running = Ovs.start(&request).unwrap_or_else(|error| {
            panic!("{}; {}", error.what, error.remedy);
        });
        let ports = running.ports();
        let room = Room { headroom: 0, frame: LONGEST + TUNNEL_BYTES, long: 0 };
        let batch = Batch::new(256, room).expect("memory");
        Some(Rig { ports, running, batch, _alone: alone })
    }

    fn send(&mut self, port: usize, frame: &[u8]) {
        self.batch.clear();
        self.batch.append(PortId(0), frame.len()).expect("room").copy_from_slice(frame);
        let sent = self.ports[port].queues[0].transmit(&mut self.batch, &[0], clock::now());
        assert_eq!(sent, 1, "{:?}", self.ports[port].monitor.counts());
    }

    /// Returns the next received frame with its port.
    fn receive(&mut self) -> (usize, Vec<u8>) {
        let start = Instant::now();
        loop {
            for (number, port) in self.ports.iter_mut().enumerate() {
                self.batch.clear();
                if port.queues[0].receive(&mut self.batch, 1, clock::now()) == 1 {
                    return (number, self.batch.frame(0).to_vec());
                }
            }
            if start.elapsed() > Duration::from_secs(20) {
                panic!("nothing came out; {:?}", self.running.usage());
            }
            std::thread::yield_now();
        }
    }

    /// Asserts that a frame leaves by a port in this form.
    fn forwards(&mut self, from: usize, frame: &[u8], to: usize, expected: &[u8]) {
        self.send(from, frame);
        let (port, got) = self.receive();
        assert_eq!((port, &got[..]), (to, expected), "got {got:02x?}");
    }

    /// Asserts that such frames leave by this port only, once the switch has revalidated its flows;
    /// `known` is a frame that is forwarded after them.
    fn comes_to_forward(&mut self, from: usize, frame: &[u8], to: usize, known: &Known) {
        let start = Instant::now();
        for number in 0u32.. {
            let frame = [frame, &number.to_be_bytes()].concat();
            self.send(from, &frame);
            self.send(known.0, &known.1);
            let mut ports = Vec::new();
            loop {
                let (port, got) = self.receive();
                if got == known.3 && port == known.2 {
                    break;
                }
                ports.extend((got == frame).then_some(port));
            }
            if ports == [to] {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "it goes to {ports:?}");
        }
    }

    /// Asserts that a frame is dropped: the one after it, which is known to pass, arrives first.
    fn drops(&mut self, from: usize, frame: &[u8], known: &Known) {
        self.send(from, frame);
        let (known_from, known_frame, to, expected) = known;
        self.forwards(*known_from, known_frame, *to, expected);
    }
}

/// A frame that passes: its ports in and out, and its forms.
type Known = (usize, Vec<u8>, usize, Vec<u8>);

fn mac(number: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, number])
}

/// Returns an IPv4 packet with this TTL and UDP inside.
fn ipv4(from: [u8; 4], to: [u8; 4], hops: u8, content: &[u8]) -> Vec<u8> {
    let len = (20 + content.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(len.to_be_bytes());
    packet.extend([0, 0, 0x40, 0, hops, 17, 0, 0]);
    packet.extend([from, to].concat());
    let sum: u32 = packet.chunks(2).map(|half| u32::from(half[0]) << 8 | u32::from(half[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(content);
    packet
}

fn udp(from: u16, to: u16, content: &[u8]) -> Vec<u8> {
    let len = 8 + content.len() as u16;
    [from, to, len, 0]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .chain(content.iter().copied())
        .collect()
}

fn ipv6(from: Ipv6Addr, to: Ipv6Addr, hops: u8, content: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((content.len() as u16).to_be_bytes());
    packet.extend([59, hops]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    packet.extend(content);
    packet
}

fn frame(to: MacAddr, from: MacAddr, kind: u16, content: &[u8]) -> Vec<u8> {
    [&to.0[..], &from.0[..], &kind.to_be_bytes()[..], content].concat()
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

fn veth() -> Value {
    json!({"ports": "af-xdp"})
}

#[test]
fn a_bridge_forwards_by_its_stations() {
    let stations = vec![(mac(1), PortId(0)), (mac(2), PortId(1))];
    let bridge =
        Bridge { ports: 2, beyond: vec![], stations, ageing_s: None, floods: false, patch: None };
    let Some(mut rig) = Rig::start(&Service::Bridge(bridge), veth()) else { return };
    let up = frame(mac(2), mac(1), 0x88b5, &[7; 50]);
    let known = (0, up.clone(), 1, up.clone());
    rig.forwards(0, &up, 1, &up);
    let down = frame(mac(1), mac(2), 0x88b5, &[8; 1400]);
    rig.forwards(1, &down, 0, &down);
    let longest = frame(mac(1), mac(2), 0x88b5, &[9; LONGEST - 14]);
    rig.forwards(1, &longest, 0, &longest);
    rig.drops(0, &frame(mac(9), mac(1), 0x88b5, &[1; 50]), &known);
    rig.drops(0, &frame(mac(1), mac(7), 0x88b5, &[1; 50]), &known);
    let reserved = MacAddr([0x01, 0x80, 0xc2, 0, 0, 0x0e]);
    rig.drops(0, &frame(reserved, mac(1), 0x88cc, &[1; 50]), &known);
    let facts = rig.running.facts();
    assert!(facts.version.starts_with("Open vSwitch "), "{facts:?}");
    let usage = rig.running.usage();
    assert!(usage.cpu_ns > Some(0) && usage.resident_bytes > Some(1 << 20), "{usage:?}");
    assert!(usage.cpu_of.contains("1 of them polling"), "{usage:?}");
    rig.running.health().expect("it runs");
}

#[test]
fn a_bridge_learns_and_floods() {
    let bridge = Bridge {
        ports: 3,
        beyond: vec![],
        stations: vec![],
        ageing_s: Some(300.0),
        floods: true,
        patch: None,
    };
    let Some(mut rig) = Rig::start(&Service::Bridge(bridge), veth()) else { return };
    let first = frame(mac(2), mac(1), 0x88b5, &[7; 50]);
    rig.send(0, &first);
    let mut flooded = [rig.receive(), rig.receive()];
    flooded.sort();
    assert_eq!(flooded, [(1, first.clone()), (2, first.clone())]);
    let answer = frame(mac(1), mac(2), 0x88b5, &[8; 50]);
    rig.forwards(2, &answer, 0, &answer);
    let known = (2, answer.clone(), 0, answer);
    rig.comes_to_forward(0, &first, 2, &known);
    // The station moves.
    let moved = frame(mac(1), mac(2), 0x88b5, &[9; 50]);
    let known = (1, moved.clone(), 0, moved);
    rig.comes_to_forward(0, &first, 1, &known);
}

#[test]
fn two_ports_are_patched() {
    let patch = Some([None, Some(mac(7))]);
    let bridge =
        Bridge { ports: 2, beyond: vec![], stations: vec![], ageing_s: None, floods: false, patch };
    let Some(mut rig) = Rig::start(&Service::Bridge(bridge), veth()) else { return };
    let any = frame(mac(2), mac(1), 0x88b5, &[7; 50]);
    rig.forwards(0, &any, 1, &frame(mac(2), mac(7), 0x88b5, &[7; 50]));
    rig.forwards(1, &any, 0, &any);
}

fn interface(number: u8) -> Interface {
    Interface {
        mac: mac(0x10 + number),
        ipv4: Some((Ipv4Addr::new(198, 18, number, 1), 24)),
        ipv6: Some((Ipv6Addr::from_bits(0x2001_0db8 << 96 | u128::from(number) << 64 | 1), 64)),
        reverse_path: model_kit::service::ReversePath::None,
        vrf: 0,
    }
}

fn hop(number: u8) -> NextHop {
    NextHop {
        port: PortId(number % 2),
        vlan: None,
        mac: mac(0x20 + number),
        source: (number == 3).then_some(mac(0x33)),
        ipv4: (number < 2).then_some(Ipv4Addr::new(198, 18, number, 2)),
        ipv6: None,
    }
}

fn router(more: u32) -> Router {
    let to = |a: u8, b: u8, len, next_hop| Route {
        prefix: Ipv4Addr::new(a, b, 0, 0).into(),
        len,
        next_hop,
        vrf: 0,
    };
    let prefix = |bits: u128| Ipv6Addr::from_bits(bits << 96).into();
    let mut routes = vec![to(20, 0, 8, 1), to(20, 1, 16, 3), to(21, 0, 8, 0)];
    routes.push(Route { prefix: prefix(0x3fff_0000), len: 20, next_hop: 1, vrf: 0 });
    routes.push(Route { prefix: prefix(0x3fff_0001), len: 32, next_hop: 0, vrf: 0 });
    routes.extend((0..more).map(|number| Route {
        prefix: Ipv4Addr::from_bits(0x3000_0000 + (number << 8)).into(),
        len: 24,
        next_hop: number % 4,
        vrf: 0,
    }));
    Router {
        interfaces: vec![interface(0), interface(1)],
        next_hops: (0..4).map(hop).collect(),
        routes,
        ..Router::default()
    }
}

#[test]
fn a_router_takes_the_longest_prefix() {
    let Some(mut rig) = Rig::start(&Service::Router(router(20_000)), veth()) else { return };
    let (host, content) = ([198, 18, 0, 9], udp(1, 2, &[5; 40]));
    let packet = |to, hops| frame(mac(0x10), mac(1), IPV4, &ipv4(host, to, hops, &content));
    let sent = |to, hops, hop: u8, from: u8| {
        frame(mac(0x20 + hop), mac(from), IPV4, &ipv4(host, to, hops, &content))
    };
    let known = (0, packet([20, 0, 0, 1], 64), 1, sent([20, 0, 0, 1], 63, 1, 0x11));
    rig.forwards(0, &known.1, 1, &known.3);
    rig.forwards(0, &packet([20, 1, 9, 9], 2), 1, &sent([20, 1, 9, 9], 1, 3, 0x33));
    // Back to where it came from.
    rig.forwards(0, &packet([21, 3, 3, 3], 9), 0, &sent([21, 3, 3, 3], 8, 0, 0x10));
    // A neighbour's own address, and the last of many routes.
    rig.forwards(0, &packet([198, 18, 1, 2], 9), 1, &sent([198, 18, 1, 2], 8, 1, 0x11));
    rig.forwards(0, &packet([0x30, 0x4e, 0x1f, 7], 9), 1, &sent([0x30, 0x4e, 0x1f, 7], 8, 3, 0x33));
    for (to, hops) in [([20, 0, 0, 1], 1), ([20, 0, 0, 1], 0), ([22, 0, 0, 1], 64)] {
        rig.drops(0, &packet(to, hops), &known);
    }
    for to in [[198, 18, 1, 1], [224, 0, 0, 5], [127, 0, 0, 1], [255, 255, 255, 255]] {
        rig.drops(0, &packet(to, 64), &known);
    }
    let mut other = packet([20, 0, 0, 1], 64);
    other[..6].copy_from_slice(&mac(0x11).0);
    rig.drops(0, &other, &known);

    let from = Ipv6Addr::from_bits(0x2001_0db8 << 96 | 9);
    for (bits, hop, port) in [(0x3fff_0002, 1, 1), (0x3fff_0001, 0, 0)] {
        let to = Ipv6Addr::from_bits(bits << 96 | 5);
        let packet = frame(mac(0x10), mac(1), IPV6, &ipv6(from, to, 64, &[6; 60]));
        let own = mac(0x10 + port as u8);
        let expected = frame(mac(0x20 + hop), own, IPV6, &ipv6(from, to, 63, &[6; 60]));
        rig.forwards(0, &packet, port, &expected);
        let expired = frame(mac(0x10), mac(1), IPV6, &ipv6(from, to, 1, &[6; 60]));
        rig.drops(0, &expired, &known);
    }
    let asked = |operation: u8, sender: &[u8], target: &[u8]| {
        [&[0, 1, 8, 0, 6, 4, 0, operation], sender, target].concat()
    };
    let own = [&mac(0x10).0[..], &[198, 18, 0, 1]].concat();
    let host = [&mac(1).0[..], &[198, 18, 0, 9]].concat();
    let question = asked(1, &host, &[&[0; 6][..], &[198, 18, 0, 1]].concat());
    let question = frame(MacAddr::BROADCAST, mac(1), 0x0806, &question);
    rig.forwards(0, &question, 0, &frame(mac(1), mac(0x10), 0x0806, &asked(2, &own, &host)));
}

fn gateway(users: u32, rate_bytes_per_s: f64) -> Gateway {
    let mut router = router(0);
    router.interfaces.iter_mut().for_each(|interface| interface.mac = mac(0x10));
    router.routes.push(Route {
        prefix: Ipv4Addr::new(1, 1, 0, 1).into(),
        len: 32,
        next_hop: 2,
        vrf: 0,
    });
    let user = |number| GatewayUser {
        ipv4: Ipv4Addr::from_bits(0x0303_0001 + number),
        ipv6_prefix: Some(0x3fff_0003_0000_0000 + u64::from(number)),
        teid: number + 1,
        base_station: Ipv4Addr::new(1, 1, 0, 1),
    };
    Gateway {
        router,
        address: Ipv4Addr::from(OWN),
        tunnel: GatewayTunnel::Vxlan { down: [mac(0x10), MacAddr::BROADCAST] },
        users: (0..users).map(user).collect(),
        rate_bytes_per_s,
        burst_bytes: 2000.0,
    }
}

const OWN: [u8; 4] = [200, 0, 0, 1];
const STATION: [u8; 4] = [1, 1, 0, 1];

/// Returns a frame between gateway and base station with a user's frame inside.
fn tunnelled(macs: [MacAddr; 2], ends: [[u8; 4]; 2], vni: u32, inner: &[u8]) -> Vec<u8> {
    let vxlan = [&[8, 0, 0, 0], &(vni << 8).to_be_bytes()[..], inner].concat();
    let outer = ipv4(ends[0], ends[1], 64, &udp(4789, 4789, &vxlan));
    frame(macs[0], macs[1], IPV4, &outer)
}

#[test]
fn a_gateway_knows_its_users_and_their_tunnels() {
    let service = Service::MobileGateway(gateway(500, 1e6));
    let Some(mut rig) = Rig::start(&service, veth()) else { return };
    let (server, content) = ([20, 0, 0, 1], udp(1, 2, &[5; 40]));
    let up = |vni, user, hops| {
        let inner = frame(mac(0x66), mac(0x67), IPV4, &ipv4(user, server, hops, &content));
        tunnelled([mac(0x10), mac(0x22)], [STATION, OWN], vni, &inner)
    };
    let sent = |user, hops| frame(mac(0x21), mac(0x10), IPV4, &ipv4(user, server, hops, &content));
    let known = (0, up(1, [3, 3, 0, 1], 64), 1, sent([3, 3, 0, 1], 63));
    rig.forwards(0, &known.1, 1, &known.3);
    rig.forwards(0, &up(500, [3, 3, 1, 244], 9), 1, &sent([3, 3, 1, 244], 8));
    rig.drops(0, &up(2, [3, 3, 0, 1], 64), &known);
    rig.drops(0, &up(501, [3, 3, 1, 245], 64), &known);
    rig.drops(0, &up(1, [3, 3, 0, 1], 1), &known);

    let down = |user, hops| ipv4(server, user, hops, &content);
    let to_user = |user, hops| frame(mac(0x10), mac(0x21), IPV4, &down(user, hops));
    let to_station = |vni, user, hops| {
        let inner = frame(MacAddr::BROADCAST, mac(0x10), IPV4, &down(user, hops));
        tunnelled([mac(0x22), mac(0x10)], [OWN, STATION], vni, &inner)
    };
    rig.forwards(1, &to_user([3, 3, 0, 1], 64), 0, &to_station(1, [3, 3, 0, 1], 63));
    rig.forwards(1, &to_user([3, 3, 0, 9], 2), 0, &to_station(9, [3, 3, 0, 9], 1));
    rig.drops(1, &to_user([3, 3, 9, 9], 64), &known);
    rig.drops(1, &to_user([3, 3, 0, 1], 1), &known);

    let user = Ipv6Addr::from_bits(0x3fff_0003_0000_0004 << 64 | 77);
    let server = Ipv6Addr::from_bits(0x3fff_0002 << 96 | 5);
    let inner = frame(mac(0x66), mac(0x67), IPV6, &ipv6(user, server, 64, &[6; 60]));
    let packet = tunnelled([mac(0x10), mac(0x22)], [STATION, OWN], 5, &inner);
    let expected = frame(mac(0x21), mac(0x10), IPV6, &ipv6(user, server, 63, &[6; 60]));
    rig.forwards(0, &packet, 1, &expected);
    let packet = frame(mac(0x10), mac(0x21), IPV6, &ipv6(server, user, 64, &[6; 60]));
    let inner = frame(MacAddr::BROADCAST, mac(0x10), IPV6, &ipv6(server, user, 63, &[6; 60]));
    let expected = tunnelled([mac(0x22), mac(0x10)], [OWN, STATION], 5, &inner);
    rig.forwards(1, &packet, 0, &expected);
}

/// Offset of the last octet of a user's address after a tunnel's headers.
const INNER_DESTINATION_END: usize = TUNNEL_BYTES + 14 + 19;

#[test]
fn a_users_rate_is_limited_by_a_meter() {
    let service = Service::MobileGateway(gateway(2, 10_000.0));
    let Some(mut rig) = Rig::start(&service, veth()) else { return };
    let packet = |user| {
        let content = udp(1, 2, &[5; 1000]);
        frame(mac(0x10), mac(0x21), IPV4, &ipv4([20, 0, 0, 1], [3, 3, 0, user], 64, &content))
    };
    // Far more than the burst of 2,000 bytes, then one of another user, whom it does not concern.
    (0..40).for_each(|_| rig.send(1, &packet(1)));
    rig.send(1, &packet(2));
    let mut passed = 0;
    while rig.receive().1[INNER_DESTINATION_END] != 2 {
        passed += 1;
    }
    assert!((1..20).contains(&passed), "{passed} of 40 passed");
    // A thread tells its counters to the others now and then.
    let start = Instant::now();
    let is_told = |rig: &mut Rig| {
        let drops = rig.running.usage().drops;
        drops.contains(&("datapath_drop_meter".to_owned(), 40 - passed))
    };
    while !is_told(&mut rig) {
        let usage = rig.running.usage();
        assert!(start.elapsed() < Duration::from_secs(30), "{passed} passed; {usage:?}");
    }
}

#[test]
fn what_the_switch_cannot_do_is_refused_or_said() {
    let options = |value: Value| value.as_object().cloned().expect("a mapping");
    let mut gtp = gateway(1, 1e6);
    gtp.tunnel = GatewayTunnel::GtpU;
    let refused = Ovs.limitations(&Service::MobileGateway(gtp), &Map::new()).expect_err("no GTP");
    assert!(refused.remedy.contains("tunnel: vxlan"), "{refused:?}");
    let router = Service::Router(router(1));
    let unknown = Ovs.limitations(&router, &options(json!({"datapaths": "dpdk"})));
    assert!(unknown.expect_err("no such key").what.contains("datapaths"));
    let shared = options(json!({"interfaces": "vhost-user"}));
    let refused = Ovs.limitations(&router, &shared).expect_err("only with DPDK");
    assert!(refused.remedy.contains("datapath: dpdk"), "{refused:?}");
    let told = Ovs.limitations(&router, &Map::new()).expect("told");
    assert!(told.iter().any(|one| one.verdicts.contains(&"ip-checksum")), "{told:?}");
}

#[test]
fn a_switch_with_packet_sockets_or_dpdk_forwards_too() {
    let stations = vec![(mac(1), PortId(0)), (mac(2), PortId(1))];
    let bridge =
        Bridge { ports: 2, beyond: vec![], stations, ageing_s: None, floods: false, patch: None };
    for keys in [
        json!({"ports": "af-xdp", "interfaces": "af-packet"}),
        json!({"ports": "af-xdp", "datapath": "dpdk"}),
        json!({"ports": "af-xdp", "datapath": "dpdk", "interfaces": "af-packet"}),
        json!({"datapath": "dpdk", "interfaces": "vhost-user"}),
    ] {
        let service = Service::Bridge(bridge.clone());
        let Some(mut rig) = Rig::start(&service, keys.clone()) else { continue };
        let up = frame(mac(2), mac(1), 0x88b5, &[7; 50]);
        rig.forwards(0, &up, 1, &up);
        let down = frame(mac(1), mac(2), 0x88b5, &[8; 1400]);
        rig.forwards(1, &down, 0, &down);
        println!("{keys}: {:?}", rig.running.facts());
    }
}
