//! The neighbour that the device watches, and the failure of the path to it.
//!
//! The workload plays the neighbour; the tester gives it the frames that come in for it, sends
//! those that it has to send, and makes the path fail and mends it at their times.

use machine::clock::{Clock, Ticks};
use measure::{PathFailing, PathFailure, PathFault};
use traffic::Workload;

use super::link::Link;

/// The neighbour of a trial.
pub(super) struct FarEnd {
    /// The port behind which it is; `None` without one.
    port: Option<usize>,
    failing: Option<Failing>,
}

/// A failure, with its times.
struct Failing {
    fault: PathFault,
    fails_at: Ticks,
    mends_at: Ticks,
    is_up: bool,
}

impl FarEnd {
    /// The neighbour of a workload in a trial that starts at a time.
    pub fn new<W: Workload>(
        workload: &W,
        asked: Option<PathFailing>,
        start: Ticks,
        clock: &Clock,
    ) -> FarEnd {
        let failing = asked.map(|PathFailing { fault, after, lasting }| {
            let fails_at = start + clock.ticks(after);
            Failing { fault, fails_at, mends_at: fails_at + clock.ticks(lasting), is_up: true }
        });
        FarEnd { port: workload.far_end().map(|port| usize::from(port.0)), failing }
    }

    /// Returns true if there is a neighbour.
    #[inline(always)]
    pub fn is_there(&self) -> bool {
        self.port.is_some()
    }

    /// Does what is due: the path fails or is mended, and the neighbour says something.
    pub fn keep<W: Workload, L: Link>(
        &mut self,
        now: Ticks,
        workload: &mut W,
        links: &mut [Vec<L>],
    ) {
        let Some(port) = self.port else { return };
        if let Some(failing) = &mut self.failing {
            let is_up = !(failing.fails_at..failing.mends_at).contains(&now);
            if is_up != std::mem::replace(&mut failing.is_up, is_up) {
                workload.set_path(is_up, now);
                if failing.fault == PathFault::PortDown {
                    links.iter_mut().for_each(|ports| ports[port].set_link(is_up));
                }
            }
        }
        // Of several workers the first has all sessions; what comes to others is handed to it.
        let Some(link) = links.first_mut().map(|ports| &mut ports[port]) else { return };
        while let Some(frame) = workload.say(now) {
            if let Some(room) = link.reserve(frame.len()) {
                room.copy_from_slice(frame);
                link.publish(now);
            }
        }
    }

    /// Returns what the path carried, if it was to fail.
    pub fn finish<W: Workload>(
        &self,
        workload: &W,
        first_sent: Ticks,
        clock: &Clock,
    ) -> Option<PathFailure> {
        let Failing { fault, fails_at, mends_at, .. } = *self.failing.as_ref()?;
        let used = workload.path_use();
        let since = |at: Ticks, earlier: Ticks| clock.nanos(at.saturating_sub(earlier));
        Some(PathFailure {
            fault,
            failed_ns: since(fails_at, first_sent),
            mended_ns: since(mends_at, first_sent),
            carried: used.carried,
            carried_for_ns: used.first.map_or(0, |first| since(fails_at, first)),
            lost: used.lost,
            until_left_ns: used
                .last_lost
                .filter(|at| *at >= fails_at)
                .map(|at| since(at, fails_at)),
            returned: used.returned,
            until_back_ns: used.first_returned.map(|at| since(at, mends_at)),
        })
    }
}
