//! Single frames to a box before it is measured: whose address is it, and does a frame pass?

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::{Opened, Port};
use machine::clock;
use model_kit::service::{Interface, NextHop, ReversePath, Router, Service};
use packet::{Batch, PortId, Room};
use wire::checksum::Sum;
use wire::{MacAddr, arp, ethernet, ipv4, ipv6, protocol, udp};

use crate::driver::DriverError;

/// A frame that the external device must forward.
pub(super) struct Probe {
    /// Port of the device at which the frame enters.
    pub from: usize,
    /// Bytes of the frame.
    pub frame: Vec<u8>,
    /// Port at which the frame must leave; it is recognised by [`MARK`] in it.
    pub to: usize,
    /// Description: `a packet for 20.0.0.1 to 02:…`.
    pub what: String,
}

/// The tester's ports, for single frames.
pub(super) struct Exchange<'a> {
    ports: Vec<&'a mut dyn Port>,
    batch: Batch,
    stop: &'a AtomicBool,
}

impl<'a> Exchange<'a> {
    /// Creates an exchange over the first queues of these ports.
    pub fn new(
        ports: &'a mut [Opened],
        frame_bytes_max: usize,
        stop: &'a AtomicBool,
    ) -> Result<Exchange<'a>, DriverError> {
        let room = Room { headroom: 0, frame: frame_bytes_max.max(FRAME_MIN), long: 0 };
        let batch = Batch::new(BATCH, room).map_err(|error| {
            DriverError::new(format!("no memory for a batch: {error}"), "free some memory")
        })?;
        let queues = ports.iter_mut().filter_map(|port| port.queues.first_mut());
        let ports = queues.map(|queue| queue.as_mut() as &mut dyn Port).collect();
        Ok(Exchange { ports, batch, stop })
    }

    /// Sends a frame every [`AGAIN`] until `answer` accepts a received frame, or the time is over.
    pub fn ask<T>(
        &mut self,
        from: usize,
        frame: &[u8],
        patience: Duration,
        is_answer: impl Fn(usize, &[u8]) -> Option<T>,
    ) -> Option<T> {
        let end = Instant::now() + patience;
        while Instant::now() < end && !self.stop.load(Ordering::Relaxed) {
            self.send(from, frame);
            let round = Instant::now() + AGAIN;
            while Instant::now() < round.min(end) {
                if let Some(found) = self.look(&is_answer) {
                    return Some(found);
                }
                std::thread::park_timeout(POLL);
            }
        }
        None
    }

    fn send(&mut self, from: usize, frame: &[u8]) {
        self.batch.clear();
        if let Some(room) = self.batch.append(PortId(from as u8), frame.len()) {
            room.copy_from_slice(frame);
            if let Some(port) = self.ports.get_mut(from) {
                // What is not taken now is sent again.
                let _ = port.transmit(&mut self.batch, &[0], clock::now());
            }
        }
    }

    fn look<T>(&mut self, is_answer: &impl Fn(usize, &[u8]) -> Option<T>) -> Option<T> {
        let mut found = None;
        for (number, port) in self.ports.iter_mut().enumerate() {
            self.batch.clear();
            port.receive(&mut self.batch, BATCH, clock::now());
            for slot in self.batch.slots() {
                found = found.or_else(|| is_answer(number, self.batch.frame(slot)));
            }
        }
        found
    }
}

/// Resolves the Ethernet address of the external device at a port with an IP address, by ARP (RFC
/// 826) or Neighbor Discovery (RFC 4861 section 4.3); `None` without an answer.
pub(super) fn resolve(
    exchange: &mut Exchange<'_>,
    port: usize,
    interface: &Interface,
    patience: Duration,
) -> Option<MacAddr> {
    if let Some((address, _)) = interface.ipv4 {
        let request = arp_request(address);
        let found = exchange.ask(port, &request, patience, |at, frame| {
            let reply = arp::View::parse(frame.get(ethernet::HEADER_LEN..)?).ok()?;
            let is_arp = frame[12..14] == ethernet::TYPE_ARP.to_be_bytes();
            (at == port && is_arp && reply.sender_ip() == address).then(|| reply.sender_mac())
        });
        if found.is_some() {
            return found;
        }
    }
    let (address, _) = interface.ipv6?;
    let solicitation = solicitation(address);
    exchange.ask(port, &solicitation, patience, |at, frame| {
        let message = frame.get(ethernet::HEADER_LEN + ipv6::HEADER_LEN..)?;
        let is_advertisement = frame[12..14] == ethernet::TYPE_IPV6.to_be_bytes()
            && frame[ethernet::HEADER_LEN + 6] == ICMPV6
            && message.first() == Some(&ADVERTISEMENT)
            && message.get(8..24) == Some(&address.octets());
        let source: [u8; 6] = frame[6..12].try_into().ok()?;
        (at == port && is_advertisement).then_some(MacAddr(source))
    })
}

/// Returns frames whose arrival shows that the device forwards; empty if no such frame is known for
/// the service.
pub(super) fn probes(service: &Service) -> Vec<Probe> {
    // What else is asked of the box might stop them.
    if !service.beyond().is_empty() {
        return Vec::new();
    }
    match service {
        Service::Router(router) => {
            let asks_nothing =
                |port: &usize| router.interfaces[*port].reverse_path == ReversePath::None;
            let ports = (0..router.interfaces.len()).filter(asks_nothing);
            ports.filter_map(|port| through_router(router, port)).collect()
        }
        Service::Bridge(bridge) => {
            let patched = bridge.patch.is_some() || (bridge.floods && bridge.stations.is_empty());
            let unknown = [(TESTER, PortId(0)), (OTHER, PortId(1))];
            let stations = if patched { &unknown[..] } else { &bridge.stations[..] };
            let Some(&(source, from)) = stations.first() else { return Vec::new() };
            let other = stations.iter().find(|(_, port)| *port != from);
            let Some(&(destination, to)) = other else { return Vec::new() };
            vec![Probe {
                from: usize::from(from.0),
                frame: packet((destination, source), TO_NOBODY.into()),
                to: usize::from(to.0),
                what: format!("a frame from {source} to {destination}"),
            }]
        }
        Service::MobileGateway(gateway) => {
            let interface = gateway.router.interfaces.get(1);
            let user = interface.zip(gateway.users.first());
            let probe = user.map(|(interface, user)| Probe {
                from: 1,
                frame: packet((interface.mac, TESTER), user.ipv4.into()),
                to: 0,
                what: format!("a packet for user {} to {}", user.ipv4, interface.mac),
            });
            probe.into_iter().collect()
        }
        Service::Nat(_) | Service::BroadbandGateway(_) | Service::Chain(_) => Vec::new(),
    }
}

/// Returns a packet from a port to the first route that leads out of another port.
fn through_router(router: &Router, from: usize) -> Option<Probe> {
    let leads_out = |hop: &NextHop| usize::from(hop.port.0) != from;
    let route = router
        .routes
        .iter()
        .find(|route| router.next_hops.get(route.next_hop as usize).is_some_and(leads_out))?;
    let hop = router.next_hops.get(route.next_hop as usize)?;
    let own = router.interfaces.get(from)?.mac;
    let host: IpAddr = match route.prefix {
        IpAddr::V4(network) if route.len < 31 => Ipv4Addr::from_bits(network.to_bits() | 1).into(),
        IpAddr::V6(network) if route.len < 127 => Ipv6Addr::from_bits(network.to_bits() | 1).into(),
        address => address,
    };
    Some(Probe {
        from,
        frame: packet((own, TESTER), host),
        to: usize::from(hop.port.0),
        what: format!("a packet for {host} to {own}"),
    })
}

/// Returns a UDP packet with the mark, in a frame with these addresses, destination first.
fn packet((to, from): (MacAddr, MacAddr), destination: IpAddr) -> Vec<u8> {
    let udp_len = udp::HEADER_LEN + MARK.len();
    let mut datagram = vec![0; udp_len];
    // UDP port 9, discard.
    datagram[..4].copy_from_slice(&[0, 9, 0, 9]);
    datagram[4..6].copy_from_slice(&(udp_len as u16).to_be_bytes());
    datagram[udp::HEADER_LEN..].copy_from_slice(MARK);
    match destination {
        IpAddr::V4(destination) => {
            let mut header = [0; ipv4::HEADER_LEN];
            ipv4::Fields {
                dscp: 0,
                ecn: 0,
                total_len: (ipv4::HEADER_LEN + udp_len) as u16,
                identification: 0,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset: 0,
                ttl: 64,
                protocol: protocol::UDP,
                source: TO_NOBODY,
                destination,
            }
            .emit(&mut header);
            frame((to, from), ethernet::TYPE_IPV4, &[&header[..], &datagram].concat())
        }
        IpAddr::V6(destination) => {
            let source = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1);
            let sum = checksum_ipv6(source, destination, protocol::UDP, &datagram);
            datagram[6..8].copy_from_slice(&sum.to_be_bytes());
            let header = ipv6_header(source, destination, protocol::UDP, udp_len, 64);
            frame((to, from), ethernet::TYPE_IPV6, &[&header[..], &datagram].concat())
        }
    }
}

fn arp_request(address: Ipv4Addr) -> Vec<u8> {
    let mut request = [0; arp::HEADER_LEN];
    arp::Fields {
        operation: arp::OPERATION_REQUEST,
        sender_mac: TESTER,
        // A probe (RFC 5227 section 1.1): it changes no table.
        sender_ip: Ipv4Addr::UNSPECIFIED,
        target_mac: MacAddr([0; 6]),
        target_ip: address,
    }
    .emit(&mut request);
    frame((MacAddr::BROADCAST, TESTER), ethernet::TYPE_ARP, &request)
}

/// Returns a Neighbor Solicitation (RFC 4861 section 4.3) from a link-local address to the
/// solicited-node group.
fn solicitation(address: Ipv6Addr) -> Vec<u8> {
    let [.., a, b, c] = address.octets();
    let group = Ipv6Addr::from_bits(SOLICITED_NODE | u128::from(u32::from_be_bytes([0, a, b, c])));
    let source = Ipv6Addr::from_bits(0xfe80 << 112 | 0x706c_756d);
    let mut message = vec![SOLICITATION, 0, 0, 0, 0, 0, 0, 0];
    message.extend(address.octets());
    message.extend([SOURCE_LINK_LAYER, 1]);
    message.extend(TESTER.0);
    let sum = checksum_ipv6(source, group, ICMPV6, &message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let header = ipv6_header(source, group, ICMPV6, message.len(), 255);
    let station = MacAddr([0x33, 0x33, 0xff, a, b, c]);
    frame((station, TESTER), ethernet::TYPE_IPV6, &[&header[..], &message].concat())
}

fn ipv6_header(
    source: Ipv6Addr,
    destination: Ipv6Addr,
    next_header: u8,
    payload_len: usize,
    hop_limit: u8,
) -> [u8; ipv6::HEADER_LEN] {
    let mut header = [0; ipv6::HEADER_LEN];
    let payload_len = payload_len as u16;
    let (traffic_class, flow_label) = (0, 0);
    let fields = ipv6::Fields {
        traffic_class,
        flow_label,
        payload_len,
        next_header,
        hop_limit,
        source,
        destination,
    };
    fields.emit(&mut header);
    header
}

/// Returns the upper-layer checksum of IPv6 (RFC 8200 section 8.1).
fn checksum_ipv6(source: Ipv6Addr, destination: Ipv6Addr, kind: u8, message: &[u8]) -> u16 {
    let mut pseudo = [source.octets(), destination.octets()].concat();
    pseudo.extend((message.len() as u32).to_be_bytes());
    pseudo.extend([0, 0, 0, kind]);
    Sum::ZERO.add_bytes(&[&pseudo, message].concat()).checksum()
}

fn frame((to, from): (MacAddr, MacAddr), ether_type: u16, content: &[u8]) -> Vec<u8> {
    let mut header = [0; ethernet::HEADER_LEN];
    ethernet::Fields { destination: to, source: from, ether_type }.emit(&mut header);
    let mut frame = [&header[..], content].concat();
    frame.resize(frame.len().max(FRAME_MIN), 0);
    frame
}

/// Content by which a probe is recognised, whatever headers the device adds.
pub(super) const MARK: &[u8] = b"plumbline probe: does the box forward?";

/// Ethernet addresses of the tester and of another station, locally administered.
const TESTER: MacAddr = MacAddr([0x02, 0x70, 0x6c, 0x75, 0x6d, 0x62]);
const OTHER: MacAddr = MacAddr([0x02, 0x70, 0x6c, 0x75, 0x6d, 0x63]);

/// An unused address of the block for benchmarks (RFC 2544 appendix C.2.2).
const TO_NOBODY: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);

const ICMPV6: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
const SOURCE_LINK_LAYER: u8 = 1;
/// Solicited-node prefix, ff02::1:ff00:0 (RFC 4291 section 2.7.1).
const SOLICITED_NODE: u128 = 0xff02 << 112 | 0x1_ff00_0000;

/// Shortest Ethernet frame without frame check sequence, in bytes (IEEE 802.3 section 4.4.2).
const FRAME_MIN: usize = 60;
const BATCH: usize = 64;
const AGAIN: Duration = Duration::from_millis(200);
const POLL: Duration = Duration::from_millis(1);
