//! A restart in the middle of a trial, and what is lost by it.

use std::time::Duration;

use measure::{Restart, Trial};

/// A restart so long after the beginning, in a trial that went well otherwise.
pub(super) fn restart(trial: &mut Trial, after: Duration, outage: Duration) {
    let whole = trial.effective.as_secs_f64();
    let from = after.as_secs_f64().min(whole);
    let until = (after + outage).as_secs_f64().min(whole);
    for direction in &mut trial.directions {
        let rate = direction.sent as f64 / whole;
        let lost = (rate * (until - from)).round() as u64;
        direction.lost = (direction.lost + lost).min(direction.sent);
        direction.received = direction.sent - direction.lost;
        if lost > 0 {
            direction.last_lost_ns = Some((until * 1e9) as u64);
        }
    }
    trial.restart = Some(Restart {
        asked_ns: after.as_nanos() as u64,
        ready_after_ns: outage.as_nanos() as u64,
        silence_ns: outage.as_nanos() as u64,
        what: "a simulated device".into(),
    });
}
