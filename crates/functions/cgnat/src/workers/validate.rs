//! The key of steering, which all who steer packets of one NAT have in common.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use engine::steering::Steering;
use function_kit::Invalid;
use wire::bytes::array_at;

use crate::config::{Config, Role};
use crate::types::networks::refuse;

impl Config {
    /// The hash that spreads subscribers over workers.
    pub fn steering(&self) -> Steering {
        let bytes = self.steering_number().to_le_bytes();
        let key = blake3::derive_key("plumbline cgnat 2026-11 steering", &bytes);
        Steering::new([0, 8].map(|at| u64::from_be_bytes(array_at(&key, at))))
    }

    /// The number from which the key of steering is derived: of the configuration, or the one that
    /// this process has drawn, the same for all that it runs.
    pub fn steering_number(&self) -> u64 {
        static DRAWN: OnceLock<u64> = OnceLock::new();
        // The standard library seeds its hash maps from the operating system's source.
        let drawn = || *DRAWN.get_or_init(|| RandomState::new().build_hasher().finish());
        self.steering_key.or(self.secret).unwrap_or_else(drawn)
    }
}

/// Of several workers each tells the one with its number: an active NAT and its standby, which are
/// processes of their own, must spread subscribers alike.
pub(crate) fn validate(config: &Config) -> Result<(), Invalid> {
    let is_paired = matches!(config.replication.role, Role::Active | Role::Standby | Role::Pair);
    if is_paired && config.core > 1 && config.steering_key.is_none() {
        return refuse(
            "steering-key",
            format!("{} workers and their standby's would have different subscribers", config.core),
            "Give the same random number on both sides",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use engine::steering::worker_of;
    use function_kit::NetworkFunction;

    use super::*;
    use crate::Cgnat;
    use crate::config::Replication;

    fn keyed(steering_key: Option<u64>, secret: Option<u64>) -> Config {
        Config { core: 4, steering_key, secret, ..Config::default() }
    }

    fn workers(config: &Config) -> Vec<u32> {
        let steering = crate::workers::steering::Steering::new(config);
        let address = |n: u32| IpAddr::from(Ipv4Addr::from_bits(0x0a00_0000 + n));
        (0..1000).map(|n| worker_of(steering.of_subscriber(address(n)), 4)).collect()
    }

    #[test]
    fn the_key_decides_who_shares_a_worker() {
        let of = |key, secret| workers(&keyed(key, secret));
        assert_eq!(of(Some(1), None), of(Some(1), Some(9)), "the key, not the secret");
        assert_eq!(of(None, Some(1)), of(Some(1), None), "the secret where there is no key");
        assert_eq!(of(None, None), of(None, None), "a process draws once");
        for other in [of(Some(2), None), of(None, None)] {
            let same = of(Some(1), None).iter().zip(&other).filter(|(a, b)| a == b).count();
            assert!((150..350).contains(&same), "{same} of 1000 stay");
        }
    }

    #[test]
    fn processes_of_a_pair_are_told_one_key() {
        let replication = Replication { role: Role::Rehearsal, ..Replication::default() };
        let both = Config { replication: replication.clone(), ..keyed(None, None) };
        let [active, standby] = Cgnat::pair(&both).expect("a rehearsal has two");
        assert_eq!(active.steering_key, Some(both.steering_number()));
        assert_eq!(standby.steering_key, active.steering_key);
        for role in [Role::Active, Role::Standby] {
            let replication = Replication { role, ..replication.clone() };
            let mut config = Config { replication, ..keyed(None, Some(1)) };
            let refused = crate::validate::validate(&mut config).expect_err("they may differ");
            assert_eq!(refused.key, "steering-key");
            let alone = &mut Config { core: 1, ..config.clone() };
            assert!(crate::validate::validate(alone).is_ok(), "one worker has all");
            config.steering_key = Some(1);
            assert!(crate::validate::validate(&mut config).is_ok());
        }
    }

    #[test]
    fn the_key_stays_while_the_nat_runs() {
        let running = keyed(Some(1), None);
        let refused = Cgnat::difference(&running, &keyed(Some(2), None)).expect_err("another key");
        assert_eq!(refused.key, "steering-key");
        assert_eq!(Cgnat::difference(&running, &running), Ok(Vec::new()));
    }
}
