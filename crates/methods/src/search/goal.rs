//! What a search looks for: the highest load whose trials hold some conditions.

use std::time::Duration;

use measure::{Ratio, Trial};
use serde_json::{Value, json};

use super::condition::{Condition, exceeds};

/// A goal of a search.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Goal {
    /// Name of the goal in the record.
    pub(crate) name: String,
    /// Largest loss ratio at which a trial passes.
    pub(crate) loss_ratio: Ratio,
    /// Further conditions that a trial must meet.
    pub(crate) conditions: Vec<Condition>,
    /// Whether requested frames that the tester did not send count as lost.
    pub(crate) unsent_is_loss: bool,
    /// Attributes that only MLRsearch has.
    pub(crate) attributes: Option<Attributes>,
}

/// Attributes of a Search Goal of MLRsearch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Attributes {
    pub(crate) final_trial: Duration,
    pub(crate) duration_sum: Duration,
    pub(crate) exceed_ratio: f64,
    pub(crate) width: f64,
    pub(crate) initial_trial: Duration,
}

impl Goal {
    /// The loss ratio that counts for this goal.
    pub(crate) fn loss(&self, trial: &Trial) -> f64 {
        let intended: u64 = trial.directions.iter().map(|d| d.intended).sum();
        let expected = trial.sent().max(intended);
        if !self.unsent_is_loss || expected == 0 {
            return trial.loss_ratio();
        }
        expected.saturating_sub(trial.received()) as f64 / expected as f64
    }

    /// Why the trial misses the goal, as text; none if it meets the goal.
    pub(crate) fn missed(&self, trial: &Trial) -> Option<String> {
        if trial.sent() == 0 {
            return Some("no frame was sent".into());
        }
        let loss = self.loss(trial);
        if exceeds(loss, self.loss_ratio) {
            return Some(format!("loss {}", Ratio(loss)));
        }
        self.conditions.iter().find_map(|condition| condition.missed(trial))
    }

    /// The conditions as text: `loss <= 0.5 % and p99.9 <= 100 us`.
    pub(crate) fn words(&self) -> String {
        let all = std::iter::once(Condition::Loss(self.loss_ratio)).chain(self.conditions.clone());
        all.map(|condition| condition.to_string()).collect::<Vec<_>>().join(" and ")
    }

    /// All attributes for the record, with durations in seconds.
    pub(crate) fn configuration(&self) -> Value {
        let mut all = json!({
            "name": self.name,
            "loss-ratio": self.loss_ratio,
            "conditions": self.conditions,
            "unsent-is-loss": self.unsent_is_loss,
        });
        if let Some(attributes) = &self.attributes {
            all["final-trial-duration"] = json!(attributes.final_trial.as_secs_f64());
            all["duration-sum"] = json!(attributes.duration_sum.as_secs_f64());
            all["exceed-ratio"] = json!(attributes.exceed_ratio);
            all["width"] = json!(attributes.width);
            all["initial-trial-duration"] = json!(attributes.initial_trial.as_secs_f64());
        }
        all
    }
}
