//! What virtual routers track, and how a router is asked to tell of the routes among it.

use std::net::IpAddr;

use function_kit::Invalid;
use function_kit::erased::{AnyUpdate, Configured};
use function_kit::sections::Prefixed;
use serde_json::json;

/// Something that is tracked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    /// An interface, by its name at the host.
    Interface(String),
    /// A next hop of the router, by its number.
    NextHop(u32),
    /// A route of the router, of a VRF.
    Route(Prefixed<IpAddr>, u16),
}

/// The changes by which a router tells of the routes among what is tracked, each by its place, and
/// of no others; none for a function that does not tell of routes.
///
/// # Errors
/// A route that the router cannot watch.
pub(crate) fn watch(
    function: &dyn Configured,
    tracked: &[Object],
) -> Result<Vec<AnyUpdate>, Invalid> {
    let of = |(number, object): (usize, &Object)| match object {
        Object::Route(route, vrf) => Some(json!({"watch-route": {
            "number": number, "prefix": String::from(*route), "vrf": vrf}})),
        _ => None,
    };
    let watched = tracked.iter().enumerate().filter_map(of);
    let watched = watched.map(|update| function.update(&update));
    forget(function).into_iter().map(Ok).chain(watched).collect()
}

/// The change by which a router watches no routes any more; none for other functions.
pub(crate) fn forget(function: &dyn Configured) -> Option<AnyUpdate> {
    function.update(&json!({"unwatch-routes": {}})).ok()
}

/// The place of the route that a worker tells of: routes are above next hops and sessions, which
/// have 33 bits.
pub(crate) fn route_of(subject: u64) -> Option<usize> {
    (subject >> 32 == 2).then_some(subject as u32 as usize)
}
