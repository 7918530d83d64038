//! The families of routes: a row each, with what tells a route apart and what its next hop may
//! look like.

use std::fmt;
use std::str::FromStr;

/// A family of routes, by its place in [`FAMILIES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Family {
    /// IPv4 (RFC 4271).
    Ipv4Unicast,
    /// IPv6 (RFC 2545).
    Ipv6Unicast,
    /// IPv4 with a label (RFC 8277).
    Ipv4Labelled,
    /// IPv6 with a label (RFC 8277).
    Ipv6Labelled,
    /// IPv4 of virtual private networks (RFC 4364).
    VpnV4,
    /// IPv6 of virtual private networks (RFC 4659).
    VpnV6,
    /// Ethernet (RFC 7432, RFC 9136).
    L2vpnEvpn,
    /// Which route targets are wanted (RFC 4684).
    RouteTarget,
    /// Rules for flows of IPv4 (RFC 8955).
    Ipv4Flowspec,
    /// Rules for flows of IPv6 (RFC 8956).
    Ipv6Flowspec,
    /// Rules for flows of IPv4 in virtual private networks (RFC 8955).
    VpnV4Flowspec,
    /// Links and nodes of an IGP (RFC 9552).
    LinkState,
    /// Virtual private LANs (RFC 4761, RFC 6074).
    Vpls,
}

/// What is known of a family.
#[derive(Debug)]
pub struct Row {
    /// The family.
    pub family: Family,
    /// The number of its addresses (AFI).
    pub afi: u16,
    /// What its routes are for (SAFI).
    pub safi: u8,
    /// Its name in files and commands.
    pub name: &'static str,
    /// What its NLRI look like.
    pub form: Form,
    /// The lengths in bytes that a next hop may have.
    pub next_hops: &'static [u8],
    /// As `next_hops`, where both sides have agreed on next hops of IPv6 (RFC 8950).
    pub extended_next_hops: &'static [u8],
}

/// What the NLRI of a family look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A length in bits (1 byte), a label if there is one (3 bytes), and the bits, which count with
    /// the label. Of the bits a VPN's begin with a Route Distinguisher.
    Prefix {
        /// Whether there is a label.
        is_labelled: bool,
        /// Bits of what is not the address.
        before: u8,
        /// Most bits of the address.
        address: u8,
    },
    /// A prefix of 0, or of 32 to 96 bits: an AS and a route target.
    RouteTarget,
    /// A type and a length in bytes (1 byte each).
    Evpn,
    /// A length in bytes: 1 byte, or 12 bits of two bytes whose first four are ones.
    Flow,
    /// A type and a length in bytes (2 bytes each).
    LinkState,
    /// A length in bytes (2 bytes).
    Vpls,
}

const fn prefix(is_labelled: bool, before: u8, address: u8) -> Form {
    Form::Prefix { is_labelled, before, address }
}

/// The families, in the order of [`Family`].
#[rustfmt::skip] // A line each.
pub const FAMILIES: [Row; 13] = [
    Row { family: Family::Ipv4Unicast, afi: 1, safi: 1, name: "ipv4-unicast", form: prefix(false, 0, 32), next_hops: &[4], extended_next_hops: &[16, 32] },
    Row { family: Family::Ipv6Unicast, afi: 2, safi: 1, name: "ipv6-unicast", form: prefix(false, 0, 128), next_hops: &[16, 32], extended_next_hops: &[] },
    Row { family: Family::Ipv4Labelled, afi: 1, safi: 4, name: "ipv4-labelled", form: prefix(true, 0, 32), next_hops: &[4], extended_next_hops: &[16, 32] },
    Row { family: Family::Ipv6Labelled, afi: 2, safi: 4, name: "ipv6-labelled", form: prefix(true, 0, 128), next_hops: &[16, 32], extended_next_hops: &[] },
    Row { family: Family::VpnV4, afi: 1, safi: 128, name: "vpnv4", form: prefix(true, 64, 32), next_hops: &[12], extended_next_hops: &[24, 48] },
    Row { family: Family::VpnV6, afi: 2, safi: 128, name: "vpnv6", form: prefix(true, 64, 128), next_hops: &[24, 48], extended_next_hops: &[] },
    Row { family: Family::L2vpnEvpn, afi: 25, safi: 70, name: "l2vpn-evpn", form: Form::Evpn, next_hops: &[4, 16], extended_next_hops: &[] },
    Row { family: Family::RouteTarget, afi: 1, safi: 132, name: "route-target", form: Form::RouteTarget, next_hops: &[4, 16], extended_next_hops: &[] },
    Row { family: Family::Ipv4Flowspec, afi: 1, safi: 133, name: "ipv4-flowspec", form: Form::Flow, next_hops: &[0, 4, 16], extended_next_hops: &[] },
    Row { family: Family::Ipv6Flowspec, afi: 2, safi: 133, name: "ipv6-flowspec", form: Form::Flow, next_hops: &[0, 4, 16, 32], extended_next_hops: &[] },
    Row { family: Family::VpnV4Flowspec, afi: 1, safi: 134, name: "vpnv4-flowspec", form: Form::Flow, next_hops: &[0, 4, 12, 16], extended_next_hops: &[] },
    Row { family: Family::LinkState, afi: 16388, safi: 71, name: "bgp-ls", form: Form::LinkState, next_hops: &[4, 16, 32], extended_next_hops: &[] },
    Row { family: Family::Vpls, afi: 25, safi: 65, name: "vpls", form: Form::Vpls, next_hops: &[4, 16], extended_next_hops: &[] },
];

impl Family {
    /// Returns its row.
    pub fn row(self) -> &'static Row {
        &FAMILIES[self as usize]
    }

    /// Returns the family with these numbers, if it is known.
    pub fn of(afi: u16, safi: u8) -> Option<Family> {
        let row = FAMILIES.iter().find(|row| (row.afi, row.safi) == (afi, safi));
        row.map(|row| row.family)
    }

    /// Returns its numbers.
    pub fn numbers(self) -> (u16, u8) {
        (self.row().afi, self.row().safi)
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)
    }
}

impl FromStr for Family {
    type Err = UnknownFamily;

    fn from_str(name: &str) -> Result<Family, UnknownFamily> {
        let row = FAMILIES.iter().find(|row| row.name == name);
        row.map(|row| row.family).ok_or_else(|| UnknownFamily(name.to_owned()))
    }
}

/// A name that no family has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no family `{0}`: choose one of {names}", names = FAMILIES.map(|row| row.name).join(", "))]
pub struct UnknownFamily(pub String);

/// Some of the families.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct FamilySet(u16);

impl FamilySet {
    /// None of them.
    pub const NONE: FamilySet = FamilySet(0);

    /// Returns whether a family is among them.
    pub fn contains(self, family: Family) -> bool {
        self.0 & 1 << family as u8 != 0
    }

    /// Adds a family.
    pub fn insert(&mut self, family: Family) {
        self.0 |= 1 << family as u8;
    }

    /// Takes a family out.
    pub fn remove(&mut self, family: Family) {
        self.0 &= !(1 << family as u8);
    }

    /// Returns those that are in both.
    pub fn and(self, other: FamilySet) -> FamilySet {
        FamilySet(self.0 & other.0)
    }

    /// Returns whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns them, in the order of [`FAMILIES`].
    pub fn iter(self) -> impl Iterator<Item = Family> {
        FAMILIES.iter().map(|row| row.family).filter(move |family| self.contains(*family))
    }
}

impl FromIterator<Family> for FamilySet {
    fn from_iter<I: IntoIterator<Item = Family>>(families: I) -> FamilySet {
        let mut set = FamilySet::NONE;
        families.into_iter().for_each(|family| set.insert(family));
        set
    }
}

impl fmt::Debug for FamilySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_has_its_row() {
        for (at, row) in FAMILIES.iter().enumerate() {
            assert_eq!(row.family as usize, at, "{}", row.name);
            assert_eq!(row.family.row().name, row.name);
            assert_eq!(Family::of(row.afi, row.safi), Some(row.family), "the numbers are its own");
            assert_eq!(row.name.parse(), Ok(row.family));
            assert!(!row.next_hops.is_empty());
        }
        assert_eq!(Family::of(1, 2), None);
        let unknown = "ipv4".parse::<Family>().unwrap_err().to_string();
        assert!(unknown.contains("`ipv4`") && unknown.contains("ipv4-unicast, "), "{unknown}");
    }

    #[test]
    fn sets_hold_what_was_put_in() {
        let mut set: FamilySet = [Family::Vpls, Family::Ipv4Unicast].into_iter().collect();
        assert!(set.contains(Family::Vpls) && !set.contains(Family::VpnV4));
        assert!(set.iter().eq([Family::Ipv4Unicast, Family::Vpls]), "in the order of the table");
        set.remove(Family::Ipv4Unicast);
        assert_eq!(set.and([Family::Ipv4Unicast].into_iter().collect()), FamilySet::NONE);
        assert!(!set.is_empty() && FamilySet::NONE.is_empty());
    }
}
