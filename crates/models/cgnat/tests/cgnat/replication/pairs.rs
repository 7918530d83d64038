//! Two NATs of which either may tell the other, their machines in a simulated network: one dies,
//! comes back and takes its place again, both are active for a while, and they take turns at
//! random.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;

use engine::{EventKind, Function};
use function_cgnat::Update;
use function_cgnat::reasons::Tally;
use function_kit::{Condition, NetworkFunction, When};
use protocol_kit::{Input, Output, Random};
use simulation::{Quality, World};
use testkit::device::Outcome;
use testkit::pair::clock;

use super::failover::{answer, packet};
use super::*;
use crate::frames::{INSIDE, OUTSIDE, net};
use crate::pcp;

/// A machine beside a NAT as a node of its own.
struct Beside(Companion);

impl Machine for Beside {
    type Command = Infallible;
    type Report = Infallible;

    fn input(&mut self, now: Time, input: Input<'_, Infallible>) {
        self.0.input(now, input);
    }

    fn poll(&mut self, now: Time) -> Option<Output<Infallible>> {
        self.0.poll(now)
    }

    fn deadline(&self) -> Option<Time> {
        self.0.deadline()
    }
}

/// Both, and the network between them.
struct Two {
    config: Config,
    nats: [Option<Device<Pipeline>>; 2],
    /// Machines that are to be born.
    machines: [Rc<RefCell<Option<Companion>>>; 2],
    world: World<Beside>,
    now: Ticks,
}

const ADDRESSES: [[u8; 4]; 2] = [[10, 0, 0, 1], [10, 0, 0, 2]];

impl Two {
    fn new(seed: u64) -> Two {
        let config = Config {
            pools: vec![net("198.18.0.0/26")],
            port_block: function_cgnat::config::PortBlocks { size: 64, per_subscriber: 8 },
            sessions: 20_000,
            sessions_per_subscriber: Some(0),
            ..lasting()[0].clone()
        };
        Two::of(seed, config)
    }

    fn of(seed: u64, config: Config) -> Two {
        let machines: [Rc<RefCell<Option<Companion>>>; 2] = Default::default();
        let mut world = World::new(seed);
        for machine in &machines {
            let machine = Rc::clone(machine);
            world.add_node(move |_| {
                (Beside(machine.borrow_mut().take().expect("there is one")), Vec::new())
            });
        }
        let [one, other] = ADDRESSES.map(IpAddr::from);
        world.add_link([(0, one), (1, other)], Quality::GOOD);
        let mut two = Two { config, nats: [None, None], machines, world, now: BEGIN };
        for side in [0, 1] {
            two.begin(side);
        }
        two
    }

    /// A NAT that knows nothing begins.
    fn begin(&mut self, side: usize) {
        let replication = Replication {
            role: Role::Pair,
            address: ADDRESSES[side].into(),
            peer: Some(ADDRESSES[1 - side].into()),
            ..Replication::default()
        };
        // Each draws its ports by a number of its own.
        let secret = Some(side as u64);
        let mut nat = device(&Config { replication, secret, ..self.config.clone() }, self.now);
        *self.machines[side].borrow_mut() = Some(machine_of(&mut nat));
        self.nats[side] = Some(nat);
        self.world.revive(side);
    }

    /// A NAT dies without a word.
    fn kill(&mut self, side: usize) {
        self.world.kill(side);
        self.nats[side] = None;
    }

    fn nat(&mut self, side: usize) -> &mut Device<Pipeline> {
        self.nats[side].as_mut().expect("it lives")
    }

    fn state(&mut self, side: usize) -> &State {
        self.nat(side).function_mut().state()
    }

    fn set_active(&mut self, side: usize, active: bool) {
        let now = self.now;
        assert!(self.nat(side).update(Update::SetActive { active }, now));
    }

    /// Lets a millisecond pass.
    fn step(&mut self) {
        self.now += clock().ticks(Duration::from_millis(1));
        for nat in self.nats.iter_mut().flatten() {
            nat.rest(self.now);
        }
        let end = self.world.now().after(Duration::from_millis(1));
        while self.world.pass(end) {}
    }

    /// Lets time pass until something holds; returns how many milliseconds that took.
    fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Two) -> bool) -> u32 {
        for step in 0..60_000 {
            if holds(self) {
                return step;
            }
            self.step();
        }
        let nats = self.nats.iter_mut().flatten();
        let status: Vec<Status> = nats.map(|nat| nat.function_mut().replication()).collect();
        panic!("not {what} in a minute: {status:?}")
    }

    /// Lets time pass until one tells, and the other one has all of it.
    fn follow(&mut self, active: usize) -> u32 {
        let ms = self.until("followed", |two| {
            let is_told = |two: &mut Two, side: usize| {
                two.nat(side).function_mut().replication().is_synchronised
            };
            two.state(active).opens && is_told(two, active) && is_told(two, 1 - active)
        });
        let [ours, theirs] = [0, 1].map(|side| self.sessions(side));
        assert_eq!(ours, theirs, "both know the same");
        ms
    }

    /// Sessions by their names, and subscribers with what they have.
    fn sessions(&mut self, side: usize) -> Known {
        let now = self.now;
        let Tables { sessions, subscribers, .. } = Tables::of(self.state(side), now);
        (sessions, subscribers)
    }

    /// Sends a client's packet; yields what it becomes outside.
    fn open(&mut self, side: usize, number: u32) -> Result<Vec<u8>, String> {
        let frame = packet(&self.config, wire::protocol::UDP, number);
        self.pass(side, INSIDE, &frame)
    }

    fn pass(&mut self, side: usize, port: packet::PortId, frame: &[u8]) -> Result<Vec<u8>, String> {
        let now = self.now;
        match self.nat(side).pass(port, frame, now) {
            Outcome::Left(_, frame) => Ok(frame),
            other => Err(format!("{other:?}")),
        }
    }

    /// Sessions go on at a NAT as they were at another one.
    fn go_on(&mut self, side: usize, before: &BTreeMap<u32, Vec<u8>>) {
        let opened = |two: &mut Two| {
            let tallies = &two.state(side).tallies;
            tallies[Tally::SessionsOpened as usize] + tallies[Tally::SessionsOpenedInbound as usize]
        };
        let opened_before = opened(self);
        for (number, left) in before {
            assert!(self.pass(side, OUTSIDE, &answer(left, 0)).is_ok(), "{number} from outside");
            assert_eq!(self.open(side, *number).as_ref(), Ok(left), "{number}");
        }
        assert_eq!(opened(self), opened_before, "not one was opened anew");
    }

    /// What a NAT says to control.
    fn events(&mut self, side: usize) -> Vec<EventKind> {
        let nat = self.nat(side).function_mut();
        std::iter::from_fn(|| nat.event()).map(|event| event.kind).collect()
    }
}

/// What a NAT knows of sessions and subscribers.
type Known =
    (BTreeMap<String, (u32, u16, u8, String)>, BTreeMap<Who, (u32, BTreeSet<u32>, u32, u32)>);

/// Milliseconds within which sessions open again after the active one has died.
const TAKE_OVER_MS_MAX: u32 = 50;

#[test]
fn one_that_dies_loses_no_acknowledged_session_and_takes_its_place_again_without_loss() {
    let mut two = Two::new(1);
    two.set_active(0, true);
    two.until("active", |two| two.state(0).opens);
    let mut all = BTreeMap::new();
    for number in 0..3000 {
        all.insert(number, two.open(0, number).expect("a session"));
    }
    two.follow(0);
    assert_eq!(two.events(1), [EventKind::Synchronised]);
    // More of which nobody waits for an acknowledgement.
    for number in 3000..3500 {
        two.open(0, number).expect("a session");
    }
    two.kill(0);
    two.set_active(1, true);
    let ms = two.until("active", |two| two.state(1).opens);
    assert!(ms <= TAKE_OVER_MS_MAX, "{ms} ms");
    two.go_on(1, &all);
    for number in 4000..5000 {
        all.insert(number, two.open(1, number).expect("a session"));
    }

    // It is back, is told everything, and only then may be active.
    two.begin(0);
    assert!(two.open(0, 9000).expect_err("it is not active").contains("not-active"));
    // An operator hears of it.
    let tells = |one: &Condition| matches!(one.when, When::Dropping(&["not-active"]));
    assert!(function_cgnat::Cgnat::CONDITIONS.iter().any(tells));
    two.until("told", |two| two.events(0).contains(&EventKind::Synchronised));
    two.follow(1);
    for number in 5000..5600 {
        all.insert(number, two.open(1, number).expect("a session"));
    }
    two.set_active(0, true);
    two.step();
    // The other one does not know yet.
    all.insert(5600, two.open(1, 5600).expect("a session"));
    assert!(two.open(0, 5600).expect_err("it waits").contains("not-active"));
    let before = two.sessions(1);
    two.set_active(1, false);
    let ms = two.until("active", |two| two.state(0).opens);
    assert!(ms < 50, "{ms} ms, because it was handed over");
    assert_eq!(two.sessions(0), before, "nothing at all is lost");
    two.go_on(0, &all);
    assert!(two.open(1, 9000).expect_err("it is not active").contains("not-active"));
    two.follow(0);
    assert_eq!(two.nat(0).function_mut().replication().refused, 0);
}

#[test]
fn one_that_lost_the_other_for_a_while_knows_nothing_before_it_was_told_what_it_missed() {
    let mut two = Two::new(4);
    two.set_active(0, true);
    two.until("active", |two| two.state(0).opens);
    for number in 0..500 {
        two.open(0, number).expect("a session");
    }
    two.follow(0);
    for round in 0..2 {
        two.world.link(0).is_cut = true;
        let is_apart = |two: &mut Two| {
            let mut is_gone = |side| !two.nat(side).function_mut().replication().is_connected;
            is_gone(0) && is_gone(1)
        };
        two.until("apart", is_apart);
        two.events(1);
        for number in 500 + round * 5000..5000 + round * 5000 {
            two.open(0, number).expect("a session");
        }
        let missed = two.sessions(0);
        two.world.link(0).is_cut = false;
        two.until("told", |two| two.events(1).contains(&EventKind::Synchronised));
        assert_eq!(two.sessions(1), missed, "it says so when it has them all");
        let status = two.nat(1).function_mut().replication();
        assert_eq!(status.resynchronisations, 1, "it goes on where it was: {status:?}");
    }
}

#[test]
fn mappings_are_the_active_ones_to_give_and_to_take_back() {
    let mut two = Two::of(5, pcp::config());
    let config = two.config.clone();
    let ask = |two: &mut Two, side, lifetime| {
        let frame = pcp::Request { lifetime, ..pcp::Request::of(4000) }.frame(&config);
        two.pass(side, INSIDE, &frame)
    };
    two.set_active(0, true);
    two.until("active", |two| two.state(0).opens);
    ask(&mut two, 0, 3600).expect("a mapping");
    two.follow(0);
    let count = |two: &mut Two, side| {
        let granted = two.state(side).granted.as_ref();
        granted.map(|granted| granted.count())
    };
    for lifetime in [60, 0] {
        assert!(ask(&mut two, 1, lifetime).expect_err("it is not active").contains("not-active"));
        assert_eq!([0, 1].map(|side| count(&mut two, side)), [Some(1); 2]);
    }
    two.set_active(0, false);
    two.set_active(1, true);
    two.until("turned", |two| two.state(1).opens && !two.state(0).opens);
    ask(&mut two, 1, 0).expect("an answer");
    two.follow(1);
    assert_eq!([0, 1].map(|side| count(&mut two, side)), [Some(0); 2]);
}

#[test]
fn none_is_older_after_it_was_taken_over() {
    let mut two = Two::new(2);
    two.set_active(0, true);
    two.until("active", |two| two.state(0).opens);
    let frame = packet(&two.config, wire::protocol::UDP, 7);
    two.pass(0, INSIDE, &frame).expect("a session");
    two.follow(0);
    // It is used at the active one, which need not say so before half of its time is over.
    let timeout = two.config.timeouts.udp_s;
    two.now += clock().ticks(Duration::from_secs_f64(timeout * 0.4));
    two.pass(0, INSIDE, &frame).expect("a session");
    let left = |two: &mut Two, side: usize| {
        let now = two.now;
        let state = two.state(side);
        let (_, session) = state.sessions.from(0).next().expect("a session");
        state.times.left_s(session, state.times.moment(now))
    };
    let before = left(&mut two, 0);
    assert!(left(&mut two, 1) < before - 1.0, "it was not told");
    two.kill(0);
    two.set_active(1, true);
    two.until("active", |two| two.state(1).opens);
    two.step();
    let after = left(&mut two, 1);
    assert!(after >= before - 0.5, "{after} s, {before} s before");
}

#[test]
fn of_two_active_ones_the_one_that_stays_is_right() {
    let mut two = Two::new(3);
    two.set_active(0, true);
    two.until("active", |two| two.state(0).opens);
    for number in 0..500 {
        two.open(0, number).expect("a session");
    }
    two.follow(0);
    two.world.link(0).is_cut = true;
    two.set_active(1, true);
    two.until("active", |two| two.state(1).opens);
    for number in 500..900 {
        two.open(0, number).expect("a session");
        two.open(1, number + 300).expect("a session");
    }
    two.world.link(0).is_cut = false;
    (0..3000).for_each(|_| two.step());
    let refused = two.nat(0).function_mut().replication().trouble;
    assert!(refused.contains("both sides are active"), "{refused}");
    let right = two.sessions(1);
    two.set_active(0, false);
    two.until("told", |two| two.nat(0).function_mut().replication().is_synchronised);
    assert_eq!(two.sessions(1), right, "nobody took anything from it");
    two.follow(1);
    // Of 300 that only the other one had, those that were not in the way of one that was told.
    let dropped = two.state(0).tallies[Tally::ReplicationDropped as usize];
    assert!((200..=300).contains(&dropped), "{dropped}");
}

#[test]
fn whoever_is_active_by_turns_nothing_that_was_handed_over_is_lost() {
    for seed in 0..4 {
        let (mut two, mut random) = (Two::new(seed), Random::new(seed));
        let mut active = 0;
        two.set_active(0, true);
        for round in 0..25 {
            two.until("active", |two| two.state(active).opens);
            for _ in 0..random.below(300) {
                let number = random.below(4000) as u32;
                two.open(active, number).expect("a session");
                if random.below(40) == 0 {
                    let address = Ipv4Addr::from_bits(0x0a00_0001 + number % 200).into();
                    let now = two.now;
                    two.nat(active).update(Update::ClearSubscriber { address, vlan: 0 }, now);
                }
                if random.below(8) == 0 {
                    two.step();
                }
            }
            match random.below(4) {
                0 => {
                    two.follow(active);
                    two.kill(active);
                    (0..random.below(20)).for_each(|_| two.step());
                    two.set_active(1 - active, true);
                    two.until("active", |two| two.state(1 - active).opens);
                    two.begin(active);
                }
                order => {
                    two.follow(active);
                    // What is told last is told by the hand-over.
                    for number in 0..random.below(200) as u32 {
                        two.open(active, 5000 + round * 200 + number).expect("a session");
                    }
                    if order == 1 {
                        two.set_active(1 - active, true);
                        (0..random.below(20)).for_each(|_| two.step());
                    }
                    two.set_active(active, false);
                    let before = two.sessions(active);
                    if order != 1 {
                        (0..random.below(90)).for_each(|_| two.step());
                        two.set_active(1 - active, true);
                    }
                    two.until("active", |two| two.state(1 - active).opens);
                    assert_eq!(two.sessions(1 - active), before, "seed {seed}, round {round}");
                }
            }
            active = 1 - active;
        }
        two.follow(active);
    }
}
