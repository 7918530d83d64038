//! The policer through the whole pipeline at simulated time: within 1 % of the rate over a second.

use engine::{Function, StageTotals};
use function_kit::Shard;
use function_mobile_gateway::Pipeline;
use function_mobile_gateway::config::Tunnel;
use machine::clock::Ticks;
use model_mobile_gateway::{MobileGateway, Section, catalogue};
use packet::{Batch, PortId, Room, Verdict};
use testkit::pair::clock;
use testkit::random::Random;
use units::BytesPerSec;
use wire::bytes::put_u16;
use wire::gtpu::GTPU_PORT;
use wire::{ethernet, gtpu, ipv4, protocol, udp};

use crate::frames::{ACCESS, CORE};

/// A running gateway that is given packets of chosen users and lengths at chosen times.
struct Bench {
    config: Section,
    pipeline: Pipeline,
    batch: Batch,
    totals: StageTotals,
}

impl Bench {
    fn new(user: u32, rate: f64) -> Bench {
        let config = Section {
            user,
            rate_limit: BytesPerSec(rate),
            tunnel: Some(Tunnel::GtpU),
            fakedrop: false,
            ..Section::default()
        };
        let pipeline = model_kit::load::<MobileGateway>(
            &config,
            &config.config(),
            Shard::WHOLE,
            clock(),
            START,
        )
        .expect("memory for the users");
        let batch = Batch::new(256, Room::default()).expect("memory for a batch");
        Bench { config, pipeline, batch, totals: StageTotals::default() }
    }

    fn is_full(&self) -> bool {
        self.batch.remaining() == 0
    }

    /// Queues a packet of `len` bytes; only its headers are written.
    fn offer(&mut self, port: PortId, user: u32, len: u16) {
        let tunnel = if port == ACCESS { TUNNEL_LEN } else { 0 };
        let frame_len = ethernet::HEADER_LEN + tunnel + usize::from(len);
        let frame = self.batch.append(port, frame_len).expect("the batch is not full");
        ethernet::Fields {
            destination: self.config.gw_mac,
            source: self.config.downlink_default_gw_mac,
            ether_type: ethernet::TYPE_IPV4,
        }
        .emit(frame.first_chunk_mut().expect("room for a header"));
        let (user_ip, server) = (catalogue::user_ipv4(user), catalogue::server_ipv4(0));
        let mut at = ethernet::HEADER_LEN;
        if port == ACCESS {
            let ends = (catalogue::base_station_ipv4(0), self.config.gw_ip);
            put_header(frame, at, ends, len + TUNNEL_LEN as u16);
            at += ipv4::HEADER_LEN;
            put_u16(frame, at, GTPU_PORT);
            put_u16(frame, at + 2, GTPU_PORT);
            put_u16(frame, at + 4, len + (TUNNEL_LEN - ipv4::HEADER_LEN) as u16);
            put_u16(frame, at + 6, udp::CHECKSUM_NONE);
            let message_type = gtpu::MESSAGE_G_PDU;
            let header = frame[at + udp::HEADER_LEN..].first_chunk_mut().expect("room");
            gtpu::Fields { message_type, length: len, teid: user + 1 }.emit(header);
            at += udp::HEADER_LEN + gtpu::HEADER_LEN;
        }
        let ends = if port == ACCESS { (user_ip, server) } else { (server, user_ip) };
        put_header(frame, at, ends, len);
    }

    /// Runs what is queued; calls `passed` with the place of each packet that was forwarded.
    fn run(&mut self, now: Ticks, mut passed: impl FnMut(u8)) {
        self.totals = StageTotals::default();
        let mut stages = self.totals.start(machine::clock::now());
        self.pipeline.process(&mut self.batch, now, &mut stages);
        for slot in self.batch.slots() {
            match self.batch.verdict(slot) {
                Verdict::Forward(_) => passed(slot),
                Verdict::Drop(reason) => {
                    let name = Pipeline::DROPS.name(reason);
                    assert_eq!(name, "rate-exceeded");
                }
                Verdict::Punt(_) => panic!("the gateway punts nothing"),
            }
        }
        self.batch.clear();
    }
}

fn put_header(
    frame: &mut [u8],
    at: usize,
    (source, destination): (std::net::Ipv4Addr, std::net::Ipv4Addr),
    total_len: u16,
) {
    ipv4::Fields {
        dscp: 0,
        ecn: 0,
        total_len,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: protocol::UDP,
        source,
        destination,
    }
    .emit(frame[at..].first_chunk_mut().expect("room for a header"));
}

/// Bytes that pass in the first second, of `users` who each offer `load` times the rate, taking
/// turns; as a share of what should pass.
fn share_passed(users: u32, rate: f64, len: u16, load: f64, port: PortId) -> f64 {
    let mut bench = Bench::new(users, rate);
    let frames_per_s = rate * load / f64::from(len) * f64::from(users);
    let frames = frames_per_s.round() as u64;
    let mut passed = 0u64;
    for number in 0..frames {
        let seconds = number as f64 / frames_per_s;
        bench.offer(port, (number % u64::from(users)) as u32, len);
        let now = START + (seconds * clock().ticks_per_second()) as Ticks;
        bench.run(now, |_| passed += 1);
    }
    passed as f64 * f64::from(len) / (rate * load.min(1.0) * f64::from(users))
}

#[test]
fn one_bearer_gets_its_rate_at_any_load() {
    for (rate, len) in [(10_000.0, 46), (1.25e6, 1000), (12.5e6, 1480)] {
        for load in [0.5, 1.0, 2.0, 100.0] {
            for port in [ACCESS, CORE] {
                let share = share_passed(1, rate, len, load, port);
                let what = format!("{rate} byte/s, load {load}, port {}: {share}", port.0);
                assert!((0.99..=1.01).contains(&share), "{what}");
            }
        }
    }
}

#[test]
fn many_bearers_get_their_rates_at_any_load() {
    for load in [0.5, 1.0, 2.0, 100.0] {
        let share = share_passed(100, 10_000.0, 64, load, CORE);
        assert!((0.99..=1.01).contains(&share), "load {load}: {share}");
    }
}

/// Each of a million bearers has packets of a length of its own, four a second and all of them more
/// than its rate. A bearer passes two or three packets per second; only together are they exact.
#[test]
fn a_million_bearers_get_their_rates() {
    const USERS: u32 = 1_000_000;
    const ROUNDS_PER_S: u64 = 4;
    const RATE: f64 = 1500.0;
    let mut random = Random::new(7);
    let lens: Vec<u16> = (0..USERS).map(|_| 500 + random.below(900) as u16).collect();
    let mut bench = Bench::new(USERS, RATE);
    let mut passed = [0u64; 2];
    let frames_per_s = ROUNDS_PER_S * u64::from(USERS);
    let ticks_per_frame = clock().ticks_per_second() / frames_per_s as f64;
    let mut offered = [0u16; 256];
    let mut count = 0;
    for number in 0..2 * frames_per_s {
        // Users take turns in an order that is none of memory.
        let user = (number * 618_033 % u64::from(USERS)) as u32;
        offered[count] = lens[user as usize];
        bench.offer(CORE, user, offered[count]);
        count += 1;
        if bench.is_full() || number + 1 == 2 * frames_per_s {
            let now = START + (number as f64 * ticks_per_frame) as Ticks;
            let second = &mut passed[(number / frames_per_s) as usize];
            bench.run(now, |slot| *second += u64::from(offered[usize::from(slot)]));
            count = 0;
        }
    }
    let share = passed[1] as f64 / (RATE * f64::from(USERS));
    assert!((0.99..=1.01).contains(&share), "{share} of the rate in the second second");
}

/// When the bearers were set up; not zero, as on no real machine.
const START: Ticks = 1 << 40;

/// Outer IPv4, UDP and GTP-U header.
const TUNNEL_LEN: usize = ipv4::HEADER_LEN + udp::HEADER_LEN + gtpu::HEADER_LEN;
