//! Valid packets of every format, for the smoke run of the fuzz targets to damage.
//!
//! They need not be many: each kind of header is there, at the start of an input and inside
//! others.

use std::net::{Ipv4Addr, Ipv6Addr};

use model_kit::build;
use wire::{LAWS, MacAddr, arp, ethernet, gtpu, ipv6, pcp, protocol, tcp, vxlan};

/// A user's packet in every tunnel, from each of its layers on, and what is no tunnel.
pub fn examples() -> Vec<Vec<u8>> {
    let user_ipv4 = ipv4_packet(protocol::UDP, &udp_datagram(5060, &[7; 26]));
    let user_ipv6 = ipv6_packet(&udp_datagram(5060, &[7; 26]));
    let bridged = ethernet_frame(ethernet::TYPE_IPV4, &user_ipv4);
    let mut examples = vec![b"aa:22:bb:44:cc:66".to_vec(), arp_packet()];
    let messages = [
        gtpu_message(&user_ipv4),
        gtpu_message(&user_ipv6),
        gtpu_message_with_extensions(&user_ipv4),
        echo_response(),
        error_indication(),
        supported_extension_headers(),
    ];
    let tunnels = messages.into_iter().map(|message| (gtpu::GTPU_PORT, message));
    let others = [(vxlan::VXLAN_PORT, vxlan_packet(&bridged)), (pcp::SERVER_PORT, pcp_request())];
    for (port, packet) in tunnels.chain(others) {
        let datagram = udp_datagram(port, &packet);
        let ip = ipv4_packet(protocol::UDP, &datagram);
        let frame = ethernet_frame(ethernet::TYPE_IPV4, &ip);
        examples.extend([packet, datagram, ip, frame]);
    }
    let segment = tcp_segment();
    let ip = ipv4_packet(protocol::TCP, &segment);
    examples.extend([segment, ip.clone(), ethernet_frame(ethernet::TYPE_IPV4, &ip)]);
    let arp = ethernet_frame(ethernet::TYPE_ARP, &arp_packet());
    examples.extend([arp, bridged, user_ipv4, user_ipv6]);
    examples.extend(LAWS.iter().flat_map(|law| law.examples).map(|example| example.to_vec()));
    examples
}

fn ethernet_frame(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let [to, from] = [1, 2].map(|last| MacAddr([2, 0, 0, 0, 0, last]));
    build::frame(to, from, ether_type, payload)
}

fn arp_packet() -> Vec<u8> {
    let mut packet = [0; arp::HEADER_LEN];
    let fields = arp::Fields {
        operation: arp::OPERATION_REQUEST,
        sender_mac: MacAddr([2, 0, 0, 0, 0, 2]),
        sender_ip: Ipv4Addr::new(200, 0, 0, 222),
        target_mac: MacAddr::ZERO,
        target_ip: Ipv4Addr::new(200, 0, 0, 1),
    };
    fields.emit(&mut packet);
    packet.to_vec()
}

fn ipv4_packet(protocol: u8, payload: &[u8]) -> Vec<u8> {
    build::packet(Ipv4Addr::new(1, 1, 0, 1), Ipv4Addr::new(200, 0, 0, 1), protocol, payload)
}

/// A packet with one extension header.
fn ipv6_packet(payload: &[u8]) -> Vec<u8> {
    let options = [protocol::UDP, 0, 1, 4, 0, 0, 0, 0];
    let mut header = [0; ipv6::HEADER_LEN];
    let fields = ipv6::Fields {
        traffic_class: 0,
        flow_label: 0,
        payload_len: (options.len() + payload.len()) as u16,
        next_header: protocol::IPV6_DESTINATION_OPTIONS,
        hop_limit: 64,
        source: Ipv6Addr::LOCALHOST,
        destination: Ipv6Addr::LOCALHOST,
    };
    fields.emit(&mut header);
    [&header[..], &options, payload].concat()
}

/// A SYN with the options that Linux sends.
fn tcp_segment() -> Vec<u8> {
    let options = [2, 4, 5, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7];
    let mut header = [0; tcp::HEADER_LEN];
    let fields = tcp::Fields {
        source_port: 4000,
        destination_port: 443,
        sequence: 1,
        acknowledgment: 0,
        header_len: (tcp::HEADER_LEN + options.len()) as u8,
        flags: tcp::FLAG_SYN,
        window: 64240,
        checksum: 0,
        urgent: 0,
    };
    fields.emit(&mut header);
    [&header[..], &options].concat()
}

fn udp_datagram(destination_port: u16, payload: &[u8]) -> Vec<u8> {
    build::datagram((4000, destination_port), payload)
}

fn gtpu_message(payload: &[u8]) -> Vec<u8> {
    let mut header = [0; gtpu::HEADER_LEN];
    let (message_type, length) = (gtpu::MESSAGE_G_PDU, payload.len() as u16);
    gtpu::Fields { message_type, length, teid: 1 }.emit(&mut header);
    [&header[..], payload].concat()
}

fn gtpu_message_with_extensions(payload: &[u8]) -> Vec<u8> {
    let chain = [1, 0x10, 9, gtpu::EXTENSION_UDP_PORT, 1, 0x08, 0x68, gtpu::EXTENSION_NONE];
    let mut header = [0; gtpu::HEADER_LEN_OPTIONAL];
    let optional = gtpu::OptionalFields {
        sequence: Some(1),
        n_pdu_number: Some(2),
        next_extension: Some(gtpu::EXTENSION_PDU_SESSION_CONTAINER),
    };
    let length = (4 + chain.len() + payload.len()) as u16;
    let message_type = gtpu::MESSAGE_G_PDU;
    gtpu::Fields { message_type, length, teid: 1 }.emit_with(&optional, &mut header);
    [&header[..], &chain, payload].concat()
}

fn echo_response() -> Vec<u8> {
    let mut message = [0; gtpu::ECHO_RESPONSE_LEN];
    gtpu::emit_echo_response(1, &mut message);
    message.to_vec()
}

fn error_indication() -> Vec<u8> {
    let mut message = [0; gtpu::ERROR_INDICATION_IPV4_LEN];
    gtpu::emit_error_indication_ipv4(1, 1, Ipv4Addr::new(200, 0, 0, 1), &mut message);
    message.to_vec()
}

fn supported_extension_headers() -> Vec<u8> {
    let mut message = vec![0; 15];
    let kinds = [gtpu::EXTENSION_PDU_SESSION_CONTAINER];
    let len = gtpu::emit_supported_extension_headers(1, &kinds, &mut message);
    assert_eq!(len, Some(message.len()));
    message
}

/// For UDP port 5060, that one or none outside, with an option that nobody knows.
fn pcp_request() -> Vec<u8> {
    let (mut header, mut data) = ([0; pcp::HEADER_LEN], [0; pcp::MAP_LEN]);
    let client = Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped();
    pcp::Request { opcode: pcp::opcode::MAP, lifetime: 600, client }.emit(&mut header);
    let map = pcp::Map {
        nonce: [7; 12],
        protocol: protocol::UDP,
        internal_port: 5060,
        external_port: 5060,
        external_address: Ipv4Addr::UNSPECIFIED.to_ipv6_mapped(),
    };
    map.emit(&mut data);
    let options = [pcp::option::PREFER_FAILURE, 0, 0, 0, 200, 0, 0, 3, 1, 2, 3, 0];
    [&header[..], &data, &options].concat()
}

fn vxlan_packet(payload: &[u8]) -> Vec<u8> {
    let mut header = [0; vxlan::HEADER_LEN];
    vxlan::Fields { vni: 1 }.emit(&mut header);
    [&header[..], payload].concat()
}
