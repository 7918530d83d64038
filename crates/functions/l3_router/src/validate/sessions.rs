//! Whether the sessions of BFD can be.

use function_kit::Invalid;
use function_kit::sections::function_key;

use super::super::config::{Config, NextHop, Resolved};

/// A session is between the first address of its next hop and that of the interface behind which
/// `behind` says that it is.
pub(super) fn sessions<'a>(
    config: &Config,
    behind: impl Fn(&NextHop) -> Option<&'a Resolved>,
) -> Result<(), Invalid> {
    let room = config.bfd_sessions_max();
    let watched: Vec<_> =
        config.next_hops.iter().enumerate().filter(|(_, hop)| hop.bfd.is_some()).collect();
    if watched.len() > room as usize {
        let what = format!("is less than the {} sessions of the next hops", watched.len());
        return Err(function_key("bfd-capacity", what, "Give more, or remove the key"));
    }
    for (at, one) in config.bfd_keys.iter().enumerate() {
        let most = if one.kind.is_sha1() { 20 } else { 16 };
        if one.key.as_ref().is_some_and(|key| !(1..=most).contains(&key.bytes().len())) {
            let what = format!("number {at} has a key of more than {most} bytes, or of none");
            return Err(function_key("bfd-keys", what, "Give both ends another key"));
        }
    }
    for (at, hop) in watched {
        let named = hop.bfd.and_then(|bfd| bfd.authentication);
        if named.is_some_and(|key| key as usize >= config.bfd_keys.len()) {
            let what = format!("number {at} has a session with a key that there is not");
            return Err(function_key("next-hops", what, "Name one of 'bfd-keys', from 0"));
        }
        let own = behind(hop);
        let has_ends = match hop.ip {
            Some(_) => own.is_some_and(|own| own.ip.is_some()),
            None => hop.ipv6.is_some() && own.is_some_and(|own| own.ipv6.is_some()),
        };
        if !has_ends {
            let what = format!("number {at} has a session of BFD without addresses at both ends");
            let remedy = "Give it and its interface an address of one family";
            return Err(function_key("next-hops", what, remedy));
        }
    }
    Ok(())
}
