//! The functions there are, in the order of the help text.

use crate::embedded::Unit;
use crate::scenario::Functions;

/// All functions.
pub const FUNCTIONS: Functions = functions::with_all!(Unit);
