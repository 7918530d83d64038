//! The record of a session, one for all protocols.
//!
//! ```text
//!  Asked --granted--> Granted --applied--> Up --an end--> Ending --removed, counted--> gone
//!    |  rejected         | refused, not taken                ^
//!    +-------------------+-----------------------------------+
//! ```

use std::net::{IpAddr, Ipv6Addr};

use function_bng::config::{self as gateway, Label, Line};
use function_kit::sections::{Mac, Prefixed};
use protocol_dhcp::{LeaseId, Prefix};
use protocol_kit::Time;
use protocol_radius::record::{TerminateCause, Volumes};
use wire::MacAddr;

use crate::config::PoolKind;
use crate::frame::Place;
use crate::granted::{Granted, v6_of};

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    /// Which session of its number.
    pub generation: u32,
    pub line: Line,
    pub mac: MacAddr,
    /// Its session of PPPoE; none of IPoE.
    pub pppoe: Option<Link>,
    /// What the access node says of its line.
    pub circuit: Vec<u8>,
    pub remote: Vec<u8>,
    /// The name of its user, as servers of RADIUS hear it.
    pub user: String,
    pub state: State,
    /// When it entered this state.
    pub since: Time,
    pub granted: Option<Granted>,
    /// What it was granted before a change that has no answer yet, and the number of the change.
    pub undo: Option<(u64, Box<Granted>)>,
    /// What it has of pools, by name or of external servers, in the order of [`PoolKind`].
    pub given: [Option<Prefix>; 4],
    /// Whether it uses them, so that the gateway is to let them pass.
    pub active: [bool; 4],
    /// What it has had before, until the gateway has it no more.
    pub former: Vec<Prefix>,
    /// What a lease of an external server has that another session has not given back yet.
    pub promised: Option<(Version, LeaseId, Vec<Prefix>)>,
    /// Its leases of DHCPv4 and DHCPv6.
    pub leases: [Option<LeaseId>; 2],
    /// As the gateway has it, or will have it.
    pub set: Option<gateway::Session>,
    /// Who waits for it to be granted something.
    pub asking: Vec<Waiter>,
    /// Who waits for changes of the gateway, by their numbers.
    pub waiting: Vec<(u64, Waiter)>,
    /// Changes that have no answer yet.
    pub open: u32,
    /// The number of the last of them, and of the last one by which the gateway has it otherwise.
    pub last: u64,
    pub changed: u64,
    /// The address of IPv4 that its client would like.
    pub wish: Option<Prefix>,
    /// Whether somebody else was found to use it, in the order of [`PoolKind`].
    pub is_declined: [bool; 4],
    /// A packet of discovery that leaves when the gateway has the session.
    pub confirmation: Option<Vec<u8>>,
    /// The link-local address of its host, of which a solicitation came.
    pub host: Ipv6Addr,
    pub up_since: Option<Time>,
    /// Whether servers were told that it has begun.
    pub is_accounted: bool,
    /// When its next interim record is due.
    pub interim_at: Option<Time>,
    pub volumes: Volumes,
    /// Volumes that are yet to be told, of those that were asked for.
    pub due: u8,
    /// When something has come from it last, as far as that is known.
    pub busy_at: Time,
    /// Why it ends.
    pub ending: Option<Why>,
    /// Whether the gateway has it no more.
    pub is_removed: bool,
    /// Whether it is of an earlier life, and its client was not heard yet.
    pub is_adopted: bool,
}

/// A session of PPPoE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// Its number at the access concentrator and at PPP.
    pub number: u32,
    /// Its Session-ID.
    pub id: u16,
    /// Most bytes of its packets.
    pub mru: u16,
    /// Whether the access concentrator has ended it, and may have given its number to another one.
    pub is_closed: bool,
}

/// What a session does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// Somebody is asked whether it is let in, or its peer says who it is.
    Asked,
    /// It is let in, and takes its addresses.
    Granted,
    /// Its packets pass.
    Up,
    /// It ends.
    Ending,
}

/// Who waits for something of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// A lease, of DHCPv6 or of DHCPv4.
    Lease(Version, LeaseId),
    /// A host that has asked for a router.
    Solicitation,
    /// A peer of PPP that has said who it is: the number of the question.
    Question(u32),
    /// A host of PPPoE that waits for its session.
    Confirmation,
    /// A server that has asked for a change: the number of the request.
    Request(u64),
}

/// A version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    V4,
    V6,
}

/// Why a session ends, or never came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// The subscriber has released what it had, or has ended its session.
    Released,
    /// A lease was not renewed, or a peer does not answer.
    Lost,
    /// What it was offered was not taken, or a negotiation has led to nothing.
    NotTaken,
    /// The server has not let it in.
    Rejected,
    /// No server has answered.
    Unanswered,
    /// There is no address, or it is somebody else's.
    Exhausted,
    /// The gateway has refused it.
    Refused,
    /// The subscriber has come back, on this line or another.
    Moved,
    /// Its time is over.
    SessionTimeout,
    /// Nothing has passed.
    IdleTimeout,
    /// An operator has ended it.
    Operator,
    /// A server has ended it.
    Disconnected,
}

impl Session {
    /// A session that has just been asked for.
    pub fn new(line: Line, mac: MacAddr, pppoe: Option<Link>, now: Time) -> Session {
        Session {
            generation: 0,
            line,
            mac,
            pppoe,
            circuit: Vec::new(),
            remote: Vec::new(),
            user: String::new(),
            state: State::Asked,
            since: now,
            granted: None,
            undo: None,
            given: [None; 4],
            former: Vec::new(),
            promised: None,
            active: [false; 4],
            leases: [None; 2],
            set: None,
            asking: Vec::new(),
            waiting: Vec::new(),
            open: 0,
            last: 0,
            changed: 0,
            wish: None,
            is_declined: [false; 4],
            confirmation: None,
            host: Ipv6Addr::UNSPECIFIED,
            up_since: None,
            is_accounted: false,
            interim_at: None,
            volumes: Volumes::default(),
            due: 0,
            busy_at: now,
            ending: None,
            is_removed: false,
            is_adopted: false,
        }
    }

    /// Enters a state.
    pub fn enter(&mut self, state: State, now: Time) {
        if self.state != state {
            (self.state, self.since) = (state, now);
        }
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        Place { line: self.line, mac: self.mac, pppoe: self.pppoe.map(|link| link.id) }
    }

    /// What it has of a kind and uses.
    pub fn used(&self, kind: PoolKind) -> Option<Prefix> {
        self.given[kind as usize].filter(|_| self.active[kind as usize])
    }

    /// As the gateway is to have it; none if it is to have nothing of it. A session of PPPoE is
    /// there before it has addresses, because packets of PPP come from it.
    pub fn wanted(&self, number: u32, usual: gateway::Name) -> Option<gateway::Session> {
        let has_some = self.pppoe.is_some() || self.active.contains(&true);
        if self.ending.is_some() || !has_some {
            return None;
        }
        let network = |kind| {
            let prefix: Prefix = self.used(kind)?;
            Some(Prefixed { address: v6_of(prefix)?, len: prefix.bits() })
        };
        let granted = self.granted.as_ref();
        Some(gateway::Session {
            number,
            line: self.line,
            mac: Mac(self.mac),
            pppoe: self.pppoe.map(|link| gateway::Pppoe { id: link.id, mru: link.mru }),
            ipv4: self.used(PoolKind::Ipv4).and_then(|prefix| match prefix.address() {
                IpAddr::V4(address) => Some(address),
                IpAddr::V6(_) => None,
            }),
            na: self.used(PoolKind::Na).and_then(v6_of),
            slaac: network(PoolKind::Slaac),
            delegated: network(PoolKind::Delegated),
            profile: granted.map_or(usual, |granted| granted.profile),
            list: granted.and_then(|granted| granted.list),
            node: None,
            vrf: granted.and_then(|granted| granted.vrf),
            user: label(&self.user),
            circuit: label(&String::from_utf8_lossy(&self.circuit)),
        })
    }
}

impl Why {
    /// All, in their order.
    pub const ALL: [Why; 12] = [
        Why::Released,
        Why::Lost,
        Why::NotTaken,
        Why::Rejected,
        Why::Unanswered,
        Why::Exhausted,
        Why::Refused,
        Why::Moved,
        Why::SessionTimeout,
        Why::IdleTimeout,
        Why::Operator,
        Why::Disconnected,
    ];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Why::Released => "released",
            Why::Lost => "lost",
            Why::NotTaken => "not-taken",
            Why::Rejected => "rejected",
            Why::Unanswered => "unanswered",
            Why::Exhausted => "exhausted",
            Why::Refused => "refused",
            Why::Moved => "moved",
            Why::SessionTimeout => "session-timeout",
            Why::IdleTimeout => "idle-timeout",
            Why::Operator => "operator",
            Why::Disconnected => "disconnected",
        }
    }

    /// What accounting calls it (RFC 2866 section 5.10).
    pub fn cause(self) -> TerminateCause {
        match self {
            Why::Released | Why::NotTaken => TerminateCause::UserRequest,
            Why::Lost => TerminateCause::LostCarrier,
            Why::Moved => TerminateCause::PortPreempted,
            Why::SessionTimeout => TerminateCause::SessionTimeout,
            Why::IdleTimeout => TerminateCause::IdleTimeout,
            Why::Operator | Why::Disconnected => TerminateCause::AdminReset,
            Why::Rejected | Why::Unanswered => TerminateCause::ServiceUnavailable,
            Why::Exhausted | Why::Refused => TerminateCause::NasError,
        }
    }
}

impl State {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            State::Asked => "asked",
            State::Granted => "granted",
            State::Up => "up",
            State::Ending => "ending",
        }
    }
}

/// A text as the gateway keeps it, cut; none if there is none.
fn label(text: &str) -> Option<Label> {
    let end = (0..=Label::LEN_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    let cut = text.get(..end?)?;
    (!cut.is_empty()).then(|| Label::try_from(cut.to_owned()).ok()).flatten()
}

/// Volumes that are told of a session: up and down, of IPv4 and IPv6.
pub(crate) const VOLUMES: u8 = 4;
