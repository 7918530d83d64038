//! Where packets go: the longest prefix of each destination, for a whole batch at once.
//!
//! The tables take the addresses of a batch down their levels together; here they are put in a row
//! for that, and what comes out is put back to the packets.

use machine::memory::prefetch_at;
use packet::{Batch, PortId, Slot, Slots, Verdict};
use tables::lpm::{self, Address, Table};

use super::pipeline::Way;
use super::reasons;
use super::state::{Hop, State, UNROUTED};

/// Finds the next hop of each packet in the main table; what has none leaves the way. Returns how
/// many had none.
pub(super) fn route(state: &State, way: &mut Way, batch: &mut Batch) -> u64 {
    let State { routes, hops, fakedrop, .. } = state;
    let Way { ipv4, ipv6, destination, destination_ipv6, hop, .. } = way;
    let mut found = [0; 256];
    look_up(ipv4, destination, &mut found, |addresses, found| {
        routes.ipv4.lookup_batch(Table::MAIN, addresses, found);
    });
    let mut without = settle(ipv4, &found, hop, hops, *fakedrop, batch);
    if !ipv6.is_empty() {
        look_up(ipv6, destination_ipv6, &mut found, |addresses, found| {
            routes.ipv6.lookup_batch(Table::MAIN, addresses, found);
        });
        without += settle(ipv6, &found, hop, hops, *fakedrop, batch);
    }
    without
}

/// The same, but what has no route stays on its way and leads to the entry of such packets.
pub(super) fn route_all(state: &State, way: &mut Way) {
    let State { routes, hops, .. } = state;
    let Way { ipv4, ipv6, destination, destination_ipv6, hop, .. } = way;
    let mut found = [0; 256];
    look_up(ipv4, destination, &mut found, |addresses, found| {
        routes.ipv4.lookup_batch(Table::MAIN, addresses, found);
    });
    note(ipv4, &found, hop, hops);
    if !ipv6.is_empty() {
        look_up(ipv6, destination_ipv6, &mut found, |addresses, found| {
            routes.ipv6.lookup_batch(Table::MAIN, addresses, found);
        });
        note(ipv6, &found, hop, hops);
    }
}

/// The same in the table of the VRF of the interface by which each packet came in.
pub(super) fn route_by_vrf(state: &State, way: &mut Way) {
    let State { routes, hops, interfaces, .. } = state;
    let Way { ipv4, ipv6, destination, destination_ipv6, hop, interface, .. } = way;
    let tables_of = |slots: &Slots| {
        let mut tables = [Table::MAIN; 256];
        for (table, &slot) in tables.iter_mut().zip(slots.as_slice()) {
            *table = routes.table(interfaces.get(interface[usize::from(slot)]).vrf);
        }
        tables
    };
    let mut found = [0; 256];
    let tables = tables_of(ipv4);
    look_up(ipv4, destination, &mut found, |addresses, found| {
        routes.ipv4.lookup_batch_in(&tables, addresses, found);
    });
    note(ipv4, &found, hop, hops);
    if !ipv6.is_empty() {
        let tables = tables_of(ipv6);
        look_up(ipv6, destination_ipv6, &mut found, |addresses, found| {
            routes.ipv6.lookup_batch_in(&tables, addresses, found);
        });
        note(ipv6, &found, hop, hops);
    }
}

/// Puts the addresses of the packets in a row and has them looked up.
#[inline(always)]
fn look_up<A: Address + Default>(
    slots: &Slots,
    by_slot: &[A; 256],
    found: &mut [u32; 256],
    ask: impl FnOnce(&[A], &mut [u32]),
) {
    let mut addresses = [A::default(); 256];
    for (address, &slot) in addresses.iter_mut().zip(slots.as_slice()) {
        *address = by_slot[usize::from(slot)];
    }
    ask(&addresses[..slots.len()], found);
}

/// Notes the next hop of each packet of a list; what has none gets its verdict and leaves.
#[inline(always)]
fn settle(
    slots: &mut Slots,
    found: &[u32; 256],
    hop: &mut [u32; 256],
    hops: &[Hop],
    fakedrop: bool,
    batch: &mut Batch,
) -> u64 {
    let before = slots.len();
    let mut at = 0;
    slots.retain(|slot: Slot| {
        let next = found[at & 255];
        at += 1;
        hop[usize::from(slot)] = next;
        prefetch_at(hops, next as usize);
        if next == lpm::NONE {
            batch.set_verdict(slot, unrouted(fakedrop, batch.port(slot)));
        }
        next != lpm::NONE
    });
    (before - slots.len()) as u64
}

/// Notes the next hop of each packet of a list, or that there is none.
#[inline(always)]
fn note(slots: &Slots, found: &[u32; 256], hop: &mut [u32; 256], hops: &[Hop]) {
    for (&slot, &next) in slots.as_slice().iter().zip(found) {
        let next = if next == lpm::NONE { UNROUTED } else { next };
        hop[usize::from(slot)] = next;
        prefetch_at(hops, next as usize);
    }
}

/// What becomes of a packet without a route that came in at `port`.
fn unrouted(fakedrop: bool, port: PortId) -> Verdict {
    match fakedrop {
        true => Verdict::Forward(PortId(1 - (port.0 & 1))),
        false => reasons::drop(reasons::NO_ROUTE),
    }
}
