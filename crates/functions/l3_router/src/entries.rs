//! The places of what is not forwarded, in the table of next hops.

use super::config::Config;

/// The places of what is not forwarded, behind those of the next hops.
#[derive(Clone, Copy, Debug)]
pub struct Entries {
    /// That of the router's own addresses, the first.
    pub local: u32,
    /// That of packets without a route, where these are looked at once more.
    pub unrouted: u32,
    /// That of groups of which no member is there.
    pub nobody: u32,
    /// The first of those of the addresses on links that nobody has, by interface.
    pub link: u32,
}

impl Entries {
    /// Behind the next hops that a configuration has room for.
    pub fn of(config: &Config) -> Entries {
        let local = config.next_hops_max();
        Entries { local, unrouted: local + 1, nobody: local + 2, link: local + 3 }
    }
}
