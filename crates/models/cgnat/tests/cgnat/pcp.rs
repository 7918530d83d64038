//! The Port Control Protocol: requests that are written here by hand, without sample and model;
//! then the pipeline beside the oracle over requests of every kind between packets of all; and what
//! tshark reads.

use std::net::Ipv6Addr;
use std::path::Path;
use std::time::Duration;

use function_cgnat::Update;
use function_cgnat::config::{Config, DsLite, Filtering, Pcp, PortBlocks, Vrf};
use function_cgnat::reasons::Tally;
use function_kit::Shard;
use model_cgnat::Cgnat;
use model_kit::check::Expected;
use packet::PortId;
use pcap_file::DataLink;
use testkit::pair::Pair;
use testkit::random::Random;
use testkit::tshark::dissect;

use crate::frames::{INSIDE, OUTSIDE, checksum, kinds, net, traffic, valid};

/// An address and a port.
pub type End = ([u8; 4], u16);

pub const SUBSCRIBER: [u8; 4] = [10, 0, 0, 7];
pub const HOST: [u8; 4] = [203, 0, 112, 80];
const NONCE: [u8; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
pub const UDP: u8 = 17;
pub const TCP: u8 = 6;

/// What a request asks for.
#[derive(Clone)]
pub struct Request {
    pub from: [u8; 4],
    pub nonce: [u8; 12],
    pub lifetime: u32,
    pub protocol: u8,
    pub port: u16,
    pub outside: (u16, [u8; 4]),
    pub options: Vec<u8>,
}

impl Request {
    /// A mapping of a UDP port for an hour, any outside end.
    pub fn of(port: u16) -> Request {
        Request {
            from: SUBSCRIBER,
            nonce: NONCE,
            lifetime: 3600,
            protocol: UDP,
            port,
            outside: (0, [0; 4]),
            options: Vec::new(),
        }
    }

    fn message(&self) -> Vec<u8> {
        let lifetime = self.lifetime.to_be_bytes();
        let (inside, outside) = (self.port.to_be_bytes(), self.outside.0.to_be_bytes());
        let data = [&self.nonce[..], &[self.protocol, 0, 0, 0], &inside, &outside].concat();
        let header = [&[2, 1, 0, 0], &lifetime[..], &mapped(self.from)].concat();
        [&header, &data, &mapped(self.outside.1)[..], &self.options].concat()
    }

    pub fn frame(&self, config: &Config) -> Vec<u8> {
        message(config, self.from, &self.message())
    }
}

/// PREFER_FAILURE.
const OR_NOTHING: [u8; 4] = [2, 0, 0, 0];

fn mapped([a, b, c, d]: [u8; 4]) -> [u8; 16] {
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d]
}

/// A message for the server.
fn message(config: &Config, from: [u8; 4], message: &[u8]) -> Vec<u8> {
    let own = config.inside_ip.octets();
    datagram(config, INSIDE, (UDP, [(from, 40_000), (own, 5351)]), message)
}

/// A frame with a datagram, or with a SYN, that comes in at a port.
pub fn datagram(
    config: &Config,
    port: PortId,
    (protocol, [from, to]): (u8, [End; 2]),
    payload: &[u8],
) -> Vec<u8> {
    let (station, next) = match port == INSIDE {
        true => (config.inside_mac, config.inside_next_hop_mac),
        false => (config.outside_mac, config.outside_next_hop_mac),
    };
    let ports = [from.1.to_be_bytes(), to.1.to_be_bytes()].concat();
    let mut transport = match protocol {
        TCP => [&ports[..], &[0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 4, 0, 0, 0, 0, 0]].concat(),
        _ => [&ports[..], &(8 + payload.len() as u16).to_be_bytes(), &[0, 0], payload].concat(),
    };
    let at = if protocol == TCP { 16 } else { 6 };
    let len = (transport.len() as u16).to_be_bytes();
    let sum = checksum(&[&from.0, &to.0, &[0, protocol], &len, &transport]);
    transport[at..at + 2].copy_from_slice(&sum);
    let total = (20 + transport.len() as u16).to_be_bytes();
    let fixed = [0x45, 0, total[0], total[1], 0, 7, 0x40, 0, 64, protocol];
    let sum = checksum(&[&fixed, &from.0, &to.0]);
    [&station.0.0[..], &next.0.0, &[8, 0], &fixed, &sum, &from.0, &to.0, &transport].concat()
}

/// A small NAT with the server.
pub fn config() -> Config {
    let pcp = Pcp { lifetime_min_s: 20, lifetime_max_s: 40_000, ..Pcp::default() };
    valid(&Config { pcp: Some(pcp), ..kinds()[0].clone() }, &traffic()).0
}

fn pair(config: &Config) -> Pair<Cgnat> {
    Pair::new(config, Shard::WHOLE)
}

/// The message of the answer to a frame.
fn answer(pair: &mut Pair<Cgnat>, frame: &[u8]) -> Vec<u8> {
    match pair.frame(INSIDE, frame).unwrap_or_else(|what| panic!("{what}")) {
        Expected::Forward { port: INSIDE, frame } => frame[42..].to_vec(),
        other => panic!("{other:?}"),
    }
}

pub fn ask(pair: &mut Pair<Cgnat>, config: &Config, request: &Request) -> Vec<u8> {
    answer(pair, &request.frame(config))
}

/// The result code and the lifetime of an answer.
pub fn result(answer: &[u8]) -> (u8, u32) {
    (answer[3], u32::from_be_bytes([answer[4], answer[5], answer[6], answer[7]]))
}

/// For how long the server has known its mappings, in seconds.
pub fn epoch(answer: &[u8]) -> u32 {
    u32::from_be_bytes([answer[8], answer[9], answer[10], answer[11]])
}

/// The outside end that was assigned.
pub fn outside(answer: &[u8]) -> End {
    assert_eq!(answer[44..56], mapped([0; 4])[..12]);
    ([answer[56], answer[57], answer[58], answer[59]], u16::from_be_bytes([answer[42], answer[43]]))
}

/// Where a frame from a host outside gets to: the subscriber's address and port, or why it does
/// not.
pub fn arrives(
    pair: &mut Pair<Cgnat>,
    config: &Config,
    (protocol, from, to): (u8, End, End),
) -> Result<End, &'static str> {
    let frame = datagram(config, OUTSIDE, (protocol, [from, to]), b"ask");
    match pair.frame(OUTSIDE, &frame).unwrap_or_else(|what| panic!("{what}")) {
        Expected::Forward { port: INSIDE, frame } => {
            let port = u16::from_be_bytes([frame[36], frame[37]]);
            Ok(([frame[30], frame[31], frame[32], frame[33]], port))
        }
        Expected::Drop(reason) => Err(reason),
        other => panic!("{other:?}"),
    }
}

pub fn wait(pair: &mut Pair<Cgnat>, seconds: u64) {
    // Sweeps must not be too far apart.
    for begun in (0..seconds).step_by(1000) {
        pair.wait(Duration::from_secs((seconds - begun).min(1000))).expect("they agree");
    }
}

/// Where subscribers with one address are: in no realm, in a VRF, behind a softwire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Main,
    Vrf,
    Softwire,
}

/// The VRF's tag, and the outer header's end of the B4 element.
const TAG: [u8; 4] = [0x81, 0, 0, 100];
const B4: &str = "2001:db8:7::9";
const AFTR: [u8; 4] = [192, 0, 0, 1];

impl Place {
    /// A frame as subscribers there send it.
    fn dress(self, config: &Config, mut frame: Vec<u8>) -> Vec<u8> {
        match self {
            Place::Main => {}
            Place::Vrf => drop(frame.splice(12..12, TAG)),
            Place::Softwire => {
                let len = (frame.len() as u16 - 14).to_be_bytes();
                let b4: Ipv6Addr = B4.parse().expect("an address");
                let aftr = config.ds_lite.as_ref().expect("softwires").aftr;
                let fixed = [0x86, 0xdd, 0x60, 0, 0, 0, len[0], len[1], 4, 64];
                let header = [&fixed[..], &b4.octets(), &aftr.octets()].concat();
                frame.splice(12..14, header);
            }
        }
        frame
    }

    /// For whom a frame leaves, and the frame without what says so.
    fn undress(mut frame: Vec<u8>) -> (Place, Vec<u8>) {
        let place = match frame[12..14] {
            [0x81, 0] => Place::Vrf,
            [0x86, 0xdd] => Place::Softwire,
            _ => return (Place::Main, frame),
        };
        match place {
            Place::Softwire => {
                assert_eq!(frame[38..54], B4.parse::<Ipv6Addr>().expect("an address").octets());
                frame.splice(12..54, [8, 0]);
            }
            _ => assert_eq!(frame.splice(12..16, []).collect::<Vec<_>>(), TAG),
        }
        (place, frame)
    }
}

/// RFC 6887 for subscribers that are told apart by more than their addresses.
#[test]
fn subscribers_of_every_realm_ask_for_mappings_of_their_own() {
    let inside = vec![net("10.0.0.0/8")];
    let vrf = Vrf { name: "red".into(), vlan: 100, inside, pools: Vec::new(), next_hop: None };
    let ds_lite = Some(DsLite { subscriber_len: 56, ..DsLite::default() });
    let filtering = Filtering::AddressAndPortDependent;
    let config = Config { vrfs: vec![vrf], ds_lite, filtering, ..config() };
    let config = valid(&config, &traffic()).0;
    let mut pair = pair(&config);
    let mut ends = Vec::new();
    for place in [Place::Main, Place::Vrf, Place::Softwire] {
        let server = if place == Place::Softwire { AFTR } else { config.inside_ip.octets() };
        let request = Request::of(4000);
        let ends_of = [(request.from, 40_000), (server, 5351)];
        let frame = datagram(&config, INSIDE, (UDP, ends_of), &request.message());
        let frame = place.dress(&config, frame);
        let outcome = pair.frame(INSIDE, &frame).unwrap_or_else(|what| panic!("{what}"));
        let Expected::Forward { port: INSIDE, frame } = outcome else { panic!("{outcome:?}") };
        let (towards, answer) = Place::undress(frame);
        assert_eq!((towards, &answer[26..30]), (place, &server[..]));
        assert_eq!(result(&answer[42..]), (0, 3600));
        ends.push((place, outside(&answer[42..])));
    }
    assert!(ends[0].1 != ends[1].1 && ends[1].1 != ends[2].1, "each its own: {ends:?}");
    for (place, end) in ends {
        let frame = datagram(&config, OUTSIDE, (UDP, [(HOST, 9), end]), b"ask");
        let outcome = pair.frame(OUTSIDE, &frame).unwrap_or_else(|what| panic!("{what}"));
        let Expected::Forward { port: INSIDE, frame } = outcome else { panic!("{outcome:?}") };
        let (towards, frame) = Place::undress(frame);
        assert_eq!(towards, place);
        assert_eq!((&frame[30..34], &frame[36..38]), (&SUBSCRIBER[..], &4000u16.to_be_bytes()[..]));
    }
}

#[test]
fn a_mapping_takes_packets_of_anybody_for_as_long_as_was_told() {
    for filtering in [
        Filtering::EndpointIndependent,
        Filtering::AddressDependent,
        Filtering::AddressAndPortDependent,
    ] {
        let config = Config { filtering, ..config() };
        for protocol in [UDP, TCP] {
            let mut pair = pair(&config);
            let request = Request { protocol, ..Request::of(4000) };
            let answer = ask(&mut pair, &config, &request);
            assert_eq!(result(&answer), (0, 3600));
            assert_eq!(answer[24..42], request.message()[24..42], "nonce, protocol, port");
            let end = outside(&answer);
            for host in [HOST, [198, 51, 100, 9]] {
                let came = arrives(&mut pair, &config, (protocol, (host, 9), end));
                assert_eq!(came, Ok((SUBSCRIBER, 4000)), "{filtering:?}");
            }
            // No packet of the subscriber's keeps it.
            wait(&mut pair, 3598);
            let came = arrives(&mut pair, &config, (protocol, (HOST, 10), end));
            assert_eq!(came, Ok((SUBSCRIBER, 4000)));
            wait(&mut pair, 4);
            assert_eq!(
                arrives(&mut pair, &config, (protocol, (HOST, 11), end)),
                Err("no-mapping"),
                "its time is up, and packets from outside have not kept it"
            );
        }
    }
}

#[test]
fn a_session_that_the_mapping_took_ends_with_it_where_nobody_answers() {
    let config = config();
    let mut pair = pair(&config);
    let end = outside(&ask(&mut pair, &config, &Request { lifetime: 20, ..Request::of(4000) }));
    wait(&mut pair, 18);
    assert!(arrives(&mut pair, &config, (UDP, (HOST, 9), end)).is_ok());
    wait(&mut pair, 3);
    assert_eq!(arrives(&mut pair, &config, (UDP, (HOST, 9), end)), Err("no-mapping"));
}

#[test]
fn packets_of_the_inside_port_leave_from_the_mapping_and_it_is_used_where_it_is_there() {
    let config = config();
    let mut pair = pair(&config);
    let leave = |pair: &mut Pair<Cgnat>, port: u16| {
        let frame = datagram(&config, INSIDE, (UDP, [(SUBSCRIBER, port), (HOST, 53)]), b"ask");
        match pair.frame(INSIDE, &frame).unwrap_or_else(|what| panic!("{what}")) {
            Expected::Forward { port: OUTSIDE, frame } => {
                let port = u16::from_be_bytes([frame[34], frame[35]]);
                ([frame[26], frame[27], frame[28], frame[29]], port)
            }
            other => panic!("{other:?}"),
        }
    };
    let end = outside(&ask(&mut pair, &config, &Request::of(4000)));
    assert_eq!(leave(&mut pair, 4000), end);
    // The other way around.
    let end = leave(&mut pair, 5000);
    assert_eq!(outside(&ask(&mut pair, &config, &Request::of(5000))), end);
    // Sessions outlive the mapping that was asked for, and keep its end.
    let delete = Request { lifetime: 0, ..Request::of(5000) };
    assert_eq!(result(&ask(&mut pair, &config, &delete)), (0, 0));
    assert_eq!(leave(&mut pair, 5000), end);
}

#[test]
fn what_is_suggested_is_assigned_where_it_is_free_and_demanded_or_nothing() {
    let config = config();
    let mut pair = pair(&config);
    let with = |outside: (u16, [u8; 4]), options: &[u8], port| Request {
        outside,
        options: options.to_vec(),
        ..Request::of(port)
    };
    let first = outside(&ask(&mut pair, &config, &with((2222, [0; 4]), &[], 4000)));
    assert_eq!(first.1, 2222);
    let other = outside(&ask(&mut pair, &config, &with((2222, [0; 4]), &[], 4001)));
    assert_ne!(other.1, 2222, "another one in its place");
    assert_eq!(other.0, first.0, "on the subscriber's address");
    let refused = ask(&mut pair, &config, &with((2222, [0; 4]), &OR_NOTHING, 4002));
    assert_eq!(result(&refused), (11, 30));
    assert_eq!(refused[24..], with((2222, [0; 4]), &OR_NOTHING, 4002).message()[24..]);
    let elsewhere = ask(&mut pair, &config, &with((2223, [198, 51, 100, 1]), &OR_NOTHING, 4002));
    assert_eq!(result(&elsewhere), (11, 30));
    let done = ask(&mut pair, &config, &with((2223, first.0), &OR_NOTHING, 4002));
    assert_eq!((result(&done), outside(&done)), ((0, 3600), (first.0, 2223)));
    assert_eq!(done[60..], OR_NOTHING, "the option was followed");
    let renewed = ask(&mut pair, &config, &with((2224, first.0), &[], 4002));
    assert_eq!(outside(&renewed), (first.0, 2223), "it keeps what it has");
    let other = ask(&mut pair, &config, &with((2224, first.0), &OR_NOTHING, 4002));
    assert_eq!(result(&other), (11, 30));
    let nothing = ask(&mut pair, &config, &with((0, [0; 4]), &OR_NOTHING, 4003));
    assert_eq!(result(&nothing), (6, 1800));
}

#[test]
fn renewals_and_deletions_need_the_nonce() {
    let config = config();
    let mut pair = pair(&config);
    let end = outside(&ask(&mut pair, &config, &Request::of(4000)));
    wait(&mut pair, 100);
    let foreign = Request { nonce: [9; 12], ..Request::of(4000) };
    for request in [Request { lifetime: 0, ..foreign.clone() }, foreign] {
        let (code, lifetime) = result(&ask(&mut pair, &config, &request));
        assert_eq!(code, 2);
        assert!((3499..=3501).contains(&lifetime), "{lifetime} s of the mapping are left");
    }
    assert_eq!(result(&ask(&mut pair, &config, &Request::of(4000))), (0, 3600));
    wait(&mut pair, 3550);
    assert!(arrives(&mut pair, &config, (UDP, (HOST, 9), end)).is_ok(), "it was renewed");
    let delete = Request { lifetime: 0, outside: (77, [1; 4]), ..Request::of(4000) };
    let deleted = ask(&mut pair, &config, &delete);
    assert_eq!(result(&deleted), (0, 0));
    assert_eq!(deleted[24..], delete.message()[24..], "as it came");
    // The packet from outside has a session yet.
    wait(&mut pair, 11);
    assert_eq!(arrives(&mut pair, &config, (UDP, (HOST, 9), end)), Err("no-mapping"));
    assert_eq!(result(&ask(&mut pair, &config, &delete)), (0, 0), "there is nothing to delete");
    let tallies = pair.device_mut().counts().tallies;
    assert_eq!(tallies[Tally::PcpGranted as usize], 1);
    assert_eq!(tallies[Tally::PcpDeleted as usize], 1);
}

#[test]
fn lifetimes_are_brought_into_their_range_and_long_ones_are_kept() {
    let config = config();
    let mut pair = pair(&config);
    for (asked, given) in [(1, 20), (20, 20), (40_000, 40_000), (u32::MAX, 40_000)] {
        let request = Request { lifetime: asked, ..Request::of(4000) };
        assert_eq!(result(&ask(&mut pair, &config, &request)), (0, given));
    }
    // Longer than the notes of the sweep reach.
    let end = outside(&ask(&mut pair, &config, &Request { lifetime: 40_000, ..Request::of(4000) }));
    wait(&mut pair, 39_000);
    assert!(arrives(&mut pair, &config, (UDP, (HOST, 9), end)).is_ok());
    wait(&mut pair, 2000);
    assert_eq!(arrives(&mut pair, &config, (UDP, (HOST, 9), end)), Err("no-mapping"));
    wait(&mut pair, 10);
    let state = pair.device_mut().function_mut().state();
    assert_eq!((state.sessions.count(), state.subscribers.count()), (0, 0));
    assert_eq!(state.granted.as_ref().map(|granted| granted.count()), Some(0));
}

#[test]
fn limits_are_told_and_taken_by_nobody_else() {
    let pcp = Pcp { mappings: 5, mappings_per_subscriber: 3, ..Pcp::default() };
    let config = Config { pcp: Some(pcp), ..config() };
    let mut device = pair(&config);
    let other = |port| Request { from: [10, 0, 0, 8], ..Request::of(port) };
    let codes = |device: &mut Pair<Cgnat>, requests: Vec<Request>| -> Vec<u8> {
        // The inside port has the same addresses in all of them.
        requests.iter().map(|one| ask(device, &self::config(), one)[3]).collect()
    };
    assert_eq!(codes(&mut device, (1..6).map(Request::of).collect()), [0, 0, 0, 10, 10]);
    assert_eq!(codes(&mut device, (1..4).map(other).collect()), [0, 0, 8]);
    let delete = Request { lifetime: 0, ..Request::of(2) };
    assert_eq!(codes(&mut device, vec![delete, other(9), Request::of(9)]), [0, 0, 8]);
    // Limits of the NAT's are those of all sessions.
    let config = Config {
        sessions_per_subscriber: Some(2),
        port_block: PortBlocks { size: 64, per_subscriber: 1 },
        pcp: Some(Pcp::default()),
        ..config
    };
    let mut device = pair(&config);
    assert_eq!(codes(&mut device, (1..4).map(Request::of).collect()), [0, 0, 10]);
    let config = Config { sessions: 2, sessions_per_subscriber: Some(0), ..config };
    let mut device = pair(&config);
    assert_eq!(codes(&mut device, (1..4).map(Request::of).collect()), [0, 0, 8]);
}

#[test]
fn a_subscriber_that_is_cleared_has_no_mapping_any_more_and_drained_pools_keep_theirs() {
    let config = config();
    let mut pair = pair(&config);
    let end = outside(&ask(&mut pair, &config, &Request::of(4000)));
    let drain = Update::DrainPool { pool: net("198.18.0.0/30") };
    assert_eq!(pair.update(&drain), Ok(true));
    assert_eq!(result(&ask(&mut pair, &config, &Request::of(4000))), (0, 3600));
    assert!(arrives(&mut pair, &config, (UDP, (HOST, 9), end)).is_ok());
    let clear = Update::ClearSubscriber { address: SUBSCRIBER.into(), vlan: 0 };
    assert_eq!(pair.update(&clear), Ok(true));
    assert_eq!(arrives(&mut pair, &config, (UDP, (HOST, 9), end)), Err("no-mapping"));
    assert_eq!(result(&ask(&mut pair, &config, &Request::of(4000))), (8, 30), "no pool is open");
}

#[test]
fn what_cannot_be_done_is_answered_by_its_code() {
    let config = config();
    let mut pair = pair(&config);
    let whole = Request::of(4000).message();
    let changed = |at: usize, byte: u8| {
        let mut message = whole.clone();
        message[at] = byte;
        message
    };
    let with = |options: &[u8]| [&whole[..], options].concat();
    for (about, asked, code, lifetime) in [
        ("version 1", changed(0, 1), 1, 1800),
        ("version 3", changed(0, 3), 1, 1800),
        ("a request of NAT-PMP", vec![0, 0], 1, 1800),
        ("no multiple of four", whole[..59].to_vec(), 3, 1800),
        ("half of MAP", whole[..40].to_vec(), 3, 1800),
        ("too long", [&whole[..], &[0; 1044]].concat(), 3, 1800),
        ("PEER", changed(1, 2), 4, 1800),
        ("THIRD_PARTY", with(&[&[1, 0, 0, 16][..], &mapped(HOST)].concat()), 5, 1800),
        ("FILTER", with(&[&[3, 0, 0, 20, 0, 128, 0, 0][..], &mapped(HOST)].concat()), 5, 1800),
        ("an unknown option that must be understood", with(&[127, 0, 0, 0]), 5, 1800),
        ("an option beyond the message", with(&[200, 0, 0, 1]), 6, 1800),
        ("an option twice", with(&[OR_NOTHING, OR_NOTHING].concat()), 6, 1800),
        ("another's address", changed(23, 8), 12, 1800),
        ("ICMP", changed(36, 1), 9, 1800),
        ("all ports", [&whole[..40], &[0, 0], &whole[42..]].concat(), 9, 1800),
        ("an unknown option that need not be", with(&[128, 0, 0, 3, 1, 2, 3, 0]), 0, 3600),
        ("nothing to announce", [&[2, 0, 0, 0], &[0; 4], &whole[8..24]].concat(), 0, 0),
    ] {
        let answer = answer(&mut pair, &message(&config, SUBSCRIBER, &asked));
        assert_eq!((answer[0], answer[1] & 128, answer[2]), (2, 128, 0), "{about}");
        assert_eq!(result(&answer), (code, lifetime), "{about}");
        assert_eq!(answer.len() % 4, 0, "{about}");
        if code > 0 {
            let copied = asked.len().min(1100);
            assert_eq!(answer.len(), copied.next_multiple_of(4).max(24), "{about}");
            assert_eq!(answer[24..copied.max(24)], asked[copied.min(24)..copied], "{about}");
        }
    }
    let errors = pair.device_mut().counts().tallies[Tally::PcpErrors as usize];
    assert_eq!(errors, 15);
}

#[test]
fn the_epoch_is_the_time_since_the_start() {
    let config = config();
    let mut pair = pair(&config);
    let first = epoch(&ask(&mut pair, &config, &Request::of(4000)));
    wait(&mut pair, 500);
    let later = epoch(&ask(&mut pair, &config, &Request::of(4000)));
    assert!((499..=501).contains(&(later - first)), "{first} s, {later} s");
}

#[test]
fn what_is_no_request_of_a_subscriber_is_dropped() {
    let config = config();
    let mut pair = pair(&config);
    let whole = Request::of(4000).message();
    let mut response = whole.clone();
    response[1] |= 128;
    for cut in [&whole[..0], &whole[..1], &whole[..23], &response] {
        let frame = message(&config, SUBSCRIBER, cut);
        assert_eq!(pair.frame(INSIDE, &frame), Ok(Expected::Drop("pcp-ignored")));
    }
    let stranger = Request { from: [172, 16, 0, 1], ..Request::of(4000) };
    assert_eq!(pair.frame(INSIDE, &stranger.frame(&config)), Ok(Expected::Drop("not-inside")));
    let mut damaged = Request::of(4000).frame(&config);
    damaged[70] ^= 1;
    assert_eq!(pair.frame(INSIDE, &damaged), Ok(Expected::Drop("transport-malformed")));
    let to_outside = [(HOST, 40_000), (config.outside_ip.octets(), 5351)];
    let frame = datagram(&config, OUTSIDE, (UDP, to_outside), &whole);
    assert_eq!(pair.frame(OUTSIDE, &frame), Ok(Expected::Drop("local")));
    let without = Config { pcp: None, ..config.clone() };
    let frame = Request::of(4000).frame(&without);
    assert_eq!(self::pair(&without).frame(INSIDE, &frame), Ok(Expected::Drop("local")));
}

/// A request as anybody may write it.
fn any_request(random: &mut Random, hosts: &[[u8; 4]]) -> Request {
    let options = [&[][..], &OR_NOTHING, &[130, 0, 0, 0], &[3, 0, 0, 0]];
    let addresses = [[0; 4], [0; 4], [198, 18, 0, random.below(4) as u8], [203, 0, 113, 80]];
    let options = *random.one_of(&options);
    // Whether a port can be had that is demanded depends on what others had, and on when a device
    // notices that it is over.
    let ports: &[u16] =
        if options == OR_NOTHING { &[0] } else { &[0, 1030, 1031, 2100, 4000, 64_000] };
    Request {
        from: *random.one_of(hosts),
        nonce: [random.below(8).min(1) as u8; 12],
        lifetime: *random.one_of(&[0, 1, 30, 31, 60, 200, 5000]),
        protocol: *random.one_of(&[UDP, UDP, TCP, TCP, 1]),
        port: random.below(12) as u16 + 4000,
        outside: (*random.one_of(ports), *random.one_of(&addresses)),
        options: options.to_vec(),
    }
}

/// Requests between packets of subscribers and of hosts outside, pauses, changes.
fn walk(config: &Config, seed: u64) -> [u64; 16] {
    const STEPS: usize = 12_000;
    let (config, _) = valid(config, &traffic());
    let (mut pair, mut random) = (pair(&config), Random::new(seed));
    // One with an address for itself, and two that share one, where there are such.
    let hosts = [[10, 0, 0, 7], [10, 0, 0, 8], [10, 9, 0, 1], [10, 255, 255, 250], [10, 9, 0, 8]];
    let (mut ends, mut codes) = (vec![([198, 18, 0, 1], 1030)], [0; 16]);
    for step in 0..STEPS {
        let differs = |what: String| -> ! { panic!("seed {seed:#x}, step {step}: {what}") };
        let far = (*random.one_of(&[HOST, [198, 51, 100, 9]]), 7 + random.below(3) as u16);
        let protocol = *random.one_of(&[UDP, TCP]);
        let (port, frame) = match random.below(9) {
            0..=3 => {
                let mut message = any_request(&mut random, &hosts).message();
                let from = [message[20], message[21], message[22], message[23]];
                if random.below(4) == 0 {
                    let at = random.below(message.len());
                    message[at] = random.byte();
                }
                (INSIDE, self::message(&config, from, &message))
            }
            4 | 5 => {
                let from = (*random.one_of(&hosts), random.below(12) as u16 + 4000);
                let other = *random.one_of(&ends);
                let to = if random.below(4) == 0 { other } else { far };
                (INSIDE, datagram(&config, INSIDE, (protocol, [from, to]), b"say"))
            }
            6 | 7 => {
                let to = *random.one_of(&ends);
                (OUTSIDE, datagram(&config, OUTSIDE, (protocol, [far, to]), b"ask"))
            }
            _ => {
                let address = (*random.one_of(&hosts)).into();
                let update = Update::ClearSubscriber { address, vlan: 0 };
                match random.below(20) {
                    0 => pair.update(&update).map(drop),
                    1..6 => pair.wait(Duration::from_secs(1 + random.below(12) as u64)),
                    _ => Ok(()),
                }
                .unwrap_or_else(|what| differs(what));
                continue;
            }
        };
        let became = pair.frame(port, &frame).unwrap_or_else(|what| differs(what));
        let Expected::Forward { port: by, frame } = became else { continue };
        let is_datagram = frame[12..14] == [8, 0] && frame[23] == UDP;
        if by == INSIDE && is_datagram && frame[26..30] == config.inside_ip.octets() {
            let answer = &frame[42..];
            codes[usize::from(answer[3])] += 1;
            // What was given back is as it came.
            if answer.len() >= 60 && answer[3] == 0 && result(answer).1 > 0 {
                // The oracle takes the first port of a block for that of a mapping which it did not
                // see: who sends there when it is gone would meet itself.
                ends.extend([outside(answer)].into_iter().filter(|end| end.1 % 64 != 0));
            }
        }
        if ends.len() > 24 {
            ends.remove(0);
        }
    }
    codes
}

#[test]
fn pipeline_and_oracle_agree_on_requests_between_packets() {
    let pcp = Some(Pcp {
        lifetime_min_s: 5,
        lifetime_max_s: 3000,
        mappings: 24,
        mappings_per_subscriber: 8,
    });
    let some = [&kinds()[0], &kinds()[1], &kinds()[2], &kinds()[3]];
    let mut all = [0; 16];
    for (kind, seed) in some.into_iter().zip(0x9c9_0000..) {
        let small = Config { pcp, sessions_per_subscriber: Some(20), ..kind.clone() };
        let codes = walk(&small, seed);
        assert!(codes[0] > 300, "{codes:?}");
        all.iter_mut().zip(codes).for_each(|(sum, count)| *sum += count);
    }
    // Of all codes that this server has but that for requests of a wrong length, which the walk
    // does not send.
    let missing = [0, 1, 2, 4, 5, 6, 8, 9, 10, 11, 12].into_iter().find(|code| all[*code] < 5);
    assert_eq!(missing, None, "{all:?}");
}

#[test]
fn tshark_reads_requests_and_answers() {
    let config = config();
    let mut pair = pair(&config);
    let option =
        Request { outside: (2222, [0; 4]), options: OR_NOTHING.to_vec(), ..Request::of(4000) };
    let foreign = Request { nonce: [9; 12], ..Request::of(4000) };
    let announce = [&[2, 0, 0, 0], &[0; 4], &mapped(SUBSCRIBER)[..]].concat();
    let mut frames = Vec::new();
    for asked in
        [option.frame(&config), foreign.frame(&config), message(&config, SUBSCRIBER, &announce)]
    {
        frames.push(asked.clone());
        match pair.frame(INSIDE, &asked) {
            Ok(Expected::Forward { frame, .. }) => frames.push(frame),
            other => panic!("{other:?}"),
        }
    }
    let fields = [
        "_ws.malformed",
        "udp.checksum.status",
        "portcontrol.opcode",
        "portcontrol.r",
        "portcontrol.result_code",
        "portcontrol.map.nonce",
        "portcontrol.map.internal_port",
        "portcontrol.map.rsp_assigned_external_port",
        "portcontrol.option.code",
    ];
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pcp.pcap");
    let Some(read) = dissect(&file, (DataLink::ETHERNET, &frames), &[], &fields) else { return };
    let lines: Vec<String> = read.iter().map(|read| read.line()).collect();
    let expected = [
        "|1|1|0||0102030405060708090a0b0c|4000||2",
        "|1|1|1|0|0102030405060708090a0b0c|4000|2222|2",
        "|1|1|0||090909090909090909090909|4000||",
        "|1|1|1|2|090909090909090909090909|4000|0|",
        "|1|0|0|||||",
        "|1|0|1|0||||",
    ];
    assert_eq!(lines, expected);
}
