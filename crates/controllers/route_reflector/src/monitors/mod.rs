//! Collectors of BMP (RFC 7854, RFC 9069): what the table has, told to those who watch.
//!
//! ```text
//!  groups of the reflector: kind `collector` --UPDATEs, encoded once--> Monitor: a header in front
//!                                                       of each --> stream to the collector
//! ```
//! A collector is a reader of the streams of its groups, as a peer is: it is told the table by a
//! walk when it comes, and the changes beside that; one that lags is told the present state of what
//! has changed, each route once, as soon as it takes bytes again. One that takes nothing for its
//! patience loses its session. Routing waits for none of them.
//!
//! What peers tell goes to those that want it (Adj-RIB-In) in a queue of its own.
//!
//! The files in reading order: [`keys`] is what an operator says, `speakers` are peers as
//! collectors get them, `heard` is what waits for a collector of that, `hearing` what they
//! tell, [`Monitors`] has both.

pub mod keys;

mod speakers;

mod heard;

mod hearing;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use protocol_bgp::builder::Writing;
use protocol_bgp::capabilities::Capability;
use protocol_bgp::families::{FAMILIES, Family, FamilySet};
use protocol_bgp::message::EXTENDED_LEN_MAX;
use protocol_bgp::open::Open;
use protocol_bmp::collector::{self, Collector, Event};
use protocol_bmp::message::{self, Figure, PeerHeader, PeerKind, Termination, Up};
use protocol_kit::{Arrival, Bytes, Departure, Neighbour, Random, Socket, StreamOptions, Time};
use serde_json::{Value, json};

use crate::config::Config;
use crate::groups::Identity;
use crate::own::Kind;
use crate::peers::PEERS_MAX;
use crate::reflector::Reflector;
use heard::Heard;
use keys::{BmpKeys, What};
pub(crate) use speakers::Ends;
use speakers::Speakers;

/// All collectors.
#[derive(Debug)]
pub(crate) struct Monitors {
    all: Vec<Monitor>,
    asn: u32,
    identifier: u32,
    families: FamilySet,
    /// Peers with a session, where some collector gets what they tell.
    speakers: Speakers,
    /// Those of which a collector that has come does not know what they have told.
    unheard: BTreeSet<u16>,
    /// How long after the beginning of 1970 the time of the machine began.
    began: Duration,
}

/// A collector.
#[derive(Debug)]
struct Monitor {
    keys: BmpKeys,
    collector: Collector,
    name: String,
    /// What peers tell, if it is told that.
    heard: Option<Heard>,
    /// Whether that comes next where there is something of both.
    is_heard_next: bool,
    /// How often it is told figures; zero for never.
    statistics_every: Duration,
    /// When it is told figures next, while its session stands.
    statistics_at: Option<Time>,
    /// What departs next, and how much of that has.
    draft: Vec<u8>,
    departing: Bytes,
}

impl Monitors {
    /// The collectors that the configuration names, which are looked for from now on.
    pub fn new(config: &Config, random: &mut Random) -> Monitors {
        let (asn, identifier) = (config.asn, config.identifier.to_bits());
        let (all, speakers, families) = (Vec::new(), Speakers::new(), families_of(config));
        let (began, unheard) = (Duration::ZERO, BTreeSet::new());
        let mut all = Monitors { all, asn, identifier, families, speakers, unheard, began };
        config.bmp.iter().for_each(|keys| all.add(config, keys, random));
        all
    }

    fn add(&mut self, config: &Config, keys: &BmpKeys, random: &mut Random) {
        let session = collector::Config {
            to: SocketAddr::new(keys.address, keys.port),
            local: keys.local,
            patience: Duration::from_secs(keys.patience_s.into()),
            options: StreamOptions::default(),
        };
        let free = self.all.iter().position(|monitor| monitor.collector.is_over());
        let at = free.unwrap_or(self.all.len());
        let monitor = Monitor {
            collector: Collector::new(session, Socket(SOCKETS + at as u32), random.bits()),
            name: keys.system_name.clone().unwrap_or_else(|| config.identifier.to_string()),
            heard: keys.what.contains(&What::AdjRibIn).then(Heard::default),
            is_heard_next: false,
            statistics_every: Duration::from_secs(keys.statistics_every_s.into()),
            statistics_at: None,
            draft: Vec::new(),
            departing: Bytes::new(),
            keys: keys.clone(),
        };
        match self.all.get_mut(at) {
            Some(place) => *place = monitor,
            None => self.all.push(monitor),
        }
    }

    /// Takes other collectors: those that are gone are told so, new ones are looked for, and others
    /// go on, unless the families of the table are others. Those that were gone before do not close
    /// their connections in good order any more.
    pub fn change(
        &mut self,
        config: &Config,
        (reflector, random): (&mut Reflector, &mut Random),
        now: Time,
    ) {
        let families = families_of(config);
        let is_same = std::mem::replace(&mut self.families, families) == families;
        let mut wanted: Vec<&BmpKeys> = config.bmp.iter().collect();
        for at in 0..self.all.len() {
            let monitor = &mut self.all[at];
            monitor.collector.abandon();
            let place = wanted.iter().position(|keys| **keys == monitor.keys);
            match place.filter(|_| is_same && !monitor.collector.is_ended()) {
                Some(place) => drop(wanted.remove(place)),
                None => self.end(at, Some(&mut *reflector), now),
            }
        }
        wanted.into_iter().for_each(|keys| self.add(config, keys, random));
        if !self.hears() {
            self.speakers.clear();
        }
    }

    /// The export to all collectors says that this is the end.
    pub fn stop(&mut self, now: Time) {
        (0..self.all.len()).for_each(|at| self.end(at, None, now));
    }

    /// Nothing more is exported to a collector (RFC 7854 section 4.5).
    fn end(&mut self, at: usize, reflector: Option<&mut Reflector>, now: Time) {
        let monitor = &mut self.all[at];
        let mut last = std::mem::take(&mut monitor.departing).to_vec();
        message::termination(Termination::Administrative, &mut last);
        monitor.collector.end(last.into(), now);
        (monitor.statistics_at, monitor.heard) = (None, None);
        monitor.draft.clear();
        reflector.into_iter().for_each(|reflector| reflector.unwatch(READERS + at as u16));
    }

    /// The clock of the host is known, or another one than before.
    pub fn set_clock(&mut self, began: Duration) {
        self.began = began;
    }

    /// Takes what has arrived of a collector; false if it is for somebody else.
    pub fn arrive(&mut self, arrival: &Arrival<'_>, reflector: &mut Reflector, now: Time) -> bool {
        let (Arrival::Connected { socket, .. }
        | Arrival::Bytes { socket, .. }
        | Arrival::Taken { socket, .. }
        | Arrival::Finished { socket }
        | Arrival::Failed { socket }) = *arrival
        else {
            return false;
        };
        let at = socket.0.checked_sub(SOCKETS).map(|at| at as usize);
        let Some((at, monitor)) = at.and_then(|at| Some((at, self.all.get_mut(at)?))) else {
            return false;
        };
        let collector = &mut monitor.collector;
        let event = match *arrival {
            Arrival::Connected { .. } => collector.connected(now),
            Arrival::Finished { .. } => collector.finished(now),
            Arrival::Failed { .. } => collector.failed(now),
            Arrival::Taken { count, .. } => {
                collector.taken(count, now);
                None
            }
            // A collector has nothing to say (RFC 7854 section 3.2).
            _ => None,
        };
        self.become_of(at, event, reflector, now);
        true
    }

    /// Returns the peers of which a collector that has come does not know what they have told: who
    /// is asked again tells it all.
    pub fn take_unheard(&mut self) -> BTreeSet<u16> {
        std::mem::take(&mut self.unheard)
    }

    /// Lets time pass.
    pub fn tick(&mut self, reflector: &mut Reflector, now: Time) {
        for at in 0..self.all.len() {
            let monitor = &mut self.all[at];
            let is_full = monitor.heard.as_ref().is_some_and(|heard| heard.is_full);
            let event = match is_full {
                true => monitor.collector.stalled(now),
                false => monitor.collector.tick(now),
            };
            self.become_of(at, event, reflector, now);
            if self.all[at].statistics_at.is_some_and(|at| at <= now) {
                let (header, micros) = (self.header(now), self.micros(now));
                let Monitors { all, speakers, .. } = &mut *self;
                let monitor = &mut all[at];
                monitor.statistics_at = Some(now.after(monitor.statistics_every));
                // Who takes nothing needs no more figures.
                if monitor.draft.is_empty() && monitor.keys.what.contains(&What::LocRib) {
                    message::statistics(&header, &figures(reflector), &mut monitor.draft);
                }
                if let Some(heard) = &mut monitor.heard {
                    let mut out = Vec::new();
                    for (peer, speaker) in speakers {
                        let figures = speakers::figures_of(reflector, *peer);
                        message::statistics(&speaker.header(micros), &figures, &mut out);
                    }
                    heard.push(&Bytes::from(out));
                }
            }
        }
    }

    fn become_of(&mut self, at: usize, event: Option<Event>, reflector: &mut Reflector, now: Time) {
        let Some(event) = event else { return };
        let (header, open, reader) = (self.header(now), self.open(), READERS + at as u16);
        let (families, micros) = (self.families, self.micros(now));
        let Monitors { all, speakers, unheard, .. } = self;
        let monitor = &mut all[at];
        monitor.draft.clear();
        monitor.departing = Bytes::new();
        match event {
            Event::Up => {
                message::initiation(DESCRIPTION, &monitor.name, &mut monitor.draft);
                if monitor.keys.what.contains(&What::LocRib) {
                    // The table has no name: tshark takes what follows the OPENs for another
                    // message.
                    let up = Up { local: None, ports: [0; 2], opens: [&open[..]; 2], table: "" };
                    message::peer_up(&header, &up, &mut monitor.draft);
                    reflector.watch(reader, families.iter().map(identity));
                }
                if let Some(heard) = &mut monitor.heard {
                    // What a policy has left of routes is not what was told.
                    let all = speakers.keys().copied();
                    let is_as_told = |peer: &u16| reflector.takes_as_told(*peer);
                    let (as_told, others): (BTreeSet<u16>, BTreeSet<u16>) =
                        all.partition(is_as_told);
                    heard.begin(speakers, as_told, micros);
                    unheard.extend(others);
                }
                let every = monitor.statistics_every;
                monitor.statistics_at = (!every.is_zero()).then(|| now.after(every));
            }
            Event::Down => {
                monitor.statistics_at = None;
                monitor.heard.iter_mut().for_each(|heard| *heard = Heard::default());
                reflector.unwatch(reader);
            }
        }
    }

    /// What messages are about: the own table.
    fn header(&self, now: Time) -> PeerHeader {
        PeerHeader {
            kind: PeerKind::LocRib,
            distinguisher: [0; 8],
            address: None,
            asn: self.asn,
            identifier: self.identifier,
            micros: self.micros(now),
            is_narrow: false,
        }
    }

    /// The time of day, in microseconds since 1970.
    fn micros(&self, now: Time) -> u64 {
        let micros = self.began.as_micros() + u128::from(now.0 / 1000);
        u64::try_from(micros).unwrap_or(u64::MAX)
    }

    /// The OPEN that stands for what UPDATEs look like (RFC 9069 section 4.4).
    fn open(&self) -> Vec<u8> {
        let families = || self.families.iter().map(Family::row);
        let extended = families().filter(|row| !row.extended_next_hops.is_empty());
        let extended = extended.map(|row| (row.afi, u16::from(row.safi), 2)).collect();
        let mut capabilities: Vec<Capability> =
            families().map(|row| Capability::Multiprotocol(row.afi, row.safi)).collect();
        capabilities.extend([
            Capability::ExtendedNextHop(extended),
            Capability::ExtendedMessage,
            Capability::FourOctetAs(self.asn),
        ]);
        let (asn, identifier) = (self.asn, self.identifier);
        let mut out = Vec::new();
        Open { asn, hold_time_s: 0, identifier, capabilities }.write(&mut out);
        out
    }

    /// Returns whether a reader takes bytes; none if it is no collector's.
    pub fn is_ready(&self, reader: u16) -> Option<bool> {
        let monitor = self.all.get(usize::from(reader.checked_sub(READERS)?))?;
        Some(monitor.collector.room() > 0)
    }

    /// Hands collectors what they are told, each one piece. Returns whether there was something.
    pub fn fill(&mut self, reflector: &mut Reflector, now: Time) -> bool {
        let (header, micros) = (self.header(now), self.micros(now));
        let Monitors { all, speakers, .. } = self;
        let mut has_sent = false;
        for (at, monitor) in all.iter_mut().enumerate() {
            let room = monitor.collector.room();
            if room == 0 {
                continue;
            }
            let Monitor { heard, draft, departing, is_heard_next, .. } = monitor;
            if let Some(heard) = heard {
                has_sent |= heard.walk(speakers, reflector, micros);
            }
            if departing.is_empty() {
                *departing = Bytes::from(std::mem::take(draft));
            }
            // Of both in turns.
            for _ in 0..2 {
                *is_heard_next = !*is_heard_next;
                if !departing.is_empty() {
                    break;
                }
                if *is_heard_next {
                    *departing = heard.as_mut().map(Heard::pop).unwrap_or_default();
                } else if let Some(messages) = reflector.next(READERS + at as u16, usize::MAX) {
                    let mut out = Vec::new();
                    message::route_monitoring(&header, &messages, &mut out);
                    *departing = out.into();
                }
            }
            let len = monitor.departing.len().min(room);
            if len > 0 {
                monitor.collector.send(monitor.departing.split_to(len), now);
                has_sent = true;
            }
        }
        has_sent
    }

    /// Returns what is wanted of the network next.
    pub fn poll(&mut self) -> Option<Departure> {
        self.all.iter_mut().find_map(|monitor| monitor.collector.poll())
    }

    /// Returns when there is something to do.
    pub fn deadline(&self) -> Option<Time> {
        let due = |monitor: &Monitor| {
            monitor.collector.deadline().into_iter().chain(monitor.statistics_at).min()
        };
        self.all.iter().filter_map(due).min()
    }

    /// Returns them as neighbours.
    pub fn neighbours(&self, now: Time) -> impl Iterator<Item = Neighbour> {
        let all = self.all.iter().filter(|monitor| !monitor.collector.is_over());
        all.map(move |monitor| monitor.collector.neighbour(now))
    }

    /// Returns whether a socket is one of a collector.
    pub fn has(&self, socket: Socket) -> bool {
        self.all.iter().any(|monitor| monitor.collector.socket() == socket)
    }

    /// Returns what a person sees.
    pub fn show(&self) -> Vec<Value> {
        let shown = |monitor: &Monitor| {
            let collector = &monitor.collector;
            let counters = collector.counters();
            json!({
                "address": collector.config().to,
                "up": collector.is_up(),
                "sessions": counters.established,
                "lost": counters.lost,
                "stalled": counters.stalled,
                "failed": counters.failed,
                "bytes": counters.bytes,
            })
        };
        self.all.iter().filter(|monitor| !monitor.collector.is_ended()).map(shown).collect()
    }
}

/// How a family is exported to a collector.
fn identity(family: Family) -> Identity {
    let own: FamilySet = [family].into_iter().collect();
    Identity {
        family,
        writing: Writing {
            families: own,
            path_ids: FamilySet::NONE,
            extended_next_hops: own,
            is_wide: true,
            len_max: EXTENDED_LEN_MAX,
        },
        kind: Kind::Collector,
        next_hop: None,
        role: None,
        is_constrained: false,
        tells_default: false,
        has_enhanced_refresh: false,
        paths_max: 0,
        drains: false,
        policy: None,
    }
}

/// The families of routes that there may be.
fn families_of(config: &Config) -> FamilySet {
    let peers = config.peers.iter().map(|peer| config.families_of(&peer.families));
    let all = peers.chain([config.families_of(&[])]);
    all.flat_map(|families| families.iter().collect::<Vec<_>>()).collect()
}

/// How many routes there are.
fn figures(reflector: &Reflector) -> Vec<Figure> {
    let counts = FAMILIES.iter().map(|row| (row.family, reflector.count(row.family).0 as u64));
    let counts: Vec<(Family, u64)> = counts.filter(|(_, count)| *count > 0).collect();
    let all = Figure::LocRib(counts.iter().map(|(_, count)| count).sum());
    let by_family = counts.into_iter().map(|(family, count)| Figure::LocRibOf(family, count));
    std::iter::once(all).chain(by_family).collect()
}

/// The socket of the first collector; listeners and files have lower numbers.
const SOCKETS: u32 = 64;

/// The number of the first collector as a reader of streams; those of peers are lower.
const READERS: u16 = PEERS_MAX;

/// What the reflector is, for collectors.
const DESCRIPTION: &str = concat!("Plumbline route-reflector ", env!("CARGO_PKG_VERSION"));
