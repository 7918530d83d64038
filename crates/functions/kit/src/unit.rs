//! What every function's folder provides.

use std::net::IpAddr;
use std::sync::Arc;

use engine::{Function, Names, Refusal};
use keys::Invalid;
use machine::clock::{Clock, Ticks};
use packet::PortId;
use protocol_kit::{Companion, Neighbour};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::host_interface::HostInterface;
use crate::port_name::PortName;
use crate::shown::{Condition, Measured, Spoken, Summed};
use crate::sought::Sought;

/// A network function as a unit: its names, its configuration, and the state that this describes.
pub trait NetworkFunction: Sized + Send + Sync + 'static {
    /// The name in scenarios, kebab-case.
    const NAME: &'static str;
    /// Other names under which configurations know it.
    const ALIASES: &'static [&'static str];
    /// One line of help.
    const SUMMARY: &'static str;
    /// The tables that a person can look into while the function runs: `users`, `routes` …
    const TABLES: &'static [&'static str];
    /// Whether each of several workers holds a part of the state only, so that a frame must reach
    /// the worker that has its part.
    const IS_SHARDED: bool;
    /// Whether workers may hand frames over to one another. Each has then, behind the function's
    /// ports, one towards every worker in their order; what it sends by one comes in by its own
    /// place on the other side.
    const HANDS_OVER: bool = false;
    /// What raises an alarm.
    const CONDITIONS: &'static [Condition] = &[];
    /// What of its tables is told as metrics.
    const MEASURED: &'static [Measured] = &[];
    /// The protocols that its workers speak themselves.
    const SPEAKS: &'static [Spoken] = &[];
    /// What each of several workers counts for itself in tables that all of them have, so that sums
    /// are shown.
    const SUMMED: &'static [Summed] = &[];
    /// The tally that grows with each of [`Self::lines`]; none where there are no such.
    const LINES_TOLD_BY: Option<&'static str> = None;

    /// The configuration, as an operator writes it.
    type Config: Serialize + DeserializeOwned + JsonSchema + Clone + Send + Sync + 'static;
    /// A change at run time.
    type Update: Serialize
        + DeserializeOwned
        + JsonSchema
        + Clone
        + Send
        + std::fmt::Debug
        + PartialEq
        + 'static;
    /// A change as people say it, by names of the configuration where it has any.
    type Said: DeserializeOwned + JsonSchema;
    /// The running function.
    type Function: Function<Update = Self::Update> + 'static;

    /// Keys of the configuration that a file means by one of [`Self::ALIASES`] where it does
    /// not state them: the other program's defaults and modes.
    fn meant_by(_alias: &str) -> Vec<(&'static str, serde_json::Value)> {
        Vec::new()
    }

    /// Checks the configuration and fills in what follows from one key for another.
    ///
    /// # Errors
    /// The first key that cannot be used.
    fn validate(config: &mut Self::Config) -> Result<(), Invalid>;

    /// The change that somebody means.
    ///
    /// # Errors
    /// A name that the configuration does not have.
    fn meant(config: &Self::Config, said: Self::Said) -> Result<Self::Update, Invalid>;

    /// What helps where a change was refused, as a sentence without a full stop; nothing if the
    /// refusal says it all.
    fn advice(_config: &Self::Config, _update: &Self::Update, _why: Refusal) -> String {
        String::new()
    }

    /// What an operator has to know of a validated configuration that is no error, as sentences:
    /// what of its files was left out.
    fn remarks(_config: &Self::Config) -> Vec<String> {
        Vec::new()
    }

    /// Takes over from another configuration what no record has, and is shown nowhere: keys that
    /// are secrets.
    fn take_secrets(_config: &mut Self::Config, _from: &Self::Config) {}

    /// The names of the ports of a validated configuration, in the order of their numbers.
    fn ports(config: &Self::Config) -> Vec<PortName>;

    /// Whether the workers of a validated configuration do.
    fn hands_over(_config: &Self::Config) -> bool {
        Self::HANDS_OVER
    }

    /// How many ports one of several workers has: those of the function, and those towards workers.
    fn ports_of_worker(config: &Self::Config, shard: Shard) -> usize {
        let hands_over = Self::hands_over(config) && shard.count > 1;
        Self::ports(config).len() + if hands_over { shard.count as usize } else { 0 }
    }

    /// The name in records of a port of a worker, whose function's own ports are `own`; those
    /// towards workers have one in common.
    fn port_name(own: &[PortName], port: PortId) -> PortName {
        let other = if Self::HANDS_OVER { ANOTHER_WORKER } else { NOWHERE };
        own.get(usize::from(port.0)).copied().unwrap_or(other)
    }

    /// The names of what it counts under a validated configuration.
    fn names(_config: &Self::Config) -> Names {
        Names::of::<Self::Function>()
    }

    /// The interfaces that programs of the host use as their own.
    fn host_interfaces(_config: &Self::Config) -> Vec<HostInterface> {
        Vec::new()
    }

    /// How many workers the configuration asks for.
    fn workers(config: &Self::Config) -> usize;

    /// The function's state for one worker as it is at `now`, loaded.
    ///
    /// # Errors
    /// When the state does not fit into memory or a table.
    fn function(
        config: &Self::Config,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Self::Function, SetupError>;

    /// Gives one of so many workers, just made, what it has in common with the first, so that they
    /// are one function to everybody else: rates that hold for all of them together.
    fn join(_function: &mut Self::Function, _first: &mut Self::Function, _workers: usize) {}

    /// Takes the lines that a function has for the log of whoever runs it; it keeps few until then.
    fn lines(_function: &mut Self::Function) -> Vec<String> {
        Vec::new()
    }

    /// Tells a function the longest packet, without Ethernet header and tag, that the link of a
    /// port carries: when it was just made, and when that changes.
    fn set_mtu(_function: &mut Self::Function, _port: PortId, _mtu: u16) {}

    /// The machines beside a function that was just made: what it says to others by sockets, which
    /// a worker does not touch. Whoever runs the function takes them once and drives them, on a
    /// thread that no worker waits for.
    fn machines(_function: &mut Self::Function) -> Vec<Companion> {
        Vec::new()
    }

    /// Begins the end of a function in good order, which its rounds then bring about: what others
    /// have been told of it, they are told to be over. Says how much is left of that, 0 when
    /// nothing is. It is called between batches, again and again until it is done or whoever runs
    /// the function has no more time.
    fn wind_down(_function: &mut Self::Function) -> u64 {
        0
    }

    /// The changes that lead a running function from one validated configuration to another.
    ///
    /// # Errors
    /// The first key whose change needs a restart.
    fn difference(
        running: &Self::Config,
        wanted: &Self::Config,
    ) -> Result<Vec<Self::Update>, Invalid>;

    /// The changes that undo these, which were applied in this order out of a difference from
    /// `running`: the undoing of the last one first, one for each.
    fn undoing(running: &Self::Config, applied: &[Self::Update]) -> Vec<Self::Update>;

    /// Whether its workers take long segments as they are ([`packet::Long`]): whatever happens to
    /// a packet under this configuration leaves its payload and what is before its transport header
    /// whole, or makes another frame of it. Where not, segments are cut as they come in.
    fn takes_long(_config: &Self::Config) -> bool {
        false
    }

    /// The bits by which a change of a configured function finds its worker, as
    /// [`engine::steering`]; none where all workers must know of it.
    fn steering(config: &Self::Config, update: &Self::Update) -> Option<u32>;

    /// Whether a frame finds its worker by [`Self::frame_steering`] under a configuration.
    fn steers_frames(_config: &Self::Config) -> bool {
        false
    }

    /// How a frame finds its worker, by the port where it came in and what is in it alone, whatever
    /// control changes of the function; `first` is the first of several workers. None where all
    /// workers have all of the state, or that cannot be told.
    fn frame_steering(_config: &Self::Config, _first: &Self::Function) -> Option<FrameSteering> {
        None
    }

    /// The changes that lead from the configured state of a worker to its present one: what came by
    /// control or was learned. Applied to a new function of the same configuration, they restore
    /// it.
    fn memory(
        config: &Self::Config,
        shard: Shard,
        function: &Self::Function,
        now: Ticks,
    ) -> Vec<Self::Update>;

    /// A part of what [`NetworkFunction::memory`] says, as it is asked of a worker that forwards:
    /// as much as a moment is enough for, behind the last change of the part before; nothing at
    /// the end. Nobody changes the function by control between the parts.
    fn memory_part(
        config: &Self::Config,
        shard: Shard,
        function: &Self::Function,
        now: Ticks,
        last: Option<&Self::Update>,
    ) -> Vec<Self::Update> {
        match last {
            None => Self::memory(config, shard, function, now),
            Some(_) => Vec::new(),
        }
    }

    /// What [`NetworkFunction::memory`] says, of all its parts together.
    fn remembered(_config: &Self::Config, parts: Vec<Self::Update>) -> Vec<Self::Update> {
        parts
    }

    /// Of a configuration that asks for a standby beside it: the function that tells and the one
    /// that listens, for processes of their own; none where none is asked for.
    fn pair(_config: &Self::Config) -> Option<[Self::Config; 2]> {
        None
    }

    /// How a function and the other one stand that it tells what it knows, or that tells it; none
    /// where it has no other one.
    fn standby(_function: &Self::Function) -> Option<Standby> {
        None
    }

    /// Ends what a function has told nobody yet, as a crash would, and gives the standby that it
    /// has beside it in this process, to go on in its place.
    fn fail_over(_function: &mut Self::Function) -> Option<Self::Function> {
        None
    }

    /// The neighbours of a worker and of the protocols in it, at most `limit`. It is called between
    /// batches.
    fn neighbours(_function: &Self::Function, _limit: usize) -> Vec<Neighbour> {
        Vec::new()
    }

    /// Those of all neighbours that speak a protocol and are in a state, at most `limit`. It is
    /// called between batches; a function with a [`When::Neighbour`](crate::When) says it without
    /// making up the others.
    fn neighbours_in(function: &Self::Function, of: (&str, &str), limit: usize) -> Vec<Neighbour> {
        let mut all = Self::neighbours(function, usize::MAX);
        all.retain(|one| (one.protocol, &*one.state) == of);
        all.truncate(limit);
        all
    }

    /// How full each of [`Self::TABLES`] is.
    fn table_sizes(function: &Self::Function) -> Vec<TableSize>;

    /// The entries of a table that are found by an address, or by an address with a port: of routes
    /// the one that a packet takes. At most `limit` entries are looked at, from a place on as in
    /// [`Self::table_page`]. None if the entries of that table have no addresses. It is called
    /// between batches.
    fn table_found(
        _function: &Self::Function,
        _table: usize,
        _sought: Sought,
        _from: u64,
        _limit: usize,
        _now: Ticks,
    ) -> Option<TablePage> {
        None
    }

    /// Some entries of a table from a place on: 0 at first, then what the page before said. It is
    /// called between batches, so `limit` bounds how long forwarding waits.
    fn table_page(
        function: &Self::Function,
        table: usize,
        from: u64,
        limit: usize,
        now: Ticks,
    ) -> TablePage;
}

/// Makes what steers the frames of a queue of a port.
pub type FrameSteering = Arc<dyn Fn() -> Steer + Send + Sync>;

/// The bits by which a frame that came in at a port finds its worker, as [`engine::steering`];
/// none of a frame that any worker may have. Each queue has one for itself, which may keep what it
/// has seen of the function.
pub type Steer = Box<dyn FnMut(PortId, &[u8]) -> Option<u32> + Send>;

/// How one of two functions and its link to the other one stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standby {
    /// What it does, in a word: `active` where it tells the other one.
    pub role: &'static str,
    /// The address of the other one, where it is known from the configuration.
    pub peer: Option<IpAddr>,
    /// Whether there is a connection.
    pub is_connected: bool,
    /// Whether it is in this process.
    pub is_here: bool,
    /// Whether the one that is told has all there is.
    pub is_synchronised: bool,
    /// Changes that it has not acknowledged, those included that are not told yet; of the one that
    /// is told those that it could not apply yet.
    pub unacknowledged: u64,
}

/// How full a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TableSize {
    /// Entries.
    pub used: u64,
    /// How many it can have.
    pub capacity: u64,
}

/// Some entries of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TablePage {
    /// An object each, with the same keys in the same order.
    pub entries: Vec<serde_json::Value>,
    /// Where the next page begins; none behind the last.
    pub next: Option<u64>,
}

/// Which part of the state a worker owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// This worker, from 0.
    pub index: u32,
    /// Workers in all.
    pub count: u32,
}

impl Shard {
    /// Everything on one worker.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };
}

/// State that could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The machine has no memory for it.
    #[error("no memory for {what}: {source}")]
    Memory {
        /// Which table.
        what: &'static str,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A table refused an entry of the configuration.
    #[error("{what} cannot be loaded: {why}")]
    Table {
        /// Which table.
        what: &'static str,
        /// Its reason.
        why: String,
    },
}

/// All ports towards other workers.
const ANOTHER_WORKER: PortName = PortName::new("another-worker");

/// A port that a function does not have.
const NOWHERE: PortName = PortName::new("nowhere");
