//! The functional check of a chain: the samples of all its functions, sent into its two ends.

use std::collections::BTreeSet;
use std::time::Duration;

use super::config::Config;
use super::control::Update;
use super::names::{self, OWN_REASONS};
use super::oracle::Model;
use crate::check::{Expected, History, Oracle, Step};
use crate::unit::Shard;

/// The steps, function by function.
pub(super) fn sample(config: &Config) -> Vec<Step<Update>> {
    let mut steps = Vec::new();
    for (index, member) in config.members().iter().enumerate() {
        let place = index + 1;
        let of_chain = |step| match step {
            Step::Frame { port, frame, about } => Step::Frame { port, frame, about },
            Step::Answer { port, answer, about } => Step::Answer { port, answer, about },
            Step::Update(change) => Step::Update(Update::At { place, change }),
            Step::Wait(time) => Step::Wait(time),
        };
        steps.extend(member.sample().into_iter().map(of_chain));
    }
    steps
}

/// The reasons that no frame of the sample meets: because the function has none for it, or because no
/// frame comes through to it.
pub(super) fn unreachable(config: &Config) -> Vec<(&'static str, &'static str)> {
    let met = met(config);
    let all = names::of(config.members()).drops.0;
    let missing = all.iter().skip(1).filter(|name| !met.contains(*name));
    let cause = |name: &&'static str| -> &'static str {
        let told = config.members().iter().enumerate().find_map(|(index, member)| {
            let mut reasons = member.unreachable().into_iter();
            reasons.find(|(reason, _)| format!("{}.{reason}", index + 1) == **name)
        });
        match told {
            Some((_, cause)) => cause,
            None if OWN_REASONS.contains(name) => "these functions send nothing to and fro",
            None => "the functions before it keep such frames back",
        }
    };
    missing.map(|name| (*name, cause(name))).collect()
}

/// What the model says of the sample.
fn met(config: &Config) -> BTreeSet<&'static str> {
    let mut model = Model::new(config, Shard::WHOLE);
    let (mut now, mut met) = (Duration::ZERO, BTreeSet::new());
    let mut history = History::default();
    for step in sample(config) {
        let verdict = match step {
            Step::Wait(time) => {
                now += time;
                None
            }
            Step::Update(update) => {
                model.apply(&update, now);
                None
            }
            Step::Frame { port, frame, .. } => Some(model.expect(port, &frame, now)),
            Step::Answer { port, answer, .. } => {
                Some(model.expect(port, &history.fill(&answer), now))
            }
        };
        verdict.iter().for_each(|verdict| history.note(verdict));
        for verdict in verdict.into_iter().chain(model.made(now)) {
            if let Expected::Drop(reason) = verdict {
                met.insert(reason);
            }
        }
    }
    met
}
