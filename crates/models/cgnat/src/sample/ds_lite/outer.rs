//! Outer packets of softwires in fragments (RFC 6333 section 6.3): in any order, wrong ones, and
//! more than may wait.
use std::net::Ipv6Addr;

use function_cgnat::config::DsLite;
use function_cgnat::ds_lite::AFTR;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::{frame, set, set_word};
use wire::{ethernet, icmp, ipv6, protocol};

use super::super::build::{changed, datagram, datagram_of, query};
use super::super::fragments::{self, Reach, in_pieces};
use super::super::ipv6::{changed_ipv6, extended, packet};
use super::super::softwires::{FIRST, b4};
use super::super::steps::{Sample, Sent};

/// All of them, from nobody's softwire in particular: frames are whole here.
pub(super) fn all(sample: &mut Sample, ds_lite: &DsLite) {
    let parts: [fn(&mut Sample, &DsLite); 5] = [orders, whole, refusals, overlaps, limits];
    for part in parts {
        sample.forget();
        part(sample, ds_lite);
        fragments::rest(sample);
    }
}

/// A fragment of the packet around an inner one: so many of its bytes from an offset on, whether
/// others follow, and the identification.
fn piece(
    outer: &[u8],
    (offset, len): (usize, usize),
    (more, identification): (bool, u8),
) -> Vec<u8> {
    let [high, low] = (offset as u16 | u16::from(more)).to_be_bytes();
    let body = &outer[ipv6::HEADER_LEN..][offset..offset + len];
    let bare = changed_ipv6(&outer[..ipv6::HEADER_LEN], |head| head.extend_from_slice(body));
    extended(&bare, protocol::IPV6_FRAGMENT, [0, 0, high, low, 0, 0, 9, identification])
}

/// An outer packet in three fragments.
fn in_three(outer: &[u8], identification: u8) -> [Vec<u8>; 3] {
    let last = outer.len() - ipv6::HEADER_LEN - 32;
    let parts = [((0, 16), true), ((16, 16), true), ((32, last), false)];
    parts.map(|(part, more)| piece(outer, part, (more, identification)))
}

fn send(sample: &mut Sample, about: &'static str, packet: &[u8]) -> Sent {
    let ends = (sample.config.inside_mac.0, sample.config.inside_next_hop_mac.0);
    sample.frame(INSIDE, about, frame(ends.0, ends.1, ethernet::TYPE_IPV6, packet))
}

/// The packet from a softwire around an inner one.
fn around(sample: &Sample, ds_lite: &DsLite, (softwire, inner): (u16, &[u8])) -> Vec<u8> {
    packet(b4(&sample.config, FIRST + softwire), ds_lite.aftr, protocol::IPV4, inner)
}

/// Datagrams, and pieces of such, whose outer packets come in every order; padding, and options in
/// front.
fn orders(sample: &mut Sample, ds_lite: &DsLite) {
    let (visitor, server) = ((sample.visitor(0), 4000), (sample.server(0), 53));
    let inner = datagram_of(visitor, server, 333);
    let outer = around(sample, ds_lite, (0, &inner));
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for (number, order) in (0..).zip(orders) {
        let pieces = in_three(&outer, number);
        let sent = order.map(|index| send(sample, "an outer fragment", &pieces[index]));
        let [.., last] = sent;
        sample.vlan = FIRST;
        sample.answer_to((OUTSIDE, last), "its answer", &datagram(server, visitor));
        sample.vlan = 0;
    }
    for inner in in_pieces(&inner, 77) {
        let outer = around(sample, ds_lite, (0, &inner));
        if inner.len() < 60 {
            send(sample, "a packet around a small piece", &outer);
            continue;
        }
        for outer in in_three(&outer, 20) {
            send(sample, "a fragment around a piece", &outer);
        }
    }
    let [first, second, third] = in_three(&outer, 30);
    let options = [0, 0, 4, 1, 4, 1, 0, 0];
    send(sample, "an outer fragment behind options", &extended(&first, 60, options));
    send(sample, "one without", &second);
    send(sample, "the last one with padding", &[third, vec![5; 7]].concat());
    for outer in in_three(&around(sample, ds_lite, (1, &inner)), 40) {
        send(sample, "of another softwire with the same hosts", &outer);
    }
}

/// What whole packets are refused for, or too long, counts where they are whole.
fn whole(sample: &mut Sample, ds_lite: &DsLite) {
    let (visitor, server) = ((sample.visitor(0), 4000), (sample.server(0), 53));
    let inner = datagram_of(visitor, server, 200);
    let ping = query(visitor.0, AFTR, icmp::v4::ECHO_REQUEST, 7);
    let ping = [ping, vec![7; 32]].concat();
    let long = datagram_of(visitor, server, 1700);
    for (number, inner) in (0..).zip([
        changed(&inner, set(8, 1)),
        changed(&inner, set(9, 99)),
        {
            let mut inner = inner.clone();
            inner[10] ^= 1;
            inner
        },
        ping,
        inner[..60].to_vec(),
        changed(&long, set_word(6, 0x4000)),
        long,
        changed_ipv6(&inner, set(0, 0x65)),
    ]) {
        for outer in in_three(&around(sample, ds_lite, (0, &inner)), number) {
            send(sample, "a fragment of a packet that is judged as a whole", &outer);
        }
    }
}

/// Fragments that are none, of strangers, around something else, and those that come too late.
fn refusals(sample: &mut Sample, ds_lite: &DsLite) {
    let inner = datagram_of((sample.visitor(0), 4000), (sample.server(0), 53), 200);
    let outer = around(sample, ds_lite, (0, &inner));
    send(sample, "an outer fragment without data", &piece(&outer, (8, 0), (true, 1)));
    send(sample, "one in the middle that ends anywhere", &piece(&outer, (8, 12), (true, 1)));
    let beyond = changed_ipv6(&piece(&outer, (0, 24), (false, 1)), |packet| {
        packet[42..44].copy_from_slice(&[0xff, 0xf8]);
    });
    send(sample, "one beyond the longest packet", &beyond);
    let options = extended(&outer, 60, [0, 0, 4, 1, 4, 1, 0, 0]);
    for piece in in_three(&options, 2) {
        send(sample, "one before further headers", &changed_ipv6(&piece, set(40, 60)));
    }
    let stranger = packet(STRANGER, ds_lite.aftr, protocol::IPV4, &inner);
    for piece in in_three(&stranger, 3) {
        send(sample, "one of a stranger", &piece);
    }
    for piece in in_three(&packet(b4(&sample.config, FIRST), ds_lite.aftr, 41, &outer), 4) {
        send(sample, "one around IPv6", &piece);
    }
    let [first, second, third] = in_three(&outer, 5);
    send(sample, "the first outer fragment", &first);
    send(sample, "the second one", &second);
    fragments::rest(sample);
    send(sample, "the last one, too late", &third);
    send(sample, "the first one again", &first);
    send(sample, "and the second one", &second);
}

/// Fragments that lie over one another, and such with many gaps.
fn overlaps(sample: &mut Sample, ds_lite: &DsLite) {
    let inner = datagram_of((sample.visitor(0), 4000), (sample.server(0), 53), 372);
    let outer = around(sample, ds_lite, (0, &inner));
    let all = outer.len() - ipv6::HEADER_LEN;
    let rest_of = |from: usize| (from, all - from, false);
    let gaps: Vec<(usize, usize, bool)> = (0..12).map(|gap| (32 + 16 * gap, 8, true)).collect();
    let first = (0, 24, true);
    let ways: [&[(usize, usize, bool)]; 7] = [
        &[first, (24, 8, true), (24, 8, true), rest_of(32)],
        &[first, (16, 16, true), (24, 8, true), rest_of(32)],
        &[(24, 16, true), (32, 16, true), first],
        &[first, (24, 16, false), (40, 16, false)],
        &[first, (64, 16, true), (24, 16, false)],
        &[first, (32, 16, false), (48, 16, true)],
        &gaps,
    ];
    for (number, parts) in (0..).zip(ways) {
        for &(offset, len, more) in parts {
            let piece = piece(&outer, (offset, len), (more, 50 + number));
            send(sample, "outer fragments over one another, or far apart", &piece);
        }
        fragments::rest(sample);
    }
}

/// More outer fragments that wait than may, of one subscriber and of all.
fn limits(sample: &mut Sample, ds_lite: &DsLite) {
    let Some(many) = Reach::new(&sample.config, &sample.places).many() else { return };
    let inner = datagram_of((sample.visitor(0), 4000), (sample.server(0), 53), 100);
    for softwire in 0..many.senders {
        let outer = around(sample, ds_lite, (softwire as u16, &inner));
        for number in 0..=many.of_one {
            let [.., last] = in_three(&outer, number as u8);
            send(sample, "one of many outer fragments that wait", &last);
        }
        for piece in in_three(&outer, 200) {
            send(sample, "those of another packet", &piece);
        }
    }
}

/// An address of no network.
pub(super) const STRANGER: Ipv6Addr = Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 9);
