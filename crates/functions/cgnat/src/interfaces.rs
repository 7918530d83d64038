//! Interfaces: their addresses, and to whom frames go on each side; and links to other workers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use engine::Refusal;
use function_kit::{PortName, SetupError};
use packet::PortId;
use stages::virtuals::{Virtual, Virtuals};
use wire::bytes::{array_at, u16_at};
use wire::{MacAddr, arp, ethernet, ipv4, ipv6};

use crate::bypass::Bypass;
use crate::config::{Config, PoolsAnswer, Prefixed, Role};
use crate::ds_lite::{self, DsLite};
use crate::further::{Further, Own, numbered};
use crate::hosting::{has_ipv6, host_interfaces};
use crate::nat64::Nat64;
use crate::sessions::addresses::Addresses;
use crate::siit::Siit;
use crate::terms::Terms;
use crate::translation::Rules;
use crate::types::flow::Inside;
use crate::types::networks::holds;
use crate::types::sides::{
    INSIDE, OUTSIDE, Station, UNADDRESSED, first_of_side, is_further, is_worker, side,
};
use crate::vrfs::Vrfs;

/// What is configured of interfaces; what there is of both sides has the inside first.
#[derive(Debug)]
pub struct Interfaces {
    /// Ethernet addresses.
    pub macs: [MacAddr; 2],
    ips: [Ipv4Addr; 2],
    ipv6: [Ipv6Addr; 2],
    /// The longest IPv4 packets that links take; the greatest number for no limit.
    mtus: [u16; 2],
    /// Destination and source address of a frame that leaves by each port, and of one for another
    /// worker; those of [`UNADDRESSED`] where the next hop is asked for its own.
    headers: [[u8; 12]; 2],
    between: [u8; 12],
    /// Interfaces beside those of the two ports; none where there are none.
    pub(crate) further: Option<Box<Further>>,
    /// What is configured of IPv6 subscribers; none where there are none.
    pub nat64: Option<Nat64>,
    /// What is configured of softwires; none where there are none.
    pub ds_lite: Option<DsLite>,
    /// VRFs behind the inside port; none where there are none.
    pub vrfs: Option<Vrfs>,
    /// What is configured of translation without sessions; none where there is none.
    pub siit: Option<Box<Siit>>,
    /// Whether enhanced GRE is that of calls of PPTP.
    pub has_calls: bool,
    /// Whose packets are forwarded as they are; none where all are translated.
    pub bypass: Option<Bypass>,
    /// What the configuration has beside outside addresses.
    terms: Terms,
    /// Outside addresses, for which the outside port answers ARP.
    outside: Vec<Prefixed<Ipv4Addr>>,
    /// Whether the outside port's own address is one of them.
    shares_ip: bool,
    /// Whether it answers for those.
    answers_pools: bool,
    always_answers_pools: bool,
    /// Those that the host has, too.
    hosted: Vec<PortId>,
    /// The numbers of all by port and VLAN.
    names: Vec<(PortName, u16, PortId)>,
    /// Whether those of each side have IPv6.
    has_ipv6: [bool; 2],
    /// The virtual addresses that they have at present.
    virtuals: Virtuals,
    /// The MAC addresses of the two ports' interfaces to which most frames go: virtual ones while
    /// they have some.
    usual: [MacAddr; 2],
}

impl Interfaces {
    /// Those of a configuration.
    ///
    /// # Errors
    /// When a table of them cannot be made.
    pub fn new(config: &Config) -> Result<Interfaces, SetupError> {
        let macs = [config.inside_mac.0, config.outside_mac.0];
        let next = [config.inside_next_hop_mac.0, config.outside_next_hop_mac.0];
        let header = |to: MacAddr, from: MacAddr| {
            let mut header = [0; 12];
            header[..6].copy_from_slice(&to.0);
            header[6..].copy_from_slice(&from.0);
            header
        };
        let memory = |source| SetupError::Memory { what: "routes of interfaces", source };
        let further = Further::new(config).map_err(memory)?.map(Box::new);
        let asked = [
            config.inside_next_hop.is_some() || config.inside_next_hop_ipv6.is_some(),
            config.outside_next_hop.is_some() || config.outside_next_hop_ipv6.is_some(),
        ];
        let asked = asked.map(|is_asked| is_asked || further.is_some());
        let headers = [0, 1].map(|side| match asked[side] {
            true => UNADDRESSED,
            false => header(next[side], macs[side]),
        });
        Ok(Interfaces {
            macs,
            ips: [config.inside_ip, config.outside_ip],
            ipv6: [config.inside_ipv6, config.outside_ipv6],
            mtus: [config.inside_mtu, config.outside_mtu].map(|mtu| match mtu {
                0 => u16::MAX,
                mtu => mtu,
            }),
            headers,
            further,
            between: header(macs[1], macs[1]),
            nat64: Nat64::new(config),
            ds_lite: DsLite::new(config),
            siit: Siit::new(config)?.map(Box::new),
            vrfs: Vrfs::new(config),
            bypass: Bypass::new(config),
            has_calls: config.alg.pptp,
            terms: Terms::new(config),
            shares_ip: has(config.outside().map(|(_, network)| network), config.outside_ip),
            outside: config.outside().map(|(_, network)| network).collect(),
            answers_pools: always_answers(config),
            always_answers_pools: always_answers(config),
            hosted: host_interfaces(config).iter().map(|one| PortId(one.number as u8)).collect(),
            names: [("inside", INSIDE), ("outside", OUTSIDE)]
                .map(|(name, port)| (PortName::new(name), 0, port))
                .into_iter()
                .chain(numbered(config).map(|(number, one)| (one.port, one.vlan, number)))
                .collect(),
            has_ipv6: [true, false].map(|is_inside| has_ipv6(config, is_inside)),
            virtuals: Virtuals::default(),
            usual: macs,
        })
    }

    /// The Ethernet address of an interface.
    pub fn mac(&self, port: PortId) -> MacAddr {
        self.own(port).map_or(self.macs[side(port)], |own| own.mac)
    }

    /// What the configuration has beside outside addresses.
    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The MAC address to which most frames at a port's interface go.
    pub fn usual_mac(&self, port: PortId) -> MacAddr {
        match is_further(port) {
            true => self.mac(port),
            false => self.usual[side(port)],
        }
    }

    /// Whether the host has an interface, too.
    pub(crate) fn is_hosted(&self, port: PortId) -> bool {
        self.hosted.contains(&port)
    }

    /// The virtual addresses that interfaces have at present.
    pub fn virtuals(&self) -> &Virtuals {
        &self.virtuals
    }

    /// The IPv4 address of an interface.
    pub fn ip(&self, port: PortId) -> Ipv4Addr {
        self.own(port).map_or(self.ips[side(port)], |own| own.ip)
    }

    /// Whether subscribers share the IPv4 address of an interface with the NAT itself: what no
    /// mapping takes is the NAT's own.
    pub(crate) fn shares_ip(&self, port: PortId) -> bool {
        self.shares_ip && port == OUTSIDE
    }

    /// The IPv6 address of an interface.
    pub fn ipv6(&self, port: PortId) -> Ipv6Addr {
        self.own(port).map_or(self.ipv6[side(port)], |own| own.ipv6)
    }

    /// Its MAC and IPv6 addresses.
    pub(crate) fn station(&self, port: PortId) -> Station {
        (self.mac(port), self.ipv6(port))
    }

    /// The interface by which a frame without MAC addresses leaves that is ready to leave by a
    /// side's first one: that one of the longest network that has its destination. What bears a
    /// VRF's tag leaves by the first one.
    pub(crate) fn way_out(&self, port: PortId, frame: &[u8]) -> PortId {
        let further = self.further.as_ref();
        let found = further.and_then(|further| further.way_out(port, destination(frame)?));
        found.unwrap_or(port)
    }

    fn own(&self, port: PortId) -> Option<&Own> {
        self.further.as_ref()?.own(port)
    }

    /// The longest IPv4 packet that links of an interface take, in bytes; between workers there is
    /// no limit.
    pub fn mtu(&self, port: PortId) -> u16 {
        if is_worker(port) { u16::MAX } else { self.mtus[side(port)] }
    }

    /// Destination and source address of a frame that leaves by a port: between workers those of
    /// the outside port.
    #[inline(always)]
    pub fn header(&self, port: PortId) -> [u8; 12] {
        match port {
            INSIDE | OUTSIDE => self.headers[side(port)],
            _ => self.between,
        }
    }

    /// The shorter one of both; none without a limit.
    pub fn shortest_mtu(&self) -> Option<u16> {
        let [one, other] = self.mtus;
        Some(one.min(other)).filter(|&mtu| mtu < u16::MAX)
    }

    /// How packets become those of the other family of addresses; none where they never do.
    pub fn rules(&self) -> Option<&Rules> {
        let of_sessions = self.nat64.as_ref().map(|nat64| &nat64.rules);
        of_sessions.or_else(|| self.siit.as_ref().map(|siit| &siit.rules))
    }

    /// Whether frames at the inside port may be of a realm of their own.
    pub fn has_realms(&self) -> bool {
        self.vrfs.is_some() || self.ds_lite.is_some()
    }

    /// Whether the address of a packet from inside is a subscriber's.
    pub fn is_subscriber(&self, key: &Inside) -> bool {
        if key.is_tunnelled() {
            return ds_lite::is_host(key);
        }
        match (key.address, &self.nat64) {
            ([0, address], _) if key.realm() != 0 => {
                let vrfs = self.vrfs.as_ref();
                vrfs.is_some_and(|vrfs| vrfs.is_subscriber(key.realm(), address as u32))
            }
            ([0, address], _) => {
                self.terms.inside.iter().any(|network| holds(*network, address as u32))
            }
            (address, nat64) => nat64.as_ref().is_some_and(|it| it.is_subscriber(address)),
        }
    }

    /// Whether subscribers have an IPv4 address, as the sender of a packet knows them.
    pub(crate) fn is_inside(&self, realm: u16, address: u32) -> bool {
        let of_vrf = |vrfs: &Vrfs| vrfs.is_subscriber(realm, address);
        self.terms.inside.iter().any(|network| holds(*network, address))
            || realm != 0 && self.vrfs.as_ref().is_some_and(of_vrf)
    }

    /// The address that an ARP request asks for at an interface, and the MAC address with which it
    /// is answered: for its own and virtual addresses, on the outside for those of pools and of
    /// hosts inside that are translated without sessions, too. None where it is not answered.
    /// Whoever announces its own address (RFC 5227 section 3) asks nothing, and an answer of a NAT
    /// that was active until now would lead switches back to it.
    pub fn arp_answer(&self, payload: &[u8], port: PortId) -> Option<(Ipv4Addr, MacAddr)> {
        let packet = arp::View::parse(payload).ok()?;
        let target = packet.target_ip();
        let is_pool = || self.is_outside(target);
        let is_host = || self.siit.as_ref().is_some_and(|it| it.answers(port, target));
        let is_known = target == self.ip(port)
            || self.virtuals.get(port.0.into(), target.into()).is_some()
            || first_of_side(port) == OUTSIDE && is_pool()
            || is_host();
        let is_asked = packet.operation() == arp::OPERATION_REQUEST && packet.sender_ip() != target;
        let mac = (is_asked && is_known).then(|| self.answer(port, target.into()))?;
        Some((target, mac?))
    }

    /// Whether an address is an interface's own, or on the outside one of pools for which it
    /// answers now; virtual ones are not.
    pub(crate) fn has(&self, port: PortId, address: Ipv4Addr) -> bool {
        let is_pool = || first_of_side(port) == OUTSIDE && self.is_outside(address);
        address == self.ip(port)
            || self.answers_pools
                && self.virtuals.get(port.0.into(), address.into()).is_none()
                && is_pool()
    }

    /// The MAC address with which an interface answers for an address that it answers for: its own,
    /// a virtual one, or one of hosts inside, for which it may stand aside.
    pub(crate) fn answer(&self, port: PortId, address: IpAddr) -> Option<MacAddr> {
        if [self.ip(port).into(), self.ipv6(port).into()].contains(&address) {
            return Some(self.mac(port));
        }
        if let Some(one) = self.virtuals.get(port.0.into(), address) {
            return Some(one.mac);
        }
        let usual = || self.virtuals.usual(port.0.into(), address.is_ipv6());
        self.answers_pools.then(|| usual().unwrap_or(self.mac(port)))
    }

    /// Whether an address is outside one of subscribers.
    fn is_outside(&self, address: Ipv4Addr) -> bool {
        has(self.outside.iter().copied(), address)
    }

    /// Says whether it is the active one of several NATs.
    pub(crate) fn set_active(&mut self, active: bool) {
        self.answers_pools = active || self.always_answers_pools;
    }

    /// Makes a virtual address an interface's.
    ///
    /// # Errors
    /// When it cannot have the address; nothing has changed then.
    pub(crate) fn set_virtual(
        &mut self,
        at: (PortName, Option<u16>),
        address: IpAddr,
        one: Virtual,
    ) -> Result<(), Refusal> {
        let port = self.named(at).ok_or(Refusal::NotFound)?;
        let has_family = address.is_ipv4() || self.has_ipv6[side(port)];
        let is_station =
            !one.mac.is_multicast() && ![MacAddr::ZERO, self.mac(port)].contains(&one.mac);
        if !has_family || !is_station || address.is_unspecified() || address.is_multicast() {
            return Err(Refusal::Invalid);
        }
        let is_outside = matches!(address, IpAddr::V4(address) if self.is_outside(address));
        if is_outside || [self.ip(port).into(), self.ipv6(port).into()].contains(&address) {
            return Err(Refusal::Exists);
        }
        let number = port.0.into();
        let count = self.virtuals.interfaces().filter(|&interface| interface == number).count();
        if self.virtuals.get(number, address).is_none() && count >= VIRTUALS_MAX {
            return Err(Refusal::Full);
        }
        self.virtuals.set(number, address, one);
        self.note_usual();
        Ok(())
    }

    /// Takes a virtual address from an interface.
    ///
    /// # Errors
    /// When it does not have it.
    pub(crate) fn remove_virtual(
        &mut self,
        at: (PortName, Option<u16>),
        address: IpAddr,
    ) -> Result<(), Refusal> {
        let port = self.named(at).ok_or(Refusal::NotFound)?;
        if !self.virtuals.remove(port.0.into(), address) {
            return Err(Refusal::NotFound);
        }
        self.note_usual();
        Ok(())
    }

    /// Whether a virtual address is in a network.
    pub(crate) fn has_virtual_in(&self, network: Prefixed<Ipv4Addr>) -> bool {
        let mut all = self.virtuals.addresses();
        all.any(|one| matches!(one, IpAddr::V4(one) if holds(network, one.to_bits())))
    }

    fn note_usual(&mut self) {
        self.usual = [INSIDE, OUTSIDE]
            .map(|port| self.virtuals.usual(port.0.into(), false).unwrap_or(self.macs[side(port)]));
    }

    fn named(&self, (name, vlan): (PortName, Option<u16>)) -> Option<PortId> {
        let is_it = |one: &&(PortName, u16, PortId)| (one.0, one.1) == (name, vlan.unwrap_or(0));
        self.names.iter().find(is_it).map(|(_, _, port)| *port)
    }

    /// The addresses that the outside port answers for, after a pool or a rule came or went.
    pub fn set_outside(&mut self, addresses: &Addresses) {
        self.outside = addresses.networks().collect();
        self.shares_ip = self.is_outside(self.ip(OUTSIDE));
    }
}

/// Whether one of these networks has an address.
fn has(mut networks: impl Iterator<Item = Prefixed<Ipv4Addr>>, address: Ipv4Addr) -> bool {
    networks.any(|network| holds(network, address.to_bits()))
}

/// Whether questions for the addresses of pools are answered whoever is active: a standby would
/// draw packets to itself that the active NAT has to get.
fn always_answers(config: &Config) -> bool {
    config.pools_answer == PoolsAnswer::Always && config.replication.role != Role::Standby
}

/// Most virtual addresses of an interface: one for each virtual router of a link.
const VIRTUALS_MAX: usize = 255;

/// The destination of a packet in a frame without a tag.
fn destination(frame: &[u8]) -> Option<IpAddr> {
    let packet = frame.get(ethernet::HEADER_LEN..)?;
    match u16_at(frame, ethernet::offset::TYPE) {
        ethernet::TYPE_IPV4 if packet.len() >= ipv4::HEADER_LEN => {
            Some(Ipv4Addr::from(array_at::<4>(packet, ipv4::offset::DESTINATION)).into())
        }
        ethernet::TYPE_IPV6 if packet.len() >= ipv6::HEADER_LEN => {
            Some(Ipv6Addr::from(array_at::<16>(packet, ipv6::offset::DESTINATION)).into())
        }
        _ => None,
    }
}
