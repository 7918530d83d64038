//! What subscribers do wherever they are.
use super::steps::Sample;
use super::{algs, calls, fragments, host, limits, links, pcp, sessions};

/// What subscribers do wherever they are.
pub(super) const OF_ANY_REALM: [fn(&mut Sample); 16] = [
    sessions::udp,
    sessions::tcp,
    sessions::icmp,
    sessions::errors,
    sessions::hairpins,
    fragments::orders,
    fragments::hairpins,
    host::pings,
    host::errors,
    links::links,
    algs::ftp,
    algs::sip,
    calls::pptp,
    pcp::pcp,
    limits::sessions_of_a_subscriber,
    limits::pools,
];
