//! The NAT at interfaces that the host has too, and virtual addresses that it shares with another
//! NAT (keys `inside-host-interface` and the like, updates `set-virtual` and `set-active`).
//!
//! ```text
//!  to the virtual MAC address -> to the interface's own, as which all else knows it
//!  of the link alone ----------> to the host: ARP, ND, groups that end on the link
//!  for the NAT's own address --> the Port Control Protocol | to the host, which answers
//!  for a virtual address ------> the Port Control Protocol | ping | dropped
//!  by the host ----------------> out by the interface as they are
//! ```
//! Nothing of it is in the packets' way: only frames come here that are not plain. While a side has
//! a virtual MAC address, plain are the frames to that one, because hosts send to it.
//!
//! Questions for the addresses of pools, and of hosts inside that are translated without sessions,
//! are answered with the virtual MAC address of the interface if it has one; with
//! `pools-answer: active`, only after the update `set-active` has said so.
//!
//! **Not supported:** host interfaces of VRFs, pings to virtual addresses of IPv6.

pub(crate) mod config;
mod stage;
#[cfg(test)]
mod tests;
pub(crate) mod validate;

use std::net::Ipv4Addr;

use function_kit::{HostInterface, HostPlace, PortName};
use packet::PortId;

use crate::config::{Config, Family, Prefixed};
use crate::further::numbered;
use crate::types::sides::{INSIDE, OUTSIDE, is_inside};

/// The interfaces that the host has, too.
pub(crate) fn host_interfaces(config: &Config) -> Vec<HostInterface> {
    let of = |place: Option<HostPlace>, number: PortId, (ip, len): (Ipv4Addr, u8)| {
        let is_inside = is_inside(number);
        let (mac, ipv6, mtu) = match is_inside {
            true => (config.inside_mac, config.inside_ipv6, config.inside_mtu),
            false => (config.outside_mac, config.outside_ipv6, config.outside_mtu),
        };
        let ipv6 = Prefixed { address: ipv6, len: IPV6_LEN };
        Some(HostInterface {
            place: place?,
            number: number.0.into(),
            mac: mac.0,
            port: PortName::new(if is_inside { "inside" } else { "outside" }),
            vlan: 0,
            mtu,
            ip: Some(Prefixed { address: ip, len }),
            ipv6: has_ipv6(config, is_inside).then_some(ipv6),
            vrf: 0,
        })
    };
    let inside = (config.inside_ip, config.inside_ip_len);
    let outside = (config.outside_ip, config.outside_ip_len);
    let first = [
        of(config.inside_host_interface, INSIDE, inside),
        of(config.outside_host_interface, OUTSIDE, outside),
    ];
    let further = numbered(config).filter_map(|(number, one)| {
        let mut host = of(one.host_interface, number, (one.ip, one.ip_len))?;
        (host.port, host.vlan) = (one.port, one.vlan);
        host.mac = one.mac.map_or(host.mac, |mac| mac.0);
        if let (Some(known), Some(own)) = (&mut host.ipv6, one.ipv6) {
            known.address = own;
        }
        Some(host)
    });
    first.into_iter().flatten().chain(further).collect()
}

/// Whether interfaces of a side have IPv6.
pub(crate) fn has_ipv6(config: &Config, is_inside: bool) -> bool {
    let of_siit = config.siit.as_ref().is_some_and(|siit| {
        let is_ipv6_inside = siit.inside_family == Family::Ipv6;
        is_ipv6_inside == is_inside
    });
    of_siit || is_inside && (config.nat64.is_some() || config.ds_lite.is_some())
}

/// The length of the prefix of a link of IPv6 (RFC 4291 section 2.5.1).
const IPV6_LEN: u8 = 64;
