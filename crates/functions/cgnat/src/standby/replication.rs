//! The part that a worker has in replication: it tells a standby, or is one.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{SocketAddr, TcpListener};

use ::replication::{Hello, Replication as Settings, Status, Thread, active, standby};
use function_kit::{SetupError, Shard};
use machine::clock::{Clock, Ticks};

use crate::config::{Config, Vrf};
use crate::interfaces::Interfaces;
use crate::reasons::Tally;
use crate::sessions::journal::Journal;
use crate::standby::applier::Applier;
use crate::standby::teller::Teller;
use crate::state::State;

/// The part that a worker has in replication.
pub struct Replication {
    role: Role,
    thread: Thread,
}

/// What it does.
enum Role {
    Active(Teller),
    Standby(Applier),
}

impl Replication {
    /// A NAT that tells `peer` of its sessions.
    ///
    /// # Errors
    /// When there is no memory or no thread.
    pub fn active(
        (config, shard, peer): (&Config, Shard, SocketAddr),
        state: &mut State,
        (clock, now): (Clock, Ticks),
    ) -> Result<Replication, SetupError> {
        let hello = Hello {
            digest: digest(config),
            shard: (shard.index, shard.count),
            // The standard library seeds its hash maps from the operating system's source.
            instance: RandomState::new().build_hasher().finish(),
        };
        let rate = config.replication.changes_per_s;
        let (ring, link, thread) = active((peer, hello), rate).map_err(no_thread)?;
        let journal = Journal::new(state.sessions.capacity()).map_err(no_memory)?;
        state.journal = Some(Box::new(journal));
        let teller = Teller::new(state, ring, link, (&clock, now));
        Ok(Replication { role: Role::Active(teller), thread })
    }

    /// A NAT that listens for what another one tells.
    ///
    /// # Errors
    /// When there is no memory or no thread.
    pub fn standby(
        (config, shard, listener): (&Config, Shard, TcpListener),
        state: &State,
        clock: Clock,
    ) -> Result<Replication, SetupError> {
        let own = (digest(config), (shard.index, shard.count));
        let (ring, link, thread) = standby(listener, own).map_err(no_thread)?;
        let applier = Applier::new(state, ring, link, &clock).map_err(no_memory)?;
        Ok(Replication { role: Role::Standby(applier), thread })
    }

    /// Collects or applies changes, as much as a round may.
    pub fn round(&mut self, state: &mut State, interfaces: &mut Interfaces, now: Ticks) {
        let link = match &mut self.role {
            Role::Active(teller) => {
                teller.round(state, now);
                teller.link()
            }
            Role::Standby(applier) => {
                applier.round(state, interfaces, now);
                applier.link()
            }
        };
        for (tally, count) in [
            (Tally::ReplicationSent, link.sent_count()),
            (Tally::ReplicationAcknowledged, link.last_done()),
            (Tally::ReplicationRefused, link.refused()),
            (Tally::ReplicationResynchronisations, link.resynchronisations()),
        ] {
            state.tallies[tally as usize] = count;
        }
    }

    /// How it stands.
    pub fn status(&self, state: &State) -> Status {
        match &self.role {
            Role::Active(teller) => teller.status(state),
            Role::Standby(applier) => applier.status(),
        }
    }

    /// Ends telling, whatever is not told yet.
    pub fn end(&mut self) {
        self.thread.end();
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        match &self.role {
            Role::Active(teller) => teller.bytes(),
            Role::Standby(applier) => applier.bytes(),
        }
    }
}

/// Where the standby of a worker listens: each has one of its own.
pub fn peer(settings: &Settings, shard: Shard) -> SocketAddr {
    SocketAddr::new(settings.address, settings.port.saturating_add(shard.index as u16))
}

/// What must be the same on both sides: all but what names this side, and the secret.
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

fn no_thread(source: io::Error) -> SetupError {
    SetupError::Memory { what: "a thread of its own", source }
}
