//! Groups in a simulated network: two nodes with two links, of which one node alone is active on
//! both.

use std::time::Duration;

use protocol_kit::{Arrival, Departure, Input, Machine, Output, Socket, Time};
use protocol_vrrp::packet::{Addresses, Coverage, Ends, Packet, octets};
use protocol_vrrp::{Command, Config, Group, Key, Reason, Report, State, Vrrp, frames};
use simulation::{Quality, Said, Simulation, World, simulate};

use crate::lan::{Node, router};
use crate::simulated::primary;

/// Two nodes with a group of two virtual routers, one on each link.
struct Pair {
    /// The priority of each node.
    priorities: [u8; 2],
    has_preemption: bool,
    is_troubled: bool,
}

fn config(link: usize, place: usize, priority: u8) -> Config {
    let key = Key { interface: World::<Node>::interface(link), vrid: 1 + link as u8, is_v6: false };
    let address = [10, 0, link as u8, 100].into();
    let mut config = Config::new(key, primary(false, place), vec![address]);
    config.priority = priority;
    config.interval = Duration::from_millis(50);
    config.group = Some(Group { number: 0, size: 2 });
    config
}

/// The states of both virtual routers of a node.
fn states(vrrp: &Vrrp) -> [State; 2] {
    [0, 1].map(|number| vrrp.view(number).map_or(State::Initialize, |view| view.state))
}

#[test]
fn a_group_is_active_on_one_node_as_a_whole() {
    simulate::<Pair>(SEEDS);
}

impl Simulation for Pair {
    type Machine = Node;
    const NAME: &'static str = "vrrp-groups";
    const FAULTS_BELOW: u64 = 10;
    const FAULTS: Duration = FAULTS;
    const QUIET: Duration = QUIET;

    fn world(seed: u64) -> (World<Node>, Pair) {
        let mut world = World::new(seed);
        let priorities = [[100, 200], [200, 100], [100, 100]][world.random().below(3) as usize];
        let has_preemption = world.random().below(3) > 0;
        // Of equal ones, each may have the greater address on a link.
        let is_crossed = world.random().below(2) > 0;
        let at =
            |link, place| primary(false, if is_crossed && link == 1 { 1 - place } else { place });
        let nodes = [0, 1].map(|place| {
            let commands: Vec<Command> = (0..2)
                .map(|link| {
                    let mut config = config(link, place, priorities[place]);
                    config.primary = at(link, place);
                    config.has_preemption = has_preemption;
                    Command::Add(link as u32, config)
                })
                .collect();
            world.add_node(move |_| (Node::Router(Box::new(Vrrp::new(2, 0))), commands.clone()))
        });
        let quality = Quality { delay: Duration::from_micros(200), ..Quality::GOOD };
        for link in 0..2 {
            world.add_link([0, 1].map(|place| (nodes[place], at(link, place))), quality);
        }
        (world, Pair { priorities, has_preemption, is_troubled: false })
    }

    fn judge(
        &mut self,
        world: &mut World<Node>,
        said: Option<&Said<Report>>,
    ) -> Result<(), String> {
        for node in 0..2 {
            let Some(vrrp) = router(world, node) else { continue };
            let [one, other] = states(vrrp);
            if (one == State::Active) != (other == State::Active) {
                return Err(format!("node {node} is {one:?} and {other:?}"));
            }
        }
        let Some(Said { at, node, report }) = said else {
            self.is_troubled = true;
            return Ok(());
        };
        let start = if self.is_troubled { FAULTS } else { Duration::ZERO };
        let is_quiet = at.since(Time::ZERO) > start + SETTLED;
        match report {
            Report::Changed { .. } | Report::Split { .. } | Report::Healed { .. } if !is_quiet => {
                Ok(())
            }
            _ => Err(format!("node {node} at {at}: {report:?}")),
        }
    }

    fn judge_end(&mut self, world: &mut World<Node>) -> Result<(), String> {
        let all = [0, 1].map(|node| router(world, node).map(states));
        let is_active = all.map(|one| one == Some([State::Active; 2]));
        let higher = usize::from(self.priorities[1] > self.priorities[0]);
        let is_right = match self.has_preemption && self.priorities[0] != self.priorities[1] {
            true => is_active[higher] && !is_active[1 - higher],
            false => is_active[0] != is_active[1],
        };
        if is_right { Ok(()) } else { Err(format!("at the end: {all:?}")) }
    }
}

/// All faults are over after this time.
const FAULTS: Duration = Duration::from_secs(5);

/// Time after a change until nothing changes any more.
const SETTLED: Duration = Duration::from_secs(2);

/// Long enough behind the last fault for that, and to see that nothing changes.
const QUIET: Duration = Duration::from_secs(4);

/// Seeds of a run in CI.
const SEEDS: u64 = 100;

/// A machine with its time, and what it said last of each virtual router.
struct Alone {
    vrrp: Vrrp,
    now: Time,
    told: [Option<(State, Reason)>; 2],
    /// The priorities of advertisements, with the state of the first one at that time.
    sent: Vec<(u8, Option<(State, Reason)>)>,
}

impl Alone {
    fn new() -> Alone {
        let (vrrp, now) = (Vrrp::new(2, 0), Time::ZERO);
        Alone { vrrp, now, told: [None; 2], sent: Vec::new() }
    }

    fn input(&mut self, input: Input<'_, Command>) {
        self.vrrp.input(self.now, input);
        self.poll();
    }

    fn pass(&mut self, span: Duration) {
        let end = self.now.after(span);
        while let Some(deadline) = self.vrrp.deadline().filter(|deadline| *deadline <= end) {
            self.now = self.now.max(deadline);
            self.poll();
        }
        self.now = end;
    }

    /// Another node advertises on a link.
    fn hear(&mut self, link: usize, priority: u8) {
        let key = config(link, 1, priority).key;
        let octets = octets(&[[10, 0, link as u8, 100].into()]);
        let ends = Ends { from: primary(false, 1), to: frames::group(false) };
        let addresses = Addresses::new(false, &octets);
        let packet = Packet { vrid: key.vrid, priority, interval_cs: 5, addresses };
        let bytes = packet.emit(ends, Coverage::Message);
        let frame = frames::advertisement(key.mac(), ends, &bytes);
        let (socket, interface) = (Socket(0), key.interface);
        self.input(Input::Arrival(Arrival::Frame { socket, interface, bytes: &frame }));
    }

    fn poll(&mut self) {
        while let Some(output) = self.vrrp.poll(self.now) {
            match output {
                Output::Report(Report::Changed { router, state, reason, .. }) => {
                    self.told[router as usize] = Some((state, reason));
                }
                Output::Departure(Departure::Frame { bytes, .. }) => {
                    let payload = frames::parse(&bytes);
                    let packet = payload.and_then(|it| Packet::parse(it.bytes, it.ends).ok());
                    self.sent.extend(packet.map(|packet| (packet.priority, self.told[0])));
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_group_waits_for_its_last_member_and_falls_with_the_first() {
    let mut alone = Alone::new();
    let second = Duration::from_secs(1);
    alone.input(Input::Command(Command::Add(0, config(0, 0, 100))));
    alone.pass(second);
    assert_eq!(alone.told, [None; 2], "it is not whole");
    alone.input(Input::Command(Command::Add(1, config(1, 0, 100))));
    alone.pass(second);
    assert_eq!(alone.told, [Some((State::Active, Reason::Silence)); 2]);

    let interface = World::<Node>::interface(1);
    let link = |is_up| Input::Arrival(Arrival::Link { interface, is_up });
    alone.input(link(false));
    let idle = State::Initialize;
    let expected = [Some((idle, Reason::Group)), Some((idle, Reason::LinkDown))];
    assert_eq!(alone.told, expected);
    alone.input(link(true));
    alone.pass(second);
    assert_eq!(alone.told, [Some((State::Active, Reason::Silence)); 2]);

    alone.input(Input::Command(Command::Remove(0)));
    assert_eq!(alone.told[1], Some((idle, Reason::Group)));
    let owner = Config { priority: 255, ..config(0, 0, 100) };
    assert!(owner.check(0).is_err(), "an owner waits for nobody");
}

#[test]
fn a_group_that_steps_back_resigns_where_nobody_else_is_active() {
    for (is_there, resigns) in [(true, 0), (false, 1)] {
        let mut alone = Alone::new();
        for link in 0..2 {
            alone.input(Input::Command(Command::Add(link as u32, config(link, 0, 100))));
        }
        alone.pass(Duration::from_secs(1));
        let (_, told) = alone.sent[0];
        assert_eq!(told, Some((State::Active, Reason::Silence)), "it is told before it departs");
        alone.sent.clear();
        alone.hear(0, 200);
        let backup = |reason| Some((State::Backup, reason));
        assert_eq!(alone.told, [backup(Reason::Outranked), backup(Reason::Group)]);
        alone.pass(Duration::from_millis(2));
        if is_there {
            alone.hear(1, 200);
        }
        alone.pass(Duration::from_millis(20));
        let sent = alone.sent.iter().filter(|(priority, _)| *priority == 0).count();
        assert_eq!((sent, alone.sent.len()), (resigns, resigns), "{:?}", alone.sent);
    }
}
