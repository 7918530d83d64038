//! Outside ends that rules fix, one-to-one and port-forwarding, found by walking through what is
//! configured.
use std::net::Ipv4Addr;

use function_cgnat::config::{Forward, PortForwardingHost};

use super::gateway::script::Wish;
use super::networks::{first, holds};
use super::reading::Keeps;
use super::state::{Left, Model};
use super::tables::{End, Own};

impl Model {
    /// The inside end that an outside end stands for by a rule, whoever has sent from it.
    pub(super) fn inside_of(&self, protocol: u8, outside: End) -> Option<End> {
        let rule = self.config.static_rules.iter().find(|rule| holds(rule.outside, outside.0));
        if let Some(rule) = rule {
            let offset = outside.0.to_bits() - first(rule.outside);
            return Some((Ipv4Addr::from_bits(first(rule.inside) + offset), outside.1));
        }
        let rules = self.config.port_forwarding.iter().filter(|rule| rule.outside == outside.0);
        rules.flat_map(|rule| &rule.hosts).find_map(|host| {
            let port = host.forwards.iter().find_map(|forward| {
                let [there, here] = [forward.inside_first(), forward.first_port];
                moved(forward, protocol, (outside.1, here, there))
            });
            port.map(|port| (host.inside, port))
        })
    }

    /// The host of a port forwarding rule, and its outside address.
    pub(super) fn host_of(&self, inside: Ipv4Addr) -> Option<(&PortForwardingHost, Ipv4Addr)> {
        self.config.port_forwarding.iter().find_map(|rule| {
            let host = rule.hosts.iter().find(|host| host.inside == inside)?;
            Some((host, rule.outside))
        })
    }

    /// The outside end of a new mapping of such a host: that of its forwarded port, or one of its
    /// dynamic ports.
    pub(super) fn choose_of_host(
        &self,
        (host, outside): (&PortForwardingHost, Ipv4Addr),
        own: Own,
        (wish, chosen): (Wish, Option<End>),
        left: Left<'_>,
    ) -> Result<End, &'static str> {
        let none = "ports-exhausted";
        let (protocol, inside_port) = (own.0, own.1.1);
        let fixed = host.forwards.iter().find_map(|forward| {
            let [here, there] = [forward.inside_first(), forward.first_port];
            moved(forward, protocol, (inside_port, here, there))
        });
        if let Some(port) = fixed {
            return wish.fits(inside_port, port).then_some((outside, port)).ok_or(none);
        }
        let dynamic = host.dynamic_ports.ok_or(none)?;
        let range = dynamic.first_port..=dynamic.last_port;
        // It let nothing through: it may not have noticed yet that a mapping is over.
        let keeps =
            matches!(self.reading.keeps, Keeps::AsMuchAsMatters | Keeps::All | Keeps::Ports);
        let is_kept = |end: End| {
            let mut former = self.tables.lingering.iter();
            former.any(|one| one.own.0 == protocol && one.outside == end)
        };
        let free = |port: u16, strict: bool| {
            let end = (outside, port);
            let is_free = self.tables.owner(protocol, end).is_none();
            range.contains(&port) && is_free && !(strict && is_kept(end))
        };
        let may = |port: u16, strict: bool| {
            let next = || port.checked_add(1).is_some_and(|next| free(next, strict));
            let is_paired = wish != Wish::Pair || next();
            free(port, strict) && is_paired && wish.fits(inside_port, port)
        };
        if let Some(end) = chosen.filter(|end| end.0 == outside && may(end.1, false)) {
            return Ok(end);
        }
        let strict = left.is_empty() && keeps;
        let port = range.clone().find(|port| may(*port, strict));
        port.map(|port| (outside, port)).ok_or(none)
    }
}

/// What a port becomes by a forward whose ports of one side begin `here`, and those of the other
/// `there`.
fn moved(forward: &Forward, protocol: u8, (port, here, there): (u16, u16, u16)) -> Option<u16> {
    let count = u32::from(forward.last()) - u32::from(forward.first_port) + 1;
    let offset = u32::from(port).checked_sub(u32::from(here)).filter(|&offset| offset < count)?;
    let is_of = forward.protocol.numbers().contains(&protocol);
    is_of.then_some(there + offset as u16)
}
