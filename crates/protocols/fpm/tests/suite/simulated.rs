//! Zebra and a data plane in a simulated network: whatever is cut, hangs or dies, in the end the
//! data plane has what zebra has, and on the way it never has a route whose next hop it was not
//! told.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use protocol_fpm::{Config, Destination, Fpm, Key, Prefix, Report, RouteChange};
use protocol_kit::{
    Arrival, Departure, Endpoint, Input, Machine, Opening, Output, Random, Socket, StreamOptions,
    Time,
};
use simulation::{Quality, Said, Simulation, World, simulate};

use crate::support::{DEL_ROUTE, NEW_ROUTE, frame, group, next_hop, route};

#[test]
fn a_data_plane_follows_zebra() {
    simulate::<Pair>(SEEDS);
}

/// What the data plane was told.
#[derive(Default)]
struct Pair {
    routes: BTreeMap<Prefix, u32>,
    next_hops: BTreeSet<u32>,
    /// When the data plane was born that was told so.
    born: Time,
}

impl Simulation for Pair {
    type Machine = Node;
    const NAME: &'static str = "fpm";
    const FAULTS_BELOW: u64 = 12;
    const FAULTS: Duration = FAULTS;
    const QUIET: Duration = QUIET;

    fn world(seed: u64) -> (World<Node>, Pair) {
        let mut world = World::new(seed);
        let at = Endpoint::Tcp(SocketAddr::new(ADDRESSES[PLANE], PORT));
        let to = at.clone();
        let plane = move |random: &mut Random| {
            let config = Config {
                at: at.clone(),
                waiting_max: 8,
                settle: Duration::from_secs(4),
                keep: Duration::from_secs(8),
                ..crate::support::config(100, 10)
            };
            let fpm = Fpm::new(config, random.bits()).expect("little memory");
            (Node::Plane(Box::new(fpm)), Vec::new())
        };
        world.add_node(plane);
        world.add_node(move |random| (Node::Zebra(Zebra::born(to.clone(), random)), Vec::new()));
        let quality = Quality { delay: Duration::from_micros(200), ..Quality::GOOD };
        world.add_link([(PLANE, ADDRESSES[PLANE]), (ZEBRA, ADDRESSES[ZEBRA])], quality);
        (world, Pair::default())
    }

    fn judge(
        &mut self,
        world: &mut World<Node>,
        said: Option<&Said<Report>>,
    ) -> Result<(), String> {
        let Some(Said { at, report, .. }) = said else { return Ok(()) };
        if world.born(PLANE) > self.born {
            *self = Pair { born: world.born(PLANE), ..Pair::default() };
        }
        let is_allowed = match report {
            Report::Routing(RouteChange::Route(route)) => {
                let Destination::Object(id) = route.destination else {
                    return Err(format!("at {at}: {route:?}"));
                };
                self.routes.insert(route.prefix, id);
                self.next_hops.contains(&id)
            }
            Report::Routing(RouteChange::Withdrawn(Key { prefix, .. })) => {
                self.routes.remove(prefix).is_some()
            }
            Report::Routing(RouteChange::NextHop { id, .. }) => {
                self.next_hops.insert(*id);
                true
            }
            Report::Routing(RouteChange::Group { id, members }) => {
                self.next_hops.insert(*id);
                members.iter().all(|member| self.next_hops.contains(&member.id))
            }
            Report::Routing(RouteChange::NextHopGone { id }) => {
                self.next_hops.remove(id) && self.routes.values().all(|named| named != id)
            }
            Report::Full(_) => false,
            _ => true,
        };
        if is_allowed { Ok(()) } else { Err(format!("at {at}: {report:?}")) }
    }

    fn judge_end(&mut self, world: &mut World<Node>) -> Result<(), String> {
        let (Some(Node::Plane(fpm)), Some(Node::Zebra(zebra))) =
            (world.machine(PLANE), world.machine(ZEBRA))
        else {
            return Err("somebody is dead at the end".into());
        };
        let rib: BTreeMap<Prefix, u32> =
            zebra.rib.iter().map(|(key, id)| (prefix_of(*key), *id)).collect();
        if self.routes != rib {
            return Err(format!("zebra has {rib:?}, and told was {:?}", self.routes));
        }
        let held = [rib.len(), NEXT_HOPS];
        if fpm.held() != held || self.next_hops.len() != NEXT_HOPS || !fpm.is_connected() {
            return Err(format!("{:?} is held instead of {held:?}", fpm.held()));
        }
        Ok(())
    }
}

/// A node of either kind.
enum Node {
    Plane(Box<Fpm>),
    Zebra(Zebra),
}

impl Machine for Node {
    type Command = Infallible;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Infallible>) {
        let Input::Arrival(arrival) = input;
        match self {
            Node::Plane(fpm) => fpm.input(now, Input::Arrival(arrival)),
            Node::Zebra(zebra) => zebra.arrive(arrival, now),
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        match self {
            Node::Plane(fpm) => fpm.poll(now),
            Node::Zebra(zebra) => zebra.poll(now).map(Output::Departure),
        }
    }

    fn deadline(&self) -> Option<Time> {
        match self {
            Node::Plane(fpm) => fpm.deadline(),
            Node::Zebra(zebra) => zebra.deadline(),
        }
    }
}

/// What zebra does: it connects, tells all, and tells what changes.
struct Zebra {
    to: Endpoint,
    /// Routes by a number, and their next hops.
    rib: BTreeMap<u8, u32>,
    stream: Stream,
    departures: VecDeque<Departure>,
    random: Random,
    changes_left: u32,
    /// `None` before it was polled first.
    change_at: Option<Time>,
}

#[derive(Clone, Copy, PartialEq)]
enum Stream {
    Closed(Time),
    Opening,
    Open,
}

impl Zebra {
    fn born(to: Endpoint, random: &mut Random) -> Zebra {
        let mut random = Random::new(random.bits());
        let rib = (0..ROUTES).filter(|_| random.below(2) == 0).map(|key| (key, 1)).collect();
        Zebra {
            to,
            rib,
            stream: Stream::Closed(Time::ZERO),
            departures: VecDeque::new(),
            changes_left: random.below(40) as u32,
            random,
            change_at: None,
        }
    }

    fn arrive(&mut self, arrival: Arrival<'_>, now: Time) {
        let again = Stream::Closed(now.after(Duration::from_millis(500)));
        match arrival {
            Arrival::Connected { .. } => {
                self.stream = Stream::Open;
                let objects = [next_hop(1), next_hop(2), next_hop(3), group(4, &[(1, 1), (2, 3)])];
                objects.into_iter().for_each(|object| self.send(&[object]));
                for (key, id) in self.rib.clone() {
                    self.send(&[told(NEW_ROUTE, key, id)]);
                }
            }
            Arrival::Finished { .. } => {
                self.departures = [Departure::Close { socket: STREAM }].into();
                self.stream = again;
            }
            Arrival::Failed { .. } => {
                self.departures.clear();
                self.stream = again;
            }
            _ => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Departure> {
        if self.change_at.is_none_or(|at| at <= now) {
            let span = Duration::from_millis(self.random.below(200));
            if self.change_at.replace(now.after(span)).is_some() && self.changes_left > 0 {
                self.changes_left -= 1;
                self.change();
            }
        }
        if let Some(departure) = self.departures.pop_front() {
            return Some(departure);
        }
        if matches!(self.stream, Stream::Closed(until) if until <= now) {
            self.stream = Stream::Opening;
            let (to, options) = (self.to.clone(), StreamOptions::default());
            let opening = Opening::Stream { from: None, to, options };
            return Some(Departure::Open { socket: STREAM, opening });
        }
        None
    }

    fn deadline(&self) -> Option<Time> {
        if !self.departures.is_empty() {
            return Some(Time::ZERO);
        }
        let open_at = match self.stream {
            Stream::Closed(until) => Some(until),
            _ => None,
        };
        let change_at = self.change_at.filter(|_| self.changes_left > 0);
        [open_at, change_at].into_iter().flatten().min()
    }

    fn change(&mut self) {
        let (key, id) =
            (self.random.below(u64::from(ROUTES)) as u8, self.random.below(4) as u32 + 1);
        let (gone, new) = (told(DEL_ROUTE, key, id), told(NEW_ROUTE, key, id));
        match (self.rib.contains_key(&key), self.random.below(8)) {
            // Whoever sends this is no zebra; the connection ends, and the next one mends it.
            (_, 0) if self.stream == Stream::Open => self.depart(vec![1, 1, 0, 0]),
            (true, 1..4) => {
                self.rib.remove(&key);
                self.send(&[gone]);
            }
            (true, _) => {
                self.rib.insert(key, id);
                self.send(&[gone, new]);
            }
            (false, _) => {
                self.rib.insert(key, id);
                self.send(&[new]);
            }
        }
    }

    fn send(&mut self, messages: &[Vec<u8>]) {
        if self.stream == Stream::Open {
            self.depart(frame(messages));
        }
    }

    fn depart(&mut self, bytes: Vec<u8>) {
        self.departures.push_back(Departure::Bytes { socket: STREAM, bytes: bytes.into() });
    }
}

fn told(kind: u16, key: u8, id: u32) -> Vec<u8> {
    route(kind, [10, key, 0, 16], id)
}

fn prefix_of(key: u8) -> Prefix {
    Prefix::new([10, key, 0, 0].into(), 16).expect("a prefix")
}

const PLANE: usize = 0;

const ZEBRA: usize = 1;

const ADDRESSES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))];

const PORT: u16 = protocol_fpm::machine::PORT;

const STREAM: Socket = Socket(0);

/// Routes that zebra may have.
const ROUTES: u8 = 40;

/// Next hops and groups that zebra always has.
const NEXT_HOPS: usize = 4;

/// All faults are over after this time.
const FAULTS: Duration = Duration::from_secs(8);

/// Long enough behind the last fault for zebra to change, to connect and to tell everything, and
/// for what is stale to be swept.
const QUIET: Duration = Duration::from_secs(30);

/// Seeds of a run in CI.
const SEEDS: u64 = 300;
