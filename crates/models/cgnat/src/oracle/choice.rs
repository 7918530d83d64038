//! What a new mapping may get, and whether there is room for it.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use function_cgnat::types::sides::INSIDE;
use packet::PortId;

use super::allowed::Allowed;
use super::gateway::script::Wish;
use super::networks::{first, holds};
use super::packets::address;
use super::reading::Keeps;
use super::state::{Left, Model};
use super::tables::{End, Own, Who};

impl Model {
    /// RFC 6888 REQ-4, and what the tables hold. A device may count sessions for a while after they
    /// are over: where it let nothing through, they count here, too.
    pub(super) fn check_limits(
        &self,
        subscriber: Who,
        maps: bool,
        left: Left<'_>,
    ) -> Result<(), &'static str> {
        let tables = &self.tables;
        let over = tables.lingering.iter().filter(|_| !self.reading.has_room && left.is_empty());
        let over_of = |who: Who| -> usize {
            over.clone()
                .filter(|one| one.own.1.0.subscriber() == who.subscriber())
                .map(|one| one.sessions)
                .sum()
        };
        let sessions_of = tables.sessions_of(subscriber) + over_of(subscriber);
        if self.session_limit > 0 && sessions_of >= self.session_limit {
            return Err("session-limit");
        }
        let [sessions, mappings, subscribers] = self.room;
        let all_over: usize = over.clone().map(|one| one.sessions).sum();
        if tables.sessions() + all_over >= sessions {
            return Err("sessions-full");
        }
        if !maps {
            return Ok(());
        }
        let gone: BTreeSet<Own> = over
            .clone()
            .map(|one| one.own)
            .filter(|own| !tables.mappings.contains_key(own))
            .collect();
        if tables.mappings.len() + gone.len() >= mappings {
            return Err("mappings-full");
        }
        let mut all = tables.subscribers();
        all.extend(gone.iter().map(|own| own.1.0.subscriber()));
        match !all.contains(&subscriber.subscriber()) && all.len() >= subscribers {
            true => Err("subscribers-full"),
            false => Ok(()),
        }
    }

    /// The outside end of a new mapping: the one that the device chose if it may, and else any.
    pub(super) fn choose(
        &self,
        own: Own,
        now: Duration,
        left: Left<'_>,
    ) -> Result<End, &'static str> {
        let chosen = left.iter().find_map(|(port, frame)| self.source_seen(*port, frame, own.0));
        self.choose_wished(own, now, (Wish::Any, chosen), left)
    }

    /// The outside end that a packet of a session left with.
    fn source_seen(&self, port: PortId, frame: &[u8], protocol: u8) -> Option<End> {
        let ipv6 = self.source_ipv6(frame, protocol);
        let (address, seen) = ipv6.or_else(|| source_of(frame, protocol))?;
        if protocol != 1 || port != INSIDE {
            return Some((address, seen));
        }
        // A query of another subscriber has the identifier of that one's mapping by now.
        let other: IpAddr = match ipv6 {
            Some(_) => <[u8; 16]>::try_from(&frame[38..54]).ok()?.into(),
            None => self::address(frame, 30).into(),
        };
        let other = self.who_in(self.towards, other);
        let mapping = self.tables.mappings.get(&(protocol, (other, seen)));
        Some((address, mapping.map_or(seen, |mapping| mapping.outside.1)))
    }

    /// The same for an end that is as wished, and of which it is known what the device chose.
    pub(super) fn choose_wished(
        &self,
        own: Own,
        now: Duration,
        (wish, chosen): (Wish, Option<End>),
        left: Left<'_>,
    ) -> Result<End, &'static str> {
        let inside = match own.1.0.address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        };
        let mut rules = self.config.static_rules.iter();
        let ruled = inside.filter(|_| own.1.0.realm == 0).and_then(|inside| {
            let rule = rules.find(|rule| holds(rule.inside, inside))?;
            Some((rule, inside))
        });
        if let Some((rule, inside)) = ruled {
            let offset = inside.to_bits() - first(rule.inside);
            let fits = wish.fits(own.1.1, own.1.1).then_some(own.1.1);
            let port = fits.ok_or("ports-exhausted")?;
            return Ok((Ipv4Addr::from_bits(first(rule.outside) + offset), port));
        }
        let host = inside.filter(|_| own.1.0.realm == 0).and_then(|inside| self.host_of(inside));
        if let Some(host) = host {
            return self.choose_of_host(host, own, (wish, chosen), left);
        }
        if let Some(block) = inside.and_then(|inside| self.plan.forward(own.1.0.realm, inside)) {
            let shared = self.plan.shared(block.outside);
            let may = |end: &End| {
                let is_shared = |port| shared.contains(&port) && self.gives_away((end.0, port));
                let holds = |port| block.ports.contains(&port) || is_shared(port);
                let free = |port| holds(port) && self.tables.owner(own.0, (end.0, port)).is_none();
                let next = wish != Wish::Pair || end.1.checked_add(1).is_some_and(free);
                end.0 == block.outside && free(end.1) && next && wish.fits(own.1.1, end.1)
            };
            let all = (1..=u16::MAX).map(|port| (block.outside, port));
            return chosen.filter(may).or_else(|| all.clone().find(may)).ok_or("block-limit");
        }
        let may = |sets_aside| Allowed::new(self, (own, wish), now, sets_aside);
        if let Some(chosen) = chosen.filter(|end| may(true).has(*end)) {
            return Ok(chosen);
        }
        match self.reading.keeps {
            _ if !left.is_empty() => {}
            Keeps::Nothing => {}
            // It let nothing through: it may not have noticed yet that something is over.
            Keeps::AsMuchAsMatters => {
                may(true).any(true)?;
                may(false).any(true)?;
            }
            Keeps::All => return may(true).any(true),
            Keeps::Ports => return may(false).any(true),
            Keeps::Places => return may(true).any(false),
        }
        may(false).any(false)
    }

    /// Whether a new mapping may get an outside address of the pools that is such.
    pub(super) fn may_get(
        &self,
        own: Own,
        now: Duration,
        is_such: impl Fn(Ipv4Addr) -> bool,
    ) -> bool {
        !self.is_ruled(own) && Allowed::new(self, (own, Wish::Any), now, false).has_any(is_such)
    }

    /// Whether a rule says which outside address a mapping has.
    fn is_ruled(&self, own: Own) -> bool {
        let IpAddr::V4(inside) = own.1.0.address else { return false };
        let has_own = self.config.static_rules.iter().any(|rule| holds(rule.inside, inside))
            || self.host_of(inside).is_some();
        let realm = own.1.0.realm;
        realm == 0 && has_own || self.plan.forward(realm, inside).is_some()
    }

    /// The first port that is given away: of a whole block.
    pub(super) fn first_port(&self) -> u32 {
        let first = u32::from(self.config.first_port);
        match u32::from(self.config.port_block.size) {
            0 => first,
            size => first.div_ceil(size) * size,
        }
    }
}

/// The source of a packet of a session in a frame that left by one of the ports.
fn source_of(frame: &[u8], protocol: u8) -> Option<End> {
    let packet = frame.get(14..)?;
    let is_later_fragment = packet.len() >= 28 && packet[6] & 0x1f | packet[7] != 0;
    if packet.len() < 28 || packet[9] != protocol || is_later_fragment {
        return None;
    }
    let transport = usize::from(packet[0] & 0x0f) * 4;
    let at = if protocol == 1 { transport + 4 } else { transport };
    let port = packet.get(at..at + 2)?;
    Some((address(packet, 12), u16::from_be_bytes([port[0], port[1]])))
}
