//! Segments of sessions that are told by their numbers: those without data bear no stamp.

use traffic::SessionAction;

use super::frames::{ACK, FIN, NO_SEGMENT, PSH, SYN, Segment};

/// A segment with data, the first of its sender; it has numbers of no meaning over UDP and ICMP.
#[inline(always)]
pub fn data_segment(session: u32, uplink: bool) -> Segment {
    handshake_numbers(session, uplink, 1, 1).with(PSH | ACK)
}

/// The segments by which a connection is made (RFC 9293 section 3.5) and closed (section 3.6).
pub fn handshake(session: u32, action: SessionAction, step: u8) -> Segment {
    match (action, step) {
        (SessionAction::Open, 0) => Segment { sequence: session, acknowledged: 0, flags: SYN },
        (SessionAction::Open, 1) => handshake_numbers(session, false, 0, 1).with(SYN | ACK),
        (SessionAction::Open, 2) => handshake_numbers(session, true, 1, 1).with(ACK),
        (SessionAction::Close, 0) => handshake_numbers(session, true, 1, 1).with(FIN | ACK),
        (SessionAction::Close, 1) => handshake_numbers(session, false, 1, 2).with(FIN | ACK),
        (SessionAction::Close, 2) => handshake_numbers(session, true, 2, 2).with(ACK),
        _ => NO_SEGMENT,
    }
}

/// The reverse of [`handshake`]: the session and the step of a segment without data.
pub fn handshake_of(segment: Segment) -> Option<(u32, SessionAction, u8)> {
    let Segment { sequence, acknowledged, flags } = segment;
    let candidates = match flags {
        SYN => [Some((sequence, SessionAction::Open, 0)), None],
        SYN_ACK => [Some((acknowledged.wrapping_sub(1), SessionAction::Open, 1)), None],
        FIN_ACK => [
            Some((sequence.wrapping_sub(1), SessionAction::Close, 0)),
            Some((acknowledged.wrapping_sub(2), SessionAction::Close, 1)),
        ],
        ACK => [
            Some((sequence.wrapping_sub(1), SessionAction::Open, 2)),
            Some((sequence.wrapping_sub(2), SessionAction::Close, 2)),
        ],
        _ => [None, None],
    };
    let is_of = |&(session, action, step): &(u32, SessionAction, u8)| {
        handshake(session, action, step) == segment
    };
    candidates.into_iter().flatten().find(is_of)
}

/// Numbers of a segment whose sender has sent so many bytes and seen so many of the other. The
/// client begins with the session's number and the server with its complement, so that a segment
/// tells the session, its step, and whether both numbers are of one session.
fn handshake_numbers(session: u32, uplink: bool, sent: u32, seen: u32) -> Segment {
    let (own, other) = if uplink { (session, !session) } else { (!session, session) };
    let (sequence, acknowledged) = (own.wrapping_add(sent), other.wrapping_add(seen));
    Segment { sequence, acknowledged, flags: 0 }
}

impl Segment {
    fn with(self, flags: u8) -> Segment {
        Segment { flags, ..self }
    }
}

const SYN_ACK: u8 = SYN | ACK;
const FIN_ACK: u8 = FIN | ACK;
