//! Copies of known bytes over streams, while links and nodes fail: nothing is torn, lost or mixed
//! up, every failure is told, and everything goes on afterwards.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use protocol_kit::{
    Arrival, Departure, Endpoint, Input, Machine, Opening, Output, Random, STREAM_ROOM, Socket,
    StreamOptions, Time,
};
use simulation::{Quality, Said, Simulation, World, simulate};

/// A machine that copies: one side begins streams again and again, the other listens.
struct Copier {
    /// Where the stream goes to; `None` for who listens.
    to: Option<SocketAddr>,
    copies: BTreeMap<Socket, Copy>,
    /// When the next stream is begun.
    begins: Option<Time>,
    random: Random,
    outputs: VecDeque<Output<Report>>,
}

/// A stream.
#[derive(Default)]
struct Copy {
    stands: bool,
    departed: usize,
    taken: usize,
    arrived: usize,
    has_finished: bool,
    has_ended: bool,
    /// When it reads on.
    reads: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Report {
    Done,
    Failed,
    /// A byte is not what it has to be, or a count.
    Wrong(&'static str),
}

impl Copier {
    fn new(to: Option<SocketAddr>, seed: u64) -> Copier {
        let mut copier = Copier {
            to,
            copies: BTreeMap::new(),
            begins: to.map(|_| Time::ZERO),
            random: Random::new(seed),
            outputs: VecDeque::new(),
        };
        if to.is_none() {
            let (at, options) = (Endpoint::Tcp(at()), StreamOptions::default());
            copier.want(Departure::Open {
                socket: LISTENER,
                opening: Opening::Listener { at, options, streams: 10..12 },
            });
        }
        copier
    }

    fn want(&mut self, departure: Departure) {
        self.outputs.push_back(Output::Departure(departure));
    }

    /// Sends as much as there is room for, and ends what is done.
    fn go_on(&mut self, now: Time, socket: Socket) {
        let is_first = self.to.is_some();
        let Some(copy) = self.copies.get_mut(&socket).filter(|copy| copy.stands) else { return };
        while copy.departed < TOTAL && copy.departed - copy.taken < STREAM_ROOM {
            let room = (STREAM_ROOM - (copy.departed - copy.taken)).min(TOTAL - copy.departed);
            let len = 1 + self.random.below(room as u64) as usize;
            let bytes: Vec<u8> =
                (copy.departed..copy.departed + len).map(|at| byte(is_first, at)).collect();
            copy.departed += len;
            self.outputs
                .push_back(Output::Departure(Departure::Bytes { socket, bytes: bytes.into() }));
        }
        if copy.departed == TOTAL && !copy.has_finished {
            copy.has_finished = true;
            self.outputs.push_back(Output::Departure(Departure::Finish { socket }));
        }
        if copy.has_ended && copy.taken == TOTAL {
            let is_whole = copy.arrived == TOTAL;
            self.copies.remove(&socket);
            self.want(Departure::Close { socket });
            let report = if is_whole { Report::Done } else { Report::Wrong("the end") };
            self.outputs.push_back(Output::Report(report));
            self.begins = self.to.map(|_| now.after(PAUSE));
        }
    }

    fn arrive(&mut self, now: Time, arrival: Arrival<'_>) {
        let wrong;
        let socket = match arrival {
            Arrival::Connected { socket, .. } => {
                let copy = self.copies.entry(socket).or_default();
                wrong = copy.stands.then_some("connected twice");
                copy.stands = true;
                socket
            }
            Arrival::Bytes { socket, bytes } => {
                let (is_first, pauses) = (self.to.is_some(), self.random.below(8) == 0);
                let pause = Duration::from_millis(self.random.below(3_000));
                let Some(copy) = self.copies.get_mut(&socket) else { return };
                let mut right = (copy.arrived..).map(|at| byte(!is_first, at));
                let is_right = bytes.iter().all(|byte| Some(*byte) == right.next());
                wrong = (!is_right || bytes.is_empty()).then_some("bytes");
                copy.arrived += bytes.len();
                if pauses && copy.reads.is_none() {
                    copy.reads = Some(now.after(pause));
                    self.want(Departure::Read { socket, is_wanted: false });
                }
                socket
            }
            Arrival::Taken { socket, count } => {
                let Some(copy) = self.copies.get_mut(&socket) else { return };
                copy.taken += count;
                wrong = (copy.taken > copy.departed).then_some("taken");
                socket
            }
            Arrival::Finished { socket } => {
                let Some(copy) = self.copies.get_mut(&socket) else { return };
                wrong = std::mem::replace(&mut copy.has_ended, true).then_some("finished twice");
                socket
            }
            Arrival::Failed { socket } => {
                self.outputs.retain(|output| !is_of(output, socket));
                wrong = self.copies.remove(&socket).is_none().then_some("failed");
                self.begins = self.to.map(|_| now.after(PAUSE));
                self.outputs.push_back(Output::Report(Report::Failed));
                socket
            }
            _ => return,
        };
        let wrong = wrong.map(|what| Output::Report(Report::Wrong(what)));
        self.outputs.extend(wrong);
        self.go_on(now, socket);
    }
}

impl Machine for Copier {
    type Command = ();
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, ()>) {
        if let Input::Arrival(arrival) = input {
            self.arrive(now, arrival);
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        if let (Some(to), true) = (self.to, self.begins.is_some_and(|begins| begins <= now)) {
            self.begins = None;
            self.copies.insert(STREAM, Copy::default());
            let (to, options) = (Endpoint::Tcp(to), StreamOptions::default());
            let opening = Opening::Stream { from: None, to, options };
            self.want(Departure::Open { socket: STREAM, opening });
        }
        let ready = |(socket, copy): (&Socket, &mut Copy)| {
            copy.reads.take_if(|reads| *reads <= now).map(|_| *socket)
        };
        let ready: Vec<Socket> = self.copies.iter_mut().filter_map(ready).collect();
        for socket in ready {
            self.want(Departure::Read { socket, is_wanted: true });
        }
        self.outputs.pop_front()
    }

    fn deadline(&self) -> Option<Time> {
        let reads = self.copies.values().filter_map(|copy| copy.reads);
        reads.chain(self.begins).min()
    }
}

/// Whether an output is something that is wanted of a socket.
fn is_of(output: &Output<Report>, wanted: Socket) -> bool {
    match output {
        Output::Departure(Departure::Bytes { socket, .. } | Departure::Finish { socket }) => {
            *socket == wanted
        }
        Output::Departure(Departure::Read { socket, .. }) => *socket == wanted,
        _ => false,
    }
}

/// The byte at a place of the stream of one side.
fn byte(is_first: bool, at: usize) -> u8 {
    (at * 7 / 3 + at / 251 + usize::from(is_first) * 85) as u8
}

fn at() -> SocketAddr {
    SocketAddr::new([10, 0, 0, 2].into(), 179)
}

/// Two nodes that copy.
struct Copies {
    done: Time,
}

impl Simulation for Copies {
    type Machine = Copier;
    const NAME: &'static str = "copies";
    const FAULTS_BELOW: u64 = 12;
    const FAULTS: Duration = FAULTS;
    const QUIET: Duration = QUIET;

    fn world(seed: u64) -> (World<Copier>, Copies) {
        let mut world = World::new(seed);
        for to in [Some(at()), None] {
            world.add_node(move |random| (Copier::new(to, random.bits()), Vec::new()));
        }
        let addresses: [IpAddr; 2] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
        let quality = Quality { rate: None, ..Quality::draw(world.random(), 50_000) };
        world.add_link([(0, addresses[0]), (1, addresses[1])], quality);
        (world, Copies { done: Time::ZERO })
    }

    fn judge(&mut self, _: &mut World<Copier>, said: Option<&Said<Report>>) -> Result<(), String> {
        let Some(Said { at, node, report }) = said else { return Ok(()) };
        match report {
            Report::Wrong(what) => return Err(format!("node {node} at {at}: {what}")),
            Report::Done if *node == 0 => self.done = *at,
            _ => {}
        }
        Ok(())
    }

    fn judge_end(&mut self, world: &mut World<Copier>) -> Result<(), String> {
        let open = world.machine(1).map_or(0, |listener| listener.copies.len());
        if self.done < Time::ZERO.after(FAULTS + QUIET / 2) || open > 1 {
            return Err(format!("the last copy was done at {}, {open} are open", self.done));
        }
        Ok(())
    }
}

#[test]
fn copies_are_whole_or_fail() {
    simulate::<Copies>(SEEDS);
}

const STREAM: Socket = Socket(1);
const LISTENER: Socket = Socket(2);

/// Bytes of a copy, each way.
const TOTAL: usize = 100_000;

/// Time from one copy to the next.
const PAUSE: Duration = Duration::from_secs(25);

/// All faults are over after this time: the longest last for half of it.
const FAULTS: Duration = Duration::from_secs(300);

/// Time behind it.
const QUIET: Duration = Duration::from_secs(200);

/// Seeds of a run in CI.
const SEEDS: u64 = 60;
