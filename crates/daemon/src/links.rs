//! The ports of a daemon: open, counted for as long as the daemon runs, and replaced one by one.
//!
//! What a port had counted before it was replaced stays in its counters, so that they add up over
//! reloads.

use std::sync::Arc;

use engine::steering::worker_of;
use engine::{Link, Monitor, Opened, Port, PortCounts, PortRequest};
use function_kit::PortName;
use functions::FrameSteering;
use packet::PortId;
use serde_json::Value;

use crate::error::RunError;
use crate::read::PortChoice;

/// An open port.
pub struct OpenPort {
    /// Name of the port at the function.
    pub name: PortName,
    /// The port's `type`.
    pub kind: &'static str,
    /// Keys of the port with all defaults.
    pub effective: Value,
    choice: Arc<dyn ports::Configured>,
    monitor: Option<Arc<dyn Monitor>>,
    /// Counters of earlier ports under this name.
    retired: PortCounts,
    /// The MTU that the function was told last.
    pub told_mtu: Option<u16>,
}

/// Parameters with which all ports of a daemon are opened.
#[derive(Clone)]
pub struct Needs {
    /// Number of workers, each with one queue.
    pub queues: usize,
    /// Longest frame, in bytes without frame check sequence.
    pub frame_bytes_max: usize,
    /// Frequency of the time-stamp clock in ticks per second.
    pub ticks_per_second: f64,
    /// How a frame's worker is determined, if it matters.
    pub steering: Option<FrameSteering>,
}

impl Needs {
    /// The longest packet in the longest frame.
    pub fn packet_bytes_max(&self) -> u16 {
        let len = self.frame_bytes_max.saturating_sub(HEADER_LEN);
        u16::try_from(len).unwrap_or(u16::MAX)
    }
}

/// An open port and its queues.
pub type WithQueues = (OpenPort, Vec<Box<dyn Port>>);

impl OpenPort {
    /// Opens the port of this number.
    ///
    /// # Errors
    /// The port's error.
    pub fn open(choice: &PortChoice, number: usize, needs: &Needs) -> Result<WithQueues, RunError> {
        let effective = choice.configured.effective();
        let mut port = OpenPort {
            name: choice.name,
            kind: choice.kind,
            effective,
            choice: Arc::clone(&choice.configured),
            monitor: None,
            retired: PortCounts::default(),
            told_mtu: None,
        };
        let queues = port.reopen(number, needs)?;
        Ok((port, queues))
    }

    /// Opens the port again after it was closed.
    ///
    /// # Errors
    /// Those of [`OpenPort::open`].
    pub fn reopen(&mut self, number: usize, needs: &Needs) -> Result<Vec<Box<dyn Port>>, RunError> {
        let request = PortRequest {
            name: self.name.to_string(),
            id: PortId(number as u8),
            queues: needs.queues,
            frame_bytes_max: needs.frame_bytes_max,
            ticks_per_second: needs.ticks_per_second,
        };
        let failed = |error| RunError::Port { name: self.name.to_string(), error };
        let opened = self.choice.open(&request).map_err(failed)?;
        if opened.queues.len() != needs.queues {
            let what =
                format!("the port has {} queues for {} workers", opened.queues.len(), needs.queues);
            let error = engine::PortError::new(what, "use one worker");
            return Err(RunError::Port { name: self.name.to_string(), error });
        }
        let opened = match &needs.steering {
            Some(steering) => steered(opened, request.id, steering, needs.queues)?,
            None => opened,
        };
        self.monitor = Some(opened.monitor);
        Ok(opened.queues)
    }

    /// Keeps the counters before the port is dropped.
    pub fn retire(&mut self) {
        if let Some(monitor) = self.monitor.take() {
            self.retired.add(&monitor.counts());
        }
    }

    /// Continues the counters of another port of the same name.
    pub fn count_on_from(&mut self, other: &OpenPort) {
        self.retired = other.counts();
    }

    /// Returns the counters under this name so far.
    pub fn counts(&self) -> PortCounts {
        let mut counts = self.retired.clone();
        self.monitor.iter().for_each(|monitor| counts.add(&monitor.counts()));
        counts
    }

    /// Returns the state of the link.
    pub fn link(&self) -> Link {
        self.monitor.as_ref().map_or_else(|| Link::Down("closed".into()), |one| one.link())
    }

    /// Returns facts about the port.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        self.monitor.as_ref().map(|monitor| monitor.facts()).unwrap_or_default()
    }

    /// Returns the longest packet that the link carries, in bytes, if its interface has such a
    /// limit.
    pub fn mtu(&self) -> Option<u16> {
        let fact = self.facts().into_iter().find(|(name, _)| *name == "mtu-bytes");
        let mtu: u32 = fact?.1.parse().ok()?;
        Some(u16::try_from(mtu).unwrap_or(u16::MAX))
    }

    /// Returns true if another port would use the same interface, file or socket, so that both
    /// cannot be open.
    pub fn shares_with(&self, other: &PortChoice) -> bool {
        let effective = other.configured.effective();
        let names = |keys: &Value| {
            let keys = keys.as_object().into_iter().flatten();
            keys.filter(|(_, value)| value.is_string())
                .filter(|(key, _)| PLACES.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect::<Vec<_>>()
        };
        let (mine, theirs) = (names(&self.effective), names(&effective));
        mine.iter().any(|(_, place)| theirs.iter().any(|(_, other)| place == other))
    }
}

/// Adds software steering to a port whose queues do not deliver each frame to its worker.
fn steered(
    opened: Opened,
    id: PortId,
    steering: &FrameSteering,
    workers: usize,
) -> Result<Opened, RunError> {
    let worker = || -> port_memory::Steering {
        let mut steer = steering();
        Box::new(move |frame| steer(id, frame).map(|bits| worker_of(bits, workers as u32) as usize))
    };
    port_memory::steered(opened, id, worker)
        .map_err(|error| RunError::setup(format!("no memory between workers: {error}"), ""))
}

/// A closed port, which receives nothing and accepts nothing.
pub struct Closed;

impl Port for Closed {
    fn receive(&mut self, _: &mut packet::Batch, _: usize, _: machine::clock::Ticks) -> usize {
        0
    }

    fn transmit(
        &mut self,
        _: &mut packet::Batch,
        _: &[packet::Slot],
        _: machine::clock::Ticks,
    ) -> usize {
        0
    }

    fn is_up(&mut self) -> bool {
        false
    }
}

/// Keys that name a resource which only one port can use.
const PLACES: [&str; 6] = ["interface", "socket", "path", "file", "name", "device"];

/// What a frame has before its packet, in bytes.
const HEADER_LEN: usize = 14;
