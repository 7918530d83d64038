//! Session descriptions (RFC 8866, before it RFC 4566) in messages from inside: where media shall
//! go.
//!
//! The subscriber's address in `c=` becomes the outside one; the port of each medium in `m=` is
//! mapped, as a pair with the next one where it is RTP, because RTCP comes there (RFC 3550 section
//! 11), unless `a=rtcp` names its port (RFC 3605). Media that are off (port 0), on hold or
//! elsewhere stay, as do `o=`, which is a name and not an address to send to, and candidates of
//! ICE.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;

use super::edit::Text;
use super::text::{address, begins, find, lines, port};
use super::{Mappings, Ports, Protocol, Reason, Work};

/// Finds the media of a description, and maps them.
pub(super) fn scan<M: Mappings>(
    payload: &[u8],
    body: Range<usize>,
    work: &mut Work<'_, M>,
) -> Result<(), Reason> {
    let own = *work.translation.inside.ip();
    let mut session_is_own = false;
    let mut medium: Option<Medium> = None;
    for line in lines(&payload[..body.end], body.start) {
        let text = &payload[line.start..line.end];
        if text.starts_with(b"c=") {
            let Some(at) = ipv4_behind(text, b"c=") else { continue };
            let (ip, len) = address(&text[at..]).ok_or(Reason::Malformed)?;
            let is_own = ip == own;
            match &mut medium {
                None => session_is_own = is_own,
                Some(medium) => medium.is_own = is_own,
            }
            if is_own {
                let place = line.start + at..line.start + at + len;
                work.edits.replace(place, Text::Address(*work.translation.outside.ip()))?;
            }
        } else if text.starts_with(b"m=") {
            if let Some(medium) = medium.take() {
                medium.map(work)?;
            }
            medium = Some(Medium::parse(payload, line.start..line.end, session_is_own)?);
        } else if text.starts_with(RTCP) {
            // Outside of a medium it means nothing (RFC 3605 section 2.1).
            if let Some(medium) = &mut medium {
                medium.rtcp = Some(Rtcp::parse(payload, line.start..line.end)?);
            }
        }
    }
    medium.map_or(Ok(()), |medium| medium.map(work))
}

/// `m=audio 49170 RTP/AVP 0` with what belongs to it.
struct Medium {
    place: Range<usize>,
    port: u16,
    protocol: Protocol,
    is_rtp: bool,
    /// Whether its address, or the session's if it has none, is the subscriber's.
    is_own: bool,
    rtcp: Option<Rtcp>,
}

impl Medium {
    fn parse(payload: &[u8], line: Range<usize>, is_own: bool) -> Result<Medium, Reason> {
        let bad = Reason::Malformed;
        let at = find(payload, line.start, line.end, b' ').ok_or(bad)? + 1;
        let (port, digits) = port(&payload[at..line.end]).ok_or(bad)?;
        let place = at..at + digits;
        if payload[place.end..line.end].starts_with(b"/") {
            // Layers on ports in sequence, which no mapping is asked for.
            return Err(Reason::TooMany);
        }
        let name = find(payload, place.end, line.end, b' ').filter(|&at| at == place.end);
        let name = &payload[name.ok_or(bad)? + 1..line.end];
        let name = name.split(|&byte| byte == b' ').next().unwrap_or_default();
        let is_tcp = begins(name, b"TCP");
        let protocol = if is_tcp { Protocol::Tcp } else { Protocol::Udp };
        let is_rtp = !is_tcp && name.split(|&byte| byte == b'/').any(is_profile_of_rtp);
        Ok(Medium { place, port, protocol, is_rtp, is_own, rtcp: None })
    }

    /// Maps its ports, if it is on and the subscriber's.
    fn map<M: Mappings>(self, work: &mut Work<'_, M>) -> Result<(), Reason> {
        if !self.is_own || self.port == 0 {
            return Ok(());
        }
        let next = self.port.checked_add(1).ok_or(Reason::Malformed);
        let ports = match &self.rtcp {
            _ if !self.is_rtp => Ports::Any,
            Some(rtcp) if next != Ok(rtcp.port) => Ports::SameParity,
            _ => next.map(|_| Ports::Pair)?,
        };
        let outside = work.open(self.protocol, self.port, ports, None)?;
        work.edits.replace(self.place, Text::Number(outside.port().into()))?;
        let Some(rtcp) = self.rtcp else { return Ok(()) };
        let own = *work.translation.inside.ip();
        if rtcp.address.as_ref().is_some_and(|(_, ip)| *ip != own) {
            return Ok(());
        }
        let outside = match ports {
            _ if rtcp.port == self.port => outside,
            Ports::Pair => {
                let next = outside.port().checked_add(1).ok_or(Reason::NoMapping)?;
                SocketAddrV4::new(*outside.ip(), next)
            }
            _ => work.open(self.protocol, rtcp.port, Ports::SameParity, None)?,
        };
        work.edits.replace(rtcp.place, Text::Number(outside.port().into()))?;
        match rtcp.address {
            Some((place, _)) => work.edits.replace(place, Text::Address(*outside.ip())),
            None => Ok(()),
        }
    }
}

/// `a=rtcp:53020 IN IP4 10.0.0.1`, the address perhaps left out (RFC 3605 section 2.1).
struct Rtcp {
    place: Range<usize>,
    port: u16,
    address: Option<(Range<usize>, Ipv4Addr)>,
}

impl Rtcp {
    fn parse(payload: &[u8], line: Range<usize>) -> Result<Rtcp, Reason> {
        let at = line.start + RTCP.len();
        let (port, digits) = port(&payload[at..line.end]).ok_or(Reason::Malformed)?;
        let place = at..at + digits;
        let rest = &payload[place.end..line.end];
        let address = match ipv4_behind(rest, b" ") {
            None => None,
            Some(skipped) => {
                let (ip, len) = address(&rest[skipped..]).ok_or(Reason::Malformed)?;
                let from = place.end + skipped;
                Some((from..from + len, ip))
            }
        };
        Ok(Rtcp { place, port, address })
    }
}

/// Where the address stands of a text that begins so and goes on with `IN IP4 `.
fn ipv4_behind(text: &[u8], front: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(front)?;
    rest.starts_with(NETWORK).then_some(front.len() + NETWORK.len())
}

/// `RTP` or `SAVP`, say, of `UDP/TLS/RTP/SAVPF`.
fn is_profile_of_rtp(part: &[u8]) -> bool {
    part.eq_ignore_ascii_case(b"RTP")
}

/// The network of addresses (RFC 8866 section 5.7).
const NETWORK: &[u8] = b"IN IP4 ";

/// The attribute that names RTCP's port.
const RTCP: &[u8] = b"a=rtcp:";
