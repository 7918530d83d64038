//! Translation without sessions: packets that are too long in the other family of addresses, and
//! what senders are told of those that go no further. Frames that are written here by hand, beside
//! the model.

use std::net::{Ipv4Addr, Ipv6Addr};

use function_cgnat::config::Config;
use function_cgnat::reasons::Tally;
use function_kit::Shard;
use model_cgnat::Cgnat;
use model_kit::check::Expected;
use packet::PortId;
use testkit::pair::Pair;

use crate::frames::{self, INSIDE, OUTSIDE, STATION, checksum, mended, siit};

/// A NAT beside its model, and two hosts, each with the port where it is and its addresses of both
/// families.
struct Nat {
    pair: Pair<Cgnat>,
    config: Config,
    six: (PortId, [u8; 16], [u8; 4]),
    four: (PortId, [u8; 16], [u8; 4]),
}

/// IPv6 hosts inside.
const SIIT: &str =
    "mappings: [{ipv4: 198.51.100.0/24, ipv6: '2001:db8:aa::/120'}], prefix: '2001:db8:64::/96'";
/// IPv4 hosts inside.
const CLAT: &str = "inside-family: ipv4, \
     mappings: [{ipv4: 198.51.100.0/24, ipv6: '2001:db8:aa::/120'}], prefix: '2001:db8:64::/96'";

impl Nat {
    fn new(text: &str, (ipv4_mtu, ipv6_mtu): (u16, u16)) -> Nat {
        let text = format!("{{{text}, ipv4-mtu: {ipv4_mtu}, ipv6-mtu: {ipv6_mtu}}}");
        let config = Config {
            siit: siit(&text),
            inside_ipv6: OWN[0].into(),
            outside_ipv6: OWN[1].into(),
            sessions: 100,
            icmp_errors_per_s: 1,
            icmp_error_burst: 6,
            secret: Some(3),
            ..Config::default()
        };
        let host = |six: &str, four: [u8; 4]| {
            (six.parse::<Ipv6Addr>().expect("an address").octets(), four)
        };
        let inside = host("2001:db8:aa::7", [198, 51, 100, 7]);
        let outside = host("2001:db8:64::b37:1", [11, 55, 0, 1]);
        let (six, four) = match text.contains("ipv4, mappings") {
            false => ((INSIDE, inside), (OUTSIDE, outside)),
            true => ((OUTSIDE, outside), (INSIDE, inside)),
        };
        Nat {
            pair: Pair::new(&config, Shard::WHOLE),
            config,
            six: (six.0, six.1.0, six.1.1),
            four: (four.0, four.1.0, four.1.1),
        }
    }

    /// What becomes of a packet: the first frame, or the reason for which there is none.
    fn pass(&mut self, port: PortId, packet: &[u8]) -> Result<(PortId, Vec<u8>), String> {
        self.pass_from(port, STATION, packet)
    }

    fn pass_from(
        &mut self,
        port: PortId,
        station: [u8; 6],
        packet: &[u8],
    ) -> Result<(PortId, Vec<u8>), String> {
        frames::pass(&mut self.pair, &self.config, (port, station), packet)
    }

    /// All packets that one became.
    fn pieces(&mut self, port: PortId, packet: &[u8]) -> Vec<Vec<u8>> {
        let (to, first) = self.pass(port, packet).expect("it leaves");
        assert_eq!(to, PortId(1 - port.0));
        let others = self.pair.made.iter().map(|one| match one {
            Expected::Forward { port, frame } if *port == to => frame.clone(),
            other => panic!("{other:?}"),
        });
        [first].into_iter().chain(others).map(|frame| frame[14..].to_vec()).collect()
    }

    /// A datagram of the host of IPv6 with so many bytes of data.
    fn of_six(&self, hops: u8, len: usize) -> Vec<u8> {
        six(self.six.1, self.four.1, hops, len)
    }

    /// The same of the host of IPv4, with flags.
    fn of_four(&self, flags: u8, len: usize) -> Vec<u8> {
        four(self.four.2, self.six.2, flags, len)
    }

    /// What comes back because of a packet: type, code and the word behind them, from the port's
    /// own address to its sender, with as much of the packet as may be.
    fn told(&mut self, port: PortId, packet: &[u8]) -> (u8, u8, usize) {
        let (to, frame) = self.pass(port, packet).expect("it is told");
        assert_eq!((to, &frame[..6]), (port, &STATION[..]));
        let index = usize::from(port.0);
        let error = &frame[14..];
        let message = if packet[0] >> 4 == 6 {
            let own = OWN[index];
            assert_eq!(error[8..40], [&own, &packet[8..24]].concat());
            let message = &error[40..];
            let [high, low] = (message.len() as u16).to_be_bytes();
            let pseudo = [&own, &packet[8..24], &[0, 0, high, low, 0, 0, 0, 58]].concat();
            assert_eq!(checksum(&[&pseudo, message]), [0, 0]);
            assert_eq!(message[8..], packet[..packet.len().min(1232)]);
            message
        } else {
            let own = [self.config.inside_ip, self.config.outside_ip][index].octets();
            assert_eq!(error[12..20], [&own, &packet[12..16]].concat());
            let message = &error[20..];
            assert_eq!(checksum(&[message]), [0, 0]);
            assert_eq!(message[8..], packet[..packet.len().min(548)]);
            message
        };
        (message[0], message[1], word(message, 4) << 16 | word(message, 6))
    }
}

const OWN: [[u8; 16]; 2] = [
    [0x20, 1, 0xd, 0xb8, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    [0x20, 1, 0xd, 0xb8, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2],
];

fn word(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7) as u8).collect()
}

fn six(from: [u8; 16], to: [u8; 16], hops: u8, len: usize) -> Vec<u8> {
    let [high, low] = (len as u16 + 8).to_be_bytes();
    let mut datagram = [&[0x13, 0x88, 0, 53, high, low, 0, 0][..], &data(len)].concat();
    let sum = checksum(&[&from, &to, &[0, 0, high, low, 0, 0, 0, 17], &datagram]);
    datagram[6..8].copy_from_slice(&sum);
    [&[0x60, 0, 0, 0, high, low, 17, hops][..], &from, &to, &datagram].concat()
}

fn four(from: [u8; 4], to: [u8; 4], flags: u8, len: usize) -> Vec<u8> {
    let [high, low] = (len as u16 + 28).to_be_bytes();
    let ends = [from, to].concat();
    let ip = [&[0x45, 0, high, low, 0xab, 0xcd, flags, 0, 64, 17, 0, 0][..], &ends].concat();
    let [high, low] = (len as u16 + 8).to_be_bytes();
    let mut datagram = [&[0, 53, 0x13, 0x88, high, low, 0, 0][..], &data(len)].concat();
    let sum = checksum(&[&ends, &[0, 17, high, low], &datagram]);
    datagram[6..8].copy_from_slice(&sum);
    mended([ip, datagram].concat())
}

/// An IPv6 packet with an extension header of 8 bytes.
fn extended(packet: &[u8], kind: u8, mut extension: [u8; 8]) -> Vec<u8> {
    let mut header = packet[..40].to_vec();
    extension[0] = std::mem::replace(&mut header[6], kind);
    let len = (packet.len() as u16 - 32).to_be_bytes();
    header[4..6].copy_from_slice(&len);
    [&header, &extension[..], &packet[40..]].concat()
}

/// The body of which these are pieces, which nobody else's are.
fn whole_of_ipv6(pieces: &[Vec<u8>], mtu: usize, ends: [[u8; 16]; 2]) -> Vec<u8> {
    let mut parts = Vec::new();
    for packet in pieces {
        assert!(packet.len() <= mtu && word(packet, 4) + 40 == packet.len());
        assert_eq!((packet[6], packet[7], packet[40]), (44, 63, 17));
        assert_eq!(
            (&packet[8..40], &packet[44..48]),
            (&ends.concat()[..], &[0, 0, 0xab, 0xcd][..])
        );
        parts.push((word(packet, 42) & !7, word(packet, 42) & 1 == 1, packet[48..].to_vec()));
    }
    joined(parts)
}

/// The same of IPv4.
fn whole_of_ipv4(pieces: &[Vec<u8>], mtu: usize, ends: [[u8; 4]; 2]) -> Vec<u8> {
    let mut parts = Vec::new();
    for packet in pieces {
        assert!(packet.len() <= mtu && word(packet, 2) == packet.len());
        assert!(packet[0] == 0x45 && packet[8..10] == [63, 17]);
        assert_eq!((&packet[12..20], &packet[4..6]), (&ends.concat()[..], &pieces[0][4..6]));
        assert_eq!(checksum(&[&packet[..20]]), [0, 0]);
        let place = word(packet, 6);
        parts.push(((place & 0x1fff) * 8, place & 0x2000 != 0, packet[20..].to_vec()));
    }
    joined(parts)
}

/// Pieces that follow one another, of which the last alone says that there are no more.
fn joined(parts: Vec<(usize, bool, Vec<u8>)>) -> Vec<u8> {
    let last = parts.len() - 1;
    let mut body = Vec::new();
    for (number, (at, more, part)) in parts.into_iter().enumerate() {
        assert_eq!((at, more), (body.len(), number < last));
        body.extend(part);
    }
    body
}

#[test]
fn what_is_too_long_for_ipv6_is_cut_and_makes_the_whole_again() {
    for (text, mtu, len, count) in
        [(SIIT, 1280, 1233, 2), (SIIT, 1500, 1472, 2), (CLAT, 1280, 1300, 2), (CLAT, 1280, 1900, 2)]
    {
        let mut nat = Nat::new(text, (1500, mtu));
        let pieces = nat.pieces(nat.four.0, &nat.of_four(0, len));
        assert_eq!(pieces.len(), count, "{len} bytes of data for {mtu}");
        let ends = [nat.four.1, nat.six.1];
        let body = whole_of_ipv6(&pieces, mtu.into(), ends);
        assert_eq!(body[8..], data(len));
        let [high, low] = (body.len() as u16).to_be_bytes();
        let pseudo = [ends.concat(), vec![0, 0, high, low, 0, 0, 0, 17]].concat();
        assert_eq!(checksum(&[&pseudo, &body]), [0, 0], "the checksum of the whole");
        let counts = nat.pair.device_mut().counts().tallies;
        assert_eq!(counts[Tally::PacketsCut as usize], 1);
        // What just fits is not.
        let fits = nat.of_four(0, usize::from(mtu) - 48);
        assert_eq!(nat.pieces(nat.four.0, &fits)[0][6], 17);
    }
}

#[test]
fn fragments_of_ipv4_that_are_too_long_are_cut_further() {
    let mut nat = Nat::new(SIIT, (1500, 1280));
    let whole = nat.of_four(0, 3000);
    let mut pieces = Vec::new();
    for (at, len) in [(0usize, 1480), (1480, 1480), (2960, 48)] {
        let mut part = [&whole[..20], &whole[20 + at..20 + at + len]].concat();
        part[2..4].copy_from_slice(&(len as u16 + 20).to_be_bytes());
        let more = if at + len < 3008 { 0x2000 } else { 0 };
        part[6..8].copy_from_slice(&((at as u16 / 8) | more).to_be_bytes());
        pieces.extend(nat.pieces(OUTSIDE, &mended(part)));
    }
    assert_eq!(pieces.len(), 5);
    let body = whole_of_ipv6(&pieces, 1280, [nat.four.1, nat.six.1]);
    assert_eq!(body[8..], data(3000));
}

#[test]
fn what_every_link_of_ipv6_takes_is_cut_for_a_short_link_of_ipv4() {
    for text in [SIIT, CLAT] {
        let mut nat = Nat::new(text, (576, 1500));
        let pieces = nat.pieces(nat.six.0, &nat.of_six(64, 1280 - 48));
        assert_eq!(pieces.len(), 3);
        let body = whole_of_ipv4(&pieces, 576, [nat.six.2, nat.four.2]);
        assert_eq!(body[8..], data(1280 - 48));
        // Its sender has cut this one, and so may others.
        let whole = nat.of_six(64, 1392);
        let part = extended(&whole, 44, [0, 0, 0, 0, 1, 2, 0xab, 0xcd]);
        let pieces = nat.pieces(nat.six.0, &part);
        assert_eq!((pieces.len(), &pieces[0][4..6]), (3, &[0xab, 0xcd][..]));
        let body = whole_of_ipv4(&pieces, 576, [nat.six.2, nat.four.2]);
        assert_eq!(body[8..], data(1392));
    }
}

#[test]
fn who_sends_too_much_is_told_what_passes() {
    for text in [SIIT, CLAT] {
        let mut nat = Nat::new(text, (1400, 1300));
        let [six, four] = [nat.six.0, nat.four.0];
        assert_eq!(nat.told(four, &nat.of_four(0x40, 1281 - 28)), (3, 4, 1280));
        assert!(nat.pass(four, &nat.of_four(0x40, 1280 - 28)).is_ok_and(|(to, _)| to == six));
        // A first fragment takes a header more.
        assert_eq!(nat.told(four, &nat.of_four(0x60, 1276 - 28)), (3, 4, 1272));
        assert_eq!(nat.told(six, &nat.of_six(64, 1421 - 48)), (2, 0, 1420));
        assert!(nat.pass(six, &nat.of_six(64, 1420 - 48)).is_ok_and(|(to, _)| to == four));
        // Nobody has to send less than 1280 bytes over IPv6.
        let mut nat = Nat::new(text, (1000, 1300));
        assert_eq!(nat.told(six, &nat.of_six(64, 1281 - 48)), (2, 0, 1280));
    }
}

#[test]
fn what_turns_around_has_to_pass_links_of_ipv6_alone() {
    let mut nat = Nat::new(SIIT, (576, 1400));
    let embedded: Ipv6Addr = "2001:db8:64::198.51.100.8".parse().expect("an address");
    let packet = |len: usize| six(nat.six.1, embedded.octets(), 64, len - 48);
    let (fits, long) = (packet(1400), packet(1401));
    assert!(nat.pass(INSIDE, &fits).is_ok_and(|(to, frame)| to == INSIDE && frame.len() == 1414));
    assert_eq!(nat.told(INSIDE, &long), (2, 0, 1400));
    // A fragment is cut, as its sender cut the whole.
    let part = extended(&long, 44, [0, 0, 0, 1, 1, 2, 0xab, 0xcd]);
    assert!(nat.pass(INSIDE, &part).is_ok_and(|(to, frame)| to == INSIDE && frame.len() <= 1414));
    assert_eq!(nat.pair.made.len(), 1);
}

#[test]
fn one_limit_holds_for_errors_of_both_versions_and_ports() {
    for text in [SIIT, CLAT] {
        let mut nat = Nat::new(text, (1500, 1500));
        let [of_six, mut of_four] = [nat.of_six(1, 20), nat.of_four(0, 20)];
        of_four[8] = 1;
        let of_four = mended(of_four);
        for _ in 0..3 {
            assert_eq!(nat.told(nat.six.0, &of_six), (3, 0, 0));
            assert_eq!(nat.told(nat.four.0, &of_four), (11, 0, 0));
        }
        assert_eq!(nat.pass(nat.six.0, &of_six), Err("ttl-expired".to_owned()));
        assert_eq!(nat.pass(nat.four.0, &of_four), Err("ttl-expired".to_owned()));
        let counts = nat.pair.device_mut().counts().tallies;
        let [sent, limited] = [Tally::IcmpErrorsSent, Tally::IcmpErrorsLimited];
        assert_eq!((counts[sent as usize], counts[limited as usize]), (6, 2));
    }
}

#[test]
fn headers_without_a_counterpart_are_told() {
    for text in [SIIT, CLAT] {
        let mut nat = Nat::new(text, (1500, 1500));
        // Two segments left, which the fourth byte of the routing header says.
        let routed = extended(&nat.of_six(64, 20), 43, [0, 0, 0, 2, 0, 0, 0, 0]);
        assert_eq!(nat.told(nat.six.0, &routed), (4, 0, 43));
        let mut foreign = nat.of_six(64, 20);
        foreign[6] = 1;
        assert_eq!(nat.told(nat.six.0, &foreign), (1, 1, 0));
        let plain = nat.of_four(0, 20);
        let mut routed = [&plain[..20], &[131, 7, 4, 11, 55, 0, 9, 0], &plain[20..]].concat();
        routed[0] = 0x47;
        routed[3] += 8;
        assert_eq!(nat.told(nat.four.0, &mended(routed)), (3, 5, 0));
        let mut foreign = plain;
        foreign[9] = 58;
        assert_eq!(nat.told(nat.four.0, &mended(foreign)), (3, 13, 0));
    }
}

#[test]
fn who_asks_inside_for_nobody_is_told_and_others_are_not() {
    let mut nat = Nat::new(SIIT, (1500, 1500));
    let nobody: Ipv6Addr = "2001:db8:77::1".parse().expect("an address");
    let lost = six(nat.six.1, nobody.octets(), 64, 9);
    assert_eq!(nat.told(INSIDE, &lost), (1, 1, 0));
    // A source without counterpart is dropped silently, and so is what comes from outside.
    let strange = six(nobody.octets(), nat.four.1, 1, 9);
    assert_eq!(nat.pass(INSIDE, &strange), Err("not-inside".to_owned()));
    let mut nat = Nat::new(CLAT, (1500, 1500));
    let lost = six(nobody.octets(), nat.four.1, 64, 9);
    assert_eq!(nat.pass(OUTSIDE, &lost), Err("no-counterpart".to_owned()));
    // IPv4 inside, by mappings alone.
    let text = "inside-family: ipv4, mappings: [{ipv4: 198.51.100.0/24, \
                ipv6: '2001:db8:aa::/120'}, \
                {ipv4: 11.55.0.0/24, ipv6: '2001:db8:bb::/120', side: outside}]";
    let mut nat = Nat::new(text, (1500, 1500));
    let nobody = Ipv4Addr::new(11, 66, 0, 1).octets();
    assert_eq!(nat.told(INSIDE, &four(nat.four.2, nobody, 0, 9)), (3, 13, 0));
}

#[test]
fn nobody_is_told_of_errors_later_fragments_and_groups() {
    for text in [SIIT, CLAT] {
        let mut nat = Nat::new(text, (1400, 1300));
        let expired = Err("ttl-expired".to_owned());
        let [six_port, four_port] = [nat.six.0, nat.four.0];
        let last = nat.of_six(1, 20);
        let later = extended(&last, 44, [0, 0, 0, 8, 0, 0, 0, 1]);
        assert_eq!(nat.pass(six_port, &later), expired);
        assert_eq!(nat.pass_from(six_port, [3, 0, 0, 0, 0, 9], &last), expired);
        let mut error = last.clone();
        (error[6], error[40]) = (58, 3);
        assert_eq!(nat.pass(six_port, &error), expired);
        let mut last = nat.of_four(0, 20);
        last[8] = 1;
        let last = mended(last);
        assert_eq!(nat.pass_from(four_port, [3, 0, 0, 0, 0, 9], &last), expired);
        let mut later = last.clone();
        later[7] = 9;
        assert_eq!(nat.pass(four_port, &mended(later)), expired);
        let mut error = last.clone();
        (error[9], error[20]) = (1, 11);
        assert_eq!(nat.pass(four_port, &mended(error)), expired);
        // None of them counted for the limit.
        for _ in 0..6 {
            assert_eq!(nat.told(four_port, &last), (11, 0, 0));
        }
    }
}

#[test]
fn errors_that_become_ipv4_quote_what_the_link_takes() {
    let mut nat = Nat::new(SIIT, (576, 1500));
    let quoted = six(nat.four.1, nat.six.1, 60, 1100);
    let message = [&[3, 0, 0, 0, 0, 0, 0, 0][..], &quoted].concat();
    let [high, low] = (message.len() as u16).to_be_bytes();
    let header = [&[0x60, 0, 0, 0, high, low, 58, 64][..], &nat.six.1, &nat.four.1].concat();
    let mut packet = [header, message].concat();
    let sum = checksum(&[&nat.six.1, &nat.four.1, &[0, 0, high, low, 0, 0, 0, 58], &packet[40..]]);
    packet[42..44].copy_from_slice(&sum);
    let pieces = nat.pieces(INSIDE, &packet);
    assert_eq!((pieces.len(), pieces[0].len(), pieces[0][20]), (1, 576, 11));
    assert_eq!(checksum(&[&pieces[0][20..]]), [0, 0]);
}
