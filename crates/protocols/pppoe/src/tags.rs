//! Tags of discovery (RFC 2516 appendix A, RFC 4638, TR-101 section 3.9.2).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |             Type              |            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Value ...
//! +-+-+-+-+-+-+-+
//! ```

use crate::packet::Malformed;

/// A tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag<'a> {
    /// What it is, of [`kind`].
    pub kind: u16,
    /// Its value.
    pub value: &'a [u8],
}

/// A list of tags of which each is known to be whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags<'a>(&'a [u8]);

impl<'a> Tags<'a> {
    /// Checks a list, which ends where its bytes do or with End-Of-List.
    ///
    /// # Errors
    /// [`Malformed::Tag`] if a tag is not whole.
    pub fn parse(bytes: &'a [u8]) -> Result<Tags<'a>, Malformed> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (tag, behind) = split(rest).ok_or(Malformed::Tag)?;
            if tag.kind == kind::END {
                return Ok(Tags(&bytes[..bytes.len() - rest.len()]));
            }
            rest = behind;
        }
        Ok(Tags(bytes))
    }

    /// The tags in their order.
    pub fn iter(self) -> impl Iterator<Item = Tag<'a>> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (tag, behind) = split(rest)?;
            rest = behind;
            Some(tag)
        })
    }

    /// The value of the first tag of a kind.
    pub fn get(self, kind: u16) -> Option<&'a [u8]> {
        self.iter().find(|tag| tag.kind == kind).map(|tag| tag.value)
    }

    /// What the node that the line ends at says of it (TR-101), and nothing of a line that it says
    /// nothing of.
    pub fn line(self) -> LineIds<'a> {
        let vendors = self.iter().filter(|tag| tag.kind == kind::VENDOR_SPECIFIC);
        let forum = vendors.filter_map(|tag| tag.value.strip_prefix(&ADSL_FORUM));
        let mut ids = LineIds::default();
        for mut rest in forum {
            while let Some(([number, len], behind)) = rest.split_first_chunk()
                && let Some((value, behind)) = behind.split_at_checked(usize::from(*len))
            {
                rest = behind;
                // Longer ones are none of TR-101's.
                let value = Some(value).filter(|value| value.len() <= LINE_ID_LEN_MAX);
                match number {
                    1 => ids.circuit = ids.circuit.or(value),
                    2 => ids.remote = ids.remote.or(value),
                    _ => {}
                }
            }
        }
        ids
    }
}

/// What an access node says of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineIds<'a> {
    /// Agent Circuit ID, at most 63 bytes.
    pub circuit: Option<&'a [u8]>,
    /// Agent Remote ID, at most 63 bytes.
    pub remote: Option<&'a [u8]>,
}

impl LineIds<'_> {
    /// Writes the tag that says so, behind others.
    pub fn put(&self, list: &mut Vec<u8>) {
        let mut value = ADSL_FORUM.to_vec();
        for (number, id) in [(1, self.circuit), (2, self.remote)] {
            if let Some(id) = id {
                value.extend([number, id.len() as u8]);
                value.extend(id);
            }
        }
        put(list, kind::VENDOR_SPECIFIC, &value);
    }
}

/// Writes a tag behind others.
///
/// # Panics
/// With a value that is longer than a Length field can tell.
pub fn put(list: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let len = u16::try_from(value.len()).expect("the value fits the Length field");
    list.extend(kind.to_be_bytes());
    list.extend(len.to_be_bytes());
    list.extend(value);
}

fn split(bytes: &[u8]) -> Option<(Tag<'_>, &[u8])> {
    let ([high, low, len @ ..], rest) = bytes.split_first_chunk::<4>()?;
    let (value, behind) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
    Some((Tag { kind: u16::from_be_bytes([*high, *low]), value }, behind))
}

/// Kinds of tags.
pub mod kind {
    /// End-Of-List: what follows is no tag.
    pub const END: u16 = 0x0000;
    /// Service-Name.
    pub const SERVICE_NAME: u16 = 0x0101;
    /// AC-Name.
    pub const AC_NAME: u16 = 0x0102;
    /// Host-Uniq: whom of the host an answer is for.
    pub const HOST_UNIQ: u16 = 0x0103;
    /// AC-Cookie.
    pub const AC_COOKIE: u16 = 0x0104;
    /// Vendor-Specific; of the ADSL Forum what TR-101 says of a line.
    pub const VENDOR_SPECIFIC: u16 = 0x0105;
    /// Relay-Session-Id.
    pub const RELAY_SESSION_ID: u16 = 0x0110;
    /// PPP-Max-Payload (RFC 4638).
    pub const PPP_MAX_PAYLOAD: u16 = 0x0120;
    /// Service-Name-Error.
    pub const SERVICE_NAME_ERROR: u16 = 0x0201;
    /// AC-System-Error.
    pub const AC_SYSTEM_ERROR: u16 = 0x0202;
    /// Generic-Error.
    pub const GENERIC_ERROR: u16 = 0x0203;
}

/// The ADSL Forum's number among vendors, 3561.
const ADSL_FORUM: [u8; 4] = [0, 0, 0x0d, 0xe9];

/// Most bytes of an identifier of a line (TR-101 section 3.9.3).
pub const LINE_ID_LEN_MAX: usize = 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_whole_or_not_at_all() {
        let mut list = Vec::new();
        put(&mut list, kind::SERVICE_NAME, b"");
        put(&mut list, kind::HOST_UNIQ, &[1, 2, 3]);
        let tags = Tags::parse(&list).expect("two tags");
        assert_eq!(tags.iter().count(), 2);
        assert_eq!(
            (tags.get(kind::HOST_UNIQ), tags.get(kind::AC_NAME)),
            (Some(&[1, 2, 3][..]), None)
        );
        for cut in [1, 3, 5, 7, 10] {
            assert_eq!(Tags::parse(&list[..cut]), Err(Malformed::Tag), "{cut} bytes");
        }
        let mut longer = list.clone();
        put(&mut longer, kind::END, &[]);
        longer.extend([0xff; 3]);
        assert_eq!(Tags::parse(&longer), Ok(tags), "nothing is read behind the end");
    }

    #[test]
    fn what_an_access_node_says_of_a_line_is_read() {
        // As TR-101 section 3.9.2 draws it, with an access line characteristic behind.
        let value =
            [&[0, 0, 0x0d, 0xe9, 1, 9][..], b"atm 1/1:7", &[2, 3], b"bob", &[0x81, 4, 0, 0, 4, 0]]
                .concat();
        let mut list = Vec::new();
        put(&mut list, kind::VENDOR_SPECIFIC, &[0, 0, 0, 9, 1, 1, 7]);
        put(&mut list, kind::VENDOR_SPECIFIC, &value);
        let line = Tags::parse(&list).expect("tags").line();
        let expected = LineIds { circuit: Some(b"atm 1/1:7"), remote: Some(b"bob") };
        assert_eq!(line, expected);
        let mut written = Vec::new();
        line.put(&mut written);
        assert_eq!(Tags::parse(&written).expect("tags").line(), expected);
        // Damaged or too long ones are none.
        let mut long = Vec::new();
        put(&mut long, kind::VENDOR_SPECIFIC, &[&[0, 0, 0x0d, 0xe9, 1, 64][..], &[7; 64]].concat());
        put(&mut long, kind::VENDOR_SPECIFIC, &[0, 0, 0x0d, 0xe9, 2, 9, 7]);
        assert_eq!(Tags::parse(&long).expect("tags").line(), LineIds::default());
    }
}
