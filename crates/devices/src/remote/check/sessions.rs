//! Sessions of the traffic in the check: opened, used both ways and closed, as a method does it, but one
//! frame at a time, each held to the oracle. What the tester says of each must agree.

use functions::NetworkFunction;
use functions::check::Expected;
use machine::clock;
use traffic::{SessionAction, Workload};

use super::Walk;

impl<N: NetworkFunction> Walk<'_, N> {
    /// A few sessions of a workload that has such, and learns how they are translated.
    pub(super) fn sessions(&mut self, workload: &Option<N::Workload>) {
        let Some(mut workload) = workload.as_ref().and_then(N::Workload::twin) else { return };
        let most = workload.sessions().map_or(0, |sessions| sessions.most);
        for number in 0..most.min(SESSIONS) {
            let _ = self.session(&mut workload, number);
        }
    }

    /// One of them; none as soon as a frame of it does not pass, whose session goes no further.
    fn session(&mut self, workload: &mut N::Workload, number: u64) -> Option<()> {
        let draw = workload.session(number)?;
        for (action, about) in ACTIONS {
            for step in 0..workload.session_steps(&draw, action) {
                let mut frame = vec![0; workload.session_frame_len(&draw, action, step)];
                workload.write_session(&draw, (action, step), clock::now(), &mut frame);
                let port = workload.session_ports()[usize::from(step % 2)];
                let verdict = self.what_becomes(port, &frame, about);
                let Expected::Forward { port, frame } = verdict else { return None };
                let seen = workload.session_seen(port, &frame).map(|(seen, _)| seen);
                let is_it = seen.is_some_and(|seen| {
                    seen.is_right
                        && (seen.session, seen.action, seen.step) == (number, action, step)
                });
                if !is_it {
                    let expected = format!("step {step} of session {number}");
                    let got = format!("what the tester takes for {seen:?}");
                    self.comparison.mismatch(about.to_owned(), expected, got);
                }
            }
        }
        Some(())
    }
}

/// What is done with each.
const ACTIONS: [(SessionAction, &str); 3] = [
    (SessionAction::Open, "a session of the traffic that opens"),
    (SessionAction::Use, "a session of the traffic that is used"),
    (SessionAction::Close, "a session of the traffic that is closed"),
];

/// How many there are.
const SESSIONS: u64 = 32;
