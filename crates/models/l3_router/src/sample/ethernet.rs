//! Frames for others, of other types, and questions for the ports' addresses.
use crate::ports::{Numbered, other};
use packet::PortId;
use std::net::Ipv4Addr;

use model_kit::build::{datagram, frame, packet, text};
use wire::{MacAddr, arp, ethernet};

use super::steps::Sample;

/// Frames that are not for the port, or of no type that it knows.
pub(super) fn ethernet(sample: &mut Sample) {
    let payload = datagram((40_000, 9), &text(40));
    let packet = packet(sample.source(), sample.host(), wire::protocol::UDP, &payload);
    for port in sample.config.numbers() {
        let (own, sender) = (sample.config.mac(port), sample.sender(port));
        let whole = frame(own, sender, ethernet::TYPE_IPV4, &packet);
        for len in [1, 6, 12, 13] {
            sample.frame(port, "a frame cut in its Ethernet header", whole[..len].to_vec());
        }
        sample.frame(port, "a frame that ends behind its Ethernet header", whole[..14].to_vec());
        for (to, about) in [
            (sample.config.mac(other(port)), "a frame for the other port"),
            (MacAddr([0x0a, 0, 0, 0, 9, 9]), "a frame for another station"),
            (MacAddr::BROADCAST, "an IPv4 packet in a broadcast frame"),
            (MacAddr([0x01, 0, 0x5e, 0, 0, 5]), "an IPv4 packet in a multicast frame"),
        ] {
            sample.frame(port, about, frame(to, sender, ethernet::TYPE_IPV4, &packet));
        }
        for (ether_type, about) in [
            (ethernet::TYPE_VLAN, "a tagged frame"),
            (0x88cc, "a frame of LLDP"),
            (0x0026, "a frame with a length"),
            (0x9000, "a frame of an unknown type"),
        ] {
            sample.frame(port, about, frame(own, sender, ether_type, &packet));
        }
    }
}

/// Requests for the ports' addresses, and what is none.
pub(super) fn arp(sample: &mut Sample) {
    for port in sample.config.numbers() {
        let (own, ip) = (sample.config.mac(port), sample.config.ip(port).address);
        let neighbour = Ipv4Addr::from_bits(ip.to_bits() ^ 1);
        for (to, about) in [
            (MacAddr::BROADCAST, "an ARP request for the port's address"),
            (own, "an ARP request for the port's address, to the port alone"),
        ] {
            let request = request(sample, port, to, arp::OPERATION_REQUEST, ip);
            sample.frame(port, about, request);
        }
        let mut relayed = request(sample, port, own, arp::OPERATION_REQUEST, ip);
        relayed[ethernet::offset::SOURCE + 5] ^= 1;
        sample.frame(port, "an ARP request from another station than its sender", relayed);
        let stranger = Ipv4Addr::new(203, 0, 113, 77);
        let other = request(sample, port, MacAddr::BROADCAST, arp::OPERATION_REQUEST, stranger);
        sample.frame(port, "an ARP request for another address", other);
        let reply = request(sample, port, own, arp::OPERATION_REPLY, neighbour);
        sample.frame(port, "an ARP reply", reply);
        let mut short = request(sample, port, own, arp::OPERATION_REQUEST, ip);
        short.truncate(40);
        sample.frame(port, "an ARP request that is cut", short);
        let mut strange = request(sample, port, own, arp::OPERATION_REQUEST, ip);
        strange[ethernet::HEADER_LEN + arp::offset::HARDWARE_LEN] = 8;
        sample.frame(port, "an ARP request of another hardware", strange);
    }
}

fn request(
    sample: &Sample,
    port: PortId,
    to: MacAddr,
    operation: u16,
    target_ip: Ipv4Addr,
) -> Vec<u8> {
    let (sender_mac, target_mac) = (sample.sender(port), MacAddr::ZERO);
    let own = sample.config.ip(port).address;
    let sender_ip = Ipv4Addr::from_bits(own.to_bits() ^ 3);
    let mut packet = [0; arp::HEADER_LEN];
    arp::Fields { operation, sender_mac, sender_ip, target_mac, target_ip }.emit(&mut packet);
    frame(to, sender_mac, ethernet::TYPE_ARP, &packet)
}
