//! What an operator says of the controller.

pub use controller_routing::Table;
use controller_routing::tables;
use function_kit::Invalid;
use protocol_kit::Endpoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// FRR as the routing suite of a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Where zebra connects to: an address and port, or the path of a Unix socket.
    pub at: String,
    /// The tables of the kernel that are VRFs of the router, where they are not the usual ones:
    /// 254, the main one, for VRF 0, and 1000 and its number for each other VRF. Routes of other
    /// tables are passed over.
    #[schemars(length(max = 255))]
    pub tables: Vec<Table>,
    /// Most routes that zebra may tell.
    #[schemars(range(min = 1, max = 6_000_000))]
    pub routes_max: u32,
    /// After zebra has connected anew, what it had told before and does not tell again goes this
    /// long after the last thing that it told again, in seconds.
    #[schemars(range(min = 1, max = 86_400))]
    pub settle_s: u32,
    /// Without a connection, everything that zebra has told goes after this time, in seconds.
    #[schemars(range(min = 1, max = 86_400))]
    pub keep_s: u32,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            at: "127.0.0.1:2620".to_owned(),
            tables: Vec::new(),
            routes_max: 2_000_000,
            settle_s: 60,
            keep_s: 300,
        }
    }
}

impl Config {
    /// Checks what one key alone cannot tell.
    ///
    /// # Errors
    /// The first key that cannot be used.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.endpoint()?;
        tables::validate(&self.tables)
    }

    /// Where zebra connects to.
    ///
    /// # Errors
    /// When the key is neither an address nor a path.
    pub fn endpoint(&self) -> Result<Endpoint, Invalid> {
        controller_kit::keys::endpoint(&self.at, ["127.0.0.1:2620", "/run/frr/fpm.sock"])
    }
}
