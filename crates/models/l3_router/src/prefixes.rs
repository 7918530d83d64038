//! A routing table like the Internet's behind the uplink port.
//!
//! The prefixes are made (`internet-routes`, `internet-routes-ipv6`; see [`tables::internet`]) or
//! read from a file (`route-file`). They take the uplink's generated next hops in turn. One that
//! the router has otherwise, on a link or listed, is left out, and so are those where generated
//! routes lie: no prefix is there twice, and no route that comes and goes takes away a flow.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use function_l3_router::config::{Link, Prefixed};
use rows::{Files, Form, Said, Unfit};

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

/// The prefixes in a file or in those of a directory, whatever the form that [`rows`] knows: of
/// routes, the prefixes alone. Empty lines and what follows a `#` are left out.
///
/// # Errors
/// Lines that are no prefix, or the second one with the same.
pub fn read(path: &str) -> Result<Vec<Prefixed<IpAddr>>, String> {
    let mut seen = HashSet::new();
    let mut prefixes = Vec::new();
    let read = rows::read(&Files::from(Path::new(path)), &PREFIXES, |said| {
        let (prefix, is_own) = match said {
            Said::Cells(cells) => {
                let text = cells.get("prefix").unwrap_or_default();
                let read = Prefixed::<IpAddr>::try_from(text.to_owned());
                (read.map_err(Unfit::Wrong)?, true)
            }
            Said::Route(route, _) => (Prefixed { address: route.address, len: route.len }, false),
        };
        let Prefixed { address, len } = prefix;
        let text = || String::from(prefix);
        if catalogue::network(address, len) != address {
            return Err(Unfit::Wrong(format!("{} has bits set behind its length", text())));
        }
        if !seen.insert((address, len)) {
            return Err(match is_own {
                true => Unfit::Wrong(format!("{} stands there twice", text())),
                false => Unfit::Left("further routes to the same destination".to_owned()),
            });
        }
        if prefixes.len() == READ_MAX {
            return Err(Unfit::Wrong(format!("more than {READ_MAX} prefixes")));
        }
        prefixes.push(prefix);
        Ok(())
    });
    read.map(|_| prefixes).map_err(|troubles| troubles.to_string())
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
    let listed = config.all_routes().filter(|(network, _)| network.vrf == 0);
    links
        .chain(neighbours.map(|address| (address, bits(address))))
        .chain(listed.map(|(network, _)| (network.address, network.len)))
        .collect()
}

/// Rows of prefixes; what else a row says is the router's matter, which the bench decides.
const PREFIXES: Form = Form { keys: &["prefix"], unnamed: 1, takes_routes: true };

/// Most prefixes of a file.
const READ_MAX: usize = 2_000_000;

/// The Internet is the same for everybody.
const SEED: u64 = 2025;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_prefixes_is_read_or_its_wrong_lines_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("prefixes");
        let parse = |text: &str| {
            std::fs::write(&file, text).expect("writes");
            read(&file.display().to_string())
        };
        let text = |read: Vec<Prefixed<IpAddr>>| -> Vec<String> {
            read.into_iter().map(String::from).collect()
        };
        let read = parse("# two\n192.0.2.0/24\n\n 2001:db8::/32  # documentation\n");
        assert_eq!(text(read.expect("sound")), ["192.0.2.0/24", "2001:db8::/32"]);
        let read = parse("default via 10.0.0.1 dev a\nblackhole 192.0.2.0/24\n");
        assert_eq!(text(read.expect("sound")), ["0.0.0.0/0", "192.0.2.0/24"]);
        for (text, line) in [
            ("1.0.0.0/8\n1.0.0.0", ":2: "),
            ("1.0.0.1/8", ":1: 1.0.0.1/8 has bits set behind its length"),
            ("1.0.0.0/8\n\n1.0.0.0/8", ":3: 1.0.0.0/8 stands there twice"),
            ("1.0.0.0/33", ":1: "),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(line), "{error}");
        }
    }
}
