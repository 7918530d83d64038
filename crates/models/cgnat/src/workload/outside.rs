//! What translations a configuration allows.
use std::net::Ipv4Addr;

use function_cgnat::config::{Config, StaticRule};
use function_cgnat::port_forwarding::Hosts;
use function_kit::sections::Prefixed;

use super::flow::Flow;
use crate::sections::Traffic;

/// The addresses that clients may have outside.
#[derive(Clone, Debug)]
pub struct Outside {
    /// First and last of each network, in order.
    pools: Vec<(u32, u32)>,
    rules: Vec<StaticRule>,
    /// None where there are no port forwarding rules.
    hosts: Option<Hosts>,
}

impl Outside {
    /// Those of a validated configuration.
    pub fn new(config: &Config, traffic: &Traffic) -> Outside {
        let vrf = config.vrfs.iter().find(|vrf| vrf.vlan == traffic.vlan);
        let own = vrf.map(|vrf| &vrf.pools).filter(|own| !own.is_empty());
        let mut pools: Vec<_> = own.unwrap_or(&config.pools).iter().map(range).collect();
        pools.sort_unstable();
        // One-to-one and port forwarding rules are of the main realm.
        let rules = if vrf.is_none() { config.static_rules.clone() } else { Vec::new() };
        let has_hosts = vrf.is_none() && !config.port_forwarding.is_empty();
        let hosts = has_hosts.then(|| Hosts::new(&config.port_forwarding));
        Outside { pools, rules, hosts }
    }

    /// Some outside address.
    pub fn first(&self) -> Ipv4Addr {
        let rule = self.rules.first().map(|rule| range(&rule.outside).0);
        let host = self.hosts.as_ref().and_then(Hosts::first_outside);
        let pool = self.pools.first().map(|pool| pool.0);
        Ipv4Addr::from_bits(pool.or(rule).or(host).unwrap_or(0))
    }

    /// Whether a flow's client may be seen outside with this address and port.
    #[inline(always)]
    pub fn may_be(&self, flow: &Flow, address: u32, port: u16) -> bool {
        if let [(first, last)] = self.pools[..]
            && self.rules.is_empty()
            && self.hosts.is_none()
        {
            return first <= address && address <= last;
        }
        self.may_be_of_several(flow, address, port)
    }

    fn may_be_of_several(&self, flow: &Flow, address: u32, port: u16) -> bool {
        let of_client = |rule: &&StaticRule| {
            let (first, last) = range(&rule.inside);
            first <= flow.client && flow.client <= last
        };
        if let Some(rule) = self.rules.iter().find(of_client) {
            let [inside, outside] = [rule.inside, rule.outside].map(|network| range(&network).0);
            return address == outside + (flow.client - inside) && port == flow.client_port;
        }
        if let Some(hosts) = &self.hosts
            && let Some(host) = hosts.host(flow.client)
        {
            let fixed = hosts.outside_port(flow.protocol.number(), (flow.client, flow.client_port));
            let is_dynamic = || host.dynamic.is_some_and(|block| block.holds(port));
            return address == host.outside && fixed.map_or_else(is_dynamic, |fixed| fixed == port);
        }
        let behind = self.pools.partition_point(|(first, _)| *first <= address);
        behind > 0 && address <= self.pools[behind - 1].1
    }
}

fn range(network: &Prefixed<Ipv4Addr>) -> (u32, u32) {
    let hosts = u32::MAX.checked_shr(u32::from(network.len)).unwrap_or(0);
    let first = network.address.to_bits() & !hosts;
    (first, first | hosts)
}

#[cfg(test)]
mod tests {
    use super::super::frames::Protocol;
    use super::*;

    fn network(text: &str) -> Prefixed<Ipv4Addr> {
        serde_json::from_value(text.into()).expect("a network")
    }

    #[test]
    fn pools_and_static_rules_say_what_a_translation_may_be() {
        let rule =
            StaticRule { inside: network("10.1.0.0/30"), outside: network("203.0.113.8/30") };
        let hosts = "[{outside: 203.0.113.80, hosts: [{inside: 10.2.0.1, forwards: \
             [{protocol: udp, first-port: 80, inside-port: 4000}]}, \
             {inside: 10.2.0.2, dynamic-ports: {first-port: 2000, last-port: 2009}}]}]";
        let config = Config {
            pools: vec![network("198.18.4.0/24"), network("198.18.0.0/31")],
            static_rules: vec![rule],
            port_forwarding: serde_saphyr::from_str(hosts).expect("rules"),
            ..Config::default()
        };
        let outside = Outside::new(&config, &Traffic::default());
        let may_be = |client: [u8; 4], address: [u8; 4], port| {
            let flow = Flow {
                client: u32::from_be_bytes(client),
                server: 1,
                client_port: 4000,
                server_port: 80,
                protocol: Protocol::Udp,
            };
            outside.may_be(&flow, u32::from_be_bytes(address), port)
        };
        let dynamic = [10, 9, 9, 9];
        assert!(may_be(dynamic, [198, 18, 0, 1], 1) && may_be(dynamic, [198, 18, 4, 255], 9));
        assert!(!may_be(dynamic, [198, 18, 0, 2], 1) && !may_be(dynamic, [198, 17, 9, 9], 1));
        assert!(!may_be(dynamic, [203, 0, 113, 9], 4000), "another's own address");
        let ruled = [10, 1, 0, 1];
        assert!(may_be(ruled, [203, 0, 113, 9], 4000));
        assert!(!may_be(ruled, [203, 0, 113, 10], 4000) && !may_be(ruled, [203, 0, 113, 9], 4001));
        assert!(!may_be(ruled, [198, 18, 0, 1], 4000), "its own address and no other");
        let shared = [203, 0, 113, 80];
        let [forwarded, drawn] = [[10, 2, 0, 1], [10, 2, 0, 2]];
        assert!(may_be(forwarded, shared, 80) && !may_be(forwarded, shared, 4000));
        assert!(may_be(drawn, shared, 2009) && !may_be(drawn, shared, 2010));
        assert!(!may_be(drawn, [198, 18, 0, 1], 2009) && !may_be(dynamic, shared, 2009));
    }

    #[test]
    fn a_single_pool_is_told_the_same_way() {
        let config = Config { pools: vec![network("198.18.4.0/24")], ..Config::default() };
        let outside = Outside::new(&config, &Traffic::default());
        let flow =
            Flow { client: 1, server: 1, client_port: 1, server_port: 1, protocol: Protocol::Tcp };
        for last in [0u32, 1, 255, 256, u32::MAX] {
            let address = 0xc612_0400u32.wrapping_add(last);
            let slowly = outside.may_be_of_several(&flow, address, 1);
            assert_eq!(outside.may_be(&flow, address, 1), slowly);
            assert_eq!(slowly, last < 256);
        }
    }
}
