//! The functions there are, in the order of the help text.

use crate::scenario::Functions;

/// All functions.
pub const FUNCTIONS: Functions = &[];
