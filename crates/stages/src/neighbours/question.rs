//! A question to a neighbour as a frame: ARP (RFC 826), or a neighbour solicitation (RFC 4861
//! section 4.3).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::{MacAddr, arp, ethernet};

use crate::nd;

/// A question that is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// By which link.
    pub link: u16,
    /// Who has this address.
    pub address: IpAddr,
    /// The station that is asked; none for all of them.
    pub to: Option<MacAddr>,
}

/// The addresses with which a question is asked.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    /// The Ethernet address of the link.
    pub mac: MacAddr,
    /// The IPv4 address on it.
    pub ipv4: Option<Ipv4Addr>,
    /// The IPv6 address on it.
    pub ipv6: Option<Ipv6Addr>,
}

impl Question {
    /// Writes the question as a frame without a tag; its length, or none where the link has no
    /// address of this version to ask with.
    pub fn write(&self, own: Asking, frame: &mut [u8; nd::FRAME_LEN]) -> Option<usize> {
        match self.address {
            IpAddr::V4(target_ip) => {
                let header = ethernet::Fields {
                    destination: self.to.unwrap_or(MacAddr::BROADCAST),
                    source: own.mac,
                    ether_type: ethernet::TYPE_ARP,
                };
                let question = arp::Fields {
                    operation: arp::OPERATION_REQUEST,
                    sender_mac: own.mac,
                    sender_ip: own.ipv4?,
                    target_mac: MacAddr::ZERO,
                    target_ip,
                };
                frame.first_chunk_mut().into_iter().for_each(|place| header.emit(place));
                let rest = &mut frame[ethernet::HEADER_LEN..];
                rest.first_chunk_mut().into_iter().for_each(|place| question.emit(place));
                Some(ethernet::HEADER_LEN + arp::HEADER_LEN)
            }
            IpAddr::V6(target) => {
                nd::solicit(frame, (own.mac, own.ipv6?), target, self.to);
                Some(nd::FRAME_LEN)
            }
        }
    }
}
