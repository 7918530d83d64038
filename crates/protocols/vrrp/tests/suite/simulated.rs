//! Routers in a simulated network: one is active and only one, it is the one that should be, and
//! nothing changes without a fault.

use std::net::IpAddr;
use std::time::Duration;

use protocol_kit::{Random, Time};
use protocol_vrrp::{Command, Config, Coverage, Key, Report, State, Told, Vrrp};
use simulation::{Quality, Said, Simulation, World, simulate};

use crate::lan::{Node, router};

/// Two to four routers with the same virtual routers.
pub struct Routers {
    /// Of each router its node and its link.
    nodes: Vec<(usize, usize)>,
    /// Of each virtual router its configuration on each node.
    groups: Vec<Vec<Config>>,
    /// Whether there was a fault yet.
    is_troubled: bool,
}

#[test]
fn one_router_is_active() {
    simulate::<Routers>(SEEDS);
}

impl Simulation for Routers {
    type Machine = Node;
    const NAME: &'static str = "vrrp";
    const FAULTS_BELOW: u64 = 12;
    const FAULTS: Duration = FAULTS;
    const QUIET: Duration = QUIET;

    fn world(seed: u64) -> (World<Node>, Routers) {
        let mut world = World::new(seed);
        let count = 2 + world.random().below(3) as usize;
        let groups: Vec<Vec<Config>> = (0..1 + world.random().below(3))
            .map(|number| draw_group(world.random(), number as u8, count))
            .collect();
        // Two routers share a link; more of them a switch, which is the first node.
        let switch =
            (count > 2).then(|| world.add_node(move |_| (Node::switch(count as u32), vec![])));
        let mut nodes = Vec::new();
        for number in 0..count {
            let link = if switch.is_some() { number } else { 0 };
            let all = groups.iter().map(|group| {
                let key = Key { interface: World::<Node>::interface(link), ..group[number].key };
                Config { key, ..group[number].clone() }
            });
            let commands: Vec<Command> =
                (0..).zip(all).map(|(number, config)| Command::Add(number, config)).collect();
            let node = world
                .add_node(move |_| (Node::Router(Box::new(Vrrp::new(4, 0))), commands.clone()));
            nodes.push((node, link));
        }
        let quality = Quality { delay: Duration::from_micros(200), ..Quality::GOOD };
        match switch {
            Some(switch) => {
                for (node, _) in &nodes {
                    let ends = [(*node, primary(false, *node)), (switch, primary(false, 0))];
                    world.add_link(ends, quality);
                }
            }
            None => {
                let ends = [0, 1].map(|end| (nodes[end].0, primary(false, end)));
                world.add_link(ends, quality);
            }
        }
        (world, Routers { nodes, groups, is_troubled: false })
    }

    fn judge(
        &mut self,
        world: &mut World<Node>,
        said: Option<&Said<Report>>,
    ) -> Result<(), String> {
        let Some(Said { at, node, report }) = said else {
            self.is_troubled = true;
            return Ok(());
        };
        let wrong = || Err(format!("node {node} at {at}: {report:?}"));
        match report {
            Report::Changed { state, router: number, .. } => {
                let view = router(world, *node).and_then(|vrrp| vrrp.view(*number));
                let is_so = view.map(|view| view.state) == Some(*state);
                // Whoever is born without link hears of that after it has begun.
                if !is_so && world.born(*node) != *at || self.is_quiet(*at) {
                    return wrong();
                }
                Ok(())
            }
            Report::Misconfigured { router: number, what: Told::Interval, .. } => {
                let group = &self.groups[*number as usize];
                let is_mixed = group.iter().any(|config| config.interval != group[0].interval);
                if is_mixed { Ok(()) } else { wrong() }
            }
            Report::Split { .. } | Report::Healed { .. } if !self.is_quiet(*at) => Ok(()),
            _ => wrong(),
        }
    }

    fn judge_end(&mut self, world: &mut World<Node>) -> Result<(), String> {
        for (number, group) in (0..).zip(&self.groups) {
            let mut active = Vec::new();
            for (place, (node, _)) in self.nodes.iter().enumerate() {
                let view = router(world, *node).and_then(|vrrp| vrrp.view(number));
                let view = view.ok_or(format!("node {node} is dead at the end"))?;
                if view.is_split {
                    return Err(format!("node {node} at the end: {view:?}"));
                }
                if view.state == State::Active {
                    active.push(place);
                }
            }
            let [one] = active[..] else {
                return Err(format!("virtual router {number} at the end: active are {active:?}"));
            };
            let highest = group.iter().map(|config| config.priority).max();
            let best = group.iter().filter(|config| Some(config.priority) == highest);
            let is_best = Some(group[one].priority) == highest;
            // Whoever leaves others in charge need not be it.
            if !is_best && best.into_iter().any(|config| config.has_preemption) {
                return Err(format!("virtual router {number} at the end: {one} is active"));
            }
        }
        Ok(())
    }
}

impl Routers {
    /// Whether nothing changes at a time: there was no fault, or all are long over.
    fn is_quiet(&self, at: Time) -> bool {
        let start = if self.is_troubled { FAULTS } else { Duration::ZERO };
        at.since(Time::ZERO) > start + SETTLED
    }
}

/// The address of a router on the link, by its place among all.
pub fn primary(is_v6: bool, place: usize) -> IpAddr {
    let last = 1 + place as u8;
    match is_v6 {
        false => [10, 0, 0, last].into(),
        true => [0xfe80, 0, 0, 0, 0, 0, 0, u16::from(last)].into(),
    }
}

/// Draws the configurations of a virtual router on several nodes.
fn draw_group(random: &mut Random, number: u8, count: usize) -> Vec<Config> {
    let has_peers = count == 2 && random.below(4) == 0;
    let is_v6 = !has_peers && random.below(2) == 0;
    let last = 100 + number;
    let mut addresses: Vec<IpAddr> = match is_v6 {
        false => vec![[10, 0, 0, last].into(), [10, 0, 1, last].into()],
        true => vec![[0xfe80, 0, 0, 0, 0, 0, 0, u16::from(last)].into()],
    };
    addresses.truncate(1 + random.below(2) as usize);
    let owner = (random.below(5) == 0).then_some(0);
    let mut interval = [10, 20, 50, 100][random.below(4) as usize];
    let is_mixed = random.below(4) == 0;
    let coverages = [Coverage::Message, Coverage::PseudoHeader];
    let mut config = |place: usize| {
        // The interface is that of the node's link.
        let key = Key { interface: World::<Node>::interface(0), vrid: 1 + number, is_v6 };
        let mut config = Config::new(key, primary(is_v6, place), addresses.clone());
        let priority = [50, 100, 100, 200][random.below(4) as usize];
        config.priority = if owner == Some(place) { 255 } else { priority };
        if is_mixed {
            interval = [10, 50, 100][random.below(3) as usize];
        }
        config.interval = Duration::from_millis(interval);
        config.has_preemption = random.below(4) > 0;
        config.preempt_delay = Duration::from_millis(random.below(3) * 200);
        config.coverage = coverages[random.below(2) as usize];
        config.announcements = random.below(6) as u8;
        if has_peers {
            config.peers = vec![primary(is_v6, 1 - place)];
        }
        config
    };
    (0..count).map(&mut config).collect()
}

/// All faults are over after this time.
const FAULTS: Duration = Duration::from_secs(8);

/// Time after a change until nothing changes any more: the longest delay of a preemption, and some
/// times the longest `Active_Down_Interval`.
const SETTLED: Duration = Duration::from_secs(2);

/// Long enough behind the last fault for that, and to see that nothing changes.
const QUIET: Duration = Duration::from_secs(4);

/// Seeds of a run in CI.
const SEEDS: u64 = 300;
