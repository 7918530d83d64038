//! The slow models of circuits, limits and mirrors.
use std::net::Ipv4Addr;
use std::time::Duration;

use function_l2_switch::config::features::{
    Attachment, Class, Direction, Erspan, ErspanType, Mirror, Storm,
};
use function_l2_switch::storm::{BURST_MIN, BURST_S, BURST_SHORT, FRAME_WIRE_BYTES, WIRE_OVERHEAD};
use wire::MacAddr;

/// A frame without the tags of its circuit, and the priorities that those had.
pub(super) struct Plain {
    pub frame: Vec<u8>,
    pub priorities: Vec<u8>,
}

/// The most specific circuit that takes a frame of its port: IEEE 802.1Q clause 6.9.
pub(super) fn circuit_of<'a>(
    circuits: impl Iterator<Item = (usize, &'a Attachment)> + Clone,
    frame: &[u8],
) -> Result<(usize, Plain), &'static str> {
    let word = |at: usize| frame.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
    let kind = word(12).ok_or("truncated")?;
    let plain = |count: usize| Plain {
        frame: [&frame[..12], &frame[12 + 4 * count..]].concat(),
        priorities: (0..count).map(|tag| frame[14 + 4 * tag] & 0xf0).collect(),
    };
    let find = |is_it: &dyn Fn(&Attachment) -> bool| {
        circuits.clone().find(|(_, one)| is_it(one)).map(|(number, _)| number)
    };
    let any = find(&|one| one.vlan.is_none() && !one.untagged);
    let untagged = find(&|one| one.untagged);
    let looks_at_tags = find(&|one| one.vlan.is_some() || one.untagged).is_some();
    if !matches!(kind, 0x8100 | 0x88a8) || !looks_at_tags {
        return untagged.or(any).map(|number| (number, plain(0))).ok_or("unattached");
    }
    let vlan = word(14).filter(|_| frame.len() >= 18).ok_or("truncated")? & 0xfff;
    if vlan == 0
        && let Some(number) = untagged
    {
        return Ok((number, plain(1)));
    }
    let is_outer = |one: &Attachment| one.vlan == Some(vlan) && one.tpid.ether_type() == kind;
    let asks_for_inner = find(&|one| is_outer(one) && one.inner_vlan.is_some()).is_some();
    if asks_for_inner && word(16) == Some(0x8100) {
        let inner = word(18).filter(|_| frame.len() >= 22).ok_or("truncated")? & 0xfff;
        if let Some(number) = find(&|one| is_outer(one) && one.inner_vlan == Some(inner)) {
            return Ok((number, plain(2)));
        }
    }
    if let Some(number) = find(&|one| is_outer(one) && one.inner_vlan.is_none()) {
        return Ok((number, plain(1)));
    }
    any.map(|number| (number, plain(0))).ok_or("unattached")
}

/// The frame as it leaves by a circuit: a tag keeps the priority of the one in its place, or of the
/// outer one where there was no other.
pub(super) fn as_leaving(circuit: &Attachment, plain: &Plain) -> Vec<u8> {
    let outer = circuit.vlan.map(|vlan| (circuit.tpid.ether_type(), vlan));
    let inner = circuit.inner_vlan.map(|vlan| (0x8100, vlan));
    let mut frame = plain.frame[..12].to_vec();
    for (tag, (kind, vlan)) in [outer, inner].into_iter().flatten().enumerate() {
        let priority = plain.priorities.get(tag).or(plain.priorities.first()).copied();
        let value = u16::from(priority.unwrap_or(0)) << 8 | vlan;
        frame.extend(kind.to_be_bytes());
        frame.extend(value.to_be_bytes());
    }
    frame.extend(&plain.frame[12..]);
    frame
}

/// A token bucket: what is in it, in cost units, as of a time.
pub(super) struct Bucket {
    rate: f64,
    burst: f64,
    /// Whether a frame costs its bytes on the wire.
    counts_bytes: bool,
    tokens: f64,
    at_s: f64,
}

impl Bucket {
    pub(super) fn of_storm(storm: &Storm, class: Class) -> Option<Bucket> {
        storm.limit(class).map(|(rate, counts_bytes)| Bucket::new(rate, counts_bytes))
    }

    pub(super) fn new(rate: f64, counts_bytes: bool) -> Bucket {
        let frame = if counts_bytes { FRAME_WIRE_BYTES } else { 1.0 };
        let burst = ((rate * BURST_S / frame).floor().max(BURST_MIN) - BURST_SHORT) * frame;
        Bucket { rate, burst, counts_bytes, tokens: burst, at_s: 0.0 }
    }

    /// Takes a frame's cost, by debt if need be, unless there is debt already.
    pub(super) fn admits(&mut self, len: usize, now_s: f64) -> bool {
        self.tokens = (self.tokens + (now_s - self.at_s) * self.rate).min(self.burst);
        self.at_s = now_s;
        let admits = self.tokens >= 0.0;
        if admits {
            let bytes = (len + WIRE_OVERHEAD as usize) as f64;
            self.tokens -= if self.counts_bytes { bytes } else { 1.0 };
        }
        admits
    }
}

/// A mirror, the number of its next copy, and when it was set.
pub(super) struct Watch {
    pub mirror: Mirror,
    pub sequence: u32,
    pub since: Duration,
}

impl Watch {
    /// The copy of a frame.
    pub(super) fn copy(&mut self, frame: &[u8], now: Duration) -> Vec<u8> {
        let Some(to) = self.mirror.erspan else { return frame.to_vec() };
        let sequence = self.sequence;
        self.sequence += 1;
        // To the nearest 100 ns.
        let time = ((now - self.since).as_nanos() + 50) / 100;
        wrapped(&to, &self.mirror, (sequence, time as u32), frame)
    }
}

/// draft-foschiano-erspan-03 sections 4.2 and 4.3, RFC 2784, RFC 2890, RFC 791.
fn wrapped(to: &Erspan, mirror: &Mirror, (sequence, time): (u32, u32), frame: &[u8]) -> Vec<u8> {
    let kind = frame.get(12..14).filter(|_| frame.len() >= 16);
    let tag = match kind {
        Some([0x81, 0x00] | [0x88, 0xa8]) => Some(u16::from_be_bytes([frame[14], frame[15]])),
        _ => None,
    };
    let encapsulation = if tag.is_some() { 3 << 11 } else { 0 };
    let tag = tag.unwrap_or(0);
    let direction = u32::from(mirror.direction == Direction::Transmit);
    let port = u32::from(mirror.port.id().0);
    let protocol = if to.kind == ErspanType::Ii { [0x88, 0xbe] } else { [0x22, 0xeb] };
    let mut inside = [&[0x10, 0x00][..], &protocol, &sequence.to_be_bytes()].concat();
    match to.kind {
        ErspanType::Ii => {
            inside.extend((0x1000 | tag & 0xfff).to_be_bytes());
            inside.extend(((tag & 0xe000) | encapsulation | to.session).to_be_bytes());
            inside.extend((port * 2 + direction).to_be_bytes());
        }
        ErspanType::Iii => {
            inside.extend((0x2000 | tag & 0xfff).to_be_bytes());
            inside.extend(((tag & 0xe000) | to.session).to_be_bytes());
            inside.extend(time.to_be_bytes());
            // An Ethernet frame, where it was, in units of 100 ns.
            inside.extend((0x8000 | port << 4 | direction << 3 | 0b010).to_be_bytes());
        }
    }
    inside.extend(frame);
    let [MacAddr(destination), MacAddr(source)] = [to.destination_mac.0, to.source_mac.0];
    let header = ipv4(to.source, to.destination, inside.len());
    [&destination[..], &source, &[0x08, 0x00], &header, &inside].concat()
}

fn ipv4(source: Ipv4Addr, destination: Ipv4Addr, payload_len: usize) -> Vec<u8> {
    let len = (20 + payload_len) as u16;
    let mut header = vec![0x45, 0, (len >> 8) as u8, len as u8, 0, 0, 0x40, 0, 64, 47, 0, 0];
    header.extend(source.octets());
    header.extend(destination.octets());
    let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    header
}
