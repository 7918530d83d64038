//! Fuzzes the target that `PLUMBLINE_FUZZ` names; the bodies are in testkit, so that they also run
//! on stable.

#![no_main]

use std::sync::LazyLock;

use testkit::fuzz::{Target, targets};

static CHOSEN: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("PLUMBLINE_FUZZ").unwrap_or_default();
    targets().find(|target| target.name() == name).expect("PLUMBLINE_FUZZ names a target")
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| (CHOSEN.run)(data));
