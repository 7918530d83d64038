//! Packets whose ports stand behind many headers, behind ones of every kind, or nowhere.
use crate::ports::{DOWNLINK, Numbered};
use model_kit::build::{datagram, packet, packet_ipv6, set, set_word, text};
use wire::bytes::put_u16;
use wire::ipv6::offset::PAYLOAD_LEN;
use wire::protocol;

use super::steps::{SOURCE_IPV6, Sample, VISITED_HOST_IPV6};

/// As many headers as a list reads and one more, headers of every kind, cut ones, and first
/// fragments that end among them.
pub(super) fn packets(sample: &mut Sample) {
    let (source, host) = (sample.source(), sample.host());
    for (number, flags, len) in
        [(protocol::UDP, 0x2000, 8), (protocol::TCP, 0x2000, 8), (protocol::TCP, 1, 24)]
    {
        let mut sent = packet(source, host, number, &datagram((40_000, 80), &text(20))[..len]);
        set_word(6, flags)(&mut sent);
        sample.packet(DOWNLINK, "a fragment that hides or overwrites what rules look at", &sent);
    }
    let own = sample.config.ip(DOWNLINK).address;
    let mut sent = packet(source, own, protocol::UDP, &datagram((40_000, 80), &text(20)));
    set(8, 1)(&mut sent);
    sample.packet(DOWNLINK, "for the router itself with a time to live of 1", &sent);
    if !sample.config.ipv6 {
        return;
    }
    let most = usize::from(sample.config.extension_headers_max);
    for port in [9, 80] {
        for count in [1, most, most + 1] {
            let sent = behind(&vec![(60, [0; 6]); count], protocol::UDP, port);
            sample.packet(DOWNLINK, "behind many headers", &sent);
        }
        for kind in KINDS {
            let sent = behind(&[(kind, [0; 6])], protocol::UDP, port);
            sample.packet(DOWNLINK, "behind a header of each kind", &sent);
        }
    }
    for kind in KINDS {
        sample.packet(DOWNLINK, "nothing behind a header", &behind(&[(kind, [0; 6])], 59, 80));
        let mut sent = behind(&[(kind, [0; 6])], protocol::UDP, 80);
        sent[41] = 200;
        sample.packet(DOWNLINK, "a header longer than its packet", &sent);
    }
    let (first, second) = ((44, [0, 1, 0, 0, 0, 7]), (44, [0, 8, 0, 0, 0, 8]));
    for chain in [vec![first, (60, [0; 6])], vec![first, first], vec![first, second], vec![second]]
    {
        let sent = behind(&chain, protocol::UDP, 80);
        sample.packet(DOWNLINK, "parts of datagrams", &sent);
        let mut short = sent[..40 + 8 * chain.len()].to_vec();
        put_u16(&mut short, PAYLOAD_LEN, 8 * chain.len() as u16);
        sample.packet(DOWNLINK, "parts that end with their headers", &short);
    }
}

/// A datagram to a port behind headers of eight bytes each, or of twelve where the kind has no
/// shorter ones, and what they say.
fn behind(headers: &[(u8, [u8; 6])], last: u8, port: u16) -> Vec<u8> {
    let data = datagram((40_000, port), &text(20));
    let mut sent = packet_ipv6(SOURCE_IPV6, VISITED_HOST_IPV6, 60)[..40].to_vec();
    let kinds = headers.iter().map(|&(kind, _)| kind).chain([last]);
    let kinds: Vec<u8> = kinds.collect();
    sent[6] = kinds[0];
    for (&(kind, said), next) in headers.iter().zip(&kinds[1..]) {
        sent.extend([*next, u8::from(kind == protocol::AUTHENTICATION)]);
        sent.extend(said);
        sent.extend(if kind == protocol::AUTHENTICATION { &[0; 4][..] } else { &[] });
    }
    sent.extend(data);
    let len = sent.len() as u16 - 40;
    put_u16(&mut sent, PAYLOAD_LEN, len);
    sent
}

const KINDS: [u8; 10] = [0, 43, 44, 51, 60, 135, 139, 140, 253, 254];
