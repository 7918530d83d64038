//! Fragments to and from IPv6 subscribers (RFC 7915 sections 4.1 and 5.1.1).
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_cgnat::types::sides::INSIDE;

use super::super::fragments::Part;
use super::super::packets::word;
use super::super::state::{Judgement, Left, Model};
use super::reason;
use crate::translation::oracle::{Ends, Port, take_ipv6, to_ipv4, to_ipv6};

/// A fragment, and all that is behind its headers.
type Found = Option<(Part, Vec<u8>)>;

impl Model {
    /// What a fragment of IPv6 is; none of others.
    pub(in crate::oracle) fn part_of_ipv6(&self, packet: &[u8]) -> Result<Found, &'static str> {
        if packet[0] >> 4 != 6 {
            return Ok(None);
        }
        let taken = take_ipv6(packet, true).map_err(reason)?;
        let to = self.extract(taken.destination).ok_or("not-embedded")?;
        let place = taken.fragment.ok_or("fragment")?;
        // RFC 7915 section 1.2: nobody can make the checksum right.
        let protocol = match taken.protocol {
            58 => return Err("fragment"),
            1 => 255,
            protocol => protocol,
        };
        let part = Part {
            key: (INSIDE, (taken.source.into(), 0), to, protocol, place.identification),
            start: usize::from(place.offset) * 8,
            len: taken.body.len(),
            more: place.more_fragments,
        };
        Ok(Some((part, taken.body)))
    }

    /// The first fragment from an IPv6 subscriber, as a packet of its own.
    pub(in crate::oracle) fn first_of_ipv6(
        &mut self,
        packet: &[u8],
        now: Duration,
        left: Left<'_>,
    ) -> Judgement {
        let taken = take_ipv6(packet, true).map_err(reason)?;
        let to = self.extract(taken.destination).ok_or("not-embedded")?;
        let ports = [word(&taken.body, 0), word(&taken.body, 2)];
        self.leaving_ipv6((packet, &taken), (taken.protocol, ports), to, now, left)
    }

    /// A fragment with new addresses, of which one family at least is not what it was.
    pub(in crate::oracle) fn follow_translated(
        &self,
        packet: &[u8],
        ends: &[u8],
    ) -> Result<Vec<u8>, &'static str> {
        let rules = self.rules()?;
        let port = Port::Kept;
        let (from, to) = ends.split_at(ends.len() / 2);
        let as_ipv4 = |source: Ipv4Addr, destination: Ipv4Addr| {
            let ends = Ends { source, destination, port };
            to_ipv4(packet, &ends, 0, &rules, &mut |_| None).map_err(reason)
        };
        let Ok(from) = <[u8; 16]>::try_from(from) else {
            let end = |end: &[u8]| Ipv4Addr::new(end[0], end[1], end[2], end[3]);
            return as_ipv4(end(from), end(to));
        };
        let to = <[u8; 16]>::try_from(to).map_err(|_| "unhandled")?;
        let ends = Ends::<Ipv6Addr> { source: from.into(), destination: to.into(), port };
        let nobody = Ipv4Addr::UNSPECIFIED;
        let ipv4 = match packet[0] >> 4 {
            6 => as_ipv4(nobody, nobody)?,
            _ => packet.to_vec(),
        };
        let header = usize::from(ipv4[0] % 16) * 4;
        let len = 48 + ipv4.len() - header;
        if ipv4[6] & 0x40 != 0 && len > usize::from(self.nat64()?.ipv6_mtu) {
            return Err("too-big");
        }
        to_ipv6(&ipv4, &ends, &rules, &mut |_| None).map_err(reason)
    }
}
