//! What a control plane is asked that exchanges routes with its peers, and what it shows.
//!
//! Feeders tell it routes, and clients are told them. A method asks for one event after the other
//! and hears when the last client had what it must have; what that is the tester knows.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::{DeviceCpu, MeasureError, Stalls, Watch};

/// The interface through which a method measures a control plane of routes, as
/// [`crate::Measurer`] is that for devices that forward frames.
pub trait Routing {
    /// Returns what takes part.
    fn size(&self) -> RoutingSize;

    /// Lets an event happen, and waits until every client has what it must have after it, at most
    /// for `patience`. The first event is [`RoutingEvent::Table`]; it starts the device anew, and
    /// the others go on from the tables that the one before them has left.
    ///
    /// # Errors
    /// When the event could not be carried out at all. Clients that do not have what they must are
    /// a result, not an error.
    fn converge(
        &mut self,
        event: RoutingEvent,
        patience: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Convergence, MeasureError>;

    /// Measures the tester alone: as many clients are sent the same bytes as in the last
    /// [`RoutingEvent::Table`] by a server that only writes. None if the tester has none.
    ///
    /// # Errors
    /// When it could not be carried out at all.
    fn tester_alone(
        &mut self,
        patience: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Option<Convergence>, MeasureError>;
}

/// What takes part in a convergence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoutingSize {
    /// Peers that tell routes.
    pub feeders: u32,
    /// Peers that are told routes.
    pub clients: u32,
    /// Different routes that feeders tell, of all families together.
    pub routes: u64,
    /// Different sets of attributes of these.
    pub attribute_sets: u64,
    /// Bytes of the UPDATEs of all feeders.
    pub bytes: u64,
}

/// What happens to a control plane of routes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RoutingEvent {
    /// The device starts without routes, all sessions come up, and then the feeders tell
    /// everything.
    Table {
        /// Clients that read nothing until all others have everything.
        slow: u32,
    },
    /// The feeders withdraw everything.
    WithdrawAll,
    /// Routes of the feeders change at a steady rate, each to attributes that another one has.
    Flaps {
        /// Changes of routes per second, all feeders together.
        per_s: f64,
        /// How long they go on.
        duration: Duration,
    },
    /// Clients lose their sessions, and come back at once.
    LoseClients {
        /// How many of them.
        clients: u32,
    },
    /// The device is killed and started again; its peers come back.
    Restart,
}

/// What an event led to.
#[derive(Clone, Debug, Default)]
pub struct Convergence {
    /// Time from the first connection until all sessions stood; none if the event makes none.
    pub sessions_up: Option<Duration>,
    /// Clients by the time at which each had what it must have, in nanoseconds from the first byte
    /// that the event made a feeder send (for a loss or a restart, from the event itself).
    pub clients_ns: Vec<u64>,
    /// Clients that never had what they must have, or had something else in the end, each with
    /// what it lacks, in words.
    pub wrong: Vec<String>,
    /// Sessions that ended although the event ends none.
    pub sessions_lost: u32,
    /// Messages UPDATE that clients received.
    pub updates: u64,
    /// Routes that clients were told or taken in these.
    pub routes: u64,
    /// Bytes that clients received.
    pub bytes: u64,
    /// Time from a feeder's change of a route to the last client's, in nanoseconds, of flaps alone.
    pub changes_ns: Option<Histogram<u64>>,
    /// Clients that were told a withdrawal although the event takes nothing away.
    pub withdrawals_seen: u32,
    /// Processor time of the device until the last client was done, if known.
    pub device: Option<DeviceCpu>,
    /// Processor time of the tester in the same time, in nanoseconds.
    pub tester_cpu_ns: u64,
    /// Most resident memory of the device, in bytes, if it is a process of its own.
    pub resident_bytes: Option<u64>,
    /// Most memory of the kernel for the sockets of the sessions, in bytes, if known.
    pub socket_bytes: Option<u64>,
    /// Gaps in the threads' own time.
    pub stalls: Vec<Stalls>,
}

impl Convergence {
    /// Returns the time at which the last client had everything, in nanoseconds; none if there is
    /// one that never had.
    pub fn last_ns(&self) -> Option<u64> {
        self.wrong.is_empty().then(|| self.clients_ns.iter().copied().max()).flatten()
    }
}
