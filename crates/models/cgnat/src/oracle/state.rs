//! What the model knows: its tables, what its parts keep, and what is in hand.
use std::net::Ipv4Addr;

use engine::steering::Steering;
use function_cgnat::config::{Config, Prefixed};
use function_kit::Shard;
use model_kit::check::Expected;
use model_kit::slow::Bucket;
use packet::PortId;

use super::deterministic::Plan;
use super::ds_lite::Softwires;
use super::fragments::Datagrams;
use super::interfaces::Interfaces;
use super::neighbours::Neighbours;
use super::networks::share;
use super::pcp::Told;
use super::reading::Reading;
use super::reports::Reports;
use super::tables::{Tables, Who};

/// The model of a NAT.
#[derive(Clone)]
pub struct Model {
    pub(super) config: Config,
    pub(super) shard: Shard,
    pub(super) tables: Tables,
    /// Pools, and whether new subscribers may have their addresses.
    pub(super) pools: Vec<(Prefixed<Ipv4Addr>, bool)>,
    /// Outside addresses as they were when rules or pools last came or went.
    pub(super) known_outside: Vec<Prefixed<Ipv4Addr>>,
    /// The prefix lengths of all networks of outside addresses for which there has been room, those
    /// of the configuration first, and how many those are.
    pub(super) taken: Vec<u8>,
    pub(super) configured: usize,
    pub(super) session_limit: usize,
    /// Most sessions, mappings and subscribers.
    pub(super) room: [usize; 3],
    /// Most connections whose sequence numbers are kept.
    pub(super) connections: usize,
    pub(super) plan: Plan,
    /// The hash that whoever steers has in common with the workers.
    pub(super) steering: Steering,
    /// For errors of its own.
    pub(super) errors: Bucket,
    pub(super) datagrams: Datagrams,
    pub(super) softwires: Softwires,
    pub(super) neighbours: Neighbours,
    pub(super) interfaces: Interfaces,
    pub(super) pcp: Told,
    /// Whom the last limit concerned.
    pub(super) concerned: Who,
    /// What the link takes for which the packet in hand is too long.
    pub(super) met: Option<u16>,
    /// The VLAN of the frame in hand; 0 without one.
    pub(super) realm: u16,
    /// The same of what left inside because of it.
    pub(super) towards: u16,
    /// What logs have to tell; none where logs are off.
    pub(super) reports: Option<Reports>,
    /// How it takes what is over.
    pub(super) reading: Reading,
}

/// A verdict, or the name of the reason for dropping.
pub(super) type Judgement = Result<Expected, &'static str>;

/// What left because of a frame.
pub(super) type Left<'a> = &'a [(PortId, &'a [u8])];

impl Model {
    /// The NAT as configured, or the part of it that one of several workers has.
    pub fn new(config: &Config, shard: Shard) -> Model {
        let share = |count| share(count, shard.count) as usize;
        Model {
            config: config.clone(),
            shard,
            tables: Tables::default(),
            pools: config.all_pools().map(|pool| (pool, true)).collect(),
            known_outside: config.outside().map(|(_, network)| network).collect(),
            taken: config.outside().map(|(_, network)| network.len).collect(),
            configured: config.outside().count(),
            session_limit: config.session_limit() as usize,
            room: [
                share(config.sessions),
                share(config.mapping_capacity()),
                share(config.subscribers),
            ],
            connections: share(config.alg.connections),
            plan: Plan::new(config),
            steering: config.steering(),
            errors: Bucket::new(config.icmp_errors_per_s, config.icmp_error_burst),
            datagrams: Datagrams::default(),
            softwires: Softwires::default(),
            neighbours: Neighbours::new(config),
            interfaces: Interfaces::new(config),
            pcp: Told::default(),
            concerned: Who { realm: 0, b4: None, address: Ipv4Addr::UNSPECIFIED.into() },
            met: None,
            realm: 0,
            towards: 0,
            reports: Reports::new(config, shard),
            reading: Reading::default(),
        }
    }
}
