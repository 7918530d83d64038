//! Errors and echo replies of ICMPv6 (RFC 4443), made of the packets that they are about. How many
//! may be sent is their users' business.

use std::net::Ipv6Addr;

use packet::{Batch, Slot};
use wire::bytes::{array_at, put_u16};
use wire::{MacAddr, ethernet, icmp, ipv6, protocol};

use super::icmpv4::{Answer, CONTROL_DSCP, TTL, turn};

/// Whether the sender of a packet in a frame without tag may be told about it: not of an error or
/// redirect, not where that cannot be seen (a fragment but the first, broken extension headers),
/// not where the frame came from a group, and not of what comes from no host or goes to a group
/// (RFC 4443 section 2.4).
pub fn may_be_told(frame: &[u8]) -> bool {
    let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
    let Ok(view) = ipv6::View::parse(packet) else { return false };
    let Ok(upper) = view.upper_layer() else { return false };
    let (kind, source) = (upper.payload.first().copied(), view.source());
    let is_of_no_host = source.is_unspecified() || source.is_multicast() || source.is_loopback();
    !(is_of_no_host || view.destination().is_multicast())
        && upper.fragment.is_none_or(|fragment| fragment.offset == 0)
        && frame[ethernet::offset::SOURCE] & 1 == 0
        && (upper.protocol != protocol::ICMPV6 || kind.is_some_and(icmp::v6::is_query))
}

/// Makes a frame with a packet one with an error about it to its sender, by `mac` and `own`, to the
/// station that it came from; false, and the frame is as it was, where there is no room.
pub fn write_error(
    batch: &mut Batch,
    slot: Slot,
    mac: MacAddr,
    own: Ipv6Addr,
    message: icmp::Fields,
) -> bool {
    let packet = batch.frame(slot).get(ethernet::HEADER_LEN..).unwrap_or_default();
    let whole =
        ipv6::View::parse(packet).map(|view| ipv6::HEADER_LEN + usize::from(view.payload_len()));
    let quoted = whole.unwrap_or(packet.len()).min(QUOTED_MAX);
    let Some(frame) = batch.push_front(slot, HEADERS_LEN) else { return false };
    const OLD: usize = HEADERS_LEN + ethernet::offset::SOURCE;
    const OLD_IP: usize = HEADERS_LEN + ethernet::HEADER_LEN;
    let sender = MacAddr(array_at(frame, OLD));
    let destination: Ipv6Addr = array_at::<16>(frame, OLD_IP + ipv6::offset::SOURCE).into();
    let ip = ipv6::Fields {
        traffic_class: CONTROL_DSCP << 2,
        flow_label: 0,
        payload_len: (icmp::HEADER_LEN + quoted) as u16,
        next_header: protocol::ICMPV6,
        hop_limit: TTL,
        source: own,
        destination,
    };
    let ethernet =
        ethernet::Fields { destination: sender, source: mac, ether_type: ethernet::TYPE_IPV6 };
    const IP: usize = ethernet::HEADER_LEN;
    const ICMP: usize = IP + ipv6::HEADER_LEN;
    let len = OLD_IP + quoted;
    let Some(frame) = frame.get_mut(..len) else { return false };
    frame.first_chunk_mut().into_iter().for_each(|header| ethernet.emit(header));
    frame[IP..].first_chunk_mut().into_iter().for_each(|header| ip.emit(header));
    frame[ICMP..].first_chunk_mut().into_iter().for_each(|header| message.emit(header));
    let sum = icmp::checksum_ipv6(own, destination, &frame[ICMP..]);
    put_u16(frame, ICMP + icmp::offset::CHECKSUM, sum);
    batch.truncate(slot, len);
    batch.set_long(slot, None);
    true
}

/// Makes an echo request its reply (RFC 4443 section 4.2). One behind extension headers is none
/// that is answered here.
pub fn answer(frame: &mut [u8], mac: MacAddr) -> Answer {
    const IP: usize = ethernet::HEADER_LEN;
    const ICMP: usize = IP + ipv6::HEADER_LEN;
    let Ok(view) = ipv6::View::parse(frame.get(IP..).unwrap_or_default()) else {
        return Answer::Malformed;
    };
    if view.next_header() != protocol::ICMPV6 {
        return Answer::NoQuestion;
    }
    let message = view.payload();
    let is_sound = icmp::verify_ipv6(view.source(), view.destination(), message);
    if message.len() < icmp::HEADER_LEN || !is_sound {
        return Answer::Malformed;
    }
    if message[..2] != [icmp::v6::ECHO_REQUEST, 0] {
        return Answer::NoQuestion;
    }
    let fields = ipv6::Fields {
        source: view.destination(),
        destination: view.source(),
        hop_limit: TTL,
        ..view.fields()
    };
    frame[IP..].first_chunk_mut().into_iter().for_each(|header| fields.emit(header));
    turn(frame, mac);
    frame[ICMP] = icmp::v6::ECHO_REPLY;
    put_u16(frame, ICMP + icmp::offset::CHECKSUM, 0);
    let message = &frame[ICMP..ICMP + usize::from(fields.payload_len)];
    let sum = icmp::checksum_ipv6(fields.source, fields.destination, message);
    put_u16(frame, ICMP + icmp::offset::CHECKSUM, sum);
    Answer::Answered
}

/// New headers: IPv6 and ICMPv6; the Ethernet header takes the place that these give free.
const HEADERS_LEN: usize = ipv6::HEADER_LEN + icmp::HEADER_LEN;

/// How much of a packet an error quotes: what makes it as long as every link must carry (RFC 4443
/// section 2.4).
const QUOTED_MAX: usize = 1280 - HEADERS_LEN;
