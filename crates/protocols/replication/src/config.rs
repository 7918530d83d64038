//! The key `replication`: whether another instance of the function knows all state, to take over.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use protocol_kit::{Secret, Tls};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A second NAT of the same configuration that is told of every session over TCP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Replication {
    /// What this one is.
    pub role: Role,
    /// Address at which the standby listens; of `pair` that of this one. Without `tls` the link is
    /// not encrypted, and without `key` and `tls` it is not authenticated either: then use a
    /// network of these two devices alone.
    pub address: IpAddr,
    /// Of `pair`, the address at which the other one listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<IpAddr>,
    /// At which TCP port; the second worker at the next one, and so on.
    #[schemars(range(min = 1))]
    pub port: u16,
    /// Most changes per second that a worker's sessions are told with; 0 for as many as there are.
    pub changes_per_s: u32,
    /// Of `pair`, how long one that becomes active waits for the other one to hand over, in
    /// milliseconds: meanwhile packets open no session.
    #[schemars(range(max = 10_000))]
    pub hand_over_ms: u32,
    /// A secret of 16 to 128 characters that both sides have: whoever does not know it is not
    /// heard. It is shown nowhere and stands in no record.
    #[serde(skip_serializing)]
    pub key: Option<Key>,
    /// Encrypts the link by TLS, where each side shows a certificate; of `active`, `standby` and
    /// `pair`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<Files>,
}

/// The files of TLS, in PEM. They are read for each connection, so that renewed ones need no
/// restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Files {
    /// File of this side's certificate, and of those between it and its authority.
    pub certificate: String,
    /// File of the private key of that certificate.
    pub key: String,
    /// File of the authorities that the other side's certificate may come from: whoever has one of
    /// theirs, and the name where one is given, is heard.
    pub ca: String,
    /// The DNS name or address that the other side's certificate must have; any without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Files {
    /// Returns what a stream is encrypted by.
    pub fn tls(&self) -> Tls {
        Tls {
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            authorities: self.ca.clone(),
            name: self.name.clone(),
        }
    }
}

/// What a NAT is in replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Alone.
    None,
    /// The one that packets go through: it tells.
    Active,
    /// The one that takes over: it listens.
    Standby,
    /// One of two that are configured alike: the one that packets go through tells, the other one
    /// listens, and the update `set-active` says which is which. It listens at first.
    Pair,
    /// Active, with a standby beside it to see what it costs: on another thread of the same
    /// process, or in another process where a scenario has the device `process`.
    Rehearsal,
}

impl Replication {
    /// Returns the address of the other one, where this one knows it.
    pub fn other(&self) -> Option<IpAddr> {
        match self.role {
            Role::None | Role::Standby => None,
            Role::Active | Role::Rehearsal => Some(self.address),
            Role::Pair => self.peer,
        }
    }
}

impl Default for Replication {
    fn default() -> Replication {
        Replication {
            role: Role::None,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            peer: None,
            port: 7400,
            changes_per_s: 0,
            hand_over_ms: 50,
            key: None,
            tls: None,
        }
    }
}

/// A shared secret as an operator writes it; it is shown nowhere.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("minLength" = KEY_LEN_MIN, "maxLength" = KEY_LEN_MAX))]
pub struct Key(String);

impl Key {
    /// Returns the secret.
    pub fn secret(&self) -> Secret {
        Secret(self.0.as_bytes().to_vec())
    }
}

impl TryFrom<String> for Key {
    type Error = &'static str;

    /// Takes over a text of 16 to 128 characters.
    fn try_from(text: String) -> Result<Key, &'static str> {
        let is_right = (KEY_LEN_MIN..=KEY_LEN_MAX).contains(&text.chars().count());
        if is_right { Ok(Key(text)) } else { Err("a key has 16 to 128 characters") }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// Fewest characters of a key.
const KEY_LEN_MIN: usize = 16;

/// Most characters of a key.
const KEY_LEN_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_nowhere() {
        let text = "a secret of both sides";
        let key = Key::try_from(text.to_owned()).expect("it is long enough");
        assert_eq!(key.secret().0, text.as_bytes());
        let settings = Replication { key: Some(key), ..Replication::default() };
        assert!(!format!("{settings:?}").contains("secret"));
        assert!(Key::try_from("too short".to_owned()).is_err());
        assert!(Key::try_from("x".repeat(129)).is_err());
    }
}
