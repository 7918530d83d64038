//! A router of several workers on a link with one of a single worker: whichever worker gets the
//! peer's packets, all of them follow its session.

use function_kit::Shard;

use super::super::super::config::BfdSession;
use super::super::super::happened::{Happened, Whose};
use super::*;

/// The workers of a router, with what they have sent one another.
struct Team {
    workers: Vec<Node>,
    /// By worker: from whom, and what.
    mesh: Vec<Vec<(PortId, Vec<u8>)>>,
    /// Who gets the next frame of the link.
    turn: usize,
    /// Frames between workers pass.
    passes: bool,
}

impl Team {
    fn new(count: u32, bfd: Value) -> Team {
        Team::of(&config((1, 2), bfd, count), count)
    }

    fn of(config: &Config, count: u32) -> Team {
        let worker = |index| {
            let (clock, shard) = (Clock::with_rate(1e9), Shard { index, count });
            finished(Pipeline::of_worker(config, shard, clock, 0).expect("memory"))
        };
        let workers: Vec<Node> = (0..count).map(worker).collect();
        Team { mesh: vec![Vec::new(); count as usize], workers, turn: 0, passes: true }
    }

    /// Deals frames of the uplink out to the workers; returns those that leave by it.
    fn step(&mut self, frames: Vec<Vec<u8>>, now: Ticks) -> Vec<Vec<u8>> {
        let count = self.workers.len();
        let mut dealt = vec![Vec::new(); count];
        for frame in frames {
            dealt[self.turn % count].push((UP, frame));
            self.turn += 1;
        }
        let mut left = Vec::new();
        for (index, mut dealt) in dealt.into_iter().enumerate() {
            let mut frames = std::mem::take(&mut self.mesh[index]);
            frames.append(&mut dealt);
            for (port, frame) in self.workers[index].step_by(&frames, now) {
                match usize::from(port.0).checked_sub(2) {
                    Some(other) if self.passes => {
                        self.mesh[other].push((PortId(2 + index as u8), frame));
                    }
                    None if port == UP => left.push(frame),
                    _ => {}
                }
            }
        }
        left
    }

    fn run(&mut self, peer: &mut Node, (from, to): (Ticks, Ticks), hears: bool) {
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for now in (from..to).step_by(MS as usize) {
            let frames = std::mem::take(&mut here);
            there.extend(self.step(frames, now));
            let frames: Vec<_> = std::mem::take(&mut there);
            for (port, frame) in peer.step(&frames, now) {
                if port == UP && hears {
                    here.push(frame);
                }
            }
        }
    }

    fn are_down(&self) -> Vec<bool> {
        self.workers.iter().map(|worker| worker.router.state.is_down(0)).collect()
    }
}

#[test]
fn all_workers_follow_a_session_whichever_of_them_hears_the_peer() {
    for count in [2, 4] {
        let bfd = json!({"interval-ms": 10, "multiplier": 3});
        let mut team = Team::new(count, bfd.clone());
        let mut peer = node(2, 1, bfd);
        assert!(team.are_down().into_iter().all(|is_down| is_down), "nobody has answered yet");
        team.run(&mut peer, (0, 4_000 * MS), true);
        assert_eq!(team.are_down(), vec![false; count as usize]);
        assert!(!peer.router.state.is_down(0));
        // What the others are told is told once more, so that nothing is lost for good.
        let now = 4_000 * MS;
        team.passes = false;
        team.run(&mut peer, (now, now + 35 * MS), false);
        let mut expected = vec![false; count as usize];
        expected[0] = true;
        assert_eq!(team.are_down(), expected, "nobody else has heard of it");
        team.passes = true;
        team.run(&mut peer, (now + 35 * MS, now + 50 * MS), false);
        assert_eq!(team.are_down(), vec![true; count as usize]);
        let later = now + 50 * MS;
        team.run(&mut peer, (later, later + 4_000 * MS), true);
        assert_eq!(team.are_down(), vec![false; count as usize]);
        // At once, where all pass: the round that finds it out tells it, the next one knows it.
        let now = later + 4_000 * MS;
        let gone = (now..).step_by(MS as usize).find(|now| {
            team.run(&mut peer, (*now, now + MS), false);
            team.are_down()[0]
        });
        let gone = gone.expect("after three intervals");
        assert!(gone < now + 35 * MS);
        team.step(Vec::new(), gone + 1);
        assert_eq!(team.are_down(), vec![true; count as usize]);
        for worker in &mut team.workers {
            let around =
                (0..32).all(|flow| worker.way([203, 0, 113, 1], flow, gone + 1) == Some(PortId(0)));
            assert!(around, "the groups of every worker have left it");
        }
        let changes = |tally| team.workers.iter().map(|one| one.tally(tally)).sum::<u64>();
        assert_eq!((changes(Tally::PathsUp), changes(Tally::PathsDown)), (2, 2), "counted once");
    }
}

#[test]
fn a_worker_is_told_of_no_next_hop_that_it_does_not_watch() {
    let bfd = json!({"interval-ms": 10, "multiplier": 3});
    let mut team = Team::new(2, bfd.clone());
    let mut peer = node(2, 1, bfd);
    let mut next_hop = *team.workers[1].router.state.neighbours.get(&0).expect("a next hop");
    next_hop.bfd = None;
    team.workers[1].router.change(Update::SetNextHop { number: 0, next_hop }, 0).expect("possible");
    team.run(&mut peer, (0, 100 * MS), true);
    assert_eq!(team.are_down(), [true, false], "the change is still to come to the first");
    next_hop.bfd = Some(Default::default());
    for worker in &mut team.workers {
        worker.router.change(Update::SetNextHop { number: 0, next_hop }, 0).expect("possible");
    }
    assert_eq!(team.are_down(), [true, true]);
}

/// A session with the neighbour that next hop 0 is.
fn asked() -> BfdSession {
    let keys = json!({"port": "uplink", "peer": "10.1.0.2", "min-tx-us": 10_000,
        "min-rx-us": 10_000, "multiplier": 3});
    serde_json::from_value(keys).expect("a session")
}

#[test]
fn the_next_hops_at_a_neighbour_follow_a_session_that_was_set() {
    let mut keys = keys((1, 2), Value::Null, 2);
    keys["bfd-capacity"] = json!(2);
    let mut team = Team::of(&read(keys), 2);
    let mut peer = node(2, 1, json!({"interval-ms": 10, "multiplier": 3}));
    let apply = |team: &mut Team, update: Update, now| {
        let done = team.workers.iter_mut().map(|one| one.router.change(update, now));
        let done: Vec<_> = done.collect();
        assert!(done.iter().all(|one| *one == done[0]), "{done:?}");
        done[0]
    };
    let session = asked();
    let set = |discriminator, session| Update::SetBfd { discriminator, session };
    assert_eq!(apply(&mut team, set(77, session), 0), Ok(()));
    assert_eq!(team.are_down(), [false; 2], "nothing is known of it yet");
    team.run(&mut peer, (0, 4_000 * MS), true);
    let one = &mut team.workers[0];
    let event = one.router.event().expect("it is up");
    let told = Happened::from_detail(event.detail);
    assert_eq!((event.kind, event.subject), (EventKind::Up, 77 | 1 << 32));
    assert_eq!(Whose::of(event.subject), Some(Whose::Discriminator(77)));
    assert_eq!(Whose::of(77), Some(Whose::NextHop(77)));
    assert_eq!(Whose::of(crate::watched::subject(77)), None, "a route");
    let view = peer.router.liveness.as_ref().expect("sessions").views().next().expect("one").1;
    assert_eq!([77, told.peer_discriminator], [view.discriminators[1], view.discriminators[0]]);
    assert_eq!((told.state, told.peer_multiplier, told.peer_min_rx_us), (3, 3, 10_000));
    // Its silence takes the next hop out of the groups of all workers.
    let now = 4_000 * MS;
    team.run(&mut peer, (now, now + 45 * MS), false);
    assert_eq!(team.are_down(), [true; 2]);
    // A next hop that is set while it is down follows it, too, on every worker at once.
    let now = now + 45 * MS;
    let next_hop = *team.workers[0].router.state.neighbours.get(&0).expect("a next hop");
    assert_eq!(apply(&mut team, Update::SetNextHop { number: 0, next_hop }, now), Ok(()));
    assert_eq!(team.are_down(), [true; 2]);
    team.run(&mut peer, (now, now + 20 * MS), false);
    assert_eq!(team.are_down(), [true; 2]);
    // One that is to have its own is refused, and so are a second one and one without room.
    let watched = NextHop { bfd: Some(Bfd::default()), ..next_hop };
    let own = Update::SetNextHop { number: 0, next_hop: watched };
    assert_eq!(apply(&mut team, own, now), Err(Refusal::Exists));
    assert_eq!(apply(&mut team, set(78, session), now), Err(Refusal::Exists));
    let at = |last: u8| BfdSession { peer: [10, 1, 0, last].into(), ..session };
    assert_eq!(apply(&mut team, set(78, at(3)), now), Ok(()));
    assert_eq!(apply(&mut team, set(79, at(4)), now), Err(Refusal::Full));
    let slow = BfdSession { min_tx_us: 999, ..at(3) };
    let far = BfdSession { peer: [192, 0, 2, 1].into(), ..session };
    for (discriminator, wrong) in [(0, at(4)), (78, slow), (78, far)] {
        assert_eq!(apply(&mut team, set(discriminator, wrong), now), Err(Refusal::Invalid));
    }
    // Without it the next hop is there.
    let remove = |discriminator| Update::RemoveBfd { discriminator };
    assert_eq!(apply(&mut team, remove(Some(77)), now), Ok(()));
    assert_eq!(team.are_down(), [false; 2]);
    assert_eq!(apply(&mut team, remove(Some(77)), now), Err(Refusal::NotFound));
    assert_eq!(team.workers[0].events(), [EventKind::Down, EventKind::Expired]);
    assert_eq!(apply(&mut team, remove(None), now), Ok(()));
    assert_eq!(team.workers[0].events(), [EventKind::Expired]);
    // Its own session is possible now, and keeps the other kind away.
    assert_eq!(apply(&mut team, own, now), Ok(()));
    assert_eq!(apply(&mut team, set(77, session), now), Err(Refusal::Exists));
}

#[test]
fn an_answer_that_one_worker_gets_reaches_all_and_next_hops_that_come_later() {
    for count in [2, 4] {
        let mut keys = keys((1, 2), Value::Null, count);
        keys["next-hop-capacity"] = json!(4);
        let mut team = Team::of(&read(keys), count);
        let own = team.workers[0].router.state.interfaces.get(1).mac.0;
        let [of_hop, of_host] = [[198, 51, 100, 1], [10, 1, 0, 3]];
        for worker in &mut team.workers {
            assert_eq!(worker.way(of_hop, 1, 0), None, "the packet waits");
            assert_eq!(worker.way(of_host, 1, 0), None, "the packet waits");
        }
        // One worker gets an answer each; the others are told in the next round.
        for last in [2, 3] {
            let mac = MacAddr([2, 0, 0, 0, 0, last]);
            team.step(vec![answer((mac, [10, 1, 0, last]), own)], 1);
        }
        team.step(Vec::new(), 2);
        // A next hop that comes while its neighbour is known is reached at once.
        let later = json!({"number": 2, "next-hop": {"port": "uplink", "ip": "10.1.0.3"}});
        let later = serde_json::from_value(json!({"set-next-hop": later})).expect("a change");
        let route = json!({"set-route": {"prefix": "192.0.2.0/24", "next-hop": 2}});
        let route = serde_json::from_value(route).expect("a change");
        for worker in &mut team.workers {
            for update in [later, route] {
                worker.router.change(update, 3).expect("room");
            }
            for flow in 0..8 {
                for to in [of_hop, of_host, [192, 0, 2, 1], [10, 1, 0, 2]] {
                    assert_eq!(worker.way(to, flow, 4), Some(UP), "{to:?}");
                }
            }
        }
        // A neighbour that has moved says so to one worker.
        let moved = MacAddr([2, 0, 0, 0, 9, 9]);
        team.step(vec![answer((moved, [10, 1, 0, 3]), MacAddr::BROADCAST)], 5);
        team.step(Vec::new(), 6);
        let ways = team.workers.iter().map(|worker| worker.router.state.hops[2]);
        assert!(ways.into_iter().all(|hop| hop.macs[..6] == moved.0));
    }
}

/// An answer by ARP of a neighbour to one that asked, or to all.
pub(super) fn answer((mac, ip): (MacAddr, [u8; 4]), to: MacAddr) -> Vec<u8> {
    let answer = wire::arp::Fields {
        operation: wire::arp::OPERATION_REPLY,
        sender_mac: mac,
        sender_ip: ip.into(),
        target_mac: to,
        target_ip: [10, 1, 0, 1].into(),
    };
    let mut frame = [&to.0[..], &mac.0, &[0x08, 0x06], &[0; 46]].concat();
    frame[14..].first_chunk_mut().into_iter().for_each(|place| answer.emit(place));
    frame
}
