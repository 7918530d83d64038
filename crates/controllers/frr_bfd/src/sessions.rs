//! What bfdd wants, and what the router has of it.
//!
//! A session of the router has the discriminator that bfdd gave it first, and keeps that: a bfdd
//! that was born again names the same session by another one, and the peer does not notice.

use std::collections::{BTreeMap, VecDeque};

use function_l3_router::Update;
use function_l3_router::config::BfdSession;
use protocol_bfddp::{Change, Session};

use crate::places::Places;

/// A session that bfdd wants.
pub(crate) struct Held {
    pub session: Session,
    /// Its discriminator at the router.
    pub own: u32,
    /// As the router has it, or is to have it.
    pub set: Option<BfdSession>,
    /// What the router told last.
    pub change: Option<Change>,
    /// Why it does not run.
    pub trouble: Option<Trouble>,
}

/// Why a session does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Its interface is not one of the router's, or not yet.
    NoInterface,
    /// It goes over several hops.
    Multihop,
    /// The router has refused it.
    Refused,
}

/// The sessions, by the discriminators that bfdd has for them now, and what the router is to hear.
#[derive(Default)]
pub(crate) struct Sessions {
    pub all: BTreeMap<u32, Held>,
    /// Bfdd's discriminator by the router's.
    names: BTreeMap<u32, u32>,
    /// What is to be handed over.
    waiting: VecDeque<Update>,
    /// What was handed over and has no answer yet, by the router's discriminators.
    open: VecDeque<Option<u32>>,
    /// The number of the first of these.
    first: u64,
    /// Changes that the router has refused.
    pub refused: u64,
}

impl Sessions {
    /// None, at a router that may have some of an earlier life.
    pub fn new() -> Sessions {
        let mut sessions = Sessions::default();
        sessions.waiting.push_back(Update::RemoveBfd { discriminator: None });
        sessions
    }

    /// Bfdd wants a session, for the first time.
    pub fn add(&mut self, session: Session, places: &Places) {
        let name = session.discriminator;
        // One that was born again may draw what another one has kept.
        let is_free = |own: &u32| *own != 0 && !self.names.contains_key(own);
        let Some(own) = (0..=u32::MAX).map(|add| name.wrapping_add(add)).find(is_free) else {
            return;
        };
        self.names.insert(own, name);
        let held = Held { session, own, set: None, change: None, trouble: None };
        self.all.insert(name, held);
        self.set(name, places);
    }

    /// Bfdd wants the session that it called `before` otherwise.
    pub fn change(&mut self, before: u32, session: Session, places: &Places) {
        let Some(held) = self.all.remove(&before) else { return self.add(session, places) };
        let name = session.discriminator;
        self.names.insert(held.own, name);
        self.all.insert(name, Held { session, ..held });
        self.set(name, places);
    }

    /// Bfdd does not want a session any more.
    pub fn remove(&mut self, name: u32) {
        let Some(held) = self.all.remove(&name) else { return };
        self.names.remove(&held.own);
        if held.set.is_some() {
            self.waiting.push_back(Update::RemoveBfd { discriminator: Some(held.own) });
        }
    }

    /// The interfaces of the kernel are others.
    pub fn place_all(&mut self, places: &Places) {
        for name in self.all.keys().copied().collect::<Vec<_>>() {
            self.set(name, places);
        }
    }

    /// The router tells again how all sessions are.
    pub fn ask_all(&mut self) {
        self.set_again(|_| true);
    }

    /// The router hears again of the sessions that it has refused.
    pub fn retry(&mut self) {
        self.set_again(|held| held.trouble == Some(Trouble::Refused));
    }

    fn set_again(&mut self, is_meant: fn(&Held) -> bool) {
        let meant = self.all.values().filter(|held| is_meant(held));
        let set = meant.filter_map(|held| Some((held.own, held.set?)));
        let again = |(discriminator, session)| Update::SetBfd { discriminator, session };
        self.waiting.extend(set.map(again));
    }

    /// What bfdd calls a session of the router.
    pub fn name_of(&self, own: u32) -> Option<u32> {
        self.names.get(&own).copied()
    }

    /// Tells the router of a session as bfdd wants it, if that differs from what it was told.
    fn set(&mut self, name: u32, places: &Places) {
        let Some(held) = self.all.get_mut(&name) else { return };
        let wanted = wanted(&held.session, places);
        let set = wanted.ok();
        // What was refused is refused no more, perhaps, when it is wanted otherwise.
        if wanted.is_err() || set != held.set {
            held.trouble = wanted.err();
        }
        if set != held.set {
            self.waiting.push_back(match set {
                Some(session) => Update::SetBfd { discriminator: held.own, session },
                None => Update::RemoveBfd { discriminator: Some(held.own) },
            });
        }
        held.set = set;
    }

    /// Whether something is to be handed over.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes what is to be handed over.
    pub fn hand_over(&mut self) -> Vec<Update> {
        let updates: Vec<Update> = self.waiting.drain(..).collect();
        self.open.extend(updates.iter().map(|update| match update {
            Update::SetBfd { discriminator, .. } => Some(*discriminator),
            _ => None,
        }));
        updates
    }

    /// All changes before a number took effect; answers are in order.
    pub fn applied(&mut self, end: u64) {
        let count = end.saturating_sub(self.first).min(self.open.len() as u64);
        for own in self.open.drain(..count as usize).flatten() {
            let held = self.names.get(&own).and_then(|name| self.all.get_mut(name));
            if let Some(held) = held.filter(|held| held.trouble == Some(Trouble::Refused)) {
                held.trouble = None;
            }
        }
        self.first += count;
    }

    /// The change of a number was refused.
    pub fn refuse(&mut self, number: u64) {
        self.applied(number);
        let Some(own) = self.open.pop_front() else { return };
        self.first += 1;
        // One that is not there need not go.
        let Some(name) = own.and_then(|own| self.name_of(own)) else { return };
        self.refused += 1;
        if let Some(held) = self.all.get_mut(&name) {
            held.trouble = Some(Trouble::Refused);
        }
    }
}

/// A session as the router is to have it, or why it cannot.
fn wanted(session: &Session, places: &Places) -> Result<BfdSession, Trouble> {
    if session.is_multihop {
        return Err(Trouble::Multihop);
    }
    let (port, vlan) = places.place(session).ok_or(Trouble::NoInterface)?;
    Ok(BfdSession {
        port,
        vlan,
        local: session.local,
        peer: session.peer,
        min_tx_us: session.desired_min_tx_us,
        min_rx_us: session.required_min_rx_us,
        multiplier: session.detect_multiplier,
        echo_us: if session.has_echo { session.echo_tx_us } else { 0 },
        min_echo_rx_us: session.required_echo_rx_us,
        passive: session.is_passive,
        shut_down: session.is_shut_down,
    })
}
