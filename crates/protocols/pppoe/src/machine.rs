//! The access concentrator (RFC 2516 section 5, from the side that offers).
//!
//! It has no socket and no timer. The owner takes Ethernet and VLANs off a frame of discovery and
//! hands over what follows the EtherType ([`AccessConcentrator::receive`]); what is to be sent
//! comes out as [`Report::Send`]. Until a host has brought its cookie back nothing is kept of it.

use std::collections::VecDeque;

use protocol_kit::{Input, Machine, Output, Time};
use wire::ethernet::MacAddr;

use crate::config::{Config, Unusable};
use crate::control::{Command, Line, Opened, Origin, Reason, Report, View};
use crate::cookie::{Cookies, Worth, octets};
use crate::counters::Counters;
use crate::packet::{Packet, TAGS_LEN_MAX, code};
use crate::sessions::{Full, Place, Session, Sessions};
use crate::tags::{LineIds, Tags, kind, put};

/// An access concentrator with its sessions.
#[derive(Debug)]
pub struct AccessConcentrator {
    config: Config,
    cookies: Cookies,
    sessions: Sessions,
    is_welcoming: bool,
    reports: VecDeque<Report>,
    counters: Counters,
}

impl Machine for AccessConcentrator {
    type Command = Command;
    type Report = Report;

    /// Takes in a command. Nothing arrives by a socket.
    fn input(&mut self, _: Time, input: Input<'_, Command>) {
        let Input::Command(command) = input else { return };
        if let Err(why) = self.obey(command) {
            self.reports.push_back(Report::Refused { why });
        }
    }

    fn poll(&mut self, _: Time) -> Option<Output<Report>> {
        self.reports.pop_front().map(Output::Report)
    }

    fn deadline(&self) -> Option<Time> {
        (!self.reports.is_empty()).then_some(Time::ZERO)
    }
}

impl AccessConcentrator {
    /// Creates an access concentrator without sessions. The key makes cookies, and must be
    /// secret.
    ///
    /// # Errors
    /// Why the configuration cannot be used.
    pub fn new(config: Config, key: [u8; 32]) -> Result<AccessConcentrator, Unusable> {
        config.check()?;
        Ok(AccessConcentrator {
            config,
            cookies: Cookies::new(key),
            sessions: Sessions::default(),
            is_welcoming: true,
            reports: VecDeque::new(),
            counters: Counters::default(),
        })
    }

    /// Takes in a packet of discovery: what follows the EtherType, padding included.
    pub fn receive(&mut self, now: Time, origin: Origin, bytes: &[u8]) {
        if let Err(drop) = self.take(now, origin, bytes) {
            *counter(&mut self.counters, drop) += 1;
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Returns what a person sees of a session; `None` of one that does not exist.
    pub fn view(&self, session: u32) -> Option<View> {
        let Session { line, host, session_id, max_payload, .. } = *self.sessions.get(session)?;
        Some(View { line, host, session_id, max_payload })
    }

    /// Whether nothing is kept of anybody.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    fn take(&mut self, now: Time, origin: Origin, bytes: &[u8]) -> Result<(), Drop> {
        if self.reports.len() >= OUTPUTS_MAX {
            return Err(Drop::Congested);
        }
        if origin.from.is_multicast() || origin.from == MacAddr::ZERO {
            return Err(Drop::Source);
        }
        let packet = Packet::parse(bytes).map_err(|_| Drop::Malformed)?;
        let tags = Tags::parse(packet.payload).map_err(|_| Drop::Malformed)?;
        let (has_id, to_group) = (packet.session_id != 0, origin.is_to_group);
        match packet.code {
            code::PADO | code::PADS => Err(Drop::Server),
            code::PADI | code::PADR if has_id => Err(Drop::SessionId),
            code::PADT if !has_id => Err(Drop::SessionId),
            code::PADR | code::PADT if to_group => Err(Drop::Destination),
            code::PADI => self.offer(now, origin, tags),
            code::PADR => self.admit(now, origin, tags),
            code::PADT => self.terminate(origin, packet.session_id),
            _ => Err(Drop::Code),
        }
    }

    /// Answers a PADI, and keeps nothing of it.
    fn offer(&mut self, now: Time, origin: Origin, tags: Tags<'_>) -> Result<(), Drop> {
        let service = only_service(tags)?;
        if !self.is_welcoming {
            return Err(Drop::Unwelcome);
        }
        if !self.has_service(service) {
            return Err(Drop::OtherService);
        }
        let mut list = Vec::with_capacity(128);
        put(&mut list, kind::AC_NAME, &self.config.name);
        put(&mut list, kind::SERVICE_NAME, service);
        for other in self.config.services.iter().filter(|other| *other != service) {
            put(&mut list, kind::SERVICE_NAME, other);
        }
        put(&mut list, kind::AC_COOKIE, &self.cookies.bake(origin.line, origin.from, now));
        self.echo(tags, &mut list);
        self.send(origin, Packet { code: code::PADO, session_id: 0, payload: &list })?;
        self.counters.offered += 1;
        Ok(())
    }

    /// Answers a PADR: with a session, or with an error.
    fn admit(&mut self, now: Time, origin: Origin, tags: Tags<'_>) -> Result<(), Drop> {
        let service = only_service(tags)?;
        let Origin { line, from: host, .. } = origin;
        let cookie = tags.get(kind::AC_COOKIE).ok_or(Drop::NoCookie)?;
        let offered = self.judge(cookie, origin, now)?;
        if !self.has_service(service) {
            return self.refuse(origin, tags, kind::SERVICE_NAME_ERROR, Drop::RefusedService);
        }
        let request = self.request(tags, cookie);
        let known = self.sessions.of_host(line, host).find(|(_, one)| one.request == request);
        if let Some((_, session)) = known {
            // The host has not received the answer, or the network has repeated its request.
            let (session_id, max_payload) = (session.session_id, session.max_payload);
            let packet = self.confirmation(tags, session_id, max_payload)?;
            self.reports.push_back(Report::Send { line, to: host, packet });
            self.counters.repeated += 1;
            return Ok(());
        }
        if !self.is_welcoming {
            return self.refuse(origin, tags, kind::AC_SYSTEM_ERROR, Drop::Unwelcome);
        }
        let ids = match self.config.trusts_access_nodes {
            true => tags.line(),
            false => LineIds::default(),
        };
        let circuit = self.circuit(line, ids);
        let gives_way = match self.find_room(Place { line, host, circuit }, offered) {
            Ok(gives_way) => gives_way,
            Err(Drop::Late) => return Err(Drop::Late),
            Err(drop) => return self.refuse(origin, tags, kind::AC_SYSTEM_ERROR, drop),
        };
        let born = self.sessions.begun();
        let from = self.cookies.hash(ID, &[&octets(line), &host.0, &born.to_be_bytes()]) as u16;
        let Some(session_id) = self.sessions.free_id(line, from) else {
            return self.refuse(origin, tags, kind::AC_SYSTEM_ERROR, Drop::LimitMac);
        };
        let max_payload = self.max_payload(tags).unwrap_or(MAX_PAYLOAD);
        // A session that cannot be confirmed does not begin, and no other one ends for it.
        let confirmation = self.confirmation(tags, session_id, max_payload)?;
        if let Some(number) = gives_way {
            self.end(number, Reason::Replaced, b"replaced");
            self.counters.replaced += 1;
        }
        let number = self.sessions.add(Session {
            line,
            host,
            session_id,
            max_payload,
            circuit,
            request,
            offered,
            born,
        });
        let opened = Opened {
            line,
            host,
            session_id,
            max_payload,
            service: service.to_vec(),
            circuit: ids.circuit.map(<[u8]>::to_vec),
            remote: ids.remote.map(<[u8]>::to_vec),
        };
        self.reports.push_back(Report::Opened { session: number, opened });
        self.reports.push_back(Report::Send { line, to: host, packet: confirmation });
        self.counters.opened += 1;
        Ok(())
    }

    /// Judges what a host has brought back; returns when it was offered a session.
    fn judge(&self, cookie: &[u8], origin: Origin, now: Time) -> Result<Time, Drop> {
        let (whose, age_max) = ((origin.line, origin.from), self.config.cookie_time);
        match self.cookies.judge(cookie, whose, age_max, now) {
            Worth::Good(offered) => Ok(offered),
            Worth::Old => Err(Drop::OldCookie),
            Worth::False => Err(Drop::FalseCookie),
        }
    }

    /// Which session has to give way to another one, if any. That is the eldest of those of the
    /// same host on the same line that make room; none of them has ended yet.
    fn find_room(&self, place: Place, offered: Time) -> Result<Option<u32>, Drop> {
        let limits = self.config.limits;
        let Err(full) = self.sessions.admit(limits, place) else { return Ok(None) };
        let refused = Err(match full {
            Full::Total => Drop::LimitTotal,
            Full::Mac => Drop::LimitMac,
            Full::Vlan => Drop::LimitVlan,
            Full::Circuit => Drop::LimitCircuit,
        });
        if !matches!(full, Full::Mac | Full::Circuit) || !self.config.replaces {
            return refused;
        }
        let all = || self.sessions.of_host(place.line, place.host);
        let useful = all().filter(|(_, one)| self.sessions.would_admit(limits, place, one));
        let Some((number, _)) = useful.min_by_key(|(_, one)| (one.offered, one.born)) else {
            return refused;
        };
        // A host answers its last offer. What answers an earlier one is late: the host does not
        // wait for it any more, and would lose a session that it uses.
        let is_late = all().any(|(_, one)| one.offered >= offered);
        if is_late { Err(Drop::Late) } else { Ok(Some(number)) }
    }

    /// The hash of the circuit of a host, or of its line. The access node is where the port and the
    /// outer VLAN lead to: the names that two nodes give to their circuits may be the same.
    fn circuit(&self, line: Line, ids: LineIds<'_>) -> u64 {
        match ids.circuit {
            Some(circuit) => {
                let node = octets(Line { inner: 0, ..line });
                self.cookies.hash(CIRCUIT, &[&node, circuit])
            }
            None => self.cookies.hash(LINE, &[&octets(line)]),
        }
    }

    /// What tells a host that it has a session.
    fn confirmation(
        &self,
        tags: Tags<'_>,
        session_id: u16,
        max_payload: u16,
    ) -> Result<Vec<u8>, Drop> {
        let mut list = Vec::with_capacity(128);
        put(&mut list, kind::SERVICE_NAME, tags.get(kind::SERVICE_NAME).unwrap_or_default());
        put(&mut list, kind::AC_NAME, &self.config.name);
        self.echo_hosts(tags, &mut list);
        if max_payload > MAX_PAYLOAD {
            self.echo_payload(tags, &mut list);
        }
        emit(Packet { code: code::PADS, session_id, payload: &list })
    }

    /// Tells the host that it has none, and why; counted as a drop.
    fn refuse(
        &mut self,
        origin: Origin,
        tags: Tags<'_>,
        error: u16,
        drop: Drop,
    ) -> Result<(), Drop> {
        let mut list = Vec::with_capacity(128);
        put(&mut list, kind::SERVICE_NAME, tags.get(kind::SERVICE_NAME).unwrap_or_default());
        let why: &[u8] = match drop {
            Drop::RefusedService => b"no such service",
            Drop::Unwelcome => b"no sessions at present",
            _ => b"too many sessions",
        };
        put(&mut list, error, why);
        self.echo_hosts(tags, &mut list);
        self.send(origin, Packet { code: code::PADS, session_id: 0, payload: &list })?;
        Err(drop)
    }

    fn terminate(&mut self, origin: Origin, session_id: u16) -> Result<(), Drop> {
        let Origin { line, from, .. } = origin;
        let Some(number) = self.sessions.find(line, from, session_id) else {
            let is_somebodys = self.sessions.is_somebodys(line, session_id);
            return Err(if is_somebodys { Drop::Stranger } else { Drop::NoSession });
        };
        self.sessions.remove(number);
        self.counters.terminated += 1;
        self.counters.closed += 1;
        self.reports.push_back(Report::Closed { session: number, reason: Reason::Terminated });
        Ok(())
    }

    fn obey(&mut self, command: Command) -> Result<(), Unusable> {
        match command {
            Command::Close { session, why } => {
                let why = &why[..why.len().min(WHY_LEN_MAX)];
                let has_ended = self.end(session, Reason::Closed, why);
                has_ended.then_some(()).ok_or(Unusable::Session)
            }
            Command::Welcome(is_welcoming) => {
                self.is_welcoming = is_welcoming;
                Ok(())
            }
            Command::Configure(config) => {
                config.check()?;
                self.config = config;
                Ok(())
            }
        }
    }

    /// Ends a session and tells its host; false if there is none.
    fn end(&mut self, number: u32, reason: Reason, why: &[u8]) -> bool {
        let Some(session) = self.sessions.remove(number) else { return false };
        let mut list = Vec::new();
        if !why.is_empty() {
            put(&mut list, kind::GENERIC_ERROR, why);
        }
        let Session { line, host: to, session_id, .. } = session;
        let packet = Packet { code: code::PADT, session_id, payload: &list }.emit();
        self.counters.closed += 1;
        self.reports.push_back(Report::Closed { session: number, reason });
        self.reports.push_back(Report::Send { line, to, packet });
        true
    }

    fn has_service(&self, name: &[u8]) -> bool {
        name.is_empty() || self.config.services.iter().any(|service| service == name)
    }

    /// The most that PPP may carry, if the host asks for more than usual and there is more.
    fn max_payload(&self, tags: Tags<'_>) -> Option<u16> {
        let asked: [u8; 2] = tags.get(kind::PPP_MAX_PAYLOAD)?.try_into().ok()?;
        let most = u16::from_be_bytes(asked).min(self.config.max_payload);
        (most > MAX_PAYLOAD).then_some(most)
    }

    /// Echoes what an offer has to bear of a PADI.
    fn echo(&self, tags: Tags<'_>, list: &mut Vec<u8>) {
        self.echo_hosts(tags, list);
        if self.max_payload(tags).is_some() {
            self.echo_payload(tags, list);
        }
    }

    fn echo_hosts(&self, tags: Tags<'_>, list: &mut Vec<u8>) {
        for kind in [kind::HOST_UNIQ, kind::RELAY_SESSION_ID] {
            if let Some(value) = tags.get(kind) {
                put(list, kind, value);
            }
        }
    }

    /// The tag as the host has sent it (RFC 4638 section 4): each side takes the lesser of both.
    fn echo_payload(&self, tags: Tags<'_>, list: &mut Vec<u8>) {
        if let Some(value) = tags.get(kind::PPP_MAX_PAYLOAD) {
            put(list, kind::PPP_MAX_PAYLOAD, value);
        }
    }

    /// What one request has in common with its repetition, and with no other.
    fn request(&self, tags: Tags<'_>, cookie: &[u8]) -> u64 {
        let get = |kind| tags.get(kind).unwrap_or_default();
        let (host, relay) = (get(kind::HOST_UNIQ), get(kind::RELAY_SESSION_ID));
        self.cookies.hash(REQUEST, &[cookie, host, relay, get(kind::SERVICE_NAME)])
    }

    fn send(&mut self, origin: Origin, packet: Packet<'_>) -> Result<(), Drop> {
        let Origin { line, from: to, .. } = origin;
        let packet = emit(packet)?;
        self.reports.push_back(Report::Send { line, to, packet });
        Ok(())
    }
}

/// Writes a packet that fits a frame.
fn emit(packet: Packet<'_>) -> Result<Vec<u8>, Drop> {
    let fits = packet.payload.len() <= TAGS_LEN_MAX;
    if fits { Ok(packet.emit()) } else { Err(Drop::Oversize) }
}

/// Why nothing comes of a packet.
#[derive(Clone, Copy, Debug)]
enum Drop {
    Congested,
    Source,
    Malformed,
    Server,
    SessionId,
    Destination,
    Code,
    Unwelcome,
    OtherService,
    RefusedService,
    NoCookie,
    OldCookie,
    FalseCookie,
    Late,
    Oversize,
    NoSession,
    Stranger,
    LimitTotal,
    LimitMac,
    LimitVlan,
    LimitCircuit,
}

fn counter(counters: &mut Counters, drop: Drop) -> &mut u64 {
    match drop {
        Drop::Congested => &mut counters.congested,
        Drop::Source => &mut counters.source,
        Drop::Malformed => &mut counters.malformed,
        Drop::Server => &mut counters.server,
        Drop::SessionId => &mut counters.session_id,
        Drop::Destination => &mut counters.destination,
        Drop::Code => &mut counters.code,
        Drop::Unwelcome => &mut counters.unwelcome,
        Drop::OtherService => &mut counters.other_service,
        Drop::RefusedService => &mut counters.refused_service,
        Drop::NoCookie => &mut counters.no_cookie,
        Drop::OldCookie => &mut counters.old_cookie,
        Drop::FalseCookie => &mut counters.false_cookie,
        Drop::Late => &mut counters.late,
        Drop::Oversize => &mut counters.oversize,
        Drop::NoSession => &mut counters.no_session,
        Drop::Stranger => &mut counters.stranger,
        Drop::LimitTotal => &mut counters.limit_total,
        Drop::LimitMac => &mut counters.limit_mac,
        Drop::LimitVlan => &mut counters.limit_vlan,
        Drop::LimitCircuit => &mut counters.limit_circuit,
    }
}

/// The service that a host asks for: PADI and PADR have exactly one such tag (RFC 2516 sections 5.1
/// and 5.3).
fn only_service(tags: Tags<'_>) -> Result<&[u8], Drop> {
    let mut all = tags.iter().filter(|tag| tag.kind == kind::SERVICE_NAME);
    match (all.next(), all.next()) {
        (Some(one), None) => Ok(one.value),
        _ => Err(Drop::Malformed),
    }
}

/// Outputs that wait to be polled, beyond which no packet is taken in.
pub const OUTPUTS_MAX: usize = 65_536;

/// Most bytes that PPP carries unless more was agreed on (RFC 2516 section 7).
pub const MAX_PAYLOAD: u16 = 1492;

/// Most bytes of the reason that a host is given when its session ends.
const WHY_LEN_MAX: usize = 253;

/// First bytes of what is hashed, each of a purpose.
const CIRCUIT: u8 = 1;
const LINE: u8 = 2;
const ID: u8 = 3;
const REQUEST: u8 = 4;
