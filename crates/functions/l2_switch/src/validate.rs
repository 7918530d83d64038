//! Checks of the configuration beyond the limits of single keys.
use std::collections::HashSet;

use function_kit::Invalid;
use function_kit::sections::function_key;
use wire::MacAddr;

use crate::config::{Config, Mac, Mode, Unknown};

mod switch;

pub use self::switch::{SESSION_MAX, is_possible};

/// Checks the configuration and settles what becomes of frames for unknown stations.
///
/// # Errors
/// The first key that cannot be used.
pub fn validate(config: &mut Config) -> Result<(), Invalid> {
    settle_unknown(config)?;
    of_mode(config)?;
    config.read_files()?;
    of_stations(config)?;
    switch::of_moves(config)?;
    switch::of_switch(config)?;
    of_learning(config)
}

fn settle_unknown(config: &mut Config) -> Result<(), Invalid> {
    let meant = config.fakedrop.map(|flood| if flood { Unknown::Flood } else { Unknown::Drop });
    if let (Some(meant), Some(said)) = (meant, config.unknown)
        && meant != said
    {
        let what = "differs from `unknown`".to_owned();
        return Err(function_key("fakedrop", what, "Remove it: `unknown` says the same"));
    }
    config.unknown = Some(meant.unwrap_or(config.unknown()));
    config.fakedrop = None;
    Ok(())
}

fn of_mode(config: &Config) -> Result<(), Invalid> {
    for (key, swap) in [
        ("mac-swap-upstream", config.mac_swap_upstream),
        ("mac-swap-downstream", config.mac_swap_downstream),
    ] {
        let Some(Mac(mac)) = swap else { continue };
        if config.mode == Mode::Bridge {
            let what = "a bridge leaves addresses as they are".to_owned();
            return Err(function_key(key, what, "Remove it, or set `mode: patch`"));
        }
        if mac.is_multicast() {
            let what = format!("{mac} is a group address");
            return Err(function_key(key, what, "Give a MAC address whose first octet is even"));
        }
    }
    Ok(())
}

fn of_stations(config: &Config) -> Result<(), Invalid> {
    let refuse = |mac: MacAddr, what: &str, remedy| {
        Err(function_key("stations", format!("{mac} {what}"), remedy))
    };
    let count = config.station_count();
    if config.static_limit() < count {
        let what = format!("is less than the {count} stations of the list");
        return Err(function_key("station-capacity", what, "Give more, or remove the key"));
    }
    let mut seen = HashSet::new();
    for station in &config.stations {
        let mac = station.mac.0;
        if mac.is_multicast() || mac == MacAddr::ZERO {
            return refuse(mac, "is no station's address", "Give the address of one station");
        }
        if !seen.insert((station.domain, mac)) {
            return refuse(mac, "is listed twice", "Keep one of them");
        }
    }
    Ok(())
}

fn of_learning(config: &Config) -> Result<(), Invalid> {
    if config.mode == Mode::Patch {
        return Ok(());
    }
    let drops = config.unknown() == Unknown::Drop;
    if config.learning && drops && config.core > 1 {
        let what = "workers learn by themselves, and one would drop what another has learned";
        let remedy = "Set it to `flood`, `learning: false`, or `core: 1`";
        return Err(function_key("unknown", what.to_owned(), remedy));
    }
    Ok(())
}
