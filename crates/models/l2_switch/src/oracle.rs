//! The slow, obviously right model of a switch: stations in a map, each with the time at which it
//! was last heard of; circuits, limits and mirrors in `features`.
//!
//! It shares no code with the pipeline but names and the constants of the standards.
//! Time is counted in 256ths of the ageing time, as the pipeline does.

mod acl;
mod features;
use std::collections::BTreeMap;
use std::time::Duration;

use function_l2_switch::acl::RULES_SPARE;
use function_l2_switch::config::acl::Rule;
use function_l2_switch::config::features::{Attachment, Class, Direction, Flapping, Mirror, Storm};
use function_l2_switch::config::{Config, Mac, Mode, Port, Unknown, WhenFull};
use function_l2_switch::control::Update;
use function_l2_switch::state::UNITS;
use model_kit::check::{Expected, Oracle};
use packet::PortId;
use wire::{MacAddr, ethernet};

use crate::generated::{self, Section};

use self::features::{Bucket, Plain, Watch, as_leaving, circuit_of};

/// The model.
pub struct Model {
    config: Config,
    circuits: Vec<Attachment>,
    /// By domain and address.
    stations: BTreeMap<(u16, MacAddr), Station>,
    /// Of stations that moved of late.
    moves: BTreeMap<(u16, MacAddr), Moves>,
    now: Duration,
    /// By port: broadcast, multicast, unknown.
    storms: BTreeMap<Port, [Option<Bucket>; 3]>,
    /// By domain.
    floods: BTreeMap<u16, Bucket>,
    watches: Vec<Watch>,
    /// By priority: what may come in, and what may leave.
    rules: BTreeMap<u32, Rule>,
    egress: BTreeMap<u32, Rule>,
    made: Vec<Expected>,
}

/// What is known of a station.
#[derive(Clone, Copy)]
struct Station {
    /// Behind which circuit it is.
    circuit: usize,
    /// When it was last heard of; none where it is known without being learned.
    heard: Option<u64>,
}

/// How often a station moved in its interval, or whether it is on hold.
#[derive(Clone, Copy)]
struct Moves {
    count: u32,
    is_held: bool,
    until: Duration,
}

/// A frame that leaves, and by which port.
type Leaving = (Port, Vec<u8>);

impl Oracle for Model {
    type Update = Update;

    fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected {
        let port = Port::of(port);
        if self.config.mode == Mode::Patch {
            return self.patch(port, frame);
        }
        self.now = now;
        self.mirror(port, Direction::Receive, frame);
        let leaving = match self.judge(port, frame, now) {
            Ok(leaving) => leaving,
            Err(reason) => return Expected::Drop(reason),
        };
        let mut leaving = leaving.into_iter();
        let first = leaving.next();
        for (port, frame) in leaving {
            if self.may_not_leave(port, &frame).is_some() {
                continue;
            }
            self.made.push(Expected::Forward { port: port.id(), frame: frame.clone() });
            self.mirror(port, Direction::Transmit, &frame);
        }
        let Some((port, frame)) = first else { return Expected::Drop("no-member") };
        if let Some(reason) = self.may_not_leave(port, &frame) {
            return Expected::Drop(reason);
        }
        self.mirror(port, Direction::Transmit, &frame);
        Expected::Forward { port: port.id(), frame }
    }

    fn apply(&mut self, update: &Update, now: Duration) -> bool {
        let units = self.forget(now);
        match *update {
            Update::SetStation { mac, port, domain } => self.set(mac.0, port, domain),
            Update::RemoveStation { mac, domain } => {
                self.moves.remove(&(domain, mac.0));
                self.stations.remove(&(domain, mac.0)).is_some()
            }
            Update::Learn { mac: Mac(mac), port, domain } => {
                let circuit = self.circuit_at(port, domain);
                let is_possible = self.learns() && is_station(mac);
                is_possible
                    && circuit.is_some_and(|circuit| self.learn(mac, circuit, units).is_ok())
            }
            Update::SetStormControl(storm) => {
                let limits = [storm.broadcast, storm.multicast, storm.unknown];
                let limits = limits.into_iter().flatten().chain([storm.link_gbps]);
                let is_possible =
                    self.has(storm.port) && { limits }.all(|limit| limit > 0.0 && limit <= 1e12);
                if is_possible {
                    self.set_storm(&storm);
                }
                is_possible
            }
            Update::SetMirror(mirror) => {
                let is_session = mirror.erspan.is_none_or(|to| to.session < 1024);
                let has_ports = self.has(mirror.port) && self.has(mirror.to);
                let is_possible = has_ports && mirror.port != mirror.to && is_session;
                if is_possible {
                    self.remove_mirror(mirror.port, mirror.direction);
                    self.watches.push(Watch { mirror, sequence: 0, since: now });
                }
                is_possible
            }
            Update::RemoveMirror { port, direction } => self.remove_mirror(port, direction),
            Update::SetRule(rule) => {
                let most = self.config.all_acl().len() + RULES_SPARE;
                set_rule(&mut self.rules, rule, most, self.config.ports)
            }
            Update::RemoveRule { priority } => self.rules.remove(&priority).is_some(),
            Update::SetEgressRule(rule) => {
                let most = self.config.all_egress_acl().len() + RULES_SPARE;
                set_rule(&mut self.egress, rule, most, self.config.ports)
            }
            Update::RemoveEgressRule { priority } => self.egress.remove(&priority).is_some(),
        }
    }

    fn made(&mut self, _: Duration) -> Vec<Expected> {
        std::mem::take(&mut self.made)
    }
}

impl Model {
    /// Why the list for what leaves keeps a frame.
    fn may_not_leave(&self, port: Port, frame: &[u8]) -> Option<&'static str> {
        acl::refuses(self.egress.values(), port, frame, "egress-acl-denied")
    }

    /// The switch as configured.
    pub fn new(section: &Section) -> Model {
        let config = generated::config(section);
        let circuits = config.circuits();
        let mut model = Model {
            circuits,
            stations: BTreeMap::new(),
            moves: BTreeMap::new(),
            now: Duration::ZERO,
            storms: BTreeMap::new(),
            floods: BTreeMap::new(),
            watches: Vec::new(),
            rules: config.all_acl().iter().map(|rule| (rule.priority, *rule)).collect(),
            egress: config.all_egress_acl().iter().map(|rule| (rule.priority, *rule)).collect(),
            made: Vec::new(),
            config,
        };
        for known in generated::known_stations(section) {
            model.set(known.mac.0, known.port, known.domain);
        }
        let config = &section.config;
        for domain in &config.domains {
            if let Some(pps) = domain.flood_pps {
                model.floods.insert(domain.id, Bucket::new(pps, false));
            }
        }
        config.storm_control.iter().for_each(|storm| model.set_storm(storm));
        let watch = |mirror: &Mirror| Watch { mirror: *mirror, sequence: 0, since: Duration::ZERO };
        model.watches = config.mirrors.iter().map(watch).collect();
        model
    }

    fn patch(&self, port: Port, frame: &[u8]) -> Expected {
        if frame.len() < ethernet::HEADER_LEN {
            return Expected::Drop("truncated");
        }
        let mut sent = frame.to_vec();
        if let Some(mac) = self.config.source_from(port) {
            sent[6..12].copy_from_slice(&mac.0);
        }
        Expected::Forward { port: port.other().id(), frame: sent }
    }

    /// IEEE 802.1D-2004 section 7.7: learn, then filter or forward; the first of the frames that
    /// leave is the one that came in.
    fn judge(
        &mut self,
        port: Port,
        frame: &[u8],
        now: Duration,
    ) -> Result<Vec<Leaving>, &'static str> {
        let units = self.forget(now);
        let of_port = self.circuits.iter().enumerate().filter(|(_, one)| one.port == port);
        let (circuit, plain) = circuit_of(of_port, frame)?;
        let address = |at: usize| {
            let mut octets = [0; 6];
            octets.copy_from_slice(&frame[at..at + 6]);
            MacAddr(octets)
        };
        let (destination, source) = (address(0), address(6));
        if !is_station(source) {
            return Err("invalid-source");
        }
        if destination.0[..5] == [0x01, 0x80, 0xc2, 0, 0] && destination.0[5] <= 0x0f {
            return Err("reserved-address");
        }
        if let Some(reason) = acl::refuses(self.rules.values(), port, frame, "acl-denied") {
            return Err(reason);
        }
        if self.learns() {
            match self.learn(source, circuit, units) {
                Err(Unlearned::Full) if self.config.when_full == WhenFull::Drop => {
                    return Err("table-full");
                }
                Err(Unlearned::Flaps(Flapping::Drop)) => return Err("flapping-station"),
                Ok(()) | Err(_) => {}
            }
        }
        let domain = self.circuits[circuit].domain;
        let known = self.stations.get(&(domain, destination)).map(|known| known.circuit);
        match known {
            Some(known) if known == circuit => Err("same-port"),
            Some(known) => Ok(vec![self.leaving(known, &plain)]),
            None => {
                self.may_flood(port, domain, destination, frame.len(), now)?;
                let members = (0..self.circuits.len())
                    .filter(|&one| self.circuits[one].domain == domain && one != circuit);
                Ok(members.map(|member| self.leaving(member, &plain)).collect())
            }
        }
    }

    fn leaving(&self, circuit: usize, plain: &Plain) -> Leaving {
        let circuit = &self.circuits[circuit];
        (circuit.port, as_leaving(circuit, plain))
    }

    /// Whether limits let a frame go to many.
    fn may_flood(
        &mut self,
        port: Port,
        domain: u16,
        destination: MacAddr,
        len: usize,
        now: Duration,
    ) -> Result<(), &'static str> {
        let unknown = self.config.domain(domain).unknown.unwrap_or(self.config.unknown());
        let (class, reason) = match destination {
            MacAddr::BROADCAST => (Class::Broadcast, "storm-broadcast"),
            group if group.is_multicast() => (Class::Multicast, "storm-multicast"),
            _ if unknown == Unknown::Drop => return Err("unknown-station"),
            _ => (Class::Unknown, "storm-unknown"),
        };
        let now_s = now.as_secs_f64();
        if let Some(Some(bucket)) = self.storms.get_mut(&port).map(|all| &mut all[class as usize])
            && !bucket.admits(len, now_s)
        {
            return Err(reason);
        }
        let floods = self.floods.get_mut(&domain).is_none_or(|bucket| bucket.admits(len, now_s));
        if floods { Ok(()) } else { Err("flood-limit") }
    }

    /// Copies a frame for every mirror that asks for it.
    fn mirror(&mut self, port: Port, direction: Direction, frame: &[u8]) {
        let watches = self.watches.iter_mut();
        for watch in watches.filter(|watch| is_of(&watch.mirror, port, direction)) {
            let (port, frame) = (watch.mirror.to.id(), watch.copy(frame, self.now));
            self.made.push(Expected::Forward { port, frame });
        }
    }

    fn remove_mirror(&mut self, port: Port, direction: Direction) -> bool {
        let before = self.watches.len();
        self.watches.retain(|watch| !is_of(&watch.mirror, port, direction));
        self.watches.len() < before
    }

    fn set_storm(&mut self, storm: &Storm) {
        let classes = [Class::Broadcast, Class::Multicast, Class::Unknown];
        let buckets = classes.map(|class| Bucket::of_storm(storm, class));
        self.storms.insert(storm.port, buckets);
    }

    fn set(&mut self, mac: MacAddr, port: Port, domain: u16) -> bool {
        let Some(circuit) = self.circuit_at(port, domain) else { return false };
        let known = self.stations.get(&(domain, mac));
        let is_new = known.is_none_or(|known| known.heard.is_some());
        let has_room =
            !is_new || self.count(|_, known| known.heard.is_none()) < self.config.static_limit();
        let is_possible = is_station(mac) && has_room;
        if is_possible {
            self.stations.insert((domain, mac), Station { circuit, heard: None });
            self.moves.remove(&(domain, mac));
        }
        is_possible
    }

    /// Has the station known there from now on; a static one stays where it is.
    fn learn(&mut self, source: MacAddr, circuit: usize, now: u64) -> Result<(), Unlearned> {
        let domain = self.circuits[circuit].domain;
        let known = self.stations.get(&(domain, source)).copied();
        if known.is_some_and(|known| known.heard.is_none()) {
            return Ok(());
        }
        let limit = self.config.station_limit as usize;
        let limit_of_domain =
            self.config.domain(domain).station_limit.map_or(limit, |n| n as usize);
        let of_domain = self.count(|id, known| id == domain && known.heard.is_some());
        let is_full =
            of_domain >= limit_of_domain || self.count(|_, known| known.heard.is_some()) >= limit;
        if known.is_none() && is_full {
            return Err(Unlearned::Full);
        }
        if known.is_some_and(|known| known.circuit != circuit) {
            self.may_move((domain, source))?;
        }
        self.stations.insert((domain, source), Station { circuit, heard: Some(now) });
        Ok(())
    }

    /// RFC 7432 section 15.1, for a bridge: so many moves in an interval, then a hold.
    fn may_move(&mut self, station: (u16, MacAddr)) -> Result<(), Unlearned> {
        let Some(limit) = self.config.move_limit else { return Ok(()) };
        let span = Duration::from_secs_f64;
        let first = Moves { count: 0, is_held: false, until: self.now + span(limit.interval_s) };
        let moves = self.moves.entry(station).or_insert(first);
        moves.count += 1;
        if !moves.is_held && moves.count > limit.moves {
            (moves.is_held, moves.until) = (true, self.now + span(limit.hold_s));
        }
        if moves.is_held && limit.action != Flapping::Report {
            return Err(Unlearned::Flaps(limit.action));
        }
        Ok(())
    }

    /// Forgets who was not heard of for the ageing time; gives the present.
    fn forget(&mut self, now: Duration) -> u64 {
        let unit_s = self.config.ageing_s / UNITS as f64;
        let units = (now.as_secs_f64() / unit_s) as u64;
        self.stations.retain(|_, known| known.heard.is_none_or(|heard| units - heard <= UNITS));
        self.moves.retain(|_, moves| now < moves.until);
        self.now = now;
        units
    }

    fn learns(&self) -> bool {
        self.config.learning && self.config.mode == Mode::Bridge
    }

    fn has(&self, port: Port) -> bool {
        port.id().0 < self.config.ports
    }

    fn circuit_at(&self, port: Port, domain: u16) -> Option<usize> {
        self.circuits.iter().position(|one| one.port == port && one.domain == domain)
    }

    fn count(&self, wanted: impl Fn(u16, &Station) -> bool) -> usize {
        self.stations.iter().filter(|((domain, _), known)| wanted(*domain, known)).count()
    }
}

/// Why a station is not known to be where it was heard of.
enum Unlearned {
    Full,
    Flaps(Flapping),
}

fn set_rule(rules: &mut BTreeMap<u32, Rule>, rule: Rule, most: usize, ports: u8) -> bool {
    let is_full = !rules.contains_key(&rule.priority) && rules.len() >= most;
    let is_possible = rule.is_possible(ports) && !is_full;
    if is_possible {
        rules.insert(rule.priority, rule);
    }
    is_possible
}

fn is_of(mirror: &Mirror, port: Port, direction: Direction) -> bool {
    mirror.port == port && mirror.direction == direction
}

/// Whether an address is one of a station.
fn is_station(mac: MacAddr) -> bool {
    mac.0[0] & 1 == 0 && mac.0 != [0; 6]
}
