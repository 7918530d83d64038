//! What operators are told: alarms, and lines of the log, which are limited by rate.

use std::collections::{BTreeSet, VecDeque};

use controller_kit::{Action, Alarm, Injection, Level, Line, Severity};
use protocol_kit::{Bytes, Time};

/// What waits to be said, and to be sent.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    actions: VecDeque<Action>,
    raised: BTreeSet<(String, &'static str)>,
    /// Since when lines are counted, and how many there were.
    second: Time,
    lines: u32,
    /// Lines that were not said.
    pub suppressed: u64,
    /// Frames that were sent.
    pub injected: u64,
}

impl Notes {
    /// A frame leaves by the port of lines.
    pub fn inject(&mut self, frame: Vec<u8>) {
        self.injected += 1;
        self.actions
            .push_back(Action::Inject(Injection { interface: 0, frame: Bytes::from(frame) }));
    }

    /// Something is as it should not be; it is told once.
    pub fn raise(&mut self, source: String, cause: &'static str, severity: Severity, text: String) {
        if self.raised.insert((source.clone(), cause)) {
            let (severity, text) = (Some(severity), text.into());
            self.actions.push_back(Action::Alarm(Alarm { source, cause, severity, text }));
        }
    }

    /// It is as it should be.
    pub fn lower(&mut self, source: String, cause: &'static str, text: String) {
        if self.raised.remove(&(source.clone(), cause)) {
            let alarm = Alarm { source, cause, severity: None, text: text.into() };
            self.actions.push_back(Action::Alarm(alarm));
        }
    }

    /// A line of the log, if there were not too many in this second.
    pub fn log(&mut self, now: Time, text: impl FnOnce() -> String) {
        self.write(Level::Info, now, text);
    }

    /// The same of what may be wrong.
    pub fn warn(&mut self, now: Time, text: impl FnOnce() -> String) {
        self.write(Level::Warning, now, text);
    }

    fn write(&mut self, level: Level, now: Time, text: impl FnOnce() -> String) {
        if now.since(self.second).as_secs() > 0 {
            (self.second, self.lines) = (now, 0);
        }
        self.lines += 1;
        if self.lines > LINES_PER_S {
            self.suppressed += 1;
            return;
        }
        self.actions.push_back(Action::Line(Line { level, text: text() }));
    }

    /// The next of it.
    pub fn next(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Whether there is some.
    pub fn is_waiting(&self) -> bool {
        !self.actions.is_empty()
    }
}

/// Most lines of the log in a second.
const LINES_PER_S: u32 = 50;
