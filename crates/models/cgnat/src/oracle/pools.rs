//! Outside addresses: those of pools and of rules.
use std::net::Ipv4Addr;

use function_cgnat::config::Prefixed;

use super::networks::{holds, overlap, same};
use super::state::Model;

impl Model {
    pub(super) fn is_outside(&self, address: Ipv4Addr) -> bool {
        let pools = self.pools.iter().map(|(pool, _)| *pool);
        pools.chain(self.of_rules()).any(|network| holds(network, address))
    }

    /// Outside addresses of rules.
    fn of_rules(&self) -> impl Iterator<Item = Prefixed<Ipv4Addr>> {
        let own = self.config.static_rules.iter().map(|rule| rule.outside);
        let shared = self.config.port_forwarding.iter().map(|rule| rule.outside);
        let shared = shared.map(|address| Prefixed { address, len: 32 });
        let deterministic = self.config.deterministic.iter().map(|rule| rule.outside);
        own.chain(shared).chain(deterministic)
    }

    pub(super) fn add_pool(&mut self, pool: Prefixed<Ipv4Addr>) -> bool {
        if let Some((_, open)) = self.pools.iter_mut().find(|(known, _)| same(*known, pool)) {
            *open = true;
            return true;
        }
        let known = self.pools.iter().map(|(known, _)| *known);
        let overlaps = known.chain(self.of_rules()).any(|known| overlap(known, pool));
        let siit = self.config.siit.iter();
        let mut named = siit.flat_map(|siit| siit.networks());
        let is_taken = named.any(|network| overlap(network, pool));
        if pool.len == 0 || is_taken || overlaps {
            return false;
        }
        let added = self.pools[self.config.all_pools().count()..].iter();
        let added: u64 = added.map(|(pool, _)| 1u64 << (32 - pool.len)).sum();
        if added + (1u64 << (32 - pool.len)) > u64::from(self.config.spare_addresses) {
            return false;
        }
        self.pools.push((pool, true));
        true
    }
}
