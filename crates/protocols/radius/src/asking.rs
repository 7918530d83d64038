//! What servers ask of sessions (RFC 5176): by what they name them, and why one may be refused.

use std::net::IpAddr;

use crate::attributes::{ipv4, ipv6, kind, number};

/// By what a request names the access server that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// NAS-IP-Address or NAS-IPv6-Address.
    Address(IpAddr),
    /// NAS-Identifier.
    Name(Vec<u8>),
}

/// What is wanted of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// That it ends.
    Disconnect,
    /// That it has what the attributes say.
    Change,
}

/// A key of a session (RFC 5176 section 3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionKey {
    /// User-Name.
    UserName(Vec<u8>),
    /// NAS-Port.
    Port(u32),
    /// NAS-Port-Id.
    PortId(Vec<u8>),
    /// Framed-IP-Address or Framed-IPv6-Address.
    Address(IpAddr),
    /// Framed-Interface-Id.
    InterfaceId([u8; 8]),
    /// Framed-IPv6-Prefix, as the attribute has it.
    Prefix(Vec<u8>),
    /// Delegated-IPv6-Prefix, as the attribute has it.
    DelegatedPrefix(Vec<u8>),
    /// Called-Station-Id.
    Called(Vec<u8>),
    /// Calling-Station-Id.
    Calling(Vec<u8>),
    /// Acct-Session-Id.
    Session(Vec<u8>),
    /// Acct-Multi-Session-Id.
    MultiSession(Vec<u8>),
    /// Chargeable-User-Identity (RFC 4372).
    Chargeable(Vec<u8>),
}

/// Why a request is refused (RFC 5176 section 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are those of the standard")]
pub enum ErrorCause {
    UnsupportedAttribute = 401,
    MissingAttribute = 402,
    NasIdentificationMismatch = 403,
    InvalidRequest = 404,
    UnsupportedService = 405,
    UnsupportedExtension = 406,
    InvalidAttributeValue = 407,
    AdministrativelyProhibited = 501,
    SessionContextNotFound = 503,
    SessionContextNotRemovable = 504,
    ResourcesUnavailable = 506,
    MultipleSessionSelectionUnsupported = 508,
}

/// The key that an attribute is; none if it is another attribute.
///
/// # Errors
/// When its value has the wrong length.
pub(crate) fn session_key(kind: u8, value: &[u8]) -> Result<Option<SessionKey>, ErrorCause> {
    let bytes = || value.to_vec();
    let wrong = ErrorCause::InvalidAttributeValue;
    Ok(Some(match kind {
        kind::USER_NAME => SessionKey::UserName(bytes()),
        kind::NAS_PORT => SessionKey::Port(number(value).ok_or(wrong)?),
        kind::NAS_PORT_ID => SessionKey::PortId(bytes()),
        kind::FRAMED_IP_ADDRESS => SessionKey::Address(ipv4(value).ok_or(wrong)?.into()),
        kind::FRAMED_IPV6_ADDRESS => SessionKey::Address(ipv6(value).ok_or(wrong)?.into()),
        kind::FRAMED_INTERFACE_ID => SessionKey::InterfaceId(value.try_into().map_err(|_| wrong)?),
        kind::FRAMED_IPV6_PREFIX => SessionKey::Prefix(bytes()),
        kind::DELEGATED_IPV6_PREFIX => SessionKey::DelegatedPrefix(bytes()),
        kind::CALLED_STATION_ID => SessionKey::Called(bytes()),
        kind::CALLING_STATION_ID => SessionKey::Calling(bytes()),
        kind::ACCT_SESSION_ID => SessionKey::Session(bytes()),
        kind::ACCT_MULTI_SESSION_ID => SessionKey::MultiSession(bytes()),
        kind::CHARGEABLE_USER_IDENTITY => SessionKey::Chargeable(bytes()),
        _ => return Ok(None),
    }))
}
