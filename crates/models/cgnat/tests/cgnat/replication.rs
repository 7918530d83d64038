//! Two NATs in one process, joined by TCP over loopback: what the standby knows, and what becomes
//! of sessions when it takes over.
//!
//! Threads and TCP take the time they take, so tests wait for what the two say of themselves, with
//! a deadline, while the time of the NATs stands still.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use function_cgnat::Pipeline;
use function_cgnat::config::{Config, Fragments, Pcp, Replication, Role, Timeouts};
use function_cgnat::state::State;
use function_kit::{NetworkFunction, SetupError, Shard};
use machine::clock::Ticks;
use model_cgnat::Cgnat;
use replication::Status;
use testkit::device::Device;
use testkit::pair::{Pair, clock};

use crate::differential::Walk;
use crate::frames;

mod failover;
mod hostile;
mod kept;
mod links;
mod logs;
mod workers;

/// When NATs begin, as a [`Pair`] does.
const BEGIN: Ticks = 1 << 40;

/// The same NAT as active one and as standby, at a TCP port that was free a moment ago.
fn two(config: &Config) -> [Config; 2] {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a TCP port");
    let port = free.local_addr().expect("an address").port();
    [Role::Active, Role::Standby].map(|role| Config {
        replication: Replication {
            role,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port,
            changes_per_s: 0,
        },
        ..config.clone()
    })
}

/// A NAT of a configuration.
fn device(config: &Config, now: Ticks) -> Device<Pipeline> {
    device_of(config, Shard::WHOLE, now)
}

/// One of its workers.
fn device_of(config: &Config, shard: Shard, now: Ticks) -> Device<Pipeline> {
    // A port that another program has just taken is free again soon.
    let until = Instant::now() + PATIENCE;
    loop {
        match function_cgnat::Cgnat::function(config, shard, clock(), now) {
            Ok(function) => return Device::new(function, 2),
            Err(SetupError::Listen { .. }) if Instant::now() < until => a_moment(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Lets both go round until `holds` of the first one's state.
fn until(
    what: &str,
    active: &mut Device<Pipeline>,
    standby: &mut Device<Pipeline>,
    now: Ticks,
    holds: impl Fn(&Status) -> bool,
) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        active.rest(now);
        standby.rest(now);
        let status = active.function_mut().replication();
        if holds(&status) {
            return;
        }
        let theirs = standby.function_mut().replication();
        assert!(Instant::now() < deadline, "not {what}: {status:?}, and the standby {theirs:?}");
        a_moment();
    }
}

/// Lets both go round until the standby has acknowledged everything.
fn synchronise(pair: &mut Pair<Cgnat>, standby: &mut Device<Pipeline>) {
    let now = pair.now();
    let what = "synchronised";
    until(what, pair.device_mut(), standby, now, |status| status.is_synchronised);
}

/// Lets other threads run.
fn a_moment() {
    thread::park_timeout(Duration::from_micros(30));
}

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A subscriber's realm and address.
type Who = (u16, [u64; 2]);

/// What packets can tell of a NAT's tables: the sessions by both names with the state of TCP and
/// what is kept beside them, blocks, and which ports rest.
#[derive(Debug, PartialEq)]
struct Tables {
    sessions: BTreeMap<String, (u32, u16, u8, String)>,
    subscribers: BTreeMap<Who, (u32, BTreeSet<u32>, u32, u32)>,
    resting: BTreeSet<(u32, u16)>,
    pools: Vec<String>,
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
        Tables {
            sessions: live
                .map(|(number, one)| {
                    let key = format!("{:?}", one.inside_key());
                    let kept = format!("{:?}", state.kept(number).iter().collect::<Vec<_>>());
                    (key, (one.outside, one.outside_port, one.tcp.0, kept))
                })
                .collect(),
            subscribers: subscribers.collect(),
            resting: resting.map(|(_, one)| (one.address, one.port)).collect(),
            pools: state.allocation.open_pools().map(|pool| format!("{pool:?}")).collect(),
            limit: state.session_limit,
        }
    }
}

/// Every kind and one that grants mappings, without what a standby is not told of: fragments that
/// are followed.
fn kinds() -> Vec<Config> {
    let told = |config| Config { fragments: Fragments::default(), ..config };
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
    config: Config,
}

impl Both {
    fn new(config: &Config, seed: u64) -> Both {
        let [active, standby] = two(config);
        Both { standby: device(&standby, BEGIN), walk: Walk::new(&active, seed), config: standby }
    }

    /// So many steps, after each of which both are the same.
    fn steps(&mut self, count: usize) -> Result<(), String> {
        for step in 0..count {
            let standby = &mut self.standby;
            self.walk
                .step_with(|pair| synchronise(pair, standby))
                .map_err(|what| format!("step {step}: {what}"))?;
        }
        synchronise(&mut self.walk.pair, &mut self.standby);
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
        let now = self.walk.pair.now();
        let [_, other] = two(&self.config);
        // The old one must be gone first: the new one listens where it did.
        self.standby = device(&other, now);
        self.standby = device(&self.config, now);
    }

    /// The standby takes over, and the active one is gone: with it how many errors of its own it
    /// might still send, and the datagrams whose fragments it followed, of which there are none
    /// after a pause.
    fn fail_over(self) -> Walk {
        let Both { mut walk, standby, .. } = self;
        drop(walk.pair.replace(standby));
        for _ in 0..3 {
            walk.pair.wait(Duration::from_secs(1)).expect("nothing happens");
        }
        walk
    }
}
