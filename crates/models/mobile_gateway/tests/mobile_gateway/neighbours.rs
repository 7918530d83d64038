//! Neighbours that several workers ask for, each worker beside its oracle: an answer that one of
//! them gets is known to all.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_kit::Shard;
use function_kit::sections::{Mac, Prefixed};
use function_mobile_gateway::Update;
use function_mobile_gateway::config::{BaseStation, NextHop, Route};
use function_mobile_gateway::gateway::towards_worker;
use model_kit::PipelineOf;
use model_kit::build::{NeighbourMessage, datagram, frame, packet};
use model_kit::check::Expected;
use model_mobile_gateway::catalogue::{self, User};
use model_mobile_gateway::{MobileGateway, Section};
use packet::PortId;
use testkit::pair::Pair;
use testkit::random::Random;
use units::BytesPerSec;
use wire::gtpu::{self, GTPU_PORT};
use wire::ipv6::link_local;
use wire::{MacAddr, arp, ethernet, protocol};

use crate::frames::{ACCESS, CORE, kinds};

/// Workers of one gateway.
struct Team {
    config: Section,
    pairs: Vec<Pair<MobileGateway>>,
    /// What workers have handed over, and is not there yet: to which one, from which, the frame.
    under_way: VecDeque<(usize, usize, Vec<u8>)>,
}

impl Team {
    /// Each with the same user, whose packets go to any neighbour, and with room for two next hops
    /// beside the generated ones.
    fn new() -> Team {
        let config = Section { rate_limit: BytesPerSec(1e9), nhop: 6, ..kinds()[0].clone() };
        let pair = |index| Pair::<MobileGateway>::new(&config, Shard { index, count: COUNT });
        let pairs = (0..COUNT).map(pair).collect();
        let mut team = Team { config, pairs, under_way: VecDeque::new() };
        let spare = Update::RemoveNextHop { address: catalogue::next_hop_address(5) };
        assert!(team.update(&user().added()) && team.update(&spare));
        team.wait(1);
        team
    }

    fn update(&mut self, update: &Update) -> bool {
        let mut done = self.pairs.iter_mut().map(|pair| pair.update(update).expect("they agree"));
        let first = done.next().expect("a worker");
        assert!(done.all(|other| other == first), "workers differ over {update:?}");
        first
    }

    fn wait(&mut self, seconds: u64) {
        for pair in &mut self.pairs {
            pair.wait(Duration::from_secs(seconds)).expect("they agree");
        }
    }

    /// Gives a frame to a worker; what became of it.
    fn frame(&mut self, worker: usize, port: PortId, frame: &[u8]) -> Expected {
        let became = self.pairs[worker].frame(port, frame).expect("they agree");
        for made in &self.pairs[worker].made {
            if let Expected::Forward { port, frame } = made
                && let Some(other) = port.0.checked_sub(towards_worker(0).0)
            {
                assert_ne!(usize::from(other), worker, "a worker tells itself nothing");
                self.under_way.push_back((usize::from(other), worker, frame.clone()));
            }
        }
        became
    }

    /// Hands over what has waited longest; to whom, and what was made there.
    fn hand_over(&mut self) -> Option<(usize, Vec<Expected>)> {
        let (to, from, frame) = self.under_way.pop_front()?;
        let waits = self.under_way.len();
        let became = self.frame(to, towards_worker(from as u32), &frame);
        assert_eq!(became, HEARD);
        assert_eq!(self.under_way.len(), waits, "it goes no further");
        Some((to, self.pairs[to].made.clone()))
    }

    /// A packet of the user to a network, out of its tunnel.
    fn uplink(&mut self, worker: usize, to: Ipv4Addr) -> Expected {
        let user = user();
        let inner = packet(user.ipv4, to, protocol::UDP, &datagram((40_000, 9), &[1; 40]));
        let mut header = [0; gtpu::HEADER_LEN];
        let (message_type, length) = (gtpu::MESSAGE_G_PDU, inner.len() as u16);
        gtpu::Fields { message_type, length, teid: user.teid }.emit(&mut header);
        let message = datagram((GTPU_PORT, GTPU_PORT), &[&header[..], &inner].concat());
        let outer = packet(STATION, self.config.gw_ip, protocol::UDP, &message);
        let whole = frame(self.config.gw_mac, MACS[0], ethernet::TYPE_IPV4, &outer);
        self.frame(worker, ACCESS, &whole)
    }

    /// A packet for the user.
    fn downlink(&mut self, worker: usize) -> Expected {
        let payload = datagram((9, 40_000), &[1; 40]);
        let packet = packet(Ipv4Addr::new(9, 9, 9, 9), user().ipv4, protocol::UDP, &payload);
        let whole = frame(self.config.gw_mac, MACS[0], ethernet::TYPE_IPV4, &packet);
        self.frame(worker, CORE, &whole)
    }

    /// A packet by which a worker needs the neighbour of this number.
    fn send(&mut self, worker: usize, neighbour: usize) -> Expected {
        match NEIGHBOURS[neighbour] {
            (ACCESS, _) => self.downlink(worker),
            _ => self.uplink(worker, network(neighbour, 9)),
        }
    }

    /// A neighbour's question for the gateway, or its answer.
    fn message(&self, neighbour: usize, mac: MacAddr, is_answer: bool) -> Vec<u8> {
        let (gw_mac, target_ip) = (self.config.gw_mac, self.config.gw_ip);
        match NEIGHBOURS[neighbour].1 {
            IpAddr::V4(sender_ip) => {
                let operation =
                    if is_answer { arp::OPERATION_REPLY } else { arp::OPERATION_REQUEST };
                let (sender_mac, target_mac) = (mac, gw_mac);
                let mut packet = [0; arp::HEADER_LEN];
                arp::Fields { operation, sender_mac, sender_ip, target_mac, target_ip }
                    .emit(&mut packet);
                // Padded as on a link.
                let padded = [&packet[..], &[0; 18]].concat();
                frame(gw_mac, MACS[0], ethernet::TYPE_ARP, &padded)
            }
            IpAddr::V6(own) => {
                let gateway = link_local(gw_mac);
                let (kind, option, target) =
                    if is_answer { (136, 2, own) } else { (135, 1, gateway) };
                let options = [&[option, 1][..], &mac.0].concat();
                let ends = [own, gateway];
                NeighbourMessage { to: gw_mac, from: mac, ends, kind, flags: 0x60, target, options }
                    .frame()
            }
        }
    }
}

fn user() -> User {
    let kind = &kinds()[0];
    catalogue::passing_user(0, kind.user, kind.bst)
}

/// The network behind a next hop, and a host in it.
fn network(neighbour: usize, host: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 88, neighbour as u8, host)
}

/// The change that adds a neighbour, or the one that removes it.
fn added(neighbour: usize, mac: Option<MacAddr>) -> Update {
    let mac = mac.map(Mac);
    match NEIGHBOURS[neighbour] {
        (ACCESS, _) => Update::AddBaseStation(BaseStation { address: STATION, mac }),
        (_, address) => Update::AddNextHop(NextHop { address, mac, source_mac: None }),
    }
}

fn removed(neighbour: usize) -> Update {
    match NEIGHBOURS[neighbour] {
        (ACCESS, _) => Update::RemoveBaseStation { address: STATION },
        (_, address) => Update::RemoveNextHop { address },
    }
}

fn prefix(neighbour: usize) -> Prefixed<IpAddr> {
    Prefixed { address: network(neighbour, 0).into(), len: 24 }
}

/// Adds a next hop that is asked for, with a route, or has a base station asked for.
fn ask_for(team: &mut Team, neighbour: usize) {
    if NEIGHBOURS[neighbour].0 == ACCESS {
        assert!(team.update(&removed(neighbour)), "the generated one");
    }
    assert!(team.update(&added(neighbour, None)));
    if NEIGHBOURS[neighbour].0 == CORE {
        let next_hop = NEIGHBOURS[neighbour].1;
        assert!(team.update(&Update::AddRoute(Route { prefix: prefix(neighbour), next_hop })));
    }
}

/// Forgets it again.
fn forget(team: &mut Team, neighbour: usize) {
    if NEIGHBOURS[neighbour].0 == CORE {
        assert!(team.update(&Update::RemoveRoute { prefix: prefix(neighbour) }));
    }
    assert!(team.update(&removed(neighbour)));
}

fn is_to(expected: &Expected, mac: MacAddr) -> bool {
    matches!(expected, Expected::Forward { frame, .. } if frame.starts_with(&mac.0))
}

/// How many packets of IPv4 leave to a station.
fn packets_to(all: &[Expected], mac: MacAddr) -> usize {
    let is_one = |one: &&Expected| {
        is_to(one, mac) && matches!(one, Expected::Forward { frame, .. } if frame[12..14] == [8, 0])
    };
    all.iter().filter(is_one).count()
}

#[test]
fn an_answer_that_one_worker_gets_is_known_to_all() {
    for (neighbour, (port, _)) in NEIGHBOURS.into_iter().enumerate() {
        for is_answer in [true, false] {
            let mut team = Team::new();
            ask_for(&mut team, neighbour);
            for worker in 0..WORKERS {
                assert_eq!(team.send(worker, neighbour), AWAITING);
                assert_eq!(team.pairs[worker].made.len(), 1, "each asks for itself");
            }
            let said = team.message(neighbour, MACS[1], is_answer);
            let became = team.frame(1, port, &said);
            match is_answer {
                true => assert_eq!(became, HEARD),
                false => assert!(is_to(&became, MACS[1]), "it is answered: {became:?}"),
            }
            assert_eq!(packets_to(&team.pairs[1].made, MACS[1]), 1, "what waited leaves");
            // Each of the others is told once, answers nothing and sends what waits there.
            let mut told = Vec::new();
            while let Some((worker, made)) = team.hand_over() {
                assert_eq!(packets_to(&made, MACS[1]), 1, "{made:?}");
                told.push(worker);
            }
            told.sort_unstable();
            assert_eq!(told, [0, 2]);
            for worker in 0..WORKERS {
                assert!(is_to(&team.send(worker, neighbour), MACS[1]));
            }
        }
    }
}

#[test]
fn an_answer_reaches_the_worker_that_asked_by_one_that_did_not() {
    for (neighbour, (port, _)) in NEIGHBOURS.into_iter().enumerate() {
        let mut team = Team::new();
        ask_for(&mut team, neighbour);
        assert_eq!(team.send(0, neighbour), AWAITING);
        let answer = team.message(neighbour, MACS[2], true);
        assert_eq!(team.frame(1, port, &answer), HEARD);
        while let Some((worker, made)) = team.hand_over() {
            assert_eq!(made.len(), usize::from(worker == 0), "{made:?}");
        }
        assert!(is_to(&team.send(0, neighbour), MACS[2]));
        // Who has not asked has no room for what nobody there asked for, and asks when it needs it.
        assert_eq!(team.send(2, neighbour), AWAITING);
        // Of a neighbour with a configured address nobody is told.
        forget(&mut team, neighbour);
        assert!(team.update(&added(neighbour, Some(MACS[3]))));
        team.frame(1, port, &answer);
        assert_eq!(team.hand_over(), None);
    }
}

#[test]
fn what_a_worker_is_told_before_it_knows_the_neighbour_is_dropped() {
    let mut team = Team::new();
    for (neighbour, (port, _)) in NEIGHBOURS.into_iter().enumerate() {
        let answer = team.message(neighbour, MACS[1], true);
        let told = [&answer[..6], &[3, 0, 0, 0, 0, port.0], &answer[12..]].concat();
        team.under_way.push_back((2, 0, told));
        assert_eq!(team.hand_over(), Some((2, Vec::new())));
    }
}

/// Packets, answers and changes in any order, and workers that are told late.
#[test]
fn workers_and_oracles_agree_whatever_comes_first() {
    println!("seed {SEED:#x}");
    let (mut team, mut random) = (Team::new(), Random::new(SEED));
    (0..NEIGHBOURS.len()).for_each(|neighbour| ask_for(&mut team, neighbour));
    for _ in 0..STEPS {
        let (worker, neighbour) = (random.below(WORKERS), random.below(NEIGHBOURS.len()));
        match random.below(20) {
            0..7 => drop(team.send(worker, neighbour)),
            7..12 => drop(team.hand_over()),
            12 => {
                let change = match random.below(4) {
                    0 => removed(neighbour),
                    1 => added(neighbour, Some(MACS[random.below(MACS.len())])),
                    2 if NEIGHBOURS[neighbour].0 == CORE => {
                        Update::RemoveRoute { prefix: prefix(neighbour) }
                    }
                    _ => added(neighbour, None),
                };
                team.update(&change);
            }
            13 if NEIGHBOURS[neighbour].0 == CORE => {
                let next_hop = NEIGHBOURS[neighbour].1;
                team.update(&Update::AddRoute(Route { prefix: prefix(neighbour), next_hop }));
            }
            14 => team.wait(*random.one_of(&[1, 1, 1, 1, 1201])),
            _ => {
                let mac = MACS[random.below(MACS.len())];
                let said = team.message(neighbour, mac, random.below(3) > 0);
                let port = if random.below(10) > 0 { NEIGHBOURS[neighbour].0 } else { CORE };
                team.frame(worker, port, &said);
            }
        }
    }
    let met = |name| team.pairs.iter().filter_map(|pair| pair.coverage.get(name)).sum::<u64>();
    for name in ["access", "core", "another-worker", "neighbour-heard", "unresolved"] {
        assert!(met(name) > 50, "{name}: {}", met(name));
    }
}

const COUNT: u32 = 3;
const WORKERS: usize = COUNT as usize;
const STEPS: usize = 20_000;
const SEED: u64 = 0x6d67_775f_6e62;

/// The user's base station.
const STATION: Ipv4Addr = Ipv4Addr::new(1, 1, 0, 1);

/// Base stations and next hops, by port and address.
const NEIGHBOURS: [(PortId, IpAddr); 3] = [
    (ACCESS, IpAddr::V4(STATION)),
    (CORE, IpAddr::V4(Ipv4Addr::new(203, 0, 113, 77))),
    (CORE, IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x77))),
];

/// MAC addresses of neighbours; the last one is a group's.
const MACS: [MacAddr; 5] = [
    MacAddr([0x0a, 0, 0, 0, 6, 0]),
    MacAddr([0x0a, 0, 0, 0, 6, 1]),
    MacAddr([0x0a, 0, 0, 0, 6, 2]),
    MacAddr([0x0a, 0, 0, 0, 6, 3]),
    MacAddr([1, 0, 0, 0, 6, 4]),
];

const AWAITING: Expected = Expected::Drop("awaiting-neighbour");
const HEARD: Expected = Expected::Drop("neighbour-heard");

/// RFC 4861 section 7.2.5, RFC 5227 section 2.4: who says that an address of the gateway's is
/// theirs is counted, and nobody else.
#[test]
fn another_station_with_the_ipv6_address_of_the_gateway_is_counted() {
    let config = kinds()[0].clone();
    let own = config.gw_ipv6.expect("an address");
    let mut pair = Pair::<MobileGateway>::new(&config, Shard::WHOLE);
    let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    let conflicts = |pair: &mut Pair<MobileGateway>, target, from: MacAddr| {
        let message = NeighbourMessage {
            to: MacAddr([0x33, 0x33, 0, 0, 0, 1]),
            from: MACS[0],
            ends: [target, all],
            kind: 136,
            flags: 0x20,
            target,
            options: [&[2, 1][..], &from.0].concat(),
        };
        pair.frame(ACCESS, &message.frame()).expect("they agree");
        let tallies = <PipelineOf<MobileGateway> as engine::Function>::TALLIES;
        let place = tallies.iter().position(|name| *name == "address-conflicts");
        pair.device_mut().counts().tallies[place.expect("a tally")]
    };
    assert_eq!(conflicts(&mut pair, own, MACS[0]), 1);
    assert_eq!(conflicts(&mut pair, own, config.gw_mac), 1, "its own word comes back");
    let other = Ipv6Addr::from_bits(own.to_bits() + 1);
    assert_eq!(conflicts(&mut pair, other, MACS[0]), 1, "another address");
}
