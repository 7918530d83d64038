//! The server of the Port Control Protocol (RFC 6887), for subscribers, at the inside port's
//! address; behind a softwire at that of the AFTR, too.
//!
//! A frame becomes the answer and goes back by the port and to the station that it came from, as
//! that to a ping.
use std::net::{Ipv4Addr, Ipv6Addr};

use packet::{Batch, PortId, Reason, Slot, Verdict};
use stages::icmpv4::{CONTROL_DSCP, TTL, is_host, turn};
use wire::bytes::{array_at, put_array, put_u16, put_u32};
use wire::pcp::{self, opcode, option, result};
use wire::{Malformed, ethernet, ipv4, protocol, udp};

use crate::pcp::granted::{Ask, Denied};
use crate::pipeline::Pipeline;
use crate::reasons::{self, Tally};
use crate::sessions::fields::Marks;
use crate::sessions::times::Moment;
use crate::types::flow::{Far, Inside, SOFTWIRES};
use crate::types::sides::is_inside;

/// Who asks.
#[derive(Clone, Copy)]
struct Asker {
    address: Ipv4Addr,
    port: u16,
    /// Which address of the server it asks.
    server: Ipv4Addr,
    /// The slot of its frame, which knows its realm and its softwire.
    slot: Slot,
}

/// An answer: its bytes, and how many of them count.
struct Answer {
    bytes: [u8; pcp::MESSAGE_LEN_MAX],
    len: usize,
}

/// What comes of a request: the lifetime of a success and the data of its opcode with the options
/// that were processed, or the result code and the lifetime of an error.
type Outcome = Result<(u32, Data), (u8, u32)>;

/// What stands behind the header of a success.
enum Data {
    Nothing,
    /// What was mapped, and whether that or nothing was wanted.
    Map(pcp::Map, bool),
}

impl Pipeline {
    /// Whether a packet for the NAT itself is a datagram for the server.
    pub(crate) fn is_for_server(&self, frame: &[u8], port: PortId) -> bool {
        if self.pcp.is_none() || !is_inside(port) {
            return false;
        }
        let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
        ipv4::View::parse_without_checksum(packet).is_ok_and(|view| {
            let is_sent = is_host(view.source()) && view.source() != view.destination();
            let to = view.payload().get(udp::offset::DESTINATION_PORT..udp::offset::LENGTH);
            let is_whole_udp = view.protocol() == protocol::UDP && !view.is_fragment();
            is_sent && is_whole_udp && to == Some(&pcp::SERVER_PORT.to_be_bytes()[..])
        })
    }

    /// Answers a datagram for the server, or drops it.
    pub(crate) fn serve(&mut self, batch: &mut Batch, slot: Slot, now: Moment) -> Verdict {
        let port = batch.port(slot);
        let answered = self.read((batch.frame(slot), slot), now);
        let written = answered.and_then(|(asker, answer)| {
            let mac = self.interfaces.mac(port);
            let len = HEADERS_LEN + answer.len;
            batch.set_frame_len(slot, len).then_some(()).ok_or(reasons::PCP_IGNORED)?;
            let frame = batch.frame_mut(slot);
            turn(frame, mac);
            write(frame, asker, &answer.bytes[..answer.len]);
            Ok(())
        });
        match written {
            Ok(()) => {
                self.state.tallies[Tally::PcpAnswered as usize] += 1;
                Verdict::Forward(port)
            }
            Err(reason) => reasons::drop(reason),
        }
    }

    /// Reads a datagram for the server, and does what it asks for.
    fn read(
        &mut self,
        (frame, slot): (&[u8], Slot),
        now: Moment,
    ) -> Result<(Asker, Answer), Reason> {
        let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
        let view = ipv4::View::parse_without_checksum(packet).map_err(|_| reasons::LOCAL)?;
        let malformed = |_| reasons::TRANSPORT_MALFORMED;
        let datagram = udp::View::parse(view.payload()).map_err(malformed)?;
        datagram.verify_ipv4(view.source(), view.destination()).map_err(malformed)?;
        if usize::from(datagram.length()) != view.payload().len() {
            return Err(reasons::TRANSPORT_MALFORMED);
        }
        let (address, port) = (view.source(), datagram.source_port());
        let asker = Asker { address, port, server: view.destination(), slot };
        if !self.interfaces.is_subscriber(&self.end_of(asker, 0, Far::default())) {
            return Err(reasons::NOT_INSIDE);
        }
        // The active one of both answers, which has the mappings and tells their epoch.
        if !self.state.may_open() {
            return Err(reasons::NOT_ACTIVE);
        }
        let answer = self.answer(asker, datagram.payload(), now).ok_or(reasons::PCP_IGNORED)?;
        Ok((asker, answer))
    }

    /// An end of who asks, as sessions have it: in its VRF, or behind its softwire.
    fn end_of(&self, asker: Asker, port: u16, far: Far) -> Inside {
        let index = usize::from(asker.slot);
        let realm = self.scratch.realm[index];
        let plain = Inside::ipv4(asker.address.to_bits(), port, realm, far);
        let ds_lite = self.interfaces.ds_lite.as_ref().filter(|_| realm >= SOFTWIRES);
        match ds_lite.and_then(|it| it.softwire(self.scratch.b4[index])) {
            Some(softwire) => Inside { address: softwire.beside(plain.address), ..plain },
            None => plain,
        }
    }

    /// The answer to a message; none to what is no request (section 8.2).
    fn answer(&mut self, asker: Asker, message: &[u8], now: Moment) -> Option<Answer> {
        let &[_, kind, ..] = message else { return None };
        if kind & pcp::FLAG_RESPONSE != 0 {
            return None;
        }
        let outcome = match pcp::View::parse(message) {
            Ok(view) => self.fulfil(asker, &view, now),
            Err(Malformed::Truncated) => return None,
            Err(Malformed::BadVersion) => Err((result::UNSUPP_VERSION, LONG_S)),
            Err(_) => Err((result::MALFORMED_REQUEST, LONG_S)),
        };
        let epoch = self.epoch(now);
        let opcode = kind & !pcp::FLAG_RESPONSE;
        let answer = match outcome {
            Ok((lifetime, data)) => {
                let header = pcp::Response { opcode, result: result::SUCCESS, lifetime, epoch };
                Answer::success(&header, &data)
            }
            Err((result, lifetime)) => {
                self.state.tallies[Tally::PcpErrors as usize] += 1;
                let header = pcp::Response { opcode, result, lifetime, epoch };
                Answer::error(&header, message)
            }
        };
        Some(answer)
    }

    /// For how many seconds this server has known its mappings (section 8.5).
    fn epoch(&self, now: Moment) -> u32 {
        let begun = self.state.granted.as_ref().map_or(now, |granted| granted.begun);
        self.state.times.s_of_units(now.wrapping_sub(begun))
    }

    /// Does what a request asks for.
    fn fulfil(&mut self, asker: Asker, view: &pcp::View<'_>, now: Moment) -> Outcome {
        let is_known = matches!(view.opcode(), opcode::ANNOUNCE | opcode::MAP);
        let map = match view.opcode() {
            opcode::MAP => view.map().map(Some).map_err(|_| (result::MALFORMED_REQUEST, LONG_S))?,
            _ => None,
        };
        if !is_known {
            return Err((result::UNSUPP_OPCODE, LONG_S));
        }
        if view.client() != asker.address.to_ipv6_mapped() {
            return Err((result::ADDRESS_MISMATCH, LONG_S));
        }
        let Some((map, options)) = map else {
            let or_nothing = prefers_failure(view.payload()).map_err(|result| (result, LONG_S))?;
            return match or_nothing {
                true => Err((result::MALFORMED_OPTION, LONG_S)),
                false => Ok((0, Data::Nothing)),
            };
        };
        let or_nothing = prefers_failure(options).map_err(|result| (result, LONG_S))?;
        self.map(asker, (view.lifetime(), map, or_nothing), now)
    }

    /// The opcode MAP (sections 11.3 and 15).
    fn map(
        &mut self,
        asker: Asker,
        (lifetime, map, or_nothing): (u32, pcp::Map, bool),
        now: Moment,
    ) -> Outcome {
        let is_any = map.external_port == 0 && ipv4_of(map.external_address) == Some(0);
        if or_nothing && lifetime > 0 && is_any {
            return Err((result::MALFORMED_OPTION, LONG_S));
        }
        let is_mapped = matches!(map.protocol, protocol::UDP | protocol::TCP);
        let is_one = is_mapped && map.internal_port != 0;
        let far = Far::granted(map.protocol);
        let key = self.end_of(asker, map.internal_port, far);
        if lifetime == 0 {
            // There never is a mapping of all ports or all protocols.
            if is_one {
                let revoked = self.state.revoke(&key, map.nonce, now);
                revoked.map_err(|denied| self.error_of(denied))?;
            }
            return Ok((0, Data::Map(map, or_nothing)));
        }
        if !is_one {
            return Err((result::UNSUPP_PROTOCOL, LONG_S));
        }
        let Some(limits) = self.pcp else { return Err((result::NO_RESOURCES, SHORT_S)) };
        let lifetime = lifetime.clamp(limits.lifetime_min_s, limits.lifetime_max_s);
        // No address of this NAT is one of IPv6.
        let address = ipv4_of(map.external_address);
        if or_nothing && address.is_none() {
            return Err((result::CANNOT_PROVIDE_EXTERNAL, SHORT_S));
        }
        let ask = Ask {
            nonce: map.nonce,
            lifetime: self.state.times.units_of_s(lifetime),
            port: map.external_port,
            address: address.unwrap_or(0),
            or_nothing,
        };
        let granted = self.state.grant(&key, &ask, now);
        let number = granted.map_err(|denied| self.error_of(denied))?;
        let session = self.state.sessions.records[number as usize];
        if session.marks.has(Marks::SOFTWIRE) {
            self.note_b4(asker.slot, (number, &session));
        }
        let external_address = Ipv4Addr::from_bits(session.outside).to_ipv6_mapped();
        let map = pcp::Map { external_port: session.outside_port, external_address, ..map };
        Ok((lifetime, Data::Map(map, or_nothing)))
    }

    /// What is answered to whom a mapping is denied.
    fn error_of(&mut self, denied: Denied) -> (u8, u32) {
        match denied {
            Denied::Foreign(left) => (result::NOT_AUTHORIZED, self.state.times.s_of_units(left)),
            Denied::Quota => (result::USER_EX_QUOTA, SHORT_S),
            Denied::Full => (result::NO_RESOURCES, SHORT_S),
            Denied::Other => (result::CANNOT_PROVIDE_EXTERNAL, SHORT_S),
        }
    }
}

impl Answer {
    fn success(header: &pcp::Response, data: &Data) -> Answer {
        let mut answer = Answer { bytes: [0; pcp::MESSAGE_LEN_MAX], len: pcp::HEADER_LEN };
        answer.bytes.first_chunk_mut().into_iter().for_each(|front| header.emit(front));
        if let Data::Map(map, or_nothing) = data {
            let rest = &mut answer.bytes[answer.len..];
            rest.first_chunk_mut().into_iter().for_each(|data| map.emit(data));
            answer.len += pcp::MAP_LEN;
            if *or_nothing {
                answer.bytes[answer.len] = option::PREFER_FAILURE;
                answer.len += pcp::OPTION_HEADER_LEN;
            }
        }
        answer
    }

    /// The request itself with what the server sets (section 8.2); behind the epoch, the client's
    /// address stands as it came where nobody could read it.
    fn error(header: &pcp::Response, message: &[u8]) -> Answer {
        let mut answer = Answer { bytes: [0; pcp::MESSAGE_LEN_MAX], len: 0 };
        let copied = message.len().min(pcp::MESSAGE_LEN_MAX);
        answer.bytes[..copied].copy_from_slice(&message[..copied]);
        answer.len = copied.next_multiple_of(4).max(pcp::HEADER_LEN);
        let came: [u8; RESERVED_LEN] = array_at(&answer.bytes, RESERVED);
        answer.bytes.first_chunk_mut().into_iter().for_each(|front| header.emit(front));
        if matches!(header.result, result::UNSUPP_VERSION | result::MALFORMED_REQUEST) {
            put_array(&mut answer.bytes, RESERVED, came);
        }
        put_u32(&mut answer.bytes, pcp::offset::EPOCH, header.epoch);
        answer
    }
}

/// Whether options say that what is suggested is wanted or nothing.
///
/// # Errors
/// The result code: an option that is wrong or there twice, or that must be understood and is not.
fn prefers_failure(options: &[u8]) -> Result<bool, u8> {
    let mut prefers = false;
    for one in pcp::options(options) {
        let one = one.map_err(|_| result::MALFORMED_OPTION)?;
        match one.code {
            option::PREFER_FAILURE if prefers || !one.data.is_empty() => {
                return Err(result::MALFORMED_OPTION);
            }
            option::PREFER_FAILURE => prefers = true,
            option::OPTIONAL.. => {}
            _ => return Err(result::UNSUPP_OPTION),
        }
    }
    Ok(prefers)
}

/// The IPv4 address that an address of a message stands for, 0 for none in particular.
fn ipv4_of(address: Ipv6Addr) -> Option<u32> {
    match address.is_unspecified() {
        true => Some(0),
        false => address.to_ipv4_mapped().map(Ipv4Addr::to_bits),
    }
}

/// Writes the headers of a datagram of the server behind that of Ethernet, and its payload.
fn write(frame: &mut [u8], asker: Asker, message: &[u8]) {
    const IP: usize = ethernet::HEADER_LEN;
    const UDP: usize = IP + ipv4::HEADER_LEN;
    let length = (udp::HEADER_LEN + message.len()) as u16;
    let ip = ipv4::Fields {
        dscp: CONTROL_DSCP,
        ecn: 0,
        total_len: ipv4::HEADER_LEN as u16 + length,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: TTL,
        protocol: protocol::UDP,
        source: asker.server,
        destination: asker.address,
    };
    let datagram = udp::Fields {
        source_port: pcp::SERVER_PORT,
        destination_port: asker.port,
        length,
        checksum: udp::CHECKSUM_NONE,
    };
    let mut header = [0; udp::HEADER_LEN];
    datagram.emit(&mut header);
    let sum = udp::checksum_ipv4(asker.server, asker.address, &header, message);
    put_u16(&mut header, udp::offset::CHECKSUM, sum);
    frame[IP..].first_chunk_mut().into_iter().for_each(|header| ip.emit(header));
    put_array(frame, UDP, header);
    frame[HEADERS_LEN..].copy_from_slice(message);
}

const HEADERS_LEN: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN + udp::HEADER_LEN;

/// Where the reserved bytes of a response stand behind the epoch, and how many there are.
const RESERVED: usize = pcp::offset::EPOCH + 4;
const RESERVED_LEN: usize = pcp::HEADER_LEN - RESERVED;

/// For how long clients need not ask again after an error that will not pass by itself, and one
/// that may, in seconds (section 7.4).
const LONG_S: u32 = 1800;
const SHORT_S: u32 = 30;
