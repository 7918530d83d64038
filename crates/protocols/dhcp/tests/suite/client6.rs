//! Messages of a client of DHCPv6 as RFC 8415 has them, byte by byte: nothing here knows the
//! crate's codec.

/// A message of a client or server, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message6 {
    pub kind: u8,
    pub xid: [u8; 3],
    pub options: Vec<(u16, Vec<u8>)>,
}

impl Message6 {
    /// A message with the client's identifier.
    pub fn new(kind: u8, xid: u8, client: &[u8]) -> Message6 {
        Message6 { kind, xid: [0xaa, 0xbb, xid], options: vec![(1, client.to_vec())] }
    }

    /// The same with one more option.
    pub fn with(mut self, code: u16, value: &[u8]) -> Message6 {
        self.options.push((code, value.to_vec()));
        self
    }

    /// The bytes of RFC 8415 section 8.
    pub fn bytes(&self) -> Vec<u8> {
        [&[self.kind][..], &self.xid, &options(&self.options)].concat()
    }

    /// Reads such bytes.
    pub fn read(bytes: &[u8]) -> Message6 {
        let xid = bytes[1..4].try_into().expect("three");
        Message6 { kind: bytes[0], xid, options: read_options(&bytes[4..]) }
    }

    /// The first option of a code; empty if it is not there.
    pub fn option(&self, code: u16) -> &[u8] {
        let found = self.options.iter().find(|(found, _)| *found == code);
        found.map_or(&[], |(_, value)| value)
    }

    /// What the association of a code (3 or 25) has: its options.
    pub fn association(&self, code: u16) -> Vec<(u16, Vec<u8>)> {
        self.option(code).get(12..).map(read_options).unwrap_or_default()
    }

    /// The address of the IA_NA with its two times.
    pub fn address(&self) -> Option<([u8; 16], u32, u32)> {
        let inner = self.association(3);
        let (_, value) = inner.iter().find(|(code, _)| *code == 5)?;
        let number = |at: usize| u32::from_be_bytes(value[at..at + 4].try_into().expect("four"));
        Some((value[..16].try_into().expect("sixteen"), number(16), number(20)))
    }

    /// The prefix of the IA_PD with its length and its valid time.
    pub fn prefix(&self) -> Option<([u8; 16], u8, u32)> {
        let inner = self.association(25);
        let (_, value) = inner.iter().find(|(code, _)| *code == 26)?;
        let valid = u32::from_be_bytes(value[4..8].try_into().expect("four"));
        Some((value[9..25].try_into().expect("sixteen"), value[8], valid))
    }

    /// The status of an association, or of the message (code 0).
    pub fn status(&self, code: u16) -> Option<u16> {
        let all = if code == 0 { self.options.clone() } else { self.association(code) };
        let (_, value) = all.iter().find(|(code, _)| *code == 13)?;
        Some(u16::from_be_bytes([value[0], value[1]]))
    }
}

/// An association (IA_NA or IA_PD) without times.
pub fn association(iaid: u32, inner: &[(u16, Vec<u8>)]) -> Vec<u8> {
    [&iaid.to_be_bytes()[..], &[0; 8], &options(inner)].concat()
}

/// The address of an IA_NA as a client asks for it.
pub fn address(address: [u8; 16]) -> (u16, Vec<u8>) {
    (5, [&address[..], &[0; 8]].concat())
}

/// The prefix of an IA_PD as a client asks for it.
pub fn prefix(prefix: [u8; 16], len: u8) -> (u16, Vec<u8>) {
    (26, [&[0; 8][..], &[len], &prefix].concat())
}

pub fn options(all: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let one = |(code, value): &(u16, Vec<u8>)| {
        [&code.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
    };
    all.iter().flat_map(one).collect()
}

pub fn read_options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let len = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
        all.push((u16::from_be_bytes([bytes[0], bytes[1]]), bytes[4..4 + len].to_vec()));
        bytes = &bytes[4 + len..];
    }
    all
}

pub const SOLICIT: u8 = 1;
pub const ADVERTISE: u8 = 2;
pub const REQUEST: u8 = 3;
pub const CONFIRM: u8 = 4;
pub const RENEW: u8 = 5;
pub const REBIND: u8 = 6;
pub const REPLY: u8 = 7;
pub const RELEASE: u8 = 8;
pub const DECLINE: u8 = 9;
pub const INFORMATION: u8 = 11;
