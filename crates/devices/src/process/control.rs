//! Changes of the daemon: a thread that speaks to its control socket, so that the tester never
//! waits.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use daemon::client::{Client, ClientError};
use daemon::protocol::Ask;
use engine::{Acknowledgement, Refusal};
use machine::clock;
use serde_json::Value;

use crate::driver::Control;

/// The tester's end of a daemon's control socket.
pub(super) struct Speaker {
    /// Channel of the requests; `None` when the speaker ends.
    requests: Option<SyncSender<(u64, Value)>>,
    answers: Receiver<Acknowledgement>,
    next_id: u64,
    thread: Option<JoinHandle<()>>,
}

impl Speaker {
    /// Connects to the daemon.
    ///
    /// # Errors
    /// When the daemon does not answer.
    pub fn new(socket: &Path) -> Result<Speaker, ClientError> {
        let client = Client::connect(socket)?;
        let (requests, asked) = sync_channel(WAITING_MAX);
        let (answer, answers) = sync_channel(WAITING_MAX * 2);
        let body = move || speak(client, &asked, &answer);
        let thread = std::thread::Builder::new().name("control".into()).spawn(body).ok();
        Ok(Speaker { requests: Some(requests), answers, next_id: 0, thread })
    }
}

impl Control for Speaker {
    fn request(&mut self, update: &Value) -> Option<u64> {
        let id = self.next_id;
        match self.requests.as_ref()?.try_send((id, update.clone())) {
            Ok(()) => {
                self.next_id += 1;
                Some(id)
            }
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => None,
        }
    }

    fn acknowledged(&mut self) -> Option<Acknowledgement> {
        self.answers.try_recv().ok()
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        drop(self.requests.take());
        // Answers that nobody reads any more must not keep it.
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            while self.answers.try_recv().is_ok() {}
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
    }
}

/// Sends the requested changes one after the other. The daemon reports on the same clock when a
/// change took effect; if it does not, the arrival of the answer is an upper bound.
fn speak(mut client: Client, asked: &Receiver<(u64, Value)>, answer: &SyncSender<Acknowledgement>) {
    while let Ok((id, update)) = asked.recv() {
        let said = client.ask(Ask::Set(update));
        let now = clock::now();
        let (applied_at, outcome) = match said {
            Ok(said) => {
                (said.get("applied_at_ticks").and_then(Value::as_u64).unwrap_or(now), Ok(()))
            }
            Err(ClientError::Refused(_)) => (now, Err(Refusal::Invalid)),
            // Without the daemon nothing is ever acknowledged, which the tester counts.
            Err(ClientError::Unreachable { .. }) => return,
        };
        if answer.send(Acknowledgement { id, count: 1, applied_at, outcome }).is_err() {
            return;
        }
    }
}

/// Largest number of pending changes; further requests are refused.
const WAITING_MAX: usize = 256;
