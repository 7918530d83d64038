//! An access list: the first rule that matches permits or denies, and behind the last all is
//! denied.
use std::collections::BTreeMap;

use engine::Refusal;
use function_kit::SetupError;
use packet::{Batch, Reason, Slot, Slots};
use tables::classifier::{Classifier, Glance, NO_MATCH, Refused};
use wire::ethernet;

use super::super::config::{AclRule, Action, Config, List, PortName, number_of};
use super::super::known::KnownOf;
use super::super::reasons;
use super::key;
use super::samples::{Decision, Samples};

/// A list; without rules it permits everything.
pub struct Acl {
    fast: Option<Tables>,
    rules: BTreeMap<u32, AclRule>,
    /// The places of the rules by their numbers.
    places: BTreeMap<u32, u32>,
    /// What is kept of each rule, by its place, and the places that are free.
    kept: Vec<Kept>,
    free: Vec<u32>,
    /// The names of the ports that rules may name.
    ports: Vec<PortName>,
    rules_max: usize,
    has_ipv6: bool,
    /// Rules that look behind the headers of IP, for packets of each version.
    readers: [usize; 2],
    /// Most extension headers of a packet that the list reads.
    headers_max: u8,
}

/// Packets for which a rule was the first that matched, on this worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// How many there were.
    pub packets: u64,
    /// Their bytes, without those of Ethernet.
    pub bytes: u64,
}

/// What of a rule is needed once it has matched.
#[derive(Clone, Copy)]
struct Kept {
    /// Its policer; [`NO_POLICER`] for none.
    policer: u32,
    hits: Hits,
    number: u32,
    /// Of so many packets one is for the log; 0 for none.
    log_one_in: u32,
}

struct Tables {
    ipv4: Classifier<{ key::V4 }>,
    ipv6: Classifier<{ key::V6 }>,
}

/// Keys and answers of a batch.
pub(super) struct AclScratch {
    ipv4: [[u8; key::V4]; 256],
    ipv6: [[u8; key::V6]; 256],
    found: [u32; 256],
    /// By packet, in the order of the slots.
    values: [u32; 256],
    /// The packets of which a glance did not say enough, and a key is made.
    open: Slots,
    /// Which ones they are among all.
    places: [u8; 256],
}

/// What a list is to know of packets, and what to do with them.
pub(super) struct Passed<'a, P, M, N> {
    /// The ports of fragments.
    pub known: &'a KnownOf,
    /// The port and VLAN of a packet.
    pub place: P,
    /// Whether a packet meets the list at all.
    pub meets: M,
    /// Why those are dropped that are denied.
    pub refuse: Reason,
    /// What is told of those that are permitted: the policer of the rule.
    pub note: N,
    /// The name of the list.
    pub list: &'static str,
    /// Where packets for the log are kept.
    pub samples: &'a mut Samples,
}

impl AclScratch {
    pub fn new() -> AclScratch {
        AclScratch {
            ipv4: [[0; key::V4]; 256],
            ipv6: [[0; key::V6]; 256],
            found: [0; 256],
            values: [0; 256],
            open: Slots::new(),
            places: [0; 256],
        }
    }
}

impl AclScratch {
    /// Answers what a byte of the frames, at its place there, says, and leaves the others open.
    #[inline(always)]
    fn glance(&mut self, batch: &Batch, slots: &Slots, glance: Option<(&Glance, usize)>) {
        self.open.clear();
        let Some((glance, at)) = glance else {
            slots.as_slice().iter().for_each(|&slot| self.open.push(slot));
            return;
        };
        for (place, (&slot, value)) in slots.as_slice().iter().zip(&mut self.values).enumerate() {
            // The check has seen that the header is whole.
            let answer = batch.frame(slot).get(at).and_then(|&byte| glance.answer(byte));
            self.places[self.open.len()] = place as u8;
            self.open.push_if(answer.is_none(), slot);
            *value = answer.unwrap_or(NO_MATCH);
        }
    }

    /// The answers to all of `count` packets, those found by their keys among them.
    #[inline(always)]
    fn answers(&mut self, count: usize) -> &[u32] {
        if self.open.len() == count {
            return &self.found[..count];
        }
        for (&place, &found) in self.places.iter().zip(&self.found).take(self.open.len()) {
            self.values[usize::from(place)] = found;
        }
        &self.values[..count]
    }
}

impl Acl {
    /// A list of the configuration.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn new(config: &Config, list: List) -> Result<Acl, SetupError> {
        let rules_max = config.rules_max(list) as usize;
        let memory = |source| SetupError::Memory { what: "an access list", source };
        let fast = match rules_max {
            0 => None,
            _ => Some(Tables {
                ipv4: Classifier::new(&key::fields(4), rules_max)
                    .map_err(memory)?
                    .with_at_hand(2 * key::ADDRESS_V4),
                // A packet of IPv6 meets the list also where its version is not routed.
                ipv6: Classifier::new(&key::fields(16), rules_max)
                    .map_err(memory)?
                    .with_at_hand(2 * key::ADDRESS_V6),
            }),
        };
        let mut acl = Acl {
            fast,
            rules: BTreeMap::new(),
            places: BTreeMap::new(),
            kept: Vec::with_capacity(rules_max),
            free: Vec::new(),
            ports: config.port_names(),
            rules_max,
            has_ipv6: config.ipv6,
            readers: [0; 2],
            headers_max: config.extension_headers_max,
        };
        for (number, rule) in config.all_rules(list) {
            acl.set(number, rule).map_err(|refusal| SetupError::Table {
                what: "a rule of an access list",
                why: refusal.to_string(),
            })?;
        }
        Ok(acl)
    }

    /// Adds a rule, or replaces the one of this number.
    ///
    /// # Errors
    /// When it is impossible; nothing has changed then.
    pub fn set(&mut self, number: u32, rule: AclRule) -> Result<(), Refusal> {
        if !rule.is_sound() || rule.versions() == (false, true) && !self.has_ipv6 {
            return Err(Refusal::Invalid);
        }
        let port = rule.port.map(|name| number_of(&self.ports, name).ok_or(Refusal::NotFound));
        let port = port.transpose()?;
        let is_new = !self.rules.contains_key(&number);
        if is_new && self.rules.len() == self.rules_max {
            return Err(Refusal::Full);
        }
        let place = self.place_of(number);
        let value = place << 1 | if rule.action == Action::Permit { PERMIT } else { 0 };
        let Some(fast) = &mut self.fast else { return Err(Refusal::Full) };
        let (is_ipv4, is_ipv6) = rule.versions();
        // Neither can be full: together they hold no more rules than each has room for.
        let refusal = |_: Refused| Refusal::Full;
        if is_ipv4 {
            fast.ipv4.insert(number, &key::conditions(&rule, port, 32), value).map_err(refusal)?;
        } else {
            fast.ipv4.remove(number);
        }
        if is_ipv6 {
            fast.ipv6.insert(number, &key::conditions(&rule, port, 128), value).map_err(refusal)?;
        } else {
            fast.ipv6.remove(number);
        }
        let policer = rule.policer.unwrap_or(NO_POLICER);
        if let Some(kept) = self.kept.get_mut(place as usize) {
            let log_one_in = rule.log_one_in.unwrap_or(0);
            *kept = Kept { policer, hits: Hits::default(), number, log_one_in };
        }
        count(&mut self.readers, &rule, 1);
        if let Some(before) = self.rules.insert(number, rule) {
            count(&mut self.readers, &before, -1);
        }
        Ok(())
    }

    /// Removes the rule of this number.
    ///
    /// # Errors
    /// When there is no such one.
    pub fn remove(&mut self, number: u32) -> Result<(), Refusal> {
        let rule = self.rules.remove(&number).ok_or(Refusal::NotFound)?;
        count(&mut self.readers, &rule, -1);
        self.free.extend(self.places.remove(&number));
        if let Some(fast) = &mut self.fast {
            fast.ipv4.remove(number);
            fast.ipv6.remove(number);
        }
        Ok(())
    }

    /// Where a rule of this number is, or will be.
    fn place_of(&mut self, number: u32) -> u32 {
        if let Some(place) = self.places.get(&number) {
            return *place;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            let hits = Hits::default();
            self.kept.push(Kept { policer: NO_POLICER, hits, number, log_one_in: 0 });
            self.kept.len() as u32 - 1
        });
        self.places.insert(number, place);
        place
    }

    /// How often the rule of a number was the first that matched, since it was set.
    pub fn hits(&self, number: u32) -> Hits {
        let kept = self.places.get(&number).and_then(|&place| self.kept.get(place as usize));
        kept.map_or(Hits::default(), |kept| kept.hits)
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules by number.
    pub fn rules(&self) -> &BTreeMap<u32, AclRule> {
        &self.rules
    }

    /// Rules it has room for.
    pub fn rules_max(&self) -> usize {
        self.rules_max
    }

    /// Memory of its tables.
    pub fn bytes(&self) -> usize {
        self.fast.as_ref().map_or(0, |fast| fast.ipv4.bytes() + fast.ipv6.bytes())
            + self.kept.capacity() * size_of::<Kept>()
    }

    /// Drops the packets that the list denies, and those that it cannot read where a rule looks
    /// behind the headers of IP.
    pub(super) fn filter_ipv4(
        &mut self,
        batch: &mut Batch,
        slots: &mut Slots,
        scratch: &mut AclScratch,
        passed: &mut Passed<
            '_,
            impl Fn(&Batch, Slot) -> (u8, u16),
            impl Fn(Slot) -> bool,
            impl FnMut(Slot, u32),
        >,
    ) {
        let (Some(fast), false) = (&self.fast, slots.is_empty()) else { return };
        if self.readers[0] > 0 {
            keep_readable(batch, slots, passed, key::reads_ipv4);
        }
        if let Some(answer) = fast.ipv4.answer_to_all() {
            let answers = &[answer; 256][..slots.len()];
            return keep(batch, slots, answers, passed, &mut self.kept);
        }
        let at = |byte| key::AT_V4 + byte;
        scratch.glance(batch, slots, fast.ipv4.glance().map(|glance| (glance, at(glance.at()))));
        let AclScratch { ipv4: keys, found, open, .. } = scratch;
        for (key, &slot) in keys.iter_mut().zip(open.as_slice()) {
            *key = key::of_ipv4(batch.frame(slot), (passed.place)(batch, slot));
        }
        know(keys, open, passed.known);
        fast.ipv4.classify_batch(&keys[..open.len()], &mut found[..open.len()]);
        keep(batch, slots, scratch.answers(slots.len()), passed, &mut self.kept);
    }

    /// The same for IPv6.
    pub(super) fn filter_ipv6(
        &mut self,
        batch: &mut Batch,
        slots: &mut Slots,
        scratch: &mut AclScratch,
        passed: &mut Passed<
            '_,
            impl Fn(&Batch, Slot) -> (u8, u16),
            impl Fn(Slot) -> bool,
            impl FnMut(Slot, u32),
        >,
    ) {
        let (Some(fast), false) = (&self.fast, slots.is_empty()) else { return };
        let headers_max = self.headers_max;
        if self.readers[1] > 0 {
            keep_readable(batch, slots, passed, |frame| key::reads_ipv6(frame, headers_max));
        }
        if let Some(answer) = fast.ipv6.answer_to_all() {
            let answers = &[answer; 256][..slots.len()];
            return keep(batch, slots, answers, passed, &mut self.kept);
        }
        let at = |byte| key::AT_V6 + byte;
        scratch.glance(batch, slots, fast.ipv6.glance().map(|glance| (glance, at(glance.at()))));
        let AclScratch { ipv6: keys, found, open, .. } = scratch;
        for (key, &slot) in keys.iter_mut().zip(open.as_slice()) {
            *key = key::of_ipv6(batch.frame(slot), (passed.place)(batch, slot), headers_max);
        }
        know(keys, open, passed.known);
        fast.ipv6.classify_batch(&keys[..open.len()], &mut found[..open.len()]);
        keep(batch, slots, scratch.answers(slots.len()), passed, &mut self.kept);
    }
}

/// One rule more or less that may look behind the headers of IP.
fn count(readers: &mut [usize; 2], rule: &AclRule, change: isize) {
    let (is_ipv4, is_ipv6) = rule.versions();
    for (readers, is_its) in readers.iter_mut().zip([is_ipv4, is_ipv6]) {
        if is_its && rule.looks_behind() {
            *readers = readers.saturating_add_signed(change);
        }
    }
}

/// Drops the packets that are not read to their end: whether a rule is for them cannot be known
/// (RFC 7045 section 2.1, RFC 7112 section 5).
#[inline(always)]
fn keep_readable<P, N>(
    batch: &mut Batch,
    slots: &mut Slots,
    passed: &Passed<'_, P, impl Fn(Slot) -> bool, N>,
    reads: impl Fn(&[u8]) -> bool,
) {
    slots.retain(|slot| {
        let is_kept = reads(batch.frame(slot)) || !(passed.meets)(slot);
        if !is_kept {
            batch.set_verdict(slot, reasons::drop(reasons::ACL_UNREADABLE));
        }
        is_kept
    });
}

/// Gives the keys of fragments what is known of their datagrams.
#[inline(always)]
fn know<const KEY: usize>(keys: &mut [[u8; KEY]; 256], slots: &Slots, known: &KnownOf) {
    if !known.is_any() {
        return;
    }
    for (key, &slot) in keys.iter_mut().zip(slots.as_slice()) {
        if let Some(known) = known.get(slot) {
            key::know(key, known);
        }
    }
}

/// Keeps what is permitted, and counts for each rule what it decides; the answers stand in the
/// order of the slots.
#[inline(always)]
fn keep(
    batch: &mut Batch,
    slots: &mut Slots,
    values: &[u32],
    passed: &mut Passed<
        '_,
        impl Fn(&Batch, Slot) -> (u8, u16),
        impl Fn(Slot) -> bool,
        impl FnMut(Slot, u32),
    >,
    kept: &mut [Kept],
) {
    let mut values = values.iter();
    slots.retain(|slot| {
        let value = values.next().copied().unwrap_or(NO_MATCH);
        if !(passed.meets)(slot) {
            return true;
        }
        // No rule has the place of what has no match.
        let rule = kept.get_mut((value >> 1) as usize);
        let permits = value & PERMIT != 0 && rule.is_some();
        if let Some(rule) = rule {
            rule.hits.packets += 1;
            rule.hits.bytes += (batch.frame_len(slot) - ethernet::HEADER_LEN) as u64;
            if permits {
                (passed.note)(slot, rule.policer);
            }
            if rule.log_one_in > 0 && (rule.hits.packets - 1).is_multiple_of(rule.log_one_in.into())
            {
                let Kept { number: rule, log_one_in: one_in, .. } = *rule;
                let (list, place) = (passed.list, (passed.place)(batch, slot));
                let decision = Decision { list, rule, one_in, permits, place };
                passed.samples.keep(batch, slot, decision);
            }
        }
        if !permits {
            batch.set_verdict(slot, reasons::drop(passed.refuse));
        }
        permits
    });
}

/// The lowest bit of what the classifier answers, of rules that permit; above it is their place.
const PERMIT: u32 = 1;

/// No policer's number.
const NO_POLICER: u32 = u32::MAX;
