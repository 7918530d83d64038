//! What the four machines, servers and relays, have in common for their owners.

use std::net::SocketAddr;

use protocol_kit::{Arrival, Input, Machine, Time};

use crate::access::Heard;
use crate::asking::Asking;
use crate::control::{Command, LeaseId, Report};
use crate::counters::Counters;
use crate::leases::{Leases, Next};
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

/// What a machine does with a message, step by step; in which order they come is alike in all.
pub(crate) trait Steps: Access {
    /// Whether a message of a line, which the rates have let in, is taken in; counts why not.
    fn accepts(&mut self, heard: &Heard, now: Time) -> bool;

    /// Does what a message wants, as far as its lease allows; again when the owner has answered.
    fn process(&mut self, heard: Heard, now: Time);

    /// Answers a message of a client that the owner has rejected: by nothing, because it may have
    /// another server.
    fn refuse(&mut self, _heard: &Heard) {}

    /// The servers of a relay.
    fn asking_mut(&mut self) -> Option<&mut Asking> {
        None
    }

    /// Takes in what a server has sent to a relay.
    fn answer(&mut self, _from: SocketAddr, _bytes: &[u8], _now: Time) {}
}

/// Takes in what happened.
pub(crate) fn input<S: Steps>(machine: &mut S, now: Time, input: Input<'_, Command>) {
    match input {
        Input::Command(Command::Heard(heard)) => {
            let may_come = machine.table_mut().admit(heard.line, heard.mac, now);
            if may_come && machine.accepts(&heard, now) {
                machine.table_mut().counters.received += 1;
                machine.process(heard, now);
            }
        }
        Input::Command(Command::Name(line, circuit, remote)) => {
            if let Some(asking) = machine.asking_mut() {
                asking.name(line, circuit, remote);
            }
        }
        Input::Command(command) => match machine.table_mut().obey(command, now) {
            Next::Nothing => {}
            Next::Process(heard) => machine.process(heard, now),
            Next::Refuse(heard) => machine.refuse(&heard),
        },
        Input::Arrival(Arrival::Datagram { from, bytes, .. }) => machine.answer(from, bytes, now),
        Input::Arrival(Arrival::Failed { .. }) => {
            if let Some(asking) = machine.asking_mut() {
                asking.failed(now);
            }
        }
        Input::Arrival(_) => {}
    }
}
