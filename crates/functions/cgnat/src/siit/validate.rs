//! Whether the key `siit` fits the others.

use function_kit::Invalid;
use wire::embedded::Prefix;

use crate::config::{AddressMapping, Config};
use crate::siit::eam::Mappings;
use crate::types::networks::{overlap, refuse, text};
use export::Side;

/// Checks the key.
///
/// # Errors
/// What of it cannot be.
pub(crate) fn validate(config: &Config) -> Result<(), Invalid> {
    let Some(siit) = &config.siit else { return Ok(()) };
    if config.nat64.is_some() {
        let what = "IPv6 packets would have two ways to go".into();
        return refuse(KEY, what, "Leave 'siit' or 'nat64' out");
    }
    if !config.vrfs.is_empty() {
        let what = "hosts without sessions are of no VRF".into();
        return refuse(KEY, what, "Leave 'siit' or 'vrfs' out");
    }
    if let Some(prefix) = siit.prefix
        && let Err(bad) = Prefix::new(prefix.address, prefix.len)
    {
        let remedy = "Give a 'prefix' of 96 bits, like 64:ff9b::/96";
        return refuse(KEY, format!("{}: {bad}", String::from(prefix)), remedy);
    }
    if let Err(error) = Mappings::new(&siit.table(), siit.prefix()) {
        let remedy = "Give each mapping two prefixes of its own, with zeros behind them";
        return refuse(KEY, error.to_string(), remedy);
    }
    let is_inside = |mapping: &AddressMapping| mapping.side == Side::Inside;
    if !siit.mappings.iter().any(is_inside) && siit.embedded.is_empty() {
        let remedy = "Give 'mappings' of hosts inside, or their IPv4 networks as 'embedded'";
        return refuse(KEY, "no host inside has addresses of both families".into(), remedy);
    }
    let has_outside = siit.mappings.iter().any(|mapping| !is_inside(mapping));
    if siit.prefix.is_none() && (!has_outside || !siit.embedded.is_empty()) {
        let remedy = "Give a 'prefix', like 64:ff9b::/96, or 'mappings' with 'side: outside'";
        return refuse(KEY, "hosts have no addresses of the other family".into(), remedy);
    }
    for (_, pool) in config.outside() {
        if let Some(network) = siit.networks().find(|network| overlap(*network, pool)) {
            let what = format!("{} and {} share addresses", text(network), text(pool));
            return refuse(KEY, what, "Give addresses that no pool and no other rule has");
        }
    }
    Ok(())
}

const KEY: &str = "siit";
