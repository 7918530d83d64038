//! Datagrams in pieces: in order and out of it, both ways, between subscribers, and those that go
//! no further.
use function_cgnat::config::Config;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::{packet, set, set_word, text};
use packet::PortId;
use wire::ipv4::{FLAG_MORE_FRAGMENTS as MORE, HEADER_LEN};
use wire::{icmp, protocol, tcp};

use super::build::{self, changed, datagram_of, query, segment_with};
use super::places::Places;
use super::steps::{Sample, Sent};

/// What a sample reaches by many fragments.
pub(super) struct Reach {
    /// Fragments that wait of one sender, before one more is refused.
    of_one: u32,
    /// The same of all.
    of_all: u32,
    pub limit: bool,
    pub full: bool,
}

/// What fills the room for fragments that wait.
pub(super) struct Many {
    /// Senders that are needed.
    pub senders: u32,
    /// Fragments that may wait of each.
    pub of_one: u32,
}

impl Reach {
    pub fn new(config: &Config, places: &Places) -> Reach {
        let keys = config.fragments;
        let of_all = keys.datagrams.min(keys.waiting);
        let of_one = of_all.min(keys.datagrams_per_sender).min(keys.waiting_per_sender);
        // Datagrams are judged before what waits, and the sender's number before that of all.
        let is_limit = of_one >= keys.datagrams_per_sender
            || of_one < keys.datagrams && of_one >= keys.waiting_per_sender;
        let can_fill = keys.datagrams > 0 && of_all <= FILL_MAX;
        let senders = of_all.div_ceil(of_one.max(1)) + 1;
        Reach {
            of_one,
            of_all,
            limit: keys.datagrams > 0 && of_one <= FILL_MAX && is_limit,
            full: can_fill && (!is_limit || senders as usize <= places.visitors.len()),
        }
    }

    /// How many fragments, of how many senders, reach what can be; none where nothing is.
    pub fn many(&self) -> Option<Many> {
        let senders = if self.full { self.of_all.div_ceil(self.of_one) + 1 } else { 1 };
        (self.limit || self.full).then_some(Many { senders, of_one: self.of_one })
    }
}

/// Pieces in every order, of every protocol, both ways.
pub(super) fn orders(sample: &mut Sample) {
    let (visitor, server) = (sample.visitor(0), sample.server(0));
    let (syn, ack) = (tcp::FLAG_SYN, tcp::FLAG_ACK);
    let (from, to) = ((visitor, 6100), (server, 6200));
    let open = [2, 4, 5, 180, 1, 1, 1, 0];
    let pairs = [
        (datagram_of(from, to, 100), datagram_of(to, from, 100)),
        (
            segment_with(from, to, (syn, &open), &text(80)),
            segment_with(to, from, (syn | ack, &open), &text(80)),
        ),
        (
            query(visitor, server, icmp::v4::ECHO_REQUEST, 6300),
            query(server, visitor, icmp::v4::ECHO_REPLY, 0),
        ),
        (query(visitor, server, 13, 6302), query(server, visitor, icmp::v4::ECHO_REQUEST, 0)),
    ];
    let orders = [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0], [2, 0, 1]];
    for (packet, back) in pairs {
        let opened = sample.inside("a packet in one", &packet);
        for (number, order) in orders.into_iter().enumerate() {
            let out = in_pieces(&packet, number as u16);
            let back = in_pieces(&back, number as u16);
            for index in order {
                sample.inside("a piece of a packet", &out[index]);
            }
            for index in order {
                arrives(sample, (OUTSIDE, opened), "a piece of an answer", &back[index]);
            }
        }
        let [first, _, last] = in_pieces(&packet, 7);
        sample.inside("the first piece of a packet", &first);
        rest(sample);
        sample.inside("its last one, too late", &last);
        rest(sample);
        sample.inside("the first piece, too late for that", &first);
    }
    let bare = build::datagram_without_checksum((visitor, 6101), to);
    for piece in in_pieces(&bare, 7) {
        sample.inside("a piece of a datagram without checksum", &piece);
    }
    let other = datagram_of((sample.visitor(1), 6100), to, 100);
    let ours = datagram_of(from, to, 100);
    for (one, other) in in_pieces(&ours, 9).into_iter().zip(in_pieces(&other, 9)) {
        sample.inside("two subscribers with one identification", &one);
        sample.inside("the other one's", &other);
    }
}

/// Pieces between two subscribers (RFC 4787 REQ-9), of which some live too short.
pub(super) fn hairpins(sample: &mut Sample) {
    let (one, other) = ((sample.visitor(4), 8000), (sample.visitor(5), 8002));
    let server = (sample.server(0), 3478);
    let known = sample.inside("a peer asks for its address", &datagram_of(other, server, 40));
    let [first, second, third] = in_pieces(&datagram_of(one, server, 100), 4);
    let short = changed(&second, set(8, 2));
    let about = "a piece between peers";
    for order in [[&second, &first, &third], [&first, &short, &third], [&short, &third, &first]] {
        for piece in order {
            arrives(sample, (INSIDE, known), about, piece);
        }
        rest(sample);
    }
    let last = changed(&first, set(8, 2));
    arrives(sample, (INSIDE, known), about, &second);
    arrives(sample, (INSIDE, known), "a first piece whose hops end between peers", &last);
}

/// Fragments that are none, hide something, lie over others, or have nowhere to go.
pub(super) fn refusals(sample: &mut Sample) {
    let (visitor, server) = ((sample.visitor(0), 6400), (sample.server(0), 6500));
    let whole = datagram_of(visitor, server, 100);
    let piece =
        |offset: u16, len: usize, more: u16| cut(&whole, (usize::from(offset), len), (more, 11));
    sample.inside("a fragment without data", &piece(8, 0, MORE));
    sample.inside("one in the middle that ends anywhere", &piece(8, 12, MORE));
    let beyond = changed(&piece(0, 24, 0), set_word(6, 0x1fff));
    sample.inside("one beyond the longest datagram", &beyond);
    let syn = segment_with(visitor, server, (tcp::FLAG_SYN, &[1; 12]), &text(40));
    for len in [8, 16, 24] {
        sample.inside("a piece of a TCP header", &cut(&syn, (0, len), (MORE, 12)));
    }
    sample.inside("the rest of a TCP header", &cut(&syn, (8, 16), (MORE, 12)));
    sample.inside("a piece behind TCP's fixed header", &cut(&syn, (24, 16), (MORE, 13)));
    let short = changed(&cut(&syn, (0, 40), (MORE, 14)), |packet| packet[32] = 0x40);
    sample.inside("a first piece with a TCP header of 16 bytes", &short);
    let gre = packet(visitor.0, server.0, 47, &text(48));
    sample.inside("a piece of a protocol without ports", &cut(&gre, (0, 24), (MORE, 15)));
    let error = build::error(visitor.0, server.0, icmp::v4::UNREACHABLE, &whole[..28]);
    sample.inside("a first piece of an ICMP error", &cut(&error, (0, 16), (MORE, 16)));
    sample.inside("a first piece at its last hop", &changed(&piece(0, 24, MORE), set(8, 1)));
    sample.inside("a later piece at its last hop", &changed(&piece(24, 24, MORE), set(8, 1)));
    if let Some(stranger) = sample.places.stranger {
        let strange = datagram_of((stranger, 4000), server, 100);
        sample.inside("a piece of no subscriber", &cut(&strange, (8, 16), (MORE, 17)));
    }
    let nowhere = datagram_of(server, (sample.server(1), 4000), 100);
    sample.outside("a piece for no outside address", &cut(&nowhere, (8, 16), (MORE, 18)));
    let nobody = datagram_of(server, (sample.places.pool, 3), 100);
    for (offset, len, more) in [(24, 24, MORE), (0, 24, MORE), (48, 60, 0)] {
        let about = "a piece for a port that nobody has";
        sample.outside(about, &cut(&nobody, (offset, len), (more, 19)));
    }
}

/// Pieces that lie over one another, and such with many gaps.
pub(super) fn overlaps(sample: &mut Sample) {
    let (visitor, server) = ((sample.visitor(2), 6400), (sample.server(0), 6500));
    let whole = datagram_of(visitor, server, 400);
    let mut identification = 20;
    let mut send = |sample: &mut Sample, about, pieces: &[(usize, usize, u16)]| {
        identification += 1;
        for &(offset, len, more) in pieces {
            sample.inside(about, &cut(&whole, (offset, len), (more, identification)));
        }
        rest(sample);
    };
    let first = (0, 24, MORE);
    send(sample, "a piece twice", &[first, (24, 8, MORE), (24, 8, MORE), first, (32, 40, 0)]);
    send(sample, "a piece over another", &[first, (16, 16, MORE), (24, 8, MORE)]);
    send(sample, "one over others that wait", &[(24, 16, MORE), (32, 16, MORE), first]);
    send(sample, "the first over one that waits", &[(24, 16, MORE), (0, 32, MORE), (0, 24, MORE)]);
    send(sample, "a second end", &[first, (24, 16, 0), (40, 16, 0)]);
    send(sample, "an end before the end", &[first, (64, 16, MORE), (24, 16, 0)]);
    send(sample, "one behind the end", &[first, (32, 16, 0), (48, 16, MORE)]);
    let gaps: Vec<(usize, usize, u16)> = (0..12).map(|gap| (32 + 16 * gap, 8, MORE)).collect();
    send(sample, "one of many gaps", &[&[first], &gaps[..]].concat());
}

/// More fragments that wait than may, of one sender and of all.
pub(super) fn limits(sample: &mut Sample) {
    let Some(Many { senders, of_one }) = Reach::new(&sample.config, &sample.places).many() else {
        return;
    };
    for visitor in 0..senders.min(sample.places.visitors.len() as u32) {
        let whole =
            datagram_of((sample.visitor(visitor as usize), 6600), (sample.server(0), 6700), 100);
        for number in 0..=of_one {
            let piece = cut(&whole, (48, 60), (0, number as u16));
            sample.inside("one of many pieces that wait", &piece);
        }
        let first = cut(&whole, (0, 48), (MORE, 0));
        sample.inside("the first piece of one of them", &first);
        let fresh = cut(&whole, (0, 48), (MORE, 0x8000));
        sample.inside("the first piece of another one", &fresh);
        sample.inside("its last one", &cut(&whole, (48, 60), (0, 0x8000)));
    }
}

/// Waits until no datagram is followed any longer.
pub(super) fn rest(sample: &mut Sample) {
    sample.wait(sample.config.fragments.timeout_s + 0.75);
}

/// A piece for who has the address, and the port, by which an earlier packet left.
pub(super) fn arrives(
    sample: &mut Sample,
    (port, sent): (PortId, Sent),
    about: &'static str,
    piece: &[u8],
) {
    let is_first = u16::from_be_bytes([piece[6], piece[7]]) & 0x1fff == 0;
    let address = (26, 4, 30);
    let parts = match (is_first, piece[9]) {
        (false, _) => vec![address],
        (true, protocol::ICMP) => vec![address, (38, 2, 38)],
        (true, _) => vec![address, (34, 2, 36)],
    };
    sample.answer(port, about, piece, parts.into_iter().map(|part| (sent, part)).collect());
}

/// A packet without options in three pieces.
pub(super) fn in_pieces(packet: &[u8], identification: u16) -> [Vec<u8>; 3] {
    let len = packet.len() - HEADER_LEN;
    let head = if packet[9] == protocol::TCP { 32 } else { 8 };
    let parts = [(0, head, MORE), (head, 8, MORE), (head + 8, len - head - 8, 0)];
    parts.map(|(offset, len, more)| cut(packet, (offset, len), (more, identification)))
}

/// A part of a packet without options.
pub(super) fn cut(
    packet: &[u8],
    (offset, len): (usize, usize),
    (more, identification): (u16, u16),
) -> Vec<u8> {
    let at = HEADER_LEN + offset;
    let mut piece = [&packet[..HEADER_LEN], &packet[at..at + len]].concat();
    let len = piece.len() as u16;
    set_word(2, len)(&mut piece);
    set_word(4, identification)(&mut piece);
    set_word(6, more | (offset / 8) as u16)(&mut piece);
    piece
}

/// Fragments that a sample sends at most to fill a store.
const FILL_MAX: u32 = 128;
