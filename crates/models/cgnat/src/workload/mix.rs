//! A mix of applications: sessions that begin, live and end, each client's at the rates of the
//! configuration.
//!
//! Frames of an application follow each other evenly. It has as many lanes as sessions are under
//! way at a time; its frames visit one lane after the other, and a lane has one session after the
//! other. So a frame's number alone decides its session, and which frame of it that is. What begins
//! in the middle of a lane's first session begins with a handshake all the same and is shorter.
//! Which of the applications a frame is of repeats every 65,536 frames, so rates deviate by a
//! percent or two where an application sends little; lives and intervals do not.
//!
//! Not here: sessions of several lengths within an application, bursts, hours of the day, and what
//! hosts do after a loss.

use std::time::Duration;

use traffic::Random;

use super::flow::Flow;
use super::frames::{ACK, FIN, PSH, Protocol, SYN};
use crate::application::{Application, Transport};
use crate::sections::Traffic;

/// The applications of all clients.
#[derive(Clone, Debug)]
pub struct Mix {
    applications: Vec<Lanes>,
    /// Which application a frame is of, and how many of this one stand before it.
    pattern: Vec<(u16, u16)>,
    frames_per_s: f64,
    clients: u32,
    first: Flow,
    servers: u32,
}

/// An application with its lanes.
#[derive(Clone, Debug)]
struct Lanes {
    /// Its frames in the pattern.
    frames: u64,
    /// Lanes, and how many all applications before it have.
    count: u64,
    before: u64,
    /// Frames of a session.
    exchanges: u64,
    random: Random,
    protocol: Protocol,
    /// Of frames to servers and to clients, without check sequence.
    lens: [u16; 2],
    server_port: u16,
    one_client_port: Option<u16>,
}

/// What a frame's number decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The place where the session's translation is remembered.
    pub place: u64,
    /// Between whom.
    pub flow: Flow,
    /// Length without check sequence; 0 for the shortest one.
    pub len: u16,
    /// Flags, where it is a segment.
    pub flags: u8,
}

impl Mix {
    /// The mix of validated traffic; none where it has none.
    pub fn new(traffic: &Traffic) -> Option<Mix> {
        if traffic.mix.is_empty() {
            return None;
        }
        let frames_per_s: f64 = traffic.mix.iter().map(|one| rate_of(traffic, one)).sum();
        let shares: Vec<f64> =
            traffic.mix.iter().map(|one| rate_of(traffic, one) / frames_per_s).collect();
        let counts = counts(&shares);
        let mut before = 0;
        let lanes = traffic.mix.iter().zip(&counts).enumerate().map(|(index, (one, &frames))| {
            // What the pattern gives it, so that intervals are right.
            let rate = frames_per_s * frames as f64 / PATTERN as f64;
            let count = lanes_of(rate, one);
            let lanes = Lanes {
                frames,
                count,
                before,
                exchanges: u64::from(one.exchanges),
                random: Random::new(traffic.random_seed, 16 + index as u64),
                protocol: match one.protocol {
                    Transport::Udp => Protocol::Udp,
                    Transport::Tcp => Protocol::Tcp,
                },
                lens: [one.uplink_bytes, one.downlink_bytes].map(|len| len - CHECK_SEQUENCE_LEN),
                server_port: one.server_port,
                one_client_port: one
                    .one_client_port
                    .then(|| traffic.first_client_port.saturating_add(index as u16)),
            };
            before += count;
            lanes
        });
        Some(Mix {
            applications: lanes.collect(),
            pattern: pattern(&counts),
            frames_per_s,
            clients: traffic.client,
            first: Flow {
                client: traffic.first_client.to_bits(),
                server: traffic.first_server.to_bits(),
                client_port: traffic.first_client_port,
                server_port: traffic.first_server_port,
                protocol: Protocol::Udp,
            },
            servers: traffic.server,
        })
    }

    /// How many clients there are.
    pub fn clients(&self) -> u32 {
        self.clients
    }

    /// Frames per second each way that all clients together send and receive.
    pub fn frames_per_s(&self) -> f64 {
        self.frames_per_s
    }

    /// Places in which translations are remembered: a lane needs the one of its session before,
    /// too, whose last answers are on their way.
    pub fn places(&self) -> u64 {
        2 * self.applications.iter().map(|lanes| lanes.count).sum::<u64>()
    }

    /// How far a frame to a client follows the one that it answers.
    pub fn round_trip(&self) -> Duration {
        ROUND_TRIP
    }

    /// What frame `number` to servers or to clients is.
    #[inline]
    pub fn draw(&self, uplink: bool, number: u64) -> Drawn {
        let (application, rank) = self.pattern[number as usize % PATTERN];
        let lanes = &self.applications[usize::from(application)];
        let frame = number / PATTERN as u64 * lanes.frames + u64::from(rank);
        let (lane, turn) = (frame % lanes.count, frame / lanes.count);
        let first = lanes.first_session(lane);
        let (session, place, exchanges) = match turn.checked_sub(first) {
            None => (0, turn, first),
            Some(turn) => (1 + turn / lanes.exchanges, turn % lanes.exchanges, lanes.exchanges),
        };
        let flags = flags(uplink, place, exchanges);
        let is_bare = lanes.protocol == Protocol::Tcp && flags & PSH == 0;
        Drawn {
            place: 2 * (lanes.before + lane) + session % 2,
            flow: self.flow(lanes, session * lanes.count + lane),
            len: if is_bare { 0 } else { lanes.lens[usize::from(!uplink)] },
            flags,
        }
    }

    /// Between whom a session of an application is.
    #[inline]
    fn flow(&self, lanes: &Lanes, session: u64) -> Flow {
        let bits = lanes.random.at(2 * session);
        let more = lanes.random.at(2 * session + 1);
        let below = |bits: u64, count: u64| (((bits & 0xffff_ffff) * count) >> 32) as u32;
        let own = PORTS_FIRST + below(more, u64::from(PORTS)) as u16;
        let any = PORTS_FIRST + below(more >> 32, u64::from(PORTS)) as u16;
        Flow {
            client: self.first.client.wrapping_add(below(bits, u64::from(self.clients))),
            server: self.first.server.wrapping_add(below(bits >> 32, u64::from(self.servers))),
            client_port: lanes.one_client_port.unwrap_or(own),
            server_port: if lanes.server_port == 0 { any } else { lanes.server_port },
            protocol: lanes.protocol,
        }
    }
}

impl Lanes {
    /// How many frames a lane's first session has: any part of a whole one, with what begins and
    /// ends it.
    #[inline]
    fn first_session(&self, lane: u64) -> u64 {
        let least = SEGMENTS_MIN.min(self.exchanges);
        let more = self.exchanges - least + 1;
        least + self.random.at(u64::MAX - lane) % more
    }
}

/// The flags of a segment by its place: SYN both ways, data, FIN of the server and then of the
/// client.
#[inline]
fn flags(uplink: bool, place: u64, exchanges: u64) -> u8 {
    match (uplink, exchanges - place) {
        (true, _) if place == 0 => SYN,
        (false, _) if place == 0 => SYN | ACK,
        (true, 1) | (false, 2) => FIN | ACK,
        (false, 1) => ACK,
        _ => PSH | ACK,
    }
}

/// How many sessions are under way at a time, of all applications of validated traffic.
pub fn lanes(traffic: &Traffic) -> u64 {
    let lanes = |one: &Application| lanes_of(rate_of(traffic, one), one);
    traffic.mix.iter().map(lanes).fold(0, u64::saturating_add)
}

fn lanes_of(rate: f64, one: &Application) -> u64 {
    (rate * one.interval_ms / 1e3).round().max(1.0) as u64
}

/// Frames per second each way of an application of all clients.
fn rate_of(traffic: &Traffic, one: &Application) -> f64 {
    f64::from(traffic.client) * one.sessions_per_hour / 3600.0 * f64::from(one.exchanges)
}

/// How many frames of a pattern each application has by its share: one at least, all of them
/// together.
fn counts(shares: &[f64]) -> Vec<u64> {
    let mut counts: Vec<u64> =
        shares.iter().map(|share| ((share * PATTERN as f64).round() as u64).max(1)).collect();
    // What rounding has left over or taken too much is the largest one's.
    let rest = PATTERN as i64 - counts.iter().sum::<u64>() as i64;
    if let Some(largest) = counts.iter_mut().max() {
        *largest = largest.saturating_add_signed(rest);
    }
    counts
}

/// The applications in turn, each at even distances: next is always the one that is due first.
fn pattern(counts: &[u64]) -> Vec<(u16, u16)> {
    let mut given = vec![0u64; counts.len()];
    let turn = |_| {
        // The middle of an application's next distance.
        let due = |index: usize| (2 * given[index] + 1) as f64 / counts[index] as f64;
        let open = (0..counts.len()).filter(|&index| given[index] < counts[index]);
        let next = open.min_by(|&one, &other| due(one).total_cmp(&due(other))).unwrap_or(0);
        given[next] += 1;
        (next as u16, (given[next] - 1) as u16)
    };
    (0..PATTERN).map(turn).collect()
}

/// Frames after which applications follow each other in the same order.
const PATTERN: usize = 65_536;
/// SYN, data, and two for FIN.
const SEGMENTS_MIN: u64 = 4;
const CHECK_SEQUENCE_LEN: u16 = 4;
/// The ports of clients (RFC 6056 section 3.2), and of servers where any is as good.
const PORTS_FIRST: u16 = 1024;
const PORTS: u16 = u16::MAX - PORTS_FIRST;
/// From a frame of a client to its answer.
const ROUND_TRIP: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests;
