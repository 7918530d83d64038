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
//! A request has zero in the place of the result code. IPv4 addresses are written as IPv6 ones that are
//! mapped. The data of the opcode MAP is [`Map`], and options are walked by [`options`].
//! **Not supported:** the data of PEER and of the options THIRD_PARTY and FILTER.

use std::net::Ipv6Addr;

use crate::Malformed;
use crate::bytes::{self, array_at, put_array, put_u16, put_u32};

/// The length of the header in bytes.
pub const HEADER_LEN: usize = 24;
/// The longest message in bytes (section 7).
pub const MESSAGE_LEN_MAX: usize = 1100;
/// The UDP port of servers.
pub const SERVER_PORT: u16 = 5351;
/// The version of this format.
pub const VERSION: u8 = 2;
/// Of the second byte: the message is a response.
pub const FLAG_RESPONSE: u8 = 0x80;
/// The length of the data of MAP in bytes.
pub const MAP_LEN: usize = 36;
/// The length of an option's code, reserved byte and length.
pub const OPTION_HEADER_LEN: usize = 4;

/// Where the fields begin, in bytes from the start of the header.
pub mod offset {
    /// Version, 1 byte.
    pub const VERSION: usize = 0;
    /// The bit of responses, and the opcode, 1 byte.
    pub const OPCODE: usize = 1;
    /// Result code, 1 byte, behind a reserved one.
    pub const RESULT: usize = 3;
    /// Lifetime, 4 bytes.
    pub const LIFETIME: usize = 4;
    /// Of a request: the client's address, 16 bytes.
    pub const CLIENT: usize = 8;
    /// Of a response: the epoch time, 4 bytes, and 12 reserved ones.
    pub const EPOCH: usize = 8;
}

/// What a request asks for (section 19.2).
pub mod opcode {
    /// To hear of a server that has lost its state.
    pub const ANNOUNCE: u8 = 0;
    /// A mapping for anybody's packets.
    pub const MAP: u8 = 1;
    /// A mapping for packets of one peer.
    pub const PEER: u8 = 2;
}

/// What came of a request (section 7.4).
pub mod result {
    /// It was done.
    pub const SUCCESS: u8 = 0;
    /// The version is not spoken here.
    pub const UNSUPP_VERSION: u8 = 1;
    /// The client may not do this.
    pub const NOT_AUTHORIZED: u8 = 2;
    /// The message is no request.
    pub const MALFORMED_REQUEST: u8 = 3;
    /// The opcode is not known.
    pub const UNSUPP_OPCODE: u8 = 4;
    /// An option that must be understood is not.
    pub const UNSUPP_OPTION: u8 = 5;
    /// An option is wrong.
    pub const MALFORMED_OPTION: u8 = 6;
    /// The network around the server does not work.
    pub const NETWORK_FAILURE: u8 = 7;
    /// The server has no room at present.
    pub const NO_RESOURCES: u8 = 8;
    /// The transport protocol is not mapped here.
    pub const UNSUPP_PROTOCOL: u8 = 9;
    /// The client has as much as it may have.
    pub const USER_EX_QUOTA: u8 = 10;
    /// What was suggested is to be given or nothing, and cannot be given.
    pub const CANNOT_PROVIDE_EXTERNAL: u8 = 11;
    /// The request came from another address than it says.
    pub const ADDRESS_MISMATCH: u8 = 12;
    /// More peers are to be filtered than the server can.
    pub const EXCESSIVE_REMOTE_PEERS: u8 = 13;
}

/// Codes of options (sections 13 and 19.4).
pub mod option {
    /// The mapping is for another host than the client.
    pub const THIRD_PARTY: u8 = 1;
    /// What is suggested, or nothing.
    pub const PREFER_FAILURE: u8 = 2;
    /// Only packets of some peers.
    pub const FILTER: u8 = 3;
    /// From this code on a server may leave out what it does not know (section 7.3).
    pub const OPTIONAL: u8 = 128;
}

/// A message that has a whole header of this version.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks version and length.
    ///
    /// # Errors
    /// [`Malformed::BadVersion`], [`Malformed::Truncated`], and [`Malformed::BadTotalLength`] of a message
    /// that is too long or no multiple of 4 bytes.
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

    /// Whether it is a response.
    #[inline]
    pub fn is_response(&self) -> bool {
        self.header[offset::OPCODE] & FLAG_RESPONSE != 0
    }

    /// What is asked for, or was.
    #[inline]
    pub fn opcode(&self) -> u8 {
        self.header[offset::OPCODE] & !FLAG_RESPONSE
    }

    /// What came of it; of a response.
    #[inline]
    pub fn result(&self) -> u8 {
        self.header[offset::RESULT]
    }

    /// The lifetime that is asked for or given, or that of an error, in seconds.
    #[inline]
    pub fn lifetime(&self) -> u32 {
        bytes::u32_at(self.header, offset::LIFETIME)
    }

    /// The client's address; of a request.
    #[inline]
    pub fn client(&self) -> Ipv6Addr {
        array_at::<16>(self.header, offset::CLIENT).into()
    }

    /// The server's epoch time in seconds; of a response.
    #[inline]
    pub fn epoch(&self) -> u32 {
        bytes::u32_at(self.header, offset::EPOCH)
    }

    /// What follows the header: data of the opcode, then options.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The data of MAP, and the options behind it.
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

    /// That of a response.
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
    /// What is asked for; its lower 7 bits are written.
    pub opcode: u8,
    /// For how long, in seconds.
    pub lifetime: u32,
    /// The client's address.
    pub client: Ipv6Addr,
}

impl Request {
    /// Writes the whole header.
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
    /// What was asked for; its lower 7 bits are written.
    pub opcode: u8,
    /// What came of it.
    pub result: u8,
    /// For how long, in seconds.
    pub lifetime: u32,
    /// For how long the server has its state, in seconds (section 8.5).
    pub epoch: u32,
}

impl Response {
    /// Writes the whole header, reserved fields as zero.
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

/// The data of the opcode MAP (section 11.1): 12 bytes of nonce, the protocol and three reserved bytes, the
/// ports of 2 bytes each, the external address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    /// What shows that requests are of the same client.
    pub nonce: [u8; 12],
    /// The protocol that is mapped; 0 for all.
    pub protocol: u8,
    /// The client's port; 0 for all.
    pub internal_port: u16,
    /// The outside port that is suggested or assigned; 0 for any.
    pub external_port: u16,
    /// The same of the address.
    pub external_address: Ipv6Addr,
}

impl Map {
    /// Reads the data.
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
    /// Its code.
    pub code: u8,
    /// Its data, without the zeros behind it.
    pub data: &'a [u8],
}

/// The options behind the data of an opcode, one by one; the last one is an error where it reaches beyond the
/// message ([`Malformed::BadOption`]).
#[inline]
pub fn options(bytes: &[u8]) -> Options<'_> {
    Options { rest: bytes }
}

/// See [`options`].
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A request for UDP port 4000 by 10.0.0.7, port 5000 suggested and nothing else to be given.
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
