//! Fuzzes the target that `PLUMBLINE_FUZZ` names. Its body is in a model or a wire format, so that
//! it also runs on stable.

#![no_main]

use std::cell::RefCell;

use testkit::fuzz::{Body, targets};

thread_local! {
    static CHOSEN: RefCell<Body> = RefCell::new(chosen());
}

fn chosen() -> Body {
    let name = std::env::var("PLUMBLINE_FUZZ").unwrap_or_default();
    targets().find(|target| target.name() == name).expect("PLUMBLINE_FUZZ names a target").body()
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| CHOSEN.with_borrow_mut(|body| body(data)));
