//! Look-ups against a walk through the rules.

use std::net::Ipv4Addr;

use crate::config::Config;
use crate::port_forwarding::*;
use crate::validate::validate;

const RULES: &str = "{port-forwarding: [\
     {outside: 203.0.113.80, hosts: [\
       {inside: 10.0.0.6, forwards: [{protocol: udp, first-port: 53}, {first-port: 1, last-port: 20}]}, \
       {inside: 10.0.0.5, dynamic-ports: {first-port: 2000, last-port: 2009}, forwards: [\
         {protocol: tcp, first-port: 8000, last-port: 8004, inside-port: 80}, \
         {protocol: udp, first-port: 8000, inside-port: 65535}]}]}, \
     {outside: 203.0.113.79, hosts: [\
       {inside: 10.0.0.4, forwards: [{protocol: tcp, first-port: 65535, inside-port: 1}]}]}]}";

fn config() -> Config {
    let mut config: Config = serde_saphyr::from_str(RULES).expect("a section");
    validate(&mut config).expect("valid rules");
    config
}

type End = (u32, u16);

/// What is forwarded, port by port: protocol, inside end, outside end.
fn all(config: &Config) -> Vec<(u8, End, End)> {
    let mut all = Vec::new();
    for rule in &config.port_forwarding {
        for host in &rule.hosts {
            for forward in &host.forwards {
                for (offset, port) in (forward.first_port..=forward.last()).enumerate() {
                    let inside = (host.inside.to_bits(), forward.inside_first() + offset as u16);
                    let outside = (rule.outside.to_bits(), port);
                    let numbers = forward.protocol.numbers().iter();
                    all.extend(numbers.map(|&protocol| (protocol, inside, outside)));
                }
            }
        }
    }
    all
}

#[test]
fn both_ways_are_what_the_rules_say_and_each_other_s_inverse() {
    let config = config();
    let (hosts, all) = (Hosts::new(&config.port_forwarding), all(&config));
    let addresses = |first: Ipv4Addr| (0..4).map(move |offset| first.to_bits() + offset);
    let mut found = 0;
    for protocol in [1, 6, 17] {
        for port in 0..=u16::MAX {
            for inside in addresses(Ipv4Addr::new(10, 0, 0, 3)) {
                let end = (inside, port);
                let known = all.iter().find(|one| (one.0, one.1) == (protocol, end));
                let told = hosts.outside_port(protocol, end);
                assert_eq!(told, known.map(|one| one.2.1), "{protocol} {end:?}");
                found += usize::from(told.is_some());
            }
            for outside in addresses(Ipv4Addr::new(203, 0, 113, 78)) {
                let end = (outside, port);
                let known = all.iter().find(|one| (one.0, one.2) == (protocol, end));
                let told = hosts.inside_end(protocol, end);
                assert_eq!(told, known.map(|one| one.1), "{protocol} {end:?}");
                found += usize::from(told.is_some());
            }
        }
    }
    assert_eq!((all.len(), found), (1 + 40 + 5 + 1 + 1, 2 * 48));
}

#[test]
fn hosts_are_known_with_their_outside_address_and_ports() {
    let hosts = Hosts::new(&config().port_forwarding);
    let host = |last| hosts.host(Ipv4Addr::new(10, 0, 0, last).to_bits()).copied();
    assert_eq!((host(3), host(7)), (None, None));
    let outside = [4, 5, 6].map(|last| host(last).expect("a host").outside.to_be_bytes()[3]);
    assert_eq!(outside, [79, 80, 80]);
    let dynamic = [4, 5, 6].map(|last| host(last).and_then(|host| host.dynamic));
    let block = dynamic[1].expect("ports for others");
    assert_eq!((block.nth(0), block.last_port(), block.len), (2000, 2009, 10));
    assert_eq!((dynamic[0], dynamic[2]), (None, None));
}
