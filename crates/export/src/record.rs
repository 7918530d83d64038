//! What a function says of its events: their kinds, and of which fields their records consist.
//!
//! A template stands for both formats: the fields are information elements of IPFIX, and parameters
//! of syslog in the same order.

use std::net::{Ipv4Addr, Ipv6Addr};

use machine::clock::Ticks;

/// Something that happened, as plain data.
pub trait Event: Copy {
    /// What can happen.
    type Kind: Kind;

    /// A piece of a record.
    type Field: Field<Self>;

    /// The name of the application in messages of syslog (RFC 5424 section 6.2.5).
    const APPLICATION: &'static str;

    /// What stands before `@` in the name of the structured data (RFC 5424 section 6.3.2).
    const DATA: &'static str;

    /// An event whose bytes are not all zero: a queue that is filled with it has all its memory.
    const FILLER: Self;

    /// When it happened.
    fn at(&self) -> Ticks;

    /// What happened.
    fn kind(&self) -> Self::Kind;

    /// The place of its template in what [`Self::templates`] gives for its shape.
    fn shape(&self) -> usize;

    /// The templates of the kinds that are told; with the other end of sessions or without.
    fn templates(tells: impl Fn(Self::Kind) -> bool, destinations: bool) -> Templates<Self::Field>;
}

/// A kind of events.
pub trait Kind: Copy + 'static {
    /// All kinds.
    const ALL: &'static [Self];

    /// Its number, below 32.
    fn number(self) -> usize;

    /// The message identifier in syslog (RFC 5424 section 6.2.7).
    fn name(self) -> &'static str;

    /// With what it is counted.
    fn class(self) -> Class;

    /// The severity in syslog (RFC 5424 section 6.2.1).
    fn severity(self) -> u32;
}

/// A piece of the records of events `E`.
pub trait Field<E>: Copy {
    /// The number of the information element in IANA's registry.
    fn number(self) -> u16;

    /// The name of the parameter in syslog; none where the header or another parameter has it.
    fn name(self, event: &E) -> Option<&'static str>;

    /// The value for an event of a time in milliseconds since 1970. Its type depends on the field
    /// alone.
    fn value(self, event: &E, unix_ms: u64) -> Value;
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number of a byte.
    U8(u8),
    /// A number of two bytes.
    U16(u16),
    /// A number of four bytes.
    U32(u32),
    /// A number of eight bytes.
    U64(u64),
    /// An IPv4 address.
    Ipv4(Ipv4Addr),
    /// An IPv6 address.
    Ipv6(Ipv6Addr),
}

/// Kinds that are counted and limited together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Sessions.
    Sessions,
    /// Mappings.
    Mappings,
    /// Blocks of ports, and pairings of addresses; begin and end of the log itself.
    Blocks,
    /// Exhaustion, limits and thresholds.
    Alarms,
}

/// Of what records of some kinds consist.
#[derive(Clone, Debug)]
pub struct Template<F> {
    /// Its identifier (RFC 7011 section 3.4.1).
    pub id: u16,
    /// How many pieces, from the first on, say of what the others are true: a template with some is
    /// one of options (RFC 7011 section 3.4.2.2).
    pub scope: u16,
    /// The pieces.
    pub fields: Vec<F>,
}

/// The templates of a function under a configuration.
pub struct Templates<F> {
    /// All, in the order of their identifiers.
    pub all: Vec<Template<F>>,
    /// The place of the template in `all` for each shape of an event.
    pub by_shape: Vec<u8>,
}

impl<F> Templates<F> {
    /// The number of the template of a shape whose kind is told.
    #[inline]
    pub fn of(&self, shape: usize) -> usize {
        usize::from(self.by_shape[shape])
    }
}

impl Value {
    /// Its length in a record of IPFIX, in bytes.
    pub const fn len_bytes(self) -> usize {
        match self {
            Value::U8(_) => 1,
            Value::U16(_) => 2,
            Value::U32(_) | Value::Ipv4(_) => 4,
            Value::U64(_) => 8,
            Value::Ipv6(_) => 16,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The least of an event: its time, told as a number.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Tick(pub Ticks);

    /// The one kind of them.
    #[derive(Clone, Copy)]
    pub struct Ticked;

    /// The one field of them.
    #[derive(Clone, Copy)]
    pub struct When;

    impl Event for Tick {
        type Kind = Ticked;
        type Field = When;

        const APPLICATION: &'static str = "test";
        const DATA: &'static str = "tick";
        const FILLER: Tick = Tick(1);

        fn at(&self) -> Ticks {
            self.0
        }

        fn kind(&self) -> Ticked {
            Ticked
        }

        fn shape(&self) -> usize {
            0
        }

        fn templates(_: impl Fn(Ticked) -> bool, _: bool) -> Templates<When> {
            Templates {
                all: vec![Template { id: 256, scope: 0, fields: vec![When] }],
                by_shape: vec![0],
            }
        }
    }

    impl Kind for Ticked {
        const ALL: &'static [Ticked] = &[Ticked];

        fn number(self) -> usize {
            0
        }

        fn name(self) -> &'static str {
            "ticked"
        }

        fn class(self) -> Class {
            Class::Blocks
        }

        fn severity(self) -> u32 {
            6
        }
    }

    impl Field<Tick> for When {
        fn number(self) -> u16 {
            323
        }

        fn name(self, _: &Tick) -> Option<&'static str> {
            Some("at")
        }

        fn value(self, event: &Tick, _: u64) -> Value {
            Value::U64(event.0)
        }
    }
}
