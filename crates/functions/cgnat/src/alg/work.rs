//! A gateway at work: what it has at hand while it scans, and what comes of it.

use std::net::{Ipv4Addr, SocketAddrV4};

use super::edit::{Edited, Edits};
use super::list::List;
use super::types::{
    EXPECTATIONS_MAX, Expectation, Mappings, Ports, Protocol, Reason, Translation, UNITS_MAX,
};

/// What came of a payload.
#[derive(Clone, Copy, Debug)]
pub struct Rewritten {
    /// Bytes of the payload as it shall leave.
    pub len: usize,
    /// What of it is new, a part for each message or line; where it is empty, the payload is as it
    /// was and nothing stands in `out`.
    pub edited: List<Edited, UNITS_MAX>,
    /// The sessions that will follow.
    pub expectations: List<Expectation, EXPECTATIONS_MAX>,
    /// Why something in it passes as it was, although it could not be understood or translated.
    pub reason: Option<Reason>,
}

/// What a gateway has at hand while it scans.
pub(super) struct Work<'a, M> {
    pub(super) translation: &'a Translation,
    pub(super) mappings: &'a mut M,
    pub(super) edits: Edits,
    pub(super) expectations: List<Expectation, EXPECTATIONS_MAX>,
    /// The first of the payload.
    pub(super) reason: Option<Reason>,
}

impl<'a, M: Mappings> Work<'a, M> {
    pub(super) fn new(translation: &'a Translation, mappings: &'a mut M) -> Work<'a, M> {
        let (edits, expectations) = (Edits::new(), List::new());
        Work { translation, mappings, edits, expectations, reason: None }
    }

    /// Does a message or line that begins at a place: all of it, or nothing.
    pub(super) fn unit(
        &mut self,
        start: usize,
        scan: impl FnOnce(&mut Self) -> Result<(), Reason>,
    ) {
        let before = (self.edits.begin(start), self.expectations.len());
        self.mappings.begin(start);
        let scanned =
            if self.edits.units() < UNITS_MAX { scan(self) } else { Err(Reason::TooMany) };
        if let Err(reason) = scanned {
            self.edits.undo(before.0);
            self.expectations.truncate(before.1);
            self.mappings.undo(start);
            self.fail(reason);
        }
    }

    /// Something passes as it is.
    pub(super) fn fail(&mut self, reason: Reason) {
        self.reason.get_or_insert(reason);
    }

    /// A mapping of a port of the subscriber, on the address that its session has: others would not
    /// believe another one.
    pub(super) fn map(
        &mut self,
        protocol: Protocol,
        port: u16,
        ports: Ports,
        remote: Option<Ipv4Addr>,
    ) -> Result<SocketAddrV4, Reason> {
        if protocol != Protocol::Gre && port < PORT_MIN {
            return Err(Reason::PrivilegedPort);
        }
        let inside = SocketAddrV4::new(*self.translation.inside.ip(), port);
        let outside = self.mappings.map(protocol, inside, ports, remote);
        let outside = outside.ok_or(Reason::NoMapping)?;
        let is_paired = outside.ip() == self.translation.outside.ip();
        is_paired.then_some(outside).ok_or(Reason::NoMapping)
    }

    /// The same, with the sessions that will come to it from outside.
    pub(super) fn open(
        &mut self,
        protocol: Protocol,
        port: u16,
        ports: Ports,
        remote: Option<Ipv4Addr>,
    ) -> Result<SocketAddrV4, Reason> {
        let outside = self.map(protocol, port, ports, remote)?;
        self.expect(Expectation {
            protocol,
            inside: SocketAddrV4::new(*self.translation.inside.ip(), port),
            outside,
            ports: if ports == Ports::Pair { 2 } else { 1 },
            remote,
            remote_port: None,
        })?;
        Ok(outside)
    }

    pub(super) fn expect(&mut self, expectation: Expectation) -> Result<(), Reason> {
        if self.expectations.iter().any(|one| one == expectation) {
            return Ok(());
        }
        self.expectations.push(expectation).ok_or(Reason::TooMany)
    }

    /// The subscriber's own port behind an outside one.
    pub(super) fn look_up(&mut self, protocol: Protocol, port: u16) -> Option<SocketAddrV4> {
        let outside = SocketAddrV4::new(*self.translation.outside.ip(), port);
        let inside = self.mappings.look_up(protocol, outside)?;
        (inside.ip() == self.translation.inside.ip()).then_some(inside)
    }
}

/// The lowest port that a gateway opens.
const PORT_MIN: u16 = 1024;
