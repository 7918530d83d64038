//! The network functions, a folder each.
//!
//! A folder holds everything of its function: configuration, pipeline, control, workload and the
//! oracle that says what each frame must become. Functions know the engine and the vocabulary, never
//! a port, a device or each other; what several need stands in [`stages`].

pub mod check;
pub mod sections;
pub mod service;
pub mod unit;

pub mod cgnat;
pub mod chain;
pub mod l2_switch;
pub mod l3_router;
pub mod mobile_gateway;

pub mod stages;

mod build;
mod counts;
mod floods;
mod models;
mod passing;
mod test_packets;

pub use unit::{
    FrameSteering, Invalid, NetworkFunction, SetupError, Shard, Standby, TablePage, TableSize,
};

/// The list of all functions, in the order of the help text: each wrapped in the unit struct `$unit`,
/// whose `new` is const, as a `&'static [&'static dyn …]` of the place where it stands.
#[macro_export]
macro_rules! with_all {
    ($unit:ident) => {
        &[
            &$unit::<$crate::mobile_gateway::MobileGateway>::new(),
            &$unit::<$crate::l2_switch::L2Switch>::new(),
            &$unit::<$crate::l3_router::L3Router>::new(),
            &$unit::<$crate::cgnat::Cgnat>::new(),
            &$unit::<$crate::chain::Chain>::new(),
        ]
    };
}
