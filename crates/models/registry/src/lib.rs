//! The list of the models: what the bench knows of each network function.

pub use model_chain as chain;
use model_kit::erased::{Kind, Unit};
pub use model_kit::{ConfigOf, Configured, Model, PipelineOf, UpdateOf, check, service};

/// Makes the list of models: each line gives a crate its name here and its model a place in
/// [`with_members`]. The first token is `$`, which a macro cannot write into another one.
macro_rules! list {
    ($d:tt $($name:ident = $package:ident::$model:ident,)*) => {
        $(pub use $package as $name;)*

        /// The list of all models but the chain, which is made of these, each wrapped in the unit
        /// struct `$unit`, whose `new` is const, as a `&'static [&'static dyn …]` of the place
        /// where it stands; and a model and something of the same kind behind them.
        #[macro_export]
        macro_rules! with_members {
            ($d unit:ident $d (, $d last:ty)? $d (; $d other:expr)?) => {
                &[
                    $(&$d unit::<$crate::$name::$model>::new(),)*
                    $d (&$d unit::<$d last>::new(),)?
                    $d (&$d other,)?
                ]
            };
        }
    };
}

list! { $
    mobile_gateway = model_mobile_gateway::MobileGateway,
    l2_switch = model_l2_switch::L2Switch,
    l3_router = model_l3_router::L3Router,
    cgnat = model_cgnat::Cgnat,
    bng = model_bng::BroadbandGateway,
}

/// The list of all models, in the order of the help text, as [`with_members`] gives it; and what
/// else can be measured behind them.
#[macro_export]
macro_rules! with_all {
    ($unit:ident $(; $other:expr)?) => {
        $crate::with_members!($unit, $crate::Chain $(; $other)?)
    };
}

/// A chain of models of this list.
pub type Chain = model_chain::Chain<Members>;

/// What a chain can be made of.
pub struct Members;

impl model_chain::Models for Members {
    type Members = functions::Members;
    const KINDS: &'static [&'static dyn Kind] = with_members!(Unit);
}
