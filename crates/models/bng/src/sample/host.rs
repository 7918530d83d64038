//! The gateway as a host: pings, more than it answers, other packets for it; and packets of every
//! length around what links take.

use std::net::IpAddr;

use function_bng::config::{Config, Session};
use function_bng::gateway::ACCESS;
use model_kit::build::{packet, packet_ipv6_with, set_word};
use wire::bytes::put_u16;
use wire::ipv6::link_local;
use wire::{checksum, icmp, ipv4, protocol};

use super::build;
use super::steps::{MRU, Sample};

/// ICMP and more to the gateway, from lines and from the Internet.
pub(super) fn pings(sample: &mut Sample) {
    let config = sample.config.clone();
    let links = [config.access_mac, config.core_mac].map(|mac| IpAddr::from(link_local(mac)));
    let own: Vec<IpAddr> = config
        .access_addresses
        .iter()
        .chain(&config.core_addresses)
        .copied()
        .chain(links)
        .collect();
    for gateway in own {
        for session in sample.visitors() {
            let of_it = build::addresses(&session);
            let Some(from) = of_it.iter().find(|own| own.is_ipv4() == gateway.is_ipv4()) else {
                continue;
            };
            let frames = to_gateway(*from, gateway);
            for (about, packet) in frames {
                let frame = build::up(&config, &session, &packet);
                sample.access(about, frame);
            }
            let neighbour = IpAddr::from(link_local(session.mac.0));
            if gateway.is_ipv6() {
                let packet = ping(neighbour, gateway, 0, 40);
                let frame = build::up(&config, &session, &packet);
                sample.access("a ping from a link-local address", frame);
            }
        }
        for (about, packet) in to_gateway(build::server(gateway.is_ipv4()), gateway) {
            let frame = build::down(&config, &packet);
            sample.core(about, frame);
        }
    }
    let session = sample.ipoe;
    let Some(gateway) = config.access_addresses.first().copied() else { return };
    let of_version = |own: &IpAddr| own.is_ipv4() == gateway.is_ipv4();
    let Some(from) = build::addresses(&session).into_iter().find(of_version) else { return };
    let frame = build::up(&config, &session, &ping(from, gateway, 0, 40));
    for _ in 0..PINGS {
        sample.frame_at_once(ACCESS, "one of many pings", frame.clone());
    }
}

fn to_gateway(from: IpAddr, gateway: IpAddr) -> Vec<(&'static str, Vec<u8>)> {
    let good = ping(from, gateway, 0, 40);
    let edit = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut packet = good.clone();
        change(&mut packet);
        packet
    };
    let at = good.len() - 40;
    vec![
        ("a ping", good.clone()),
        ("a ping with a wrong checksum", edit(&|packet| packet[at + 2] ^= 1)),
        (
            "a ping without hops left",
            edit(&|packet| match gateway.is_ipv4() {
                true => model_kit::build::set(ipv4::offset::TTL, 0)(packet),
                false => packet[7] = 0,
            }),
        ),
        ("a reply to a ping", ping(from, gateway, 1, 40)),
        ("a ping cut short", ping(from, gateway, 0, 4)),
        ("UDP for the gateway", build::udp(from, gateway, 60)),
    ]
}

/// A ping, or the reply to one, with a message of so many bytes.
fn ping(from: IpAddr, to: IpAddr, is_reply: u8, len: usize) -> Vec<u8> {
    let mut message: Vec<u8> = (0..len).map(|at| at as u8).collect();
    let kind = match (to.is_ipv4(), is_reply) {
        (true, 0) => 8,
        (true, _) => 0,
        (false, reply) => 128 + reply,
    };
    message[..4].copy_from_slice(&[kind, 0, 0, 0]);
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let sum = checksum::checksum(&message);
            put_u16(&mut message, 2, sum);
            packet(from, to, protocol::ICMP, &message)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let sum = icmp::checksum_ipv6(from, to, &message);
            put_u16(&mut message, 2, sum);
            packet_ipv6_with(from, to, protocol::ICMPV6, &message)
        }
        _ => Vec::new(),
    }
}

/// Packets of every length around what the links take, that may be cut and that may not.
pub(super) fn lengths(sample: &mut Sample) {
    let Config { access_mtu, core_mtu, .. } = sample.config;
    for session in sample.visitors() {
        let line = if session.pppoe.is_some() { least(access_mtu, MRU) } else { access_mtu };
        for own in build::addresses(&session) {
            let server = build::server(own.is_ipv4());
            for len in around(line) {
                let packet = build::udp(server, own, len);
                send(sample, &session, false, packet);
            }
            for len in around(core_mtu) {
                let packet = build::udp(own, server, len);
                send(sample, &session, true, packet);
            }
        }
    }
}

/// A packet with each way of saying whether it may be cut.
fn send(sample: &mut Sample, session: &Session, is_up: bool, packet: Vec<u8>) {
    let is_ipv4 = packet[0] >> 4 == 4;
    let both = [0, ipv4::FLAG_DONT_FRAGMENT, ipv4::FLAG_MORE_FRAGMENTS, 0x2010];
    for flags in both.into_iter().take(if is_ipv4 { 4 } else { 1 }) {
        let mut packet = packet.clone();
        if is_ipv4 {
            set_word(ipv4::offset::FLAGS_FRAGMENT, flags)(&mut packet);
        }
        let about = "a packet of a length around what passes";
        if is_up {
            let frame = build::up(&sample.config, session, &packet);
            sample.access(about, frame);
        } else {
            let frame = build::down(&sample.config, &packet);
            sample.core(about, frame);
        }
    }
}

/// Lengths around what passes; a few where there is no limit.
fn around(mtu: u16) -> Vec<usize> {
    let mtu = usize::from(mtu);
    let all = if mtu == 0 { vec![1000, 1880] } else { vec![mtu - 1, mtu, mtu + 1, mtu + 8, 1880] };
    all.into_iter().filter(|len| *len < 1881).collect()
}

fn least(mtu: u16, mru: u16) -> u16 {
    if mtu == 0 { mru } else { mtu.min(mru) }
}

/// Drop reasons that these do not reach, each with the cause.
pub(super) fn unreachable(config: &Config) -> Vec<(&'static str, &'static str)> {
    let mut reasons = Vec::new();
    if config.pings_per_s == 0 {
        reasons.push(("icmp-malformed", "no pings are answered"));
    }
    if config.pings_per_s == 0 || config.pings_per_s > PINGS {
        reasons.push(("ping-limit", "no pings are answered, or more than a sample has"));
    }
    reasons
}

/// Pings at once.
const PINGS: u32 = 6;
