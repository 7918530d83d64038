//! Rules that come and go, of each kind, and frames that they match and that they do not.
use std::net::{IpAddr, Ipv6Addr};

use function_kit::sections::Prefixed;
use function_l2_switch::config::acl::{Action, Ports, Rule};
use function_l2_switch::config::{Mac, Port};
use function_l2_switch::control::Update;
use model_kit::build::{datagram, frame, packet, packet_ipv6, set, set_word, text};
use wire::{ethernet, protocol};

use super::{Sample, visitor};

impl Sample {
    /// One rule at a time in front of those of the configuration, then two of which the first
    /// decides.
    pub(super) fn rules(&mut self) {
        let free =
            |priority: &u32| self.config.all_acl().iter().all(|rule| rule.priority != *priority);
        let mut free = (0..).filter(free);
        let [Some(first), Some(second)] = [free.next(), free.next()] else { return };
        for rule in of_each_kind(first) {
            self.update(Update::SetRule(rule));
            self.past_rules();
        }
        let permit = Rule { action: Action::Permit, ..any(first) };
        self.update(Update::SetRule(Rule { priority: second, ..of_each_kind(second)[0] }));
        self.update(Update::SetRule(permit));
        self.past_rules();
        let impossible = Rule { source_ports: Some(Ports { first: 9, last: 8 }), ..any(first) };
        self.update(Update::SetRule(impossible));
        for priority in [first, second, second] {
            self.update(Update::RemoveRule { priority });
        }
        for number in [30, 60, 61] {
            self.forget(number);
        }
    }

    /// The same for what leaves, by fewer rules: they are read by the same code.
    pub(super) fn egress_rules(&mut self) {
        let free = |priority: &u32| {
            self.config.all_egress_acl().iter().all(|rule| rule.priority != *priority)
        };
        let mut free = (0..).filter(free);
        let [Some(first), Some(second)] = [free.next(), free.next()] else { return };
        let deny = any(first);
        let mac = Some(Mac(visitor(60)));
        // Where it is known, so that no limit of what is flooded keeps frames from leaving.
        let (known, domain) = (Mac(visitor(61)), self.domain);
        self.update(Update::SetStation { mac: known, port: Port::UPLINK, domain });
        for rule in [
            Rule { port: Some(Port::UPLINK), ..deny },
            Rule { source_mac: mac, ..deny },
            Rule { vlan: Some(100), ..deny },
            Rule { ether_type: Some(0x88b5), ..deny },
            Rule { protocol: Some(protocol::TCP), ..deny },
        ] {
            self.update(Update::SetEgressRule(rule));
            self.past_rules();
            self.send_from_both("for all, past rules", wire::MacAddr::BROADCAST);
        }
        self.update(Update::SetEgressRule(Rule {
            source_ports: Some(Ports { first: 9, last: 8 }),
            ..deny
        }));
        self.update(Update::SetEgressRule(Rule { priority: second, ..deny }));
        self.update(Update::SetEgressRule(Rule { action: Action::Permit, ..deny }));
        self.send_from_both("for all, past two rules", wire::MacAddr::BROADCAST);
        self.update(Update::RemoveEgressRule { priority: first });
        self.send_from_both("for all, where nothing may leave", wire::MacAddr::BROADCAST);
        for priority in [first, second] {
            self.update(Update::RemoveEgressRule { priority });
        }
        for number in [10, 11, 30, 60, 61] {
            self.forget(number);
        }
    }

    /// Frames that differ in everything that a rule can name.
    fn past_rules(&mut self) {
        let [from, to] = [60, 61].map(visitor);
        let (near, far) = ([192, 0, 2, 1].into(), [198, 51, 100, 1].into());
        let udp = datagram((1000, 2000), &text(20));
        let ipv4 = packet(near, far, protocol::UDP, &udp);
        let with = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut packet = ipv4.clone();
            change(&mut packet);
            packet
        };
        let [v6_near, v6_far] = ["2001:db8::1", "2001:db8:1::1"]
            .map(|text| text.parse().unwrap_or(std::net::Ipv6Addr::UNSPECIFIED));
        let kinds = [
            ("IPv4", ethernet::TYPE_IPV4, ipv4.clone()),
            ("a later fragment", ethernet::TYPE_IPV4, with(&|p| set_word(6, 3)(p))),
            ("IPv4 of another protocol", ethernet::TYPE_IPV4, with(&|p| set(9, 89)(p))),
            ("IPv4 back", ethernet::TYPE_IPV4, packet(far, near, protocol::TCP, &udp)),
            ("IPv4 that is cut", ethernet::TYPE_IPV4, ipv4[..19].to_vec()),
            ("IPv4 with a wrong length", ethernet::TYPE_IPV4, with(&|p| p[0] = 0x44)),
            ("IPv4 that ends in its options", ethernet::TYPE_IPV4, with(&|p| p[0] = 0x4f)),
            ("IPv4 that ends before its ports", ethernet::TYPE_IPV4, ipv4[..23].to_vec()),
            ("IPv6", ethernet::TYPE_IPV6, packet_ipv6(v6_near, v6_far, 80)),
            (
                "IPv6 that is cut",
                ethernet::TYPE_IPV6,
                packet_ipv6(v6_near, v6_far, 80)[..39].to_vec(),
            ),
            ("IPv6 behind a header", ethernet::TYPE_IPV6, behind(1, &udp)),
            ("IPv6 behind too many headers", ethernet::TYPE_IPV6, behind(9, &udp)),
            ("another type", 0x88b5, text(46)),
            ("three tags", ethernet::TYPE_VLAN, [&THREE_TAGS[..], &ipv4].concat()),
        ];
        for (about, kind, payload) in kinds {
            let plain = frame(to, from, kind, &payload);
            let tagged = self.tagged(Port::DOWNLINK, plain.clone());
            self.frame(Port::DOWNLINK, about, tagged);
            let tagged = self.tagged(Port::UPLINK, plain);
            self.frame(Port::UPLINK, about, tagged);
        }
        let stacked = self.tagged(Port::DOWNLINK, self.of_vlan(ethernet::TYPE_VLAN, 0x0064));
        self.frame(Port::DOWNLINK, "a tag more", stacked);
    }
}

/// A datagram behind so many headers of destination options.
fn behind(count: usize, udp: &[u8]) -> Vec<u8> {
    let mut packet = packet_ipv6(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, 8 * count + udp.len());
    packet.truncate(40);
    packet[6] = protocol::IPV6_DESTINATION_OPTIONS;
    for left in (0..count).rev() {
        let next = if left > 0 { protocol::IPV6_DESTINATION_OPTIONS } else { protocol::UDP };
        packet.extend([next, 0, 0, 0, 0, 0, 0, 0]);
    }
    packet.extend(udp);
    packet
}

/// What follows the type of a frame with three tags, to the type of what it bears.
const THREE_TAGS: [u8; 12] = [0, 5, 0x81, 0, 0, 6, 0x81, 0, 0, 7, 8, 0];

/// A rule that denies every frame.
fn any(priority: u32) -> Rule {
    Rule {
        priority,
        action: Action::Deny,
        port: None,
        source_mac: None,
        destination_mac: None,
        vlan: None,
        ether_type: None,
        source: None,
        destination: None,
        protocol: None,
        source_ports: None,
        destination_ports: None,
    }
}

/// A rule for each thing that one can name, and the one that denies everything first.
fn of_each_kind(priority: u32) -> Vec<Rule> {
    let deny = any(priority);
    let network =
        |text: &str, len: u8| text.parse::<IpAddr>().ok().map(|address| Prefixed { address, len });
    vec![
        deny,
        Rule { port: Some(Port::UPLINK), ..deny },
        Rule { source_mac: Some(Mac(visitor(60))), ..deny },
        Rule { destination_mac: Some(Mac(visitor(60))), ..deny },
        Rule { vlan: Some(100), ..deny },
        Rule { vlan: Some(0), ..deny },
        Rule { ether_type: Some(0x88b5), ..deny },
        Rule { source: network("192.0.2.0", 25), ..deny },
        Rule { destination: network("192.0.2.1", 32), ..deny },
        Rule { source: network("0.0.0.0", 0), ..deny },
        Rule { source: network("2001:db8::", 48), ..deny },
        Rule { destination: network("2001:db8:1::", 47), ..deny },
        Rule { protocol: Some(protocol::TCP), ..deny },
        Rule { source_ports: Some(Ports { first: 900, last: 1000 }), ..deny },
        Rule {
            destination_ports: Some(Ports { first: 2000, last: 2000 }),
            protocol: Some(17),
            ..deny
        },
        Rule { destination_ports: Some(Ports { first: 0, last: 65535 }), ..deny },
    ]
}
