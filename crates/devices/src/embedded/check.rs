//! The functional check: every frame of the sample through the worker, and beside it the oracle.
//!
//! The worker is polled by this thread, one frame at a time and at simulated times, so that each
//! frame's verdict is known: what left by which port, or whose drop counter moved.

use std::time::Duration;

use engine::{Counts, Function};
use functions::check::{Expected, Oracle, Step};
use functions::{NetworkFunction, Shard};
use machine::clock;
use measure::MeasureError;
use measure::record::Check;
use packet::PortId;

use super::open_loop::{self, Links};
use super::{Embedded, Lane};
use crate::comparison::{Comparison, describe};

/// Runs the sample on each worker.
pub(super) fn check<N: NetworkFunction>(device: &mut Embedded<N>) -> Result<Check, MeasureError> {
    let mut links =
        open_loop::connect::<N, _>(device.lanes.iter_mut().map(|lane| &mut lane.worker))?;
    let steps = N::sample(&device.config, &device.traffic);
    let count = device.shards();
    let mut comparison = Comparison::<N>::new();
    for index in 0..count {
        let oracle = N::oracle(&device.config, Shard { index, count });
        let lane = &mut device.lanes[index as usize];
        let clock = device.host.clock;
        let links = &mut links[index as usize];
        compare(&mut comparison, (lane, links), oracle, &steps, clock);
        if device.host.stop.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(MeasureError::Interrupted);
        }
    }
    let unreachable = N::unreachable(&device.config);
    Ok(comparison.finish(|name| {
        let cause = unreachable.iter().find(|(reason, _)| *reason == name);
        cause.map(|(_, cause)| (*cause).to_owned())
    }))
}

/// Runs the sample on one worker.
fn compare<N: NetworkFunction>(
    comparison: &mut Comparison<N>,
    (lane, links): (&mut Lane<N>, &mut Links),
    mut oracle: N::Oracle,
    steps: &[Step<N::Update>],
    clock: clock::Clock,
) {
    let start = clock::now();
    let mut elapsed = Duration::ZERO;
    for step in steps {
        let now = start + clock.ticks(elapsed);
        match step {
            Step::Wait(time) => elapsed += *time,
            Step::Update(update) => {
                let expected = oracle.apply(update, elapsed);
                let got = apply(lane, update.clone(), now);
                if got != Some(expected) {
                    let what = format!("the change {update:?}");
                    let word = |done| if done { "applied" } else { "refused" };
                    let got = got.map_or("not acknowledged", word);
                    comparison.mismatch(what, word(expected).into(), got.into());
                }
            }
            Step::Frame { port, frame, about } => {
                let expected = oracle.expect(*port, frame, elapsed);
                let got = pass(lane, links, *port, frame, now);
                if got != Ok(expected.clone()) {
                    let got = got.map_or_else(|text| text, |got| describe::<N>(&got));
                    comparison.mismatch((*about).to_owned(), describe::<N>(&expected), got);
                }
                comparison.frame(&expected);
            }
        }
    }
}

/// Asks for a change and lets the worker apply it; None without an acknowledgement.
fn apply<N: NetworkFunction>(lane: &mut Lane<N>, update: N::Update, now: u64) -> Option<bool> {
    lane.handle.controller.request(update).ok()?;
    lane.worker.poll(now);
    Some(lane.handle.controller.acknowledged()?.outcome.is_ok())
}

/// Sends one frame through the worker.
///
/// # Errors
/// What happened, where it was no single verdict.
fn pass<N: NetworkFunction>(
    lane: &mut Lane<N>,
    links: &mut Links,
    port: PortId,
    frame: &[u8],
    now: u64,
) -> Result<Expected, String> {
    let before = lane.worker.counts();
    let sender = &mut links[usize::from(port.0)].0;
    if !sender.send(frame) {
        return Err("the port took no frame".into());
    }
    sender.publish();
    lane.worker.poll(now);
    let counts = lane.worker.counts().since(&before);
    let mut left = Vec::new();
    for (index, (_, receiver)) in links.iter_mut().enumerate() {
        while let Some(frame) = receiver.next_frame() {
            let port = PortId(index as u8);
            left.push(Expected::Forward { port, frame: frame.to_vec() });
        }
        receiver.release();
    }
    match (left.len(), counts.dropped_total(), counts.punted) {
        (1, 0, 0) => Ok(left.remove(0)),
        (0, 1, 0) => Ok(Expected::Drop(dropped_for::<N>(&counts))),
        (0, 0, 1) => Ok(Expected::Punt),
        (forwarded, dropped, punted) => {
            Err(format!("{forwarded} forwarded, {dropped} dropped, {punted} punted"))
        }
    }
}

fn dropped_for<N: NetworkFunction>(counts: &Counts) -> &'static str {
    let reason = counts.dropped.iter().position(|&count| count > 0).unwrap_or(0);
    N::Function::DROPS.0[reason]
}
