//! Which of many rules over several fields is the first that matches: access lists, by bit vectors.
//!
//! A key is a row of bytes, cut into [`Field`]s: a field is compared under a mask (a prefix, a
//! protocol, a MAC address) or with a range (ports, VLANs). For each byte of the key there is a
//! table of 256 rows; a row holds a bit for each rule, set where the rule does **not** match a key
//! with that value there:
//!
//! ```text
//!  key      c0        a8       01       07      ...    11        first byte to last
//!           │         │        │        │              │
//!        ┌──▼──┐   ┌──▼──┐  ┌──▼──┐  ┌──▼──┐        ┌──▼──┐
//!        │ 256 │   │ 256 │  │ 256 │  │ 256 │        │ 256 │     a row: one bit a rule
//!        └──┬──┘   └──┬──┘  └──┬──┘  └──┬──┘        └──┬──┘
//!           └── or ───┴── or ──┴── or ──┴──── ... ─────┘
//!                          │
//!               rules whose bit is still 0 match; the lowest bit is the first of them
//! ```
//! Rules stand in the order of their precedence, so the first match is the lowest bit. This is the
//! bit-vector scheme of Lakshman and Stiliadis (SIGCOMM 1998) with the byte-wise tables of StrideBV
//! (Ganegedara and Prasanna, 2012). A range that does not begin and end at multiples of 256 needs
//! two tables more for each of its ends (`ranges` below), exactly and without being split.
//!
//! What follows from it:
//!
//! - **The longest time of a look-up does not depend on what the rules say**, only on how many
//!   there are and on how many bytes of the key any of them looks at: there are no rule sets, and
//!   no traffic, on which it degenerates, as trees and hashed tuples do. It is over early when,
//!   behind the field at which most rules look, the first rule left looks at nothing else.
//! - **Bytes that no rule looks at cost nothing**, so a wide key is free until it is used.
//! - **Memory is a product known at the start** ([`Classifier::bytes`]), all of it taken at
//!   creation.
//! - An update writes the bits of one rule. One that comes between others moves those between it
//!   and the nearest free place by one bit, in all rows.
//!
//! | | |
//! |---|---|
//! | memory | tables x 256 x rules / 8 bytes, tables being the bytes of the key and 4 for each range field |
//! | rules | up to [`RULES_MAX`], fixed at creation; one more is an error that changes nothing |
//! | key | up to 255 bytes |
//!
//! It deliberately has no actions (a rule has a number), no counters, no protocols but for the
//! helper [`five_tuple`], and is not shared between threads.

pub mod five_tuple;

mod glance;

mod order;

mod ranges;

mod rows;

mod rule;

mod words;

use std::io;

pub use glance::Glance;
pub use rule::{Condition, Field, NO_MATCH, RULES_MAX, Refused};

use order::Order;
use rows::{Byte, Edge, Plan, Rows};

/// Rules over keys of `KEY` bytes; see the module's text.
#[derive(Debug)]
pub struct Classifier<const KEY: usize> {
    fields: Vec<Placed>,
    rows: Rows,
    order: Order,
    /// Rules that look at a table.
    users: Vec<u32>,
    plan: Plan,
    /// How many of the first bytes of a key may be looked at before it is made, and what they say.
    at_hand: usize,
    glance: Option<Box<Glance>>,
}

/// A field and where it is.
#[derive(Clone, Copy, Debug)]
struct Placed {
    /// Its first byte in the key, which is also the table of that byte.
    at: usize,
    bytes: usize,
    /// The first of the four tables for the ends of ranges.
    edges: Option<usize>,
}

impl<const KEY: usize> Classifier<KEY> {
    /// A classifier for up to `rules_max` rules over keys with these fields.
    ///
    /// # Errors
    /// What the kernel says when it has no such memory; `InvalidInput` for more than [`RULES_MAX`]
    /// rules.
    ///
    /// # Panics
    /// When the fields are not `KEY` bytes together, or one has no byte or more than 16: a layout
    /// is part of a program.
    pub fn new(fields: &[Field], rules_max: usize) -> io::Result<Classifier<KEY>> {
        if rules_max > RULES_MAX {
            let text = format!("a classifier for {rules_max} rules; the most is {RULES_MAX}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let (mut at, mut tables) = (0, KEY);
        let mut placed = Vec::with_capacity(fields.len());
        for field in fields {
            let (bytes, edges) = match *field {
                Field::Masked(bytes) => (usize::from(bytes), None),
                Field::Ranged => (2, Some(tables)),
            };
            assert!((1..=16).contains(&bytes), "a field of {bytes} bytes");
            tables += if edges.is_some() { ranges::TABLES } else { 0 };
            placed.push(Placed { at, bytes, edges });
            at += bytes;
        }
        assert!(at == KEY && KEY < 256, "fields of {at} bytes for a key of {KEY}");
        let rows = Rows::new(tables, rules_max)?;
        let order = Order::new(rules_max, rows.places());
        let plan = Plan::with_capacity(KEY, tables - KEY, &rows);
        let (users, at_hand, glance) = (vec![0; tables], 0, None);
        Ok(Classifier { fields: placed, rows, order, users, plan, at_hand, glance })
    }

    /// The same, for a caller that has the first `bytes` bytes of a key at hand before it makes the
    /// key: [`Classifier::glance`] may spare it that.
    ///
    /// # Panics
    /// When a key has fewer.
    pub fn with_at_hand(mut self, bytes: usize) -> Classifier<KEY> {
        assert!(bytes <= KEY, "{bytes} bytes of {KEY}");
        self.at_hand = bytes;
        self.plan();
        self
    }

    /// What one of the bytes at hand says, where it says anything.
    #[inline(always)]
    pub fn glance(&self) -> Option<&Glance> {
        self.glance.as_deref()
    }

    /// Adds a rule, or replaces the one of the same precedence and returns its value. Of all rules
    /// that match a key, that of the lowest precedence counts.
    ///
    /// # Errors
    /// [`Refused`], and nothing has changed.
    pub fn insert(
        &mut self,
        precedence: u32,
        rule: &[Condition],
        value: u32,
    ) -> Result<Option<u32>, Refused> {
        self.check(rule, value)?;
        let old = match self.order.find(precedence) {
            Some(place) => {
                self.erase(place);
                Some(self.order.replace(place, value))
            }
            None => {
                let gap = self.order.gap_for(precedence)?;
                self.rows.open(gap, &self.users);
                self.order.open(gap, precedence, value);
                None
            }
        };
        if let Some(place) = self.order.find(precedence) {
            self.write(place, rule);
            self.rows.occupy(place);
        }
        self.plan();
        Ok(old)
    }

    /// Removes the rule of this precedence and returns its value.
    pub fn remove(&mut self, precedence: u32) -> Option<u32> {
        let place = self.order.find(precedence)?;
        self.erase(place);
        let old = self.order.remove(place);
        self.plan();
        Some(old)
    }

    /// The value of the first rule that matches.
    #[inline]
    pub fn classify(&self, key: &[u8; KEY]) -> Option<u32> {
        let mut values = [NO_MATCH];
        self.classify_batch(std::slice::from_ref(key), &mut values);
        Some(values[0]).filter(|&value| value != NO_MATCH)
    }

    /// The value of the first rule that matches each key, or [`NO_MATCH`].
    ///
    /// # Panics
    /// When there are not as many values as keys.
    pub fn classify_batch(&self, keys: &[[u8; KEY]], values: &mut [u32]) {
        assert_eq!(keys.len(), values.len(), "a value for each key");
        match self.rows.width() {
            1 => self.batch::<1, 8>(keys, values),
            2 => self.batch::<2, 8>(keys, values),
            4 => self.batch::<4, 4>(keys, values),
            _ => self.batch::<{ rows::WIDTH_MAX }, 2>(keys, values),
        }
    }

    /// What it says of every key, where no rule looks at any byte of it: of the first rule, or
    /// [`NO_MATCH`] without one. None where keys matter.
    #[inline]
    pub fn answer_to_all(&self) -> Option<u32> {
        let looks_at_none = self.plan.bytes.is_empty() && self.plan.edges.is_empty();
        looks_at_none.then(|| self.classify(&[0; KEY]).unwrap_or(NO_MATCH))
    }

    /// Rules there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rules it was made for.
    pub fn rules_max(&self) -> usize {
        self.order.rules_max()
    }

    /// Memory it holds, whatever the rules.
    pub fn bytes(&self) -> usize {
        self.rows.bytes() + self.order.bytes() + self.users.len() * size_of::<u32>()
    }

    #[inline(always)]
    fn batch<const WIDTH: usize, const AT_ONCE: usize>(
        &self,
        keys: &[[u8; KEY]],
        values: &mut [u32],
    ) {
        let places = self.order.values();
        let (mut keys, mut values) = (keys, values);
        // Where rules fill several blocks, a key that has its match goes on to no further one.
        if self.plan.blocks == 1 {
            let (several, rest) = keys.as_chunks::<AT_ONCE>();
            let (of_several, of_rest) = values.as_chunks_mut::<AT_ONCE>();
            for (keys, values) in several.iter().zip(of_several) {
                let firsts = self.rows.firsts::<WIDTH, KEY, AT_ONCE>(&self.plan, keys);
                *values = firsts.map(|first| places[first]);
            }
            (keys, values) = (rest, of_rest);
        }
        for (key, value) in keys.iter().zip(values) {
            *value = places[self.rows.first::<WIDTH, KEY>(&self.plan, key)];
        }
    }

    fn check(&self, rule: &[Condition], value: u32) -> Result<(), Refused> {
        if value == NO_MATCH {
            return Err(Refused::Value);
        }
        let fields = self.fields.len();
        if rule.len() != fields {
            return Err(Refused::Conditions { conditions: rule.len(), fields });
        }
        let suits = |(field, condition): (&Placed, &Condition)| match *condition {
            Condition::Range { first, last } if first > last => false,
            Condition::Range { last, .. } => match field.edges {
                Some(_) => true,
                None => field.bytes == 1 && last <= 0xff,
            },
            Condition::Any | Condition::Masked { .. } => true,
        };
        match self.fields.iter().zip(rule).position(|pair| !suits(pair)) {
            Some(at) => Err(Refused::Unsuitable { at }),
            None => Ok(()),
        }
    }

    /// Sets the bits of a rule in a place whose bits are all clear.
    fn write(&mut self, place: usize, rule: &[Condition]) {
        for (field, condition) in self.fields.iter().zip(rule) {
            for byte in 0..field.bytes {
                let table = field.at + byte;
                let looks = match *condition {
                    Condition::Any => false,
                    Condition::Masked { value, mask } => {
                        let shift = 8 * (field.bytes - 1 - byte);
                        let (value, mask) = ((value >> shift) as u8, (mask >> shift) as u8);
                        self.rows.set(table, place, |at| (at ^ value) & mask != 0)
                    }
                    Condition::Range { first, last } if field.bytes == 1 => {
                        self.rows.set(table, place, |at| !(first..=last).contains(&u16::from(at)))
                    }
                    Condition::Range { first, last } => {
                        let outside = |at| ranges::outside(byte, at, first, last);
                        self.rows.set(table, place, outside)
                    }
                };
                self.users[table] += u32::from(looks);
            }
            if let (Some(edges), &Condition::Range { first, last }) = (field.edges, condition) {
                for number in 0..ranges::TABLES {
                    let beyond = |at| ranges::beyond(number, at, first, last);
                    let looks = self.rows.set(edges + number, place, beyond);
                    self.users[edges + number] += u32::from(looks);
                }
            }
        }
    }

    /// Clears the bits of a place; it matches nothing from then on.
    fn erase(&mut self, place: usize) {
        self.rows.vacate(place);
        for (table, users) in self.users.iter_mut().enumerate().filter(|(_, users)| **users > 0) {
            *users -= u32::from(self.rows.clear(table, place));
        }
    }

    /// Which tables a look-up goes through: those that a rule looks at.
    fn plan(&mut self) {
        self.plan.clear();
        for (at, _) in self.users[..KEY].iter().enumerate().filter(|(_, users)| **users > 0) {
            self.plan.bytes.push(Byte { at, table: at });
        }
        for field in &self.fields {
            let Some(first) = field.edges else { continue };
            for tables in [first, first + 2] {
                if self.users[tables] > 0 {
                    self.plan.edges.push(Edge { at: field.at, table: tables });
                }
            }
        }
        self.plan.blocks = self.rows.blocks_up_to(self.order.end());
        self.pause();
        let values = self.order.values();
        self.glance = Glance::best(&self.rows, self.at_hand, values).map(Box::new);
    }

    /// The field at which most rules look comes first. Few rules are left behind it, most often the
    /// last one, which permits or denies everything; where much is still to come, it is worth
    /// asking.
    fn pause(&mut self) {
        let looks = |field: &&Placed| {
            let tables = field.at..field.at + field.bytes;
            self.users[tables].iter().max().copied().unwrap_or(0)
        };
        // The first of them, where several have as many.
        let Some(first) = self.fields.iter().rev().max_by_key(looks) else { return };
        let is_its = |byte: &Byte| (first.at..first.at + first.bytes).contains(&byte.at);
        self.plan.bytes.sort_by_key(|byte| !is_its(byte));
        let count = self.plan.bytes.iter().filter(|byte| is_its(byte)).count();
        // Edges belong to their field, and are looked at last.
        let behind = self.plan.bytes.len() - count + 2 * self.plan.edges.len();
        self.plan.pause = if behind >= PAUSE_WORTH { count } else { 0 };
        self.rows.settle(&mut self.plan);
    }
}

/// Tables behind a pause from which on it is worth asking whether a look-up is over.
const PAUSE_WORTH: usize = 4;
