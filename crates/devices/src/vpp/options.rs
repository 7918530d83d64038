//! The keys of the `device` section that are this device's own.

use std::path::{Path, PathBuf};

use keys::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::driver::{SECTION, device_key};

/// Keys of `device: {name: vpp}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// The program `vpp`; by default the one in the search path.
    pub program: Option<PathBuf>,
    /// The program `vppctl`; by default the one beside `program`, else that in the search path.
    pub vppctl: Option<PathBuf>,
    /// The folder of VPP's plugins; by default the program's own.
    pub plugin_folder: Option<PathBuf>,
    /// Number of descriptors of each ring of the memif ports.
    #[schemars(extend("enum" = [256, 512, 1024, 2048, 4096, 8192, 16384]))]
    pub ring_size: u32,
    /// Number of VPP's packet buffers.
    #[schemars(range(min = 4096, max = 1_048_576))]
    pub buffers: u32,
    /// Whether VPP's memory is in huge pages, which must be reserved before; else its heap and its
    /// buffers are in pages of 4 KiB.
    pub huge_pages: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            program: None,
            vppctl: None,
            plugin_folder: None,
            ring_size: 1024,
            buffers: 16_384,
            huge_pages: false,
        }
    }
}

impl Options {
    /// Reads and checks the device's keys.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn read(options: &Map<String, Value>) -> Result<Options, Invalid> {
        let read: Options = keys::read(SECTION, options.clone())?;
        let paths = [
            ("program", &read.program),
            ("vppctl", &read.vppctl),
            ("plugin-folder", &read.plugin_folder),
        ];
        for (key, path) in paths {
            // VPP splits its configuration at white space, whatever the quotes.
            let is_split = |path: &PathBuf| {
                path.to_str()
                    .is_none_or(|text| text.is_empty() || text.contains(char::is_whitespace))
            };
            if path.as_ref().is_some_and(is_split) {
                let what = "must be a path without white space".to_owned();
                return Err(device_key(key, what, "VPP reads no other; use a symbolic link"));
            }
        }
        Ok(read)
    }

    /// Returns the program `vpp`, as a path or a name of the search path.
    pub fn vpp(&self) -> PathBuf {
        self.program.clone().unwrap_or_else(|| PathBuf::from("vpp"))
    }

    /// Returns the program `vppctl`, as a path or a name of the search path.
    pub fn control(&self) -> PathBuf {
        let beside = || self.program.as_deref().map(|program| program.with_file_name("vppctl"));
        let beside = || beside().filter(|path| path.is_file());
        self.vppctl.clone().or_else(beside).unwrap_or_else(|| PathBuf::from("vppctl"))
    }
}

/// Returns true if a program is there, as a path or in the search path.
pub(super) fn is_there(program: &Path) -> bool {
    match program.components().count() {
        1 => program.to_str().is_some_and(netns::is_installed),
        _ => program.is_file(),
    }
}
