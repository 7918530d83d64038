//! Sessions of the traffic in the check: opened, used both ways and closed, as a method does it,
//! but one frame at a time, each held to the oracle. What the tester says of each must agree.

use machine::clock;
use model_kit::check::Expected;
use model_kit::{Model, WorkloadOf};
use traffic::{Frames, SessionAction, SessionFrames};

use super::Walk;

impl<N: Model> Walk<'_, N> {
    /// Opens and closes a few sessions of a workload that has sessions, and learns their
    /// translations.
    pub(super) fn sessions(&mut self, workload: &Option<WorkloadOf<N>>) {
        let Some(mut workload) = workload.as_ref().and_then(WorkloadOf::<N>::twin) else { return };
        let most = workload.sessions().map_or(0, |sessions| sessions.most);
        for number in 0..most.min(SESSIONS) {
            let _ = self.session(&mut workload, number);
        }
    }

    /// Runs one session; returns `None` if one of its frames does not pass, in which case the
    /// session ends.
    fn session(&mut self, workload: &mut WorkloadOf<N>, number: u64) -> Option<()> {
        let draw = workload.session(number)?;
        for (action, about) in ACTIONS {
            for step in 0..workload.session_steps(&draw, action) {
                let mut frame = vec![0; workload.session_frame_len(&draw, action, step)];
                workload.write_session(&draw, (action, step), clock::now(), &mut frame);
                let port = workload.session_ports()[workload.session_side(&draw, action, step)];
                let verdict = self.what_becomes(port, &frame, about);
                let Expected::Forward { port, frame } = verdict else { return None };
                let seen = workload.session_seen(port, &frame).map(|(seen, _)| seen);
                let is_it = seen.is_some_and(|seen| {
                    seen.is_right
                        && (seen.session, seen.action, seen.step) == (number, action, step)
                });
                if !is_it {
                    let expected = format!("step {step} of session {number}");
                    let got = format!("what the tester recognises as {seen:?}");
                    self.comparison.mismatch(about.to_owned(), expected, got);
                }
            }
        }
        Some(())
    }
}

/// Actions on each session.
const ACTIONS: [(SessionAction, &str); 3] = [
    (SessionAction::Open, "a session of the traffic that opens"),
    (SessionAction::Use, "a session of the traffic that is used"),
    (SessionAction::Close, "a session of the traffic that is closed"),
];

/// Number of sessions.
const SESSIONS: u64 = 32;
