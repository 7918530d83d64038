//! A packet's way through a router, from top to bottom: [`Function::process`] is the list of stages.
//!
//! Each stage is a function over the packets that are still on their way; a stage that looks
//! something up first touches what the whole batch needs, then uses it, so that a batch waits for
//! memory about once. Packets that leave the way have their verdict at that moment. What a
//! configuration does not ask for is left out by one question a batch ([`Features`]).

use engine::{Drops, Function, Refusal, StageClock};
use machine::clock::{Clock, Ticks};
use machine::memory::prefetch_at;
use packet::{Batch, PortId, Slot, Slots, Verdict};
use wire::{ethernet, ipv4, ipv6};

use super::config::Config;
use super::control::{self, Update};
use super::host::{Host, Protocol, Trouble};
use super::interfaces::{Unknown, own_of};
use super::parse::{Class, Plain, classify};
use super::reasons::{self, TALLIES, Tally};
use super::reverse_path;
use super::state::{State, UNROUTED};
use crate::stages::arp;
use crate::unit::SetupError;

/// A running router on one worker.
pub struct Pipeline {
    state: State,
    features: Features,
    way: Way,
    host: Option<Host>,
    tallies: [u64; TALLIES.len()],
}

/// What the configuration asks for beside forwarding by one table between two ports.
#[derive(Clone, Copy, Debug)]
struct Features {
    /// Interfaces and what depends on them, VLANs, VRFs, MTUs; and the router as a host.
    interfaces: bool,
    /// Some interface asks for a route to the source.
    reverse_path: bool,
}

/// The stages in the packet's order, as [`Function::STAGES`] names them.
#[derive(Clone, Copy)]
enum Stage {
    Check,
    ReversePath,
    Route,
    Exit,
    Rewrite,
}

/// Where the packets of the current batch are, and what is known of each, by slot.
pub(super) struct Way {
    /// The packets of IPv4 that are still on their way.
    pub ipv4: Slots,
    /// Those of IPv6.
    pub ipv6: Slots,
    /// Where each goes.
    pub destination: [u32; 256],
    /// The same for IPv6.
    pub destination_ipv6: [u128; 256],
    /// The number of its next hop.
    pub hop: [u32; 256],
    /// The number of the interface by which it came in.
    pub interface: [u16; 256],
    /// Packets that are looked at one by one.
    pub odd: Slots,
}

impl Function for Pipeline {
    type Update = Update;
    const STAGES: &'static [&'static str] = &["check", "reverse-path", "route", "exit", "rewrite"];
    const DROPS: Drops = Drops(reasons::NAMES);
    const TALLIES: &'static [&'static str] = TALLIES;

    fn process(&mut self, batch: &mut Batch, now: Ticks, stages: &mut StageClock<'_>) {
        let features = self.features;
        match features.interfaces {
            false => self.check(batch),
            true => self.check_by_interface(batch, now),
        }
        stages.lap(Stage::Check as usize, batch.len());
        if features.reverse_path {
            reverse_path::reverse_path(&self.state, &mut self.way, batch);
            stages.lap(Stage::ReversePath as usize, batch.len());
        }
        match features.interfaces {
            false => self.route(batch),
            true => self.route_by_vrf(batch),
        }
        stages.lap(Stage::Route as usize, batch.len());
        if features.interfaces {
            self.exit(batch, now);
            stages.lap(Stage::Exit as usize, batch.len());
        }
        self.rewrite(batch);
        if features.interfaces {
            self.tag(batch);
        }
        stages.lap(Stage::Rewrite as usize, batch.len());
    }

    fn apply(&mut self, update: Update, _: Ticks) -> Result<(), Refusal> {
        control::apply(&mut self.state, &update)
    }

    fn tallies(&self) -> &[u64] {
        &self.tallies
    }

    fn state_bytes(&self) -> usize {
        self.state.bytes()
    }
}

impl Pipeline {
    /// The router that the configuration describes.
    ///
    /// # Errors
    /// When its state does not fit.
    pub fn new(config: &Config, clock: Clock) -> Result<Pipeline, SetupError> {
        let way = Way {
            ipv4: Slots::new(),
            ipv6: Slots::new(),
            destination: [0; 256],
            destination_ipv6: [0; 256],
            hop: [0; 256],
            interface: [0; 256],
            odd: Slots::new(),
        };
        let features = Features {
            interfaces: !config.is_plain(),
            reverse_path: config.interfaces.iter().any(|one| !one.urpf.is_none()),
        };
        let host = Host::new(config, clock);
        let state = State::new(config)?;
        Ok(Pipeline { state, features, way, host, tallies: [0; TALLIES.len()] })
    }

    /// The state, to look at it.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Is the frame for this router and in order, and where does it go? The plain cases by a few
    /// comparisons, everything else by the full parser. What is behind the packet goes.
    fn check(&mut self, batch: &mut Batch) {
        self.way.ipv4.clear();
        self.way.ipv6.clear();
        let plain = Plain::new(&self.state);
        for slot in batch.slots() {
            match plain.recognise(batch.frame(slot), batch.port(slot)) {
                Some(class) => self.enter(batch, slot, class, MAIN),
                None => self.check_fully(batch, slot, own_of(batch.port(slot))),
            }
        }
    }

    /// The same where interfaces are told apart: by which one does the frame come in? Tags go.
    fn check_by_interface(&mut self, batch: &mut Batch, now: Ticks) {
        self.way.ipv4.clear();
        self.way.ipv6.clear();
        let plain = Plain::new(&self.state);
        for slot in batch.slots() {
            let interface = match self.state.interfaces.enter(batch, slot) {
                Ok(interface) => interface,
                Err(unknown) => {
                    let reason = match unknown {
                        Unknown::Truncated => reasons::TRUNCATED,
                        Unknown::Vlan => reasons::UNKNOWN_VLAN,
                    };
                    batch.set_verdict(slot, reasons::drop(reason));
                    continue;
                }
            };
            self.way.interface[usize::from(slot)] = interface;
            match plain.recognise(batch.frame(slot), batch.port(slot)) {
                Some(class) => {
                    let vrf = self.state.interfaces.get(interface).vrf;
                    self.enter(batch, slot, class, usize::from(vrf));
                }
                None => self.check_oddly(batch, slot, interface, now),
            }
        }
    }

    #[inline(always)]
    fn enter(&mut self, batch: &mut Batch, slot: Slot, class: Class, vrf: usize) {
        let table = &self.state.tables[vrf];
        match class {
            Class::V4 { destination, len } => {
                batch.truncate(slot, usize::from(len));
                table.ipv4.prefetch_root(destination);
                self.way.destination[usize::from(slot)] = destination;
                self.way.ipv4.push(slot);
            }
            Class::V6 { destination, len } => {
                batch.truncate(slot, usize::from(len));
                table.ipv6.prefetch_root(destination);
                self.way.destination_ipv6[usize::from(slot)] = destination;
                self.way.ipv6.push(slot);
            }
            Class::Arp | Class::Drop(_) => {}
        }
    }

    #[inline(never)]
    fn check_fully(&mut self, batch: &mut Batch, slot: Slot, interface: u16) {
        match classify(batch.frame(slot), interface, &self.state) {
            Class::Arp => self.answer_arp(batch, slot, interface),
            Class::Drop(reason) => batch.set_verdict(slot, reasons::drop(reason)),
            class @ (Class::V4 { .. } | Class::V6 { .. }) => {
                let vrf = self.state.interfaces.get(interface).vrf;
                self.enter(batch, slot, class, usize::from(vrf));
            }
        }
    }

    /// The same for a router that is a host too or looks for sources: packets that end here may be
    /// for it, or be worth an error.
    #[inline(never)]
    fn check_oddly(&mut self, batch: &mut Batch, slot: Slot, interface: u16, now: Ticks) {
        let class = classify(batch.frame(slot), interface, &self.state);
        let reason = match (class, &mut self.host) {
            (Class::Arp | Class::Drop(reasons::ARP_IGNORED), Some(host)) => {
                let policed = host.police(Protocol::Arp, now).err();
                policed.or(if class == Class::Arp { None } else { Some(reasons::ARP_IGNORED) })
            }
            (Class::Drop(reason @ (reasons::TTL_EXPIRED | reasons::LOCAL)), _) => {
                Some(if reverse_path::passes(&self.state, batch.frame(slot), interface) {
                    reason
                } else {
                    reasons::REVERSE_PATH
                })
            }
            _ => return self.check_fully(batch, slot, interface),
        };
        let Some(reason) = reason else { return self.answer_arp(batch, slot, interface) };
        let interfaces = &self.state.interfaces;
        let verdict = match (reason, &mut self.host) {
            (reasons::LOCAL, Some(host)) => host.receive(batch, (slot, interface), interfaces, now),
            (reasons::TTL_EXPIRED, Some(host)) => {
                let why = (Trouble::TimeExceeded, reason);
                host.refuse(batch, (slot, interface), interfaces, why, now)
            }
            _ => reasons::drop(reason),
        };
        batch.set_verdict(slot, verdict);
    }

    fn answer_arp(&mut self, batch: &mut Batch, slot: Slot, interface: u16) {
        self.tallies[Tally::ArpAnswered as usize] += 1;
        batch.truncate(slot, arp::REPLY_LEN);
        arp::answer(batch.frame_mut(slot), self.state.interfaces.get(interface).mac.0);
        self.send_back(batch, slot, interface);
    }

    /// Sends a frame out of the interface by which it came in.
    fn send_back(&mut self, batch: &mut Batch, slot: Slot, interface: u16) {
        self.state.interfaces.leave(batch, slot, interface);
        batch.set_verdict(slot, Verdict::Forward(batch.port(slot)));
    }

    /// Longest-prefix match of the destination.
    fn route(&mut self, batch: &mut Batch) {
        let State { tables, hops, fakedrop, .. } = &self.state;
        let table = &tables[MAIN];
        let Way { ipv4, ipv6, destination, destination_ipv6, hop, .. } = &mut self.way;
        let mut without = 0;
        let mut found = |batch: &mut Batch, slot: Slot, next: Option<u32>| {
            if let Some(next) = next {
                prefetch_at(hops, next as usize);
                hop[usize::from(slot)] = next;
                return true;
            }
            without += 1;
            batch.set_verdict(slot, unrouted(*fakedrop, batch.port(slot)));
            false
        };
        ipv4.retain(|slot| found(batch, slot, table.ipv4.lookup(destination[usize::from(slot)])));
        ipv6.retain(|slot| {
            found(batch, slot, table.ipv6.lookup(destination_ipv6[usize::from(slot)]))
        });
        self.tallies[Tally::Fakedropped as usize] += if *fakedrop { without } else { 0 };
    }

    /// The same in the table of the VRF of the interface by which the packet came in; what has no
    /// route stays for the next stage.
    fn route_by_vrf(&mut self, _: &Batch) {
        let State { tables, hops, interfaces, .. } = &self.state;
        let Way { ipv4, ipv6, destination, destination_ipv6, hop, interface, .. } = &mut self.way;
        let table = |slot: Slot| {
            let vrf = interfaces.get(interface[usize::from(slot)]).vrf;
            &tables[usize::from(vrf)]
        };
        for &slot in ipv4.as_slice() {
            let found = table(slot).ipv4.lookup(destination[usize::from(slot)]);
            hop[usize::from(slot)] = found.unwrap_or(UNROUTED);
            prefetch_at(hops, hop[usize::from(slot)] as usize);
        }
        for &slot in ipv6.as_slice() {
            let found = table(slot).ipv6.lookup(destination_ipv6[usize::from(slot)]);
            hop[usize::from(slot)] = found.unwrap_or(UNROUTED);
            prefetch_at(hops, hop[usize::from(slot)] as usize);
        }
    }

    /// Whether each packet can leave as it is: what cannot is for the router itself, or worth an
    /// error, or dropped.
    fn exit(&mut self, batch: &mut Batch, now: Ticks) {
        let State { interfaces, hops, .. } = &self.state;
        let Way { ipv4, ipv6, hop, odd, .. } = &mut self.way;
        odd.clear();
        let mut leaves = |slot: Slot| {
            let hop = &hops[hop[usize::from(slot)] as usize];
            let leaves = matches!(hop.verdict, Verdict::Forward(_))
                && interfaces.carries(hop.interface, batch.frame_len(slot));
            odd.push_if(!leaves, slot);
            leaves
        };
        ipv4.retain(&mut leaves);
        ipv6.retain(&mut leaves);
        for index in 0..self.way.odd.len() {
            let slot = self.way.odd.as_slice()[index];
            let verdict = self.stay(batch, slot, now);
            batch.set_verdict(slot, verdict);
        }
    }

    /// What becomes of a packet that cannot leave as it is.
    fn stay(&mut self, batch: &mut Batch, slot: Slot, now: Ticks) -> Verdict {
        let State { interfaces, hops, .. } = &self.state;
        let hop = &hops[self.way.hop[usize::from(slot)] as usize];
        let at = self.way.interface[usize::from(slot)];
        let why = match hop.verdict {
            Verdict::Drop(reasons::NO_ROUTE) => (Trouble::NoRoute, reasons::NO_ROUTE),
            Verdict::Forward(_) => {
                (Trouble::TooBig(interfaces.get(hop.interface).mtu), reasons::TOO_BIG)
            }
            _ => (Trouble::NoNeighbour, reasons::NO_NEXT_HOP),
        };
        match &mut self.host {
            Some(host) if hop.verdict == reasons::drop(reasons::LOCAL) => {
                host.receive(batch, (slot, at), interfaces, now)
            }
            None if hop.verdict == reasons::drop(reasons::LOCAL) => hop.verdict,
            Some(host) if why.1 != reasons::TOO_BIG || must_stay_whole(batch.frame(slot)) => {
                host.refuse(batch, (slot, at), interfaces, why, now)
            }
            _ => reasons::drop(why.1),
        }
    }

    /// The Ethernet header of the next hop, one hop less to go, and out.
    fn rewrite(&mut self, batch: &mut Batch) {
        let hops = &self.state.hops;
        for &slot in self.way.ipv4.as_slice() {
            let hop = &hops[self.way.hop[usize::from(slot)] as usize];
            let frame = batch.frame_mut(slot);
            if let Some((header, packet)) =
                frame.split_first_chunk_mut::<{ ethernet::HEADER_LEN }>()
                && let Some(packet) = packet.first_chunk_mut::<{ ipv4::HEADER_LEN }>()
            {
                header[..12].copy_from_slice(&hop.macs);
                // The check has seen that there is a hop to go.
                let _ = ipv4::decrement_ttl(packet);
            }
            batch.set_verdict(slot, hop.verdict);
        }
        for &slot in self.way.ipv6.as_slice() {
            let hop = &hops[self.way.hop[usize::from(slot)] as usize];
            let frame = batch.frame_mut(slot);
            if let Some((header, packet)) =
                frame.split_first_chunk_mut::<{ ethernet::HEADER_LEN }>()
                && let Some(packet) = packet.first_chunk_mut::<{ ipv6::HEADER_LEN }>()
            {
                header[..12].copy_from_slice(&hop.macs);
                let _ = ipv6::decrement_hop_limit(packet);
            }
            batch.set_verdict(slot, hop.verdict);
        }
    }

    /// The tag of the interface by which each packet leaves.
    fn tag(&mut self, batch: &mut Batch) {
        let State { interfaces, hops, .. } = &self.state;
        for slots in [&self.way.ipv4, &self.way.ipv6] {
            for &slot in slots.as_slice() {
                let hop = &hops[self.way.hop[usize::from(slot)] as usize];
                if matches!(hop.verdict, Verdict::Forward(_)) {
                    interfaces.leave(batch, slot, hop.interface);
                }
            }
        }
    }
}

/// Whether routers must not fragment a packet: IPv6, or IPv4 that says so.
fn must_stay_whole(frame: &[u8]) -> bool {
    match ipv4::View::parse_without_checksum(frame.get(ethernet::HEADER_LEN..).unwrap_or_default())
    {
        Ok(view) => view.dont_fragment(),
        Err(_) => true,
    }
}

/// What becomes of a packet without a route that came in at `port`.
fn unrouted(fakedrop: bool, port: PortId) -> Verdict {
    match fakedrop {
        true => Verdict::Forward(PortId(1 - (port.0 & 1))),
        false => reasons::drop(reasons::NO_ROUTE),
    }
}

/// The main VRF.
const MAIN: usize = 0;
