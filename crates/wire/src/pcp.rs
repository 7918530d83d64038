//! The Port Control Protocol (RFC 6887).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Version = 2  |R|   Opcode    |   Reserved    |  Result code  |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                      Lifetime in seconds                      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   request: the client's address, 16 bytes                     |
//! |   response: epoch time in seconds, and 12 bytes reserved      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   data of the opcode, then options                            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//! A request has zero in the place of the result code. IPv4 addresses are written as IPv6 ones that
//! are mapped. The data of the opcode MAP is [`Map`], and options are walked by [`options`]. **Not
//! supported:** the data of PEER and of the options THIRD_PARTY and FILTER.

use std::net::Ipv6Addr;

use crate::bytes::{self, array_at, put_array, put_u16, put_u32};
use crate::{Law, Malformed};

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 24;
/// The longest message in bytes (section 7).
pub const MESSAGE_LEN_MAX: usize = 1100;
/// The UDP port of servers.
pub const SERVER_PORT: u16 = 5351;
/// The version of this format.
pub const VERSION: u8 = 2;
/// Flag of the second byte: the message is a response.
pub const FLAG_RESPONSE: u8 = 0x80;
/// Length of the data of MAP in bytes.
pub const MAP_LEN: usize = 36;
/// Length of an option's code, reserved byte and length.
pub const OPTION_HEADER_LEN: usize = 4;

/// Offsets of the fields, in bytes from the start of the header.
pub mod offset {
    /// Version, 1 byte.
    pub const VERSION: usize = 0;
    /// Response flag and opcode, 1 byte.
    pub const OPCODE: usize = 1;
    /// Result code, 1 byte, after a reserved byte.
    pub const RESULT: usize = 3;
    /// Lifetime, 4 bytes.
    pub const LIFETIME: usize = 4;
    /// Client's address of a request, 16 bytes.
    pub const CLIENT: usize = 8;
    /// Epoch time of a response, 4 bytes, followed by 12 reserved bytes.
    pub const EPOCH: usize = 8;
}

/// Opcodes of requests (section 19.2).
pub mod opcode {
    /// Announcement of a server that has lost its state.
    pub const ANNOUNCE: u8 = 0;
    /// A mapping for packets of all peers.
    pub const MAP: u8 = 1;
    /// A mapping for packets of one peer.
    pub const PEER: u8 = 2;
}

/// Result codes (section 7.4).
pub mod result {
    /// The request succeeded.
    pub const SUCCESS: u8 = 0;
    /// The version is not supported.
    pub const UNSUPP_VERSION: u8 = 1;
    /// The client is not authorized.
    pub const NOT_AUTHORIZED: u8 = 2;
    /// The request is malformed.
    pub const MALFORMED_REQUEST: u8 = 3;
    /// The opcode is not supported.
    pub const UNSUPP_OPCODE: u8 = 4;
    /// A mandatory-to-process option is not supported.
    pub const UNSUPP_OPTION: u8 = 5;
    /// An option is malformed.
    pub const MALFORMED_OPTION: u8 = 6;
    /// A network failure prevents the mapping.
    pub const NETWORK_FAILURE: u8 = 7;
    /// The server has no resources at present.
    pub const NO_RESOURCES: u8 = 8;
    /// The transport protocol is not supported.
    pub const UNSUPP_PROTOCOL: u8 = 9;
    /// The client's quota is exceeded.
    pub const USER_EX_QUOTA: u8 = 10;
    /// The suggested external port or address cannot be provided, and PREFER_FAILURE was requested.
    pub const CANNOT_PROVIDE_EXTERNAL: u8 = 11;
    /// The source address differs from the client's address in the request.
    pub const ADDRESS_MISMATCH: u8 = 12;
    /// The filters list more remote peers than the server supports.
    pub const EXCESSIVE_REMOTE_PEERS: u8 = 13;
}

/// Codes of options (sections 13 and 19.4).
pub mod option {
    /// The mapping is for another host than the client.
    pub const THIRD_PARTY: u8 = 1;
    /// The request must fail if the suggested port or address cannot be provided.
    pub const PREFER_FAILURE: u8 = 2;
    /// Only packets of the listed peers are accepted.
    pub const FILTER: u8 = 3;
    /// Lowest code of options that a server may ignore (section 7.3).
    pub const OPTIONAL: u8 = 128;
}

/// A message with a complete header of this version.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks version and length.
    ///
    /// # Errors
    /// [`Malformed::BadVersion`], [`Malformed::Truncated`], and
    /// [`Malformed::BadTotalLength`] for a message that is too long or not a multiple of 4 bytes.
    #[inline]
    pub fn parse(message: &'a [u8]) -> Result<Self, Malformed> {
        if message.first().is_some_and(|&version| version != VERSION) {
            return Err(Malformed::BadVersion);
        }
        let (header, payload) =
            message.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Truncated)?;
        match message.len() > MESSAGE_LEN_MAX || !message.len().is_multiple_of(4) {
            true => Err(Malformed::BadTotalLength),
            false => Ok(Self { header, payload }),
        }
    }

    /// True if the message is a response.
    #[inline]
    pub fn is_response(&self) -> bool {
        self.header[offset::OPCODE] & FLAG_RESPONSE != 0
    }

    /// Opcode of the request.
    #[inline]
    pub fn opcode(&self) -> u8 {
        self.header[offset::OPCODE] & !FLAG_RESPONSE
    }

    /// Result code of a response.
    #[inline]
    pub fn result(&self) -> u8 {
        self.header[offset::RESULT]
    }

    /// Requested or assigned lifetime, or lifetime of an error, in seconds.
    #[inline]
    pub fn lifetime(&self) -> u32 {
        bytes::u32_at(self.header, offset::LIFETIME)
    }

    /// Client's address of a request.
    #[inline]
    pub fn client(&self) -> Ipv6Addr {
        array_at::<16>(self.header, offset::CLIENT).into()
    }

    /// Server's epoch time of a response, in seconds.
    #[inline]
    pub fn epoch(&self) -> u32 {
        bytes::u32_at(self.header, offset::EPOCH)
    }

    /// Payload after the header: data of the opcode, then options.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Returns the data of MAP, and the options after it.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    #[inline]
    pub fn map(&self) -> Result<(Map, &'a [u8]), Malformed> {
        let (data, options) =
            self.payload.split_first_chunk::<MAP_LEN>().ok_or(Malformed::Truncated)?;
        Ok((Map::read(data), options))
    }

    /// The header of a request as values.
    #[inline]
    pub fn request(&self) -> Request {
        Request { opcode: self.opcode(), lifetime: self.lifetime(), client: self.client() }
    }

    /// The header of a response as values.
    #[inline]
    pub fn response(&self) -> Response {
        Response {
            opcode: self.opcode(),
            result: self.result(),
            lifetime: self.lifetime(),
            epoch: self.epoch(),
        }
    }
}

/// The header of a request as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Opcode; its lower 7 bits are written.
    pub opcode: u8,
    /// Lifetime in seconds.
    pub lifetime: u32,
    /// The client's address.
    pub client: Ipv6Addr,
}

impl Request {
    /// Writes the complete header.
    #[inline]
    pub fn emit(&self, header: &mut [u8; HEADER_LEN]) {
        *header = [0; HEADER_LEN];
        header[offset::VERSION] = VERSION;
        header[offset::OPCODE] = self.opcode & !FLAG_RESPONSE;
        put_u32(header, offset::LIFETIME, self.lifetime);
        put_array(header, offset::CLIENT, self.client.octets());
    }
}

/// The header of a response as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Opcode; its lower 7 bits are written.
    pub opcode: u8,
    /// Result code.
    pub result: u8,
    /// Lifetime in seconds.
    pub lifetime: u32,
    /// Epoch time: age of the server's state in seconds (section 8.5).
    pub epoch: u32,
}

impl Response {
    /// Writes the complete header, reserved fields as zero.
    #[inline]
    pub fn emit(&self, header: &mut [u8; HEADER_LEN]) {
        *header = [0; HEADER_LEN];
        header[offset::VERSION] = VERSION;
        header[offset::OPCODE] = self.opcode | FLAG_RESPONSE;
        header[offset::RESULT] = self.result;
        put_u32(header, offset::LIFETIME, self.lifetime);
        put_u32(header, offset::EPOCH, self.epoch);
    }
}

/// The data of the opcode MAP (section 11.1): 12 bytes of nonce, the protocol and three reserved
/// bytes, the ports of 2 bytes each, the external address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    /// Mapping nonce, which shows that requests come from the same client.
    pub nonce: [u8; 12],
    /// The protocol that is mapped; 0 for all.
    pub protocol: u8,
    /// The client's port; 0 for all.
    pub internal_port: u16,
    /// Suggested or assigned external port; 0 for any.
    pub external_port: u16,
    /// Suggested or assigned external address.
    pub external_address: Ipv6Addr,
}

impl Map {
    /// Parses the data.
    #[inline]
    pub fn read(data: &[u8; MAP_LEN]) -> Map {
        Map {
            nonce: array_at(data, 0),
            protocol: data[12],
            internal_port: bytes::u16_at(data, 16),
            external_port: bytes::u16_at(data, 18),
            external_address: array_at::<16>(data, 20).into(),
        }
    }

    /// Writes the data.
    #[inline]
    pub fn emit(&self, data: &mut [u8; MAP_LEN]) {
        *data = [0; MAP_LEN];
        put_array(data, 0, self.nonce);
        data[12] = self.protocol;
        put_u16(data, 16, self.internal_port);
        put_u16(data, 18, self.external_port);
        put_array(data, 20, self.external_address.octets());
    }
}

/// An option (section 7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opt<'a> {
    /// Code of the option.
    pub code: u8,
    /// Data of the option, without padding.
    pub data: &'a [u8],
}

/// Iterates over the options after the data of an opcode; the last one is an error if it extends
/// beyond the message ([`Malformed::BadOption`]).
#[inline]
pub fn options(bytes: &[u8]) -> Options<'_> {
    Options { rest: bytes }
}

/// Iterator over options; see [`options`].
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<Opt<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let rest = std::mem::take(&mut self.rest);
        let Some((header, rest)) = rest.split_first_chunk::<OPTION_HEADER_LEN>() else {
            return Some(Err(Malformed::BadOption));
        };
        let len = usize::from(bytes::u16_at(header, 2));
        let Some(behind) = rest.get(len.next_multiple_of(4)..) else {
            return Some(Err(Malformed::BadOption));
        };
        self.rest = behind;
        Some(Ok(Opt { code: header[0], data: &rest[..len] }))
    }
}

/// The law of this module.
pub const LAW: Law = Law { name: "pcp", holds: law, examples: &[] };

/// PCP: what is accepted keeps its header, its data and its options; reserved bytes do not count.
fn law(data: &[u8]) {
    let Ok(view) = View::parse(data) else { return };
    let mut written = [0; HEADER_LEN];
    match view.is_response() {
        true => view.response().emit(&mut written),
        false => view.request().emit(&mut written),
    }
    let message = [&written[..], view.payload()].concat();
    let again = View::parse(&message).expect("what is emitted can be read");
    match view.is_response() {
        true => assert_eq!(again.response(), view.response()),
        false => assert_eq!(again.request(), view.request()),
    }
    let Ok((map, rest)) = view.map() else { return };
    let mut data = [0; MAP_LEN];
    map.emit(&mut data);
    assert_eq!(Map::read(&data), map);
    let lengths = options(rest).flatten();
    let lengths = lengths.map(|one| OPTION_HEADER_LEN + one.data.len().next_multiple_of(4));
    let is_cut = options(rest).any(|option| option.is_err());
    let walked: usize = lengths.sum();
    assert!(walked <= rest.len() && (is_cut || walked == rest.len()));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request for UDP port 4000 of 10.0.0.7, with PREFER_FAILURE for port 5000.
    const REQUEST: [u8; HEADER_LEN + MAP_LEN + OPTION_HEADER_LEN] = [
        2, 1, 0, 0, 0, 0, 0x0e, 0x10, //
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 7, //
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 17, 0, 0, 0, 0x0f, 0xa0, 0x13, 0x88, //
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, //
        2, 0, 0, 0,
    ];

    #[test]
    fn reads_every_field_of_a_request() {
        let view = View::parse(&REQUEST).expect("a request");
        assert!(!view.is_response());
        let client = "::ffff:10.0.0.7".parse().expect("an address");
        assert_eq!(view.request(), Request { opcode: opcode::MAP, lifetime: 3600, client });
        let (map, options_behind) = view.map().expect("its data");
        let expected = Map {
            nonce: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
            protocol: 17,
            internal_port: 4000,
            external_port: 5000,
            external_address: "::ffff:0.0.0.0".parse().expect("an address"),
        };
        assert_eq!(map, expected);
        let read: Vec<_> = options(options_behind).collect();
        assert_eq!(read, [Ok(Opt { code: option::PREFER_FAILURE, data: &[] })]);
    }

    #[test]
    fn writes_what_it_read() {
        let view = View::parse(&REQUEST).expect("a request");
        let (mut header, mut data) = ([0xff; HEADER_LEN], [0xff; MAP_LEN]);
        view.request().emit(&mut header);
        view.map().expect("its data").0.emit(&mut data);
        assert_eq!([&header[..], &data, &REQUEST[60..]].concat(), REQUEST);
    }

    #[test]
    fn a_response_has_result_lifetime_and_epoch() {
        let response =
            Response { opcode: opcode::ANNOUNCE, result: 4, lifetime: 1800, epoch: 0x0102_0304 };
        let mut header = [0xff; HEADER_LEN];
        response.emit(&mut header);
        assert_eq!(header[..12], [2, 0x80, 0, 4, 0, 0, 7, 8, 1, 2, 3, 4]);
        assert_eq!(header[12..], [0; 12]);
        let view = View::parse(&header).expect("a response");
        assert!(view.is_response());
        assert_eq!((view.response(), view.payload()), (response, &[][..]));
        assert_eq!(view.map().err(), Some(Malformed::Truncated));
    }

    #[test]
    fn other_versions_and_lengths_are_refused() {
        assert_eq!(View::parse(&[]).err(), Some(Malformed::Truncated));
        assert_eq!(View::parse(&REQUEST[..23]).err(), Some(Malformed::Truncated));
        assert_eq!(View::parse(&[0, 0]).err(), Some(Malformed::BadVersion));
        assert_eq!(View::parse(&REQUEST[..27]).err(), Some(Malformed::BadTotalLength));
        let mut long = REQUEST.to_vec();
        long.resize(MESSAGE_LEN_MAX, 0);
        assert!(View::parse(&long).is_ok());
        long.resize(MESSAGE_LEN_MAX + 4, 0);
        assert_eq!(View::parse(&long).err(), Some(Malformed::BadTotalLength));
    }

    #[test]
    fn options_are_padded_and_end_with_the_message() {
        let some = [130, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0, 2, 0, 0, 0];
        let read: Vec<_> = options(&some).collect();
        let first = Opt { code: 130, data: &some[4..9] };
        assert_eq!(read, [Ok(first), Ok(Opt { code: 2, data: &[] })]);
        for cut in [1, 3, 4, 8, 11] {
            assert_eq!(options(&some[..cut]).last(), Some(Err(Malformed::BadOption)), "{cut}");
        }
    }
}
