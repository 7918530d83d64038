//! Packets that are too long in the other family of addresses, who is told of that, and pieces of
//! datagrams: frames that are written here by hand, beside the model.

use function_cgnat::config::{Config, Fragments, Nat64};
use function_kit::Shard;
use model_cgnat::Cgnat;
use model_kit::check::Expected;
use packet::PortId;
use testkit::pair::Pair;

use crate::frames::{self, INSIDE, OUTSIDE, STATION, checksum};

const SUBSCRIBER: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x17];
/// 64:ff9b::11.55.0.1.
const SERVER: [u8; 16] = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 11, 55, 0, 1];
const OWN: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

fn config(ipv4_mtu: u16, ipv6_mtu: u16) -> Config {
    Config {
        nat64: Some(Nat64 { ipv4_mtu, ipv6_mtu, ..Nat64::default() }),
        inside_ipv6: OWN.into(),
        sessions: 100,
        icmp_errors_per_s: 1,
        icmp_error_burst: 5,
        secret: Some(3),
        ..Config::default()
    }
}

fn word(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

/// A NAT beside its model, and an outside end of the subscriber.
struct Nat {
    pair: Pair<Cgnat>,
    config: Config,
    outside: ([u8; 4], [u8; 2]),
}

impl Nat {
    fn new(config: Config) -> Nat {
        let pair = Pair::new(&config, Shard::WHOLE);
        let mut nat = Nat { pair, config, outside: ([0; 4], [0; 2]) };
        let Ok((OUTSIDE, frame)) = nat.pass(INSIDE, &nat.question(64, 20)) else {
            panic!("it leaves")
        };
        nat.outside = ([frame[26], frame[27], frame[28], frame[29]], [frame[34], frame[35]]);
        nat
    }

    /// What becomes of a packet: the first frame, or the reason for which there is none.
    fn pass(&mut self, port: PortId, packet: &[u8]) -> Result<(PortId, Vec<u8>), String> {
        frames::pass(&mut self.pair, &self.config, (port, STATION), packet)
    }

    /// All frames that a packet became.
    fn pieces(&mut self, port: PortId, packet: &[u8]) -> Vec<Vec<u8>> {
        let (to, first) = self.pass(port, packet).expect("it leaves");
        let others = self.pair.made.iter().map(|one| match one {
            Expected::Forward { port, frame } if *port == to => frame.clone(),
            other => panic!("{other:?}"),
        });
        [first].into_iter().chain(others).collect()
    }

    /// A datagram of the subscriber with so many bytes of data.
    fn question(&self, hops: u8, len: usize) -> Vec<u8> {
        let [high, low] = (len as u16 + 8).to_be_bytes();
        let data: Vec<u8> = (0..len).map(|at| at as u8).collect();
        let mut datagram = [&[0x13, 0x88, 0, 53, high, low, 0, 0][..], &data].concat();
        let sum = checksum(&[&SUBSCRIBER, &SERVER, &[0, 0, high, low, 0, 0, 0, 17], &datagram]);
        datagram[6..8].copy_from_slice(&sum);
        [&[0x60, 0, 0, 0, high, low, 17, hops][..], &SUBSCRIBER, &SERVER, &datagram].concat()
    }

    /// A datagram of the server with so many bytes of data.
    fn answer(&self, flags: u8, len: usize) -> Vec<u8> {
        let [high, low] = (len as u16 + 28).to_be_bytes();
        let ends = [&[11, 55, 0, 1], &self.outside.0[..]].concat();
        let mut ip =
            [&[0x45, 0, high, low, 0xab, 0xcd, flags, 0, 64, 17, 0, 0][..], &ends].concat();
        let sum = checksum(&[&ip]);
        ip[10..12].copy_from_slice(&sum);
        let len = (len as u16 + 8).to_be_bytes();
        let data: Vec<u8> = (0..word(&len, 0) - 8).map(|at| (at * 7) as u8).collect();
        let mut datagram = [&[0, 53][..], &self.outside.1, &len, &[0, 0], &data].concat();
        let sum = checksum(&[&ends, &[0, 17], &len, &datagram]);
        datagram[6..8].copy_from_slice(&sum);
        [ip, datagram].concat()
    }
}

#[test]
fn long_answers_are_cut_and_make_the_whole_again() {
    for (mtu, len, count) in [(1280, 1300, 2), (1280, 1233, 2), (1280, 1232, 1), (1500, 1900, 2)] {
        let mut nat = Nat::new(config(1500, mtu));
        let pieces = nat.pieces(OUTSIDE, &nat.answer(0, len));
        assert_eq!(pieces.len(), count, "{len} bytes of data for {mtu}");
        let mut body = Vec::new();
        for (number, frame) in pieces.iter().enumerate() {
            assert!(frame.len() - 14 <= usize::from(mtu));
            let packet = &frame[14..];
            assert_eq!((word(packet, 4) + 40, packet[7]), (packet.len(), 63));
            assert_eq!(packet[8..40], [SERVER, SUBSCRIBER].concat());
            if count == 1 {
                assert_eq!(packet[6], 17);
                body.extend(&packet[40..]);
                continue;
            }
            let more = usize::from(number + 1 < count);
            assert_eq!((packet[6], packet[40], word(packet, 42)), (44, 17, body.len() | more));
            assert_eq!(packet[44..48], [0, 0, 0xab, 0xcd], "as that of IPv4");
            body.extend(&packet[48..]);
        }
        assert_eq!(body.len(), len + 8);
        let [high, low] = (body.len() as u16).to_be_bytes();
        assert_eq!(
            checksum(&[&SERVER, &SUBSCRIBER, &[0, 0, high, low, 0, 0, 0, 17], &body]),
            [0, 0]
        );
    }
}

#[test]
fn what_every_link_of_ipv6_takes_is_cut_for_a_short_link_of_ipv4() {
    let mut nat = Nat::new(config(576, 1500));
    let pieces = nat.pieces(INSIDE, &nat.question(64, 1280 - 48));
    assert_eq!(pieces.len(), 3);
    let mut body = Vec::new();
    for (number, frame) in pieces.iter().enumerate() {
        let packet = &frame[14..];
        assert_eq!((packet[0], word(packet, 2)), (0x45, packet.len()));
        assert!(packet.len() <= 576 && checksum(&[&packet[..20]]) == [0, 0]);
        let more = if number < 2 { 0x2000 } else { 0 };
        assert_eq!(word(packet, 6), (body.len() / 8) | more);
        assert_eq!(packet[4..6], pieces[0][18..20], "one identification");
        assert_eq!(packet[12..20], [&nat.outside.0[..], &[11, 55, 0, 1]].concat());
        body.extend(&packet[20..]);
    }
    let len = (body.len() as u16).to_be_bytes();
    assert_eq!(checksum(&[&pieces[0][26..34], &[0, 17], &len, &body]), [0, 0]);
}

#[test]
fn who_sends_too_much_is_told_what_passes() {
    let mut nat = Nat::new(config(1400, 1300));
    // A server: 1280 bytes with the header of IPv4.
    let long = nat.answer(0x40, 1281 - 28);
    let Ok((OUTSIDE, told)) = nat.pass(OUTSIDE, &long) else { panic!("it is told") };
    assert_eq!((told[34..36].to_vec(), word(&told, 40)), (vec![3, 4], 1280));
    assert_eq!(told[30..34], [11, 55, 0, 1]);
    assert_eq!(told[42..], long[..548], "as much as makes 576 bytes");
    assert!(nat.pass(OUTSIDE, &nat.answer(0x40, 1280 - 28)).is_ok_and(|(to, _)| to == INSIDE));
    // A subscriber: 1420 bytes with the header of IPv6.
    let long = nat.question(64, 1421 - 48);
    let Ok((INSIDE, told)) = nat.pass(INSIDE, &long) else { panic!("it is told") };
    assert_eq!((told[54..56].to_vec(), word(&told, 58), word(&told, 60)), (vec![2, 0], 0, 1420));
    assert_eq!(told[22..54], [OWN, SUBSCRIBER].concat());
    assert_eq!(told[62..], long[..1232], "as much as makes 1280 bytes");
    let message = &told[54..];
    let [high, low] = (message.len() as u16).to_be_bytes();
    assert_eq!(checksum(&[&OWN, &SUBSCRIBER, &[0, 0, high, low, 0, 0, 0, 58], message]), [0, 0]);
    assert!(nat.pass(INSIDE, &nat.question(64, 1420 - 48)).is_ok_and(|(to, _)| to == OUTSIDE));
    // Nobody has to send less than 1280 bytes over IPv6.
    let mut nat = Nat::new(config(1000, 1300));
    let told = nat.pass(INSIDE, &nat.question(64, 1281 - 48));
    assert!(told.is_ok_and(|(_, told)| told[54] == 2 && word(&told, 60) == 1280));
}

#[test]
fn one_limit_holds_for_errors_of_both_versions() {
    let mut nat = Nat::new(config(1400, 1300));
    let mut last = nat.answer(0, 20);
    last[8] = 1;
    last[10..12].fill(0);
    let sum = checksum(&[&last[..20]]);
    last[10..12].copy_from_slice(&sum);
    for (number, kind) in [(0, 3), (1, 11), (2, 3), (3, 11), (4, 3)] {
        let (port, packet, at) = match kind {
            3 => (INSIDE, nat.question(1, 20), 54),
            _ => (OUTSIDE, last.clone(), 34),
        };
        let Ok((to, told)) = nat.pass(port, &packet) else { panic!("error {number} is told") };
        assert_eq!((to, told[at]), (port, kind));
    }
    assert_eq!(nat.pass(INSIDE, &nat.question(1, 20)), Err("ttl-expired".to_owned()));
    assert_eq!(nat.pass(OUTSIDE, &last), Err("ttl-expired".to_owned()));
}

#[test]
fn pieces_of_ipv6_subscribers_are_followed_and_make_the_whole_again() {
    let fragments = Fragments { datagrams: 16, ..Fragments::default() };
    for (ipv4_mtu, order) in
        [(1500, [0, 1, 2]), (1500, [2, 1, 0]), (600, [0, 1, 2]), (600, [1, 2, 0])]
    {
        let mut nat = Nat::new(Config { fragments, ..config(ipv4_mtu, 1280) });
        let whole = nat.question(64, 2000);
        let body = &whole[40..];
        let pieces = [(0, 800), (800, 800), (1600, 408)].map(|(at, len)| {
            let more = u16::from(at + len < body.len());
            let [[a, b], [c, d]] = [len as u16 + 8, at as u16 | more].map(u16::to_be_bytes);
            let header = [0x60, 0, 0, 0, a, b, 44, 64];
            let fragment = [17, 0, c, d, 0xde, 0xad, 0xbe, 0xef];
            [&header[..], &whole[8..40], &fragment, &body[at..at + len]].concat()
        });
        let mut left = Vec::new();
        for index in order {
            match nat.pass(INSIDE, &pieces[index]) {
                Ok((OUTSIDE, frame)) => left.push(frame),
                Ok(other) => panic!("{other:?}"),
                Err(reason) => assert_eq!(reason, "awaiting-first-fragment"),
            }
            left.extend(nat.pair.made.iter().map(|one| match one {
                Expected::Forward { frame, .. } => frame.clone(),
                other => panic!("{other:?}"),
            }));
        }
        assert_eq!(left.len(), if ipv4_mtu == 600 { 5 } else { 3 });
        let mut data = vec![0; 2008];
        for frame in &left {
            let packet = &frame[14..];
            assert_eq!((packet[8], packet[9], word(packet, 2)), (63, 17, packet.len()));
            assert!(packet.len() <= usize::from(ipv4_mtu) && checksum(&[&packet[..20]]) == [0, 0]);
            assert_eq!((&packet[4..6], &packet[12..20]), (&left[0][18..20], &left[0][26..34]));
            let at = (word(packet, 6) & 0x1fff) * 8;
            let is_last = at + packet.len() - 20 == data.len();
            assert_eq!(word(packet, 6) & 0x2000 == 0, is_last);
            data[at..at + packet.len() - 20].copy_from_slice(&packet[20..]);
        }
        assert_eq!(checksum(&[&left[0][26..34], &[0, 17, 7, 0xd8], &data]), [0, 0], "the whole");
    }
}

#[test]
fn pieces_for_ipv6_subscribers_are_followed_and_make_the_whole_again() {
    let fragments = Fragments { datagrams: 16, ..Fragments::default() };
    for order in [[0, 1, 2], [2, 1, 0]] {
        let mut nat = Nat::new(Config { fragments, ..config(1500, 1280) });
        let whole = nat.answer(0, 3000);
        let body = whole[20..].to_vec();
        let pieces = [(0, 1480), (1480, 1480), (2960, 48)].map(|(at, len)| {
            let more = if at + len < body.len() { 0x2000 } else { 0 };
            let mut packet = [&whole[..20], &body[at..at + len]].concat();
            packet[2..4].copy_from_slice(&(len as u16 + 20).to_be_bytes());
            packet[6..8].copy_from_slice(&((at as u16 / 8) | more).to_be_bytes());
            packet[10..12].fill(0);
            let sum = checksum(&[&packet[..20]]);
            packet[10..12].copy_from_slice(&sum);
            packet
        });
        let mut left = Vec::new();
        for index in order {
            left.extend(nat.pass(OUTSIDE, &pieces[index]).ok().map(|(_, frame)| frame));
            left.extend(nat.pair.made.iter().map(|one| match one {
                Expected::Forward { frame, .. } => frame.clone(),
                other => panic!("{other:?}"),
            }));
        }
        assert_eq!(left.len(), 5, "two of them are cut");
        let mut data = vec![0; 3008];
        for frame in &left {
            let packet = &frame[14..];
            assert!(packet.len() <= 1280);
            assert_eq!((packet[6], packet[7], word(packet, 4) + 40), (44, 63, packet.len()));
            assert_eq!((packet[40], &packet[44..48]), (17, &[0, 0, 0xab, 0xcd][..]));
            assert_eq!(packet[8..40], [SERVER, SUBSCRIBER].concat());
            let (at, body) = (word(packet, 42) & !7, &packet[48..]);
            assert_eq!(word(packet, 42) & 1 == 0, at + body.len() == data.len());
            data[at..at + body.len()].copy_from_slice(body);
        }
        let len = [0, 0, 0x0b, 0xc0, 0, 0, 0, 17];
        assert_eq!(checksum(&[&SERVER, &SUBSCRIBER, &len, &data]), [0, 0], "the whole");
    }
}
