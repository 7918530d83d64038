//! Whether the key `vrfs` fits the others.

use function_kit::Invalid;

use crate::config::{Config, Vrf};
use crate::types::networks::{overlap, refuse};

/// Checks the key; that pools overlap with nothing is checked with all other networks.
///
/// # Errors
/// What of it cannot be.
pub(crate) fn validate(config: &Config) -> Result<(), Invalid> {
    for (index, vrf) in config.vrfs.iter().enumerate() {
        let Vrf { name, vlan, .. } = vrf;
        let before = &config.vrfs[..index];
        if before.iter().any(|other| other.name == *name) {
            let remedy = "Give each VRF a name of its own";
            return refuse("vrfs", format!("two VRFs are called {name}"), remedy);
        }
        if let Some(other) = before.iter().find(|other| other.vlan == *vlan) {
            let what = format!("{} and {name} have VLAN {vlan}", other.name);
            return refuse("vrfs", what, "Give each VRF a VLAN of its own");
        }
        if let Some(pool) = vrf.inside.iter().find_map(|inside| {
            config.outside().map(|(_, pool)| pool).find(|pool| overlap(*pool, *inside))
        }) {
            let what = format!("{} is inside, in {name}", String::from(pool));
            return refuse("vrfs", what, "Give outside addresses that no subscriber has");
        }
    }
    let is_known = |realm: u16| realm == 0 || config.vrfs.iter().any(|vrf| vrf.vlan == realm);
    match config.deterministic.iter().find(|rule| !is_known(rule.realm)) {
        Some(rule) => refuse(
            "deterministic",
            format!("a rule is for realm {}, and no VRF has that VLAN", rule.realm),
            "Give the VLAN of one of 'vrfs' as 'realm', or leave it out",
        ),
        None => Ok(()),
    }
}
