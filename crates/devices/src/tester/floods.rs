//! Frames beside the load: floods against the device itself, and the pings that show whether it still
//! answers. They bear no stamp; what the device answers is known by the workload.

use std::time::Duration;

use machine::clock::{Clock, Ticks};
use measure::{Flood, FloodCounts, Load};
use traffic::workload::worker_of;
use traffic::{Random, Workload};

use super::BURST;
use super::link::Link;
use super::schedule::Schedule;

/// The floods of a trial.
pub(super) struct Floods {
    running: Vec<Running>,
}

/// One flood.
struct Running {
    kind: usize,
    schedule: Schedule,
    next_number: u64,
    /// Frames that the tester's own port did not take.
    refused: u64,
    counts: FloodCounts,
}

impl Floods {
    /// Those that are asked for; a workload that does not know a kind sends nothing of it.
    pub fn new<W: Workload>(
        workload: &W,
        asked: [Option<Flood>; 2],
        (start, duration): (Ticks, Duration),
        clock: &Clock,
    ) -> Floods {
        let one = |flood: Flood| {
            let kind = workload.floods().get(flood.kind)?;
            Some(Running {
                kind: flood.kind,
                schedule: Schedule::new(Load::PerInterface(flood.rate), duration, start, clock),
                next_number: 0,
                refused: 0,
                counts: FloodCounts { name: kind.name.to_owned(), ..FloodCounts::default() },
            })
        };
        Floods { running: asked.into_iter().flatten().filter_map(one).collect() }
    }

    /// Whether there are any.
    #[inline(always)]
    pub fn is_active(&self) -> bool {
        !self.running.is_empty()
    }

    /// Sends what is due of each, up to a burst.
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

    /// Takes a frame without a stamp; whether it was an answer to one of them.
    pub fn take<W: Workload>(&mut self, workload: &W, frame: &[u8]) -> bool {
        let asked = self.running.iter_mut().find(|f| workload.answers_flood(f.kind, frame));
        asked.map(|flood| flood.counts.answered += 1).is_some()
    }

    /// What became of them.
    pub fn finish(self) -> Vec<FloodCounts> {
        let counts = |flood: Running| FloodCounts {
            sent: flood.next_number - flood.refused,
            ..flood.counts
        };
        self.running.into_iter().map(counts).collect()
    }
}
