//! The neighbours of a router as a device is told them.

use std::net::{Ipv4Addr, Ipv6Addr};

use model_kit::service::NextHop;
use packet::PortId;

use crate::driver::DriverError;

/// Returns a neighbour's own address, or a link-local address that stands for it (RFC 3927).
///
/// # Errors
/// When there are more neighbours than such addresses.
pub(crate) fn address_ipv4(hop: &NextHop, index: usize) -> Result<Ipv4Addr, DriverError> {
    if let Some(address) = hop.ipv4 {
        return Ok(address);
    }
    let [.., high, low] = index.wrapping_add(1).to_be_bytes();
    if index >= NAMELESS_MAX {
        let what = format!("more than {NAMELESS_MAX} next hops without an IPv4 address");
        return Err(DriverError::new(what, "use fewer next hops"));
    }
    Ok(Ipv4Addr::new(169, 254, high, low))
}

/// Returns a neighbour's own address, or a link-local address that stands for it.
pub(crate) fn address_ipv6(hop: &NextHop, index: usize) -> Ipv6Addr {
    hop.ipv6.unwrap_or_else(|| Ipv6Addr::from_bits(LINK_LOCAL | (index as u128 + 1)))
}

/// The error for a route by a next hop that is none.
pub(crate) fn unknown_hop(number: u32) -> DriverError {
    let what = format!("a route uses next hop {number}, which does not exist");
    DriverError::new(what, "report this: the function's description is inconsistent")
}

/// The error for a next hop behind a port that is none.
pub(crate) fn no_port(port: PortId) -> DriverError {
    let what = format!("a next hop is behind port {}, which does not exist", port.0);
    DriverError::new(what, "report this: the function's description is inconsistent")
}

/// fe80::1:0, the first of the link-local addresses that stand for neighbours.
const LINK_LOCAL: u128 = 0xfe80 << 112 | 1 << 16;

/// Number of addresses from 169.254.0.1 to 169.254.254.255; the last block is the tunnel's of the
/// kernel.
const NAMELESS_MAX: usize = 0xfeff;
