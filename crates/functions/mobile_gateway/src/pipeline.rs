//! A packet's way through a mobile gateway, from top to bottom.
//!
//! Each stage is a function over the packets that are still on their way; a stage that looks
//! something up first touches what the whole batch needs, then uses it, so that a batch waits for
//! memory about once. Packets that leave the way have their verdict at that moment.
use std::io;

use engine::{Drops, Function, Refusal, StageClock};
use function_kit::{SetupError, Shard};
use machine::clock::{Clock, Ticks};
use machine::memory::prefetch_at;
use packet::{Batch, Made, PortId, Reason, Room, Slot, Slots, Verdict};
use stages::tunnel::Encapsulation;
use tables::index::Place;
use wire::ethernet;

use super::answer::{TTL, answer};
use super::clamp::clamp;
use super::config::{Config, Tunnel};
use super::control::Update;
use super::gateway::{ACCESS, CORE};
use super::neighbours::Neighbours;
use super::parse::{Addresses, Class, Inner, Question, classify};
use super::plain::{Plain, PlainFrames};
use super::reasons::{self, TALLIES, Tallies, Tally};
use super::state::State;

/// A running mobile gateway on one worker.
pub struct Pipeline {
    state: State,
    encapsulation: Encapsulation,
    way: Way,
    mss_clamp: u16,
    neighbours: Neighbours,
    tallies: Tallies,
}

/// The stages in the packet's order, as [`Function::STAGES`] names them.
#[derive(Clone, Copy)]
enum Stage {
    Check,
    FindBearer,
    Police,
    Decapsulate,
    Encapsulate,
    Route,
    Rewrite,
}

/// Where the packets of the current batch are, and what is known of each, by slot.
struct Way {
    /// On their way to the Internet.
    uplink: Slots,
    /// On their way to a user by its IPv4 address; behind the second stage, to any user.
    downlink: Slots,
    /// On their way to a user by its IPv6 prefix.
    downlink_ipv6: Slots,
    /// With an IPv4 destination to be routed.
    routed: Slots,
    /// With an IPv6 destination to be routed.
    routed_ipv6: Slots,
    teid: [u32; 256],
    inner: [Inner; 256],
    place: [Place; 256],
    bearer: [u32; 256],
    destination: [u32; 256],
    hop: [u32; 256],
}

impl Function for Pipeline {
    type Update = Update;
    const STAGES: &'static [&'static str] =
        &["check", "find-bearer", "police", "decapsulate", "encapsulate", "route", "rewrite"];
    const DROPS: Drops = Drops(reasons::NAMES);
    const TALLIES: &'static [&'static str] = TALLIES;

    fn process(&mut self, batch: &mut Batch, now: Ticks, stages: &mut StageClock<'_>) {
        self.check(batch, now);
        stages.lap(Stage::Check as usize, batch.len());
        self.find_bearer(batch);
        stages.lap(Stage::FindBearer as usize, batch.len());
        self.police(batch, now);
        stages.lap(Stage::Police as usize, batch.len());
        self.decapsulate(batch);
        stages.lap(Stage::Decapsulate as usize, self.way.uplink.len());
        self.encapsulate(batch);
        stages.lap(Stage::Encapsulate as usize, self.way.downlink.len());
        self.route(batch);
        stages.lap(Stage::Route as usize, batch.len());
        self.rewrite(batch);
        if self.state.asked_for != [0; 2] {
            self.await_neighbours(batch, now);
        }
        stages.lap(Stage::Rewrite as usize, batch.len());
    }

    fn apply(&mut self, update: Update, now: Ticks) -> Result<(), Refusal> {
        let gone = self.state.removed(&update);
        self.state.apply(&update, now)?;
        if let Some(entry) = gone {
            self.neighbours.forget(entry);
        }
        Ok(())
    }

    fn make_room(&mut self, room: Room) -> io::Result<()> {
        self.neighbours.made = Some(Made::new(room)?);
        Ok(())
    }

    fn tick(&mut self, now: Ticks) {
        self.neighbours.tick(&mut self.state, now);
    }

    fn made(&mut self, _: Ticks) -> Option<&mut Batch> {
        let made = self.neighbours.made.as_mut()?;
        self.tallies[Tally::MadeFull as usize] = made.refused();
        made.lend()
    }

    fn tallies(&self) -> &[u64] {
        &self.tallies
    }

    fn state_bytes(&self) -> usize {
        self.state.bytes()
    }
}

impl Pipeline {
    /// The neighbours that were asked for.
    pub(super) fn neighbours(&self) -> &Neighbours {
        &self.neighbours
    }

    /// Which way does each packet go, and is it in order? The plain cases by a few comparisons,
    /// everything else by the full parser.
    fn check(&mut self, batch: &mut Batch, now: Ticks) {
        self.way.clear();
        let plain = PlainFrames::new(&self.state.gateway);
        for slot in batch.slots() {
            match plain.recognise(batch.frame(slot)) {
                Plain::Uplink { teid, inner } => self.way.enter_uplink(slot, teid, inner),
                Plain::Downlink(inner) => self.way.enter_downlink(slot, inner),
                Plain::Not => self.check_fully(batch, slot, now),
            }
        }
    }

    #[inline(never)]
    fn check_fully(&mut self, batch: &mut Batch, slot: Slot, now: Ticks) {
        let Pipeline { state, neighbours, tallies, .. } = self;
        if state.asks(batch.port(slot))
            && let Some(verdict) = neighbours.hear(state, batch, slot, tallies, now)
        {
            return batch.set_verdict(slot, verdict);
        }
        match classify(batch.frame(slot), &self.state.gateway) {
            Class::Uplink { teid, inner } => self.way.enter_uplink(slot, teid, inner),
            Class::Downlink(inner) => self.way.enter_downlink(slot, inner),
            Class::Answer(question) => {
                self.tallies[match question {
                    Question::Arp => Tally::ArpAnswered,
                    Question::Echo { .. } => Tally::EchoAnswered,
                } as usize] += 1;
                answer(batch, slot, question, &self.state.gateway);
            }
            Class::Drop(reason) => {
                let is_error = reason == reasons::GTP_ERROR_INDICATION;
                self.tallies[Tally::ErrorIndications as usize] += u64::from(is_error);
                batch.set_verdict(slot, reasons::drop(reason));
            }
        }
    }

    /// Tunnel identifier to bearer for uplink packets, user's address to bearer for downlink ones.
    fn find_bearer(&mut self, batch: &mut Batch) {
        let way = &mut self.way;
        let State { by_teid, by_ipv4, by_ipv6, bearers, fakedrop, .. } = &self.state;
        let mut unmatched = Unmatched::new(*fakedrop, &mut self.tallies);

        for &slot in way.uplink.as_slice() {
            let place = by_teid.bucket(way.teid[usize::from(slot)]);
            by_teid.prefetch(place);
            way.place[usize::from(slot)] = place;
        }
        for &slot in way.downlink.as_slice() {
            let place = by_ipv4.bucket(way.inner[usize::from(slot)].addresses.ipv4_destination());
            by_ipv4.prefetch(place);
            way.place[usize::from(slot)] = place;
        }
        for &slot in way.downlink_ipv6.as_slice() {
            let place = by_ipv6.bucket(way.inner[usize::from(slot)].addresses.ipv6_prefix_to());
            by_ipv6.prefetch(place);
            way.place[usize::from(slot)] = place;
        }

        let (inner, place, bearer) = (&way.inner, &way.place, &mut way.bearer);
        let mut found = |slot: usize, index: u32| {
            prefetch_at(bearers, index as usize);
            bearer[slot] = index;
        };
        way.uplink.retain(|slot| {
            let index = usize::from(slot);
            match by_teid.get_at(place[index], way.teid[index]) {
                Some(bearer) => found(index, bearer),
                None => return unmatched.leaves(batch, slot, reasons::UNKNOWN_TEID, CORE),
            }
            true
        });
        way.downlink.retain(|slot| {
            let index = usize::from(slot);
            match by_ipv4.get_at(place[index], inner[index].addresses.ipv4_destination()) {
                Some(bearer) => found(index, bearer),
                None => return unmatched.leaves(batch, slot, reasons::UNKNOWN_USER, ACCESS),
            }
            true
        });
        for &slot in way.downlink_ipv6.as_slice() {
            let index = usize::from(slot);
            match by_ipv6.get_at(place[index], inner[index].addresses.ipv6_prefix_to()) {
                Some(bearer) => {
                    found(index, bearer);
                    way.downlink.push(slot);
                }
                None => {
                    unmatched.leaves(batch, slot, reasons::UNKNOWN_USER, ACCESS);
                }
            }
        }
    }

    /// Nobody sends under another's address, and nobody exceeds the bearer's rate.
    fn police(&mut self, batch: &mut Batch, now: Ticks) {
        let way = &mut self.way;
        let bearers = &mut *self.state.bearers;
        let (inner, bearer) = (&way.inner, &way.bearer);
        way.uplink.retain(|slot| {
            let index = usize::from(slot);
            let bearer = &mut bearers[bearer[index] as usize];
            let inner = &inner[index];
            let own = match inner.addresses {
                Addresses::V4 { source, .. } => source == bearer.ipv4,
                // Prefix 0 is no prefix, and not that of the unspecified address.
                Addresses::V6 { source, .. } => {
                    bearer.ipv6_prefix != 0 && (source >> 64) as u64 == bearer.ipv6_prefix
                }
            };
            if !own {
                batch.set_verdict(slot, reasons::drop(reasons::SPOOFED_SOURCE));
                return false;
            }
            let conforms = bearer.uplink.conforms(now, u32::from(inner.len));
            if !conforms {
                batch.set_verdict(slot, reasons::drop(reasons::RATE_EXCEEDED));
            }
            conforms
        });
        way.downlink.retain(|slot| {
            let index = usize::from(slot);
            let bearer = &mut bearers[bearer[index] as usize];
            let conforms = bearer.downlink.conforms(now, u32::from(inner[index].len));
            if !conforms {
                batch.set_verdict(slot, reasons::drop(reasons::RATE_EXCEEDED));
            }
            conforms
        });
    }

    /// Uplink: the tunnel's headers go, the user's packet makes a hop.
    fn decapsulate(&mut self, batch: &mut Batch) {
        let way = &mut self.way;
        for &slot in way.uplink.as_slice() {
            let index = usize::from(slot);
            let inner = &way.inner[index];
            batch.pull_front(slot, usize::from(inner.offset) - ethernet::HEADER_LEN);
            batch.truncate(slot, ethernet::HEADER_LEN + usize::from(inner.len));
            let Some((header, packet)) =
                batch.frame_mut(slot).split_first_chunk_mut::<{ ethernet::HEADER_LEN }>()
            else {
                continue;
            };
            inner.make_hop(packet);
            let is_ipv6 = matches!(inner.addresses, Addresses::V6 { .. });
            if self.mss_clamp != 0 && clamp(packet, is_ipv6, self.mss_clamp) {
                self.tallies[Tally::MssClamped as usize] += 1;
            }
            let ether_type = match inner.addresses {
                Addresses::V4 { destination, .. } => {
                    way.destination[index] = destination;
                    way.routed.push(slot);
                    ethernet::TYPE_IPV4
                }
                Addresses::V6 { .. } => {
                    way.routed_ipv6.push(slot);
                    ethernet::TYPE_IPV6
                }
            };
            header[ethernet::offset::TYPE..].copy_from_slice(&ether_type.to_be_bytes());
        }
    }

    /// Downlink: the user's packet makes a hop, and goes into a tunnel to the user's base station.
    fn encapsulate(&mut self, batch: &mut Batch) {
        let way = &mut self.way;
        for &slot in way.downlink.as_slice() {
            let index = usize::from(slot);
            let inner = &way.inner[index];
            let bearer = &self.state.bearers[way.bearer[index] as usize];
            let base_station = self.state.base_stations[bearer.base_station as usize];
            batch.truncate(slot, ethernet::HEADER_LEN + usize::from(inner.len));
            let is_ipv6 = matches!(inner.addresses, Addresses::V6 { .. });
            let pushed = self.encapsulation.push(batch, slot, base_station, bearer.teid, is_ipv6);
            match pushed {
                Some(packet) => {
                    inner.make_hop(packet);
                    if self.mss_clamp != 0 && clamp(packet, is_ipv6, self.mss_clamp) {
                        self.tallies[Tally::MssClamped as usize] += 1;
                    }
                    way.destination[index] = base_station;
                    way.routed.push(slot);
                }
                None => batch.set_verdict(slot, reasons::drop(reasons::TOO_LONG)),
            }
        }
    }

    /// Longest-prefix match of the destination, the outer one where there is a tunnel.
    fn route(&mut self, batch: &mut Batch) {
        let way = &mut self.way;
        let State { routes, routes_ipv6, fakedrop, .. } = &self.state;
        let mut unmatched = Unmatched::new(*fakedrop, &mut self.tallies);
        let (destination, hop, inner) = (&way.destination, &mut way.hop, &way.inner);
        way.routed.retain(|slot| {
            let index = usize::from(slot);
            match routes.lookup(destination[index]) {
                Some(next) => hop[index] = next,
                None => return unmatched.leaves_unrouted(batch, slot, &inner[index]),
            }
            true
        });
        for &slot in way.routed_ipv6.as_slice() {
            let index = usize::from(slot);
            match routes_ipv6.lookup(inner[index].addresses.ipv6_destination()) {
                Some(next) => {
                    hop[index] = next;
                    way.routed.push(slot);
                }
                None => {
                    unmatched.leaves_unrouted(batch, slot, &inner[index]);
                }
            }
        }
    }

    /// The Ethernet header of the next hop, and out.
    fn rewrite(&mut self, batch: &mut Batch) {
        let way = &self.way;
        for &slot in way.routed.as_slice() {
            let index = usize::from(slot);
            let hop = &self.state.next_hops[way.hop[index] as usize];
            if let Some(header) = batch.frame_mut(slot).first_chunk_mut::<12>() {
                *header = hop.macs;
            }
            batch.set_verdict(slot, hop.verdict);
        }
    }

    /// Packets to neighbours whose MAC addresses are asked for.
    fn await_neighbours(&mut self, batch: &mut Batch, now: Ticks) {
        for &slot in self.way.routed.as_slice() {
            if batch.verdict(slot) != reasons::drop(reasons::UNRESOLVED) {
                continue;
            }
            let entry = self.way.hop[usize::from(slot)];
            if let Some((port, address)) = self.state.neighbour(entry) {
                let verdict = self.neighbours.wait(batch, slot, (entry, port, address), now);
                batch.set_verdict(slot, verdict);
            }
        }
    }
}

impl Pipeline {
    /// The gateway that the configuration describes at `now`, with the users of one worker.
    ///
    /// # Errors
    /// When its state does not fit.
    pub fn new(
        config: &Config,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Pipeline, SetupError> {
        Ok(Pipeline {
            state: State::new(config, shard, clock, now)?,
            encapsulation: match config.tunnel {
                Tunnel::GtpU => Encapsulation::gtpu(config.gw_ip, TTL),
                Tunnel::Vxlan => Encapsulation::vxlan(config.gw_ip, config.gw_mac, TTL),
            },
            way: Way::new(),
            mss_clamp: config.mss_clamp,
            neighbours: Neighbours::new(config, shard, clock),
            tallies: [0; TALLIES.len()],
        })
    }

    /// The state, to look at it.
    pub fn state(&self) -> &State {
        &self.state
    }
}

impl Way {
    fn new() -> Way {
        Way {
            uplink: Slots::new(),
            downlink: Slots::new(),
            downlink_ipv6: Slots::new(),
            routed: Slots::new(),
            routed_ipv6: Slots::new(),
            teid: [0; 256],
            inner: [Inner::NONE; 256],
            place: [Place::default(); 256],
            bearer: [0; 256],
            destination: [0; 256],
            hop: [0; 256],
        }
    }

    fn clear(&mut self) {
        self.uplink.clear();
        self.downlink.clear();
        self.downlink_ipv6.clear();
        self.routed.clear();
        self.routed_ipv6.clear();
    }

    #[inline(always)]
    fn enter_uplink(&mut self, slot: Slot, teid: u32, inner: Inner) {
        self.teid[usize::from(slot)] = teid;
        self.inner[usize::from(slot)] = inner;
        self.uplink.push(slot);
    }

    #[inline(always)]
    fn enter_downlink(&mut self, slot: Slot, inner: Inner) {
        self.inner[usize::from(slot)] = inner;
        match inner.addresses {
            Addresses::V4 { .. } => self.downlink.push(slot),
            Addresses::V6 { .. } => self.downlink_ipv6.push(slot),
        }
    }
}

/// What becomes of packets that match nothing.
struct Unmatched<'a> {
    fakedrop: bool,
    tallies: &'a mut Tallies,
}

impl<'a> Unmatched<'a> {
    fn new(fakedrop: bool, tallies: &'a mut Tallies) -> Unmatched<'a> {
        Unmatched { fakedrop, tallies }
    }

    /// Drops the packet, or sends it out of `port` as it is; false, because it leaves the way.
    #[cold]
    fn leaves(&mut self, batch: &mut Batch, slot: Slot, reason: Reason, port: PortId) -> bool {
        self.tallies[Tally::Fakedropped as usize] += u64::from(self.fakedrop);
        let verdict = if self.fakedrop { Verdict::Forward(port) } else { reasons::drop(reason) };
        batch.set_verdict(slot, verdict);
        false
    }

    /// The same for a packet that is out of its tunnel and has no route: the frame keeps the
    /// Ethernet addresses with which it came, instead of what stood in the tunnel's headers. What
    /// is in its tunnel by now belongs to a user whose base station disappeared: it is dropped.
    #[cold]
    fn leaves_unrouted(&mut self, batch: &mut Batch, slot: Slot, inner: &Inner) -> bool {
        let tunnel_len = usize::from(inner.offset) - ethernet::HEADER_LEN;
        if tunnel_len == 0 {
            batch.set_verdict(slot, reasons::drop(reasons::NO_ROUTE));
            return false;
        }
        if let Some(frame) = batch.push_front(slot, tunnel_len) {
            frame.copy_within(..2 * MAC_LEN, tunnel_len);
            batch.pull_front(slot, tunnel_len);
        }
        self.leaves(batch, slot, reasons::NO_ROUTE, CORE)
    }
}

/// Length of an Ethernet address in bytes.
const MAC_LEN: usize = 6;
