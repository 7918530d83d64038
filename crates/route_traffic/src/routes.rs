//! What a source of routes is to the tester.

use std::fmt;

use protocol_bgp::Family;

/// The routes of a table by numbers, and their sets of attributes by numbers.
///
/// Routes are in the order of their sets, and sets of a family stand together, so that whoever
/// writes UPDATEs goes over the routes once.
pub trait Routes: Send + Sync + fmt::Debug {
    /// Returns how many routes there are.
    fn count(&self) -> u32;

    /// Returns how many sets of attributes there are.
    fn sets(&self) -> u32;

    /// Returns the set of a route; it does not fall from one route to the next.
    fn set(&self, route: u32) -> u32;

    /// Returns the family of the routes of a set.
    fn family(&self, set: u32) -> Family;

    /// Appends a route as it stands in a field of NLRI, without a path identifier.
    fn wire(&self, route: u32, out: &mut Vec<u8>);

    /// Returns the number of a route by its key, if it is one of these.
    fn find(&self, family: Family, key: &[u8]) -> Option<u32>;

    /// Appends a set of attributes in the form of [`crate::attributes`].
    fn attributes(&self, set: u32, out: &mut Vec<u8>);

    /// Returns the feeder that alone has the routes of a set, if the source says so.
    fn feeder(&self, _set: u32) -> Option<u16> {
        None
    }

    /// Returns the number of the route target of a set; 0 where there are none.
    fn target(&self, _set: u32) -> u32 {
        0
    }

    /// Returns a route target as an extended community, by its number; none where there are none.
    fn target_community(&self, _target: u32) -> Option<[u8; 8]> {
        None
    }
}

/// Returns the families of a source with their sets, in the order of the sets.
pub fn blocks(routes: &dyn Routes) -> Vec<(Family, std::ops::Range<u32>)> {
    let mut blocks: Vec<(Family, std::ops::Range<u32>)> = Vec::new();
    for set in 0..routes.sets() {
        let family = routes.family(set);
        match blocks.last_mut() {
            Some((last, range)) if *last == family => range.end = set + 1,
            _ => blocks.push((family, set..set + 1)),
        }
    }
    blocks
}

/// Most routes of a source.
pub const ROUTES_MAX: u32 = 1 << 28;
