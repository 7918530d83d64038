//! What a host counts.

use protocol_kit::Arrival;

use crate::tls::TlsCounters;

/// What a host has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams, packets, frames and messages of the kernel handed to the machine.
    pub received: u64,
    /// Datagrams, packets, frames and questions to the kernel sent.
    pub sent: u64,
    /// Those that the kernel did not take, or that this host cannot send.
    pub unsent: u64,
    /// Errors of sockets when they were read, and of listeners when they accepted.
    pub errors: u64,
    /// Turns that began later than the machine's deadline by more than a millisecond.
    pub late: u64,
    /// Streams that listeners have accepted.
    pub accepted: u64,
    /// Bytes of streams handed to the machine.
    pub bytes_received: u64,
    /// Bytes of streams that the kernel has taken.
    pub bytes_sent: u64,
    /// Open sockets that an error has closed.
    pub failed: u64,
    /// Streams that TLS has ended, or has not let begin, by reason.
    pub tls: TlsCounters,
    /// Streams that failed because more bytes departed than there is room for.
    pub overflows: u64,
    /// Sockets that the machine wanted to open by the number of an open one.
    pub opened_twice: u64,
    /// What the machine wanted of a socket that is not open, or not of such a kind: to close it, or
    /// to send by it.
    pub misdirected: u64,
    /// Turns after which the machine still wanted something.
    pub restless: u64,
}

impl Counters {
    pub(crate) fn note(&mut self, arrival: &Arrival<'_>) {
        match arrival {
            Arrival::Datagram { .. }
            | Arrival::Packet { .. }
            | Arrival::Frame { .. }
            | Arrival::Netlink { .. } => self.received += 1,
            Arrival::Bytes { bytes, .. } => self.bytes_received += bytes.len() as u64,
            Arrival::Taken { count, .. } => self.bytes_sent += *count as u64,
            _ => {}
        }
    }

    pub(crate) fn note_sent(&mut self, is_sent: bool) {
        let counter = if is_sent { &mut self.sent } else { &mut self.unsent };
        *counter += 1;
    }
}
