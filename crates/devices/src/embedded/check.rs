//! The functional check: every frame of the sample through the worker, and beside it the oracle.
//!
//! The worker is polled by this thread, one frame at a time and at simulated times, so that each
//! frame's verdict is known: what left by which port, or whose drop counter moved. The same holds
//! for the frames that the function makes beside it, or because of a change or a pause.

use std::time::Duration;

use engine::Counts;
use function_kit::{NetworkFunction, Shard};
use machine::clock;
use measure::MeasureError;
use measure::record::Check;
use model_kit::check::{Expected, History, Oracle, Step, became, hear, in_order, without_reports};
use model_kit::{Model, UpdateOf};
use packet::PortId;

use super::device::{Embedded, Lane};
use super::links::{Depth, Links, connect};
use crate::comparison::Comparison;

/// Runs captured frames, if there are any, and then the sample in a state that is new.
pub(super) fn check<N: Model>(device: &mut Embedded<N>) -> Result<Check, MeasureError> {
    let captured = device.model.captured_steps(device.host.clock);
    let of_captured = match captured.is_empty() {
        true => None,
        false => Some(run(device, &captured)?),
    };
    if of_captured.is_some() {
        device.changed = true;
        device.restore()?;
        device.changed = true;
    }
    let steps = device.model.sample();
    let comparison = run(device, &steps)?;
    let unreachable = device.model.unreachable();
    let mut check = comparison.finish(|name| {
        let cause = unreachable.iter().find(|(reason, _)| *reason == name);
        cause.map(|(_, cause)| (*cause).to_owned())
    });
    if let Some(comparison) = of_captured {
        comparison.join(&mut check);
    }
    Ok(check)
}

/// Runs steps on each worker.
fn run<N: Model>(
    device: &mut Embedded<N>,
    steps: &[Step<UpdateOf<N>>],
) -> Result<Comparison<N>, MeasureError> {
    let count = device.shards();
    // Of each worker by itself the check sees, and says, what goes to others and comes from them.
    let ports = N::Unit::ports_of_worker(&device.model.config, Shard { index: 0, count });
    let workers = device.lanes.iter_mut().map(|lane| &mut lane.worker);
    let mut links = connect((ports, false, Depth::usual()), workers)?;
    let mut comparison = Comparison::<N>::new(&device.model.config);
    for index in 0..count {
        let oracle = device.model.oracle(Shard { index, count });
        let lane = &mut device.lanes[index as usize];
        let clock = device.host.clock;
        let links = &mut links[index as usize];
        compare(&mut comparison, (lane, links), oracle, steps, clock);
        if device.host.stop.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(MeasureError::Interrupted);
        }
    }
    Ok(comparison)
}

/// Runs the sample on one worker.
fn compare<N: Model>(
    comparison: &mut Comparison<N>,
    (lane, links): (&mut Lane<N>, &mut Links),
    mut oracle: N::Oracle,
    steps: &[Step<UpdateOf<N>>],
    clock: clock::Clock,
) {
    let start = clock::now();
    let mut elapsed = Duration::ZERO;
    let mut history = History::default();
    for step in steps {
        let now = start + clock.ticks(elapsed);
        let before = lane.worker.counts();
        let coming = match step {
            Step::Frame { port, frame, about } => Some((*port, frame.clone(), *about)),
            Step::Answer { port, answer, about } => Some((*port, history.fill(answer), *about)),
            Step::Wait(_) | Step::Update(_) => None,
        };
        let what = match step {
            Step::Wait(time) => {
                elapsed += *time;
                "after a pause".to_owned()
            }
            Step::Update(update) => {
                let expected = oracle.apply(update, elapsed);
                let got = apply(lane, update.clone(), now);
                let what = format!("the change {update:?}");
                if got != Some(expected) {
                    let word = |done| if done { "applied" } else { "refused" };
                    let got = got.map_or("not acknowledged", word);
                    comparison.mismatch(what.clone(), word(expected).into(), got.into());
                }
                what
            }
            Step::Frame { about, .. } | Step::Answer { about, .. } => (*about).to_owned(),
        };
        if let Some((port, frame, about)) = &coming
            && !send(links, *port, frame)
        {
            let what = "the port accepted no frame".to_owned();
            comparison.mismatch((*about).to_owned(), String::new(), what);
        }
        let now = start + clock.ticks(elapsed);
        while lane.worker.poll(now) > 0 {}
        let got = what_became::<N>(lane, links, &before);
        let (got, reports) = without_reports(&oracle, got);
        let of_frame = coming.map(|(port, frame, _)| oracle.expect_of(port, &frame, elapsed, &got));
        of_frame.iter().for_each(|expected| history.note(expected));
        let made = oracle.made(elapsed);
        let expected = in_order(of_frame.iter().chain(&made).cloned().collect());
        if got != expected {
            let [expected, got] = [expected, got].map(|all| comparison.describe_all(&all));
            comparison.mismatch(what.clone(), expected, got);
        }
        for wrong in hear(&mut oracle, &reports, elapsed) {
            comparison.mismatch(what.clone(), "a correct report".to_owned(), wrong);
        }
        made.iter().for_each(|made| comparison.made(made));
        of_frame.iter().for_each(|expected| comparison.frame(expected));
    }
}

/// Requests a change and lets the worker apply it; `None` without an acknowledgement.
fn apply<N: Model>(lane: &mut Lane<N>, update: UpdateOf<N>, now: u64) -> Option<bool> {
    lane.handle.controller.request(update).ok()?;
    lane.worker.poll(now);
    Some(lane.handle.controller.acknowledged()?.outcome.is_ok())
}

/// Sends one frame to the worker; returns true if the port accepted it.
fn send(links: &mut Links, port: PortId, frame: &[u8]) -> bool {
    let sender = &mut links[usize::from(port.0)].0;
    let taken = sender.send(frame);
    sender.publish();
    taken
}

/// Returns the verdicts on all frames that the worker received or generated since `before`.
fn what_became<N: Model>(lane: &Lane<N>, links: &mut Links, before: &Counts) -> Vec<Expected> {
    let mut left = Vec::new();
    for (index, (_, receiver)) in links.iter_mut().enumerate() {
        while let Some(frame) = receiver.next_frame() {
            left.push((PortId(index as u8), frame.to_vec()));
        }
        receiver.release();
    }
    became(left, &lane.worker.counts().since(before), lane.worker.names().drops)
}
