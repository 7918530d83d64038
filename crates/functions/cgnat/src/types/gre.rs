//! The header of enhanced GRE (RFC 2637 section 4.1), in which PPTP carries PPP.
//!
//! A packet bears the call identifier of its receiver. So one from outside is for the subscriber
//! whose mapping has the identifier, which is replaced by the subscriber's own; one from inside
//! bears the remote's, and only its addresses change. The header has no checksum.

/// The call identifier of a packet, of what follows the IP header; none where it is not of this
/// kind.
pub fn call(packet: &[u8]) -> Option<u16> {
    let header = packet.first_chunk::<HEADER_LEN>()?;
    let is_enhanced = header[0] & FLAGS_MASK == FLAG_KEY && header[1] & VERSION_MASK == VERSION;
    let is_ppp = header[2..4] == PROTOCOL_PPP;
    (is_enhanced && is_ppp).then(|| u16::from_be_bytes([header[CALL], header[CALL + 1]]))
}

/// Replaces it; nothing where there is none.
pub fn set_call(packet: &mut [u8], call_id: u16) {
    if call(packet).is_some() {
        packet[CALL..CALL + 2].copy_from_slice(&call_id.to_be_bytes());
    }
}

/// Flags, protocol, and the key: length of the payload and call identifier.
const HEADER_LEN: usize = 8;

/// Where the call identifier stands.
const CALL: usize = 6;

/// Checksum, routing, key and strict source route: of these only the key is there.
const FLAGS_MASK: u8 = 0b1110_1000;
const FLAG_KEY: u8 = 0b0010_0000;

const VERSION_MASK: u8 = 0b111;
const VERSION: u8 = 1;

/// PPP as payload.
const PROTOCOL_PPP: [u8; 2] = [0x88, 0x0b];
