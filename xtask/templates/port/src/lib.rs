//! The template port: a link that takes every frame and brings none.

use std::sync::Arc;

use engine::{
    Link, Monitor, Opened, Port, PortCounts, PortDrop, PortError, PortKind, PortRequest,
    QueueCounters,
};
use machine::clock::Ticks;
use packet::{Batch, Slot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The port type.
pub struct Template;

/// Keys of the port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TemplateConfig {
    /// Whether frames can pass.
    pub up: bool,
}

impl PortKind for Template {
    const NAME: &'static str = "template";
    const SUMMARY: &'static str = "a link that takes every frame and brings none";
    type Config = TemplateConfig;

    fn available() -> Result<(), PortError> {
        Ok(())
    }

    fn open(config: &TemplateConfig, request: &PortRequest) -> Result<Opened, PortError> {
        let counters: Vec<_> = (0..request.queues).map(|_| QueueCounters::new(DROPS)).collect();
        let queue = |counters: &Arc<QueueCounters>| -> Box<dyn Port> {
            Box::new(Queue { up: config.up, counters: counters.clone() })
        };
        let queues = counters.iter().map(queue).collect();
        Ok(Opened { queues, monitor: Arc::new(Counters { up: config.up, queues: counters }) })
    }
}

struct Queue {
    up: bool,
    counters: Arc<QueueCounters>,
}

impl Port for Queue {
    fn receive(&mut self, _: &mut Batch, _: usize, _: Ticks) -> usize {
        0
    }

    fn transmit(&mut self, _: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        if !self.up {
            self.counters.dropped(0, slots.len() as u64);
            return 0;
        }
        self.counters.sent(slots.len(), 0);
        slots.len()
    }
}

struct Counters {
    up: bool,
    queues: Vec<Arc<QueueCounters>>,
}

impl Monitor for Counters {
    fn counts(&self) -> PortCounts {
        PortCounts::sum(&self.queues)
    }

    fn link(&self) -> Link {
        if self.up { Link::Up } else { Link::Down("`up` is false".to_owned()) }
    }
}

const DROPS: &[PortDrop] = &[PortDrop::transmit("link-down")];
