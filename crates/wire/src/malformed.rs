//! What can be wrong with a header.
//!
//! One enum for all formats, without data, so that a caller on the packet path can turn it into a
//! drop reason by a table. It names the first thing found wrong, not everything that is.

use std::fmt;

/// Reason why bytes are not a valid header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Malformed {
    /// The bytes end before the header, or before the length that the header states.
    Truncated,
    /// The version field is not that of this format.
    BadVersion,
    /// The header length field is below the minimum.
    BadHeaderLength,
    /// The length field does not cover the header itself.
    BadTotalLength,
    /// The checksum does not match the content, or is missing where it must be present.
    BadChecksum,
    /// The Ethernet type is below 0x0600: an 802.3 length or an undefined value.
    BadEtherType,
    /// The ARP packet has other addresses than IPv4 over Ethernet.
    BadAddressFormat,
    /// The protocol type bit is that of GTP′.
    BadProtocolType,
    /// A flag that must be set is not.
    BadFlags,
    /// An option has a length that is too short, or extends beyond the options.
    BadOption,
    /// An extension header has length zero, or extends beyond the packet.
    BadExtensionHeader,
    /// There are more extension headers than the limit of the format.
    TooManyExtensionHeaders,
    /// An information element is missing, too short, or extends beyond the message.
    BadElement,
}

impl Malformed {
    /// All values, in the order of declaration.
    pub const ALL: [Self; 13] = [
        Self::Truncated,
        Self::BadVersion,
        Self::BadHeaderLength,
        Self::BadTotalLength,
        Self::BadChecksum,
        Self::BadEtherType,
        Self::BadAddressFormat,
        Self::BadProtocolType,
        Self::BadFlags,
        Self::BadOption,
        Self::BadExtensionHeader,
        Self::TooManyExtensionHeaders,
        Self::BadElement,
    ];

    /// Returns the name in kebab case, as in counters and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::BadVersion => "bad-version",
            Self::BadHeaderLength => "bad-header-length",
            Self::BadTotalLength => "bad-total-length",
            Self::BadChecksum => "bad-checksum",
            Self::BadEtherType => "bad-ether-type",
            Self::BadAddressFormat => "bad-address-format",
            Self::BadProtocolType => "bad-protocol-type",
            Self::BadFlags => "bad-flags",
            Self::BadOption => "bad-option",
            Self::BadExtensionHeader => "bad-extension-header",
            Self::TooManyExtensionHeaders => "too-many-extension-headers",
            Self::BadElement => "bad-element",
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::error::Error for Malformed {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_distinct_and_kebab_case() {
        let names: HashSet<_> = Malformed::ALL.iter().map(|reason| reason.name()).collect();
        assert_eq!(names.len(), Malformed::ALL.len());
        assert!(names.iter().all(|n| n.bytes().all(|b| b == b'-' || b.is_ascii_lowercase())));
    }
}
