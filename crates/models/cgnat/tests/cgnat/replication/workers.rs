//! Several workers, each with a standby of its own: packets of both directions find the one that
//! took over.

use std::net::Ipv4Addr;

use engine::steering::worker_of;
use function_cgnat::reasons::Tally;
use function_cgnat::workers::steering::Steering;
use packet::PortId;
use testkit::device::Outcome;

use super::failover::{answer, packet};
use super::*;
use crate::frames::{INSIDE, OUTSIDE};
use crate::pcp;

/// Workers of each NAT.
const COUNT: u32 = 3;
/// Sessions, of as many subscribers.
const SESSIONS: u32 = 200;

/// The workers of a NAT.
struct Team {
    config: Config,
    devices: Vec<Device<Pipeline>>,
}

impl Team {
    fn new(config: &Config) -> Team {
        let shards = (0..config.core).map(|index| Shard { index, count: config.core });
        let devices = shards.map(|shard| device_of(config, shard, BEGIN)).collect();
        Team { config: config.clone(), devices }
    }

    /// The frame that a packet becomes on the worker to which it is steered, and which one that is.
    fn pass(&mut self, port: PortId, frame: &[u8], now: Ticks) -> (usize, Vec<u8>) {
        let number =
            |at| u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
        let bits = match port {
            INSIDE => {
                let sender = Ipv4Addr::from_bits(number(26)).into();
                Steering::new(&self.config).of_subscriber(sender)
            }
            _ => {
                let end = (number(30), u16::from_be_bytes([frame[36], frame[37]]));
                self.devices[0].function_mut().state().allocation.steering(frame[23], end)
            }
        };
        let worker = worker_of(bits, self.config.core) as usize;
        match self.devices[worker].pass(port, frame, now) {
            Outcome::Left(_, left) => (worker, left),
            other => panic!("worker {worker}: {other:?}"),
        }
    }

    /// Waits until every worker's standby knows what it knows.
    fn is_followed_by(&mut self, standby: &mut Team, now: Ticks) {
        for (one, other) in self.devices.iter_mut().zip(&mut standby.devices) {
            let mut cable = Cable::between(one, other);
            let both = [one, other];
            until("synchronised", &mut cable, both, now, |status| status.is_synchronised);
        }
    }

    fn tally(&mut self, tally: Tally) -> Vec<u64> {
        let count =
            |device: &mut Device<Pipeline>| device.function_mut().state().tallies[tally as usize];
        self.devices.iter_mut().map(count).collect()
    }
}

/// An active NAT and its standby.
fn teams(config: &Config) -> [Team; 2] {
    two(config).map(|one| Team::new(&one))
}

/// Subscribers of a pool, of a one-to-one rule and of a deterministic one.
#[test]
fn each_worker_has_a_standby_that_takes_over() {
    let base = lasting()[2].clone();
    let rule = "{inside: 10.0.0.64/26, outside: 203.0.113.128/31, ports-per-subscriber: 40}";
    let config = Config {
        core: COUNT,
        deterministic: vec![serde_saphyr::from_str(rule).expect("a rule")],
        pools: vec![frames::net("198.18.0.0/27")],
        static_rules: vec![function_cgnat::config::StaticRule {
            inside: frames::net("10.0.0.0/27"),
            outside: frames::net("203.0.113.64/27"),
        }],
        ..base
    };
    let [mut active, mut standby] = teams(&config);
    let now = BEGIN + clock().ticks(Duration::from_secs(1));
    let frame = |number| packet(&active.config.clone(), wire::protocol::UDP, number);
    let frames: Vec<Vec<u8>> = (0..SESSIONS).map(frame).collect();
    let before: Vec<(usize, Vec<u8>)> =
        frames.iter().map(|frame| active.pass(INSIDE, frame, now)).collect();
    active.is_followed_by(&mut standby, now);
    let opened = active.tally(Tally::SessionsOpened);
    assert!(opened.iter().all(|count| *count > 20), "each worker has some: {opened:?}");
    drop(active);
    assert_eq!(standby.tally(Tally::SessionsAdopted), opened);
    for (frame, (worker, left)) in frames.iter().zip(&before) {
        let (there, back) = standby.pass(OUTSIDE, &answer(left, 0), now);
        assert_eq!((there, &back[30..34]), (*worker, &frame[26..30]), "to its subscriber");
        assert_eq!(standby.pass(INSIDE, frame, now), (*worker, left.clone()), "as before");
    }
    assert_eq!(standby.tally(Tally::SessionsOpened), [0; COUNT as usize]);
    assert_eq!(standby.tally(Tally::SessionsOpenedInbound), [0; COUNT as usize]);
}

/// What is kept beside records is each worker's, too.
#[test]
fn mappings_that_were_asked_for_go_on_worker_by_worker() {
    let config = Config { core: COUNT, ..pcp::config() };
    let [mut active, mut standby] = teams(&config);
    let now = BEGIN + clock().ticks(Duration::from_secs(1));
    let ask = |team: &mut Team, from, nonce| {
        let request = pcp::Request { from, nonce, ..pcp::Request::of(4000) };
        let (worker, answer) = team.pass(INSIDE, &request.frame(&config), now);
        (worker, answer[42..].to_vec())
    };
    let subscribers = (1..=40).map(|last| [10, 0, 0, last]);
    let mut known = Vec::new();
    for from in subscribers {
        let (worker, answer) = ask(&mut active, from, [7; 12]);
        known.push((worker, from, pcp::outside(&answer)));
    }
    active.is_followed_by(&mut standby, now);
    let granted = active.tally(Tally::PcpGranted);
    assert!(granted.iter().all(|count| *count > 4), "each worker has some: {granted:?}");
    drop(active);
    for (worker, from, end) in known {
        let frame = pcp::datagram(&config, OUTSIDE, (pcp::UDP, [(pcp::HOST, 9), end]), b"ask");
        let (there, left) = standby.pass(OUTSIDE, &frame, now);
        assert_eq!((there, &left[30..34], &left[36..38]), (worker, &from[..], &[0x0f, 0xa0][..]));
        let (there, answer) = ask(&mut standby, from, [8; 12]);
        assert_eq!((there, pcp::result(&answer).0), (worker, 2), "another nonce changes nothing");
    }
}

#[test]
fn as_many_workers_on_both_sides_or_a_refusal_in_words() {
    let config = Config { core: COUNT, ..lasting()[0].clone() };
    let [active, mut standby] = two(&config);
    standby.core = COUNT - 1;
    let (mut active, mut standby) = (Team::new(&active), Team::new(&standby));
    for (one, other) in active.devices.iter_mut().zip(&mut standby.devices) {
        let told = |status: &Status| status.trouble.contains("worker");
        let mut cable = Cable::between(one, other);
        until("refused", &mut cable, [one, other], BEGIN, told);
        assert!(!one.function_mut().replication().is_connected);
    }
}
