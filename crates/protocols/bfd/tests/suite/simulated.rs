//! Nodes in a simulated network: what fails is detected in time, nothing else goes down, and
//! everything comes up again.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use protocol_bfd::authentication::{Algorithm, Keys};
use protocol_bfd::{Bfd, Command, Config, Path, Reach, Report, State};
use protocol_kit::{Random, Time};
use simulation::{Quality, Said, Simulation, World, simulate};

/// Pairs of nodes with a session each, of all kinds.
struct Pairs {
    sessions: Vec<Ends>,
    /// State of a node's session, and since when.
    states: BTreeMap<usize, (State, Time)>,
}

/// A session: its nodes, its link, and how it is configured.
#[derive(Clone)]
struct Ends {
    nodes: [usize; 2],
    link: usize,
    configs: [Config; 2],
}

#[test]
fn sessions_follow_their_paths() {
    simulate::<Pairs>(SEEDS);
}

impl Simulation for Pairs {
    type Machine = Bfd;
    const NAME: &'static str = "bfd";
    const FAULTS_BELOW: u64 = 12;
    const FAULTS: Duration = FAULTS;
    const QUIET: Duration = QUIET;

    fn world(seed: u64) -> (World<Bfd>, Pairs) {
        let mut world = World::new(seed);
        let mut sessions = Vec::new();
        for pair in 0..1 + world.random().below(3) as u8 {
            let quality = Quality { delay: Duration::from_micros(200), ..Quality::GOOD };
            let addresses: [IpAddr; 2] = [[10, 0, pair, 1].into(), [10, 0, pair, 2].into()];
            let link = usize::from(pair);
            let configs = draw_configs(world.random(), addresses, link);
            let nodes = [0, 1].map(|end: usize| {
                let config = configs[end].clone();
                world.add_node(move |random| {
                    let commands = vec![Command::Add(0, config.clone())];
                    (Bfd::new(1, random.bits()), commands)
                })
            });
            world.add_link([(nodes[0], addresses[0]), (nodes[1], addresses[1])], quality);
            sessions.push(Ends { nodes, link, configs });
        }
        (world, Pairs { sessions, states: BTreeMap::new() })
    }

    fn judge(&mut self, world: &mut World<Bfd>, said: Option<&Said<Report>>) -> Result<(), String> {
        let Some(Said { at, node, report }) = said else { return Ok(()) };
        let Report::Changed { state, .. } = report else {
            return Err(format!("node {node} refuses what it was configured with"));
        };
        let before = self.states.insert(*node, (*state, *at));
        // Whoever is born again begins anew.
        let before = before.filter(|(_, since)| *since >= world.born(*node));
        let before = before.map_or(State::Down, |(was, _)| was);
        let is_allowed = match (before, *state) {
            (State::Down, State::Init | State::Up) | (State::Init, State::Up) => true,
            (_, State::Down) => true,
            // What has waited was taken in at once, and the last state was told.
            _ => world.resumed(*node) == *at,
        };
        if !is_allowed {
            return Err(format!("node {node} at {at}: from {before:?} to {state:?}"));
        }
        let seen = world.machine(*node).and_then(|bfd| bfd.view(0)).map(|view| view.state);
        if seen != Some(*state) {
            return Err(format!("node {node} says {state:?} and is {seen:?}"));
        }
        Ok(())
    }

    fn judge_end(&mut self, world: &mut World<Bfd>) -> Result<(), String> {
        for Ends { nodes, configs, link } in &self.sessions {
            for end in [0, 1] {
                let view = world.machine(nodes[end]).and_then(|bfd| bfd.view(0));
                let view = view.ok_or(format!("node {} is dead at the end", nodes[end]))?;
                let both_passive = configs.iter().all(|config| config.is_passive);
                let wanted = if both_passive { State::Down } else { State::Up };
                if view.state != wanted {
                    return Err(format!("node {} at the end: {view:?}", nodes[end]));
                }
                if wanted != State::Up {
                    continue;
                }
                let [own, peer] = [&configs[end], &configs[1 - end]];
                let interval = own.desired_min_tx.max(required(peer, own));
                if view.transmit_interval != interval {
                    return Err(format!("link {link}: {view:?}, sends at {interval:?}"));
                }
                let detection = required(own, peer).max(peer.desired_min_tx)
                    * u32::from(peer.detect_multiplier);
                if view.detection_time != Some(detection) {
                    return Err(format!("link {link}: {view:?}, detects in {detection:?}"));
                }
            }
        }
        Ok(())
    }
}

/// The interval at which one end can receive: slower where its Echo packets watch the path.
fn required(config: &Config, peer: &Config) -> Duration {
    let has_echo = config.echo.is_some() && !peer.required_min_echo_rx.is_zero();
    config.required_min_rx.max(if has_echo { Duration::from_secs(1) } else { Duration::ZERO })
}

/// Draws both ends of a session.
fn draw_configs(random: &mut Random, addresses: [IpAddr; 2], link: usize) -> [Config; 2] {
    let is_neighbour = random.below(3) > 0;
    let reach = match is_neighbour {
        true => Reach::SingleHop(World::<Bfd>::interface(link)),
        false => Reach::MultiHop(250),
    };
    let algorithm = [
        None,
        Some(Algorithm::SimplePassword),
        Some(Algorithm::KeyedMd5),
        Some(Algorithm::MeticulousKeyedMd5),
        Some(Algorithm::KeyedSha1),
        Some(Algorithm::MeticulousKeyedSha1),
    ][random.below(6) as usize];
    let keys = algorithm.map(|algorithm| Keys { algorithm, keys: vec![(1, b"a secret".into())] });
    [0, 1].map(|end: usize| {
        let mut interval = || Duration::from_millis([10, 20, 50, 300][random.below(4) as usize]);
        let (desired_min_tx, required_min_rx) = (interval(), interval());
        let echo = (is_neighbour && random.below(4) == 0).then(|| Duration::from_millis(20));
        Config {
            path: Path { reach, local: addresses[end], peer: addresses[1 - end] },
            discriminator: None,
            desired_min_tx,
            required_min_rx,
            detect_multiplier: 1 + random.below(5) as u8,
            required_min_echo_rx: Duration::from_millis(random.below(2) * 10),
            echo,
            is_passive: random.below(4) == 0,
            authentication: keys.clone(),
        }
    })
}

/// All faults are over after this time.
const FAULTS: Duration = Duration::from_secs(8);

/// Long enough behind the last fault for every session to come up and to confirm its intervals.
const QUIET: Duration = Duration::from_secs(7);

/// Seeds of a run in CI.
const SEEDS: u64 = 500;
