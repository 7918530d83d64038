//! From the ring into a batch: the tag back in, the checksum completed.

use packet::{Batch, PortId};

use crate::drops::{SEGMENTS, TOO_LONG};
use crate::ring::{Arrived, Offload};

/// Copies a frame into the batch; returns its length, or the drop reason.
#[inline]
pub(crate) fn deliver(
    batch: &mut Batch,
    port: PortId,
    frame: &Arrived<'_>,
) -> Result<usize, usize> {
    if frame.offload == Offload::Segments {
        return Err(SEGMENTS);
    }
    let kept = frame.bytes;
    let tag = frame.tag.as_ref().filter(|_| kept.len() >= MAC_ADDRESSES);
    let len = kept.len() + tag.map_or(0, |tag| tag.len());
    if kept.len() < frame.whole_len {
        return Err(TOO_LONG);
    }
    let Some(room) = batch.append(port, len) else { return Err(TOO_LONG) };
    let inserted = match tag {
        Some(tag) => {
            let (addresses, rest) = kept.split_at(MAC_ADDRESSES);
            room[..MAC_ADDRESSES].copy_from_slice(addresses);
            room[MAC_ADDRESSES..][..tag.len()].copy_from_slice(tag);
            room[MAC_ADDRESSES + tag.len()..].copy_from_slice(rest);
            tag.len()
        }
        None => {
            room.copy_from_slice(kept);
            0
        }
    };
    if let Offload::Checksum { start, offset } = frame.offload {
        complete(room, start + inserted, offset);
    }
    Ok(len)
}

/// Completes a checksum whose field contains the sum of the pseudo header (RFC 1071): sums the
/// bytes from `start` and writes the result at `start + offset`. A frame that is too short remains
/// unchanged.
fn complete(frame: &mut [u8], start: usize, offset: usize) {
    let Some(covered) = frame.get_mut(start..) else { return };
    let mut sum = 0_u64;
    let words = covered.chunks_exact(2);
    if let [last] = words.remainder() {
        sum += u64::from(*last) << 8;
    }
    sum += words.map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u64>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    // UDP says with zero that there is none (RFC 768); all ones is the same sum.
    let checksum = match !(sum as u16) {
        0 => 0xffff_u16,
        checksum => checksum,
    };
    if let Some(field) = covered.get_mut(offset..offset + 2) {
        field.copy_from_slice(&checksum.to_be_bytes());
    }
}

const MAC_ADDRESSES: usize = 12;

#[cfg(test)]
mod tests {
    use packet::Room;

    use super::*;

    fn arrived(bytes: &[u8]) -> Arrived<'_> {
        Arrived { bytes, whole_len: bytes.len(), tag: None, offload: Offload::None }
    }

    #[test]
    fn tags_go_back_where_they_were() {
        let mut batch = Batch::new(4, Room { headroom: 0, frame: 64 }).expect("memory");
        let bytes: Vec<u8> = (0..60).collect();
        let tag = Some([0x88, 0xa8, 0, 5]);
        assert_eq!(deliver(&mut batch, PortId(3), &Arrived { tag, ..arrived(&bytes) }), Ok(64));
        let expected = [&bytes[..12], &[0x88, 0xa8, 0, 5], &bytes[12..]].concat();
        assert_eq!(batch.frame(0), expected);
        let long: Vec<u8> = (0..61).collect();
        assert_eq!(
            deliver(&mut batch, PortId(3), &Arrived { tag, ..arrived(&long) }),
            Err(TOO_LONG)
        );
        let cut = Arrived { whole_len: 61, ..arrived(&bytes) };
        assert_eq!(deliver(&mut batch, PortId(3), &cut), Err(TOO_LONG));
        let merged = Arrived { offload: Offload::Segments, ..arrived(&bytes) };
        assert_eq!(deliver(&mut batch, PortId(3), &merged), Err(SEGMENTS));
        assert_eq!(batch.len(), 1);
    }

    #[test]
    fn checksums_are_completed() {
        // RFC 1071, section 3: the sum of these is ddf2.
        let mut bytes = vec![0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7, 0, 0];
        complete(&mut bytes, 0, 8);
        assert_eq!(bytes[8..], (!0xddf2_u16).to_be_bytes());
        let mut short = vec![1, 2, 3];
        complete(&mut short, 9, 0);
        complete(&mut short, 2, 0);
        assert_eq!(short, [1, 2, 3], "there is no room for one");
        let mut all_ones = vec![0xff, 0xff, 0, 0];
        complete(&mut all_ones, 0, 2);
        assert_eq!(all_ones[2..], [0xff, 0xff], "never zero, which says that there is none");
    }
}
