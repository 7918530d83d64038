//! Packets from one user to another.

use std::net::Ipv4Addr;

use wire::{ipv4, protocol};

use super::build::{datagram, packet, set, set_word};
use super::steps::Sample;
use crate::catalogue;
use crate::section::Section;
use function_mobile_gateway::config::UserToUser;

/// From the visitor to users of every worker, to itself and to nobody.
pub(super) fn users(sample: &mut Sample) {
    if sample.config().user_networks.is_empty() {
        return;
    }
    let visitor = sample.visitor;
    let users = sample.config().user.min(6);
    let all = (0..users).map(catalogue::user_ipv4);
    for to in all.chain([visitor.ipv4]).collect::<Vec<_>>() {
        send(sample, "a packet to another user", to, 100, |_| {});
    }
    for nobody in [1, 2, 3, 4].map(|last| Ipv4Addr::new(3, 254, 254, last)) {
        send(sample, "a packet to an address of no user", nobody, 100, |_| {});
    }
    let first = catalogue::user_ipv4(0);
    for ttl in [1, 2] {
        send(sample, "with few hops left", first, 100, set(ipv4::offset::TTL, ttl));
    }
    for len in [1150, 1164, 1165, 1350, 1364, 1365, 1800] {
        for flags in [0, ipv4::FLAG_DONT_FRAGMENT] {
            let change = set_word(ipv4::offset::FLAGS_FRAGMENT, flags);
            send(sample, "a long packet to another user", visitor.ipv4, len, change);
        }
    }
    if sample.config().ipv6 {
        let mut to_itself = sample.make.packet_ipv6(&visitor, true, 100);
        let source: Vec<u8> = to_itself[8..24].to_vec();
        to_itself[24..40].copy_from_slice(&source);
        let frame = sample.make.tunnelled(&visitor, &to_itself);
        sample.access("an IPv6 packet to a user", frame);
        to_itself[27] ^= 0xff;
        let frame = sample.make.tunnelled(&visitor, &to_itself);
        sample.access("an IPv6 packet to no user", frame);
    }
}

/// Drop reasons that these do not reach, each with the cause.
pub(super) fn unreachable(config: &Section) -> Option<(&'static str, &'static str)> {
    let is_dropped = config.user_to_user == UserToUser::Drop && !config.user_networks.is_empty();
    (!is_dropped).then_some(("user-to-user", "users may reach each other"))
}

fn send(
    sample: &mut Sample,
    about: &'static str,
    to: Ipv4Addr,
    len: usize,
    change: impl FnOnce(&mut Vec<u8>),
) {
    let payload = vec![7; len - 28];
    let from = sample.visitor.ipv4;
    let mut inner = packet(from, to, protocol::UDP, &datagram((40_000, 9), &payload));
    change(&mut inner);
    let frame = sample.make.tunnelled(&sample.visitor, &inner);
    sample.access(about, frame);
}
