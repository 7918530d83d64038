//! What an operator says of the controller.

use function_kit::Invalid;
use protocol_kit::Endpoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// BFD for FRR.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Where bfdd listens, as its `--dplaneaddr` says: an address and port, or the path of a Unix
    /// socket.
    pub at: String,
    /// After bfdd is connected anew, the sessions that it wanted before and does not want again go
    /// this long after the last one that it wanted again, in seconds.
    #[schemars(range(min = 1, max = 86_400))]
    pub settle_s: u32,
    /// Without a connection, all sessions go after this time, in seconds.
    #[schemars(range(min = 1, max = 86_400))]
    pub keep_s: u32,
}

impl Default for Config {
    fn default() -> Config {
        Config { at: "127.0.0.1:50700".to_owned(), settle_s: 60, keep_s: 300 }
    }
}

impl Config {
    /// Where bfdd listens.
    ///
    /// # Errors
    /// When the key is neither an address nor a path.
    pub fn endpoint(&self) -> Result<Endpoint, Invalid> {
        controller_kit::keys::endpoint(&self.at, ["127.0.0.1:50700", "/run/frr/bfdd.dplane"])
    }
}
