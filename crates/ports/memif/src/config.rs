//! The keys of a memif port.

use std::path::PathBuf;

use keys::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::RING_SIZE_LOG2_MAX;

/// Configuration of a memif port, without its `type`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// Path of the control socket; with a leading `@`, a name in the abstract namespace.
    pub socket: String,
    /// Role of this port: the master listens on the socket, the slave connects and owns the memory.
    pub role: Role,
    /// Interface number on the socket.
    #[serde(default)]
    pub id: u32,
    /// Shared secret of both sides, at most 23 bytes; by default none is required.
    #[serde(default)]
    pub secret: Option<String>,
    /// Number of descriptors of each ring; the slave decides.
    #[serde(default = "default_ring_size")]
    #[schemars(extend("enum" = [32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]))]
    pub ring_size: u32,
    /// Size of each of the slave's buffers in bytes; longer frames take several.
    #[serde(default = "default_buffer_bytes")]
    #[schemars(range(min = 64, max = 65_536))]
    pub buffer_bytes: u32,
    /// Whether a master accepts memory that the slave could truncate, as in DPDK's zero-copy mode.
    /// A slave that truncates it crashes this program.
    #[serde(default)]
    pub accept_unsealed: bool,
}

/// Role of a memif port.
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

/// Address of the control socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A path in the file system.
    File(PathBuf),
    /// A name in the abstract namespace.
    Abstract(String),
}

impl Config {
    /// Checks values that the types of the keys do not constrain.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn validate(&self) -> Result<(), Invalid> {
        let wrong = |key: &str, what: String| Err(Invalid::new(key, what, ""));
        let name = self.socket.strip_prefix('@').unwrap_or(&self.socket);
        if name.is_empty() || name.len() > SOCKET_LEN_MAX || name.contains('\0') {
            return wrong("socket", format!("a socket name must have 1 to {SOCKET_LEN_MAX} bytes"));
        }
        let secret = self.secret.as_deref().unwrap_or("none");
        if secret.is_empty() || secret.len() > SECRET_LEN_MAX || secret.contains('\0') {
            return wrong("secret", format!("a secret must have 1 to {SECRET_LEN_MAX} bytes"));
        }
        Ok(())
    }

    /// Returns the binary logarithm of the ring size.
    pub fn ring_size_log2(&self) -> u8 {
        self.ring_size.trailing_zeros().min(u32::from(RING_SIZE_LOG2_MAX)) as u8
    }

    /// Returns the address of the control socket.
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

/// Largest length of a socket path in bytes: `sun_path` without its terminating zero.
const SOCKET_LEN_MAX: usize = 107;

/// Largest length of the secret in bytes: the field of the INIT message without its terminating
/// zero.
const SECRET_LEN_MAX: usize = 23;

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
            let read = keys::check("", &wrong).and_then(|()| wrong.validate());
            assert_eq!(read.expect_err("it is wrong").key, key);
        }
    }
}
