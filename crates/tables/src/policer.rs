//! Policers with three colours, alone or under a parent, which may have one, a cache line each.
//!
//! ```text
//!   committed rate         excess rate            RFC 2697  what overflows the first bucket fills
//!        │                      │                           the second; one rate
//!    ┌───▼───┐  overflow    ┌───▼───┐             RFC 2698  the second is the peak's, and green
//!    │ first │ - - - - - -> │second │                       takes from both
//!    └───┬───┘              └───┬───┘             RFC 4115  two rates, two buckets, apart
//!      green                  yellow
//! ```
//! Colour-aware, a frame never leaves better than it came; colour-blind, every frame counts as
//! green. A frame takes its whole length or nothing, as the RFCs have it: unlike [`crate::meter`]
//! there is no debt, so a bucket smaller than a frame never lets it pass. Buckets are full at the
//! start.
//!
//! **A child and its parents.** The child says which colour the frame would have; red is the end,
//! and costs nobody anything. Else the parent is given the frame with that colour, and its own
//! parent with the worse of the two. Where anybody says red, the frame is red and all keep their
//! tokens; else each is charged for what it said itself, and the frame has the worst of their
//! colours. So what a parent refuses to one child is not lost to that child. There are three
//! policers in a row at most, such as those of a class, a subscriber and a node.
//!
//! | | |
//! |---|---|
//! | memory | 64 bytes a policer, all of it taken at creation |
//! | clock | ticks; a step back counts as no time passed |
//! | precision | tokens are 64-bit floating-point bytes: an error of a part in 10^12 or less; rates from 1 byte/s |
//!
//! It deliberately has no counters, does not drop or mark (a colour is an answer) and reads no
//! clock.

mod common;
mod line;
mod profile;

use std::io;
use std::sync::Arc;

use machine::memory::{HugeArray, prefetch_at};

use common::Buckets;
use line::Line;

pub use profile::{Colour, Policing, Profile};

/// Policers that a table can be made for.
pub const POLICERS_MAX: usize = 1 << 24;

/// Why a policer cannot be set or cleared; nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The table has no such number.
    #[error("take a number below {count}, or make the table larger: there is no policer {number}")]
    Number {
        /// What was asked for.
        number: u32,
        /// Policers of the table.
        count: usize,
    },
    /// A rate or burst is below zero, infinite or no number.
    #[error("take rates and bursts from 0 on that are finite")]
    Rate,
    /// The parent is not set, has too many above it, or is the policer itself.
    #[error(
        "take another parent than policer {parent}: it is not set, has two above, or is the child"
    )]
    Parent {
        /// The parent wanted.
        parent: u32,
    },
    /// The policer is a parent and shall be cleared, or get a parent that it had not.
    #[error("clear the {children} children of policer {number} first, or give them another parent")]
    Children {
        /// The policer.
        number: u32,
        /// How many name it as their parent.
        children: u32,
    },
}

/// Policers by number; see the module's text.
#[derive(Debug)]
pub struct Policers {
    lines: HugeArray<Line>,
    /// For each policer, how many name it as their parent.
    children: Vec<u32>,
    ticks_per_s: f64,
    /// What several workers have in common.
    common: Option<Common>,
}

/// The common buckets of the policers of several workers.
#[derive(Clone, Debug)]
struct Common {
    buckets: Arc<[Buckets]>,
    /// The share of a burst that is taken at once.
    lots: f64,
    /// Whether this worker fills them when a policer is set.
    fills: bool,
}

impl Policers {
    /// A table of `count` policers, none of them set, for a clock of `ticks_per_s`.
    ///
    /// # Errors
    /// What the kernel says when it has no such memory; `InvalidInput` above [`POLICERS_MAX`].
    ///
    /// # Panics
    /// When the clock is not above zero.
    pub fn new(count: usize, ticks_per_s: f64) -> io::Result<Policers> {
        assert!(ticks_per_s > 0.0 && ticks_per_s.is_finite(), "a clock of {ticks_per_s} Hz");
        if count > POLICERS_MAX {
            let text = format!("{count} policers: take {POLICERS_MAX} at most");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(Policers {
            lines: HugeArray::zeroed(count)?,
            children: vec![0; count],
            ticks_per_s,
            common: None,
        })
    }

    /// Gives these policers, of one of `workers`, the rates of those of the first in common (see
    /// `common`), with full buckets. Both have the same policers, and get the same changes; the
    /// first fills the buckets when a policer is set.
    pub fn join(&mut self, first: &mut Policers, workers: usize) {
        let lots = 1.0 / (LOTS * workers as f64);
        let common = first.common.get_or_insert_with(|| {
            first.lines.iter_mut().for_each(|line| *line = line.emptied());
            let buckets = first.lines.iter().map(|_| Buckets::default()).collect();
            Common { buckets, lots, fills: true }
        });
        self.common = Some(Common { fills: false, ..common.clone() });
        self.lines.iter_mut().for_each(|line| *line = line.emptied());
    }

    /// Sets up a policer, its buckets full at `now`, whether there was one of this number or not.
    ///
    /// # Errors
    /// [`Refused`], and nothing has changed.
    pub fn set(&mut self, number: u32, policing: &Policing, now: u64) -> Result<(), Refused> {
        let at = self.index(number)?;
        let wanted = Line::new(policing, self.ticks_per_s, now).ok_or(Refused::Rate)?;
        if let Some(parent) = policing.parent {
            self.check_parent(at, parent)?;
        }
        self.leave_parent(at);
        if let Some(parent) = policing.parent {
            self.children[parent as usize] += 1;
        }
        self.lines[at] = match &self.common {
            None => wanted,
            Some(common) => {
                if let Some(buckets) = common.buckets.get(at).filter(|_| common.fills) {
                    buckets.fill();
                }
                wanted.emptied()
            }
        };
        Ok(())
    }

    /// From now on there is no policer of this number: frames keep their colour. Whether there was.
    ///
    /// # Errors
    /// [`Refused`], and nothing has changed.
    pub fn clear(&mut self, number: u32) -> Result<bool, Refused> {
        let at = self.index(number)?;
        self.check_childless(number)?;
        self.leave_parent(at);
        let was_set = self.lines[at].is_set();
        self.lines[at] = Line::default();
        Ok(was_set)
    }

    /// Whether there is a policer of this number.
    pub fn is_set(&self, number: u32) -> bool {
        self.lines.get(number as usize).is_some_and(Line::is_set)
    }

    /// The parent of a policer.
    pub fn parent(&self, number: u32) -> Option<u32> {
        self.lines.get(number as usize)?.parent()
    }

    /// How many policers have one for their parent.
    pub fn children(&self, number: u32) -> u32 {
        self.children.get(number as usize).copied().unwrap_or_default()
    }

    /// Asks the processor to fetch the parent of a policer that was fetched.
    #[inline]
    pub fn prefetch_parent(&self, number: u32) {
        if let Some(parent) = self.parent(number) {
            prefetch_at(&self.lines, parent as usize);
        }
    }

    /// Asks the processor to fetch a policer.
    #[inline]
    pub fn prefetch(&self, number: u32) {
        prefetch_at(&self.lines, number as usize);
    }

    /// The colour of a frame of `length_bytes` that comes with a colour at `now`, in ticks; the
    /// policer, and those above it, are charged for it. A number without a policer changes no
    /// colour.
    #[inline]
    pub fn mark(&mut self, number: u32, now: u64, length_bytes: u32, colour: Colour) -> Colour {
        let Some(child) = self.lines.get_mut(number as usize) else { return colour };
        if !child.is_set() {
            return colour;
        }
        let length = f64::from(length_bytes);
        refill(child, &self.common, number, (length, now));
        let own = child.judge(length, colour);
        let Some(above) = child.parent() else {
            child.charge(length, own);
            return own;
        };
        if own == Colour::Red {
            return own;
        }
        let parent = &mut self.lines[above as usize];
        refill(parent, &self.common, above, (length, now));
        let said = parent.judge(length, own);
        if said == Colour::Red {
            return said;
        }
        let worse = own.max(said);
        let worst = match parent.parent() {
            None => worse,
            Some(top) => {
                let top_line = &mut self.lines[top as usize];
                refill(top_line, &self.common, top, (length, now));
                let said = top_line.judge(length, worse);
                if said == Colour::Red {
                    return said;
                }
                top_line.charge(length, said);
                worse.max(said)
            }
        };
        self.lines[above as usize].charge(length, said);
        self.lines[number as usize].charge(length, own);
        worst
    }

    /// Policers that the table was made for.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// Memory it holds.
    pub fn bytes(&self) -> usize {
        let common = self.common.as_ref().map_or(0, |common| size_of_val(&*common.buckets));
        self.lines.mapped_bytes() + size_of_val(&*self.children) + common
    }

    fn index(&self, number: u32) -> Result<usize, Refused> {
        let count = self.lines.len();
        let at = number as usize;
        if at < count { Ok(at) } else { Err(Refused::Number { number, count }) }
    }

    /// Whether a policer may have this parent: none has more than two above it.
    fn check_parent(&self, at: usize, parent: u32) -> Result<(), Refused> {
        let refused = Err(Refused::Parent { parent });
        if parent as usize == at || !self.is_set(parent) {
            return refused;
        }
        let before = self.lines[at].parent();
        if before == Some(parent) {
            return Ok(());
        }
        // Who has a parent has no grandchildren; anybody else may.
        if before.is_none() {
            self.check_childless(at as u32)?;
        }
        let above = self.parent(parent);
        let is_fit = match above {
            None => true,
            Some(top) => self.children[at] == 0 && self.parent(top).is_none(),
        };
        if is_fit { Ok(()) } else { refused }
    }

    fn check_childless(&self, number: u32) -> Result<(), Refused> {
        match self.children[number as usize] {
            0 => Ok(()),
            children => Err(Refused::Children { number, children }),
        }
    }

    fn leave_parent(&mut self, at: usize) {
        if let Some(parent) = self.lines[at].parent() {
            self.children[parent as usize] -= 1;
        }
    }
}

/// What comes in for a policer since its last frame, or of what it has in common with others.
#[inline(always)]
fn refill(line: &mut Line, common: &Option<Common>, number: u32, (length, now): (f64, u64)) {
    let buckets =
        common.as_ref().and_then(|all| Some((all.buckets.get(number as usize)?, all.lots)));
    match buckets {
        None => line.refill(now),
        Some((buckets, lots)) => line.refill_of(buckets, lots, length, now),
    }
}

/// Of so many lots all workers together may have not used one each: an eighth of a burst.
const LOTS: f64 = 8.0;
