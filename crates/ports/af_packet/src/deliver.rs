//! From the ring into a batch: the tag back in, and what the kernel left to the card.

use engine::{Intake, Taken};
use packet::{Batch, PortId};

use crate::ring::Arrived;

/// Takes a frame into the batch, in which there is room for one.
#[inline]
pub(crate) fn deliver(
    intake: &mut Intake,
    batch: &mut Batch,
    port: PortId,
    frame: &Arrived<'_>,
) -> Taken {
    let kept = frame.bytes;
    if kept.len() < frame.whole_len {
        return Taken { too_long: 1, ..Taken::default() };
    }
    let parts = match &frame.tag {
        Some(tag) if kept.len() >= MAC_ADDRESSES => {
            [&kept[..MAC_ADDRESSES], &tag[..], &kept[MAC_ADDRESSES..]]
        }
        _ => [kept, &[], &[]],
    };
    intake.take(batch, port, parts, &frame.header)
}

const MAC_ADDRESSES: usize = 12;

#[cfg(test)]
mod tests {
    use offload::{Gso, Header};
    use packet::Room;

    use super::*;

    fn arrived(bytes: &[u8]) -> Arrived<'_> {
        Arrived { bytes, whole_len: bytes.len(), tag: None, header: Header::default() }
    }

    #[test]
    fn tags_go_back_where_they_were() {
        let mut batch = Batch::new(4, Room { headroom: 0, frame: 64, long: 0 }).expect("memory");
        let mut intake = Intake::default();
        let mut deliver = |frame: &Arrived<'_>| {
            let Taken { frames, bytes, too_long, unfit, .. } =
                deliver(&mut intake, &mut batch, PortId(3), frame);
            (frames, bytes, too_long, unfit)
        };
        let bytes: Vec<u8> = (0..60).collect();
        let tag = Some([0x88, 0xa8, 0, 5]);
        assert_eq!(deliver(&Arrived { tag, ..arrived(&bytes) }), (1, 64, 0, 0));
        let long: Vec<u8> = (0..61).collect();
        assert_eq!(deliver(&Arrived { tag, ..arrived(&long) }), (0, 0, 1, 0));
        let cut = Arrived { whole_len: 61, ..arrived(&bytes) };
        assert_eq!(deliver(&cut), (0, 0, 1, 0));
        let header = Header { gso: Gso::TcpIpv4, segment_len: 9, ..Header::default() };
        assert_eq!(deliver(&Arrived { header, ..arrived(&bytes) }), (0, 0, 0, 1), "it is none");
        // The checksum that is begun stands behind the tag.
        let (flags, checksum_start, checksum_offset) = (Header::NEEDS_CHECKSUM, 50, 8);
        let header = Header { flags, checksum_start, checksum_offset, ..Header::default() };
        let begun = [[0; 50].as_slice(), &[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7, 0, 0]].concat();
        assert_eq!(deliver(&Arrived { tag, header, ..arrived(&begun) }), (1, 64, 0, 0));
        let expected = [&bytes[..12], &[0x88, 0xa8, 0, 5], &bytes[12..]].concat();
        assert_eq!((batch.len(), batch.frame(0)), (2, &expected[..]));
        // RFC 1071, section 3: the sum of these is ddf2.
        assert_eq!(batch.frame(1)[62..], (!0xddf2_u16).to_be_bytes());
    }
}
