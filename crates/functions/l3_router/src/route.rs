//! Where packets go: the longest prefix of each destination, for a whole batch at once.
//!
//! The tables take the addresses of a batch down their levels together; here they are put in a row
//! for that, and what comes out is put back to the packets.

use machine::memory::prefetch_at;
use packet::{Batch, PortId, Slot, Slots, Verdict};
use tables::lpm::{self, Address, Table};

use super::reasons;
use super::scratch::Scratch;
use super::state::{Hop, State};

/// Finds the next hop of each packet in the main table; what has none leaves the way. Returns how
/// many had none.
pub(super) fn route(state: &State, scratch: &mut Scratch, batch: &mut Batch) -> u64 {
    let State { routes, hops, fakedrop, .. } = state;
    let Scratch { ipv4, ipv6, destination, destination_ipv6, hop, .. } = scratch;
    let all = batch.len();
    let mut without = 0;
    if !ipv4.is_empty() {
        look_up(ipv4, all, destination, hop, |addresses, found| {
            routes.ipv4.lookup_batch(Table::MAIN, addresses, found);
        });
        without += settle(ipv4, hop, hops, *fakedrop, batch);
    }
    if !ipv6.is_empty() {
        look_up(ipv6, all, destination_ipv6, hop, |addresses, found| {
            routes.ipv6.lookup_batch(Table::MAIN, addresses, found);
        });
        without += settle(ipv6, hop, hops, *fakedrop, batch);
    }
    without
}

/// The same, but what has no route stays on its way and leads to the entry of such packets.
pub(super) fn route_all(state: &State, scratch: &mut Scratch, all: usize) {
    let State { routes, hops, entries, .. } = state;
    let Scratch { ipv4, ipv6, destination, destination_ipv6, hop, .. } = scratch;
    if !ipv4.is_empty() {
        look_up(ipv4, all, destination, hop, |addresses, found| {
            routes.ipv4.lookup_batch(Table::MAIN, addresses, found);
        });
        note(ipv4, hop, hops, entries.unrouted);
    }
    if !ipv6.is_empty() {
        look_up(ipv6, all, destination_ipv6, hop, |addresses, found| {
            routes.ipv6.lookup_batch(Table::MAIN, addresses, found);
        });
        note(ipv6, hop, hops, entries.unrouted);
    }
}

/// The same in the table of the VRF of the interface by which each packet came in.
pub(super) fn route_by_vrf(state: &State, scratch: &mut Scratch, all: usize) {
    let State { routes, hops, entries, interfaces, .. } = state;
    let Scratch { ipv4, ipv6, destination, destination_ipv6, hop, interface, .. } = scratch;
    let tables_of = |slots: &Slots| {
        let mut tables = [Table::MAIN; 256];
        for (table, &slot) in tables.iter_mut().zip(slots.as_slice()) {
            *table = routes.table(interfaces.get(interface[usize::from(slot)]).vrf);
        }
        tables
    };
    if !ipv4.is_empty() {
        let tables = tables_of(ipv4);
        look_up(ipv4, all, destination, hop, |addresses, found| {
            routes.ipv4.lookup_batch_in(&tables, addresses, found);
        });
        note(ipv4, hop, hops, entries.unrouted);
    }
    if !ipv6.is_empty() {
        let tables = tables_of(ipv6);
        look_up(ipv6, all, destination_ipv6, hop, |addresses, found| {
            routes.ipv6.lookup_batch_in(&tables, addresses, found);
        });
        note(ipv6, hop, hops, entries.unrouted);
    }
}

/// Has the addresses of the packets looked up, in a row: where all of a batch are on their way they
/// stand in one, and so do the answers.
#[inline(always)]
fn look_up<A: Address + Default>(
    slots: &Slots,
    all: usize,
    by_slot: &[A; 256],
    hop: &mut [u32; 256],
    ask: impl FnOnce(&[A], &mut [u32]),
) {
    let count = slots.len();
    if count == all {
        return ask(&by_slot[..count], &mut hop[..count]);
    }
    let (mut addresses, mut found) = ([A::default(); 256], [0; 256]);
    for (address, &slot) in addresses.iter_mut().zip(slots.as_slice()) {
        *address = by_slot[usize::from(slot)];
    }
    ask(&addresses[..count], &mut found[..count]);
    for (&found, &slot) in found.iter().zip(slots.as_slice()) {
        hop[usize::from(slot)] = found;
    }
}

/// What has no route gets its verdict and leaves; tells how many had none.
#[inline(always)]
fn settle(
    slots: &mut Slots,
    hop: &[u32; 256],
    hops: &[Hop],
    fakedrop: bool,
    batch: &mut Batch,
) -> u64 {
    let mut all_have_one = true;
    for &slot in slots.as_slice() {
        let next = hop[usize::from(slot)];
        prefetch_at(hops, next as usize);
        all_have_one &= next != lpm::NONE;
    }
    if all_have_one {
        return 0;
    }
    let before = slots.len();
    slots.retain(|slot: Slot| {
        let is_there = hop[usize::from(slot)] != lpm::NONE;
        if !is_there {
            batch.set_verdict(slot, unrouted(fakedrop, batch.port(slot)));
        }
        is_there
    });
    (before - slots.len()) as u64
}

/// Notes where a packet of a list leads that has no route.
#[inline(always)]
fn note(slots: &Slots, hop: &mut [u32; 256], hops: &[Hop], unrouted: u32) {
    for &slot in slots.as_slice() {
        let next = &mut hop[usize::from(slot)];
        *next = if *next == lpm::NONE { unrouted } else { *next };
        prefetch_at(hops, *next as usize);
    }
}

/// What becomes of a packet without a route that came in at `port`.
fn unrouted(fakedrop: bool, port: PortId) -> Verdict {
    match fakedrop {
        true => Verdict::Forward(PortId(1 - (port.0 & 1))),
        false => reasons::drop(reasons::NO_ROUTE),
    }
}
