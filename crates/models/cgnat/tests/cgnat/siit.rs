//! Translation without sessions, byte by byte: frames that are written here by hand, without sample
//! and model.
use std::net::{Ipv4Addr, Ipv6Addr};

use function_cgnat::config::{Config, SiitConfig};
use function_kit::{NetworkFunction, Shard};
use machine::clock::Ticks;
use model_cgnat::Cgnat;
use model_kit::Configured;
use packet::PortId;
use testkit::device::{Device, Outcome};
use testkit::pair::{Pair, clock};

use crate::frames::{CLAT, INSIDE, OUTSIDE, STATION, checksum, kinds, pass, siit, traffic};

const NOW: Ticks = 1 << 40;

/// A device of a section, of which nothing is left when the test is over: there are no sessions.
fn device(text: &str) -> (Config, Device<<function_cgnat::Cgnat as NetworkFunction>::Function>) {
    let config = Config {
        siit: siit(text),
        sessions: 100,
        secret: Some(3),
        icmp_errors_per_s: 0,
        ..Config::default()
    };
    let (config, _) = crate::frames::valid(&config, &traffic());
    let function = function_cgnat::Cgnat::function(&config, Shard::WHOLE, clock(), 1 << 30)
        .expect("a small NAT");
    (config, Device::new(function, 2))
}

/// A datagram of 4 bytes between ports 1000 and 53, behind its IPv6 header.
fn six(from: &str, to: &str, hops: u8) -> Vec<u8> {
    let [from, to] = [from, to].map(|it| it.parse::<Ipv6Addr>().expect("an address").octets());
    let mut udp = [3, 232, 0, 53, 0, 12, 0, 0, b'a', b'b', b'c', b'd'];
    let sum = checksum(&[&from, &to, &[0, 0, 0, 12, 0, 0, 0, 17], &udp]);
    udp[6..8].copy_from_slice(&sum);
    [&[0x60, 0, 0, 0, 0, 12, 17, hops], &from[..], &to, &udp].concat()
}

/// The same behind an IPv4 header, which may be cut.
fn four(from: &str, to: &str, hops: u8) -> Vec<u8> {
    let [from, to] = [from, to].map(|it| it.parse::<Ipv4Addr>().expect("an address").octets());
    let mut udp = [3, 232, 0, 53, 0, 12, 0, 0, b'a', b'b', b'c', b'd'];
    let sum = checksum(&[&from, &to, &[0, 17, 0, 12], &udp]);
    udp[6..8].copy_from_slice(&sum);
    let mut header = [&[0x45, 0, 0, 32, 0, 0, 0, 0, hops, 17, 0, 0], &from[..], &to].concat();
    let sum = checksum(&[&header]);
    header[10..12].copy_from_slice(&sum);
    [header, udp.to_vec()].concat()
}

fn framed(config: &Config, port: PortId, comes: bool, packet: &[u8]) -> Vec<u8> {
    let macs = match port == INSIDE {
        true => [config.inside_mac, config.inside_next_hop_mac],
        false => [config.outside_mac, config.outside_next_hop_mac],
    };
    let [to, from] = if comes { macs } else { [macs[1], macs[0]] };
    let kind = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
    [&to.0.0[..], &from.0.0, &kind, packet].concat()
}

/// What a section makes of packets, each with the ports where it comes in and leaves; of one that
/// becomes IPv4 the identification is left out.
fn hold(text: &str, cases: &[(PortId, Vec<u8>, PortId, Vec<u8>)]) {
    let (config, mut device) = device(text);
    for (from, packet, to, expected) in cases {
        let came = framed(&config, *from, true, packet);
        let Outcome::Left(port, mut left) = device.pass(*from, &came, NOW) else {
            panic!("{packet:02x?} is dropped");
        };
        if left[12] == 8 {
            left[18..20].fill(0);
            left[24..26].fill(0);
            let sum = checksum(&[&left[14..34]]);
            left[24..26].copy_from_slice(&sum);
        }
        assert_eq!((port, &left), (*to, &framed(&config, *to, false, expected)));
    }
    assert_eq!(device.function_mut().state().sessions.count(), 0, "no session is made");
}

/// The table of RFC 7757 figure 2, with the well-known prefix in global addresses.
const FIGURE_2: &str = "{prefix: '64:ff9b::/96', mappings: [\
     {ipv4: 192.0.2.1/32, ipv6: '2001:db8:aaaa::/128'}, \
     {ipv4: 192.0.2.2/32, ipv6: '2001:db8:bbbb::b/128'}, \
     {ipv4: 192.0.2.16/28, ipv6: '2001:db8:cccc::/124'}, \
     {ipv4: 192.0.2.128/26, ipv6: '2001:db8:dddd::/64'}, \
     {ipv4: 192.0.2.192/29, ipv6: '2001:db8:eeee:8::/62'}, \
     {ipv4: 192.0.2.224/31, ipv6: '64:ff9b::/127'}]}";

#[test]
fn the_table_of_rfc_7757_works_both_ways() {
    let server = ("8.8.4.4", "64:ff9b::8.8.4.4");
    let cases = [
        ("192.0.2.1", "2001:db8:aaaa::"),
        ("192.0.2.2", "2001:db8:bbbb::b"),
        ("192.0.2.24", "2001:db8:cccc::8"),
        ("192.0.2.152", "2001:db8:dddd:0:6000::"),
        ("192.0.2.199", "2001:db8:eeee:b:8000::"),
        ("192.0.2.225", "64:ff9b::1"),
    ];
    let cases = cases.iter().flat_map(|(ipv4, ipv6)| {
        let out = (INSIDE, six(ipv6, server.1, 9), OUTSIDE, four(ipv4, server.0, 8));
        let back = (OUTSIDE, four(server.0, ipv4, 9), INSIDE, six(server.1, ipv6, 8));
        [out, back]
    });
    hold(FIGURE_2, &cases.collect::<Vec<_>>());
}

#[test]
fn a_customer_reaches_the_internet_through_the_provider() {
    let [customer, host] = [("192.168.7.9", "2001:db8:c1a7::9"), ("203.0.113.9", "")];
    let host = (host.0, "2001:db8:64::203.0.113.9");
    let cases = [
        (INSIDE, four(customer.0, host.0, 64), OUTSIDE, six(customer.1, host.1, 63)),
        (OUTSIDE, six(host.1, customer.1, 60), INSIDE, four(host.0, customer.0, 59)),
    ];
    hold(CLAT, &cases);
}

#[test]
fn a_mapped_host_reaches_another_by_its_embedded_address() {
    let prefix = "2001:db8:64::";
    let text = FIGURE_2.replace("prefix: '64:ff9b::/96'", "prefix: '2001:db8:64::/96'");
    let [one, other] = [("192.0.2.1", "2001:db8:aaaa::"), ("192.0.2.2", "2001:db8:bbbb::b")];
    let [by_one, by_other] = [one, other].map(|host| format!("{prefix}{}", host.0));
    let cases = [
        (INSIDE, six(one.1, &by_other, 9), INSIDE, six(&by_one, other.1, 7)),
        (INSIDE, six(other.1, &by_one, 9), INSIDE, six(&by_other, one.1, 7)),
    ];
    hold(&text, &cases);
}

#[test]
fn neutral_addresses_leave_checksums_alone() {
    // RFC 6052 section 4.1: the well-known prefix adds nothing to a sum.
    let text = "{prefix: '64:ff9b::/96', embedded: [45.20.0.0/24]}";
    let out = six("64:ff9b::45.20.0.7", "64:ff9b::8.8.4.4", 9);
    let left = four("45.20.0.7", "8.8.4.4", 8);
    assert_eq!(out[46..48], left[26..28]);
    hold(text, &[(INSIDE, out, OUTSIDE, left)]);
}

#[test]
fn fragments_are_translated_one_by_one() {
    let text = "{prefix: '2001:db8:64::/96', mappings: \
                [{ipv4: 192.0.2.0/24, ipv6: '2001:db8:aa::/120'}]}";
    let whole = four("203.0.113.9", "192.0.2.7", 9);
    let cut = |packet: &[u8], place: [u8; 2], len: u8, hops: u8| {
        let mut packet = packet.to_vec();
        packet[3..8].copy_from_slice(&[len, 0xab, 0xcd, place[0], place[1]]);
        packet[8] = hops;
        packet[10..12].fill(0);
        let sum = checksum(&[&packet[..20]]);
        packet[10..12].copy_from_slice(&sum);
        packet
    };
    let fragment = |body: &[u8], place: [u8; 2]| {
        let whole = six("2001:db8:64::203.0.113.9", "2001:db8:aa::7", 8);
        let header = [17, 0, place[0], place[1], 0, 0, 0xab, 0xcd];
        let mut packet = [&whole[..40], &header, body].concat();
        packet[5] = 8 + body.len() as u8;
        packet[6] = 44;
        packet
    };
    let datagram = six("2001:db8:64::203.0.113.9", "2001:db8:aa::7", 8);
    let (first, last) = (cut(&whole[..28], [0x20, 0], 28, 9), {
        cut(&[&whole[..20], b"abcd"].concat(), [0, 1], 24, 9)
    });
    let cases = [
        (OUTSIDE, first, INSIDE, fragment(&datagram[40..48], [0, 1])),
        (OUTSIDE, last, INSIDE, fragment(b"abcd", [0, 8])),
    ];
    hold(text, &cases);
    // And back: the lower half of the identification is all there is room for.
    let (config, mut device) = device(text);
    let mut part = fragment(b"abcd", [0, 8]);
    let ends: Vec<u8> = [&part[24..40], &part[8..24]].concat();
    part[8..40].copy_from_slice(&ends);
    let frame = framed(&config, INSIDE, true, &part);
    let back = cut(&[&four("192.0.2.7", "203.0.113.9", 7)[..20], b"abcd"].concat(), [0, 1], 24, 7);
    let expected = framed(&config, OUTSIDE, false, &back);
    assert_eq!(device.pass(INSIDE, &frame, NOW), Outcome::Left(OUTSIDE, expected));
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |text: &str, base: Config| {
        let config = Config { siit: siit(text), ..base };
        let read = Configured::<Cgnat>::new(config, traffic());
        read.err().expect("it is refused").to_string()
    };
    let one = "{ipv4: 192.0.2.1/32, ipv6: '2001:db8::1/128'}";
    for (text, says) in [
        ("{}".to_owned(), "no host inside has addresses of both families"),
        ("{prefix: '64:ff9b::/96'}".to_owned(), "no host inside has addresses of both families"),
        (format!("{{mappings: [{one}]}}"), "hosts have no addresses of the other family"),
        ("{embedded: [192.0.2.0/24]}".to_owned(), "hosts have no addresses of the other family"),
        (format!("{{prefix: '64:ff9b::/95', mappings: [{one}]}}"), "not 95"),
        (format!("{{prefix: '64:ff9b::/96', mappings: [{one}, {one}]}}"), "address mapping 1"),
        (
            "{prefix: '64:ff9b::/96', mappings: [{ipv4: 192.0.2.0/24, ipv6: '2001:db8::/121'}]}"
                .to_owned(),
            "at most 120 bits",
        ),
        (
            "{prefix: '64:ff9b::/96', mappings: [{ipv4: 192.0.2.1/24, ipv6: '2001:db8::/64'}]}"
                .to_owned(),
            "address mapping 0",
        ),
        (
            "{prefix: '64:ff9b::/96', embedded: [198.18.0.0/16]}".to_owned(),
            "198.18.0.0/16 and 198.18.0.0/24 share addresses",
        ),
        (
            "{prefix: '64:ff9b::/96', embedded: [192.0.2.0/24], ipv6-mtu: 1279}".to_owned(),
            "ipv6-mtu: must be from 1280 to 65535, not 1279",
        ),
    ] {
        let said = refused(&text, Config::default());
        assert!(said.contains(says) && said.contains("siit"), "{said}");
    }
    let both =
        Config { nat64: Some(function_cgnat::config::Nat64::default()), ..Config::default() };
    assert!(
        refused("{prefix: '64:ff9b::/96', embedded: [45.0.0.0/24]}", both).contains("two ways")
    );
    let all = SiitConfig::default();
    assert_eq!((all.ipv4_mtu, all.ipv6_mtu), (1500, 1500));
}

/// RFC 4443 section 2.4: behind an authentication header (RFC 8200 section 4) may be an error. Of
/// that nobody is told, nor where a broken header behind it hides what it is.
#[test]
fn senders_are_told_if_what_they_sent_is_surely_no_error() {
    let config = Config { icmp_errors_per_s: 1000, ..kinds()[7].clone() };
    let mut pair = Pair::<Cgnat>::new(&config, Shard::WHOLE);
    let mut behind = |protocol: u8| {
        let mut packet = six("2001:db8:aa:0:fc00::", "2001:db8:dd:400::", 9);
        packet[5] += 12;
        packet[6] = 51;
        packet.splice(40..40, [protocol, 1, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1]);
        // Type and code of an error, or a header that ends beyond the packet.
        packet[52..54].copy_from_slice(&[3, 232]);
        pass(&mut pair, &config, (INSIDE, STATION), &packet)
    };
    let (port, error) = behind(17).expect("it is told");
    assert_eq!((port, error[20], &error[54..56]), (INSIDE, 58, &[1, 1][..]));
    for hides in [58, 0, 60] {
        assert_eq!(behind(hides), Err("no-counterpart".to_owned()), "{hides}");
    }
}
