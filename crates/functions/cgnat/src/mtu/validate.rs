//! Keys of the longest packets of IPv4 that links take.
use function_kit::Invalid;

use crate::config::{Config, Family};
use crate::types::networks::refuse;

/// Checks that the keys of the other family of addresses do not promise more.
///
/// # Errors
/// What of them cannot be.
pub(crate) fn validate(config: &Config) -> Result<(), Invalid> {
    let of_sessions = config.nat64.as_ref().map(|it| ("nat64", it.ipv4_mtu, config.outside_mtu));
    let of_none = config.siit.as_ref().map(|it| match it.inside_family {
        Family::Ipv4 => ("siit", it.ipv4_mtu, config.inside_mtu),
        _ => ("siit", it.ipv4_mtu, config.outside_mtu),
    });
    for (key, becomes, takes) in of_sessions.into_iter().chain(of_none) {
        if takes != 0 && becomes > takes {
            let what = format!("packets of {becomes} bytes on links that take {takes}");
            return refuse(key, what, "Give an 'ipv4-mtu' of no more than the links there take");
        }
    }
    Ok(())
}
