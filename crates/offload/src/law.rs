//! What must hold whatever the bytes are, for tests and fuzzers.

use std::collections::BTreeMap;

use wire::Law;
use wire::bytes::u16_at;

use crate::coalesce::Coalescer;
use crate::header::{Gso, HEADER_LEN, Header};
use crate::layout::Layout;
use crate::segment::{SEGMENTS_MAX, begun, complete_begun, segments};

/// A header and a frame that it speaks of: what it comes to is cut, handed on, joined and cut
/// again.
pub const LAW: Law = Law { name: "offload", holds: law, examples: &[] };

fn law(bytes: &[u8]) {
    let Some((header, frame)) = bytes.split_first_chunk::<HEADER_LEN>() else { return };
    let header = Header::parse(header);
    let mut completed = frame.to_vec();
    complete_begun(&mut completed);
    assert!(!complete_begun(&mut completed), "a whole one stays as it is");
    let mut frames = cut(frame, &header);
    if header.gso != Gso::None && !frames.is_empty() {
        // Whoever is handed it on makes the same of it, whatever checksum it had.
        let mut again = frame.to_vec();
        let begun = begun(&mut again, header.segment_len);
        let begun = begun.unwrap_or_else(|why| panic!("{why:?}: {header:?}"));
        assert_eq!(cut(&again, &begun), frames, "{header:?}");
    }
    assert!(frames.len() <= SEGMENTS_MAX, "{}", frames.len());
    frames.push(frame.to_vec());
    let mut coalescer = Coalescer::new(2);
    let mut again = Vec::new();
    let mut ready = |_: u16, header: &Header, frame: &[u8]| again.extend(cut(frame, header));
    frames.iter().for_each(|frame| coalescer.push(0, frame, &mut ready));
    coalescer.flush(&mut ready);
    assert_eq!(by_connection(&again), by_connection(&frames), "{header:?}");
}

fn cut(frame: &[u8], header: &Header) -> Vec<Vec<u8>> {
    let mut frame = frame.to_vec();
    let mut frames = Vec::new();
    if let Ok(mut segments) = segments(&mut frame, header) {
        while let Some(parts) = segments.next_frame(&frame) {
            frames.push(parts.concat());
        }
    }
    frames
}

/// Frames in the order of their connections, without what says nothing: the identification of
/// datagrams that are never cut.
fn by_connection(frames: &[Vec<u8>]) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
    let mut of: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
    for frame in frames {
        let layout = Layout::of(frame);
        let mut key = Vec::new();
        let mut frame = frame.clone();
        if let Some(Layout { ip, transport, is_ipv6, .. }) = layout {
            let addresses = if is_ipv6 { ip + 8..ip + 40 } else { ip + 12..ip + 20 };
            key.extend_from_slice(&frame[addresses]);
            key.extend_from_slice(&frame[transport..transport + 4]);
            if !is_ipv6 && u16_at(&frame, ip + 6) & 0x4000 != 0 {
                frame[ip + 4..ip + 6].fill(0);
                frame[ip + 10..ip + 12].fill(0);
            }
        }
        of.entry(key).or_default().push(frame);
    }
    of
}
