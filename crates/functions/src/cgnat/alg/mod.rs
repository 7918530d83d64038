//! Gateways of applications (ALG) for FTP, SIP and PPTP, which tell addresses in their payload.
//!
//! A gateway reads one payload, replaces what tells of the inside by what the outside can reach,
//! and names the sessions that will follow. It keeps nothing, allocates nothing, and asks the NAT
//! for mappings through [`Mappings`]. A message that is malformed, or divided among segments,
//! passes as it is, with a [`Reason`] to count; those beside it in the payload do not suffer. As
//! TCP payloads change their length, [`Shifts`] keeps sequence numbers right. All are off by
//! default, as RFC 4787 REQ-10 and RFC 6888 ask for.
//!
//! # How a pipeline calls it
//!
//! Behind the look-up of the session, for packets of a session with a gateway (port 21, 5060 or
//! 1723):
//!
//! ```text
//! let Some(gateway) = config.alg.gateway(protocol, remote.port()) else { /* as any other packet */ };
//! let translation = Translation { from: Side::Inside, protocol, inside, outside, remote };
//! let done = alg::rewrite(gateway, payload, &translation, &mut mappings, &mut scratch);
//! if let Some(reason) = done.reason { counters.alg_passed[reason as usize] += 1; }
//! match protocol {
//!     Protocol::Tcp => {
//!         // One `Shifts` for each session with a gateway, kept beside the session table. Segments
//!         // without payload, SYN and FIN among them, go through it as well: with no edits.
//!         let passing = shifts.segment(Side::Inside, seq, payload.len(), &done.edited);
//!         tcp.set_seq(passing.seq);
//!         tcp.set_ack(shifts.ack(Side::Inside, ack)); // and `shifts.sack` for the blocks of option 5
//!         let new = if passing.is_edited { &scratch } else { payload };
//!         tcp.replace_payload(&new[..passing.len]);
//!         if !passing.is_whole { tcp.clear_fin(); } // the sender sends the rest again
//!         // and `mappings.undo(passing.taken)` if not all that is new passes
//!     }
//!     _ if !done.edited.is_empty() => udp.replace_payload(&scratch[..done.len]),
//!     _ => {}
//! }
//! for expected in done.expectations.iter() { calls.expect(expected); } // the others map as they are asked
//! ```
//!
//! Then addresses, ports, lengths and checksums as for any packet. A payload that grows beyond the
//! link's MTU is the caller's to fragment or to answer.
//!
//! Not here: what is told in more than one segment, FTP and SIP over TLS, ICE candidates (RFC
//! 8445), and translation to IPv6 (RFC 6384).

use std::net::{Ipv4Addr, SocketAddrV4};

mod config;
mod edit;
pub mod ftp;
pub mod gre;
mod list;
pub mod pptp;
mod sdp;
mod shift;
pub mod sip;
mod text;

#[cfg(test)]
mod tests;

pub use self::config::Alg;
pub use self::edit::{EDITS_MAX, Edited};
pub use self::list::List;
pub use self::shift::{Numbers, Passing, Replaced, SLOTS, Shifts};

/// Rewrites a payload by one of the gateways; see the module.
///
/// `out` holds the new payload if [`Rewritten::edited`] has anything.
pub fn rewrite(
    gateway: Gateway,
    payload: &[u8],
    translation: &Translation,
    mappings: &mut impl Mappings,
    out: &mut [u8],
) -> Rewritten {
    let mut work = Work::new(translation, mappings);
    match gateway {
        Gateway::Ftp => ftp::scan(payload, &mut work),
        Gateway::Sip => sip::scan(payload, &mut work),
        Gateway::Pptp => pptp::scan(payload, &mut work),
    }
    let Work { mut edits, expectations, reason, .. } = work;
    match edits.write(payload, out) {
        Ok((len, edited)) => Rewritten { len, edited, expectations, reason },
        Err(reason) => {
            mappings.undo(0);
            let (edited, expectations) = (List::new(), List::new());
            Rewritten { len: payload.len(), edited, expectations, reason: Some(reason) }
        }
    }
}

/// Which application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gateway {
    /// File transfer (RFC 959, RFC 2428).
    Ftp,
    /// Telephony (RFC 3261).
    Sip,
    /// Point-to-point tunnelling (RFC 2637).
    Pptp,
}

/// Which side of the NAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Subscribers.
    Inside,
    /// The Internet.
    Outside,
}

/// What a mapping is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// TCP ports.
    Tcp,
    /// UDP ports.
    Udp,
    /// Call identifiers of enhanced GRE (RFC 2637 section 4), in the place of ports.
    Gre,
}

/// The session of a packet, and which way it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Who sent it.
    pub from: Side,
    /// TCP or UDP.
    pub protocol: Protocol,
    /// The subscriber's address and port.
    pub inside: SocketAddrV4,
    /// The same as the Internet sees it.
    pub outside: SocketAddrV4,
    /// The other end.
    pub remote: SocketAddrV4,
}

/// What the outside port of a mapping must be beside free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ports {
    /// Anything.
    Any,
    /// Even where the inside port is, and odd where it is (RFC 4787 section 4.2.2).
    SameParity,
    /// The same, and the next port of the inside has the next port of the outside: RTP and RTCP
    /// (RFC 4787 section 4.2.3).
    Pair,
}

/// The mappings of the NAT, as a gateway uses them.
pub trait Mappings {
    /// The outside address and port of an inside one, which is made a mapping if it has none, and
    /// which takes packets of `remote` from now on, of anybody where there is none; none where no
    /// port is left or a limit is met. Asked again, it answers the same.
    fn map(
        &mut self,
        protocol: Protocol,
        inside: SocketAddrV4,
        ports: Ports,
        remote: Option<Ipv4Addr>,
    ) -> Option<SocketAddrV4>;

    /// Whose an outside address and port is, if it has a mapping.
    fn look_up(&mut self, protocol: Protocol, outside: SocketAddrV4) -> Option<SocketAddrV4>;

    /// What is mapped from now on is for the message that begins at a place of the payload.
    fn begin(&mut self, message: usize);

    /// Takes back what was made new for this message and those behind it: nobody will read of it.
    fn undo(&mut self, message: usize);
}

/// A session that will follow, and which filtering must let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// What ports are of.
    pub protocol: Protocol,
    /// The subscriber's address and port, or call identifier.
    pub inside: SocketAddrV4,
    /// Its mapping.
    pub outside: SocketAddrV4,
    /// How many ports from these on: 2 for RTP with RTCP.
    pub ports: u16,
    /// From whom; none for anybody.
    pub remote: Option<Ipv4Addr>,
    /// The other end's port or call identifier, where it is known.
    pub remote_port: Option<u16>,
}

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

/// Why a message or line passes as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It begins like what the gateway is for, and breaks its grammar.
    Malformed,
    /// It goes on in another segment.
    Split,
    /// It is no message of the application.
    NoMessage,
    /// It tells more addresses than a gateway replaces.
    TooMany,
    /// It tells an inside address that is not the sender's: a bounce (RFC 2577 section 3).
    ForeignAddress,
    /// It asks for a port below 1024 to be opened (RFC 2577 section 3).
    PrivilegedPort,
    /// The NAT gave no mapping.
    NoMapping,
    /// The new payload does not fit.
    NoRoom,
}

impl Reason {
    /// The names of their counters, in the order of the reasons.
    pub const NAMES: [&'static str; 8] = [
        "alg-malformed",
        "alg-split",
        "alg-no-message",
        "alg-too-many",
        "alg-foreign-address",
        "alg-privileged-port",
        "alg-no-mapping",
        "alg-no-room",
    ];

    /// The name of its counter.
    pub fn name(self) -> &'static str {
        Reason::NAMES[self as usize]
    }
}

/// What a gateway has at hand while it scans.
struct Work<'a, M> {
    translation: &'a Translation,
    mappings: &'a mut M,
    edits: edit::Edits,
    expectations: List<Expectation, EXPECTATIONS_MAX>,
    /// The first of the payload.
    reason: Option<Reason>,
}

impl<'a, M: Mappings> Work<'a, M> {
    fn new(translation: &'a Translation, mappings: &'a mut M) -> Work<'a, M> {
        let (edits, expectations) = (edit::Edits::new(), List::new());
        Work { translation, mappings, edits, expectations, reason: None }
    }

    /// Does a message or line that begins at a place: all of it, or nothing.
    fn unit(&mut self, start: usize, scan: impl FnOnce(&mut Self) -> Result<(), Reason>) {
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
    fn fail(&mut self, reason: Reason) {
        self.reason.get_or_insert(reason);
    }

    /// A mapping of a port of the subscriber, on the address that its session has: others would not
    /// believe another one.
    fn map(
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
    fn open(
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

    fn expect(&mut self, expectation: Expectation) -> Result<(), Reason> {
        if self.expectations.iter().any(|one| one == expectation) {
            return Ok(());
        }
        self.expectations.push(expectation).ok_or(Reason::TooMany)
    }

    /// The subscriber's own port behind an outside one.
    fn look_up(&mut self, protocol: Protocol, port: u16) -> Option<SocketAddrV4> {
        let outside = SocketAddrV4::new(*self.translation.outside.ip(), port);
        let inside = self.mappings.look_up(protocol, outside)?;
        (inside.ip() == self.translation.inside.ip()).then_some(inside)
    }
}

/// Sessions that can follow one payload.
pub const EXPECTATIONS_MAX: usize = 16;

/// Messages or lines of one payload that are changed.
pub const UNITS_MAX: usize = 8;

/// The lowest port that a gateway opens.
const PORT_MIN: u16 = 1024;
