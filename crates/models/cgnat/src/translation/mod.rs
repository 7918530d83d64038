//! The slow twin of `translation`, and what is asked of the translator in its words.

pub mod oracle;

use std::fmt::Debug;

use function_cgnat::translation::{Ends, Port, Rules};

impl<A: Copy> From<&Ends<A>> for oracle::Ends<A> {
    fn from(ends: &Ends<A>) -> oracle::Ends<A> {
        let port = match ends.port {
            Port::Kept => oracle::Port::Kept,
            Port::Source(port) => oracle::Port::Source(port),
            Port::Destination(port) => oracle::Port::Destination(port),
        };
        oracle::Ends { source: ends.source, destination: ends.destination, port }
    }
}

impl From<&Rules> for oracle::Rules {
    fn from(rules: &Rules) -> oracle::Rules {
        let Rules { ipv4_mtu, ipv6_mtu, keep_traffic_class, compute_udp_checksum } = *rules;
        oracle::Rules { ipv4_mtu, ipv6_mtu, keep_traffic_class, compute_udp_checksum }
    }
}

/// What one of them says of a packet, for comparison: both name refusals alike.
pub fn said(what: Result<&[u8], &dyn Debug>) -> String {
    format!("{what:02x?}")
}
