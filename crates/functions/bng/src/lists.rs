//! Lists of rules: each is kept once by what it says, whatever names and sessions it has.
//!
//! ```text
//!  name --> number --> rules of both versions of IP as bit vectors, and how often it is named
//! ```
//! The word `subscriber` is no address in a rule but a bit of the key, so lists that name each
//! session's own addresses are the same list.

mod key;

use std::collections::{BTreeMap, HashMap};

use engine::Refusal;
use packet::{Batch, Slot, Slots};
use tables::classifier::{Classifier, NO_MATCH};

use super::config::{Action, Config, List, NAMES_MAX, Name};
use super::parse::Packet;
use super::reasons;
use super::way::Toward;
use key::{V4, V6};

/// All lists.
pub(super) struct Lists {
    names: BTreeMap<Name, Listed>,
    by_content: HashMap<String, u16>,
    /// Each by its number less one; one that nobody names any more is taken anew with its memory.
    kept: Vec<Kept>,
    capacity: usize,
    rules_max: usize,
    scratch: Box<Scratch>,
}

/// A list by its name.
struct Listed {
    number: u16,
    list: List,
    /// Sessions that have it for their own.
    sessions: u32,
}

/// A list as packets meet it.
struct Kept {
    ipv4: Classifier<V4>,
    ipv6: Classifier<V6>,
    /// Whether a rule looks behind the headers of IP, for packets of each version.
    looks_behind: [bool; 2],
    otherwise: bool,
    /// What it says, as text.
    content: String,
    /// Names that it has.
    names: u32,
}

/// Keys and answers of a batch.
struct Scratch {
    ipv4: [[u8; V4]; 256],
    ipv6: [[u8; V6]; 256],
    found: [u32; 256],
}

/// The list of sessions that have none: it permits all.
pub(super) const NO_LIST: u16 = 0;

impl Lists {
    /// No lists, and room for those of a configuration.
    pub fn new(config: &Config) -> Lists {
        Lists {
            names: BTreeMap::new(),
            by_content: HashMap::with_capacity(config.list_capacity as usize),
            kept: Vec::with_capacity(config.list_capacity as usize),
            capacity: config.list_capacity as usize,
            rules_max: config.list_rules as usize,
            scratch: Box::new(Scratch {
                ipv4: [[0; V4]; 256],
                ipv6: [[0; V6]; 256],
                found: [0; 256],
            }),
        }
    }

    /// A list appears.
    ///
    /// # Errors
    /// When its name is taken, a rule can match nothing, or there is no room.
    pub fn add(&mut self, list: &List) -> Result<(), Refusal> {
        if self.names.contains_key(&list.name) {
            return Err(Refusal::Exists);
        }
        if self.names.len() >= NAMES_MAX * self.capacity {
            return Err(Refusal::Exceeds("list-capacity"));
        }
        if list.rules.len() > self.rules_max {
            return Err(Refusal::Exceeds("list-rules"));
        }
        if !list.rules.iter().all(super::config::Rule::is_sound) {
            return Err(Refusal::Invalid);
        }
        let content =
            serde_json::to_string(&(&list.rules, list.otherwise)).map_err(|_| Refusal::Invalid)?;
        let number = match self.by_content.get(&content) {
            Some(&number) => number,
            None => self.keep(list, content)?,
        };
        if let Some(kept) = self.kept.get_mut(usize::from(number) - 1) {
            kept.names += 1;
        }
        self.names.insert(list.name, Listed { number, list: list.clone(), sessions: 0 });
        Ok(())
    }

    /// A list disappears; whoever calls has seen that nobody has it.
    ///
    /// # Errors
    /// When there is no such list.
    pub fn remove(&mut self, name: Name) -> Result<(), Refusal> {
        let Listed { number, .. } = self.names.remove(&name).ok_or(Refusal::NotFound)?;
        let Some(kept) = self.kept.get_mut(usize::from(number) - 1) else { return Ok(()) };
        kept.names -= 1;
        if kept.names == 0 {
            self.by_content.remove(&kept.content);
        }
        Ok(())
    }

    /// The number of a list.
    pub fn number(&self, name: Name) -> Option<u16> {
        self.names.get(&name).map(|one| one.number)
    }

    /// So many more sessions, or fewer, have it for their own.
    pub fn refer(&mut self, name: Name, more: i32) {
        if let Some(one) = self.names.get_mut(&name) {
            one.sessions = one.sessions.saturating_add_signed(more);
        }
    }

    /// Whether some session has it for its own.
    pub fn is_referred(&self, name: Name) -> bool {
        self.names.get(&name).is_some_and(|one| one.sessions > 0)
    }

    /// All lists by name.
    pub fn all(&self) -> impl Iterator<Item = &List> + '_ {
        self.names.values().map(|one| &one.list)
    }

    /// How many that differ there are.
    pub fn distinct(&self) -> usize {
        self.by_content.len()
    }

    /// How many there can be.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Memory it holds.
    pub fn bytes(&self) -> usize {
        let of_lists = self.kept.iter().map(|kept| kept.ipv4.bytes() + kept.ipv6.bytes());
        of_lists.sum::<usize>() + size_of::<Scratch>()
    }

    /// Compiles a list in a place that nobody has.
    fn keep(&mut self, list: &List, content: String) -> Result<u16, Refusal> {
        let place = match self.kept.iter().position(|kept| kept.names == 0) {
            Some(place) => place,
            None if self.kept.len() == self.capacity => {
                return Err(Refusal::Exceeds("list-capacity"));
            }
            None => {
                self.kept.push(Kept::new(self.rules_max).ok_or(Refusal::Full)?);
                self.kept.len() - 1
            }
        };
        let Some(kept) = self.kept.get_mut(place) else { return Err(Refusal::Full) };
        kept.set(list).ok_or(Refusal::Full)?;
        kept.content.clone_from(&content);
        let number = place as u16 + 1;
        self.by_content.insert(content, number);
        Ok(number)
    }

    /// Drops the packets that their lists deny; `list_of` tells the list of a packet and whether
    /// its other end is the session's, too.
    pub fn filter(
        &mut self,
        batch: &mut Batch,
        slots: &mut Slots,
        packets: &[Packet; 256],
        toward: Toward,
        list_of: impl Fn(u8) -> (u16, bool),
    ) {
        let Lists { kept, scratch, .. } = self;
        // The list of each packet above its slot.
        let (mut order, mut count) = ([0; 256], 0);
        for &slot in slots.as_slice() {
            let (list, _) = list_of(slot);
            order[count % 256] = u32::from(list) << 8 | u32::from(slot);
            count += usize::from(list != NO_LIST);
        }
        if count == 0 {
            return;
        }
        // As many lists as packets cost no more than this; all of one are in order already.
        order[..count].sort_unstable();
        for of_list in order[..count].chunk_by(|one, other| one >> 8 == other >> 8) {
            let list = (of_list[0] >> 8) as usize;
            if let Some(kept) = kept.get(list - 1) {
                kept.judge(batch, packets, (of_list, scratch), toward, &list_of);
            }
        }
        slots.retain(|slot| {
            let verdict = batch.verdict(slot);
            verdict != reasons::drop(reasons::LIST_DENIED)
                && verdict != reasons::drop(reasons::LIST_UNREADABLE)
        });
    }
}

impl Kept {
    fn new(rules_max: usize) -> Option<Kept> {
        Some(Kept {
            ipv4: Classifier::new(&key::fields(4), rules_max).ok()?,
            ipv6: Classifier::new(&key::fields(16), rules_max).ok()?,
            looks_behind: [false; 2],
            otherwise: false,
            content: String::new(),
            names: 0,
        })
    }

    /// Becomes a list.
    fn set(&mut self, list: &List) -> Option<()> {
        for precedence in 0..self.ipv4.rules_max() as u32 {
            self.ipv4.remove(precedence);
            self.ipv6.remove(precedence);
        }
        self.otherwise = list.otherwise == Action::Permit;
        self.looks_behind = [false; 2];
        for (precedence, rule) in (0..).zip(&list.rules) {
            let value = u32::from(rule.action == Action::Permit);
            let (is_ipv4, is_ipv6) = rule.versions();
            self.looks_behind[0] |= is_ipv4 && rule.looks_behind();
            self.looks_behind[1] |= is_ipv6 && rule.looks_behind();
            if is_ipv4 {
                self.ipv4.insert(precedence, &key::conditions(rule, 32), value).ok()?;
            }
            if is_ipv6 {
                self.ipv6.insert(precedence, &key::conditions(rule, 128), value).ok()?;
            }
        }
        Some(())
    }

    /// Gives the packets of this list that it denies their verdict.
    fn judge(
        &self,
        batch: &mut Batch,
        packets: &[Packet; 256],
        (of_list, scratch): (&[u32], &mut Scratch),
        toward: Toward,
        list_of: &impl Fn(u8) -> (u16, bool),
    ) {
        let Scratch { ipv4, ipv6, found } = scratch;
        let ends = |slot| (toward, list_of(slot).1);
        for is_ipv6 in [false, true] {
            let (mut count, mut judged) = (0, [0; 256]);
            for slot in of_list.iter().map(|one| *one as Slot) {
                let packet = &packets[usize::from(slot)];
                if packet.is_ipv6 != is_ipv6 {
                    continue;
                }
                let frame = batch.frame(slot);
                let is_readable = match is_ipv6 {
                    false => key::of_ipv4(frame, packet, ends(slot), &mut ipv4[count]),
                    true => key::of_ipv6(frame, packet, ends(slot), &mut ipv6[count]),
                };
                if !is_readable && self.looks_behind[usize::from(is_ipv6)] {
                    batch.set_verdict(slot, reasons::drop(reasons::LIST_UNREADABLE));
                    continue;
                }
                judged[count] = slot;
                count += 1;
            }
            match is_ipv6 {
                false => self.ipv4.classify_batch(&ipv4[..count], &mut found[..count]),
                true => self.ipv6.classify_batch(&ipv6[..count], &mut found[..count]),
            }
            for (&slot, &value) in judged[..count].iter().zip(&found[..count]) {
                let permits = if value == NO_MATCH { self.otherwise } else { value == 1 };
                if !permits {
                    batch.set_verdict(slot, reasons::drop(reasons::LIST_DENIED));
                }
            }
        }
    }
}
