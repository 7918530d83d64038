//! What a packet costs in the function alone: ticks each way, by stage, with all services on.
//!
//! ```text
//! cargo run --release -p function-bng --example rates -- SESSIONS FRAME_LEN [pppoe] [bare]
//! ```
//! Sessions are dual stack, each packet is of a session at random, half of them of IPv6. It
//! measures nothing but the function, with frames that are in the cache. A tenth of all batches
//! take at most the first figure; on a machine with other work it is the one that says something.

use engine::{Function, StageTotals};
use function_bng::config::{Config, List, Matched, Name, Rule, Session};
use function_bng::control::Update;
use function_bng::{BroadbandGateway, Pipeline};
use function_kit::{NetworkFunction, Shard};
use machine::clock::{self, Clock};
use model_kit::build;
use packet::{BATCH_MAX, Batch, PortId, Room, Verdict};
use serde_json::json;
use wire::{MacAddr, protocol};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |at: usize, else_: usize| words.get(at).map_or(else_, |word| word.parse().unwrap_or(else_));
    let (sessions, len) = (number(0, 16_000), number(1, 100));
    let is_pppoe = words.iter().any(|word| word == "pppoe");
    let is_bare = words.iter().any(|word| word == "bare");
    let clock = Clock::calibrate(std::time::Duration::from_millis(100));
    let config = config(sessions as u32, is_bare);
    let mut function = BroadbandGateway::function(&config, Shard::WHOLE, clock, clock::now())
        .unwrap_or_else(|error| panic!("{error}"));
    function.make_room(Room::default()).unwrap_or_else(|error| panic!("{error}"));
    for number in 1..=sessions as u32 {
        let update = Update::AddSession(session(number, is_pppoe));
        function.apply(update, clock::now()).unwrap_or_else(|error| panic!("{number}: {error}"));
    }
    println!("{sessions} sessions, {} bytes each", function.state_bytes() / sessions);
    for is_up in [true, false] {
        measure(&mut function, sessions as u32, len, (is_up, is_pppoe));
    }
}

fn measure(function: &mut Pipeline, sessions: u32, len: usize, (is_up, is_pppoe): (bool, bool)) {
    let mut batch =
        Batch::new(BATCH_MAX, Room::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut state = 1u64;
    let frames: Vec<Vec<u8>> = (0..65_536)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = ((state >> 33) % u64::from(sessions)) as u32 + 1;
            frame(number, len, (is_up, is_pppoe), state >> 20 & 1 == 1)
        })
        .collect();
    let (mut taken, mut forwarded) = (vec![Vec::new(); Pipeline::STAGES.len() + 1], 0);
    for round in 0..ROUNDS {
        batch.clear();
        for at in 0..BATCH_MAX {
            let frame = &frames[(round * BATCH_MAX + at) % frames.len()];
            let port = PortId(u8::from(!is_up));
            let room = batch.append(port, frame.len());
            room.into_iter().for_each(|room| room.copy_from_slice(frame));
        }
        let mut totals = StageTotals::default();
        let begin = clock::now();
        function.process(&mut batch, begin, &mut totals.start(begin));
        let took = clock::now() - begin;
        function.tick(clock::now());
        if let Some(made) = function.made(begin) {
            made.clear();
        }
        let each = totals.ticks[1..].iter().copied().take(Pipeline::STAGES.len()).chain([took]);
        taken.iter_mut().zip(each).for_each(|(taken, ticks)| taken.push(ticks));
        let is_out = |slot: &u8| matches!(batch.verdict(*slot), Verdict::Forward(_));
        forwarded += batch.slots().filter(is_out).count();
    }
    let way = if is_up { "up" } else { "down" };
    println!("{way}: {forwarded} of {} forwarded", ROUNDS * BATCH_MAX);
    for (stage, taken) in Pipeline::STAGES.iter().chain(&["all"]).zip(&mut taken) {
        taken.sort_unstable();
        let of = |part: usize| taken[taken.len() * part / 100] as f64 / BATCH_MAX as f64;
        println!("  {stage:>14} {:7.1} ticks a packet, median {:7.1}", of(10), of(50));
    }
}

/// Batches that are measured.
const ROUNDS: usize = 4000;

fn config(sessions: u32, is_bare: bool) -> Config {
    let services = json!({
        "name": "all", "up-rate": "10 Gbit/s", "up-burst": 10_000_000, "list": "rules",
        "down-rate": "10 Gbit/s", "down-burst": 10_000_000,
        "policers": [
            {"class": "ef", "rate": "10 Gbit/s", "burst": 10_000_000},
            {"class": "af", "rate": "10 Gbit/s", "burst": 10_000_000},
            {"class": "be", "rate": "10 Gbit/s", "burst": 10_000_000},
        ],
        "queues": [
            {"class": "ef", "level": 0, "rate": "10 Gbit/s", "burst": 10_000_000},
            {"class": "af", "level": 1, "rate": "10 Gbit/s", "burst": 10_000_000},
            {"class": "be", "level": 2, "rate": "10 Gbit/s", "burst": 10_000_000},
        ],
    });
    let text = json!({
        "session-capacity": sessions, "line-sessions": 1, "secret": 7,
        "session-queues": if is_bare { 0 } else { 3 },
        "session-policers": if is_bare { 0 } else { 3 },
        "next-hops": [
            {"address": "192.0.2.254", "mac": "02:00:00:00:09:01"},
            {"address": "2001:db8::254", "mac": "02:00:00:00:09:01"},
        ],
        "routes": [
            {"prefix": "0.0.0.0/0", "next-hop": "192.0.2.254"},
            {"prefix": "::/0", "next-hop": "2001:db8::254"},
        ],
        "nodes": [{"name": "node", "up-rate": "100 Gbit/s", "burst": 100_000_000}],
        "profiles": [if is_bare { json!({"name": "all"}) } else { services }],
    });
    let mut config: Config = serde_json::from_value(text).unwrap_or_else(|error| panic!("{error}"));
    config.lists = vec![List {
        name: Name::new("rules"),
        rules: (0..100u8).map(rule).collect(),
        otherwise: function_bng::config::Action::Deny,
    }];
    BroadbandGateway::validate(&mut config).unwrap_or_else(|error| panic!("{error}"));
    config
}

/// Of a hundred rules the last one matches.
fn rule(number: u8) -> Rule {
    let action = function_bng::config::Action::Permit;
    if number == 99 {
        return Rule::for_all(action);
    }
    let network = match number % 2 {
        0 => format!("203.0.{number}.0/24"),
        _ => format!("2001:db8:{number:x}::/48"),
    };
    Rule {
        destination: Matched::try_from(network).ok(),
        protocol: Some(protocol::TCP),
        ..Rule::for_all(action)
    }
}

fn host(number: u32) -> MacAddr {
    let [a, b, c, d] = number.to_be_bytes();
    MacAddr([2, 0, a, b, c, d])
}

fn line(number: u32) -> (u16, u16) {
    ((number >> 11) as u16 + 1, (number & 0x7ff) as u16 + 1)
}

fn session(number: u32, is_pppoe: bool) -> Session {
    let (outer, inner) = line(number);
    let mut text = json!({
        "number": number, "line": {"outer": outer, "inner": inner},
        "mac": host(number).to_string(),
        "ipv4": std::net::Ipv4Addr::from(0x0a00_0000 + number),
        "na": std::net::Ipv6Addr::from((0x3fff << 112) + u128::from(number)),
        "profile": "all", "node": "node",
    });
    if is_pppoe {
        text["pppoe"] = json!({"id": number % 60_000 + 1});
    }
    serde_json::from_value(text).unwrap_or_else(|error| panic!("{error}"))
}

fn frame(number: u32, len: usize, (is_up, is_pppoe): (bool, bool), is_ipv6: bool) -> Vec<u8> {
    let server4 = std::net::Ipv4Addr::new(198, 51, 100, 7);
    let server6 = std::net::Ipv6Addr::from((0x2001_0db8_ffff << 80) + 7);
    let own4 = std::net::Ipv4Addr::from(0x0a00_0000 + number);
    let own6 = std::net::Ipv6Addr::from((0x3fff << 112) + u128::from(number));
    let payload = build::datagram((5000, 9), &build::text(len - 14 - 28));
    let packet = match (is_ipv6, is_up) {
        (false, true) => build::packet(own4, server4, protocol::UDP, &payload),
        (false, false) => build::packet(server4, own4, protocol::UDP, &payload),
        (true, true) => build::packet_ipv6(own6, server6, len - 14),
        (true, false) => build::packet_ipv6(server6, own6, len - 14),
    };
    let ether_type = build::ether_type_of(&packet);
    if !is_up {
        let own = MacAddr([2, 0xb0, 0, 0, 0, 2]);
        return build::frame(own, MacAddr([2, 0, 0, 0, 9, 1]), ether_type, &packet);
    }
    let (outer, inner) = line(number);
    let [a, b] = outer.to_be_bytes();
    let [c, d] = inner.to_be_bytes();
    let own = [2, 0xb0, 0, 0, 0, 1];
    let tags = [0x88, 0xa8, a, b, 0x81, 0, c, d];
    let front = match is_pppoe {
        false => ether_type.to_be_bytes().to_vec(),
        true => {
            let [e, f] = ((number % 60_000) as u16 + 1).to_be_bytes();
            let [g, h] = (packet.len() as u16 + 2).to_be_bytes();
            let of_ppp = if is_ipv6 { 0x57 } else { 0x21 };
            vec![0x88, 0x64, 0x11, 0, e, f, g, h, 0, of_ppp]
        }
    };
    [&own[..], &host(number).0, &tags, &front, &packet].concat()
}
