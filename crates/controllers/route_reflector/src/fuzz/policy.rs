//! Policies that are drawn, and what a plain reflector makes of them: rule by rule, by the texts of
//! their keys, without anything of the fast one's.

use std::net::IpAddr;

use protocol_kit::Random;
use serde_json::{Value, json};

use super::path::{Attributes, Prefix};
use super::wire::TARGETS;
use crate::config::{PolicyKeys, RuleKeys, SetKeys, Then, Verdict};
use crate::policy::Groups;

/// What a policy has made of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The path.
    pub path: Attributes,
    /// Whether a rule has set the MED.
    pub sets_med: bool,
}

/// Returns what a policy makes of a path of a peer of a group; nothing if it rejects it.
pub fn pass(policy: &PolicyKeys, group: &str, prefix: Prefix, path: &Attributes) -> Option<Passed> {
    let mut passed = Passed { path: path.clone(), sets_med: false };
    for rule in &policy.rules {
        if !fits(rule, group, prefix, &passed.path) {
            continue;
        }
        change(&rule.set, &mut passed);
        match rule.then {
            Then::Accept => return Some(passed),
            Then::Reject => return None,
            Then::Next => {}
        }
    }
    (policy.default == Verdict::Accept).then_some(passed)
}

fn fits(rule: &RuleKeys, group: &str, (len, address): Prefix, path: &Attributes) -> bool {
    let has = |wanted: &String| texts(path).iter().any(|text| is_like(text, wanted));
    let communities: Vec<String> = rule.communities.iter().cloned().map(String::from).collect();
    let in_path = |asn: &u32| rule.path_has.iter().any(|all| all.first <= *asn && *asn <= all.last);
    let is_origin =
        |asn: &u32| rule.origin_as.iter().any(|all| all.first <= *asn && *asn <= all.last);
    let named = rule.prefixes.iter().any(|keys| {
        let IpAddr::V4(outer) = keys.prefix.address else { return false };
        let own = keys.prefix.len;
        let bits = |octets: [u8; 4]| format!("{:032b}", u32::from_be_bytes(octets));
        let begins = bits(address).starts_with(&bits(outer.octets())[..usize::from(own)]);
        let fits = match (keys.ge, keys.le) {
            (None, None) => len == own,
            (Some(least), None) => len >= least,
            (None, Some(most)) => len >= own && len <= most,
            (Some(least), Some(most)) => len >= least && len <= most,
        };
        begins && fits
    });
    let count = path.path.len();
    (rule.families.is_empty() || rule.families.iter().any(|one| one.0.to_string() == FAMILY))
        && (rule.groups.is_empty() || rule.groups.iter().any(|one| one == group))
        && (rule.prefixes.is_empty() || named)
        && (communities.is_empty() || communities.iter().any(has))
        && (rule.path_has.is_empty() || path.path.iter().any(in_path))
        && (rule.origin_as.is_empty() || path.path.last().is_some_and(is_origin))
        && rule.path_length_min.is_none_or(|least| count >= usize::from(least))
        && rule.path_length_max.is_none_or(|most| count <= usize::from(most))
}

fn change(set: &SetKeys, passed: &mut Passed) {
    let Passed { path, sets_med } = passed;
    path.preference = set.local_preference.or(path.preference);
    path.med = set.med.or(path.med);
    *sets_med |= set.med.is_some();
    if let Some(IpAddr::V4(next_hop)) = set.next_hop {
        path.next_hop = next_hop.octets();
    }
    let list = |all: &[crate::config::Communities]| -> Vec<String> {
        all.iter().cloned().map(String::from).collect()
    };
    let removed = list(&set.remove_communities);
    let goes = |text: &str| removed.iter().any(|wanted| is_like(text, wanted));
    path.communities.retain(|one| !goes(&standard(*one)));
    path.targets.retain(|one| !goes(&target(*one)));
    let replaced = list(&set.replace_communities);
    if replaced.iter().any(|text| !text.starts_with(TARGET)) {
        path.communities.clear();
    }
    if replaced.iter().any(|text| text.starts_with(TARGET)) {
        path.targets.clear();
    }
    for text in replaced.into_iter().chain(list(&set.add_communities)) {
        if text.starts_with(TARGET) {
            let value = TARGETS.iter().copied().find(|one| target(*one) == text);
            let value = value.expect("only these are drawn");
            if !path.targets.contains(&value) {
                path.targets.push(value);
            }
        } else {
            let (high, low) = text.split_once(':').expect("two parts");
            let part = |text: &str| text.parse::<u32>().expect("a number");
            let value = part(high) * 65_536 + part(low);
            if !path.communities.contains(&value) {
                path.communities.push(value);
            }
        }
    }
    if let Some(prepend) = set.prepend {
        (0..prepend.times).for_each(|_| path.path.insert(0, prepend.asn));
    }
}

/// The communities of a path as texts.
fn texts(path: &Attributes) -> Vec<String> {
    let all = path.communities.iter().map(|one| standard(*one));
    all.chain(path.targets.iter().map(|one| target(*one))).collect()
}

fn standard(community: u32) -> String {
    format!("{}:{}", community / 65_536, community % 65_536)
}

fn target(community: u64) -> String {
    let bytes = community.to_be_bytes();
    let low = u16::from_be_bytes([bytes[6], bytes[7]]);
    match bytes[..2] {
        [0, 2] => {
            let asn = u16::from_be_bytes([bytes[2], bytes[3]]);
            let number = u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
            format!("{TARGET}{asn}:{number}")
        }
        [1, 2] => {
            let [a, b, c, d] = [bytes[2], bytes[3], bytes[4], bytes[5]];
            format!("{TARGET}{a}.{b}.{c}.{d}:{low}")
        }
        _ => format!("0x{community:016x}"),
    }
}

/// Whether a text is one, part by part.
fn is_like(text: &str, wanted: &str) -> bool {
    let (parts, wanted): (Vec<&str>, Vec<&str>) =
        (text.split(':').collect(), wanted.split(':').collect());
    let is_any = |(part, wanted): (&&str, &&str)| *wanted == "*" || part == wanted;
    parts.len() == wanted.len() && parts.iter().zip(&wanted).all(is_any)
}

/// Draws a policy that is about what trials have.
///
/// # Panics
/// Never: what is drawn are keys.
pub fn draw(seed: u64) -> PolicyKeys {
    let mut random = Random::new(seed);
    let rules: Vec<Value> = (0..1 + random.below(6)).map(|_| draw_rule(&mut random)).collect();
    let default = ["accept", "accept", "reject"][random.below(3) as usize];
    let keys = json!({"name": format!("drawn-{seed}"), "rules": rules, "default": default});
    serde_json::from_value(keys).expect("they are keys")
}

fn draw_rule(random: &mut Random) -> Value {
    let mut rule = json!({});
    let communities =
        ["0:1", "0:*", "target:64500:0", "target:64500:*", "target:10.0.0.1:1", "9:9"];
    let some = |random: &mut Random, all: &[&str]| -> Vec<String> {
        let count = 1 + random.below(2);
        let one = |_| all[random.below(all.len() as u64) as usize].to_owned();
        (0..count).map(one).collect()
    };
    for _ in 0..random.below(3) {
        match random.below(7) {
            0 => {
                let (number, len) = (random.below(16), 20 + random.below(5));
                let own = json!([
                    {"prefix": format!("198.51.{number}.0/{len}"), "ge": len + random.below(2)},
                    {"prefix": format!("198.51.{}.0/24", random.below(14))},
                ]);
                rule["prefixes"] = own;
            }
            1 => rule["communities"] = json!(some(random, &communities)),
            2 => rule["path-has"] = json!([random.below(4), "3-9"]),
            3 => rule["origin-as"] = json!([1 + random.below(3)]),
            4 => rule["path-length-max"] = json!(random.below(3)),
            5 => rule["path-length-min"] = json!(random.below(3)),
            _ => rule["groups"] = json!(some(random, &["a", "b"])),
        }
    }
    rule["then"] = json!(["accept", "reject", "next", "next"][random.below(4) as usize]);
    if rule["then"] == "reject" {
        return rule;
    }
    let exact = ["0:1", "0:2", "target:64500:0", "target:64500:1"];
    for _ in 0..random.below(3) {
        match random.below(7) {
            0 => rule["set"]["local-preference"] = json!(99 + random.below(3)),
            1 => rule["set"]["med"] = json!(random.below(3)),
            2 => rule["set"]["next-hop"] = json!(format!("10.0.0.{}", random.below(3))),
            3 => rule["set"]["add-communities"] = json!(some(random, &exact)),
            4 => rule["set"]["replace-communities"] = json!(some(random, &exact)),
            5 => rule["set"]["remove-communities"] = json!(some(random, &communities)),
            _ => rule["set"]["prepend"] = json!({"as": 8, "times": 1 + random.below(2)}),
        }
    }
    rule
}

/// The family of the routes of trials with policies.
const FAMILY: &str = "ipv4-unicast";

/// How the text of a route target begins.
const TARGET: &str = "target:";

/// The groups of peers.
pub fn groups() -> Groups {
    let mut groups = Groups::default();
    for name in ["a", "b"] {
        groups.number(name);
    }
    groups
}
