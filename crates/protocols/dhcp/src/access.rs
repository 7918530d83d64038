//! The lines of clients: what comes from them and what goes to them, as payloads of UDP. What lies
//! around that, tags of VLANs or a session of PPP, is the owner's.

use std::net::IpAddr;

use protocol_kit::{Machine, Time};

use crate::control::{Command, LeaseId, Report};
use crate::counters::Counters;
use crate::leases::Leases;
use crate::pools::Pools;
use crate::record::NotRestored;

/// A line of the access network, by the owner's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(pub u32);

/// A MAC address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Everybody's.
    pub const BROADCAST: Mac = Mac([0xff; 6]);
}

/// A datagram that came from a line, to the port of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The line.
    pub line: Line,
    /// The source of its frame.
    pub mac: Mac,
    /// Its source.
    pub from: IpAddr,
    /// Its destination.
    pub to: IpAddr,
    /// Its payload.
    pub bytes: Vec<u8>,
}

/// A datagram that goes to a line, from the port of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The line.
    pub line: Line,
    /// The destination of its frame.
    pub mac: Mac,
    /// Its source.
    pub from: IpAddr,
    /// Its destination.
    pub to: IpAddr,
    /// Its destination port.
    pub port: u16,
    /// Its payload.
    pub bytes: Vec<u8>,
}

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
