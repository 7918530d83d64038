//! What an operator says of the controller.

use controller_kit::keys::invalid;
use controller_routing::{Table, tables};
use function_kit::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the kernel has, as what the router has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// What the router takes over from the kernel.
    #[schemars(length(min = 1, max = 3))]
    pub follow: Vec<Followed>,
    /// The tables of the kernel that are VRFs of the router, where they are not the usual ones:
    /// 254, the main one, for VRF 0, and 1000 and its number for each other VRF. Routes of other
    /// tables are passed over.
    #[schemars(length(max = 255))]
    pub tables: Vec<Table>,
    /// Most routes that are followed.
    #[schemars(range(min = 1, max = 6_000_000))]
    pub routes_max: u32,
}

/// Something that the kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Followed {
    /// The addresses of the host's interfaces.
    Addresses,
    /// The neighbours behind them.
    Neighbours,
    /// The routes by them.
    Routes,
}

impl Default for Config {
    fn default() -> Config {
        let follow = vec![Followed::Addresses, Followed::Neighbours, Followed::Routes];
        Config { follow, tables: Vec::new(), routes_max: 2_000_000 }
    }
}

impl Config {
    /// Checks what one key alone cannot tell.
    ///
    /// # Errors
    /// The first key that cannot be used.
    pub fn validate(&self) -> Result<(), Invalid> {
        tables::validate(&self.tables)?;
        if !self.tables.is_empty() && !self.follows(Followed::Routes) {
            let what = "names tables, and no routes are followed".to_owned();
            return Err(invalid("tables", what, "Add `routes` to 'follow', or remove the key"));
        }
        Ok(())
    }

    /// Whether something is followed.
    pub fn follows(&self, what: Followed) -> bool {
        self.follow.contains(&what)
    }
}
