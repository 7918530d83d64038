//! The gateway's IPv6 address: Neighbor Discovery and pings from either side.

use std::net::Ipv6Addr;

use function_mobile_gateway::gateway::ACCESS;
use model_kit::build::{NeighbourMessage, behind_ipv6};
use wire::bytes::put_u16;
use wire::{MacAddr, ethernet, icmp, ipv6, protocol};

use super::build::frame;
use super::steps::Sample;

/// Questions for it, and packets to it, where there is one.
pub(super) fn own_ipv6(sample: &mut Sample) {
    let Some(own) = sample.config().gw_ipv6 else { return };
    solicitations(sample, own);
    pings(sample, own);
}

fn solicitations(sample: &mut Sample, own: Ipv6Addr) {
    let [.., a, b, c] = own.octets();
    let group = Ipv6Addr::from_bits(0xff02 << 112 | 0x01_ff00_0000 | own.to_bits() & 0xff_ffff);
    let (mac, group_mac) = (sample.config().gw_mac, MacAddr([0x33, 0x33, 0xff, a, b, c]));
    let good = NeighbourMessage {
        to: group_mac,
        from: STATION,
        ends: [ASKER, group],
        kind: 135,
        flags: 0,
        target: own,
        options: [&[1, 1][..], &STATION.0].concat(),
    };
    let alone = NeighbourMessage { to: mac, ends: [ASKER, own], ..good.clone() };
    let nobody = Ipv6Addr::UNSPECIFIED;
    let begins = NeighbourMessage { ends: [nobody, group], options: Vec::new(), ..good.clone() };
    let spoiled = |at: usize| {
        let mut frame = alone.frame();
        frame[at] ^= 1;
        frame
    };
    let frames = [
        ("a solicitation for the IPv6 address", good.frame()),
        ("the same to the gateway alone", alone.frame()),
        ("the same without an option", {
            NeighbourMessage { options: Vec::new(), ..alone.clone() }.frame()
        }),
        ("a search for duplicates of the IPv6 address", begins.frame()),
        ("a search that says an address", {
            NeighbourMessage { ends: [nobody, own], ..alone.clone() }.frame()
        }),
        ("a solicitation for another address of the group", {
            let target = Ipv6Addr::from_bits(own.to_bits() ^ 1 << 100);
            NeighbourMessage { target, ..good.clone() }.frame()
        }),
        ("a solicitation to a group that is another's", {
            NeighbourMessage { to: MacAddr([0x33, 0x33, 0xff, 9, 9, 9]), ..good.clone() }.frame()
        }),
        ("a solicitation by way of the link-local address", {
            NeighbourMessage { ends: [ASKER, ipv6::link_local(mac)], ..alone.clone() }.frame()
        }),
        ("an advertisement to the IPv6 address", {
            NeighbourMessage { kind: 136, target: ASKER, ..alone.clone() }.frame()
        }),
        ("a solicitation for the IPv6 address from afar", spoiled(HOPS)),
        ("a solicitation for the IPv6 address with a wrong checksum", spoiled(MESSAGE + 2)),
        ("a solicitation for the IPv6 address with a code", spoiled(MESSAGE + 1)),
        ("a solicitation for the IPv6 address with a broken option", spoiled(MESSAGE + 25)),
    ];
    for (about, frame) in frames {
        sample.core(about, frame.clone());
        sample.access(about, frame);
    }
}

fn pings(sample: &mut Sample, own: Ipv6Addr) {
    let mac = sample.config().gw_mac;
    let send = |from: Ipv6Addr, protocol: u8, message: &[u8]| {
        let mut message = message.to_vec();
        if protocol == protocol::ICMPV6 {
            let sum = icmp::checksum_ipv6(from, own, &message);
            put_u16(&mut message, 2, sum);
        }
        let fields = ipv6::Fields {
            traffic_class: 7,
            flow_label: 9,
            payload_len: message.len() as u16,
            next_header: protocol,
            hop_limit: 1,
            source: from,
            destination: own,
        };
        frame(mac, STATION, ethernet::TYPE_IPV6, &behind_ipv6(fields, &message))
    };
    let ping = |kind: u8, len: usize| send(ASKER, protocol::ICMPV6, &message(kind, len));
    let edit = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = ping(128, 40);
        change(&mut frame);
        frame
    };
    let in_options = [&[protocol::ICMPV6, 0, 1, 4, 0, 0, 0, 0][..], &message(128, 40)].concat();
    let [loopback, group] = [Ipv6Addr::LOCALHOST, Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1)];
    let frames = [
        ("a ping to the IPv6 address", ping(128, 40)),
        ("a long ping to the IPv6 address", ping(128, 1240)),
        ("a ping to the IPv6 address that is longer than most links", ping(128, 1800)),
        ("a ping to the IPv6 address with padding", edit(&|frame| frame.extend([0; 9]))),
        ("a ping to the IPv6 address, changed", edit(&|frame| frame[MESSAGE + 9] ^= 1)),
        ("a ping to the IPv6 address from a group of stations", edit(&|frame| frame[6] |= 1)),
        ("a reply to the IPv6 address", ping(129, 40)),
        ("an error to the IPv6 address", ping(2, 60)),
        ("a ping to the IPv6 address cut short", ping(128, 4)),
        (
            "no message to the IPv6 address",
            edit(&|frame| {
                frame.truncate(MESSAGE);
                put_u16(frame, ethernet::HEADER_LEN + ipv6::offset::PAYLOAD_LEN, 0);
            }),
        ),
        ("a ping from no address", send(Ipv6Addr::UNSPECIFIED, 58, &message(128, 40))),
        ("a ping from the loopback", send(loopback, 58, &message(128, 40))),
        ("a ping from a group", send(group, 58, &message(128, 40))),
        ("a ping behind options", send(ASKER, protocol::IPV6_DESTINATION_OPTIONS, &in_options)),
        ("a datagram to the IPv6 address", send(ASKER, protocol::UDP, &[0; 20])),
    ];
    for (about, frame) in frames {
        sample.core(about, frame.clone());
        sample.access(about, frame);
    }
    for _ in 0..PINGS {
        sample.frame_at_once(ACCESS, "one of many pings to the IPv6 address", ping(128, 40));
    }
}

/// A message of ICMPv6 without checksum.
fn message(kind: u8, len: usize) -> Vec<u8> {
    let mut message: Vec<u8> = (0..len).map(|at| at as u8).collect();
    message[..4].copy_from_slice(&[kind, 0, 0, 0]);
    message
}

/// Who asks.
const ASKER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xa5);
const STATION: MacAddr = MacAddr([0x0a, 0, 0, 0, 6, 0xa5]);

const HOPS: usize = ethernet::HEADER_LEN + ipv6::offset::HOP_LIMIT;
const MESSAGE: usize = ethernet::HEADER_LEN + ipv6::HEADER_LEN;

/// Pings at once.
const PINGS: u32 = 6;
