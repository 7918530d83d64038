//! The laws of application-level gateways: streams arrive whole, what they ask for has a bound, and
//! without them payloads are nobody's business.

use std::collections::BTreeMap;

use function_cgnat::Pipeline;
use function_cgnat::config::{Alg, Config};
use function_cgnat::reasons::Tally;
use function_kit::{NetworkFunction, Shard};
use machine::clock::Ticks;
use packet::PortId;
use testkit::device::{Device, Outcome};
use testkit::mutate::repair;
use testkit::pair::clock;
use testkit::random::Random;
use wire::checksum::Sum;

use crate::frames::{GATEWAYS, INSIDE, OUTSIDE, kinds};

const NOW: Ticks = 1 << 40;
const CLIENT: (u32, u16) = (0x0a00_0001, 3000);
const SERVER: (u32, u16) = (0x0b00_0001, 21);
const SYN: u8 = 2;
const ACK: u8 = 16;

pub fn config() -> Config {
    kinds().into_iter().find(|one| !one.alg.is_off()).expect("one has gateways")
}

fn device(config: &Config) -> Device<Pipeline> {
    let nat = function_cgnat::Cgnat::function(config, Shard::WHOLE, clock(), 1 << 30)
        .expect("a small NAT");
    Device::new(nat, 2)
}

/// A segment: from whom, to whom; flags, sequence and acknowledgement number.
fn segment(
    config: &Config,
    (from, to): ((u32, u16), (u32, u16)),
    (flags, seq, ack): (u8, u32, u32),
    data: &[u8],
) -> (PortId, Vec<u8>) {
    let port = if from.0 >> 24 == 10 { INSIDE } else { OUTSIDE };
    let mac = if port == INSIDE { config.inside_mac.0 } else { config.outside_mac.0 };
    let mut frame = [&mac.0[..], &[2, 0, 0, 0, 0, 9, 8, 0, 0x45, 0]].concat();
    frame.extend_from_slice(&(40 + data.len() as u16).to_be_bytes());
    frame.extend_from_slice(&[0, 0, 0, 0, 64, 6, 0, 0]);
    frame.extend_from_slice(&from.0.to_be_bytes());
    frame.extend_from_slice(&to.0.to_be_bytes());
    frame.extend_from_slice(&from.1.to_be_bytes());
    frame.extend_from_slice(&to.1.to_be_bytes());
    frame.extend_from_slice(&seq.to_be_bytes());
    frame.extend_from_slice(&ack.to_be_bytes());
    frame.extend_from_slice(&[0x50, flags, 0x10, 0, 0, 0, 0, 0]);
    frame.extend_from_slice(data);
    repair(&mut frame);
    mend(&mut frame);
    (port, frame)
}

/// Makes the checksum of a segment right.
fn mend(frame: &mut [u8]) {
    frame[50..52].fill(0);
    let sum = !transport_sum(frame).fold();
    frame[50..52].copy_from_slice(&sum.to_be_bytes());
}

fn transport_sum(frame: &[u8]) -> Sum {
    let len = (frame.len() - 34) as u16;
    Sum::ZERO.add_bytes(&frame[26..34]).add_u16(6).add_u16(len).add_bytes(&frame[34..])
}

/// What left, its checksums and length being right.
fn left(device: &mut Device<Pipeline>, (port, frame): &(PortId, Vec<u8>)) -> Vec<u8> {
    let Outcome::Left(_, frame) = device.pass(*port, frame, NOW) else {
        panic!("dropped: {frame:02x?}")
    };
    assert_eq!(Sum::ZERO.add_bytes(&frame[14..34]).fold(), u16::MAX, "the header");
    assert_eq!(transport_sum(&frame).fold(), u16::MAX, "the segment");
    assert_eq!(usize::from(u16::from_be_bytes([frame[16], frame[17]])) + 14, frame.len());
    frame
}

fn number(frame: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
}

/// The sequence number behind a segment.
fn number_behind(frame: &[u8]) -> u32 {
    number(frame, 38).wrapping_add(frame.len() as u32 - 54)
}

fn end_at(frame: &[u8], address: usize, port: usize) -> (u32, u16) {
    (number(frame, address), u16::from_be_bytes([frame[port], frame[port + 1]]))
}

/// A client whose commands go through a NAT to a server, over a network that loses, repeats, cuts
/// and reorders.
pub struct Stream {
    config: Config,
    pub device: Device<Pipeline>,
    random: Random,
    text: Vec<u8>,
    first: u32,
    outside: (u32, u16),
    acked: usize,
    on_the_way: Vec<Vec<u8>>,
    received: BTreeMap<u32, u8>,
    lacks: u32,
}

impl Stream {
    fn new(seed: u64) -> Stream {
        let config = config();
        let device = device(&config);
        Stream::through(device, config, seed)
    }

    /// One through a NAT.
    pub fn through(mut device: Device<Pipeline>, config: Config, seed: u64) -> Stream {
        let mut random = Random::new(seed);
        let mut text = Vec::new();
        for line in 0..6 + random.below(10) {
            let (high, low) = (8 + random.below(240), random.below(256));
            text.extend_from_slice(
                match random.below(3) {
                    0 => format!("STOR file-{line}.of.some.length\r\n"),
                    _ => format!("PORT 10,0,0,1,{high},{low}\r\n"),
                }
                .as_bytes(),
            );
        }
        // The numbers wrap around within the stream.
        let first = 0u32.wrapping_sub(random.below(200) as u32);
        let syn = segment(&config, (CLIENT, SERVER), (SYN, first.wrapping_sub(1), 0), &[]);
        let outside = end_at(&left(&mut device, &syn), 26, 34);
        left(&mut device, &segment(&config, (SERVER, outside), (SYN | ACK, 6, first), &[]));
        let (on_the_way, received) = (Vec::new(), BTreeMap::new());
        let (acked, lacks) = (0, first);
        Stream { config, device, random, text, first, outside, acked, on_the_way, received, lacks }
    }

    /// The client sends from what is not acknowledged, where a line begins most often.
    pub fn send(&mut self) {
        let rest = &self.text[self.acked..];
        let lines = rest.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::len);
        let lens: Vec<usize> = lines.collect();
        let skipped = self.random.below(lens.len().min(4));
        let mut from = self.acked + lens[..skipped].iter().sum::<usize>();
        let count = 1 + self.random.below(3);
        let mut len = lens[skipped..].iter().take(count).sum::<usize>();
        if self.random.below(12) == 0 {
            let cut = self.random.below(len);
            (from, len) = (from + cut, len - cut);
        }
        let seq = self.first.wrapping_add(from as u32);
        let data = self.text[from..from + len].to_vec();
        let sent = segment(&self.config, (CLIENT, SERVER), (ACK, seq, 7), &data);
        self.on_the_way.push(left(&mut self.device, &sent));
    }

    /// The server takes what comes and acknowledges what it has without a gap.
    pub fn receive(&mut self) {
        if self.on_the_way.is_empty() {
            return;
        }
        let at = self.random.below(self.on_the_way.len());
        let frame = match self.random.below(5) {
            0 => self.on_the_way[at].clone(),
            _ => self.on_the_way.swap_remove(at),
        };
        if self.random.below(5) == 0 {
            return;
        }
        for (place, &byte) in frame[54..].iter().enumerate() {
            let place = number(&frame, 38).wrapping_add(place as u32);
            let known = self.received.insert(place, byte);
            assert!(known.is_none_or(|known| known == byte), "two bytes at {place}");
        }
        while self.received.contains_key(&self.lacks) {
            self.lacks = self.lacks.wrapping_add(1);
        }
        let ack = segment(&self.config, (SERVER, self.outside), (ACK, 7, self.lacks), &[]);
        let told = number(&left(&mut self.device, &ack), 42).wrapping_sub(self.first) as usize;
        assert!(told <= self.text.len(), "more than was sent");
        self.acked = self.acked.max(told);
    }

    /// Whether the server has everything.
    pub fn is_over(&self) -> bool {
        self.acked == self.text.len()
    }

    /// How many addresses were replaced, of a text that is over: all lines have arrived, and where
    /// an address was replaced the one that was told leads to it.
    pub fn judge(&mut self) -> usize {
        let sent = String::from_utf8(self.text.clone()).expect("text");
        let got = self.told();
        assert_eq!(sent.lines().count(), got.lines().count());
        let mut replaced = 0;
        for (sent, got) in sent.lines().zip(got.lines()) {
            let Some(numbers) = got.strip_prefix("PORT ").filter(|_| sent != got) else {
                assert_eq!(sent, got);
                continue;
            };
            let port = |text: &str| {
                let numbers: Vec<u16> =
                    text.split(',').filter_map(|one| one.parse().ok()).collect();
                numbers[4] * 256 + numbers[5]
            };
            let inside = (CLIENT.0, port(&sent[5..]));
            let outside = (self.outside.0, port(numbers));
            let data = segment(&self.config, ((SERVER.0, 20), outside), (SYN, 1, 0), &[]);
            assert_eq!(end_at(&left(&mut self.device, &data), 30, 36), inside);
            replaced += 1;
        }
        replaced
    }

    /// What the server has, from the first byte on.
    fn told(&self) -> String {
        let place = |index: u32| self.received.get(&self.first.wrapping_add(index));
        let bytes: Vec<u8> = (0..).map_while(|index| place(index).copied()).collect();
        String::from_utf8(bytes).expect("text stays text")
    }
}

#[test]
fn a_stream_arrives_whole_whatever_the_network_does() {
    let mut replaced = 0;
    for seed in 1..=40 {
        let mut stream = Stream::new(seed);
        let mut rounds = 0;
        while !stream.is_over() {
            stream.send();
            stream.receive();
            rounds += 1;
            assert!(rounds < 5000, "seed {seed}: stands still at {}", stream.acked);
        }
        replaced += stream.judge();
    }
    assert!(replaced > 100, "{replaced}");
}

#[test]
fn what_commands_ask_for_has_a_bound_and_takes_nothing_from_others() {
    let config = Config {
        sessions: 300,
        sessions_per_subscriber: Some(100),
        alg: Alg { connections: 8, ..GATEWAYS },
        ..config()
    };
    let mut device = device(&config);
    let quiet = ((CLIENT.0 + 1, 4000), (SERVER.0, 80));
    let quiet = segment(&config, quiet, (SYN, 1, 0), &[]);
    let before = left(&mut device, &quiet);
    let ends = |number: u16| ((CLIENT.0, 3000 + number), SERVER);
    for number in 0..40 {
        left(&mut device, &segment(&config, ends(number), (SYN, 99, 0), &[]));
    }
    for number in 0..40 {
        let mut seq = 100;
        for high in 4..100 {
            let line = format!("PORT 10,0,0,1,{high},{number}\r\n");
            let said = segment(&config, ends(number), (ACK, seq, 1), line.as_bytes());
            let said = left(&mut device, &said);
            seq += line.len() as u32;
            // Acknowledged, so that nothing is held back for that.
            let next = number_behind(&said);
            let ack = (SERVER, end_at(&said, 26, 34));
            left(&mut device, &segment(&config, ack, (ACK, 1, next), &[]));
        }
    }
    let state = device.function_mut().state();
    assert!(state.sessions.count() <= 101, "{}", state.sessions.count());
    assert_eq!(state.algs.connections(), 8);
    assert!(state.tallies[Tally::AlgNoMapping as usize] > 100, "asked in vain");
    assert_eq!(left(&mut device, &quiet), before, "a session that was there");
    let other = segment(&config, ((CLIENT.0 + 2, 4000), SERVER), (SYN, 1, 0), &[]);
    left(&mut device, &other);
}

#[test]
fn without_a_gateway_payloads_are_left_alone() {
    let config = Config { alg: Alg::default(), ..config() };
    let mut device = device(&config);
    left(&mut device, &segment(&config, (CLIENT, SERVER), (SYN, 1, 0), &[]));
    let line = b"PORT 10,0,0,1,19,137\r\n";
    let frame = left(&mut device, &segment(&config, (CLIENT, SERVER), (ACK, 2, 0), line));
    assert_eq!((&frame[54..], number(&frame, 38)), (&line[..], 2));
    let state = device.function_mut().state();
    assert_eq!((state.sessions.count(), state.algs.bytes()), (1, 0));
}
