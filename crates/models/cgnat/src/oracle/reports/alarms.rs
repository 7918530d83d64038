//! Refusals, and whether they were told.
//!
//! Alarms are limited by kind, so that not every refusal is told; one that has no other of its kind
//! in the second before it is.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::tables::Who;
use super::facts::of_subscriber;
use super::lives::SLACK;
use crate::log::oracle::Facts;

/// Refusals of packets that may be told, and those that have to be.
#[derive(Clone)]
pub(super) struct Alarms {
    refusals: Vec<Refusal>,
    /// By kind: when the last refusal was.
    last: BTreeMap<&'static str, Duration>,
    delay: Option<Duration>,
    /// Whether the last refusal is of the packet that is looked at.
    is_latest: bool,
}

#[derive(Clone, Debug)]
struct Refusal {
    /// Any of them may be told, with what is known of it.
    events: Vec<(&'static str, Facts)>,
    at: Duration,
    has_to: bool,
}

impl Alarms {
    /// None yet; a message may wait for so long, or nobody knows how long.
    pub fn new(delay: Option<Duration>) -> Alarms {
        Alarms { refusals: Vec::new(), last: BTreeMap::new(), delay, is_latest: false }
    }

    /// A packet is looked at.
    pub fn begin(&mut self) {
        self.is_latest = false;
    }

    /// The refusal of the packet that is looked at may be told as another model has it, as well:
    /// the two cannot be told apart, and so it need not be told as either.
    pub fn or_as_in(&mut self, other: &Alarms) {
        let theirs = other.refusals.last().filter(|_| other.is_latest);
        let own = self.refusals.last_mut().filter(|_| self.is_latest);
        let (Some(own), Some(theirs)) = (own, theirs) else { return };
        for event in &theirs.events {
            if !own.events.contains(event) {
                own.events.push(event.clone());
                own.has_to = false;
                self.last.insert(event.0, own.at);
            }
        }
    }

    /// A packet was refused, for a reason that may be none of these.
    pub fn refused(
        &mut self,
        reason: &str,
        (subscriber, most): (Who, Option<usize>),
        now: Duration,
    ) {
        let event = match reason {
            "session-limit" | "block-limit" => "subscriber-limit",
            "pool-exhausted" => "addresses-exhausted",
            "ports-exhausted" => "ports-exhausted",
            "sessions-full" => "sessions-full",
            "mappings-full" => "mappings-full",
            "subscribers-full" => "subscribers-full",
            _ => return,
        };
        let mut facts = Facts::new();
        if let Some(most) = most {
            facts.insert("limit".to_owned(), most.to_string());
        }
        if event == "subscriber-limit" {
            facts.append(&mut of_subscriber(subscriber));
        }
        let before = self.last.insert(event, now);
        let has_to = before.is_none_or(|before| now >= before + WINDOW);
        self.refusals.push(Refusal { events: vec![(event, facts)], at: now, has_to });
        self.is_latest = true;
    }

    /// An alarm was told: of a refusal that was not told yet.
    pub fn told(&mut self, event: &str, facts: &Facts) -> Result<(), String> {
        let fits = |refusal: &Refusal| {
            refusal.events.iter().any(|(one, known)| {
                *one == event && known.iter().all(|(name, text)| facts.get(name) == Some(text))
            })
        };
        let has_to = |refusal: &Refusal| refusal.has_to && fits(refusal);
        let index = self.refusals.iter().position(has_to);
        let Some(index) = index.or_else(|| self.refusals.iter().position(fits)) else {
            return Err(format!("{event} {facts:?} is told, and nothing was refused"));
        };
        self.refusals.remove(index);
        Ok(())
    }

    /// What should have been told by now; all that is as old is forgotten.
    pub fn overdue(&mut self, now: Duration) -> Vec<String> {
        let Some(delay) = self.delay else { return Vec::new() };
        let is_late = |refusal: &&Refusal| now > refusal.at + delay + SLACK;
        let late = self.refusals.iter().filter(is_late).filter(|refusal| refusal.has_to);
        let missing = late.map(|refusal| format!("{refusal:?}: not told")).collect();
        self.refusals.retain(|refusal| !is_late(&refusal));
        missing
    }
}

/// The time in which alarms of a kind are limited.
const WINDOW: Duration = Duration::from_secs(1);
