//! Frames are cut and joined, and each is compared with what a slow twin makes of it.

use offload::{Coalescer, Gso, Header, SEGMENTS_MAX, Segments, Unfit, begun, segments, whole};
use wire::bytes::{put_u16, put_u32};

/// A frame of TCP with the options of a time stamp, all checksums right.
fn frame(ipv6: bool, tags: usize, sequence: u32, id: u16, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    for tag in 0..tags {
        frame.extend([0x81, 0, 0, 7 + tag as u8]);
    }
    frame.extend(if ipv6 { [0x86, 0xdd] } else { [8, 0] });
    let len = 32 + payload.len();
    match ipv6 {
        true => {
            let [high, low] = (len as u16).to_be_bytes();
            frame.extend([0x60, 0, 0, 0, high, low, 6, 64]);
            frame.extend((1..=32).map(|byte| byte ^ 0x20));
        }
        false => {
            let [high, low] = (20 + len as u16).to_be_bytes();
            let [id_high, id_low] = id.to_be_bytes();
            frame.extend([0x45, 0, high, low, id_high, id_low, 0, 0, 64, 6, 0, 0]);
            frame.extend([192, 0, 2, 1, 198, 51, 100, 2]);
        }
    }
    let mut tcp = [0; 32];
    (tcp[0], tcp[1], tcp[3]) = (0x80, 9, 179);
    put_u32(&mut tcp, 4, sequence);
    put_u32(&mut tcp, 8, 77);
    (tcp[12], tcp[13]) = (0x80, flags);
    put_u16(&mut tcp, 14, 1000);
    tcp[20..24].copy_from_slice(&[1, 1, 8, 10]);
    frame.extend(tcp);
    frame.extend(payload);
    set_checksums(&mut frame, ipv6, tags);
    frame
}

/// A datagram of UDP, all checksums right.
fn datagram(ipv6: bool, tags: usize, id: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram = frame(ipv6, tags, 0, id, 0, payload);
    let ip = 14 + 4 * tags;
    let at = ip + if ipv6 { 40 } else { 20 };
    let len = 8 + payload.len();
    datagram.drain(at + 8..at + 32);
    datagram[ip + if ipv6 { 6 } else { 9 }] = 17;
    let (place, more) = if ipv6 { (4, 0) } else { (2, 20) };
    put_u16(&mut datagram, ip + place, (len + more) as u16);
    put_u16(&mut datagram, at + 4, len as u16);
    set_checksums(&mut datagram, ipv6, tags);
    datagram
}

/// Adds up as RFC 1071 section 1 says it, word by word.
fn slow_checksum(parts: &[&[u8]]) -> u16 {
    let bytes = parts.concat();
    let mut sum = 0_u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn set_checksums(frame: &mut [u8], ipv6: bool, tags: usize) {
    let ip = 14 + 4 * tags;
    let at = ip + if ipv6 { 40 } else { 20 };
    let [high, low] = ((frame.len() - at) as u16).to_be_bytes();
    let addresses = if ipv6 { ip + 8..ip + 40 } else { ip + 12..ip + 20 };
    let number = frame[ip + if ipv6 { 6 } else { 9 }];
    let place = at + if number == 6 { 16 } else { 6 };
    frame[place..place + 2].fill(0);
    let sum = slow_checksum(&[&frame[addresses], &[0, number, high, low], &frame[at..]]);
    put_u16(frame, place, if sum == 0 && number == 17 { 0xffff } else { sum });
    if !ipv6 {
        frame[ip + 10..ip + 12].fill(0);
        let sum = slow_checksum(&[&frame[ip..at]]);
        put_u16(frame, ip + 10, sum);
    }
}

/// What the frames of a stream of bytes are, made one by one.
fn stream(ipv6: bool, tags: usize, bytes: &[u8], segment_len: usize, flags: u8) -> Vec<Vec<u8>> {
    let count = bytes.len().div_ceil(segment_len);
    let one = |(at, payload): (usize, &[u8])| {
        let closing = if at + 1 == count { flags } else { flags & !0x09 };
        let closing = if at == 0 { closing } else { closing & !0x80 };
        let sequence = (u32::MAX - 5000).wrapping_add((at * segment_len) as u32);
        frame(ipv6, tags, sequence, 0xfffe_u16.wrapping_add(at as u16), closing, payload)
    };
    bytes.chunks(segment_len).enumerate().map(one).collect()
}

fn cut(frame: &[u8], header: &Header) -> Vec<Vec<u8>> {
    let mut frame = frame.to_vec();
    let mut segments = segments(&mut frame, header).expect("a segment");
    let mut frames = Vec::new();
    while let Some(parts) = segments.next_frame(&frame) {
        frames.push(parts.concat());
    }
    frames
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
fn a_long_segment_is_cut_into_the_frames_that_its_sender_would_have_made() {
    for (ipv6, tags) in [(false, 0), (true, 0), (false, 1), (true, 2)] {
        for (len, segment_len, flags) in
            [(60_000, 1448, 0x18), (1448, 1448, 0x10), (1449, 1448, 0x19), (5000, 999, 0xd8)]
        {
            let bytes = bytes(len);
            let frames = stream(ipv6, tags, &bytes, segment_len, flags);
            let long = frame(ipv6, tags, u32::MAX - 5000, 0xfffe, flags, &bytes);
            let gso = if ipv6 { Gso::TcpIpv6 } else { Gso::TcpIpv4 };
            let segment_len = segment_len as u16;
            let header = Header { flags: 1, gso, segment_len, ..Header::default() };
            assert!(cut(&long, &header) == frames, "{ipv6} {tags} {len} {flags}");
        }
    }
}

#[test]
fn a_long_datagram_is_cut_into_datagrams() {
    for (ipv6, tags) in [(false, 0), (true, 0), (false, 1), (true, 4)] {
        for (len, segment_len) in [(60_000, 1472), (1200, 1200), (1201, 1200), (5001, 999)] {
            let bytes = bytes(len);
            let pieces = bytes.chunks(segment_len).enumerate();
            let frames: Vec<Vec<u8>> = pieces
                .map(|(at, piece)| datagram(ipv6, tags, 0xffff_u16.wrapping_add(at as u16), piece))
                .collect();
            let long = datagram(ipv6, tags, 0xffff, &bytes);
            let segment_len = segment_len as u16;
            let header = Header { flags: 1, gso: Gso::Udp, segment_len, ..Header::default() };
            assert!(cut(&long, &header) == frames, "{ipv6} {tags} {len}");
        }
    }
    // A sum of zero is not that of a datagram without one.
    let mut ones = (0..0x10000_u32).map(|word| datagram(false, 0, 1, &(word as u16).to_be_bytes()));
    let without = ones.find(|one| one[40..42] == [0xff, 0xff]).expect("one of them");
    let gso = Header { gso: Gso::Udp, segment_len: 2, ..Header::default() };
    assert_eq!(cut(&without, &gso), [without]);
}

#[test]
fn whoever_cuts_a_segment_whose_headers_have_changed_makes_frames_of_the_new_ones() {
    for (ipv6, udp) in [(false, false), (true, false), (false, true), (true, true)] {
        let bytes = bytes(5000);
        let of = |bytes: &[u8]| match udp {
            true => datagram(ipv6, 1, 7, bytes),
            false => frame(ipv6, 1, 7, 7, 0x10, bytes),
        };
        let mut long = of(&bytes);
        let last = if ipv6 { 18 + 39 } else { 18 + 19 };
        long[last] ^= 0x55;
        let Header { gso, checksum_start, checksum_offset, .. } =
            begun(&mut long, 999).expect("a segment");
        let expected = match (udp, ipv6) {
            (true, _) => Gso::Udp,
            (false, false) => Gso::TcpIpv4,
            (false, true) => Gso::TcpIpv6,
        };
        assert_eq!(gso, expected);
        // A card adds up everything from the start on, the begun sum included.
        let place = usize::from(checksum_start + checksum_offset);
        let sum = slow_checksum(&[&long[checksum_start.into()..]]);
        let mut right = long.clone();
        set_checksums(&mut right, ipv6, 1);
        assert_eq!(right[place..place + 2], sum.to_be_bytes(), "{ipv6} {udp}");
        let mut segments = Segments::of(&long, 999).expect("a segment");
        let mut joined = Vec::new();
        while let Some(parts) = segments.next_frame(&long) {
            let piece = parts.concat();
            assert_eq!(piece[last], long[last]);
            let mut right = piece.clone();
            set_checksums(&mut right, ipv6, 1);
            assert_eq!(piece, right, "{ipv6} {udp}");
            joined.extend_from_slice(parts[1]);
        }
        assert_eq!(joined, bytes);
    }
}

#[test]
fn a_segment_is_carried_whole_if_nothing_else_can_happen_to_it() {
    let header = Header { gso: Gso::TcpIpv4, segment_len: 999, ..Header::default() };
    let may_be_cut = frame(false, 0, 1, 1, 0x10, &bytes(5000));
    let mut stays = may_be_cut.clone();
    stays[20] |= 0x40;
    assert_eq!(whole(&stays, &header), Some(5000));
    assert_eq!(whole(&may_be_cut, &header), None, "routers may make fragments of it");
    assert_eq!(whole(&[&stays[..], &[0]].concat(), &header), None, "something is behind it");
    assert_eq!(whole(&stays, &Header { gso: Gso::Udp, ..header }), None, "another kind");
    assert_eq!(whole(&stays, &Header { segment_len: 1, ..header }), None, "too many pieces");
    assert_eq!(whole(&stays[..60], &header), None, "no whole packet");
    let header = Header { gso: Gso::TcpIpv6, ..header };
    assert_eq!(whole(&frame(true, 2, 1, 1, 0x10, &bytes(5000)), &header), Some(5000));
}

#[test]
fn frames_that_follow_each_other_become_one_and_are_themselves_again() {
    for (ipv6, tags, len) in [(false, 0, 60_000), (true, 1, 60_000), (false, 0, 200_000)] {
        let frames = stream(ipv6, tags, &bytes(len), 1448, 0x18);
        let mut coalescer = Coalescer::new(2);
        let (mut joined, mut again) = (0, Vec::new());
        let mut ready = |tag: u16, header: &Header, frame: &[u8]| {
            assert_eq!(tag, 5);
            joined += 1;
            again.extend(cut(frame, header));
        };
        frames.iter().for_each(|frame| coalescer.push(5, frame, &mut ready));
        coalescer.flush(&mut ready);
        coalescer.flush(&mut ready);
        assert!(again == frames, "{ipv6} {tags} {len}");
        assert_eq!(joined, len.div_ceil(60_000).max(1), "{ipv6} {tags} {len}");
    }
}

/// Frames one after the other, and how many come of them.
fn joined(frames: &[Vec<u8>]) -> usize {
    let mut coalescer = Coalescer::new(4);
    let (mut count, mut again) = (0, Vec::new());
    let mut ready = |_: u16, header: &Header, frame: &[u8]| {
        count += 1;
        again.extend(cut(frame, header));
    };
    frames.iter().for_each(|frame| coalescer.push(0, frame, &mut ready));
    coalescer.flush(&mut ready);
    assert!(again == frames, "nothing is lost, and nothing out of order");
    count
}

#[test]
fn what_does_not_follow_is_left_alone() {
    let data = bytes(300);
    let first = frame(false, 0, 1000, 1, 0x10, &data);
    let next = |flags, id, sequence| frame(false, 0, sequence, id, flags, &data);
    assert_eq!(joined(&[first.clone(), next(0x10, 2, 1300)]), 1);
    assert_eq!(joined(&[first.clone(), next(0x18, 2, 1300), next(0x10, 3, 1600)]), 2, "PSH");
    assert_eq!(joined(&[first.clone(), next(0x10, 2, 1301)]), 2, "a hole");
    assert_eq!(joined(&[first.clone(), next(0x10, 3, 1300)]), 2, "another identification");
    assert_eq!(joined(&[first.clone(), next(0x90, 2, 1300)]), 2, "CWR");
    assert_eq!(joined(&[first.clone(), next(0x50, 2, 1300)]), 2, "ECE");
    assert_eq!(joined(&[first.clone(), frame(false, 0, 1300, 2, 0x10, &[])]), 2, "no data");
    let longer = frame(false, 0, 1300, 2, 0x10, &bytes(301));
    assert_eq!(joined(&[first.clone(), longer]), 2, "a longer one");
    let short = frame(false, 0, 1300, 2, 0x10, &data[..9]);
    assert_eq!(joined(&[first.clone(), short, next(0x10, 3, 1309)]), 2, "behind a shorter one");
    // A byte that changed on the way: the kernel has to see it.
    for at in [15, 20, 24, 47, 60, 200] {
        let mut broken = next(0x10, 2, 1300);
        broken[at] ^= 0x40;
        assert_eq!(joined(&[first.clone(), broken]), 2, "byte {at}");
    }
    let padded = [next(0x10, 2, 1300), vec![0; 4]].concat();
    assert_eq!(joined(&[first, padded]), 2, "padding");
}

#[test]
fn a_checksum_that_is_begun_is_completed() {
    for ipv6 in [false, true] {
        let whole = frame(ipv6, 0, 1, 1, 0x18, &bytes(501));
        let tcp = if ipv6 { 54 } else { 34 };
        let [high, low] = ((whole.len() - tcp) as u16).to_be_bytes();
        let addresses = if ipv6 { &whole[22..54] } else { &whole[26..34] };
        let mut begun = whole.clone();
        put_u16(&mut begun, tcp + 16, !slow_checksum(&[addresses, &[0, 6, high, low]]));
        let (checksum_start, checksum_offset) = (tcp as u16, 16);
        let header = Header { flags: 1, checksum_start, checksum_offset, ..Header::default() };
        assert_eq!(cut(&begun, &header), [whole]);
    }
    // Zero would be no checksum.
    let header = Header { flags: 1, checksum_start: 2, checksum_offset: 0, ..Header::default() };
    assert_eq!(cut(&[9, 9, 0, 0, 0xff, 0xff], &header), [[9, 9, 0xff, 0xff, 0xff, 0xff]]);
}

#[test]
fn what_no_wire_could_take_is_refused() {
    let refused = |frame: &[u8], header: Header| segments(&mut frame.to_vec(), &header).err();
    let plain = frame(false, 0, 1, 1, 0x10, &bytes(3000));
    let gso = |gso, segment_len| Header { gso, segment_len, ..Header::default() };
    assert_eq!(refused(&plain, gso(Gso::TcpIpv6, 1000)), Some(Unfit::NoSegment));
    assert_eq!(refused(&plain, gso(Gso::Other(3), 1000)), Some(Unfit::NoSegment));
    assert_eq!(refused(&plain[..50], gso(Gso::TcpIpv4, 1000)), Some(Unfit::NoSegment));
    assert_eq!(refused(&plain, gso(Gso::TcpIpv4, 0)), Some(Unfit::TooMany));
    assert_eq!(refused(&plain, gso(Gso::TcpIpv4, 1)), Some(Unfit::TooMany));
    let longest = frame(false, 0, 1, 1, 0x10, &bytes(2 * SEGMENTS_MAX));
    assert_eq!(cut(&longest, &gso(Gso::TcpIpv4, 2)).len(), SEGMENTS_MAX);
    for (checksum_start, checksum_offset) in [(60_000, 0), (10, 60_000), (3060, 5)] {
        let header = Header { flags: 1, checksum_start, checksum_offset, ..Header::default() };
        assert_eq!(refused(&plain, header), Some(Unfit::Checksum));
    }
}

#[test]
fn headers_are_written_as_they_were_read() {
    for kind in [0, 1, 3, 4, 5, 6] {
        let bytes = [1, kind, 54, 0, 0xa8, 5, 34, 0, 16, 0];
        let header = Header::parse(&bytes);
        assert_eq!(header.bytes(), bytes);
        assert_eq!((header.segment_len, header.checksum_start), (1448, 34));
    }
}

#[test]
fn the_law_holds_of_connections_whose_frames_come_mixed_and_changed() {
    let mut seed = 1_u64;
    let mut below = |end: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % end
    };
    for _ in 0..3000 {
        let ipv6 = below(2) == 1;
        let payload = bytes(below(4000));
        let mut long = match below(4) {
            0 => datagram(ipv6, below(3), 9, &payload),
            _ => frame(ipv6, below(3), 9, 9, [0x10, 0x18, 0x99][below(3)], &payload),
        };
        for _ in 0..below(4) {
            let at = below(long.len().min(100));
            long[at] ^= 1 << below(8);
        }
        let kind = [1, 4, 0, 0x81, 5][below(5)];
        let header = [below(2) as u8, kind, 0, 0, below(256) as u8, below(3) as u8, 34, 0, 16, 0];
        (offload::LAW.holds)(&[&header[..], &long].concat());
    }
}
