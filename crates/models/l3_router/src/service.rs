//! The router in words that devices of another making understand.

use crate::ports::Numbered;
use std::collections::BTreeMap;

use function_l3_router::config::{self, Config, NextHop as Neighbour, PuntRates, Remark, Resolved};
use model_kit::service::{Beyond, Interface, NextHop, ReversePath, Route, Router, Service, Vlan};

use crate::catalogue;
use crate::generated::{self, Generated, Section, all_routes};

mod access;

/// Its ports, its neighbours and its routes; next hops that come and go are not among them.
pub(super) fn service(section: &Section) -> Service {
    let config = &generated::config(section);
    let all = config.all_interfaces();
    let tagged = all.iter().filter(|one| one.vlan > 0 && one.vxlan.is_none());
    let vlans =
        tagged.map(|one| Vlan { port: one.port, vlan: one.vlan, interface: interface(one) });
    let numbers: Vec<u32> = config.all_next_hops().map(|(number, _)| number).collect();
    // Of a group, its first member: these words have none for groups.
    let mut first = BTreeMap::new();
    for (group, hop, _) in config.all_members() {
        first.entry(catalogue::group_number(group)).or_insert(hop);
    }
    let place = |number: u32| {
        let hop = first.get(&number).copied().unwrap_or(number);
        numbers.binary_search(&hop).unwrap_or(0) as u32
    };
    let next_hops = config.all_next_hops().map(|(_, hop)| next_hop(config, &hop));
    let routes = all_routes(section).map(|(network, number)| Route {
        prefix: network.address,
        len: network.len,
        next_hop: place(number),
        vrf: network.vrf,
    });
    Service::Router(Router {
        interfaces: all.iter().filter(|one| one.vlan == 0).map(interface).collect(),
        vlans: vlans.collect(),
        next_hops: next_hops.collect(),
        routes: routes.collect(),
        access: access::access(section, config),
        beyond: beyond(section),
    })
}

fn interface(one: &Resolved) -> Interface {
    Interface {
        mac: one.mac.0,
        ipv4: one.ip.map(|ip| (ip.address, ip.len)),
        ipv6: one.ipv6.map(|ip| (ip.address, ip.len)),
        reverse_path: match one.urpf {
            config::ReversePath::None => ReversePath::None,
            config::ReversePath::Loose => ReversePath::Loose,
            config::ReversePath::Strict => ReversePath::Strict,
        },
        vrf: one.vrf,
    }
}

fn next_hop(config: &Config, hop: &Neighbour) -> NextHop {
    NextHop {
        port: config.number_of(hop.port),
        vlan: hop.vlan.filter(|&vlan| vlan > 0),
        mac: hop.mac.0,
        source: hop.source.map(|mac| mac.0),
        ipv4: hop.ip,
        ipv6: hop.ipv6,
    }
}

/// What a router in these words is not. Every key is named, so that a new one has to be thought of.
fn beyond(section: &Section) -> Vec<Beyond> {
    let Generated {
        upstream_l3_table_size: _,
        upstream_group_table_size: _,
        downstream_l3_table_size: _,
        downstream_group_table_size: _,
        fluct_l3_table: _,
        fluct_group_table: _,
        source_mac: _,
        internet_routes: _,
        internet_routes_ipv6: _,
        route_file: _,
        routes_read: _,
        ecmp_weights: _,
        policers_generated: _,
        acl_generated: _,
        ecmp_members,
    } = &section.generated;
    let Config {
        // In words, or no matter to a device with tables of its own.
        core: _,
        ports: _,
        uplink_mac: _,
        downlink_mac: _,
        ipv6: _,
        downlink_ip: _,
        uplink_ip: _,
        downlink_ipv6: _,
        uplink_ipv6: _,
        next_hop_capacity: _,
        bfd_capacity: _,
        bfd_keys: _,
        policer_capacity: _,
        policers_by_source: _,
        routes: _,
        route_files: _,
        hop_names: _,
        from_files: _,
        route_capacity: _,
        rule_log_per_s: _,
        icmp_error_burst: _,
        neighbour_capacity: _,
        neighbour_lifetime_s: _,
        pending_capacity: _,
        acl_capacity: _,
        ecmp_capacity: _,
        ecmp_buckets: _,
        ecmp_seed: _,
        reassembly_capacity: _,
        reassembly_timeout_ms: _,
        early_fragments: _,
        extension_headers_max: _,
        // Partly in words, or not at all.
        next_hops,
        fakedrop,
        vrfs: _,
        interfaces,
        advertise,
        icmp_errors_per_s,
        ping,
        punt,
        punt_rates,
        resolve,
        ingress_acl: _,
        egress_acl: _,
        ingress_acl_files: _,
        egress_acl_files: _,
        police_by: _,
        policers: _,
        remark,
        next_hop_groups,
        virtual_reassembly,
    } = &section.config;
    let is_limited = PuntRates { burst: PuntRates::default().burst, ..*punt_rates };
    let mut all = Beyond::of(&[
        ("fakedrop", "packets without a route that leave by the other port", *fakedrop),
        ("interfaces[].mtu", "packets cut to an MTU", interfaces.iter().any(|one| one.mtu > 0)),
        (
            "interfaces[].vxlan",
            "tunnels of VXLAN",
            interfaces.iter().any(|one| one.vxlan.is_some()),
        ),
        ("host-interface", "interfaces of the host", section.config.is_hosted()),
        ("advertise", "router advertisements", !advertise.is_empty()),
        ("icmp-errors-per-s", "ICMP errors at a rate", *icmp_errors_per_s > 0),
        ("ping", "answers to pings", *ping),
        ("punt", "packets for a control plane", *punt),
        ("punt-rates", "limits by protocol", is_limited != PuntRates::default()),
        ("resolve", "neighbours that are asked for their addresses", *resolve),
        ("remark", "code points by colour", *remark != Remark::default()),
        ("next-hops[].bfd", "sessions of BFD", next_hops.iter().any(|hop| hop.bfd.is_some())),
        ("next-hop-groups", "several next hops for a route", !next_hop_groups.is_empty()),
        ("ecmp-members", "several next hops for a route", *ecmp_members > 0),
        ("virtual-reassembly", "ports of later fragments", *virtual_reassembly),
    ]);
    all.extend(access::beyond(&section.config));
    all
}

#[cfg(test)]
mod tests {
    use model_kit::service::{Access, PoliceBy as By, Rule};

    use super::*;

    /// A key and a value that asks for it.
    const ASKS: &[(&str, &str)] = &[
        ("fakedrop", r#"{"fakedrop": true}"#),
        ("interfaces[].mtu", r#"{"interfaces": [{"port": "uplink", "mtu": 1400}]}"#),
        (
            "interfaces[].vxlan",
            r#"{"interfaces": [{"port": "uplink", "vlan": 9, "vxlan": {"vni": 7, "remote": "10.1.0.9"}}]}"#,
        ),
        ("host-interface", r#"{"interfaces": [{"port": "uplink", "host-interface": "up0"}]}"#),
        ("advertise", r#"{"advertise": [{"port": "uplink"}]}"#),
        ("icmp-errors-per-s", r#"{"icmp-errors-per-s": 10}"#),
        ("ping", r#"{"ping": true}"#),
        ("punt", r#"{"punt": true}"#),
        ("punt-rates", r#"{"punt-rates": {"arp": 5}}"#),
        ("resolve", r#"{"resolve": true}"#),
        ("police-by", r#"{"police-by": "source", "policers-by-source": {"count": 2}}"#),
        (
            "policers[].excess-burst",
            r#"{"police-by": "acl", "policers": [{"algorithm": "rfc2697", "committed-rate": 800,
                "committed-burst": 100, "excess-burst": 100}]}"#,
        ),
        (
            "policers[].colour-aware",
            r#"{"police-by": "dscp", "policers": [{"algorithm": "rfc2698", "committed-rate": 800,
                "committed-burst": 100, "colour-aware": true}]}"#,
        ),
        (
            "policers[].parent",
            r#"{"police-by": "port", "policers": [{"algorithm": "rfc2698", "committed-rate": 800,
                "committed-burst": 100, "parent": 0}]}"#,
        ),
        ("remark", r#"{"remark": {"red": 8}}"#),
        ("next-hops[].bfd", r#"{"next-hops": [{"port": "uplink", "ip": "10.1.0.9", "bfd": {}}]}"#),
        ("next-hop-groups", r#"{"next-hop-groups": [{"members": []}]}"#),
        ("ecmp-members", r#"{"ecmp-members": 2}"#),
        ("virtual-reassembly", r#"{"virtual-reassembly": true}"#),
    ];

    fn said(text: &str) -> Router {
        let config: Section = serde_json::from_str(text).expect("a configuration");
        match service(&config) {
            Service::Router(router) => router,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_not_in_words_is_named_by_its_key() {
        assert_eq!(said("{}").beyond, []);
        for (key, text) in ASKS {
            let named: Vec<&str> = said(text).beyond.iter().map(|beyond| beyond.key).collect();
            assert_eq!(named, [*key], "{text}");
        }
    }

    #[test]
    fn vlans_and_what_is_asked_of_sources_are_in_words() {
        let router = said(
            r#"{"interfaces": [{"port": "uplink", "urpf": "loose"},
                {"port": "downlink", "vlan": 7, "ip": "10.2.0.1/24", "urpf": "strict"}],
                "next-hops": [{"port": "downlink", "vlan": 7, "mac": "02:00:00:00:00:02"}]}"#,
        );
        assert_eq!(router.beyond, []);
        let asked = router.interfaces.iter().map(|one| one.reverse_path);
        assert_eq!(asked.collect::<Vec<_>>(), [ReversePath::None, ReversePath::Loose]);
        let [vlan] = router.vlans.as_slice() else { panic!("{router:?}") };
        assert_eq!(
            (vlan.port.0, vlan.vlan, vlan.interface.reverse_path),
            (0, 7, ReversePath::Strict)
        );
        assert_eq!(router.next_hops.first().and_then(|hop| hop.vlan), Some(7));
    }

    #[test]
    fn lists_policers_and_vrfs_are_in_words() {
        let router = said(
            r#"{"vrfs": 2, "interfaces": [{"port": "downlink", "vrf": 2}],
                "next-hops": [{"port": "downlink", "mac": "02:00:00:00:00:02"}],
                "routes": [{"prefix": "10.0.0.0/8", "next-hop": 0, "vrf": 2}],
                "ingress-acl": [
                    {"action": "deny", "protocol": 6, "tcp-flags": "syn,!ack", "port": "uplink"},
                    {"action": "permit", "policer": 0}],
                "acl-generated": 3,
                "egress-acl": [{"action": "permit", "fragment": "later"}],
                "police-by": "acl", "policers-generated": 2,
                "policers": [{"algorithm": "rfc4115", "committed-rate": 800,
                    "committed-burst": 350}]}"#,
        );
        assert_eq!(router.beyond, []);
        assert_eq!(router.vrfs(), [0, 2].into());
        assert!(router.routes.iter().any(|route| route.vrf == 2), "{:?}", router.routes);
        assert_eq!(router.vrf_of(&router.next_hops[0]), 2);
        let Access { ingress, egress, police_by, policers } = &router.access;
        let first = Rule {
            protocol: Some(6),
            tcp_flags: Some((2, 0x10)),
            port: Some(packet::PortId(1)),
            ..Rule::default()
        };
        assert_eq!(ingress.first(), Some(&first));
        assert_eq!((ingress.len(), egress.len()), (5, 1), "with those that are generated");
        assert_eq!((*police_by, policers.len()), (Some(By::Rule), 3));
    }
}
