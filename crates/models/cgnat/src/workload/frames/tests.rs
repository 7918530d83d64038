//! Frames as they are written and read, against sums over every byte.

use proptest::prelude::*;
use wire::ipv4;

use super::*;

const PROTOCOLS: [Protocol; 3] = [Protocol::Udp, Protocol::Tcp, Protocol::Icmp];

/// Whether all checksums are right, by the whole of the packet.
fn is_sound_by_all_bytes(frame: &[u8], protocol: Protocol) -> bool {
    let len = usize::from(u16_at(frame, 16));
    let packet = &frame[14..14 + len];
    let view = ipv4::View::parse(packet);
    let pseudo = match protocol {
        Protocol::Icmp => Sum::ZERO,
        _ => Sum::ZERO
            .add_bytes(&packet[12..20])
            .add_u16(u16::from(packet[9]))
            .add_u16((len - 20) as u16),
    };
    view.is_ok_and(|view| view.checksum_is_valid())
        && pseudo.add_bytes(&packet[20..]).fold() == 0xffff
}

fn ends_of(protocol: Protocol, is_request: bool, drawn: (u32, u32, u16, u16)) -> Ends {
    let (source, destination, mut source_port, mut destination_port) = drawn;
    if protocol == Protocol::Icmp {
        if is_request { destination_port = 0 } else { source_port = 0 }
    }
    Ends { source, destination, source_port, destination_port }
}

proptest! {
    #[test]
    fn what_is_written_is_sound_and_read_back(
        which in 0usize..3, is_request: bool, drawn: (u32, u32, u16, u16), numbers: (u32, u32),
        longer in 0usize..90, sequence in 0u64..1 << 48, time: u64,
    ) {
        let protocol = PROTOCOLS[which];
        let ends = ends_of(protocol, is_request, drawn);
        let segment = Segment { sequence: numbers.0, acknowledged: numbers.1, flags: PSH | ACK };
        let stamp = Stamp { stream: 0x4002, sequence, time };
        let mut frame = vec![0xee; len_min(protocol) + longer];
        write_data(&[7; 12], (protocol, &ends, segment), is_request, stamp, &mut frame);
        prop_assert!(is_sound_by_all_bytes(&frame, protocol));
        let seen = read(&frame).expect("one of ours");
        let is_request = is_request || protocol != Protocol::Icmp;
        prop_assert_eq!((seen.protocol, seen.ends, seen.is_request), (protocol, ends, is_request));
        prop_assert!(seen.is_sound && seen.has_data && seen.ttl == TTL);
        prop_assert_eq!(seen.macs, [7; 12]);
        if protocol == Protocol::Tcp {
            prop_assert_eq!(seen.segment, segment);
        }
        // Filled up on the way.
        frame.resize(frame.len() + 5, 0);
        let seen = read(&frame).expect("one of ours");
        prop_assert!(seen.is_sound);
        prop_assert_eq!(Stamp::read(unpadded(&frame, &seen)), Some(stamp));
    }

    #[test]
    fn a_damaged_header_or_stamp_is_unsound(
        which in 0usize..3, drawn: (u32, u32, u16, u16), place in 0usize..60, bit in 0u8..8,
    ) {
        let protocol = PROTOCOLS[which];
        let ends = ends_of(protocol, true, drawn);
        let mut frame = vec![0; len_min(protocol)];
        let stamp = Stamp { stream: 1, sequence: 2, time: 3 };
        write_data(&[7; 12], (protocol, &ends, NO_SEGMENT), true, stamp, &mut frame);
        let place = 14 + place % (frame.len() - 14);
        frame[place] ^= 1 << bit;
        prop_assert!(read(&frame).is_none_or(|seen| !seen.is_sound), "byte {}", place);
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = read(&bytes);
        let mut like_ours = bytes;
        if like_ours.len() > 24 {
            like_ours[12..15].copy_from_slice(&[8, 0, 0x45]);
            like_ours[20] = 0;
            like_ours[21] = 0;
            like_ours[23] = [1, 6, 17][usize::from(like_ours[23]) % 3];
            let len = like_ours.len() as u16 - 14 - u16::from(like_ours[17] % 8).min(4);
            put_u16(&mut like_ours, 16, len);
            let _ = read(&like_ours);
        }
    }
}

#[test]
fn a_segment_without_data_fills_the_shortest_frame_up() {
    let ends = Ends { source: 1, destination: 2, source_port: 3, destination_port: 4 };
    for flags in [SYN, SYN | ACK, ACK, FIN | ACK] {
        let segment = Segment { sequence: 0xffff_fff0, acknowledged: 9, flags };
        let mut frame = [0xee; 60];
        write_bare(&[7; 12], &ends, segment, &mut frame);
        assert!(is_sound_by_all_bytes(&frame, Protocol::Tcp));
        let seen = read(&frame).expect("one of ours");
        assert_eq!((seen.segment, seen.ends), (segment, ends));
        assert!(seen.is_sound && !seen.has_data);
        assert_eq!(usize::from(seen.total_len), bare_len(flags));
        assert!(frame[14 + bare_len(flags)..].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn a_datagram_without_a_checksum_has_lost_it() {
    let ends = Ends { source: 1, destination: 2, source_port: 3, destination_port: 4 };
    let mut frame = [0; 60];
    let what = (Protocol::Udp, &ends, NO_SEGMENT);
    write_data(&[7; 12], what, true, Stamp::default(), &mut frame);
    frame[40..42].fill(0);
    assert!(!read(&frame).expect("one of ours").is_sound);
}
