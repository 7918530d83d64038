//! What a device that runs tells of itself, held to what happened by one of the oracles.

use model_kit::Model;
use model_kit::check::Oracle;

use super::{Oracles, Walk};

impl<N: Model> Walk<'_, N> {
    /// Compares the reports that arrived with those that one of the oracles expects.
    pub(super) fn hear(&mut self) {
        let reports = self.exchange.take_reports();
        let Oracles { still, flowing } = &mut self.oracles;
        let now = self.begun.elapsed();
        for report in &reports {
            let all = [still.report(report, self.simulated), flowing.report(report, now)];
            if let [Err(_), Err(wrong)] = all {
                self.comparison.mismatch("a report".into(), "a true one".into(), wrong);
            }
        }
        let missing: [Vec<String>; 2] = [still.unreported(self.simulated), flowing.unreported(now)];
        if let [_, Some(wrong)] = missing.each_ref().map(|all| all.first())
            && !missing[0].is_empty()
        {
            let what = "the expected report".to_owned();
            self.comparison.mismatch(what, "a report".into(), wrong.clone());
        }
    }
}
