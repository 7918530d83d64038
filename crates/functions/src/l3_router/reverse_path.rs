//! Whether a packet's source has a route: unicast reverse-path forwarding (RFC 3704, RFC 8704).
//!
//! Strict asks for the best route to the source to lead back by the very interface at which the packet
//! came in; loose for any route at all, a default route included. An address of the router's own is
//! nobody's source. What fails is dropped in silence, because an error would go to a forged address.
//!
//! **Not supported:** feasible paths beyond the best route (RFC 8704 section 3).

use packet::{Batch, Slot};
use wire::bytes::array_at;
use wire::{ethernet, ipv4, ipv6};

use super::config::ReversePath;
use super::pipeline::Way;
use super::reasons;
use super::state::{LOCAL, State};

/// Drops the packets whose source fails at the interface by which they came in.
pub(super) fn reverse_path(state: &State, way: &mut Way, batch: &mut Batch) {
    let Way { ipv4, ipv6, interface, .. } = way;
    let asked = |slot: Slot| state.interfaces.get(interface[usize::from(slot)]);
    for &slot in ipv4.as_slice().iter().filter(|&&slot| !asked(slot).urpf.is_none()) {
        let table = state.routes.table(asked(slot).vrf);
        state.routes.ipv4.prefetch_root(table, source_ipv4(batch, slot));
    }
    ipv4.retain(|slot| {
        let at = asked(slot);
        let passes = at.urpf.is_none() || {
            let table = state.routes.table(at.vrf);
            let found = state.routes.ipv4.lookup(table, source_ipv4(batch, slot));
            leads_back(state, found, at.urpf, interface[usize::from(slot)])
        };
        refuse_unless(passes, batch, slot)
    });
    ipv6.retain(|slot| {
        let at = asked(slot);
        let passes = at.urpf.is_none() || {
            let table = state.routes.table(at.vrf);
            let found = state.routes.ipv6.lookup(table, source_ipv6(batch, slot));
            leads_back(state, found, at.urpf, interface[usize::from(slot)])
        };
        refuse_unless(passes, batch, slot)
    });
}

/// Whether the source of one packet passes at an interface.
pub(super) fn passes(state: &State, frame: &[u8], interface: u16) -> bool {
    let at = state.interfaces.get(interface);
    let (routes, table) = (&state.routes, state.routes.table(at.vrf));
    let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
    let found = match packet.first().map(|first| first >> 4) {
        Some(ipv4::VERSION) if packet.len() >= ipv4::HEADER_LEN => {
            let source = u32::from_be_bytes(array_at(packet, ipv4::offset::SOURCE));
            routes.ipv4.lookup(table, source)
        }
        Some(ipv6::VERSION) if packet.len() >= ipv6::HEADER_LEN => {
            let source = u128::from_be_bytes(array_at(packet, ipv6::offset::SOURCE));
            routes.ipv6.lookup(table, source)
        }
        _ => None,
    };
    leads_back(state, found, at.urpf, interface)
}

/// Whether the route found for a source is good enough.
#[inline(always)]
fn leads_back(state: &State, found: Option<u32>, asked: ReversePath, interface: u16) -> bool {
    match (found, asked) {
        (_, ReversePath::None) => true,
        (None | Some(LOCAL), _) => false,
        (Some(_), ReversePath::Loose) => true,
        (Some(hop), ReversePath::Strict) => state.hops[hop as usize].interface == interface,
    }
}

#[inline(always)]
fn refuse_unless(passes: bool, batch: &mut Batch, slot: Slot) -> bool {
    if !passes {
        batch.set_verdict(slot, reasons::drop(reasons::REVERSE_PATH));
    }
    passes
}

#[inline(always)]
fn source_ipv4(batch: &Batch, slot: Slot) -> u32 {
    u32::from_be_bytes(array_at(batch.frame(slot), ethernet::HEADER_LEN + ipv4::offset::SOURCE))
}

#[inline(always)]
fn source_ipv6(batch: &Batch, slot: Slot) -> u128 {
    u128::from_be_bytes(array_at(batch.frame(slot), ethernet::HEADER_LEN + ipv6::offset::SOURCE))
}
