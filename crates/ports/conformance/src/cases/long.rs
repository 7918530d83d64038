//! Long segments, by ports that take them.

use std::time::{Duration, Instant};

use engine::{Kinds, Way};
use machine::clock;
use packet::{BATCH_MAX, Batch, LONG_BYTES_MAX, Long, PortId, Room};

use crate::bench::Bench;
use crate::random::Random;
use crate::session::Session;

/// A long segment arrives as its frames, with right checksums, or as one that is counted.
pub(super) fn long_segments(bench: &mut dyn Bench, random: &Random) {
    let mut session = Session::start(bench, random);
    let frame_max = session.promises.frame_bytes_max;
    assert_eq!(session.opened.queues[0].takes_long(), Kinds::ALL, "it was promised");
    let room = Room { headroom: 128, frame: frame_max, long: LONG_BYTES_MAX };
    let mut batch = Batch::new(BATCH_MAX, room).expect("memory for a batch");
    for number in [TCP, UDP] {
        let head_len = if number == TCP { 54 } else { 42 };
        let piece_len = frame_max - head_len;
        let payload = session.random.bytes((piece_len * 5 / 2).min(60_000));
        let long = Long::new(payload.len(), piece_len as u16);
        let frame = segment(number, &payload);
        batch.clear();
        let room = batch.append_any(PortId(0), frame.len(), long);
        room.expect("it fits").copy_from_slice(&frame);
        let port = &mut session.opened.queues[0];
        assert_eq!(port.transmit(&mut batch, &[0], clock::now()), 1);
        let (mut arrived, start) = (Vec::new(), Instant::now());
        while arrived.len() < payload.len() && start.elapsed() < PATIENCE {
            session.bench.peer_receive(&mut |frame| {
                assert!(frame.len() <= frame_max, "{} bytes", frame.len());
                assert_eq!(sum_of(frame), 0xffff, "the checksum of protocol {number}");
                arrived.extend_from_slice(&frame[head_len..]);
            });
        }
        assert!(arrived == payload, "{} bytes of {} arrived", arrived.len(), payload.len());
    }
    // The link does not take its frames.
    let payload = session.random.bytes(6 * frame_max.min(10_000));
    let long = Long::new(payload.len(), frame_max as u16 + 1 - 54);
    let room = Room { frame: frame_max + 1, ..room };
    let mut batch = Batch::new(1, room).expect("memory for a batch");
    let frame = segment(TCP, &payload);
    batch.append_any(PortId(0), frame.len(), long).expect("it fits").copy_from_slice(&frame);
    let before = session.counts().lost(Way::Transmit);
    assert_eq!(session.opened.queues[0].transmit(&mut batch, &[0], clock::now()), 0);
    assert_eq!(session.counts().lost(Way::Transmit), before + 1);
}

/// A segment of TCP or datagram of UDP over IPv4, whose checksum is anything.
fn segment(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    let head_len = if number == TCP { 20 } else { 8 };
    let len = (head_len + payload.len()) as u16;
    frame.extend([8, 0, 0x45, 0]);
    frame.extend((20 + len).to_be_bytes());
    frame.extend([0, 1, 0x40, 0, 64, number, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2]);
    let sum = !folded(&frame[14..]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame.extend([0x80, 9, 0, 179]);
    match number {
        TCP => frame.extend([0, 0, 0, 9, 0, 0, 0, 7, 0x50, 0x10, 1, 0, 0xab, 0xcd, 0, 0]),
        _ => frame.extend([len.to_be_bytes(), [0xab, 0xcd]].concat()),
    }
    frame.extend_from_slice(payload);
    frame
}

/// The sum over the transport header, its payload and the pseudo-header (RFC 9293 section 3.1, RFC
/// 768).
fn sum_of(frame: &[u8]) -> u16 {
    let len = (frame.len() - 34) as u16;
    let pseudo = [&frame[26..34], &[0, frame[23]], &len.to_be_bytes()].concat();
    folded(&[&pseudo, &frame[34..]].concat())
}

fn folded(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let mut sum = bytes.chunks(2).map(word).sum::<u32>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

const TCP: u8 = 6;
const UDP: u8 = 17;
const PATIENCE: Duration = Duration::from_secs(10);
