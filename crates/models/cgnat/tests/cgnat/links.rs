//! Packets of IPv4 that are longer than links take (RFC 4787 REQ-13): frames that are written here
//! by hand, beside the model.

use function_cgnat::config::{Config, Fragments, Nat64, SiitConfig};
use function_cgnat::reasons::Tally;
use function_kit::Shard;
use model_cgnat::Cgnat;
use model_cgnat::Traffic;
use model_kit::Configured;
use model_kit::check::Expected;
use packet::PortId;
use testkit::pair::Pair;

use crate::frames::{self, INSIDE, OUTSIDE, STATION, checksum, mended, traffic};

type Host = ([u8; 4], [u8; 2]);

const ONE: Host = ([10, 0, 0, 5], [0x13, 0x88]);
const OTHER: Host = ([10, 0, 0, 6], [0x17, 0x70]);
const SERVER: Host = ([11, 55, 0, 1], [0, 53]);

/// A NAT beside its model.
struct Nat {
    pair: Pair<Cgnat>,
    config: Config,
}

impl Nat {
    fn new((inside_mtu, outside_mtu): (u16, u16)) -> Nat {
        Nat::with(Config { inside_mtu, outside_mtu, ..Config::default() })
    }

    fn with(base: Config) -> Nat {
        let config = Config {
            sessions: 100,
            icmp_errors_per_s: 1,
            icmp_error_burst: 3,
            secret: Some(3),
            ..base
        };
        let pair = Pair::new(&config, Shard::WHOLE);
        Nat { pair, config }
    }

    /// What becomes of a packet: the first frame, or the reason for which there is none.
    fn pass(&mut self, port: PortId, packet: &[u8]) -> Result<(PortId, Vec<u8>), String> {
        frames::pass(&mut self.pair, &self.config, (port, STATION), packet)
    }

    /// All packets that one became, which leave by a port.
    fn pieces(&mut self, port: PortId, packet: &[u8], to: PortId) -> Vec<Vec<u8>> {
        let (left, first) = self.pass(port, packet).expect("it leaves");
        assert_eq!(left, to);
        let others = self.pair.made.iter().map(|one| match one {
            Expected::Forward { port, frame } if *port == to => frame.clone(),
            other => panic!("{other:?}"),
        });
        [first].into_iter().chain(others).map(|frame| frame[14..].to_vec()).collect()
    }

    /// The outside end of a subscriber, which it gets for a short packet.
    fn outside(&mut self, of: Host) -> Host {
        let left = self.pieces(INSIDE, &datagram(of, SERVER, 0, 20), OUTSIDE);
        let left = &left[0];
        ([left[12], left[13], left[14], left[15]], [left[20], left[21]])
    }

    /// The longest packet that passes, as the sender of one is told, and from where.
    fn told(&mut self, port: PortId, packet: &[u8]) -> usize {
        let (to, frame) = self.pass(port, packet).expect("it is told");
        let own = [self.config.inside_ip, self.config.outside_ip][usize::from(port.0)].octets();
        let error = &frame[14..];
        assert_eq!((to, &error[12..20]), (port, &[&own, &packet[12..16]].concat()[..]));
        assert_eq!((&error[20..22], checksum(&[&error[20..]])), (&[3, 4][..], [0, 0]));
        assert_eq!(error[28..], packet[..548], "as it was sent");
        word(error, 26)
    }

    fn count(&mut self, tally: Tally) -> u64 {
        self.pair.device_mut().counts().tallies[tally as usize]
    }
}

fn word(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

/// A datagram with so many bytes of data.
fn datagram(from: Host, to: Host, flags: u8, len: usize) -> Vec<u8> {
    let [high, low] = (len as u16 + 28).to_be_bytes();
    let ends = [from.0, to.0].concat();
    let ip = [&[0x45, 0, high, low, 0xab, 0xcd, flags, 0, 64, 17, 0, 0][..], &ends].concat();
    let [high, low] = (len as u16 + 8).to_be_bytes();
    let data: Vec<u8> = (0..len).map(|at| (at * 7) as u8).collect();
    let mut datagram = [&from.1[..], &to.1, &[high, low, 0, 0], &data].concat();
    let sum = checksum(&[&ends, &[0, 17, high, low], &datagram]);
    datagram[6..8].copy_from_slice(&sum);
    mended([ip, datagram].concat())
}

/// The datagram of which these are the pieces, in their order, between two ends.
fn whole(pieces: &[Vec<u8>], mtu: usize, ends: (Host, Host)) -> Vec<u8> {
    let mut body = Vec::new();
    for (number, packet) in pieces.iter().enumerate() {
        let header = usize::from(packet[0] & 15) * 4;
        assert!(packet.len() <= mtu && word(packet, 2) == packet.len());
        assert_eq!((packet[8], checksum(&[&packet[..header]])), (63, [0, 0]));
        assert_eq!(packet[12..20], [ends.0.0, ends.1.0].concat());
        assert_eq!(packet[4..6], pieces[0][4..6], "one identification");
        let more = if number + 1 < pieces.len() { 0x2000 } else { 0 };
        assert_eq!(word(packet, 6), (body.len() / 8) | more);
        body.extend(&packet[header..]);
    }
    assert_eq!(body[..4], [ends.0.1, ends.1.1].concat());
    let len = (body.len() as u16).to_be_bytes();
    assert_eq!(checksum(&[&pieces[0][12..20], &[0, 17], &len, &body]), [0, 0], "the whole");
    body
}

#[test]
fn what_may_be_cut_is_cut_in_order_both_ways() {
    let mut nat = Nat::new((600, 1000));
    let outside = nat.outside(ONE);
    let out = nat.pieces(INSIDE, &datagram(ONE, SERVER, 0, 1900), OUTSIDE);
    assert_eq!(out.len(), 2);
    whole(&out, 1000, (outside, SERVER));
    let again = nat.pieces(INSIDE, &datagram(ONE, SERVER, 0, 1900), OUTSIDE);
    assert_ne!(again[0][4..6], out[0][4..6], "another datagram of an address that is shared");
    let back = nat.pieces(OUTSIDE, &datagram(SERVER, outside, 0, 1900), INSIDE);
    assert_eq!((back.len(), &back[0][4..6]), (4, &[0xab, 0xcd][..]));
    whole(&back, 600, (SERVER, ONE));
    assert_eq!(nat.count(Tally::PacketsCut), 3);
    // What just fits stays whole.
    for (port, to, packet) in [
        (INSIDE, OUTSIDE, datagram(ONE, SERVER, 0, 972)),
        (OUTSIDE, INSIDE, datagram(SERVER, outside, 0, 572)),
    ] {
        let left = nat.pieces(port, &packet, to);
        assert_eq!((left.len(), &left[0][4..8]), (1, &[0xab, 0xcd, 0, 0][..]));
    }
}

#[test]
fn who_sends_too_much_that_may_not_be_cut_is_told_what_passes() {
    let mut nat = Nat::new((600, 1000));
    // It opens no session and takes no port.
    assert_eq!(nat.told(INSIDE, &datagram(ONE, SERVER, 0x40, 973)), 1000);
    let state = nat.pair.device_mut().function_mut().state();
    assert_eq!((state.sessions.count(), state.sessions.mappings()), (0, 0));
    let outside = nat.outside(ONE);
    assert_eq!(nat.told(OUTSIDE, &datagram(SERVER, outside, 0x40, 573)), 600);
    assert!(nat.pass(INSIDE, &datagram(ONE, SERVER, 0x40, 972)).is_ok_and(|it| it.0 == OUTSIDE));
    assert!(
        nat.pass(OUTSIDE, &datagram(SERVER, outside, 0x40, 572)).is_ok_and(|it| it.0 == INSIDE)
    );
    assert_eq!(nat.told(INSIDE, &datagram(ONE, SERVER, 0x40, 1900)), 1000);
    let limited = nat.pass(INSIDE, &datagram(ONE, SERVER, 0x40, 973));
    assert_eq!(limited, Err("too-big".to_owned()), "three at once");
    assert_eq!((nat.count(Tally::IcmpErrorsSent), nat.count(Tally::IcmpErrorsLimited)), (3, 1));
}

#[test]
fn between_two_subscribers_the_link_inside_counts() {
    let mut nat = Nat::new((600, 1000));
    let [one, other] = [nat.outside(ONE), nat.outside(OTHER)];
    let pieces = nat.pieces(INSIDE, &datagram(ONE, other, 0, 800), INSIDE);
    assert_eq!(pieces.len(), 2);
    let pieces: Vec<_> = pieces
        .into_iter()
        .map(|mut piece| {
            assert_eq!(piece[8], 62);
            piece[8] = 63;
            mended(piece)
        })
        .collect();
    whole(&pieces, 600, (one, OTHER));
    assert_eq!(nat.told(INSIDE, &datagram(ONE, other, 0x40, 800)), 600);
}

#[test]
fn pieces_have_the_options_that_are_for_all() {
    let mut nat = Nat::new((0, 600));
    let outside = nat.outside(ONE);
    let plain = datagram(ONE, SERVER, 0, 1000);
    // A time stamp, router alert, and no operation.
    let options = [68, 4, 5, 0, 148, 4, 0, 0, 1, 148, 4, 0, 7, 0, 0, 0];
    let mut packet = [&plain[..20], &options, &plain[20..]].concat();
    packet[0] = 0x49;
    let len = packet.len() as u16;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    let pieces = nat.pieces(INSIDE, &mended(packet), OUTSIDE);
    assert_eq!(pieces.len(), 2);
    assert_eq!((pieces[0][0], &pieces[0][20..36]), (0x49, &options[..]));
    assert_eq!((pieces[1][0], &pieces[1][20..28]), (0x47, &[148, 4, 0, 0, 148, 4, 0, 7][..]));
    whole(&pieces, 600, (outside, SERVER));
}

#[test]
fn pieces_are_cut_further_those_that_waited_too() {
    for order in [[0, 1], [1, 0]] {
        let fragments = Fragments { datagrams: 16, ..Fragments::default() };
        let limits = Config { outside_mtu: 600, fragments, ..Config::default() };
        let mut nat = Nat::with(limits);
        let outside = nat.outside(ONE);
        let packet = datagram(ONE, SERVER, 0, 1992);
        let parts = [(0, 1000, 0x20), (1000, 1000, 0)].map(|(at, len, more)| {
            let mut part = [&packet[..20], &packet[20 + at..20 + at + len]].concat();
            part[2..4].copy_from_slice(&(len as u16 + 20).to_be_bytes());
            part[6..8].copy_from_slice(&[more, (at / 8) as u8]);
            mended(part)
        });
        let mut left = Vec::new();
        for index in order {
            match nat.pass(INSIDE, &parts[index]) {
                Ok((OUTSIDE, frame)) => left.push(frame[14..].to_vec()),
                other => assert_eq!(other, Err("awaiting-first-fragment".to_owned())),
            }
            left.extend(nat.pair.made.iter().map(|one| match one {
                Expected::Forward { frame, .. } => frame[14..].to_vec(),
                other => panic!("{other:?}"),
            }));
        }
        assert_eq!(left.len(), 4);
        left.sort_by_key(|piece| word(piece, 6) & 0x1fff);
        whole(&left, 600, (outside, SERVER));
    }
}

#[test]
fn nobody_is_told_of_errors_and_all_passes_without_a_limit() {
    let mut nat = Nat::new((600, 0));
    let outside = nat.outside(ONE);
    let quoted = datagram(outside, SERVER, 0, 700);
    let message = [&[11, 0, 0, 0, 0, 0, 0, 0][..], &quoted].concat();
    let mut error = [&datagram(SERVER, outside, 0x40, 0)[..20], &message].concat();
    let sum = checksum(&[&message]);
    (error[9], error[22], error[23]) = (1, sum[0], sum[1]);
    let len = error.len() as u16;
    error[2..4].copy_from_slice(&len.to_be_bytes());
    assert_eq!(nat.pass(OUTSIDE, &mended(error)), Err("too-big".to_owned()));
    assert_eq!(nat.count(Tally::IcmpErrorsSent), 0);
    // None outside.
    let left = nat.pieces(INSIDE, &datagram(ONE, SERVER, 0x40, 1900), OUTSIDE);
    assert_eq!((left.len(), left[0].len()), (1, 1928));
    let mut nat = Nat::new((0, 0));
    let outside = nat.outside(ONE);
    let left = nat.pieces(OUTSIDE, &datagram(SERVER, outside, 0x40, 1900), INSIDE);
    assert_eq!((left.len(), left[0].len()), (1, 1928));
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |config: Config, traffic: Traffic| {
        let read = Configured::<Cgnat>::new(config, traffic).map(drop);
        read.map_err(|invalid| (invalid.to_string(), invalid.key))
    };
    let with = |inside_mtu, outside_mtu| Config { inside_mtu, outside_mtu, ..Config::default() };
    assert_eq!(refused(with(576, 1500), traffic()), Ok(()));
    for (config, key) in [(with(575, 0), "inside-mtu"), (with(0, 1), "outside-mtu")] {
        let (says, refused) = refused(config, traffic()).expect_err("less than 576 bytes");
        assert_eq!(refused, key);
        assert!(says.contains("must be at least 576, not"), "{says}");
    }
    let nat64 = Some(Nat64::default());
    let config = Config { nat64, ..with(0, 1400) };
    assert_eq!(refused(config, traffic()).expect_err("1500 bytes").1, "nat64");
    let siit = SiitConfig {
        ipv4_mtu: 1400,
        ..crate::frames::siit(crate::frames::CLAT).unwrap_or_default()
    };
    let config = Config { siit: Some(siit), ..with(1399, 1300) };
    assert_eq!(refused(config, traffic()).expect_err("1400 bytes").1, "siit");
    let long =
        Traffic { pkt_size: serde_json::from_value(1518.into()).expect("a size"), ..traffic() };
    assert_eq!(refused(with(1500, 1500), long.clone()), Ok(()));
    assert_eq!(refused(with(1500, 1499), long).expect_err("1500 bytes").1, "pkt-size");
}
