//! Next hops that are asked for their MAC addresses, of several workers, and what is refused.

use std::time::Duration;

use function_cgnat::config::Config;
use function_cgnat::types::sides::towards_worker;
use function_kit::Shard;
use model_cgnat::{Cgnat, Traffic};
use model_kit::Model;
use model_kit::check::Expected;
use testkit::check::Pair;

use crate::frames::{INSIDE, OUTSIDE, asking, kinds};

/// Two workers of a NAT whose next hops are asked for.
fn workers() -> [Pair<Cgnat>; 2] {
    let config = Config { core: 2, ..asking(kinds()[6].clone()) };
    [0, 1].map(|index| Pair::new(&config, Shard { index, count: 2 }))
}

/// ARP of a next hop outside, and of that of VLAN 100 inside.
fn arp(operation: u8) -> [Vec<u8>; 2] {
    let config = asking(kinds()[6].clone());
    let [hop, tagged] = [config.outside_next_hop, config.inside_next_hop].map(|it| it.expect("it"));
    let fixed = [8, 6, 0, 1, 8, 0, 6, 4, 0, operation];
    let (to, own) = (config.outside_mac.0.0, config.outside_ip.octets());
    let outside = [&to[..], &MAC, &fixed, &MAC, &hop.octets(), &to, &own].concat();
    let (to, own) = (config.inside_mac.0.0, config.inside_ip.octets());
    let tag = [0x81, 0, 0, 100];
    let inside = [&to[..], &MAC, &tag, &fixed, &MAC, &tagged.octets(), &to, &own].concat();
    [outside, inside]
}

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

/// What one worker hands to the other.
fn handed(pair: &Pair<Cgnat>, to: u32) -> Vec<Vec<u8>> {
    let of = |one: &Expected| match one {
        Expected::Forward { port, frame } if *port == towards_worker(to) => Some(frame.clone()),
        _ => None,
    };
    pair.made.iter().filter_map(of).collect()
}

#[test]
fn an_answer_that_one_worker_gets_is_known_to_all() {
    let [mut one, mut other] = workers();
    // Each asks for itself: by its two ports, and in three VRFs.
    for pair in [&mut one, &mut other] {
        pair.wait(Duration::ZERO).expect("they agree");
        assert_eq!(pair.made.len(), 5, "{:?}", pair.made);
    }
    for (port, frame) in [OUTSIDE, INSIDE].into_iter().zip(arp(2)) {
        let heard = Expected::Drop("neighbour-heard");
        assert_eq!(one.frame(port, &frame), Ok(heard.clone()));
        let copies = handed(&one, 1);
        assert_eq!(copies.len(), 1, "one copy for the other worker");
        assert_eq!(other.frame(towards_worker(0), &copies[0]), Ok(heard));
        assert!(handed(&other, 0).is_empty(), "it goes no further");
    }
    // Those that answered are asked no more, by either.
    for pair in [&mut one, &mut other] {
        pair.wait(Duration::from_secs(1)).expect("they agree");
        assert_eq!(pair.made.len(), 3, "{:?}", pair.made);
    }
}

#[test]
fn a_question_is_answered_by_the_worker_that_got_it_alone() {
    let [mut one, mut other] = workers();
    for pair in [&mut one, &mut other] {
        pair.wait(Duration::ZERO).expect("they agree");
    }
    let [outside, _] = arp(1);
    let answered = one.frame(OUTSIDE, &outside).expect("they agree");
    assert!(matches!(answered, Expected::Forward { port: OUTSIDE, .. }), "{answered:?}");
    let copy = handed(&one, 1).remove(0);
    assert_eq!(other.frame(towards_worker(0), &copy), Ok(Expected::Drop("neighbour-heard")));
}

#[test]
fn next_hops_that_cannot_be_asked_for_are_refused() {
    let refused = |text: &str| {
        let mut config: Config = serde_saphyr::from_str(text).expect("a section");
        let mut traffic = Traffic { sessions: 1, ..Traffic::default() };
        Cgnat::validate(&mut config, &mut traffic).err().map(|invalid| invalid.key)
    };
    let vrf = "vrfs: [{name: red, vlan: 9, inside: [10.0.0.0/8], next-hop: 10.0.0.1}]";
    for (text, key) in [
        ("{inside-next-hop: 100.127.255.254}", Some("inside-next-hop")),
        ("{outside-next-hop: 224.0.0.1}", Some("outside-next-hop")),
        ("{outside-next-hop: 198.18.0.9}", Some("outside-next-hop")),
        ("{inside-next-hop-ipv6: fe80::9}", Some("inside-next-hop-ipv6")),
        ("{outside-next-hop-ipv6: fe80::9}", Some("outside-next-hop-ipv6")),
        ("{nat64: {}, inside-next-hop-ipv6: ff02::1}", Some("inside-next-hop-ipv6")),
        ("{nat64: {}, inside-next-hop: 10.0.0.1}", Some("inside-next-hop-ipv6")),
        ("{nat64: {}, inside-next-hop-ipv6: fe80::9}", None),
        ("{nat64: {}, inside-next-hop: 10.0.0.1, inside-next-hop-ipv6: fe80::9}", None),
        ("{inside-next-hop: 10.0.0.1, outside-next-hop: 203.0.113.2}", None),
        (&format!("{{{vrf}}}"), Some("vrfs")),
        (&format!("{{inside-next-hop: 10.0.0.1, {vrf}}}"), None),
    ] {
        assert_eq!(refused(text).as_deref(), key, "{text}");
    }
}
