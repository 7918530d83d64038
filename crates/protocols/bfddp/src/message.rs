//! The messages (`bfdd/bfddp_packet.h` of FRR 8.4). Numbers are big-endian.
//!
//! ```text
//!  header    | version u8 | zero u8 | type u16 | identifier u16 | length u16, with this header |
//!  echo      | data plane's time u64 | bfdd's time u64 |
//!  session   | flags u32 | source 16 | destination 16 | discriminator u32 | tx u32 | rx u32 |
//!            | echo tx u32 | echo rx u32 | hold time u32 | TTL u8 | multiplier u8 | zero u16 |
//!            | interface u32 | its name, 64 bytes with a zero behind it |
//!  state     | discriminator u32 | peer's u32 | flags u32 | tx u32 | rx u32 | echo rx u32 |
//!            | state u8 | diagnostic u8 | multiplier u8 | padding u8 |
//!  request   | discriminator u32 |
//!  counters  | discriminator u32 | padding u32 | 8 times u64: bytes, packets of each kind |
//! ```
//! An IPv4 address lies in the first 4 of its 16 bytes. The padding is what a C compiler for 64
//! bits puts there; the header does not name it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use protocol_kit::Interface;

use crate::session::{Change, Session, SessionCounters, State, Traffic};

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Asks the other end for an answer.
    EchoRequest(Echo),
    /// Answers.
    EchoReply(Echo),
    /// From bfdd: a session is wanted, or wanted otherwise.
    AddSession(Session),
    /// From bfdd: a session is not wanted any more.
    DeleteSession(Session),
    /// To bfdd: the state of the session with a discriminator.
    StateChange(u32, Change),
    /// From bfdd: it wants the counters of the session with a discriminator.
    RequestCounters(u32),
    /// To bfdd: the counters of the session with a discriminator.
    Counters(u32, SessionCounters),
}

/// Times of an echo, in microseconds since whatever each end counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// The data plane's.
    pub data_plane_time_us: u64,
    /// That of bfdd.
    pub bfdd_time_us: u64,
}

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Another version of the protocol, or a length below that of the header: nobody knows where
    /// the next message begins.
    #[error("a message is not of version 1, or is shorter than its header")]
    Header,
    /// A message of a known type that is shorter than it has to be, or says what cannot be.
    #[error("a message is too short, or says what cannot be")]
    Body,
    /// A type that is not known.
    #[error("a message is of a type that is not known")]
    Type,
}

/// Returns the length of the message that begins here; `None` if its header is not whole.
///
/// # Errors
/// [`Malformed::Header`].
pub fn message_len(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let Some([version, _, _, _, _, _, high, low]) = bytes.first_chunk() else { return Ok(None) };
    let len = usize::from(u16::from_be_bytes([*high, *low]));
    if *version != VERSION || len < HEADER_LEN {
        return Err(Malformed::Header);
    }
    Ok(Some(len))
}

impl Message {
    /// Reads a message of a whole number of bytes; returns its identifier, too.
    ///
    /// # Errors
    /// Why it is none. A message may be longer than this version knows.
    pub fn parse(bytes: &[u8]) -> Result<(u16, Message), Malformed> {
        if message_len(bytes)? != Some(bytes.len()) {
            return Err(Malformed::Header);
        }
        let mut from = Reader(&bytes[2..]);
        let (kind, identifier, _) = (from.u16()?, from.u16()?, from.u16()?);
        let message = match kind {
            ECHO_REQUEST => Message::EchoRequest(read_echo(from)?),
            ECHO_REPLY => Message::EchoReply(read_echo(from)?),
            ADD_SESSION => Message::AddSession(read_session(from)?),
            DELETE_SESSION => Message::DeleteSession(read_session(from)?),
            STATE_CHANGE => read_change(from)?,
            REQUEST_COUNTERS => Message::RequestCounters(from.u32()?),
            COUNTERS => read_counters(from)?,
            _ => return Err(Malformed::Type),
        };
        Ok((identifier, message))
    }

    /// Writes the message with an identifier: 0, or that of the request which it answers.
    pub fn emit(&self, identifier: u16) -> Vec<u8> {
        let (kind, body) = match self {
            Message::EchoRequest(echo) => (ECHO_REQUEST, write_echo(echo)),
            Message::EchoReply(echo) => (ECHO_REPLY, write_echo(echo)),
            Message::AddSession(session) => (ADD_SESSION, write_session(session)),
            Message::DeleteSession(session) => (DELETE_SESSION, write_session(session)),
            Message::StateChange(session, change) => (STATE_CHANGE, write_change(*session, change)),
            Message::RequestCounters(session) => (REQUEST_COUNTERS, session.to_be_bytes().into()),
            Message::Counters(session, counters) => (COUNTERS, write_counters(*session, counters)),
        };
        let len = (HEADER_LEN + body.len()) as u16;
        let head = [u16::from_be_bytes([VERSION, 0]), kind, identifier, len];
        [&head.map(u16::to_be_bytes).concat()[..], &body].concat()
    }
}

/// Bytes that are read one number after the other.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed::Body)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8, Malformed> {
        self.take().map(u8::from_be_bytes)
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_be_bytes)
    }
}

fn read_echo(mut from: Reader<'_>) -> Result<Echo, Malformed> {
    Ok(Echo { data_plane_time_us: from.u64()?, bfdd_time_us: from.u64()? })
}

fn write_echo(echo: &Echo) -> Vec<u8> {
    [echo.data_plane_time_us, echo.bfdd_time_us].map(u64::to_be_bytes).concat()
}

fn read_session(mut from: Reader<'_>) -> Result<Session, Malformed> {
    let flags = from.u32()?;
    let is_set = |flag: u32| flags & flag != 0;
    let mut address = || -> Result<IpAddr, Malformed> {
        let octets: [u8; 16] = from.take()?;
        let [a, b, c, d, ..] = octets;
        Ok(if is_set(IPV6) { octets.into() } else { [a, b, c, d].into() })
    };
    let (local, peer) = (address()?, address()?);
    if peer.is_unspecified() {
        return Err(Malformed::Body);
    }
    Ok(Session {
        discriminator: from.u32()?,
        local: (!local.is_unspecified()).then_some(local),
        peer,
        is_multihop: is_set(MULTIHOP),
        is_demand: is_set(DEMAND),
        is_independent: is_set(INDEPENDENT),
        has_echo: is_set(HAS_ECHO),
        is_passive: is_set(PASSIVE),
        is_shut_down: is_set(SHUT_DOWN),
        desired_min_tx_us: from.u32()?,
        required_min_rx_us: from.u32()?,
        echo_tx_us: from.u32()?,
        required_echo_rx_us: from.u32()?,
        hold_time_ms: from.u32()?,
        ttl_min: from.u8()?,
        detect_multiplier: from.u8()?,
        interface: match (from.u16()?, from.u32()?) {
            (_, 0) => None,
            (_, number) => Some(Interface(number)),
        },
        interface_name: {
            let name: [u8; NAME_LEN] = from.take()?;
            let end = name.iter().position(|octet| *octet == 0).unwrap_or(NAME_LEN - 1);
            std::str::from_utf8(&name[..end]).map_err(|_| Malformed::Body)?.to_owned()
        },
    })
}

fn write_session(session: &Session) -> Vec<u8> {
    let flags = [
        (MULTIHOP, session.is_multihop),
        (DEMAND, session.is_demand),
        (INDEPENDENT, session.is_independent),
        (HAS_ECHO, session.has_echo),
        (IPV6, session.peer.is_ipv6()),
        (PASSIVE, session.is_passive),
        (SHUT_DOWN, session.is_shut_down),
    ];
    let flags = all_of(&flags);
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        }
        IpAddr::V6(address) => address.octets(),
    };
    let any: IpAddr = match session.peer {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let numbers = [
        session.discriminator,
        session.desired_min_tx_us,
        session.required_min_rx_us,
        session.echo_tx_us,
        session.required_echo_rx_us,
        session.hold_time_ms,
        u32::from_be_bytes([session.ttl_min, session.detect_multiplier, 0, 0]),
        session.interface.map_or(0, |interface| interface.0),
    ];
    let mut name = [0; NAME_LEN];
    let room = &mut name[..NAME_LEN - 1];
    room.iter_mut().zip(session.interface_name.bytes()).for_each(|(to, from)| *to = from);
    let mut bytes = u32::to_be_bytes(flags).to_vec();
    bytes.extend(octets(session.local.unwrap_or(any)));
    bytes.extend(octets(session.peer));
    bytes.extend(numbers.map(u32::to_be_bytes).as_flattened());
    bytes.extend(name);
    bytes
}

fn read_change(mut from: Reader<'_>) -> Result<Message, Malformed> {
    let (session, peer_discriminator, flags) = (from.u32()?, from.u32()?, from.u32()?);
    let intervals = [from.u32()?, from.u32()?, from.u32()?];
    let [peer_desired_min_tx_us, peer_required_min_rx_us, peer_required_echo_rx_us] = intervals;
    let state = match from.u8()? {
        0 => State::AdminDown,
        1 => State::Down,
        2 => State::Init,
        3 => State::Up,
        _ => return Err(Malformed::Body),
    };
    let change = Change {
        state,
        peer_diagnostic: from.u8()?,
        peer_discriminator,
        is_peer_independent: flags & PEER_INDEPENDENT != 0,
        is_peer_demand: flags & PEER_DEMAND != 0,
        is_peer_multipoint: flags & PEER_MULTIPOINT != 0,
        peer_desired_min_tx_us,
        peer_required_min_rx_us,
        peer_required_echo_rx_us,
        peer_detect_multiplier: from.u8()?,
    };
    Ok(Message::StateChange(session, change))
}

fn write_change(session: u32, change: &Change) -> Vec<u8> {
    let flags = [
        (PEER_INDEPENDENT, change.is_peer_independent),
        (PEER_DEMAND, change.is_peer_demand),
        (PEER_MULTIPOINT, change.is_peer_multipoint),
    ];
    let flags = all_of(&flags);
    let state = [change.state as u8, change.peer_diagnostic, change.peer_detect_multiplier, 0];
    let numbers = [
        session,
        change.peer_discriminator,
        flags,
        change.peer_desired_min_tx_us,
        change.peer_required_min_rx_us,
        change.peer_required_echo_rx_us,
        u32::from_be_bytes(state),
    ];
    numbers.map(u32::to_be_bytes).concat()
}

fn read_counters(mut from: Reader<'_>) -> Result<Message, Malformed> {
    let (session, _) = (from.u32()?, from.u32()?);
    let mut traffic =
        || -> Result<_, Malformed> { Ok(Traffic { bytes: from.u64()?, packets: from.u64()? }) };
    let counters = SessionCounters {
        received: traffic()?,
        sent: traffic()?,
        echo_received: traffic()?,
        echo_sent: traffic()?,
    };
    Ok(Message::Counters(session, counters))
}

fn write_counters(session: u32, counters: &SessionCounters) -> Vec<u8> {
    let SessionCounters { received, sent, echo_received, echo_sent } = counters;
    let all = [received, sent, echo_received, echo_sent];
    let all = all.map(|traffic| [traffic.bytes, traffic.packets].map(u64::to_be_bytes).concat());
    [&session.to_be_bytes()[..], &[0; 4], &all.concat()].concat()
}

/// The flags that are set.
fn all_of(flags: &[(u32, bool)]) -> u32 {
    flags.iter().filter(|(_, is_set)| *is_set).fold(0, |all, (flag, _)| all | flag)
}

/// Bytes of a message's header.
const HEADER_LEN: usize = 8;

/// Bytes of an interface's name, a zero included.
const NAME_LEN: usize = 64;

const VERSION: u8 = 1;

/// Types of messages.
const ECHO_REQUEST: u16 = 0;
const ECHO_REPLY: u16 = 1;
const ADD_SESSION: u16 = 2;
const DELETE_SESSION: u16 = 3;
const STATE_CHANGE: u16 = 4;
const REQUEST_COUNTERS: u16 = 5;
const COUNTERS: u16 = 6;

/// Flags of a session.
const MULTIHOP: u32 = 1;
const DEMAND: u32 = 2;
const INDEPENDENT: u32 = 4;
const HAS_ECHO: u32 = 8;
const IPV6: u32 = 16;
const PASSIVE: u32 = 32;
const SHUT_DOWN: u32 = 64;

/// Flags of the peer.
const PEER_INDEPENDENT: u32 = 1;
const PEER_DEMAND: u32 = 2;
const PEER_MULTIPOINT: u32 = 4;
