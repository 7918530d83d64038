//! The routes and next hops that TIPSY generates for a router, by number, and those that come and
//! go.
//!
//! ```text
//!                              IPv4, /24     IPv6, /48            next hop             its source
//! upstream, behind uplink      50.a.b.0      3fff:50:n::          aa:bb:bb:aa:x:y      ee:dd:dd:aa:x:y
//! downstream, behind downlink  150.a.b.0     3fff:150:n::         aa:aa:ab:ba:x:y      ee:ee:ed:da:x:y
//! coming and going             66., 166.
//! behind passing next hops     67., 167.                   aa:bb:cc:aa:x:y, aa:aa:ac:ba:x:y
//! ```
//! TIPSY's `byte_seq` counts the last octet from 1 to 254 and the one before from 0; where that
//! ends, the first octet, or for IPv6 the second group, goes on. IPv6, which TIPSY lacks, follows
//! the same numbers within the documentation prefix 3fff::/20 (RFC 9637). The host of a network is
//! number 2.

use crate::ports::{DOWNLINK, Numbered, SIDES, UPLINK};
use packet::PortId;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::MacAddr;

pub use function_l3_router::config::{GROUPS, group_number, network};
use function_l3_router::config::{Mac, NextHop};

use crate::generated::{Section, SourceMac};

/// Most generated routes behind a port.
pub const ROUTES_MAX: u32 = 1_000_000;

/// What two octets of TIPSY's scheme can number, the last one from 1 to 254.
pub const PAIRS: u32 = 256 * 254;

/// Length of a generated IPv4 prefix, in bits.
pub const IPV4_LEN: u8 = 24;

/// Length of a generated IPv6 prefix, in bits.
pub const IPV6_LEN: u8 = 48;

/// Numbers that next hops can have, unless the section says so.
pub const HOPS: u32 = 4 * PAIRS;

/// The network of generated route `number` behind a port.
#[inline(always)]
pub fn route_ipv4(behind: PortId, number: u32) -> Ipv4Addr {
    network_ipv4(kind(behind, GENERATED), number)
}

/// The same for IPv6.
#[inline(always)]
pub fn route_ipv6(behind: PortId, number: u32) -> Ipv6Addr {
    network_ipv6(kind(behind, GENERATED), number)
}

/// Route `number` of those that come and go.
pub fn passing_route_ipv4(behind: PortId, number: u32) -> Ipv4Addr {
    network_ipv4(kind(behind, PASSING), number)
}

/// The route that is there for next hop `number` of those that come and go.
pub fn passing_hop_route_ipv4(behind: PortId, number: u32) -> Ipv4Addr {
    network_ipv4(kind(behind, BEHIND_PASSING), number)
}

/// The host of an IPv4 network.
#[inline(always)]
pub fn host_ipv4(network: Ipv4Addr) -> u32 {
    network.to_bits() | HOST
}

/// The host of an IPv6 network.
#[inline(always)]
pub fn host_ipv6(network: Ipv6Addr) -> u128 {
    network.to_bits() | u128::from(HOST)
}

/// Generated next hop `number` behind a port.
pub fn next_hop(section: &Section, behind: PortId, number: u32) -> NextHop {
    let (mac, source) = match behind {
        UPLINK => ([0xaa, 0xbb, 0xbb, 0xaa], [0xee, 0xdd, 0xdd, 0xaa]),
        _ => ([0xaa, 0xaa, 0xab, 0xba], [0xee, 0xee, 0xed, 0xda]),
    };
    NextHop {
        ip: Some(neighbour_ipv4(section, behind, number)),
        ipv6: section.config.ipv6.then(|| neighbour_ipv6(section, behind, number)),
        ..of_macs(section, behind, number, mac, source)
    }
}

/// Next hop `number` of those that come and go; it has no address of its own.
pub fn passing_hop(section: &Section, behind: PortId, number: u32) -> NextHop {
    let (mac, source) = match behind {
        UPLINK => ([0xaa, 0xbb, 0xcc, 0xaa], [0xee, 0xdd, 0xcc, 0xaa]),
        _ => ([0xaa, 0xaa, 0xac, 0xba], [0xee, 0xee, 0xec, 0xda]),
    };
    of_macs(section, behind, number, mac, source)
}

/// Whether a network lies where the catalogue places routes of this configuration.
pub fn is_generated(section: &Section, address: IpAddr, len: u8) -> bool {
    let high = match address {
        IpAddr::V4(address) if len >= 8 => u32::from(address.octets()[0]),
        IpAddr::V6(address) if len >= 32 && address.segments()[0] == DOCUMENTATION => {
            let group = u32::from(address.segments()[1]);
            // The groups show the octet as it is read: 0x50 for 50.
            match (0..256).find(|&octet| digits(octet) == group) {
                Some(octet) => octet,
                None => return false,
            }
        }
        _ => return false,
    };
    let generated = &section.generated;
    let changes = generated.fluct_l3_table > 0.0 || generated.fluct_group_table > 0.0;
    SIDES.into_iter().any(|port| {
        let first = kind(port, GENERATED);
        let is_used = generated.table_size(port) > 0 || changes;
        is_used && (first..=first + BEHIND_PASSING).contains(&high)
    })
}

/// Behind which port passing next hop `number` is: they take turns.
pub fn passing_side(number: u32) -> PortId {
    if number.is_multiple_of(2) { UPLINK } else { DOWNLINK }
}

fn of_macs(section: &Section, port: PortId, number: u32, mac: [u8; 4], source: [u8; 4]) -> NextHop {
    let [x, y] = pair(number);
    let whole = |[a, b, c, d]: [u8; 4]| Mac(MacAddr([a, b, c, d, x, y]));
    let source = (section.generated.source_mac == SourceMac::NextHop).then(|| whole(source));
    let port = section.config.name_of(port);
    NextHop {
        port,
        vlan: None,
        mac: whole(mac),
        source,
        ip: None,
        ipv6: None,
        bfd: None,
        name: None,
    }
}

/// The hosts of a link in their order, without the port's own address.
fn neighbour_ipv4(section: &Section, port: PortId, number: u32) -> Ipv4Addr {
    let own = section.config.ip(port);
    let mask = u32::MAX.checked_shl(32 - u32::from(own.len)).unwrap_or(0);
    let link = own.address.to_bits() & mask;
    let host = number + 1;
    Ipv4Addr::from_bits(link + host + u32::from(link + host >= own.address.to_bits()))
}

fn neighbour_ipv6(section: &Section, port: PortId, number: u32) -> Ipv6Addr {
    let own = section.config.ipv6_of(port);
    let mask = u128::MAX.checked_shl(128 - u32::from(own.len)).unwrap_or(0);
    let link = own.address.to_bits() & mask;
    let host = u128::from(number) + 1;
    Ipv6Addr::from_bits(link + host + u128::from(link + host >= own.address.to_bits()))
}

const fn kind(behind: PortId, shift: u32) -> u32 {
    let first = match behind {
        UPLINK => 50,
        _ => 150,
    };
    first + shift
}

#[inline(always)]
fn network_ipv4(first: u32, number: u32) -> Ipv4Addr {
    let (block, within) = (number / PAIRS, number % PAIRS);
    Ipv4Addr::from_bits((first + block) << 24 | (within / 254) << 16 | (within % 254 + 1) << 8)
}

#[inline(always)]
fn network_ipv6(first: u32, number: u32) -> Ipv6Addr {
    let (block, within) = (number >> 16, number & 0xffff);
    let group = digits(first + block);
    Ipv6Addr::from_bits(
        u128::from(DOCUMENTATION) << 112 | u128::from(group) << 96 | u128::from(within) << 80,
    )
}

/// The number whose hexadecimal digits are the decimal ones of another: 0x150 for 150.
#[inline(always)]
const fn digits(number: u32) -> u32 {
    (number / 100) << 8 | (number / 10 % 10) << 4 | (number % 10)
}

/// TIPSY's `byte_seq` with two octets.
#[inline(always)]
pub fn pair(number: u32) -> [u8; 2] {
    [(number / 254) as u8, (number % 254 + 1) as u8]
}

/// The kinds of routes by their distance in the first octet; generated ones take up to 16 of them.
const GENERATED: u32 = 0;
const PASSING: u32 = 16;
const BEHIND_PASSING: u32 = 17;

/// The first group of the documentation prefix.
const DOCUMENTATION: u16 = 0x3fff;

/// The host of a network that test traffic goes to.
const HOST: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_follow_tipsy_and_go_on() {
        let v4 = |number| route_ipv4(UPLINK, number).to_string();
        assert_eq!(v4(0), "50.0.1.0");
        assert_eq!(v4(254), "50.1.1.0");
        assert_eq!(v4(PAIRS - 1), "50.255.254.0");
        assert_eq!(v4(PAIRS), "51.0.1.0");
        assert_eq!(v4(ROUTES_MAX - 1), "65.97.2.0");
        assert_eq!(route_ipv4(DOWNLINK, 1).to_string(), "150.0.2.0");
        assert_eq!(route_ipv6(UPLINK, 1).to_string(), "3fff:50:1::");
        assert_eq!(route_ipv6(DOWNLINK, 0x1_0002).to_string(), "3fff:151:2::");
        assert_eq!(host_ipv4(route_ipv4(UPLINK, 0)), 0x3200_0102);
    }

    #[test]
    fn next_hops_follow_tipsy_and_have_addresses_on_their_links() {
        let mut config = Section::default();
        config.generated.source_mac = SourceMac::NextHop;
        config.config.ipv6 = true;
        let hop = next_hop(&config, UPLINK, 0);
        assert_eq!(hop.mac.0.to_string(), "aa:bb:bb:aa:00:01");
        assert_eq!(hop.source.map(|mac| mac.0.to_string()).as_deref(), Some("ee:dd:dd:aa:00:01"));
        assert_eq!(hop.ip.map(|ip| ip.to_string()).as_deref(), Some("10.1.0.2"));
        assert_eq!(hop.ipv6.map(|ip| ip.to_string()).as_deref(), Some("3fff:0:0:1::2"));
        let last = next_hop(&config, DOWNLINK, PAIRS - 1);
        assert_eq!(last.mac.0.to_string(), "aa:aa:ab:ba:ff:fe");
        assert_eq!(last.ip.map(|ip| ip.to_string()).as_deref(), Some("10.0.254.1"));
        config.config.uplink_ip.address = Ipv4Addr::new(10, 1, 0, 7);
        let ip = |number| next_hop(&config, UPLINK, number).ip.map(|ip| ip.octets()[3]);
        assert_eq!([ip(0), ip(5), ip(6)], [Some(1), Some(6), Some(8)]);
    }

    #[test]
    fn generated_routes_are_known_as_such() {
        let mut config = Section::default();
        config.generated.fluct_l3_table = 1.0;
        for (text, len, expected) in [
            ("50.0.1.0", 24, true),
            ("65.96.134.0", 24, true),
            ("68.0.0.0", 8, false),
            ("172.16.0.0", 12, false),
            ("50.0.0.0", 7, false),
            ("3fff:50:1::", 48, true),
            ("3fff:5a:1::", 48, false),
            ("3fff::1", 64, false),
            ("2001:db8::", 32, false),
        ] {
            let address = text.parse().expect("an address");
            assert_eq!(is_generated(&config, address, len), expected, "{text}/{len}");
        }
        for port in SIDES {
            for number in [0, 59_999] {
                for network in [passing_route_ipv4, passing_hop_route_ipv4] {
                    assert!(is_generated(&config, network(port, number).into(), 24));
                }
            }
        }
        let mut listed = Section::default();
        listed.generated.upstream_l3_table_size = 0;
        listed.generated.downstream_l3_table_size = 0;
        assert!(!is_generated(&listed, Ipv4Addr::new(50, 0, 1, 0).into(), 24));
    }
}
