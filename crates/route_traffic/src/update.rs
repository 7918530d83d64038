//! An UPDATE, taken apart (RFC 4271 section 4.3, RFC 4760).

use protocol_bgp::Family;
use protocol_bgp::attributes::{MP_REACH, MP_UNREACH, NEXT_HOP};

use crate::attributes;
use crate::octets::Octets;

/// The routes of an UPDATE, and the attributes that they have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update<'a> {
    /// Fields of routes that are withdrawn, with their families.
    pub withdrawn: Vec<(Family, &'a [u8])>,
    /// Fields of routes that are announced, with their families and next hops.
    pub announced: Vec<(Family, &'a [u8], &'a [u8])>,
    /// The attributes as they stand in the message.
    pub attributes: &'a [u8],
}

impl<'a> Update<'a> {
    /// Reads the body of an UPDATE.
    ///
    /// # Errors
    /// In words, when it cannot be taken apart.
    pub fn read(body: &'a [u8]) -> Result<Update<'a>, String> {
        let mut from = Octets(body);
        let fields = |from: &mut Octets<'a>| Some((from.counted()?, from.counted()?));
        let (withdrawn, wire) = fields(&mut from).ok_or("a length goes on beyond its UPDATE")?;
        let mut update = Update { withdrawn: Vec::new(), announced: Vec::new(), attributes: wire };
        if !withdrawn.is_empty() {
            update.withdrawn.push((Family::Ipv4Unicast, withdrawn));
        }
        let mut next_hop = &[][..];
        attributes::each(wire, |attribute| {
            let mut value = Octets(attribute.value);
            match attribute.code {
                NEXT_HOP => next_hop = attribute.value,
                MP_REACH => {
                    let mut read = || {
                        let numbers = (value.u16()?, value.u8()?);
                        let len = value.u8()?;
                        let next_hop = value.take(len.into())?;
                        value.u8()?;
                        Some((numbers, next_hop))
                    };
                    let ((afi, safi), next_hop) = read().ok_or("MP_REACH_NLRI is cut")?;
                    let family = known(afi, safi)?;
                    update.announced.push((family, value.0, next_hop));
                }
                MP_UNREACH => {
                    let mut read = || Some((value.u16()?, value.u8()?));
                    let (afi, safi) = read().ok_or("MP_UNREACH_NLRI is cut")?;
                    update.withdrawn.push((known(afi, safi)?, value.0));
                }
                _ => {}
            }
            Ok(())
        })?;
        if !from.is_empty() {
            update.announced.push((Family::Ipv4Unicast, from.0, next_hop));
        }
        Ok(update)
    }
}

fn known(afi: u16, safi: u8) -> Result<Family, String> {
    Family::of(afi, safi).ok_or_else(|| format!("routes of an unknown family, {afi}/{safi}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_naming_routes_are_read() {
        let body = [
            0, 2, 8, 10, 0, 28, 0x40, 3, 4, 192, 0, 2, 1, 0x80, 15, 5, 0, 2, 1, 8, 0x20, 0x80, 14,
            10, 0, 1, 1, 4, 1, 2, 3, 4, 0, 0, 8, 11,
        ];
        let update = Update::read(&body).unwrap();
        assert_eq!(
            update.withdrawn,
            [(Family::Ipv4Unicast, &[8, 10][..]), (Family::Ipv6Unicast, &[8, 0x20])]
        );
        assert_eq!(
            update.announced,
            [
                (Family::Ipv4Unicast, &[0][..], &[1, 2, 3, 4][..]),
                (Family::Ipv4Unicast, &[8, 11], &[192, 0, 2, 1]),
            ]
        );
    }

    #[test]
    fn no_cut_is_more_than_an_error() {
        let body = [0, 2, 8, 10, 0, 11, 0x80, 14, 8, 0, 1, 1, 2, 1, 2, 0, 0, 8, 11];
        assert!(Update::read(&body).is_ok());
        for end in 0..body.len() {
            let _ = Update::read(&body[..end]);
        }
        assert!(Update::read(&[0, 9, 0]).is_err());
        assert!(Update::read(&[0, 0, 0, 7, 0x80, 15, 4, 0, 9, 9, 0]).is_err(), "an unknown family");
    }
}
