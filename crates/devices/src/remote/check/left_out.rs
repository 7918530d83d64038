//! What of a check is not asked of a device: by the verdict of a frame, by the name of a step,
//! changes without a control, and long pauses. Each is counted.

use measure::record::CheckLimitation;

use crate::driver::Limitation;

/// Parts of the sample that were excluded from the check.
pub(super) struct LeftOut {
    limitations: Vec<CheckLimitation>,
    /// Steps, each with the index of its limitation.
    steps: Vec<(&'static str, usize)>,
    /// Number of changes that were excluded because the device has no control.
    pub changes: u64,
    /// Number of pauses that were excluded because they are too long.
    pub pauses: u64,
}

impl LeftOut {
    /// Creates an empty list for a device with these limitations.
    pub fn new(limitations: &[Limitation]) -> LeftOut {
        let one = |limitation: &Limitation| CheckLimitation {
            what: limitation.what.clone(),
            verdicts: limitation.verdicts.iter().map(|&verdict| verdict.to_owned()).collect(),
            skipped: 0,
        };
        let steps = limitations.iter().enumerate();
        let steps = steps.flat_map(|(index, one)| one.steps.iter().map(move |&step| (step, index)));
        LeftOut {
            limitations: limitations.iter().map(one).collect(),
            steps: steps.collect(),
            changes: 0,
            pauses: 0,
        }
    }

    /// Returns true if a step is excluded, and counts it.
    pub fn takes_step(&mut self, about: &str) -> bool {
        let Some(&(_, index)) = self.steps.iter().find(|(step, _)| *step == about) else {
            return false;
        };
        self.limitations[index].skipped += 1;
        true
    }

    /// Returns true if a frame with these verdicts is excluded, and counts it.
    pub fn takes(&mut self, verdicts: &[String]) -> bool {
        let covers = |one: &&mut CheckLimitation| {
            verdicts.iter().any(|verdict| one.verdicts.contains(verdict))
        };
        match self.limitations.iter_mut().find(covers) {
            Some(limitation) => {
                limitation.skipped += 1;
                true
            }
            None => false,
        }
    }

    /// Returns what was excluded, with the counts.
    pub fn record(&self) -> Vec<CheckLimitation> {
        let mut all = self.limitations.clone();
        for (what, skipped) in [
            ("no control: changes at run time are not possible", self.changes),
            ("pauses of more than two seconds are not made", self.pauses),
        ] {
            if skipped > 0 {
                all.push(CheckLimitation { what: what.to_owned(), verdicts: Vec::new(), skipped });
            }
        }
        all
    }
}
