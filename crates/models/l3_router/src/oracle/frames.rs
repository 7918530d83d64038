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

/// The 16-bit number at an offset.
pub(super) fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// RFC 1071: the ones'-complement sum of all words, the last one filled with zero.
pub(super) fn internet_sum(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
