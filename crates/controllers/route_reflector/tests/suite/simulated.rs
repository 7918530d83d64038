//! A reflector and its peers in a simulated network: whatever is cut, hangs, dies, lags or leaps,
//! in the end every peer knows exactly what the plain reflector says, and on the way no session is
//! lost without a reason.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use controller_kit::{Action, Controller, Setup};
use controller_route_reflector::fuzz::model::{Attributes, Is, Model, Prefix};
use controller_route_reflector::fuzz::wire::{Table, as_heard};
use controller_route_reflector::{Config, RouteReflector};
use protocol_bgp::config::{self as bgp, Restart};
use protocol_bgp::families::{Family, FamilySet};
use protocol_kit::{Random, Time};
use serde_json::{Value, json};
use simulation::{
    Either, Fault, Plan, Quality, Said, Simulation, World, hours, simulate, simulate_once,
};

use crate::sessions::config;
use excused::Excused;
use router::{Router, Wanted};

mod dumped;

mod excused;

pub mod router;

mod tables;

#[test]
fn peers_know_what_a_plain_reflector_says() {
    simulate::<Reflection>(SEEDS);
}

/// As many hours as the variable `PLUMBLINE_HOURS` says, by itself a few.
#[test]
fn a_hundred_peers_are_as_sound() {
    simulate_once::<Day>(1);
}

pub type Machine = Either<RouteReflector, Router>;

/// What is known of a run.
struct Reflection {
    peers: Vec<Is>,
    identifiers: Vec<u32>,
    families: Vec<FamilySet>,
    /// Most paths of a route that each is told; `None` for the best one alone.
    paths_max: Vec<Option<usize>>,
    stream_bytes: u32,
    excused: Excused,
}

/// The same of many peers for a longer time, of which this much has faults.
struct Day(Reflection, Duration);

/// What a peer is, and how it speaks.
#[derive(Clone, Debug)]
struct Peer {
    is: Is,
    address: IpAddr,
    is_dynamic: bool,
    session: bgp::Config,
    own: Table,
    /// Most paths of a route that it is offered.
    paths_max: Option<u8>,
}

impl Simulation for Reflection {
    type Machine = Machine;
    const NAME: &'static str = "bgp";
    const FAULTS_BELOW: u64 = 10;
    const FAULTS: Duration = FAULTS;
    const QUIET: Duration = QUIET;

    fn world(seed: u64) -> (World<Machine>, Reflection) {
        let mut world = World::new(seed);
        let random = world.random();
        let count = 2 + random.below(6) as usize;
        let hold_time_s = [9, 9, 3, 90][random.below(4) as usize];
        let reflection = Reflection::of(&mut world, count, hold_time_s);
        (world, reflection)
    }

    fn plan(&self, world: &mut World<Machine>) -> Plan {
        let random = world.random();
        let counts = [random.below(Self::FAULTS_BELOW), random.below(4), random.below(60)];
        plan(world, counts, FAULTS)
    }

    fn begin(&mut self, world: &mut World<Machine>, fault: Fault) {
        self.excused.note(world.now(), fault);
        if let Fault::Own(number) = fault {
            let mut random = Random::new(number);
            let node = 1 + random.below(self.peers.len() as u64) as usize;
            let wanted = wanted(node, self.peers[node - 1], &mut random);
            if world.machine(node).is_some() && !world.hangs(node) {
                self.excused.note_wanted(world.now(), node, &wanted);
                world.command(node, Either::Other(wanted));
            }
        }
    }

    fn judge(
        &mut self,
        world: &mut World<Machine>,
        said: Option<&Said<Either<Action, router::Said>>>,
    ) -> Result<(), String> {
        let Some(Said { at, node, report }) = said else { return self.bounds(world) };
        match report {
            Either::Other(router::Said::Up) => Ok(()),
            Either::Other(router::Said::Down { why, hold }) => {
                let is_due = hold.as_secs() < 9 || self.excused.explain(*at, *node);
                is_due.then_some(()).ok_or_else(|| {
                    format!(
                        "at {at}: the session of {node} is lost, and no fault explains it: {why}"
                    )
                })
            }
            Either::Other(router::Said::Wrong(what)) => Err(format!("at {at}: {node}: {what}")),
            Either::One(Action::Line(_)) => Ok(()),
            Either::One(other) => Err(format!("at {at}: the reflector says {other:?}")),
        }
    }

    fn judge_end(&mut self, world: &mut World<Machine>) -> Result<(), String> {
        for node in 1..world.nodes() {
            let Some(router) = world.machine(node).and_then(Either::other) else {
                return Err(format!("{node} is dead at the end"));
            };
            if router.session.is_none() {
                return Err(format!("{node} has no session at the end: {}", router.state()));
            }
        }
        let models = [Family::Ipv4Unicast, Family::Ipv6Unicast]
            .map(|family| (family, self.model(world, family)));
        for node in 1..world.nodes() {
            let Some(router) = world.machine(node).and_then(Either::other) else { continue };
            let has = |family: Family| self.families[node - 1].contains(family);
            let (mut told, mut known) = (Vec::new(), Vec::new());
            for (family, model) in models.iter().filter(|(family, _)| has(*family)) {
                let of = |prefix, it| (*family, prefix, it);
                match self.paths_max[node - 1] {
                    Some(most) => {
                        let all = model.told_several(node as u16 - 1, most).into_iter();
                        told.extend(all.map(|((prefix, _), it)| of(prefix, it)));
                    }
                    None => {
                        let all = model.told(node as u16 - 1).into_iter();
                        told.extend(all.map(|(prefix, it)| of(prefix, it)));
                    }
                }
            }
            // Which identifiers paths have is the reflector's matter.
            let all = router.known.iter();
            known.extend(all.map(|((family, prefix, _), it)| (*family, *prefix, it.clone())));
            [&mut told, &mut known].into_iter().for_each(|all| all.sort());
            if known != told {
                return Err(differ(node, &known, &told));
            }
            let reflector =
                world.machine(0).and_then(Either::one).ok_or("it is dead at the end")?;
            let address = IpAddr::V4(Ipv4Addr::new(10, 0, 1, node as u8));
            tables::compare_advertised(reflector, address, &router.known)?;
        }
        self.compare_dump(world, &models)?;
        self.compare_shown(world, &models)
    }
}

impl Simulation for Day {
    type Machine = Machine;
    const NAME: &'static str = "bgp";
    const FAULTS_BELOW: u64 = 60;
    const FAULTS: Duration = Duration::ZERO;
    const QUIET: Duration = Duration::from_secs(3600);

    fn world(seed: u64) -> (World<Machine>, Day) {
        let mut world = World::new(seed);
        let reflection = Reflection::of(&mut world, 100, 90);
        (world, Day(reflection, Duration::from_secs(3600 * hours(2))))
    }

    fn plan(&self, world: &mut World<Machine>) -> Plan {
        plan(world, [Self::FAULTS_BELOW, 20, 200], self.1)
    }

    fn end(&self) -> Time {
        Time::ZERO.after(self.1 + Self::QUIET)
    }

    fn begin(&mut self, world: &mut World<Machine>, fault: Fault) {
        self.0.begin(world, fault);
    }

    fn judge(
        &mut self,
        world: &mut World<Machine>,
        said: Option<&Said<Either<Action, router::Said>>>,
    ) -> Result<(), String> {
        self.0.judge(world, said)
    }

    fn judge_end(&mut self, world: &mut World<Machine>) -> Result<(), String> {
        self.0.judge_end(world)
    }
}

impl Reflection {
    /// So many peers, of which some have a hold time.
    fn of(world: &mut World<Machine>, count: usize, hold_time_s: u16) -> Reflection {
        let random = world.random();
        let stream_bytes = [2_000, 50_000, 64 << 20][random.below(3) as usize];
        let peers: Vec<Peer> = (1..=count).map(|node| peer(node, hold_time_s, random)).collect();
        let mut config = reflector(&peers, random);
        config.stream_bytes = stream_bytes;
        world.add_node(move |random| {
            let setup = Setup { function: None, state: Vec::new(), seed: random.bits() };
            let reflector = RouteReflector::new(&config, setup).expect("it may be");
            (Either::One(reflector), Vec::new())
        });
        for one in &peers {
            let Peer { address, session, own, .. } = one.clone();
            world.add_node(move |random| {
                let at = SocketAddr::new(address, bgp::PORT);
                let router = Router::new(at, session.clone(), own.clone(), random.bits());
                (Either::Other(router), Vec::new())
            });
        }
        for (node, peer) in (1..).zip(&peers) {
            let delay = Duration::from_micros(100 << world.random().below(10));
            let quality = Quality { delay, ..Quality::GOOD };
            world.add_link([(0, REFLECTOR), (node, peer.address)], quality);
        }
        Reflection {
            peers: peers.iter().map(|peer| peer.is).collect(),
            identifiers: peers.iter().map(|peer| peer.session.identifier).collect(),
            families: peers.iter().map(|peer| peer.session.families).collect(),
            paths_max: peers.iter().map(paths_max).collect(),
            stream_bytes,
            excused: Excused::default(),
        }
    }

    /// The plain reflector with what all tell in the end.
    fn model(&self, world: &World<Machine>, family: Family) -> Model {
        let peers = self.peers.iter().copied().zip(self.identifiers.iter().copied()).collect();
        let mut model = Model::new(ASN, IDENTIFIER.to_bits(), peers);
        for node in 1..world.nodes() {
            let router = world.machine(node).and_then(Either::other);
            let own = router.into_iter().flat_map(|router| &router.own);
            if !self.families[node - 1].contains(family) {
                continue;
            }
            let is_external = matches!(self.peers[node - 1], Is::OfOtherAs(_));
            for ((_, prefix), attributes) in own.filter(|((of, _), _)| *of == family) {
                let heard = as_heard(attributes, is_external);
                model.announce((node as u16 - 1, 0), *prefix, &heard);
            }
        }
        model
    }

    /// What is kept for those who lag is bounded at any time.
    fn bounds(&self, world: &World<Machine>) -> Result<(), String> {
        let Some(reflector) = world.machine(0).and_then(Either::one) else { return Ok(()) };
        let shown = reflector.show();
        for group in groups(&shown) {
            let bytes = group["bytes"].as_u64().unwrap_or(u64::MAX);
            // Of a stream there may be a turn more, and there are five of a group.
            if bytes > 5 * (u64::from(self.stream_bytes) + TABLE_BYTES) {
                return Err(format!("at {}: a group keeps {bytes} bytes", world.now()));
            }
        }
        let memory = shown["memory-bytes"].as_u64().unwrap_or(u64::MAX);
        if memory > MEMORY_MAX {
            return Err(format!("at {}: the table has {memory} bytes", world.now()));
        }
        // As often as is quick enough.
        if world.now().0.is_multiple_of(64) { tables::ask_all(reflector) } else { Ok(()) }
    }

    /// Nothing is left of what has been.
    fn compare_shown(
        &self,
        world: &World<Machine>,
        models: &[(Family, Model)],
    ) -> Result<(), String> {
        self.bounds(world)?;
        let reflector = world.machine(0).and_then(Either::one).ok_or("it is dead at the end")?;
        let shown = reflector.show();
        let mut alike = BTreeSet::new();
        for (family, model) in models {
            let prefixes: BTreeSet<Prefix> = model.paths.keys().map(|one| one.0).collect();
            alike.extend(model.paths.values().map(|attributes| (family, attributes)));
            let rows = shown["families"].as_array().ok_or("families")?.iter();
            let row = rows.clone().find(|row| row["family"] == family.to_string().as_str());
            let count = |key: &str| row.and_then(|row| row[key].as_u64()).unwrap_or(0) as usize;
            let counts = [("routes", prefixes.len()), ("paths", model.paths.len())];
            for (key, expected) in counts {
                if count(key) != expected {
                    return Err(format!("{family}: {} {key}, not {expected}", count(key)));
                }
            }
        }
        if shown["attributes"] != alike.len() {
            return Err(format!("{} attribute blocks, not {}", shown["attributes"], alike.len()));
        }
        match groups(&shown).find(|group| group["bytes"] != 0 || group["walking"] != 0) {
            Some(group) => Err(format!("a group is not at rest: {group}")),
            None => Ok(()),
        }
    }
}

/// Faults of every kind, others that only this simulation draws, and what peers do, each so often
/// and within a time.
fn plan(world: &mut World<Machine>, counts: [u64; 3], span: Duration) -> Plan {
    let [usual, others, own] = counts;
    let mut plan = Plan::draw(world, usual as usize, Time::ZERO.after(span));
    let at = |random: &mut Random| Time(random.below(span.as_nanos() as u64));
    let nodes = world.nodes() as u64;
    let random = world.random();
    for _ in 0..others {
        let (time, node) = (at(random), random.below(nodes) as usize);
        let span = (span / 2) / (1 << random.below(12));
        plan.faults.push((
            time,
            match random.below(2) {
                0 => Fault::PowerLoss(node, span),
                _ => Fault::Leap(node, span),
            },
        ));
    }
    for _ in 0..own {
        plan.faults.push((at(random), Fault::Own(random.bits())));
    }
    plan.faults.sort_by_key(|(time, _)| *time);
    plan
}

fn groups(shown: &Value) -> impl Iterator<Item = &Value> {
    let families = shown["families"].as_array().into_iter().flatten();
    families.flat_map(|family| family["groups"].as_array().into_iter().flatten())
}

/// The first difference of what a router knows from what it should.
fn differ(node: usize, known: &[Path], told: &[Path]) -> String {
    let pairs = known.iter().map(Some).chain([None]).zip(told.iter().map(Some).chain([None]));
    let first = pairs.into_iter().find(|(one, other)| one != other);
    format!("{node} knows {} routes, not {}: {first:?}", known.len(), told.len())
}

/// A path that a router knows.
type Path = (Family, Prefix, Attributes);

/// Most paths of a route that a peer is told, where both sides have agreed on that.
fn paths_max(peer: &Peer) -> Option<usize> {
    let most = peer.paths_max.map(usize::from);
    most.filter(|_| !peer.session.receives_paths.is_empty())
}

/// A peer of a node.
fn peer(node: usize, hold_time_s: u16, random: &mut Random) -> Peer {
    let is = match random.below(6) {
        0 => Is::OfOtherAs(65_000 + node as u32),
        1 => Is::Other,
        _ => Is::Client,
    };
    let is_dynamic = is == Is::Client && random.below(4) == 0;
    let asn = if let Is::OfOtherAs(asn) = is { asn } else { ASN };
    let families: FamilySet = match random.below(4) {
        0 => [Family::Ipv4Unicast].into_iter().collect(),
        _ => [Family::Ipv4Unicast, Family::Ipv6Unicast].into_iter().collect(),
    };
    let preserved = if random.below(2) == 0 { families } else { FamilySet::NONE };
    let restart = Restart {
        time_s: 20 + random.below(100) as u16,
        is_restarting: random.below(2) == 0,
        has_notification: random.below(2) == 0,
        families,
        preserved,
    };
    // Several may have the same identifier.
    let identifier = 1 + random.below(6) as u32;
    let session = bgp::Config {
        hold_time_s: [hold_time_s, 90][random.below(2) as usize],
        families,
        is_passive: !is_dynamic && random.below(3) == 0,
        connect_retry: Duration::from_secs(10),
        has_extended_messages: random.below(2) == 0,
        restart: (random.below(2) == 0).then_some(restart),
        receives_paths: if random.below(2) == 0 { families } else { FamilySet::NONE },
        sends_paths: if random.below(2) == 0 { families } else { FamilySet::NONE },
        ..bgp::Config::new(asn, identifier, REFLECTOR, ASN)
    };
    let mut own = Table::new();
    let count = [3, 30, 300][random.below(3) as usize];
    for _ in 0..count {
        let family = family(random);
        own.insert((family, prefix(random)), attributes(node, is, random));
    }
    let address = IpAddr::V4(Ipv4Addr::new(10, 0, 1, node as u8));
    // Those of a network have what that says.
    let paths_max = match is_dynamic {
        true => Some(DYNAMIC_PATHS_MAX),
        false => [None, Some(2), Some(3), Some(64)][random.below(4) as usize],
    };
    Peer { is, address, is_dynamic, session, own, paths_max }
}

/// The reflector's configuration.
fn reflector(peers: &[Peer], random: &mut Random) -> Config {
    let named = peers.iter().filter(|peer| !peer.is_dynamic).map(|peer| {
        let is_passive = !peer.session.is_passive && random.below(3) == 0;
        let mut keys = json!({
            "address": peer.address, "client": peer.is == Is::Client, "passive": is_passive,
        });
        if let Is::OfOtherAs(asn) = peer.is {
            keys["as"] = json!(asn);
        }
        if let Some(most) = peer.paths_max {
            keys["paths-to-peer"] = json!([{"paths-max": most}]);
        }
        keys
    });
    let named: Vec<Value> = named.collect();
    let mrt = json!({
        "folder": dumped::FOLDER, "tables-every-s": 60, "updates": true, "rotate-every-s": 30,
        "files-max": 10,
    });
    let has_dumps = random.below(2) == 0;
    let mut config = config(json!({
        "mrt": has_dumps.then_some(mrt),
        "as": ASN, "identifier": IDENTIFIER, "hold-time-s": 90, "listen": ["0.0.0.0:179"],
        "peers": named, "dynamic": [{
            "network": "10.0.1.0/24", "peers-max": 200,
            "paths-to-peer": [{"paths-max": DYNAMIC_PATHS_MAX}],
        }],
    }));
    if random.below(2) == 0 {
        let keys = json!({"time-s": 60, "absent-s": 10, "deferral-s": 30});
        config.graceful_restart = serde_json::from_value(keys).expect("they are keys");
    }
    RouteReflector::validate(&mut config).expect("it can be used");
    config
}

/// What is wanted of a router.
fn wanted(node: usize, is: Is, random: &mut Random) -> Wanted {
    let family = family(random);
    let count = [1, 4, 400][random.below(3) as usize];
    let prefixes = |random: &mut Random| (0..count).map(|_| prefix(random)).collect();
    match random.below(16) {
        0..=6 => Wanted::Announce(family, prefixes(random), attributes(node, is, random)),
        7..=9 => Wanted::Withdraw(family, prefixes(random)),
        10 => Wanted::Refresh(family),
        11 => Wanted::TellAgain(family),
        12 => match random.below(2) {
            0 => Wanted::Reset,
            _ => Wanted::Stammer,
        },
        13 | 14 => Wanted::Stop(Duration::from_secs(600) / (1 << random.below(10))),
        _ => Wanted::ReadSlowly(Duration::from_secs(random.below(60))),
    }
}

/// Attributes by which a router can be told: its number is in the next hop.
fn attributes(node: usize, is: Is, random: &mut Random) -> Attributes {
    let mut few = |below: u64, all: &[u32]| all.get(random.below(below) as usize).copied();
    let first = if let Is::OfOtherAs(asn) = is { Some(asn) } else { few(3, &[1, 2]) };
    let path = first.into_iter().chain(few(4, &[3, 4, ASN])).collect();
    Attributes {
        path,
        med: few(3, &[0, 1]),
        preference: few(6, &[99, 101]),
        originator: few(12, &[1, IDENTIFIER.to_bits()]),
        clusters: few(8, &[5, IDENTIFIER.to_bits()]).into_iter().collect(),
        communities: few(12, &[1, 0xffff_ff01, 0xffff_ff02]).into_iter().collect(),
        targets: Vec::new(),
        otc: None,
        next_hop: [10, 0, node as u8, random.below(3) as u8],
    }
}

fn family(random: &mut Random) -> Family {
    if random.below(2) == 0 { Family::Ipv4Unicast } else { Family::Ipv6Unicast }
}

/// Routers have many in common.
fn prefix(random: &mut Random) -> Prefix {
    (24, [198, random.below(2) as u8, random.below(200) as u8, 0])
}

pub const ASN: u32 = 64_500;
pub const REFLECTOR: IpAddr = IpAddr::V4(IDENTIFIER);
const IDENTIFIER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// Most paths of a route that peers of the network are told.
const DYNAMIC_PATHS_MAX: u8 = 4;

/// All faults are over after this time.
const FAULTS: Duration = Duration::from_secs(240);

/// Long enough for a reader that stops, the longest that stale routes are kept, and pauses.
const QUIET: Duration = Duration::from_secs(1200);

/// Seeds of a run in CI.
const SEEDS: u64 = 40;

/// More bytes of UPDATEs than the routes of all have at once.
const TABLE_BYTES: u64 = 1 << 20;

/// More than the table of all routes ever has.
const MEMORY_MAX: u64 = 2 << 20;
