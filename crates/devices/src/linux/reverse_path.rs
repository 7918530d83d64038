//! Whether a packet's source has a route (RFC 3704), as rules of nftables: they ask the kernel's
//! own tables, for both versions of IP, where the sysctl `rp_filter` knows IPv4 only.
//!
//! An address on a link has a route in the words of a service, while to the kernel nobody is there
//! but who was told to it. So where sources are looked for, each link gets a route to a station
//! that there is not, and what would go there is dropped on its way out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use model_kit::service::{Interface, ReversePath, Router, network};

use super::commands::{MAIN, Plan, line};

/// Adds the source address checks of the interfaces to the plan; nothing if no interface has one.
pub(super) fn plan(plan: &mut Plan, router: &Router, names: &[&str]) {
    if !is_asked_for(router) {
        return;
    }
    let mut rules = String::new();
    let mut sinks = String::new();
    for (number, (name, own)) in names.iter().zip(&router.interfaces).enumerate() {
        links(plan, number, name, own);
        let sink = format_args!(
            "chain sink{number} {{ type filter hook egress device \"{name}\" priority 10; \
             ether daddr {NOBODY} drop\n}}"
        );
        line(&mut sinks, sink);
        let key = match own.reverse_path {
            ReversePath::None => continue,
            ReversePath::Loose => "saddr",
            ReversePath::Strict => "saddr . iif",
        };
        line(&mut rules, format_args!("iifname \"{name}\" fib saddr type local drop"));
        line(&mut rules, format_args!("iifname \"{name}\" fib {key} oif missing drop"));
    }
    let text = format_args!(
        "table inet reverse_path {{\nchain enter {{ type filter hook prerouting priority raw; \
         policy accept;\n{rules}}}\n}}\ntable netdev links {{\n{sinks}}}"
    );
    line(&mut plan.nft, text);
}

/// Returns true if an interface looks for sources.
pub(super) fn is_asked_for(router: &Router) -> bool {
    router.interfaces.iter().any(|own| own.reverse_path != ReversePath::None)
}

/// Adds routes to the links of an interface, by a neighbour that does not exist.
fn links(plan: &mut Plan, number: usize, name: &str, own: &Interface) {
    let ipv4 = own.ipv4.map(|(address, len)| (IpAddr::from(address), len));
    let ipv6 = own.ipv6.map(|(address, len)| (IpAddr::from(address), len));
    for (family, (address, len)) in
        [ipv4, ipv6].into_iter().enumerate().filter_map(|(family, link)| Some((family, link?)))
    {
        let (text, via): (_, IpAddr) = match address {
            IpAddr::V4(_) => (&mut plan.ipv4, SINK_IPV4.into()),
            IpAddr::V6(_) => (&mut plan.ipv6, SINK_IPV6.into()),
        };
        let id = FIRST_SINK + 2 * number + family;
        let network = network(address, len);
        let is_alone = len == if address.is_ipv4() { 32 } else { 128 };
        if is_alone {
            continue;
        }
        line(text, format_args!("neigh replace {via} lladdr {NOBODY} dev {name} nud permanent"));
        line(text, format_args!("nexthop add id {id} via {via} dev {name} onlink"));
        line(text, format_args!("route add {network}/{len} nhid {id} table {MAIN}"));
        match address {
            IpAddr::V4(_) => plan.expected.ipv4_routes += 1,
            IpAddr::V6(_) => plan.expected.ipv6_routes += 1,
        }
    }
}

/// Ethernet address of the neighbour that does not exist.
const NOBODY: &str = "0e:70:6c:00:01:ff";

/// Addresses of that neighbour, equal on every link.
const SINK_IPV4: Ipv4Addr = Ipv4Addr::new(169, 254, 255, 254);
const SINK_IPV6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0xffff, 0, 0, 1);

/// First identifier of its next hops, above those of the service, two per interface.
const FIRST_SINK: usize = 1 << 24;
