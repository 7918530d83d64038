//! What a measurement depends on, as one hash: equal hashes, equal question.
//!
//! In it are the configuration with all defaults, the cores, the method, the seed, the very program
//! and the machine. Not in it: the scenario's name, text and other cells, so that a cell is known
//! again in another file; the clock's calibrated rate, which differs a little each time; whatever
//! else the machine is doing, which no hash can hold.

use std::fs::File;

use measure::record::{HostFacts, RunRecord};
use methods::Method;
use serde_json::{Value, json};

/// The inputs that are the same for all measurements of a run.
#[derive(Clone, Debug)]
pub(super) struct Surroundings {
    program: String,
    host: Value,
}

impl Surroundings {
    /// The inputs of this program and machine; none if the program's file cannot be read.
    pub(super) fn of(host: &HostFacts) -> Option<Surroundings> {
        let program = program_hash()?;
        let host = json!({
            "kernel": host.kernel,
            "cpu-model": host.cpu_model,
            "cores": host.cores,
            "memory-bytes": host.memory_bytes,
            "huge-pages": host.huge_pages,
        });
        Some(Surroundings { program, host })
    }

    /// The hash of a measurement's inputs, `blake3:…`; `configuration` is that of the cell, with
    /// device and cores.
    pub(super) fn question(&self, asked: &Asked<'_>) -> String {
        let all = json!({
            "format": FORMAT,
            "record": RunRecord::SCHEMA_VERSION,
            "program": self.program,
            "host": self.host,
            "function": asked.function,
            "device-version": asked.device_version,
            "configuration": asked.configuration,
            "seed": asked.seed,
            "method": asked.method.name(),
            "method-configuration": asked.method.configuration(),
            "compared-by": asked.compared_by,
            "occurrence": asked.occurrence,
        });
        format!("blake3:{}", blake3::hash(all.to_string().as_bytes()).to_hex())
    }
}

/// The inputs of a measurement in a cell.
pub(super) struct Asked<'a> {
    pub function: &'a str,
    /// Version of a device outside this program.
    pub device_version: &'a str,
    pub configuration: &'a Value,
    pub seed: u64,
    pub method: &'a dyn Method,
    /// The key whose values are measured side by side with this cell.
    pub compared_by: Option<&'a str>,
    /// Number of earlier measurements with the same inputs in this run: each has its own result.
    pub occurrence: usize,
}

/// The hash of one repetition of a measurement, as the name of a file.
pub(super) fn of_repetition(question: &str, repetition: u32) -> String {
    blake3::hash(format!("{question} repetition {repetition}").as_bytes()).to_hex().to_string()
}

/// The hash of the running program, even if its file has been replaced since the start.
fn program_hash() -> Option<String> {
    let itself = File::open("/proc/self/exe");
    let file = itself.or_else(|_| std::env::current_exe().and_then(File::open)).ok()?;
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file).ok()?;
    Some(hasher.finalize().to_hex().to_string())
}

/// Version of the cache format; it changes with the contents or meaning of measurements.
pub(super) const FORMAT: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FUNCTIONS;
    use crate::scenario::Scenario;

    #[test]
    fn everything_that_matters_changes_the_question() {
        let text = "function: {name: fake}\nmethods: [{name: capacity}, {name: throughput}]\n";
        let scenario = Scenario::parse("test.yaml", text.into(), FUNCTIONS).expect("good");
        let [one, other] = [0, 1].map(|at| scenario.benchmarks[0].methods[at].method.as_ref());
        let host = HostFacts { cores: 2, ..HostFacts::default() };
        let here = Surroundings::of(&host).expect("a test is a program that can be read");
        let configuration = json!({"function": {"user": 1}});
        let asked = || Asked {
            function: "fake",
            device_version: "",
            configuration: &configuration,
            seed: 1,
            method: one,
            compared_by: None,
            occurrence: 0,
        };
        let base = here.question(&asked());
        assert_eq!(base, here.question(&asked()));
        assert_eq!(base.len(), "blake3:".len() + 64);
        let elsewhere = Surroundings::of(&HostFacts { cores: 3, ..host }).expect("the same");
        let changed = json!({"function": {"user": 2}});
        let all = [
            elsewhere.question(&asked()),
            here.question(&Asked { function: "other", ..asked() }),
            here.question(&Asked { configuration: &changed, ..asked() }),
            here.question(&Asked { device_version: "2", ..asked() }),
            here.question(&Asked { seed: 2, ..asked() }),
            here.question(&Asked { method: other, ..asked() }),
            here.question(&Asked { compared_by: Some("function.user"), ..asked() }),
            here.question(&Asked { occurrence: 1, ..asked() }),
        ];
        for (at, question) in all.iter().enumerate() {
            assert_ne!(*question, base, "number {at}");
        }
        assert_ne!(of_repetition(&base, 0), of_repetition(&base, 1));
    }
}
