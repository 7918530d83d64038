//! The functions there are, in the order of the help text.

use functions::mobile_gateway::MobileGateway;

use crate::embedded::Unit;
use crate::scenario::Functions;

/// All functions.
pub const FUNCTIONS: Functions = &[&Unit::<MobileGateway>::new()];
