//! The keys of the port.

use std::fmt;

use keys::Invalid;
use schemars::JsonSchema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Configuration of an AF_XDP port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Config {
    /// Name of the interface.
    pub interface: String,
    /// Hook in which the XDP program runs.
    #[serde(default)]
    pub mode: Mode,
    /// Whether the driver writes frames directly into the port's memory (zero copy).
    #[serde(default)]
    pub zero_copy: ZeroCopy,
    /// The interface's queue for the first worker; further workers use the queues after it.
    // The limit is far above what interfaces have; it bounds the map from queues to sockets.
    #[serde(default)]
    #[schemars(range(max = 4095))]
    pub first_queue: u32,
    /// Number of frames in each ring.
    #[serde(default = "ring_frames")]
    #[schemars(extend("enum" = [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768]))]
    pub ring_frames: u32,
    /// Memory for each frame in bytes, of which the kernel reserves 256. By default it is sized for
    /// the function's longest frame.
    #[serde(default)]
    #[schemars(extend("enum" = [2048, 4096, null]))]
    pub chunk_bytes: Option<u32>,
}

/// Hook in which the XDP program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// In the driver if possible, otherwise in the generic hook.
    #[default]
    Auto,
    /// In the driver, before the kernel allocates a packet buffer.
    Driver,
    /// In the generic hook, for all drivers: slower.
    Generic,
}

/// Whether the driver writes frames directly into the port's memory (zero copy).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ZeroCopy {
    /// If the driver supports it.
    #[default]
    Auto,
    /// Required.
    Yes,
    /// Forbidden.
    No,
}

impl Config {
    /// Returns the configuration of an interface with all defaults.
    pub fn of(interface: impl Into<String>) -> Config {
        Config {
            interface: interface.into(),
            mode: Mode::default(),
            zero_copy: ZeroCopy::default(),
            first_queue: 0,
            ring_frames: ring_frames(),
            chunk_bytes: None,
        }
    }

    /// Checks values that the types of the keys do not constrain.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        let wrong = |key: &str, what: &str| Err(Invalid::new(key, what, ""));
        let len = self.interface.len();
        if len == 0 || len > NAME_LEN_MAX {
            return wrong("interface", "an interface name must have 1 to 15 bytes");
        }
        if self.interface.contains(['/', '\0']) || self.interface.contains(char::is_whitespace) {
            return wrong("interface", "an interface name must not contain a slash or a space");
        }
        if self.mode == Mode::Generic && self.zero_copy == ZeroCopy::Yes {
            return wrong(
                "zero-copy",
                "zero copy is not possible in generic mode: remove one of \
                                       the keys",
            );
        }
        Ok(())
    }
}

// YAML's `yes` and `no` are words to one reader and booleans to another; both are meant the same.
impl<'de> Deserialize<'de> for ZeroCopy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ZeroCopy, D::Error> {
        struct Words;
        impl Visitor<'_> for Words {
            type Value = ZeroCopy;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("auto, yes or no")
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<ZeroCopy, E> {
                Ok(if value { ZeroCopy::Yes } else { ZeroCopy::No })
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<ZeroCopy, E> {
                match value {
                    "auto" => Ok(ZeroCopy::Auto),
                    "yes" => Ok(ZeroCopy::Yes),
                    "no" => Ok(ZeroCopy::No),
                    _ => Err(E::unknown_variant(value, &["auto", "yes", "no"])),
                }
            }
        }
        deserializer.deserialize_any(Words)
    }
}

/// Largest length of an interface name: `IFNAMSIZ` without its terminating zero.
const NAME_LEN_MAX: usize = 15;

/// Permitted sizes of the memory for a frame in bytes, smallest first.
pub(crate) const CHUNK_BYTES: [u32; 2] = [2048, 4096];

fn ring_frames() -> u32 {
    2048
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_cannot_be_used_are_named() {
        let wrong = |change: fn(&mut Config)| {
            let mut config = Config::of("eth0");
            change(&mut config);
            let read = keys::check("", &config).and_then(|()| config.check());
            read.expect_err("it is wrong").key
        };
        assert_eq!(Config::of("eth0").check(), Ok(()));
        assert_eq!(wrong(|config| config.interface.clear()), "interface");
        assert_eq!(wrong(|config| config.interface = "sixteen-letters-".into()), "interface");
        assert_eq!(wrong(|config| config.interface = "a/b".into()), "interface");
        assert_eq!(wrong(|config| config.ring_frames = 100), "ring-frames");
        assert_eq!(wrong(|config| config.ring_frames = 1 << 20), "ring-frames");
        assert_eq!(wrong(|config| config.chunk_bytes = Some(9000)), "chunk-bytes");
        assert_eq!(wrong(|config| config.first_queue = 4096), "first-queue");
        let both = |config: &mut Config| {
            config.mode = Mode::Generic;
            config.zero_copy = ZeroCopy::Yes;
        };
        assert_eq!(wrong(both), "zero-copy");
    }
}
