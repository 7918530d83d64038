//! The interface: made, and given what is configured.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use engine::Kinds;

use crate::config::TapConfig;
use crate::sys;

/// Opens a queue of the interface, whose frames have the header of virtio-net before them; returns
/// the kinds of long segments that the kernel takes, too.
pub(crate) fn open_queue(config: &TapConfig, has_many: bool) -> io::Result<(File, Kinds)> {
    let flags = if has_many { libc::IFF_MULTI_QUEUE } else { 0 };
    let file = sys::open_queue(&config.interface, libc::IFF_VNET_HDR | flags)?;
    let has_udp = sys::set_offloads(&file)?;
    Ok((file, Kinds { udp: has_udp, ..Kinds::ALL }))
}

/// Configures the interface; settings may be in place already.
pub(crate) fn set_up(config: &TapConfig, socket: &OwnedFd) -> io::Result<()> {
    let name = &config.interface;
    sys::set_mtu(socket, name, config.mtu_bytes)?;
    for (address, prefix_len) in config.parsed() {
        sys::add_address(name, address, prefix_len)?;
    }
    if config.up { sys::set_up(socket, name) } else { Ok(()) }
}
