//! Sets of attributes that are made up.

use protocol_bgp::attributes::{
    AS_PATH, COMMUNITIES, EXTENDED_COMMUNITIES, LOCAL_PREF, NEXT_HOP, ORIGIN,
};

use crate::attributes::push;

/// What a set of attributes is made of.
#[derive(Debug, Default)]
pub(crate) struct Plain<'a> {
    pub origin: u8,
    pub path: &'a [u32],
    pub next_hop: &'a [u8],
    pub local_pref: u32,
    /// In rising order, as every speaker may sort them.
    pub communities: &'a [u32],
    /// Likewise.
    pub extended: &'a [[u8; 8]],
}

impl Plain<'_> {
    /// Appends the set in the form of [`crate::attributes`].
    pub fn write(&self, out: &mut Vec<u8>) {
        push(ORIGIN, 0x40, &[self.origin], out);
        let mut path = Vec::with_capacity(2 + 4 * self.path.len());
        for segment in self.path.chunks(255) {
            path.extend([2, segment.len() as u8]);
            segment.iter().for_each(|asn| path.extend(asn.to_be_bytes()));
        }
        push(AS_PATH, 0x40, &path, out);
        push(NEXT_HOP, 0x40, self.next_hop, out);
        push(LOCAL_PREF, 0x40, &self.local_pref.to_be_bytes(), out);
        if !self.communities.is_empty() {
            let bytes: Vec<u8> =
                self.communities.iter().flat_map(|one| one.to_be_bytes()).collect();
            push(COMMUNITIES, 0xc0, &bytes, out);
        }
        if !self.extended.is_empty() {
            push(EXTENDED_COMMUNITIES, 0xc0, self.extended.as_flattened(), out);
        }
    }
}

/// A next hop of the network for benchmarks, 198.18.0.0/15 (RFC 2544), or of the prefix for
/// documents, 2001:db8::/32.
pub(crate) fn next_hop(number: u32, is_ipv6: bool) -> Vec<u8> {
    let number = number % (1 << 17);
    if is_ipv6 {
        return ((0x2001_0db8 << 96) | u128::from(number + 1)).to_be_bytes().to_vec();
    }
    (0xc612_0000 + number).to_be_bytes().to_vec()
}
