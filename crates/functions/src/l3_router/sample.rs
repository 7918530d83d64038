//! The functional check's sample: frames that reach every verdict and every drop reason that a
//! configuration allows, and the changes between them.
//!
//! Ordinary frames come from the workload, as the bench sends them. What is out of the ordinary goes
//! to a network of a visitor, which is added first and removed last, so that the router is then as
//! it was. The size does not depend on the number of routes, and no frame waits for another.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use traffic::{Sizes, Stamp, Workload};
use wire::MacAddr;

use super::catalogue;
use super::config::{Config, Dir, Mac, NextHop, Port, Prefixed, Traffic};
use super::control::Update;
use super::workload::Routed;
use crate::build::{ether_type_of, frame};
use crate::check::Step;

mod ethernet;
mod groups;
mod host;
mod interfaces;
mod ipv4;
mod ipv6;
mod neighbours;
mod reassembly;
mod services;
mod tunnels;
mod updates;

/// The sample for a validated configuration.
pub fn sample(config: &Config, traffic: &Traffic) -> Vec<Step<Update>> {
    let mut sample = Sample::new(config);
    sample.ordinary(traffic);
    services::open(&mut sample);
    sample.arrive();
    ethernet::ethernet(&mut sample);
    ethernet::arp(&mut sample);
    ipv4::ipv4(&mut sample);
    ipv6::ipv6(&mut sample);
    updates::routes(&mut sample);
    updates::next_hops(&mut sample);
    groups::groups(&mut sample);
    if !sample.config.is_plain() {
        interfaces::interfaces(&mut sample);
    }
    if !sample.config.is_plain() {
        host::host(&mut sample);
    }
    tunnels::tunnels(&mut sample);
    if sample.config.resolve {
        neighbours::neighbours(&mut sample);
    }
    reassembly::reassembly(&mut sample);
    services::lists(&mut sample);
    services::policers(&mut sample);
    sample.depart();
    services::close(&mut sample);
    sample.steps
}

/// Drop reasons that the sample cannot reach under a configuration, each with the cause.
pub fn unreachable(config: &Config) -> Vec<(&'static str, &'static str)> {
    let mut reasons = vec![("unhandled", "every packet gets a verdict")];
    if config.fakedrop {
        reasons.push(("no-route", "fakedrop sends packets without a route on"));
    } else if stranger(config).is_none() {
        reasons.push(("no-route", "the routes cover all addresses that a sample would try"));
    }
    if config.is_plain() {
        reasons.push(("unknown-vlan", "without interfaces and a host's part, no tag is looked at"));
    }
    if !config.interfaces.iter().any(|one| !one.urpf.is_none()) {
        reasons.push(("reverse-path", "no interface asks for a route to the source"));
    }
    if !config.interfaces.iter().any(|one| one.vxlan.is_some()) {
        reasons.push(("unknown-tunnel", "no interface has a tunnel"));
    }
    reasons.extend(host::unreachable(config));
    reasons.extend(neighbours::unreachable(config));
    reasons.extend(services::unreachable(config));
    reasons.extend(reassembly::unreachable(config));
    reasons
}

/// The steps so far, and what they are made with.
struct Sample {
    config: Config,
    /// A network for everything out of the ordinary, behind the visitor.
    network: Ipv4Addr,
    steps: Vec<Step<Update>>,
}

impl Sample {
    fn new(config: &Config) -> Sample {
        let taken: HashSet<IpAddr> =
            config.routes.iter().map(|route| route.prefix.address).collect();
        let networks = (0..=255).map(|number| Ipv4Addr::new(198, 19, number, 0));
        let is_free = |network: &Ipv4Addr| {
            // Its first half is a network of the sample, too.
            !taken.contains(&IpAddr::from(*network))
        };
        let network = networks.into_iter().find(is_free);
        Sample {
            config: config.clone(),
            network: network.unwrap_or(Ipv4Addr::new(198, 19, 0, 0)),
            steps: Vec::new(),
        }
    }

    /// A host of the visitor's network.
    fn host(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.network.to_bits() | 9)
    }

    /// A host that sends to it.
    fn source(&self) -> Ipv4Addr {
        SOURCE
    }

    fn prefix(&self) -> Prefixed<IpAddr> {
        Prefixed { address: self.network.into(), len: 24 }
    }

    fn prefix_ipv6(&self) -> Prefixed<IpAddr> {
        Prefixed { address: VISITED_IPV6.into(), len: 48 }
    }

    fn update(&mut self, update: Update) {
        self.steps.push(Step::Update(update));
    }

    fn frame(&mut self, port: Port, about: &'static str, frame: Vec<u8>) {
        debug_assert!(frame.len() <= FRAME_LEN_MAX, "{about}: {} bytes", frame.len());
        self.steps.push(Step::Frame { port: port.id(), frame, about });
    }

    /// An IP packet in a frame for the port's own address.
    fn packet(&mut self, port: Port, about: &'static str, packet: &[u8]) {
        let own = self.config.mac(port);
        let frame = frame(own, self.sender(port), ether_type_of(packet), packet);
        self.frame(port, about, frame);
    }

    /// Who sends the frames that come in at a port.
    fn sender(&self, port: Port) -> MacAddr {
        catalogue::next_hop(&self.config, port, 0).mac.0
    }

    /// A next hop that no configuration has, and the route to the visitor's network by it.
    fn arrive(&mut self) {
        self.update(Update::SetNextHop { number: VISITOR, next_hop: self.visitor(Port::Uplink) });
        self.update(Update::SetRoute { prefix: self.prefix(), next_hop: VISITOR, vrf: 0 });
        if self.config.ipv6 {
            self.update(Update::SetRoute { prefix: self.prefix_ipv6(), next_hop: VISITOR, vrf: 0 });
        }
        if let Some(senders) = self.senders() {
            let next_hop = self.visitor(Port::Downlink);
            self.update(Update::SetNextHop { number: VISITOR - 4, next_hop });
            self.update(Update::SetRoute { prefix: senders, next_hop: VISITOR - 4, vrf: 0 });
            if self.config.ipv6 {
                let prefix = interfaces::senders_ipv6();
                self.update(Update::SetRoute { prefix, next_hop: VISITOR - 4, vrf: 0 });
            }
        }
    }

    /// The network of most frames' sources, which needs a route where sources are looked for.
    fn senders(&self) -> Option<Prefixed<IpAddr>> {
        let senders = interfaces::senders();
        let looked_for = self.config.interfaces.iter().any(|one| !one.urpf.is_none());
        let own = [senders, interfaces::senders_ipv6()];
        let is_listed = self.config.routes.iter().any(|route| own.contains(&route.prefix));
        (looked_for && !is_listed).then_some(senders)
    }

    fn depart(&mut self) {
        self.update(Update::RemoveRoute { prefix: self.prefix(), vrf: 0 });
        if self.config.ipv6 {
            self.update(Update::RemoveRoute { prefix: self.prefix_ipv6(), vrf: 0 });
        }
        self.update(Update::RemoveNextHop { number: VISITOR });
        if let Some(prefix) = self.senders() {
            self.update(Update::RemoveRoute { prefix, vrf: 0 });
            if self.config.ipv6 {
                let prefix = interfaces::senders_ipv6();
                self.update(Update::RemoveRoute { prefix, vrf: 0 });
            }
            self.update(Update::RemoveNextHop { number: VISITOR - 4 });
        }
    }

    fn visitor(&self, port: Port) -> NextHop {
        let mac = Mac(MacAddr([0x0a, 0, 0, 0, port as u8, 1]));
        NextHop { port, vlan: None, mac, source: None, ip: None, ipv6: None }
    }

    /// What the bench sends, to many routes and in several sizes.
    fn ordinary(&mut self, traffic: &Traffic) {
        let traffic = Traffic {
            dir: Dir::Bidir,
            pkt_size: Sizes::mix(&ORDINARY_SIZES).unwrap_or_else(|_| Sizes::fixed(64)),
            ipv6_share: if self.config.ipv6 { 0.3 } else { 0.0 },
            ..traffic.clone()
        };
        let routed = Routed::new(&self.config, &traffic);
        for sequence in 0..ORDINARY_FRAMES {
            for (index, direction) in routed.directions().iter().enumerate() {
                let draw = routed.draw(index, sequence);
                let mut frame = vec![0; routed.frame_len(&draw)];
                let stamp = Stamp { stream: index as u16, sequence, time: 0 };
                routed.write(&draw, stamp, &mut frame);
                let from = Port::of(direction.from);
                let about = match from {
                    Port::Downlink => "a packet from the downlink side",
                    Port::Uplink => "a packet from the uplink side",
                };
                self.frame(from, about, frame);
            }
        }
    }
}

/// An address of no route, if there is one.
fn stranger(config: &Config) -> Option<Ipv4Addr> {
    let covers = |host: Ipv4Addr| {
        config.routes.iter().any(|route| {
            let Prefixed { address, len } = route.prefix;
            route.vrf == 0 && address.is_ipv4() && catalogue::network(host.into(), len) == address
        })
    };
    STRANGERS.into_iter().find(|host| !covers(*host))
}

/// The same for IPv6.
fn stranger_ipv6(config: &Config) -> Option<Ipv6Addr> {
    let covers = |host: Ipv6Addr| {
        config.routes.iter().any(|route| {
            let Prefixed { address, len } = route.prefix;
            route.vrf == 0 && address.is_ipv6() && catalogue::network(host.into(), len) == address
        })
    };
    let strangers = [Ipv6Addr::new(0x3fff, 0x0fff, 1, 0, 0, 0, 0, 9)];
    strangers.into_iter().find(|host| !covers(*host))
}

/// A host that sends to the visitor.
const SOURCE: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 1);

/// Addresses that few tables have a route to.
const STRANGERS: [Ipv4Addr; 4] = [
    Ipv4Addr::new(203, 0, 113, 9),
    Ipv4Addr::new(192, 0, 2, 9),
    Ipv4Addr::new(100, 127, 255, 9),
    Ipv4Addr::new(9, 9, 9, 9),
];

/// The number of a next hop that is neither configured nor comes and goes.
const VISITOR: u32 = catalogue::HOPS - 1;

/// The visitor's IPv6 network.
const VISITED_IPV6: Ipv6Addr = Ipv6Addr::new(0x3fff, 0x0ffe, 1, 0, 0, 0, 0, 0);

/// A host in it.
const VISITED_HOST_IPV6: Ipv6Addr = Ipv6Addr::new(0x3fff, 0x0ffe, 1, 0, 0, 0, 0, 9);

/// Who sends to it.
const SOURCE_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1);

/// Sizes of ordinary frames, check sequence included; up to a usual link's largest.
const ORDINARY_SIZES: [(u16, u32); 5] = [(64, 4), (65, 1), (128, 1), (570, 1), (1518, 1)];

/// Ordinary frames in each direction.
const ORDINARY_FRAMES: u64 = 150;

/// The longest frame of a sample, without check sequence: what every device can carry.
const FRAME_LEN_MAX: usize = 1514;
