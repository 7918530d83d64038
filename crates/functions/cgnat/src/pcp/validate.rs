//! Whether the key `pcp` fits the others.

use function_kit::Invalid;

use crate::config::{Config, Pcp};
use crate::types::networks::refuse;

/// Checks the key.
///
/// # Errors
/// What of it cannot be.
pub(crate) fn validate(config: &Config) -> Result<(), Invalid> {
    let Some(Pcp { lifetime_min_s, lifetime_max_s, .. }) = config.pcp else { return Ok(()) };
    if lifetime_min_s > lifetime_max_s {
        return refuse(
            KEY,
            format!("mappings live from {lifetime_min_s} to {lifetime_max_s} seconds"),
            "Give a smaller 'lifetime-min-s'; RFC 6887 section 15 has 120 and 86400",
        );
    }
    for (is_there, key, what) in [
        (config.nat64.is_some(), "nat64", "requests of IPv6 subscribers are not answered"),
        (config.siit.is_some(), "siit", "hosts without sessions have no mappings"),
    ] {
        if is_there {
            return refuse(KEY, what.into(), &format!("Leave 'pcp' or '{key}' out"));
        }
    }
    Ok(())
}

const KEY: &str = "pcp";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Nat64, SiitConfig};

    fn problem(config: &Config) -> Option<String> {
        let checked = keys::check("function", config).and_then(|()| validate(config));
        checked.err().map(|invalid| invalid.what)
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
            ("siit", Config { siit: Some(SiitConfig::default()), ..base.clone() }),
        ] {
            let refused = validate(&config).expect_err("it is refused");
            assert!(refused.remedy.contains(key), "{refused:?}");
            assert_eq!(validate(&Config { pcp: None, ..config }), Ok(()));
        }
    }
}
