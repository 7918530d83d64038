//! Keys of the longest packets of IPv4 that links take.
use function_kit::Invalid;

use crate::config::{Config, Family};
use crate::types::networks::refuse;

/// Checks the keys, and that those of the other family of addresses do not promise more.
///
/// # Errors
/// What of them cannot be.
pub(crate) fn validate(config: &Config) -> Result<(), Invalid> {
    for (key, mtu) in [("inside-mtu", config.inside_mtu), ("outside-mtu", config.outside_mtu)] {
        if mtu != 0 && mtu < MTU_MIN {
            let what = format!("{mtu} is less than every host takes");
            return refuse(key, what, "Give at least 576 bytes (RFC 791), or 0 for no limit");
        }
    }
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

/// What every host takes, in bytes (RFC 791 section 3.1).
const MTU_MIN: u16 = 576;
