//! What an operator says of dumps.

use controller_kit::keys::invalid;
use function_kit::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Files of MRT (RFC 6396) with what peers have told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MrtKeys {
    /// The folder of the files, from the root; it is made if it is absent. No other program keeps
    /// files with names like these in it.
    pub folder: String,
    /// How often the tables are dumped, in seconds, at multiples of that since 1970; 0 for whenever
    /// `plumbline set dump-tables` says so alone.
    #[serde(default = "tables_every_s")]
    #[schemars(range(max = 604_800))]
    pub tables_every_s: u32,
    /// Whether the UPDATEs of peers, and when sessions come and go, are dumped, too.
    #[serde(default)]
    pub updates: bool,
    /// How often a new file of UPDATEs begins, in seconds, at multiples of that since 1970.
    #[serde(default = "rotate_every_s")]
    #[schemars(range(min = 1, max = 604_800))]
    pub rotate_every_s: u32,
    /// Bytes from which on a new file of UPDATEs begins before that.
    #[serde(default = "file_bytes_max")]
    #[schemars(range(min = 1_048_576, max = 1_099_511_627_776_u64))]
    pub file_bytes_max: u64,
    /// Most files of tables that are kept, and most of UPDATEs; the oldest ones are removed.
    #[serde(default = "files_max")]
    #[schemars(range(min = 1, max = 100_000))]
    pub files_max: u32,
}

impl MrtKeys {
    /// Checks what the schema does not say.
    ///
    /// # Errors
    /// The key that cannot be used.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        if self.folder.starts_with('/') {
            return Ok(());
        }
        let what = format!("is `{}`, which does not begin at the root", self.folder);
        Err(invalid("folder", what, "Write it as `/var/lib/plumbline/mrt`"))
    }
}

fn tables_every_s() -> u32 {
    7200
}

fn rotate_every_s() -> u32 {
    900
}

fn file_bytes_max() -> u64 {
    256 << 20
}

fn files_max() -> u32 {
    96
}
