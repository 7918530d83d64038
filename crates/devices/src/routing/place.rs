//! Where a device listens: a port of the loopback interface that nobody else takes.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

use crate::driver::DriverError;

/// Returns an address at which nobody listens.
///
/// Its port is below those that the kernel gives to connections, so that none of a thousand peers
/// has it while the device starts again.
///
/// # Errors
/// When all ports are in use.
pub(super) fn free() -> Result<SocketAddr, DriverError> {
    let first = std::process::id() as u16;
    for _ in 0..PORT_COUNT {
        let number = first.wrapping_mul(SPREAD).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = PORT_FIRST + number % PORT_COUNT;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    let what = format!("127.0.0.1 has no free port from {PORT_FIRST} on");
    Err(DriverError::new(what, "stop the programs that listen there"))
}

/// Whether somebody listens at an IPv4 address, in the network namespace of this thread, without
/// connecting to it: a peer that is none would be something that happens to the device.
pub(super) fn is_taken(address: SocketAddr) -> bool {
    // A line of `/proc/net/tcp` (`Documentation/networking/proc_net_tcp.rst`):
    // `  0: 0100007F:55F0 00000000:0000 0A …`.
    let SocketAddr::V4(address) = address else { return false };
    let number = u32::from_ne_bytes(address.ip().octets());
    let local = format!("{number:08X}:{:04X}", address.port());
    let text = std::fs::read_to_string("/proc/thread-self/net/tcp").unwrap_or_default();
    text.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next() == Some(&local) && words.nth(1) == Some(LISTENING)
    })
}

/// Number of the next port of this process.
static NEXT: AtomicU16 = AtomicU16::new(0);

/// What the kernel calls the state LISTEN.
const LISTENING: &str = "0A";

const PORT_FIRST: u16 = 20_000;
const PORT_COUNT: u16 = 12_000;

/// Ports between those of two processes of neighbouring numbers.
const SPREAD: u16 = 37;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_address_is_taken_once_somebody_listens_there() {
        let address = free().expect("a port");
        assert!(!is_taken(address));
        let listener = TcpListener::bind(address).expect("it is free");
        assert!(is_taken(address));
        assert_ne!(free().expect("another port"), address);
        let connection = std::net::TcpStream::connect(address).expect("it listens");
        drop(listener);
        assert!(!is_taken(address), "a connection is no listener");
        drop(connection);
    }
}
