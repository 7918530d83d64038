//! VRRP for a function: while a virtual router is active, its addresses are the function's own.
//!
//! ```text
//!  other routers --frames--> protocol_vrrp::Vrrp --Report--> Active: set-virtual, set-active
//!                              ^                             Backup: remove-virtual ---> workers
//!  the host's interfaces ------+                                                         |
//!                              +----------------------- Refused: not in charge for now <-+
//! ```
//! It knows no function: it takes the interfaces that one has at the host, and names its changes.
//!
//! The files in reading order: [`config`] has the keys, `places` what they mean on the function,
//! `account` changes without an answer, `alarms` what an operator is told, `synchrony` whether the
//! function may take over without harm, `router` a virtual router as it is known, `machine` the
//! controller, `show` what a person sees.

pub mod config;

mod tracked;

mod places;

mod account;

mod alarms;

mod synchrony;

mod router;

mod machine;

mod show;

pub use config::Config;
pub use machine::Vrrp;
