//! A tap interface whose frames another thread than a worker carries.
//!
//! A read takes a frame that the kernel sends, a write hands it one; neither blocks. Each frame has
//! the ten bytes of a header of virtio-net before it, in little-endian order: the kernel leaves
//! checksums and the cutting of TCP and UDP to this side. The interface is there as long as its
//! file is open.

use std::fs::File;

use engine::PortError;

use crate::config::TapConfig;
use crate::interface::{open_queue, set_up};
use crate::open::explained;
use crate::sys;

/// Creates the interface in the network namespace of this thread, down and without addresses.
///
/// # Errors
/// Without the right to, or when the name is in use.
pub fn create(config: &TapConfig) -> Result<File, PortError> {
    let wrong = |invalid: keys::Invalid| PortError::new(invalid.what, invalid.remedy);
    config.validate().map_err(wrong)?;
    let opened = open_queue(config, false).map_err(|error| explained(config, &error))?;
    Ok(opened.0)
}

/// Gives the interface an Ethernet address and what is configured, in the network namespace of this
/// thread.
///
/// # Errors
/// What the kernel refuses.
pub fn configure(config: &TapConfig, mac: [u8; 6]) -> Result<(), PortError> {
    let configured = || {
        let socket = sys::request_socket(libc::AF_INET)?;
        sys::set_mac(&socket, &config.interface, mac)?;
        set_up(config, &socket)
    };
    configured().map_err(|error| explained(config, &error))
}
