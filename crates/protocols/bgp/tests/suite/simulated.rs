//! Two speakers in a simulated network: whatever is cut, hangs or dies, in the end they have one
//! session, and on the way each has at most one at a time and hears what the other one sends in its
//! order.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use protocol_bgp::builder::{Builder, Writing};
use protocol_bgp::config::{Config, Restart};
use protocol_bgp::families::{Family, FamilySet};
use protocol_bgp::message::LEN_MAX;
use protocol_bgp::peer::State;
use protocol_bgp::speaker::{Command, Report, Speaker};
use protocol_bgp::update::Scan;
use protocol_kit::{Machine, Random, Time};
use simulation::{Quality, Said, Simulation, World, simulate};

use crate::support::{attribute, internal};

#[test]
fn two_speakers_have_one_session_in_the_end() {
    simulate::<Pair>(SEEDS);
}

/// What is known of both speakers.
struct Pair {
    sides: [Side; 2],
    restarts: bool,
}

#[derive(Clone, Copy, Default)]
struct Side {
    is_established: bool,
    sessions: u64,
    /// The number of the last route that was sent, and of the last one that was heard.
    sent: u32,
    heard: Option<u32>,
    /// When the speaker was born of which this is known.
    born: Time,
}

impl Simulation for Pair {
    type Machine = Speaker;
    const NAME: &'static str = "bgp";
    const FAULTS_BELOW: u64 = 12;
    const FAULTS: Duration = FAULTS;
    const QUIET: Duration = QUIET;

    fn world(seed: u64) -> (World<Speaker>, Pair) {
        let mut world = World::new(seed);
        let random = world.random();
        // Both connect, or one waits; either may have the higher identifier.
        let passive = random.below(3) as usize;
        let identifiers = if random.below(2) == 0 { [1, 2] } else { [2, 1] };
        let hold_time_s = [0, 3, 9, 90][random.below(4) as usize];
        let restarts = random.below(2) == 0;
        let families: FamilySet = [Family::Ipv4Unicast].into_iter().collect();
        let restart = restarts.then_some(Restart { time_s: 60, families, ..Restart::default() });
        for node in 0..2 {
            let config = Config {
                is_passive: passive == node,
                // A peer that is gone without a word has to be found out.
                hold_time_s: if restarts { hold_time_s } else { hold_time_s.max(3) },
                connect_retry: Duration::from_secs(8),
                restart,
                ..Config::new(65_001, identifiers[node], ADDRESSES[1 - node], 65_001)
            };
            let at = SocketAddr::new(ADDRESSES[node], 179);
            let birth = move |random: &mut Random| {
                (Speaker::new(at, vec![config.clone()], random.bits()), Vec::new())
            };
            world.add_node(birth);
        }
        let quality = Quality { delay: Duration::from_millis(5), ..Quality::GOOD };
        world.add_link([(0, ADDRESSES[0]), (1, ADDRESSES[1])], quality);
        (world, Pair { sides: Default::default(), restarts })
    }

    fn judge(
        &mut self,
        world: &mut World<Speaker>,
        said: Option<&Said<Report>>,
    ) -> Result<(), String> {
        let Some(Said { at, node, report }) = said else { return Ok(()) };
        let born = world.born(*node);
        let side = &mut self.sides[*node];
        if born > side.born {
            *side = Side { born, ..Side::default() };
        }
        let was = side.is_established;
        match report {
            Report::Established(0, agreed) => {
                if was {
                    return Err(format!("at {at}: a second session of {node}"));
                }
                if agreed.restart.is_some() != self.restarts {
                    return Err(format!("at {at}: {node} agrees on another restart"));
                }
                (side.is_established, side.heard) = (true, None);
                side.sessions += 1;
                self.sides[*node].sent = 0;
                let updates = self.updates(*node, 50);
                world.command(*node, Command::Send(0, updates));
                Ok(())
            }
            Report::Down { peer: 0, is_graceful, .. } if was => {
                side.is_established = false;
                if *is_graceful && !self.restarts {
                    return Err(format!("at {at}: {node} keeps routes of a peer that does not"));
                }
                Ok(())
            }
            Report::Update(0, body) if was => {
                let mut scan = Scan::default();
                let update = scan.read(body, &internal()).map_err(|why| why.to_string())?;
                let heard = update.announced().flat_map(|field| field.nlris());
                for nlri in heard {
                    let nlri = nlri.map_err(|why| why.to_string())?;
                    let number = u32::from_be_bytes(nlri.key.as_slice()[1..].try_into().unwrap());
                    let expected = side.heard.map_or(1, |before| before + 1);
                    if number != expected {
                        return Err(format!("at {at}: {node} hears {number} after {expected}"));
                    }
                    side.heard = Some(number);
                }
                Ok(())
            }
            other => Err(format!("at {at}: {node} says {other:?}")),
        }
    }

    fn judge_end(&mut self, world: &mut World<Speaker>) -> Result<(), String> {
        for node in 0..2 {
            let Some(speaker) = world.machine(node) else {
                return Err(format!("{node} is dead at the end"));
            };
            let peer = speaker.peer(0);
            if peer.state().0 != State::Established {
                let last = peer.last().map(ToString::to_string);
                return Err(format!("{node} is {:?} at the end: {last:?}", peer.state().0));
            }
            let expected = self.sides[1 - node].sent;
            if self.sides[node].heard != Some(expected) {
                let heard = self.sides[node].heard;
                return Err(format!("{node} has heard {heard:?} of {expected}"));
            }
            let [neighbour] = &speaker.neighbours(world.now())[..] else { panic!("one") };
            if neighbour.state != "established" {
                return Err(format!("{node} is shown as {neighbour:?}"));
            }
        }
        Ok(())
    }
}

impl Pair {
    /// UPDATEs of the next routes of a side, each with a number.
    fn updates(&mut self, node: usize, count: u32) -> Vec<u8> {
        let families: FamilySet = [Family::Ipv4Unicast].into_iter().collect();
        let writing = Writing {
            families,
            path_ids: FamilySet::NONE,
            extended_next_hops: FamilySet::NONE,
            is_wide: true,
            len_max: LEN_MAX,
        };
        let block = [attribute(0x40, 1, &[0]), attribute(0x40, 2, &[])].concat();
        let mut out = Vec::new();
        let target = (Family::Ipv4Unicast, &[192, 0, 2, 1][..]);
        for _ in 0..count {
            self.sides[node].sent += 1;
            let key = [&[32], &self.sides[node].sent.to_be_bytes()[..]].concat();
            let mut builder = Builder::announce(&mut out, &writing, target, &block);
            builder.push(0, &key, &[]).unwrap();
            builder.finish();
        }
        out
    }
}

const ADDRESSES: [IpAddr; 2] = [
    IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)),
    IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)),
];

/// All faults are over after this time.
const FAULTS: Duration = Duration::from_secs(120);

/// Long enough for a silent peer, a stream that is tried again for a minute, and the longest pause.
const QUIET: Duration = Duration::from_secs(200);

/// Seeds of a run in CI.
const SEEDS: u64 = 200;
