//! PPTP (RFC 2637 sections 2.1 to 2.15): messages of the control connection that name calls.

use std::net::Ipv4Addr;

use super::super::packets::word;
use super::script::{Ask, Message, What, Wish};

/// The messages that tell the subscriber's identifier of a call, up to the first one that is not
/// whole. `own` is the identifier that the subscriber has for a call by the one that it has
/// outside.
pub fn messages(
    payload: &[u8],
    (is_out, remote): (bool, Ipv4Addr),
    own: impl Fn(u16) -> Option<u16>,
) -> Vec<Message> {
    let mut all = Vec::new();
    let mut at = 0;
    // Length, "control message", cookie.
    while payload.len() >= at + 8 && payload[at + 2..at + 8] == [0, 1, 0x1a, 0x2b, 0x3c, 0x4d] {
        let len = usize::from(word(payload, at));
        if len < 12 || at + len > payload.len() {
            break;
        }
        all.extend(message(at, &payload[at..at + len], (is_out, remote), &own));
        at += len;
    }
    all
}

/// One message; none where it tells nothing of the subscriber's.
fn message(
    at: usize,
    bytes: &[u8],
    (is_out, remote): (bool, Ipv4Addr),
    own: impl Fn(u16) -> Option<u16>,
) -> Option<Message> {
    let kind = word(bytes, 8);
    // Where a sender's identifier stands, and where that of its peer.
    let (senders, peers) = match kind {
        // Outgoing-Call-Request, Incoming-Call-Request, Call-Clear-Request, Call-Disconnect-Notify.
        7 | 9 | 12 | 13 => (Some(12), None),
        // Outgoing-Call-Reply, Incoming-Call-Reply.
        8 | 10 => (Some(12), Some(14)),
        // Incoming-Call-Connected, WAN-Error-Notify, Set-Link-Info.
        11 | 14 | 15 => (None, Some(12)),
        _ => return None,
    };
    let (inside, outside) = if is_out { (senders, peers) } else { (peers, senders) };
    let place = inside?;
    let mut message = Message::new(at);
    let read = |place: usize| bytes.get(place..place + 2).map(|two| word(two, 0));
    let call = match (read(place), is_out) {
        (None, _) => None,
        (Some(call), true) => {
            let ask = Ask { protocol: 47, port: call, wish: Wish::Any, remote: Some(remote) };
            let number = message.ask(ask)?;
            message.put((at + place, at + place + 2), What::Call(number));
            Some(call)
        }
        (Some(call), false) => own(call).inspect(|own| {
            message.put((at + place, at + place + 2), What::Octets(own.to_be_bytes()));
        }),
    };
    // Results but 1 say that there is no call.
    let is_connected = ![8, 10].contains(&kind) || bytes.get(16) == Some(&1);
    match (call, outside.filter(|_| is_connected).map(read)) {
        (None, _) | (_, Some(None)) => message.fail::<()>(),
        (Some(call), Some(Some(other))) => {
            message.call = Some((call, other));
            Some(())
        }
        (Some(_), None) => Some(()),
    };
    Some(message)
}
