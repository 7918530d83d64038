//! Records of IPFIX by the registry of information elements (IANA, RFC 5102, RFC 8158 section 4.2).

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::Facts;

/// What a record tells.
///
/// # Errors
/// What does not fit together in it.
pub(super) fn read(elements: &[(u16, u16)], mut record: &[u8]) -> Result<Facts, String> {
    let mut values: BTreeMap<u16, &[u8]> = BTreeMap::new();
    for (number, len) in elements {
        let (value, rest) = record.split_at(usize::from(*len));
        if values.insert(*number, value).is_some() {
            return Err(format!("element {number} stands there twice"));
        }
        record = rest;
    }
    let mut facts = Facts::new();
    if let Some(domain) = values.remove(&149) {
        return of_log(number(domain), values);
    }
    let nat_event = number(values.remove(&230).ok_or("no natEvent")?);
    let sub_event = values.remove(&466).map(|value| (466, number(value)));
    let sub_event = sub_event.or(values.remove(&467).map(|value| (467, number(value))));
    facts.insert("event".to_owned(), name_of_event(nat_event, sub_event)?.to_owned());
    let from_ipv6 = values.contains_key(&27) && !values.contains_key(&8);
    if matches!(nat_event, 4..=11) && from_ipv6 != matches!(nat_event, 6 | 7 | 10 | 11) {
        return Err(format!("natEvent {nat_event} of another version of IP"));
    }
    if let Some(threshold) = values.remove(&480)
        && values.get(&478) != Some(&threshold)
    {
        return Err("two thresholds".to_owned());
    }
    let is_dslite = values.contains_key(&27) && values.contains_key(&8);
    for (element, value) in values {
        let (name, text) = fact(element, value, is_dslite)?;
        if facts.insert(name.to_owned(), text).is_some() {
            return Err(format!("{name} is told twice"));
        }
    }
    Ok(facts)
}

/// What a record of options tells of the log of an observation domain.
fn of_log(domain: u64, mut values: BTreeMap<u16, &[u8]>) -> Result<Facts, String> {
    let mut facts = Facts::from([("domain".to_owned(), domain.to_string())]);
    let mut take = |element| values.remove(&element).filter(|it| it.len() == 8).map(number);
    let at = take(323).ok_or("a log at no time")?;
    facts.insert("at".to_owned(), at.to_string());
    let event = match [160, 42, 166].map(&mut take) {
        [Some(begun), None, None] if begun == at => "log-begin",
        [None, Some(told), Some(lost)] => {
            facts.insert("told".to_owned(), told.to_string());
            facts.insert("lost".to_owned(), lost.to_string());
            "log-end"
        }
        other => return Err(format!("a log of which {other:?} is told")),
    };
    facts.insert("event".to_owned(), event.to_owned());
    if values.is_empty() { Ok(facts) } else { Err(format!("beside a log {values:?}")) }
}

/// The name and the text of an element.
fn fact(element: u16, value: &[u8], is_dslite: bool) -> Result<(&'static str, String), String> {
    let (name, len) = match element {
        4 => ("proto", 1),
        7 => ("inport", 2),
        8 => ("inside", 4),
        11 | 228 => ("toport", 2),
        12 | 226 => ("to", 4),
        27 if is_dslite => ("b4", 16),
        27 => ("inside", 16),
        225 => ("outside", 4),
        227 => ("outport", 2),
        234 => ("vrf", 4),
        283 => ("pool", 4),
        323 => ("at", 8),
        361 => ("first", 2),
        362 => ("last", 2),
        471..=479 | 481 => ("limit", 4),
        _ => return Err(format!("element {element}")),
    };
    if value.len() != len {
        return Err(format!("element {element} of {} bytes", value.len()));
    }
    let text = match element {
        8 | 12 | 225 | 226 => Ipv4Addr::from_bits(number(value) as u32).to_string(),
        27 => Ipv6Addr::from_bits(value.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte)))
            .to_string(),
        _ => number(value).to_string(),
    };
    Ok((name, text))
}

/// What happened, by the tables 2, 3 and 4 of RFC 8158.
fn name_of_event(nat_event: u64, sub_event: Option<(u16, u64)>) -> Result<&'static str, String> {
    Ok(match (nat_event, sub_event) {
        (3, None) => "addresses-exhausted",
        (4 | 6, None) => "session-create",
        (5 | 7, None) => "session-delete",
        (8 | 10, None) => "mapping-create",
        (9 | 11, None) => "mapping-delete",
        (12, None) => "ports-exhausted",
        (13, Some((466, 1))) => "sessions-full",
        (13, Some((466, 2))) => "mappings-full",
        (13, Some((466, 3))) => "subscriber-limit",
        (13, Some((466, 4))) => "subscribers-full",
        (13, Some((466, 5))) => "fragments-full",
        (14, None) => "address-bind",
        (15, None) => "address-unbind",
        (16, None) => "block-allocate",
        (17, None) => "block-release",
        (18, Some((467, 1))) => "pool-high",
        (18, Some((467, 2))) => "pool-low",
        (18, Some((467, 3))) => "ports-high",
        (18, Some((467, 4))) => "subscriber-high",
        (18, Some((467, 5))) => "address-high",
        other => return Err(format!("natEvent {other:?}")),
    })
}

fn number(value: &[u8]) -> u64 {
    value.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}
