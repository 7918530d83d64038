//! Frames cut at their headers, one line each, for people to read.

use wire::{ethernet, gtpu, ipv4, ipv6, protocol, udp, vxlan};

/// The pieces of a frame; what is no header comes in lines of 32 bytes.
pub fn layers(frame: &[u8]) -> Vec<&[u8]> {
    let mut layers = Vec::new();
    let mut rest = frame;
    let mut next = Next::Ethernet;
    while !rest.is_empty() {
        let (len, following) = next.look(rest);
        let (layer, behind) = rest.split_at(len.min(rest.len()));
        layers.push(layer);
        (rest, next) = (behind, following);
    }
    layers
}

/// What is expected next.
enum Next {
    Ethernet,
    Ip,
    Udp,
    Gtpu,
    Vxlan,
    Payload,
}

impl Next {
    /// Length of the layer, and what follows it.
    fn look(&self, rest: &[u8]) -> (usize, Next) {
        match self {
            Next::Ethernet => {
                let ether_type = ethernet::View::parse(rest).map(|view| view.ether_type());
                let is_ip = matches!(ether_type, Ok(ethernet::TYPE_IPV4 | ethernet::TYPE_IPV6));
                (ethernet::HEADER_LEN, if is_ip { Next::Ip } else { Next::Payload })
            }
            Next::Ip => match rest[0] >> 4 {
                ipv4::VERSION => {
                    let is_udp = rest.get(9) == Some(&protocol::UDP);
                    let len = usize::from(rest[0] & 0x0f) * 4;
                    (len.max(20), if is_udp { Next::Udp } else { Next::Payload })
                }
                ipv6::VERSION => {
                    let is_udp = rest.get(6) == Some(&protocol::UDP);
                    (ipv6::HEADER_LEN, if is_udp { Next::Udp } else { Next::Payload })
                }
                _ => (LINE_LEN, Next::Payload),
            },
            Next::Udp => {
                let following = match udp::View::parse(rest).map(|view| view.destination_port()) {
                    Ok(gtpu::GTPU_PORT) => Next::Gtpu,
                    Ok(vxlan::VXLAN_PORT) => Next::Vxlan,
                    _ => Next::Payload,
                };
                (udp::HEADER_LEN, following)
            }
            Next::Gtpu => match gtpu::View::parse(rest) {
                Ok(view) if view.message_type() == gtpu::MESSAGE_G_PDU => {
                    (view.header_len(), Next::Ip)
                }
                Ok(view) => (view.header_len(), Next::Payload),
                Err(_) => (LINE_LEN, Next::Payload),
            },
            Next::Vxlan => (vxlan::HEADER_LEN, Next::Ethernet),
            Next::Payload => (LINE_LEN, Next::Payload),
        }
    }
}

const LINE_LEN: usize = 32;
