//! What operators tell the reflector to do at once: the commands and their keys.

use controller_kit::{Command, NoKeys};
use protocol_bgp::notification::TEXT_LEN_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::config::{FamilyName, PeerKeys};

/// The commands.
pub(crate) const COMMANDS: &[Command] = &[
    Command::of::<NoKeys>("dump-tables", "dumps the tables to a file of MRT now"),
    Command::of::<Ended>("reset-peer", "ends the session with a peer, which begins anew"),
    Command::of::<Refreshed>(
        "refresh-peer",
        "asks a peer for its routes again (in), tells it all of them again (out), or both",
    ),
    Command::of::<Ended>("shut-peer", "ends the session with a peer until `enable-peer`"),
    Command::of::<Named>("enable-peer", "lets a peer up again that was shut"),
    Command::of::<PeerKeys>("add-peer", "adds a peer, by the keys of an entry of `peers`"),
    Command::of::<Named>("remove-peer", "ends the session with a peer that is named, for good"),
    Command::of::<Drained>(
        "drain",
        "tells a peer, or all, that routes are about to go, and prefers those of a peer least",
    ),
    Command::of::<Drained>("undrain", "ends `drain` of a peer, or of all"),
];

/// A peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Named {
    /// Its address.
    pub peer: String,
}

/// A peer, or all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Drained {
    /// The address of a peer; none for all, those that come later, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
}

/// A peer whose session ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Ended {
    /// Its address.
    pub peer: String,
    /// What its operator reads (RFC 9003), of at most 255 bytes.
    #[serde(default, deserialize_with = "text")]
    pub text: String,
}

/// A peer that is told all again, or tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Refreshed {
    /// Its address.
    pub peer: String,
    /// Which routes.
    #[serde(default)]
    pub direction: Direction,
    /// Of which family; none for all that were agreed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<FamilyName>,
}

/// Whose routes are told again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Direction {
    /// Those that the peer tells.
    In,
    /// Those that it is told.
    Out,
    /// Both.
    #[default]
    Both,
}

/// Reads a text that may look like something else: `text=4`.
fn text<'a, D: Deserializer<'a>>(from: D) -> Result<String, D::Error> {
    let text = match Value::deserialize(from)? {
        Value::String(text) => text,
        other => other.to_string(),
    };
    match text.len() {
        0..=TEXT_LEN_MAX => Ok(text),
        len => Err(serde::de::Error::custom(format!("has {len} bytes, and 255 have room"))),
    }
}
