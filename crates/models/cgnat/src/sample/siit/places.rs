//! Hosts that are translated without sessions, and their packets at the ports.
use std::net::{Ipv4Addr, Ipv6Addr};

use function_cgnat::config::{Family, Side, SiitConfig};
use function_cgnat::siit::eam::Mappings;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use packet::PortId;
use wire::ethernet;

use super::super::steps::{Sample, Sent};

/// A host by both of its addresses.
pub(super) type Host = (Ipv4Addr, Ipv6Addr);

/// Whose packets these are.
pub(super) struct Places {
    pub siit: SiitConfig,
    pub table: Mappings,
    /// Hosts of IPv6: at least one, mapped ones first.
    pub six: Vec<Host>,
    /// Hosts of IPv4.
    pub four: Vec<Host>,
    /// The ports of both.
    pub six_port: PortId,
    pub four_port: PortId,
    /// An address that has no counterpart.
    pub nobody: Ipv6Addr,
}

impl Places {
    pub(super) fn new(sample: &Sample) -> Option<Places> {
        let siit = sample.config.siit.clone()?;
        let table = Mappings::new(&siit.table(), siit.prefix()).ok()?;
        let hosts = |side: Side| {
            let ends = siit.mappings.iter().filter(|one| one.side == side).flat_map(|one| {
                let last = (1u64 << (32 - one.ipv4.len)) - 1;
                let first = one.ipv4.address.to_bits();
                let some = [u64::from(first) + last, u64::from(first) + last / 2, first.into()];
                some.map(|bits| Ipv4Addr::from_bits(bits as u32))
            });
            let named = siit.embedded.iter().filter(|_| side == Side::Inside);
            let embedded = named.map(|network| {
                let hosts = u32::MAX.checked_shr(network.len.into()).unwrap_or(0);
                Ipv4Addr::from_bits(network.address.to_bits() | (hosts / 2))
            });
            let servers = (0..4u32).filter(|_| side == Side::Outside);
            let all = ends.chain(embedded).chain(servers.map(|number| sample.server(number)));
            let known = all.filter_map(|it| table.to_ipv6(it).map(|other| (it, other)));
            known.collect::<Vec<Host>>()
        };
        let (inside, outside) = (hosts(Side::Inside), hosts(Side::Outside));
        let is_ipv6_inside = siit.inside_family == Family::Ipv6;
        let (six, four) = if is_ipv6_inside { (inside, outside) } else { (outside, inside) };
        let ports = if is_ipv6_inside { [INSIDE, OUTSIDE] } else { [OUTSIDE, INSIDE] };
        let mut strangers = (0..9u16).map(|it| Ipv6Addr::new(0x3fff, it, 9, 9, 9, 9, 9, 9));
        let nobody = strangers.find(|it| table.to_ipv4(*it).is_none())?;
        let has_both = !six.is_empty() && !four.is_empty();
        has_both.then(|| Places {
            siit,
            table,
            six,
            four,
            six_port: ports[0],
            four_port: ports[1],
            nobody,
        })
    }

    pub(super) fn six(&self, number: usize) -> Host {
        self.six[number % self.six.len()]
    }

    pub(super) fn four(&self, number: usize) -> Host {
        self.four[number % self.four.len()]
    }
}

impl Sample {
    /// An IPv6 packet at the port of that family.
    pub(super) fn six(&mut self, places: &Places, about: &'static str, packet: &[u8]) -> Sent {
        let mut frame = self.framed(places.six_port, packet);
        frame[12..14].copy_from_slice(&ethernet::TYPE_IPV6.to_be_bytes());
        self.frame(places.six_port, about, frame)
    }

    /// The same of a group of stations, about which nobody is told.
    pub(super) fn six_of_group(&mut self, places: &Places, packet: &[u8]) {
        let mut frame = self.framed(places.six_port, packet);
        frame[12..14].copy_from_slice(&ethernet::TYPE_IPV6.to_be_bytes());
        frame[6] |= 1;
        self.frame(places.six_port, "from IPv6, of a group of stations", frame);
    }

    /// An IPv4 packet at the other one.
    pub(super) fn four(&mut self, places: &Places, about: &'static str, packet: &[u8]) -> Sent {
        let frame = self.framed(places.four_port, packet);
        self.frame(places.four_port, about, frame)
    }
}

/// The longest packet that the sample has: every link takes it.
pub(super) const LONGEST: usize = 1500;
