//! Random headers, with every field in the range that the wire has for it.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use wire::{MacAddr, arp, ethernet, gtpu, ipv4, ipv6, pcp, tcp, udp, vxlan};

/// Generates any address.
pub fn mac() -> impl Strategy<Value = MacAddr> {
    any::<[u8; 6]>().prop_map(MacAddr)
}

prop_compose! {
    /// Generates any Ethernet header.
    pub fn ethernet_fields()(
        destination in mac(),
        source in mac(),
        ether_type in ethernet::TYPE_MIN..,
    ) -> ethernet::Fields {
        ethernet::Fields { destination, source, ether_type }
    }
}

prop_compose! {
    /// Generates any ARP packet.
    pub fn arp_fields()(
        operation in any::<u16>(),
        sender_mac in mac(),
        sender_ip in any::<Ipv4Addr>(),
        target_mac in mac(),
        target_ip in any::<Ipv4Addr>(),
    ) -> arp::Fields {
        arp::Fields { operation, sender_mac, sender_ip, target_mac, target_ip }
    }
}

prop_compose! {
    /// Generates any IPv4 header for a payload of this length.
    pub fn ipv4_fields(payload_len: usize)(
        (dscp, ecn) in (0u8..64, 0u8..4),
        identification in any::<u16>(),
        (dont_fragment, more_fragments) in any::<(bool, bool)>(),
        fragment_offset in 0u16..=ipv4::FRAGMENT_OFFSET_MASK,
        (ttl, protocol) in any::<(u8, u8)>(),
        (source, destination) in any::<(Ipv4Addr, Ipv4Addr)>(),
    ) -> ipv4::Fields {
        let total_len = (ipv4::HEADER_LEN + payload_len) as u16;
        ipv4::Fields {
            dscp, ecn, total_len, identification, dont_fragment, more_fragments, fragment_offset,
            ttl, protocol, source, destination,
        }
    }
}

prop_compose! {
    /// Generates any IPv6 header for a payload of this length.
    pub fn ipv6_fields(payload_len: usize)(
        traffic_class in any::<u8>(),
        flow_label in 0u32..1 << 20,
        (next_header, hop_limit) in any::<(u8, u8)>(),
        (source, destination) in any::<(Ipv6Addr, Ipv6Addr)>(),
    ) -> ipv6::Fields {
        let payload_len = payload_len as u16;
        ipv6::Fields {
            traffic_class, flow_label, payload_len, next_header, hop_limit, source, destination,
        }
    }
}

prop_compose! {
    /// Generates any TCP header, with any checksum.
    pub fn tcp_fields()(
        (source_port, destination_port, checksum) in any::<(u16, u16, u16)>(),
        (sequence, acknowledgment) in any::<(u32, u32)>(),
        header_words in 5u8..16,
        (flags, window, urgent) in any::<(u8, u16, u16)>(),
    ) -> tcp::Fields {
        tcp::Fields {
            source_port, destination_port, sequence, acknowledgment, header_len: header_words * 4,
            flags, window, checksum, urgent,
        }
    }
}

prop_compose! {
    /// Generates any UDP header for a payload of this length, with any checksum.
    pub fn udp_fields(payload_len: usize)(
        (source_port, destination_port, checksum) in any::<(u16, u16, u16)>(),
    ) -> udp::Fields {
        let length = (udp::HEADER_LEN + payload_len) as u16;
        udp::Fields { source_port, destination_port, length, checksum }
    }
}

prop_compose! {
    /// Generates any GTP-U header for a body of this length.
    pub fn gtpu_fields(body_len: usize)(
        (message_type, teid) in any::<(u8, u32)>(),
    ) -> gtpu::Fields {
        gtpu::Fields { message_type, length: body_len as u16, teid }
    }
}

prop_compose! {
    /// Generates any optional fields of GTP-U before a payload without extension headers.
    pub fn gtpu_optional_fields()(
        (sequence, n_pdu_number, extension) in any::<(Option<u16>, Option<u8>, Option<()>)>()
            .prop_filter("a field has a value", |fields| *fields != (None, None, None)),
    ) -> gtpu::OptionalFields {
        let next_extension = extension.map(|()| gtpu::EXTENSION_NONE);
        gtpu::OptionalFields { sequence, n_pdu_number, next_extension }
    }
}

prop_compose! {
    /// Generates any VXLAN header.
    pub fn vxlan_fields()(vni in 0..=vxlan::VNI_MAX) -> vxlan::Fields {
        vxlan::Fields { vni }
    }
}

prop_compose! {
    /// Generates any headers of PCP.
    pub fn pcp_headers()(
        (opcode, result) in (0u8..128, any::<u8>()),
        (lifetime, epoch) in any::<(u32, u32)>(),
        client in any::<u128>(),
    ) -> (pcp::Request, pcp::Response) {
        let request = pcp::Request { opcode, lifetime, client: client.into() };
        (request, pcp::Response { opcode, result, lifetime, epoch })
    }
}

prop_compose! {
    /// Generates any data of the opcode MAP.
    pub fn pcp_map()(
        nonce in any::<[u8; 12]>(),
        protocol in any::<u8>(),
        (internal_port, external_port) in any::<(u16, u16)>(),
        external in any::<u128>(),
    ) -> pcp::Map {
        let external_address = external.into();
        pcp::Map { nonce, protocol, internal_port, external_port, external_address }
    }
}

/// Generates any payload, and fields that depend on its length.
pub fn with_payload<F, S>(fields: F) -> impl Strategy<Value = (S::Value, Vec<u8>)>
where
    F: Fn(usize) -> S,
    S: Strategy,
{
    prop::collection::vec(any::<u8>(), 0..100)
        .prop_flat_map(move |payload| (fields(payload.len()), Just(payload)))
}
