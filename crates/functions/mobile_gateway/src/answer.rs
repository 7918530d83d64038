//! What the gateway answers itself: ARP requests for its address and GTP-U echo requests.
//!
//! The answer is written over the question and leaves by the port on which that came in.

use std::net::Ipv4Addr;

use packet::{Batch, Slot, Verdict};
use stages::arp;
use stages::icmpv4::turn;
use wire::gtpu::{self, GTPU_PORT};
use wire::{ethernet, ipv4, protocol, udp};

use super::gateway::Gateway;
use super::parse::Question;
use super::reasons;

/// Writes the answer to a question and sends it back.
pub(super) fn answer(batch: &mut Batch, slot: Slot, question: Question, gateway: &Gateway) {
    let len = match question {
        Question::Arp => arp::REPLY_LEN,
        Question::Echo { .. } => ECHO_RESPONSE_LEN,
    };
    if !batch.set_frame_len(slot, len) {
        batch.set_verdict(slot, reasons::drop(reasons::TOO_LONG));
        return;
    }
    let frame = batch.frame_mut(slot);
    match question {
        Question::Arp => arp::answer(frame, gateway.mac),
        Question::Echo { from, port, sequence } => {
            answer_echo(frame, gateway, from, port, sequence);
        }
    }
    batch.set_verdict(slot, Verdict::Forward(batch.port(slot)));
}

/// An echo response with the recovery element that it must have (TS 29.281 section 7.2.2); the
/// restart counter of a user plane is always 0 (section 8.2).
fn answer_echo(frame: &mut [u8], gateway: &Gateway, to: Ipv4Addr, port: u16, sequence: u16) {
    let (ethernet, rest) = frame.split_at_mut(ethernet::HEADER_LEN);
    turn(ethernet, gateway.mac);
    let message_len = gtpu::HEADER_LEN_OPTIONAL + RECOVERY.len();
    let (ip_fields, datagram_fields) = headers(gateway, (to, port), message_len);
    let Some((ip, rest)) = rest.split_first_chunk_mut() else { return };
    ip_fields.emit(ip);
    let Some((datagram, rest)) = rest.split_first_chunk_mut() else { return };
    datagram_fields.emit(datagram);
    let Some((header, recovery)) = rest.split_first_chunk_mut() else { return };
    gtpu::Fields {
        message_type: gtpu::MESSAGE_ECHO_RESPONSE,
        length: (OPTIONAL_LEN + RECOVERY.len()) as u16,
        teid: 0,
    }
    .emit_with(
        &gtpu::OptionalFields { sequence: Some(sequence), ..gtpu::OptionalFields::default() },
        header,
    );
    recovery.copy_from_slice(&RECOVERY);
}

/// The headers of a message of GTP-U of the gateway's own, of this length in bytes.
pub(super) fn headers(
    gateway: &Gateway,
    (to, port): (Ipv4Addr, u16),
    message_len: usize,
) -> (ipv4::Fields, udp::Fields) {
    let length = udp::HEADER_LEN + message_len;
    let ip = ipv4::Fields {
        dscp: 0,
        ecn: 0,
        total_len: (ipv4::HEADER_LEN + length) as u16,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: TTL,
        protocol: protocol::UDP,
        source: gateway.ip,
        destination: to,
    };
    let datagram = udp::Fields {
        source_port: GTPU_PORT,
        destination_port: port,
        length: length as u16,
        checksum: udp::CHECKSUM_NONE,
    };
    (ip, datagram)
}

/// Time to live of packets that the gateway makes.
pub(super) const TTL: u8 = 64;

/// The recovery element: type 14, counter 0 (TS 29.281 section 8.2).
const RECOVERY: [u8; 2] = [14, 0];

/// Sequence number, N-PDU number and next extension header type.
const OPTIONAL_LEN: usize = gtpu::HEADER_LEN_OPTIONAL - gtpu::HEADER_LEN;

const ECHO_RESPONSE_LEN: usize = ethernet::HEADER_LEN
    + ipv4::HEADER_LEN
    + udp::HEADER_LEN
    + gtpu::HEADER_LEN_OPTIONAL
    + RECOVERY.len();
