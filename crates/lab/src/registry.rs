//! The functions there are, in the order of the help text.

use model_kit::erased::Unit;

use crate::scenario::Functions;

/// All functions, in the order of the help text.
///
/// A static and not a constant: what the list holds is compiled here, once, and not wherever it is
/// named.
pub static FUNCTIONS: Functions = models::with_all!(Unit; crate::reflector::RouteReflector);
