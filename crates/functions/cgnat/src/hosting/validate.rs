//! Whether keys of host interfaces fit the others.

use std::collections::BTreeSet;

use function_kit::Invalid;
use stages::icmpv4::is_host;

use crate::config::Config;
use crate::hosting::host_interfaces;
use crate::types::networks::{holds, refuse};

/// Checks the keys.
///
/// # Errors
/// What of them cannot be.
pub(crate) fn validate(config: &Config) -> Result<(), Invalid> {
    let mut taken = BTreeSet::new();
    for one in host_interfaces(config) {
        let (name, key) = (one.place.name(), "inside-host-interface");
        if !one.place.is_usable() {
            let what = format!("{name} is no name of an interface of Linux");
            let remedy = "Give one of at most 15 characters, neither 'all' nor 'default'";
            return refuse(key, what, remedy);
        }
        if !taken.insert((one.place.namespace(), name)) {
            let what = format!("{name} is given to two interfaces");
            return refuse(key, what, "Give each a name of its own");
        }
        let Some(ip) = one.ip else { continue };
        let is_shared = |(_, network)| holds(network, ip.address.to_bits());
        if !is_host(ip.address) || config.outside().any(is_shared) {
            let what = format!("{name} would have {}, which subscribers share", ip.address);
            return refuse(key, what, "Give the interface an address that is in no pool");
        }
    }
    Ok(())
}
