//! A NAT of which the host has both interfaces, and that is one of two.

use std::net::{IpAddr, Ipv4Addr};

use engine::{Function, Refusal, StageTotals};
use function_kit::{NetworkFunction, PortName, Shard};
use machine::clock::Clock;
use model_kit::build::{datagram, frame, packet};
use model_kit::neighbours::{Own, question};
use packet::{Batch, PortId, Room, Verdict};
use stages::punt;
use wire::{MacAddr, arp, ethernet, protocol};

use crate::config::{Config, Mac};
use crate::pipeline::Pipeline;
use crate::reasons;
use crate::types::sides::{FURTHER_OUTSIDE, INSIDE, OUTSIDE};
use crate::{Cgnat, Update};

const KEYS: &str = "{inside-ip: 100.64.0.1, outside-ip: 192.0.2.1, inside: [100.64.0.0/16], \
     pools: [198.18.0.0/28], sessions: 64, subscribers: 16, pools-answer: active, secret: 7, \
     inside-host-interface: h-in, outside-host-interface: {name: h-out, namespace: hosts}, \
     interfaces: [{port: outside, vlan: 9, side: outside, ip: 192.0.3.1, ip-len: 26, \
       host-interface: h-vlan}]}";

/// The virtual MAC addresses of both sides.
const VIRTUAL: [MacAddr; 2] = [MacAddr([0, 0, 0x5e, 0, 1, 7]), MacAddr([0, 0, 0x5e, 0, 1, 8])];

const ADDRESSES: [&str; 2] = ["100.64.0.254", "192.0.2.254"];

/// A host of a side.
const HOSTS: [Ipv4Addr; 2] = [Ipv4Addr::new(100, 64, 0, 2), Ipv4Addr::new(192, 0, 2, 9)];
const HOST_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

/// Of a pool.
const SHARED: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 3);

struct Nat {
    config: Config,
    pipeline: Pipeline,
    batch: Batch,
}

impl Nat {
    fn new() -> Nat {
        Nat::with(KEYS)
    }

    fn with(keys: &str) -> Nat {
        let mut config: Config = serde_saphyr::from_str(keys).expect("a section");
        Cgnat::validate(&mut config).expect("keys that fit");
        let shard = Shard { index: 0, count: 1 };
        let pipeline = Pipeline::new(&config, shard, Clock::with_rate(1e9), 0).expect("memory");
        let batch = Batch::new(8, Room::default()).expect("memory");
        Nat { config, pipeline, batch }
    }

    /// What becomes of a frame, and the frame then.
    fn pass(&mut self, port: PortId, bytes: &[u8]) -> (Verdict, Vec<u8>) {
        let Nat { pipeline, batch, .. } = self;
        batch.clear();
        batch.append(port, bytes.len()).expect("room").copy_from_slice(bytes);
        pipeline.process(batch, 1, &mut StageTotals::default().start(0));
        (batch.verdict(0), batch.frame(0).to_vec())
    }

    fn verdict(&mut self, port: PortId, bytes: &[u8]) -> Verdict {
        self.pass(port, bytes).0
    }

    fn own(&self, port: PortId) -> MacAddr {
        [self.config.inside_mac, self.config.outside_mac][usize::from(port.0)].0
    }

    /// Who answers for an address at a side.
    fn answers(&mut self, port: PortId, address: Ipv4Addr) -> Option<MacAddr> {
        let own = Own { mac: HOST_MAC.0, ipv4: Some(HOSTS[usize::from(port.0)]), ipv6: None };
        let asked = question(&own, address.into(), None).expect("a question");
        match self.pass(port, &asked) {
            (Verdict::Forward(back), answer) => {
                assert_eq!(back, port);
                let said = arp::View::parse(&answer[ethernet::HEADER_LEN..]).expect("ARP");
                assert_eq!(said.sender_ip(), address);
                assert_eq!(answer[6..12], said.sender_mac().0);
                Some(said.sender_mac())
            }
            (Verdict::Punt(punt::ARP), _) => None,
            other => panic!("{other:?}"),
        }
    }

    fn set(&mut self, side: usize, accept: bool) -> Result<(), Refusal> {
        let (port, mac) = (PortName::new(["inside", "outside"][side]), Mac(VIRTUAL[side]));
        let address = virtual_ip(side).into();
        self.pipeline.apply(Update::SetVirtual { port, vlan: None, mac, address, accept }, 0)
    }

    fn activate(&mut self, accept: bool) {
        (0..2).for_each(|side| self.set(side, accept).expect("there is room"));
        self.pipeline.apply(Update::SetActive { active: true }, 0).expect("it may be");
    }
}

fn virtual_ip(side: usize) -> Ipv4Addr {
    ADDRESSES[side].parse().expect("an address")
}

fn ping(to: MacAddr, ends: (Ipv4Addr, Ipv4Addr)) -> Vec<u8> {
    let mut echo = [8, 0, 0, 0, 0, 7, 0, 1];
    let sum = wire::checksum::checksum(&echo);
    echo[2..4].copy_from_slice(&sum.to_be_bytes());
    let packet = packet(ends.0, ends.1, protocol::ICMP, &echo);
    frame(to, HOST_MAC, ethernet::TYPE_IPV4, &packet)
}

fn udp(to: MacAddr, ends: (Ipv4Addr, Ipv4Addr)) -> Vec<u8> {
    let packet = packet(ends.0, ends.1, protocol::UDP, &datagram((5000, 53), b"question"));
    frame(to, HOST_MAC, ethernet::TYPE_IPV4, &packet)
}

#[test]
fn the_host_sees_what_is_for_it_alone() {
    let mut nat = Nat::new();
    let (inside, outside) = (nat.own(INSIDE), nat.own(OUTSIDE));
    let [subscriber, server] = HOSTS;
    for (port, mac, from, own) in [
        (INSIDE, inside, subscriber, nat.config.inside_ip),
        (OUTSIDE, outside, server, nat.config.outside_ip),
    ] {
        let punted = |reason| Verdict::Punt(reason);
        assert_eq!(nat.verdict(port, &ping(mac, (from, own))), punted(punt::ICMP));
        assert_eq!(nat.verdict(port, &udp(mac, (from, own))), punted(punt::LOCAL));
        let context = nat.pipeline.context(&nat.batch, 0);
        assert_eq!((context.interface, context.vlan), (port.0.into(), 0));
        assert_eq!(context.source, u64::from(from.to_bits()));
        let group = MacAddr([1, 0, 0x5e, 0, 0, 18]);
        let advertised = packet(from, [224, 0, 0, 18].into(), protocol::VRRP, &[0; 12]);
        let advertised = frame(group, HOST_MAC, ethernet::TYPE_IPV4, &advertised);
        assert_eq!(nat.verdict(port, &advertised), punted(punt::VRRP));
        assert_eq!(nat.answers(port, own), None, "the host answers");
        let other = udp(MacAddr([2, 9, 9, 9, 9, 9]), (from, own));
        assert_eq!(nat.verdict(port, &other), reasons::drop(reasons::OTHER_STATION));
    }
    let transit = udp(inside, (subscriber, server));
    assert_eq!(nat.verdict(INSIDE, &transit), Verdict::Forward(OUTSIDE));
    // At a VLAN of a port: without its tag, by the number of its interface.
    let mut tagged = ping(outside, (server, [192, 0, 3, 1].into()));
    drop(tagged.splice(12..12, [0x81, 0, 0, 9]));
    assert_eq!(nat.pass(OUTSIDE, &tagged).0, Verdict::Punt(punt::ICMP));
    let context = nat.pipeline.context(&nat.batch, 0);
    assert_eq!((context.interface, context.vlan), (FURTHER_OUTSIDE.0.into(), 9));
}

#[test]
fn frames_of_the_host_leave_by_their_interface_as_they_are() {
    let mut nat = Nat::new();
    let said = udp(HOST_MAC, (nat.config.outside_ip, HOSTS[1]));
    for (number, port, tag) in
        [(0_u16, INSIDE, &[][..]), (1, OUTSIDE, &[]), (96, OUTSIDE, &[0x81, 0, 0, 9])]
    {
        let injected = [&number.to_le_bytes(), &said[..]].concat();
        let (verdict, left) = nat.pass(PortId::HOST, &injected);
        assert_eq!(verdict, Verdict::Forward(port));
        assert_eq!(left, [&said[..12], tag, &said[12..]].concat());
    }
    let nowhere = [&77_u16.to_le_bytes(), &said[..]].concat();
    assert!(matches!(nat.verdict(PortId::HOST, &nowhere), Verdict::Drop(_)));
}

#[test]
fn host_interfaces_are_those_of_the_keys() {
    let all = Cgnat::host_interfaces(&Nat::new().config);
    let told = all.iter().map(|one| {
        let ip = one.ip.expect("an address");
        (one.place.name().to_string(), one.number, one.vlan, (ip.address.to_string(), ip.len))
    });
    let is = |name: &str, number, vlan, ip: &str, len| {
        (name.to_owned(), number, vlan, (ip.to_owned(), len))
    };
    let expected = [
        is("h-in", 0, 0, "100.64.0.1", 24),
        is("h-out", 1, 0, "192.0.2.1", 24),
        is("h-vlan", 96, 9, "192.0.3.1", 26),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    assert!(all.iter().all(|one| one.ipv6.is_none()), "the NAT has no IPv6");
    for (right, wrong, key) in [
        ("-interface: h-in", "-interface: all", "inside-host-interface"),
        ("{name: h-out,", "{name: all,", "outside-host-interface"),
        ("-interface: h-in", "-interface: h-vlan", "interfaces"),
        ("inside-ip: 100.64.0.1", "inside-ip: 198.18.0.1", "inside-ip"),
        ("outside-ip: 192.0.2.1", "outside-ip: 100.64.0.9", "outside-ip"),
        ("outside-ip: 192.0.2.1", "outside-ip: 100.64.0.1", "outside-ip"),
        (
            "ip: 192.0.2.1,",
            "ip: 1.1.1.1, static: [{inside: 100.64.0.3/32, outside: 1.1.1.1/32}],",
            "outside-ip",
        ),
        ("ip: 192.0.3.1", "ip: 198.18.0.1", "interfaces"),
    ] {
        let keys = KEYS.replace(right, wrong);
        assert_ne!(keys, KEYS);
        let mut config: Config = serde_saphyr::from_str(&keys).expect("keys");
        let refused = Cgnat::validate(&mut config).expect_err(wrong);
        assert_eq!(refused.key, key, "{wrong}");
    }
}

#[test]
fn the_active_nat_alone_answers_and_forwards() {
    let mut nat = Nat::new();
    let [subscriber, server] = HOSTS;
    let transit = udp(VIRTUAL[0], (subscriber, server));
    for round in 0..2 {
        // As a backup.
        assert_eq!(nat.answers(OUTSIDE, SHARED), None, "round {round}");
        assert_eq!(nat.answers(INSIDE, virtual_ip(0)), None);
        assert_eq!(nat.verdict(INSIDE, &transit), reasons::drop(reasons::OTHER_STATION));

        nat.activate(false);
        assert_eq!(nat.answers(OUTSIDE, SHARED), Some(VIRTUAL[1]));
        for (side, port) in [INSIDE, OUTSIDE].into_iter().enumerate() {
            assert_eq!(nat.answers(port, virtual_ip(side)), Some(VIRTUAL[side]));
            // The other NAT has become active and announces its address.
            let own = Own { mac: VIRTUAL[side].0, ipv4: Some(virtual_ip(side)), ipv6: None };
            let said = question(&own, virtual_ip(side).into(), None).expect("a question");
            assert_eq!(nat.pass(port, &said).0, Verdict::Punt(punt::ARP));
        }
        assert_eq!(nat.answers(INSIDE, SHARED), None, "pools are outside");
        assert_eq!(nat.verdict(INSIDE, &transit), Verdict::Forward(OUTSIDE));
        let own = udp(nat.own(INSIDE), (subscriber, server));
        assert_eq!(nat.verdict(INSIDE, &own), Verdict::Forward(OUTSIDE), "to its own, too");
        let (_, left) = nat.pass(INSIDE, &transit);
        let (from, port) =
            (Ipv4Addr::from([left[26], left[27], left[28], left[29]]), &left[34..36]);
        let answer = datagram((53, u16::from_be_bytes([port[0], port[1]])), b"answer");
        let answer = packet(server, from, protocol::UDP, &answer);
        let answer = frame(VIRTUAL[1], HOST_MAC, ethernet::TYPE_IPV4, &answer);
        assert_eq!(nat.verdict(OUTSIDE, &answer), Verdict::Forward(INSIDE));

        nat.pipeline.apply(Update::SetActive { active: false }, 0).expect("it may be");
        for (side, name) in ["inside", "outside"].into_iter().enumerate() {
            let (port, address) = (PortName::new(name), virtual_ip(side).into());
            let gone = Update::RemoveVirtual { port, vlan: None, address };
            nat.pipeline.apply(gone.clone(), 0).expect("it is there");
            assert_eq!(nat.pipeline.apply(gone, 0), Err(Refusal::NotFound));
        }
    }
}

#[test]
fn a_standby_answers_for_itself_alone_until_it_is_the_active_one() {
    let standby = "pools-answer: always, replication: {role: standby}";
    let keys = KEYS.replace("pools-answer: active", standby);
    let mut nat = Nat::with(&keys);
    assert_eq!(nat.answers(OUTSIDE, SHARED), None, "nobody has said that it is");
    for is_active in [true, false] {
        nat.pipeline.apply(Update::SetActive { active: is_active }, 0).expect("it may be");
        assert_eq!(nat.answers(OUTSIDE, SHARED).is_some(), is_active);
    }
}

#[test]
fn nothing_for_a_virtual_address_is_translated() {
    for accept in [false, true] {
        let mut nat = Nat::new();
        nat.activate(accept);
        for (side, port) in [INSIDE, OUTSIDE].into_iter().enumerate() {
            let ends = (HOSTS[side], virtual_ip(side));
            for mac in [VIRTUAL[side], nat.own(port)] {
                let wanted = match accept {
                    true => Verdict::Forward(port),
                    false => reasons::drop(reasons::LOCAL),
                };
                assert_eq!(nat.verdict(port, &ping(mac, ends)), wanted);
                let dropped = nat.verdict(port, &udp(mac, ends));
                assert!(matches!(dropped, Verdict::Drop(_)), "{dropped:?}");
            }
        }
        assert_eq!(nat.pipeline.state().sessions.count(), 0);
    }
}

#[test]
fn an_address_that_it_has_otherwise_is_no_virtual_one() {
    let mut nat = Nat::new();
    let mut set = |name, address: IpAddr, mac| {
        let (port, mac) = (PortName::new(name), Mac(mac));
        let update = Update::SetVirtual { port, vlan: None, mac, address, accept: false };
        nat.pipeline.apply(update, 0)
    };
    let [inside, outside] = VIRTUAL;
    assert_eq!(set("outside", SHARED.into(), outside), Err(Refusal::Exists));
    assert_eq!(set("inside", [100, 64, 0, 1].into(), inside), Err(Refusal::Exists));
    assert_eq!(set("elsewhere", [100, 64, 0, 9].into(), inside), Err(Refusal::NotFound));
    assert_eq!(set("inside", [224, 0, 0, 9].into(), inside), Err(Refusal::Invalid));
    assert_eq!(set("inside", [100, 64, 0, 9].into(), HOST_GROUP), Err(Refusal::Invalid));
    assert_eq!(set("inside", "fe80::9".parse().expect("one"), inside), Err(Refusal::Invalid));
    assert_eq!(set("outside", [198, 18, 1, 1].into(), outside), Ok(()));
    let pool = "198.18.1.0/28".to_owned().try_into().expect("a network");
    assert_eq!(nat.pipeline.apply(Update::AddPool { pool }, 0), Err(Refusal::Exists));
}

const HOST_GROUP: MacAddr = MacAddr([1, 0, 0x5e, 0, 0, 9]);
