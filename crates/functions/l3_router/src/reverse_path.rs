//! Whether a packet's source has a route: unicast reverse-path forwarding (RFC 3704, RFC 8704).
//!
//! Strict asks for the best route to the source to lead back by the very interface at which the
//! packet came in, and of a route to a group any member to do so; loose for any route at all, a
//! default route included. An address of the router's own is nobody's source. What fails is dropped
//! in silence, because an error would go to a forged address.
//!
//! **Not supported:** feasible paths beyond the best route (RFC 8704 section 3).

use machine::memory::prefetch_at;
use packet::{Batch, Slot, Slots};
use tables::lpm::{self, Address, Pool, Table};
use wire::bytes::array_at;
use wire::{ethernet, ipv4, ipv6};

use super::config::{GROUPS, ReversePath};
use super::reasons;
use super::scratch::Scratch;
use super::state::State;

/// Drops the packets whose source fails at the interface by which they came in. The sources of a
/// batch go down the tables together, as destinations do.
pub(super) fn reverse_path(state: &State, scratch: &mut Scratch, batch: &mut Batch) {
    let Scratch { ipv4, ipv6, interface, .. } = scratch;
    let routes = &state.routes;
    sift((state, &routes.ipv4), ipv4, interface, batch, source_ipv4);
    if !ipv6.is_empty() {
        sift((state, &routes.ipv6), ipv6, interface, batch, source_ipv6);
    }
}

/// The packets of one version of IP.
#[inline(always)]
fn sift<A: Address + Default>(
    (state, routes): (&State, &Pool<A>),
    slots: &mut Slots,
    interface: &[u16; 256],
    batch: &mut Batch,
    source: impl Fn(&Batch, Slot) -> A,
) {
    let asked = |slot: Slot| state.interfaces.get(interface[usize::from(slot)]);
    let (mut sources, mut tables) = ([A::default(); 256], [Table::MAIN; 256]);
    let mut count = 0;
    for &slot in slots.as_slice().iter().filter(|&&slot| !asked(slot).urpf.is_none()) {
        sources[count & 255] = source(batch, slot);
        tables[count & 255] = state.routes.table(asked(slot).vrf);
        count += 1;
    }
    let (sources, tables) = (&sources[..count.min(256)], &tables[..count.min(256)]);
    let mut found = [lpm::NONE; 256];
    match routes.limits().tables {
        1 => routes.lookup_batch(Table::MAIN, sources, &mut found),
        _ => routes.lookup_batch_in(tables, sources, &mut found),
    }
    for &hop in found.iter().take(count) {
        prefetch_at(&state.hops, hop as usize);
    }
    let mut next = 0;
    slots.retain(|slot| {
        let at = asked(slot);
        let passes = at.urpf.is_none() || {
            let found = Some(found[next & 255]).filter(|&hop| hop != lpm::NONE);
            next += 1;
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
        (None, _) => false,
        (Some(hop), _) if hop == state.entries.local => false,
        (Some(_), ReversePath::Loose) => true,
        (Some(hop), ReversePath::Strict) => match &state.groups {
            // Any of several paths of a route will do.
            Some(groups) if hop >= GROUPS => {
                groups.present(hop).any(|hop| state.hops[hop as usize].interface == interface)
            }
            _ => state.hops[hop as usize].interface == interface,
        },
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

#[cfg(test)]
mod tests {
    use packet::{PortId, Room};
    use wire::{MacAddr, protocol};

    use super::super::Pipeline;
    use super::super::config::Config;
    use super::*;
    use model_kit::build::{datagram, ether_type_of, frame, packet, packet_ipv6};

    /// Sources near, far, of the router's own, and of nobody, drawn with a fixed seed.
    fn frames(count: u64) -> impl Iterator<Item = (u16, Vec<u8>)> {
        (0..count).map(|number| {
            let drawn = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let low = (drawn >> 40) as u32 & 0xffff;
            let source = match drawn >> 61 {
                0 => 0x0a00_0001,
                1 => 0x0a00_0000 | low,
                2 => 0x0a01_0000 | low,
                3 => 0xac10_0000 | low,
                4 => 0x0a02_0000 | low & 0xff,
                _ => drawn as u32,
            };
            let payload = datagram((1, 2), &[0; 20]);
            let to = "172.16.0.9".parse().expect("an address");
            let whole = match number % 3 {
                0 => packet_ipv6(
                    (0x3fff_u128 << 112 | u128::from(source) << 64).into(),
                    "3fff:9::9".parse().expect("an address"),
                    64,
                ),
                _ => packet(source.into(), to, protocol::UDP, &payload),
            };
            let station = MacAddr([2, 0, 0, 0, 0, 1]);
            let whole = frame(station, station, ether_type_of(&whole), &whole);
            ((drawn >> 16) as u16 % 4, whole)
        })
    }

    #[test]
    fn a_batch_says_what_each_packet_alone_is_told() {
        let config = |vrfs| {
            let text = format!(
                r#"{{"ipv6": true, "vrfs": {vrfs}, "interfaces": [
                    {{"port": "downlink", "urpf": "strict"}},
                    {{"port": "downlink", "vlan": 7, "ip": "10.2.0.1/24", "vrf": {vrfs}, "urpf": "strict"}},
                    {{"port": "uplink", "vlan": 8, "ip": "10.3.0.1/24", "urpf": "loose"}}],
                    "next-hops": [{{"port": "downlink", "mac": "02:00:00:00:00:02"}}],
                    "routes": [{{"prefix": "172.16.0.0/12", "next-hop": 0, "vrf": {vrfs}}},
                        {{"prefix": "128.0.0.0/2", "next-hop": 0}}, {{"prefix": "3fff::/18", "next-hop": 0}}]}}"#
            );
            serde_json::from_str::<Config>(&text).expect("a configuration")
        };
        let room = Room { headroom: 128, frame: 256, long: 0 };
        for vrfs in [0, 2] {
            let clock = machine::clock::Clock::with_rate(1e9);
            let mut pipeline = Pipeline::new(&config(vrfs), clock, 0).expect("a small router");
            let mut batch = Batch::new(256, room).expect("a batch");
            let (mut passed, mut refused) = (0, 0);
            let all: Vec<_> = frames(3000).collect();
            for some in all.chunks(251) {
                batch.clear();
                pipeline.scratch.ipv4.clear();
                pipeline.scratch.ipv6.clear();
                for (slot, (interface, frame)) in (0..=255).zip(some) {
                    batch.append(PortId(0), frame.len()).expect("room").copy_from_slice(frame);
                    pipeline.scratch.interface[usize::from(slot)] = *interface;
                    match ether_type_of(&frame[ethernet::HEADER_LEN..]) {
                        ethernet::TYPE_IPV4 => pipeline.scratch.ipv4.push(slot),
                        _ => pipeline.scratch.ipv6.push(slot),
                    }
                }
                let Pipeline { state, scratch, .. } = &mut pipeline;
                reverse_path(state, scratch, &mut batch);
                for (slot, (interface, frame)) in (0..=255).zip(some) {
                    let alone = passes(state, frame, *interface);
                    let on_way =
                        [&scratch.ipv4, &scratch.ipv6].map(|one| one.as_slice().contains(&slot));
                    assert_eq!(on_way.contains(&true), alone, "{interface}: {frame:02x?}");
                    let is_refused = batch.verdict(slot) == reasons::drop(reasons::REVERSE_PATH);
                    assert_eq!(is_refused, !alone);
                    *(if alone { &mut passed } else { &mut refused }) += 1;
                }
            }
            assert!(passed > 300 && refused > 300, "{passed} passed, {refused} did not");
        }
    }
}
