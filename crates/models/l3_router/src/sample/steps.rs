//! The steps of a sample, as the files beside this one add them.

use crate::ports::{DOWNLINK, Numbered, UPLINK};
use packet::PortId;
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_l3_router::config::{Config, Dir, Mac, Network, NextHop, Prefixed};
use function_l3_router::control::{Said, Update};
use model_kit::build::{ether_type_of, frame};
use model_kit::check::Step;
use traffic::{Frames, Sizes, Stamp};
use wire::MacAddr;

use crate::catalogue;
use crate::generated::{self, Section};
use crate::sections::Traffic;
use crate::workload::Routed;

/// The steps so far, and what they are made with.
pub(super) struct Sample {
    pub(super) section: Section,
    /// What the section means.
    pub(super) config: Config,
    /// A network for everything out of the ordinary, behind the visitor.
    pub(super) network: Ipv4Addr,
    pub(super) steps: Vec<Step<Said>>,
}

impl Sample {
    pub(super) fn new(section: &Section) -> Sample {
        let config = generated::config(section);
        let taken: HashSet<IpAddr> =
            section.config.all_routes().map(|(network, _)| network.address).collect();
        let networks = (0..=255).map(|number| Ipv4Addr::new(198, 19, number, 0));
        let is_free = |network: &Ipv4Addr| {
            // Its first half is a network of the sample, too.
            !taken.contains(&IpAddr::from(*network))
        };
        let network = networks.into_iter().find(is_free);
        Sample {
            section: section.clone(),
            config,
            network: network.unwrap_or(Ipv4Addr::new(198, 19, 0, 0)),
            steps: Vec::new(),
        }
    }

    /// A host of the visitor's network.
    pub(super) fn host(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.network.to_bits() | 9)
    }

    /// A host that sends to it.
    pub(super) fn source(&self) -> Ipv4Addr {
        SOURCE
    }

    pub(super) fn prefix(&self) -> Prefixed<IpAddr> {
        Prefixed { address: self.network.into(), len: 24 }
    }

    pub(super) fn prefix_ipv6(&self) -> Prefixed<IpAddr> {
        Prefixed { address: VISITED_IPV6.into(), len: 48 }
    }

    pub(super) fn update(&mut self, update: Update) {
        self.steps.push(Step::Update(update.said()));
    }

    pub(super) fn frame(&mut self, port: PortId, about: &'static str, frame: Vec<u8>) {
        debug_assert!(frame.len() <= FRAME_LEN_MAX, "{about}: {} bytes", frame.len());
        self.steps.push(Step::Frame { port, frame, about });
    }

    /// An IP packet in a frame for the port's own address.
    pub(super) fn packet(&mut self, port: PortId, about: &'static str, packet: &[u8]) {
        let own = self.config.mac(port);
        let frame = frame(own, self.sender(port), ether_type_of(packet), packet);
        self.frame(port, about, frame);
    }

    /// Who sends the frames that come in at a port.
    pub(super) fn sender(&self, port: PortId) -> MacAddr {
        catalogue::next_hop(&self.section, port, 0).mac.0
    }

    /// A next hop that no configuration has, and the route to the visitor's network by it.
    pub(super) fn arrive(&mut self) {
        self.update(Update::SetNextHop { number: self.last_hop(), next_hop: self.visitor(UPLINK) });
        self.update(Update::SetRoute { prefix: self.prefix(), next_hop: self.last_hop(), vrf: 0 });
        if self.config.ipv6 {
            self.update(Update::SetRoute {
                prefix: self.prefix_ipv6(),
                next_hop: self.last_hop(),
                vrf: 0,
            });
        }
        if let Some(senders) = self.senders() {
            let next_hop = self.visitor(DOWNLINK);
            self.update(Update::SetNextHop { number: self.last_hop() - 4, next_hop });
            self.update(Update::SetRoute {
                prefix: senders,
                next_hop: self.last_hop() - 4,
                vrf: 0,
            });
            if self.config.ipv6 {
                let prefix = senders_ipv6();
                self.update(Update::SetRoute { prefix, next_hop: self.last_hop() - 4, vrf: 0 });
            }
        }
    }

    /// The network of most frames' sources, which needs a route where sources are looked for.
    pub(super) fn senders(&self) -> Option<Prefixed<IpAddr>> {
        let senders = senders();
        let looked_for = self.config.interfaces.iter().any(|one| !one.urpf.is_none());
        let own = [senders, senders_ipv6()];
        let is_listed =
            self.config.all_routes().any(|(network, _)| own.contains(&network.prefix()));
        (looked_for && !is_listed).then_some(senders)
    }

    pub(super) fn depart(&mut self) {
        self.update(Update::RemoveRoute { prefix: self.prefix(), vrf: 0 });
        if self.config.ipv6 {
            self.update(Update::RemoveRoute { prefix: self.prefix_ipv6(), vrf: 0 });
        }
        self.update(Update::RemoveNextHop { number: self.last_hop() });
        if let Some(prefix) = self.senders() {
            self.update(Update::RemoveRoute { prefix, vrf: 0 });
            if self.config.ipv6 {
                let prefix = senders_ipv6();
                self.update(Update::RemoveRoute { prefix, vrf: 0 });
            }
            self.update(Update::RemoveNextHop { number: self.last_hop() - 4 });
        }
    }

    /// The number of a next hop that is neither configured nor comes and goes.
    pub(super) fn last_hop(&self) -> u32 {
        self.config.next_hops_max() - 1
    }

    pub(super) fn visitor(&self, port: PortId) -> NextHop {
        let mac = Mac(MacAddr([0x0a, 0, 0, 0, port.0, 1]));
        let port = self.config.name_of(port);
        NextHop { port, vlan: None, mac, source: None, ip: None, ipv6: None, bfd: None, name: None }
    }

    /// What the bench sends, to many routes and in several sizes.
    pub(super) fn ordinary(&mut self, traffic: &Traffic) {
        let traffic = Traffic {
            dir: Dir::Bidir,
            pkt_size: Sizes::mix(&ORDINARY_SIZES).unwrap_or_else(|_| Sizes::fixed(64)),
            ipv6_share: if self.config.ipv6 { 0.3 } else { 0.0 },
            ..traffic.clone()
        };
        let routed = Routed::new(&self.section, &traffic);
        for sequence in 0..ORDINARY_FRAMES {
            for (index, direction) in routed.directions().iter().enumerate() {
                let draw = routed.draw(index, sequence);
                let mut frame = vec![0; routed.frame_len(&draw)];
                let stamp = Stamp { stream: index as u16, sequence, time: 0 };
                routed.write(&draw, stamp, &mut frame);
                let from = direction.from;
                let about = match from {
                    DOWNLINK => "a packet from the downlink side",
                    _ => "a packet from the uplink side",
                };
                self.frame(from, about, frame);
            }
        }
    }
}

/// The network of the senders of most frames, where sources are looked for.
pub(super) fn senders() -> Prefixed<IpAddr> {
    Prefixed { address: Ipv4Addr::new(198, 18, 0, 0).into(), len: 16 }
}

/// The same for IPv6.
pub(super) fn senders_ipv6() -> Prefixed<IpAddr> {
    Prefixed { address: catalogue::network(SOURCE_IPV6.into(), 48), len: 48 }
}

/// An address of no route, if there is one.
pub(super) fn stranger(config: &Config) -> Option<Ipv4Addr> {
    let covers = |host: Ipv4Addr| {
        config.all_routes().any(|(Network { vrf, address, len }, _)| {
            vrf == 0 && address.is_ipv4() && catalogue::network(host.into(), len) == address
        })
    };
    STRANGERS.into_iter().find(|host| !covers(*host))
}

/// The same for IPv6.
pub(super) fn stranger_ipv6(config: &Config) -> Option<Ipv6Addr> {
    let covers = |host: Ipv6Addr| {
        config.all_routes().any(|(Network { vrf, address, len }, _)| {
            vrf == 0 && address.is_ipv6() && catalogue::network(host.into(), len) == address
        })
    };
    let strangers = [Ipv6Addr::new(0x3fff, 0x0fff, 1, 0, 0, 0, 0, 9)];
    strangers.into_iter().find(|host| !covers(*host))
}

/// A host that sends to the visitor.
pub(super) const SOURCE: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 1);

/// Addresses that few tables have a route to.
const STRANGERS: [Ipv4Addr; 4] = [
    Ipv4Addr::new(203, 0, 113, 9),
    Ipv4Addr::new(192, 0, 2, 9),
    Ipv4Addr::new(100, 127, 255, 9),
    Ipv4Addr::new(9, 9, 9, 9),
];

/// The visitor's IPv6 network.
const VISITED_IPV6: Ipv6Addr = Ipv6Addr::new(0x3fff, 0x0ffe, 1, 0, 0, 0, 0, 0);

/// A host in it.
pub(super) const VISITED_HOST_IPV6: Ipv6Addr = Ipv6Addr::new(0x3fff, 0x0ffe, 1, 0, 0, 0, 0, 9);

/// Who sends to it.
pub(super) const SOURCE_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1);

/// Sizes of ordinary frames, check sequence included; up to a usual link's largest.
const ORDINARY_SIZES: [(u16, u32); 5] = [(64, 4), (65, 1), (128, 1), (570, 1), (1518, 1)];

/// Ordinary frames in each direction.
const ORDINARY_FRAMES: u64 = 150;

/// The longest frame of a sample, without check sequence: what every device can carry.
const FRAME_LEN_MAX: usize = 1514;
