//! The functional check's sample: frames that reach every verdict and every drop reason that a
//! configuration allows, and the changes between them.

use traffic::{Stamp, Workload};

use super::config::{Config, Traffic};
use super::control::Update;
use super::workload::Clients;
use crate::check::Step;

/// The sample for a validated configuration.
pub fn sample(config: &Config, traffic: &Traffic) -> Vec<Step<Update>> {
    let workload = Clients::new(config, traffic);
    let mut steps = Vec::new();
    for (index, direction) in workload.directions().iter().enumerate() {
        for sequence in 0..32 {
            let draw = workload.draw(index, sequence);
            let mut frame = vec![0; workload.frame_len(&draw)];
            let stamp = Stamp { stream: index as u16, sequence, time: 0 };
            workload.write(&draw, stamp, &mut frame);
            let about = "a frame of the workload";
            steps.push(Step::Frame { port: direction.from, frame, about });
        }
    }
    steps
}

/// Drop reasons that the sample cannot reach under a configuration, each with the cause.
pub fn unreachable(_: &Config) -> Vec<(&'static str, &'static str)> {
    vec![("unhandled", "every packet gets a verdict")]
}
