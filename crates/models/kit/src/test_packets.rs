//! The packets of testers: UDP over IPv4 or IPv6 between two addresses, in one Ethernet frame.
//!
//! ```text
//! Ethernet | IPv4 or IPv6 | UDP | zeroes | stamp
//! ```
//! Over IPv4 there is no UDP checksum, so that the stamp costs nothing; IPv6 needs one (RFC 8200
//! section 8.1), and gets it last.

use function_kit::Invalid;
use function_kit::sections::traffic_key;
use traffic::stamp::STAMP_LEN;
use traffic::{Sizes, Stamp};
use wire::bytes::{put_array, put_u16, put_u32};
use wire::checksum::Sum;
use wire::{ethernet, ipv4, ipv6, protocol, udp};

/// Source and destination of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// IPv4 addresses.
    V4 {
        /// Source address.
        source: u32,
        /// Destination address.
        destination: u32,
    },
    /// IPv6 addresses.
    V6 {
        /// Source address.
        source: u128,
        /// Destination address.
        destination: u128,
    },
}

impl Ends {
    /// The type of a frame that carries such a packet.
    #[inline(always)]
    pub fn ether_type(&self) -> u16 {
        match self {
            Ends::V4 { .. } => ethernet::TYPE_IPV4,
            Ends::V6 { .. } => ethernet::TYPE_IPV6,
        }
    }
}

/// What writes them.
#[derive(Clone, Copy, Debug)]
pub struct TestPackets {
    /// One's complement sum of what all IPv4 headers have in common.
    sum: Sum,
}

impl Default for TestPackets {
    fn default() -> TestPackets {
        TestPackets::new()
    }
}

impl TestPackets {
    /// The writer of packets whose headers have the same fields but addresses and lengths.
    pub fn new() -> TestPackets {
        let mut header = [0; ipv4::HEADER_LEN];
        ipv4::Fields {
            dscp: 0,
            ecn: 0,
            total_len: 0,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: TTL,
            protocol: protocol::UDP,
            source: 0.into(),
            destination: 0.into(),
        }
        .emit(&mut header);
        put_u16(&mut header, ipv4::offset::CHECKSUM, 0);
        TestPackets { sum: Sum::ZERO.add_header(&header) }
    }

    /// Writes a whole frame; `macs` are destination and source as they stand in it, `ports` the
    /// source's and the destination's.
    #[inline(always)]
    pub fn write(
        &self,
        macs: [u8; 12],
        ends: Ends,
        ports: (u16, u16),
        stamp: Stamp,
        frame: &mut [u8],
    ) {
        put_array(frame, 0, macs);
        put_u16(frame, ethernet::offset::TYPE, ends.ether_type());
        self.write_packet(0, ends, ports, stamp, &mut frame[ethernet::HEADER_LEN..]);
    }

    /// Writes a packet of this traffic class, which is the second byte of IPv4's header, without a
    /// frame around it.
    #[inline(always)]
    pub fn write_packet(
        &self,
        class: u8,
        ends: Ends,
        ports: (u16, u16),
        stamp: Stamp,
        packet: &mut [u8],
    ) {
        match ends {
            Ends::V4 { source, destination } => {
                self.write_ipv4(class, (source, destination), ports, packet);
                stamp.write(packet);
            }
            Ends::V6 { source, destination } => {
                write_ipv6(class, (source, destination), ports, stamp, packet);
            }
        }
    }

    /// The headers as four words: the packet is written once, not copied and patched.
    #[inline(always)]
    fn write_ipv4(
        &self,
        class: u8,
        (source, destination): (u32, u32),
        ports: (u16, u16),
        packet: &mut [u8],
    ) {
        let total_len = packet.len() as u16;
        let class = u32::from(class) << 16;
        const HEAD: usize = ipv4::HEADER_LEN + udp::HEADER_LEN;
        let Some((head, payload)) = packet.split_first_chunk_mut::<HEAD>() else { return };
        let first = class | u32::from(total_len);
        let sum = self.sum.add_u32(first).add_u32(source).add_u32(destination);
        let word = |high: u32, low: u32| (u64::from(high) << 32 | u64::from(low)).to_be_bytes();
        let pair = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
        put_array(head, 0, word(VERSION_AND_CLASS | first, NO_FRAGMENT));
        put_array(head, 8, word(TTL_AND_UDP | u32::from(sum.checksum()), source));
        put_array(head, 16, word(destination, pair(ports.0, ports.1)));
        let udp_len = total_len - ipv4::HEADER_LEN as u16;
        put_u32(head, 24, pair(udp_len, udp::CHECKSUM_NONE));
        clear(payload);
    }
}

#[inline(never)]
fn write_ipv6(
    traffic_class: u8,
    (source, destination): (u128, u128),
    ports: (u16, u16),
    stamp: Stamp,
    packet: &mut [u8],
) {
    let payload_len = (packet.len() - ipv6::HEADER_LEN) as u16;
    let Some((head, rest)) = packet.split_first_chunk_mut() else { return };
    let (source, destination) = (source.into(), destination.into());
    ipv6::Fields {
        traffic_class,
        flow_label: 0,
        payload_len,
        next_header: protocol::UDP,
        hop_limit: TTL,
        source,
        destination,
    }
    .emit(head);
    let Some((header, payload)) = rest.split_first_chunk_mut() else { return };
    let (source_port, destination_port) = ports;
    let checksum = udp::CHECKSUM_NONE;
    udp::Fields { source_port, destination_port, length: payload_len, checksum }.emit(header);
    clear(payload);
    stamp.write(payload);
    let sum = udp::checksum_ipv6(source, destination, header, payload);
    put_u16(header, udp::offset::CHECKSUM, sum);
}

/// The length of a frame without check sequence, for a size that counts it: at least the headers
/// and the stamp.
#[inline(always)]
pub fn frame_len(size: u16, ipv6: bool) -> u16 {
    (size - CHECK_SEQUENCE_LEN).max(if ipv6 { LEN_MIN_IPV6 } else { LEN_MIN_IPV4 })
}

/// Zeroes between the headers and the stamp; the shortest packet has none.
#[inline(always)]
fn clear(payload: &mut [u8]) {
    if payload.len() > STAMP_LEN {
        payload.fill(0);
    }
}

/// Checks the key `pkt-size`, which counts the frame check sequence, against the longest frame of
/// a workload.
///
/// # Errors
/// The first size out of range.
pub fn frame_sizes(sizes: &Sizes, bytes_max: u16) -> Result<(), Invalid> {
    let is_wrong = |size: &u16| !(FRAME_BYTES_MIN..=bytes_max).contains(size);
    let Some(size) = sizes.weights().iter().map(|&(size, _)| size).find(is_wrong) else {
        return Ok(());
    };
    let what = format!("must be from {FRAME_BYTES_MIN} to {bytes_max} bytes, not {size}");
    let remedy = "Give a size in this range; it counts the 4 bytes of the frame check sequence";
    Err(traffic_key("pkt-size", what, remedy))
}

/// UDP port 7, echo, at the far end of test traffic, as RFC 2544 appendix C.2.6.4 has it.
pub const ECHO_PORT: u16 = 7;

/// The first UDP port that flows are told apart by.
pub const PORT_MIN: u16 = 1024;

/// How many of them there are.
pub const PORTS: u32 = (u16::MAX - PORT_MIN) as u32;

/// The shortest Ethernet frame, check sequence included (IEEE 802.3 section 4.4.2).
pub const FRAME_BYTES_MIN: u16 = 64;

/// The longest frame, check sequence included: a jumbo frame with 9,000 bytes of payload.
pub const FRAME_BYTES_MAX: u16 = 9018;

/// Time to live of packets as they are sent.
pub const TTL: u8 = 64;

/// Length of the Ethernet frame check sequence, which frames in memory do not hold.
const CHECK_SEQUENCE_LEN: u16 = 4;

/// 60 bytes, the Ethernet minimum.
const LEN_MIN_IPV4: u16 =
    (ethernet::HEADER_LEN + ipv4::HEADER_LEN + udp::HEADER_LEN + STAMP_LEN) as u16;
const LEN_MIN_IPV6: u16 = LEN_MIN_IPV4 + (ipv6::HEADER_LEN - ipv4::HEADER_LEN) as u16;

/// The words of an IPv4 header without options and fragments: version and header length, the flag
/// that forbids fragments, time to live and protocol.
const VERSION_AND_CLASS: u32 = (ipv4::VERSION_IHL as u32) << 24;
const NO_FRAGMENT: u32 = ipv4::FLAG_DONT_FRAGMENT as u32;
const TTL_AND_UDP: u32 = (TTL as u32) << 24 | (protocol::UDP as u32) << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_sound_in_both_versions_and_every_length() {
        let packets = TestPackets::new();
        let stamp = Stamp { stream: 1, sequence: 2, time: 3 };
        for size in [64, 65, 512, FRAME_BYTES_MAX] {
            for ipv6 in [false, true] {
                let mut frame = vec![0xee; frame_len(size, ipv6).into()];
                let ends = match ipv6 {
                    false => Ends::V4 { source: 0x0a00_0001, destination: 0x3200_0102 },
                    true => Ends::V6 { source: 5 << 64 | 1, destination: 6 << 64 | 2 },
                };
                packets.write([7; 12], ends, (5000, ECHO_PORT), stamp, &mut frame);
                assert_eq!(Stamp::read(&frame), Some(stamp));
                let view = ethernet::View::parse(&frame).expect("Ethernet");
                if ipv6 {
                    let ip = ipv6::View::parse(view.payload()).expect("IPv6");
                    assert_eq!(ip.payload().len(), frame.len() - 54);
                    let datagram = udp::View::parse(ip.payload()).expect("UDP");
                    assert_eq!(datagram.verify_ipv6(ip.source(), ip.destination()), Ok(()));
                } else {
                    let ip = ipv4::View::parse(view.payload()).expect("IPv4");
                    assert_eq!(usize::from(ip.total_len()), frame.len() - 14);
                    assert_eq!(ip.destination().to_string(), "50.0.1.2");
                    let datagram = udp::View::parse(ip.payload()).expect("UDP");
                    assert_eq!(datagram.source_port(), 5000);
                    assert_eq!(usize::from(datagram.length()), frame.len() - 34);
                }
            }
        }
    }

    #[test]
    fn a_class_is_told_by_the_header_and_covered_by_its_checksum() {
        let stamp = Stamp { stream: 1, sequence: 2, time: 3 };
        let four = Ends::V4 { source: 0x0a00_0001, destination: 0xffff_fffe };
        let six = Ends::V6 { source: 5 << 64 | 1, destination: 6 << 64 | 2 };
        for ends in [four, six] {
            let mut packet = vec![0xee; 100];
            TestPackets::new().write_packet(0xb8, ends, (5000, ECHO_PORT), stamp, &mut packet);
            let class = match ends {
                Ends::V4 { .. } => ipv4::View::parse(&packet).expect("IPv4").dscp() << 2,
                Ends::V6 { .. } => ipv6::View::parse(&packet).expect("IPv6").traffic_class(),
            };
            assert_eq!((class, Stamp::read(&packet)), (0xb8, Some(stamp)));
        }
    }
}
