//! Messages of a client of DHCPv4 as RFC 2131 and RFC 2132 have them, byte by byte: nothing here
//! knows the crate's codec.

/// A message that a client or server has sent, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message4 {
    pub op: u8,
    pub hops: u8,
    pub xid: u32,
    pub flags: u16,
    pub ciaddr: [u8; 4],
    pub yiaddr: [u8; 4],
    pub giaddr: [u8; 4],
    pub chaddr: [u8; 6],
    pub options: Vec<(u8, Vec<u8>)>,
}

impl Message4 {
    /// A request of a client with this hardware address.
    pub fn new(kind: u8, xid: u32, chaddr: [u8; 6]) -> Message4 {
        Message4 {
            op: 1,
            hops: 0,
            xid,
            flags: 0,
            ciaddr: [0; 4],
            yiaddr: [0; 4],
            giaddr: [0; 4],
            chaddr,
            options: vec![(53, vec![kind])],
        }
    }

    /// The same with one more option.
    pub fn with(mut self, code: u8, value: &[u8]) -> Message4 {
        self.options.push((code, value.to_vec()));
        self
    }

    /// The bytes of RFC 2131 figure 1.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.op, 1, 6, self.hops];
        bytes.extend(self.xid.to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(self.flags.to_be_bytes());
        bytes.extend(self.ciaddr);
        bytes.extend(self.yiaddr);
        bytes.extend([0; 4]);
        bytes.extend(self.giaddr);
        bytes.extend(self.chaddr);
        bytes.extend([0; 10 + 64 + 128]);
        bytes.extend([0x63, 0x82, 0x53, 0x63]);
        for (code, value) in &self.options {
            bytes.extend([*code, value.len() as u8]);
            bytes.extend(value);
        }
        bytes.push(255);
        bytes
    }

    /// Reads such bytes.
    pub fn read(bytes: &[u8]) -> Message4 {
        assert!(bytes.len() >= 300, "{} bytes are less than RFC 1542 has", bytes.len());
        assert_eq!(bytes[1..3], [1, 6]);
        assert_eq!(bytes[236..240], [0x63, 0x82, 0x53, 0x63]);
        let four = |at: usize| -> [u8; 4] { bytes[at..at + 4].try_into().expect("four") };
        let mut options = Vec::new();
        let mut at = 240;
        while bytes[at] != 255 {
            if bytes[at] == 0 {
                at += 1;
                continue;
            }
            let len = usize::from(bytes[at + 1]);
            options.push((bytes[at], bytes[at + 2..at + 2 + len].to_vec()));
            at += 2 + len;
        }
        assert!(bytes[at + 1..].iter().all(|byte| *byte == 0), "padding behind the end");
        Message4 {
            op: bytes[0],
            hops: bytes[3],
            xid: u32::from_be_bytes(four(4)),
            flags: u16::from_be_bytes([bytes[10], bytes[11]]),
            ciaddr: four(12),
            yiaddr: four(16),
            giaddr: four(24),
            chaddr: bytes[28..34].try_into().expect("six"),
            options,
        }
    }

    /// An option; empty if it is not there.
    pub fn option(&self, code: u8) -> &[u8] {
        let found = self.options.iter().find(|(found, _)| *found == code);
        found.map_or(&[], |(_, value)| value)
    }

    /// The message type.
    pub fn kind(&self) -> u8 {
        self.option(53)[0]
    }
}

pub const DISCOVER: u8 = 1;
pub const OFFER: u8 = 2;
pub const REQUEST: u8 = 3;
pub const DECLINE: u8 = 4;
pub const ACK: u8 = 5;
pub const NAK: u8 = 6;
pub const RELEASE: u8 = 7;
pub const INFORM: u8 = 8;
