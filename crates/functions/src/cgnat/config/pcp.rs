//! The key of the Port Control Protocol.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Config, refuse};
use crate::unit::Invalid;

/// The server of the Port Control Protocol (RFC 6887), by which subscribers ask for mappings that take packets of
/// anybody and live for a time that is told, at the inside port's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Pcp {
    /// The shortest lifetime of a mapping, in seconds: who asks for less gets this (RFC 6887 section 15).
    #[schemars(range(min = 1, max = 2_592_000))]
    pub lifetime_min_s: u32,
    /// The longest one, in seconds.
    #[schemars(range(min = 1, max = 2_592_000))]
    pub lifetime_max_s: u32,
    /// Most of these mappings at a time.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub mappings: u32,
    /// Most of them of a subscriber.
    #[schemars(range(min = 1))]
    pub mappings_per_subscriber: u32,
}

impl Default for Pcp {
    fn default() -> Pcp {
        Pcp {
            lifetime_min_s: 120,
            lifetime_max_s: 86_400,
            mappings: 65_536,
            mappings_per_subscriber: 64,
        }
    }
}

/// Checks the key.
///
/// # Errors
/// What of it cannot be.
pub(super) fn validate(config: &Config) -> Result<(), Invalid> {
    let Some(Pcp { lifetime_min_s, lifetime_max_s, mappings, mappings_per_subscriber }) =
        config.pcp
    else {
        return Ok(());
    };
    if !(1..=lifetime_max_s).contains(&lifetime_min_s) || lifetime_max_s > LIFETIME_S_MAX {
        return refuse(
            KEY,
            format!("mappings live from {lifetime_min_s} to {lifetime_max_s} seconds"),
            "Give 'lifetime-min-s' from 1 on, and 'lifetime-max-s' from there to 2592000; RFC 6887 \
             section 15 has 120 and 86400",
        );
    }
    if !(1..=MAPPINGS_MAX).contains(&mappings) || mappings_per_subscriber == 0 {
        return refuse(
            KEY,
            format!("{mappings} mappings, {mappings_per_subscriber} of a subscriber"),
            "Give 'mappings' from 1 to 16777216, and 'mappings-per-subscriber' from 1 on",
        );
    }
    for (is_there, key, what) in [
        (config.nat64.is_some(), "nat64", "requests of IPv6 subscribers are not answered"),
        (config.stateless.is_some(), "stateless", "hosts without sessions have no mappings"),
    ] {
        if is_there {
            return refuse(KEY, what.into(), &format!("Leave 'pcp' or '{key}' out"));
        }
    }
    Ok(())
}

const KEY: &str = "pcp";

/// A month.
const LIFETIME_S_MAX: u32 = 2_592_000;

/// Of 16 bytes each.
const MAPPINGS_MAX: u32 = 16_777_216;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgnat::config::{Nat64, Stateless};

    fn problem(config: &Config) -> Option<String> {
        validate(config).err().map(|invalid| invalid.what)
    }

    #[test]
    fn lifetimes_and_numbers_have_ranges() {
        let with = |pcp: Pcp| problem(&Config { pcp: Some(pcp), ..Config::default() });
        let some = Pcp::default();
        assert_eq!(with(some), None);
        assert_eq!(with(Pcp { lifetime_min_s: 1, lifetime_max_s: 1, ..some }), None);
        for pcp in [
            Pcp { lifetime_min_s: 0, ..some },
            Pcp { lifetime_min_s: 90_000, ..some },
            Pcp { lifetime_max_s: 2_592_001, ..some },
            Pcp { mappings: 0, ..some },
            Pcp { mappings: 16_777_217, ..some },
            Pcp { mappings_per_subscriber: 0, ..some },
        ] {
            assert!(with(pcp).is_some(), "{pcp:?}");
        }
    }

    #[test]
    fn what_it_does_not_go_with_is_refused_by_name() {
        let base = Config { pcp: Some(Pcp::default()), ..Config::default() };
        for (key, config) in [
            ("nat64", Config { nat64: Some(Nat64::default()), ..base.clone() }),
            ("stateless", Config { stateless: Some(Stateless::default()), ..base.clone() }),
        ] {
            let refused = validate(&config).expect_err("it is refused");
            assert!(refused.remedy.contains(key), "{refused:?}");
            assert_eq!(validate(&Config { pcp: None, ..config }), Ok(()));
        }
    }
}
