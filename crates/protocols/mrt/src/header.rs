//! What each record begins with (RFC 6396 section 2 and 3).
//!
//! ```text
//!  | seconds since 1970 u32 | type u16 | subtype u16 | length u32 | body |
//!  of types with the ending _ET the body begins with microseconds u32
//! ```

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// When it was written, in seconds since 1970.
    pub seconds: u32,
    /// Its type: [`TABLE_DUMP_V2`], [`BGP4MP`] or [`BGP4MP_ET`], or one that is not read.
    pub kind: u16,
    /// What of the type it is.
    pub subtype: u16,
    /// Bytes behind the header.
    pub len: u32,
}

/// A time of the day in microseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(pub u64);

/// Why a record cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

impl Stamp {
    /// Returns the whole seconds; the last one of 32 bits from the year 2106 on.
    pub fn seconds(self) -> u32 {
        u32::try_from(self.0 / MICROS).unwrap_or(u32::MAX)
    }

    /// Returns the microseconds behind the whole seconds.
    pub fn micros(self) -> u32 {
        (self.0 % MICROS) as u32
    }

    /// Returns a time of whole seconds and microseconds.
    pub fn of(seconds: u32, micros: u32) -> Stamp {
        Stamp(u64::from(seconds) * MICROS + u64::from(micros))
    }
}

impl Header {
    /// Reads the header.
    pub fn read(bytes: &[u8; HEADER_LEN]) -> Header {
        let [a, b, c, d, kind, kind_low, sub, sub_low, len @ ..] = *bytes;
        Header {
            seconds: u32::from_be_bytes([a, b, c, d]),
            kind: u16::from_be_bytes([kind, kind_low]),
            subtype: u16::from_be_bytes([sub, sub_low]),
            len: u32::from_be_bytes(len),
        }
    }

    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.seconds.to_be_bytes());
        out.extend(self.kind.to_be_bytes());
        out.extend(self.subtype.to_be_bytes());
        out.extend(self.len.to_be_bytes());
    }

    /// Returns whether there is such a type and subtype, and a record may be that long.
    pub fn is_plausible(&self) -> bool {
        let subtypes = KINDS.iter().find(|(kind, _)| *kind == self.kind);
        subtypes.is_some_and(|(_, subtypes)| self.subtype <= *subtypes)
            && self.len <= RECORD_LEN_MAX
    }
}

/// Bytes of a header.
pub const HEADER_LEN: usize = 12;

/// Tables of routes (RFC 6396 section 4.3).
pub const TABLE_DUMP_V2: u16 = 13;

/// Messages and states of sessions of BGP (RFC 6396 section 4.4).
pub const BGP4MP: u16 = 16;

/// The same with microseconds.
pub const BGP4MP_ET: u16 = 17;

/// The types that there are, with the greatest number of a subtype (RFC 6396 section 4, and the
/// registry "MRT types" of IANA): those that are not read are told apart from damage, too.
const KINDS: &[(u16, u16)] = &[
    // OSPFv2, TABLE_DUMP, TABLE_DUMP_V2, BGP4MP, BGP4MP_ET, ISIS, ISIS_ET, OSPFv3, OSPFv3_ET
    (11, 1),
    (12, 2),
    (TABLE_DUMP_V2, 12),
    (BGP4MP, 11),
    (BGP4MP_ET, 11),
    (32, 0),
    (33, 0),
    (48, 1),
    (49, 1),
];

/// Most bytes of a record behind its header: 65,535 peers with an attribute or two each.
pub const RECORD_LEN_MAX: u32 = 16 << 20;

const MICROS: u64 = 1_000_000;
