//! Errors and echo replies of ICMP, made of the packets that they are about (RFC 792, RFC 1812
//! sections 4.3.2 and 4.3.3). How many may be sent is their users' business.

use std::net::Ipv4Addr;

use packet::{Batch, Slot};
use wire::bytes::{array_at, put_array, put_u16, u16_at};
use wire::{MacAddr, checksum, ethernet, icmp, ipv4, protocol};

/// What became of a message to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was an echo request, and is now its answer.
    Answered,
    /// It is none that is answered here.
    NoQuestion,
    /// Its checksum is wrong, or it is cut.
    Malformed,
}

/// Whether the sender of a packet in a frame without tag may be told about it: not of an error, not
/// of a fragment but the first, not where the frame came from a group, and not of what comes from
/// no host or goes to none (RFC 1812 section 4.3.2.7).
pub fn may_be_told(frame: &[u8]) -> bool {
    let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
    let Ok(view) = ipv4::View::parse_without_checksum(packet) else { return false };
    let kind = view.payload().first().copied();
    u16_at(frame, ethernet::offset::TYPE) == ethernet::TYPE_IPV4
        && [view.source(), view.destination()].into_iter().all(is_host)
        && view.fragment_offset() == 0
        && frame[ethernet::offset::SOURCE] & 1 == 0
        && (view.protocol() != protocol::ICMP || kind.is_some_and(icmp::v4::is_query))
}

/// Whether an address can be a single host's (RFC 1122 section 3.2.1.3).
pub fn is_host(address: Ipv4Addr) -> bool {
    !matches!(address.octets()[0], 0 | 127 | 224..)
}

/// Makes a frame with a packet one with an error about it to its sender, by `mac` and `own`, to the
/// station that it came from; false, and the frame is as it was, where there is no room.
pub fn write_error(
    batch: &mut Batch,
    slot: Slot,
    mac: MacAddr,
    own: Ipv4Addr,
    message: icmp::Fields,
) -> bool {
    let packet = batch.frame(slot).get(ethernet::HEADER_LEN..).unwrap_or_default();
    let view = ipv4::View::parse_without_checksum(packet);
    let quoted = view.map_or(packet.len(), |view| view.total_len().into()).min(QUOTED_MAX);
    let Some(frame) = batch.push_front(slot, HEADERS_LEN) else { return false };
    const OLD: usize = HEADERS_LEN + ethernet::offset::SOURCE;
    const OLD_IP: usize = HEADERS_LEN + ethernet::HEADER_LEN;
    let sender = MacAddr(array_at(frame, OLD));
    let destination: Ipv4Addr = array_at::<4>(frame, OLD_IP + ipv4::offset::SOURCE).into();
    let ip = ipv4::Fields {
        dscp: CONTROL_DSCP,
        ecn: 0,
        total_len: (HEADERS_LEN + quoted) as u16,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: TTL,
        protocol: protocol::ICMP,
        source: own,
        destination,
    };
    let ethernet =
        ethernet::Fields { destination: sender, source: mac, ether_type: ethernet::TYPE_IPV4 };
    const IP: usize = ethernet::HEADER_LEN;
    const ICMP: usize = IP + ipv4::HEADER_LEN;
    let len = OLD_IP + quoted;
    let Some(frame) = frame.get_mut(..len) else { return false };
    frame.first_chunk_mut().into_iter().for_each(|header| ethernet.emit(header));
    frame[IP..].first_chunk_mut().into_iter().for_each(|header| ip.emit(header));
    frame[ICMP..].first_chunk_mut().into_iter().for_each(|header| message.emit(header));
    let sum = checksum::checksum(&frame[ICMP..]);
    put_u16(frame, ICMP + icmp::offset::CHECKSUM, sum);
    batch.truncate(slot, len);
    batch.set_long(slot, None);
    true
}

/// Makes an echo request its reply: addresses change places, everything else stays (RFC 1122
/// section 3.2.2.6). One with options is none that is answered here.
pub fn answer(frame: &mut [u8], mac: MacAddr) -> Answer {
    const IP: usize = ethernet::HEADER_LEN;
    const ICMP: usize = IP + ipv4::HEADER_LEN;
    let Ok(view) = ipv4::View::parse(frame.get(IP..).unwrap_or_default()) else {
        return Answer::Malformed;
    };
    if view.payload().len() < icmp::HEADER_LEN || !icmp::verify_ipv4(view.payload()) {
        return Answer::Malformed;
    }
    if view.has_options() || view.payload()[..2] != [icmp::v4::ECHO_REQUEST, 0] {
        return Answer::NoQuestion;
    }
    let fields = ipv4::Fields {
        source: view.destination(),
        destination: view.source(),
        ttl: TTL,
        ..view.fields()
    };
    frame[IP..].first_chunk_mut().into_iter().for_each(|header| fields.emit(header));
    turn(frame, mac);
    frame[ICMP] = icmp::v4::ECHO_REPLY;
    put_u16(frame, ICMP + icmp::offset::CHECKSUM, 0);
    let len = usize::from(fields.total_len) - ipv4::HEADER_LEN;
    let sum = checksum::checksum(&frame[ICMP..ICMP + len]);
    put_u16(frame, ICMP + icmp::offset::CHECKSUM, sum);
    Answer::Answered
}

/// Sends a frame back to the station that it came from.
pub fn turn(frame: &mut [u8], mac: MacAddr) {
    frame.copy_within(ethernet::offset::SOURCE..ethernet::offset::TYPE, 0);
    put_array(frame, ethernet::offset::SOURCE, mac.0);
}

/// What time to live a packet of one's own has at the start.
pub const TTL: u8 = 64;

/// The code point of errors and answers to control: CS6 (RFC 1812 section 4.3.2.5, RFC 4594).
pub const CONTROL_DSCP: u8 = 48;

/// New headers: IPv4 and ICMP; the Ethernet header takes the place that these give free.
const HEADERS_LEN: usize = ipv4::HEADER_LEN + icmp::HEADER_LEN;

/// How much of a packet an error quotes: what makes it 576 bytes long (RFC 1812 section 4.3.2.3).
const QUOTED_MAX: usize = 576 - HEADERS_LEN;
