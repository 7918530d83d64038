//! The far end of the next hop that a router watches: the neighbour's session of BFD, as the tester
//! plays it, and what frames took the path to it.
//!
//! ```text
//!  the router's packet  --> machine of BFD --> the neighbour's packets
//!  the path fails       --> neither comes through, and frames to the neighbour are lost
//! ```
//! The machine is the one of `crates/protocols/bfd`, which the router has, too: what a device makes
//! of another implementation is shown by the daemon's tests with FRR and BIRD.
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use function_kit::Invalid;
use function_kit::sections::function_key;
use function_l3_router::config::{Config, NextHop};
use machine::clock::{Clock, Ticks};
use packet::PortId;
use protocol_bfd::{Bfd, Command, Path, Reach};
use protocol_kit::{Arrival, Departure, Input, Interface, Machine, Opening, Output, Socket, Time};
use stages::datagram::{self, Datagram, HEADERS_MAX, Received};
use traffic::Delivery;
use traffic::workload::PathUse;
use wire::MacAddr;

use crate::ports::Numbered;

/// The neighbour that is watched.
pub(super) struct FarEnd {
    /// The port behind which it is.
    pub port: PortId,
    /// Destination and source of its frames.
    macs: [MacAddr; 2],
    bfd: Bfd,
    /// Source ports by the machine's sockets.
    source_ports: BTreeMap<Socket, u16>,
    clock: Clock,
    begun: Option<Ticks>,
    /// The machine wants to be polled then.
    due: Ticks,
    is_up: bool,
    has_failed: bool,
    /// What took the path.
    pub used: PathUse,
    frame: [u8; HEADERS_MAX + PAYLOAD_MAX],
}

impl FarEnd {
    /// That of the watched next hop of a validated configuration; `None` without one.
    pub fn new(config: &Config, seed: u64, clock: Clock) -> Option<FarEnd> {
        let (_, hop) = watched(config)?;
        let (own, peer) = (ends(config, &hop)?, hop.bfd?);
        let port = config.number_of(hop.port);
        let interval = Duration::from_millis(peer.interval_ms.into());
        let mut bfd = Bfd::new(1, seed);
        let session = protocol_bfd::Config {
            path: Path { reach: Reach::SingleHop(LINK), local: own.1, peer: own.0 },
            discriminator: None,
            desired_min_tx: interval,
            required_min_rx: interval,
            detect_multiplier: peer.multiplier,
            required_min_echo_rx: Duration::ZERO,
            echo: None,
            is_passive: false,
            authentication: None,
        };
        bfd.input(Time::ZERO, Input::Command(Command::Add(0, session)));
        Some(FarEnd {
            port,
            macs: [config.mac(port), hop.mac.0],
            bfd,
            source_ports: BTreeMap::new(),
            clock,
            begun: None,
            due: 0,
            is_up: true,
            has_failed: false,
            used: PathUse::default(),
            frame: [0; HEADERS_MAX + PAYLOAD_MAX],
        })
    }

    /// Notes a frame of the load that was sent at a time and took the path to the neighbour.
    pub fn take(&mut self, sent: Ticks) -> Delivery {
        let used = &mut self.used;
        if !self.is_up {
            used.lost += 1;
            used.last_lost = used.last_lost.max(Some(sent));
            return Delivery::Lost;
        }
        let (count, first) = match self.has_failed {
            false => (&mut used.carried, &mut used.first),
            true => (&mut used.returned, &mut used.first_returned),
        };
        *count += 1;
        first.get_or_insert(sent);
        Delivery::AsExpected
    }

    pub fn hear(&mut self, port: PortId, frame: &[u8], now: Ticks) -> bool {
        let is_its = port == self.port && frame.starts_with(&self.macs[1].0);
        let read = datagram::read(frame).filter(|_| is_its);
        let Some(Received { from, to, ttl, datagram }) = read else { return false };
        if datagram.destination_port() != protocol_bfd::sockets::CONTROL {
            return false;
        }
        let listens = |(socket, port): (&Socket, &u16)| {
            let is_listener = *port == protocol_bfd::sockets::CONTROL;
            let is_ipv6 = protocol_bfd::sockets::is_ipv6(*socket) == Some(to.is_ipv6());
            (is_listener && is_ipv6).then_some(*socket)
        };
        let socket = self.source_ports.iter().find_map(listens).filter(|_| self.is_up);
        if let Some(socket) = socket {
            let from = (from, datagram.source_port()).into();
            let bytes = datagram.payload();
            let arrival = Arrival::Datagram { socket, interface: LINK, from, to, ttl, bytes };
            let time = self.time(now);
            self.bfd.input(time, Input::Arrival(arrival));
            self.due = now;
        }
        true
    }

    pub fn say(&mut self, now: Ticks) -> Option<&[u8]> {
        if now < self.due {
            return None;
        }
        let time = self.time(now);
        while let Some(output) = self.bfd.poll(time) {
            match output {
                Output::Departure(Departure::Open {
                    socket,
                    opening: Opening::Datagrams { local, .. },
                }) => {
                    self.source_ports.insert(socket, local.port());
                }
                Output::Departure(Departure::Close { socket }) => {
                    self.source_ports.remove(&socket);
                }
                Output::Departure(Departure::Datagram { socket, from, to, ttl, bytes, .. })
                    if self.is_up =>
                {
                    let source_port = self.source_ports.get(&socket).copied().unwrap_or(0);
                    let datagram = Datagram {
                        macs: self.macs,
                        from,
                        to: to.ip(),
                        ports: [source_port, to.port()],
                        ttl,
                        dscp: DSCP,
                        payload: &bytes,
                    };
                    let len = datagram.write(&mut self.frame)?;
                    return Some(&self.frame[..len]);
                }
                _ => {}
            }
        }
        let deadline = self.bfd.deadline().map_or(Duration::MAX, |at| at.since(Time::ZERO));
        let begun = self.begun.unwrap_or(now);
        self.due = begun.saturating_add(self.clock.ticks(deadline));
        None
    }

    /// The path fails, or is mended.
    pub fn set_path(&mut self, is_up: bool, now: Ticks) {
        self.is_up = is_up;
        self.has_failed |= !is_up;
        self.due = now;
    }

    fn time(&mut self, now: Ticks) -> Time {
        let begun = *self.begun.get_or_insert(now);
        Time(self.clock.nanos(now.saturating_sub(begun)))
    }
}

/// The next hop that is watched, with its number.
pub(super) fn watched(config: &Config) -> Option<(u32, NextHop)> {
    config.all_next_hops().find(|(_, hop)| hop.bfd.is_some())
}

/// The addresses of both ends of a next hop's session: the router's, then its own.
pub(super) fn ends(config: &Config, hop: &NextHop) -> Option<(IpAddr, IpAddr)> {
    let all = config.all_interfaces();
    let port = config.number_of(hop.port);
    let own = all.iter().find(|one| one.port == port && one.vlan == 0)?;
    match (hop.ip, hop.ipv6) {
        (Some(ip), _) => Some((own.ip?.address.into(), ip.into())),
        (None, ipv6) => Some((own.ipv6?.address.into(), ipv6?.into())),
    }
}

/// Checks that the tester can play the far end of what a configuration watches.
///
/// # Errors
/// When it cannot.
pub(super) fn validate(config: &Config) -> Result<(), Invalid> {
    let refuse = |what: &str, remedy| Err(function_key("next-hops", what.to_owned(), remedy));
    let mut watched = config.all_next_hops().filter_map(|(_, hop)| Some((hop, hop.bfd?)));
    let Some((hop, session)) = watched.next() else { return Ok(()) };
    if watched.next().is_some() {
        let what = "have more than one session of BFD, and the tester plays one far end";
        return refuse(what, "Leave 'bfd' at one of them, or run the router as a daemon");
    }
    if hop.vlan.is_some() || hop.mac.0.0 == [0; 6] {
        let what = "have a session of BFD with one in a VLAN or without an Ethernet address, which \
                    the tester does not play";
        return refuse(what, "Give it 'mac' and no 'vlan', or run the router as a daemon");
    }
    let is_near = |ipv6: std::net::Ipv6Addr| hop.ip.is_none() && ipv6.is_unicast_link_local();
    if session.echo_ms > 0 || session.authentication.is_some() || hop.ipv6.is_some_and(is_near) {
        let what = "have a session of BFD with Echo packets, a key or a link-local address, which \
                    the tester does not play";
        return refuse(what, "Leave it out, or run the router as a daemon");
    }
    Ok(())
}

/// The link to the router, as the machine knows it.
const LINK: Interface = Interface(1);

/// Longest packet of BFD without authentication, in bytes, with room to spare.
const PAYLOAD_MAX: usize = 64;

/// The code point of network control (RFC 2474 section 4.2.2, class selector 6).
const DSCP: u8 = 48;
