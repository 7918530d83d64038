//! A packet's way through a mobile gateway, from top to bottom.
//!
//! Each stage is a function over the packets that are still on their way; a stage that looks
//! something up first touches what the whole batch needs, then uses it, so that a batch waits for
//! memory about once. Packets that leave the way have their verdict at that moment.
use std::io;

use engine::steering::Steering;
use engine::{Drops, Function, Refusal, StageClock};
use function_kit::{SetupError, Shard};
use machine::clock::{Clock, Ticks};
use machine::memory::prefetch_at;
use packet::{Batch, Made, PortId, Room, Slot};
use stages::clamp::clamp;
use stages::tunnel::Encapsulation;
use wire::ethernet;

use super::answer::TTL;
use super::config::{Config, Tunnel, UserToUser};
use super::control::Update;
use super::gateway::{ACCESS, CORE};
use super::limits::Host;
use super::mtus::Lengths;
use super::neighbours::Neighbours;
use super::parse::Addresses;
use super::plain::{Plain, PlainFrames};
use super::reasons::{self, TALLIES, Tallies, Tally};
use super::reassembly::Reassembly;
use super::state::State;
use super::steering;
use super::way::{Unmatched, Way};

/// A running mobile gateway on one worker.
pub struct Pipeline {
    pub(super) state: State,
    pub(super) encapsulation: Encapsulation,
    pub(super) way: Way,
    mss_clamp: u16,
    pub(super) neighbours: Neighbours,
    pub(super) host: Host,
    pub(super) lengths: Lengths,
    /// Frames that are made; none before the worker told its room.
    pub(super) made: Option<Made>,
    /// A frame that is being cut, or is the subject of an error; a piece of it; and one that waits.
    pub(super) uncut: Vec<u8>,
    pub(super) cut: Vec<u8>,
    pub(super) piece: Vec<u8>,
    /// Fragments that wait; none where they are dropped.
    pub(super) reassembly: Option<Reassembly>,
    pub(super) user_to_user: UserToUser,
    pub(super) check_ports: bool,
    pub(super) shard: Shard,
    pub(super) steering: Steering,
    pub(super) tallies: Tallies,
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
        self.tell_refused(batch, now);
        stages.lap(Stage::FindBearer as usize, batch.len());
        self.police(batch, now);
        stages.lap(Stage::Police as usize, batch.len());
        self.decapsulate(batch, now);
        stages.lap(Stage::Decapsulate as usize, self.way.uplink.len());
        self.encapsulate(batch, now);
        stages.lap(Stage::Encapsulate as usize, self.way.downlink.len());
        self.route(batch);
        self.tell_refused(batch, now);
        if !self.way.crossing.is_empty() {
            self.cross(batch, now);
        }
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
        if let (Some(entry), Some(made)) = (gone, &mut self.made) {
            self.neighbours.forget(made, entry);
        }
        Ok(())
    }

    fn make_room(&mut self, room: Room) -> io::Result<()> {
        self.made = Some(Made::new(room)?);
        if let Some(reassembly) = &mut self.reassembly {
            reassembly.set_longest(room.frame);
        }
        Ok(())
    }

    fn tick(&mut self, now: Ticks) {
        if let Some(made) = &mut self.made {
            self.neighbours.tick((&mut self.state, made), now);
        }
        if let Some(reassembly) = &mut self.reassembly {
            self.tallies[Tally::FragmentsGivenUp as usize] += reassembly.expire(now);
        }
    }

    fn made(&mut self, _: Ticks) -> Option<&mut Batch> {
        let made = self.made.as_mut()?;
        self.tallies[Tally::MadeFull as usize] = made.refused();
        made.lend()
    }

    fn tallies(&self) -> &[u64] {
        &self.tallies
    }

    fn state_bytes(&self) -> usize {
        self.state.bytes() + self.reassembly.as_ref().map_or(0, Reassembly::bytes)
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
        let (plain, checks) = (PlainFrames::new(&self.state.gateway), self.check_ports);
        for slot in batch.slots() {
            batch.look_ahead(slot);
            match plain.recognise(batch.frame(slot)) {
                Plain::Uplink { teid, inner } if !(checks && batch.port(slot) == CORE) => {
                    self.way.enter_uplink(slot, teid, inner);
                }
                Plain::Downlink(inner) if !(checks && batch.port(slot) == ACCESS) => {
                    batch.look_in_front(slot);
                    self.way.enter_downlink(slot, inner);
                }
                _ => self.check_fully(batch, slot, now),
            }
        }
    }

    /// Tunnel identifier to bearer for uplink packets, user's address to bearer for downlink ones.
    fn find_bearer(&mut self, batch: &mut Batch) {
        let way = &mut self.way;
        let State { by_teid, by_ipv4, by_ipv6, bearers, counts, fakedrop, .. } = &self.state;
        let mut unmatched = Unmatched::new(*fakedrop, &mut way.refused, &mut self.tallies);

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
            prefetch_at(counts, index as usize);
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
        let counts = &mut *self.state.counts;
        let (inner, bearer) = (&way.inner, &way.bearer);
        way.uplink.retain(|slot| {
            let index = usize::from(slot);
            let number = bearer[index] as usize;
            let bearer = &mut bearers[number];
            let inner = &inner[index];
            if !bearer.has(&inner.addresses) {
                batch.set_verdict(slot, reasons::drop(reasons::SPOOFED_SOURCE));
                return false;
            }
            let conforms = bearer.uplink.conforms(now, u32::from(inner.len));
            if let Some(counts) = counts.get_mut(number) {
                counts.uplink.note(conforms, inner.len);
            }
            if !conforms {
                batch.set_verdict(slot, reasons::drop(reasons::RATE_EXCEEDED));
            }
            conforms
        });
        way.downlink.retain(|slot| {
            let index = usize::from(slot);
            let number = bearer[index] as usize;
            let bearer = &mut bearers[number];
            let conforms = bearer.downlink.conforms(now, u32::from(inner[index].len));
            if let Some(counts) = counts.get_mut(number) {
                counts.downlink.note(conforms, inner[index].len);
            }
            if !conforms {
                batch.set_verdict(slot, reasons::drop(reasons::RATE_EXCEEDED));
            }
            conforms
        });
    }

    /// Whether a packet for the user of a bearer keeps to its rate.
    pub(super) fn meter_downlink(&mut self, bearer: u32, len: u16, now: Ticks) -> bool {
        let State { bearers, counts, .. } = &mut self.state;
        let Some(one) = bearers.get_mut(bearer as usize) else { return false };
        let conforms = one.downlink.conforms(now, u32::from(len));
        if let Some(counts) = counts.get_mut(bearer as usize) {
            counts.downlink.note(conforms, len);
        }
        conforms
    }

    /// Uplink: the tunnel's headers go, the user's packet makes a hop.
    fn decapsulate(&mut self, batch: &mut Batch, now: Ticks) {
        let shortest = self.lengths.shortest();
        for index in 0..self.way.uplink.len() {
            let slot = self.way.uplink.as_slice()[index];
            match self.way.inner[usize::from(slot)].len > shortest {
                true => self.way.long.push(slot),
                false => self.take_out(batch, slot),
            }
        }
        if !self.way.long.is_empty() {
            self.fit_uplink(batch, now);
        }
    }

    /// A user's packet leaves its tunnel, makes a hop, and goes on to be routed.
    #[inline(always)]
    pub(super) fn take_out(&mut self, batch: &mut Batch, slot: Slot) {
        let index = usize::from(slot);
        let inner = self.way.inner[index];
        batch.pull_front(slot, usize::from(inner.offset) - ethernet::HEADER_LEN);
        batch.truncate(slot, ethernet::HEADER_LEN + usize::from(inner.len));
        self.make_hop(batch, slot);
        let ether_type = match inner.addresses {
            Addresses::V4 { destination, .. } => {
                self.way.destination[index] = destination;
                self.way.routed.push(slot);
                ethernet::TYPE_IPV4
            }
            Addresses::V6 { .. } => {
                self.way.routed_ipv6.push(slot);
                ethernet::TYPE_IPV6
            }
        };
        if let Some(header) = batch.frame_mut(slot).first_chunk_mut::<{ ethernet::HEADER_LEN }>() {
            header[ethernet::offset::TYPE..].copy_from_slice(&ether_type.to_be_bytes());
        }
    }

    /// A user's packet behind an Ethernet header makes a hop.
    #[inline(always)]
    pub(super) fn make_hop(&mut self, batch: &mut Batch, slot: Slot) {
        let Some(packet) = batch.frame_mut(slot).get_mut(ethernet::HEADER_LEN..) else { return };
        let inner = &self.way.inner[usize::from(slot)];
        inner.make_hop(packet);
        let is_ipv6 = matches!(inner.addresses, Addresses::V6 { .. });
        if self.mss_clamp != 0 && clamp(packet, is_ipv6, self.mss_clamp) {
            self.tallies[Tally::MssClamped as usize] += 1;
        }
    }

    /// Downlink: the user's packet makes a hop, and goes into a tunnel to the user's base station.
    fn encapsulate(&mut self, batch: &mut Batch, now: Ticks) {
        let most = self.lengths.tunnelled();
        for index in 0..self.way.downlink.len() {
            let slot = self.way.downlink.as_slice()[index];
            let len = self.way.inner[usize::from(slot)].len;
            if len > most {
                self.way.long.push(slot);
                continue;
            }
            batch.truncate(slot, ethernet::HEADER_LEN + usize::from(len));
            self.make_hop(batch, slot);
            if self.put_into_tunnel(batch, slot) {
                self.way.routed.push(slot);
            }
        }
        if !self.way.long.is_empty() {
            self.fit_downlink(batch, now);
        }
    }

    /// A packet without padding goes into the tunnel of its bearer, and is to be routed; whether
    /// there is room for that.
    #[inline(always)]
    pub(super) fn put_into_tunnel(&mut self, batch: &mut Batch, slot: Slot) -> bool {
        let index = usize::from(slot);
        let bearer = &self.state.bearers[self.way.bearer[index] as usize];
        let base_station = self.state.base_stations[bearer.base_station as usize];
        let is_ipv6 = matches!(self.way.inner[index].addresses, Addresses::V6 { .. });
        let pushed = self.encapsulation.push(batch, slot, base_station, bearer.teid, is_ipv6);
        if pushed.is_none() {
            batch.set_verdict(slot, reasons::drop(reasons::TOO_LONG));
            return false;
        }
        self.way.destination[index] = base_station;
        true
    }

    /// Longest-prefix match of the destination, the outer one where there is a tunnel.
    fn route(&mut self, batch: &mut Batch) {
        let way = &mut self.way;
        let state = &self.state;
        let State { routes, routes_ipv6, fakedrop, .. } = state;
        let mut unmatched = Unmatched::new(*fakedrop, &mut way.refused, &mut self.tallies);
        let (destination, hop, inner) = (&way.destination, &mut way.hop, &way.inner);
        let crossing = &mut way.crossing;
        way.routed.retain(|slot| {
            let index = usize::from(slot);
            match routes.lookup(destination[index]) {
                Some(next) if state.is_users(next) && inner[index].is_tunnelled() => {
                    crossing.push(slot);
                    return false;
                }
                Some(next) => hop[index] = next,
                None => return unmatched.leaves_unrouted(batch, slot, &inner[index]),
            }
            true
        });
        for &slot in way.routed_ipv6.as_slice() {
            let index = usize::from(slot);
            match routes_ipv6.lookup(inner[index].addresses.ipv6_destination()) {
                Some(next) if state.is_users(next) => crossing.push(slot),
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
        let Some(made) = &mut self.made else { return };
        for &slot in self.way.routed.as_slice() {
            if batch.verdict(slot) != reasons::drop(reasons::UNRESOLVED) {
                continue;
            }
            let entry = self.way.hop[usize::from(slot)];
            if let Some((port, address)) = self.state.neighbour(entry) {
                let packet = (batch.port(slot), batch.frame(slot));
                let verdict = self.neighbours.wait(made, packet, (entry, port, address), now);
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
            host: Host::new(config, &clock),
            lengths: Lengths::new(config, (shard.index, shard.count)),
            made: None,
            uncut: Vec::new(),
            cut: Vec::new(),
            piece: Vec::new(),
            reassembly: Reassembly::new(config, &clock)?,
            user_to_user: config.user_to_user,
            check_ports: config.check_ports,
            shard,
            steering: steering::of_config(config),
            tallies: [0; TALLIES.len()],
        })
    }

    /// Says what the links of a port take.
    pub(super) fn set_mtu(&mut self, port: PortId, mtu: u16) {
        self.lengths.set_mtu(port, mtu);
    }

    /// The state, to look at it.
    pub fn state(&self) -> &State {
        &self.state
    }
}
