//! Several workers, each beside its oracle, and frames that are steered to them by what is in them
//! alone, as a card does it: both directions of every session meet. What workers hand over to one
//! another goes to whom it is for.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use engine::steering::worker_of;
use function_cgnat::Update;
use function_cgnat::config::{Config, Filtering, Pcp};
use function_cgnat::workers::steering::Steering;
use function_kit::{NetworkFunction, Shard, Steer};
use model_cgnat::Cgnat;
use model_kit::check::Expected;
use packet::PortId;
use testkit::mutate::repair;
use testkit::pair::Pair;
use testkit::random::Random;
use wire::checksum::Sum;

use crate::differential::{answer, take_tag};
use crate::frames::{DROPPED, INSIDE, OUTSIDE, kinds, rule_changes, sample_frames, traffic, valid};
use crate::laws::datagram;

/// Workers of one NAT.
struct Team {
    config: Config,
    /// Each with its oracle.
    pairs: Vec<Pair<Cgnat>>,
    /// What became of frames that were handed over: how many arrived, or were dropped for which
    /// reason.
    handed: BTreeMap<&'static str, usize>,
    /// How a port finds their worker.
    steering: Steer,
    /// What became of the last frame that was made beside another and handed over.
    beside: Option<Expected>,
}

impl Team {
    /// So many.
    fn new(config: &Config, count: u32) -> Team {
        let (config, _) = valid(&Config { core: count, ..config.clone() }, &traffic());
        let shards = (0..count).map(|index| Shard { index, count });
        let mut pairs: Vec<Pair<Cgnat>> = shards.map(|shard| Pair::new(&config, shard)).collect();
        let first = pairs[0].device_mut().function_mut();
        let steering = function_cgnat::Cgnat::frame_steering(&config, first);
        let steering = steering.expect("there are several")();
        Team { config, pairs, handed: BTreeMap::new(), steering, beside: None }
    }

    /// The worker of a frame; none of one that bears nothing by which it could be found.
    fn worker(&mut self, port: PortId, frame: &[u8]) -> Option<usize> {
        let mut bare = frame.to_vec();
        take_tag(&mut bare);
        let bits = match port {
            INSIDE => Steering::new(&self.config).of_subscriber(sender(&bare)?),
            _ => {
                let (protocol, end) = destination(bare.get(14..)?)?;
                let state = self.pairs[0].device_mut().function_mut().state();
                state.allocation.steering(protocol, end)
            }
        };
        Some(worker_of(bits, self.pairs.len() as u32) as usize)
    }

    /// Gives a frame to a worker, and to others what it hands over to them: what became of it, and
    /// where.
    fn pass(
        &mut self,
        worker: usize,
        (port, frame): &(PortId, Vec<u8>),
    ) -> Result<(usize, Expected), String> {
        let mut last = (worker, self.one(worker, *port, frame)?);
        let beside: Vec<_> = self.pairs[worker].made.iter().filter_map(handed_over).collect();
        for hands in 0.. {
            let Some((next, frame)) = handed_over(&last.1) else {
                self.count(hands, &last.1);
                break;
            };
            if hands == HANDS_MAX {
                return Err(format!("{frame:02x?} goes from worker to worker"));
            }
            last = (next, self.one(next, from_worker(last.0), &frame)?);
        }
        // What is made beside a frame leaves behind it.
        for (next, frame) in beside {
            let outcome = self.one(next, from_worker(worker), &frame)?;
            self.count(1, &outcome);
            self.beside = Some(outcome);
        }
        Ok(last)
    }

    fn one(&mut self, worker: usize, port: PortId, frame: &[u8]) -> Result<Expected, String> {
        let outcome = self.pairs[worker].frame(port, frame);
        outcome.map_err(|what| format!("worker {worker}: {what}"))
    }

    /// Counts what became of a frame, if it was handed over.
    fn count(&mut self, hands: usize, outcome: &Expected) {
        let name = match outcome {
            Expected::Drop(reason) => reason,
            _ => "arrived",
        };
        if hands > 0 {
            *self.handed.entry(name).or_default() += 1;
        }
    }

    /// All of them change; whether that was possible, for all alike.
    fn update(&mut self, update: &Update) -> Result<bool, String> {
        let done = self.pairs.iter_mut().map(|pair| pair.update(update));
        let done = done.collect::<Result<Vec<bool>, String>>()?;
        match done.windows(2).all(|two| two[0] == two[1]) {
            true => Ok(done[0]),
            false => Err(format!("{update:?} is possible for some: {done:?}")),
        }
    }

    /// Another limit holds for all.
    fn limit(&mut self, sessions: u32) -> Result<(), String> {
        self.update(&Update::SetSessionLimit { sessions }).map(drop)
    }

    /// Time passes for all.
    fn wait(&mut self, time: Duration) -> Result<(), String> {
        self.pairs.iter_mut().try_for_each(|pair| pair.wait(time))
    }
}

/// To which worker a frame is handed over that left.
fn handed_over(outcome: &Expected) -> Option<(usize, Vec<u8>)> {
    let Expected::Forward { port, frame } = outcome else { return None };
    let worker = usize::from(port.0).checked_sub(PORTS)?;
    Some((worker, frame.clone()))
}

/// The port by which frames of a worker come in.
fn from_worker(worker: usize) -> PortId {
    PortId((PORTS + worker) as u8)
}

/// A packet of a subscriber for the outside end with which another one's left.
fn to_peer(frame: &[u8], seen: &[u8]) -> Option<Vec<u8>> {
    let is_plain = |frame: &[u8]| frame.len() >= 42 && frame[12..15] == [8, 0, 0x45];
    let may = is_plain(frame) && is_plain(seen) && frame[23] == seen[23];
    let mut frame = frame.to_vec();
    let port = match seen[23] {
        6 | 17 => (34, 36),
        1 => (38, 38),
        _ => return None,
    };
    frame.get_mut(30..34)?.copy_from_slice(&seen[26..30]);
    frame.get_mut(port.1..port.1 + 2)?.copy_from_slice(&seen[port.0..port.0 + 2]);
    repair(&mut frame);
    if frame[23] == 1 {
        frame[36..38].fill(0);
        let sum = Sum::ZERO
            .add_bytes(frame.get(34..14 + usize::from(frame[16]) * 256 + usize::from(frame[17]))?);
        frame[36..38].copy_from_slice(&sum.checksum().to_be_bytes());
    }
    may.then_some(frame)
}

/// The subscriber that sent a frame; of an ICMP error the one to which the packet went that it
/// quotes.
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

/// The outside end to which a packet goes, with its protocol; of an ICMP error from where that came
/// which it quotes.
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

/// The packet that an IPv4 packet quotes, if that is an ICMP error; none of what is no IPv4 packet
/// or no first fragment.
fn quoted(packet: &[u8]) -> Option<Option<&[u8]>> {
    let header = usize::from(packet.first()? & 15) * 4;
    if packet.len() < header.max(20) || packet[0] >> 4 != 4 || packet[6] & 0x1f | packet[7] != 0 {
        return None;
    }
    let is_error = packet[9] == 1 && matches!(packet.get(header), Some(3 | 11 | 12));
    let quoted = packet.get(header + 8..).filter(|quoted| is_error && quoted.len() >= 20);
    Some(quoted)
}

/// Whether a frame that left is one of a session, without options: none of what the NAT says
/// itself, and no error.
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
    // An answer to a packet of a call bears another number, which it does not tell.
    let is_call = inner.len() >= 28 && inner[9] == 47;
    is_packet
        && !is_call
        && !own.iter().any(|own| inner[12..16] == own.octets())
        && quoted(inner) == Some(None)
}

/// Random frames of the sample and answers to what left.
fn walk(config: &Config, count: u32, seed: u64) -> Result<[usize; 2], String> {
    let mut team = Team::new(config, count);
    let mut random = Random::new(seed);
    let corpus = sample_frames(&Config { core: 1, ..config.clone() });
    let mut left: VecDeque<(usize, (PortId, Vec<u8>))> = VecDeque::new();
    let (mut answered, mut by_port) = ([0; 2], 0);
    let (mut datagrams, mut pieces) = (BTreeMap::new(), 0);
    let follows = config.fragments.datagrams > 0;
    let (rules, mut changes) = (rule_changes(config), 0);
    for _ in 0..STEPS {
        if random.below(150) == 0 {
            team.wait(Duration::from_secs(1))?;
        }
        if random.below(200) == 0 {
            let sessions = *random.one_of(&[0, 0, 0, 2, 30]);
            team.limit(sessions)?;
        }
        if random.below(60) == 0 && team.update(random.one_of(&rules))? {
            changes += 1;
            // Whose they were may have others by now.
            left.clear();
            datagrams.clear();
        }
        let (owner, coming) = match random.below(6) {
            0..3 if !left.is_empty() => {
                let (owner, frame) = random.one_of(left.make_contiguous());
                (Some(*owner), answer(frame))
            }
            3 if !left.is_empty() => {
                let (_, (_, seen)) = random.one_of(left.make_contiguous()).clone();
                let fitting = (0..30).find_map(|_| {
                    let (port, frame) = random.one_of(&corpus);
                    let is_inside = *port == INSIDE;
                    to_peer(frame, &seen).filter(|_| is_inside)
                });
                let frame = fitting.map(|frame| (INSIDE, frame));
                (None, frame.unwrap_or_else(|| random.one_of(&corpus).clone()))
            }
            _ => (None, random.one_of(&corpus).clone()),
        };
        let steered =
            (team.steering)(coming.0, &coming.1).map(|bits| worker_of(bits, count) as usize);
        let datagram = piece_from_outside(&coming).filter(|_| follows);
        let found = match &datagram {
            // Any worker may have a datagram, if it has all of its pieces.
            Some(datagram) => {
                steered.map(|worker| *datagrams.entry(datagram.clone()).or_insert(worker))
            }
            None => team.worker(coming.0, &coming.1),
        };
        // What is malformed finds one or none.
        let may_differ = owner.is_none() && (found.is_none() || steered.is_none());
        if steered != found && !may_differ {
            return Err(format!("{found:?} has it, a port finds {steered:?}: {coming:x?}"));
        }
        by_port += usize::from(steered.is_some());
        if owner.is_some() && datagram.is_none() && found != owner {
            return Err(format!(
                "the answer to what left {owner:?} goes to {found:?}: {coming:x?}"
            ));
        }
        // What names no worker may go to any.
        let worker = found.unwrap_or_else(|| random.below(count as usize));
        let (worker, outcome) = team.pass(worker, &coming)?;
        if datagram.is_some() && matches!(outcome, Expected::Forward { port: INSIDE, .. }) {
            pieces += 1;
            if owner.is_some_and(|owner| owner != worker) {
                return Err(format!(
                    "a piece of what left {owner:?} went to {worker}: {coming:x?}"
                ));
            }
        }
        let Expected::Forward { port, frame } = outcome else { continue };
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
    let handed = &team.handed;
    println!("on {count} workers: answered {answered:?}, {pieces} pieces, handed over {handed:?}");
    if changes < 5 {
        return Err(format!("{changes} changes of rules"));
    }
    if by_port < STEPS / 2 {
        return Err(format!("ports find workers of {by_port} frames"));
    }
    if config.hairpinning && team.handed.get("arrived").is_none_or(|arrived| *arrived < 5) {
        return Err(format!("too little was handed over: {:?}", team.handed));
    }
    Ok(answered)
}

/// The datagram of which a frame from outside is a piece: its addresses, protocol and
/// identification.
fn piece_from_outside((port, frame): &(PortId, Vec<u8>)) -> Option<Vec<u8>> {
    let mut bare = frame.clone();
    take_tag(&mut bare);
    let packet = bare.get(14..).filter(|packet| packet.len() >= 20 && packet[0] >> 4 == 4)?;
    let is_ipv4 = bare[12..14] == [8, 0];
    let is_piece = packet[6] & 0x3f | packet[7] != 0;
    let datagram = [&packet[12..20], &packet[9..10], &packet[4..6]].concat();
    (*port == OUTSIDE && is_ipv4 && is_piece).then_some(datagram)
}

/// A packet goes to another worker, and an error about it back.
const HANDS_MAX: usize = 2;
const STEPS: usize = 4000;
const LEFT_MAX: usize = 100;
const SEED: u64 = 0x00c0_14d9;

/// A NAT whose subscribers ask for mappings.
fn asked() -> Config {
    let pcp = Some(Pcp { mappings: 100, mappings_per_subscriber: 8, ..Pcp::default() });
    Config { pcp, ..kinds()[0].clone() }
}

/// Kinds of NATs, with softwires, gateways and rules of all kinds. One of them drops fragments.
fn spread() -> Vec<Config> {
    let rule = "{inside: 10.255.255.224/27, outside: 203.0.113.128/31, ports-per-subscriber: 4, \
                 dynamic-factor: 60}";
    let deterministic = vec![serde_saphyr::from_str(rule).expect("a rule")];
    let some = [0, 1, 2, 3, 4, 5, 6, 9, 10, 12].map(|index: usize| kinds()[index].clone());
    let all = some.into_iter().chain([Config { deterministic, ..kinds()[0].clone() }]);
    let open = Config { filtering: Filtering::EndpointIndependent, ..kinds()[2].clone() };
    let dropped = Config { fragments: DROPPED, ..kinds()[1].clone() };
    // Each worker has room for as many sessions as a subscriber may have.
    all.chain([open, dropped, asked()]).map(|config| Config { sessions: 3000, ..config }).collect()
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
        let steering = Steering::new(config);
        let bits = steering.of_subscriber(one);
        assert_eq!(steering.of_subscriber(other), bits, "{one} and {other}");
        let update = Update::ClearSubscriber { address: other, vlan: 0 };
        assert_eq!(function_cgnat::Cgnat::steering(config, &update), Some(bits));
        workers.insert(worker_of(bits, 7));
    }
    assert_eq!(workers.len(), 7, "subscribers are spread");
}

/// A subscriber: its worker, its end inside, and the one by which it is known outside.
type Known = (usize, (u32, u16), (u32, u16));

/// Subscribers of all workers that have asked a server by which end they are known.
fn known(team: &mut Team) -> Vec<Known> {
    let server = (0xc000_0209, 3478);
    let subscribers = (1..=20).map(|number| (0x0a09_0000 + number, 5000));
    let mut ask = |own| {
        let frame = (INSIDE, datagram(&team.config, own, server));
        let worker = team.worker(INSIDE, &frame.1).expect("a subscriber");
        let outcome = team.pass(worker, &frame).expect("the oracle agrees").1;
        let Expected::Forward { port: OUTSIDE, frame } = outcome else { panic!("{outcome:?}") };
        (worker, own, source(&frame))
    };
    subscribers.map(&mut ask).collect()
}

/// RFC 4787 REQ-9 and RFC 5508 REQ-7: to subscribers it makes no difference that two workers have
/// them.
#[test]
fn subscribers_of_two_workers_reach_each_other() {
    let filtering = Filtering::EndpointIndependent;
    let mut team = Team::new(&Config { filtering, ..kinds()[0].clone() }, 5);
    let known = known(&mut team);
    let (mut met, mut told) = (0, 0);
    for &(worker, own, at_own) in &known {
        for &(other_worker, other, at_other) in &known {
            if worker == other_worker {
                continue;
            }
            let frame = (INSIDE, datagram(&team.config, own, at_other));
            let (at, outcome) = team.pass(worker, &frame).expect("the oracle agrees");
            let Expected::Forward { port: INSIDE, frame } = outcome else { panic!("{outcome:?}") };
            assert_eq!(at, other_worker);
            assert_eq!(source(&frame), at_own);
            assert_eq!(destination(&frame[14..]), Some((17, other)));
            met += 1;
            // What it says of the packet gets to its sender, who sees what it had sent.
            let error = unreachable(&team.config, other.0, &frame);
            let (at, outcome) =
                team.pass(other_worker, &(INSIDE, error)).expect("the oracle agrees");
            let Expected::Forward { port: INSIDE, frame } = outcome else { panic!("{outcome:?}") };
            assert_eq!(at, worker);
            assert_eq!(frame[30..34], own.0.to_be_bytes());
            assert_eq!(destination(&frame[14..]), Some((17, own)), "of what it quotes, the source");
            told += 1;
        }
    }
    assert!(met > 200 && told == met, "{met} met, {told} told");
}

/// RFC 4787 REQ-14: in either order.
#[test]
fn fragments_reach_the_subscriber_of_another_worker() {
    let filtering = Filtering::EndpointIndependent;
    let mut team = Team::new(&Config { filtering, ..kinds()[2].clone() }, 5);
    let known = known(&mut team);
    let (worker, own, at_own) = known[0];
    let others = known.iter().filter(|other| other.0 != worker);
    let mut count = 0;
    for (number, &(other_worker, other, at_other)) in (1..).zip(others) {
        let mut whole = datagram(&team.config, own, at_other);
        whole[19] = number;
        // 26 bytes behind the header: 16 and 10.
        let [first, last] = [(34..50, 0x2000), (50..60, 2u16)].map(|(part, place)| {
            let mut frame = [&whole[..34], &whole[part]].concat();
            frame[17] = (frame.len() - 14) as u8;
            frame[20..22].copy_from_slice(&place.to_be_bytes());
            repair(&mut frame);
            (INSIDE, frame)
        });
        for order in [[&first, &last], [&last, &first]] {
            let [one, then] =
                order.map(|frame| team.pass(worker, frame).expect("the oracle agrees"));
            let waited = order[0].1 == last.1;
            let pieces = match waited {
                true => [Some(then.clone().1), team.beside.take()],
                false => [Some(one.clone().1), Some(then.clone().1)],
            };
            assert_eq!(one.1 == Expected::Drop("awaiting-first-fragment"), waited);
            for (piece, len) in pieces.into_iter().zip([50, 44]) {
                let Some(Expected::Forward { port: INSIDE, frame }) = piece else {
                    panic!("{piece:?}")
                };
                assert_eq!((then.0, frame.len()), (other_worker, len));
                assert_eq!(
                    (&frame[26..30], &frame[30..34]),
                    (&at_own.0.to_be_bytes()[..], &other.0.to_be_bytes()[..])
                );
                count += 1;
            }
        }
    }
    assert!(count > 40, "{count} fragments");
}

/// The source of a packet of UDP.
fn source(frame: &[u8]) -> (u32, u16) {
    let address = u32::from_be_bytes([frame[26], frame[27], frame[28], frame[29]]);
    (address, u16::from_be_bytes([frame[34], frame[35]]))
}

/// A host inside says of a packet that it got that nobody listens there.
fn unreachable(config: &Config, from: u32, got: &[u8]) -> Vec<u8> {
    let [to, quoted] = [&got[26..30], &got[14..42]];
    let mut message = [&[3, 3, 0, 0, 0, 0, 0, 0], quoted].concat();
    let sum = Sum::ZERO.add_bytes(&message).checksum();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let total = (20 + message.len() as u16).to_be_bytes();
    let head = [0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, 1, 0, 0];
    let [mac, next] = [config.inside_mac.0.0, config.inside_next_hop_mac.0.0];
    let from = from.to_be_bytes();
    let mut frame = [&mac[..], &next, &[8, 0], &head, &from, to, &message].concat();
    repair(&mut frame);
    frame
}

/// What a port finds no worker for stays where it came in; what is cut off anywhere is no reason to
/// stop.
#[test]
fn frames_that_bear_nothing_find_no_worker() {
    let config = &kinds()[2];
    let mut steering = Steering::new(config);
    let arp =
        sample_frames(config).into_iter().find(|(_, frame)| frame.get(12..14) == Some(&[8, 6]));
    let (port, frame) = arp.expect("the sample asks for addresses");
    assert_eq!(steering.of_frame(port, &frame), None);
    // A later fragment has its sender and its datagram; where none is followed, it tells for whom
    // it is only where that one shares its address with nobody.
    let mut later = datagram(config, (0x0a00_0001, 4000), (0xc000_0209, 53));
    later[20..22].copy_from_slice(&[0, 3]);
    let mut find = |port| steering.of_frame(port, &later);
    assert!(find(INSIDE).is_some() && find(OUTSIDE).is_some());
    let dropping = Config { fragments: DROPPED, ..config.clone() };
    let mut dropping = Steering::new(&dropping);
    assert!(dropping.of_frame(INSIDE, &later).is_some());
    assert_eq!(dropping.of_frame(OUTSIDE, &later), None);
    for config in &kinds() {
        let mut steering = Steering::new(config);
        for (port, frame) in sample_frames(config) {
            for len in 0..frame.len().min(110) {
                steering.of_frame(port, &frame[..len]);
            }
        }
    }
}

/// Ports of a NAT; those towards workers follow.
const PORTS: usize = 2;
