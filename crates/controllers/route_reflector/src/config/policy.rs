//! What an operator says of which routes are taken of peers and told to them.

use std::net::IpAddr;

use controller_kit::Unanswered;
use controller_kit::keys::invalid;
use function_kit::Invalid;
use function_kit::sections::Prefixed;
use protocol_bgp::prefix::{bits_before, is_ipv4};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family::FamilyName;
use super::ranges::{Ases, Communities};
use crate::rewriting::takes;

/// A policy: rules, through which a route goes in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PolicyKeys {
    /// Its name, by which peers have it. `accept` is there already, and takes everything as it is.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// The rules, in their order.
    #[serde(default)]
    #[schemars(length(max = 256))]
    pub rules: Vec<RuleKeys>,
    /// What becomes of routes that no rule has accepted or rejected.
    #[serde(default)]
    pub default: Verdict,
}

/// A rule: what it says of a route counts if all that it asks for is so. Of each list it is enough
/// that one entry is so, and a key that is not there asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RuleKeys {
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub name: Option<String>,
    /// Families of the route.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 13))]
    pub families: Vec<FamilyName>,
    /// Groups of the peer that has told it, as `group` of the peer names them; in a policy of what
    /// a peer is told, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub groups: Vec<String>,
    /// Prefixes; of a VPN's without its Route Distinguisher.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100_000))]
    pub prefixes: Vec<PrefixKeys>,
    /// Communities that it has: standard ones (`64500:1`, `no-export`), large ones
    /// (`64500:1:2`), extended ones (`target:64500:1`, `origin:64500:1`, or 16 digits behind
    /// `0x`). The last parts may be `*` for any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4096))]
    pub communities: Vec<Communities>,
    /// ASes anywhere in its path: numbers, and ranges like `64512-65534`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4096))]
    pub path_has: Vec<Ases>,
    /// ASes in which it begins: the last one of the path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4096))]
    pub origin_as: Vec<Ases>,
    /// The least number of ASes in its path, as routes are compared by it: a set counts for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_length_min: Option<u16>,
    /// The largest number of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_length_max: Option<u16>,
    /// What is changed. Later rules look at what earlier ones have left.
    #[serde(default, skip_serializing_if = "SetKeys::is_nothing")]
    pub set: SetKeys,
    /// What becomes of the route.
    #[serde(default)]
    pub then: Then,
}

/// Prefixes of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PrefixKeys {
    /// The prefix; alone it stands for itself.
    pub prefix: Prefixed<IpAddr>,
    /// The least length, in bits, of prefixes within it that are meant, too; none for its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 128))]
    pub ge: Option<u8>,
    /// The largest length of those; none for any where `ge` is there, else for that of the prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 128))]
    pub le: Option<u8>,
}

/// What a rule changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SetKeys {
    /// LOCAL_PREF, which peers of another AS are never told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_preference: Option<u32>,
    /// MULTI_EXIT_DISC. Peers of another AS are told one if their own policy sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub med: Option<u32>,
    /// The next hop, of routes whose family has next hops of its version of IP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<IpAddr>,
    /// Communities of all kinds that go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub remove_communities: Vec<Communities>,
    /// Communities that take the place of all others of their kinds: standard, extended, large.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub replace_communities: Vec<Communities>,
    /// Communities that come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub add_communities: Vec<Communities>,
    /// An AS in front of the path. To a peer of another AS the own one stands before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepend: Option<PrependKeys>,
}

/// An AS in front of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PrependKeys {
    /// The AS.
    #[serde(rename = "as")]
    #[schemars(range(min = 1))]
    pub asn: u32,
    /// How often it stands there.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 32))]
    pub times: u8,
}

/// What becomes of a route that a rule is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    /// It goes on to the next rule.
    #[default]
    Next,
    /// It is taken or told.
    Accept,
    /// It is not.
    Reject,
}

/// What becomes of a route in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is taken or told.
    Accept,
    /// It is not.
    #[default]
    Reject,
}

impl SetKeys {
    fn is_nothing(&self) -> bool {
        *self == SetKeys::default()
    }
}

impl PrefixKeys {
    /// The lengths of prefixes that are meant, from the least to the largest one.
    pub(crate) fn lengths(&self) -> (u8, u8) {
        let all = if self.prefix.address.is_ipv4() { 32 } else { 128 };
        let own = self.prefix.len;
        let most = if self.ge.is_some() { all } else { own };
        (self.ge.unwrap_or(own), self.le.unwrap_or(most))
    }

    fn check(&self) -> Result<(), Invalid> {
        let (least, most) = self.lengths();
        let all = if self.prefix.address.is_ipv4() { 32 } else { 128 };
        let prefix = String::from(self.prefix);
        if least < self.prefix.len {
            let what = format!("is {least}, and {prefix} has nothing that is shorter than itself");
            return Err(invalid("ge", what, "Give at least the length of the prefix"));
        }
        if most < least || most > all {
            let what = format!("is {most}, and there is nothing of {prefix} from {least} to that");
            let remedy = format!("Give at least {least} and at most {all}");
            return Err(invalid("le", what, &remedy));
        }
        Ok(())
    }
}

impl RuleKeys {
    /// Checks what one key says of another.
    fn check(&self) -> Result<(), Invalid> {
        self.prefixes.iter().enumerate().try_for_each(|(at, prefix)| {
            prefix.check().map_err(|why| why.under(&format!("prefixes[{at}]")))
        })?;
        let can_be = |family: &FamilyName| bits_before(family.0).is_some();
        if let Some(family) = self.families.iter().find(|one| !can_be(one))
            && !self.prefixes.is_empty()
        {
            let what = format!("has {}, whose routes are no prefixes", family.0);
            return Err(invalid("families", what, "Leave it or `prefixes` out"));
        }
        let versions = |family: &FamilyName| is_ipv4(family.0);
        let is_of_one = |prefix: &PrefixKeys| Some(prefix.prefix.address.is_ipv4());
        let all = || self.families.iter().map(versions);
        if let Some(other) = self.prefixes.iter().find(|one| !all().any(|it| it == is_of_one(one)))
            && !self.families.is_empty()
        {
            let prefix = String::from(other.prefix);
            let what = format!("has none that {prefix} could be of");
            return Err(invalid(
                "families",
                what,
                "Name one of its version of IP, or leave it out",
            ));
        }
        if let (Some(least), Some(most)) = (self.path_length_min, self.path_length_max)
            && least > most
        {
            let what = format!("is {most}, and `path-length-min` is {least}");
            return Err(invalid("path-length-max", what, "Give at least as much"));
        }
        if self.then == Then::Reject && !self.set.is_nothing() {
            let what = "changes a route that is rejected".to_owned();
            return Err(invalid("set", what, "Leave it out, or let the rule accept"));
        }
        if let Some(next_hop) = &self.set.next_hop
            && !self.families.is_empty()
            && !self.families.iter().any(|family| takes(family.0, next_hop))
        {
            let what = format!("is {next_hop}, which no route of these families can have");
            return Err(invalid("set.next-hop", what, "Give one of the other version of IP"));
        }
        for (key, list) in [
            ("set.add-communities", &self.set.add_communities),
            ("set.replace-communities", &self.set.replace_communities),
        ] {
            if let Some(many) = list.iter().find(|one| one.single().is_none()) {
                let what = format!("has {many}, which stands for many");
                return Err(invalid(key, what, "Write it without `*`"));
            }
        }
        Ok(())
    }
}

/// Checks policies, and what is said of peers: the keys `import`, `export` and `group` of each,
/// with its name.
///
/// # Errors
/// The first key that cannot be used.
pub(super) fn check<'a>(
    all: &[PolicyKeys],
    own_as: u32,
    peers: impl Iterator<Item = Policed<'a>> + Clone,
) -> Result<(), Invalid> {
    for (at, policy) in all.iter().enumerate() {
        let of = |invalid: Invalid| invalid.under(&format!("policies[{at}]"));
        let is_known = all[..at].iter().any(|other| other.name == policy.name);
        if is_known || policy.name == ACCEPT {
            let what = format!("is `{}`, which another policy has", policy.name);
            return Err(of(invalid("name", what, "Give each policy a name of its own")));
        }
        for (number, rule) in policy.rules.iter().enumerate() {
            let of_rule = |why: Invalid| of(why.under(&format!("rules[{number}]")));
            rule.check().map_err(of_rule)?;
            let has = |name: &String| peers.clone().any(|one| one.group == Some(name));
            if let Some(name) = rule.groups.iter().find(|name| !has(name)) {
                let what = format!("has `{name}`, and no peer is of that group");
                let remedy = "Name it in `group` of a peer or of `dynamic`, or leave it out";
                return Err(of_rule(invalid("groups", what, remedy)));
            }
        }
    }
    for one in peers {
        for (key, name) in [("import", one.import), ("export", one.export)] {
            let Some(name) = name else { continue };
            let Some(found) = all.iter().find(|policy| policy.name == *name) else {
                if name == ACCEPT {
                    continue;
                }
                let names = all.iter().map(|policy| policy.name.as_str());
                let names: Vec<&str> = names.chain([ACCEPT]).collect();
                let unknown = Unanswered::unknown("policy", name, &names);
                let what = format!("of {}: {}", one.name, unknown.what);
                let remedy = format!("name one of `policies`: {}", unknown.remedy);
                return Err(invalid(key, what, &remedy));
            };
            let prepends =
                |rule: &RuleKeys| rule.set.prepend.is_some_and(|prepend| prepend.asn == own_as);
            if key == "import" && found.rules.iter().any(prepends) {
                let what = format!(
                    "of {} is `{name}`, which puts the own AS in front: clients drop such routes",
                    one.name
                );
                return Err(invalid(key, what, "Prepend another AS, or do so in `export`"));
            }
        }
    }
    Ok(())
}

/// What is said of the policies of a peer.
#[derive(Clone, Copy)]
pub(super) struct Policed<'a> {
    pub name: &'a dyn std::fmt::Display,
    pub group: Option<&'a String>,
    pub import: Option<&'a String>,
    pub export: Option<&'a String>,
}

fn once() -> u8 {
    1
}

/// The policy that is there without being named: it takes everything as it is.
pub(crate) const ACCEPT: &str = "accept";
