//! Calls every getter of every view that accepts some bytes.
//!
//! A getter that can panic is found by calling it; nothing else is checked here.

use std::hint::black_box;
use std::net::{Ipv4Addr, Ipv6Addr};

use wire::{arp, ethernet, gtpu, ipv4, ipv6, pcp, tcp, udp, vxlan};

/// Offers the bytes to every parser, whatever they are.
pub fn touch_all(bytes: &[u8]) {
    touch_ethernet(bytes);
    touch_arp(bytes);
    touch_ipv4(bytes);
    touch_ipv6(bytes);
    touch_tcp(bytes);
    touch_udp(bytes);
    touch_gtpu(bytes);
    touch_vxlan(bytes);
    touch_pcp(bytes);
}

/// Calls every getter of an Ethernet view.
pub fn touch_ethernet(bytes: &[u8]) {
    if let Ok(view) = ethernet::View::parse(bytes) {
        black_box((view.fields(), view.payload()));
    }
}

/// Calls every getter of an ARP view.
pub fn touch_arp(bytes: &[u8]) {
    if let Ok(view) = arp::View::parse(bytes) {
        black_box(view.fields());
    }
}

/// Calls every getter of an IPv4 view.
pub fn touch_ipv4(bytes: &[u8]) {
    if let Ok(view) = ipv4::View::parse_without_checksum(bytes) {
        black_box((view.fields(), view.payload(), view.options().count()));
        black_box((view.header_len(), view.is_fragment(), view.has_options()));
        black_box((view.checksum(), view.checksum_is_valid()));
    }
}

/// Calls every getter of an IPv6 view.
pub fn touch_ipv6(bytes: &[u8]) {
    if let Ok(view) = ipv6::View::parse(bytes) {
        let _ = black_box((view.fields(), view.payload(), view.upper_layer()));
    }
}

/// Calls every getter of a TCP view.
pub fn touch_tcp(bytes: &[u8]) {
    if let Ok(view) = tcp::View::parse(bytes) {
        let (ipv4, ipv6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        black_box((view.fields(), view.payload(), view.header_len()));
        black_box((view.options().count(), view.maximum_segment_size()));
        let _ = black_box((view.verify_ipv4(ipv4, ipv4), view.verify_ipv6(ipv6, ipv6)));
    }
}

/// Calls every getter of a UDP view.
pub fn touch_udp(bytes: &[u8]) {
    if let Ok(view) = udp::View::parse(bytes) {
        let (ipv4, ipv6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        black_box((view.fields(), view.payload()));
        let _ = black_box((view.verify_ipv4(ipv4, ipv4), view.verify_ipv6(ipv6, ipv6)));
        let _ = black_box(view.verify_ipv6_tunnel(ipv6, ipv6));
    }
}

/// Calls every getter of a GTP-U view.
pub fn touch_gtpu(bytes: &[u8]) {
    if let Ok(view) = gtpu::View::parse(bytes) {
        black_box((view.fields(), view.optional_fields(), view.header_len(), view.payload()));
        black_box(view.extensions().filter(|e| e.is_comprehension_required()).count());
        let _ = black_box((view.elements().count(), view.recovery(), view.error_indication()));
    }
}

/// Calls every getter of a VXLAN view.
pub fn touch_vxlan(bytes: &[u8]) {
    if let Ok(view) = vxlan::View::parse(bytes) {
        black_box((view.fields(), view.payload()));
    }
}

/// Calls every getter of a PCP view, and walks its options.
pub fn touch_pcp(bytes: &[u8]) {
    if let Ok(view) = pcp::View::parse(bytes) {
        black_box((view.is_response(), view.request(), view.response()));
        let _ = black_box(view.map());
        black_box(pcp::options(view.payload()).count());
    }
}
