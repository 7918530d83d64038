//! What servers ask of sessions (RFC 5176): by what they name them, and why one may be refused.

use std::net::{IpAddr, Ipv4Addr};

use crate::attributes::{Attributes, ipv4, ipv6, ipv6_prefix, ipv6_prefix_value, kind, number};

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
    /// Framed-IPv6-Prefix, as [`ipv6_prefix_value`] writes it, however it came.
    Prefix(Vec<u8>),
    /// Delegated-IPv6-Prefix, in the same form.
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

/// Why a request is refused (RFC 5176 section 3.5).
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

/// Returns by what a request names a session, if this access server, which has these names, can do
/// what it wants.
///
/// # Errors
/// Why not: an attribute that is not formed as its type is, is an invalid request; one that is, but
/// whose value nobody can have, an invalid value (RFC 5176 section 3.5).
pub(crate) fn session_keys(
    attributes: Attributes<'_>,
    identities: &[Identity],
) -> Result<Vec<SessionKey>, ErrorCause> {
    // An own name says nothing about addresses, and the other way round.
    let is_other = |named: &Identity| {
        let kind = std::mem::discriminant(named);
        let has_kind = identities.iter().any(|own| std::mem::discriminant(own) == kind);
        has_kind && !identities.contains(named)
    };
    let (mut keys, mut is_for_other, mut is_authorize_only) = (Vec::new(), false, false);
    for one in attributes.iter() {
        is_for_other |= identity(one.kind, one.value)?.as_ref().is_some_and(is_other);
        match one.kind {
            kind::SERVICE_TYPE => is_authorize_only |= whole(one.value)? == AUTHORIZE_ONLY,
            // It was compared with the time of day where it is one.
            kind::EVENT_TIMESTAMP => {
                whole(one.value)?;
            }
            _ => keys.extend(session_key(one.kind, one.value)?),
        }
    }
    if is_for_other {
        Err(ErrorCause::NasIdentificationMismatch)
    } else if is_authorize_only {
        Err(ErrorCause::UnsupportedService)
    } else if keys.is_empty() {
        Err(ErrorCause::MissingAttribute)
    } else {
        Ok(keys)
    }
}

/// The access server that an attribute names; none if it is another attribute.
fn identity(kind: u8, value: &[u8]) -> Result<Option<Identity>, ErrorCause> {
    Ok(Some(match kind {
        kind::NAS_IP_ADDRESS => Identity::Address(address(value)?),
        kind::NAS_IPV6_ADDRESS => Identity::Address(ipv6_address(value)?),
        kind::NAS_IDENTIFIER => Identity::Name(text(value)?),
        _ => return Ok(None),
    }))
}

/// The key that an attribute is; none if it is another attribute.
fn session_key(kind: u8, value: &[u8]) -> Result<Option<SessionKey>, ErrorCause> {
    Ok(Some(match kind {
        kind::USER_NAME => SessionKey::UserName(text(value)?),
        kind::NAS_PORT => SessionKey::Port(whole(value)?),
        kind::NAS_PORT_ID => SessionKey::PortId(text(value)?),
        kind::FRAMED_IP_ADDRESS => SessionKey::Address(address(value)?),
        kind::FRAMED_IPV6_ADDRESS => SessionKey::Address(ipv6_address(value)?),
        kind::FRAMED_INTERFACE_ID => {
            SessionKey::InterfaceId(value.try_into().map_err(|_| ErrorCause::InvalidRequest)?)
        }
        kind::FRAMED_IPV6_PREFIX => SessionKey::Prefix(prefix(value)?),
        kind::DELEGATED_IPV6_PREFIX => SessionKey::DelegatedPrefix(prefix(value)?),
        kind::CALLED_STATION_ID => SessionKey::Called(text(value)?),
        kind::CALLING_STATION_ID => SessionKey::Calling(text(value)?),
        kind::ACCT_SESSION_ID => SessionKey::Session(text(value)?),
        kind::ACCT_MULTI_SESSION_ID => SessionKey::MultiSession(text(value)?),
        kind::CHARGEABLE_USER_IDENTITY => SessionKey::Chargeable(value.to_vec()),
        _ => return Ok(None),
    }))
}

fn whole(value: &[u8]) -> Result<u32, ErrorCause> {
    number(value).ok_or(ErrorCause::InvalidRequest)
}

/// Texts have at least one byte (RFC 2865 section 5).
fn text(value: &[u8]) -> Result<Vec<u8>, ErrorCause> {
    if value.is_empty() { Err(ErrorCause::InvalidRequest) } else { Ok(value.to_vec()) }
}

/// The same prefix may come with more bytes than it needs.
fn prefix(value: &[u8]) -> Result<Vec<u8>, ErrorCause> {
    let (prefix, len) = ipv6_prefix(value).ok_or(ErrorCause::InvalidRequest)?;
    Ok(ipv6_prefix_value(prefix, len))
}

/// The address of an access server or of a session.
fn address(value: &[u8]) -> Result<IpAddr, ErrorCause> {
    let address = ipv4(value).ok_or(ErrorCause::InvalidRequest)?;
    // The two highest ones ask for a choice (RFC 2865 section 5.8).
    let is_choice = address >= Ipv4Addr::new(255, 255, 255, 254);
    if is_choice || address.is_unspecified() || address.is_multicast() {
        return Err(ErrorCause::InvalidAttributeValue);
    }
    Ok(address.into())
}

fn ipv6_address(value: &[u8]) -> Result<IpAddr, ErrorCause> {
    let address = ipv6(value).ok_or(ErrorCause::InvalidRequest)?;
    if address.is_unspecified() || address.is_multicast() {
        return Err(ErrorCause::InvalidAttributeValue);
    }
    Ok(address.into())
}

/// Service-Type of a request that wants an Access-Request of the access server (RFC 5176 section
/// 3.2), which this one does not send.
pub(crate) const AUTHORIZE_ONLY: u32 = 17;
