//! What the bench generates of a router: TIPSY's tables of routes and next hops, a table like the
//! Internet's, rules and policers; as a configuration, and as changes behind it.
//!
//! | generated | said by |
//! |---|---|
//! | next hops, groups, rules | the configuration, behind what is listed |
//! | routes, policers | changes |

mod section;

mod configured;

use crate::ports::{SIDES, UPLINK};

use function_l3_router::config::{Config, Network, PoliceBy, Policer, Prefixed};
use function_l3_router::control::Update;

pub use self::configured::config;
pub use self::section::{Generated, Section, SourceMac, hop_number, passing_hop_number, target};
use crate::catalogue;
use crate::prefixes;

/// The changes that give a router of that configuration the rest of what is generated.
pub fn initial(section: &Section) -> impl Iterator<Item = Update> + '_ {
    let passing = (0..section.generated.passing_hops()).flat_map(move |number| {
        let side = catalogue::passing_side(number);
        let next_hop = catalogue::passing_hop(section, side, number);
        let address = catalogue::passing_hop_route_ipv4(side, number).into();
        let prefix = Prefixed { address, len: catalogue::IPV4_LEN };
        let number = passing_hop_number(section, number);
        // The route stays where its next hop has been.
        [
            Update::SetNextHop { number, next_hop },
            Update::SetRoute { prefix, next_hop: number, vrf: 0 },
            Update::RemoveNextHop { number },
        ]
    });
    let routes = internet_routes(section).chain(table_routes(section));
    let routes = routes.map(|(network, next_hop)| Update::SetRoute {
        prefix: network.prefix(),
        next_hop,
        vrf: network.vrf,
    });
    let is_policed = config_has_policers(&section.config);
    let policers = policers(section).filter(move |_| is_policed);
    passing.chain(routes).chain(policers)
}

/// All routes, to next hops and groups by number; generated ones are of the main VRF.
pub fn all_routes(section: &Section) -> impl Iterator<Item = (Network, u32)> + '_ {
    internet_routes(section).chain(routes_but_the_internets(section))
}

/// The same without those like the Internet's.
pub fn routes_but_the_internets(section: &Section) -> impl Iterator<Item = (Network, u32)> + '_ {
    table_routes(section).chain(section.config.all_routes())
}

fn internet_routes(section: &Section) -> impl Iterator<Item = (Network, u32)> + '_ {
    (0..).zip(prefixes::prefixes(section)).map(|(place, (address, len))| {
        (Network { vrf: 0, address, len }, target(section, UPLINK, place))
    })
}

/// TIPSY's tables.
fn table_routes(section: &Section) -> impl Iterator<Item = (Network, u32)> + '_ {
    SIDES.into_iter().flat_map(move |port| {
        (0..section.generated.table_size(port)).flat_map(move |number| {
            let hop = target(section, port, number);
            let ipv4 = catalogue::route_ipv4(port, number);
            let ipv6 = section.config.ipv6.then(|| catalogue::route_ipv6(port, number));
            let ipv6 = ipv6.map(|network| (network.into(), catalogue::IPV6_LEN));
            let both = [Some((ipv4.into(), catalogue::IPV4_LEN)), ipv6];
            let main = move |(address, len)| (Network { vrf: 0, address, len }, hop);
            both.into_iter().flatten().map(main)
        })
    })
}

/// All policers by number, listed and generated.
pub fn all_policers(section: &Section) -> impl Iterator<Item = (u32, Policer)> + '_ {
    let copies = policers(section).filter_map(|update| match update {
        Update::SetPolicer { number, policer } => Some((number, policer)),
        _ => None,
    });
    section.config.all_policers().chain(copies)
}

/// Copies of the last listed policer, behind it.
fn policers(section: &Section) -> impl Iterator<Item = Update> + '_ {
    let first = section.config.policers.len() as u32;
    section.config.policers.last().into_iter().flat_map(move |&policer| {
        let copies = first..first + section.generated.policers_generated;
        copies.map(move |number| Update::SetPolicer { number, policer })
    })
}

fn config_has_policers(config: &Config) -> bool {
    config.police_by != PoliceBy::None
}
