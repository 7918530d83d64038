//! The list of the network functions.

use function_kit::erased::Unit;
pub use function_kit::erased::{AnyUpdate, Configured, Kind, Running};
pub use function_kit::sections;
pub use function_kit::{
    FrameSteering, Invalid, NetworkFunction, SetupError, Shard, Standby, TablePage, TableSize,
};
pub use {
    function_bng as bng, function_cgnat as cgnat, function_chain as chain,
    function_l2_switch as l2_switch, function_l3_router as l3_router,
    function_mobile_gateway as mobile_gateway,
};

/// The list of the functions, in the order of the help text; the last one is made of the others.
macro_rules! with_members {
    ($($last:ty)?) => {
        &[
            &Unit::<mobile_gateway::MobileGateway>::new(),
            &Unit::<l2_switch::L2Switch>::new(),
            &Unit::<l3_router::L3Router>::new(),
            &Unit::<cgnat::Cgnat>::new(),
            &Unit::<bng::BroadbandGateway>::new(),
            $(&Unit::<$last>::new(),)?
        ]
    };
}

/// All functions, in the order of the help text.
///
/// A static and not a constant: what the list holds is compiled here, once, and not wherever it is
/// named.
pub static FUNCTIONS: &[&dyn Kind] = with_members!(Chain);

/// A chain of functions of this list.
pub type Chain = function_chain::Chain<Members>;

/// What a chain can be made of.
pub struct Members;

impl function_chain::Members for Members {
    const KINDS: &'static [&'static dyn Kind] = with_members!();
}
