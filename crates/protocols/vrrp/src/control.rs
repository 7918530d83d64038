//! What a controller says to the machine, and what it hears of it.

use std::net::IpAddr;
use std::time::Duration;

use crate::config::{Config, Key, Unusable};
use crate::rivals::Told;
use crate::router::{Reason, State};

/// What a controller says. Virtual routers have numbers of its choice, below the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Adds a virtual router, which starts.
    Add(u32, Config),
    /// Changes a virtual router; its key, its own address, its peers and whether it owns the
    /// addresses stay.
    Change(u32, Config),
    /// Removes a virtual router, which resigns if it is active.
    Remove(u32),
    /// Sets the priority of one that does not own the addresses, 1 to 254.
    SetPriority(u32, u8),
    /// Says whether an object is up that virtual routers track. All are at first.
    Track {
        /// Its number.
        object: u32,
        /// Whether it is up now.
        is_up: bool,
    },
    /// Lets a virtual router resign and take no part until it is started.
    Shutdown(u32),
    /// Starts a virtual router that was shut down.
    Start(u32),
}

/// What the machine says of a virtual router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// It has changed its state.
    Changed {
        /// Its number.
        router: u32,
        /// Its state now.
        state: State,
        /// Why.
        reason: Reason,
        /// Whether packets to the virtual addresses are to be accepted: it is active, and
        /// `Accept_Mode` is set or the addresses are its own.
        accepts: bool,
    },
    /// Another router of the same virtual router is configured otherwise. Each kind of it is told
    /// once a minute at the most.
    Misconfigured {
        /// Its number.
        router: u32,
        /// Of the other one.
        peer: IpAddr,
        /// What is different.
        what: Told,
    },
    /// It is active, and so is another router whose priority is no higher.
    Split {
        /// Its number.
        router: u32,
        /// The other one.
        peer: IpAddr,
    },
    /// No two are active any more.
    Healed {
        /// Its number.
        router: u32,
    },
    /// A command was refused; nothing has changed.
    Refused {
        /// The number in the command.
        number: u32,
        /// Why.
        why: Unusable,
    },
}

/// What a person sees of a virtual router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Which one it is.
    pub key: Key,
    /// Its state.
    pub state: State,
    /// Its priority with what tracked objects take away.
    pub priority: u8,
    /// The router that was heard last.
    pub heard: Option<IpAddr>,
    /// Interval of the active router's advertisements (`Active_Adver_Interval`).
    pub active_interval: Duration,
    /// Time without advertisement after which it becomes active (`Active_Down_Interval`).
    pub down_interval: Duration,
    /// Whether another one is active at the same time.
    pub is_split: bool,
}
