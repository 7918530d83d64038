//! Outside addresses: those of pools and of rules.
use std::net::Ipv4Addr;
use std::time::Duration;

use function_cgnat::config::Prefixed;

use super::networks::{holds, same};
use super::state::Model;

impl Model {
    pub(super) fn is_outside(&self, address: Ipv4Addr) -> bool {
        self.outside().any(|network| holds(network, address))
    }

    /// All outside addresses.
    pub(super) fn outside(&self) -> impl Iterator<Item = Prefixed<Ipv4Addr>> {
        self.pools.iter().map(|(pool, _)| *pool).chain(self.of_rules())
    }

    /// Outside addresses of rules.
    fn of_rules(&self) -> impl Iterator<Item = Prefixed<Ipv4Addr>> {
        let own = self.config.static_rules.iter().map(|rule| rule.outside);
        let shared = self.config.port_forwarding.iter().map(|rule| rule.outside);
        let shared = shared.map(|address| Prefixed { address, len: 32 });
        let deterministic = self.config.deterministic.iter().map(|rule| rule.outside);
        own.chain(shared).chain(deterministic)
    }

    pub(super) fn add_pool(&mut self, pool: Prefixed<Ipv4Addr>, now: Duration) -> bool {
        if let Some((_, open)) = self.pools.iter_mut().find(|(known, _)| same(*known, pool)) {
            *open = true;
            return true;
        }
        if !self.may_come(pool) {
            return false;
        }
        self.pools.push((pool, true));
        self.addresses_changed(now);
        true
    }
}
