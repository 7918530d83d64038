//! BFD Control packet (RFC 5880 section 4).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |Vers |  Diag   |Sta|P|F|C|A|D|M|  Detect Mult  |    Length     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                       My Discriminator                        |
//! |                      Your Discriminator                       |
//! |                    Desired Min TX Interval                    |
//! |                   Required Min RX Interval                    |
//! |                 Required Min Echo RX Interval                 |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Auth Type   |   Auth Len    |    Authentication Data...     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//! Intervals are microseconds. [`Packet::parse`] makes those checks of section 6.8.6 that need no
//! session; bytes behind the Length field are ignored.

/// A control packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Why the sender's session last left a state.
    pub diagnostic: Diagnostic,
    /// State of the sender's session.
    pub state: State,
    /// Poll (P): the sender wants an answer.
    pub is_poll: bool,
    /// Final (F): this answers a poll.
    pub is_final: bool,
    /// Control Plane Independent (C): the sender's BFD survives a restart of its control plane.
    pub is_independent: bool,
    /// Demand (D): the sender wants no periodic packets.
    pub is_demand: bool,
    /// Number of missing packets after which the receiver declares the session down; not zero.
    pub detect_multiplier: u8,
    /// The sender's number of the session; not zero.
    pub my_discriminator: u32,
    /// The receiver's number of the session; zero if unknown.
    pub your_discriminator: u32,
    /// Interval at which the sender would like to send, in microseconds.
    pub desired_min_tx_us: u32,
    /// Interval at which the sender can receive, in microseconds; zero if it wants no periodic
    /// packets.
    pub required_min_rx_us: u32,
    /// Interval at which the sender can return Echo packets, in microseconds; zero if it returns
    /// none.
    pub required_min_echo_rx_us: u32,
    /// The authentication section, with type and length, if the A bit is set.
    pub authentication: Option<&'a [u8]>,
}

/// State of a session (RFC 5880 section 6.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Held down by an operator.
    AdminDown = 0,
    /// Down, or just created.
    #[default]
    Down = 1,
    /// The peer's packets arrive; whether ours do is unknown.
    Init = 2,
    /// Packets arrive in both directions.
    Up = 3,
}

/// Why a session last changed its state: five bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Diagnostic(pub u8);

impl Diagnostic {
    /// No Diagnostic.
    pub const NONE: Diagnostic = Diagnostic(0);
    /// Control Detection Time Expired.
    pub const TIME_EXPIRED: Diagnostic = Diagnostic(1);
    /// Echo Function Failed.
    pub const ECHO_FAILED: Diagnostic = Diagnostic(2);
    /// Neighbor Signaled Session Down.
    pub const NEIGHBOR_DOWN: Diagnostic = Diagnostic(3);
    /// Forwarding Plane Reset.
    pub const FORWARDING_RESET: Diagnostic = Diagnostic(4);
    /// Path Down.
    pub const PATH_DOWN: Diagnostic = Diagnostic(5);
    /// Concatenated Path Down.
    pub const CONCATENATED_DOWN: Diagnostic = Diagnostic(6);
    /// Administratively Down.
    pub const ADMIN_DOWN: Diagnostic = Diagnostic(7);
    /// Reverse Concatenated Path Down.
    pub const REVERSE_CONCATENATED_DOWN: Diagnostic = Diagnostic(8);

    /// Returns the name in the RFC; `reserved` for a code that it does not define.
    pub fn name(self) -> &'static str {
        NAMES.get(usize::from(self.0)).copied().unwrap_or("reserved")
    }
}

/// Why bytes are no control packet that anybody may accept: the checks of RFC 5880 section 6.8.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The version is not 1.
    #[error("the version is not 1")]
    Version,
    /// The Length field is below the minimum or above the bytes there are, or the authentication
    /// section does not fill the rest of the packet.
    #[error("a length does not fit")]
    Length,
    /// The Detect Mult field is zero.
    #[error("the detection multiplier is zero")]
    Multiplier,
    /// The Multipoint bit is set.
    #[error("the multipoint bit is set")]
    Multipoint,
    /// My Discriminator is zero.
    #[error("the sender's discriminator is zero")]
    MyDiscriminator,
    /// Your Discriminator is zero in a state that a sender reaches only by packets from us.
    #[error("the receiver's discriminator is zero in state Init or Up")]
    YourDiscriminator,
}

impl<'a> Packet<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    /// The first check that fails, in the order of the RFC.
    pub fn parse(bytes: &'a [u8]) -> Result<Packet<'a>, Malformed> {
        let (header, rest) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Length)?;
        let [first, flags, detect_multiplier, len, numbers @ ..] = header;
        if first >> 5 != VERSION {
            return Err(Malformed::Version);
        }
        let is_authenticated = flags & flag::AUTHENTICATION != 0;
        let rest_len = usize::from(*len).checked_sub(HEADER_LEN).ok_or(Malformed::Length)?;
        let rest = rest.get(..rest_len).ok_or(Malformed::Length)?;
        if is_authenticated && rest.get(1).is_none_or(|&len| usize::from(len) != rest.len()) {
            return Err(Malformed::Length);
        }
        if *detect_multiplier == 0 {
            return Err(Malformed::Multiplier);
        }
        if flags & flag::MULTIPOINT != 0 {
            return Err(Malformed::Multipoint);
        }
        let number = |at: usize| {
            let bytes = numbers.as_chunks().0.get(at).copied();
            u32::from_be_bytes(bytes.unwrap_or_default())
        };
        let packet = Packet {
            diagnostic: Diagnostic(first & DIAGNOSTIC_MAX),
            state: State::of(flags >> 6),
            is_poll: flags & flag::POLL != 0,
            is_final: flags & flag::FINAL != 0,
            is_independent: flags & flag::INDEPENDENT != 0,
            is_demand: flags & flag::DEMAND != 0,
            detect_multiplier: *detect_multiplier,
            my_discriminator: number(0),
            your_discriminator: number(1),
            desired_min_tx_us: number(2),
            required_min_rx_us: number(3),
            required_min_echo_rx_us: number(4),
            authentication: is_authenticated.then_some(rest),
        };
        if packet.my_discriminator == 0 {
            return Err(Malformed::MyDiscriminator);
        }
        if packet.your_discriminator == 0 && packet.state > State::Down {
            return Err(Malformed::YourDiscriminator);
        }
        Ok(packet)
    }

    /// Returns the bytes of the packet. Its authentication section is written as it stands.
    pub fn emit(&self) -> Vec<u8> {
        let section = self.authentication.unwrap_or_default();
        let mut bytes = Vec::with_capacity(HEADER_LEN + section.len());
        let flags = [
            (self.is_poll, flag::POLL),
            (self.is_final, flag::FINAL),
            (self.is_independent, flag::INDEPENDENT),
            (self.authentication.is_some(), flag::AUTHENTICATION),
            (self.is_demand, flag::DEMAND),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum::<u8>();
        bytes.push((VERSION << 5) | (self.diagnostic.0 & DIAGNOSTIC_MAX));
        bytes.push(((self.state as u8) << 6) | flags);
        bytes.push(self.detect_multiplier);
        bytes.push((HEADER_LEN + section.len()) as u8);
        for number in [
            self.my_discriminator,
            self.your_discriminator,
            self.desired_min_tx_us,
            self.required_min_rx_us,
            self.required_min_echo_rx_us,
        ] {
            bytes.extend(number.to_be_bytes());
        }
        bytes.extend(section);
        bytes
    }
}

impl State {
    /// The state of a two-bit number.
    fn of(number: u8) -> State {
        [State::AdminDown, State::Down, State::Init, State::Up][usize::from(number & 3)]
    }
}

/// Bits of the second byte.
mod flag {
    pub const POLL: u8 = 0x20;
    pub const FINAL: u8 = 0x10;
    pub const INDEPENDENT: u8 = 0x08;
    pub const AUTHENTICATION: u8 = 0x04;
    pub const DEMAND: u8 = 0x02;
    pub const MULTIPOINT: u8 = 0x01;
}

/// Length of a packet without authentication section, in bytes.
pub const HEADER_LEN: usize = 24;

const VERSION: u8 = 1;
const DIAGNOSTIC_MAX: u8 = 0x1f;

/// Names of the diagnostic codes, by their number.
const NAMES: &[&str] = &[
    "No Diagnostic",
    "Control Detection Time Expired",
    "Echo Function Failed",
    "Neighbor Signaled Session Down",
    "Forwarding Plane Reset",
    "Path Down",
    "Concatenated Path Down",
    "Administratively Down",
    "Reverse Concatenated Path Down",
];

/// The law of the format: what is accepted is written back as it was read.
///
/// # Panics
/// When it is not.
pub fn law(bytes: &[u8]) {
    let Ok(packet) = Packet::parse(bytes) else { return };
    let written = packet.emit();
    assert_eq!(Packet::parse(&written), Ok(packet));
    assert_eq!(written.len(), HEADER_LEN + packet.authentication.map_or(0, <[u8]>::len));
    assert_eq!(written[4..], bytes[4..written.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Up, poll, three intervals, without authentication.
    const UP: [u8; 24] = [
        0x20, 0xe0, 3, 24, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0x27, 0x10, 0, 0, 0x4e, 0x20, 0, 0, 0, 50,
    ];

    #[test]
    fn reads_and_writes_every_field() {
        let packet = Packet::parse(&UP).expect("a packet");
        let expected = Packet {
            diagnostic: Diagnostic::NONE,
            state: State::Up,
            is_poll: true,
            is_final: false,
            is_independent: false,
            is_demand: false,
            detect_multiplier: 3,
            my_discriminator: 1,
            your_discriminator: 2,
            desired_min_tx_us: 10_000,
            required_min_rx_us: 20_000,
            required_min_echo_rx_us: 50,
            authentication: None,
        };
        assert_eq!(packet, expected);
        assert_eq!(packet.emit(), UP);
        let other = Packet {
            diagnostic: Diagnostic(31),
            state: State::AdminDown,
            is_poll: false,
            is_final: true,
            is_independent: true,
            is_demand: true,
            authentication: Some(&[1, 4, 7, 9]),
            ..packet
        };
        let bytes = other.emit();
        assert_eq!(bytes[..4], [0x3f, 0x1e, 3, 28]);
        assert_eq!(Packet::parse(&bytes), Ok(other));
        let with_trailer = [&bytes[..], &[0; 7]].concat();
        assert_eq!(Packet::parse(&with_trailer), Ok(other), "bytes behind the length are ignored");
    }

    #[test]
    fn each_check_of_the_rfc_refuses() {
        let changed = |at: usize, value: u8| {
            let mut bytes = UP;
            bytes[at] = value;
            Packet::parse(&bytes).map(|packet| packet.state)
        };
        assert_eq!(changed(0, 0), Err(Malformed::Version));
        assert_eq!(changed(3, 23), Err(Malformed::Length), "below the minimum");
        assert_eq!(changed(3, 25), Err(Malformed::Length), "above the bytes there are");
        assert_eq!(changed(1, 0xc4), Err(Malformed::Length), "no authentication section");
        assert_eq!(changed(2, 0), Err(Malformed::Multiplier));
        assert_eq!(changed(1, 0xc1), Err(Malformed::Multipoint));
        assert_eq!(changed(7, 0), Err(Malformed::MyDiscriminator));
        assert_eq!(changed(11, 0), Err(Malformed::YourDiscriminator));
        assert_eq!(Packet::parse(&UP[..23]).unwrap_err(), Malformed::Length);
        let mut down = UP;
        (down[1], down[11]) = (0x40, 0);
        assert_eq!(Packet::parse(&down).map(|packet| packet.state), Ok(State::Down));
    }

    #[test]
    fn codes_have_the_names_of_the_rfc() {
        assert_eq!(Diagnostic::REVERSE_CONCATENATED_DOWN.name(), "Reverse Concatenated Path Down");
        assert_eq!(Diagnostic(9).name(), "reserved");
    }
}
