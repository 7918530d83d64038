//! What a sample can exhaust.
use std::net::Ipv4Addr;

use function_cgnat::config::{Config, deterministic_plan, share_of};

use super::places::{Places, any_holds};

/// What a sample can exhaust.
pub(super) struct Reach {
    pub sessions: u32,
    pub mappings: u32,
    pub ports_exhausted: bool,
    pub block_limit: bool,
    pub pool_exhausted: bool,
    pub sessions_full: bool,
    pub mappings_full: bool,
    pub subscribers_full: bool,
}

impl Reach {
    pub fn new(config: &Config) -> Reach {
        let share = |count| share_of(count, config.core);
        let [sessions, mappings, subscribers] =
            [config.sessions, config.mapping_capacity(), config.subscribers].map(share);
        let room = sessions.min(mappings);
        let has_pools = !config.pools.is_empty();
        let (size, most) =
            (u32::from(config.port_block.size), u32::from(config.port_block.per_subscriber));
        let first = u32::from(config.first_port);
        let blocks = match size {
            0 => 0,
            size => (65_536 - first.next_multiple_of(size)) / size,
        };
        // Blocks that a worker has for sure.
        let sure = |blocks: u32| if config.core == 1 { blocks } else { blocks / config.core / 4 };
        let pools = config.pools.iter().map(|pool| 1u32.checked_shl(32 - u32::from(pool.len)));
        let all: u32 = pools.map(|count| count.unwrap_or(0)).sum::<u32>().saturating_mul(blocks);
        let of_one = size * most;
        let places = Places::new(config);
        let visitors = places.visitors.len() as u32;
        let is_spacious = |subscribers: u32| size == 0 || sure(all) >= 2 * subscribers * most;
        let needed = if size == 0 { 1 } else { mappings / of_one.max(1) + 1 };
        Reach {
            sessions,
            mappings,
            ports_exhausted: has_pools && size != 0 && most > 1 && size <= FILL_MAX && room > size,
            block_limit: exhaustible(config).is_some()
                || has_pools
                    && size != 0
                    && of_one <= FILL_MAX
                    && room > of_one
                    && sure(blocks) >= most,
            pool_exhausted: has_pools && room > 1 || places.poolless.is_some(),
            sessions_full: sessions <= FILL_MAX,
            mappings_full: has_pools
                && mappings <= FILL_MAX
                && mappings < sessions
                && needed < visitors.min(subscribers)
                && is_spacious(needed),
            subscribers_full: has_pools
                && subscribers < visitors
                && subscribers < room
                && is_spacious(subscribers),
        }
    }
}

/// How many mappings use up all ports of a subscriber, where a sample has as many.
pub(super) fn exhaustible(config: &Config) -> Option<u32> {
    let plan = deterministic_plan(&config.deterministic).ok()?;
    let own = plan.forward(0, subscriber(config)?)?;
    let shared = plan.dynamic(own.outside).map_or(0, |block| u32::from(block.len));
    let count = u32::from(own.len) + shared;
    let room = config.sessions.min(config.mapping_capacity());
    (count <= FILL_MAX && count < room).then_some(count)
}

/// The first one of a rule of the main realm.
pub(super) fn subscriber(config: &Config) -> Option<Ipv4Addr> {
    let rule = config.deterministic.iter().find(|rule| rule.realm == 0)?;
    let first = rule.inside.address.to_bits() + u32::from(rule.skip_boundary);
    any_holds(config.inside.iter(), first).then(|| Ipv4Addr::from_bits(first))
}

/// Sessions that a sample opens at most to fill something.
pub(super) const FILL_MAX: u32 = 2048;
