//! What comes in whole or in pieces, and what leaves by a port that takes pieces alone.

use packet::LONG_BYTES_MAX;

use super::*;

/// A segment of TCP over IPv4 with `len` bytes of payload, and what it lacks.
fn segment(len: usize, may_be_cut: bool) -> (Vec<u8>, Header) {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0]);
    frame.extend((40 + len as u16).to_be_bytes());
    frame.extend([0, 1, if may_be_cut { 0 } else { 0x40 }, 0, 64, 6, 0, 0]);
    frame.extend([192, 0, 2, 1, 198, 51, 100, 2]);
    frame.extend([0x80, 9, 0, 179, 0, 0, 0, 9, 0, 0, 0, 7, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
    frame.extend((0..len).map(|at| ((at * at) >> 3) as u8));
    let gso = if len > 1000 { Gso::TcpIpv4 } else { Gso::None };
    let header = Header {
        flags: Header::NEEDS_CHECKSUM,
        gso,
        segment_len: 1000,
        checksum_start: 34,
        checksum_offset: 16,
        ..Header::default()
    };
    (frame, header)
}

/// The sequence number and the payload's length of each frame.
fn pieces(batch: &Batch) -> Vec<(u8, usize)> {
    batch.slots().map(|slot| (batch.frame(slot)[41], batch.frame_len(slot) - 54)).collect()
}

fn batch(capacity: usize, long: usize) -> Batch {
    Batch::new(capacity, Room { headroom: 128, frame: 1514, long }).expect("memory")
}

#[test]
fn a_segment_comes_in_whole_where_there_is_room_and_in_pieces_over_several_batches_else() {
    let mut intake = Intake::default();
    let (frame, header) = segment(3500, false);
    let parts = [&frame[..12], &[0x81, 0, 0, 5][..], &frame[12..]];
    let mut whole = batch(4, LONG_BYTES_MAX);
    let taken = intake.take(&mut whole, PortId(3), parts, &header);
    assert_eq!(taken, Taken { frames: 1, bytes: 3558, ..Taken::default() });
    assert_eq!((whole.long(0), whole.port(0)), (Long::new(3500, 1000), PortId(3)));
    assert!(whole.frame(0) == parts.concat() && intake.is_idle());

    let mut few = batch(2, 0);
    let (frame, header) = segment(3500, false);
    let taken = intake.take(&mut few, PortId(3), [&frame, &[], &[]], &header);
    assert_eq!((taken.frames, intake.is_idle()), (1, false), "one for sure");
    assert_eq!(intake.go_on(&mut few, PortId(3), 9).frames, 1, "there is no more room");
    assert_eq!(pieces(&few), [(9, 1000), (9_u8.wrapping_add(232), 1000)]);
    few.clear();
    assert_eq!(intake.go_on(&mut few, PortId(3), 9).frames, 2);
    assert!(intake.is_idle());
    assert_eq!(pieces(&few).iter().map(|piece| piece.1).collect::<Vec<_>>(), [1000, 500]);
    // Routers may fragment it, so that what comes of it differs from frame to frame.
    let (frame, header) = segment(2500, true);
    whole.clear();
    intake.take(&mut whole, PortId(3), [&frame, &[], &[]], &header);
    intake.go_on(&mut whole, PortId(3), 9);
    assert_eq!((whole.len(), whole.has_long()), (3, false));
}

#[test]
fn frames_that_follow_each_other_are_joined_where_all_ways_out_take_them() {
    let (mut frame, header) = segment(4500, false);
    let mut frames = Vec::new();
    let mut segments = segments(&mut frame, &header).expect("a segment");
    while let Some(parts) = segments.next_frame(&frame) {
        frames.push(parts.concat());
    }
    let mut other = frames[0].clone();
    // The sum of addresses stays what it was.
    other.swap(26, 28);
    frames.insert(3, other);
    let mut intake = Intake::default();
    let mut taken = |batch: &mut Batch| {
        batch.clear();
        let header = Header::default();
        let taken: Vec<_> = frames
            .iter()
            .map(|frame| intake.take(batch, PortId(1), [frame, &[], &[]], &header))
            .map(|taken| (taken.frames, taken.joined, taken.bytes))
            .collect();
        intake.end(batch);
        taken
    };
    let mut batch = batch(8, LONG_BYTES_MAX);
    assert!(taken(&mut batch).iter().all(|taken| taken.0 == 1), "nobody asked for it");
    assert_eq!((batch.len(), batch.has_long()), (6, false));
    batch.set_joins(Joins { segments: true, ..Joins::default() });
    let whole = [(1, 0), (0, 1), (0, 1), (1, 0), (0, 1), (0, 1)];
    let lens = frames.iter().map(Vec::len);
    let expected: Vec<_> = whole.iter().zip(lens).map(|(one, len)| (one.0, one.1, len)).collect();
    for _ in 0..2 {
        assert_eq!(taken(&mut batch), expected);
        assert_eq!((batch.len(), batch.long(0)), (2, Long::new(4500, 1000)));
        assert_eq!((batch.long(1), batch.frame(1)), (None, &frames[3][..]));
        let mut cut = Segments::of(batch.frame(0), 1000).expect("a segment");
        for number in [0, 1, 2, 4, 5] {
            let parts = cut.next_frame(batch.frame(0)).expect("a frame");
            assert!(parts.concat() == frames[number], "frame {number}");
        }
        assert!(cut.is_done());
    }
}

/// A datagram of UDP over IPv4 or IPv6 with the checksum that is right, and the same with one that
/// is begun alone; `options` are words between the headers of IPv4.
fn datagram(ipv6: bool, port: u8, options: usize, payload: &[u8]) -> [(Vec<u8>, Header); 2] {
    let sum = |bytes: &[u8], begin: u32| {
        let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        let mut sum = bytes.chunks(2).map(word).sum::<u32>() + begin;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum
    };
    let [high, low] = (8 + payload.len() as u16).to_be_bytes();
    let mut frame = vec![2; 12];
    let addresses = if ipv6 { 22..54 } else { 26..34 };
    match ipv6 {
        true => {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, high, low, 17, 64]);
            frame.extend(0..32);
        }
        false => {
            let [high, low] = (28 + 4 * options as u16 + payload.len() as u16).to_be_bytes();
            frame.extend([8, 0, 0x45 + options as u8, 0, high, low, 0, 7, 0x40, 0, 64, 17, 0, 0]);
            frame.extend([192, 0, 2, 1, 198, 51, 100, 2]);
            frame.extend([1].repeat(4 * options));
            let head = !sum(&frame[14..], 0) as u16;
            frame[24..26].copy_from_slice(&head.to_be_bytes());
        }
    }
    let at = frame.len();
    frame.extend([0x80, port, 20, port, high, low, 0, 0]);
    frame.extend(payload);
    let pseudo = sum(&frame[addresses], 17 + 8 + payload.len() as u32);
    let mut begun = frame.clone();
    begun[at + 6..at + 8].copy_from_slice(&(pseudo as u16).to_be_bytes());
    let whole = match !sum(&frame[at..], pseudo) as u16 {
        0 => 0xffff,
        whole => whole,
    };
    frame[at + 6..at + 8].copy_from_slice(&whole.to_be_bytes());
    let lacks = Header {
        flags: Header::NEEDS_CHECKSUM,
        checksum_start: at as u16,
        checksum_offset: 6,
        ..Header::default()
    };
    [(frame, Header::default()), (begun, lacks)]
}

/// All frames of a batch, long ones cut; without the identification, which says nothing of a
/// datagram that stays whole, and the checksum over it.
fn cut(batch: &Batch) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for slot in batch.slots() {
        match batch.long(slot) {
            None => all.push(batch.frame(slot).to_vec()),
            Some(long) => {
                super::pieces(batch.frame(slot), long, |parts| all.push(parts.concat()));
            }
        }
    }
    all.iter_mut().for_each(|frame| erase(frame));
    all
}

fn erase(frame: &mut [u8]) {
    if frame[12] == 8 {
        frame[18..20].fill(0);
        frame[24..26].fill(0);
    }
}

fn joining_datagrams(except: &'static [u16]) -> Batch {
    let mut batch = batch(BATCH_MAX, LONG_BYTES_MAX);
    batch.set_joins(Joins { segments: false, datagrams: true, except });
    batch
}

#[test]
fn datagrams_that_follow_each_other_are_joined_whatever_their_sender_left_to_a_card() {
    // Of two flows; the last but one of the first is shorter than others.
    let sent = [(1, 18), (2, 18), (1, 18), (1, 18), (2, 18), (1, 10), (1, 18)];
    let mut intake = Intake::default();
    for (ipv6, way) in [(false, 0), (false, 1), (true, 0), (true, 1)] {
        // One port is that of datagrams which the function reads.
        for (except, expected) in [(&[][..], vec![64, 36, 18]), (&[0x1402], vec![64, 18, 18, 18])] {
            let mut batch = joining_datagrams(except);
            for (number, (port, len)) in sent.into_iter().enumerate() {
                let payload: Vec<u8> = (0..len).map(|at| at ^ number as u8).collect();
                let (frame, header) = &datagram(ipv6, port, 0, &payload)[way];
                intake.take(&mut batch, PortId(1), [frame, &[], &[]], header);
            }
            intake.end(&mut batch);
            let head_len = if ipv6 { 62 } else { 42 };
            let found: Vec<usize> =
                batch.slots().map(|slot| batch.frame_len(slot) - head_len).collect();
            assert_eq!(found, expected, "{ipv6} {way} {except:?}");
        }
    }
}

#[test]
fn no_datagram_overtakes_another_of_its_flow_whatever_stands_between_them() {
    let mut seed = 1_u64;
    let mut below = |end: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % end
    };
    let (mut intake, mut joined) = (Intake::default(), 0);
    for round in 0..300 {
        let mut batch = joining_datagrams(&[]);
        let mut expected = Vec::new();
        for number in 0..40_u8 {
            let (ipv6, port) = (below(4) == 0, below(6) as u8);
            let options = if below(8) == 0 { 2 } else { 0 };
            let len = [18, 18, 18, 17, 4, 0, 100][below(7)];
            let payload = vec![number; len];
            let (mut frame, mut header) = datagram(ipv6, port, options, &payload)[below(2)].clone();
            match below(10) {
                // Cut by nobody yet.
                0 if len == 100 => {
                    header = Header { gso: Gso::Udp, segment_len: 30, ..header };
                    let mut whole = frame.clone();
                    let mut segments = segments(&mut whole, &header).expect("datagrams");
                    while let Some(parts) = segments.next_frame(&whole) {
                        expected.push(parts.concat());
                    }
                }
                // Wrong on the way.
                1 if header.is_nothing() => {
                    *frame.last_mut().expect("it has bytes") ^= 1;
                    expected.push(frame.clone());
                }
                _ => expected.push(datagram(ipv6, port, options, &payload)[0].0.clone()),
            }
            let taken = intake.take(&mut batch, PortId(1), [&frame, &[], &[]], &header);
            joined += taken.joined;
            while !intake.is_idle() {
                intake.go_on(&mut batch, PortId(1), 9);
            }
        }
        intake.end(&mut batch);
        let found = cut(&batch);
        expected.iter_mut().for_each(|frame| erase(frame));
        let of = |ipv6: bool, port: u8, frames: &[Vec<u8>]| -> Vec<Vec<u8>> {
            let is_its = |frame: &&Vec<u8>| {
                let at = if ipv6 { 54 } else { 14 + usize::from(frame[14] & 15) * 4 };
                (frame[12] == 0x86) == ipv6 && frame[at + 1] == port
            };
            frames.iter().filter(is_its).cloned().collect()
        };
        assert_eq!(found.len(), expected.len(), "round {round}");
        for (ipv6, port) in (0..6).flat_map(|port| [(false, port), (true, port)]) {
            let [found, expected] = [&found, &expected].map(|frames| of(ipv6, port, frames));
            assert_eq!(found, expected, "round {round}, {ipv6} {port}");
        }
    }
    assert!(joined > 1000, "{joined}");
}

#[test]
fn what_is_too_long_or_not_what_is_said_is_counted() {
    let mut intake = Intake::default();
    let mut batch = batch(4, LONG_BYTES_MAX);
    let (frame, header) = segment(5000, false);
    let parts = [&frame[..], &[], &[]];
    let jumbo = Header { segment_len: 2000, ..header };
    let taken = intake.take(&mut batch, PortId(0), parts, &jumbo);
    assert_eq!(taken, Taken { frames: 1, bytes: 1054, too_long: 2, ..Taken::default() });
    assert!(intake.is_idle(), "the last piece is short enough");
    for header in [
        Header { gso: Gso::TcpIpv6, ..header },
        Header { gso: Gso::Other(3), ..header },
        Header { segment_len: 0, ..header },
        Header { gso: Gso::None, checksum_start: 6000, ..header },
    ] {
        let taken = intake.take(&mut batch, PortId(0), parts, &header);
        assert_eq!(taken.unfit + taken.too_long, 1, "{header:?}");
    }
    let (frame, header) = segment(500, false);
    let header = Header { checksum_offset: 5000, ..header };
    assert_eq!(intake.take(&mut batch, PortId(0), [&frame, &[], &[]], &header).unfit, 1);
    assert_eq!(batch.len(), 1, "nothing else came in");
}

/// A port that keeps what it gets, up to a number of frames.
#[derive(Default)]
struct Keeper {
    kept: Vec<(u8, usize)>,
    room: usize,
    kinds: Kinds,
}

impl Port for Keeper {
    fn receive(&mut self, _: &mut Batch, _: usize, _: Ticks) -> usize {
        0
    }

    fn transmit(&mut self, batch: &mut Batch, slots: &[Slot], _: Ticks) -> usize {
        let taken = slots.len().min(self.room - self.kept.len());
        let of = |slot: &Slot| (batch.frame(*slot)[41], batch.frame_len(*slot) - 54);
        let has_long = slots.iter().any(|slot| batch.long(*slot).is_some());
        assert!(!has_long || self.kinds.tcp_ipv4, "pieces alone");
        self.kept.extend(slots[..taken].iter().map(of));
        taken
    }
}

#[test]
fn a_port_gets_long_segments_of_the_kinds_that_it_takes_and_pieces_of_others_in_their_order() {
    let room = Room { headroom: 128, frame: 1514, long: LONG_BYTES_MAX };
    let mut cutting = Cutting::new(room).expect("memory");
    let mut batch = batch(8, LONG_BYTES_MAX);
    let mut add = |len: usize| {
        let (frame, _) = segment(len, false);
        let room = batch.append_any(PortId(0), frame.len(), Long::new(len, 1000));
        room.expect("room").copy_from_slice(&frame);
    };
    [100, 1200, 200, 2100, 60_000].into_iter().for_each(&mut add);
    let mut keeper = Keeper { room: 1000, ..Keeper::default() };
    let sent = cutting.transmit((&mut keeper, Kinds::NONE), &mut batch, &[0, 1, 2, 3], 0);
    assert_eq!(sent, Sent { accepted: 4, unfit: 0 });
    let lens: Vec<usize> = keeper.kept.iter().map(|piece| piece.1).collect();
    assert_eq!(lens, [100, 1000, 200, 200, 1000, 1000, 100]);
    for (kinds, expected) in [
        (Kinds { tcp_ipv4: false, ..Kinds::ALL }, lens.clone()),
        (Kinds { tcp_ipv4: true, ..Kinds::NONE }, vec![100, 1200, 200, 2100]),
    ] {
        let mut keeper = Keeper { room: 1000, kinds, ..Keeper::default() };
        let sent = cutting.transmit((&mut keeper, kinds), &mut batch, &[0, 1, 2, 3], 0);
        assert_eq!(sent, Sent { accepted: 4, unfit: 0 });
        assert_eq!(keeper.kept.iter().map(|piece| piece.1).collect::<Vec<_>>(), expected);
    }
    // It is full within the second one.
    let mut keeper = Keeper { room: 3, ..Keeper::default() };
    let sent = cutting.transmit((&mut keeper, Kinds::NONE), &mut batch, &[3, 1], 0);
    assert_eq!(sent, Sent { accepted: 1, unfit: 0 });
    // Somebody has made something else of it.
    batch.frame_mut(4)[23] = 1;
    let sent = cutting.transmit((&mut keeper, Kinds::NONE), &mut batch, &[4], 0);
    assert_eq!(sent, Sent { accepted: 0, unfit: 1 });
}
