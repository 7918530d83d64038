//! The ports of a daemon: open, counted for as long as the daemon runs, and replaced one by one.
//!
//! What a port had counted before it was replaced stays in its counters, so that they add up over
//! reloads.

use std::sync::Arc;

use engine::{Link, Monitor, Opened, Port, PortCounts, PortRequest};
use functions::FrameSteering;
use packet::PortId;
use serde_json::Value;
use traffic::workload::worker_of;

use crate::error::RunError;
use crate::read::PortChoice;

/// A port that is open.
pub struct OpenPort {
    /// Its name at the function.
    pub name: &'static str,
    /// Its `type`.
    pub kind: &'static str,
    /// Its keys with all defaults.
    pub effective: Value,
    choice: Arc<dyn ports::Configured>,
    monitor: Option<Arc<dyn Monitor>>,
    /// What its predecessors had counted.
    retired: PortCounts,
}

/// What all ports of a daemon are opened for.
#[derive(Clone)]
pub struct Needs {
    /// Workers, each with a queue.
    pub queues: usize,
    /// The longest frame, in bytes without check sequence.
    pub frame_bytes_max: usize,
    /// Ticks of the clock in a second.
    pub ticks_per_second: f64,
    /// Which worker a frame is for, where that is not all the same.
    pub steering: Option<FrameSteering>,
}

/// A port that was opened, with its queues.
pub type WithQueues = (OpenPort, Vec<Box<dyn Port>>);

impl OpenPort {
    /// Opens the port of this number.
    ///
    /// # Errors
    /// Why it cannot be, by the port's own words.
    pub fn open(choice: &PortChoice, number: usize, needs: &Needs) -> Result<WithQueues, RunError> {
        let effective = choice.configured.effective();
        let mut port = OpenPort {
            name: choice.name,
            kind: choice.kind,
            effective,
            choice: Arc::clone(&choice.configured),
            monitor: None,
            retired: PortCounts::default(),
        };
        let queues = port.reopen(number, needs)?;
        Ok((port, queues))
    }

    /// Opens it once more, after it was closed.
    ///
    /// # Errors
    /// As [`OpenPort::open`].
    pub fn reopen(&mut self, number: usize, needs: &Needs) -> Result<Vec<Box<dyn Port>>, RunError> {
        let request = PortRequest {
            name: self.name.to_owned(),
            id: PortId(number as u8),
            queues: needs.queues,
            frame_bytes_max: needs.frame_bytes_max,
            ticks_per_second: needs.ticks_per_second,
        };
        let failed = |error| RunError::Port { name: self.name.to_owned(), error };
        let opened = self.choice.open(&request).map_err(failed)?;
        if opened.queues.len() != needs.queues {
            let what =
                format!("it has {} queues for {} workers", opened.queues.len(), needs.queues);
            let error = engine::PortError::new(what, "use one worker");
            return Err(RunError::Port { name: self.name.to_owned(), error });
        }
        let opened = match &needs.steering {
            Some(steering) => steered(opened, request.id, steering, needs.queues)?,
            None => opened,
        };
        self.monitor = Some(opened.monitor);
        Ok(opened.queues)
    }

    /// Keeps what was counted, for the port is about to be dropped.
    pub fn retire(&mut self) {
        if let Some(monitor) = self.monitor.take() {
            self.retired.add(&monitor.counts());
        }
    }

    /// Counts on from what another port of the name has counted.
    pub fn count_on_from(&mut self, other: &OpenPort) {
        self.retired = other.counts();
    }

    /// What was counted under this name so far.
    pub fn counts(&self) -> PortCounts {
        let mut counts = self.retired.clone();
        self.monitor.iter().for_each(|monitor| counts.add(&monitor.counts()));
        counts
    }

    /// Whether frames can pass.
    pub fn link(&self) -> Link {
        self.monitor.as_ref().map_or_else(|| Link::Down("closed".into()), |one| one.link())
    }

    /// How it runs.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        self.monitor.as_ref().map(|monitor| monitor.facts()).unwrap_or_default()
    }

    /// Whether another port would use the same interface, file or socket, so that both cannot be open.
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

/// The same port with each frame at its worker.
fn steered(
    opened: Opened,
    id: PortId,
    steering: &FrameSteering,
    workers: usize,
) -> Result<Opened, RunError> {
    let steering = steering.clone();
    let worker = move |frame: &[u8]| {
        steering(id, frame).map(|bits| worker_of(bits, workers as u32) as usize)
    };
    let worker: port_memory::Steering = Arc::new(worker);
    port_memory::steered(opened, id, &worker)
        .map_err(|error| RunError::setup(format!("no memory between workers: {error}"), ""))
}

/// A closed port: it brings nothing and takes nothing.
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
}

/// Keys by which ports name what only one of them can have.
const PLACES: [&str; 6] = ["interface", "socket", "path", "file", "name", "device"];
