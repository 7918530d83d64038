//! What the kernel is asked to do with links: to make the device of a VRF, and to put an interface
//! into it.

use crate::wire::{attribute, message};

/// The question for a device of a VRF, up, that routes by a table.
pub fn add_vrf(name: &str, table: u32, sequence: u32) -> Vec<u8> {
    let mut body = link(0, UP, UP);
    attribute(&mut body, IFNAME, &[name.as_bytes(), &[0]].concat());
    let (mut info, mut data) = (Vec::new(), Vec::new());
    attribute(&mut data, VRF_TABLE, &table.to_le_bytes());
    attribute(&mut info, INFO_KIND, b"vrf");
    attribute(&mut info, INFO_DATA, &data);
    attribute(&mut body, LINKINFO, &info);
    message(NEW_LINK, REQUEST | ACKNOWLEDGE | EXCLUSIVE | CREATE, sequence, &body)
}

/// The question to put an interface into a device, both by the kernel's numbers.
pub fn set_master(interface: u32, master: u32, sequence: u32) -> Vec<u8> {
    let mut body = link(interface, 0, 0);
    attribute(&mut body, MASTER, &master.to_le_bytes());
    message(NEW_LINK, REQUEST | ACKNOWLEDGE, sequence, &body)
}

/// The fixed part of a message on a link: its number, its flags, and which of them are meant.
fn link(interface: u32, flags: u32, meant: u32) -> Vec<u8> {
    [0, interface, flags, meant].into_iter().flat_map(u32::to_le_bytes).collect()
}

const NEW_LINK: u16 = 16;

/// Flags of a question.
const REQUEST: u16 = 0x1;
const ACKNOWLEDGE: u16 = 0x4;
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;

/// The flag of a link that is up.
const UP: u32 = 1;

/// Attributes of a link.
const IFNAME: u16 = 3;
const MASTER: u16 = 10;
const LINKINFO: u16 = 18;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const VRF_TABLE: u16 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_asked_as_ip_asks_it() {
        // `ip link add vrf1 up type vrf table 1001`, but for the sequence.
        let expected = [
            &[68, 0, 0, 0, 16, 0, 0x05, 0x06, 7, 0, 0, 0, 0, 0, 0, 0][..],
            &[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0],
            &[9, 0, 3, 0, b'v', b'r', b'f', b'1', 0, 0, 0, 0],
            &[24, 0, 18, 0, 7, 0, 1, 0, b'v', b'r', b'f', 0],
            &[12, 0, 2, 0, 8, 0, 1, 0, 0xe9, 3, 0, 0],
        ];
        assert_eq!(add_vrf("vrf1", 1001, 7), expected.concat());
        // `ip link set r1 master vrf1`.
        let expected = [
            &[40, 0, 0, 0, 16, 0, 0x05, 0, 7, 0, 0, 0, 0, 0, 0, 0][..],
            &[0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[8, 0, 10, 0, 4, 0, 0, 0],
        ];
        assert_eq!(set_master(3, 4, 7), expected.concat());
    }
}
