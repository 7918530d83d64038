//! The UPDATE message (RFC 4271 section 4.3): which routes it has, and the attributes that they
//! have in common.
//!
//! ```text
//!  | length u16 | withdrawn routes of IPv4 | length u16 | attributes | routes of IPv4 |
//!  MP_REACH_NLRI   | AFI u16 | SAFI u8 | length u8 | next hop | 0 | routes |
//!  MP_UNREACH_NLRI | AFI u16 | SAFI u8 | routes |
//! ```
//! A [`Scan`] reads one UPDATE after the other without allocating for each. It goes over the
//! attributes once and leaves them as a block (see [`crate::attributes`]) with a summary; the
//! routes stay where they are in the message, and were all read when it returns.

use crate::attributes::{
    AGGREGATOR, AS_PATH, AS4_AGGREGATOR, AS4_PATH, Action, Attributes, Class, MP_REACH, MP_UNREACH,
    NEXT_HOP, ORIGIN, PARTIAL, Row, push,
};
use crate::bytes::Reader;
use crate::families::{Family, FamilySet};
use crate::nlri::Nlris;
use crate::notification::{
    INVALID_NETWORK, MALFORMED_ATTRIBUTES, Notification, OPTIONAL_ATTRIBUTE_ERROR,
    UNRECOGNISED_ATTRIBUTE,
};
use crate::path;
use crate::rules::{Fault, Finding, LEN_MAX, Reading, check, unknown};
use crate::summary::Summary;

/// Reads UPDATEs, and has what the last one's attributes were.
#[derive(Debug, Default)]
pub struct Scan {
    block: Vec<u8>,
    summary: Summary,
    findings: Vec<Finding>,
    entries: Vec<Entry>,
    /// The value of an attribute that is not kept as it came.
    made: Vec<u8>,
}

/// An attribute that is kept, by its value's place among the attributes.
#[derive(Clone, Copy, Debug)]
struct Entry {
    code: u8,
    flags: u8,
    start: usize,
    len: usize,
}

/// The routes of an UPDATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update<'a> {
    /// Those of IPv4, and those of the attributes: withdrawn, then announced.
    fields: [Option<Field<'a>>; 4],
    /// Whether all of them are withdrawn because of an error.
    is_withdrawal: bool,
    /// The families of which nothing is to be relied upon any more in this session: their routes in
    /// this UPDATE could not be read. Whoever cannot live without them ends the session.
    pub disabled: FamilySet,
    /// The family of which all routes were told, if the UPDATE says that and nothing else (RFC 4724
    /// section 2).
    pub end_of_rib: Option<Family>,
}

/// Routes of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The family.
    pub family: Family,
    /// The next hop as it stands on the wire: one or two addresses; nothing of withdrawn routes.
    pub next_hop: &'a [u8],
    /// The routes.
    pub nlri: &'a [u8],
    /// Whether they have path identifiers.
    pub has_path_ids: bool,
    /// Whether they are withdrawn.
    is_withdrawal: bool,
}

/// What was found on the way over the attributes.
#[derive(Default)]
struct Found<'a> {
    seen: [u64; 4],
    count: usize,
    next_hop: &'a [u8],
    reach: Option<Field<'a>>,
    unreach: Option<Field<'a>>,
    /// Whether routes are announced by an attribute, even if they are not taken.
    has_reach: bool,
    disabled: FamilySet,
    worst: Option<Action>,
}

impl<'a> Update<'a> {
    /// Returns the routes that are withdrawn, before those that are announced.
    pub fn withdrawn(&self) -> impl Iterator<Item = Field<'a>> + use<'a> {
        let is_withdrawal = self.is_withdrawal;
        let fields = self.fields.into_iter().enumerate();
        fields.filter_map(move |(at, field)| field.filter(|_| at < 2 || is_withdrawal))
    }

    /// Returns the routes that are announced.
    pub fn announced(&self) -> impl Iterator<Item = Field<'a>> + use<'a> {
        let is_withdrawal = self.is_withdrawal;
        let fields = self.fields.into_iter().skip(2);
        fields.filter_map(move |field| field.filter(|_| !is_withdrawal))
    }

    /// Returns whether announced routes count as withdrawn because of an error.
    pub fn is_treated_as_withdrawal(&self) -> bool {
        self.is_withdrawal
    }
}

impl<'a> Field<'a> {
    /// Returns the routes one after the other. They were read before: there is no error.
    pub fn nlris(&self) -> Nlris<'a> {
        match self.is_withdrawal {
            true => Nlris::withdrawn(self.nlri, self.family, self.has_path_ids),
            false => Nlris::announced(self.nlri, self.family, self.has_path_ids),
        }
    }
}

impl Scan {
    /// Returns the attributes of the routes that the last UPDATE announces.
    pub fn block(&self) -> &[u8] {
        &self.block
    }

    /// Returns what of them routes are compared by.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Returns what was wrong with the last UPDATE: some of it, if it was much.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Reads the body of an UPDATE.
    ///
    /// # Errors
    /// With what the peer is told, when the session cannot go on. Everything milder is a finding.
    pub fn read<'a>(&mut self, body: &'a [u8], reading: &Reading) -> Result<Update<'a>, Fault> {
        self.block.clear();
        self.findings.clear();
        self.entries.clear();
        self.summary = Summary::default();
        let mut from = Reader(body);
        let lists = from.counted_u16().zip(from.counted_u16());
        let Some((withdrawn, attributes)) = lists else {
            return Err(malformed(None, "a length goes on beyond the message"));
        };
        let announced = from.0;
        let mut found = Found::default();
        self.walk(attributes, reading, &mut found)?;
        if !announced.is_empty() || found.has_reach {
            self.miss(&mut found, !announced.is_empty());
        }
        let is_withdrawal = found.worst >= Some(Action::Withdraw);
        // Where no routes are announced nobody knows whether they were found (section 5.2).
        let fails = found.worst == Some(Action::Withdraw);
        if fails && announced.is_empty() && !found.has_reach {
            let finding = self.findings.iter().find(|one| one.action == Action::Withdraw);
            let (attribute, why) =
                finding.map_or((None, ""), |finding| (finding.attribute, finding.why));
            return Err(malformed(attribute, why));
        }
        let fields = [
            self.ipv4(withdrawn, &[], reading)?,
            found.unreach,
            self.ipv4(announced, found.next_hop, reading)?,
            found.reach,
        ];
        let end_of_rib = match (withdrawn.is_empty() && announced.is_empty(), found.count) {
            (true, 0) => Some(Family::Ipv4Unicast),
            (true, 1) => found.unreach.filter(|field| field.nlri.is_empty()).map(|one| one.family),
            _ => None,
        };
        let mut update = Update { fields, is_withdrawal, disabled: found.disabled, end_of_rib };
        if !is_withdrawal
            && update.announced().next().is_some()
            && !self.assemble(attributes, reading)
        {
            self.find(None, (Action::Withdraw, "its attributes are too long"), &mut found);
            update.is_withdrawal = true;
        }
        Ok(update)
    }

    /// Goes over the attributes.
    fn walk<'a>(
        &mut self,
        attributes: &'a [u8],
        reading: &Reading,
        found: &mut Found<'a>,
    ) -> Result<(), Fault> {
        let mut all = Attributes::new(attributes);
        while let Some(attribute) = all.next() {
            found.count += 1;
            let (code, value) = (attribute.code, attribute.value);
            let start = attributes.len() - all.rest().len() - value.len();
            let (word, bit) = (usize::from(code / 64), 1 << (code % 64));
            if found.seen[word] & bit != 0 {
                if code == MP_REACH || code == MP_UNREACH {
                    return Err(malformed(Some(code), "it is there more than once"));
                }
                let why = "it is there more than once: the first one counts";
                self.find(Some(code), (Action::Discard, why), found);
                continue;
            }
            found.seen[word] |= bit;
            let entry = Entry { code, flags: attribute.flags, start, len: value.len() };
            let Some(row) = Row::of(code) else {
                match unknown(attribute.flags) {
                    Class::WellKnown => {
                        let mut data = Vec::new();
                        push(attribute.flags, code, value, &mut data);
                        let notification = Notification::with(UNRECOGNISED_ATTRIBUTE, &data);
                        let why = "everybody has to know it, and this speaker does not";
                        return Err(Fault { attribute: Some(code), why, notification });
                    }
                    Class::NonTransitive => {}
                    Class::Transitive => {
                        let flags = attribute.flags | PARTIAL;
                        self.entries.push(Entry { flags, ..entry });
                    }
                }
                continue;
            };
            if let Err(why) = check(row, attribute.flags, value, reading) {
                self.find(Some(code), why, found);
                if !(code == MP_REACH || code == MP_UNREACH) {
                    continue;
                }
            }
            match code {
                MP_REACH => self.reach(value, reading, found)?,
                MP_UNREACH => self.unreach(value, reading, found)?,
                NEXT_HOP => found.next_hop = value,
                _ => {
                    // Others' flags say nothing of an attribute that all who pass it on know.
                    let is_passed_on = row.class == Class::Transitive;
                    let partial = if is_passed_on { attribute.flags & PARTIAL } else { 0 };
                    self.entries.push(Entry { flags: row.class.flags() | partial, ..entry });
                }
            }
        }
        if !all.rest().is_empty() {
            found.count += 1;
            self.find(None, (Action::Withdraw, "an attribute goes on beyond all of them"), found);
        }
        Ok(())
    }

    fn find(&mut self, attribute: Option<u8>, what: (Action, &'static str), found: &mut Found<'_>) {
        let (action, why) = what;
        // Of the mildest ones there may be many; what decides is kept.
        let is_worse = found.worst < Some(action);
        if self.findings.len() == FINDINGS_MAX && is_worse {
            self.findings.pop();
        }
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { attribute, action, why });
        }
        // A family that is of no use says nothing about other routes.
        if action != Action::Disable {
            found.worst = found.worst.max(Some(action));
        }
    }

    /// Finds attributes that announced routes need and do not have.
    fn miss(&mut self, found: &mut Found<'_>, is_ipv4: bool) {
        for code in [ORIGIN, AS_PATH, NEXT_HOP] {
            let is_there = found.seen[0] & 1 << code != 0;
            if !is_there && (code != NEXT_HOP || is_ipv4) {
                let what = (Action::Withdraw, "it is absent, and the routes need it");
                self.find(Some(code), what, found);
            }
        }
    }

    fn reach<'a>(
        &mut self,
        value: &'a [u8],
        reading: &Reading,
        found: &mut Found<'a>,
    ) -> Result<(), Fault> {
        let mut from = Reader(value);
        let head = from.u16().zip(from.u8()).zip(from.counted()).zip(from.u8());
        let Some((((afi, safi), next_hop), _)) = head else {
            return Err(unreadable(MP_REACH, "it ends before its routes", value));
        };
        found.has_reach |= !from.is_empty();
        let Some(family) = self.agreed((afi, safi), MP_REACH, reading, found) else {
            return Ok(());
        };
        let (row, len) = (family.row(), next_hop.len() as u8);
        let is_extended = reading.extended_next_hops.contains(family);
        let is_fine =
            row.next_hops.contains(&len) || is_extended && row.extended_next_hops.contains(&len);
        let has_path_ids = reading.path_ids.contains(family);
        let field = Field { family, next_hop, nlri: from.0, has_path_ids, is_withdrawal: false };
        let why = match field.nlris().check() {
            _ if !is_fine => "its next hop has a length that the family's do not have",
            Ok(_) => {
                found.reach = Some(field);
                return Ok(());
            }
            Err(_) => "its routes cannot be told apart",
        };
        found.disabled.insert(family);
        self.find(Some(MP_REACH), (Action::Disable, why), found);
        Ok(())
    }

    fn unreach<'a>(
        &mut self,
        value: &'a [u8],
        reading: &Reading,
        found: &mut Found<'a>,
    ) -> Result<(), Fault> {
        let mut from = Reader(value);
        let Some((afi, safi)) = from.u16().zip(from.u8()) else {
            return Err(unreadable(MP_UNREACH, "it ends before its routes", value));
        };
        let Some(family) = self.agreed((afi, safi), MP_UNREACH, reading, found) else {
            return Ok(());
        };
        let has_path_ids = reading.path_ids.contains(family);
        let field =
            Field { family, next_hop: &[], nlri: from.0, has_path_ids, is_withdrawal: true };
        if field.nlris().check().is_ok() {
            found.unreach = Some(field);
            return Ok(());
        }
        found.disabled.insert(family);
        let why = "its routes cannot be told apart";
        self.find(Some(MP_UNREACH), (Action::Disable, why), found);
        Ok(())
    }

    /// The family with these numbers, if it was agreed on.
    fn agreed(
        &mut self,
        (afi, safi): (u16, u8),
        attribute: u8,
        reading: &Reading,
        found: &mut Found<'_>,
    ) -> Option<Family> {
        let family = Family::of(afi, safi).filter(|family| reading.families.contains(*family));
        if family.is_none() {
            let why = "its routes are of a family that was not agreed on";
            self.find(Some(attribute), (Action::Discard, why), found);
        }
        family
    }

    /// The routes of IPv4 in a field of their own; none if they were not agreed on.
    fn ipv4<'a>(
        &mut self,
        nlri: &'a [u8],
        next_hop: &'a [u8],
        reading: &Reading,
    ) -> Result<Option<Field<'a>>, Fault> {
        if nlri.is_empty() {
            return Ok(None);
        }
        let family = Family::Ipv4Unicast;
        if !reading.families.contains(family) {
            let why = "routes of IPv4 were not agreed on";
            self.find(None, (Action::Discard, why), &mut Found::default());
            return Ok(None);
        }
        let has_path_ids = reading.path_ids.contains(family);
        let field =
            Field { family, next_hop, nlri, has_path_ids, is_withdrawal: next_hop.is_empty() };
        match field.nlris().check() {
            Ok(_) => Ok(Some(field)),
            Err(_) => Err(Fault {
                attribute: None,
                why: "routes of IPv4 cannot be told apart",
                notification: Notification::new(INVALID_NETWORK),
            }),
        }
    }

    /// Makes the block of the attributes that are kept; false if it is longer than any.
    fn assemble(&mut self, attributes: &[u8], reading: &Reading) -> bool {
        let mut entries = std::mem::take(&mut self.entries);
        if !entries.is_sorted_by_key(|entry| entry.code) {
            entries.sort_by_key(|entry| entry.code);
        }
        let value_of = |code: u8| {
            let entry = entries.iter().find(|entry| entry.code == code)?;
            attributes.get(entry.start..entry.start + entry.len)
        };
        let merged = if reading.is_wide { [None; 2] } else { merged(&value_of) };
        let mut fits = true;
        for Entry { code, flags, start, len } in &entries {
            let value = &attributes[*start..start + len];
            self.made.clear();
            match *code {
                AS4_PATH | AS4_AGGREGATOR => continue,
                AS_PATH if !reading.is_wide => match merged[0] {
                    Some(as4_path) => path::merge(value, as4_path, &mut self.made),
                    None => path::widen(value, &mut self.made),
                },
                AGGREGATOR if !reading.is_wide => match merged[1] {
                    Some(aggregator) => self.made.extend(aggregator),
                    None => {
                        self.made.extend([0, 0]);
                        self.made.extend(value);
                    }
                },
                _ => {}
            }
            let is_kept = self.made.is_empty();
            let value = if is_kept { value } else { &self.made };
            fits &= self.block.len() + value.len() + 4 <= LEN_MAX;
            if !fits {
                break;
            }
            push(*flags, *code, value, &mut self.block);
            self.summary.note(*code, value, self.block.len() - value.len());
        }
        self.entries = entries;
        if !fits {
            self.block.clear();
            self.summary = Summary::default();
        }
        fits
    }
}

/// What stands for AS_PATH and AGGREGATOR of a peer that knows ASes of 2 bytes alone (RFC 6793
/// section 4.2.3): the other attributes, unless somebody has aggregated who does not know them.
fn merged<'a>(value_of: &dyn Fn(u8) -> Option<&'a [u8]>) -> [Option<&'a [u8]>; 2] {
    let aggregator = value_of(AGGREGATOR);
    let is_known = aggregator.is_none_or(|value| value.starts_with(&path::AS_TRANS.to_be_bytes()));
    if !is_known && value_of(AS4_AGGREGATOR).is_some() {
        return [None; 2];
    }
    [value_of(AS4_PATH), value_of(AS4_AGGREGATOR).filter(|_| is_known)]
}

fn malformed(attribute: Option<u8>, why: &'static str) -> Fault {
    Fault { attribute, why, notification: Notification::new(MALFORMED_ATTRIBUTES) }
}

fn unreadable(code: u8, why: &'static str, value: &[u8]) -> Fault {
    let mut data = Vec::new();
    push(Class::NonTransitive.flags(), code, value, &mut data);
    let notification = Notification::with(OPTIONAL_ATTRIBUTE_ERROR, &data);
    Fault { attribute: Some(code), why, notification }
}

/// Most findings of an UPDATE that are kept.
const FINDINGS_MAX: usize = 16;
