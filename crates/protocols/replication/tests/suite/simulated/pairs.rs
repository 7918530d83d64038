//! Two functions of which either may tell the other, in a simulated network: whoever is to tell is
//! chosen at random, one by the other's leave, both at once or none, while they die, hang and lose
//! each other. What was acknowledged is at the one that takes over, what was handed over is all
//! there was, and in the end both are the same.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use protocol_kit::{Arrival, Content, Input, Machine, Neighbour, Output, Random, Socket, Time};
use protocol_replication::{Pair, Part, Trouble};
use simulation::{Quality, Said, Simulation, World, simulate};

use super::{APPLIED_MAX, NUMBERS, QUIET_ROUND, ROUND};
use crate::toy::{KEYED, Member, PLAIN, Settings, Value};

/// A node: a machine, the worker that it speaks for, and what is wanted of that.
struct Node {
    machine: Pair<Value>,
    member: Box<Member>,
    random: Random,
    wants: bool,
    /// What will be wanted, and from when on.
    will_want: Option<(Time, bool)>,
    is_quiet: bool,
    has_set: bool,
    /// Whether its applier had all when that was looked at last.
    is_whole: bool,
    turn: Option<Time>,
    choice: Option<Time>,
}

/// What a node is told.
enum Command {
    /// After a time, to tell or to be told.
    Want(Duration, bool),
    /// The connection that it has made ends, and it may make another one.
    Break,
    /// Nothing changes any more.
    Rest,
}

/// What a node says.
#[derive(Clone, Debug)]
enum Report {
    /// It is time to choose again who tells.
    Choice,
    /// Its part is another one: the one before, and the one now.
    Turned([Part; 2]),
    /// All is acknowledged, and it was not before.
    Synchronised,
    /// All was told, and it was not before.
    Whole,
    /// A change was applied out of order.
    Wrong(String),
}

/// What was seen of both.
#[derive(Default)]
struct Seen {
    /// Whether both have the same key.
    is_alike: bool,
    /// What was acknowledged last, by whom it was told, and when.
    acknowledged: Option<(usize, Time, BTreeMap<u32, u32>)>,
    /// When each began to tell, and to be told.
    told_from: [Time; 2],
    tells_from: [Time; 2],
    /// What each had when it last handed over, and when.
    left: [Option<(Time, BTreeMap<u32, u32>)>; 2],
    /// How often a law was held against something.
    looked: [u32; 3],
}

#[test]
fn a_pair_loses_nothing_whoever_tells() {
    simulate::<Seen>(SEEDS);
}

impl Node {
    fn new(settings: &Settings, own: SocketAddr, side: u32, random: &mut Random) -> Node {
        let settings = Settings { seed: random.bits(), ..settings.clone() };
        let (machine, member) = settings.pair(own, side);
        Node {
            machine,
            member: Box::new(member),
            random: Random::new(random.bits()),
            wants: false,
            will_want: None,
            is_quiet: false,
            has_set: true,
            is_whole: false,
            turn: None,
            choice: None,
        }
    }

    /// The worker goes round.
    fn round(&mut self, now: Time) -> Option<Report> {
        if let Some((from, wants)) = self.will_want
            && now >= from
        {
            (self.wants, self.will_want) = (wants, None);
        }
        let was_synchronised = self.member.teller.is_synchronised();
        let before = self.member.roles.part();
        if before == Part::Telling && !self.is_quiet && self.random.below(4) == 0 {
            let count = 1 << self.random.below(6);
            let set = |_| self.member.teller.set(self.random.below(NUMBERS) as u32);
            (0..count).for_each(set);
            self.has_set = true;
        }
        let done = self.member.round(self.wants, now.0, APPLIED_MAX);
        let is_whole = self.member.applier.is_synchronised();
        let was_whole = std::mem::replace(&mut self.is_whole, is_whole);
        match done {
            Err(what) => Some(Report::Wrong(what)),
            Ok(true) => Some(Report::Turned([before, self.member.roles.part()])),
            Ok(false) if is_whole && !was_whole => Some(Report::Whole),
            Ok(false) if was_synchronised && std::mem::take(&mut self.has_set) => {
                Some(Report::Synchronised)
            }
            Ok(false) => None,
        }
    }
}

impl Machine for Node {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        match input {
            Input::Command(Command::Want(span, wants)) => {
                self.will_want = Some((now.after(span), wants));
            }
            Input::Command(Command::Break) => {
                let arrival = Arrival::Finished { socket: STREAM };
                self.machine.input(now, Input::Arrival(arrival));
            }
            Input::Command(Command::Rest) => self.is_quiet = true,
            Input::Arrival(arrival) => self.machine.input(now, Input::Arrival(arrival)),
        }
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        if self.choice.is_none_or(|choice| now >= choice) {
            let ms = 50 + self.random.below(if self.is_quiet { 4000 } else { 1000 });
            let is_first = self.choice.replace(now.after(Duration::from_millis(ms))).is_none();
            if !is_first {
                return Some(Output::Report(Report::Choice));
            }
        }
        if self.turn.is_none_or(|turn| now >= turn) {
            self.turn = Some(now.after(if self.is_quiet { QUIET_ROUND } else { ROUND }));
            if let Some(report) = self.round(now) {
                return Some(Output::Report(report));
            }
        }
        self.machine.poll(now).map(|output| match output {
            Output::Departure(departure) => Output::Departure(departure),
        })
    }

    fn deadline(&self) -> Option<Time> {
        [self.machine.deadline(), self.turn, self.choice].into_iter().flatten().min()
    }
}

impl Seen {
    /// Chooses who is to tell from some time on; the network may tell both in any order, or make a
    /// mistake.
    fn choose(&self, world: &mut World<Node>) {
        let is_last = world.now() >= Time::ZERO.after(FAULTS);
        let random = world.random();
        let mut span = || Duration::from_millis(random.below(80));
        let spans = [span(), span()];
        let wants = match random.below(8) {
            _ if is_last => [true, false],
            0 => [true, true],
            1 => [false, false],
            other => [other % 2 == 0, other % 2 == 1],
        };
        let breaks = random.below(2) > 0;
        for node in [0, 1] {
            world.command(node, Command::Want(spans[node], wants[node]));
            if is_last {
                world.command(node, Command::Rest);
            } else if breaks {
                world.command(node, Command::Break);
            }
        }
    }

    /// All is acknowledged that a node has told.
    fn synchronised(&mut self, world: &World<Node>, from: usize) -> Result<(), String> {
        if !self.is_alike {
            return Err("by another key".to_owned());
        }
        let [Some(ours), Some(theirs)] = [from, 1 - from].map(|node| world.machine(node)) else {
            return Ok(());
        };
        // One that is gone, or does not hear any more, is noticed a moment later.
        let is_heard = matches!(theirs.member.roles.part(), Part::Told | Part::Waiting);
        if !is_heard || !theirs.member.applier.is_synchronised() {
            return Ok(());
        }
        // What is newer was set after all was acknowledged.
        let theirs = theirs.member.values();
        let newest = theirs.values().max().copied().unwrap_or(0);
        let ours = ours.member.values();
        let told = ours.iter().filter(|(_, value)| **value <= newest);
        let told: BTreeMap<u32, u32> = told.map(|(number, value)| (*number, *value)).collect();
        contains(theirs, &told, "was acknowledged")?;
        self.acknowledged = Some((from, world.now(), told));
        Ok(())
    }

    /// A node says that it has all that the other one had when their connection came about.
    fn whole(&mut self, world: &World<Node>, node: usize) -> Result<(), String> {
        let [Some(ours), Some(theirs)] = [node, 1 - node].map(|node| world.machine(node)) else {
            return Ok(());
        };
        let (connection, told) = &theirs.member.teller.connected;
        // Another life of it may have begun since.
        if *connection == 0 {
            return Ok(());
        }
        if ours.member.applier.link.connection() != *connection {
            return Err("the other one has not seen the connection yet".to_owned());
        }
        self.looked[2] += 1;
        contains(ours.member.values(), told, "was there before")
    }

    /// A node has another part.
    fn turned(&mut self, world: &World<Node>, node: usize, parts: [Part; 2]) -> Result<(), String> {
        let (now, other) = (world.now(), 1 - node);
        let Some(Node { member, .. }) = world.machine(node) else { return Ok(()) };
        match parts {
            [Part::Leaving, Part::Told] => {
                self.left[node] = member.left.clone().map(|left| (now, left));
                self.told_from[node] = now;
            }
            [Part::Waiting, Part::Telling] => {
                let told_from = self.told_from[node].max(world.born(node));
                if let Some((by, at, told)) = &self.acknowledged
                    && (*by, told_from < *at) == (other, true)
                    && self.tells_from[other] < *at
                {
                    contains(member.values(), told, "was acknowledged")?;
                    self.looked[0] += 1;
                }
                // By the other one's leave: nothing at all is lost.
                let is_handed_over =
                    member.applier.link.status().trouble == Trouble::HandedOver.text();
                if let Some((at, left)) = &self.left[other]
                    && is_handed_over
                    && told_from < *at
                {
                    contains(member.values(), left, "was handed over")?;
                    if self.tells_from[other] < *at && member.values() != left {
                        return Err("it has what the other one had not".to_owned());
                    }
                    self.looked[1] += 1;
                }
                self.tells_from[node] = now;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether everything is there, or something newer in its place.
fn contains(
    values: &BTreeMap<u32, u32>,
    told: &BTreeMap<u32, u32>,
    what: &str,
) -> Result<(), String> {
    let is_there = |number: &u32, value: &u32| values.get(number).is_some_and(|is| is >= value);
    match told.iter().find(|(number, value)| !is_there(number, value)) {
        Some(one) => Err(format!("{one:?} {what} and is {:?}", values.get(one.0))),
        None => Ok(()),
    }
}

impl Simulation for Seen {
    type Machine = Node;
    const NAME: &'static str = "replication";
    const FAULTS_BELOW: u64 = 8;
    const FAULTS: Duration = FAULTS;
    const QUIET: Duration = QUIET;

    fn world(seed: u64) -> (World<Node>, Seen) {
        let mut world = World::new(seed);
        let is_alike = world.random().below(8) > 0;
        let addresses: [IpAddr; 2] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
        let at = addresses.map(|address| SocketAddr::new(address, 7400));
        let settings = if world.random().below(3) > 0 { KEYED } else { PLAIN };
        for side in [0, 1] {
            let key = match side {
                1 if !is_alike => Some("quite another key"),
                _ => settings.key,
            };
            let settings = Settings { at: at[1 - side], key, ..settings.clone() };
            let own = at[side];
            world.add_node(move |random| {
                (Node::new(&settings, own, side as u32, random), Vec::new())
            });
        }
        world.add_link([(0, addresses[0]), (1, addresses[1])], Quality::GOOD);
        (world, Seen { is_alike, ..Seen::default() })
    }

    fn judge(
        &mut self,
        world: &mut World<Node>,
        said: Option<&Said<Report>>,
    ) -> Result<(), String> {
        let Some(Said { node, report, .. }) = said else { return Ok(()) };
        match report {
            Report::Wrong(what) => Err(what.clone()),
            Report::Choice => {
                self.choose(world);
                Ok(())
            }
            Report::Synchronised => self.synchronised(world, *node),
            Report::Whole => self.whole(world, *node),
            Report::Turned(parts) => self.turned(world, *node, *parts),
        }
    }

    fn judge_end(&mut self, world: &mut World<Node>) -> Result<(), String> {
        let [Some(one), Some(other)] = [0, 1].map(|node| world.machine(node)) else {
            return Err("a node is dead at the end".to_owned());
        };
        let [ours, theirs] = [&one.member, &other.member];
        let parts = [ours.roles.part(), theirs.roles.part()];
        if parts != [Part::Telling, Part::Told] {
            return Err(format!("not as was wanted: {parts:?}"));
        }
        for (node, side) in [(one, "standby at"), (other, "active, to")] {
            let shown = node.machine.neighbours(world.now());
            let is_it = |one: &Neighbour| {
                one.address.starts_with(side) && (one.state == "connected") == self.is_alike
            };
            let is_hidden = |socket| {
                let trace = node.machine.trace(Socket(socket));
                matches!(trace.map(|trace| trace.content), Some(Content::Hidden))
            };
            if shown.len() != 1 || !shown.iter().all(is_it) || ![1, 2].into_iter().all(is_hidden) {
                return Err(format!("at the end this is shown: {shown:?}"));
            }
        }
        let status = [ours.teller.link.status(), theirs.applier.link.status()];
        if !self.is_alike {
            let is_untold = ours.applier.afresh + theirs.applier.afresh == 0;
            return is_untold.then_some(()).ok_or(format!("told by another key: {status:?}"));
        }
        let is_same = ours.values() == theirs.values();
        match is_same && ours.teller.is_synchronised() && theirs.applier.is_synchronised() {
            true => Ok(()),
            false => Err(format!("not the same at the end: {status:?}")),
        }
    }
}

/// The stream of a connection that a node has made.
const STREAM: Socket = Socket(2);

/// All faults are over after this time.
const FAULTS: Duration = Duration::from_secs(4);

/// Long enough for a silent peer and the longest back-off.
const QUIET: Duration = Duration::from_secs(12);

/// Seeds of a run in CI.
const SEEDS: u64 = 100;
