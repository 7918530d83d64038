//! The prefixes of a table: a file's, or ones that are as long as the Internet's are.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::speaker::Prefix;

/// So many prefixes of IPv4 and of IPv6: of the file that `PLUMBLINE_PREFIXES` names, one a line,
/// or made up.
pub fn prefixes(ipv4: usize, ipv6: usize) -> Vec<Prefix> {
    let of_file = std::env::var("PLUMBLINE_PREFIXES").ok().filter(|path| !path.is_empty());
    let all: Vec<Prefix> = match of_file {
        Some(path) => {
            let text = std::fs::read_to_string(path).expect("the file of PLUMBLINE_PREFIXES");
            text.lines().filter(|line| !line.trim().is_empty()).map(parse).collect()
        }
        None => made_up_ipv4().take(ipv4).chain(made_up_ipv6().take(ipv6)).collect(),
    };
    let of = |is_ipv4| all.iter().filter(move |one| one.address.is_ipv4() == is_ipv4);
    of(true).take(ipv4).chain(of(false).take(ipv6)).copied().collect()
}

fn parse(line: &str) -> Prefix {
    let (address, len) = line.trim().split_once('/').expect("a prefix");
    Prefix { address: address.parse().expect("an address"), len: len.parse().expect("a length") }
}

/// One behind the other, in the shares that the lengths had in 2025.
fn made_up_ipv4() -> impl Iterator<Item = Prefix> {
    let lens = [24, 24, 24, 22, 24, 24, 23, 24, 24, 24, 22, 24, 24, 23, 24, 21, 24, 20, 24, 19];
    // Behind the addresses of the test's own links.
    let mut next = 11_u32 << 24;
    lens.into_iter().cycle().map_while(move |len| {
        let size = 1_u32 << (32 - len);
        let address = next.next_multiple_of(size);
        next = address.checked_add(size).filter(|next| *next < 224 << 24)?;
        Some(Prefix { address: Ipv4Addr::from_bits(address).into(), len })
    })
}

fn made_up_ipv6() -> impl Iterator<Item = Prefix> {
    let lens = [48, 48, 32, 48, 44, 48, 40, 48, 48, 36];
    let mut next = 0x2400_u128 << 112;
    lens.into_iter().cycle().map(move |len| {
        let size = 1_u128 << (128 - len);
        let address = next.next_multiple_of(size);
        next = address + size;
        Prefix { address: Ipv6Addr::from_bits(address).into(), len }
    })
}
