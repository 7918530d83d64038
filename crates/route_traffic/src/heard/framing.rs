//! Messages in what a client receives (RFC 4271 section 4.1).

use protocol_bgp::message::HEADER_LEN;

/// Takes the next message of what is left of a piece, or puts that behind the part of a message
/// that came before; none if there is no whole one. Whoever has a message clears the part.
///
/// # Errors
/// In words, when the bytes are no messages.
pub(crate) fn take<'a>(
    part: &'a mut Vec<u8>,
    rest: &mut &'a [u8],
    len_max: usize,
) -> Result<Option<&'a [u8]>, String> {
    if part.is_empty() {
        if let Some(len) = len(rest, len_max)?
            && let Some((message, behind)) = rest.split_at_checked(len)
        {
            *rest = behind;
            return Ok(Some(message));
        }
        part.extend(std::mem::take(rest));
        return Ok(None);
    }
    fill(part, rest, HEADER_LEN);
    let Some(len) = len(part, len_max)? else { return Ok(None) };
    fill(part, rest, len);
    Ok((part.len() == len).then_some(part))
}

/// Moves bytes until there are this many, or no more.
fn fill(part: &mut Vec<u8>, rest: &mut &[u8], len: usize) {
    let missing = len.saturating_sub(part.len()).min(rest.len());
    let (more, behind) = rest.split_at(missing);
    part.extend(more);
    *rest = behind;
}

/// The length of the message that begins here; none if its header is not whole.
fn len(bytes: &[u8], len_max: usize) -> Result<Option<usize>, String> {
    let Some(header) = bytes.first_chunk::<HEADER_LEN>() else { return Ok(None) };
    let [marker @ .., high, low, kind] = header;
    let len = usize::from(u16::from_be_bytes([*high, *low]));
    if *marker != [0xff; 16] {
        return Err("what it sends are no messages: a marker is not all ones".into());
    }
    if !(HEADER_LEN..=len_max).contains(&len) {
        return Err(format!("a message says that it has {len} bytes; none may have"));
    }
    if !(OPEN..=ROUTE_REFRESH).contains(kind) {
        return Err(format!("a message is of the kind {kind}, which there is not"));
    }
    Ok(Some(len))
}

/// The kind of a message that is whole.
pub(crate) fn kind(message: &[u8]) -> u8 {
    message.get(HEADER_LEN - 1).copied().unwrap_or(0)
}

pub(crate) const OPEN: u8 = protocol_bgp::message::Kind::Open as u8;
pub(crate) const UPDATE: u8 = protocol_bgp::message::Kind::Update as u8;
pub(crate) const NOTIFICATION: u8 = protocol_bgp::message::Kind::Notification as u8;
pub(crate) const ROUTE_REFRESH: u8 = protocol_bgp::message::Kind::RouteRefresh as u8;
