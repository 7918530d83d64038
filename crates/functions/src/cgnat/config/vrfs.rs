//! Keys of VRFs: subscribers whose inside addresses overlap with those of others.

use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::validate::overlap;
use super::{Config, Family, Traffic, refuse};
use crate::sections::Prefixed;
use crate::unit::Invalid;

/// Subscribers behind the inside port whose frames bear a tag of IEEE 802.1Q, and who may have addresses
/// that others have as well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Vrf {
    /// What it is called.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// The VLAN of its frames, by which it is told in logs, too (`ingressVRFID`).
    #[schemars(range(min = 1, max = 4094))]
    pub vlan: u16,
    /// Networks of its subscribers; packets from elsewhere are dropped.
    #[schemars(length(min = 1, max = 1024))]
    pub inside: Vec<Prefixed<Ipv4Addr>>,
    /// Networks of addresses that its subscribers share, and nobody else; none for the pools of all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024))]
    pub pools: Vec<Prefixed<Ipv4Addr>>,
}

/// Checks the key; that pools overlap with nothing is checked with all other networks.
///
/// # Errors
/// What of it cannot be.
pub(super) fn validate(config: &Config) -> Result<(), Invalid> {
    for (index, vrf) in config.vrfs.iter().enumerate() {
        let Vrf { name, vlan, .. } = vrf;
        if name.is_empty() || name.len() > NAME_LEN_MAX {
            let remedy = "Give each VRF a 'name' of 1 to 64 bytes";
            return refuse("vrfs", format!("the VRF of VLAN {vlan} is called '{name}'"), remedy);
        }
        if !(1..=VLAN_MAX).contains(vlan) {
            let what = format!("{name} has VLAN {vlan}, and tags have 1 to {VLAN_MAX}");
            return refuse("vrfs", what, "Give another 'vlan'");
        }
        let before = &config.vrfs[..index];
        if before.iter().any(|other| other.name == *name) {
            let remedy = "Give each VRF a name of its own";
            return refuse("vrfs", format!("two VRFs are called {name}"), remedy);
        }
        if let Some(other) = before.iter().find(|other| other.vlan == *vlan) {
            let what = format!("{} and {name} have VLAN {vlan}", other.name);
            return refuse("vrfs", what, "Give each VRF a VLAN of its own");
        }
        if vrf.inside.is_empty() {
            let remedy = "Give 'inside', like 10.0.0.0/8: it may overlap with that of other VRFs";
            return refuse("vrfs", format!("no subscriber of {name} has an address"), remedy);
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

/// The networks of clients.
///
/// # Errors
/// When they are of no VRF, or of one and IPv6.
pub(super) fn inside_of<'a>(
    config: &'a Config,
    traffic: &Traffic,
) -> Result<&'a [Prefixed<Ipv4Addr>], Invalid> {
    let refuse = |what: String, remedy: &str| {
        Err(Invalid { section: "traffic", key: "vlan", what, remedy: remedy.into() })
    };
    if traffic.vlan == 0 {
        return Ok(&config.inside);
    }
    if traffic.family != Family::Ipv4 {
        return refuse(
            "clients that send IPv6 are of no VRF".into(),
            "Leave 'vlan' out, or set 'family' to ipv4",
        );
    }
    match config.vrfs.iter().find(|vrf| vrf.vlan == traffic.vlan) {
        Some(vrf) => Ok(&vrf.inside),
        None => refuse(
            format!("no VRF has VLAN {}", traffic.vlan),
            "Give that of one of 'vrfs' in the function section, or leave it out",
        ),
    }
}

/// The highest VLAN (IEEE 802.1Q table 9-2).
const VLAN_MAX: u16 = 4094;

const NAME_LEN_MAX: usize = 64;
