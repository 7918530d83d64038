//! What an allocation gives and takes back.

use std::collections::BTreeSet;

use wire::protocol;
use zerocopy::FromZeros;

use crate::config::PortBlocks;
use crate::sessions::allocation::*;
use crate::types::flow::{Far, Inside};

const UDP: Class = Class::of(protocol::UDP);

fn allocation(pool: &str, port_block: PortBlocks) -> Allocation {
    let pools = vec![Prefixed::try_from(pool.to_owned()).expect("a network")];
    let config = Config { pools, port_block, secret: Some(7), ..Config::default() };
    Allocation::new(&config, Shard::WHOLE).expect("memory")
}

fn blocks(size: u16, per_subscriber: u8) -> PortBlocks {
    PortBlocks { size, per_subscriber }
}

/// A subscriber that is paired.
fn paired(all: &mut Allocation) -> Subscriber {
    let outside = all.pair(0).expect("an address");
    Subscriber { outside, is_paired: true, ..Subscriber::new_zeroed() }
}

/// A port taken and given to a session.
fn take(all: &mut Allocation, one: &mut Subscriber, inside_port: u16) -> Result<u16, Refused> {
    let (port, _) = all.take((0, one), (UDP, inside_port), 0)?;
    all.give(one.outside, UDP, port, 1);
    Ok(port)
}

#[test]
fn a_subscriber_has_the_ports_of_its_blocks_and_no_more() {
    let mut all = allocation("198.18.0.0/30", blocks(64, 2));
    let mut one = paired(&mut all);
    let ports: Vec<u16> =
        (0..128).map(|port| take(&mut all, &mut one, port).expect("a port")).collect();
    assert_eq!(take(&mut all, &mut one, 0), Err(Refused::Blocks));
    assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), 128, "each once");
    let blocks: BTreeSet<u16> = ports.iter().map(|port| port / 64).collect();
    assert_eq!(blocks.len(), 2, "{ports:?}");
    let even = ports.iter().zip(0u16..).filter(|(port, inside)| (*port ^ inside) & 1 == 0);
    assert_eq!(even.count(), 128, "as many are even as odd, on both sides");
}

#[test]
fn a_block_comes_back_with_its_last_port_and_its_ports_rest() {
    let mut all = allocation("198.18.0.0/32", blocks(64, 1));
    let mut one = paired(&mut all);
    let room = all.room[one.outside as usize];
    let ports = [4000, 4001].map(|port| take(&mut all, &mut one, port).expect("a port"));
    assert_eq!((all.room[one.outside as usize], one.block_count), (room - 1, 1));
    let place = |port| (one.outside, UDP, port);
    let [first, second] = ports.map(place);
    assert_eq!(all.put_back(&mut one, first, 100), None, "one is left");
    let change = all.put_back(&mut one, second, 100).expect("the block");
    assert!((change.first_port..change.first_port + change.size).contains(&ports[0]));
    assert_eq!((all.room[one.outside as usize], one.block_count), (room, 0));
    assert!(!all.ports.is_free(one.outside, UDP, ports[0], 99));
    assert!(all.ports.is_free(one.outside, UDP, ports[0], 100));
}

#[test]
fn how_much_of_a_pool_is_in_use_is_known_and_what_is_spare_is_not_counted() {
    let mut all = allocation("198.18.0.0/31", blocks(16384, 2));
    let mut one = paired(&mut all);
    let shown = |all: &Allocation| {
        let one = all.pool_uses().next().expect("a pool");
        (one.is_open, one.addresses, (one.used, one.high), one.capacity, all.block_use())
    };
    assert_eq!(shown(&all), (true, [2, 0], (0, 0), 6, (0, 6)));
    let port = take(&mut all, &mut one, 4000).expect("a port");
    assert_eq!(shown(&all), (true, [2, 1], (1, 1), 6, (1, 6)));
    let place = (one.outside, UDP, port);
    all.drain(0..2);
    assert_eq!(shown(&all), (false, [2, 1], (1, 1), 6, (1, 1)));
    all.put_back(&mut one, place, 0);
    assert_eq!(shown(&all), (false, [2, 0], (0, 1), 6, (0, 0)));
}

#[test]
fn what_is_foreseen_comes() {
    let mut all = allocation("198.18.0.0/30", blocks(512, 1));
    let mut one = paired(&mut all);
    assert_eq!(all.foresee(&one, (UDP, 5000), 0), None, "it has no block yet");
    take(&mut all, &mut one, 5000).expect("a port");
    let mut right = 0;
    for step in 0..100u16 {
        let foreseen: Vec<_> =
            (0..2).map(|ahead| all.foresee(&one, (UDP, step + ahead as u16), ahead)).collect();
        for (ahead, foreseen) in foreseen.into_iter().enumerate() {
            let port = take(&mut all, &mut one, step + ahead as u16).expect("a port");
            let end = (all.addresses.address(one.outside), port);
            right += usize::from(foreseen.is_none_or(|foreseen| foreseen == end));
        }
    }
    // A port that is taken already is passed over, which is seldom while a block is hardly used.
    assert!(right > 150, "{right} of 200");
}

#[test]
fn without_blocks_every_port_is_found() {
    let mut all = allocation("198.18.0.0/32", blocks(0, 1));
    let mut one = paired(&mut all);
    let count = usize::from(u16::MAX) - 1023;
    let mut ports = BTreeSet::new();
    let mut refused = 0;
    while ports.len() < count && refused < 10_000 {
        match take(&mut all, &mut one, ports.len() as u16) {
            Ok(port) => assert!(port >= 1024 && ports.insert(port)),
            Err(_) => refused += 1,
        }
    }
    assert_eq!(ports.len(), count, "{refused} times refused");
    assert!(take(&mut all, &mut one, 0).is_err());
}

#[test]
fn who_has_pools_of_its_own_gets_their_addresses_and_nobody_else_does() {
    let text = "{pools: [198.18.0.0/30], secret: 7, vrfs: [\
                {name: red, vlan: 9, inside: [10.0.0.0/8], pools: [198.18.8.0/31]}, \
                {name: blue, vlan: 4, inside: [10.0.0.0/8]}]}";
    let config: Config = serde_saphyr::from_str(text).expect("a section");
    let mut all = Allocation::new(&config, Shard::WHOLE).expect("memory");
    for (realm, pool) in [(0, 0xc612_0000u32..0xc612_0004), (4, 0xc612_0000..0xc612_0004)]
        .into_iter()
        .chain([(9, 0xc612_0800..0xc612_0802)])
    {
        for _ in 0..20 {
            let number = all.pair(realm).expect("an address");
            assert!(pool.contains(&all.addresses.address(number)), "realm {realm}");
        }
        let key = Inside::ipv4(1, 1, realm, Far::default());
        for outside in [0xc612_0000, 0xc612_0800] {
            let is_allowed = all.allowed(&key, outside, 2000).is_some();
            assert_eq!(is_allowed, pool.contains(&outside), "realm {realm} of another NAT");
        }
    }
    assert_eq!(all.pair(5), Err(Refused::Pool), "nobody has this VLAN");
    assert_eq!(all.allowed(&Inside::ipv4(1, 1, 5, Far::default()), 0xc612_0000, 2000), None);
    let red = Prefixed::try_from("198.18.8.0/31".to_owned()).expect("a network");
    let (first, count) = all.addresses.pool(red).expect("the pool");
    all.drain(first..first + count);
    assert_eq!((all.pair(9), all.open_pools().count()), (Err(Refused::Pool), 1));
    (first..first + count).for_each(|number| all.open(number));
    assert_eq!((all.pair(9).is_ok(), all.open_pools().count()), (true, 2));
}
