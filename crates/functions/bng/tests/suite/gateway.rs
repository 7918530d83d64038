//! The gateway of these tests, its subscribers, and frames of theirs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_bng::config::Config;
use function_bng::{BroadbandGateway, Pipeline};
use function_kit::{NetworkFunction, Shard};
use machine::clock::Clock;
use model_kit::build;
use model_kit::device::Device;
use packet::PortId;
use serde_json::{Value, json};
use wire::{MacAddr, ethernet, protocol};

pub const ACCESS: PortId = PortId(0);
pub const CORE: PortId = PortId(1);
pub const OWN: MacAddr = MacAddr([0x02, 0xb0, 0, 0, 0, 0x01]);
pub const OWN_CORE: MacAddr = MacAddr([0x02, 0xb0, 0, 0, 0, 0x02]);
pub const ROUTER: MacAddr = MacAddr([2, 0, 0, 0, 9, 1]);
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
pub const SECOND: u64 = 1_000_000_000;

/// The MAC address of a subscriber's host.
pub fn host(number: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 1, number])
}

/// The IPv4 address of a session.
pub fn ipv4(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, number)
}

/// An address by its text.
pub fn ipv6(text: &str) -> Ipv6Addr {
    text.parse().expect("an address of IPv6")
}

/// A session of IPoE on a VLAN of its own.
pub fn ipoe(number: u8) -> Value {
    json!({
        "number": number,
        "line": {"inner": u16::from(number) + 100},
        "mac": host(number).to_string(),
        "ipv4": ipv4(number),
        "na": format!("3fff::{number:x}"),
        "delegated": format!("3fff:1:{number:x}::/56"),
        "profile": "plain",
    })
}

/// A session of PPPoE behind two tags.
pub fn pppoe(number: u8) -> Value {
    json!({
        "number": number,
        "line": {"outer": 7, "inner": u16::from(number) + 100},
        "mac": host(number).to_string(),
        "pppoe": {"id": 0x1200 + u16::from(number)},
        "ipv4": ipv4(number),
        "slaac": format!("3fff:2:0:{number:x}::/64"),
        "profile": "plain",
    })
}

/// A gateway with sessions 1 of IPoE and 2 of PPPoE, and what else a test says of it.
pub fn config(more: &Value) -> Config {
    let mut all = json!({
        "secret": 7,
        "session-capacity": 16,
        "buffer-kib": 256,
        "access-addresses": ["10.0.0.254", "3fff::ffff"],
        "core-addresses": ["192.0.2.1", "2001:db8::1"],
        "next-hops": [
            {"address": "192.0.2.254", "mac": ROUTER.to_string()},
            {"address": "2001:db8::254", "mac": ROUTER.to_string()},
        ],
        "routes": [
            {"prefix": "0.0.0.0/0", "next-hop": "192.0.2.254"},
            {"prefix": "2000::/3", "next-hop": "2001:db8::254"},
        ],
        "profiles": [{"name": "plain"}],
        "sessions": [ipoe(1), pppoe(2)],
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    let mut config: Config = serde_json::from_value(all).expect("a configuration");
    BroadbandGateway::validate(&mut config).expect("it can be used");
    config
}

/// The running gateway of a configuration.
pub fn device(config: &Config) -> Device<Pipeline> {
    let clock = Clock::with_rate(SECOND as f64);
    let function = BroadbandGateway::function(config, Shard::WHOLE, clock, 0);
    Device::new(function.expect("a small gateway"), 2)
}

/// A packet of UDP between two addresses of one version.
pub fn packet(from: IpAddr, to: IpAddr, len: usize) -> Vec<u8> {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let payload = build::datagram((5000, 9), &build::text(len - 28));
            build::packet(from, to, protocol::UDP, &payload)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => build::packet_ipv6(from, to, len),
        _ => panic!("two versions"),
    }
}

/// A frame of a session of IPoE.
pub fn from_ipoe(number: u8, packet: &[u8]) -> Vec<u8> {
    let tag = [0x81, 0, 0, number + 100];
    let ether_type = build::ether_type_of(packet).to_be_bytes();
    [&OWN.0[..], &host(number).0, &tag, &ether_type, packet].concat()
}

/// A frame of PPP of a session of PPPoE.
pub fn from_pppoe(number: u8, protocol: u16, payload: &[u8]) -> Vec<u8> {
    [&OWN.0[..], &host(number).0, &ppp(number, protocol, payload)].concat()
}

/// A frame for a session of IPoE.
pub fn to_ipoe(number: u8, packet: &[u8]) -> Vec<u8> {
    let tag = [0x81, 0, 0, number + 100];
    let ether_type = build::ether_type_of(packet).to_be_bytes();
    [&host(number).0[..], &OWN.0, &tag, &ether_type, packet].concat()
}

/// A frame for a session of PPPoE.
pub fn to_pppoe(number: u8, packet: &[u8]) -> Vec<u8> {
    let protocol = match build::ether_type_of(packet) {
        ethernet::TYPE_IPV4 => 0x21,
        _ => 0x57,
    };
    [&host(number).0[..], &OWN.0, &ppp(number, protocol, packet)].concat()
}

/// Tags, header and protocol of a frame of PPPoE, and what it bears.
fn ppp(number: u8, protocol: u16, payload: &[u8]) -> Vec<u8> {
    let tags = [0x88, 0xa8, 0, 7, 0x81, 0, 0, number + 100];
    let len = (payload.len() as u16 + 2).to_be_bytes();
    let header = [0x88, 0x64, 0x11, 0, 0x12, number, len[0], len[1]];
    [&tags[..], &header, &protocol.to_be_bytes(), payload].concat()
}

/// A frame from the next hop.
pub fn from_core(packet: &[u8]) -> Vec<u8> {
    build::frame(OWN_CORE, ROUTER, build::ether_type_of(packet), packet)
}

/// A frame for the next hop.
pub fn to_core(packet: &[u8]) -> Vec<u8> {
    build::frame(ROUTER, OWN_CORE, build::ether_type_of(packet), packet)
}

/// A packet one hop further.
pub fn hop(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    match build::ether_type_of(&packet) {
        ethernet::TYPE_IPV4 => {
            packet[8] -= 1;
            build::mend(&mut packet);
        }
        _ => packet[7] -= 1,
    }
    packet
}
