//! The functional check of a chain: the samples of all its functions, sent into its two ends.
use std::collections::BTreeSet;
use std::time::Duration;

use function_chain::Update;
use function_chain::names::{self, OWN_REASONS};
use function_kit::Shard;
use model_kit::check::{Expected, History, Oracle, Step};
use packet::PortId;

use super::oracle::{Model, ends};
use super::sections::Section;

/// The steps, function by function.
pub(super) fn sample(section: &Section) -> Vec<Step<Update>> {
    let (mut steps, ends) = (Vec::new(), ends(section));
    for (index, member) in section.members().iter().enumerate() {
        let place = index + 1;
        // A port towards another function stands for the end of the chain on that side.
        let end = |port| {
            let number = ends.iter().position(|end| *end == (index, port));
            number.map_or(port, |number| PortId(number as u8))
        };
        let of_chain = |step| match step {
            Step::Frame { port, frame, about } => Step::Frame { port: end(port), frame, about },
            Step::Answer { port, answer, about } => Step::Answer { port: end(port), answer, about },
            Step::Update(change) => Step::Update(Update::At { place, change }),
            Step::Wait(time) => Step::Wait(time),
        };
        steps.extend(member.sample().into_iter().map(of_chain));
    }
    steps
}

/// The reasons that no frame of the sample meets: because the function has none for it, or because
/// no frame comes through to it.
pub(super) fn unreachable(section: &Section) -> Vec<(&'static str, &'static str)> {
    let met = met(section);
    let all = names::of(section.functions()).drops.0;
    let missing = all.iter().skip(1).filter(|name| !met.contains(*name));
    let cause = |name: &&'static str| -> &'static str {
        let told = section.members().iter().enumerate().find_map(|(index, member)| {
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
fn met(section: &Section) -> BTreeSet<&'static str> {
    let mut model = Model::new(section, Shard::WHOLE);
    let (mut now, mut met) = (Duration::ZERO, BTreeSet::new());
    let mut history = History::default();
    for step in sample(section) {
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
