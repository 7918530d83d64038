//! Two NATs in one process, whose machines are joined in memory: what the standby knows, and what
//! becomes of sessions when it takes over.
//!
//! The machines have a time of their own, a millisecond a step, while that of the NATs stands still
//! or goes as a test wants.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use engine::Function;
use function_cgnat::config::{Config, Pcp, Replication, Role, Timeouts};
use function_cgnat::state::State;
use function_cgnat::{Pipeline, Update};
use function_kit::{Companion, NetworkFunction, Shard};
use machine::clock::Ticks;
use model_cgnat::Cgnat;
use protocol_kit::{Machine, Time};
use protocol_replication::{Joined, Status};
use testkit::device::Device;
use testkit::pair::{Pair, clock};

use crate::differential::Walk;
use crate::frames;

mod failover;
mod hostile;
mod kept;
mod links;
mod logs;
mod pairs;
mod secrets;
mod workers;

/// When NATs begin, as a [`Pair`] does.
const BEGIN: Ticks = 1 << 40;

/// The same NAT as active one and as standby.
fn two(config: &Config) -> [Config; 2] {
    [Role::Active, Role::Standby].map(|role| Config {
        replication: Replication { role, ..Replication::default() },
        ..config.clone()
    })
}

/// A NAT of a configuration.
fn device(config: &Config, now: Ticks) -> Device<Pipeline> {
    device_of(config, Shard::WHOLE, now)
}

/// One of its workers.
fn device_of(config: &Config, shard: Shard, now: Ticks) -> Device<Pipeline> {
    let function = function_cgnat::Cgnat::function(config, shard, clock(), now);
    Device::new(function.expect("room for it"), 2)
}

/// What joins the machines of two NATs.
struct Cable {
    joined: Joined,
    now: Time,
}

impl Cable {
    /// From an active NAT to its standby.
    fn between(active: &mut Device<Pipeline>, standby: &mut Device<Pipeline>) -> Cable {
        let joined = Joined::new(machine_of(active), machine_of(standby));
        Cable { joined, now: Time::ZERO }
    }

    /// To another standby.
    fn lead_to(&mut self, standby: &mut Device<Pipeline>) {
        self.joined.replace_standby(self.now, machine_of(standby));
    }

    /// From another active NAT.
    fn lead_from(&mut self, active: &mut Device<Pipeline>) {
        self.joined.replace_active(self.now, machine_of(active));
    }

    /// Breaks the connection.
    fn cut(&mut self) {
        self.joined.cut(self.now);
    }

    /// Lets a millisecond pass.
    fn step(&mut self) {
        self.now = self.now.after(Duration::from_millis(1));
        assert!(self.joined.poll(self.now).is_none(), "it wants nothing of a network");
    }
}

/// The machine beside a NAT.
fn machine_of(device: &mut Device<Pipeline>) -> Companion {
    let mut machines = function_cgnat::Cgnat::machines(device.function_mut());
    assert_eq!(machines.len(), 1, "it replicates, and nobody has taken its machine");
    machines.remove(0)
}

/// Lets both go round until `holds` of the first one's state.
fn until(
    what: &str,
    cable: &mut Cable,
    [active, standby]: [&mut Device<Pipeline>; 2],
    now: Ticks,
    holds: impl Fn(&Status) -> bool,
) {
    for _ in 0..STEPS_MAX {
        active.rest(now);
        standby.rest(now);
        if holds(&active.function_mut().replication()) {
            return;
        }
        cable.step();
    }
    let [ours, theirs] = [active, standby].map(|device| device.function_mut().replication());
    panic!("not {what}: {ours:?}, and the standby {theirs:?}");
}

/// Lets both go round until the standby has acknowledged everything.
fn synchronise(cable: &mut Cable, pair: &mut Pair<Cgnat>, standby: &mut Device<Pipeline>) {
    let now = pair.now();
    let both = [pair.device_mut(), standby];
    until("synchronised", cable, both, now, |status| status.is_synchronised);
}

/// Steps within which must come what a test waits for: a minute.
const STEPS_MAX: usize = 60_000;

/// A subscriber's realm and address.
type Who = (u16, [u64; 2]);

/// What packets can tell of a NAT's tables: the sessions by both names with the state of TCP and
/// what is kept beside them, blocks, and which ports rest.
#[derive(Debug, PartialEq)]
struct Tables {
    sessions: BTreeMap<String, (u32, u16, u8, String)>,
    subscribers: BTreeMap<Who, (u32, BTreeSet<u32>, u32, u32)>,
    resting: BTreeSet<(u32, u16)>,
    pools: BTreeSet<String>,
    rules: BTreeSet<String>,
    limit: u32,
}

impl Tables {
    /// Those of a state at a time.
    fn of(state: &State, now: Ticks) -> Tables {
        let moment = state.times.moment(now);
        let live =
            state.sessions.from(0).filter(|(_, one)| state.times.left(one, moment).is_some());
        let subscribers = (0..state.subscribers.used()).filter_map(|number| {
            let one = &state.subscribers.records[number as usize];
            let blocks = one.blocks[..usize::from(one.block_count)].iter().copied().collect();
            let address = state.allocation.addresses.address(one.outside);
            let has = (address, blocks, one.sessions, one.mappings);
            (one.sessions > 0).then_some(((one.realm, one.address), has))
        });
        let words = 4 * 65_536 * state.allocation.addresses.count() as usize;
        let resting = state.allocation.ports.resting(0, words, moment);
        let addresses = &state.allocation.addresses;
        let own = addresses.statics().map(|rule| format!("{rule:?}"));
        let shared = addresses.hosts().rules().map(|rule| format!("{rule:?}"));
        Tables {
            sessions: live
                .map(|(number, one)| {
                    let key = format!("{:?}", one.inside_key());
                    let kept = format!("{:?}", state.kept(number).iter().collect::<Vec<_>>());
                    (key, (one.outside, one.outside_port, one.tcp.0, kept))
                })
                .collect(),
            subscribers: subscribers.collect(),
            resting: resting
                .map(|(_, one)| (state.allocation.addresses.address(one.address), one.port))
                .collect(),
            rules: own.chain(shared).collect(),
            pools: state.allocation.open_pools().map(|pool| format!("{pool:?}")).collect(),
            limit: state.session_limit,
        }
    }
}

/// Every kind and one that grants mappings, without what a standby is not told of: fragments that
/// are followed.
fn kinds() -> Vec<Config> {
    let told = |config| Config { fragments: frames::DROPPED, ..config };
    let pcp = Some(Pcp { mappings_per_subscriber: 8, ..Pcp::default() });
    let granting = Config { pcp, ..frames::kinds()[2].clone() };
    frames::kinds().into_iter().chain([granting]).map(told).collect()
}

/// Small NATs of every kind, in which nothing ends by its time within a test.
fn lasting() -> Vec<Config> {
    let lasting = Timeouts {
        udp_s: 15_000.5,
        tcp_established_s: 15_000.5,
        tcp_syn_s: 15_000.5,
        tcp_transitory_s: 15_000.5,
        icmp_s: 15_000.5,
    };
    kinds().into_iter().map(|config| Config { timeouts: lasting, ..config }).collect()
}

/// A walk of a NAT that has a standby beside it.
struct Both {
    walk: Walk,
    standby: Device<Pipeline>,
    cable: Cable,
    config: Config,
}

impl Both {
    fn new(config: &Config, seed: u64) -> Both {
        let [active, standby] = two(config);
        let (mut walk, config) = (Walk::new(&active, seed), standby);
        let mut standby = device(&config, BEGIN);
        let cable = Cable::between(walk.pair.device_mut(), &mut standby);
        Both { walk, standby, cable, config }
    }

    /// So many steps, after each of which both are the same.
    fn steps(&mut self, count: usize) -> Result<(), String> {
        for step in 0..count {
            let (standby, cable) = (&mut self.standby, &mut self.cable);
            self.walk
                .step_with(|pair| synchronise(cable, pair, standby))
                .map_err(|what| format!("step {step}: {what}"))?;
        }
        synchronise(&mut self.cable, &mut self.walk.pair, &mut self.standby);
        Ok(())
    }

    /// The tables of both.
    fn tables(&mut self) -> [Tables; 2] {
        let now = self.walk.pair.now();
        let active = self.walk.pair.device_mut();
        let active = Tables::of(active.function_mut().state(), now);
        [active, Tables::of(self.standby.function_mut().state(), now)]
    }

    /// A standby that knows nothing takes the place of the one that is there.
    fn new_standby(&mut self) {
        self.standby = device(&self.config, self.walk.pair.now());
        self.cable.lead_to(&mut self.standby);
    }

    /// The standby takes over, and the active one is gone: with it how many errors of its own it
    /// might still send, and the datagrams whose fragments it followed, of which there are none
    /// after a pause.
    fn fail_over(self) -> Walk {
        let Both { mut walk, mut standby, .. } = self;
        let is_active = Update::SetActive { active: true };
        standby.function_mut().apply(is_active, walk.pair.now()).expect("it may be");
        drop(walk.pair.replace(standby));
        for _ in 0..3 {
            walk.pair.wait(Duration::from_secs(1)).expect("nothing happens");
        }
        walk
    }
}
