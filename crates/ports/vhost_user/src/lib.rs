//! The vhost-user port: a network device for virtual machines, and the driver side of one.
//!
//! ```text
//!  virtual machine (QEMU), DPDK's virtio-user …          this port, role `backend`
//!    driver: rings and buffers in its own memory  <==>   mapped here; workers copy frames
//!            control messages over a Unix socket   -->   a thread of its own
//!
//!  this port, role `frontend`                            a device: Open vSwitch, DPDK's vhost …
//! ```
//! Guarantees: whatever the other side writes into shared memory, no byte outside of it is touched,
//! no loop goes on without end, and nothing panics: a ring that contradicts the standard is stopped
//! and counted. A peer that dies is forgotten and the next one served; memory is unmapped when the
//! workers have let go of it. It does not follow packed rings or live migration.

mod backend;
mod config;
mod control;
mod device;
mod driver;
mod drops;
mod exchange;
mod features;
mod frontend;
mod header;
mod layout;
mod memory;
mod queue;
mod socket;
mod walk;

use std::sync::Arc;

use engine::{Intake, Opened, Port, PortError, PortKind, PortRequest, QueueCounters};
use keys::Invalid;
use packet::PortId;

pub use crate::config::{Config, Role};
use crate::control::{Owner, Status, Stop};
use crate::exchange::{Holder, Lender, exchange};
use crate::frontend::Driver;
use crate::queue::{Queue, Sink, Source};
use crate::socket::Meeting;

/// Port type `vhost-user`.
pub struct VhostUser;

impl PortKind for VhostUser {
    const NAME: &'static str = "vhost-user";
    const SUMMARY: &'static str = "a network device for a virtual machine, over a Unix socket";
    type Config = Config;

    fn available() -> Result<(), PortError> {
        Ok(())
    }

    fn validate(config: &Config) -> Result<(), Invalid> {
        config.validate()
    }

    fn open(config: &Config, request: &PortRequest) -> Result<Opened, PortError> {
        let invalid = |error: Invalid| PortError::new(error.to_string(), "correct the key");
        config.validate().map_err(invalid)?;
        let pairs = config.queues.map_or(request.queues, usize::from);
        if pairs < request.queues {
            let what =
                format!("port {} has {pairs} queues for {} workers", request.name, request.queues);
            return Err(PortError::new(what, format!("set queues to at least {}", request.queues)));
        }
        let meeting = if config.listens() {
            Meeting::listen(&config.path)?
        } else {
            Meeting::Connecting { path: config.path.clone() }
        };
        let counters: Vec<_> =
            (0..request.queues).map(|_| QueueCounters::new(drops::DROPS)).collect();
        let role = if config.role == Role::Backend { "backend" } else { "frontend" };
        let facts = vec![
            ("role", role.to_owned()),
            ("socket", config.path.display().to_string()),
            ("queues", pairs.to_string()),
        ];
        let status = Status::new(counters.clone(), facts);
        let parts = Parts { pairs, meeting, counters, status: status.clone() };
        let queues = match config.role {
            Role::Backend => parts.open_backend(config, request),
            Role::Frontend => parts.open_frontend(config, request),
        }?;
        Ok(Opened { queues, monitor: status })
    }
}

/// Components that both roles have.
struct Parts {
    pairs: usize,
    meeting: Meeting,
    counters: Vec<Arc<QueueCounters>>,
    status: Arc<Status>,
}

impl Parts {
    fn open_backend(
        self,
        config: &Config,
        request: &PortRequest,
    ) -> Result<Vec<Box<dyn Port>>, PortError> {
        let (mut lenders, mut sources, mut sinks) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.pairs {
            // What the guest receives, this side transmits; and the other way round.
            let (lender, holder) = exchange();
            lenders.push(lender);
            sinks.push(holder);
            let (lender, holder) = exchange();
            lenders.push(lender);
            sources.push(holder);
        }
        let device = backend::Device::new(
            lenders,
            (request.frame_bytes_max, config.offloads),
            request.queues,
            self.status.clone(),
        );
        let meeting = self.meeting;
        let owner = start(move |stop| backend::serve(device, &meeting, stop))?;
        Ok(spread(request.id, sources, sinks, &self.counters, &owner))
    }

    fn open_frontend(
        self,
        config: &Config,
        request: &PortRequest,
    ) -> Result<Vec<Box<dyn Port>>, PortError> {
        let (receiving, sources): (Vec<Lender<_>>, _) = (0..self.pairs).map(|_| exchange()).unzip();
        let (transmitting, sinks): (Vec<Lender<_>>, _) =
            (0..self.pairs).map(|_| exchange()).unzip();
        let driver = Driver {
            receiving,
            transmitting,
            workers: request.queues,
            ring_size: config.ring_size,
            buffer_bytes: config.buffer_bytes,
            offloads: config.offloads,
            frame_bytes_max: request.frame_bytes_max,
            status: self.status.clone(),
        };
        let meeting = self.meeting;
        let owner = start(move |stop| driver.serve(&meeting, stop))?;
        Ok(spread(request.id, sources, sinks, &self.counters, &owner))
    }
}

fn start(work: impl FnOnce(&Stop) + Send + 'static) -> Result<Arc<Owner>, PortError> {
    let owner = Owner::start(work).map_err(|error| {
        let what =
            format!("cannot create a thread for the control messages of vhost-user: {error}");
        PortError::new(what, "raise the limit of threads or open files: ulimit -u, ulimit -n")
    })?;
    Ok(Arc::new(owner))
}

/// Distributes the pairs over the queues: pair `n` to queue `n` modulo their number.
fn spread<S: Source, K: Sink>(
    id: PortId,
    sources: Vec<Holder<S>>,
    sinks: Vec<Holder<K>>,
    counters: &[Arc<QueueCounters>],
    owner: &Arc<Owner>,
) -> Vec<Box<dyn Port>> {
    let mut queues: Vec<Queue<S, K>> = counters
        .iter()
        .map(|counters| Queue {
            id,
            sources: Vec::new(),
            sinks: Vec::new(),
            turn: 0,
            counters: counters.clone(),
            intake: Intake::default(),
            _owner: owner.clone(),
        })
        .collect();
    let count = queues.len();
    for (pair, (source, sink)) in sources.into_iter().zip(sinks).enumerate() {
        queues[pair % count].sources.push(source);
        queues[pair % count].sinks.push(sink);
    }
    queues.into_iter().map(|queue| Box::new(queue) as Box<dyn Port>).collect()
}
