//! Which routes are for customers only, and which are leaks (RFC 9234 section 5): of IPv4 and IPv6,
//! by the attribute ONLY_TO_CUSTOMER and the own part in the relation with another AS.

use protocol_bgp::attributes::{OTC, rewrite};
use protocol_bgp::capabilities::Role;
use protocol_bgp::families::Family;

/// The relation with another AS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The own part.
    pub own: Role,
    /// The other AS.
    pub asn: u32,
}

/// What becomes of a route that was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It is taken as it is.
    Plain,
    /// It is taken, and marked as for customers only with this AS.
    Marked(u32),
    /// It should not have come here, and is not taken.
    Leak,
}

impl Relation {
    /// What becomes of a route that the other AS has told, with or without the attribute.
    pub fn hears(self, otc: Option<u32>) -> Heard {
        match (self.own, otc) {
            (Role::Provider | Role::RouteServer, Some(_)) => Heard::Leak,
            (Role::Peer, Some(asn)) if asn != self.asn => Heard::Leak,
            (Role::Customer | Role::Peer | Role::RouteServerClient, None) => {
                Heard::Marked(self.asn)
            }
            _ => Heard::Plain,
        }
    }
}

/// Whether an AS, towards which this is the own part, is told of a route with or without the
/// attribute.
pub fn tells(own: Role, otc: Option<u32>) -> bool {
    let is_upwards = matches!(own, Role::Customer | Role::Peer | Role::RouteServerClient);
    otc.is_none() || !is_upwards
}

/// Whether a route is marked as it is told to an AS, towards which this is the own part.
pub fn marks(own: Role, otc: Option<u32>) -> bool {
    otc.is_none() && matches!(own, Role::Provider | Role::Peer | Role::RouteServer)
}

/// Whether routes of a family may be marked.
pub fn knows(family: Family) -> bool {
    matches!(family, Family::Ipv4Unicast | Family::Ipv6Unicast)
}

/// Makes an attribute block that is marked with an AS.
pub fn mark(block: &[u8], asn: u32, out: &mut Vec<u8>) {
    out.clear();
    rewrite(block, &[(OTC, Some(&asn.to_be_bytes()))], out);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// - `route-reflector`, RFC 9234 section 5: each rule for what comes in and goes out
    #[test]
    fn rules_are_those_of_the_standard() {
        let all = [
            (Role::Provider, [Heard::Plain, Heard::Leak, Heard::Leak], [true, true]),
            (Role::RouteServer, [Heard::Plain, Heard::Leak, Heard::Leak], [true, true]),
            (Role::Customer, [Heard::Marked(7), Heard::Plain, Heard::Plain], [false, false]),
            (Role::RouteServerClient, [Heard::Marked(7), Heard::Plain, Heard::Plain], [false; 2]),
            (Role::Peer, [Heard::Marked(7), Heard::Plain, Heard::Leak], [true, false]),
        ];
        for (own, heard, [marked, told]) in all {
            let relation = Relation { own, asn: 7 };
            assert_eq!([None, Some(7), Some(8)].map(|otc| relation.hears(otc)), heard, "{own:?}");
            assert_eq!((marks(own, None), tells(own, Some(7))), (marked, told), "{own:?}");
            assert!(tells(own, None) && !marks(own, Some(7)), "{own:?}");
        }
    }
}
