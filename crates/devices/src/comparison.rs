//! What a functional check has found so far: differences, and which verdicts were reached.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use engine::Drops;
use functions::NetworkFunction;
use functions::check::Expected;
use measure::record::{Check, ClaimLevel, Covered, Mismatch};

/// The comparison of a device with the oracle.
pub(crate) struct Comparison<N: NetworkFunction> {
    drops: Drops,
    frames: u64,
    mismatch_count: u64,
    mismatches: Vec<Mismatch>,
    /// Frames by verdict.
    coverage: BTreeMap<String, u64>,
    function: PhantomData<N>,
}

impl<N: NetworkFunction> Comparison<N> {
    /// Nothing compared yet of a function with these reasons.
    pub fn new(drops: Drops) -> Comparison<N> {
        Comparison {
            drops,
            frames: 0,
            mismatch_count: 0,
            mismatches: Vec::new(),
            coverage: BTreeMap::new(),
            function: PhantomData,
        }
    }

    /// A frame of the sample was compared; it was to end so.
    pub fn frame(&mut self, expected: &Expected) {
        self.frames += 1;
        *self.coverage.entry(verdict_name::<N>(expected)).or_default() += 1;
    }

    /// A frame was made beside one of the sample, or by a change or a pause; it was to end so.
    pub fn made(&mut self, expected: &Expected) {
        *self.coverage.entry(verdict_name::<N>(expected)).or_default() += 1;
    }

    /// Something differs, at the frame that comes next.
    pub fn mismatch(&mut self, what: String, expected: String, got: String) {
        self.mismatch_count += 1;
        if self.mismatches.len() < MISMATCHES_MAX {
            self.mismatches.push(Mismatch { frame: self.frames, what, expected, got });
        }
    }

    /// Whether more differs than is kept: a device that does nothing right is not waited for long.
    pub fn is_hopeless(&self) -> bool {
        self.mismatch_count > MISMATCHES_MAX as u64
    }

    /// A reason that a frame could meet, and none of the sample did, is a fault of the check;
    /// `excuse` tells why one was not met after all.
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

/// The name of a verdict in records: `forward-uplink`, a drop reason, `punt`.
pub(crate) fn verdict_name<N: NetworkFunction>(verdict: &Expected) -> String {
    match verdict {
        Expected::Forward { port, .. } => {
            format!("forward-{}", N::port_name(*port))
        }
        Expected::Drop(reason) => (*reason).to_owned(),
        Expected::Punt => "punt".to_owned(),
    }
}

/// The same with the bytes of what is forwarded.
pub(crate) fn describe<N: NetworkFunction>(verdict: &Expected) -> String {
    let name = verdict_name::<N>(verdict);
    match verdict {
        Expected::Forward { frame, .. } => format!("{name} {}", Mismatch::hex(frame)),
        Expected::Drop(_) => format!("drop {name}"),
        Expected::Punt => name,
    }
}

/// All verdicts of a step.
pub(crate) fn describe_all<N: NetworkFunction>(verdicts: &[Expected]) -> String {
    match verdicts {
        [] => "nothing".to_owned(),
        some => some.iter().map(describe::<N>).collect::<Vec<_>>().join(" and "),
    }
}

/// Mismatches kept with their bytes; all are counted.
const MISMATCHES_MAX: usize = 20;
