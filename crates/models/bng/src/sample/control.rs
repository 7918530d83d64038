//! What the gateway answers or gives its control plane: ARP, DHCP, Neighbor Discovery.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_bng::config::{Line, Session};
use model_kit::build::{NeighbourMessage, datagram, packet, packet_ipv6_with, set_word};
use wire::bytes::put_u16;
use wire::ipv6::link_local;
use wire::{MacAddr, arp, ethernet, icmp, ipv4, protocol};

use super::build::{self, on_line};
use super::steps::Sample;
use crate::catalogue;

/// Who has the gateway's addresses?
pub(super) fn arp(sample: &mut Sample) {
    let config = sample.config.clone();
    let session = sample.ipoe;
    let of_version = |all: &[IpAddr]| {
        all.iter().find_map(|address| match address {
            IpAddr::V4(address) => Some(*address),
            IpAddr::V6(_) => None,
        })
    };
    let nobody = Ipv4Addr::new(9, 9, 9, 9);
    let access = of_version(&config.access_addresses).unwrap_or(nobody);
    let core = of_version(&config.core_addresses).unwrap_or(nobody);
    let (untagged, router) = (Line { outer: 0, inner: 0 }, catalogue::ROUTER_MAC);
    let places = [
        (true, session.line, session.mac.0, config.access_mac, [access, core]),
        (false, untagged, router, config.core_mac, [core, access]),
    ];
    for (is_line, line, from, mine, [own, other]) in places {
        let said = |to: MacAddr, operation: u16, target: Ipv4Addr| {
            let content = arp_packet(operation, from, session.ipv4, target);
            on_line(&config, line, [to, from], ethernet::TYPE_ARP, &content)
        };
        let (all, ask) = (MacAddr::BROADCAST, arp::OPERATION_REQUEST);
        let request = said(all, ask, own);
        let head = request.len() - arp::HEADER_LEN;
        let edit = |at: usize, value: u8| {
            let mut frame = request.clone();
            frame[head + at] = value;
            frame
        };
        let mut padded = request.clone();
        padded.resize(head + 46, 0);
        let frames = [
            ("ARP: who has the gateway's address?", request.clone()),
            ("ARP: the same with padding", padded),
            ("ARP: the same to the gateway alone", said(mine, ask, own)),
            ("ARP: the same to another station", said(MacAddr([2, 0, 0, 0, 9, 9]), ask, own)),
            ("ARP: who has the address of the other port?", said(all, ask, other)),
            ("ARP: who has another address?", said(all, ask, nobody)),
            ("ARP: a reply", said(mine, arp::OPERATION_REPLY, own)),
            ("ARP: an unknown operation", said(all, 3, own)),
            ("ARP: another kind of hardware", edit(arp::offset::HARDWARE_TYPE + 1, 6)),
            ("ARP: another length of addresses", edit(arp::offset::PROTOCOL_LEN, 16)),
            ("ARP: cut short", request[..request.len() - 1].to_vec()),
        ];
        for (about, frame) in frames {
            if is_line { sample.access(about, frame) } else { sample.core(about, frame) }
        }
    }
}

fn arp_packet(
    operation: u16,
    sender_mac: MacAddr,
    sender_ip: Option<Ipv4Addr>,
    target_ip: Ipv4Addr,
) -> [u8; arp::HEADER_LEN] {
    let mut packet = [0; arp::HEADER_LEN];
    let sender_ip = sender_ip.unwrap_or(Ipv4Addr::UNSPECIFIED);
    let target_mac = MacAddr::ZERO;
    arp::Fields { operation, sender_mac, sender_ip, target_mac, target_ip }.emit(&mut packet);
    packet
}

/// DHCP of clients, and of those who say that they serve.
pub(super) fn dhcp(sample: &mut Sample) {
    let config = sample.config.clone();
    let own = config.access_addresses.clone();
    for session in sample.visitors() {
        let (nobody, all) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST);
        let subscriber = session.ipv4.unwrap_or(nobody);
        let mut ends = vec![
            ("DHCP: a client without an address", nobody, all, (68, 67)),
            ("DHCP: a client with an address", subscriber, all, (68, 67)),
            (
                "DHCP: a client to a server elsewhere",
                subscriber,
                Ipv4Addr::from([50, 0, 0, 2]),
                (68, 67),
            ),
            ("DHCP: a server", subscriber, all, (67, 68)),
            ("DHCP: a relay", subscriber, all, (67, 67)),
            ("DHCP: to all, but no DHCP", subscriber, all, (68, 69)),
        ];
        ends.extend(own.iter().filter_map(|address| match address {
            IpAddr::V4(own) => Some(("DHCP: a client to the gateway", subscriber, *own, (68, 67))),
            IpAddr::V6(_) => None,
        }));
        for (about, from, to, ports) in ends {
            let whole = packet(from, to, protocol::UDP, &datagram(ports, &[1; 60]));
            send(sample, about, &session, MacAddr::BROADCAST, &whole);
            send(sample, about, &session, config.access_mac, &whole);
            let mut part = whole;
            set_word(ipv4::offset::FLAGS_FRAGMENT, 0x2000)(&mut part);
            send(sample, "DHCP: in fragments", &session, config.access_mac, &part);
        }
        dhcpv6(sample, &session);
    }
}

fn dhcpv6(sample: &mut Sample, session: &Session) {
    let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);
    let (from, mine) = (link_local(session.mac.0), link_local(sample.config.access_mac));
    let server = match build::server(false) {
        IpAddr::V6(server) => server,
        IpAddr::V4(_) => group,
    };
    for (about, from, to, ports) in [
        ("DHCPv6: a client to all servers", from, group, (546, 547)),
        ("DHCPv6: a client to the gateway", from, mine, (546, 547)),
        ("DHCPv6: a client to a server elsewhere", session.na.unwrap_or(from), server, (546, 547)),
        ("DHCPv6: a server", from, group, (547, 546)),
        ("DHCPv6: to a group, but no DHCP", from, group, (546, 548)),
    ] {
        let whole = packet_ipv6_with(from, to, protocol::UDP, &datagram(ports, &[1; 60]));
        let station = MacAddr([0x33, 0x33, 0, 1, 0, 2]);
        send(sample, about, session, station, &whole);
        let mine = sample.config.access_mac;
        send(sample, about, session, mine, &whole);
    }
}

/// Router solicitations, and what only routers say.
pub(super) fn discovery(sample: &mut Sample) {
    let routers = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
    for session in sample.visitors() {
        let from = link_local(session.mac.0);
        for (about, kind, hops) in [
            ("a router solicitation", 133, 255),
            ("a router solicitation from elsewhere", 133, 64),
            ("a router advertisement from a subscriber", 134, 255),
            ("a redirect from a subscriber", 137, 255),
            ("a neighbour advertisement of a subscriber", 136, 255),
            ("a neighbour solicitation cut short", 135, 255),
        ] {
            let mut message = [kind, 0, 0, 0, 0, 0, 0, 0];
            let sum = icmp::checksum_ipv6(from, routers, &message);
            put_u16(&mut message, icmp::offset::CHECKSUM, sum);
            let mut whole = packet_ipv6_with(from, routers, protocol::ICMPV6, &message);
            whole[7] = hops;
            send(sample, about, &session, MacAddr([0x33, 0x33, 0, 0, 0, 2]), &whole);
            send(sample, about, &session, sample.config.access_mac, &whole);
        }
    }
    solicitations(sample);
}

/// Who has the gateway's IPv6 addresses, on a line and towards the Internet?
fn solicitations(sample: &mut Sample) {
    let config = sample.config.clone();
    let of_version = |all: &[IpAddr]| {
        all.iter().find_map(|address| match address {
            IpAddr::V6(address) => Some(*address),
            IpAddr::V4(_) => None,
        })
    };
    let nobody = Ipv6Addr::new(0x3fff, 9, 9, 9, 9, 9, 9, 9);
    let session = sample.ipoe;
    let untagged = Session { line: Line { outer: 0, inner: 0 }, ..session };
    let places = [
        (true, config.access_mac, session, &config.access_addresses),
        (false, config.core_mac, untagged, &config.core_addresses),
    ];
    for (is_line, mine, asking, addresses) in places {
        let own = of_version(addresses).unwrap_or(nobody);
        let station = asking.mac.0;
        let source = asking.na.unwrap_or(nobody);
        let question = |target: Ipv6Addr, kind: u8| NeighbourMessage {
            to: mine,
            from: station,
            ends: [source, target],
            kind,
            flags: 0,
            target,
            options: [&[1, 1][..], &station.0].concat(),
        };
        let mut spoiled = question(own, 135).frame();
        spoiled[60] ^= 1;
        let unspecified =
            NeighbourMessage { ends: [Ipv6Addr::UNSPECIFIED, own], ..question(own, 135) };
        let frames = [
            ("a solicitation", question(own, 135).frame()),
            ("a solicitation for the link-local address", question(link_local(mine), 135).frame()),
            ("a solicitation for another", question(nobody, 135).frame()),
            ("an advertisement that nobody asked for", question(own, 136).frame()),
            ("a solicitation that is spoiled", spoiled),
            ("a solicitation of somebody without an address", unspecified.frame()),
        ];
        for (about, frame) in frames {
            let (to, from) = (MacAddr(first(&frame)), station);
            let frame = on_line(&config, asking.line, [to, from], 0x86dd, &frame[14..]);
            if is_line { sample.access(about, frame) } else { sample.core(about, frame) }
        }
    }
}

fn first(frame: &[u8]) -> [u8; 6] {
    let mut mac = [0; 6];
    mac.copy_from_slice(&frame[..6]);
    mac
}

/// A packet of a session to a station.
fn send(sample: &mut Sample, about: &'static str, session: &Session, to: MacAddr, packet: &[u8]) {
    let mut frame = build::up(&sample.config, session, packet);
    frame[..6].copy_from_slice(&to.0);
    sample.access(about, frame);
}
