//! IPoE: clients of DHCP, of both versions, and hosts that ask for a router. Of a session of PPPoE
//! the latter two are the same.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use function_bng::config::Line;
use protocol_dhcp::{self as dhcp, Client, Command, LeaseId, Prefix, Report, Return, Said, Words};
use protocol_kit::{Output, Time};
use protocol_radius::Credentials;
use wire::MacAddr;

use crate::config::PoolKind;
use crate::core::Core;
use crate::frame::{Heard, Place, datagram, is_solicitation};
use crate::granted::v6_of;
use crate::session::{Session, State, Version, Waiter, Why};

impl Core {
    /// A client of DHCP says something. One of a session of PPPoE is on a line of its own.
    pub fn hear_dhcp(&mut self, version: Version, heard: &Heard<'_>, now: Time) -> Option<()> {
        let datagram = datagram(&heard.content)?;
        let line = match heard.pppoe {
            None => dhcp::Line(u32::from(heard.line.outer) << 12 | u32::from(heard.line.inner)),
            Some(_) if version == Version::V4 => return None,
            Some(id) => dhcp::Line(PPPOE | self.sessions.of_link(heard.line, id)?),
        };
        let heard = dhcp::Heard {
            line,
            mac: heard.from,
            from: datagram.from,
            to: datagram.to,
            bytes: datagram.payload.to_vec(),
        };
        self.dhcp(version, Command::Heard(heard), now);
        Some(())
    }

    /// What a server or relay of DHCP reports.
    pub fn told_by_dhcp(&mut self, version: Version, output: Output<Report>, now: Time) {
        let report = match output {
            Output::Report(report) => report,
            Output::Departure(departure) => return self.depart(version, departure),
        };
        match report {
            Report::Said(said) => _ = self.say(version, &said),
            Report::Wanted(lease, client, words) => self.want(version, lease, &client, words, now),
            Report::Up { lease, session, prefixes } => {
                let Some(number) = self.sessions.of_key(session) else { return };
                if self.is_relayed(version) {
                    return self.hold(number, (version, lease), prefixes, now);
                }
                self.use_all(number, version, &prefixes);
                self.settle(number, Some(Waiter::Lease(version, lease)), now);
            }
            Report::Gone { lease, prefixes, why, is_last, .. } => {
                self.lose(version, lease, &prefixes, (why, is_last), now);
            }
            Report::Server(place, is_up) => self.told_of_server(version, place, is_up),
            // A lease that lives longer changes nothing, and pools there are none.
            Report::Renewed(_) | Report::Taken { .. } | Report::Pool(_) => {}
        }
    }

    /// A message goes to a line.
    fn say(&mut self, version: Version, said: &Said) -> Option<()> {
        let port = match version {
            Version::V4 => 67,
            Version::V6 => 547,
        };
        let place = match said.line.0 & PPPOE {
            0 => {
                let [outer, inner] =
                    [said.line.0 >> 12, said.line.0 & 0xfff].map(|vlan| vlan as u16);
                Place { line: Line { outer, inner }, mac: said.mac, pppoe: None }
            }
            _ => self.sessions.get(said.line.0 & !PPPOE)?.place(),
        };
        let ends = [(said.from, port), (said.to, said.port)];
        let frame = self.places.access.datagram(place, ends, &said.bytes)?;
        self.notes.inject(frame);
        Some(())
    }

    /// A client wants something for the first time.
    fn want(&mut self, version: Version, lease: LeaseId, client: &Client, words: Words, now: Time) {
        let number = match client.line.0 & PPPOE {
            0 => {
                let [outer, inner] =
                    [client.line.0 >> 12, client.line.0 & 0xfff].map(|vlan| vlan as u16);
                self.station(Line { outer, inner }, client.mac, now)
            }
            _ => {
                let number = client.line.0 & !PPPOE;
                self.sessions.get(number).is_some_and(|it| it.state == State::Up).then_some(number)
            }
        };
        let Some(number) = number else {
            return self.dhcp(version, Command::Reject(lease), now);
        };
        if let Some(session) = self.sessions.get_mut(number) {
            if session.circuit.is_empty() && session.remote.is_empty() {
                (session.circuit, session.remote) = (words.circuit_id, words.remote_id);
            }
            session.wish = session.wish.or(words.wish);
        }
        // A station has one client of each version: one that calls itself otherwise takes its
        // place.
        if let Some(before) = self.sessions.set_lease(number, version, Some(lease)) {
            self.dhcp(version, Command::End(before), now);
        }
        self.seek(number, Waiter::Lease(version, lease), Credentials::None, now);
    }

    /// The session of a station on a line, which begins if there is none.
    fn station(&mut self, line: Line, mac: MacAddr, now: Time) -> Option<u32> {
        let known = self.sessions.of_station(line, mac);
        known.or_else(|| self.begin(Session::new(line, mac, None, now)))
    }

    /// A client uses all that it was offered.
    pub fn use_all(&mut self, number: u32, version: Version, prefixes: &[Prefix]) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        for kind in kinds(version) {
            if let Some(given) = session.given[*kind as usize] {
                session.active[*kind as usize] |= prefixes.contains(&given);
            }
        }
    }

    /// A client has something no more, or nothing at all. A session ends with its last lease, and
    /// when the gateway would have nothing of it any more.
    fn lose(
        &mut self,
        version: Version,
        lease: LeaseId,
        prefixes: &[Prefix],
        (why, is_last): (dhcp::Why, bool),
        now: Time,
    ) {
        // One that has given way to another is nobody's.
        let Some(number) = self.sessions.of_lease(version, lease) else { return };
        if is_last {
            self.sessions.set_lease(number, version, None);
        }
        let Some(session) = self.sessions.get_mut(number) else { return };
        // What it has had its last record tells.
        if session.ending.is_some() {
            return;
        }
        let is_declined = why == dhcp::Why::Declined;
        let had_some = kinds(version).iter().any(|kind| session.active[*kind as usize]);
        let mut active = session.active;
        for kind in kinds(version).iter().map(|kind| *kind as usize) {
            if session.given[kind].is_some_and(|given| prefixes.contains(&given)) {
                active[kind] = false;
                session.is_declined[kind] |= is_declined;
            }
        }
        session.asking.retain(|waiter| *waiter != Waiter::Lease(version, lease));
        let has_none = active == [false; 4];
        let is_last = session.leases == [None; 2] && (had_some || has_none);
        let is_over = session.pppoe.is_none() && (is_last || session.set.is_some() && has_none);
        if !is_over {
            session.active = active;
            if is_declined {
                self.forgo(number, version, now);
            }
            return self.settle(number, None, now);
        }
        let why = match why {
            dhcp::Why::Released | dhcp::Why::Declined | dhcp::Why::Ended => Why::Released,
            dhcp::Why::Expired => Why::Lost,
            dhcp::Why::NotTaken | dhcp::Why::Elsewhere => Why::NotTaken,
            dhcp::Why::Rejected => Why::Rejected,
            dhcp::Why::Unanswered => Why::Unanswered,
            dhcp::Why::Unacknowledged | dhcp::Why::Withdrawn => Why::Refused,
        };
        self.end(number, why, now);
    }

    /// A session that goes on has no more what its client has declined. It waits for so long that
    /// the gateway lets it pass no more when somebody else is given it. What is fixed beside the
    /// pools stays: the session can have nothing else.
    fn forgo(&mut self, number: u32, version: Version, now: Time) {
        for kind in kinds(version).iter().map(|kind| *kind as usize) {
            let Some(session) = self.sessions.get(number) else { return };
            let given = session.given[kind].filter(|_| session.is_declined[kind]);
            let of_pool = given.filter(|given| self.pool_of(*given).is_some());
            if let Some(prefix) = of_pool {
                self.pools.give_back(prefix, number, Return::Declined, now);
            }
            if let Some(session) = self.sessions.get_mut(number) {
                session.given[kind] = session.given[kind].filter(|_| of_pool.is_none());
                session.is_declined[kind] = false;
            }
        }
        // A lease that has something else yet would be given the same again.
        let lease = self.sessions.get(number).and_then(|it| it.leases[version as usize]);
        if let Some(lease) = lease {
            self.dhcp(version, Command::End(lease), now);
        }
    }

    /// A host asks for a router.
    pub fn hear_solicitation(&mut self, heard: &Heard<'_>, packet: &[u8], now: Time) -> Option<()> {
        if !is_solicitation(packet) {
            return None;
        }
        let ip = wire::ipv6::View::parse(packet).ok()?;
        let number = match heard.pppoe {
            Some(id) => self.sessions.of_link(heard.line, id)?,
            None if !self.has_slaac() => return None,
            None => self.station(heard.line, heard.from, now)?,
        };
        let session = self.sessions.get_mut(number)?;
        session.host = ip.source();
        let is_of_ppp = session.pppoe.is_some() && session.state != State::Up;
        if is_of_ppp || session.asking.contains(&Waiter::Solicitation) {
            return None;
        }
        self.seek(number, Waiter::Solicitation, Credentials::None, now);
        Some(())
    }

    /// Whether stations without a lease can be given a prefix.
    fn has_slaac(&self) -> bool {
        self.config.radius.is_some()
            || self.config.pools.iter().any(|pool| pool.kind == PoolKind::Slaac)
    }

    /// Sends a router advertisement (RFC 4861 section 4.2).
    pub fn advertise(&mut self, number: u32) {
        let Some(session) = self.sessions.get(number) else { return };
        let Some(prefix) = session.used(PoolKind::Slaac) else { return };
        let Some(address) = v6_of(prefix) else { return };
        let is_managed =
            self.may_have(number, PoolKind::Na) || self.may_have(number, PoolKind::Delegated);
        let dns: Vec<Ipv6Addr> = self
            .config
            .dns
            .iter()
            .filter_map(|address| match address {
                IpAddr::V6(address) => Some(*address),
                IpAddr::V4(_) => None,
            })
            .collect();
        let mut message = vec![ADVERTISEMENT, 0, 0, 0, 64, if is_managed { MANAGED } else { 0 }];
        message.extend(LIFETIME_S.to_be_bytes());
        message.extend([0; 8]);
        if session.pppoe.is_none() {
            message.extend([1, 1]);
            message.extend(self.places.access.mac.0);
        }
        // The prefix is the host's alone, but its neighbours are reached by the router.
        message.extend([3, 4, 64, AUTONOMOUS]);
        message.extend(u32::from(LIFETIME_S).to_be_bytes());
        message.extend(u32::from(LIFETIME_S).to_be_bytes());
        message.extend([0; 4]);
        message.extend(address.octets());
        if !dns.is_empty() {
            message.extend([25, 1 + 2 * dns.len() as u8, 0, 0]);
            message.extend(u32::from(LIFETIME_S).to_be_bytes());
            dns.iter().for_each(|address| message.extend(address.octets()));
        }
        // One without an address hears what is for all.
        let to = match session.host {
            host if host.is_unspecified() => ALL_NODES,
            host => host,
        };
        let frame =
            self.places.access.icmpv6(session.place(), (self.places.link_local, to), message);
        if let Some(frame) = frame {
            self.notes.inject(frame);
        }
    }

    /// A prefix that is advertised for the first time is advertised again before it is over.
    pub fn advertise_again(&mut self, number: u32, now: Time) {
        self.advertising.begin(number, Duration::from_secs(u64::from(LIFETIME_S) / 3), now);
    }
}

/// What leases of a version give.
pub(crate) fn kinds(version: Version) -> &'static [PoolKind] {
    match version {
        Version::V4 => &[PoolKind::Ipv4],
        Version::V6 => &[PoolKind::Na, PoolKind::Delegated],
    }
}

/// Marks the lines that are sessions of PPPoE, by their numbers.
pub(crate) const PPPOE: u32 = 1 << 31;

const ADVERTISEMENT: u8 = 134;

/// Addresses, and other things, are to be had by DHCPv6.
const MANAGED: u8 = 0xc0;

/// Hosts make addresses of the prefix.
const AUTONOMOUS: u8 = 0x40;

/// For how long an advertisement is good, in seconds.
const LIFETIME_S: u16 = 5400;

const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
