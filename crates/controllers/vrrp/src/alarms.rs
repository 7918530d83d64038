//! What an operator is told of a virtual router: each alarm is raised once, and lowered once.

use std::collections::{BTreeSet, VecDeque};

use controller_kit::{Alarm, Severity};

/// Why there is an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    NoInterface,
    Misconfigured,
    SplitBrain,
    Refused,
}

/// The alarms of all virtual routers.
#[derive(Default)]
pub(crate) struct Alarms {
    raised: BTreeSet<(u32, Cause)>,
    /// What is to be told.
    telling: VecDeque<Alarm>,
}

impl Alarms {
    /// Raises one of a virtual router, whose name and text these are.
    pub fn raise(&mut self, (router, source): (u32, String), of: Cause, text: String) {
        if self.raised.insert((router, of)) {
            let (cause, severity) = of.known_as();
            let severity = Some(severity);
            self.telling.push_back(Alarm { source, cause, severity, text: text.into() });
        }
    }

    /// Lowers one.
    pub fn lower(&mut self, (router, source): (u32, String), of: Cause) {
        if self.raised.remove(&(router, of)) {
            let (cause, _) = of.known_as();
            let text = "it is over".into();
            self.telling.push_back(Alarm { source, cause, severity: None, text });
        }
    }

    /// Lowers all of a virtual router that is gone.
    pub fn forget(&mut self, (router, source): (u32, String)) {
        use Cause::*;
        for of in [NoInterface, Misconfigured, SplitBrain, Refused] {
            self.lower((router, source.clone()), of);
        }
    }

    /// Whether something is to be told.
    pub fn is_waiting(&self) -> bool {
        !self.telling.is_empty()
    }

    /// Takes what is to be told next.
    pub fn next(&mut self) -> Option<Alarm> {
        self.telling.pop_front()
    }
}

impl Cause {
    fn known_as(self) -> (&'static str, Severity) {
        match self {
            Cause::NoInterface => ("no-interface", Severity::Major),
            Cause::Misconfigured => ("misconfigured", Severity::Warning),
            Cause::SplitBrain => ("split-brain", Severity::Critical),
            Cause::Refused => ("address-refused", Severity::Major),
        }
    }
}
