//! A packet's way through a router, from top to bottom.
//!
//! Each stage is a function over the packets that are still on their way; a stage that looks
//! something up first touches what the whole batch needs, then uses it, so that a batch waits for
//! memory about once. Packets that leave the way have their verdict at that moment.

use engine::{Drops, Function, Refusal, StageClock};
use machine::clock::Ticks;
use machine::memory::prefetch_at;
use packet::{Batch, PortId, Slot, Slots, Verdict};
use wire::{ethernet, ipv4, ipv6};

use super::config::Config;
use super::control::{self, Update};
use super::parse::{Class, Plain, classify};
use super::reasons::{self, TALLIES, Tally};
use super::state::State;
use crate::stages::arp;
use crate::unit::SetupError;

/// A running router on one worker.
pub struct Pipeline {
    state: State,
    way: Way,
    tallies: [u64; TALLIES.len()],
}

/// The stages in the packet's order, as [`Function::STAGES`] names them.
#[derive(Clone, Copy)]
enum Stage {
    Check,
    Route,
    Rewrite,
}

/// Where the packets of the current batch are, and what is known of each, by slot.
struct Way {
    ipv4: Slots,
    ipv6: Slots,
    destination: [u32; 256],
    destination_ipv6: [u128; 256],
    hop: [u32; 256],
}

impl Function for Pipeline {
    type Update = Update;
    const STAGES: &'static [&'static str] = &["check", "route", "rewrite"];
    const DROPS: Drops = Drops(reasons::NAMES);
    const TALLIES: &'static [&'static str] = TALLIES;

    fn process(&mut self, batch: &mut Batch, _: Ticks, stages: &mut StageClock<'_>) {
        self.check(batch);
        stages.lap(Stage::Check as usize, batch.len());
        self.route(batch);
        stages.lap(Stage::Route as usize, batch.len());
        self.rewrite(batch);
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
    pub fn new(config: &Config) -> Result<Pipeline, SetupError> {
        let way = Way {
            ipv4: Slots::new(),
            ipv6: Slots::new(),
            destination: [0; 256],
            destination_ipv6: [0; 256],
            hop: [0; 256],
        };
        Ok(Pipeline { state: State::new(config)?, way, tallies: [0; TALLIES.len()] })
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
                Some(class) => self.enter(batch, slot, class),
                None => self.check_fully(batch, slot),
            }
        }
    }

    #[inline(always)]
    fn enter(&mut self, batch: &mut Batch, slot: Slot, class: Class) {
        match class {
            Class::V4 { destination, len } => {
                batch.truncate(slot, usize::from(len));
                self.state.routes.prefetch_root(destination);
                self.way.destination[usize::from(slot)] = destination;
                self.way.ipv4.push(slot);
            }
            Class::V6 { destination, len } => {
                batch.truncate(slot, usize::from(len));
                self.state.routes_ipv6.prefetch_root(destination);
                self.way.destination_ipv6[usize::from(slot)] = destination;
                self.way.ipv6.push(slot);
            }
            Class::Arp | Class::Drop(_) => {}
        }
    }

    #[inline(never)]
    fn check_fully(&mut self, batch: &mut Batch, slot: Slot) {
        let port = batch.port(slot);
        match classify(batch.frame(slot), port, &self.state) {
            Class::Arp => {
                self.tallies[Tally::ArpAnswered as usize] += 1;
                batch.truncate(slot, arp::REPLY_LEN);
                arp::answer(batch.frame_mut(slot), self.state.macs[usize::from(port.0 & 1)]);
                batch.set_verdict(slot, Verdict::Forward(port));
            }
            Class::Drop(reason) => batch.set_verdict(slot, reasons::drop(reason)),
            class @ (Class::V4 { .. } | Class::V6 { .. }) => self.enter(batch, slot, class),
        }
    }

    /// Longest-prefix match of the destination.
    fn route(&mut self, batch: &mut Batch) {
        let State { routes, routes_ipv6, hops, fakedrop, .. } = &self.state;
        let Way { ipv4, ipv6, destination, destination_ipv6, hop } = &mut self.way;
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
        ipv4.retain(|slot| found(batch, slot, routes.lookup(destination[usize::from(slot)])));
        ipv6.retain(|slot| {
            found(batch, slot, routes_ipv6.lookup(destination_ipv6[usize::from(slot)]))
        });
        self.tallies[Tally::Fakedropped as usize] += if *fakedrop { without } else { 0 };
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
}

/// What becomes of a packet without a route that came in at `port`.
fn unrouted(fakedrop: bool, port: PortId) -> Verdict {
    match fakedrop {
        true => Verdict::Forward(PortId(1 - (port.0 & 1))),
        false => reasons::drop(reasons::NO_ROUTE),
    }
}
