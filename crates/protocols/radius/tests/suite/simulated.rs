//! Clients and servers in a simulated network that loses, repeats, reorders and delays, and whose
//! nodes hang, die and come back: each request has exactly one answer, and it is its own; what was
//! kept on the disk is recorded.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use protocol_kit::{Arrival, Departure, Input, Machine, Opening, Output, Socket, Time};
use protocol_radius::accounting::{self, Accounting, Pace};
use protocol_radius::attributes::kind;
use protocol_radius::backlog::{Backlog, Limits};
use protocol_radius::{Answer, Client, Code, Command, Config, List, Packet, Report, seal};
use simulation::{Quality, Said, Simulation, World, simulate};

use crate::support::{access, config, far, secret};

/// A node of the simulated network.
enum Node {
    /// Somebody who asks at every step of time.
    Caller(Box<Caller>),
    /// Somebody who records at every step of time, and keeps what is not confirmed on a disk.
    Keeper(Box<Keeper>),
    /// A server.
    Server(Answering),
}

/// What a node says.
#[derive(Debug)]
enum Seen {
    /// Something was asked.
    Asked(u64),
    /// What the client says.
    Client(Report),
    /// What the keeper of records says.
    Keeper(accounting::Report),
}

struct Caller {
    client: Client,
    next: Time,
    token: u64,
    asked: VecDeque<u64>,
}

/// What outlives nodes.
#[derive(Default)]
struct Lasting {
    /// The file.
    file: Vec<u8>,
    /// Writes to it, and attempts.
    writes: u32,
    /// Numbers of records that were made.
    made: u32,
    /// Those that are in the file, or were.
    kept: BTreeSet<u32>,
    /// Those that a server has heard, and how often.
    heard: BTreeMap<u32, u32>,
}

struct Keeper {
    accounting: Accounting,
    lasting: Rc<RefCell<Lasting>>,
    /// Made since the file was written.
    fresh: Vec<u32>,
    next: Time,
}

struct Answering {
    address: SocketAddr,
    is_open: bool,
    answers: VecDeque<(SocketAddr, Vec<u8>)>,
    lasting: Rc<RefCell<Lasting>>,
}

impl Machine for Node {
    type Command = ();
    type Report = Seen;

    fn input(&mut self, now: Time, input: Input<'_, ()>) {
        let Input::Arrival(arrival) = input else { return };
        match self {
            Node::Caller(caller) => caller.client.input(now, Input::Arrival(arrival)),
            Node::Keeper(keeper) => keeper.accounting.input(now, Input::Arrival(arrival)),
            Node::Server(server) => {
                if let Arrival::Datagram { from, bytes, .. } = arrival {
                    server.answer(from, bytes);
                }
            }
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Seen>> {
        match self {
            Node::Caller(caller) => caller.poll(now),
            Node::Keeper(keeper) => keeper.poll(now),
            Node::Server(server) => server.poll(),
        }
    }

    fn deadline(&self) -> Option<Time> {
        match self {
            Node::Caller(caller) => caller.client.deadline().into_iter().chain([caller.next]).min(),
            Node::Keeper(keeper) => {
                keeper.accounting.deadline().into_iter().chain([keeper.next]).min()
            }
            Node::Server(server) => {
                (!server.is_open || !server.answers.is_empty()).then_some(Time::ZERO)
            }
        }
    }
}

impl Caller {
    fn poll(&mut self, now: Time) -> Option<Output<Seen>> {
        if now >= self.next {
            self.next = now.after(STEP);
            for _ in 0..BURST {
                let (token, request) = (self.token, access(&name(self.token)));
                self.token += 1;
                self.client.input(now, Input::Command(Command::Ask { token, request }));
                self.asked.push_back(token);
            }
        }
        if let Some(token) = self.asked.pop_front() {
            return Some(Output::Report(Seen::Asked(token)));
        }
        Some(match self.client.poll(now)? {
            Output::Departure(departure) => Output::Departure(departure),
            Output::Report(report) => Output::Report(Seen::Client(report)),
        })
    }
}

impl Keeper {
    fn poll(&mut self, now: Time) -> Option<Output<Seen>> {
        if now >= self.next {
            self.next = now.after(STEP);
            let lasting = Rc::clone(&self.lasting);
            let mut lasting = lasting.borrow_mut();
            let number = lasting.made;
            lasting.made += 1;
            let mut attributes = List::new();
            attributes.put_number(kind::ACCT_SESSION_ID, number).expect("it fits");
            let command = accounting::Command::Record { attributes, event_s: 0 };
            self.accounting.input(now, Input::Command(command));
            self.fresh.push(number);
            if number % 8 == 7 {
                self.write(&mut lasting);
            }
        }
        Some(match self.accounting.poll(now)? {
            Output::Departure(departure) => Output::Departure(departure),
            Output::Report(report) => Output::Report(Seen::Keeper(report)),
        })
    }

    /// Writes to a disk that takes some records at a time, and now and then only a part of them.
    fn write(&mut self, lasting: &mut Lasting) {
        lasting.writes += 1;
        let is_full = lasting.writes % 5 < 2;
        let backlog = self.accounting.backlog();
        if backlog.needs_snapshot() {
            let file = backlog.snapshot();
            // A file is whole or not there.
            if !is_full {
                lasting.file = file;
            }
        } else {
            let more = backlog.journal();
            let len = if is_full { more.len() / 2 } else { more.len() };
            lasting.file.extend(&more[..len]);
        }
        if is_full {
            backlog.failed();
        } else {
            assert_eq!(backlog.unwritten(), 0);
            lasting.kept.extend(self.fresh.drain(..));
        }
    }
}

impl Answering {
    fn answer(&mut self, from: SocketAddr, bytes: &[u8]) {
        let Ok(packet) = Packet::parse(bytes) else { return };
        let code = match packet.code {
            Code::AccessRequest => {
                let name = packet.attributes.first(kind::USER_NAME).unwrap_or_default();
                if name.starts_with(b"good") { Code::AccessAccept } else { Code::AccessReject }
            }
            Code::AccountingRequest => {
                assert_eq!(seal::check_request(&packet, &secret(), false), Ok(()));
                let number = packet.attributes.number(kind::ACCT_SESSION_ID).expect("it has one");
                let mut lasting = self.lasting.borrow_mut();
                let times = lasting.heard.entry(number).or_default();
                *times += 1;
                if *times > 1 {
                    cover("repeated");
                }
                Code::AccountingResponse
            }
            Code::StatusServer => Code::AccessAccept,
            _ => return,
        };
        // The answer says whose it is.
        let mut list = List::new();
        list.extend(packet.attributes, |kind| kind == kind::USER_NAME).expect("it fits");
        let answer = seal::answer(code, &packet, &secret(), list.attributes());
        self.answers.push_back((from, answer.expect("it fits")));
    }

    fn poll(&mut self) -> Option<Output<Seen>> {
        if !std::mem::replace(&mut self.is_open, true) {
            let opening = Opening::Datagrams { local: self.address, interface: None };
            return Some(Output::Departure(Departure::Open { socket: Socket(0), opening }));
        }
        let (to, bytes) = self.answers.pop_front()?;
        Some(Output::Departure(Departure::Datagram {
            socket: Socket(0),
            interface: None,
            via: None,
            from: self.address.ip(),
            to,
            ttl: 64,
            bytes,
        }))
    }
}

/// Who asks with a token.
fn name(token: u64) -> String {
    format!("{}-{token}", if token.is_multiple_of(3) { "bad" } else { "good" })
}

/// Own addresses: one on the link to each server.
fn own(server: u8) -> IpAddr {
    [192, 0, 2, 1 + server].into()
}

/// Whether a run is of a caller and its servers, or of a keeper and its servers.
struct Asking {
    /// Tokens without answer, and when they were asked.
    open: BTreeMap<u64, Time>,
    answered: u64,
    accepted: u64,
}

struct Recording {
    lasting: Rc<RefCell<Lasting>>,
}

thread_local! {
    /// What the runs of a test have seen: a test of what never happens shows nothing.
    static COVERED: RefCell<BTreeMap<&'static str, u64>> = RefCell::default();
}

fn cover(what: &'static str) {
    COVERED.with_borrow_mut(|covered| *covered.entry(what).or_default() += 1);
}

/// Runs the seeds, all of which together see each of these things.
fn run<S: Simulation>(things: &[&str]) {
    simulate::<S>(SEEDS);
    let covered = COVERED.take();
    // Whoever asks for fewer seeds gets what those have.
    if covered["run"] >= SEEDS {
        assert!(things.iter().all(|it| covered.contains_key(it)), "{covered:?} of {things:?}");
    }
    println!("{covered:?}");
}

/// A configuration for the network: two servers that are given up after some seconds.
fn patient(seed: u64, status: bool) -> Config {
    let mut config = config(2);
    config.patience = PATIENCE;
    config.sockets_max = 2;
    config.key = [seed as u8; 32];
    for (place, server) in (0..).zip(&mut config.servers) {
        server.local = own(place);
        server.port_first = 20_000 + 16 * u16::from(place);
        server.timeout = Duration::from_millis(200);
        server.dead_time = Duration::from_secs(2);
        server.has_status = status;
    }
    config
}

/// A world of a client, which is node 0, and two servers, each behind a link.
fn world(
    seed: u64,
    lasting: &Rc<RefCell<Lasting>>,
    client: impl Fn(Config) -> Node + 'static,
) -> World<Node> {
    cover("run");
    let mut world = World::new(seed);
    let status = world.random().below(2) == 0;
    let client =
        move |random: &mut protocol_kit::Random| (client(patient(random.bits(), status)), vec![]);
    let node = world.add_node(client);
    for place in 0..2 {
        let lasting = Rc::clone(lasting);
        let server = world.add_node(move |_| {
            let answers = VecDeque::new();
            let lasting = Rc::clone(&lasting);
            let address = far(place);
            (Node::Server(Answering { address, is_open: false, answers, lasting }), vec![])
        });
        // One that delays, repeats and reorders; only bad ones lose.
        let usual = Quality::draw(world.random(), 0);
        world.add_link([(node, own(place)), (server, far(place).ip())], usual);
    }
    world
}

impl Simulation for Asking {
    type Machine = Node;
    const NAME: &'static str = "radius";
    const FAULTS_BELOW: u64 = 12;
    const FAULTS: Duration = FAULTS;
    const QUIET: Duration = Duration::from_secs(20);

    fn world(seed: u64) -> (World<Node>, Asking) {
        let world = world(seed, &Rc::default(), |config| {
            let client = Client::new(&config).expect("usable");
            let asked = VecDeque::new();
            Node::Caller(Box::new(Caller { client, next: Time::ZERO, token: 0, asked }))
        });
        (world, Asking { open: BTreeMap::new(), answered: 0, accepted: 0 })
    }

    fn judge(&mut self, world: &mut World<Node>, said: Option<&Said<Seen>>) -> Result<(), String> {
        let Some(Said { at, node, report }) = said else { return Ok(()) };
        match report {
            // A client that begins again has no requests of before.
            Seen::Asked(0) => self.open = BTreeMap::from([(0, *at)]),
            Seen::Asked(token) => {
                self.open.insert(*token, *at);
            }
            Seen::Keeper(_) => return Err("it keeps nothing".to_owned()),
            Seen::Client(Report::Server { is_up, .. }) => {
                cover(if *is_up { "back" } else { "dead" });
            }
            Seen::Client(Report::Answer { token, answer }) => {
                let asked = self.open.remove(token);
                let asked = asked.ok_or(format!("{token} has two answers"))?;
                // One that hangs or has hung hears of it later.
                let held_up = world.resumed(*node).max(asked);
                if at.since(held_up) > PATIENCE + MARGIN {
                    return Err(format!("{token} had to wait from {asked} to {at}"));
                }
                if *answer == Answer::TimedOut && asked.since(Time::ZERO) > FAULTS + SETTLED {
                    return Err(format!("{token}, asked at {asked} in the quiet, has no answer"));
                }
                self.check(*token, answer)?;
            }
        }
        Ok(())
    }

    fn judge_end(&mut self, world: &mut World<Node>) -> Result<(), String> {
        let late = world.now().since(Time::ZERO).saturating_sub(PATIENCE + MARGIN);
        let is_late = |asked: &&Time| asked.since(Time::ZERO) < late;
        if let Some(asked) = self.open.values().find(is_late) {
            return Err(format!("what was asked at {asked} has no answer"));
        }
        match world.machine(0) {
            // In the quiet at the end all are answered by a server, at the links' pace.
            Some(Node::Caller(caller)) if caller.client.pending() > BURST => {
                Err(format!("{} are left", caller.client.pending()))
            }
            Some(_) if self.accepted == 0 => Err("nobody has access".to_owned()),
            Some(_) => Ok(()),
            None => Err("the client is dead".to_owned()),
        }
    }
}

impl Asking {
    /// Whether an answer is that of its own request.
    fn check(&mut self, token: u64, answer: &Answer) -> Result<(), String> {
        self.answered += 1;
        let expected = name(token);
        let (list, is_good) = match answer {
            Answer::Accept(list) => (list, true),
            Answer::Reject(list) => (list, false),
            Answer::TimedOut => {
                cover("no answer");
                return Ok(());
            }
            other => return Err(format!("{token}: {other:?}")),
        };
        self.accepted += u64::from(is_good);
        let named = list.attributes().first(kind::USER_NAME);
        if named != Some(expected.as_bytes()) || is_good != expected.starts_with("good") {
            return Err(format!("{token} has the answer of another request: {answer:?}"));
        }
        Ok(())
    }
}

impl Simulation for Recording {
    type Machine = Node;
    const NAME: &'static str = "radius-accounting";
    const FAULTS_BELOW: u64 = 12;
    const FAULTS: Duration = FAULTS;
    const QUIET: Duration = QUIET;

    fn world(seed: u64) -> (World<Node>, Recording) {
        let lasting: Rc<RefCell<Lasting>> = Rc::default();
        let kept = Rc::clone(&lasting);
        let world = world(seed, &lasting, move |config| {
            let client = Client::new(&config).expect("usable");
            let (backlog, _) = Backlog::restore(LIMITS, &kept.borrow().file).expect("a file");
            let accounting = Accounting::new(client, backlog, PACE);
            let (lasting, fresh) = (Rc::clone(&kept), Vec::new());
            Node::Keeper(Box::new(Keeper { accounting, lasting, fresh, next: Time::ZERO }))
        });
        (world, Recording { lasting })
    }

    fn judge(&mut self, _: &mut World<Node>, said: Option<&Said<Seen>>) -> Result<(), String> {
        let Some(Said { report: Seen::Keeper(report), .. }) = said else { return Ok(()) };
        cover(match report {
            accounting::Report::Server { .. } => "server",
            accounting::Report::Held(true) => "held",
            accounting::Report::Held(false) => "not held",
            accounting::Report::Unwritten(true) => "unwritten",
            accounting::Report::Unwritten(false) => "written",
        });
        Ok(())
    }

    fn judge_end(&mut self, world: &mut World<Node>) -> Result<(), String> {
        let lasting = self.lasting.borrow();
        let Some(Node::Keeper(keeper)) = world.machine(0) else {
            return Err("the keeper is dead".to_owned());
        };
        if keeper.accounting.lost() > 0 {
            return Err("there is room for all".to_owned());
        }
        if keeper.accounting.is_held() {
            return Err("records leave at the limited rate for ever".to_owned());
        }
        // The last ones are on their way.
        let end = lasting.made.saturating_sub(16);
        let lost = lasting.kept.iter().find(|it| **it < end && !lasting.heard.contains_key(it));
        match lost {
            Some(lost) => Err(format!("record {lost} of {} was kept, not heard", lasting.made)),
            None if lasting.heard.is_empty() => Err("nothing was heard".to_owned()),
            None => Ok(()),
        }
    }
}

#[test]
fn each_request_has_its_own_answer_and_one() {
    run::<Asking>(&["dead", "back", "no answer"]);
}

#[test]
fn what_was_kept_is_recorded() {
    run::<Recording>(&["held", "not held", "unwritten", "written", "repeated"]);
}

const LIMITS: Limits = Limits { records_max: 10_000, bytes_max: 1 << 20 };

/// A limited rate below that of the records that come.
const PACE: Pace = Pace { window: 32, rate: 15, pause: Duration::from_millis(500) };

/// Requests that somebody asks at once, so that links can reorder them.
const BURST: usize = 2;

/// Time after the last fault in which servers are found alive.
const SETTLED: Duration = Duration::from_secs(8);

/// Time between two requests or records of a node.
const STEP: Duration = Duration::from_millis(50);

/// Time after which a request ends without answer.
const PATIENCE: Duration = Duration::from_secs(4);

/// A clock that drifts, and the steps of timers.
const MARGIN: Duration = Duration::from_millis(50);

/// All faults are over after this time.
const FAULTS: Duration = Duration::from_secs(10);

/// Long enough for servers to be found alive, and for records that wait to leave: what 10 s of
/// faults have held leaves in 14 s at the limited rate, and as much once more if the keeper dies
/// meanwhile.
const QUIET: Duration = Duration::from_secs(40);

/// Seeds of a run in CI.
const SEEDS: u64 = 50;
