//! Attributes (RFC 2865 section 5): checked views of those that came, and a list of those that are
//! to be sent.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Type      |    Length     |  Value, 0 to 253 bytes ...
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!   of a vendor (type 26): | Vendor-Id (4) | Vendor type | Vendor length | value ...
//! ```
//! Lengths of the header count it, too. A vendor may have types of 1, 2 or 4 bytes and lengths of
//! 0, 1 or 2 (`Format`). A value longer than an attribute goes on in the next one of its type
//! (RFC 3579 section 3.1, RFC 4849).

use std::net::{Ipv4Addr, Ipv6Addr};

/// Which attribute: of the standard's or of a vendor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The vendor by its private enterprise number; 0 for the standard's attributes.
    pub vendor: u32,
    /// The type.
    pub kind: u32,
}

/// How a vendor's attributes are written: bytes of their type and of their length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bytes of a type: 1, 2 or 4.
    pub kind_len: u8,
    /// Bytes of a length: 0, 1 or 2. Without length the value is the rest of the attribute.
    pub len_len: u8,
}

/// An attribute that came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its type.
    pub kind: u8,
    /// Its value, 0 to 253 bytes.
    pub value: &'a [u8],
}

/// Attributes one behind the other, whose lengths are right.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Attributes<'a>(&'a [u8]);

/// The value of a Vendor-Specific attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct VendorSpecific<'a> {
    /// The vendor by its private enterprise number.
    pub vendor: u32,
    /// What the vendor has written, at least one byte.
    pub data: &'a [u8],
}

/// Attributes that are kept: those of an answer, or those to be sent.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct List(Vec<u8>);

/// Why an attribute cannot be put into a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// An empty value (RFC 2865 section 5).
    #[error("an attribute has at least one byte")]
    Empty,
    /// A value that does not fit an attribute.
    #[error("an attribute has at most 253 bytes, and those of vendors fewer")]
    Long,
    /// All of them do not fit a packet.
    #[error("the attributes of a packet have at most {LIST_LEN_MAX} bytes")]
    Full,
    /// What is written for each packet: passwords, Message-Authenticator, Acct-Delay-Time.
    #[error("this attribute is written with the packet")]
    Written,
    /// A type that cannot be written.
    #[error("this vendor has no such types")]
    Kind,
}

impl Key {
    /// An attribute of the standard's.
    pub const fn standard(kind: u8) -> Key {
        Key { vendor: 0, kind: kind as u32 }
    }
}

impl Format {
    /// The format that RFC 2865 section 5.26 recommends.
    pub const USUAL: Format = Format { kind_len: 1, len_len: 1 };
}

impl<'a> Attributes<'a> {
    /// No attributes.
    pub const NONE: Attributes<'static> = Attributes(&[]);

    /// Checks the lengths of all.
    pub fn parse(bytes: &'a [u8]) -> Option<Attributes<'a>> {
        let mut rest = bytes;
        while let Some((_, behind)) = split(rest) {
            rest = behind;
        }
        rest.is_empty().then_some(Attributes(bytes))
    }

    /// Returns their bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Iterates over them.
    pub fn iter(self) -> impl Iterator<Item = Attribute<'a>> + Clone {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (attribute, behind) = split(rest)?;
            rest = behind;
            Some(attribute)
        })
    }

    /// Iterates over those of a type.
    pub fn all(self, kind: u8) -> impl Iterator<Item = &'a [u8]> + Clone {
        self.iter().filter(move |one| one.kind == kind).map(|one| one.value)
    }

    /// Returns the first one of a type.
    pub fn first(self, kind: u8) -> Option<&'a [u8]> {
        self.all(kind).next()
    }

    /// Returns the number in the first one of a type; `None` without one of 4 bytes.
    pub fn number(self, kind: u8) -> Option<u32> {
        self.first(kind).and_then(number)
    }

    /// Joins the values of a type whose attributes go on in the next one.
    pub fn joined(self, kind: u8) -> Vec<u8> {
        self.all(kind).collect::<Vec<_>>().concat()
    }

    /// Returns the rules of NAS-Filter-Rule (RFC 4849 section 2): one may go on in the next
    /// attribute, and a zero byte stands between two.
    pub fn filter_rules(self) -> Vec<Vec<u8>> {
        let joined = self.joined(kind::NAS_FILTER_RULE);
        let rules = joined.split(|byte| *byte == 0).filter(|rule| !rule.is_empty());
        rules.map(<[u8]>::to_vec).collect()
    }

    /// Returns all with those of vendors taken apart, where they fit the format that a
    /// vendor has. One that does not fit is left out.
    pub fn apart(self, format: impl Fn(u32) -> Format) -> Vec<(Key, &'a [u8])> {
        let mut all = Vec::new();
        for one in self.iter() {
            match one.vendor() {
                None => all.push((Key::standard(one.kind), one.value)),
                Some(specific) => {
                    let parts = specific.parts(format(specific.vendor)).unwrap_or_default();
                    let key = |kind| Key { vendor: specific.vendor, kind };
                    all.extend(parts.into_iter().map(|(kind, value)| (key(kind), value)));
                }
            }
        }
        all
    }
}

impl<'a> Attribute<'a> {
    /// Returns what a vendor has written; `None` of another attribute, and of one that is too short
    /// to name a vendor.
    pub fn vendor(self) -> Option<VendorSpecific<'a>> {
        let (vendor, data) = self.value.split_first_chunk()?;
        let vendor = u32::from_be_bytes(*vendor);
        let is_one = self.kind == kind::VENDOR_SPECIFIC && vendor != 0 && !data.is_empty();
        is_one.then_some(VendorSpecific { vendor, data })
    }
}

impl<'a> VendorSpecific<'a> {
    /// Takes it apart into the vendor's types and values; `None` if they do not fill it.
    pub fn parts(self, format: Format) -> Option<Vec<(u32, &'a [u8])>> {
        let (kind_len, len_len) = (usize::from(format.kind_len), usize::from(format.len_len));
        let mut parts = Vec::new();
        let mut rest = self.data;
        while !rest.is_empty() {
            let (kind, behind) = rest.split_at_checked(kind_len)?;
            let (len, _) = behind.split_at_checked(len_len)?;
            let whole = if len_len == 0 { rest.len() } else { big_endian(len) as usize };
            let (one, behind) = rest.split_at_checked(whole)?;
            parts.push((big_endian(kind), one.get(kind_len + len_len..)?));
            rest = behind;
        }
        Some(parts)
    }
}

impl List {
    /// No attributes.
    pub fn new() -> List {
        List::default()
    }

    /// Returns them for reading.
    pub fn attributes(&self) -> Attributes<'_> {
        Attributes(&self.0)
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts an attribute of the standard's behind the others.
    ///
    /// # Errors
    /// When it cannot be written, or is not the list's to write.
    pub fn put(&mut self, kind: u8, value: &[u8]) -> Result<(), Refused> {
        if WRITTEN.contains(&kind) {
            return Err(Refused::Written);
        }
        self.put_any(kind, &[value])
    }

    /// Puts a number.
    ///
    /// # Errors
    /// As [`List::put`].
    pub fn put_number(&mut self, kind: u8, number: u32) -> Result<(), Refused> {
        self.put(kind, &number.to_be_bytes())
    }

    /// Puts a value of any length, which goes on in further attributes.
    ///
    /// # Errors
    /// As [`List::put`]; then nothing of it is there.
    pub fn put_long(&mut self, kind: u8, value: &[u8]) -> Result<(), Refused> {
        if value.is_empty() {
            return Err(Refused::Empty);
        }
        let before = self.0.len();
        for part in value.chunks(VALUE_LEN_MAX) {
            if let Err(why) = self.put(kind, part) {
                self.0.truncate(before);
                return Err(why);
            }
        }
        Ok(())
    }

    /// Puts an attribute of any key, those of vendors by their format.
    ///
    /// # Errors
    /// When it cannot be written, or is not the list's to write.
    pub fn put_key(&mut self, key: Key, format: Format, value: &[u8]) -> Result<(), Refused> {
        let Key { vendor, kind } = key;
        if vendor == 0 {
            return self.put(u8::try_from(kind).map_err(|_| Refused::Kind)?, value);
        }
        let Format { kind_len, len_len } = format;
        if value.is_empty() {
            return Err(Refused::Empty);
        }
        let len = usize::from(kind_len) + usize::from(len_len) + value.len();
        let fits = |len: usize, bytes: u8| bytes >= 4 || len >> (8 * bytes) == 0;
        if !fits(kind as usize, kind_len) {
            return Err(Refused::Kind);
        }
        if len_len > 0 && !fits(len, len_len) {
            return Err(Refused::Long);
        }
        let end = |number: u32, bytes: u8| number.to_be_bytes()[4 - usize::from(bytes)..].to_vec();
        let head = [&vendor.to_be_bytes()[..], &end(kind, kind_len), &end(len as u32, len_len)];
        self.put_any(kind::VENDOR_SPECIFIC, &[&head.concat(), value])
    }

    /// Puts attributes of others behind, as they are: what a server's answer has for accounting
    /// (Class), or what proxies want back (Proxy-State).
    ///
    /// # Errors
    /// When there is no room for all.
    pub fn extend(
        &mut self,
        others: Attributes<'_>,
        wanted: impl Fn(u8) -> bool,
    ) -> Result<(), Refused> {
        let before = self.0.len();
        for one in others.iter().filter(|one| wanted(one.kind) && !WRITTEN.contains(&one.kind)) {
            if self.0.len() + HEADER_LEN + one.value.len() > LIST_LEN_MAX {
                self.0.truncate(before);
                return Err(Refused::Full);
            }
            self.0.extend([one.kind, (HEADER_LEN + one.value.len()) as u8]);
            self.0.extend(one.value);
        }
        Ok(())
    }

    /// Puts an attribute whose value is these pieces.
    fn put_any(&mut self, kind: u8, value: &[&[u8]]) -> Result<(), Refused> {
        let len: usize = value.iter().map(|piece| piece.len()).sum();
        if kind == 0 {
            return Err(Refused::Kind);
        }
        if len == 0 {
            return Err(Refused::Empty);
        }
        if len > VALUE_LEN_MAX {
            return Err(Refused::Long);
        }
        if self.0.len() + HEADER_LEN + len > LIST_LEN_MAX {
            return Err(Refused::Full);
        }
        self.0.extend([kind, (HEADER_LEN + len) as u8]);
        value.iter().for_each(|piece| self.0.extend(*piece));
        Ok(())
    }
}

impl From<Attributes<'_>> for List {
    /// Keeps attributes that came, as they came.
    fn from(attributes: Attributes<'_>) -> List {
        List(attributes.0.to_vec())
    }
}

// Values may be secrets: types and lengths are all that is shown of any attribute.

impl std::fmt::Debug for List {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.attributes().fmt(f)
    }
}

impl std::fmt::Debug for Attributes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl std::fmt::Debug for Attribute<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} bytes", self.kind, self.value.len())
    }
}

impl std::fmt::Debug for VendorSpecific<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "vendor {}, {} bytes", self.vendor, self.data.len())
    }
}

/// The number in a value of 4 bytes.
pub fn number(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_be_bytes)
}

/// The address in a value of 4 bytes.
pub fn ipv4(value: &[u8]) -> Option<Ipv4Addr> {
    number(value).map(Ipv4Addr::from)
}

/// The address in a value of 16 bytes (RFC 3162 section 2.1).
pub fn ipv6(value: &[u8]) -> Option<Ipv6Addr> {
    <[u8; 16]>::try_from(value).ok().map(Ipv6Addr::from)
}

/// The prefix and its length in bits in a value of 2 to 18 bytes (RFC 3162 section 2.3). Bits
/// behind the prefix, which have to be zero, are taken for zero.
pub fn ipv6_prefix(value: &[u8]) -> Option<(Ipv6Addr, u8)> {
    let ([_, len], prefix) = value.split_first_chunk()?;
    let (len, count) = (*len, prefix.len());
    if len > 128 || count > 16 || count * 8 < usize::from(len) {
        return None;
    }
    let mut octets = [0; 16];
    octets[..count].copy_from_slice(prefix);
    let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
    Some((Ipv6Addr::from(u128::from_be_bytes(octets) & mask), len))
}

/// A prefix as a value of RFC 3162 section 2.3, with as few bytes as it needs.
pub fn ipv6_prefix_value(prefix: Ipv6Addr, len: u8) -> Vec<u8> {
    let count = usize::from(len.min(128)).div_ceil(8);
    let mask = u128::MAX.checked_shl(128 - u32::from(len.min(128))).unwrap_or(0);
    let octets = (u128::from(prefix) & mask).to_be_bytes();
    [&[0, len.min(128)][..], &octets[..count]].concat()
}

/// The tag and the rest of a value that may have one (RFC 2868 section 3.1): a first byte of 1 to
/// 31.
pub fn tagged(value: &[u8]) -> (Option<u8>, &[u8]) {
    match value {
        [tag @ 1..=0x1f, rest @ ..] => (Some(*tag), rest),
        _ => (None, value),
    }
}

fn split(bytes: &[u8]) -> Option<(Attribute<'_>, &[u8])> {
    let (&[kind, len], _) = bytes.split_first_chunk()?;
    let (whole, rest) = bytes.split_at_checked(usize::from(len))?;
    Some((Attribute { kind, value: whole.get(HEADER_LEN..)? }, rest))
}

fn big_endian(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Types of attributes that the machines know; the names of all are in the dictionary.
#[expect(missing_docs, reason = "they are those of the standards")]
pub mod kind {
    pub const USER_NAME: u8 = 1;
    pub const USER_PASSWORD: u8 = 2;
    pub const CHAP_PASSWORD: u8 = 3;
    pub const NAS_IP_ADDRESS: u8 = 4;
    pub const NAS_PORT: u8 = 5;
    pub const SERVICE_TYPE: u8 = 6;
    pub const FRAMED_IP_ADDRESS: u8 = 8;
    pub const STATE: u8 = 24;
    pub const CLASS: u8 = 25;
    pub const VENDOR_SPECIFIC: u8 = 26;
    pub const CALLED_STATION_ID: u8 = 30;
    pub const CALLING_STATION_ID: u8 = 31;
    pub const NAS_IDENTIFIER: u8 = 32;
    pub const PROXY_STATE: u8 = 33;
    pub const ACCT_STATUS_TYPE: u8 = 40;
    pub const ACCT_DELAY_TIME: u8 = 41;
    pub const ACCT_SESSION_ID: u8 = 44;
    pub const ACCT_SESSION_TIME: u8 = 46;
    pub const ACCT_TERMINATE_CAUSE: u8 = 49;
    pub const ACCT_MULTI_SESSION_ID: u8 = 50;
    pub const EVENT_TIMESTAMP: u8 = 55;
    pub const CHAP_CHALLENGE: u8 = 60;
    pub const TUNNEL_PASSWORD: u8 = 69;
    pub const EAP_MESSAGE: u8 = 79;
    pub const MESSAGE_AUTHENTICATOR: u8 = 80;
    pub const NAS_PORT_ID: u8 = 87;
    pub const CHARGEABLE_USER_IDENTITY: u8 = 89;
    pub const NAS_FILTER_RULE: u8 = 92;
    pub const NAS_IPV6_ADDRESS: u8 = 95;
    pub const FRAMED_INTERFACE_ID: u8 = 96;
    pub const FRAMED_IPV6_PREFIX: u8 = 97;
    pub const ERROR_CAUSE: u8 = 101;
    pub const DELEGATED_IPV6_PREFIX: u8 = 123;
    pub const FRAMED_IPV6_ADDRESS: u8 = 168;
}

/// Most bytes of a value.
pub const VALUE_LEN_MAX: usize = 253;

/// Most bytes of attributes that are kept for a packet: behind its header there is room for what is
/// written with it, 18 bytes of Message-Authenticator, 19 and 255 of CHAP.
pub const LIST_LEN_MAX: usize = 4096 - 20 - 18 - 19 - 255;

/// Types that are written with a packet: they depend on its identifier, its authenticator, its
/// secret or its time.
const WRITTEN: [u8; 4] =
    [kind::USER_PASSWORD, kind::CHAP_PASSWORD, kind::ACCT_DELAY_TIME, kind::MESSAGE_AUTHENTICATOR];

const HEADER_LEN: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_each_form_are_read() {
        assert_eq!(number(&[0, 0, 1, 0]), Some(256));
        assert_eq!((number(&[0, 0, 1]), number(&[0; 5])), (None, None));
        assert_eq!(ipv4(&[192, 0, 2, 1]), Some(Ipv4Addr::new(192, 0, 2, 1)));
        assert_eq!(ipv6(&[0; 16]), Some(Ipv6Addr::UNSPECIFIED));
        assert_eq!(ipv6(&[0; 15]), None);
        let prefix: Ipv6Addr = "2001:db8:1200::".parse().expect("an address");
        let value = [0, 40, 0x20, 1, 0x0d, 0xb8, 0x12];
        assert_eq!(ipv6_prefix(&value), Some((prefix, 40)));
        assert_eq!(ipv6_prefix_value(prefix, 40), value);
        assert_eq!(ipv6_prefix(&[0, 36, 0x20, 1, 0x0d, 0xb8, 0x1f]).map(|it| it.1), Some(36));
        assert_eq!(ipv6_prefix(&[0, 0]), Some((Ipv6Addr::UNSPECIFIED, 0)));
        assert_eq!(ipv6_prefix_value(prefix, 0), [0, 0]);
        assert_eq!(ipv6_prefix(&[0, 129, 1]), None, "too long");
        assert_eq!(ipv6_prefix(&[0, 64, 1]), None, "bytes are missing");
        assert_eq!(ipv6_prefix(&[0; 19]), None, "bytes too many");
        assert_eq!(tagged(&[3, b'a']), (Some(3), &b"a"[..]));
        assert_eq!(tagged(b"a"), (None, &b"a"[..]));
    }

    #[test]
    fn attributes_whose_lengths_are_wrong_are_none() {
        assert!(Attributes::parse(&[]).is_some());
        assert!(Attributes::parse(&[1, 3, b'a', 1, 2]).is_some(), "an empty one that came");
        for wrong in [&[1][..], &[1, 0], &[1, 1], &[1, 3], &[1, 3, b'a', 7]] {
            assert_eq!(Attributes::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn attributes_of_vendors_of_each_format_are_written_and_read() {
        for (kind_len, len_len, kind) in [(1, 1, 200), (2, 1, 300), (2, 2, 65_535), (4, 0, 1 << 20)]
        {
            let format = Format { kind_len, len_len };
            let key = Key { vendor: 9, kind };
            let mut list = List::new();
            list.put_key(key, format, b"value").expect("it fits");
            let apart = list.attributes().apart(|_| format);
            assert_eq!(apart, [(key, &b"value"[..])]);
            let one = list.attributes().iter().next().and_then(Attribute::vendor);
            let specific = one.expect("a vendor's");
            assert_eq!(specific.vendor, 9);
            if len_len > 0 {
                let cut = &specific.data[..specific.data.len() - 1];
                assert_eq!(VendorSpecific { data: cut, ..specific }.parts(format), None);
            }
        }
        let two = VendorSpecific { vendor: 9, data: &[1, 3, b'a', 2, 4, b'b', b'c'] };
        let parts = two.parts(Format::USUAL);
        assert_eq!(parts, Some(vec![(1, &b"a"[..]), (2, &b"bc"[..])]));
        for wrong in [&[1][..], &[1, 1], &[1, 0, 0], &[1, 9, 1]] {
            assert_eq!(VendorSpecific { vendor: 9, data: wrong }.parts(Format::USUAL), None);
        }
    }

    #[test]
    fn a_list_takes_what_a_packet_can_have() {
        let mut list = List::new();
        assert_eq!(list.put(1, b""), Err(Refused::Empty));
        assert_eq!(list.put(1, &[0; 254]), Err(Refused::Long));
        assert_eq!(list.put(0, b"a"), Err(Refused::Kind));
        for kind in WRITTEN {
            assert_eq!(list.put(kind, b"a"), Err(Refused::Written));
        }
        let format = Format::USUAL;
        assert_eq!(list.put_key(Key { vendor: 9, kind: 256 }, format, b"a"), Err(Refused::Kind));
        assert_eq!(list.put_key(Key { vendor: 9, kind: 1 }, format, &[0; 248]), Err(Refused::Long));
        assert_eq!(list.put_key(Key { vendor: 0, kind: 256 }, format, b"a"), Err(Refused::Kind));
        assert!(list.is_empty());
        assert_eq!(list.put_long(1, &[7; LIST_LEN_MAX]), Err(Refused::Full));
        assert!(list.is_empty(), "all of it or nothing");
        list.put_long(kind::EAP_MESSAGE, &[7; 300]).expect("it fits");
        assert_eq!(list.attributes().iter().count(), 2);
        assert_eq!(list.attributes().joined(kind::EAP_MESSAGE), [7; 300]);
        while list.put(1, b"name").is_ok() {}
        assert!(list.attributes().bytes().len() > LIST_LEN_MAX - 6);
        assert!(Attributes::parse(list.attributes().bytes()).is_some());
        assert_eq!(List::new().extend(list.attributes(), |_| true), Ok(()));
        assert_eq!(list.clone().extend(list.attributes(), |_| true), Err(Refused::Full));
    }

    #[test]
    fn filter_rules_stand_in_as_many_attributes_as_they_need() {
        let mut list = List::new();
        let long = [b'x'; 300];
        list.put_long(kind::NAS_FILTER_RULE, &[&b"one\0"[..], &long].concat()).expect("it fits");
        assert_eq!(list.attributes().filter_rules(), [b"one".to_vec(), long.to_vec()]);
    }
}
