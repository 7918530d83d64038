//! Control messages: 128 bytes each, as written in memory on a little-endian machine.
//!
//! ```text
//! bytes  0-1   type
//!        2..   HELLO       name[32] min-version max-version max-region max-m2s-ring max-s2m-ring max-log2-ring-size
//!              INIT        version id(4) mode(1) secret[24] name[32]
//!              ADD_REGION  index size(8)                            + descriptor of the memory
//!              ADD_RING    flags index region offset(4) log2-size(1) private-header-size
//!                                                                   + descriptor of an eventfd
//!              CONNECT, CONNECTED  name[32] of the interface
//!              DISCONNECT  code(4) reason[96]
//! ```
//! Numbers have two bytes where no size is given; nothing is aligned. Any 128 bytes are read
//! without a panic; what the peer may say when is the matter of [`crate::handshake`].

use crate::text::Text;

/// Length of every message in bytes.
pub const MESSAGE_BYTES: usize = 128;

/// Version of the protocol, with major and minor number in one byte each.
pub const VERSION: u16 = 0x0200;

/// A control message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Acknowledges the previous message.
    Ack,
    /// Master: its limits.
    Hello(Hello),
    /// Slave: the requested interface.
    Init(Init),
    /// Slave: a region of memory.
    AddRegion {
        /// Number of the region.
        index: u16,
        /// Number of bytes to map.
        size: u64,
    },
    /// Slave: a ring in that memory.
    AddRing(AddRing),
    /// Slave: the end of its messages, with its name.
    Connect(Text<32>),
    /// Master: frames may pass; with its name.
    Connected(Text<32>),
    /// Either side: the end of the connection.
    Disconnect {
        /// A code without a standard meaning.
        code: u32,
        /// The reason.
        reason: Text<96>,
    },
}

/// Limits of a master. The largest numbers count from 0: `ring_m2s_max` 0 is one ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Name of the master.
    pub name: Text<32>,
    /// Lowest supported version.
    pub version_min: u16,
    /// Highest supported version.
    pub version_max: u16,
    /// Highest number of a region.
    pub region_max: u16,
    /// Highest number of a ring from master to slave.
    pub ring_m2s_max: u16,
    /// Highest number of a ring from slave to master.
    pub ring_s2m_max: u16,
    /// Binary logarithm of the largest ring size.
    pub ring_size_log2_max: u8,
}

/// Request of a slave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Init {
    /// Version of the slave.
    pub version: u16,
    /// Number of the interface.
    pub id: u32,
    /// Mode; 0 is Ethernet.
    pub mode: u8,
    /// Secret shared with the master.
    pub secret: Text<24>,
    /// Name of the slave.
    pub name: Text<32>,
}

/// Place of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddRing {
    /// True if frames pass from slave to master.
    pub is_s2m: bool,
    /// Number of the ring in that direction.
    pub index: u16,
    /// Region of the ring.
    pub region: u16,
    /// Offset in the region, in bytes.
    pub offset: u32,
    /// Binary logarithm of the ring size.
    pub size_log2: u8,
    /// Bytes of private data in front of each frame's descriptor; 0 here.
    pub private_header_bytes: u16,
}

impl Message {
    /// Parses a message; `None` for an unknown type.
    pub fn parse(bytes: &[u8; MESSAGE_BYTES]) -> Option<Message> {
        let mut fields = Fields { bytes, at: 0 };
        Some(match fields.u16() {
            1 => Message::Ack,
            2 => Message::Hello(Hello {
                name: fields.text(),
                version_min: fields.u16(),
                version_max: fields.u16(),
                region_max: fields.u16(),
                ring_m2s_max: fields.u16(),
                ring_s2m_max: fields.u16(),
                ring_size_log2_max: fields.u8(),
            }),
            3 => Message::Init(Init {
                version: fields.u16(),
                id: fields.u32(),
                mode: fields.u8(),
                secret: fields.text(),
                name: fields.text(),
            }),
            4 => Message::AddRegion { index: fields.u16(), size: fields.u64() },
            5 => Message::AddRing(AddRing {
                is_s2m: fields.u16() & FLAG_S2M != 0,
                index: fields.u16(),
                region: fields.u16(),
                offset: fields.u32(),
                size_log2: fields.u8(),
                private_header_bytes: fields.u16(),
            }),
            6 => Message::Connect(fields.text()),
            7 => Message::Connected(fields.text()),
            8 => Message::Disconnect { code: fields.u32(), reason: fields.text() },
            _ => return None,
        })
    }

    /// Returns the bytes of a message; unused bytes are zero.
    pub fn emit(&self) -> [u8; MESSAGE_BYTES] {
        let mut writer = Writer { bytes: [0; MESSAGE_BYTES], at: 0 };
        writer.put(&self.kind().to_le_bytes());
        match self {
            Message::Ack => {}
            Message::Hello(hello) => {
                writer.put(hello.name.bytes());
                let numbers = [
                    hello.version_min,
                    hello.version_max,
                    hello.region_max,
                    hello.ring_m2s_max,
                    hello.ring_s2m_max,
                ];
                numbers.iter().for_each(|number| writer.put(&number.to_le_bytes()));
                writer.put(&[hello.ring_size_log2_max]);
            }
            Message::Init(init) => {
                writer.put(&init.version.to_le_bytes());
                writer.put(&init.id.to_le_bytes());
                writer.put(&[init.mode]);
                writer.put(init.secret.bytes());
                writer.put(init.name.bytes());
            }
            Message::AddRegion { index, size } => {
                writer.put(&index.to_le_bytes());
                writer.put(&size.to_le_bytes());
            }
            Message::AddRing(ring) => {
                writer.put(&(if ring.is_s2m { FLAG_S2M } else { 0 }).to_le_bytes());
                writer.put(&ring.index.to_le_bytes());
                writer.put(&ring.region.to_le_bytes());
                writer.put(&ring.offset.to_le_bytes());
                writer.put(&[ring.size_log2]);
                writer.put(&ring.private_header_bytes.to_le_bytes());
            }
            Message::Connect(name) | Message::Connected(name) => writer.put(name.bytes()),
            Message::Disconnect { code, reason } => {
                writer.put(&code.to_le_bytes());
                writer.put(reason.bytes());
            }
        }
        writer.bytes
    }

    fn kind(&self) -> u16 {
        match self {
            Message::Ack => 1,
            Message::Hello(_) => 2,
            Message::Init(_) => 3,
            Message::AddRegion { .. } => 4,
            Message::AddRing(_) => 5,
            Message::Connect(_) => 6,
            Message::Connected(_) => 7,
            Message::Disconnect { .. } => 8,
        }
    }
}

/// Reader of fields; all messages together are shorter than [`MESSAGE_BYTES`].
struct Fields<'a> {
    bytes: &'a [u8; MESSAGE_BYTES],
    at: usize,
}

impl Fields<'_> {
    fn array<const N: usize>(&mut self) -> [u8; N] {
        let field = self.bytes.get(self.at..self.at + N).and_then(|field| field.try_into().ok());
        self.at += N;
        field.unwrap_or([0; N])
    }

    fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    fn text<const N: usize>(&mut self) -> Text<N> {
        Text::from_bytes(self.array())
    }
}

struct Writer {
    bytes: [u8; MESSAGE_BYTES],
    at: usize,
}

impl Writer {
    fn put(&mut self, field: &[u8]) {
        self.bytes[self.at..self.at + field.len()].copy_from_slice(field);
        self.at += field.len();
    }
}

/// Flag of ADD_RING: the ring is from slave to master.
const FLAG_S2M: u16 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_read_as_it_was_written() {
        let messages = [
            Message::Ack,
            Message::Hello(Hello {
                name: Text::new("a master"),
                version_min: VERSION,
                version_max: VERSION,
                region_max: 15,
                ring_m2s_max: 3,
                ring_s2m_max: 2,
                ring_size_log2_max: 14,
            }),
            Message::Init(Init {
                version: VERSION,
                id: 70_000,
                mode: 0,
                secret: Text::new("between us"),
                name: Text::new("a slave"),
            }),
            Message::AddRegion { index: 1, size: 1 << 40 },
            Message::AddRing(AddRing {
                is_s2m: true,
                index: 7,
                region: 1,
                offset: 0x01020304,
                size_log2: 10,
                private_header_bytes: 0,
            }),
            Message::Connect(Text::new("left")),
            Message::Connected(Text::new("right")),
            Message::Disconnect { code: 9, reason: Text::new("enough") },
        ];
        for message in messages {
            assert_eq!(Message::parse(&message.emit()), Some(message));
        }
    }

    #[test]
    fn fields_lie_where_others_expect_them() {
        // By the packed structures of libmemif: a ring of 1024 in direction slave to master.
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[..15].copy_from_slice(&[5, 0, 1, 0, 0, 0, 0, 0, 0x80, 0x40, 0, 0, 10, 0, 0]);
        let ring = AddRing {
            is_s2m: true,
            index: 0,
            region: 0,
            offset: 0x4080,
            size_log2: 10,
            private_header_bytes: 0,
        };
        assert_eq!(Message::parse(&bytes), Some(Message::AddRing(ring)));
        assert_eq!(Message::AddRing(ring).emit(), bytes);
        let end = Message::Disconnect { code: 0, reason: Text::new(&"x".repeat(200)) }.emit();
        assert_eq!((end[6], end[100], end[101], end[102]), (b'x', b'x', 0, 0));
    }

    #[test]
    fn unknown_types_are_none() {
        for kind in [0u16, 9, 256, u16::MAX] {
            let mut bytes = [0xff; MESSAGE_BYTES];
            bytes[..2].copy_from_slice(&kind.to_le_bytes());
            assert_eq!(Message::parse(&bytes), None);
        }
    }
}
