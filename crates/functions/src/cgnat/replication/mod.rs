//! A standby that knows every session, so that none is lost when it takes over.
//!
//! ```text
//!  active NAT                                    standby
//!  worker: journal --ring--> thread ==== TCP ====> thread --ring--> worker: applier
//!                            window <=== last applied ==== done <---'
//! ```
//! The files in the order of that way: which sessions changed ([`dirty`]), what is told of them and when
//! (`journal`), a change, what of a session does not stand in its record, and a message as bytes ([`change`], `kept`,
//! [`message`]), a connection (`wire`), the
//! two threads (`sender`, `receiver`), and how changes are applied (`applier`, and
//! [`super::state::State::adopt`] for a session, [`super::state::State::keep`] for what is kept beside it).
//!
//! What is told is the state of a session, not an event: whatever is lost, late or told twice, the last word
//! holds. Blocks and pairings are not told at all, because they follow from the mappings. A change is
//! acknowledged when it is in the standby's tables.
//!
//! Not here: more than one standby, a secret or encryption, which of both gets the packets (that is for the
//! network), and a change of roles while they run.

mod applier;
pub mod change;
pub mod dirty;
mod journal;
mod kept;
mod link;
pub mod message;
mod receiver;
mod rehearsal;
mod sender;
mod wire;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use machine::clock::{Clock, Ticks};
use rtrb::RingBuffer;

pub use self::applier::Received;
pub use self::change::{Change, Told};
pub use self::journal::Journal;
pub use self::kept::{KEPT_MAX, Kept};
pub use self::link::Status;

use self::applier::Applier;
use self::link::Link;
use self::message::Hello;
use self::receiver::Receiver;
use self::rehearsal::Rehearsal;
use self::sender::Sender;
use super::config::{Config, Replication as Settings, Role};
use super::interfaces::Interfaces;
use super::pipeline::Pipeline;
use super::reasons::Tally;
use super::state::State;
use crate::unit::{SetupError, Shard};

/// The part that a worker has in replication.
pub struct Replication {
    link: Arc<Link>,
    /// Of a standby only: an active NAT has its journal in its state.
    applier: Option<Applier>,
    thread: Option<JoinHandle<()>>,
    /// Behind the thread, so that it ends later.
    rehearsal: Option<Rehearsal>,
}

impl Replication {
    /// What a configuration asks for; none where that is nothing.
    ///
    /// # Errors
    /// When there is no memory, or the standby's address is not to be had.
    pub fn new(
        config: &Config,
        shard: Shard,
        state: &mut State,
        (clock, now): (Clock, Ticks),
    ) -> Result<Option<Box<Replication>>, SetupError> {
        let Settings { role, address, port, .. } = config.replication;
        // Each worker has a standby of its own.
        let peer = SocketAddr::new(address, port.saturating_add(shard.index as u16));
        let replication = match role {
            Role::None => return Ok(None),
            Role::Active => Replication::active((config, shard, peer), state, (clock, now), None)?,
            Role::Standby => {
                let listener = listen(peer)?;
                Replication::standby((config, shard, listener), state, clock)?
            }
            Role::Rehearsal => {
                let listener = listen(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0))?;
                let peer = listener.local_addr().map_err(|source| cannot_listen(peer, source))?;
                let standby = Pipeline::standby(config, shard, listener, (clock, now))?;
                let rehearsal = Some(Rehearsal::begin(standby));
                Replication::active((config, shard, peer), state, (clock, now), rehearsal)?
            }
        };
        Ok(Some(Box::new(replication)))
    }

    /// A NAT that tells `peer` of its sessions.
    fn active(
        (config, shard, peer): (&Config, Shard, SocketAddr),
        state: &mut State,
        (clock, now): (Clock, Ticks),
        rehearsal: Option<Rehearsal>,
    ) -> Result<Replication, SetupError> {
        let link = Arc::new(Link::default());
        let (producer, consumer) = RingBuffer::new(RING);
        let journal = Journal::new(state, producer, link.clone(), (&clock, now));
        state.journal = Some(Box::new(journal.map_err(no_memory)?));
        let hello = Hello {
            digest: digest(config),
            shard: (shard.index, shard.count),
            // The standard library seeds its hash maps from the operating system's source.
            instance: RandomState::new().build_hasher().finish(),
        };
        let rate = config.replication.changes_per_s;
        let sender = Sender::new((peer, hello), consumer, link.clone(), rate);
        let thread = Some(spawn(move || sender.run())?);
        Ok(Replication { link, applier: None, thread, rehearsal })
    }

    /// A NAT that listens for what another one tells.
    pub(super) fn standby(
        (config, shard, listener): (&Config, Shard, TcpListener),
        state: &State,
        clock: Clock,
    ) -> Result<Replication, SetupError> {
        let link = Arc::new(Link::default());
        let (producer, consumer) = RingBuffer::new(RING);
        let applier = Applier::new(state, consumer, link.clone(), &clock).map_err(no_memory)?;
        let own = (digest(config), (shard.index, shard.count));
        let receiver = Receiver::new(listener, own, producer, link.clone());
        let thread = Some(spawn(move || receiver.run())?);
        Ok(Replication { link, applier: Some(applier), thread, rehearsal: None })
    }

    /// Collects or applies changes, as much as a round may.
    pub fn round(&mut self, state: &mut State, interfaces: &mut Interfaces, now: Ticks) {
        if let Some(applier) = &mut self.applier {
            applier.round(state, interfaces, now);
        }
        if let Some(mut journal) = state.journal.take() {
            journal.round(state, now);
            state.journal = Some(journal);
        }
        for (tally, count) in [
            (Tally::ReplicationSent, self.link.sent_count()),
            (Tally::ReplicationAcknowledged, self.link.last_done()),
            (Tally::ReplicationRefused, self.link.refused()),
            (Tally::ReplicationResynchronisations, self.link.resynchronisations()),
        ] {
            state.tallies[tally as usize] = count;
        }
    }

    /// How it stands.
    pub fn status(&self, state: &State) -> Status {
        match (&self.applier, &state.journal) {
            (Some(applier), _) => applier.status(),
            (None, Some(journal)) => journal.status(),
            (None, None) => self.link.status(),
        }
    }

    /// Whether the standby is beside it.
    pub fn has_rehearsal(&self) -> bool {
        self.rehearsal.is_some()
    }

    /// Ends telling, whatever is not told yet, and gives the standby that was told.
    pub fn take_over(&mut self) -> Option<Pipeline> {
        let rehearsal = self.rehearsal.take()?;
        self.end();
        rehearsal.end()
    }

    fn end(&mut self) {
        self.link.stop();
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It panics only with a defect, which is told already.
            let _ = thread.join();
        }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.applier.as_ref().map_or(0, Applier::bytes)
    }
}

impl Drop for Replication {
    fn drop(&mut self) {
        self.end();
    }
}

/// What must be the same on both sides: all but what names this side, and the secret.
fn digest(config: &Config) -> [u8; 32] {
    let own = Config::default();
    let shared = Config {
        inside_mac: own.inside_mac,
        outside_mac: own.outside_mac,
        inside_ip: own.inside_ip,
        outside_ip: own.outside_ip,
        inside_next_hop_mac: own.inside_next_hop_mac,
        outside_next_hop_mac: own.outside_next_hop_mac,
        replication: own.replication,
        secret: None,
        ..config.clone()
    };
    // It was read as JSON or YAML, so it can be written.
    let text = serde_json::to_vec(&shared).unwrap_or_default();
    *blake3::hash(&text).as_bytes()
}

/// A listener that never makes its thread wait.
fn listen(address: SocketAddr) -> Result<TcpListener, SetupError> {
    let listener = TcpListener::bind(address).map_err(|source| cannot_listen(address, source))?;
    listener.set_nonblocking(true).map_err(|source| cannot_listen(address, source))?;
    Ok(listener)
}

fn cannot_listen(address: SocketAddr, source: std::io::Error) -> SetupError {
    SetupError::Listen { address, source }
}

fn no_memory(source: std::io::Error) -> SetupError {
    SetupError::Memory { what: "replication", source }
}

fn spawn(run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, SetupError> {
    let builder = thread::Builder::new().name("replication".to_owned());
    builder.spawn(run).map_err(|source| SetupError::Memory { what: "a thread of its own", source })
}

/// Changes between a worker and its thread.
const RING: usize = 16_384;
