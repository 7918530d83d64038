//! Rules against a walk through them: at no step two of them have an address or a host.

use proptest::prelude::*;

use super::*;

/// Some of few addresses and hosts, so that they move from rule to rule.
fn rules() -> impl Strategy<Value = RuleSet> {
    let one = (0..2u8, 31..33u8, 0..8u8, 0..8u8, 0..3u16);
    proptest::collection::vec(one, 0..10).prop_map(|all| {
        let mut rules = RuleSet::default();
        for (kind, len, inside, outside, port) in all {
            let mut more = rules.clone();
            let inside = Ipv4Addr::new(10, 0, 0, inside);
            let outside = Ipv4Addr::new(203, 0, 113, outside);
            if kind == 0 {
                let of = |address| Prefixed { address, len };
                more.statics.push(StaticRule { inside: of(inside), outside: of(outside) }.normal());
            } else {
                let text =
                    format!("{{inside: {inside}, forwards: [{{first-port: {}}}]}}", port + 1);
                let host = serde_saphyr::from_str(&text).expect("a host");
                match more.forwarding.iter_mut().find(|rule| rule.outside == outside) {
                    Some(rule) => rule.hosts.push(host),
                    None => more.forwarding.push(PortForwarding { outside, hosts: vec![host] }),
                }
            }
            if agree(&more) {
                rules = more;
            }
        }
        rules
    })
}

/// Whether no two rules have an address or a host, and none has no host.
fn agree(rules: &RuleSet) -> bool {
    let host = |address| Prefixed { address, len: 32 };
    let mut sides = [Vec::new(), Vec::new()];
    for rule in &rules.statics {
        sides[0].push(rule.inside);
        sides[1].push(rule.outside);
    }
    for rule in &rules.forwarding {
        sides[0].extend(rule.hosts.iter().map(|one| host(one.inside)));
        sides[1].push(host(rule.outside));
    }
    let are_apart = |all: &Vec<Prefixed<Ipv4Addr>>| {
        (1..all.len()).all(|at| all[..at].iter().all(|before| !overlap(*before, all[at])))
    };
    sides.iter().all(are_apart) && rules.forwarding.iter().all(|rule| !rule.hosts.is_empty())
}

/// A change, as plainly as can be.
fn apply(rules: &mut RuleSet, update: &Update) {
    match update.clone() {
        Update::AddStatic { inside, outside } => {
            rules.statics.push(StaticRule { inside, outside });
        }
        Update::RemoveStatic { inside, outside } => {
            let before = rules.statics.len();
            rules.statics.retain(|rule| *rule != StaticRule { inside, outside });
            assert_eq!(rules.statics.len() + 1, before, "it was there");
        }
        Update::SetPortForwarding { outside, hosts } => {
            rules.forwarding.retain(|rule| rule.outside != outside);
            rules.forwarding.push(PortForwarding { outside, hosts });
        }
        Update::RemovePortForwarding { outside } => {
            let before = rules.forwarding.len();
            rules.forwarding.retain(|rule| rule.outside != outside);
            assert_eq!(rules.forwarding.len() + 1, before, "it was there");
        }
        other => panic!("{other:?}"),
    }
    assert!(agree(rules), "after {update:?}: {rules:?}");
}

/// The same rules in one order.
fn sorted(mut rules: RuleSet) -> RuleSet {
    rules.statics.sort_unstable_by_key(|rule| rule.inside.address);
    rules.forwarding.sort_unstable_by_key(|rule| rule.outside);
    rules
}

proptest! {
    #[test]
    fn changes_lead_from_rules_to_others_and_back_from_anywhere(before in rules(), after in rules()) {
        let changes = before.changes_to(&after).concat();
        for applied in 0..=changes.len() {
            let mut now = before.clone();
            changes[..applied].iter().for_each(|update| apply(&mut now, update));
            if applied == changes.len() {
                prop_assert_eq!(sorted(now.clone()), sorted(after.clone()));
            }
            let back = undoing(&before, &changes[..applied]);
            for update in back.into_iter().rev() {
                apply(&mut now, &update.expect("it is of rules"));
            }
            prop_assert_eq!(sorted(now), sorted(before.clone()));
        }
        let same = before.changes_to(&before).concat();
        prop_assert_eq!(same, []);
    }
}
