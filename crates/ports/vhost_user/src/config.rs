//! Keys of the port.

use std::path::PathBuf;

use keys::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Configuration of a vhost-user port, without its `type`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// Path of the Unix socket that connects both sides.
    pub path: PathBuf,
    /// Role of this port.
    #[serde(default)]
    pub role: Role,
    /// Whether this side creates the socket and listens, or connects. By default a backend listens
    /// and a frontend connects.
    #[serde(default)]
    pub server: Option<bool>,
    /// Number of queue pairs, at least one per worker; by default one per worker.
    #[serde(default)]
    #[schemars(range(min = 1, max = QUEUES_MAX))]
    pub queues: Option<u16>,
    /// Number of descriptors in each ring of a frontend; a backend uses the driver's.
    #[serde(default = "ring_size")]
    #[schemars(extend("enum" = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096]))]
    pub ring_size: u16,
    /// Size of each receive buffer of a frontend in bytes, including the header; by default large
    /// enough for the longest frame. Longer frames span several buffers if the device supports it.
    // At least a header and the start of a frame.
    #[serde(default)]
    #[schemars(range(min = 64, max = 65_536))]
    pub buffer_bytes: Option<u32>,
    /// Whether either side may leave checksums and the cutting of long segments to the other, as
    /// far as both can.
    #[serde(default = "yes")]
    pub offloads: bool,
}

/// Role in the vhost-user protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The device: serves a virtual machine, or a program that acts as one.
    #[default]
    Backend,
    /// The driver: acts like a virtual machine towards a device in another process.
    Frontend,
}

impl Config {
    /// Returns a listening backend with defaults for all other keys.
    pub fn backend(path: impl Into<PathBuf>) -> Config {
        Config {
            path: path.into(),
            role: Role::Backend,
            server: None,
            queues: None,
            ring_size: ring_size(),
            buffer_bytes: None,
            offloads: true,
        }
    }

    /// Returns a connecting frontend with defaults for all other keys.
    pub fn frontend(path: impl Into<PathBuf>) -> Config {
        Config { role: Role::Frontend, ..Config::backend(path) }
    }

    /// Returns true if this side listens on the socket.
    pub fn listens(&self) -> bool {
        self.server.unwrap_or(self.role == Role::Backend)
    }

    /// Checks all values.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn validate(&self) -> Result<(), Invalid> {
        keys::check("", self)?;
        let len = self.path.as_os_str().len();
        if !(1..=PATH_BYTES_MAX).contains(&len) {
            let what = format!(
                "{len} bytes; a socket path must have 1 to {PATH_BYTES_MAX}: use a shorter folder"
            );
            return Err(Invalid::new("path", what, ""));
        }
        Ok(())
    }
}

/// Largest length of a socket path in bytes: the kernel's `sockaddr_un` has 108, one of them for
/// the terminator.
const PATH_BYTES_MAX: usize = 107;

/// Largest number of queue pairs: a message identifies a ring by eight bits.
pub const QUEUES_MAX: u16 = 128;

fn yes() -> bool {
    true
}

const fn ring_size() -> u16 {
    256
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_enough() {
        let config: Config = serde_json::from_str(r#"{"path": "/run/vm.sock"}"#).expect("a path");
        assert_eq!(config, Config::backend("/run/vm.sock"));
        assert!(config.validate().is_ok() && config.listens());
        assert!(!Config::frontend("x").listens());
    }

    #[test]
    fn what_cannot_be_used_names_its_key() {
        let good = Config::backend("/run/vm.sock");
        let long = "x".repeat(PATH_BYTES_MAX + 1);
        for (key, bad) in [
            ("path", Config { path: long.into(), ..good.clone() }),
            ("path", Config { path: PathBuf::new(), ..good.clone() }),
            ("queues", Config { queues: Some(0), ..good.clone() }),
            ("queues", Config { queues: Some(129), ..good.clone() }),
            ("ring-size", Config { ring_size: 100, ..good.clone() }),
            ("ring-size", Config { ring_size: 8192, ..good.clone() }),
            ("buffer-bytes", Config { buffer_bytes: Some(12), ..good.clone() }),
        ] {
            assert_eq!(bad.validate().expect_err("refused").key, key, "{bad:?}");
        }
    }
}
