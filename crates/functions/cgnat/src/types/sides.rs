//! The interfaces of a NAT by number, which stands where a worker has a port's, and their sides.
//!
//! The two ports `inside` and `outside` have the numbers of ports. Behind them are the links
//! towards other workers, then further outside interfaces, then further inside ones.

use std::net::Ipv6Addr;

use packet::PortId;
use wire::MacAddr;

/// The MAC and IPv6 addresses of an interface.
pub(crate) type Station = (MacAddr, Ipv6Addr);

/// Towards subscribers.
pub const INSIDE: PortId = PortId(0);

/// Towards the Internet.
pub const OUTSIDE: PortId = PortId(1);

/// Towards a worker of this NAT, of which packets come as if they came from outside.
pub fn towards_worker(index: u32) -> PortId {
    PortId(FIRST_WORKER.0 + index as u8)
}

/// Behind the two.
pub const FIRST_WORKER: PortId = PortId(2);

/// The first of the further outside interfaces.
pub const FURTHER_OUTSIDE: PortId = PortId(96);

/// The first of the further inside interfaces.
pub const FURTHER_INSIDE: PortId = PortId(128);

/// Most further interfaces on each side.
pub const FURTHER_MAX: usize = 31;

/// Where frames come in that are of no interface.
pub(crate) const NOWHERE: PortId = PortId(127);

/// Whether an interface is towards subscribers.
#[inline(always)]
pub fn is_inside(port: PortId) -> bool {
    port.0.cast_signed() <= 0
}

/// Whether an interface is a further one.
#[inline(always)]
pub fn is_further(port: PortId) -> bool {
    port >= FURTHER_OUTSIDE
}

/// Whether an interface is a link towards another worker.
#[inline(always)]
pub fn is_worker(port: PortId) -> bool {
    (FIRST_WORKER..FURTHER_OUTSIDE).contains(&port)
}

/// The first interface of a further one's side; all others are their own.
#[inline(always)]
pub fn first_of_side(port: PortId) -> PortId {
    match is_further(port) {
        true if is_inside(port) => INSIDE,
        true => OUTSIDE,
        false => port,
    }
}

/// The place of an interface in what there is of both sides: whatever is not inside is outside.
#[inline(always)]
pub fn side(port: PortId) -> usize {
    usize::from(!is_inside(port))
}

/// The MAC addresses of a frame whose next hop is yet to be found. No other frame that leaves has a
/// group as its source, because answers have the port's address there.
pub(crate) const UNADDRESSED: [u8; 12] = [0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0];
