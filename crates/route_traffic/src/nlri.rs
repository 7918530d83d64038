//! The routes in a field of NLRI: what of each tells it apart (its key), and all of it.
//!
//! A key is what the protocol's standards say: a prefix without its label, an EVPN MAC address with
//! its Route Distinguisher and tag but without segment and labels. In form it is what
//! [`protocol_bgp::text::Route`] shows. What a route carries beside its key belongs to what its
//! client has of it, as its attributes do. Read here anew, by code that no device shares.

use protocol_bgp::Family;
use protocol_bgp::families::Form;

use crate::octets::Octets;

/// Calls a function with the key and the whole of each route of a field.
///
/// # Errors
/// In words, when the field cannot be read; the routes before that were handed over.
pub fn each(
    family: Family,
    field: &[u8],
    mut take: impl FnMut(&[u8], &[u8]) -> Result<(), String>,
) -> Result<(), String> {
    let cut = || format!("a route of {family} goes on beyond its message");
    let mut from = Octets(field);
    let mut made = Vec::new();
    while !from.is_empty() {
        let whole = from.0;
        match family.row().form {
            Form::Prefix { is_labelled, before, address } => {
                let label = if is_labelled { LABEL_LEN } else { 0 };
                let all = from.u8().ok_or_else(cut)?;
                let bits = usize::from(all).checked_sub(8 * label);
                let most = usize::from(before) + usize::from(address);
                let fits = |bits: &usize| (usize::from(before)..=most).contains(bits);
                let bits = bits.filter(fits).ok_or_else(|| {
                    format!("a route of {family} says that it has {all} bits, which none has")
                })?;
                let len = 1 + label + bits.div_ceil(8);
                from.take(len - 1).ok_or_else(cut)?;
                let wire = &whole[..len];
                let behind = (8 - bits % 8) % 8;
                let is_clear = behind == 0 || wire[len - 1] & ((1 << behind) - 1) == 0;
                if is_clear && !is_labelled {
                    take(wire, wire)?;
                    continue;
                }
                made.clear();
                made.extend(wire);
                if !is_clear {
                    made[len - 1] &= 0xff << behind;
                }
                let mut key = vec![bits as u8];
                key.extend(&made[1 + label..]);
                take(&key, &made)?;
            }
            Form::RouteTarget => {
                let bits = from.u8().ok_or_else(cut)?;
                from.take(usize::from(bits).div_ceil(8)).ok_or_else(cut)?;
                let wire = &whole[..whole.len() - from.0.len()];
                take(wire, wire)?;
            }
            Form::Evpn => {
                let (kind, len) = (from.u8().ok_or_else(cut)?, from.u8().ok_or_else(cut)?);
                let value = from.take(len.into()).ok_or_else(cut)?;
                let wire = &whole[..2 + usize::from(len)];
                made.clear();
                evpn_key(kind, value, &mut made)?;
                take(if made.is_empty() { wire } else { &made }, wire)?;
            }
            Form::Flow | Form::LinkState | Form::Vpls => {
                return Err(format!("routes of {family} are none that this tester knows"));
            }
        }
    }
    Ok(())
}

/// Appends the key of a route of EVPN (RFC 7432 section 7); none of a type whose whole is its key.
fn evpn_key(kind: u8, value: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let short = || format!("a route of EVPN of the type {kind} is too short or too long");
    match kind {
        1 => {
            out.push(kind);
            out.extend(value.get(..22).filter(|_| value.len() == 25).ok_or_else(short)?);
        }
        2 => {
            let ip_bits = *value.get(29).ok_or_else(short)?;
            let end = 30 + usize::from(ip_bits) / 8;
            let is_whole = [end + LABEL_LEN, end + 2 * LABEL_LEN].contains(&value.len());
            if !is_whole || ![0, 32, 128].contains(&ip_bits) || value[22] != 48 {
                return Err(short());
            }
            out.push(kind);
            out.extend(&value[..8]);
            out.extend(&value[18..end]);
        }
        5 => {
            let ip = match value.len() {
                34 => 4,
                58 => 16,
                _ => return Err(short()),
            };
            out.push(kind);
            out.extend(&value[..8]);
            out.extend(&value[18..23 + ip]);
        }
        _ => {}
    }
    Ok(())
}

/// Returns the key of a route that is whole, as [`each`] finds it; empty if it is none.
pub fn key(family: Family, wire: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    let read = each(family, wire, |key, _| {
        found = key.to_vec();
        Ok(())
    });
    read.map(|()| found).unwrap_or_default()
}

const LABEL_LEN: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys and wholes.
    type Found = Vec<(Vec<u8>, Vec<u8>)>;

    fn all(family: Family, field: &[u8]) -> Result<Found, String> {
        let mut all = Vec::new();
        each(family, field, |key, wire| {
            all.push((key.to_vec(), wire.to_vec()));
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn labels_and_bits_behind_a_length_are_of_no_key() {
        let found = all(Family::Ipv4Unicast, &[9, 10, 0xff, 0, 24, 192, 0, 2]).unwrap();
        assert_eq!(found[0], (vec![9, 10, 0x80], vec![9, 10, 0x80]));
        assert_eq!(
            (found[1].0.as_slice(), found[2].0.as_slice()),
            (&[0][..], &[24, 192, 0, 2][..])
        );
        let found =
            all(Family::VpnV4, &[24 + 64 + 8, 1, 2, 3, 0, 0, 0, 1, 0, 0, 0, 2, 10]).unwrap();
        assert_eq!(found[0].0, [72, 0, 0, 0, 1, 0, 0, 0, 2, 10]);
        assert_eq!(found[0].1[1..4], [1, 2, 3]);
        let text = protocol_bgp::text::Route(Family::VpnV4, &found[0].0).to_string();
        assert_eq!(text, "1:2:10.0.0.0/8");
    }

    #[test]
    fn a_mac_address_is_told_by_what_rfc_7432_says() {
        let mut value = vec![0, 1, 192, 0, 2, 1, 0, 9];
        value.extend([7; 10]);
        value.extend([0, 0, 0, 0, 48, 2, 0, 0, 0, 0, 5, 0, 1, 2, 3]);
        let wire = [&[2, value.len() as u8][..], &value].concat();
        let found = all(Family::L2vpnEvpn, &wire).unwrap();
        assert_eq!(found[0].1, wire);
        let text = protocol_bgp::text::Route(Family::L2vpnEvpn, &found[0].0).to_string();
        assert_eq!(text, "mac 192.0.2.1:9 tag 0 02:00:00:00:00:05");
    }

    #[test]
    fn lengths_that_lie_are_told() {
        for (family, field) in [
            (Family::Ipv4Unicast, &[33, 1, 2, 3, 4, 5][..]),
            (Family::Ipv4Unicast, &[32, 1, 2, 3]),
            (Family::VpnV4, &[24, 0, 0, 0]),
            (Family::VpnV4, &[255; 40]),
            (Family::L2vpnEvpn, &[2, 33, 0]),
            (Family::L2vpnEvpn, &[2, 0]),
            (Family::L2vpnEvpn, &[2]),
            (Family::Vpls, &[0]),
        ] {
            assert!(all(family, field).is_err(), "{family} {field:?}");
        }
    }
}
