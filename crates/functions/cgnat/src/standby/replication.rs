//! The part that a worker has in replication: it tells a standby, or is one.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use engine::Event;
use function_kit::{Companion, SetupError, Shard};
use machine::clock::{Clock, Ticks};
use protocol_replication::{
    Active, Credentials, Identity, Link, Pair as PairMachine, RING, Replication as Settings, Roles,
    Standby, Status,
};
use rtrb::RingBuffer;

use crate::config::{Config, Vrf};
use crate::interfaces::Interfaces;
use crate::reasons::Tally;
use crate::sessions::journal::Journal;
use crate::standby::applier::Applier;
use crate::standby::change::Change;
use crate::standby::pair::Pair;
use crate::standby::teller::Teller;
use crate::state::State;

/// The part that a worker has in replication.
pub enum Replication {
    /// It tells a standby.
    Active(Teller),
    /// It is one.
    Standby(Applier),
    /// It is either, by turns.
    Pair(Box<Pair>),
}

impl Replication {
    /// A NAT that tells its standby of its sessions, and the machine that speaks for it.
    ///
    /// # Errors
    /// When there is no memory, or no random bytes.
    pub fn active(
        (config, shard): (&Config, Shard),
        state: &mut State,
        (clock, now): (Clock, Ticks),
    ) -> Result<(Replication, Companion), SetupError> {
        let journal = Journal::new(state.sessions.capacity()).map_err(no_memory)?;
        state.journal = Some(Box::new(journal));
        let standby = config.replication.address;
        let (teller, machine, _) = tells((config, shard), standby, state, (clock, now))?;
        Ok((Replication::Active(teller), Box::new(machine)))
    }

    /// A NAT that hears what another one tells, and the machine that listens for it.
    ///
    /// # Errors
    /// When there is no memory, or no random bytes.
    pub fn standby(
        (config, shard): (&Config, Shard),
        state: &State,
        clock: Clock,
    ) -> Result<(Replication, Companion), SetupError> {
        let (applier, machine, _) = hears((config, shard), state, clock)?;
        Ok((Replication::Standby(applier), Box::new(machine)))
    }

    /// One of two NATs of which either may tell the other, and the machine that speaks for it.
    ///
    /// # Errors
    /// When there is no memory, or no random bytes.
    pub fn pair(
        (config, shard): (&Config, Shard),
        state: &mut State,
        (clock, now): (Clock, Ticks),
    ) -> Result<(Replication, Companion), SetupError> {
        let Settings { address, peer, hand_over_ms, .. } = config.replication;
        let peer = peer.unwrap_or(address);
        let (teller, active, tells) = tells((config, shard), peer, state, (clock, now))?;
        let (applier, standby, hears) = hears((config, shard), state, clock)?;
        let patience = clock.ticks(Duration::from_millis(hand_over_ms.into()));
        let roles = Roles::new([tells, hears], patience);
        let journal = Journal::new(state.sessions.capacity()).map_err(no_memory)?;
        let pair = Pair::new(state, roles, (teller, applier.exact()), journal);
        let machine = PairMachine::new(active, standby);
        Ok((Replication::Pair(Box::new(pair)), Box::new(machine)))
    }

    /// Collects or applies changes, as much as a round may.
    pub fn round(&mut self, state: &mut State, interfaces: &mut Interfaces, now: Ticks) {
        match self {
            Replication::Active(teller) => teller.round(state, now),
            Replication::Standby(applier) => applier.round(state, interfaces, now),
            Replication::Pair(pair) => pair.round(state, interfaces, now),
        }
        let status = self.status(state);
        for (tally, count) in [
            (Tally::ReplicationSent, status.sent),
            (Tally::ReplicationAcknowledged, status.acknowledged),
            (Tally::ReplicationRefused, status.refused),
            (Tally::ReplicationResynchronisations, status.resynchronisations),
            (Tally::ReplicationSynchronised, status.is_synchronised.into()),
        ] {
            state.tallies[tally as usize] = count;
        }
    }

    /// Returns what control is to know, and does not yet.
    pub fn event(&mut self) -> Option<Event> {
        match self {
            Replication::Pair(pair) => pair.event(),
            Replication::Active(_) | Replication::Standby(_) => None,
        }
    }

    /// What it does, in a word.
    pub fn role(&self) -> &'static str {
        match self {
            Replication::Active(_) => "active",
            Replication::Standby(_) => "standby",
            Replication::Pair(pair) => pair.role(),
        }
    }

    /// Whether it tells another one.
    pub fn tells(&self) -> bool {
        match self {
            Replication::Active(_) => true,
            Replication::Standby(_) => false,
            Replication::Pair(pair) => pair.tells(),
        }
    }

    /// How it stands.
    pub fn status(&self, state: &State) -> Status {
        match self {
            Replication::Active(teller) => teller.status(state),
            Replication::Standby(applier) => applier.status(),
            Replication::Pair(pair) => pair.status(state),
        }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        match self {
            Replication::Active(teller) => teller.bytes(),
            Replication::Standby(applier) => applier.bytes(),
            Replication::Pair(pair) => pair.bytes(),
        }
    }
}

/// What tells, the machine that tells it to a standby at an address, and what they have in common.
fn tells(
    (config, shard): (&Config, Shard),
    standby: IpAddr,
    state: &State,
    (clock, now): (Clock, Ticks),
) -> Result<(Teller, Active<Change>, Arc<Link>), SetupError> {
    let credentials = credentials(&config.replication)?;
    let identity = Identity {
        digest: digest(config),
        shard: (shard.index, shard.count),
        instance: credentials.instance(),
    };
    let (ring, consumer) = RingBuffer::new(RING);
    let link = Arc::new(Link::default());
    let machine = Active::new(
        (of_worker(standby, &config.replication, shard), identity),
        credentials,
        (consumer, Arc::clone(&link)),
        config.replication.changes_per_s,
    );
    let teller = Teller::new(state, ring, Arc::clone(&link), (&clock, now));
    Ok((teller, machine, link))
}

/// What applies changes, the machine that hears them, and what they have in common.
fn hears(
    (config, shard): (&Config, Shard),
    state: &State,
    clock: Clock,
) -> Result<(Applier, Standby<Change>, Arc<Link>), SetupError> {
    let (producer, ring) = RingBuffer::new(RING);
    let link = Arc::new(Link::default());
    let machine = Standby::new(
        of_worker(config.replication.address, &config.replication, shard),
        (digest(config), (shard.index, shard.count)),
        credentials(&config.replication)?,
        (producer, Arc::clone(&link)),
    );
    let applier = Applier::new(state, ring, Arc::clone(&link), &clock).map_err(no_memory)?;
    Ok((applier, machine, link))
}

/// Where the standby of a worker listens: each has one of its own.
fn of_worker(address: IpAddr, settings: &Settings, shard: Shard) -> SocketAddr {
    SocketAddr::new(address, settings.port.saturating_add(shard.index as u16))
}

/// The key, and random bytes of the operating system.
fn credentials(settings: &Settings) -> Result<Credentials, SetupError> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|source| SetupError::Table {
        what: "random numbers for `replication`",
        why: source.to_string(),
    })?;
    let credentials = Credentials::new(settings.key.as_ref().map(|key| key.secret()), seed);
    Ok(credentials.encrypted(settings.tls.as_ref().map(|files| files.tls())))
}

/// What must be the same on both sides: all but what names this side, what a reload may change
/// without their knowledge of each other, rules, which are told, and the secret.
fn digest(config: &Config) -> [u8; 32] {
    let own = Config::default();
    let vrfs = config.vrfs.iter().map(|vrf| Vrf { next_hop: None, ..vrf.clone() });
    let shared = Config {
        inside_mac: own.inside_mac,
        outside_mac: own.outside_mac,
        inside_ip: own.inside_ip,
        outside_ip: own.outside_ip,
        inside_next_hop_mac: own.inside_next_hop_mac,
        outside_next_hop_mac: own.outside_next_hop_mac,
        inside_next_hop: own.inside_next_hop,
        outside_next_hop: own.outside_next_hop,
        inside_next_hop_ipv6: own.inside_next_hop_ipv6,
        outside_next_hop_ipv6: own.outside_next_hop_ipv6,
        vrfs: vrfs.collect(),
        replication: own.replication,
        timeouts: own.timeouts,
        static_rules: own.static_rules,
        port_forwarding: own.port_forwarding,
        logging: None,
        secret: None,
        ..config.clone()
    };
    // It was read as JSON or YAML, so it can be written.
    let text = serde_json::to_vec(&shared).unwrap_or_default();
    *blake3::hash(&text).as_bytes()
}

fn no_memory(source: io::Error) -> SetupError {
    SetupError::Memory { what: "replication", source }
}
