//! Lives of sessions, mappings, blocks and pairings, as they were and as they were told.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::super::tables::Who;
use super::facts::of_subscriber;
use crate::log::oracle::Facts;

/// What lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    Session,
    Mapping,
    Block,
    /// A subscriber's with an address.
    Pairing,
}

/// Which one lives.
pub(super) type Subject = (Thing, Facts);

/// One life of a subject.
#[derive(Clone, Debug)]
struct Life {
    begun: Duration,
    /// When it was seen to be over, and in which round.
    ended: Option<(Duration, u64)>,
    is_told: bool,
    /// Whether its end may have been told already, as that of the life before.
    may_be_told: bool,
}

/// Something was made and taken back, and of its outside end nothing is known.
#[derive(Clone, Debug)]
struct Undone {
    /// Its subscriber, as it is told, and as with its mappings.
    subscriber: [Facts; 2],
    until: Duration,
    /// What may be told of it.
    open: BTreeSet<Thing>,
}

impl Undone {
    /// Whether a subject may be of it.
    fn has(&self, (thing, facts): &Subject) -> bool {
        let is_of = |known: &Facts| known.iter().all(|(name, text)| facts.get(name) == Some(text));
        self.subscriber.iter().any(is_of) && self.open.contains(thing)
    }
}

/// All lives that are not told in full.
#[derive(Clone)]
pub(super) struct Lives {
    lives: BTreeMap<Subject, VecDeque<Life>>,
    /// How often each was told to begin and not yet to end.
    told_live: BTreeMap<Subject, usize>,
    /// Whether sessions of a mapping can be told apart.
    tells_apart: bool,
    undone: Vec<Undone>,
    /// What was told to begin of what was undone, and since when.
    passing: BTreeMap<Subject, Duration>,
    /// For how long a message may wait; none for nobody knows how long.
    delay: Option<Duration>,
    rounds: u64,
    rounds_max: u64,
}

impl Lives {
    /// None yet. The end of a life may be told late by so many rounds. Without destinations,
    /// sessions of a mapping are told in the same words.
    pub fn new(delay: Option<Duration>, rounds: u64, destinations: bool) -> Lives {
        Lives {
            lives: BTreeMap::new(),
            told_live: BTreeMap::new(),
            tells_apart: destinations,
            undone: Vec::new(),
            passing: BTreeMap::new(),
            delay,
            rounds: 0,
            rounds_max: rounds + ROUNDS,
        }
    }

    /// What was told to be there, and not yet to be gone.
    pub fn told_live(&self) -> usize {
        self.told_live.values().sum()
    }

    pub fn begin(&mut self, subject: Subject, now: Duration) {
        let life = Life { begun: now, ended: None, is_told: false, may_be_told: false };
        self.lives.entry(subject).or_default().push_back(life);
    }

    pub fn end(&mut self, subject: &Subject, now: Duration) {
        let lives = self.lives.get_mut(subject).into_iter().flatten();
        if let Some(life) = lives.rev().find(|life| life.ended.is_none()) {
            life.ended = Some((now, self.rounds));
        }
    }

    /// Something of a subscriber was made and taken back at once.
    pub fn undone(&mut self, subscriber: Who, now: Duration) {
        let until = self.delay.map_or(Duration::MAX, |delay| now + delay + SLACK);
        let open = [Thing::Session, Thing::Mapping, Thing::Block, Thing::Pairing];
        self.undone.push(Undone {
            subscriber: [subscriber.subscriber(), subscriber].map(of_subscriber),
            until,
            open: open.into(),
        });
    }

    /// A life was told to begin; tells when it did, if that is known.
    pub fn told_to_begin(
        &mut self,
        subject: Subject,
        now: Duration,
    ) -> Result<Option<Duration>, String> {
        if self.told_live.contains_key(&subject) && self.is_unique(&subject) {
            return Err(format!("{subject:?} is told to begin, and had begun"));
        }
        let lives = self.lives.get_mut(&subject).into_iter().flatten();
        let begun = match lives.into_iter().find(|life| !life.is_told) {
            Some(life) => {
                life.is_told = true;
                Some(life.begun)
            }
            None => {
                let Some(undone) = self.undone.iter_mut().find(|one| one.has(&subject)) else {
                    return Err(format!("{subject:?} is told to begin, and did not"));
                };
                undone.open.remove(&subject.0);
                self.passing.insert(subject.clone(), now);
                None
            }
        };
        *self.told_live.entry(subject).or_default() += 1;
        Ok(begun)
    }

    /// A life was told to end.
    pub fn told_to_end(&mut self, subject: &Subject) -> Result<(), String> {
        match self.told_live.get_mut(subject) {
            None => return Err(format!("{subject:?} is told to end, and not to begin")),
            Some(count) if *count > 1 => *count -= 1,
            Some(_) => {
                self.told_live.remove(subject);
            }
        }
        if self.passing.remove(subject).is_some() {
            return Ok(());
        }
        let Some(lives) = self.lives.get_mut(subject) else {
            return Err(format!("{subject:?} is told to end, and nothing is known of it"));
        };
        let is_over = |life: &Life| life.is_told && life.ended.is_some();
        let Some(over) = lives.iter().position(is_over) else {
            // What was undone may have had the same outside end, and was told first.
            let told = lives.iter_mut().find(|life| life.is_told);
            let undone = self.undone.iter_mut().find(|one| one.has(subject));
            let (Some(told), Some(undone)) = (told, undone) else {
                return Err(format!("{subject:?} is told to end, and lives"));
            };
            told.is_told = false;
            undone.open.remove(&subject.0);
            return Ok(());
        };
        lives.remove(over);
        if subject.0 != Thing::Session {
            lives.iter_mut().for_each(|life| life.may_be_told = true);
        }
        if lives.is_empty() {
            self.lives.remove(subject);
        }
        Ok(())
    }

    fn is_unique(&self, subject: &Subject) -> bool {
        subject.0 != Thing::Session || self.tells_apart
    }

    /// What should have been told by now; it is forgotten then.
    pub fn overdue(&mut self, now: Duration) -> Vec<String> {
        self.rounds += 1;
        let Some(delay) = self.delay else { return Vec::new() };
        let mut missing = Vec::new();
        let told_live = &self.told_live;
        for (subject, lives) in &mut self.lives {
            let is_late = |since: Duration| now > since + delay + SLACK;
            // What goes on where the end of the life before was not noticed yet.
            while subject.0 != Thing::Session
                && lives.len() > 1
                && lives[0].is_told
                && told_live.contains_key(subject)
                && !lives[1].is_told
                && is_late(lives[1].begun)
            {
                lives.pop_front();
                lives[0].is_told = true;
            }
            lives.retain(|life| match (life.is_told, life.ended) {
                (false, Some(_)) if life.may_be_told && is_late(life.begun) => false,
                (false, _) if is_late(life.begun) => {
                    missing.push(format!("{subject:?} began at {:?}: not told", life.begun));
                    false
                }
                (true, Some((at, round)))
                    if now > at + delay + NOTICED && self.rounds > round + self.rounds_max =>
                {
                    missing.push(format!("{subject:?} ended at {at:?}: not told"));
                    false
                }
                _ => true,
            });
        }
        self.lives.retain(|_, lives| !lives.is_empty());
        self.undone.retain(|undone| now <= undone.until);
        for (subject, since) in &self.passing {
            if now > *since + delay + NOTICED {
                missing.push(format!("{subject:?} was taken back: not told"));
            }
        }
        missing
    }
}

/// For how long a message may be under way beside the time that it waits for others.
pub(super) const SLACK: Duration = Duration::from_secs(5);

/// For how long nobody may notice that something is over.
const NOTICED: Duration = Duration::from_secs(60);

/// Rounds in which as many sessions are noticed to be over as a check opens.
const ROUNDS: u64 = 40;
