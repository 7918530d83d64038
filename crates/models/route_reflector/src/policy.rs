//! What policies make of a route, as the documents of the reflector say it: each rule is gone
//! through for each route, and of each list each entry is looked at.
//!
//! It is slow and plain, and shares no code with the reflector.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use keys::Invalid;
use protocol_bgp::Family;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::{Attributes, Prefix};

/// A policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Policy {
    name: String,
    rules: Vec<Rule>,
    default: Verdict,
}

/// A rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Rule {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    families: Vec<String>,
    prefixes: Vec<Within>,
    communities: Vec<Text>,
    path_has: Vec<Ases>,
    origin_as: Vec<Ases>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_length_min: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_length_max: Option<u16>,
    set: Set,
    then: Then,
}

/// Prefixes: one, or those within it of some lengths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Within {
    prefix: Net,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ge: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    le: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Net(IpNet);

/// A community as it is written, with `*` for any part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct Text(String);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected an AS, or a range like 64512-65534")]
enum Ases {
    One(u32),
    Range(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Set {
    #[serde(skip_serializing_if = "Option::is_none")]
    local_preference: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    med: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_hop: Option<IpAddr>,
    remove_communities: Vec<Text>,
    replace_communities: Vec<Text>,
    add_communities: Vec<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prepend: Option<Prepend>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prepend {
    #[serde(rename = "as")]
    asn: u32,
    #[serde(default = "once")]
    times: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Then {
    #[default]
    Next,
    Accept,
    Reject,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Accept,
    #[default]
    Reject,
}

impl Policy {
    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what it makes of a route; none if it rejects it.
    pub fn pass(&self, prefix: Prefix, attributes: &Attributes) -> Option<Attributes> {
        self.pass_named(&self.naming(prefix), prefix.address.is_ipv4(), attributes)
    }

    /// Returns which of its rules the prefix of a route fits.
    pub fn naming(&self, prefix: Prefix) -> Vec<bool> {
        let fits = |rule: &Rule| {
            rule.prefixes.is_empty() || rule.prefixes.iter().any(|within| within.has(prefix))
        };
        self.rules.iter().map(fits).collect()
    }

    /// Returns what it makes of a route of IPv4 or IPv6 whose prefix fits some rules.
    pub fn pass_named(
        &self,
        naming: &[bool],
        is_ipv4: bool,
        attributes: &Attributes,
    ) -> Option<Attributes> {
        let family = if is_ipv4 { Family::Ipv4Unicast } else { Family::Ipv6Unicast };
        let mut left = attributes.clone();
        for (rule, _) in self.rules.iter().zip(naming).filter(|(_, is_named)| **is_named) {
            if !rule.fits(&family.to_string(), &left) {
                continue;
            }
            rule.set.change(is_ipv4, &mut left);
            match rule.then {
                Then::Accept => return Some(left),
                Then::Reject => return None,
                Then::Next => {}
            }
        }
        match self.default {
            Verdict::Accept => Some(left),
            Verdict::Reject => None,
        }
    }

    /// Returns some of the communities that its rules ask for, by which routes can be told that
    /// they are about.
    pub fn asked_communities(&self) -> Vec<u32> {
        let all = self.rules.iter().flat_map(|rule| &rule.communities);
        all.filter_map(|text| text.0.replace('*', "1").parse_standard()).collect()
    }

    /// The same of ASes.
    pub fn asked_ases(&self) -> Vec<u32> {
        let all = self.rules.iter().flat_map(|rule| rule.path_has.iter().chain(&rule.origin_as));
        all.map(|ases| ases.range().0).filter(|asn| *asn > 0).collect()
    }

    /// The same of prefixes of one version of IP: each that is named, or within it the longest one.
    pub fn asked_prefixes(&self, is_ipv4: bool) -> Vec<Prefix> {
        let all = self.rules.iter().flat_map(|rule| &rule.prefixes);
        let all = all.filter(|within| within.prefix.0.addr().is_ipv4() == is_ipv4);
        let longest = |within: &Within| {
            let net = IpNet::new(within.prefix.0.network(), within.lengths().1).ok()?;
            Some(Prefix { address: net.network(), len: net.prefix_len() })
        };
        all.filter_map(longest).collect()
    }
}

/// Finds a policy by its name; none for `accept`, and for no name.
///
/// # Errors
/// When there is none of that name.
pub fn find<'a>(
    all: &'a [Policy],
    (key, name): (&'static str, Option<&String>),
) -> Result<Option<&'a Policy>, Invalid> {
    let Some(name) = name.filter(|name| *name != "accept") else { return Ok(None) };
    let found = all.iter().find(|policy| policy.name == *name);
    let unknown = || {
        let what = format!("is `{name}`, and there is no such policy");
        let remedy = "name one of `policies`, or `accept`".to_owned();
        Invalid { section: "function", key: key.to_owned(), what, remedy }
    };
    found.map(Some).ok_or_else(unknown)
}

impl Rule {
    fn fits(&self, family: &str, left: &Attributes) -> bool {
        let has = |wanted: &Text| texts(left).iter().any(|text| is_like(text, &wanted.0));
        let is_in = |all: &[Ases], asn: u32| {
            all.iter().any(|ases| {
                let (first, last) = ases.range();
                (first..=last).contains(&asn)
            })
        };
        let len = left.path.len();
        (self.families.is_empty() || self.families.iter().any(|name| name == family))
            && (self.communities.is_empty() || self.communities.iter().any(has))
            && (self.path_has.is_empty() || left.path.iter().any(|asn| is_in(&self.path_has, *asn)))
            && (self.origin_as.is_empty()
                || left.path.last().is_some_and(|asn| is_in(&self.origin_as, *asn)))
            && self.path_length_min.is_none_or(|least| len >= least.into())
            && self.path_length_max.is_none_or(|most| len <= most.into())
    }
}

impl Set {
    fn change(&self, is_ipv4: bool, left: &mut Attributes) {
        left.preference = self.local_preference.or(left.preference);
        left.med = self.med.or(left.med);
        if let Some(next_hop) = self.next_hop.filter(|it| it.is_ipv4() == is_ipv4) {
            left.next_hop = next_hop;
        }
        let goes = |text: &str| self.remove_communities.iter().any(|one| is_like(text, &one.0));
        left.communities.retain(|one| !goes(&standard(*one)));
        left.extended.retain(|one| !goes(&extended(*one)));
        left.large.retain(|one| !goes(&large(*one)));
        for text in &self.replace_communities {
            match text.0.value() {
                Some(Value::Standard(_)) => left.communities.clear(),
                Some(Value::Extended(_)) => left.extended.clear(),
                Some(Value::Large(_)) => left.large.clear(),
                None => {}
            }
        }
        for text in self.replace_communities.iter().chain(&self.add_communities) {
            match text.0.value() {
                Some(Value::Standard(value)) => add(&mut left.communities, value),
                Some(Value::Extended(value)) => add(&mut left.extended, value),
                Some(Value::Large(value)) => add(&mut left.large, value),
                None => {}
            }
        }
        if let Some(Prepend { asn, times }) = self.prepend {
            (0..times).for_each(|_| left.path.insert(0, asn));
        }
    }
}

impl Within {
    fn lengths(&self) -> (u8, u8) {
        let net = self.prefix.0;
        let most = if self.ge.is_some() { net.max_prefix_len() } else { net.prefix_len() };
        (self.ge.unwrap_or(net.prefix_len()), self.le.unwrap_or(most))
    }

    fn has(&self, prefix: Prefix) -> bool {
        let (least, most) = self.lengths();
        (least..=most).contains(&prefix.len)
            && prefix.len >= self.prefix.0.prefix_len()
            && self.prefix.0.contains(&prefix.address)
    }
}

impl Ases {
    fn range(&self) -> (u32, u32) {
        match self {
            Ases::One(asn) => (*asn, *asn),
            Ases::Range(text) => {
                let (first, last) = text.split_once('-').unwrap_or((text, text));
                (first.parse().unwrap_or(u32::MAX), last.parse().unwrap_or(0))
            }
        }
    }
}

impl TryFrom<String> for Net {
    type Error = String;

    fn try_from(text: String) -> Result<Net, String> {
        text.parse().map(Net).map_err(|_| format!("`{text}` is no prefix like 192.0.2.0/24"))
    }
}

impl From<Net> for String {
    fn from(net: Net) -> String {
        net.0.to_string()
    }
}

impl JsonSchema for Policy {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Policy".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "object"})
    }

    fn inline_schema() -> bool {
        true
    }
}

/// A community of one of the kinds.
enum Value {
    Standard(u32),
    Extended(u64),
    Large([u32; 3]),
}

/// Reads communities that stand for themselves.
trait Reads {
    fn value(&self) -> Option<Value>;
    fn parse_standard(&self) -> Option<u32>;
}

impl Reads for String {
    fn value(&self) -> Option<Value> {
        if let Some(digits) = self.strip_prefix("0x") {
            return u64::from_str_radix(digits, 16).ok().map(Value::Extended);
        }
        let parts: Vec<&str> = self.split(':').collect();
        match parts[..] {
            [kind @ ("target" | "origin"), global, local] => {
                let sub_type = if kind == "target" { 2 } else { 3 };
                let mut bytes = [0, sub_type, 0, 0, 0, 0, 0, 0];
                if let Ok(address) = global.parse::<Ipv4Addr>() {
                    bytes[0] = 1;
                    bytes[2..6].copy_from_slice(&address.octets());
                    bytes[6..].copy_from_slice(&local.parse::<u16>().ok()?.to_be_bytes());
                } else if let Ok(asn) = global.parse::<u16>() {
                    bytes[2..4].copy_from_slice(&asn.to_be_bytes());
                    bytes[4..].copy_from_slice(&local.parse::<u32>().ok()?.to_be_bytes());
                } else {
                    bytes[0] = 2;
                    bytes[2..6].copy_from_slice(&global.parse::<u32>().ok()?.to_be_bytes());
                    bytes[6..].copy_from_slice(&local.parse::<u16>().ok()?.to_be_bytes());
                }
                Some(Value::Extended(u64::from_be_bytes(bytes)))
            }
            [one, two, three] => {
                Some(Value::Large([one.parse().ok()?, two.parse().ok()?, three.parse().ok()?]))
            }
            _ => self.parse_standard().map(Value::Standard),
        }
    }

    fn parse_standard(&self) -> Option<u32> {
        if let Some((value, _)) = NAMES.iter().find(|(_, name)| name == self) {
            return Some(*value);
        }
        let (high, low) = self.split_once(':')?;
        Some(u32::from(high.parse::<u16>().ok()?) << 16 | u32::from(low.parse::<u16>().ok()?))
    }
}

/// All communities as texts.
fn texts(left: &Attributes) -> Vec<String> {
    let all = left.communities.iter().map(|one| standard(*one));
    let all = all.chain(left.extended.iter().map(|one| extended(*one)));
    all.chain(left.large.iter().map(|one| large(*one))).collect()
}

fn standard(value: u32) -> String {
    format!("{}:{}", value >> 16, value & 0xffff)
}

fn large([one, two, three]: [u32; 3]) -> String {
    format!("{one}:{two}:{three}")
}

fn extended(value: u64) -> String {
    let [kind, what, a, b, c, d, e, f] = value.to_be_bytes();
    let name = match what {
        2 => "target",
        3 => "origin",
        _ => return format!("0x{value:016x}"),
    };
    let low = u16::from_be_bytes([e, f]);
    match kind {
        0 => {
            let number = u32::from_be_bytes([c, d, e, f]);
            format!("{name}:{}:{number}", u16::from_be_bytes([a, b]))
        }
        1 => format!("{name}:{}:{low}", Ipv4Addr::new(a, b, c, d)),
        2 => format!("{name}:{}:{low}", u32::from_be_bytes([a, b, c, d])),
        _ => format!("0x{value:016x}"),
    }
}

/// Whether a text is the wanted one, whose parts may be any.
fn is_like(text: &str, wanted: &str) -> bool {
    let wanted = match NAMES.iter().find(|(_, name)| *name == wanted) {
        Some((value, _)) => standard(*value),
        None => wanted.to_owned(),
    };
    // Any part is one of digits: the name of an extended community is none.
    let is_any = |one: &str, other: &str| other == "*" && one.bytes().all(|b| b.is_ascii_digit());
    let parts = text.split(':').count() == wanted.split(':').count();
    let mut both = text.split(':').zip(wanted.split(':'));
    parts && both.all(|(one, other)| one == other || is_any(one, other))
}

fn add<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

fn once() -> u8 {
    1
}

/// Well-known communities (RFC 1997, RFC 7999, RFC 8326, RFC 9494).
const NAMES: [(u32, &str); 8] = [
    (0xffff_0000, "graceful-shutdown"),
    (0xffff_0006, "llgr-stale"),
    (0xffff_0007, "no-llgr"),
    (0xffff_029a, "blackhole"),
    (0xffff_ff01, "no-export"),
    (0xffff_ff02, "no-advertise"),
    (0xffff_ff03, "no-export-subconfed"),
    (0xffff_ff04, "no-peer"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> Policy {
        serde_json::from_str(text).unwrap()
    }

    fn prefix(text: &str) -> Prefix {
        let net: IpNet = text.parse().unwrap();
        Prefix { address: net.addr(), len: net.prefix_len() }
    }

    #[test]
    fn rules_are_gone_through_in_their_order() {
        let policy = policy(
            r#"{"name": "p", "rules": [
                {"prefixes": [{"prefix": "10.0.0.0/8", "ge": 9, "le": 24}], "then": "reject"},
                {"communities": ["target:64500:*"], "set": {"med": 1, "add-communities": ["7:7"]}},
                {"communities": ["7:*"], "path-length-min": 1, "set": {"prepend": {"as": 3}},
                 "then": "accept"},
                {"families": ["ipv6-unicast"], "origin-as": ["1-5"], "then": "accept"}
            ]}"#,
        );
        let plain = Attributes::new(Ipv4Addr::LOCALHOST.into());
        let target = Attributes { extended: vec![0x0002_fbf4_0000_0009], path: vec![9], ..plain };
        let passed = policy.pass(prefix("10.0.0.0/8"), &target).unwrap();
        assert_eq!((passed.med, &passed.path), (Some(1), &vec![3, 9]));
        assert_eq!(policy.pass(prefix("10.0.0.0/9"), &target), None);
        assert!(policy.pass(prefix("10.0.0.0/25"), &target).is_some());
        let own = Attributes { extended: Vec::new(), path: vec![9, 5], ..target };
        assert_eq!(policy.pass(prefix("2001:db8::/32"), &own), Some(own.clone()));
        assert_eq!(policy.pass(prefix("192.0.2.0/24"), &own), None, "the default");
    }

    #[test]
    fn communities_are_replaced_by_kind() {
        let policy = policy(
            r#"{"name": "p", "default": "accept", "rules": [{"set": {
                "remove-communities": ["1:2:*"], "replace-communities": ["1:1", "no-export"],
                "add-communities": ["1:1", "5:6:7", "0x0604000000000001"], "local-preference": 7
            }}]}"#,
        );
        let plain = Attributes::new(Ipv4Addr::LOCALHOST.into());
        let some = Attributes {
            communities: vec![9],
            large: vec![[1, 2, 3], [1, 3, 3]],
            extended: vec![8],
            ..plain
        };
        let passed = policy.pass(prefix("192.0.2.0/24"), &some).unwrap();
        assert_eq!(passed.communities, [65_537, 0xffff_ff01]);
        assert_eq!(passed.large, [[1, 3, 3], [5, 6, 7]]);
        assert_eq!(passed.extended, [8, 0x0604_0000_0000_0001]);
        assert_eq!(passed.preference, Some(7));
    }
}
