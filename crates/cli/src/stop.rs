//! Ctrl-C: the first one asks the run to stop cleanly, the second one ends the program at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Exit;
use crate::output::tell;

/// Becomes true at the first Ctrl-C (or SIGTERM, SIGHUP); a second one does not return.
pub fn on_ctrl_c() -> Arc<AtomicBool> {
    // Building tables is not interrupted: ten million users take seconds.
    on_ctrl_c_saying(
        "\nstopping; what is finished is kept, a set-up under way ends first. \
         Press Ctrl-C again to quit at once.\n",
    )
}

/// The same with other words for the first Ctrl-C.
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
        // Then the system's own way holds: the first Ctrl-C ends the program; files stay whole.
        tell("note: Ctrl-C cannot be caught here; it will end the program at once\n");
    }
    stop
}
