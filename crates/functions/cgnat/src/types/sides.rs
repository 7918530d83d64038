//! The sides of a NAT by the ports of its worker.

use packet::PortId;

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

/// The place of a port in what there is of both sides: whatever is not inside is outside.
#[inline(always)]
pub fn side(port: PortId) -> usize {
    usize::from(port != INSIDE)
}

/// The MAC addresses of a frame whose next hop is yet to be found. No other frame that leaves has a
/// group as its source, because answers have the port's address there.
pub(crate) const UNADDRESSED: [u8; 12] = [0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0];
