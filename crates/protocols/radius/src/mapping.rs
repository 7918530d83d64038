//! What attributes give a session: a table of rows, an attribute and a pattern with targets each.
//!
//! ```text
//!  Cisco-AVPair         ip:addr-pool={pool}
//!  Mikrotik-Rate-Limit  {rate-up}/{rate-down}{*}
//!  Vendor-Qos           i:p:{class}:pir={policer-rate-up:kbit}{*}
//! ```
//! A pattern is compared with the value's text: numbers by their digits, addresses and prefixes as
//! people write them. What stands outside of braces has to be there. A target of numbers takes
//! digits and a unit (k, m, g) behind them; others take everything up to what follows, and `{*}`
//! takes what nobody wants. `{class}` is the class that the rest of its row is for. All rows of an
//! attribute that fit are used.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::attributes::{Attributes, Key, kind};
use crate::dictionary::Dictionary;

/// The table.
#[derive(Clone, Debug)]
pub struct Mapping {
    rows: Vec<Row>,
}

/// What a session is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// An address of IPv4.
    Address(Ipv4Addr),
    /// An address of IPv6 (by DHCPv6).
    Ipv6Address(Ipv6Addr),
    /// A prefix that its link has, with its length.
    Prefix(Ipv6Addr, u8),
    /// A prefix that is delegated, with its length.
    DelegatedPrefix(Ipv6Addr, u8),
    /// The pool of a kind of address.
    Pool(PoolKind, String),
    /// A profile, for which direction.
    Profile(Way, String),
    /// A rate in bit/s, of what and in which direction.
    Rate {
        /// What has it.
        of: Limiter,
        /// The direction.
        way: Way,
        /// Class of the policer or queue; none for all.
        class: Option<u32>,
        /// The rate in bit/s.
        bits_per_second: u64,
    },
    /// A burst in bytes, as the rate.
    Burst {
        /// What has it.
        of: Limiter,
        /// The direction.
        way: Way,
        /// Class of the policer or queue; none for all.
        class: Option<u32>,
        /// The burst in bytes.
        bytes: u64,
    },
    /// A list of rules by its name, for which direction.
    List(Way, String),
    /// A rule of a list of its own (RFC 4849).
    FilterRule(String),
    /// It ends after this time.
    SessionTimeout(Duration),
    /// It ends when nothing has passed for this time.
    IdleTimeout(Duration),
    /// Time between two interim records.
    InterimInterval(Duration),
    /// Its VRF.
    Vrf(String),
    /// Whether it is mirrored, and where to: `on`, `off`, or a name.
    Mirror(String),
    /// A route to a network behind it, as the server writes it.
    Route(String),
    /// A server of names.
    Dns(IpAddr),
    /// Where its first request is led to.
    RedirectUrl(String),
    /// Its largest packet, in bytes.
    Mtu(u32),
}

/// Kinds of addresses that pools have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// Addresses of IPv4.
    Ipv4,
    /// Addresses of IPv6.
    Ipv6,
    /// Prefixes of links.
    Prefix,
    /// Prefixes that are delegated.
    Delegated,
}

/// A direction, seen from the subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the subscriber.
    Up,
    /// To the subscriber.
    Down,
    /// Both.
    Both,
}

/// What limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// All of the session.
    Session,
    /// A policer of it.
    Policer,
    /// A queue of it.
    Queue,
}

/// Why a row is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {row} of the mapping: {why}")]
pub struct Unreadable {
    /// The row, from 1 on.
    pub row: usize,
    /// Why.
    pub why: String,
}

/// An attribute that fits a row, but whose value does not fit the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// The attribute.
    pub key: Key,
    /// The target.
    pub target: &'static str,
}

/// What a packet's attributes give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    /// All grants, in the order of the attributes.
    pub grants: Vec<Grant>,
    /// Those that could not be read. Who gives a session less than it is to have may refuse it.
    pub unfit: Vec<Unfit>,
    /// Attributes of no row, or whose rows do not fit.
    pub unused: usize,
}

#[derive(Clone, Debug)]
struct Row {
    key: Key,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
enum Piece {
    /// It has to stand there.
    Text(String),
    /// Taken by a target, with the unit of its numbers.
    Hole(&'static Target, u64),
    /// Taken by nobody.
    Anything,
    /// The class of the row.
    Class,
}

/// A target by its name.
#[derive(Debug)]
struct Target {
    name: &'static str,
    /// Whether it takes digits.
    is_number: bool,
    make: Make,
}

/// Makes a grant of a text, a number of units, and a class.
type Make = fn(&str, u64, Option<u32>) -> Option<Grant>;

impl Mapping {
    /// The table of this crate, `dictionary/mapping`.
    pub fn standard(dictionary: &Dictionary) -> Result<Mapping, Unreadable> {
        let lines = DEFAULT.lines().filter(|line| !line.starts_with('#'));
        let rows: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(' ')).collect();
        Mapping::read(dictionary, &rows)
    }

    /// Reads rows of an attribute's name and a pattern.
    ///
    /// # Errors
    /// The first row that is none.
    pub fn read(dictionary: &Dictionary, rows: &[(&str, &str)]) -> Result<Mapping, Unreadable> {
        let read = |(at, (name, pattern)): (usize, &(&str, &str))| {
            let key =
                dictionary.key(name).ok_or_else(|| format!("no attribute is called `{name}`"));
            let row = key.and_then(|key| Ok(Row { key, pieces: read_pattern(pattern)? }));
            row.map_err(|why| Unreadable { row: at + 1, why })
        };
        Ok(Mapping { rows: rows.iter().enumerate().map(read).collect::<Result<_, _>>()? })
    }

    /// Returns what attributes give.
    pub fn map(&self, dictionary: &Dictionary, attributes: Attributes<'_>) -> Mapped {
        let mut mapped = Mapped::default();
        let rules = Key::standard(kind::NAS_FILTER_RULE);
        let mut texts: Vec<(Key, Option<String>)> = Vec::new();
        for (key, value) in attributes.apart(|vendor| dictionary.format(vendor)) {
            if key != rules {
                texts.push((key, dictionary.plain(key, value)));
            }
        }
        let of_rule = |rule: Vec<u8>| (rules, String::from_utf8(rule).ok());
        texts.extend(attributes.filter_rules().into_iter().map(of_rule));
        for (key, text) in texts {
            let before = (mapped.grants.len(), mapped.unfit.len());
            for row in self.rows.iter().filter(|row| row.key == key) {
                row.apply(text.as_deref(), &mut mapped);
            }
            mapped.unused += usize::from(before == (mapped.grants.len(), mapped.unfit.len()));
        }
        mapped
    }
}

impl Row {
    /// Applies it to a text; `None` for a value that has no text of its type.
    fn apply(&self, text: Option<&str>, mapped: &mut Mapped) {
        let Some(text) = text else {
            let first = self.pieces.iter().find_map(|piece| match piece {
                Piece::Hole(target, _) => Some(target.name),
                _ => None,
            });
            let target = first.unwrap_or_default();
            mapped.unfit.push(Unfit { key: self.key, target });
            return;
        };
        let Some(taken) = take(&self.pieces, text) else { return };
        let is_class = |(piece, text): &(&Piece, &str)| match piece {
            Piece::Class => text.parse().ok(),
            _ => None,
        };
        let class = taken.iter().find_map(is_class);
        for (piece, text) in taken {
            let Piece::Hole(target, unit) = piece else { continue };
            let number = if target.is_number { scaled(text, *unit) } else { Some(0) };
            match number.and_then(|number| (target.make)(text, number, class)) {
                Some(grant) => mapped.grants.push(grant),
                None => mapped.unfit.push(Unfit { key: self.key, target: target.name }),
            }
        }
    }
}

/// What each hole of a pattern takes of a text; `None` where it does not fit.
fn take<'p, 't>(pieces: &'p [Piece], text: &'t str) -> Option<Vec<(&'p Piece, &'t str)>> {
    let mut taken = Vec::new();
    let mut rest = text;
    for (at, piece) in pieces.iter().enumerate() {
        let len = match piece {
            Piece::Text(literal) => {
                rest = rest.strip_prefix(literal.as_str())?;
                continue;
            }
            Piece::Class => digits(rest, false),
            Piece::Hole(target, _) if target.is_number => digits(rest, true),
            Piece::Hole(..) | Piece::Anything => match pieces.get(at + 1) {
                Some(Piece::Text(literal)) => rest.find(literal.as_str())?,
                _ => rest.len(),
            },
        };
        let (one, behind) = rest.split_at(len);
        if one.is_empty() && !matches!(piece, Piece::Anything) {
            return None;
        }
        taken.push((piece, one));
        rest = behind;
    }
    rest.is_empty().then_some(taken)
}

/// How many bytes at the beginning are digits, with a unit behind them.
fn digits(text: &str, may_have_unit: bool) -> usize {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = text.as_bytes().get(count).filter(|byte| UNITS.contains(byte));
    count + usize::from(may_have_unit && count > 0 && unit.is_some())
}

/// A number in units, with a unit of its own behind it.
fn scaled(text: &str, unit: u64) -> Option<u64> {
    let digits = text.trim_end_matches(|one: char| one.is_ascii_alphabetic());
    let own = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(own)?.checked_mul(unit)
}

fn read_pattern(pattern: &str) -> Result<Vec<Piece>, String> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut rest = pattern;
    while !rest.is_empty() {
        let begin = rest.find('{').unwrap_or(rest.len());
        let (text, behind) = rest.split_at(begin);
        if !text.is_empty() {
            pieces.push(Piece::Text(text.to_owned()));
        }
        let Some(behind) = behind.strip_prefix('{') else { break };
        let (hole, behind) = behind.split_once('}').ok_or("a brace is not closed")?;
        let is_open = matches!(
            pieces.last(),
            Some(Piece::Anything | Piece::Hole(Target { is_number: false, .. }, _))
        );
        if is_open {
            return Err(format!("between `{{{hole}}}` and what stands before it is no text"));
        }
        pieces.push(read_hole(hole)?);
        rest = behind;
    }
    match pieces.iter().any(|piece| matches!(piece, Piece::Hole(..))) {
        true => Ok(pieces),
        false => Err("a pattern has a target in braces".to_owned()),
    }
}

fn read_hole(hole: &str) -> Result<Piece, String> {
    let (name, unit) = hole.split_once(':').unwrap_or((hole, ""));
    match name {
        "*" => return Ok(Piece::Anything),
        "class" => return Ok(Piece::Class),
        _ => {}
    }
    let target = TARGETS.iter().find(|target| target.name == name).ok_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        format!("`{name}` is none of the targets: {}", names.join(", "))
    })?;
    let unit = match unit {
        "" => 1,
        // Rates are in bits, bursts in bytes, times in seconds.
        "byte" => 8,
        "kbit" | "kbyte" => 1_000,
        "mbit" => 1_000_000,
        "min" => 60,
        _ => return Err(format!("`{unit}` is none of the units byte, kbit, kbyte, mbit, min")),
    };
    if unit != 1 && !target.is_number {
        return Err(format!("`{name}` has no unit"));
    }
    Ok(Piece::Hole(target, unit))
}

const fn text(name: &'static str, make: Make) -> Target {
    Target { name, is_number: false, make }
}

const fn count(name: &'static str, make: Make) -> Target {
    Target { name, is_number: true, make }
}

fn prefix(text: &str) -> Option<(Ipv6Addr, u8)> {
    let (prefix, len) = text.split_once('/')?;
    Some((prefix.parse().ok()?, len.parse().ok().filter(|len| *len <= 128)?))
}

/// An address that a host can have; 255.255.255.255 and 255.255.255.254 ask the server of access to
/// choose one (RFC 2865 section 5.8), which is no grant.
fn host_address(text: &str) -> Option<Ipv4Addr> {
    let address: Ipv4Addr = text.parse().ok()?;
    let is_one = !address.is_unspecified() && !address.is_multicast() && !address.is_loopback();
    (is_one && u32::from(address) < 0xffff_fffe).then_some(address)
}

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

fn rate(of: Limiter, way: Way, bits_per_second: u64, class: Option<u32>) -> Option<Grant> {
    Some(Grant::Rate { of, way, class, bits_per_second })
}

fn burst(of: Limiter, way: Way, bytes: u64, class: Option<u32>) -> Option<Grant> {
    Some(Grant::Burst { of, way, class, bytes })
}

fn pool(kind: PoolKind, text: &str) -> Option<Grant> {
    Some(Grant::Pool(kind, text.to_owned()))
}

/// All targets.
#[rustfmt::skip] // A line each.
static TARGETS: [Target; 34] = [
    text("address", |text, _, _| host_address(text).map(Grant::Address)),
    text("ipv6-address", |text, _, _| text.parse().ok().map(Grant::Ipv6Address)),
    text("prefix", |text, _, _| prefix(text).map(|(prefix, len)| Grant::Prefix(prefix, len))),
    text("delegated-prefix", |text, _, _| prefix(text).map(|(it, len)| Grant::DelegatedPrefix(it, len))),
    text("pool", |text, _, _| pool(PoolKind::Ipv4, text)),
    text("ipv6-pool", |text, _, _| pool(PoolKind::Ipv6, text)),
    text("prefix-pool", |text, _, _| pool(PoolKind::Prefix, text)),
    text("delegated-pool", |text, _, _| pool(PoolKind::Delegated, text)),
    text("profile", |text, _, _| Some(Grant::Profile(Way::Both, text.to_owned()))),
    text("profile-up", |text, _, _| Some(Grant::Profile(Way::Up, text.to_owned()))),
    text("profile-down", |text, _, _| Some(Grant::Profile(Way::Down, text.to_owned()))),
    text("list", |text, _, _| Some(Grant::List(Way::Both, text.to_owned()))),
    text("list-up", |text, _, _| Some(Grant::List(Way::Up, text.to_owned()))),
    text("list-down", |text, _, _| Some(Grant::List(Way::Down, text.to_owned()))),
    text("filter-rule", |text, _, _| Some(Grant::FilterRule(text.to_owned()))),
    text("vrf", |text, _, _| Some(Grant::Vrf(text.to_owned()))),
    text("mirror", |text, _, _| Some(Grant::Mirror(text.to_owned()))),
    text("route", |text, _, _| Some(Grant::Route(text.to_owned()))),
    text("dns", |text, _, _| text.parse().ok().map(Grant::Dns)),
    text("redirect-url", |text, _, _| Some(Grant::RedirectUrl(text.to_owned()))),
    count("rate-up", |_, number, class| rate(Limiter::Session, Way::Up, number, class)),
    count("rate-down", |_, number, class| rate(Limiter::Session, Way::Down, number, class)),
    count("policer-rate-up", |_, number, class| rate(Limiter::Policer, Way::Up, number, class)),
    count("policer-rate-down", |_, number, class| rate(Limiter::Policer, Way::Down, number, class)),
    count("queue-rate-down", |_, number, class| rate(Limiter::Queue, Way::Down, number, class)),
    count("burst-up", |_, number, class| burst(Limiter::Session, Way::Up, number, class)),
    count("burst-down", |_, number, class| burst(Limiter::Session, Way::Down, number, class)),
    count("policer-burst-up", |_, number, class| burst(Limiter::Policer, Way::Up, number, class)),
    count("policer-burst-down", |_, number, class| burst(Limiter::Policer, Way::Down, number, class)),
    count("queue-burst-down", |_, number, class| burst(Limiter::Queue, Way::Down, number, class)),
    count("session-timeout", |_, number, _| Some(Grant::SessionTimeout(seconds(number)))),
    count("idle-timeout", |_, number, _| Some(Grant::IdleTimeout(seconds(number)))),
    count("interim-interval", |_, number, _| Some(Grant::InterimInterval(seconds(number)))),
    count("mtu", |_, number, _| u32::try_from(number).ok().map(Grant::Mtu)),
];

/// Letters that stand for a thousand, a million and a thousand millions.
const UNITS: &[u8] = b"kmgKMG";

const DEFAULT: &str = include_str!("../dictionary/mapping");
