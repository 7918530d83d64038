//! Next hops that are asked for their MAC addresses, of several workers, and what is refused.

use std::time::Duration;

use function_cgnat::config::Config;
use function_cgnat::types::sides::towards_worker;
use function_cgnat::workers::steering::Steering;
use function_kit::Shard;
use model_cgnat::{Cgnat, Traffic};
use model_kit::Model;
use model_kit::check::Expected;
use packet::PortId;
use testkit::pair::Pair;

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
fn what_a_worker_hears_at_a_further_interface_is_known_to_all() {
    let interfaces = "[{port: lan2, vlan: 30, side: inside, ip: 100.127.0.1, \
         next-hop: 100.127.0.2, networks: [10.0.0.0/8]}]";
    let interfaces = serde_saphyr::from_str(interfaces).expect("interfaces");
    let config = Config { core: 2, interfaces, ..kinds()[0].clone() };
    let [mut one, mut other] =
        [0, 1].map(|index| Pair::<Cgnat>::new(&config, Shard { index, count: 2 }));
    // Links towards workers are behind the three ports.
    let (lan, workers) = (PortId(2), [PortId(3), PortId(4)]);
    for pair in [&mut one, &mut other] {
        pair.wait(Duration::ZERO).expect("they agree");
        let asked = |one: &Expected| matches!(one, Expected::Forward { port, .. } if *port == lan);
        assert!(pair.made.iter().all(asked) && pair.made.len() == 1, "{:?}", pair.made);
    }
    let own = config.inside_mac.0.0;
    let fixed = [0x81, 0, 0, 30, 8, 6, 0, 1, 8, 0, 6, 4, 0, 2];
    let ends = [&MAC[..], &[100, 127, 0, 2], &own, &[100, 127, 0, 1]].concat();
    let answer = [&own[..], &MAC, &fixed, &ends].concat();
    let heard = Expected::Drop("neighbour-heard");
    assert_eq!(one.frame(lan, &answer), Ok(heard.clone()));
    let [Expected::Forward { port, frame }] = &one.made[..] else {
        panic!("one copy for the other worker, not {:?}", one.made);
    };
    assert_eq!(*port, workers[1]);
    assert_eq!(other.frame(workers[0], frame), Ok(heard));
    for pair in [&mut one, &mut other] {
        pair.wait(Duration::from_secs(1)).expect("they agree");
        assert!(pair.made.is_empty(), "it is asked no more: {:?}", pair.made);
    }
}

#[test]
fn frames_find_their_worker_whatever_the_port_and_the_tag() {
    let interfaces = "[{port: lan2, vlan: 30, side: inside, ip: 100.127.0.1}, \
         {port: inside, vlan: 7, side: outside, ip: 203.0.112.1}]";
    let interfaces = serde_saphyr::from_str(interfaces).expect("interfaces");
    let config = Config { core: 8, interfaces, ..kinds()[0].clone() };
    let mut steering = Steering::new(&config);
    let mut find = |port: PortId, frame: &[u8]| steering.of_frame(port, frame);
    let tagged =
        |vlan: u8, frame: &[u8]| [&frame[..12], &[0x81, 0, 0, vlan], &frame[12..]].concat();
    for number in 0..64 {
        let [from, to] = [[10, 0, 0, number], [198, 18, 0, number % 4]];
        let frame = |from: [u8; 4], to: [u8; 4]| {
            let ports = [9 + u16::from(number), 2000 + 64 * u16::from(number)];
            let head = [&[0x45, 0, 0, 28][..], &[0, 1, 0, 0, 64, 17, 0, 0], &from, &to].concat();
            let ports = ports.map(u16::to_be_bytes).concat();
            [&[0; 12][..], &[8, 0], &head, &ports, &[0, 8, 0, 0]].concat()
        };
        let (outward, inward) = (frame(from, [9; 4]), frame([9; 4], to));
        assert_eq!(find(PortId(2), &tagged(30, &outward)), find(INSIDE, &outward));
        assert_eq!(find(INSIDE, &tagged(7, &inward)), find(OUTSIDE, &inward));
        assert_ne!(find(INSIDE, &inward), find(OUTSIDE, &inward), "sides differ");
    }
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
