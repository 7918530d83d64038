//! What the four machines, servers and relays, have in common for their owners.

use protocol_kit::{Machine, Time};

use crate::control::{Command, LeaseId, Report};
use crate::counters::Counters;
use crate::leases::Leases;
use crate::pools::Pools;
use crate::record::NotRestored;

/// A machine that speaks with clients and has leases.
pub trait Access: Machine<Command = Command, Report = Report> {
    /// The port of servers.
    const PORT: u16;

    /// Returns the table of its leases.
    fn table(&self) -> &Leases;

    /// Returns the table of its leases.
    fn table_mut(&mut self) -> &mut Leases;

    /// Returns the counters.
    fn counters(&self) -> Counters {
        self.table().counters
    }

    /// Returns the pools.
    fn pools(&self) -> &Pools {
        &self.table().pools
    }

    /// Returns the number of leases, requests for one among them.
    fn leases(&self) -> usize {
        self.table().len()
    }

    /// Returns the bytes that leases, pools and tables take.
    fn bytes(&self) -> usize {
        self.table().bytes()
    }

    /// Returns a lease as bytes that outlive a restart; `None` of one that holds nothing.
    fn record(&self, lease: LeaseId) -> Option<Vec<u8>> {
        self.table().record(lease)
    }

    /// Takes a lease of an earlier life up again.
    ///
    /// # Errors
    /// [`NotRestored`].
    fn restore(&mut self, now: Time, record: &[u8]) -> Result<LeaseId, NotRestored> {
        self.table_mut().restore(record, now)
    }
}
