//! A path that fails in the middle of a trial, and a device that notices it after a while.

use std::time::Duration;

use measure::{PathFailing, PathFailure, PathFault, Trial};

/// Behaviour of a device towards the path to a neighbour, which carries half of all frames.
#[derive(Clone, Copy, Debug)]
pub struct WatchedPath {
    /// Times until silence and a port that is down are noticed.
    pub notices: [Duration; 2],
    /// Whether flows come back once the path is mended.
    pub returns: bool,
}

impl WatchedPath {
    /// Lets the path fail in a trial that went well otherwise.
    pub(super) fn fail(&self, trial: &mut Trial, failing: &PathFailing) {
        let notices = self.notices[usize::from(failing.fault == PathFault::PortDown)];
        let outage = notices.min(failing.lasting);
        let whole = trial.effective.as_secs_f64();
        let share = |span: Duration, sent: u64| {
            (sent as f64 / 2.0 * (span.as_secs_f64() / whole).min(1.0)).round() as u64
        };
        let sent = trial.sent();
        for direction in &mut trial.directions {
            direction.lost += share(outage, direction.sent);
            direction.received = direction.sent - direction.lost;
        }
        let after = trial.intended.saturating_sub(failing.after + failing.lasting);
        let returned = if self.returns { share(after, sent) } else { 0 };
        let ns = |span: Duration| span.as_nanos() as u64;
        trial.path_failure = Some(PathFailure {
            fault: failing.fault,
            failed_ns: ns(failing.after),
            mended_ns: ns(failing.after + failing.lasting),
            carried: share(failing.after, sent),
            carried_for_ns: ns(failing.after),
            lost: share(outage, sent),
            until_left_ns: Some(ns(outage)),
            returned,
            until_back_ns: (returned > 0).then_some(0),
        });
    }
}
