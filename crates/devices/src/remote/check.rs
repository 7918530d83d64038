//! The functional check of a device that runs: send a frame, wait for what the oracle says.
//!
//! First come frames of the workload and a few of its sessions, then the function's own sample. A
//! frame that is to be forwarded is waited for, until a deadline. That one is dropped shows when a
//! frame sent behind it comes out alone; where there is none known to pass, when nothing comes for
//! a while. Why it was dropped cannot be seen from outside.
//!
//! Time is real here, and two oracles go along: one for which time stands still between the pauses
//! of the sample, one that goes by the clock. Where they disagree, as over a policer at its border,
//! the device may be with either, and the other one goes on with what the frame has cost there; or
//! it may be with the one that goes by the clock a little later, which is when the device had the
//! frame. What it cannot do (its limitations, changes without a control, pauses of minutes) is left
//! out, counted and named.
//!
//! An oracle that follows the device's choices is asked when all frames have come that it foresaw.

use std::time::{Duration, Instant};

use function_kit::{NetworkFunction, Shard};
use measure::MeasureError;
use measure::record::{Check, ClaimLevel};
use model_kit::check::{Expected, History, Oracle, Step};
use model_kit::{Model, UpdateOf};
use packet::PortId;
use traffic::Frames;

use self::first::workload_steps;
use self::left_out::LeftOut;
use self::oracles::{Oracles, are_alike};
use super::exchange::Exchange;
use super::frames::{are_all, fits, forwarded, is_of};
use super::rig::{Remote, Spoken, drain};
use crate::comparison::Comparison;
use crate::tester::changes::Control;
use crate::tester::foreign::is_talk;

mod first;
mod left_out;
mod made;
mod oracles;
mod reports;
mod sessions;

/// Runs frames and sessions of the workload, then the sample.
pub(super) fn check<N: Model>(device: &mut Remote<N>) -> Result<Check, MeasureError> {
    let first = workload_steps(device);
    let sample = device.model.sample();
    let unreachable = device.model.unreachable();
    let oracle = || device.model.oracle(Shard::WHOLE);
    let oracles = Oracles { still: oracle(), flowing: oracle() };
    let stop = device.host.stop.clone();
    let in_order = N::Unit::workers(&device.model.config) == 1;
    let limitations = device.limitations.clone();
    let comparison = Comparison::new(&device.model.config);
    let known_good = vec![None; device.model.ports().len()];
    let (workload, sessions) = (device.workload(), device.sessions.twin());
    let is_report = |port: PortId, frame: &[u8]| workload.is_report(port, frame);
    let rig = device.rig()?;
    drain(&mut rig.links);
    let control = rig.running.control();
    let has_control = control.is_some();
    let mut walk = Walk::<N> {
        exchange: Exchange::new(&mut rig.links[0], &stop, &is_report),
        control: Spoken { control },
        oracles,
        begun: Instant::now(),
        simulated: Duration::ZERO,
        comparison,
        left_out: LeftOut::new(&limitations),
        history: History::default(),
        either: 0,
        known_good,
        in_order,
    };
    let mut changed = false;
    let mut captured = Vec::new();
    for (number, step) in first.iter().chain(&sample).enumerate() {
        if number == first.len() {
            captured = walk.comparison.coverage();
            walk.sessions(&sessions);
        }
        match step {
            Step::Wait(time) => walk.wait(*time),
            Step::Update(update) if has_control => {
                changed = true;
                walk.update(update);
            }
            Step::Update(_) => walk.left_out.changes += 1,
            Step::Frame { port, frame, about } => walk.take(*port, frame, about),
            Step::Answer { port, answer, about } => {
                let frame = walk.history.fill(answer);
                walk.take(*port, &frame, about);
            }
        }
        walk.hear();
        if stop.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(MeasureError::Interrupted);
        }
    }
    walk.expect_silence("the last frame", LAST_SILENCE);
    walk.hear();
    let check = walk.finish(&unreachable);
    device.changed |= changed;
    if device.model.replay.is_none() {
        captured.clear();
    }
    Ok(Check { captured, ..check })
}

/// State of a check that is in progress.
struct Walk<'a, N: Model> {
    exchange: Exchange<'a>,
    control: Spoken<'a>,
    oracles: Oracles<N::Oracle>,
    begun: Instant,
    /// Sum of all pauses so far.
    simulated: Duration,
    comparison: Comparison<N>,
    left_out: LeftOut,
    history: History,
    either: u64,
    /// By port: a frame that is known to be forwarded.
    known_good: Vec<Option<Vec<u8>>>,
    /// True if frames of a port leave in the order of their arrival.
    in_order: bool,
}

impl<N: Model> Walk<'_, N> {
    /// Returns both oracles' verdicts on a frame that is sent now.
    fn expect(&mut self, port: PortId, frame: &[u8]) -> [Expected; 2] {
        let still = self.oracles.still.expect(port, frame, self.simulated);
        [still, self.oracles.flowing.expect(port, frame, self.begun.elapsed())]
    }

    fn update(&mut self, update: &UpdateOf<N>) {
        let expected = self.oracles.still.apply(update, self.simulated);
        self.oracles.flowing.apply(update, self.begun.elapsed());
        let got = self.apply(update);
        if got != Some(expected) {
            let word = |done| if done { "applied" } else { "refused" };
            let got = got.map_or("not acknowledged", word);
            let what = format!("the change {update:?}");
            self.comparison.mismatch(what, word(expected).into(), got.into());
        }
        let made = self.made();
        self.expect_made("a change", made);
    }

    /// Requests a change and waits until it is in force; `None` without an acknowledgement.
    fn apply(&mut self, update: &UpdateOf<N>) -> Option<bool> {
        let id = Control::<UpdateOf<N>>::request(&mut self.control, 0, update)?;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            match Control::<UpdateOf<N>>::acknowledged(&mut self.control, 0) {
                Some(answer) if answer.id == id => return Some(answer.outcome.is_ok()),
                Some(_) => {}
                None => std::thread::park_timeout(POLL),
            }
        }
        None
    }

    /// Sends a frame of the sample or an answer to a received one, and checks the result.
    fn take(&mut self, port: PortId, frame: &[u8], about: &str) {
        // How many workers it has does not show.
        let is_between_workers = usize::from(port.0) >= self.known_good.len();
        let verdict = match is_between_workers || self.left_out.takes_step(about) {
            true => Expected::Punt,
            false => self.what_becomes(port, frame, about),
        };
        self.history.note(&verdict);
    }

    /// Checks the result of a frame for which the device may choose between several behaviours.
    fn what_becomes(&mut self, port: PortId, frame: &[u8], about: &str) -> Expected {
        match self.foresee(port, frame) {
            Some(counts) => self.follow(port, frame, counts, about),
            None => {
                self.frame(port, frame, about);
                // Nothing is answered where a device chooses nothing.
                Expected::Punt
            }
        }
    }

    fn frame(&mut self, port: PortId, frame: &[u8], about: &str) {
        let expected = self.expect(port, frame);
        let made = self.made();
        if self.left_out.takes(&expected.each_ref().map(|one| self.comparison.verdict_name(one))) {
            return;
        }
        if !self.exchange.send(port, frame) {
            let what = self.comparison.describe(&expected[0]);
            self.comparison.mismatch(
                about.to_owned(),
                what,
                "the tester's port accepted no frame".into(),
            );
            return;
        }
        self.either += u64::from(expected[0] != expected[1] || made[0] != made[1]);
        if made.iter().any(|made| !made.is_empty()) {
            return self.several(about, expected, made);
        }
        let got = match &expected {
            [Expected::Forward { .. }, Expected::Forward { .. }] => {
                self.exchange.receive(self.patience(), |got| is_of(got, &expected))
            }
            // It may have been dropped as well; a frame behind it tells if it is only late.
            [Expected::Forward { .. }, _] | [_, Expected::Forward { .. }] => {
                let soon = self.exchange.receive(SILENCE, |got| is_of(got, &expected));
                soon.or_else(|| self.nothing_but_the_next(port))
            }
            _ => self.nothing_but_the_next(port),
        };
        if got.is_none() {
            self.give_up(&expected);
        }
        let fitting = match &got {
            Some((port, frame)) => expected.iter().position(|one| fits(*port, frame, one)),
            None => expected.iter().position(|one| !matches!(one, Expected::Forward { .. })),
        };
        if let Some(which) = fitting.filter(|_| !are_alike(&expected)) {
            self.oracles.agree(which);
        }
        let later = match (&fitting, &got) {
            (None, Some(got)) => {
                self.oracles.a_while_later((port, frame), &expected, got, self.begun.elapsed())
            }
            _ => None,
        };
        self.either += u64::from(later.is_some());
        let fitting = fitting.map(|which| &expected[which]).or(later.as_ref());
        match (fitting, got) {
            (Some(one), got) => {
                if got.is_some() && self.known_good[usize::from(port.0)].is_none() {
                    self.known_good[usize::from(port.0)] = Some(frame.to_vec());
                }
                self.comparison.frame(one);
            }
            (None, got) => {
                let got = got.map_or("no frame was forwarded".to_owned(), |got| self.said(got));
                self.comparison.mismatch(
                    about.to_owned(),
                    self.comparison.describe(&expected[0]),
                    got,
                );
                self.comparison.frame(&expected[0]);
            }
        }
    }

    fn said(&self, (port, frame): (PortId, Vec<u8>)) -> String {
        self.comparison.describe(&Expected::Forward { port, frame })
    }

    /// Returns how many frames each oracle expects; `None` for oracles that do not follow the
    /// device's choices.
    fn foresee(&self, port: PortId, frame: &[u8]) -> Option<[usize; 2]> {
        let still = self.oracles.still.foresee(port, frame, self.simulated)?;
        let flowing = self.oracles.flowing.foresee(port, frame, self.begun.elapsed())?;
        Some([still, flowing])
    }

    /// Sends a frame, collects the frames that leave, and only then asks oracles that follow the
    /// device's choices for the verdicts.
    fn follow(&mut self, port: PortId, frame: &[u8], counts: [usize; 2], about: &str) -> Expected {
        let sent = self.exchange.send(port, frame);
        let mut got = Vec::new();
        let (least, most) = (counts[0].min(counts[1]), counts[0].max(counts[1]));
        while sent && (got.len() < most || most == 0) {
            let patience = match got.len() {
                count if count < least => self.patience(),
                count if count < most => EITHER,
                _ => SILENCE,
            };
            // A device's errors in its own name may be among those foreseen, its talk if asked.
            let is_awaited =
                |(_, got): (PortId, &[u8])| most > 0 && (!is_talk(got) || is_talk(frame));
            let Some((port, frame)) = self.exchange.receive(patience, is_awaited) else { break };
            got.push(Expected::Forward { port, frame });
        }
        let still = self.oracles.still.expect_of(port, frame, self.simulated, &got);
        let elapsed = self.begun.elapsed();
        let flowing = self.oracles.flowing.expect_of(port, frame, elapsed, &got);
        let made = self.made();
        let expected = [still, flowing];
        if self.left_out.takes(&expected.each_ref().map(|one| self.comparison.verdict_name(one))) {
            return Expected::Punt;
        }
        self.either += u64::from(expected[0] != expected[1] || made[0] != made[1]);
        let all = |which: usize| [std::slice::from_ref(&expected[which]), &made[which]].concat();
        let which = (0..2).find(|&which| are_all(&got, &forwarded(&all(which))));
        if let Some(which) = which.filter(|_| !are_alike(&expected)) {
            self.oracles.agree(which);
        }
        let fitting = which.unwrap_or_else(|| {
            let [expected, got] = [&all(0), &got].map(|all| self.comparison.describe_all(all));
            self.comparison.mismatch(about.to_owned(), expected, got);
            self.give_up(&forwarded(&all(0)));
            0
        });
        self.comparison.frame(&expected[fitting]);
        made[fitting].iter().for_each(|made| self.comparison.made(made));
        expected[fitting].clone()
    }

    /// Stops waiting for the frames that the oracles expect.
    fn give_up(&mut self, expected: &[Expected]) {
        for (index, one) in expected.iter().enumerate() {
            if let Expected::Forward { port, frame } = one
                && !expected[..index].contains(one)
            {
                self.exchange.give_up(*port, frame.clone());
            }
        }
    }

    /// Returns a frame that leaves although none is expected, until a frame sent after it arrives
    /// or for a limited time.
    fn nothing_but_the_next(&mut self, port: PortId) -> Option<(PortId, Vec<u8>)> {
        let known = self.known_good[usize::from(port.0)].clone().filter(|_| self.in_order);
        let Some(known) = known else { return self.exchange.receive(SILENCE, |_| false) };
        let expected = self.expect(port, &known);
        let made = self.made();
        if made.iter().any(|made| !made.is_empty()) {
            if self.exchange.send(port, &known) {
                self.several("a frame that passed before", expected, made);
            }
            return None;
        }
        let may_pass = expected.iter().filter(|one| matches!(one, Expected::Forward { .. }));
        match may_pass.count() {
            // One that is dropped tells nothing.
            0 => return self.exchange.receive(SILENCE, |_| false),
            1 => {
                // It is charged for where it passes, and which oracle is right is not known.
                self.exchange.send(port, &known);
                let got = self.exchange.receive(EITHER, |got| is_of(got, &expected));
                self.oracles.agree_by(&expected, got.is_some());
                let got = got?;
                let is_known = expected.iter().any(|one| fits(got.0, &got.1, one));
                return (!is_known).then_some(got);
            }
            _ if !self.exchange.send(port, &known) => {
                return self.exchange.receive(SILENCE, |_| false);
            }
            _ => {}
        }
        let patience = self.patience();
        let next = self.exchange.receive(patience, |got| is_of(got, &expected));
        match next {
            Some((port, frame)) if expected.iter().any(|one| fits(port, &frame, one)) => None,
            Some(other) => {
                // The one behind it still comes, and is none of the next step's business.
                let _ = self.exchange.receive(patience, |got| is_of(got, &expected));
                Some(other)
            }
            None => {
                let what = "a frame that passed before".to_owned();
                let text = self.comparison.describe(&expected[0]);
                self.comparison.mismatch(what, text, "no frame was forwarded".into());
                self.give_up(&expected);
                None
            }
        }
    }

    /// Returns the time limit for a frame: long while nothing has been wrong, short if nothing
    /// arrives anyway.
    fn patience(&self) -> Duration {
        match self.comparison.mismatches() {
            0 => FIRST_PATIENCE,
            _ if self.comparison.is_hopeless() => SILENCE,
            _ => PATIENCE,
        }
    }

    fn finish(self, unreachable: &[(&str, &str)]) -> Check {
        let Walk { left_out, comparison, exchange, either, .. } = self;
        let all = left_out.record();
        let mut check = comparison.finish(|name| {
            let known = unreachable.iter().find(|(reason, _)| *reason == name);
            let limited = all.iter().find(|one| one.verdicts.iter().any(|verdict| verdict == name));
            match (known, limited, all.first()) {
                (Some((_, cause)), ..) => Some((*cause).to_owned()),
                (None, Some(limited), _) => Some(limited.what.clone()),
                (None, None, Some(_)) => Some("because of exclusions".to_owned()),
                (None, None, None) if either > 0 => {
                    Some("because of the timing of its frames".to_owned())
                }
                (None, None, None) => None,
            }
        });
        check.skipped = all.iter().map(|one| one.skipped).sum();
        if check.passed && !all.is_empty() {
            check.claim = ClaimLevel::Partial;
        }
        check.limitations = all;
        check.own_frames = exchange.own_frames();
        check.either = either;
        check
    }
}

/// Time limit for the first frame that is missing: where a busy machine keeps the kernel from
/// handling frames it has been seconds late.
const FIRST_PATIENCE: Duration = Duration::from_secs(20);
/// Time limit for a further frame that must arrive.
const PATIENCE: Duration = Duration::from_secs(4);
/// Time without any frame after which a frame counts as dropped, if no later frame can show it.
const SILENCE: Duration = Duration::from_millis(20);
/// Time limit for a frame that one of two oracles expects; a busy machine may be late by this.
const EITHER: Duration = Duration::from_millis(300);
const LAST_SILENCE: Duration = Duration::from_millis(100);
/// Longest pause of a sample that is made, for entries to age.
const PAUSE_MAX: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_micros(50);
