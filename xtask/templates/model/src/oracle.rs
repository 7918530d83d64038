//! What must become of each frame at a patch.

use std::time::Duration;

use function_template::Update;
use model_kit::check::{Expected, Oracle};
use packet::PortId;

/// A patch, slow and obviously right.
pub struct Model {
    pub(super) is_closed: bool,
}

impl Oracle for Model {
    type Update = Update;

    fn expect(&mut self, port: PortId, frame: &[u8], _: Duration) -> Expected {
        match (self.is_closed, port) {
            (true, _) => Expected::Drop("closed"),
            (false, PortId(0)) => Expected::Forward { port: PortId(1), frame: frame.to_vec() },
            (false, _) => Expected::Forward { port: PortId(0), frame: frame.to_vec() },
        }
    }

    fn apply(&mut self, update: &Update, _: Duration) -> bool {
        let Update::SetClosed(is_closed) = update;
        self.is_closed = *is_closed;
        true
    }
}
