//! Clients of DHCP that external servers give their leases: what those have given becomes a
//! session's, as what a pool gives does.
//!
//! A client is accepted before a server hears of it, and hears an acknowledgement when its packets
//! pass. The servers are the authority on addresses: nothing is taken from a pool, and what they
//! give is claimed, so that nobody else has it.

use controller_kit::Severity;
use protocol_dhcp::{self as dhcp, Access, Command, LeaseId, Prefix};
use protocol_kit::{Arrival, Departure, Input, Machine, Socket, Time};
use serde_json::{Value, json};

use crate::config::PoolKind;
use crate::core::Core;
use crate::ipoe::{PPPOE, kinds};
use crate::session::{Version, Waiter, Why};

impl Core {
    /// Whether external servers give the leases of a version.
    pub fn is_relayed(&self, version: Version) -> bool {
        match version {
            Version::V4 => self.v4.is_relay(),
            Version::V6 => self.v6.is_relay(),
        }
    }

    /// Takes in what has arrived, from servers of DHCP or of RADIUS.
    pub fn arrive(&mut self, mut arrival: Arrival<'_>, now: Time) {
        if let Arrival::Datagram { socket, .. } | Arrival::Failed { socket } = &mut arrival
            && let Some(version) = VERSIONS.into_iter().find(|it| *socket == socket_of(*it))
        {
            *socket = Socket(0);
            match version {
                Version::V4 => self.v4.input(now, Input::Arrival(arrival)),
                Version::V6 => self.v6.input(now, Input::Arrival(arrival)),
            }
        } else if let Some(aaa) = &mut self.aaa {
            aaa.arrive(arrival, now);
        }
    }

    /// A relay wants something of the network.
    pub fn depart(&mut self, version: Version, mut departure: Departure) {
        if let Departure::Open { socket, .. } | Departure::Datagram { socket, .. } = &mut departure
        {
            *socket = socket_of(version);
        }
        self.departure = Some(departure);
    }

    /// The client of a session that is let in may ask the servers, which are told of its line; or
    /// it has what they have given it, if nobody else has it any more.
    pub fn admit_relayed(&mut self, number: u32, version: Version, lease: LeaseId, now: Time) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        let is_its = |it: &mut (Version, LeaseId, _)| (it.0, it.1) == (version, lease);
        if let Some((.., prefixes)) = session.promised.take_if(is_its) {
            return self.hold(number, (version, lease), prefixes, now);
        }
        let (outer, inner) = (session.line.outer, session.line.inner);
        let line = match session.pppoe {
            None => dhcp::Line(u32::from(outer) << 12 | u32::from(inner)),
            Some(_) => dhcp::Line(PPPOE | number),
        };
        let circuit = match &*session.circuit {
            [] => format!("{outer}.{inner}").into_bytes(),
            circuit => circuit.to_vec(),
        };
        let name = Command::Name(line, circuit, session.remote.clone());
        self.dhcp(version, name, now);
        self.accept(number, version, lease, now);
    }

    /// A server has given a client something: it becomes the session's, and the client hears of it
    /// when it passes.
    pub fn hold(
        &mut self,
        number: u32,
        (version, lease): (Version, LeaseId),
        prefixes: Vec<Prefix>,
        now: Time,
    ) {
        let waiter = Waiter::Lease(version, lease);
        let Some(key) = self.sessions.key(number) else { return };
        match self.claim_all(number, version, &prefixes) {
            Ok(()) => {
                self.use_all(number, version, &prefixes);
                self.settle(number, Some(waiter), now);
            }
            // Whoever has it is about to be gone.
            Err(Some(by)) => {
                let Some(session) = self.sessions.get_mut(number) else { return };
                session.promised = Some((version, lease, prefixes));
                session.asking.push(waiter);
                self.blocked.insert((by, key));
            }
            Err(None) => self.end(number, Why::Exhausted, now),
        }
    }

    /// Claims what a client is given. One that has another address than before gives that back when
    /// the gateway has it no more.
    ///
    /// # Errors
    /// The session that has something of it and ends; none where it is not to be had.
    fn claim_all(
        &mut self,
        number: u32,
        version: Version,
        prefixes: &[Prefix],
    ) -> Result<(), Option<u32>> {
        for kind in kinds(version) {
            let Some(session) = self.sessions.get(number) else { return Ok(()) };
            let before = session.given[*kind as usize];
            let is_new = |prefix: &&Prefix| is_of(**prefix, *kind) && Some(**prefix) != before;
            let mut all = prefixes.iter().filter(is_new);
            let Some(prefix) = all.next().copied() else { continue };
            if all.next().is_some() {
                return Err(None);
            }
            if let Err(taken) = self.pools.claim(prefix, number) {
                let ends = |by: &u32| self.sessions.get(*by).is_some_and(|it| it.ending.is_some());
                return Err(taken.by.filter(ends));
            }
            let Some(session) = self.sessions.get_mut(number) else { return Ok(()) };
            session.former.retain(|former| *former != prefix);
            session.former.extend(before);
            session.given[*kind as usize] = Some(prefix);
        }
        Ok(())
    }

    /// A server does not answer, or does again.
    pub fn told_of_server(&mut self, version: Version, place: u16, is_up: bool) {
        let place = usize::from(place);
        let source = match version {
            Version::V4 => self.config.relay_v4().map(|it| it.servers[place].to_string()),
            Version::V6 => self.config.relay_v6().map(|it| it.servers[place].to_string()),
        };
        let source = source.unwrap_or_default();
        if is_up {
            return self.notes.lower(source, SILENT, "the server of DHCP answers".to_owned());
        }
        let text = "the server of DHCP does not answer".to_owned();
        self.notes.raise(source, SILENT, Severity::Major, text);
    }

    /// What became of messages that were relayed; null where none are.
    pub fn relayed(&self, version: Version) -> Value {
        let counters = match version {
            Version::V4 => self.v4.counters(),
            Version::V6 => self.v6.counters(),
        };
        let shown = json!({
            "forwarded": counters.forwarded,
            "answered": counters.answered,
            "unsent": counters.unsent,
            "not-asked-for": counters.stranger + counters.unsolicited + counters.loops,
            "taken": counters.taken,
        });
        if self.is_relayed(version) { shown } else { Value::Null }
    }
}

/// Whether a lease that has a prefix has one of a kind.
fn is_of(prefix: Prefix, kind: PoolKind) -> bool {
    let is_delegated = prefix != Prefix::host(prefix.address());
    is_delegated == (kind == PoolKind::Delegated)
}

/// The number of the socket of a version's relay, behind those of RADIUS and of the file of
/// records, which are four.
fn socket_of(version: Version) -> Socket {
    Socket((4 + version as u32) << 16)
}

const VERSIONS: [Version; 2] = [Version::V4, Version::V6];

/// The alarm of a server that does not answer.
const SILENT: &str = "dhcp-server-silent";
