//! The ROUTE-REFRESH message (RFC 2918, RFC 7313).
//!
//! ```text
//!  | AFI u16 | what u8 | SAFI u8 |
//! ```

use crate::families::Family;
use crate::message::{Kind, begin, end};

/// What a ROUTE-REFRESH says of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Refresh {
    /// All routes are wanted again.
    Wanted = 0,
    /// They begin (BoRR).
    Begins = 1,
    /// They were all told (EoRR).
    Ends = 2,
}

impl Refresh {
    /// Reads the body of a message: of which family it is, and what it says; `None` if its length
    /// is another one. The family is `None` if it is not known, and so is what is said.
    pub fn read(body: &[u8]) -> Option<(Option<Family>, Option<Refresh>)> {
        let [high, low, what, safi] = *body.first_chunk().filter(|_| body.len() == 4)?;
        let what = [Refresh::Wanted, Refresh::Begins, Refresh::Ends].get(usize::from(what));
        Some((Family::of(u16::from_be_bytes([high, low]), safi), what.copied()))
    }

    /// Appends the whole message.
    pub fn write(self, family: Family, out: &mut Vec<u8>) {
        let (afi, safi) = family.numbers();
        let start = begin(Kind::RouteRefresh, out);
        out.extend(afi.to_be_bytes());
        out.extend([self as u8, safi]);
        end(start, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::HEADER_LEN;

    #[test]
    fn what_is_written_is_read() {
        for what in [Refresh::Wanted, Refresh::Begins, Refresh::Ends] {
            let mut out = Vec::new();
            what.write(Family::L2vpnEvpn, &mut out);
            let read = Refresh::read(&out[HEADER_LEN..]);
            assert_eq!(read, Some((Some(Family::L2vpnEvpn), Some(what))));
        }
        assert_eq!(Refresh::read(&[0, 1, 3, 2]), Some((None, None)));
        assert_eq!(Refresh::read(&[0, 1, 0]), None);
        assert_eq!(Refresh::read(&[0, 1, 0, 1, 0]), None);
    }
}
