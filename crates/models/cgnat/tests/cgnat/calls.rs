//! Calls of PPTP byte by byte: frames that are written here by hand, without sample and model.
use std::collections::BTreeSet;
use std::time::Duration;

use engine::steering::worker_of;
use function_cgnat::config::Config;
use function_cgnat::reasons::Tally;
use function_cgnat::{Pipeline, Update};
use function_kit::{NetworkFunction, Shard};
use machine::clock::Ticks;
use model_cgnat::Cgnat;
use model_cgnat::Traffic;
use model_kit::Model;
use model_kit::check::Expected;
use packet::PortId;
use testkit::device::Device;
use testkit::mutate::repair;
use testkit::pair::{Pair, clock};
use wire::checksum::Sum;

use crate::algs;
use crate::frames::{INSIDE, OUTSIDE};

const NOW: Ticks = 1 << 40;
pub const SERVER: [u8; 4] = [192, 0, 2, 80];
pub const ONE: [u8; 4] = [10, 0, 0, 5];
const TWO: [u8; 4] = [10, 0, 0, 6];

/// A NAT with the gateway, and connections of subscribers to the server.
pub struct Nat {
    pub config: Config,
    pub device: Device<Pipeline>,
    /// Its log.
    told: String,
}

impl Nat {
    pub fn new(more: &str) -> Nat {
        Nat::on(more, Shard::WHOLE)
    }

    /// One of several workers.
    fn on(more: &str, shard: Shard) -> Nat {
        let text = format!("{{sessions: 200, subscribers: 10, secret: 3, {more}}}");
        let mut config: Config = serde_saphyr::from_str(&text).expect("a section");
        let mut traffic = Traffic { sessions: 1, ..Traffic::default() };
        Cgnat::validate(&mut config, &mut traffic).expect("a valid configuration");
        let function = function_cgnat::Cgnat::function(&config, shard, clock(), 1 << 30);
        let device = Device::new(function.expect("a small NAT"), 2);
        Nat { config, device, told: String::new() }
    }

    fn frame(&self, port: PortId, vlan: u16, packet: &[u8]) -> Vec<u8> {
        let to = if port == INSIDE { self.config.inside_mac } else { self.config.outside_mac };
        let mut frame = [&to.0.0[..], &[2, 0, 0, 0, 0, 9, 8, 0], packet].concat();
        repair(&mut frame);
        if vlan != 0 {
            frame.splice(12..12, [0x81, 0, (vlan >> 8) as u8, vlan as u8]);
        }
        frame
    }

    /// What becomes of a packet of a subscriber of a VRF, or for it, without tag.
    pub fn pass(&mut self, port: PortId, vlan: u16, packet: &[u8]) -> Option<Vec<u8>> {
        let frame = self.frame(port, if port == INSIDE { vlan } else { 0 }, packet);
        let (mut left, mut told) = (None, String::new());
        for one in self.device.exchange(port, &frame, NOW) {
            match one {
                Expected::Forward { frame, .. } if frame[23] == 17 => told.push_str(&text(&frame)),
                Expected::Forward { port: to, frame } => left = Some((to, frame)),
                _ => {}
            }
        }
        self.told.push_str(&told);
        let (to, mut frame) = left?;
        assert_ne!(to, port);
        if to == INSIDE && vlan != 0 {
            assert_eq!(frame.drain(12..16).as_slice()[2..], vlan.to_be_bytes());
        }
        assert_eq!(Sum::ZERO.add_bytes(&frame[14..34]).fold(), u16::MAX, "the header");
        Some(frame[14..].to_vec())
    }

    /// Connects a subscriber's control connection; yields its outside end.
    pub fn connect(&mut self, vlan: u16, client: [u8; 4]) -> ([u8; 4], u16) {
        let syn = segment((client, 3100), (SERVER, 1723), (2, 99, 0), &[]);
        let left = self.pass(INSIDE, vlan, &syn).expect("it leaves");
        let outside = ([left[12], left[13], left[14], left[15]], word(&left, 20));
        let both = segment((SERVER, 1723), outside, (18, 499, 100), &[]);
        self.pass(OUTSIDE, vlan, &both).expect("it arrives");
        outside
    }

    /// The client asks for its call of a number; yields the identifier that the server reads.
    pub fn ask(&mut self, vlan: u16, client: [u8; 4], number: u32, call: u16) -> u16 {
        let numbers = (16, 100 + 168 * number, 500 + 32 * number);
        let request = segment((client, 3100), (SERVER, 1723), numbers, &request(call));
        let left = self.pass(INSIDE, vlan, &request).expect("it leaves");
        assert_transport(&left);
        word(&left, 40 + 12)
    }

    /// The server answers that; yields the identifiers that the client reads.
    pub fn answer(
        &mut self,
        vlan: u16,
        (outside, number): (([u8; 4], u16), u32),
        (theirs, peer): (u16, u16),
    ) -> (u16, u16) {
        let numbers = (16, 500 + 32 * number, 268 + 168 * number);
        let reply = segment((SERVER, 1723), outside, numbers, &reply(theirs, peer));
        let left = self.pass(OUTSIDE, vlan, &reply).expect("it arrives");
        assert_transport(&left);
        (word(&left, 40 + 12), word(&left, 40 + 14))
    }

    fn tally(&self, tally: Tally) -> u64 {
        self.device.counts().tallies[tally as usize]
    }
}

fn text(frame: &[u8]) -> String {
    String::from_utf8_lossy(&frame[42..]).into_owned()
}

fn word(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([packet[at], packet[at + 1]])
}

fn ip(protocol: u8, from: [u8; 4], to: [u8; 4], message: &[u8]) -> Vec<u8> {
    let len = (20 + message.len()) as u16;
    let head = [&[0x45, 0][..], &len.to_be_bytes(), &[0, 7, 0x40, 0, 64, protocol, 0, 0]].concat();
    [&head[..], &from, &to, message].concat()
}

/// A segment: from whom, to whom; flags, sequence and acknowledgement number.
fn segment(
    from: ([u8; 4], u16),
    to: ([u8; 4], u16),
    (flags, seq, ack): (u8, u32, u32),
    data: &[u8],
) -> Vec<u8> {
    let ports = [from.1.to_be_bytes(), to.1.to_be_bytes()].concat();
    let numbers = [seq.to_be_bytes(), ack.to_be_bytes()].concat();
    let rest = [0x50, flags, 0x10, 0, 0, 0, 0, 0];
    let mut packet = ip(6, from.0, to.0, &[&ports[..], &numbers, &rest, data].concat());
    let sum = !transport_sum(&packet);
    packet[36..38].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn transport_sum(packet: &[u8]) -> u16 {
    let len = (packet.len() - 20) as u16;
    let sum = Sum::ZERO.add_bytes(&packet[12..20]).add_u16(6).add_u16(len);
    sum.add_bytes(&packet[20..]).fold()
}

fn assert_transport(packet: &[u8]) {
    assert_eq!(transport_sum(packet), u16::MAX, "the segment");
}

/// Outgoing-Call-Request (RFC 2637 section 2.7), as far as the gateway reads it.
fn request(call: u16) -> Vec<u8> {
    let mut message = vec![0; 168];
    message[..10].copy_from_slice(&[0, 168, 0, 1, 0x1a, 0x2b, 0x3c, 0x4d, 0, 7]);
    message[12..14].copy_from_slice(&call.to_be_bytes());
    message
}

/// Outgoing-Call-Reply (section 2.8): connected.
fn reply(call: u16, peer: u16) -> Vec<u8> {
    let mut message = vec![0; 32];
    message[..10].copy_from_slice(&[0, 32, 0, 1, 0x1a, 0x2b, 0x3c, 0x4d, 0, 8]);
    message[12..14].copy_from_slice(&call.to_be_bytes());
    message[14..16].copy_from_slice(&peer.to_be_bytes());
    message[16] = 1;
    message
}

/// Enhanced GRE (section 4.1) with a word of data.
pub fn gre(from: [u8; 4], to: [u8; 4], call: u16) -> Vec<u8> {
    let [high, low] = call.to_be_bytes();
    ip(47, from, to, &[0x30, 0x81, 0x88, 0x0b, 0, 2, high, low, 0, 0, 0, 7, 0, 0, 0, 3, 0xff, 3])
}

/// The same a hop later, its header checksum aside.
pub fn hop_later(mut packet: Vec<u8>) -> Vec<u8> {
    packet[8] -= 1;
    packet
}

pub fn without_checksum(mut packet: Vec<u8>) -> Vec<u8> {
    packet[10..12].fill(0);
    packet
}

#[test]
fn two_subscribers_with_the_same_identifier_reach_one_server() {
    // Beside one another, and with the same address in a VRF.
    let vrf = "alg: {pptp: true}, vrfs: [{name: red, vlan: 100, inside: [10.0.0.0/8]}]";
    for (more, vlan, other) in [("alg: {pptp: true}", 0, TWO), (vrf, 100, ONE)] {
        let mut nat = Nat::new(more);
        let mut known = Vec::new();
        for (vlan, client, theirs) in [(0, ONE, 700), (vlan, other, 701)] {
            let outside = nat.connect(vlan, client);
            let told = nat.ask(vlan, client, 0, 5);
            assert!(told >= 1024, "a port of its block");
            assert_eq!(nat.answer(vlan, (outside, 0), (theirs, told)), (theirs, 5));
            known.push((vlan, client, theirs, outside.0, told));
        }
        assert_ne!((known[0].3, known[0].4), (known[1].3, known[1].4));
        for (vlan, client, theirs, outside, told) in known {
            let left = nat.pass(INSIDE, vlan, &gre(client, SERVER, theirs)).expect("it leaves");
            assert_eq!(without_checksum(left), hop_later(gre(outside, SERVER, theirs)));
            let left = nat.pass(OUTSIDE, vlan, &gre(SERVER, outside, told)).expect("it arrives");
            assert_eq!(without_checksum(left), hop_later(gre(SERVER, client, 5)));
            // Another one's, and nobody's.
            assert_eq!(nat.pass(INSIDE, vlan, &gre(client, SERVER, 699)), None);
            assert_eq!(nat.pass(INSIDE, vlan, &gre(client, [192, 0, 2, 81], theirs)), None);
        }
        let state = nat.device.function_mut().state();
        assert_eq!((state.algs.calls.count(), state.algs.connections()), (2, 2));
    }
}

#[test]
fn without_the_gateway_enhanced_gre_is_dropped() {
    let mut nat = Nat::new("alg: {ftp: true, sip: true}");
    let outside = nat.connect(0, ONE);
    assert_eq!(nat.ask(0, ONE, 0, 5), 5, "nobody's business");
    assert_eq!(nat.answer(0, (outside, 0), (700, 5)), (700, 5));
    assert_eq!(nat.pass(INSIDE, 0, &gre(ONE, SERVER, 700)), None);
    assert_eq!(nat.pass(OUTSIDE, 0, &gre(SERVER, outside.0, 5)), None);
    assert_eq!(nat.device.function_mut().state().algs.calls.bytes(), 0);
}

#[test]
fn calls_have_a_bound_and_what_is_kept_ends_with_their_sessions() {
    let mut nat = Nat::new("alg: {pptp: true, connections: 4}");
    let outside = nat.connect(0, ONE);
    for call in 0..10 {
        let told = nat.ask(0, ONE, call.into(), call);
        nat.answer(0, (outside, call.into()), (700 + call, told));
    }
    assert_eq!(nat.device.function_mut().state().algs.calls.count(), 4);
    assert_eq!(nat.tally(Tally::AlgCallsFull), 6);
    for call in 0..10 {
        let left = nat.pass(INSIDE, 0, &gre(ONE, SERVER, 700 + call));
        assert_eq!(left.is_some(), call < 4, "{call}");
    }
    // The server's numbers again, for other calls: the older ones have none any more.
    for call in 0..4 {
        let number = 10 + u32::from(call);
        let told = nat.ask(0, ONE, number, 20 + call);
        nat.answer(0, (outside, number), (700 + call, told));
    }
    assert_eq!(nat.device.function_mut().state().algs.calls.count(), 4);
    let subscriber = function_cgnat::Update::ClearSubscriber { address: ONE.into(), vlan: 0 };
    assert!(nat.device.update(subscriber, NOW));
    let state = nat.device.function_mut().state();
    assert_eq!((state.algs.calls.count(), state.algs.connections()), (0, 0));
    assert_eq!(state.sessions.count(), 0);
}

#[test]
fn logs_and_tables_tell_protocol_47() {
    let logging = "logging: {format: syslog, collector: 203.0.113.9, source: 203.0.113.1, \
         next-hop-mac: '02:6e:61:74:00:04', sessions: true, mappings: true, \
         destinations: true}";
    let mut nat = Nat::new(&format!("alg: {{pptp: true}}, {logging}"));
    let outside = nat.connect(0, ONE);
    let told = nat.ask(0, ONE, 0, 5);
    nat.answer(0, (outside, 0), (700, told));
    for second in 1..5 {
        let now = NOW + clock().ticks(Duration::from_secs(second));
        for made in nat.device.rest(now) {
            if let Expected::Forward { frame, .. } = made {
                nat.told.push_str(&text(&frame));
            }
        }
    }
    let with_47: Vec<&str> =
        nat.told.split('[').filter(|element| element.contains("proto=\"47\"")).collect();
    let both = ["inport=\"5\"".to_owned(), format!("outport=\"{told}\"")];
    assert_eq!(with_47.len(), 2, "a mapping and a session: {}", nat.told);
    for element in with_47 {
        assert!(both.iter().all(|value| element.contains(value)), "{element}");
    }
    let function = nat.device.function_mut();
    let page = function_cgnat::Cgnat::table_page(function, 0, 0, 100, NOW);
    let calls = page.entries.iter().filter(|entry| entry["protocol"] == 47);
    let calls: Vec<_> = calls.filter(|entry| entry["expected"] == false).collect();
    assert_eq!(calls.len(), 1, "{:?}", page.entries);
    assert_eq!(calls[0]["inside"], "10.0.0.5:5");
    assert_eq!(calls[0]["remote"], "192.0.2.80:0");
}

#[test]
fn packets_of_a_call_find_the_worker_of_its_subscriber() {
    for index in 0..3 {
        let mut nat = Nat::on("core: 3, alg: {pptp: true}", Shard { index, count: 3 });
        let outside = nat.connect(0, ONE);
        for call in 0..20 {
            let told = nat.ask(0, ONE, call.into(), call);
            nat.answer(0, (outside, call.into()), (700 + call, told));
            let address = u32::from_be_bytes(outside.0);
            let allocation = &nat.device.function_mut().state().allocation;
            for (protocol, port) in [(6, outside.1), (47, told)] {
                let bits = allocation.steering(protocol, (address, port));
                assert_eq!(worker_of(bits, 3), index, "protocol {protocol}");
            }
            assert!(nat.pass(OUTSIDE, 0, &gre(SERVER, outside.0, told)).is_some(), "{call}");
        }
    }
}

/// A request comes again after its call is over, and another session with it, which counts until
/// the sweep meets it: there may be no room for the call, and then the server is asked for what it
/// has. What left does not show the oracle that the call was refused.
#[test]
fn a_request_that_comes_again_may_find_no_room_for_its_call() {
    let config = algs::config();
    let pass = |pair: &mut Pair<Cgnat>, port, packet: &[u8]| {
        let to = if port == INSIDE { config.inside_mac } else { config.outside_mac };
        let mut frame = [&to.0.0[..], &[2, 0, 0, 0, 0, 9, 8, 0], packet].concat();
        repair(&mut frame);
        let outcome = pair.frame(port, &frame).unwrap_or_else(|what| panic!("{what}"));
        let Expected::Forward { frame, .. } = outcome else { panic!("{outcome:?}") };
        frame[14..].to_vec()
    };
    let wait = |pair: &mut Pair<Cgnat>, tenths| {
        (0..tenths).for_each(|_| pair.wait(Duration::from_millis(100)).expect("they agree"));
    };
    let (client, server) = ((ONE, 3100), (SERVER, 1723));
    let asked = segment(client, server, (16, 100, 500), &request(7));
    // The sweep goes round in two seconds.
    let met = (0..20).map(|tenths| {
        let mut pair = Pair::<Cgnat>::new(&config, Shard::WHOLE);
        wait(&mut pair, tenths);
        let left = pass(&mut pair, INSIDE, &segment(client, server, (2, 99, 0), &[]));
        let outside = ([left[12], left[13], left[14], left[15]], word(&left, 20));
        pass(&mut pair, OUTSIDE, &segment(server, outside, (18, 499, 100), &[]));
        assert_eq!(pass(&mut pair, INSIDE, &asked).len(), 40 + 168);
        pass(&mut pair, INSIDE, &ip(17, ONE, SERVER, &[20, 0, 0, 53, 0, 8, 0, 0]));
        wait(&mut pair, 106);
        assert_eq!(pair.update(&Update::SetSessionLimit { sessions: 2 }), Ok(true));
        let again = pass(&mut pair, INSIDE, &asked);
        wait(&mut pair, 20);
        assert_eq!(pass(&mut pair, INSIDE, &asked).len(), 40 + 168, "there is room in the end");
        (again.len(), word(&again, 26))
    });
    // A byte that the server has, without data, or all of it.
    assert_eq!(met.collect::<BTreeSet<_>>(), BTreeSet::from([(40, 99), (40 + 168, 100)]));
}
