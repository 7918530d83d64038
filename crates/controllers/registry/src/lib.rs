//! The list of controllers.

use controller_kit::erased::Unit;
pub use controller_kit::erased::{Configured, Kind, Running};

/// All controllers, in the order of the help text.
#[rustfmt::skip] // A line each.
pub static CONTROLLERS: &[&dyn Kind] = &[
    &Unit::<controller_bng::Bng>::new(),
    &Unit::<controller_frr::Frr>::new(),
    &Unit::<controller_frr_bfd::FrrBfd>::new(),
    &Unit::<controller_kernel::Kernel>::new(),
    &Unit::<controller_route_reflector::RouteReflector>::new(),
    &Unit::<controller_vrrp::Vrrp>::new(),
];
