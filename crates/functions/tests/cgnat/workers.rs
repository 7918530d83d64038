//! Several workers, each beside its oracle, and frames that are steered to them by what is in them alone, as a card
//! does it: both directions of every session meet.

use std::collections::{HashSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use functions::cgnat::config::{Config, Fragments};
use functions::cgnat::{Cgnat, Update, steering};
use functions::check::Expected;
use functions::{NetworkFunction, Shard};
use packet::PortId;
use testkit::check::Pair;
use testkit::random::Random;
use traffic::workload::worker_of;

use crate::differential::{answer, take_tag};
use crate::frames::{INSIDE, OUTSIDE, kinds, sample_frames, traffic, valid};

/// Workers of one NAT.
struct Team {
    config: Config,
    /// Each with its oracle.
    pairs: Vec<Pair<Cgnat>>,
}

impl Team {
    /// So many.
    fn new(config: &Config, count: u32) -> Team {
        let (config, _) = valid(&Config { core: count, ..config.clone() }, &traffic());
        let shards = (0..count).map(|index| Shard { index, count });
        let pairs = shards.map(|shard| Pair::new(&config, shard)).collect();
        Team { config, pairs }
    }

    /// The worker of a frame; none of one that bears nothing by which it could be found.
    fn worker(&mut self, port: PortId, frame: &[u8]) -> Option<usize> {
        let mut bare = frame.to_vec();
        take_tag(&mut bare);
        let bits = match port {
            INSIDE => steering::of_subscriber(&self.config, sender(&bare)?),
            _ => {
                let (protocol, end) = destination(bare.get(14..)?)?;
                let state = self.pairs[0].device_mut().function_mut().state();
                state.allocation.steering(protocol, end)
            }
        };
        Some(worker_of(bits, self.pairs.len() as u32) as usize)
    }

    /// Gives a frame to a worker.
    fn pass(
        &mut self,
        worker: usize,
        (port, frame): &(PortId, Vec<u8>),
    ) -> Result<Expected, String> {
        let outcome = self.pairs[worker].frame(*port, frame);
        outcome.map_err(|what| format!("worker {worker}: {what}"))
    }

    /// Time passes for all.
    fn wait(&mut self, time: Duration) -> Result<(), String> {
        self.pairs.iter_mut().try_for_each(|pair| pair.wait(time))
    }
}

/// The subscriber that sent a frame; of an ICMP error the one to which the packet went that it quotes.
fn sender(frame: &[u8]) -> Option<IpAddr> {
    let (kind, packet) = (frame.get(12..14)?, frame.get(14..)?);
    if kind == [0x86, 0xdd] {
        let error = packet.get(40).filter(|kind| packet[6] == 58 && **kind < 128);
        let address = if error.is_some() { packet.get(72..88)? } else { packet.get(8..24)? };
        return <[u8; 16]>::try_from(address).ok().map(IpAddr::from);
    }
    let quoted = quoted(packet)?;
    let address = quoted.map_or(packet.get(12..16)?, |quoted| &quoted[16..20]);
    <[u8; 4]>::try_from(address).ok().map(IpAddr::from)
}

/// The outside end to which a packet goes, with its protocol; of an ICMP error from where that came which it quotes.
fn destination(packet: &[u8]) -> Option<(u8, (u32, u16))> {
    let (one, is_quoted) = match quoted(packet)? {
        Some(quoted) => (quoted, true),
        None => (packet, false),
    };
    let transport = one.get(usize::from(*one.first()? & 15) * 4..)?;
    let at = match (one.get(9)?, is_quoted) {
        (1, _) => 4,
        (47, _) => 6,
        (_, true) => 0,
        (_, false) => 2,
    };
    let port = transport.get(at..at + 2)?;
    let address = if is_quoted { &one[12..16] } else { &one[16..20] };
    let address = u32::from_be_bytes(address.try_into().ok()?);
    Some((one[9], (address, u16::from_be_bytes([port[0], port[1]]))))
}

/// The packet that an IPv4 packet quotes, if that is an ICMP error; none of what is no IPv4 packet or no first fragment.
fn quoted(packet: &[u8]) -> Option<Option<&[u8]>> {
    let header = usize::from(packet.first()? & 15) * 4;
    if packet.len() < header.max(20) || packet[0] >> 4 != 4 || packet[6] & 0x1f | packet[7] != 0 {
        return None;
    }
    let is_error = packet[9] == 1 && matches!(packet.get(header), Some(3 | 11 | 12));
    let quoted = packet.get(header + 8..).filter(|quoted| is_error && quoted.len() >= 20);
    Some(quoted)
}

/// Whether a frame that left is one of a session, without options: none of what the NAT says itself, and no error.
fn is_of_a_session(config: &Config, frame: &[u8]) -> bool {
    let mut bare = frame.to_vec();
    take_tag(&mut bare);
    let is_ipv6 = bare[12..14] == [0x86, 0xdd];
    let inner = match (is_ipv6, bare[20]) {
        (false, _) => &bare[14..],
        (true, 4) => &bare[54..],
        (true, protocol) => {
            return matches!(protocol, 6 | 17) || protocol == 58 && matches!(bare[54], 128 | 129);
        }
    };
    let own = [config.inside_ip, config.outside_ip, Ipv4Addr::new(192, 0, 0, 1)];
    let is_packet = bare[12..14] != [8, 6] && inner.len() >= 28 && inner[0] == 0x45;
    is_packet && !own.iter().any(|own| inner[12..16] == own.octets()) && quoted(inner) == Some(None)
}

/// Random frames of the sample and answers to what left.
fn walk(config: &Config, count: u32, seed: u64) -> Result<[usize; 2], String> {
    let mut team = Team::new(config, count);
    let mut random = Random::new(seed);
    let corpus = sample_frames(&Config { core: 1, ..config.clone() });
    let mut left: VecDeque<(usize, (PortId, Vec<u8>))> = VecDeque::new();
    let mut answered = [0; 2];
    for _ in 0..STEPS {
        if random.below(150) == 0 {
            team.wait(Duration::from_secs(1))?;
        }
        let (owner, coming) = match random.below(2) {
            0 if !left.is_empty() => {
                let (owner, frame) = random.one_of(left.make_contiguous());
                (Some(*owner), answer(frame))
            }
            _ => (None, random.one_of(&corpus).clone()),
        };
        let found = team.worker(coming.0, &coming.1);
        if owner.is_some() && found != owner {
            return Err(format!(
                "the answer to what left {owner:?} goes to {found:?}: {coming:x?}"
            ));
        }
        // What names no worker may go to any.
        let worker = found.unwrap_or_else(|| random.below(count as usize));
        let Expected::Forward { port, frame } = team.pass(worker, &coming)? else { continue };
        if owner.is_some() {
            answered[usize::from(port == OUTSIDE)] += 1;
        }
        if is_of_a_session(config, &frame) {
            left.push_back((worker, (port, frame)));
            if left.len() > LEFT_MAX {
                left.pop_front();
            }
        }
    }
    Ok(answered)
}

const STEPS: usize = 4000;
const LEFT_MAX: usize = 100;
const SEED: u64 = 0x00c0_12e5;

/// Kinds of NATs, with softwires, gateways and rules of all kinds, which drop fragments: none but the first bears a port.
fn spread() -> Vec<Config> {
    let rule = "{inside: 10.255.255.224/27, outside: 203.0.113.128/31, ports-per-subscriber: 4, \
                 dynamic-factor: 60}";
    let deterministic = vec![serde_saphyr::from_str(rule).expect("a rule")];
    let some = [0, 1, 2, 3, 4, 5, 6, 9, 10, 12].map(|index: usize| kinds()[index].clone());
    let all = some.into_iter().chain([Config { deterministic, ..kinds()[0].clone() }]);
    // Each worker has room for as many sessions as a subscriber may have.
    all.map(|config| Config { fragments: Fragments::default(), sessions: 3000, ..config }).collect()
}

#[test]
fn both_directions_meet_on_the_worker_to_which_frames_are_steered() {
    println!("seed {SEED:#x}");
    let mut wrong = Vec::new();
    for (number, config) in spread().iter().enumerate() {
        for count in [2, 3, 7] {
            match walk(config, count, SEED + number as u64) {
                Ok(answered) if answered.iter().all(|count| *count > 60) => {}
                other => wrong.push(format!("kind {number} on {count} workers: {other:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// RFC 7785: whatever address of its prefix a subscriber has, packets and control find one worker.
#[test]
fn a_softwire_has_one_worker_whatever_address_of_its_prefix_comes() {
    let config = &kinds()[12];
    let mut workers = HashSet::new();
    for number in 0..100u128 {
        let [one, other] = [2, 0x0077_1234_5678_9abc_def0].map(|rest: u128| {
            IpAddr::from(Ipv6Addr::from_bits(0x2001_0db8 << 96 | number << 72 | rest))
        });
        let bits = steering::of_subscriber(config, one);
        assert_eq!(steering::of_subscriber(config, other), bits, "{one} and {other}");
        let update = Update::ClearSubscriber { address: other, vlan: 0 };
        assert_eq!(Cgnat::steering(config, &update), Some(bits));
        workers.insert(worker_of(bits, 7));
    }
    assert_eq!(workers.len(), 7, "subscribers are spread");
}
