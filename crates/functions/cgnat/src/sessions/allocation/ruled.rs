//! Ports of subscribers whose outside address follows from a rule: one-to-one, port-forwarding,
//! deterministic.

use std::net::Ipv4Addr;

use crate::sessions::allocation::{Allocation, Class, Moment, Own, Refused, Wanted};
use crate::types::flow::Inside;

/// What a rule gives to a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruled {
    /// The outside address.
    pub outside: u32,
    ports: Ports,
}

/// Which ports of the address it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ports {
    /// This one.
    Fixed(u16),
    /// One of those that the host has for its ports that are not forwarded; none where it has none.
    OfHost(Option<Own>),
    /// One of the subscriber's, or of what its rule has for all.
    Deterministic(Own),
}

impl Allocation {
    /// What a rule gives to the mapping of a packet from inside; none where no rule has its
    /// subscriber. One-to-one and port forwarding rules are those of the main realm.
    pub fn ruled(&self, key: &Inside) -> Option<Ruled> {
        if key.address[0] != 0 {
            return None;
        }
        let (inside, realm) = (key.address[1] as u32, key.realm());
        if realm == 0 {
            if let Some(outside) = self.addresses.of_subscriber(inside) {
                return Some(Ruled { outside, ports: Ports::Fixed(key.port()) });
            }
            let hosts = self.addresses.hosts();
            if let Some(host) = hosts.host(inside) {
                let fixed = hosts.outside_port(key.far.protocol(), (inside, key.port()));
                let ports = fixed.map_or(Ports::OfHost(host.dynamic), Ports::Fixed);
                return Some(Ruled { outside: host.outside, ports });
            }
        }
        let own = self.deterministic(realm, inside)?;
        Some(Ruled { outside: own.outside.to_bits(), ports: Ports::Deterministic(own) })
    }

    /// A port by a rule, of the address with a number; the caller gives it to the mapping by
    /// [`Self::give`].
    ///
    /// # Errors
    /// When there is none.
    pub fn take_ruled(
        &mut self,
        (address, rule): (u32, &Ruled),
        (class, inside_port, wanted): (Class, u16, Wanted),
        now: Moment,
    ) -> Result<u16, Refused> {
        let ask = (class, inside_port, wanted);
        match rule.ports {
            Ports::Fixed(port) if wanted.fits(inside_port, port) => Ok(port),
            Ports::OfHost(Some(own)) => {
                self.take_own_wanted((address, own), ask, now).map_err(|_| Refused::Ports)
            }
            Ports::Fixed(_) | Ports::OfHost(None) => Err(Refused::Ports),
            Ports::Deterministic(own) => self.take_own_wanted((address, own), ask, now),
        }
    }

    /// Whether a rule gives this outside end, whose address has a number, to some mapping of that
    /// inside end.
    pub(crate) fn may_be(&self, rule: &Ruled, (outside, port): (u32, u16), number: u32) -> bool {
        let holds = |own: &Own| own.holds(port);
        let is_its = match rule.ports {
            Ports::Fixed(fixed) => fixed == port,
            Ports::OfHost(own) => own.is_some_and(|own| holds(&own)),
            Ports::Deterministic(own) => {
                let shared = self.plan.dynamic(Ipv4Addr::from_bits(outside));
                holds(&own) || shared.is_some_and(|all| holds(&all) && self.owns(number, port))
            }
        };
        rule.outside == outside && is_its
    }
}
