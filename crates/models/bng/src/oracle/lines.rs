//! Frames of lines: tags and PPPoE read and put in front, byte by byte.

use function_bng::config::{Config, Line, OuterTag, Pppoe, Tags};
use model_kit::host::word;
use wire::MacAddr;

/// A frame behind its tags.
pub(super) struct Untagged<'a> {
    pub line: Line,
    pub ether_type: u16,
    pub content: &'a [u8],
}

/// IEEE 802.1Q section 9: the line that the tags of a frame name.
pub(super) fn untag<'a>(config: &Config, frame: &'a [u8]) -> Result<Untagged<'a>, &'static str> {
    let next =
        |at: usize| if frame.len() < at + 2 { Err("truncated") } else { Ok(word(frame, at)) };
    let vlan = |at: usize| word(frame, at) & 0xfff;
    let is_service = config.outer_tag == OuterTag::Service;
    let first = next(12)?;
    let (tags, ids, at) = match first {
        0x88a8 if is_service => {
            if next(16)? != 0x8100 {
                return Err("unknown-vlan");
            }
            next(20)?;
            (Tags::Two, [vlan(14), vlan(18)], 20)
        }
        0x8100 if !is_service && next(16)? == 0x8100 => {
            next(20)?;
            (Tags::Two, [vlan(14), vlan(18)], 20)
        }
        0x8100 => {
            next(16)?;
            (Tags::One, [0, vlan(14)], 16)
        }
        0x88a8 => {
            next(16)?;
            return Err("unknown-vlan");
        }
        _ => (Tags::None, [0, 0], 12),
    };
    let used = match tags {
        Tags::None => &ids[..0],
        Tags::One => &ids[1..],
        Tags::Two => &ids[..],
    };
    let is_wrong = used.iter().any(|id| [0, 4095].contains(id));
    if is_wrong || !config.tags.contains(&tags) {
        return Err("unknown-vlan");
    }
    let line = Line { outer: ids[0], inner: ids[1] };
    Ok(Untagged { line, ether_type: word(frame, at), content: &frame[at + 2..] })
}

/// A frame of a line, of this type.
pub(super) fn tagged(
    config: &Config,
    [to, from]: [MacAddr; 2],
    line: Line,
    ether_type: u16,
    content: &[u8],
) -> Vec<u8> {
    let outer: u16 = if config.outer_tag == OuterTag::Service { 0x88a8 } else { 0x8100 };
    let mut frame = [to.0, from.0].concat();
    for (kind, id) in [(outer, line.outer), (0x8100, line.inner)] {
        if id != 0 {
            frame.extend([kind.to_be_bytes(), id.to_be_bytes()].concat());
        }
    }
    frame.extend(ether_type.to_be_bytes());
    frame.extend(content);
    frame
}

/// RFC 2516 section 4: the code, the session and the payload of a frame.
pub(super) fn read_pppoe(content: &[u8]) -> Result<(u8, u16, &[u8]), &'static str> {
    if content.len() < 6 || content[0] != 0x11 {
        return Err("pppoe-malformed");
    }
    let payload = content[6..].get(..word(content, 4).into()).ok_or("pppoe-malformed")?;
    Ok((content[1], word(content, 2), payload))
}

/// RFC 2516 section 5, RFC 1332 section 2, RFC 5072 section 3: a packet in its session.
pub(super) fn in_session(pppoe: Pppoe, is_ipv4: bool, packet: &[u8]) -> Vec<u8> {
    let protocol: u16 = if is_ipv4 { 0x0021 } else { 0x0057 };
    let len = packet.len() as u16 + 2;
    let mut content = vec![0x11, 0];
    content.extend([pppoe.id, len, protocol].map(u16::to_be_bytes).concat());
    content.extend(packet);
    content
}
