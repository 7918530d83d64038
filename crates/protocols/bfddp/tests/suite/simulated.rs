//! Bfdd and a data plane in a simulated network: whatever is cut, hangs or dies, in the end the
//! data plane has the sessions that bfdd wants, and bfdd has their states.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use protocol_bfddp::machine::PORT;
use protocol_bfddp::message::{Message, message_len};
use protocol_bfddp::{BfdDataPlane, Command, Config, Report, Session, State};
use protocol_kit::{
    Arrival, Departure, Endpoint, Input, Machine, Opening, Output, Random, Socket, StreamOptions,
    Time,
};
use simulation::{Quality, Said, Simulation, World, simulate};

use crate::support::{change, session};

#[test]
fn a_data_plane_follows_bfdd() {
    simulate::<Pair>(SEEDS);
}

/// What the data plane was told, and has told.
#[derive(Default)]
struct Pair {
    sessions: BTreeMap<u32, (Session, State)>,
    /// When the data plane was born that was told so.
    born: Time,
}

impl Pair {
    /// Draws a state for a session and tells it.
    fn draw(&mut self, world: &mut World<Node>, discriminator: u32) {
        let state = [State::Down, State::Init, State::Up][world.random().below(3) as usize];
        if let Some((_, told)) = self.sessions.get_mut(&discriminator) {
            *told = state;
        }
        world.command(PLANE, Command::Change(discriminator, change(state)));
    }
}

impl Simulation for Pair {
    type Machine = Node;
    const NAME: &'static str = "bfddp";
    const FAULTS_BELOW: u64 = 12;
    const FAULTS: Duration = FAULTS;
    const QUIET: Duration = QUIET;

    fn world(seed: u64) -> (World<Node>, Pair) {
        let mut world = World::new(seed);
        let at = Endpoint::Tcp(SocketAddr::new(ADDRESSES[BFDD], PORT));
        let config = Config {
            waiting_max: 4,
            settle: Duration::from_secs(4),
            keep: Duration::from_secs(8),
            ..Config::new(at.clone())
        };
        let plane = move |_: &mut Random| {
            (Node::Plane(Box::new(BfdDataPlane::new(config.clone()))), Vec::new())
        };
        world.add_node(plane);
        world.add_node(move |random| (Node::Bfdd(Bfdd::born(at.clone(), random)), Vec::new()));
        let quality = Quality { delay: Duration::from_micros(200), ..Quality::GOOD };
        world.add_link([(PLANE, ADDRESSES[PLANE]), (BFDD, ADDRESSES[BFDD])], quality);
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
            Report::Added(session) => {
                let entry = (session.clone(), State::Down);
                let before = self.sessions.insert(session.discriminator, entry);
                self.draw(world, session.discriminator);
                before.is_none()
            }
            Report::Changed { before, session } => match self.sessions.remove(before) {
                Some((was, state)) => {
                    self.sessions.insert(session.discriminator, (session.clone(), state));
                    if world.random().below(2) == 0 {
                        self.draw(world, session.discriminator);
                    }
                    was.peer == session.peer
                }
                None => false,
            },
            Report::Removed { discriminator } => self.sessions.remove(discriminator).is_some(),
            Report::Full => false,
            _ => true,
        };
        if is_allowed { Ok(()) } else { Err(format!("at {at}: {report:?}")) }
    }

    fn judge_end(&mut self, world: &mut World<Node>) -> Result<(), String> {
        let (Some(Node::Plane(plane)), Some(Node::Bfdd(bfdd))) =
            (world.machine(PLANE), world.machine(BFDD))
        else {
            return Err("somebody is dead at the end".into());
        };
        let wanted: BTreeMap<u32, (Session, State)> =
            bfdd.sessions.values().map(|one| (one.0.discriminator, one.clone())).collect();
        if self.sessions != wanted {
            return Err(format!("bfdd has {wanted:?}, and told was {:?}", self.sessions));
        }
        let counters = plane.counters();
        if bfdd.asked != bfdd.answered || counters.malformed + counters.other > 0 {
            return Err(format!("{} of {} answers: {counters:?}", bfdd.answered, bfdd.asked));
        }
        Ok(())
    }
}

/// A node of either kind.
enum Node {
    Plane(Box<BfdDataPlane>),
    Bfdd(Bfdd),
}

impl Machine for Node {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match (self, input) {
            (Node::Plane(plane), input) => plane.input(now, input),
            (Node::Bfdd(bfdd), Input::Arrival(arrival)) => bfdd.arrive(arrival),
            (Node::Bfdd(_), Input::Command(_)) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        match self {
            Node::Plane(plane) => plane.poll(now),
            Node::Bfdd(bfdd) => bfdd.poll(now).map(Output::Departure),
        }
    }

    fn deadline(&self) -> Option<Time> {
        match self {
            Node::Plane(plane) => plane.deadline(),
            Node::Bfdd(bfdd) => bfdd.deadline(),
        }
    }
}

/// What bfdd does: it listens, wants its sessions of whoever connects, and changes them.
struct Bfdd {
    /// Sessions by their peers, and the states that it knows.
    sessions: BTreeMap<u8, (Session, State)>,
    stream: Option<Socket>,
    partial: Vec<u8>,
    departures: VecDeque<Departure>,
    random: Random,
    changes_left: u32,
    /// `None` before it was polled first.
    change_at: Option<Time>,
    /// Requests for counters in this connection, and answers to them.
    asked: u16,
    answered: u16,
}

impl Bfdd {
    fn born(at: Endpoint, random: &mut Random) -> Bfdd {
        let mut random = Random::new(random.bits());
        let peers: Vec<u8> = (0..PEERS).filter(|_| random.below(2) == 0).collect();
        // Others than before.
        let of = |peer| (peer, (session(random.bits() as u32, peer + 1), State::Down));
        let sessions = peers.into_iter().map(of).collect();
        let (options, streams) = (StreamOptions::default(), 1..2);
        let opening = Opening::Listener { at, options, streams };
        Bfdd {
            sessions,
            stream: None,
            partial: Vec::new(),
            departures: [Departure::Open { socket: Socket(0), opening }].into(),
            changes_left: random.below(40) as u32,
            random,
            change_at: None,
            asked: 0,
            answered: 0,
        }
    }

    fn arrive(&mut self, arrival: Arrival<'_>) {
        match arrival {
            Arrival::Connected { socket, .. } => {
                self.stream = Some(socket);
                self.partial.clear();
                (self.asked, self.answered) = (0, 0);
                let peers: Vec<u8> = self.sessions.keys().copied().collect();
                peers.into_iter().for_each(|peer| self.want(peer));
            }
            Arrival::Bytes { bytes, .. } => {
                self.partial.extend_from_slice(bytes);
                while let Ok(Some(len)) = message_len(&self.partial) {
                    if self.partial.len() < len {
                        break;
                    }
                    let message: Vec<u8> = self.partial.drain(..len).collect();
                    self.take(&message);
                }
            }
            Arrival::Finished { socket } => {
                self.gone();
                self.departures.push_back(Departure::Close { socket });
            }
            Arrival::Failed { .. } => self.gone(),
            _ => {}
        }
    }

    fn gone(&mut self) {
        self.stream = None;
        self.departures.retain(|departure| !matches!(departure, Departure::Bytes { .. }));
    }

    fn take(&mut self, bytes: &[u8]) {
        match Message::parse(bytes) {
            Ok((_, Message::StateChange(discriminator, change))) => {
                let mut sessions = self.sessions.values_mut();
                if let Some((_, state)) =
                    sessions.find(|(session, _)| session.discriminator == discriminator)
                {
                    *state = change.state;
                }
            }
            Ok((identifier, Message::Counters(..))) => {
                self.answered += 1;
                assert_eq!(identifier, self.answered, "answers come in their order");
            }
            other => panic!("{other:?}"),
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
        self.departures.pop_front()
    }

    fn deadline(&self) -> Option<Time> {
        match self.departures.is_empty() {
            true => self.change_at.filter(|_| self.changes_left > 0),
            false => Some(Time::ZERO),
        }
    }

    fn change(&mut self) {
        let peer = self.random.below(u64::from(PEERS)) as u8;
        let discriminator = self.random.bits() as u32;
        let Some((held, _)) = self.sessions.get_mut(&peer) else {
            self.sessions.insert(peer, (session(discriminator, peer + 1), State::Down));
            return self.want(peer);
        };
        let discriminator = held.discriminator;
        match self.random.below(3) {
            0 => {
                let gone = held.clone();
                self.sessions.remove(&peer);
                self.send(&Message::DeleteSession(gone), 0);
            }
            1 => {
                held.desired_min_tx_us += 1;
                let changed = held.clone();
                self.send(&Message::AddSession(changed), 0);
            }
            _ if self.stream.is_some() => {
                self.asked += 1;
                self.send(&Message::RequestCounters(discriminator), self.asked);
            }
            _ => {}
        }
    }

    /// Has a session run by the data plane, if there is one; what was known of it is void then.
    fn want(&mut self, peer: u8) {
        let Some((session, state)) = self.sessions.get_mut(&peer) else { return };
        *state = State::Down;
        let message = Message::AddSession(session.clone());
        self.send(&message, 0);
    }

    fn send(&mut self, message: &Message, identifier: u16) {
        if let Some(socket) = self.stream {
            let bytes = message.emit(identifier);
            self.departures.push_back(Departure::Bytes { socket, bytes: bytes.into() });
        }
    }
}

const PLANE: usize = 0;

const BFDD: usize = 1;

const ADDRESSES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))];

/// Peers with which bfdd may have a session.
const PEERS: u8 = 12;

/// All faults are over after this time.
const FAULTS: Duration = Duration::from_secs(8);

/// Long enough behind the last fault for bfdd to change, for the data plane to connect, and for
/// what is stale to be swept.
const QUIET: Duration = Duration::from_secs(30);

/// Seeds of a run in CI.
const SEEDS: u64 = 300;
