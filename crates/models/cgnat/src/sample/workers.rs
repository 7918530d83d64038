//! Packets for outside ports of which another one of several workers has each, and packets that
//! workers hand over.
use std::net::Ipv4Addr;

use engine::steering::worker_of;
use function_cgnat::config::{Config, Prefixed};
use function_cgnat::types::sides::{INSIDE, towards_worker};
use function_cgnat::workers::steering::Steering;
use wire::ipv4::FLAG_MORE_FRAGMENTS as MORE;
use wire::{icmp, protocol};

use super::build::{self, End, datagram, datagram_of};
use super::fragments::cut;
use super::steps::{Sample, Sent};

/// Whichever worker gets them, one of them is another's.
pub(super) fn strays(sample: &mut Sample) {
    let Some(ends) = apart(&sample.config) else { return };
    for (end, port) in ends.into_iter().zip(8100..) {
        let server = (sample.server(0), 53);
        sample.outside("to a port of one of several workers", &datagram(server, end));
        pieces(sample, &datagram_of(server, end, 40), port);
        between_workers(sample, (sample.visitor(4), port), end);
    }
}

/// A datagram from outside in two pieces, in either order: the first one tells whose they are.
fn pieces(sample: &mut Sample, whole: &[u8], number: u16) {
    if sample.config.fragments.datagrams == 0 {
        return;
    }
    for identification in [number, number + 1000] {
        let first = cut(whole, (0, 24), (MORE, identification));
        let last = cut(whole, (24, 24), (0, identification));
        let both = if identification == number { [&first, &last] } else { [&last, &first] };
        for piece in both {
            sample.outside("a piece for a port of one of several workers", piece);
        }
    }
}

/// A subscriber and a peer at an end, which is another worker's or this one's.
fn between_workers(sample: &mut Sample, own: End, end: End) {
    let server = (sample.server(0), 53);
    let other = towards_worker(0);
    let known =
        sample.inside("a peer of several workers asks for its address", &datagram(own, server));
    let sent =
        sample.inside("to a port of one of several workers, from inside", &datagram(own, end));
    let unreachable =
        |from: Ipv4Addr| build::error(from, server.0, icmp::v4::UNREACHABLE, &[0; 28]);
    let about = |sent: Sent| vec![(sent, (14, 28, 42)), (sent, (26, 4, 30))];
    let error = unreachable(end.0);
    sample.answer(other, "an error about it, from a worker", &error, about(sent));
    let packet = datagram(end, server);
    let came = sample.answer_to((other, known), "a worker hands a packet over", &packet);
    sample.answer(INSIDE, "an error about that", &unreachable(own.0), about(came));
    sample.inside("and the answer", &datagram(own, end));
    let mut last = datagram(own, end);
    model_kit::build::set(8, 2)(&mut last);
    sample.inside("a packet whose hops end between workers", &last);
}

/// Two outside ends of different workers; none where one worker has all of them.
fn apart(config: &Config) -> Option<[End; 2]> {
    if config.core == 1 {
        return None;
    }
    let steering = Steering::new(config);
    let worker = |(address, port): End| {
        let end = (address.to_bits(), port);
        worker_of(steering.of_end(protocol::UDP, end), config.core)
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
