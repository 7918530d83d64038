//! Whether keys of host interfaces fit the others.

use std::collections::BTreeSet;

use function_kit::Invalid;
use packet::PortId;
use stages::icmpv4::is_host;

use crate::config::Config;
use crate::hosting::host_interfaces;
use crate::types::networks::refuse;
use crate::types::sides::{INSIDE, OUTSIDE};

/// Checks the keys.
///
/// # Errors
/// What of them cannot be.
pub(crate) fn validate(config: &Config) -> Result<(), Invalid> {
    let mut taken = BTreeSet::new();
    for one in host_interfaces(config) {
        let (key, key_of_ip) = match PortId(one.number as u8) {
            INSIDE => ("inside-host-interface", "inside-ip"),
            OUTSIDE => ("outside-host-interface", "outside-ip"),
            _ => ("interfaces", "interfaces"),
        };
        let name = one.place.name();
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
        if !is_host(ip.address) {
            let what = format!("{name} would have {}, which is no host's address", ip.address);
            return refuse(key_of_ip, what, "Give the interface the address of a single host");
        }
    }
    Ok(())
}
