//! Frames byte by byte: numbers and sums in them, and how one leaves.
use function_l3_router::config::Resolved;
use model_kit::check::Expected;

/// Why a packet is dropped, or how it leaves.
pub(super) type Judgement = Result<Expected, &'static str>;

/// Out of an interface, with its tag if it has one.
pub(super) fn leave(interface: &Resolved, frame: Vec<u8>) -> Expected {
    let port = interface.port;
    if interface.vlan == 0 {
        return Expected::Forward { port, frame };
    }
    let tag = [[0x81, 0x00], interface.vlan.to_be_bytes()].concat();
    Expected::Forward { port, frame: [&frame[..12], &tag, &frame[12..]].concat() }
}
