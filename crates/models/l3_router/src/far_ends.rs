//! The workload as the tester has it where a next hop is watched: with the far end of its path.
use machine::clock::Ticks;
use packet::PortId;
use traffic::workload::{FarEnds, PathUse};

use crate::workload::Routed;

impl FarEnds for Routed {
    fn far_end(&self) -> Option<PortId> {
        self.far_end.as_ref().map(|end| end.port)
    }

    fn hear(&mut self, port: PortId, frame: &[u8], now: Ticks) -> bool {
        self.far_end.as_mut().is_some_and(|end| end.hear(port, frame, now))
    }

    fn say(&mut self, now: Ticks) -> Option<&[u8]> {
        self.far_end.as_mut()?.say(now)
    }

    fn set_path(&mut self, is_up: bool, now: Ticks) {
        if let Some(end) = &mut self.far_end {
            end.set_path(is_up, now);
        }
    }

    fn path_use(&self) -> PathUse {
        self.far_end.as_ref().map_or(PathUse::default(), |end| end.used)
    }
}
