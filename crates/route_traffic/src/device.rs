//! What the tester asks of whoever has the device.

use std::net::SocketAddr;

/// A device that is measured: starts and stops it, and knows what it uses.
pub trait Device {
    /// Starts it anew, without routes, and returns where it listens. What ran before is gone.
    ///
    /// # Errors
    /// In words that say what to do.
    fn start(&mut self) -> Result<SocketAddr, String>;

    /// Kills it as it is, and starts it again with the same configuration; returns where it
    /// listens.
    ///
    /// # Errors
    /// In words that say what to do.
    fn restart(&mut self) -> Result<SocketAddr, String>;

    /// Returns what it has used by now.
    fn usage(&mut self) -> Usage;

    /// Looks whether it still works.
    ///
    /// # Errors
    /// In words, if it does not.
    fn health(&mut self) -> Result<(), String>;
}

/// What a device has used since it was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time in nanoseconds, if it is known.
    pub cpu_ns: Option<u64>,
    /// What that time covers: `bgpd`, `2 threads of the embedded reflector`.
    pub cpu_of: String,
    /// Resident memory now, in bytes, if it is a process of its own.
    pub resident_bytes: Option<u64>,
}
