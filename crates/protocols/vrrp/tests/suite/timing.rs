//! How long a take-over takes, and what a stall of one's own does.

use std::net::IpAddr;
use std::time::Duration;

use protocol_kit::Time;
use protocol_vrrp::{Command, Config, Key, Reason, Report, State, Vrrp};
use simulation::{Quality, World};

use crate::lan::{Node, router};
use crate::simulated::primary;

/// A router of a priority that advertises every 10 ms.
fn config(place: usize, priority: u8) -> Config {
    let key = Key { interface: World::<Node>::interface(0), vrid: 7, is_v6: false };
    let mut config = Config::new(key, primary(false, place), vec![[10, 0, 0, 100].into()]);
    (config.interval, config.priority) = (INTERVAL, priority);
    config
}

/// Two routers, the first of which is active.
fn settled(seed: u64, configs: [Config; 2]) -> World<Node> {
    let mut world = World::new(seed);
    for config in configs {
        world.add_node(move |_| {
            let router = Node::Router(Box::new(Vrrp::new(1, 0)));
            (router, vec![Command::Add(0, config.clone())])
        });
    }
    let ends: [(usize, IpAddr); 2] = [0, 1].map(|end| (end, primary(false, end)));
    world.add_link(ends, Quality::GOOD);
    [0, 1].into_iter().for_each(|node| world.revive(node));
    // At any place between two advertisements.
    let more = Duration::from_nanos(world.random().below(INTERVAL.as_nanos() as u64));
    let end = Time::ZERO.after(Duration::from_secs(2) + more);
    while world.pass(end) {
        world.take_said();
    }
    assert_eq!(states(&world), [State::Active, State::Backup]);
    world
}

fn states(world: &World<Node>) -> [State; 2] {
    [0, 1].map(|node| {
        let view = router(world, node).and_then(|vrrp| vrrp.view(0));
        view.map_or(State::Initialize, |view| view.state)
    })
}

/// Changes of state within a time: the node, the state, why, and when.
fn changes(world: &mut World<Node>, within: Duration) -> Vec<(usize, State, Reason, Duration)> {
    let (start, mut all) = (world.now(), Vec::new());
    let end = start.after(within);
    while world.pass(end) {
        for said in world.take_said() {
            if let Report::Changed { state, reason, .. } = said.report {
                all.push((said.node, state, reason, said.at.since(start)));
            }
        }
    }
    all
}

#[test]
fn a_dead_router_is_replaced_within_the_interval_of_the_standard() {
    let mut longest = Duration::ZERO;
    for seed in 0..200 {
        let mut world = settled(seed, [config(0, 200), config(1, 100)]);
        let limit = router(&world, 1).and_then(|vrrp| vrrp.view(0)).expect("it lives");
        // Three intervals, and 156 of 256 parts of one.
        assert_eq!(limit.down_interval, Duration::from_nanos(36_093_750));
        world.kill(0);
        let all = changes(&mut world, Duration::from_secs(1));
        let [(1, State::Active, Reason::Silence, after)] = all[..] else { panic!("{all:?}") };
        // The delay of the link, a step of the timers and the drift of the clock come on top.
        assert!(after <= limit.down_interval + Duration::from_micros(250), "{after:?}");
        assert!(after + INTERVAL >= limit.down_interval, "{after:?}");
        longest = longest.max(after);
    }
    println!("take-over with advertisements every {INTERVAL:?}: {longest:?} at the most");
}

#[test]
fn a_router_that_resigns_is_replaced_in_the_skew_time() {
    let mut world = settled(1, [config(0, 200), config(1, 100)]);
    world.command(0, Command::Shutdown(0));
    let all = changes(&mut world, Duration::from_secs(1));
    let [(0, State::Initialize, Reason::Shutdown, _), (1, State::Active, why, after)] = all[..]
    else {
        panic!("{all:?}")
    };
    assert_eq!(why, Reason::Resigned);
    assert!(after < INTERVAL, "{after:?}");
    world.command(0, Command::Start(0));
    let all = changes(&mut world, Duration::from_secs(1));
    let seen: Vec<_> =
        all.iter().map(|(node, state, reason, _)| (*node, *state, *reason)).collect();
    assert_eq!(
        seen,
        [
            (0, State::Backup, Reason::Started),
            (0, State::Active, Reason::Preemption),
            (1, State::Backup, Reason::Outranked)
        ]
    );
}

#[test]
fn a_backup_router_that_was_held_up_takes_nothing_over() {
    for (seed, hang) in (0..).zip([1, 8, 30, 40, 100, 1_000, 30_000]) {
        let mut world = settled(seed, [config(0, 200), config(1, 100)]);
        world.hang(1, Duration::from_millis(hang));
        let all = changes(&mut world, Duration::from_millis(hang + 1_000));
        assert_eq!(all, [], "a hang of {hang} ms");
    }
}

#[test]
fn a_backup_router_that_neither_ran_nor_heard_listens_before_it_takes_over() {
    for seed in 0..20 {
        let mut world = settled(seed, [config(0, 200), config(1, 100)]);
        // As when a virtual machine is halted: nothing waits for it when it goes on.
        world.link(0).is_cut = true;
        world.hang(1, Duration::from_secs(10));
        assert_eq!(changes(&mut world, Duration::from_secs(9)), []);
        let last = Duration::from_micros(999_900);
        assert_eq!(changes(&mut world, last), []);
        world.link(0).is_cut = false;
        assert_eq!(changes(&mut world, Duration::from_secs(3)), [], "seed {seed}");
        // It does so once: if nobody is there it is late, but not for ever.
        world.link(0).is_cut = true;
        world.hang(1, Duration::from_secs(10));
        let all = changes(&mut world, Duration::from_secs(12));
        let [(1, State::Active, Reason::Silence, after)] = all[..] else { panic!("{all:?}") };
        assert!(after < Duration::from_millis(10_050), "{after:?}");
    }
}

#[test]
fn an_active_router_that_is_held_up_for_less_than_it_may_stays_it() {
    for seed in 0..50 {
        let mut world = settled(seed, [config(0, 200), config(1, 100)]);
        // The backup router waits for 36 ms from the last advertisement, 10 ms before at the most.
        world.hang(0, Duration::from_millis(25));
        assert_eq!(changes(&mut world, Duration::from_secs(1)), [], "seed {seed}");
    }
}

#[test]
fn an_active_router_that_was_held_up_yields_to_a_higher_one_and_is_obeyed_by_a_lower_one() {
    // The lower one has taken over meanwhile, and yields at once.
    let mut world = settled(1, [config(0, 200), config(1, 100)]);
    world.hang(0, Duration::from_millis(500));
    let all = changes(&mut world, Duration::from_secs(2));
    let [(1, State::Active, ..), (1, State::Backup, Reason::Outranked, after)] = all[..] else {
        panic!("{all:?}")
    };
    assert!(after < Duration::from_millis(501), "it asserts itself at once: {after:?}");

    // A higher one that would not have preempted it: what has waited is enough to yield, and not
    // one advertisement is sent before.
    let mut patient = config(1, 250);
    patient.has_preemption = false;
    let mut early = config(0, 200);
    early.announcements = 0;
    let mut world = World::new(1);
    for config in [early, patient] {
        world.add_node(move |_| {
            let router = Node::Router(Box::new(Vrrp::new(1, 0)));
            (router, vec![Command::Add(0, config.clone())])
        });
    }
    world.add_link([0, 1].map(|end| (end, primary(false, end))), Quality::GOOD);
    world.revive(0);
    assert_eq!(changes(&mut world, Duration::from_secs(1)).len(), 2);
    world.revive(1);
    let all = changes(&mut world, Duration::from_secs(1));
    assert!(matches!(all[..], [(1, State::Backup, Reason::Started, _)]), "{all:?}");
    world.hang(0, Duration::from_millis(500));
    let all = changes(&mut world, Duration::from_millis(499));
    assert!(matches!(all[..], [(1, State::Active, Reason::Silence, _)]), "{all:?}");
    let sent = router(&world, 0).map(|vrrp| vrrp.counters().sent);
    let all = changes(&mut world, Duration::from_secs(1));
    assert!(matches!(all[..], [(0, State::Backup, Reason::Outranked, _)]), "{all:?}");
    assert_eq!(router(&world, 0).map(|vrrp| vrrp.counters().sent), sent);
}

const INTERVAL: Duration = Duration::from_millis(10);
