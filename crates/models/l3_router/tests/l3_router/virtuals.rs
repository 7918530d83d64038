//! Virtual addresses, through the router and beside its oracle: before, while and after they are
//! there, at every interface of every kind of router.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::Shard;
use function_l3_router::Update;
use function_l3_router::config::{Config, DOWNLINK, Mac, PortName, Prefixed, Resolved};
use model_kit::Model;
use model_kit::build::{datagram, frame, packet, packet_ipv6, text};
use model_kit::check::Expected;
use model_kit::neighbours::{Own, question};
use model_l3_router::L3Router;
use testkit::pair::Pair;
use wire::{MacAddr, ethernet, icmp, ipv6, protocol};

use crate::frames::{kinds, usual};

/// That of the virtual router 7, by family.
const V4: Mac = Mac(MacAddr([0, 0, 0x5e, 0, 1, 7]));
const V6: Mac = Mac(MacAddr([0, 0, 0x5e, 0, 2, 7]));

/// A neighbour on the link of the router.
const NEIGHBOUR: [u8; 6] = [0x0a, 0, 0, 0, 0, 0x77];

/// An interface with a virtual address.
struct Place {
    port: PortName,
    vlan: Option<u16>,
    own: Resolved,
    address: IpAddr,
    mac: Mac,
}

impl Place {
    /// All of a router: a global address of each family, and a link-local one.
    fn all(config: &Config) -> Vec<Place> {
        let (names, mut all) = (config.port_names(), Vec::new());
        for own in config.all_interfaces().into_iter().filter(|one| one.vxlan.is_none()) {
            let v4 = own.ip.map(|ip| Ipv4Addr::from_bits(ip.address.to_bits() ^ 0x36).into());
            let v6 = own.ipv6.map(|ip| Ipv6Addr::from_bits(ip.address.to_bits() ^ 0x3636).into());
            let near = own.ipv6.map(|_| Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x77).into());
            for address in [v4, v6, near].into_iter().flatten() {
                let address: IpAddr = address;
                all.push(Place {
                    port: names[usize::from(own.port.0)],
                    vlan: (own.vlan > 0).then_some(own.vlan),
                    own,
                    address,
                    mac: if address.is_ipv4() { V4 } else { V6 },
                });
            }
        }
        all
    }

    fn set(&self, accept: bool) -> Update {
        let Place { port, vlan, address, mac, .. } = *self;
        Update::SetVirtual { port, vlan, mac, address, accept }
    }

    fn remove(&self) -> Update {
        Update::RemoveVirtual { port: self.port, vlan: self.vlan, address: self.address }
    }

    /// Questions, pings and others, to the virtual station and to the router's own.
    fn frames(&self) -> Vec<Vec<u8>> {
        let stations = [self.mac.0, self.own.mac.0];
        let from = MacAddr(NEIGHBOUR);
        let mut frames = Vec::new();
        for to in stations {
            let packets = match (self.address, self.own.ip, self.own.ipv6) {
                (IpAddr::V4(address), Some(ip), _) => of_ipv4(address, ip),
                (IpAddr::V6(address), _, Some(ip)) => of_ipv6(address, ip.address),
                _ => Vec::new(),
            };
            for one in packets {
                let kind = model_kit::build::ether_type_of(&one);
                frames.push(frame(to, from, kind, &one));
            }
        }
        let asking = Own {
            mac: NEIGHBOUR,
            ipv4: self.own.ip.map(|ip| Ipv4Addr::from_bits(ip.address.to_bits() ^ 9)),
            ipv6: self.own.ipv6.map(|ip| Ipv6Addr::from_bits(ip.address.to_bits() ^ 9)),
        };
        for station in [None, Some(self.mac.0.0), Some(self.own.mac.0.0)] {
            frames.extend(question(&asking, self.address, station));
        }
        if let Some(vlan) = self.vlan {
            let tag = [&[0x81, 0][..], &vlan.to_be_bytes()].concat();
            frames.iter_mut().for_each(|frame| drop(frame.splice(12..12, tag.clone())));
        }
        frames
    }
}

fn of_ipv4(address: Ipv4Addr, own: Prefixed<Ipv4Addr>) -> Vec<Vec<u8>> {
    let from = Ipv4Addr::from_bits(own.address.to_bits() ^ 9);
    let mut echo = [&[8, 0, 0, 0, 0, 7, 0, 1][..], &text(20)].concat();
    let sum = wire::checksum::checksum(&echo);
    echo[2..4].copy_from_slice(&sum.to_be_bytes());
    let datagram = datagram((500, 500), &text(20));
    [address, own.address, Ipv4Addr::new(198, 19, 3, 4)]
        .into_iter()
        .flat_map(|to| {
            [packet(from, to, protocol::ICMP, &echo), packet(from, to, protocol::UDP, &datagram)]
        })
        .collect()
}

fn of_ipv6(address: Ipv6Addr, own: Ipv6Addr) -> Vec<Vec<u8>> {
    let from = Ipv6Addr::from_bits(own.to_bits() ^ 9);
    let mut all = Vec::new();
    for to in [address, own, Ipv6Addr::new(0x3fff, 0x0ffe, 1, 0, 0, 0, 0, 9)] {
        all.push(packet_ipv6(from, to, 60));
        let mut echo = [&[128, 0, 0, 0, 0, 7, 0, 1][..], &text(20)].concat();
        let sum = icmp::checksum_ipv6(from, to, &echo);
        echo[2..4].copy_from_slice(&sum.to_be_bytes());
        let mut header = [0; ipv6::HEADER_LEN];
        ipv6::Fields {
            traffic_class: 0,
            flow_label: 0,
            payload_len: echo.len() as u16,
            next_header: protocol::ICMPV6,
            hop_limit: 64,
            source: from,
            destination: to,
        }
        .emit(&mut header);
        all.push([&header[..], &echo].concat());
    }
    all
}

#[test]
fn virtual_addresses_are_the_routers_own_while_they_are_there() {
    let mut seen = BTreeMap::new();
    for section in kinds() {
        let config = L3Router::config(&section);
        let mut pair = Pair::<L3Router>::new(&section, Shard::WHOLE);
        for place in Place::all(&config) {
            let mut send = |pair: &mut Pair<L3Router>| {
                let mut verdicts = Vec::new();
                for frame in place.frames() {
                    let became = pair.frame(place.own.port, &frame);
                    let became = became.unwrap_or_else(|what| panic!("{config:?}:\n{what}"));
                    if let Expected::Forward { frame, .. } = &became
                        && frame[6..12] == place.mac.0.0
                    {
                        *seen.entry(place.address.is_ipv4()).or_insert(0) += 1;
                    }
                    verdicts.push(became);
                }
                verdicts
            };
            let update = |pair: &mut Pair<L3Router>, update: &Update| {
                pair.update(&update.said()).unwrap_or_else(|what| panic!("{config:?}:\n{what}"))
            };
            assert!(!update(&mut pair, &place.remove()), "it is not there");
            send(&mut pair);
            for accept in [false, true] {
                if update(&mut pair, &place.set(accept)) {
                    send(&mut pair);
                }
            }
            update(&mut pair, &place.remove());
            let last = send(&mut pair);
            let is_virtual = |one: &Expected| matches!(one, Expected::Forward { frame, .. } if frame[6..12] == place.mac.0.0);
            assert!(!last.iter().any(is_virtual), "{config:?}");
        }
    }
    assert!(seen[&true] > 100 && seen[&false] > 30, "{seen:?}");
}

#[test]
fn what_cannot_be_a_virtual_address_is_refused() {
    let section = usual(Config { ipv6: true, ..Config::default() });
    let config = L3Router::config(&section);
    let mut pair = Pair::<L3Router>::new(&section, Shard::WHOLE);
    let own = config.all_interfaces()[0];
    let ip = own.ip.expect("it has one").address;
    let at = |last: u32| IpAddr::from(Ipv4Addr::from_bits(ip.to_bits() & !0xffff | 0x3000 | last));
    let set =
        |address, mac, port| Update::SetVirtual { port, vlan: None, mac, address, accept: true };
    let group: IpAddr = Ipv4Addr::new(224, 0, 0, 5).into();
    let hop = config.all_next_hops().find_map(|(_, hop)| hop.ip).expect("a neighbour");
    for impossible in [
        set(ip.into(), V4, DOWNLINK),
        set(hop.into(), V4, DOWNLINK),
        set(group, V4, DOWNLINK),
        set(at(1), own.mac, DOWNLINK),
        set(at(1), Mac(MacAddr::ZERO), DOWNLINK),
        set(at(1), Mac(MacAddr([1, 0, 0x5e, 0, 1, 7])), DOWNLINK),
        set(at(1), V4, PortName::new("nowhere")),
        Update::SetVirtual { port: DOWNLINK, vlan: Some(9), mac: V4, address: at(1), accept: true },
    ] {
        assert_eq!(pair.update(&impossible.said()), Ok(false), "{impossible:?}");
    }
    for last in 0..256 {
        assert_eq!(pair.update(&set(at(last), V4, DOWNLINK).said()), Ok(last < 255), "{last}");
    }
    assert_eq!(
        pair.update(&set(at(3), V6, DOWNLINK).said()),
        Ok(true),
        "one that is there changes"
    );
    // A route to it, and a next hop of its address, are refused meanwhile.
    let prefix = Prefixed { address: at(3), len: 32 };
    let route = Update::SetRoute { prefix, next_hop: 0, vrf: 0 };
    assert_eq!(pair.update(&Update::said(route)), Ok(false));
    let request = question(&Own { mac: NEIGHBOUR, ipv4: Some(hop), ipv6: None }, at(3), None);
    let became = pair.frame(own.port, &request.expect("an address")).expect("they agree");
    let Expected::Forward { frame, .. } = became else { panic!("{became:?}") };
    let answer = &frame[ethernet::HEADER_LEN..];
    assert_eq!((&frame[6..12], &answer[8..14]), (&V6.0.0[..], &V6.0.0[..]));
}
