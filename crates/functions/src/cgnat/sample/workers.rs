//! Packets for outside ports of which another one of several workers has each.

use std::net::Ipv4Addr;

use traffic::workload::worker_of;
use wire::protocol;

use super::super::addresses::Addresses;
use super::super::allocation::Layout;
use super::super::config::{Config, Prefixed, deterministic_plan};
use super::super::steering;
use super::Sample;
use super::build::{End, datagram};

/// Whichever worker gets them, one of them is another's.
pub(super) fn strays(sample: &mut Sample) {
    let Some(ends) = apart(&sample.config) else { return };
    for (end, port) in ends.into_iter().zip(8100..) {
        let (server, peer) = ((sample.server(0), 53), (sample.visitor(4), port));
        sample.outside("to a port of one of several workers", &datagram(server, end));
        sample.inside("the same from a subscriber", &datagram(peer, end));
    }
}

/// Two outside ends of different workers; none where one worker has all of them.
fn apart(config: &Config) -> Option<[End; 2]> {
    if config.core == 1 {
        return None;
    }
    let (addresses, layout) = (Addresses::new(config), Layout::new(config));
    let plan = deterministic_plan(&config.deterministic).unwrap_or_default();
    let worker = |(address, port): End| {
        let end = (address.to_bits(), port);
        worker_of(steering::of_end((&addresses, &plan, layout), protocol::UDP, end), config.core)
    };
    let some = |network: Prefixed<Ipv4Addr>| {
        let host = u32::MAX.checked_shr(network.len.into()).unwrap_or(0);
        let first = network.address.to_bits() & !host;
        (0..=host.min(ADDRESSES - 1)).map(move |offset| Ipv4Addr::from_bits(first | offset))
    };
    let all = config.outside().flat_map(|(_, network)| some(network));
    let mut ends =
        all.flat_map(|address| (1..=u16::MAX).step_by(64).map(move |one| (address, one)));
    let first = ends.next()?;
    ends.find(|end| worker(*end) != worker(first)).map(|other| [first, other])
}

/// Addresses of a network among which two are looked for.
const ADDRESSES: u32 = 64;
