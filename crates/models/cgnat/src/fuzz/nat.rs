//! The carrier-grade NAT against its oracle.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_cgnat::config::{
    AddressMapping, Alg, Config, DsLite, Filtering, Forward, ForwardProtocol, Fragments, Interface,
    Pcp, PortBlocks, PortForwarding, PortForwardingHost, PortRange, Prefixed, Side, SiitConfig,
    TcpResets, Vrf,
};
use function_cgnat::workers::steering::Steering;
use function_kit::{PortName, Shard};
use model_kit::build::{datagram, frame, packet, repair};
use model_kit::fuzz::{Body, frame_of, frames, pairs, pass};
use model_kit::pair::Pair;
use packet::{PortId, Room};
use wire::{MacAddr, ethernet, ipv6, pcp, protocol};

use crate::{Cgnat, Traffic};

/// Every frame becomes exactly what the oracle says, in every kind of configuration, as it is, with
/// its checksums made right, so with the tag of a VRF, and with an outer header of a softwire,
/// whole and in two fragments; one of several workers is among them. So much time passes between
/// two inputs that no session is left over. How ports find the worker of a frame must not fail.
#[inline]
pub(super) fn body() -> Body {
    let mut pairs = pairs::<Cgnat>(configs());
    let config = configs().take(1).map(|config| Config { core: 3, ..config });
    pairs.extend(config.map(|config| Pair::new(&config, Shard { index: 1, count: 3 })));
    let mut steerings: Vec<Steering> = configs().map(|config| Steering::new(&config)).collect();
    Box::new(move |data| {
        for pair in &mut pairs {
            for _ in 0..ROUNDS {
                pair.wait(ROUND).unwrap_or_else(|difference| panic!("{difference}"));
            }
        }
        for (port, frame) in frames_of(data) {
            for steering in &mut steerings {
                steering.of_frame(port, &frame);
            }
            pass(&mut pairs, port, &frame, Duration::ZERO);
        }
    })
}

/// What is made of an input.
#[inline]
fn frames_of(data: &[u8]) -> Vec<(PortId, Vec<u8>)> {
    let (port, frame) = frame_of(data);
    let (mut repaired, most) = (frame.clone(), Room::default().frame);
    repair(&mut repaired);
    let mut tagged = repaired.clone();
    if (ethernet::HEADER_LEN..most).contains(&tagged.len()) {
        tagged.splice(12..12, [0x81, 0, 0, VLAN as u8]);
        tagged.truncate(most);
    }
    let mut tunnelled = repaired.clone();
    if (ethernet::HEADER_LEN..most - ipv6::HEADER_LEN).contains(&tunnelled.len()) {
        tunnel(&mut tunnelled);
    }
    let pieces = in_two(&tunnelled, data.len() % 4 < 2);
    let whole = [frame, repaired, tagged, tunnelled].map(|frame| (port, frame));
    let pieces = pieces.into_iter().flatten().map(|piece| (PortId(0), piece));
    whole.into_iter().chain(pieces).collect()
}

/// The outer packet of a frame in two fragments, the first one first or last; none of one that is
/// too short.
fn in_two(frame: &[u8], is_in_order: bool) -> Option<[Vec<u8>; 2]> {
    let (head, body) = frame.split_at_checked(ethernet::HEADER_LEN + ipv6::HEADER_LEN)?;
    let middle = body.len() / 2 / 8 * 8;
    let piece = |part: &[u8], place: u16| {
        let mut head = head.to_vec();
        head[ethernet::HEADER_LEN + 4..][..2]
            .copy_from_slice(&(part.len() as u16 + 8).to_be_bytes());
        let next = std::mem::replace(&mut head[ethernet::HEADER_LEN + 6], protocol::IPV6_FRAGMENT);
        let [high, low] = place.to_be_bytes();
        [&head[..], &[next, 0, high, low, 0, 0, 0, 7], part].concat()
    };
    let mut pieces = [piece(&body[..middle], 1), piece(&body[middle..], middle as u16)];
    if !is_in_order {
        pieces.reverse();
    }
    (middle > 0).then_some(pieces)
}

/// Puts the packet of a frame into a softwire.
fn tunnel(frame: &mut Vec<u8>) {
    let DsLite { aftr, .. } = DsLite::default();
    let b4 = Ipv6Addr::from_bits(aftr.to_bits() + 8);
    let mut header = [0; ipv6::HEADER_LEN];
    ipv6::Fields {
        traffic_class: 0,
        flow_label: 0,
        payload_len: (frame.len() - ethernet::HEADER_LEN) as u16,
        next_header: protocol::IPV4,
        hop_limit: 64,
        source: b4,
        destination: aftr,
    }
    .emit(&mut header);
    frame[12..ethernet::HEADER_LEN].copy_from_slice(&[0x86, 0xdd]);
    frame.splice(ethernet::HEADER_LEN..ethernet::HEADER_LEN, header);
}

/// Frames of clients and servers, of calls, and of what subscribers ask for.
pub(super) fn examples() -> Vec<Vec<u8>> {
    let traffic = Traffic { tcp_share: 0.3, icmp_share: 0.3, ..Traffic::default() };
    let frames_of = |config| frames::<Cgnat>(&config, &traffic, 8);
    let mut examples: Vec<_> = configs().flat_map(frames_of).collect();
    examples.push(request());
    examples.extend(long_packets());
    examples.extend([call([10, 0, 0, 1], [11, 0, 0, 1]), call([11, 0, 0, 1], [198, 18, 0, 9])]);
    examples
}

/// Enhanced GRE from one address to another (RFC 2637 section 4.1).
fn call(from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
    let gre = [0x30, 0x81, 0x88, 0x0b, 0, 2, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0xff, 3];
    to_station(&packet(from.into(), to.into(), protocol::GRE, &gre))
}

/// A request of the Port Control Protocol for a mapping of UDP port 5060 (RFC 6887 section 11.1).
fn request() -> Vec<u8> {
    let client = [&[0; 10][..], &[0xff, 0xff, 10, 0, 0, 1]].concat();
    let head = [2, 1, 0, 0, 0, 0, 2, 88];
    let map = [&[7; 12][..], &[17, 0, 0, 0, 0x13, 0xc4, 0x13, 0xc4], &client, &[2, 0, 0, 0]];
    let asked = [&head[..], &client, &map.concat()].concat();
    let (own, asked) = (Config::default().inside_ip, datagram((40_000, pcp::SERVER_PORT), &asked));
    to_station(&packet([10, 0, 0, 1].into(), own, protocol::UDP, &asked))
}

fn to_station(packet: &[u8]) -> Vec<u8> {
    let [to, from] = [1, 9].map(|last| MacAddr([2, 0, 0, 0, 0, last]));
    frame(to, from, ethernet::TYPE_IPV4, packet)
}

/// Those of every kind, one of which subscribers ask for mappings, one that translates without
/// sessions, too, and one with short links.
#[inline]
fn configs() -> impl Iterator<Item = Config> {
    let pcp = Some(Pcp { mappings: 3, mappings_per_subscriber: 2, ..Pcp::default() });
    let asked = kinds().next().map(|kind| Config { pcp, ..kind });
    let translating = kinds().next().map(|kind| Config {
        siit: Some(hosts_of_both_families()),
        ds_lite: None,
        vrfs: Vec::new(),
        icmp_errors_per_s: 1000,
        ..kind
    });
    let short = kinds().nth(2).map(|kind| Config {
        inside_mtu: 576,
        outside_mtu: 577,
        alg: Alg::default(),
        icmp_errors_per_s: 1000,
        ..kind
    });
    let further = kinds().next().map(|kind| Config { interfaces: interfaces(), ..kind });
    kinds().chain(asked).chain(translating).chain(short).chain(further)
}

/// A VLAN of each port, towards the networks of the samples' hosts.
fn interfaces() -> Vec<Interface> {
    let interface = |port, side, networks| Interface {
        port: PortName::new(port),
        vlan: 7,
        side,
        mac: None,
        ip: Ipv4Addr::new(100, 127, 0, 1),
        ip_len: 24,
        host_interface: None,
        ipv6: None,
        next_hop: Some(Ipv4Addr::new(100, 127, 0, 2)),
        next_hop_ipv6: None,
        next_hop_mac: None,
        networks: vec![networks],
        networks_ipv6: Vec::new(),
    };
    let all = Prefixed { address: Ipv4Addr::UNSPECIFIED, len: 1 };
    vec![interface("inside", Side::Inside, all), interface("outside", Side::Outside, all)]
}

/// Hosts of IPv6 inside, and short links.
fn hosts_of_both_families() -> SiitConfig {
    let prefix = Ipv6Addr::new(0x2001, 0xdb8, 0x64, 0, 0, 0, 0, 0);
    SiitConfig {
        prefix: Some(Prefixed { address: prefix, len: 96 }),
        mappings: vec![AddressMapping {
            ipv4: Prefixed { address: MAPPED, len: 30 },
            ipv6: Prefixed { address: MAPPED_IPV6, len: 126 },
            side: Side::Inside,
        }],
        ipv4_mtu: 576,
        ipv6_mtu: 1280,
        ..SiitConfig::default()
    }
}

/// A datagram of such a host, and one for it, longer than links take.
fn long_packets() -> [Vec<u8>; 2] {
    let outside = [0x20, 1, 0xd, 0xb8, 0, 0x64, 0, 0, 0, 0, 0, 0, 11, 0, 0, 1];
    let datagram = [&[0x13, 0x88, 0, 53, 4, 0xd8, 0, 1][..], &[7; 1232]].concat();
    let six = [
        &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x86, 0xdd, 0x60, 0, 0, 0, 4, 0xd8, 17, 64][..],
        &MAPPED_IPV6.octets(),
        &outside,
        &datagram,
    ];
    let four = [
        &Config::default().outside_mac.0.0[..],
        &[2, 0, 0, 0, 0, 9, 8, 0, 0x45, 0, 4, 0xec, 0, 7, 0, 0, 64, 17, 0, 0, 11, 0, 0, 1],
        &MAPPED.octets(),
        &datagram,
    ];
    let mut four = four.concat();
    repair(&mut four);
    [six.concat(), four]
}

fn kinds() -> impl Iterator<Item = Config> {
    let kinds = [
        (Filtering::EndpointIndependent, 64, true),
        (Filtering::AddressDependent, 0, true),
        (Filtering::AddressAndPortDependent, 64, false),
    ];
    kinds.into_iter().map(|(filtering, size, hairpinning)| Config {
        filtering,
        hairpinning,
        port_block: PortBlocks { size, per_subscriber: 2 },
        tcp_pick_up: !hairpinning,
        tcp_resets: TcpResets::Both,
        mss_clamp: if hairpinning { 1200 } else { 0 },
        sessions: 1000,
        subscribers: 100,
        spare_addresses: 0,
        quarantine_s: 0.0,
        fragments: Fragments { datagrams: size.into(), ..Fragments::default() },
        alg: Alg { pptp: true, connections: 16, ..Alg::default() },
        ds_lite: Some(DsLite { ipv6_mtu: 1280, ..DsLite::default() }),
        // There is either.
        vrfs: if hairpinning { vec![vrf()] } else { Vec::new() },
        bypass: if hairpinning { Vec::new() } else { vec![servers()] },
        port_forwarding: vec![hosts()],
        // The station of the other examples.
        inside_mac: function_kit::sections::Mac(MacAddr([2, 0, 0, 0, 0, 1])),
        secret: Some(1),
        ..Config::default()
    })
}

fn vrf() -> Vrf {
    let Config { inside, .. } = Config::default();
    Vrf { name: "red".to_owned(), vlan: VLAN, inside, pools: Vec::new(), next_hop: None }
}

/// The first servers, to which packets go as they are.
fn servers() -> Prefixed<Ipv4Addr> {
    Prefixed { address: Traffic::default().first_server, len: 30 }
}

/// The first two clients behind one address: the ports of one are forwarded, those of the other
/// drawn.
fn hosts() -> PortForwarding {
    let first = Traffic::default().first_client;
    let forward = Forward {
        protocol: ForwardProtocol::Both,
        first_port: 1,
        last_port: Some(60_000),
        inside_port: Some(5000),
    };
    let range = PortRange { first_port: 60_001, last_port: 60_004 };
    PortForwarding {
        outside: [203, 0, 113, 80].into(),
        hosts: vec![
            PortForwardingHost { inside: first, forwards: vec![forward], dynamic_ports: None },
            PortForwardingHost {
                inside: (first.to_bits() + 1).into(),
                forwards: Vec::new(),
                dynamic_ports: Some(range),
            },
        ],
    }
}

/// Rounds of the sweep in which every session comes to its end; what a smoke run has in all is
/// below the clock of a policer.
const ROUNDS: u32 = 4;
const ROUND: Duration = Duration::from_secs(2500);

/// The first host of both families.
const MAPPED: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 4);
const MAPPED_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xaa, 0, 0, 0, 0, 0);

/// The VLAN of the VRF.
const VLAN: u16 = 9;
