//! The functional check: a random course of events, after which every peer must have exactly what
//! the oracle says.
//!
//! Peers announce and withdraw in any order, some with attributes that have been at the reflector
//! before; sessions are lost in the middle of a message, and come back. Then all is quiet, and the
//! tables are compared, attribute by attribute. A reflector that the tester does not know has all
//! the time it needs, within limits, and no more than that decides.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use traffic::Random;

use crate::conversation::{Conversation, peer};
use crate::oracle::{NO_ADVERTISE, Oracle, Own, Peer, Policies};
use crate::otherwise::Otherwise;
use crate::path::{Attributes, Prefix};
use crate::policy::Policy;
use crate::wire;

mod drawn;

/// What is checked.
#[derive(Clone, Debug)]
pub struct Check {
    /// Where the reflector listens.
    pub device: SocketAddr,
    /// What it is configured to be.
    pub own: Own,
    /// The hold time that the peers offer, in seconds.
    pub hold_time_s: u16,
    /// Whether IPv6 is exchanged, too.
    pub has_ipv6: bool,
    /// Decides all that is random.
    pub seed: u64,
    /// How long the reflector has until every peer has what it must have.
    pub patience: Duration,
    /// What the reflector does otherwise.
    pub otherwise: Vec<Otherwise>,
    /// The policies of its peers.
    pub policies: Policies,
}

/// What the check has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Routes that were compared, of all peers and rounds.
    pub routes: u64,
    /// Events by kind: `announced`, `withdrawn`, `looped`, `session-lost`, `session-returned`.
    pub events: BTreeMap<&'static str, u64>,
    /// Events that were left out, and routes that were expected otherwise.
    pub skipped: BTreeMap<Otherwise, u64>,
    /// How many routes differ.
    pub different: u64,
    /// The first differences.
    pub differences: Vec<Difference>,
}

/// A route that a peer does not have as it must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which peer and which route.
    pub about: String,
    /// What the oracle says.
    pub expected: String,
    /// What the peer has.
    pub got: String,
}

/// Returns the peers that the reflector must know for the check.
pub fn peers() -> Vec<Peer> {
    (0..PEERS).map(|number| peer(number + 1, number < CLIENTS)).collect()
}

impl Check {
    /// Carries the check out.
    ///
    /// # Errors
    /// When it could not be carried out, in words.
    pub fn run(&self, stop: &AtomicBool) -> Result<Compared, String> {
        let mut course = Course::begin(self)?;
        for round in 0..ROUNDS {
            course.is_last = round + 1 == ROUNDS;
            for event in 0..EVENTS {
                if stop.load(Ordering::Relaxed) {
                    return Err("interrupted".to_owned());
                }
                course.let_happen(Draws::of(self.seed, round * EVENTS + event))?;
            }
            if course.may_return() {
                course.return_all()?;
            }
            course.settle(stop)?;
            if course.compared.different > 0 {
                break;
            }
        }
        Ok(course.compared)
    }
}

/// The random numbers of an event.
struct Draws {
    numbers: Random,
    next: u64,
}

impl Draws {
    fn of(seed: u64, event: u64) -> Draws {
        Draws { numbers: Random::new(seed, event), next: 0 }
    }

    /// Draws a number below `count`.
    fn below(&mut self, count: u64) -> u64 {
        self.next += 1;
        self.numbers.at(self.next) % count
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// What a peer must have.
#[derive(Default)]
struct Expected {
    told: BTreeMap<Prefix, Attributes>,
    /// What it may have beside that.
    again: BTreeMap<Prefix, Attributes>,
    /// Whether what it has is not looked at.
    is_neglected: bool,
    /// What was expected otherwise than the oracle says, once for each route.
    changed: Vec<Otherwise>,
}

impl Expected {
    /// Returns the destinations of which a peer does not have what it must.
    fn differing(&self, heard: &BTreeMap<Prefix, Attributes>) -> Vec<Prefix> {
        let is_right = |prefix: &Prefix, got: &Attributes| {
            self.told.get(prefix).or_else(|| self.again.get(prefix)) == Some(got)
        };
        let wrong = heard.iter().filter(|(prefix, got)| !is_right(prefix, got));
        let absent = self.told.keys().filter(|prefix| !heard.contains_key(prefix));
        let mut all: Vec<Prefix> = wrong.map(|(prefix, _)| prefix).chain(absent).copied().collect();
        all.sort_unstable();
        all
    }
}

/// Changes attributes to those that a reflector tells that does things otherwise; returns which.
fn as_told_otherwise(
    attributes: &mut Attributes,
    does: impl Fn(Otherwise) -> bool,
) -> Vec<Otherwise> {
    let mut changed = Vec::new();
    // By the other clusters in it, a route that had an originator before.
    let is_new = attributes.clusters.len() == 1;
    if does(Otherwise::AddsMed) && attributes.med.is_none() && is_new {
        attributes.med = Some(0);
        changed.push(Otherwise::AddsMed);
    }
    if does(Otherwise::LeavesPartial) && !attributes.unknown.is_empty() {
        attributes.unknown.values_mut().for_each(|(is_partial, _)| *is_partial = false);
        changed.push(Otherwise::LeavesPartial);
    }
    changed
}

struct Course<'a> {
    check: &'a Check,
    peers: Vec<Peer>,
    oracle: Oracle,
    /// What policies ask for, which some of the routes have.
    asked: Asked,
    conversations: Vec<Option<Conversation>>,
    is_last: bool,
    compared: Compared,
}

/// What policies ask for.
#[derive(Default)]
struct Asked {
    ipv4: Vec<Prefix>,
    ipv6: Vec<Prefix>,
    ases: Vec<u32>,
    communities: Vec<u32>,
}

impl Asked {
    fn of(policies: &Policies) -> Asked {
        let all = || policies.import.iter().chain(&policies.export);
        let prefixes = |is_ipv4| {
            let asked = all().flat_map(|policy| policy.asked_prefixes(is_ipv4));
            asked.filter(|prefix| wire::can_say(*prefix)).collect()
        };
        Asked {
            ipv4: prefixes(true),
            ipv6: prefixes(false),
            ases: all().flat_map(Policy::asked_ases).collect(),
            communities: all().flat_map(Policy::asked_communities).collect(),
        }
    }
}

impl<'a> Course<'a> {
    fn begin(check: &'a Check) -> Result<Course<'a>, String> {
        let peers = peers();
        let mut course = Course {
            check,
            oracle: Oracle::new(check.own.clone(), peers.clone()).with(check.policies.clone()),
            asked: Asked::of(&check.policies),
            conversations: peers.iter().map(|_| None).collect(),
            peers,
            is_last: false,
            compared: Compared::default(),
        };
        course.return_all()?;
        course.compared.events.clear();
        Ok(course)
    }

    fn count(&mut self, event: &'static str) {
        *self.compared.events.entry(event).or_default() += 1;
    }

    fn does(&self, otherwise: Otherwise) -> bool {
        self.check.otherwise.contains(&otherwise)
    }

    fn skip(&mut self, otherwise: Otherwise) {
        *self.compared.skipped.entry(otherwise).or_default() += 1;
    }

    fn let_happen(&mut self, mut draws: Draws) -> Result<(), String> {
        let peer = draws.below(self.peers.len() as u64) as usize;
        let prefix = self.prefix(&mut draws);
        match draws.below(16) {
            0 if self.does(Otherwise::ComesBackLate) && !self.is_last => {
                self.skip(Otherwise::ComesBackLate);
            }
            0 => self.lose(peer, prefix),
            1 if self.may_return() => self.open(peer)?,
            1 => {}
            2..=5 => {
                self.oracle.withdraw(peer, prefix);
                self.say(peer, &wire::withdrawal(prefix), "withdrawn")?;
            }
            _ => {
                let attributes = self.attributes(peer, prefix, &mut draws);
                match self.left_out(peer, prefix, &attributes) {
                    Some(otherwise) => self.skip(otherwise),
                    None => self.announce(peer, prefix, &attributes)?,
                }
            }
        }
        // The others have room for what they are told until all is quiet.
        self.conversations[peer].as_mut().map_or(Ok(()), Conversation::hear)
    }

    fn announce(
        &mut self,
        peer: usize,
        prefix: Prefix,
        attributes: &Attributes,
    ) -> Result<(), String> {
        let own = &self.check.own;
        let has_been_here = attributes.clusters.contains(&own.cluster)
            || attributes.originator == Some(own.identifier)
            || attributes.path.contains(&own.asn);
        let event = if has_been_here { "looped" } else { "announced" };
        if self.conversations[peer].is_some() {
            self.oracle.announce(peer, prefix, attributes);
        }
        self.say(peer, &wire::announcement(prefix, attributes), event)
    }

    /// Returns why a route is not told, if it is one that the reflector takes and must not.
    fn left_out(&self, peer: usize, prefix: Prefix, attributes: &Attributes) -> Option<Otherwise> {
        let own = &self.check.own;
        let in_cluster = attributes.clusters.contains(&own.cluster);
        let is_client = self.peers[peer].is_client;
        let is_kept = attributes.communities.contains(&NO_ADVERTISE);
        let has_order = self.oracle.has_order_with(peer, prefix, attributes);
        let reasons = [
            (Otherwise::ComparesInOrder, !has_order),
            (Otherwise::TakesOwnAs, attributes.path.contains(&own.asn)),
            (Otherwise::TakesOwnOriginator, attributes.originator == Some(own.identifier)),
            (Otherwise::TakesOwnCluster, in_cluster),
            (Otherwise::TakesOwnClusterOfOthers, in_cluster && !is_client),
            (Otherwise::TellsNoAdvertise, is_kept),
        ];
        let all = reasons.into_iter().filter(|(otherwise, is_so)| *is_so && self.does(*otherwise));
        all.map(|(otherwise, _)| otherwise).next()
    }

    fn say(&mut self, peer: usize, bytes: &[u8], event: &'static str) -> Result<(), String> {
        let Some(conversation) = &mut self.conversations[peer] else { return Ok(()) };
        conversation.say(bytes)?;
        self.count(event);
        Ok(())
    }

    /// Ends a session in the middle of a message.
    fn lose(&mut self, peer: usize, prefix: Prefix) {
        let Some(mut conversation) = self.conversations[peer].take() else { return };
        let next_hop = self.next_hop(peer, prefix);
        let message = wire::announcement(prefix, &Attributes::new(next_hop));
        // Whether it can still be said does not matter: it is never said whole.
        let _ = conversation.say(&message[..message.len() / 2]);
        self.oracle.close(peer);
        self.count("session-lost");
    }

    fn open(&mut self, at: usize) -> Result<(), String> {
        if self.conversations[at].is_none() {
            self.conversations[at] = Some(self.conversation(at)?);
            self.count("session-returned");
        }
        Ok(())
    }

    /// Opens the session of a peer.
    fn conversation(&self, at: usize) -> Result<Conversation, String> {
        let offer = (self.check.own.asn, self.check.hold_time_s);
        Conversation::open(self.check.device, self.peers[at], offer, RETURN_MAX)
    }

    fn may_return(&self) -> bool {
        !self.does(Otherwise::ComesBackLate)
    }

    /// Has all peers come back at once: some reflectors make each of them wait for seconds.
    fn return_all(&mut self) -> Result<(), String> {
        let absent = (0..self.peers.len()).filter(|at| self.conversations[*at].is_none());
        let absent: Vec<usize> = absent.collect();
        let conversation = |at: usize| self.conversation(at);
        let opened: Result<Vec<Conversation>, String> = thread::scope(|scope| {
            let all = absent.iter().map(|at| scope.spawn(|| conversation(*at)));
            let all: Vec<_> = all.collect();
            let ended = |_| Err("the thread of a session has ended".to_owned());
            all.into_iter().map(|one| one.join().unwrap_or_else(ended)).collect()
        });
        for (at, conversation) in absent.into_iter().zip(opened?) {
            self.conversations[at] = Some(conversation);
            self.count("session-returned");
        }
        Ok(())
    }

    /// Waits until every peer has what it must, and compares when that is so for a while, or when
    /// it takes too long.
    fn settle(&mut self, stop: &AtomicBool) -> Result<(), String> {
        let expected: Vec<Expected> = (0..self.peers.len()).map(|at| self.expected(at)).collect();
        let begun = Instant::now();
        let mut right_since: Option<Instant> = None;
        while begun.elapsed() < self.check.patience && !stop.load(Ordering::Relaxed) {
            self.conversations.iter_mut().flatten().try_for_each(Conversation::hear)?;
            let mut all = self.conversations.iter().zip(&expected);
            let is_right = all.all(|(one, expected)| {
                let looked_at = one.as_ref().filter(|_| !expected.is_neglected);
                looked_at.is_none_or(|one| expected.differing(&one.heard).is_empty())
            });
            right_since = is_right.then(|| right_since.unwrap_or_else(Instant::now));
            if right_since.is_some_and(|since| since.elapsed() >= QUIET) {
                break;
            }
        }
        for (at, expected) in expected.iter().enumerate() {
            self.compare(at, expected);
        }
        Ok(())
    }

    /// Returns what a peer must have of this reflector.
    fn expected(&self, at: usize) -> Expected {
        let is_client = self.peers[at].is_client;
        let is_neglected = !is_client && self.does(Otherwise::NeglectsNonClients);
        let told = self.oracle.told(at);
        let mut expected = Expected { told, is_neglected, ..Expected::default() };
        let does = |otherwise| self.does(otherwise);
        for attributes in expected.told.values_mut() {
            expected.changed.extend(as_told_otherwise(attributes, does));
        }
        if self.does(Otherwise::TellsOwn) {
            expected.again = self.oracle.told_again(at);
        }
        for attributes in expected.again.values_mut() {
            as_told_otherwise(attributes, does);
        }
        expected
    }

    fn compare(&mut self, at: usize, expected: &Expected) {
        let Some(conversation) = &self.conversations[at] else { return };
        if expected.is_neglected {
            return expected.told.keys().for_each(|_| self.skip(Otherwise::NeglectsNonClients));
        }
        let heard = &conversation.heard;
        let told_again = heard.keys().filter(|prefix| expected.again.contains_key(prefix)).count();
        let different = expected.differing(heard);
        self.compared.routes += (expected.told.len() + told_again) as u64;
        self.compared.different += different.len() as u64;
        let kind = if self.peers[at].is_client { "client" } else { "non-client" };
        let words = |it: Option<&Attributes>| it.map_or("no route".to_owned(), |it| it.to_string());
        let room = DIFFERENCES_MAX.saturating_sub(self.compared.differences.len());
        for prefix in different.into_iter().take(room) {
            self.compared.differences.push(Difference {
                about: format!("{kind} {}, {prefix}", self.peers[at].address),
                expected: words(expected.told.get(&prefix)),
                got: words(heard.get(&prefix)),
            });
        }
        expected.changed.iter().for_each(|otherwise| self.skip(*otherwise));
        (0..told_again).for_each(|_| self.skip(Otherwise::TellsOwn));
    }
}

const CLIENTS: u8 = 4;
const PEERS: u8 = 6;
const ROUNDS: u64 = 6;
const EVENTS: u64 = 60;
const DIFFERENCES_MAX: usize = 5;

/// How long reflectors need to give every peer what it must have, by far: FRR waits for ten seconds
/// before it tells the first table.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// How long nothing may change after that.
const QUIET: Duration = Duration::from_millis(100);

/// How long a reflector has to accept a peer that comes back.
const RETURN_MAX: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests;
