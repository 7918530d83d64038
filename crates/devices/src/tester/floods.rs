//! Frames beside the load: floods against the device itself, and the pings that show whether it
//! still answers. They bear no stamp; what the device answers is known by the workload.

use std::time::Duration;

use engine::steering::worker_of;
use machine::clock::{Clock, Ticks};
use measure::{Flood, FloodCounts, Load};
use traffic::{Random, Workload};

use super::link::Link;
use super::schedule::{BURST, Schedule};

/// The floods of a trial.
pub(super) struct Floods {
    running: Vec<Running>,
}

/// A flood that is being sent.
struct Running {
    kind: usize,
    schedule: Schedule,
    next_number: u64,
    /// Frames that the tester's own port did not accept.
    refused: u64,
    counts: FloodCounts,
}

impl Floods {
    /// Creates the requested floods; a workload sends nothing for a kind that it does not support.
    pub fn new<W: Workload>(
        workload: &W,
        asked: [Option<Flood>; 2],
        (start, duration): (Ticks, Duration),
        clock: &Clock,
    ) -> Floods {
        let one = |flood: Flood| {
            let kind = workload.floods().get(flood.kind)?;
            let load = Load::PerInterface(flood.rate);
            Some(Running {
                kind: flood.kind,
                schedule: Schedule::new(load, None, duration, start, clock),
                next_number: 0,
                refused: 0,
                counts: FloodCounts { name: kind.name.to_owned(), ..FloodCounts::default() },
            })
        };
        Floods { running: asked.into_iter().flatten().filter_map(one).collect() }
    }

    /// Returns true if there are any floods.
    #[inline(always)]
    pub fn is_active(&self) -> bool {
        !self.running.is_empty()
    }

    /// Sends the due frames of each flood, up to a burst.
    pub fn send<W: Workload, L: Link>(&mut self, now: Ticks, workload: &W, links: &mut [Vec<L>]) {
        for flood in &mut self.running {
            let due = flood.schedule.due(now, BURST, flood.next_number);
            if due == 0 {
                continue;
            }
            let len = workload.flood_len(flood.kind);
            let port = usize::from(workload.floods()[flood.kind].from.0);
            for number in flood.next_number..flood.next_number + due {
                // A card would spread them over its queues by their addresses.
                let steering = (Random::rehash(number) >> 32) as u32;
                let worker = worker_of(steering, links.len() as u32) as usize;
                match links[worker][port].reserve(len) {
                    Some(frame) => workload.write_flood(flood.kind, number, frame),
                    None => flood.counts.ring_full += 1,
                }
            }
            for ports in links.iter_mut() {
                let refused = ports[port].publish(now);
                flood.counts.ring_full += refused.by_device;
                flood.refused += refused.by_port;
            }
            flood.next_number += due;
            flood.schedule.take(due);
        }
    }

    /// Processes a frame without a stamp; returns true if it is an answer to a flood.
    pub fn take<W: Workload>(&mut self, workload: &W, frame: &[u8]) -> bool {
        let asked = self.running.iter_mut().find(|f| workload.answers_flood(f.kind, frame));
        asked.map(|flood| flood.counts.answered += 1).is_some()
    }

    /// Returns the counters of the floods.
    pub fn finish(self) -> Vec<FloodCounts> {
        let counts = |flood: Running| FloodCounts {
            sent: flood.next_number - flood.refused,
            ..flood.counts
        };
        self.running.into_iter().map(counts).collect()
    }
}
