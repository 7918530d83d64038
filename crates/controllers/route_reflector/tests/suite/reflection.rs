//! Peers come, tell, are told, lag and go: what each knows in the end is what the plain reflector
//! says, and at no time is one told of its own routes.

use controller_route_reflector::fuzz::model::Attributes;
use controller_route_reflector::fuzz::trial::{ASN, IDENTIFIER, PEERS, Step, Trial};
use controller_route_reflector::fuzz::wire::{ASKED, TARGETS};
use controller_route_reflector::fuzz::{examples, reflector};
use proptest::prelude::*;
use protocol_bgp::capabilities::Role;
use protocol_kit::Random;

fn attributes() -> impl Strategy<Value = Attributes> {
    let ases = prop::collection::vec(prop_oneof![9 => 1..4_u32, 1 => Just(ASN)], 0..3);
    let med = prop::option::of(0..3_u32);
    let preference = prop::option::of(99..102_u32);
    let originator =
        prop::option::weighted(0.2, prop_oneof![Just(1_u32), Just(9), Just(IDENTIFIER)]);
    let clusters = prop::collection::vec(prop_oneof![4 => 5..7_u32, 1 => Just(IDENTIFIER)], 0..2);
    let communities = prop::collection::vec(
        prop_oneof![
            8 => Just(1_u32),
            1 => Just(0xffff_ff01),
            1 => Just(0xffff_ff02),
            1 => Just(0xffff_0000),
        ],
        0..2,
    );
    let targets = prop::collection::vec(prop::sample::select(&TARGETS[..]), 0..3);
    let otc = prop::option::weighted(0.3, prop::sample::select(&[64_501_u32, 7, ASN][..]));
    let communities = (communities, targets, otc);
    (0..3_u8, ases, med, preference, originator, clusters, communities).prop_map(
        |(hop, path, med, preference, originator, clusters, more)| Attributes {
            next_hop: [10, 0, 0, hop],
            path,
            med,
            preference,
            originator,
            clusters,
            communities: more.0,
            targets: more.1,
            otc: more.2,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let peer = 0..PEERS.len() as u16;
    let prefixes = prop::collection::vec(0..14_u8, 1..5);
    prop_oneof![
        2 => peer.clone().prop_map(Step::Open),
        1 => peer.clone().prop_map(Step::Close),
        1 => peer.clone().prop_map(Step::Lose),
        1 => peer.clone().prop_map(Step::Mark),
        1 => peer.clone().prop_map(Step::Sweep),
        6 => (peer.clone(), prefixes.clone(), attributes())
            .prop_map(|(peer, prefixes, it)| Step::Announce(peer, prefixes, it)),
        3 => (peer.clone(), prefixes).prop_map(|(peer, prefixes)| Step::Withdraw(peer, prefixes)),
        1 => peer.clone().prop_map(Step::Refresh),
        1 => (peer.clone(), any::<bool>()).prop_map(|(peer, is_drained)| Step::Drain(peer, is_drained)),
        6 => (peer, 30..400_usize).prop_map(|(peer, room)| Step::Take(peer, room)),
        4 => Just(Step::Work),
    ]
}

/// The same of three paths of each prefix.
fn step_with_paths() -> impl Strategy<Value = Step> {
    let peer = 0..PEERS.len() as u16;
    let paths = prop::collection::vec(0..42_u8, 1..5);
    prop_oneof![
        20 => step(),
        8 => (peer.clone(), paths.clone(), attributes())
            .prop_map(|(peer, paths, it)| Step::Announce(peer, paths, it)),
        6 => (peer, paths).prop_map(|(peer, paths)| Step::Withdraw(peer, paths)),
    ]
}

fn step_with_targets() -> impl Strategy<Value = Step> {
    let peer = 0..PEERS.len() as u16;
    let asked = prop::collection::vec(0..ASKED.len() as u8, 1..3);
    prop_oneof![
        30 => step(),
        4 => (peer.clone(), asked.clone(), attributes())
            .prop_map(|(peer, asked, it)| Step::Ask(peer, asked, it)),
        3 => (peer.clone(), asked).prop_map(|(peer, asked)| Step::AskNoMore(peer, asked)),
        2 => peer.clone().prop_map(Step::HasAsked),
        1 => peer.prop_map(Step::Expire),
    ]
}

fn try_out(mut trial: Trial, steps: Vec<Step>) {
    for (count, step) in (1..).zip(steps) {
        trial.step(step);
        if count % 40 == 0 {
            trial.settle();
            trial.check();
        }
    }
    trial.settle();
    trial.check();
    trial.end();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// - `route-reflector`, RFC 4456 sections 6, 8 and 9: peers know what a plain reflector tells
    #[test]
    fn peers_know_what_a_plain_reflector_tells(
        stream_bytes in prop_oneof![Just(100_usize), Just(600), Just(1 << 20)],
        steps in prop::collection::vec(step(), 1..150),
    ) {
        try_out(Trial::new(stream_bytes, false), steps);
    }

    /// - `route-reflector`, RFC 4271 section 6.7: of what peers tell beyond their bound nothing is
    ///   taken, and what they have told before stays theirs to change
    #[test]
    fn peers_tell_what_they_may(
        most in 1..6_u32,
        has_targets in prop::bool::ANY,
        steps in prop::collection::vec(step(), 1..150),
    ) {
        try_out(Trial::new(1 << 20, has_targets).bounded(most), steps);
    }

    /// - `route-reflector`, RFC 9234 section 5: what a peer of another AS tells and is told follows
    ///   from the own part in the relation with it, and ONLY_TO_CUSTOMER stays what it was
    #[test]
    fn other_ases_tell_and_know_by_their_roles(
        role in prop::sample::select(&[
            Role::Provider, Role::Customer, Role::Peer, Role::RouteServer, Role::RouteServerClient,
        ][..]),
        steps in prop::collection::vec(step(), 1..150),
    ) {
        try_out(Trial::new(1 << 20, false).related(Some(role)), steps);
    }

    /// - `route-reflector`, RFC 4684 sections 3.2, 4 and 6: peers know the routes whose targets
    ///   they ask for, whatever changes: nothing else at any time, and nothing before they have
    ///   asked
    #[test]
    fn peers_know_what_they_ask_for(
        stream_bytes in prop_oneof![Just(100_usize), Just(600), Just(1 << 20)],
        steps in prop::collection::vec(step_with_targets(), 1..200),
    ) {
        try_out(Trial::new(stream_bytes, true), steps);
    }

    /// - `route-reflector`, RFC 7911 sections 2, 3 and 5: peers that have agreed on it know the
    ///   best paths of each route that are for them, but their own: each by an identifier that no
    ///   other one of the route has, and that stays while the path is there; others the best one
    #[test]
    fn peers_know_several_paths(
        stream_bytes in prop_oneof![Just(100_usize), Just(600), Just(1 << 20)],
        peers in prop_oneof![1..32_u8, prop::sample::select(&[3_u8, 12, 15, 31][..])],
        most in prop_oneof![2 => 2..6_u8, 1 => Just(64)],
        steps in prop::collection::vec(step_with_paths(), 1..150),
    ) {
        try_out(Trial::new(stream_bytes, false).with_paths(peers, most), steps);
    }

    /// - `route-reflector`, RFC 7911 with RFC 4684 section 6: of several paths peers know those
    ///   whose targets they ask for
    #[test]
    fn peers_know_the_paths_that_they_ask_for(
        stream_bytes in prop_oneof![Just(100_usize), Just(600), Just(1 << 20)],
        peers in prop_oneof![1..32_u8, prop::sample::select(&[3_u8, 12, 15, 31][..])],
        most in prop_oneof![2 => 2..6_u8, 1 => Just(64)],
        steps in prop::collection::vec(
            prop_oneof![step_with_paths(), step_with_targets()], 1..200,
        ),
    ) {
        try_out(Trial::new(stream_bytes, true).with_paths(peers, most), steps);
    }
}

#[test]
fn cuts_damage_and_noise_break_nothing() {
    let (examples, mut random) = (examples(), Random::new(7));
    examples.iter().for_each(|one| reflector(one));
    for _ in 0..1500 {
        let mut bytes = match random.below(4) {
            0 => (0..random.below(600)).map(|_| random.bits() as u8).collect(),
            _ => examples[random.below(examples.len() as u64) as usize].clone(),
        };
        for _ in 0..random.below(6) {
            let at = random.below(bytes.len() as u64 + 1) as usize;
            match random.below(4) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, random.bits() as u8),
                _ if at < bytes.len() => bytes[at] = random.bits() as u8,
                _ => {}
            }
        }
        reflector(&bytes);
    }
}
