//! Deterministic rules against a slow twin that hands out ports one by one.
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use function_kit::sections::Prefixed;
use proptest::prelude::*;

use crate::config::{Assignment, Config, DeterministicRule, deterministic_plan};
use crate::deterministic::*;

fn network(text: &str) -> Prefixed<Ipv4Addr> {
    Prefixed::try_from(text.to_owned()).expect("a network")
}

fn rule(inside: &str, outside: &str) -> DeterministicRule {
    DeterministicRule {
        realm: 0,
        inside: network(inside),
        outside: network(outside),
        skip_boundary: false,
        ports_per_subscriber: None,
        dynamic_factor: 0,
        first_port: 1024,
        last_port: u16::MAX,
        assignment: Assignment::Sequential,
    }
}

/// RFC 7422 section 2.4: 14 subscribers behind one address, and room for two more.
#[test]
fn the_example_of_rfc_7422_comes_out() {
    let rule = DeterministicRule {
        skip_boundary: true,
        dynamic_factor: 2,
        ..rule("198.51.100.0/28", "192.0.2.1/32")
    };
    let plan = deterministic_plan(&[rule]).expect("a good rule");
    let outside = Ipv4Addr::new(192, 0, 2, 1);
    for (last, ports) in [(1, 1024..=5055), (2, 5056..=9087), (14, 53_440..=57_471)] {
        let inside = Ipv4Addr::new(198, 51, 100, last);
        let block = plan.forward(0, inside).expect("a subscriber");
        assert_eq!((block.first_port..=block.last_port(), block.step), (ports, 1));
        assert_eq!((block.outside, block.len), (outside, 4032));
    }
    let dynamic = plan.dynamic(outside).expect("D is 2");
    assert_eq!((dynamic.first_port, dynamic.last_port()), (57_472, 65_535));
    assert_eq!(plan.reverse(outside, 57_471).map(is_subscriber), Some(true));
    assert_eq!(plan.reverse(outside, 57_472), Some(Owner::Dynamic));
    assert_eq!(plan.reverse(outside, 1023), Some(Owner::Nobody));
    assert_eq!(plan.reverse(Ipv4Addr::new(192, 0, 2, 2), 2000), None);
    for last in [0, 15] {
        assert_eq!(plan.forward(0, Ipv4Addr::new(198, 51, 100, last)), None, "a boundary");
    }
    assert_eq!(plan.forward(1, Ipv4Addr::new(198, 51, 100, 1)), None, "another realm");
}

fn is_subscriber(owner: Owner) -> bool {
    matches!(owner, Owner::Subscriber { .. })
}

#[test]
fn assignments_differ_as_the_rfc_says() {
    let with = |assignment| {
        let rule = DeterministicRule {
            assignment,
            ports_per_subscriber: Some(1000),
            ..rule("10.0.0.0/29", "192.0.2.0/31")
        };
        let plan = deterministic_plan(&[rule]).expect("a good rule");
        let block = |last| plan.forward(0, Ipv4Addr::new(10, 0, 0, last)).expect("a subscriber");
        [block(0), block(1), block(2)].map(|one| (one.outside.octets()[3], one.nth(0), one.nth(1)))
    };
    let sequential = [(0, 1024, 1025), (1, 1024, 1025), (0, 2024, 2025)];
    assert_eq!(with(Assignment::Sequential), sequential);
    assert_eq!(with(Assignment::Staggered), [(0, 1024, 1028), (1, 1024, 1028), (0, 1025, 1029)]);
    assert_eq!(with(Assignment::Filled), [(0, 1024, 1025), (0, 2024, 2025), (0, 3024, 3025)]);
}

#[test]
fn what_cannot_be_mapped_is_refused_with_a_remedy() {
    let good = rule("10.0.0.0/24", "192.0.2.0/28");
    let bad = [
        DeterministicRule { inside: network("10.0.0.1/24"), ..good },
        DeterministicRule { outside: network("0.0.0.0/0"), ..good },
        DeterministicRule { inside: network("10.0.0.0/31"), skip_boundary: true, ..good },
        DeterministicRule { first_port: 2000, last_port: 1999, ..good },
        DeterministicRule { inside: network("10.0.0.0/8"), ..good },
        DeterministicRule { ports_per_subscriber: Some(4033), ..good },
        DeterministicRule { ports_per_subscriber: Some(4032), dynamic_factor: 1, ..good },
    ];
    for rule in bad {
        let refused = deterministic_plan(&[rule]).expect_err("it is bad");
        assert_eq!(refused.key, "deterministic");
        assert!(!refused.remedy.is_empty(), "{refused}");
    }
    let same_inside = DeterministicRule { outside: network("192.0.3.0/28"), ..good };
    let same_outside = DeterministicRule { realm: 1, ..good };
    for second in [same_inside, same_outside] {
        let refused = deterministic_plan(&[good, second]).expect_err("they share addresses");
        assert!(refused.what.contains("share addresses"), "{refused}");
    }
    let fits = DeterministicRule { ports_per_subscriber: Some(4032), ..good };
    assert!(deterministic_plan(&[fits]).is_ok(), "64512 ports for 16 subscribers");
    let realms = DeterministicRule { realm: 1, ..same_inside };
    assert!(deterministic_plan(&[good, realms]).is_ok(), "overlapping, in another realm");
    let checked = |deterministic| {
        let config = Config { deterministic, ..Config::default() };
        keys::check("function", &config).map_err(|invalid| invalid.key)
    };
    for (key, rule) in [
        ("deterministic[0].first-port", DeterministicRule { first_port: 0, ..good }),
        (
            "deterministic[0].ports-per-subscriber",
            DeterministicRule { ports_per_subscriber: Some(0), ..good },
        ),
    ] {
        assert_eq!(checked(vec![rule]), Err(key.to_owned()));
    }
    assert_eq!(checked(vec![good; 1025]), Err("deterministic".to_owned()));
    assert_eq!(checked(vec![good]), Ok(()));
}

/// Who has which port of which address, handed out one by one as section 2 says it.
fn twin(rule: &DeterministicRule) -> BTreeMap<(u32, u16), u32> {
    let skipped = usize::from(rule.skip_boundary);
    let addresses = 1_usize << (32 - rule.outside.len);
    let all: Vec<u32> = (0..1_u32 << (32 - rule.inside.len)).collect();
    let inside = &all[skipped..all.len() - skipped];
    let compression = inside.len().div_ceil(addresses);
    let candidates: Vec<u16> = (rule.first_port..=rule.last_port).collect();
    let share = candidates.len() / (compression + usize::from(rule.dynamic_factor));
    let share = rule.ports_per_subscriber.map_or(share, usize::from);
    let mut owners = BTreeMap::new();
    for (number, &subscriber) in inside.iter().enumerate() {
        let (address, place) = match rule.assignment {
            Assignment::Filled => (number / compression, number % compression),
            _ => (number % addresses, number / addresses),
        };
        for port in 0..share {
            let candidate = match rule.assignment {
                Assignment::Staggered => port * compression + place,
                _ => place * share + port,
            };
            let taken = (address as u32, candidates[candidate]);
            assert_eq!(owners.insert(taken, subscriber), None, "given twice");
        }
    }
    owners
}

fn any_rule() -> impl Strategy<Value = DeterministicRule> {
    let assignment = prop_oneof![
        Just(Assignment::Sequential),
        Just(Assignment::Staggered),
        Just(Assignment::Filled)
    ];
    let sizes = (22_u8..=32, 29_u8..=32, any::<bool>());
    let ports = (1_u16..=u16::MAX, 0_u16..3000, 0_u16..40, proptest::option::of(1_u16..400));
    (sizes, ports, assignment, 0_u16..3).prop_map(|(sizes, ports, assignment, realm)| {
        let (inside, outside, skip) = sizes;
        let (first_port, more, dynamic_factor, ports_per_subscriber) = ports;
        DeterministicRule {
            realm,
            inside: Prefixed { address: Ipv4Addr::new(10, 0, 0, 0), len: inside },
            outside: Prefixed { address: Ipv4Addr::new(192, 0, 2, 8), len: outside },
            skip_boundary: skip && inside <= 30,
            ports_per_subscriber,
            dynamic_factor,
            first_port,
            last_port: first_port.saturating_add(more),
            assignment,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Every inside address and every port of every outside address: the twin's, and exact
    /// inverses.
    #[test]
    fn both_ways_are_the_twins_over_the_whole_range(rule in any_rule()) {
        let Ok(plan) = deterministic_plan(&[rule]) else { return Ok(()) };
        let owners = twin(&rule);
        let first = rule.outside.address.to_bits();
        let base = rule.inside.address.to_bits();
        let mut given = 0;
        for subscriber in 0..1_u32 << (32 - rule.inside.len) {
            let inside = Ipv4Addr::from_bits(base + subscriber);
            let Some(block) = plan.forward(rule.realm, inside) else { continue };
            for number in 0..block.len {
                let port = block.nth(number);
                let address = block.outside.to_bits() - first;
                prop_assert_eq!(owners.get(&(address, port)), Some(&subscriber));
                let owner = Owner::Subscriber { realm: rule.realm, inside };
                prop_assert_eq!(plan.reverse(block.outside, port), Some(owner));
                prop_assert!(block.holds(port));
                given += 1;
            }
        }
        prop_assert_eq!(given, owners.len());
        for address in 0..1_u32 << (32 - rule.outside.len) {
            let outside = Ipv4Addr::from_bits(first + address);
            let dynamic = plan.dynamic(outside);
            for port in 0..=u16::MAX {
                let owner = plan.reverse(outside, port).expect("the address is the rule's");
                match owners.get(&(address, port)) {
                    Some(&subscriber) => {
                        let inside = Ipv4Addr::from_bits(base + subscriber);
                        prop_assert_eq!(owner, Owner::Subscriber { realm: rule.realm, inside });
                        let block = plan.forward(rule.realm, inside).expect("a subscriber");
                        prop_assert!(block.holds(port) && block.outside == outside);
                    }
                    None => prop_assert!(!is_subscriber(owner)),
                }
                let shared = dynamic.is_some_and(|pool| pool.holds(port));
                prop_assert_eq!(owner == Owner::Dynamic, shared);
            }
        }
        prop_assert_eq!(plan.forward(rule.realm, Ipv4Addr::from_bits(base - 1)), None);
        prop_assert_eq!(plan.reverse(Ipv4Addr::from_bits(first - 1), rule.first_port), None);
    }

    /// Among many rules, each address finds its own.
    #[test]
    fn rules_are_told_apart(lens in proptest::collection::vec((20_u8..=32, 24_u8..=32), 1..40)) {
        let rules: Vec<DeterministicRule> = (0..).zip(&lens).map(|(number, &(inside, outside))| {
            DeterministicRule {
                realm: number % 3,
                inside: Prefixed { address: Ipv4Addr::new(10, 200 - number as u8, 0, 0), len: inside },
                outside: Prefixed { address: Ipv4Addr::new(198, 18, number as u8, 0), len: outside },
                ..rule("10.0.0.0/8", "192.0.2.0/24")
            }
        }).collect();
        let plan = deterministic_plan(&rules).expect("they share nothing");
        for rule in &rules {
            let block = plan.forward(rule.realm, rule.inside.address).expect("a subscriber");
            prop_assert_eq!(block.outside, rule.outside.address);
            let last = rule.inside.address.to_bits() + ((1_u64 << (32 - rule.inside.len)) - 1) as u32;
            prop_assert!(plan.forward(rule.realm, Ipv4Addr::from_bits(last)).is_some());
            prop_assert_eq!(plan.forward(rule.realm, Ipv4Addr::from_bits(last + 1)), None);
            prop_assert_eq!(plan.forward(rule.realm + 3, rule.inside.address), None);
        }
    }
}
