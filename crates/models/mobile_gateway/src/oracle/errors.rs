//! Why the gateway of the model carries a packet no further.

use model_kit::host::Cause;

pub(super) const NOBODY: Cause = Cause { reason: "unknown-user", v4: (3, 1, 0), v6: (1, 3, 0) };
pub(super) const PROHIBITED: Cause =
    Cause { reason: "user-to-user", v4: (3, 13, 0), v6: (1, 1, 0) };
