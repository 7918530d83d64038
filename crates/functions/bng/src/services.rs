//! Policers and queues of sessions, by their numbers: nothing is looked up for a packet.
//!
//! ```text
//!  policers:  node 0 .. | session 0: own, class 1, class 2 .. | session 1: own, ..
//!  queues:    session 0: queue 0, queue 1 .. | session 1: ..      under subscribers, nodes, port 0
//! ```
//! Node 0 is that of sessions without a node, and has no rate.

use engine::Refusal;
use function_kit::SetupError;
use machine::clock::{Clock, Ticks};
use tables::policer::{self, Policers, Policing};
use tables::scheduler::{self, Discard, LEVELS, Member, Port, Scheduler, Shape, Sizes};
use units::BytesPerSec;

use super::config::{Config, Node, Policer, PortQueues, Profile, Queue};
use super::profiles::{Means, NO_QUEUE, NODES};

/// Policers and queues of all sessions.
pub(super) struct Services {
    pub policers: Policers,
    /// None of a gateway without queues.
    pub queues: Option<Scheduler>,
    nodes: u32,
    policers_each: u32,
    queues_each: u32,
    port_overhead: i16,
}

impl Services {
    /// Room for those of a configuration.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub fn new(config: &Config, clock: Clock, now: Ticks) -> Result<Services, SetupError> {
        let memory = |what| move |source| SetupError::Memory { what, source };
        let nodes = config.node_capacity + 1;
        let sessions = config.session_capacity + 1;
        let policers_each = config.session_policers + 1;
        let count = nodes as usize + sessions as usize * policers_each as usize;
        let ticks_per_s = clock.ticks_per_second();
        let mut services = Services {
            policers: Policers::new(count, ticks_per_s).map_err(memory("policers"))?,
            queues: None,
            nodes,
            policers_each,
            queues_each: config.session_queues,
            port_overhead: config.port_queues.overhead_bytes,
        };
        if config.session_queues > 0 {
            let sizes = Sizes {
                ports: 1,
                nodes,
                subscribers: sessions,
                queues: sessions * config.session_queues,
                cells: config.buffer_kib * CELLS_OF_KIB,
                frame_bytes_max: FRAME_BYTES_MAX.max(config.access_mtu.saturating_add(HEADERS)),
            };
            let mut queues = Scheduler::new(sizes, ticks_per_s, now).map_err(memory("queues"))?;
            set_port(&mut queues, &config.port_queues, now).map_err(|why| SetupError::Table {
                what: "the port's queues",
                why: why.to_string(),
            })?;
            services.queues = Some(queues);
        }
        Ok(services)
    }

    /// An access node has these rates from now on.
    ///
    /// # Errors
    /// When they are none.
    pub fn set_node(&mut self, number: u16, node: &Node, now: Ticks) -> Result<(), Refusal> {
        if let Some(rate) = node.up_rate {
            let policing = single(rate, node.burst, None);
            self.policers.set(number.into(), &policing, now).map_err(refusal)?;
        }
        if let Some(queues) = &mut self.queues {
            let shape = shape(node.down_rate, node.burst, self.port_overhead);
            let member = Member { parent: 0, shape, weight: node.weight };
            queues.set_node(number.into(), &member, now).map_err(refusal_of_queues)?;
        }
        Ok(())
    }

    /// There is no such node any more.
    pub fn clear_node(&mut self, number: u16) {
        // Nobody refers to it, so it has no children.
        let _ = self.policers.clear(number.into());
        if let Some(queues) = &mut self.queues {
            let _ = queues.clear_node(number.into());
        }
    }

    /// A session has the policers and queues of a profile, behind a node, from now on.
    ///
    /// # Errors
    /// When a rate is none; what was set is cleared by [`Services::clear`].
    pub fn set(
        &mut self,
        session: u32,
        (profile, node): (&Profile, u16),
        now: Ticks,
    ) -> Result<(), Refusal> {
        self.set_policers(session, profile, node, now)?;
        self.set_queues(session, profile, node, now)
    }

    fn set_policers(
        &mut self,
        session: u32,
        profile: &Profile,
        node: u16,
        now: Ticks,
    ) -> Result<(), Refusal> {
        self.clear_policers(session);
        let own = self.own_policer(session);
        let above = Some(u32::from(node)).filter(|node| self.policers.is_set(*node));
        if let Some(rate) = profile.up_rate {
            let policing = single(rate, profile.up_burst, above);
            self.policers.set(own, &policing, now).map_err(refusal)?;
        }
        let above = if profile.up_rate.is_some() { Some(own) } else { above };
        for (number, policer) in (own + 1..).zip(&profile.policers) {
            self.policers.set(number, &policing(policer, above), now).map_err(refusal)?;
        }
        Ok(())
    }

    fn set_queues(
        &mut self,
        session: u32,
        profile: &Profile,
        node: u16,
        now: Ticks,
    ) -> Result<(), Refusal> {
        let first = self.queue(session, 0);
        let Some(queues) = &mut self.queues else { return Ok(()) };
        let shape = shape(profile.down_rate, profile.down_burst, profile.overhead_bytes);
        let member = Member { parent: node.into(), shape, weight: profile.weight };
        queues.set_subscriber(session, &member, now).map_err(refusal_of_queues)?;
        for (number, queue) in (first..).zip(&profile.queues) {
            let queue = queue_of(queue, session, profile.overhead_bytes);
            queues.set_queue(number, &queue, now).map_err(refusal_of_queues)?;
        }
        for number in profile.queues.len() as u32..self.queues_each {
            let _ = queues.clear_queue(first + number);
        }
        Ok(())
    }

    /// A session has none any more; what waits is dropped.
    pub fn clear(&mut self, session: u32) {
        self.clear_policers(session);
        let first = self.queue(session, 0);
        if let Some(queues) = &mut self.queues {
            for number in 0..self.queues_each {
                let _ = queues.clear_queue(first + number);
            }
            let _ = queues.clear_subscriber(session);
        }
    }

    fn clear_policers(&mut self, session: u32) {
        let own = self.own_policer(session);
        // Children first.
        for number in (own..own + self.policers_each).rev() {
            let _ = self.policers.clear(number);
        }
    }

    /// The number of a session's own policer, behind which those of its classes are.
    #[inline(always)]
    fn own_policer(&self, session: u32) -> u32 {
        self.nodes + session * self.policers_each
    }

    /// The number of the policer that is asked first for a packet of a class.
    #[inline(always)]
    pub fn policer(&self, session: u32, node: u16, means: &Means, class: u8) -> u32 {
        match means.policer[usize::from(class & 7)] {
            NODES => node.into(),
            number => self.own_policer(session) + u32::from(number),
        }
    }

    /// Asks the processor to fetch a session's own policer.
    #[inline(always)]
    pub fn prefetch(&self, session: u32) {
        self.policers.prefetch(self.own_policer(session));
    }

    /// The same of its first queue.
    #[inline(always)]
    pub fn prefetch_queues(&self, session: u32) {
        if let Some(queues) = &self.queues {
            queues.prefetch(self.queue(session, 0));
        }
    }

    /// The number of a queue of a session.
    #[inline(always)]
    fn queue(&self, session: u32, number: u32) -> u32 {
        session * self.queues_each + number
    }

    /// The number of the queue of a class; none where packets pass at any rate.
    #[inline(always)]
    pub fn queue_of(&self, session: u32, means: &Means, class: u8) -> Option<u32> {
        match means.queue[usize::from(class & 7)] {
            NO_QUEUE => None,
            number => Some(self.queue(session, number.into())),
        }
    }

    /// The numbers of all queues of a session.
    pub fn queues_of(&self, session: u32) -> std::ops::Range<u32> {
        let first = self.queue(session, 0);
        first..first + self.queues_each
    }

    /// Memory it holds.
    pub fn bytes(&self) -> usize {
        self.policers.bytes() + self.queues.as_ref().map_or(0, Scheduler::bytes)
    }
}

fn set_port(
    queues: &mut Scheduler,
    port: &PortQueues,
    now: Ticks,
) -> Result<(), scheduler::Refused> {
    let of = |rate: Option<BytesPerSec>| shape(rate, port.burst, port.overhead_bytes);
    let mut levels = [Shape::UNLIMITED; LEVELS];
    for (level, rate) in levels.iter_mut().zip(&port.levels) {
        *level = of(Some(*rate));
    }
    queues.set_port(0, &Port { shape: of(port.rate), levels }, now)?;
    queues.set_node(0, &Member { parent: 0, shape: Shape::UNLIMITED, weight: 1 }, now)
}

fn shape(rate: Option<BytesPerSec>, burst: u32, overhead_bytes: i16) -> Shape {
    rate.map_or(Shape { overhead_bytes, ..Shape::UNLIMITED }, |rate| Shape {
        bytes_per_s: rate.0,
        burst_bytes: burst.into(),
        overhead_bytes,
    })
}

fn queue_of(queue: &Queue, session: u32, overhead_bytes: i16) -> scheduler::Queue {
    let discard = match queue.codel {
        false => Discard::Tail,
        true => Discard::Codel { target_s: 0.005, interval_s: 0.1 },
    };
    scheduler::Queue {
        subscriber: session,
        shape: shape(queue.rate, queue.burst, overhead_bytes),
        level: queue.level,
        weight: queue.weight,
        depth_bytes: queue.depth_bytes,
        share: SHARE,
        discard,
    }
}

/// A policer of one rate, beyond which packets are dropped.
fn single(rate: BytesPerSec, burst: u32, parent: Option<u32>) -> Policing {
    let profile = policer::Profile::SingleRate {
        committed_bytes_per_s: rate.0,
        committed_burst_bytes: burst.into(),
        excess_burst_bytes: 0.0,
    };
    Policing { profile, is_colour_aware: false, parent }
}

fn policing(policer: &Policer, parent: Option<u32>) -> Policing {
    let Some(peak) = policer.peak_rate else { return single(policer.rate, policer.burst, parent) };
    let profile = policer::Profile::TwoRate {
        committed_bytes_per_s: policer.rate.0,
        committed_burst_bytes: policer.burst.into(),
        peak_bytes_per_s: peak.0,
        peak_burst_bytes: policer.peak_burst.into(),
    };
    Policing { profile, is_colour_aware: false, parent }
}

fn refusal(_: policer::Refused) -> Refusal {
    Refusal::Invalid
}

fn refusal_of_queues(_: scheduler::Refused) -> Refusal {
    Refusal::Invalid
}

/// Cells of the scheduler in a KiB.
const CELLS_OF_KIB: u32 = 4;

/// The longest frame that can wait, where `access-mtu` asks for no longer one.
const FRAME_BYTES_MAX: u16 = 2048;

/// What lines add to a packet at most, in bytes.
const HEADERS: u16 = 64;

/// A queue may hold as many cells as are free: half of a pool that nobody else uses.
const SHARE: i8 = 0;
