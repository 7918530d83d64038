//! Why frames are lost.

use engine::PortDrop;

/// Drop reasons, in the order of the counters.
pub(crate) const DROPS: &[PortDrop] = &[
    PortDrop::receive("too-long"),
    PortDrop::receive("segments"),
    PortDrop::receive("port-closed"),
    PortDrop::transmit("link-down"),
    PortDrop::transmit("too-long"),
    PortDrop::transmit("too-short"),
    PortDrop::transmit("device-full"),
    PortDrop::transmit("refused"),
    PortDrop::transmit("segments"),
];
pub(crate) const TOO_LONG: usize = 0;
pub(crate) const SEGMENTS: usize = 1;
pub(crate) const PORT_CLOSED: usize = 2;
pub(crate) const LINK_DOWN: usize = 3;
pub(crate) const SENT_TOO_LONG: usize = 4;
pub(crate) const SENT_TOO_SHORT: usize = 5;
pub(crate) const DEVICE_FULL: usize = 6;
pub(crate) const REFUSED: usize = 7;
pub(crate) const SENT_SEGMENTS: usize = 8;
