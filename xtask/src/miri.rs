//! `cargo xtask miri`: the tests around unsafe code, in an interpreter that sees undefined
//! behaviour.

use anyhow::{Result, bail};

use crate::invocation::Invocation;

/// The crates with unsafe code, and `packet`, whose buffers rest on it.
const CRATES: &str = "-p machine -p packet -p port-memory";

/// Runs Miri.
///
/// # Errors
/// When it is not installed, or it found something.
pub fn run() -> Result<()> {
    if !Invocation::new("cargo", "+nightly miri --version").succeeds() {
        bail!(
            "Miri comes with a nightly toolchain:\n  \
             rustup toolchain install nightly --component miri"
        );
    }
    // The clock and the available cores are asked of the system.
    Invocation::new("cargo", &format!("+nightly miri test {CRATES} --lib"))
        .variable("MIRIFLAGS", "-Zmiri-disable-isolation")
        .run()
}
