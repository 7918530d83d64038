//! What a functional check has found so far: differences, and which verdicts were reached.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use engine::Drops;
use function_kit::{NetworkFunction, PortName};
use measure::record::{Check, ClaimLevel, Covered, Mismatch};
use model_kit::check::Expected;
use model_kit::{ConfigOf, Model};

/// Comparison of a device with the oracle, frame by frame.
pub(crate) struct Comparison<N: Model> {
    drops: Drops,
    /// Names of the function's own ports.
    ports: Vec<PortName>,
    frames: u64,
    mismatch_count: u64,
    mismatches: Vec<Mismatch>,
    /// Number of compared frames by verdict.
    coverage: BTreeMap<String, u64>,
    function: PhantomData<N>,
}

impl<N: Model> Comparison<N> {
    /// Creates a comparison without frames, of a function with this configuration.
    pub fn new(config: &ConfigOf<N>) -> Comparison<N> {
        Comparison {
            drops: N::Unit::names(config).drops,
            ports: N::Unit::ports(config),
            frames: 0,
            mismatch_count: 0,
            mismatches: Vec::new(),
            coverage: BTreeMap::new(),
            function: PhantomData,
        }
    }

    /// Counts a compared frame of the sample; `expected` is the oracle's verdict on it.
    pub fn frame(&mut self, expected: &Expected) {
        self.frames += 1;
        let name = self.verdict_name(expected);
        *self.coverage.entry(name).or_default() += 1;
    }

    /// Counts a frame that the function generated in addition to a frame of the sample, or because
    /// of a change or a pause; `expected` is the oracle's verdict on it.
    pub fn made(&mut self, expected: &Expected) {
        let name = self.verdict_name(expected);
        *self.coverage.entry(name).or_default() += 1;
    }

    /// Returns the name of a verdict in records: `forward-uplink`, a drop reason, `punt`.
    pub fn verdict_name(&self, verdict: &Expected) -> String {
        match verdict {
            Expected::Forward { port, .. } => {
                format!("forward-{}", N::Unit::port_name(&self.ports, *port))
            }
            Expected::Drop(reason) => (*reason).to_owned(),
            Expected::Punt => "punt".to_owned(),
        }
    }

    /// Returns the name of a verdict, with the bytes of a forwarded frame.
    pub fn describe(&self, verdict: &Expected) -> String {
        let name = self.verdict_name(verdict);
        match verdict {
            Expected::Forward { frame, .. } => format!("{name} {}", Mismatch::hex(frame)),
            Expected::Drop(_) => format!("drop {name}"),
            Expected::Punt => name,
        }
    }

    /// Returns the descriptions of all verdicts of a step.
    pub fn describe_all(&self, verdicts: &[Expected]) -> String {
        match verdicts {
            [] => "nothing".to_owned(),
            some => {
                let each = some.iter().map(|verdict| self.describe(verdict));
                each.collect::<Vec<_>>().join(" and ")
            }
        }
    }

    /// Records a difference at the next frame.
    pub fn mismatch(&mut self, what: String, expected: String, got: String) {
        self.mismatch_count += 1;
        if self.mismatches.len() < MISMATCHES_MAX {
            self.mismatches.push(Mismatch { frame: self.frames, what, expected, got });
        }
    }

    /// Returns the number of differences so far.
    pub fn mismatches(&self) -> u64 {
        self.mismatch_count
    }

    /// Returns true if there are more differences than are kept; the check then stops, because a
    /// device that does nothing right is slow to check.
    pub fn is_hopeless(&self) -> bool {
        self.mismatch_count > MISMATCHES_MAX as u64
    }

    /// Returns the number of compared frames by verdict so far.
    pub fn coverage(&self) -> Vec<Covered> {
        let covered = |(name, &frames): (&String, &u64)| Covered { name: name.clone(), frames };
        self.coverage.iter().map(covered).collect()
    }

    /// Adds the comparison of captured frames to that of the sample.
    pub fn join(self, check: &mut Check) {
        check.captured = self.coverage();
        check.frames += self.frames;
        check.mismatch_count += self.mismatch_count;
        check.mismatches = self.mismatches.into_iter().chain(check.mismatches.drain(..)).collect();
        check.mismatches.truncate(MISMATCHES_MAX);
        if self.mismatch_count > 0 {
            (check.passed, check.claim) = (false, ClaimLevel::None);
        }
    }

    /// Ends the comparison. A drop reason that a frame can meet but that no frame of the sample met
    /// counts as a difference; `excuse` returns why a reason could not be met.
    pub fn finish(mut self, excuse: impl Fn(&str) -> Option<String>) -> Check {
        let mut uncovered = Vec::new();
        // The first one, of packets that no stage decided on, is no verdict to be reached.
        for name in self.drops.0.iter().skip(1) {
            if self.coverage.contains_key(*name) {
                continue;
            }
            match excuse(name) {
                Some(cause) => uncovered.push(format!("{name} ({cause})")),
                None => {
                    let what = format!("the sample reaches the drop reason {name}");
                    self.mismatch(what, "at least one frame".into(), "none".into());
                }
            }
        }
        let coverage = self.coverage.into_iter().map(|(name, frames)| Covered { name, frames });
        let passed = self.mismatch_count == 0 && self.frames > 0;
        Check {
            passed,
            frames: self.frames,
            mismatch_count: self.mismatch_count,
            mismatches: self.mismatches,
            coverage: coverage.collect(),
            uncovered,
            claim: if passed { ClaimLevel::Full } else { ClaimLevel::None },
            ..Check::default()
        }
    }
}

/// Largest number of differences that are kept with their bytes; all are counted.
const MISMATCHES_MAX: usize = 20;
