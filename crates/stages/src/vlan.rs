//! Tags of IEEE 802.1Q: taken off in front of everything else, put on last.

use packet::{Batch, Slot};
use wire::bytes::{put_u16, u16_at};
use wire::ethernet::{self, TAG_LEN};

/// The frame ends within its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated;

/// The VLAN of a frame, 0 of one that bears a priority alone; none of one without a tag.
///
/// # Errors
/// The frame ends within its tag.
#[inline(always)]
pub fn read(frame: &[u8]) -> Result<Option<u16>, Truncated> {
    if frame.len() < ethernet::HEADER_LEN
        || u16_at(frame, ethernet::offset::TYPE) != ethernet::TYPE_VLAN
    {
        return Ok(None);
    }
    if frame.len() < ethernet::HEADER_LEN + TAG_LEN {
        return Err(Truncated);
    }
    Ok(Some(u16_at(frame, ethernet::HEADER_LEN) & VLAN_MASK))
}

/// Takes the tag off a frame in which [`read`] has found one.
#[inline(always)]
pub fn take_off(batch: &mut Batch, slot: Slot) {
    batch.frame_mut(slot).copy_within(..ethernet::offset::TYPE, TAG_LEN);
    batch.pull_front(slot, TAG_LEN);
}

/// Puts a tag of priority 0 on a frame; whether there was room for it.
#[inline(always)]
pub fn put_on(batch: &mut Batch, slot: Slot, vlan: u16) -> bool {
    let Some(frame) = batch.push_front(slot, TAG_LEN) else { return false };
    write(frame, vlan);
    true
}

/// Writes a tag into a frame whose first [`TAG_LEN`] bytes are new.
pub fn write(frame: &mut [u8], vlan: u16) {
    frame.copy_within(TAG_LEN..TAG_LEN + ethernet::offset::TYPE, 0);
    put_u16(frame, ethernet::offset::TYPE, ethernet::TYPE_VLAN);
    put_u16(frame, ethernet::HEADER_LEN, vlan);
}

/// The VLAN within a tag.
const VLAN_MASK: u16 = 0x0fff;

#[cfg(test)]
mod tests {
    use packet::{PortId, Room};

    use super::*;

    #[test]
    fn a_tag_comes_off_as_it_was_put_on() {
        let mut batch = Batch::new(1, Room::default()).expect("memory");
        let frame: Vec<u8> = (0..60).collect();
        batch.append(PortId(0), frame.len()).expect("room").copy_from_slice(&frame);
        assert_eq!(read(batch.frame(0)), Ok(None));
        assert!(put_on(&mut batch, 0, 4094));
        assert_eq!(
            batch.frame(0)[..18],
            [&frame[..12], &[0x81, 0, 0x0f, 0xfe], &frame[12..14]].concat()
        );
        assert_eq!(read(batch.frame(0)), Ok(Some(4094)));
        batch.frame_mut(0)[14] |= 0xf0;
        assert_eq!(read(batch.frame(0)), Ok(Some(4094)), "whatever its priority");
        assert_eq!(read(&batch.frame(0)[..17]), Err(Truncated));
        take_off(&mut batch, 0);
        assert_eq!(batch.frame(0), frame);
    }
}
