//! A file of a table and of a session.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use protocol_bgp::attributes::push;
use protocol_bgp::builder::{Builder, Writing};
use protocol_bgp::families::{FAMILIES, Family, FamilySet};
use protocol_bgp::message::{HEADER_LEN, LEN_MAX};
use protocol_bgp::path;
use protocol_mrt::Stamp;
use protocol_mrt::session::{Ends, State};
use protocol_mrt::table::Peer;
use protocol_mrt::write::{self, Path};

pub const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
pub const V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));

pub fn at() -> Stamp {
    Stamp::of(1_764_345_600, 250_000)
}

/// The attributes of a route: origin, a path with a set, MED, LOCAL_PREF and communities.
pub fn block(med: u32) -> Vec<u8> {
    let mut value = Vec::new();
    path::push(path::SEQUENCE, [64_501, 4_200_000_000].into_iter(), &mut value);
    path::push(path::SET, [7, 8].into_iter(), &mut value);
    let mut block = Vec::new();
    push(0x40, 1, &[0], &mut block);
    push(0x40, 2, &value, &mut block);
    push(0x80, 4, &med.to_be_bytes(), &mut block);
    push(0x40, 5, &100_u32.to_be_bytes(), &mut block);
    push(0xc0, 8, &[0xfb, 0xf5, 0, 1, 0xff, 0xff, 0xff, 1], &mut block);
    block
}

/// A table of two peers: a route of IPv4 that both tell, one of IPv6, and one of a VPN.
pub fn table() -> Vec<u8> {
    let mut file = Vec::new();
    let peers = [
        Peer { identifier: 1, address: V4, asn: 64_501 },
        Peer { identifier: 2, address: V6, asn: 4_200_000_000 },
    ];
    write::peers(at(), (0x0a00_0001, "view"), peers.into_iter(), &mut file);
    let blocks = [block(1), block(2)];
    let hop6 = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9).octets();
    let path = |peer: u16, path_id: u32, next_hop: &'static [u8]| Path {
        peer,
        since: 1_764_000_000,
        path_id,
        next_hop,
        block: &[],
    };
    let two = [path(0, 0, &[192, 0, 2, 9]), path(1, 0, &[192, 0, 2, 10])];
    let two = two.iter().zip(&blocks).map(|(path, block)| Path { block, ..*path });
    let route = (Family::Ipv4Unicast, &[24, 203, 0, 113][..], &[][..]);
    assert_eq!(write::route(at(), 0, route, two, &mut file), 0);
    let one = [Path { block: &blocks[0], next_hop: &hop6, ..path(1, 0, &[]) }];
    let route = (Family::Ipv6Unicast, &[32, 0x20, 1, 0x0d, 0xb8][..], &[][..]);
    assert_eq!(write::route(at(), 1, route, one.into_iter(), &mut file), 0);
    file
}

/// The same of what readers are few that know it: path identifiers, and a VPN.
pub fn odd_routes() -> Vec<u8> {
    let mut file = Vec::new();
    let block = block(3);
    let path = |peer: u16, path_id: u32, next_hop: &'static [u8]| Path {
        peer,
        since: 1,
        path_id,
        next_hop,
        block: &block,
    };
    let two = [path(0, 1, &[192, 0, 2, 9]), path(0, 2, &[192, 0, 2, 10])];
    let route = (Family::Ipv4Unicast, &[8, 10][..], &[][..]);
    assert_eq!(write::route(at(), 2, route, two.into_iter(), &mut file), 0);
    let hop = &[0, 0, 0, 0, 0, 0, 0, 0, 192, 0, 2, 9];
    let key = [72, 0, 0, 0xfb, 0xf4, 0, 0, 0, 1, 10];
    let route = (Family::VpnV4, &key[..], &[0, 1, 0x11][..]);
    assert_eq!(write::route(at(), 3, route, [path(1, 0, hop)].into_iter(), &mut file), 0);
    file
}

pub fn ends(peer: IpAddr) -> Ends {
    let local = if peer.is_ipv4() { V4 } else { V6 };
    Ends { peer_as: 64_501, local_as: 4_200_000_000, interface: 0, peer, local }
}

/// A session of each version of IP: it comes, tells a route, withdraws it, and goes.
pub fn session() -> Vec<u8> {
    let mut file = Vec::new();
    for (peer, family, key, next_hop) in [
        (V4, Family::Ipv4Unicast, &[16, 198, 51][..], &[192, 0, 2, 9][..]),
        (V6, Family::Ipv6Unicast, &[16, 0x20, 1], &Ipv6Addr::LOCALHOST.octets()),
    ] {
        let ends = ends(peer);
        write::state_change(at(), &ends, (State::OPEN_CONFIRM, State::ESTABLISHED), &mut file);
        for message in updates(family, key, next_hop) {
            write::update(at(), &ends, (true, false), &message[HEADER_LEN..], &mut file);
        }
        write::state_change(at(), &ends, (State::ESTABLISHED, State::IDLE), &mut file);
    }
    file
}

/// An UPDATE that tells a route, and one that withdraws it.
fn updates(family: Family, key: &[u8], next_hop: &[u8]) -> [Vec<u8>; 2] {
    let all: FamilySet = FAMILIES.iter().map(|row| row.family).collect();
    let writing = Writing {
        families: all,
        path_ids: FamilySet::NONE,
        extended_next_hops: FamilySet::NONE,
        is_wide: true,
        len_max: LEN_MAX,
    };
    let (mut announced, mut withdrawn, block) = (Vec::new(), Vec::new(), block(4));
    let mut builder = Builder::announce(&mut announced, &writing, (family, next_hop), &block);
    builder.push(0, key, &[]).expect("it fits");
    builder.finish();
    let mut builder = Builder::withdraw(&mut withdrawn, &writing, family);
    builder.push(0, key, &[]).expect("it fits");
    builder.finish();
    [announced, withdrawn]
}
