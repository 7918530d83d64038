//! Addresses of IPv6 subscribers, and how their packets are framed.
use std::net::Ipv6Addr;

use function_cgnat::config::Nat64;
use function_cgnat::types::sides::INSIDE;
use model_kit::build::frame;
use model_kit::check::{Answer, Part, Step};
use wire::embedded::Prefix;
use wire::ethernet;

use super::super::build;
use super::super::ipv6::{self, End, datagram};
use super::super::steps::{Sample, Sent};

/// Whose frames these are.
pub(super) struct Places {
    pub nat64: Nat64,
    pub prefix: Prefix,
}

impl Places {
    /// A subscriber, from the end of its network.
    pub(super) fn visitor(&self, number: u128) -> Ipv6Addr {
        let network = self.nat64.inside[self.nat64.inside.len() - 1];
        let hosts = u128::MAX.checked_shr(network.len.into()).unwrap_or(0);
        Ipv6Addr::from_bits((network.address.to_bits() | hosts) - number.min(hosts))
    }

    /// A host outside, as subscribers know it.
    pub(super) fn end(&self, (address, port): build::End) -> End {
        (self.prefix.embed(address), port)
    }

    /// Where the octets of an embedded address stand in an address.
    pub(super) fn octets(&self) -> impl Iterator<Item = usize> {
        (usize::from(self.prefix.len() / 8)..16).filter(|&at| at != 8).take(4)
    }
}

impl Sample {
    /// An IPv6 packet from a subscriber.
    pub(super) fn inside_ipv6(&mut self, about: &'static str, packet: &[u8]) -> Sent {
        let frame = self.framed_ipv6(packet);
        self.frame(INSIDE, about, frame)
    }

    pub(super) fn framed_ipv6(&self, packet: &[u8]) -> Vec<u8> {
        let (to, from) = (self.config.inside_mac.0, self.config.inside_next_hop_mac.0);
        frame(to, from, ethernet::TYPE_IPV6, packet)
    }

    /// The same with parts of frames that left.
    pub(super) fn answer_ipv6(
        &mut self,
        about: &'static str,
        packet: &[u8],
        parts: impl IntoIterator<Item = (Sent, (usize, usize, usize))>,
    ) -> Sent {
        let count = self.count;
        let part = |(sent, (from, len, to)): (Sent, (usize, usize, usize))| Part {
            back: count - sent.0,
            from,
            len,
            to,
        };
        let parts = parts.into_iter().map(part).collect();
        let answer =
            Answer { frame: self.framed_ipv6(packet), parts, finish: ipv6::finish, tag: 0 };
        self.step(Step::Answer { port: INSIDE, answer, about });
        self.count();
        Sent(count)
    }

    /// An IPv6 datagram to the outside end of whoever sent a frame that left.
    pub(super) fn meet(
        &mut self,
        places: &Places,
        at: Sent,
        about: &'static str,
        from: End,
    ) -> Sent {
        let to = (places.prefix.embed(self.places.pool), 9);
        let octets = places.octets().enumerate();
        let mut parts: Vec<_> = octets.map(|(n, at)| (26 + n, 1, DESTINATION + at)).collect();
        parts.push((34, 2, TRANSPORT + 2));
        let packet = datagram(from, to, 20);
        self.answer_ipv6(about, &packet, parts.into_iter().map(|part| (at, part)))
    }
}

/// Where the destination of an IPv6 packet stands in a frame.
pub(super) const DESTINATION: usize = 14 + 24;
/// Where a transport header stands behind an IPv6 header without extensions.
pub(super) const TRANSPORT: usize = 14 + 40;
/// The longest packet that the sample has: every link takes it.
pub(super) const LONGEST: usize = 1500;
