//! Keys of the longest packets of IPv4 that links take.

use super::{Config, Family, Traffic, refuse};
use crate::unit::Invalid;

/// Checks the keys, and that those of the other family of addresses do not promise more.
///
/// # Errors
/// What of them cannot be.
pub(super) fn validate(config: &Config) -> Result<(), Invalid> {
    for (key, mtu) in [("inside-mtu", config.inside_mtu), ("outside-mtu", config.outside_mtu)] {
        if mtu != 0 && mtu < MTU_MIN {
            let what = format!("{mtu} is less than every host takes");
            return refuse(key, what, "Give at least 576 bytes (RFC 791), or 0 for no limit");
        }
    }
    let of_sessions = config.nat64.as_ref().map(|it| ("nat64", it.ipv4_mtu, config.outside_mtu));
    let of_none = config.stateless.as_ref().map(|it| match it.inside_family {
        Family::Ipv4 => ("stateless", it.ipv4_mtu, config.inside_mtu),
        _ => ("stateless", it.ipv4_mtu, config.outside_mtu),
    });
    for (key, becomes, takes) in of_sessions.into_iter().chain(of_none) {
        if takes != 0 && becomes > takes {
            let what = format!("packets of {becomes} bytes on links that take {takes}");
            return refuse(key, what, "Give an 'ipv4-mtu' of no more than the links there take");
        }
    }
    Ok(())
}

/// Checks that packets of the traffic pass whole.
///
/// # Errors
/// When some are too long.
pub(super) fn validate_traffic(config: &Config, traffic: &Traffic) -> Result<(), Invalid> {
    let mtus = [config.inside_mtu, config.outside_mtu].into_iter().filter(|&mtu| mtu > 0);
    let Some(shortest) = mtus.min() else { return Ok(()) };
    let most = shortest.saturating_add(ETHERNET_LEN);
    match traffic.pkt_size.weights().iter().find(|&&(size, _)| size > most) {
        Some((size, _)) => Err(Invalid {
            section: "traffic",
            key: "pkt-size",
            what: format!("frames of {size} bytes, whose packets links of {shortest} do not take"),
            remedy: "Give shorter ones, or raise 'inside-mtu' and 'outside-mtu'".into(),
        }),
        None => Ok(()),
    }
}

/// What every host takes, in bytes (RFC 791 section 3.1).
const MTU_MIN: u16 = 576;
/// Header and check sequence of a frame, in bytes.
const ETHERNET_LEN: u16 = 18;
