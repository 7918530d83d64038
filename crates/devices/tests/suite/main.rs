//! Devices against the oracle, as they are set up, measured and taken away.

mod access;
mod crash;
mod embedded;
mod external;
mod linux;
mod remote;
mod router;
mod routing;
mod sessions;
mod undone;
mod vpp;
