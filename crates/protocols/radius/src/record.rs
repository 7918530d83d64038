//! Accounting records (RFC 2866): what a session has used, as attributes.
//!
//! Volumes have 64 bits, and those of IPv4 and IPv6 are apart. Which attribute tells which of them
//! is a table (`dictionary/volumes` unless the configuration has another one): the standard's tell
//! totals, of octets the upper 32 bits in Gigawords (RFC 2869 section 5.1).

use crate::attributes::{Attributes, Format, Key, List, Refused, kind};
use crate::dictionary::{Dictionary, UnreadableRow, rows_of};

/// A record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// What happens.
    pub status: Status,
    /// Acct-Session-Id, the same in all records of a session.
    pub session: &'a [u8],
    /// When it happens, in seconds since 1970.
    pub event_s: u64,
    /// How long the session has lasted, in seconds; none before it begins.
    pub duration_s: Option<u64>,
    /// What it has used; none before it begins.
    pub volumes: Option<&'a Volumes>,
    /// Why it ends.
    pub cause: Option<TerminateCause>,
    /// What else tells whose it is: names, ports, addresses, Class.
    pub identity: Attributes<'a>,
}

/// Acct-Status-Type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A session begins.
    Start = 1,
    /// It ends.
    Stop = 2,
    /// It goes on.
    Interim = 3,
    /// The access server begins: sessions of before are gone.
    On = 7,
    /// It ends, and all sessions do.
    Off = 8,
}

/// Acct-Terminate-Cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are those of RFC 2866 section 5.10")]
pub enum TerminateCause {
    UserRequest = 1,
    LostCarrier = 2,
    LostService = 3,
    IdleTimeout = 4,
    SessionTimeout = 5,
    AdminReset = 6,
    AdminReboot = 7,
    PortError = 8,
    NasError = 9,
    NasRequest = 10,
    NasReboot = 11,
    PortUnneeded = 12,
    PortPreempted = 13,
    PortSuspended = 14,
    ServiceUnavailable = 15,
    Callback = 16,
    UserError = 17,
    HostRequest = 18,
}

/// What a session has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volumes {
    /// From the subscriber by IPv4 and by IPv6.
    pub up: [Volume; 2],
    /// To the subscriber by IPv4 and by IPv6.
    pub down: [Volume; 2],
}

/// A volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Bytes.
    pub octets: u64,
    /// Packets.
    pub packets: u64,
}

/// Which attribute tells which volume.
#[derive(Clone, Debug)]
pub struct Fields(Vec<(Key, Format, Measure)>);

#[derive(Clone, Copy, Debug)]
struct Measure {
    /// Families that are added up: IPv4, IPv6.
    families: [bool; 2],
    is_up: bool,
    is_packets: bool,
    part: Part,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Low,
    High,
    Whole,
}

impl Record<'_> {
    /// Returns its attributes, without those that are written with a packet.
    ///
    /// # Errors
    /// When they do not fit a packet.
    pub fn attributes(&self, fields: &Fields) -> Result<List, Refused> {
        let mut list = List::new();
        list.put_number(kind::ACCT_STATUS_TYPE, self.status as u32)?;
        list.put(kind::ACCT_SESSION_ID, self.session)?;
        list.put_number(kind::EVENT_TIMESTAMP, low(self.event_s))?;
        if let Some(duration_s) = self.duration_s {
            let shown = u32::try_from(duration_s).unwrap_or(u32::MAX);
            list.put_number(kind::ACCT_SESSION_TIME, shown)?;
        }
        if let Some(cause) = self.cause {
            list.put_number(kind::ACCT_TERMINATE_CAUSE, cause as u32)?;
        }
        for (key, format, measure) in fields.0.iter().filter(|_| self.volumes.is_some()) {
            let number = self.volumes.map_or(0, |volumes| measure.of(volumes));
            match measure.part {
                Part::Low => list.put_key(*key, *format, &low(number).to_be_bytes())?,
                Part::High => list.put_key(*key, *format, &low(number >> 32).to_be_bytes())?,
                Part::Whole => list.put_key(*key, *format, &number.to_be_bytes())?,
            }
        }
        list.extend(self.identity, |_| true)?;
        Ok(list)
    }
}

impl Fields {
    /// The table of this crate, `dictionary/volumes`.
    ///
    /// # Errors
    /// When the dictionary does not have its attributes.
    pub fn standard(dictionary: &Dictionary) -> Result<Fields, UnreadableRow> {
        Fields::read(dictionary, &rows_of(DEFAULT))
    }

    /// Reads rows of an attribute's name and a volume: `up-octets`, `down-packets`, with `ipv4-` or
    /// `ipv6-` before it for one family, and behind it `-high` for the upper 32 bits or `-whole`
    /// for 64; else the lower 32.
    ///
    /// # Errors
    /// The first row that is none.
    pub fn read(dictionary: &Dictionary, rows: &[(&str, &str)]) -> Result<Fields, UnreadableRow> {
        let read = |key: Key, volume: &str| {
            let measure = Measure::read(volume).ok_or(format!("`{volume}` is no volume"))?;
            Ok((key, dictionary.format(key.vendor), measure))
        };
        Ok(Fields(dictionary.read_rows("volumes", rows, read)?))
    }
}

impl Measure {
    fn read(text: &str) -> Option<Measure> {
        let (families, text) = match text.split_once('-')? {
            ("ipv4", rest) => ([true, false], rest),
            ("ipv6", rest) => ([false, true], rest),
            _ => ([true, true], text),
        };
        let (way, text) = text.split_once('-')?;
        let (what, part) = text.split_once('-').unwrap_or((text, "low"));
        let part = match part {
            "low" => Part::Low,
            "high" => Part::High,
            "whole" => Part::Whole,
            _ => return None,
        };
        let is =
            |word: &str, [yes, no]: [&str; 2]| (word == yes || word == no).then_some(word == yes);
        let (is_up, is_packets) = (is(way, ["up", "down"])?, is(what, ["packets", "octets"])?);
        Some(Measure { families, is_up, is_packets, part })
    }

    fn of(self, volumes: &Volumes) -> u64 {
        let both = if self.is_up { volumes.up } else { volumes.down };
        let wanted = both.iter().zip(self.families).filter(|(_, is_wanted)| *is_wanted);
        let numbers = wanted.map(|(it, _)| if self.is_packets { it.packets } else { it.octets });
        numbers.fold(0, u64::wrapping_add)
    }
}

/// The lower 32 bits.
fn low(number: u64) -> u32 {
    number as u32
}

const DEFAULT: &str = include_str!("../dictionary/volumes");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_of_64_bits_are_told_whole_and_by_family() {
        let dictionary = Dictionary::standard();
        let volume = |octets, packets| Volume { octets, packets };
        let volumes = Volumes {
            up: [volume(5 << 32 | 7, 10), volume(1 << 32 | 2, 3)],
            down: [volume(100, 1), volume(0xffff_ffff, 2)],
        };
        let mut identity = List::new();
        identity.put(kind::USER_NAME, b"somebody").expect("it fits");
        let record = Record {
            status: Status::Stop,
            session: b"7",
            event_s: 1_700_000_000,
            duration_s: Some(60),
            volumes: Some(&volumes),
            cause: Some(TerminateCause::IdleTimeout),
            identity: identity.attributes(),
        };
        let fields = Fields::standard(&dictionary).expect("a table");
        let list = record.attributes(&fields).expect("it fits");
        let all = list.attributes().apart(|vendor| dictionary.format(vendor));
        let text = |name: &str| {
            let key = dictionary.key(name).expect("it is there");
            let found = all.iter().find(|(other, _)| *other == key);
            found.map(|(_, value)| dictionary.text(key, value)).expect("it is told")
        };
        for (name, expected) in [
            ("Acct-Status-Type", "Stop"),
            ("Acct-Session-Id", "7"),
            ("Event-Timestamp", "1700000000"),
            ("Acct-Session-Time", "60"),
            ("Acct-Terminate-Cause", "Idle-Timeout"),
            ("Acct-Input-Octets", "9"),
            ("Acct-Input-Gigawords", "6"),
            ("Acct-Input-Packets", "13"),
            ("Acct-Output-Octets", "99"),
            ("Acct-Output-Gigawords", "1"),
            ("ERX-IPv6-Acct-Input-Octets", "2"),
            ("ERX-IPv6-Acct-Input-Gigawords", "1"),
            ("ERX-IPv6-Acct-Output-Octets", "4294967295"),
            ("ERX-IPv6-Acct-Output-Packets", "2"),
            ("User-Name", "somebody"),
        ] {
            assert_eq!(text(name), expected, "{name}");
        }
        let start = Record { volumes: None, duration_s: None, cause: None, ..record };
        let list = start.attributes(&fields).expect("it fits");
        assert_eq!(list.attributes().iter().count(), 4, "nothing is used before it begins");
        for wrong in ["up", "up-bits", "left-octets", "up-octets-middle", "ipv5-up-octets"] {
            let read = Fields::read(&dictionary, &[("Class", "up-octets"), ("Class", wrong)]);
            assert_eq!(read.err().map(|error| error.row), Some(2), "{wrong}");
        }
        let encrypted = Fields::read(&dictionary, &[("Tunnel-Password", "up-octets")]);
        let error = encrypted.expect_err("nobody could read it").to_string();
        assert!(error.starts_with("row 1 of the volumes: `Tunnel-Password` is encrypted"));
    }
}
