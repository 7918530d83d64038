//! What frames of clients are inside the NAT, where they are not as outside: IPv6, with the tag of
//! a VRF, or in a tunnel.
//!
//! A frame of a client is written and read in its form without that, behind as many free bytes as
//! it is longer.
use std::net::{IpAddr, Ipv4Addr};

use function_cgnat::config::{Config, Family};
use stages::vlan;
use wire::bytes::{array_at, put_array, u16_at};
use wire::ethernet::{TAG_LEN, TYPE_VLAN};

use super::ds_lite::{self, Softwires};
use super::ipv6::{self, Form, Ipv6};
use crate::sections::Traffic;

/// How frames of clients differ.
#[derive(Clone, Copy, Debug)]
pub enum Inside {
    /// They are IPv6.
    Ipv6(Ipv6),
    /// They have the tag of a VLAN.
    Vlan(u16),
    /// They come and go through softwires.
    Softwires(Softwires),
}

impl Inside {
    /// That of a validated configuration; none where frames are the same on both sides.
    pub fn new(config: &Config, traffic: &Traffic) -> Option<Inside> {
        match (traffic.family, traffic.vlan) {
            (Family::Ipv6, _) => Ipv6::new(config).map(Inside::Ipv6),
            (Family::DsLite, _) => Softwires::new(config).map(Inside::Softwires),
            (Family::Ipv4, 0) => None,
            (Family::Ipv4, vlan) => Some(Inside::Vlan(vlan)),
        }
    }

    /// How much longer frames are inside than outside, in bytes.
    pub fn growth(&self) -> usize {
        match self {
            Inside::Ipv6(_) => ipv6::GROWTH,
            Inside::Vlan(_) => TAG_LEN,
            Inside::Softwires(_) => ds_lite::GROWTH,
        }
    }

    /// The address of a client inside.
    #[inline]
    pub fn address(&self, client: u32) -> IpAddr {
        match self {
            Inside::Ipv6(ipv6) => ipv6.address(client).into(),
            Inside::Vlan(_) => Ipv4Addr::from_bits(client).into(),
            Inside::Softwires(softwires) => softwires.b4(client).into(),
        }
    }

    /// Makes a frame, behind whose first [`Self::growth`] bytes one of a client stands, what it is
    /// inside.
    #[inline]
    pub fn widen(&self, frame: &mut [u8]) {
        match self {
            Inside::Ipv6(ipv6) => ipv6.widen(frame),
            Inside::Vlan(vlan) => vlan::write(frame, *vlan),
            Inside::Softwires(softwires) => softwires.widen(frame),
        }
    }

    /// The other form of a frame from a server to a client; none of any other.
    #[inline]
    pub fn narrow<'a>(&self, frame: &[u8], form: &'a mut Form) -> Option<&'a [u8]> {
        let own = match self {
            Inside::Ipv6(ipv6) => return ipv6.narrow(frame, form),
            Inside::Softwires(softwires) => return softwires.narrow(frame, form),
            Inside::Vlan(own) => *own,
        };
        if vlan::read(frame) != Ok(Some(own)) {
            return None;
        }
        let rest = &frame[MACS_LEN + TAG_LEN..];
        let form = form.get_mut(..MACS_LEN + rest.len())?;
        put_array(form, 0, array_at::<MACS_LEN>(frame, 0));
        form[MACS_LEN..].copy_from_slice(rest);
        Some(form)
    }
}

/// The frame behind its tag, if it has one, from its type on.
pub fn behind_tag(frame: &[u8]) -> &[u8] {
    let rest = frame.get(MACS_LEN..).unwrap_or_default();
    match rest.len() >= TAG_LEN && u16_at(rest, 0) == TYPE_VLAN {
        true => &rest[TAG_LEN..],
        false => rest,
    }
}

/// Both addresses of a frame.
const MACS_LEN: usize = 12;

#[cfg(test)]
mod tests {
    use super::super::ipv6::FORM_LEN;
    use super::*;

    #[test]
    fn a_tagged_frame_is_read_as_it_was_written() {
        let inside = Inside::Vlan(100);
        let plain: Vec<u8> = (0..60).collect();
        let mut frame = [&[0; TAG_LEN][..], &plain].concat();
        inside.widen(&mut frame);
        assert_eq!(frame[..16], [&plain[..12], &[0x81, 0, 0, 100]].concat());
        let mut form = [0; FORM_LEN];
        assert_eq!(inside.narrow(&frame, &mut form), Some(&plain[..]));
        assert_eq!(behind_tag(&frame), &plain[12..]);
        assert_eq!(behind_tag(&plain), &plain[12..]);
        frame[15] = 101;
        assert_eq!(inside.narrow(&frame, &mut form), None, "of another VRF");
        assert_eq!(inside.narrow(&plain, &mut form), None, "of none");
        assert_eq!(inside.narrow(&frame[..17], &mut form), None, "cut");
    }
}
