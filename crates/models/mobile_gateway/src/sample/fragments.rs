//! Packets for the gateway in fragments: in every order, with what is wrong about them, and more
//! than there is room for.

use std::time::Duration;

use function_mobile_gateway::config::{Fragments, Tunnel};
use function_mobile_gateway::gateway::{ACCESS, CORE};
use model_kit::check::Step;
use wire::bytes::put_u16;
use wire::{ethernet, gtpu, ipv4};

use super::build::mend;
use super::steps::Sample;
use crate::catalogue;

/// Everything that fragments can be.
pub(super) fn fragments(sample: &mut Sample) {
    orders(sample);
    faults(sample);
    times(sample);
    senders(sample);
    if sample.config().tunnel() == Tunnel::GtpU {
        echo(sample);
    }
}

/// Drop reasons that they do not reach, each with the cause.
pub(super) fn unreachable(config: &Fragments) -> Vec<(&'static str, &'static str)> {
    let mut reasons = Vec::new();
    if config.datagrams == 0 {
        let names = [
            "fragment-malformed",
            "fragment-overlap",
            "fragment-scattered",
            "awaiting-fragments",
            "fragment-limit",
            "fragments-full",
            "too-long",
        ];
        reasons.extend(names.map(|name| (name, "no fragments are reassembled")));
        return reasons;
    }
    reasons.push(("ip-fragment", "fragments are reassembled"));
    let of_one = config.datagrams_per_sender.min(config.waiting_per_sender);
    let of_all = config.datagrams.min(config.waiting);
    if of_one >= LONE || of_one > of_all {
        reasons.push(("fragment-limit", "a sender may have more fragments than a sample has"));
    }
    if of_all >= SENDERS * of_one.min(LONE) {
        reasons.push(("fragments-full", "there is room for more fragments than a sample has"));
    }
    reasons
}

/// Two and three fragments in every order; from the Internet's side, and with padding.
fn orders(sample: &mut Sample) {
    let whole = tunnelled(sample, 400);
    let end = whole.len() - HEAD;
    for (about, order) in [
        ("fragments in their order", &[(0, 200), (200, end)][..]),
        ("the last fragment first", &[(200, end), (0, 200)]),
        ("three fragments in their order", &[(0, 104), (104, 208), (208, end)]),
        ("the first fragment last", &[(208, end), (104, 208), (0, 104)]),
        ("the middle fragment last", &[(0, 104), (208, end), (104, 208)]),
    ] {
        let pieces = in_pieces(sample, &whole, order);
        send(sample, about, pieces);
    }
    let mut pieces = in_pieces(sample, &whole, &[(0, 200), (200, end)]);
    pieces[1].extend([0; 7]);
    send(sample, "fragments with padding", pieces);
    let pieces = in_pieces(sample, &whole, &[(0, 200), (200, end)]);
    sample.core("the first fragment from the Internet's side", pieces[0].clone());
    let last = pieces[1].clone();
    sample.frame_at_once(CORE, "the last fragment from the Internet's side", last);
}

/// Fragments that are none, lie over one another, or are too far apart.
fn faults(sample: &mut Sample) {
    let whole = tunnelled(sample, 400);
    let end = whole.len() - HEAD;
    let pieces = in_pieces(sample, &whole, &[(0, 200), (0, 200), (200, end)]);
    send(sample, "a fragment that is repeated", pieces);
    let pieces = in_pieces(sample, &whole, &[(0, 200), (192, end), (200, end), (0, 200)]);
    send(sample, "a fragment over another", pieces);
    let pieces = in_pieces(sample, &whole, &[(200, end), (0, 200)]);
    let mut odd = pieces.clone();
    odd[1].pop();
    put_u16(&mut odd[1], ethernet::HEADER_LEN + ipv4::offset::TOTAL_LEN, 20 + 199);
    mend(&mut odd[1][ethernet::HEADER_LEN..]);
    send(sample, "a fragment that ends at no unit", odd);
    for (about, at, payload) in [
        ("a fragment without data", 8, 0),
        ("a fragment beyond the longest packet", 0xfff8, 16),
        ("a fragment of a packet longer than a frame", 2000, 16),
        ("the last fragment of the longest frame", 1976, 4),
        ("the last fragment of a frame that is longer by one", 1976, 5),
    ] {
        let lone = piece(number(sample), &whole[..HEAD], (at, false), &[7; 16][..payload]);
        send(sample, about, vec![lone]);
    }
    let id = number(sample);
    let apart = (1..10).map(|one| {
        let at = 16 * one;
        piece(id, &whole[..HEAD], (at, true), &whole[HEAD + at..HEAD + at + 8])
    });
    let apart = apart.collect();
    send(sample, "fragments with many gaps", apart);
}

/// Fragments that wait in vain.
fn times(sample: &mut Sample) {
    let whole = tunnelled(sample, 400);
    let end = whole.len() - HEAD;
    let pieces = in_pieces(sample, &whole, &[(0, 200), (200, end)]);
    let timeout = Duration::from_secs_f64(sample.config().fragments.timeout_s);
    let brief = Duration::from_millis(10);
    sample.steps.push(Step::Wait(sample.pause));
    for wait in [timeout - brief, timeout + brief] {
        sample.frame_at_once(ACCESS, "a first fragment", pieces[0].clone());
        sample.steps.push(Step::Wait(wait));
        sample.frame_at_once(ACCESS, "a last fragment after a time", pieces[1].clone());
        rest(sample);
    }
}

/// Senders with more fragments than they may have, and all of them with more than there is room
/// for.
fn senders(sample: &mut Sample) {
    let whole = tunnelled(sample, 400);
    rest(sample);
    let mut id = number(sample);
    for sender in 0..SENDERS {
        let mut header = whole[..HEAD].to_vec();
        header[HEAD - 5] = 100 + sender as u8;
        for _ in 0..LONE {
            let lone = piece(id, &header, (0, true), &whole[HEAD..HEAD + 104]);
            sample.frame_at_once(ACCESS, "one of many fragments", lone);
            id += 1;
        }
    }
    rest(sample);
    // The same identification of two senders.
    let pieces = in_pieces(sample, &whole, &[(0, 200), (200, whole.len() - HEAD)]);
    let mut other = pieces[1].clone();
    let [a, b, c, _] = catalogue::base_station_ipv4(sample.visitor.base_station).octets();
    other[HEAD - 8..HEAD - 4].copy_from_slice(&[a, b, c, 99]);
    mend(&mut other[ethernet::HEADER_LEN..]);
    let all = vec![pieces[0].clone(), other, pieces[1].clone()];
    send(sample, "a fragment of another sender with the same number", all);
}

/// A question to the gateway in fragments.
fn echo(sample: &mut Sample) {
    let mut message = [0; gtpu::ECHO_REQUEST_LEN + 40];
    let mut request = [0; gtpu::ECHO_REQUEST_LEN];
    gtpu::emit_echo_request(0x4321, &mut request);
    message[..request.len()].copy_from_slice(&request);
    let len = (message.len() - gtpu::HEADER_LEN) as u16;
    put_u16(&mut message, 2, len);
    let whole = sample.make.datagram_from(&sample.visitor, &message);
    let pieces = in_pieces(sample, &whole, &[(0, 16), (16, whole.len() - HEAD)]);
    send(sample, "GTP: echo request in fragments", pieces);
}

/// A packet of the visitor in its tunnel.
fn tunnelled(sample: &Sample, len: u16) -> Vec<u8> {
    sample.make.tunnelled(&sample.visitor, &sample.make.packet(&sample.visitor, true, len))
}

/// The parts of a frame's payload from one byte to before another, as fragments.
pub(super) fn in_pieces(sample: &Sample, whole: &[u8], parts: &[(usize, usize)]) -> Vec<Vec<u8>> {
    let (id, end) = (number(sample), whole.len() - HEAD);
    let part = |&(from, to): &(usize, usize)| {
        piece(id, &whole[..HEAD], (from, to < end), &whole[HEAD + from..HEAD + to])
    };
    parts.iter().map(part).collect()
}

/// One fragment with the headers of a frame, and whether others follow.
fn piece(id: u16, headers: &[u8], (from, more): (usize, bool), bytes: &[u8]) -> Vec<u8> {
    let mut frame = [headers, bytes].concat();
    let packet = &mut frame[ethernet::HEADER_LEN..];
    let more = if more { ipv4::FLAG_MORE_FRAGMENTS } else { 0 };
    put_u16(packet, ipv4::offset::IDENTIFICATION, id);
    put_u16(packet, ipv4::offset::FLAGS_FRAGMENT, more | (from / 8) as u16);
    put_u16(packet, ipv4::offset::TOTAL_LEN, (ipv4::HEADER_LEN + bytes.len()) as u16);
    mend(packet);
    frame
}

/// An identification that no packet before had.
fn number(sample: &Sample) -> u16 {
    sample.steps.len() as u16
}

/// Frames at once, after a pause, and then time enough for all to be forgotten.
pub(super) fn send(sample: &mut Sample, about: &'static str, frames: Vec<Vec<u8>>) {
    sample.steps.push(Step::Wait(sample.pause));
    for frame in frames {
        sample.frame_at_once(ACCESS, about, frame);
    }
    rest(sample);
}

fn rest(sample: &mut Sample) {
    let timeout = Duration::from_secs_f64(sample.config().fragments.timeout_s);
    sample.steps.push(Step::Wait(timeout + sample.pause));
}

/// Where the payload of a packet without options begins in a frame.
const HEAD: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;

/// Senders of lone fragments, and how many each sends.
const SENDERS: u32 = 4;
const LONE: u32 = 8;
