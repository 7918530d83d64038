//! Templates of IPFIX (RFC 7011 section 3.4.1): of what records consist.
//!
//! One that is told anew replaces the one before, as over UDP (section 8.4). What all of them take
//! is limited, whatever a file says.

use std::collections::HashMap;
use std::rc::Rc;

use crate::elements::{Record, Slot};
use crate::messages::u16_at;

/// The templates that are known, by observation domain and identifier.
#[derive(Default)]
pub(crate) struct Templates {
    known: HashMap<(u32, u16), Rc<Template>>,
    /// Pieces of all of them.
    pieces: usize,
}

/// Of what a record consists.
pub(crate) struct Template {
    /// What each piece is, where it matters, and its length in bytes, or [`VARIABLE`].
    pieces: Vec<(Option<Slot>, u16)>,
    /// The shortest record in bytes.
    len_min: usize,
}

/// More templates than any exporter has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl Templates {
    /// The one of a set of records.
    pub fn get(&self, domain: u32, id: u16) -> Option<Rc<Template>> {
        self.known.get(&(domain, id)).cloned()
    }

    /// Takes in a set of templates, or of templates of options; false where a part of it cannot be
    /// read.
    ///
    /// # Errors
    /// When there are too many.
    pub fn take(
        &mut self,
        (domain, is_options): (u32, bool),
        mut set: &[u8],
        keep: Keep,
    ) -> Result<bool, TooMany> {
        while let (Some(id), Some(count)) = (u16_at(set, 0), u16_at(set, 2)) {
            if id == 0 && count == 0 {
                // Padding (section 3.3.1).
                return Ok(set.iter().all(|byte| *byte == 0));
            }
            if count == 0 {
                self.withdraw(domain, id);
                set = &set[4..];
                continue;
            }
            let header_len = if is_options { 6 } else { 4 };
            let read = set.get(header_len..).and_then(|rest| Template::read(rest, count));
            let Some((template, rest)) = read.filter(|_| id >= DATA_MIN) else { return Ok(false) };
            set = rest;
            if keep == Keep::Latest || !self.known.contains_key(&(domain, id)) {
                self.insert((domain, id), template)?;
            }
        }
        Ok(set.iter().all(|byte| *byte == 0))
    }

    fn insert(&mut self, name: (u32, u16), template: Template) -> Result<(), TooMany> {
        self.pieces += template.pieces.len();
        let before = self.known.insert(name, Rc::new(template));
        self.pieces -= before.map_or(0, |before| before.pieces.len());
        if self.known.len() > TEMPLATES_MAX || self.pieces > PIECES_MAX {
            return Err(TooMany);
        }
        Ok(())
    }

    /// One is no longer, or all of the domain (section 8.1).
    fn withdraw(&mut self, domain: u32, id: u16) {
        if id >= DATA_MIN {
            let before = self.known.remove(&(domain, id));
            self.pieces -= before.map_or(0, |before| before.pieces.len());
            return;
        }
        self.known.retain(|(of, _), _| *of != domain);
        self.pieces = self.known.values().map(|one| one.pieces.len()).sum();
    }
}

/// Which of two templates of a name is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The one that was told first.
    First,
    /// The one that was told last.
    Latest,
}

impl Template {
    /// The pieces of a template, and what follows them; none where the set ends before, or where
    /// a record, or a value that matters, could have no bytes.
    fn read(mut set: &[u8], count: u16) -> Option<(Template, &[u8])> {
        let mut template = Template { pieces: Vec::new(), len_min: 0 };
        for _ in 0..count {
            let (number, len) = (u16_at(set, 0)?, u16_at(set, 2)?);
            // Behind an element of an enterprise stands whose it is (section 3.2).
            let is_of_enterprise = number & ENTERPRISE != 0;
            set = set.get(if is_of_enterprise { 8 } else { 4 }..)?;
            let slot = Slot::of(number).filter(|_| !is_of_enterprise);
            if len == 0 {
                // Else a byte of a record could take as long as thousands of pieces.
                match slot {
                    Some(_) => return None,
                    None => continue,
                }
            }
            template.pieces.push((slot, len));
            template.len_min += if len == VARIABLE { 1 } else { usize::from(len) };
        }
        (template.len_min > 0).then_some((template, set))
    }

    /// Hands on the records of a set; false where a part of it cannot be read.
    ///
    /// # Errors
    /// What is wrong for whom they are handed to.
    pub fn records<E>(
        &self,
        mut set: &[u8],
        mut each: impl FnMut(Option<&Record>) -> Result<(), E>,
    ) -> Result<bool, E> {
        while set.len() >= self.len_min {
            let mut record = Record::default();
            let (mut rest, mut is_right) = (set, true);
            for (slot, len) in &self.pieces {
                let Some((value, behind)) = value(rest, *len) else { return Ok(false) };
                rest = behind;
                is_right &= slot.is_none_or(|slot| record.set(slot, value));
            }
            set = rest;
            each(is_right.then_some(&record))?;
        }
        // Padding is shorter than a record (section 3.3.1).
        Ok(set.iter().all(|byte| *byte == 0))
    }
}

/// The value at the front of bytes, and what follows it.
fn value(bytes: &[u8], len: u16) -> Option<(&[u8], &[u8])> {
    if len != VARIABLE {
        return bytes.split_at_checked(len.into());
    }
    // Section 7.
    let (len, rest) = bytes.split_first()?;
    match len {
        255 => rest.get(2..)?.split_at_checked(u16_at(rest, 0)?.into()),
        len => rest.split_at_checked(usize::from(*len)),
    }
}

/// The lowest identifier of a set of records (RFC 7011 section 3.3.2).
pub(crate) const DATA_MIN: u16 = 256;
/// The bit of an element of an enterprise (RFC 7011 section 3.2).
const ENTERPRISE: u16 = 1 << 15;
/// The length of a piece whose values tell theirs (RFC 7011 section 7).
const VARIABLE: u16 = u16::MAX;
/// The most templates.
const TEMPLATES_MAX: usize = 65_536;
/// The most pieces of all templates together.
const PIECES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// A template of elements with their lengths.
    fn template(id: u16, pieces: &[(u16, u16)]) -> Vec<u8> {
        let head = [id, pieces.len() as u16];
        let words = head.into_iter().chain(pieces.iter().flat_map(|(number, len)| {
            let enterprise = if number & ENTERPRISE != 0 { &[0, 9][..] } else { &[] };
            [*number, *len].into_iter().chain(enterprise.iter().copied())
        }));
        words.flat_map(u16::to_be_bytes).collect()
    }

    fn take(templates: &mut Templates, set: &[u8]) -> Result<bool, TooMany> {
        templates.take((1, false), set, Keep::Latest)
    }

    /// The value of an element in each record of a set, and whether the whole set could be read.
    fn values(templates: &Templates, id: u16, slot: Slot, set: &[u8]) -> (Vec<Option<u64>>, bool) {
        let mut values = Vec::new();
        let is_whole = templates.get(1, id).expect("it is known").records(set, |record| {
            values.push(record.and_then(|record| record.number(slot)));
            Ok::<(), ()>(())
        });
        (values, is_whole.expect("nothing is wrong"))
    }

    #[test]
    fn records_follow_their_template() {
        let mut templates = Templates::default();
        // An element of an enterprise with a known number, one of any length, and a short number.
        let pieces = [(ENTERPRISE | 230, 1), (82, VARIABLE), (230, 1), (234, 2)];
        let set = [template(300, &pieces), template(301, &[(230, 1)]), vec![0; 3]].concat();
        assert_eq!(take(&mut templates, &set), Ok(true));
        let long = [vec![9, 255, 1, 0], vec![7; 256], vec![4, 1, 1]].concat();
        let records = [&[9, 2, 7, 7, 16, 0, 5][..], &long, &[9, 0, 17, 0, 6], &[0; 3]].concat();
        let events = vec![Some(16), Some(4), Some(17)];
        assert_eq!(values(&templates, 300, Slot::Event, &records), (events, true));
        let realms = vec![Some(5), Some(257), Some(6)];
        assert_eq!(values(&templates, 300, Slot::Realm, &records), (realms, true));
        // It is told anew, and is another one.
        assert_eq!(take(&mut templates, &template(301, &[(230, 2), (4, 1)])), Ok(true));
        let (events, is_whole) = values(&templates, 301, Slot::Event, &[0, 4, 6, 0, 5, 6]);
        assert_eq!((events, is_whole), (vec![Some(4), Some(5)], true));
        // And no longer is.
        assert_eq!(take(&mut templates, &[1, 45, 0, 0]), Ok(true));
        assert!(templates.get(1, 301).is_none() && templates.get(1, 300).is_some());
        assert_eq!(take(&mut templates, &[0, 2, 0, 0]), Ok(true));
        assert!(templates.get(1, 300).is_none() && templates.pieces == 0);
    }

    #[test]
    fn what_lies_is_told_and_ends() {
        let mut templates = Templates::default();
        for set in [
            &template(300, &[(230, 0)])[..],
            &template(255, &[(230, 1)]),
            &template(300, &[(230, 1), (4, 1)])[..11],
            &template(300, &[(82, 1), (230, 0)]),
            &[1, 44, 255, 255, 0, 230, 0, 1],
            &[0, 0, 0, 0, 1],
        ] {
            assert_eq!(take(&mut templates, set), Ok(false), "{set:?}");
            assert!(templates.get(1, 300).is_none());
        }
        assert_eq!(take(&mut templates, &template(300, &[(82, VARIABLE), (230, 1)])), Ok(true));
        for set in [&[9, 1][..], &[255, 255], &[255, 255, 255, 1], &[1, 0]] {
            assert_eq!(values(&templates, 300, Slot::Event, set), (Vec::new(), false), "{set:?}");
        }
        // A number that is too long for its element.
        assert_eq!(take(&mut templates, &template(301, &[(230, 9)])), Ok(true));
        assert_eq!(values(&templates, 301, Slot::Event, &[9; 18]), (vec![None, None], true));
        assert_eq!(values(&templates, 301, Slot::Event, &[1; 10]), (vec![None], false));
    }

    #[test]
    fn a_file_cannot_fill_the_memory() {
        let mut templates = Templates::default();
        let wide = vec![(4, 1); 16_000];
        let ids = DATA_MIN..u16::MAX;
        let takes = |id| take(&mut templates, &template(id, &wide)) == Ok(true);
        assert_eq!(ids.clone().map(takes).take_while(|is_taken| *is_taken).count(), 65);
        let mut templates = Templates::default();
        let set = ids.flat_map(|id| template(id, &[(4, 1)])).collect::<Vec<u8>>();
        assert_eq!(take(&mut templates, &set), Ok(true));
        assert_eq!(templates.take((2, false), &set, Keep::First), Err(TooMany));
    }
}
