//! RFC 9293 section 3.10.7.1: the segment by which a connection ends that there is not.
use model_kit::host::{internet_sum, word};

/// The answer to a segment right behind its header of IP, and that behind its frame's; none to a
/// reset.
pub(super) fn answer(header: &[u8], packet: &[u8]) -> Option<Vec<u8>> {
    let is_v4 = packet[0] >> 4 == 4;
    let ip_len = if is_v4 { 20 } else { 40 };
    let is_plain = if is_v4 { packet[0] == 0x45 } else { packet[6] == 6 };
    let segment = packet.get(ip_len..).filter(|segment| is_plain && segment.len() >= 20)?;
    let data = segment.get(usize::from(segment[12] / 16) * 4..)?;
    let flags = segment[13];
    if flags & 4 != 0 {
        return None;
    }
    let number = |at: usize| u32::from(word(segment, at)) << 16 | u32::from(word(segment, at + 2));
    let [is_syn, is_fin] = [2, 1].map(|flag| u32::from(flags & flag != 0));
    let taken = number(4).wrapping_add(data.len() as u32 + is_syn + is_fin);
    let (sequence, acknowledgment, said) =
        if flags & 16 != 0 { (number(8), 0u32, 4) } else { (0, taken, 20) };
    let mut reset = [&segment[2..4], &segment[..2], &sequence.to_be_bytes()].concat();
    reset.extend(acknowledgment.to_be_bytes());
    reset.extend([0x50, said, 0, 0, 0, 0, 0, 0]);
    let (from, to) = match is_v4 {
        true => (&packet[16..20], &packet[12..16]),
        false => (&packet[24..40], &packet[8..24]),
    };
    let sum = !internet_sum(&[from, to, &[0, 6, 0, 20], &reset].concat());
    reset[16..18].copy_from_slice(&sum.to_be_bytes());
    let mut ip = match is_v4 {
        true => vec![0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0],
        false => vec![0x60, 0, 0, 0, 0, 20, 6, 64],
    };
    ip.extend([from, to].concat());
    if is_v4 {
        let sum = !internet_sum(&ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    Some([&header[6..12], &header[..6], &header[12..14], &ip, &reset].concat())
}
