//! Keys of the port.

use std::path::PathBuf;

use engine::KeyError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys beside `type: vhost-user`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The Unix socket at which both sides meet.
    pub path: PathBuf,
    /// Which side this port is.
    #[serde(default)]
    pub role: Role,
    /// Whether this side makes the socket and listens at it, or connects. Unless it is said, a
    /// backend listens and a frontend connects.
    #[serde(default)]
    pub server: Option<bool>,
    /// Pairs of queues for the guest, at least as many as workers; as many as workers unless it is
    /// said.
    #[serde(default)]
    pub queues: Option<u16>,
    /// Descriptors in each ring of a frontend, a power of two; a backend takes what the driver has.
    #[serde(default = "ring_size")]
    pub ring_size: u16,
    /// Bytes of each buffer into which a frontend receives, header included; enough for the longest
    /// frame unless it is said. Frames are spread over several where the device can do that.
    #[serde(default)]
    pub buffer_bytes: Option<u32>,
}

/// The sides of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The device: serves a virtual machine, or another program that acts as one.
    #[default]
    Backend,
    /// The driver: acts as a virtual machine would, towards a device in another process.
    Frontend,
}

impl Config {
    /// A backend that listens, with defaults for the rest.
    pub fn backend(path: impl Into<PathBuf>) -> Config {
        Config {
            path: path.into(),
            role: Role::Backend,
            server: None,
            queues: None,
            ring_size: ring_size(),
            buffer_bytes: None,
        }
    }

    /// A frontend that connects, with defaults for the rest.
    pub fn frontend(path: impl Into<PathBuf>) -> Config {
        Config { role: Role::Frontend, ..Config::backend(path) }
    }

    /// Whether this side listens.
    pub fn listens(&self) -> bool {
        self.server.unwrap_or(self.role == Role::Backend)
    }

    /// Checks what the types cannot tell.
    ///
    /// # Errors
    /// The first key that cannot be used.
    pub fn validate(&self) -> Result<(), KeyError> {
        let wrong = |key: &str, what: String| Err(KeyError { key: key.to_owned(), what });
        let len = self.path.as_os_str().len();
        if !(1..=PATH_BYTES_MAX).contains(&len) {
            let what = format!(
                "{len} bytes; a socket's path has 1 to {PATH_BYTES_MAX}: use a shorter folder"
            );
            return wrong("path", what);
        }
        if let Some(queues) = self.queues
            && !(1..=QUEUES_MAX).contains(&queues)
        {
            return wrong("queues", format!("{queues} is not within 1 to {QUEUES_MAX}"));
        }
        if !self.ring_size.is_power_of_two() || !RING_SIZES.contains(&self.ring_size) {
            let (least, most) = (RING_SIZES.start(), RING_SIZES.end());
            let what = format!("{} is no power of two from {least} to {most}", self.ring_size);
            return wrong("ring-size", what);
        }
        if let Some(bytes) = self.buffer_bytes
            && !BUFFER_BYTES.contains(&bytes)
        {
            let (least, most) = (BUFFER_BYTES.start(), BUFFER_BYTES.end());
            return wrong("buffer-bytes", format!("{bytes} is not within {least} to {most}"));
        }
        Ok(())
    }
}

/// The kernel's `sockaddr_un` has 108 bytes, one of them for the end.
const PATH_BYTES_MAX: usize = 107;

/// A message tells a ring by eight bits.
pub const QUEUES_MAX: u16 = 128;

const RING_SIZES: std::ops::RangeInclusive<u16> = 16..=4096;

/// A receive buffer of a driver with mergeable buffers holds at least a header and what fits a frame's.
const BUFFER_BYTES: std::ops::RangeInclusive<u32> = 64..=65_536;

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
