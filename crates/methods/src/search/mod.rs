//! The search engine: the highest load at which trials hold the conditions of a goal.
//!
//! A search sees a device only through trials of a load and a duration. What a trial must hold is a
//! [`Goal`]; how often a load is tried and when it then passes are the [`Attempts`]; which load is
//! tried next is what the searches differ in:
//!
//! | file | search | which load next | when it passes |
//! |---|---|---|---|
//! | `rfc2544.rs` | RFC 2544 section 26.1 | geometric bisection from a guess (`bisection.rs`) | brief trials, then a longer one confirms |
//! | `tst009.rs` | ETSI GS NFV-TST 009 clauses 12.3.2, 12.3.3 | bisection of a grid of equal steps (`grid.rs`) | trials of one length, with loss verification |
//! | `mlr.rs` | MLRsearch (draft-ietf-bmwg-mlrsearch-15, RFC 9971) | several goals at once, coarse targets first | sums of durations by load (`classify.rs`) |
//!
//! Best-of-N and worst-of-N are attempts, not searches: each step of the first two repeats its
//! trial and decides on all of them (a step ends as soon as its trials have decided it, which
//! changes no result).
//!
//! **Budget.** Every search ends with its trials or its time, whichever is first; repetitions after
//! loss count, those for stalls have a budget of their own, of the same size. What is certain by
//! then is the result, marked as irregular. Until a load has passed, a part is kept for the lowest
//! one.
//!
//! **Short trials.** A tester that sent less than `validity::TESTER_SENT_MIN` of a load did not
//! offer it: what it sent and what passed of that is a lower bound, the load itself an upper one,
//! and the result says "at least". Within that tolerance, too, a lower bound is what was sent. A
//! goal may instead count what was not sent as lost, as the MLRsearch draft recommends
//! (`unsent_is_loss`).
//!
//! **Stalls.** A trial is repeated, a few times at most for a load, while all of its loss and what
//! the tester did not send fits into stalls that fill a ring; the last repetition counts, the ones
//! before are in the record and in no decision. So a search is blind to a device that stalls itself
//! rarely, and sees one that does so in every trial. A claim names such repetitions.
//!
//! **Not here.** Loss below a lower bound is never looked for. Repeating whole searches is the
//! bench's matter.

mod bisection;
pub(crate) mod classify;
pub(crate) mod condition;
mod engine;
mod goal;
mod grid;
pub(crate) mod mlr;
pub(crate) mod rfc2544;
pub(crate) mod tst009;

pub(crate) use bisection::Bisection;
pub(crate) use engine::{Attempts, Engine, Found, LossLimit, Settings};
pub(crate) use goal::{Attributes, Goal};
pub(crate) use grid::{Grid, STEPS_MAX};
