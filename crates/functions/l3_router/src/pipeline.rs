//! A packet's way through a router, from top to bottom: [`Function::process`] is the list of
//! stages.
//!
//! Each stage is a function over the packets that are still on their way; a stage that looks
//! something up first touches what the whole batch needs, then uses it, so that a batch waits for
//! memory about once. Packets that leave the way have their verdict at that moment. What a
//! configuration does not ask for is left out by one question a batch (`Features`).
use std::io;
use std::ops::Range;

use engine::plane::{self, Context};
use engine::{Drops, Event, Function, Refusal, StageClock};
use function_kit::{SetupError, Shard};
use machine::clock::{Clock, Ticks};
use packet::{Batch, Made, PortId, Room, Slot, Verdict};
use protocol_bfd::sockets;
use stages::{arp, nd, punt};
use wire::{ethernet, ipv4, ipv6};

use super::advertise::Advertiser;
use super::config::Config;
use super::control::{Said, Update};
use super::groups;
use super::host::Host;
use super::interfaces::{Unknown, own_of};
use super::liveness::Liveness;
use super::neighbours::Neighbours;
use super::parse::{Class, Plain, classify};
use super::reasons::{self, TALLIES, Tallies, Tally};
use super::reassembly::{self, Reassembly};
use super::reverse_path;
use super::route;
use super::scratch::Scratch;
use super::services::Services;
use super::state::State;
use super::watched::Watched;
use super::workers::Workers;

/// A running router on one worker.
pub struct Pipeline {
    pub(super) state: State,
    features: Features,
    /// What frames without anything special look like; taken out while a batch is checked.
    plain: Plain,
    pub(super) services: Services,
    pub(super) scratch: Scratch,
    pub(super) host: Option<Host>,
    pub(super) neighbours: Option<Neighbours>,
    pub(super) liveness: Option<Liveness>,
    pub(super) workers: Workers,
    pub(super) advertiser: Option<Advertiser>,
    pub(super) watched: Watched,
    reassembly: Option<Reassembly>,
    pub(super) made: Option<Made>,
    /// Where a fragment is reassembled.
    pub(super) datagram: Vec<u8>,
    makes: bool,
    pub(super) tallies: Tallies,
}

/// What the configuration asks for beside forwarding by one table between ports.
#[derive(Clone, Copy, Debug)]
struct Features {
    /// Interfaces and what depends on them, VLANs, VRFs, MTUs; and the router as a host.
    interfaces: bool,
    /// Interfaces of more than one table.
    vrfs: bool,
    /// Some interface asks for a route to the source.
    reverse_path: bool,
    /// Routes lead to groups of next hops.
    groups: bool,
}

/// The stages in the packet's order, as [`Function::STAGES`] names them.
#[derive(Clone, Copy)]
enum Stage {
    Check,
    ReversePath,
    Reassemble,
    Admit,
    Route,
    Spread,
    Dismiss,
    Exit,
    Rewrite,
}

impl Function for Pipeline {
    type Update = Said;
    const STAGES: &'static [&'static str] = &[
        "check",
        "reverse-path",
        "reassemble",
        "admit",
        "route",
        "spread",
        "dismiss",
        "exit",
        "rewrite",
    ];
    const DROPS: Drops = Drops(reasons::NAMES);
    const TALLIES: &'static [&'static str] = TALLIES;
    const PUNTS: &'static [&'static str] = punt::NAMES;

    fn process(&mut self, batch: &mut Batch, now: Ticks, stages: &mut StageClock<'_>) {
        let features = self.features;
        let came = self.inject(batch);
        let came = self.hear_workers(batch, now)..came;
        match features.interfaces {
            false => self.check(batch, came),
            true => self.check_by_interface(batch, came, now),
        }
        stages.lap(Stage::Check as usize, batch.len());
        if features.reverse_path {
            reverse_path::reverse_path(&self.state, &mut self.scratch, batch);
            stages.lap(Stage::ReversePath as usize, batch.len());
        }
        if let Some(reassembly) = &mut self.reassembly {
            let of = (&self.state, features.interfaces);
            let with = (reassembly, &mut self.tallies);
            reassembly::reassemble(with, of, &mut self.scratch, batch, now);
            stages.lap(Stage::Reassemble as usize, batch.len());
        }
        if self.services.admits() {
            let Pipeline { services, state, scratch, .. } = self;
            services.admit(state, scratch, batch, features.interfaces, now);
            self.count_services();
            stages.lap(Stage::Admit as usize, batch.len());
        }
        match features.interfaces {
            false => {
                let without = route::route(&self.state, &mut self.scratch, batch);
                let sent = if self.state.fakedrop { without } else { 0 };
                self.tallies[Tally::Fakedropped as usize] += sent;
            }
            true if features.vrfs => {
                route::route_by_vrf(&self.state, &mut self.scratch, batch.len())
            }
            true => route::route_all(&self.state, &mut self.scratch, batch.len()),
        }
        stages.lap(Stage::Route as usize, batch.len());
        if features.groups {
            groups::spread(self.state.groups.as_ref(), &mut self.scratch, batch);
            stages.lap(Stage::Spread as usize, batch.len());
        }
        if self.services.dismisses() {
            self.services.dismiss(&self.state, &mut self.scratch, batch, now);
            self.count_services();
            stages.lap(Stage::Dismiss as usize, batch.len());
        }
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

    fn apply(&mut self, update: Said, now: Ticks) -> Result<(), Refusal> {
        let state = &self.state;
        let update = update.by_numbers(|name| state.named(name).ok_or(Refusal::NotFound))?;
        self.change(update, now)
    }

    fn reads_datagrams(&self) -> &'static [u16] {
        &[sockets::CONTROL, sockets::ECHO, sockets::MULTIHOP]
    }

    fn make_room(&mut self, room: Room) -> io::Result<()> {
        if self.makes {
            self.made = Some(Made::new(room)?);
            self.datagram.reserve(room.headroom + room.frame);
        }
        Ok(())
    }

    fn context(&self, batch: &Batch, slot: Slot) -> Context {
        let interface = self.scratch.interface[usize::from(slot)];
        let vlan = self.state.interfaces.get(interface).vlan;
        let source = punt::source_of(batch.frame(slot));
        Context { interface, vlan, session: 0, source }
    }

    fn tick(&mut self, now: Ticks) {
        self.ask_neighbours(now);
        self.keep_sessions(now);
        self.advertise(now);
    }

    fn event(&mut self) -> Option<Event> {
        let of_hops = self.liveness.as_mut().and_then(Liveness::event);
        of_hops.or_else(|| self.watched.event())
    }

    fn link(&mut self, port: PortId, is_up: bool) {
        self.state.set_link(port, is_up);
        self.advertiser.iter_mut().for_each(|all| all.set_link(port, is_up));
        self.state.reach_tunnels();
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
        let reassembly = self.reassembly.as_ref().map_or(0, Reassembly::bytes);
        self.state.bytes() + self.services.bytes() + reassembly
    }
}

impl Pipeline {
    /// The router that the configuration describes, on one worker.
    ///
    /// # Errors
    /// When its state does not fit.
    pub fn new(config: &Config, clock: Clock, now: Ticks) -> Result<Pipeline, SetupError> {
        Pipeline::of_worker(config, Shard::WHOLE, clock, now)
    }

    /// The same on one of several workers.
    ///
    /// # Errors
    /// When its state does not fit.
    pub fn of_worker(
        config: &Config,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Pipeline, SetupError> {
        let features = Features {
            interfaces: !config.is_plain(),
            vrfs: config.vrfs > 0,
            reverse_path: config.interfaces.iter().any(|one| !one.urpf.is_none()),
            groups: config.groups_max() > 0,
        };
        let state = State::new(config)?;
        let reassembly = Reassembly::new(config, clock)
            .map_err(|source| SetupError::Memory { what: "fragmented datagrams", source })?;
        let workers = Workers::new(config, shard, clock, now);
        let liveness = Liveness::new(config, workers.is_first(), clock, now);
        let mut pipeline = Pipeline {
            services: Services::new(config, clock, now)?,
            plain: Plain::new(&state),
            state,
            features,
            scratch: Scratch::new(),
            host: Host::new(config, clock),
            neighbours: Neighbours::new(config, clock),
            liveness,
            workers,
            advertiser: Advertiser::new(config, clock, now),
            watched: Watched::new(shard.index == 0),
            reassembly,
            made: None,
            datagram: Vec::new(),
            makes: config.resolve
                || config.icmp_errors_per_s > 0
                || config.interfaces.iter().any(|one| one.mtu > 0)
                || config.bfd_sessions_max() > 0,
            tallies: [0; TALLIES.len()],
        };
        for (number, next_hop) in config.all_next_hops() {
            pipeline.watch(&Update::SetNextHop { number, next_hop }, now);
        }
        Ok(pipeline)
    }

    /// The neighbours that were asked for, where the router asks.
    pub(super) fn neighbours(&self) -> Option<&Neighbours> {
        self.neighbours.as_ref()
    }

    /// Datagrams whose ports are remembered at present, and most that can be.
    pub fn datagrams(&self) -> (usize, usize) {
        self.reassembly.as_ref().map_or((0, 0), Reassembly::sizes)
    }

    /// The state, to look at it.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Packets that the link of a port does not carry do not leave by it as they are.
    pub fn set_mtu(&mut self, port: PortId, mtu: u16) {
        self.state.interfaces.set_mtu(port, mtu);
    }

    /// Takes the rates of the first of some workers for its own.
    pub fn join(&mut self, first: &mut Pipeline, workers: usize) {
        self.services.police.join(&mut first.services.police, workers);
        self.services.samples.join(&mut first.services.samples);
        if let (Some(own), Some(first)) = (&mut self.host, &mut first.host) {
            own.join(first);
        }
    }

    /// The access lists and policers, to look at them.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// Takes the packets that rules have kept for the log, in words.
    pub fn lines(&mut self) -> Vec<String> {
        self.services.samples.take(self.state.interfaces.ports())
    }

    /// The policers' own tallies are the function's, and so are those of packets for the log.
    fn count_services(&mut self) {
        let [kept, lost] = self.services.samples.counts();
        self.tallies[Tally::RulesLogged as usize] = kept;
        self.tallies[Tally::RulesUnlogged as usize] = lost;
        let colours = [Tally::Green, Tally::Yellow, Tally::Red];
        for (tally, count) in colours.into_iter().zip(self.services.police.tallies()) {
            self.tallies[tally as usize] = count;
        }
    }

    /// Frames of the host, which come last, leave as they are by the interface that they name;
    /// returns the number of frames that came in by ports.
    fn inject(&mut self, batch: &mut Batch) -> usize {
        let mut came = batch.len();
        while came > 0 && batch.port((came - 1) as Slot) == PortId::HOST {
            came -= 1;
            let slot = came as Slot;
            let interface = plane::split(batch, slot).unwrap_or(u16::MAX);
            let verdict = self.state.interfaces.inject(batch, slot, interface);
            let leaves = matches!(verdict, Verdict::Forward(_));
            self.tallies[Tally::Injected as usize] += u64::from(leaves);
            batch.set_verdict(slot, verdict);
        }
        came
    }

    /// Is the frame for this router and in order, and where does it go? The plain cases by a few
    /// comparisons, everything else by the full parser. What is behind the packet goes.
    fn check(&mut self, batch: &mut Batch, came: Range<usize>) {
        self.scratch.ipv4.clear();
        self.scratch.ipv6.clear();
        let plain = std::mem::take(&mut self.plain);
        for slot in batch.slots().take(came.end).skip(came.start) {
            batch.look_ahead(slot);
            let at = (batch.port(slot), own_of(batch.port(slot)));
            match plain.recognise(batch.frame(slot), at, self.state.interfaces.virtuals()) {
                Some(class) => self.enter(batch, slot, class),
                None => self.check_fully(batch, slot, own_of(batch.port(slot))),
            }
        }
        self.plain = plain;
    }

    /// The same where interfaces are told apart: by which one does the frame come in? Tags go.
    fn check_by_interface(&mut self, batch: &mut Batch, came: Range<usize>, now: Ticks) {
        let asks = self.neighbours.is_some();
        let tunnels = self.state.interfaces.has_tunnels();
        self.scratch.ipv4.clear();
        self.scratch.ipv6.clear();
        let plain = std::mem::take(&mut self.plain);
        for slot in batch.slots().take(came.end).skip(came.start) {
            batch.look_ahead(slot);
            batch.look_in_front(slot);
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
            let interface = match tunnels {
                false => Ok(interface),
                true => self.state.interfaces.come_out(batch, slot, interface),
            };
            let Ok(interface) = interface else {
                batch.set_verdict(slot, reasons::drop(reasons::UNKNOWN_TUNNEL));
                continue;
            };
            self.scratch.interface[usize::from(slot)] = interface;
            let is_discovery = asks && nd::is_one(batch.frame(slot));
            let (at, virtuals) = ((batch.port(slot), interface), self.state.interfaces.virtuals());
            let class = plain.recognise(batch.frame(slot), at, virtuals);
            let is_odd = is_discovery || self.state.interfaces.seeks(interface);
            match class.filter(|_| !is_odd) {
                Some(class) => self.enter(batch, slot, class),
                None => self.check_oddly(batch, slot, interface, now),
            }
        }
        self.plain = plain;
    }

    #[inline(always)]
    fn enter(&mut self, batch: &mut Batch, slot: Slot, class: Class) {
        match class {
            Class::V4 { destination, len } => {
                batch.truncate(slot, usize::from(len));
                self.scratch.destination[usize::from(slot)] = destination;
                self.scratch.ipv4.push(slot);
            }
            Class::V6 { destination, len } => {
                batch.truncate(slot, usize::from(len));
                self.scratch.destination_ipv6[usize::from(slot)] = destination;
                self.scratch.ipv6.push(slot);
            }
            Class::Arp | Class::Options(_) | Class::Drop(_) => {}
        }
    }

    #[inline(never)]
    pub(super) fn check_fully(&mut self, batch: &mut Batch, slot: Slot, interface: u16) {
        match classify(batch.frame(slot), interface, &self.state) {
            Class::Arp => self.answer_arp(batch, slot, interface),
            Class::Options(_) => batch.set_verdict(slot, reasons::drop(reasons::OPTIONS)),
            Class::Drop(reason) => batch.set_verdict(slot, reasons::drop(reason)),
            class @ (Class::V4 { .. } | Class::V6 { .. }) => self.enter(batch, slot, class),
        }
    }

    pub(super) fn answer_arp(&mut self, batch: &mut Batch, slot: Slot, interface: u16) {
        self.tallies[Tally::ArpAnswered as usize] += 1;
        let interfaces = &self.state.interfaces;
        let asked = interfaces.virtuals().asked_by_arp(batch.frame(slot), interface);
        let mac = asked.unwrap_or(interfaces.get(interface).mac.0);
        batch.truncate(slot, arp::REPLY_LEN);
        arp::answer(batch.frame_mut(slot), mac);
        let back = Verdict::Forward(batch.port(slot));
        let verdict = self.state.interfaces.send(batch, slot, interface, back);
        batch.set_verdict(slot, verdict);
    }

    /// The Ethernet header of the next hop, one hop less to go, and out.
    fn rewrite(&mut self, batch: &mut Batch) {
        let hops = &self.state.hops;
        for &slot in self.scratch.ipv4.as_slice() {
            let hop = &hops[self.scratch.hop[usize::from(slot)] as usize];
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
        for &slot in self.scratch.ipv6.as_slice() {
            let hop = &hops[self.scratch.hop[usize::from(slot)] as usize];
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
        for slots in [&self.scratch.ipv4, &self.scratch.ipv6] {
            for &slot in slots.as_slice() {
                let hop = &hops[self.scratch.hop[usize::from(slot)] as usize];
                if matches!(hop.verdict, Verdict::Forward(_)) {
                    let verdict = interfaces.send(batch, slot, hop.interface, hop.verdict);
                    batch.set_verdict(slot, verdict);
                }
            }
        }
    }
}
