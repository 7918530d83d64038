//! The targets of a mapping by their names: what they take of a value's text, in which units, and
//! what a session gets of it.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::grants::{Grant, Limiter, PoolKind, Way};

/// A target.
#[derive(Debug)]
pub(crate) struct Target {
    pub name: &'static str,
    pub takes: Takes,
    pub make: Make,
}

/// What of a text a target takes.
#[derive(Debug)]
pub(crate) enum Takes {
    /// Everything up to what follows.
    Text,
    /// Digits.
    Number(&'static Units),
}

/// In what the numbers of a target may be told.
#[derive(Debug)]
pub(crate) struct Units {
    /// By name, and how many of the target's own unit each is.
    pub names: &'static [(&'static str, u64)],
    /// Whether k, m or g may stand behind a number.
    pub have_letters: bool,
}

/// Makes something of a text, a number in the target's own unit, and a class.
type Make = fn(&str, u64, Option<u32>) -> Made;

/// What comes of a text.
pub(crate) enum Made {
    /// This.
    Grant(Grant),
    /// Nothing: what it says is that this access server is to choose.
    Nothing,
    /// Nothing, because it is none of what the target stands for.
    Unfit,
}

impl From<Option<Grant>> for Made {
    fn from(grant: Option<Grant>) -> Made {
        grant.map_or(Made::Unfit, Made::Grant)
    }
}

/// What the letter at the beginning of a text stands for behind a number.
pub(crate) fn letter(text: &str) -> Option<u64> {
    match text.as_bytes().first()?.to_ascii_lowercase() {
        b'k' => Some(1_000),
        b'm' => Some(1_000_000),
        b'g' => Some(1_000_000_000),
        _ => None,
    }
}

const fn text(name: &'static str, make: Make) -> Target {
    Target { name, takes: Takes::Text, make }
}

const fn bits_per_second(name: &'static str, make: Make) -> Target {
    Target { name, takes: Takes::Number(&RATES), make }
}

const fn bytes(name: &'static str, make: Make) -> Target {
    Target { name, takes: Takes::Number(&BURSTS), make }
}

const fn seconds(name: &'static str, make: Make) -> Target {
    Target { name, takes: Takes::Number(&TIMES), make }
}

const fn count(name: &'static str, make: Make) -> Target {
    Target { name, takes: Takes::Number(&COUNTS), make }
}

/// The address of a host. 255.255.255.255 lets the host choose, 255.255.255.254 this access server
/// (RFC 2865 section 5.8); a host has no say here, so both of them mean the latter.
fn host_address(text: &str) -> Made {
    let Ok(address) = text.parse::<Ipv4Addr>() else { return Made::Unfit };
    if address >= Ipv4Addr::new(255, 255, 255, 254) {
        return Made::Nothing;
    }
    let is_one = !address.is_unspecified() && !address.is_multicast() && !address.is_loopback();
    is_one.then_some(Grant::Address(address)).into()
}

fn prefix(text: &str) -> Option<(Ipv6Addr, u8)> {
    let (prefix, len) = text.split_once('/')?;
    Some((prefix.parse().ok()?, len.parse().ok().filter(|len| *len <= 128)?))
}

fn rate(of: Limiter, way: Way, bits_per_second: u64, class: Option<u32>) -> Made {
    Made::Grant(Grant::Rate { of, way, class, bits_per_second })
}

fn burst(of: Limiter, way: Way, bytes: u64, class: Option<u32>) -> Made {
    Made::Grant(Grant::Burst { of, way, class, bytes })
}

fn named(text: &str, make: impl FnOnce(String) -> Grant) -> Made {
    Made::Grant(make(text.to_owned()))
}

fn time(number: u64, make: impl FnOnce(Duration) -> Grant) -> Made {
    Made::Grant(make(Duration::from_secs(number)))
}

/// All targets.
#[rustfmt::skip] // A line each.
pub(crate) static TARGETS: [Target; 34] = [
    text("address", |text, _, _| host_address(text)),
    text("ipv6-address", |text, _, _| text.parse().ok().map(Grant::Ipv6Address).into()),
    text("prefix", |text, _, _| prefix(text).map(|(it, len)| Grant::Prefix(it, len)).into()),
    text("delegated-prefix", |text, _, _| prefix(text).map(|(it, len)| Grant::DelegatedPrefix(it, len)).into()),
    text("pool", |text, _, _| named(text, |name| Grant::Pool(PoolKind::Ipv4, name))),
    text("ipv6-pool", |text, _, _| named(text, |name| Grant::Pool(PoolKind::Ipv6, name))),
    text("prefix-pool", |text, _, _| named(text, |name| Grant::Pool(PoolKind::Prefix, name))),
    text("delegated-pool", |text, _, _| named(text, |name| Grant::Pool(PoolKind::Delegated, name))),
    text("profile", |text, _, _| named(text, |name| Grant::Profile(Way::Both, name))),
    text("profile-up", |text, _, _| named(text, |name| Grant::Profile(Way::Up, name))),
    text("profile-down", |text, _, _| named(text, |name| Grant::Profile(Way::Down, name))),
    text("list", |text, _, _| named(text, |name| Grant::List(Way::Both, name))),
    text("list-up", |text, _, _| named(text, |name| Grant::List(Way::Up, name))),
    text("list-down", |text, _, _| named(text, |name| Grant::List(Way::Down, name))),
    text("filter-rule", |text, _, _| named(text, Grant::FilterRule)),
    text("vrf", |text, _, _| named(text, Grant::Vrf)),
    text("mirror", |text, _, _| named(text, Grant::Mirror)),
    text("route", |text, _, _| named(text, Grant::Route)),
    text("dns", |text, _, _| text.parse().ok().map(Grant::Dns).into()),
    text("redirect-url", |text, _, _| named(text, Grant::RedirectUrl)),
    bits_per_second("rate-up", |_, number, class| rate(Limiter::Session, Way::Up, number, class)),
    bits_per_second("rate-down", |_, number, class| rate(Limiter::Session, Way::Down, number, class)),
    bits_per_second("policer-rate-up", |_, number, class| rate(Limiter::Policer, Way::Up, number, class)),
    bits_per_second("policer-rate-down", |_, number, class| rate(Limiter::Policer, Way::Down, number, class)),
    bits_per_second("queue-rate-down", |_, number, class| rate(Limiter::Queue, Way::Down, number, class)),
    bytes("burst-up", |_, number, class| burst(Limiter::Session, Way::Up, number, class)),
    bytes("burst-down", |_, number, class| burst(Limiter::Session, Way::Down, number, class)),
    bytes("policer-burst-up", |_, number, class| burst(Limiter::Policer, Way::Up, number, class)),
    bytes("policer-burst-down", |_, number, class| burst(Limiter::Policer, Way::Down, number, class)),
    bytes("queue-burst-down", |_, number, class| burst(Limiter::Queue, Way::Down, number, class)),
    seconds("session-timeout", |_, number, _| time(number, Grant::SessionTimeout)),
    seconds("idle-timeout", |_, number, _| time(number, Grant::IdleTimeout)),
    seconds("interim-interval", |_, number, _| time(number, Grant::InterimInterval)),
    count("mtu", |_, number, _| u32::try_from(number).ok().map(Grant::Mtu).into()),
];

/// Rates are in bit/s.
#[rustfmt::skip] // Bits above bytes.
const RATES: Units = Units {
    names: &[
        ("bit", 1), ("kbit", 1_000), ("mbit", 1_000_000), ("gbit", 1_000_000_000),
        ("byte", 8), ("kbyte", 8_000), ("mbyte", 8_000_000),
    ],
    have_letters: true,
};

/// Bursts are in bytes.
const BURSTS: Units = Units {
    names: &[("byte", 1), ("kbyte", 1_000), ("mbyte", 1_000_000), ("kbit", 125), ("mbit", 125_000)],
    have_letters: true,
};

/// Times are in seconds.
const TIMES: Units = Units { names: &[("min", 60)], have_letters: false };

const COUNTS: Units = Units { names: &[], have_letters: false };
