//! How many routes per second go through the machine on one core:
//!
//! ```sh
//! cargo run --release -p protocol-fpm --example rate
//! ```
//! As many as the Internet has, in a random order, in a frame each as zebra writes them, in pieces
//! of 64 KiB. They are told, told again in a second connection, and swept in a third one.
#![expect(clippy::disallowed_types, reason = "it measures time")]

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use protocol_fpm::{Config, Fpm, Report, RouteChange};
use protocol_kit::{Arrival, Input, Machine, Output, Random, Socket, Time};

fn main() {
    let config = Config::default();
    let later = Time::ZERO.after(config.settle);
    let mut fpm = Fpm::new(config, 1).expect("memory for the index");
    let v4 = stream(|at| route_v4(at as u32));
    let v6 = stream(route_v6);
    for (what, stream) in [("IPv4", &v4), ("IPv6", &v6)] {
        for time in ["told", "told again"] {
            let start = Instant::now();
            let reports = feed(&mut fpm, stream);
            let routes = reports.0;
            print_rate(&format!("{what} {time}"), routes, start.elapsed());
        }
    }
    let start = Instant::now();
    let connected = Arrival::Connected { socket: STREAM, local: None, peer: None };
    fpm.input(Time::ZERO, Input::Arrival(connected));
    let swept = drain(&mut fpm, later).1;
    print_rate("swept", swept, start.elapsed());
    assert_eq!(fpm.held(), [0, 0]);
}

/// Feeds a machine in a connection of its own.
fn feed(fpm: &mut Fpm, stream: &[u8]) -> (usize, usize) {
    let connected = Arrival::Connected { socket: STREAM, local: None, peer: None };
    fpm.input(Time::ZERO, Input::Arrival(connected));
    let mut counts = (0, 0);
    for bytes in stream.chunks(PIECE) {
        fpm.input(Time::ZERO, Input::Arrival(Arrival::Bytes { socket: STREAM, bytes }));
        let (routes, withdrawn) = drain(fpm, Time::ZERO);
        counts = (counts.0 + routes, counts.1 + withdrawn);
    }
    fpm.input(Time::ZERO, Input::Arrival(Arrival::Finished { socket: STREAM }));
    drain(fpm, Time::ZERO);
    counts
}

/// Takes all reports; returns the numbers of routes told and withdrawn.
fn drain(fpm: &mut Fpm, now: Time) -> (usize, usize) {
    let mut counts = (0, 0);
    while let Some(output) = fpm.poll(now) {
        match output {
            Output::Report(Report::Routing(RouteChange::Route(_))) => counts.0 += 1,
            Output::Report(Report::Routing(RouteChange::Withdrawn(_))) => counts.1 += 1,
            _ => {}
        }
    }
    counts
}

fn print_rate(what: &str, routes: usize, took: Duration) {
    let rate = routes as f64 / took.as_secs_f64() / 1e6;
    println!("{what}: {routes} routes, {rate:.2} million a second");
}

/// Frames of different routes in a random order.
fn stream(route: impl Fn(u64) -> Vec<u8>) -> Vec<u8> {
    let mut random = Random::new(2);
    let mut numbers: Vec<u64> = (0..ROUTES).collect();
    for at in (1..numbers.len()).rev() {
        numbers.swap(at, random.below(at as u64 + 1) as usize);
    }
    numbers.into_iter().flat_map(route).collect()
}

/// A frame with a /24.
fn route_v4(at: u32) -> Vec<u8> {
    let octets = Ipv4Addr::from_bits((at + (1 << 16)) << 8).octets();
    frame(2, 24, &octets)
}

/// A frame with a /48.
fn route_v6(at: u64) -> Vec<u8> {
    let bits = (0x2001 << 112) | u128::from(at) << 80;
    frame(10, 48, &bits.to_be_bytes())
}

fn frame(family: u8, bits: u8, address: &[u8]) -> Vec<u8> {
    let len = (16 + 12 + 4 + address.len() + 16) as u8;
    let head = [1, 1, 0, len + 4, len, 0, 0, 0, 24, 0, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0];
    let body = [family, bits, 0, 0, 254, 186, 0, 1, 0, 0, 0, 0];
    let destination = [address.len() as u8 + 4, 0, 1, 0];
    let rest = [8, 0, 6, 0, 20, 0, 0, 0, 8, 0, 30, 0, 33, 0, 0, 0];
    [&head[..], &body, &destination, address, &rest].concat()
}

const STREAM: Socket = Socket(1);

/// Routes of the Internet's table of IPv4, as of the middle of the decade.
const ROUTES: u64 = 1_060_000;

/// Bytes of the stream that are handed over at once.
const PIECE: usize = 64 << 10;
