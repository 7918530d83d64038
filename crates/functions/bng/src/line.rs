//! What frames on a line look like: tags and PPPoE in front of the packet.

use packet::{Batch, Slot};
use subscribers::Record;
use wire::bytes::{array_at, put_array, put_u16};
use wire::ethernet::{self, TAG_LEN};
use wire::{MacAddr, pppoe};

use super::config::Config;
use super::gateway::Gateway;

/// Puts packets into frames of lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Framing {
    mac: MacAddr,
    outer: u16,
}

impl Framing {
    /// As configured.
    pub fn new(config: &Config, gateway: &Gateway) -> Framing {
        Framing { mac: config.access_mac, outer: gateway.outer }
    }

    /// Has a packet of IP of `len` bytes that begins at an offset of its frame be the payload of a
    /// frame for the host of a session; false where there is no room in front of it.
    #[inline(always)]
    pub fn put(
        &self,
        (batch, slot): (&mut Batch, Slot),
        (at, len): (usize, usize),
        record: &Record,
        is_ipv6: bool,
    ) -> bool {
        // From its end on, so that all of it is written at once whatever its length.
        let mut header = [0; HEADER_MAX];
        let mut begin = HEADER_MAX - 2;
        if record.pppoe != 0 {
            let protocol = if is_ipv6 { pppoe::PPP_IPV6 } else { pppoe::PPP_IPV4 };
            put_u16(&mut header, begin, protocol);
            put_u16(&mut header, begin - 2, (len + pppoe::PROTOCOL_LEN) as u16);
            put_u16(&mut header, begin - 4, record.pppoe);
            put_u16(&mut header, begin - 6, u16::from(pppoe::VERSION_TYPE) << 8);
            put_u16(&mut header, begin - 8, pppoe::TYPE_SESSION);
            begin -= 8;
        } else {
            let ether_type = if is_ipv6 { ethernet::TYPE_IPV6 } else { ethernet::TYPE_IPV4 };
            put_u16(&mut header, begin, ether_type);
        }
        begin = self.tags(&mut header, begin, record.line) - ethernet::offset::TYPE;
        put_array(&mut header, begin, record.mac);
        put_array(&mut header, begin + 6, self.mac.0);
        batch.truncate(slot, at + len);
        let is_put = replace_front((batch, slot), at, &header);
        if is_put {
            batch.pull_front(slot, begin);
        }
        is_put
    }

    /// Puts the tags of a line on a frame of Ethernet that has none; false where there is no room.
    pub fn tag(&self, (batch, slot): (&mut Batch, Slot), line: u32) -> bool {
        let Some(head) = batch.frame(slot).first_chunk::<{ ethernet::HEADER_LEN }>() else {
            return false;
        };
        let (macs, ether_type) = (array_at::<12>(head, 0), array_at::<2>(head, 12));
        let mut header = [0; HEADER_MAX];
        let mut begin = HEADER_MAX - 2;
        put_array(&mut header, begin, ether_type);
        begin = self.tags(&mut header, begin, line) - macs.len();
        put_array(&mut header, begin, macs);
        let is_put = replace_front((batch, slot), ethernet::HEADER_LEN, &header);
        if is_put {
            batch.pull_front(slot, begin);
        }
        is_put
    }

    /// Writes the tags of a line in front of a place; where they begin.
    #[inline(always)]
    fn tags(&self, header: &mut [u8; HEADER_MAX], mut begin: usize, line: u32) -> usize {
        let (outer, inner) = ((line >> 16) as u16, line as u16);
        for (ether_type, vlan) in [(ethernet::TYPE_VLAN, inner), (self.outer, outer)] {
            if vlan != 0 {
                begin -= TAG_LEN;
                put_u16(header, begin, ether_type);
                put_u16(header, begin + 2, vlan);
            }
        }
        begin
    }
}

/// Has a header take the place of the first `at` bytes of a frame; false where there is no room.
#[inline(always)]
pub(super) fn replace_front<const LEN: usize>(
    (batch, slot): (&mut Batch, Slot),
    at: usize,
    header: &[u8; LEN],
) -> bool {
    if LEN > at {
        if batch.push_front(slot, LEN - at).is_none() {
            return false;
        }
    } else {
        batch.pull_front(slot, at - LEN);
    }
    match batch.frame_mut(slot).first_chunk_mut() {
        Some(place) => {
            *place = *header;
            true
        }
        None => false,
    }
}

/// The longest header in front of a packet, rounded up.
const HEADER_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use packet::{PortId, Room};

    use super::*;

    #[test]
    fn frames_of_every_kind_of_line_have_their_headers() {
        let config = Config::default();
        let framing = Framing::new(&config, &Gateway::new(&config));
        let one = Record { mac: [2, 0, 0, 0, 0, 9], ..Record::default() };
        let cases = [
            (one, &[0x86, 0xdd][..]),
            (Record { line: 7, ..one }, &[0x81, 0, 0, 7, 0x86, 0xdd]),
            (Record { line: 5 << 16 | 7, ..one }, &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 7, 0x86, 0xdd]),
            (
                Record { line: 7, pppoe: 0x1234, ..one },
                &[0x81, 0, 0, 7, 0x88, 0x64, 0x11, 0, 0x12, 0x34, 0, 42, 0, 0x57],
            ),
        ];
        for (record, expected) in cases {
            for at in [14, 18, 30] {
                let mut batch = Batch::new(1, Room::default()).expect("memory");
                let frame: Vec<u8> = (0..at + 40 + 6).map(|byte| byte as u8).collect();
                batch.append(PortId(1), frame.len()).expect("room").copy_from_slice(&frame);
                assert!(framing.put((&mut batch, 0), (at, 40), &record, true));
                let packet = &frame[at..at + 40];
                let macs = [&record.mac[..], &config.access_mac.0].concat();
                assert_eq!(batch.frame(0), [&macs[..], expected, packet].concat());
            }
        }
        let mut batch = Batch::new(1, Room::default()).expect("memory");
        batch.append(PortId(1), 60).expect("room").copy_from_slice(&[3; 60]);
        assert!(framing.tag((&mut batch, 0), 5 << 16 | 7));
        let tags = [0x88, 0xa8, 0, 5, 0x81, 0, 0, 7];
        assert_eq!(batch.frame(0), [&[3; 12][..], &tags, &[3; 48]].concat());
    }
}
