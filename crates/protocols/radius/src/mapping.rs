//! What attributes give a session: a table of rows, an attribute and a pattern with targets each.
//!
//! ```text
//!  Cisco-AVPair         ip:addr-pool={pool}
//!  Mikrotik-Rate-Limit  {rate-up}/{rate-down}{*}
//!  Vendor-Qos           i:p:{class}:pir={policer-rate-up:kbit}{*}
//! ```
//! A pattern is compared with the value's text: numbers by their digits, addresses and prefixes as
//! people write them. What stands outside of braces has to be there. A target of numbers takes
//! digits, and those of rates and bursts a letter (k, m, g) behind them; others take everything up
//! to what follows, and `{*}` takes what nobody wants. `{rate-up:kbit}` says in which of the
//! target's units numbers are; without one, a letter right behind the brace is a unit, too
//! (`{rate-up}kbps`). `{class}` is the class that the rest of its row is for. All rows of an
//! attribute that fit are used.
//!
//! **Not supported:** encrypted attributes, which cannot be read.

use crate::attributes::{Attributes, Key, kind};
use crate::dictionary::{Dictionary, UnreadableRow, rows_of};
use crate::targets::{Made, TARGETS, Takes, Target, letter};

pub use crate::grants::{Grant, Limiter, PoolKind, Way};

/// The table.
#[derive(Clone, Debug)]
pub struct Mapping {
    rows: Vec<Row>,
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
    /// Attributes that leave it to this access server: Framed-IP-Address 255.255.255.254 and
    /// 255.255.255.255.
    pub without_grant: usize,
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
    /// Taken by a target, with the factor that its numbers have.
    Hole(&'static Target, u64),
    /// Taken by nobody.
    Anything,
    /// The class of the row.
    Class,
}

impl Mapping {
    /// The table of this crate, `dictionary/mapping`.
    ///
    /// # Errors
    /// When the dictionary does not have its attributes.
    pub fn standard(dictionary: &Dictionary) -> Result<Mapping, UnreadableRow> {
        Mapping::read(dictionary, &rows_of(DEFAULT))
    }

    /// Reads rows of an attribute's name and a pattern.
    ///
    /// # Errors
    /// The first row that is none.
    pub fn read(dictionary: &Dictionary, rows: &[(&str, &str)]) -> Result<Mapping, UnreadableRow> {
        let read = |key, pattern: &str| Ok(Row { key, pieces: read_pattern(pattern)? });
        Ok(Mapping { rows: dictionary.read_rows("mapping", rows, read)? })
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
            let count = |it: &Mapped| it.grants.len() + it.unfit.len() + it.without_grant;
            let before = count(&mapped);
            for row in self.rows.iter().filter(|row| row.key == key) {
                row.apply(text.as_deref(), &mut mapped);
            }
            mapped.unused += usize::from(before == count(&mapped));
        }
        mapped
    }
}

impl Row {
    /// Applies it to a text; `None` for a value that has no text of its type.
    fn apply(&self, text: Option<&str>, mapped: &mut Mapped) {
        let holes = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Hole(target, _) => Some(target.name),
            _ => None,
        });
        let unfit = |target| Unfit { key: self.key, target };
        let Some(text) = text else {
            mapped.unfit.extend(holes.take(1).map(unfit));
            return;
        };
        let Some(taken) = take(&self.pieces, text) else { return };
        let class = taken.iter().find(|(piece, _)| matches!(piece, Piece::Class));
        let class: Option<Result<u32, _>> = class.map(|(_, text)| text.parse());
        let Ok(class) = class.transpose() else {
            // There is no such class, and it is not for all of them.
            mapped.unfit.extend(holes.map(unfit));
            return;
        };
        for (piece, text) in taken {
            let Piece::Hole(target, unit) = piece else { continue };
            let number = match target.takes {
                Takes::Text => Some(0),
                _ => scaled(text, *unit),
            };
            match number.map_or(Made::Unfit, |number| (target.make)(text, number, class)) {
                Made::Grant(grant) => mapped.grants.push(grant),
                Made::Nothing => mapped.without_grant += 1,
                Made::Unfit => mapped.unfit.push(unfit(target.name)),
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
            Piece::Class => digits(rest),
            Piece::Hole(Target { takes: Takes::Number(units), .. }, _) => {
                let len = digits(rest);
                // A letter that has to stand behind the number is not the number's.
                let is_next = matches!(pieces.get(at + 1),
                    Some(Piece::Text(literal)) if rest[len..].starts_with(literal.as_str()));
                let has_letter = units.have_letters && len > 0 && !is_next;
                len + usize::from(has_letter && letter(&rest[len..]).is_some())
            }
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

/// How many bytes at the beginning are digits.
fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// A number in units, with a letter of its own behind it.
fn scaled(text: &str, unit: u64) -> Option<u64> {
    let (number, rest) = text.split_at(digits(text));
    let own = if rest.is_empty() { 1 } else { letter(rest)? };
    number.parse::<u64>().ok()?.checked_mul(own)?.checked_mul(unit)
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
            Some(Piece::Anything | Piece::Hole(Target { takes: Takes::Text, .. }, _))
        );
        if is_open {
            return Err(format!("between `{{{hole}}}` and what stands before it is no text"));
        }
        pieces.push(read_hole(hole, behind)?);
        rest = behind;
    }
    match pieces.iter().any(|piece| matches!(piece, Piece::Hole(..))) {
        true => Ok(pieces),
        false => Err("a pattern has a target in braces".to_owned()),
    }
}

/// Reads what stands in braces; `behind` follows them.
fn read_hole(hole: &str, behind: &str) -> Result<Piece, String> {
    let (name, unit) = match hole.split_once(':') {
        Some((name, unit)) => (name, Some(unit)),
        None => (hole, None),
    };
    match hole {
        "*" => return Ok(Piece::Anything),
        "class" => return Ok(Piece::Class),
        _ => {}
    }
    let target = TARGETS.iter().find(|target| target.name == name).ok_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        format!("`{name}` is none of the targets: {}", names.join(", "))
    })?;
    let factor = match (&target.takes, unit) {
        (Takes::Number(units), None) if units.have_letters => letter(behind).unwrap_or(1),
        (_, None) => 1,
        (Takes::Number(units), Some(unit)) if !units.names.is_empty() => {
            let found = units.names.iter().find(|(other, _)| *other == unit);
            let (_, factor) = found.ok_or_else(|| {
                let names: Vec<&str> = units.names.iter().map(|(name, _)| *name).collect();
                format!("`{unit}` is none of the units of `{name}`: {}", names.join(", "))
            })?;
            *factor
        }
        (_, Some(_)) => return Err(format!("`{name}` has no unit")),
    };
    Ok(Piece::Hole(target, factor))
}

const DEFAULT: &str = include_str!("../dictionary/mapping");
