//! Ctrl-C: the first one asks the run to stop cleanly, the second one ends the program at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Exit;
use crate::output::tell;

/// Becomes true at the first Ctrl-C (or SIGTERM, SIGHUP); a second one does not return.
pub fn on_ctrl_c() -> Arc<AtomicBool> {
    // Building tables is not interrupted: ten million users take seconds.
    on_ctrl_c_saying(
        "\nstopping; finished measurements are kept, and a set-up in progress completes first. \
         Press Ctrl-C again to quit at once.\n",
    )
}

/// Installs the handler of [`on_ctrl_c`] with another message for the first Ctrl-C.
pub fn on_ctrl_c_saying(words: &'static str) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let handler = move || {
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
        tell(words);
    };
    if ctrlc::set_handler(handler).is_err() {
        // The system's default applies: the first Ctrl-C ends the program; files stay complete.
        tell("note: Ctrl-C cannot be caught here; it ends the program at once\n");
    }
    stop
}
