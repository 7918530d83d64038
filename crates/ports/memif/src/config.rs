//! The keys of a memif port.

use std::path::PathBuf;

use engine::KeyError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::RING_SIZE_LOG2_MAX;

/// The keys of a memif port beside `type`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// Path of the control socket; with `@` in front, a name in the abstract name space.
    pub socket: String,
    /// Who listens on the socket and is handed the memory.
    pub role: Role,
    /// Number of the interface on that socket.
    #[serde(default)]
    pub id: u32,
    /// What both sides must know, at most 23 bytes; none asks for nothing.
    #[serde(default)]
    pub secret: Option<String>,
    /// Descriptors of each ring, a power of two; the slave's wish.
    #[serde(default = "default_ring_size")]
    pub ring_size: u32,
    /// Bytes of each of the slave's buffers; longer frames take several.
    #[serde(default = "default_buffer_bytes")]
    pub buffer_bytes: u32,
    /// Whether a master takes memory that the slave could cut off under its hands, as DPDK's zero-copy
    /// mode hands over: then a slave that does so ends this program.
    #[serde(default)]
    pub accept_unsealed: bool,
}

/// A side of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Listens, and uses the slave's memory; also called server.
    #[serde(alias = "server")]
    Master,
    /// Connects, and owns the memory; also called client.
    #[serde(alias = "client")]
    Slave,
}

/// Where the control socket is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A file.
    File(PathBuf),
    /// A name that is no file.
    Abstract(String),
}

impl Config {
    /// Checks what the types cannot tell.
    ///
    /// # Errors
    /// The first key that cannot be used.
    pub fn validate(&self) -> Result<(), KeyError> {
        let wrong = |key: &str, what: String| Err(KeyError { key: key.to_owned(), what });
        let name = self.socket.strip_prefix('@').unwrap_or(&self.socket);
        if name.is_empty() || name.len() > SOCKET_LEN_MAX || name.contains('\0') {
            return wrong("socket", format!("a socket's name has 1 to {SOCKET_LEN_MAX} bytes"));
        }
        let sizes = 1 << RING_SIZE_LOG2_MIN..=1 << RING_SIZE_LOG2_MAX;
        if !self.ring_size.is_power_of_two() || !sizes.contains(&self.ring_size) {
            let (low, high) = (sizes.start(), sizes.end());
            return wrong("ring-size", format!("a power of two from {low} to {high} is needed"));
        }
        if !BUFFER_BYTES.contains(&self.buffer_bytes) {
            let (low, high) = (BUFFER_BYTES.start(), BUFFER_BYTES.end());
            return wrong("buffer-bytes", format!("{low} to {high} bytes are possible"));
        }
        let secret = self.secret.as_deref().unwrap_or("none");
        if secret.is_empty() || secret.len() > SECRET_LEN_MAX || secret.contains('\0') {
            return wrong("secret", format!("a secret has 1 to {SECRET_LEN_MAX} bytes"));
        }
        Ok(())
    }

    /// The size of rings as a power of two.
    pub fn ring_size_log2(&self) -> u8 {
        self.ring_size.trailing_zeros().min(u32::from(RING_SIZE_LOG2_MAX)) as u8
    }

    /// Where the control socket is.
    pub fn address(&self) -> Address {
        match self.socket.strip_prefix('@') {
            Some(name) => Address::Abstract(name.to_owned()),
            None => Address::File(PathBuf::from(&self.socket)),
        }
    }
}

fn default_ring_size() -> u32 {
    1024
}

fn default_buffer_bytes() -> u32 {
    2048
}

/// `sun_path` without the zero at its end.
const SOCKET_LEN_MAX: usize = 107;

/// The field of INIT without the zero at its end.
const SECRET_LEN_MAX: usize = 23;

const RING_SIZE_LOG2_MIN: u8 = 5;

const BUFFER_BYTES: std::ops::RangeInclusive<u32> = 64..=65_536;

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config {
            socket: "/run/memif.sock".to_owned(),
            role: Role::Master,
            id: 0,
            secret: None,
            ring_size: 1024,
            buffer_bytes: 2048,
            accept_unsealed: false,
        }
    }

    #[test]
    fn addresses_are_files_or_names() {
        assert_eq!(config().address(), Address::File("/run/memif.sock".into()));
        let named = Config { socket: "@left".to_owned(), ..config() };
        assert_eq!(named.address(), Address::Abstract("left".to_owned()));
        assert_eq!(config().ring_size_log2(), 10);
    }

    #[test]
    fn what_cannot_be_is_told_by_its_key() {
        assert_eq!(config().validate(), Ok(()));
        let secret = |text: &str| Config { secret: Some(text.to_owned()), ..config() };
        for (key, wrong) in [
            ("socket", Config { socket: String::new(), ..config() }),
            ("socket", Config { socket: "@".to_owned(), ..config() }),
            ("socket", Config { socket: "x".repeat(108), ..config() }),
            ("ring-size", Config { ring_size: 1000, ..config() }),
            ("ring-size", Config { ring_size: 16, ..config() }),
            ("ring-size", Config { ring_size: 1 << 15, ..config() }),
            ("buffer-bytes", Config { buffer_bytes: 63, ..config() }),
            ("buffer-bytes", Config { buffer_bytes: 65_537, ..config() }),
            ("secret", secret("")),
            ("secret", secret("a secret of 24 bytes now")),
        ] {
            assert_eq!(wrong.validate().expect_err("it is wrong").key, key);
        }
    }
}
