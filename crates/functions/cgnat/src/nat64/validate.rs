//! Whether the key `nat64` fits the others.

use function_kit::Invalid;
use wire::embedded::Prefix;

use crate::config::Config;
use crate::types::networks::refuse;

/// Checks the key.
///
/// # Errors
/// What of it cannot be.
pub(crate) fn validate(config: &Config) -> Result<(), Invalid> {
    let Some(nat64) = &config.nat64 else { return Ok(()) };
    if let Err(bad) = Prefix::new(nat64.prefix.address, nat64.prefix.len) {
        let remedy = "Give a 'prefix' of 96 bits, like 64:ff9b::/96";
        return refuse("nat64", format!("{}: {bad}", String::from(nat64.prefix)), remedy);
    }
    Ok(())
}
