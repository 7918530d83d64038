//! What a tester is made of.

use std::fmt;

use crate::fed::Fed;
use crate::known::{Best, Change, Passed};
use crate::speaking::{Speaker, Speaking};

/// What a tester tells a device, as whom, and what it holds against it.
#[derive(Clone)]
pub struct Plan {
    /// What the feeders tell.
    pub fed: Fed,
    /// What all sessions say.
    pub speaking: Speaking,
    /// The feeders, in their order.
    pub feeders: Vec<Speaker>,
    /// Whether feeders are clients, too: provider edges are.
    pub feeders_are_clients: bool,
    /// Clients that tell nothing.
    pub clients: Vec<Speaker>,
    /// The route targets of each client, by their numbers, the feeders first if they are clients;
    /// none for a client that is told all. Where any has some, they are told to the device (RFC
    /// 4684), and the family of route targets has to be among those that are offered.
    pub targets: Vec<Option<Vec<u32>>>,
    /// What the device changes in attributes.
    pub change: Change,
    /// What policies of the device make of sets of attributes; none where it has none. What they do
    /// not pass on [`Plan::best`] does not choose.
    pub passed: Option<Passed>,
    /// Which of several feeders' routes is the best.
    pub best: Best,
    /// What nobody else knows.
    pub secret: [u64; 4],
}

impl Plan {
    /// Checks what one part alone cannot tell.
    ///
    /// # Errors
    /// In words.
    pub fn check(&self) -> Result<(), String> {
        let (feeders, said) = (self.feeders.len(), self.fed.feeders());
        if feeders != usize::from(said) {
            return Err(format!("there are {feeders} feeders, and the routes are those of {said}"));
        }
        if self.client_count() == 0 {
            return Err("there has to be a client".into());
        }
        let mut all: Vec<_> = self.speakers().map(|one| one.local).collect();
        all.sort_unstable();
        if let Some(two) = all.windows(2).find(|two| two[0] == two[1]) {
            return Err(format!("two speakers have the address {}", two[0]));
        }
        let mut all: Vec<u32> = self.speakers().map(|one| one.identifier).collect();
        all.sort_unstable();
        if all.first() == Some(&0) || all.windows(2).any(|two| two[0] == two[1]) {
            return Err("each speaker needs an identifier of its own, not 0".into());
        }
        if !self.targets.is_empty() && self.targets.len() != self.client_count() {
            return Err("there have to be as many lists of route targets as clients".into());
        }
        let family = protocol_bgp::Family::RouteTarget;
        if self.has_targets() && !self.speaking.families.contains(&family) {
            return Err("clients with route targets have to offer the family route-target".into());
        }
        let offered = |family| self.speaking.families.contains(&family);
        match self.fed.families().find(|family| !offered(*family)) {
            Some(family) => Err(format!("there are routes of {family}, which is not offered")),
            None => Ok(()),
        }
    }

    /// Returns all speakers, the feeders first.
    pub fn speakers(&self) -> impl Iterator<Item = &Speaker> {
        self.feeders.iter().chain(&self.clients)
    }

    /// Returns how many clients there are.
    pub fn client_count(&self) -> usize {
        self.clients.len() + if self.feeders_are_clients { self.feeders.len() } else { 0 }
    }

    /// Returns the session of a client.
    pub fn session_of(&self, client: usize) -> usize {
        client + if self.feeders_are_clients { 0 } else { self.feeders.len() }
    }

    /// Returns the client of a session, if it is one.
    pub fn client_of(&self, session: usize) -> Option<usize> {
        session.checked_sub(self.session_of(0))
    }

    /// Returns the feeder that a client is, if it is one.
    pub fn feeder_of(&self, client: usize) -> Option<u16> {
        (self.feeders_are_clients && client < self.feeders.len()).then_some(client as u16)
    }

    /// Returns the route targets of a client, if it is told only those.
    pub fn targets_of(&self, client: usize) -> Option<&[u32]> {
        self.targets.get(client)?.as_deref()
    }

    fn has_targets(&self) -> bool {
        self.targets.iter().any(Option::is_some)
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("speaking", &self.speaking)
            .field("feeders", &self.feeders.len())
            .field("clients", &self.client_count())
            .finish_non_exhaustive()
    }
}
