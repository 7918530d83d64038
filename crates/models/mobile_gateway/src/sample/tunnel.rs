//! The tunnel's own header: GTP-U with all that it can carry, and VXLAN.

use wire::bytes::put_u16;
use wire::{ethernet, gtpu, protocol, vxlan};

use super::build::{datagram, gtpu_message, vxlan_message};
use super::steps::Sample;

/// Messages, flags and extension headers of GTP-U.
pub(super) fn gtpu(sample: &mut Sample) {
    g_pdus(sample);
    extension_headers(sample);
    signalling(sample);
}

/// G-PDUs with optional fields, and with headers that are wrong.
fn g_pdus(sample: &mut Sample) {
    let packet = sample.make.packet(&sample.visitor, true, 80);
    let teid = sample.visitor.teid;
    let g_pdu = |flags: u8, content: &[u8]| gtpu_message(flags, GPDU, teid, content);
    let optional = |flags: u8, fields: [u8; 4]| g_pdu(flags, &[&fields, &packet[..]].concat());
    let with_length = |length: usize| {
        let mut message = g_pdu(0x30, &packet);
        put_u16(&mut message, gtpu::offset::LENGTH, length as u16);
        message
    };
    let messages = [
        ("GTP: a sequence number", optional(0x32, [0x12, 0x34, 0, 0])),
        ("GTP: an N-PDU number", optional(0x31, [0, 0, 9, 0])),
        ("GTP: both numbers", optional(0x33, [0x12, 0x34, 9, 0])),
        ("GTP: a next type without its flag", optional(0x32, [0, 1, 0, 0x85])),
        ("GTP: the extension flag and no extension", optional(0x34, [0, 0, 0, 0])),
        ("GTP: all flags", optional(0x37, [0, 1, 2, 0])),
        ("GTP: the spare bit", g_pdu(0x38, &packet)),
        ("GTP: version 0", g_pdu(0x10, &packet)),
        ("GTP: version 2", g_pdu(0x50, &packet)),
        ("GTP: version 7", g_pdu(0xf0, &packet)),
        ("GTP prime", g_pdu(0x20, &packet)),
        ("GTP: no content", g_pdu(0x30, &[])),
        ("GTP: optional fields cut short", g_pdu(0x32, &[0, 1, 0])),
        ("GTP: optional fields and no content", g_pdu(0x32, &[0, 1, 0, 0])),
        ("GTP: a length too small", with_length(packet.len() - 1)),
        ("GTP: a length too large", with_length(packet.len() + 1)),
        ("GTP: length zero", with_length(0)),
        ("GTP: the largest length", with_length(0xffff)),
        ("GTP: a header cut short", g_pdu(0x30, &[])[..7].to_vec()),
        ("GTP: endpoint zero", gtpu_message(0x30, GPDU, 0, &packet)),
        ("GTP: the highest endpoint", gtpu_message(0x30, GPDU, u32::MAX, &packet)),
    ];
    send(sample, messages);
}

/// Chains of extension headers, whole and broken.
fn extension_headers(sample: &mut Sample) {
    let packet = sample.make.packet(&sample.visitor, true, 80);
    let teid = sample.visitor.teid;
    let chain = |first: u8, headers: &[u8]| {
        gtpu_message(0x34, GPDU, teid, &[&[0, 0, 0, first], headers, &packet].concat())
    };
    let container: [u8; 4] = [1, 0x10, 9, 0];
    let many = |count: usize| {
        let mut headers = [1, 0, 0, 0x40].repeat(count);
        headers[4 * count - 1] = 0;
        headers
    };
    let last = |first: u8, headers: &[u8]| {
        gtpu_message(0x34, GPDU, teid, &[&[0, 0, 0, first], headers].concat())
    };
    let messages = [
        ("GTP: a PDU session container", chain(0x85, &container)),
        ("GTP: a long PDU session container", chain(0x85, &[2, 0x10, 9, 0, 0, 0, 0, 0])),
        ("GTP: two extension headers", chain(0x40, &[1, 8, 0x68, 0x85, 1, 0x10, 9, 0])),
        ("GTP: a PDCP number", chain(0xc0, &[1, 0, 7, 0])),
        ("GTP: a type that need not be known", chain(0x41, &[1, 0, 0, 0])),
        ("GTP: a type that must be known", chain(0x82, &[1, 0, 0, 0])),
        ("GTP: a type that endpoints must know", chain(0xc5, &[1, 0, 0, 0])),
        ("GTP: a type that must be known, second", chain(0x85, &[1, 0, 0, 0x84, 1, 0, 0, 0])),
        ("GTP: eight extension headers", chain(0x40, &many(8))),
        ("GTP: nine extension headers", chain(0x40, &many(9))),
        ("GTP: an extension header of length zero", chain(0x85, &[0, 0, 0, 0])),
        ("GTP: an extension header too long", last(0x85, &[2, 0, 0, 0])),
        ("GTP: an extension header missing", last(0x85, &[])),
        ("GTP: an extension header and no content", last(0x85, &container)),
    ];
    send(sample, messages);
}

/// Messages that are no G-PDU.
fn signalling(sample: &mut Sample) {
    let mut echo = [0; gtpu::ECHO_REQUEST_LEN];
    gtpu::emit_echo_request(0x4321, &mut echo);
    let mut response = [0; gtpu::ECHO_RESPONSE_LEN];
    gtpu::emit_echo_response(0x4321, &mut response);
    let mut indication = [0; gtpu::ERROR_INDICATION_IPV4_LEN];
    gtpu::emit_error_indication_ipv4(7, 5, sample.config().gw_ip, &mut indication);
    let teid = sample.visitor.teid;
    let message = |kind: u8| gtpu_message(0x30, kind, teid, &[]);
    let numbered =
        |kind: u8, more: &[u8]| gtpu_message(0x32, kind, 0, &[&[0x43, 0x22, 0, 0], more].concat());
    let private = [255, 0, 4, 0, 7, 1, 2];
    let extended = [0, 1, 0, 0x82, 1, 0, 0, 0];
    let messages = [
        ("GTP: echo request", echo.to_vec()),
        ("GTP: echo request with an element", numbered(1, &private)),
        ("GTP: echo request with much behind it", numbered(1, &[0; 200])),
        ("GTP: echo request without a number", message(1)),
        ("GTP: echo request with a type to be known", gtpu_message(0x36, 1, 0, &extended)),
        ("GTP: echo response", response.to_vec()),
        ("GTP: error indication", indication.to_vec()),
        ("GTP: error indication cut short", message(26)),
        ("GTP: supported extension headers", numbered(31, &[141, 1, 0x85])),
        ("GTP: end marker", message(254)),
        ("GTP: an unknown message", message(200)),
        ("GTP: message type zero", message(0)),
    ];
    send(sample, messages);
    let make = &sample.make;
    let asked = datagram((50_123, gtpu::GTPU_PORT), &echo);
    let frame = make.over_ip(&sample.visitor, protocol::UDP, &asked);
    sample.access("GTP: echo request from another port", frame.clone());
    sample.core("GTP: echo request from the Internet", frame);
}

/// VXLAN headers and the frames in them.
pub(super) fn vxlan(sample: &mut Sample) {
    let make = &sample.make;
    let visitor = sample.visitor;
    let bridged = make.bridged(&visitor, &make.packet(&visitor, true, 80));
    let vni = visitor.teid;
    let message = |flags: u8, bridged: &[u8]| vxlan_message(flags, vni, bridged);
    let of_type = |ether_type: u16| {
        let mut changed = bridged.clone();
        put_u16(&mut changed, 12, ether_type);
        message(vxlan::FLAG_VNI, &changed)
    };
    let mut reserved = message(0xff, &bridged);
    reserved[1..4].fill(0xff);
    reserved[7] = 0xff;
    let messages = [
        ("VXLAN: reserved bits", reserved),
        ("VXLAN: no identifier", message(0, &bridged)),
        ("VXLAN: all flags but the identifier's", message(0xf7, &bridged)),
        ("VXLAN: a header cut short", message(vxlan::FLAG_VNI, &[])[..7].to_vec()),
        ("VXLAN: no frame", message(vxlan::FLAG_VNI, &[])),
        ("VXLAN: a frame cut short", message(vxlan::FLAG_VNI, &bridged[..13])),
        ("VXLAN: a frame without content", message(vxlan::FLAG_VNI, &bridged[..14])),
        ("VXLAN: ARP", of_type(ethernet::TYPE_ARP)),
        ("VXLAN: a tagged frame", of_type(ethernet::TYPE_VLAN)),
        ("VXLAN: a length instead of a type", of_type(66)),
        ("VXLAN: an IPv6 type around IPv4", of_type(ethernet::TYPE_IPV6)),
        ("VXLAN: identifier zero", vxlan_message(vxlan::FLAG_VNI, 0, &bridged)),
        ("VXLAN: the highest identifier", vxlan_message(8, vxlan::VNI_MAX, &bridged)),
    ];
    send(sample, messages);
}

/// A tunnelled packet cut off at every byte of its headers, lengths not mended.
pub(super) fn truncated(sample: &mut Sample) {
    let make = &sample.make;
    let good = make.tunnelled(&sample.visitor, &make.packet(&sample.visitor, true, 60));
    let payload = good.len() - 32;
    for len in 1..payload {
        sample.access("a tunnelled packet cut short", good[..len].to_vec());
    }
    let good = sample.make.over_core(&sample.make.packet(&sample.visitor, false, 60));
    for len in 1..ethernet::HEADER_LEN + 28 {
        sample.core("a packet for a user cut short", good[..len].to_vec());
    }
}

fn send<const N: usize>(sample: &mut Sample, messages: [(&'static str, Vec<u8>); N]) {
    for (about, message) in messages {
        let frame = sample.make.datagram_from(&sample.visitor, &message);
        sample.access(about, frame);
    }
}

const GPDU: u8 = gtpu::MESSAGE_G_PDU;
