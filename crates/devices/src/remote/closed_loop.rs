//! A trial in a device's own closed loop.

use std::time::Duration;

use measure::{Conditions, Direction, Load, MeasureError, Trial, Watch};
use model_kit::Model;
use traffic::Frames as _;

use super::{Remote, driver_error};
use crate::closed_loop::{LoopCounts, LoopFrames};
use crate::tester::{CHECK_SEQUENCE_LEN, latency_histogram};

impl<N: Model> Remote<N> {
    /// Runs a trial in which the device makes the frames itself.
    pub(super) fn run_closed_loop(
        &mut self,
        duration: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        let workload = self.workload();
        if !is_plain(&self.conditions) {
            return Err(MeasureError::Unsupported(PLAIN_ONLY));
        }
        let (ticks_per_second, stop) = (self.host.clock.ticks_per_second(), self.host.stop.clone());
        let names: Vec<String> =
            workload.directions().iter().map(|one| one.name.to_owned()).collect();
        let rig = self.rig()?;
        let frames = LoopFrames::of(&workload);
        let counts = rig.running.closed_loop(&frames, duration, watch, &stop);
        let counts = counts.map_err(driver_error)?;
        let mut trial = Trial::new(Load::ClosedLoop, duration, ticks_per_second);
        trial.directions = directions(&names, &frames, &counts);
        trial.effective = counts.effective;
        trial.stages = counts.stages;
        trial.workers = counts.workers;
        trial.drops = counts.drops;
        let usage = rig.running.usage();
        trial.resident_bytes = usage.resident_bytes;
        self.healthy()?;
        Ok(trial)
    }
}

fn is_plain(conditions: &Conditions) -> bool {
    let Conditions { updates_per_s, .. } = *conditions;
    let without = Conditions { updates_per_s, ..Conditions::default() };
    *conditions == without && updates_per_s.is_none_or(|rate| rate == 0.0)
}

/// The frames of each direction: what entered by its port, and what left by the other.
fn directions(names: &[String], frames: &[LoopFrames], counts: &LoopCounts) -> Vec<Direction> {
    let at = |ports: &[u64], port: packet::PortId| {
        ports.get(usize::from(port.0)).copied().unwrap_or_default()
    };
    let of = |(name, frames): (&String, &LoopFrames)| {
        let sent = at(&counts.entered, frames.from);
        let received = at(&counts.left, frames.to).min(sent);
        let bytes = frames.bytes_mean() + CHECK_SEQUENCE_LEN as f64;
        Direction {
            name: name.clone(),
            intended: sent,
            sent,
            received,
            lost: sent - received,
            ring_full: 0,
            duplicated: 0,
            reordered: 0,
            misdelivered: 0,
            sent_bytes: (sent as f64 * bytes) as u64,
            latency_ns: latency_histogram(),
            last_lost_ns: None,
        }
    };
    names.iter().zip(frames).map(of).collect()
}

/// Error text: what holds in a closed loop.
const PLAIN_ONLY: &str = "its closed loop supports no changes, floods, restarts and failures";

#[cfg(test)]
mod tests {
    use packet::PortId;

    use super::*;

    #[test]
    fn what_leaves_by_the_other_port_is_what_came_through() {
        let frames = |from, to| LoopFrames {
            from: PortId(from),
            to: PortId(to),
            frames: vec![vec![0; 60], vec![0; 96]],
        };
        let counts =
            LoopCounts { entered: vec![100, 40], left: vec![41, 90], ..LoopCounts::default() };
        let names = ["uplink".to_owned(), "downlink".to_owned()];
        let found = directions(&names, &[frames(0, 1), frames(1, 0)], &counts);
        let of = |one: &Direction| (one.sent, one.received, one.lost, one.sent_bytes);
        assert_eq!(of(&found[0]), (100, 90, 10, 8200));
        // What a device says on its own is no frame of the workload.
        assert_eq!(of(&found[1]), (40, 40, 0, 3280));
    }

    #[test]
    fn a_closed_loop_has_no_conditions_but_its_load() {
        assert!(is_plain(&Conditions::default()));
        assert!(is_plain(&Conditions { updates_per_s: Some(0.0), ..Conditions::default() }));
        for other in [
            Conditions { updates_per_s: Some(1.0), ..Conditions::default() },
            Conditions { cold_frames: true, ..Conditions::default() },
            Conditions { subscribers_counted: 1, ..Conditions::default() },
        ] {
            assert!(!is_plain(&other), "{other:?}");
        }
    }
}
