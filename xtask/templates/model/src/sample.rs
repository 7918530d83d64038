//! The functional check of a patch: both ports, open and closed.

use function_template::Update;
use model_kit::check::Step;
use packet::PortId;

/// Frames that meet every verdict.
pub fn sample() -> Vec<Step<Update>> {
    let frame = |port, about| Step::Frame { port: PortId(port), frame: vec![2; 60], about };
    vec![
        Step::Update(Update::SetClosed(false)),
        frame(0, "a frame from the downlink port"),
        frame(1, "a frame from the uplink port"),
        Step::Update(Update::SetClosed(true)),
        frame(0, "a frame for a closed patch"),
    ]
}
