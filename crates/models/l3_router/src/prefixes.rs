//! A routing table like the Internet's behind the uplink port.
//!
//! The prefixes are made (`internet-routes`, `internet-routes-ipv6`; see [`tables::internet`]) or
//! read from a file (`route-file`). They take the uplink's generated next hops in turn. One that
//! the router has otherwise, on a link or listed, is left out, and so are those where generated
//! routes lie: no prefix is there twice, and no route that comes and goes takes away a flow.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_l3_router::config::{Link, Prefixed};

use crate::catalogue;
use crate::generated::{Section, config};

/// All prefixes, those of IPv4 first; the place of one decides its next hop.
pub fn prefixes(section: &Section) -> Vec<(IpAddr, u8)> {
    let config = &section.generated;
    let count = |count: u32| count as usize;
    let ipv4 = tables::internet::ipv4(count(config.internet_routes), SEED).into_iter();
    let ipv6 = tables::internet::ipv6(count(config.internet_routes_ipv6), SEED).into_iter();
    let ipv4 = ipv4.map(|(network, len)| (IpAddr::V4(Ipv4Addr::from_bits(network)), len));
    let ipv6 = ipv6.map(|(network, len)| (IpAddr::V6(Ipv6Addr::from_bits(network)), len));
    let taken = taken(section);
    let is_free = |&(address, len): &(IpAddr, u8)| {
        !taken.contains(&(address, len)) && !catalogue::is_generated(section, address, len)
    };
    let read = config.routes_read.iter().map(|prefix| (prefix.address, prefix.len));
    let mut prefixes: Vec<_> = ipv4.chain(ipv6).chain(read).filter(is_free).collect();
    if !config.routes_read.is_empty() && config.internet_routes + config.internet_routes_ipv6 > 0 {
        let mut seen = HashSet::new();
        prefixes.retain(|&prefix| seen.insert(prefix));
    }
    prefixes
}

/// The prefixes in a text, one a line; empty lines and what follows a `#` are left out.
///
/// # Errors
/// The first line that is no prefix, or the second one with the same.
pub fn parse(text: &str) -> Result<Vec<Prefixed<IpAddr>>, String> {
    let mut seen = HashSet::new();
    let mut prefixes = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or(line).trim();
        if line.is_empty() {
            continue;
        }
        let prefix = Prefixed::<IpAddr>::try_from(line.to_owned())
            .map_err(|why| format!("line {number}: {why}"))?;
        let Prefixed { address, len } = prefix;
        if catalogue::network(address, len) != address {
            return Err(format!("line {number}: {line} has bits set behind its length"));
        }
        if !seen.insert((address, len)) {
            return Err(format!("line {number}: {line} stands there twice"));
        }
        if prefixes.len() == READ_MAX {
            return Err(format!("line {number}: more than {READ_MAX} prefixes"));
        }
        prefixes.push(prefix);
    }
    Ok(prefixes)
}

/// What the router has otherwise in its main table.
pub fn taken(section: &Section) -> HashSet<(IpAddr, u8)> {
    let config = config(section);
    let bits = |address: IpAddr| if address.is_ipv4() { 32 } else { 128 };
    let links = config.links().flat_map(|Link { address, len, .. }| {
        [(catalogue::network(address, len), len), (address, bits(address))]
    });
    let neighbours = config.all_next_hops().flat_map(|(_, hop)| {
        [hop.ip.map(IpAddr::from), hop.ipv6.map(IpAddr::from)].into_iter().flatten()
    });
    let listed = config.routes.iter().filter(|route| route.vrf == 0);
    links
        .chain(neighbours.map(|address| (address, bits(address))))
        .chain(listed.map(|route| (route.prefix.address, route.prefix.len)))
        .collect()
}

/// Most prefixes of a file.
const READ_MAX: usize = 2_000_000;

/// The Internet is the same for everybody.
const SEED: u64 = 2025;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_prefixes_is_read_or_its_first_wrong_line_told() {
        let read = parse("# two\n192.0.2.0/24\n\n 2001:db8::/32  # documentation\n");
        let read: Vec<String> = read.expect("sound").into_iter().map(String::from).collect();
        assert_eq!(read, ["192.0.2.0/24", "2001:db8::/32"]);
        for (text, line) in [
            ("1.0.0.0/8\n1.0.0.0", "line 2: "),
            ("1.0.0.1/8", "line 1: 1.0.0.1/8 has bits set behind its length"),
            ("1.0.0.0/8\n\n1.0.0.0/8", "line 3: 1.0.0.0/8 stands there twice"),
            ("1.0.0.0/33", "line 1: "),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.starts_with(line), "{error}");
        }
    }
}
